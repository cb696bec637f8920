"""Noise in proportion to the spread of the whole file, over parts: the values of a run in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from parted_world import pipeline, read_parts, survey, write_parts

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["wages", "tax", "gross", "hours"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("noise")
    frame = survey(3_000)[NAMES]
    # Numbers that are no whole ones, far from 0, of which one part has none.
    frame["ratio"] = 1e6 + frame.wages / 7
    frame.loc[:600, "ratio"] = np.nan
    for parts in (2, 4):
        write_parts(frame, found / f"in-{parts}", parts)
    return found


def ran(folder: Path, name: str, method: str, params: dict[str, Any], parts: int, execution: dict[str, Any]) -> Any:
    step = {"method": method, "params": params, "variables": [*NAMES, "ratio"]}
    settings = pipeline(folder / f"in-{parts}", folder / name, protect=[step], edits=[], measure=["sse"])
    settings["data"] = {"source": str(folder / f"in-{parts}"), "variables": {"ratio": {"decimals": 9}}}
    mw.run(settings | {"execution": execution})
    return read_parts(folder / name, parts)


@pytest.mark.parametrize("method", ["additive_noise", "correlated_noise"])
def test_noise_is_that_of_a_run_in_memory_for_any_parts(folder: Path, method: str) -> None:
    pool = {"engine": "local", "workers": 2, "block_size": 500}
    in_memory = ran(folder, f"{method}-memory", method, {"p": 0.3}, 4, {})
    four = ran(folder, f"{method}-4", method, {"p": 0.3}, 4, pool)
    two = ran(folder, f"{method}-2", method, {"p": 0.3}, 2, {"engine": "local"})
    pd.testing.assert_frame_equal(four, in_memory, check_exact=True)
    pd.testing.assert_frame_equal(two, in_memory, check_exact=True)


@pytest.mark.covering(2)
@pytest.mark.parametrize("method", ["additive_noise", "correlated_noise"])
@pytest.mark.parametrize("strata", [["area"], ["region", "area"]])
def test_noise_within_strata_is_that_of_a_run_in_memory(tmp_path: Path, method: str, strata: list[str]) -> None:
    """Each stratum has its own spread, in whatever part its records are; small ones join the same others."""
    frame = survey(2_000)[["wages", "tax", "hours", "region"]]
    rng = np.random.default_rng(3)
    area = np.where(rng.random(2_000) < 0.004, rng.integers(-9, -5, 2_000), rng.integers(1, 5, 2_000))
    frame["area"] = pd.array(area, dtype="Int64")
    frame.loc[rng.random(2_000) < 0.01, "area"] = pd.NA
    frame["wages"] = frame["wages"] * np.abs(area)
    # The last part has areas that no other has.
    frame = frame.sort_values("area", ignore_index=True)
    write_parts(frame, tmp_path / "in", 3)
    step = {"method": method, "params": {"p": 0.3}, "variables": ["wages", "tax", "hours"], "within": strata}
    masked = {}
    for name, execution in (("memory", {}), ("parts", {"engine": "local", "block_size": 400})):
        settings = pipeline(tmp_path / "in", tmp_path / name, protect=[step], edits=[], measure=["sse"])
        declared = {"region": {"role": "other"}, "area": {"role": "other"}}
        settings["data"] = {"source": str(tmp_path / "in"), "variables": declared}
        mw.run(settings | {"execution": execution})
        masked[name] = read_parts(tmp_path / name, 3)
    pd.testing.assert_frame_equal(masked["parts"], masked["memory"], check_exact=True)
    change = (masked["parts"]["wages"] - frame["wages"]).groupby(frame["area"]).std()
    spread = frame.groupby("area")["wages"].std()
    assert (change / spread)[spread.index > 0].to_numpy() == pytest.approx(0.3, rel=0.25)


def test_correlated_noise_keeps_correlations_and_equalities_with_missing_cells(folder: Path) -> None:
    masked = ran(folder, "kept", "correlated_noise", {"p": 0.5}, 4, {"engine": "local"})
    original = read_parts(folder / "in-4", 4)
    both = original.corr(), masked.corr()
    assert np.abs(both[0] - both[1]).to_numpy().max() < 0.1
    # An equality of whole numbers holds but for the rounding to them.
    assert (masked.wages + masked.tax - masked.gross).abs().max() <= 2
    assert masked.hours.isna().equals(original.hours.isna())
    spread = masked.std() / original.std()
    assert spread.to_numpy() == pytest.approx(np.sqrt(1 + 0.5**2), rel=0.05)


@pytest.mark.parametrize("method", ["additive_noise", "correlated_noise"])
def test_corrected_noise_is_that_of_a_run_in_memory(folder: Path, method: str) -> None:
    params = {"p": 0.3, "correction": "mean_and_variance"}
    in_memory = ran(folder, f"{method}-corrected", method, params, 4, {})
    found = ran(folder, f"{method}-in-one-place", method, params, 4, {"engine": "local"})
    pd.testing.assert_frame_equal(found, in_memory, check_exact=True)
