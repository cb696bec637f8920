"""How far adjustment moves means and covariances: against numpy, and in the run record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.frames import dataset_from_frame
from maskwright.masking.adjusting.adjustment_loss import drift_of

if TYPE_CHECKING:
    from maskwright.data.dataset import Dataset


def dataset(frame: pd.DataFrame) -> Dataset:
    return dataset_from_frame(frame)


def test_equals_numpy_also_at_large_offsets():
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(500, 3)) + 1e6, columns=list("abc"))
    after = before.assign(b=before["b"] + 0.25, c=before["c"] * 1.0 + 0.5 * (before["a"] - 1e6))
    found = drift_of(dataset(before), dataset(after), ["a", "b", "c"], {"a": 2.0, "b": 0.5, "c": 1.0})
    assert (found.mean_of, found.mean) == ("b", pytest.approx(0.5))
    shifts = np.abs(np.cov(after.T) - np.cov(before.T)) / np.outer([2, 0.5, 1], [2, 0.5, 1])
    assert found.covariance == pytest.approx(shifts.max(), rel=1e-6)
    assert set(found.covariance_of) == {list("abc")[at] for at in np.unravel_index(shifts.argmax(), shifts.shape)}


def test_nothing_moves_nothing_drifts():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 5.0]})
    found = drift_of(dataset(frame), dataset(frame), ["a"], {"a": 1.0})
    assert (found.mean, found.covariance) == (0.0, 0.0)
    assert drift_of(dataset(frame), dataset(frame), [], {}) is None


def test_a_run_tells_of_a_large_drift(tmp_path):
    """Synthetic values below 0 have to move up, and the mean with them."""
    rng = np.random.default_rng(1)
    pd.DataFrame({"a": rng.exponential(size=400).round(3), "b": rng.exponential(size=400).round(3)}).to_csv(
        tmp_path / "data.csv", index=False
    )
    (tmp_path / "pipeline.yaml").write_text(
        "maskwright: 1\ndata: {source: data.csv}\nedits: [a >= 0, b >= 0]\nprotect: [{method: ipso}]\n"
        "output: {data: masked.csv, record: run.json}\nseed: 1\n"
    )
    record = mw.run(tmp_path / "pipeline.yaml").record
    assert record["moment_drift"]["mean"]["sd"] > 0.02
    assert record["moment_drift"]["covariance"]["sd_squared"] > 0.1
    assert any("adjusting and rounding moved the mean of" in notice for notice in record["notices"])
