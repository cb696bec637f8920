"""How far adjusting moves means, spreads, deciles and correlations: against numpy, and in the run record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.frames import dataset_from_frame
from maskwright.masking.adjusting.distortion import Distortion, Moments
from maskwright.masking.context import Standardisation

if TYPE_CHECKING:
    from pathlib import Path


def distortion(original: pd.DataFrame, before: pd.DataFrame, after: pd.DataFrame) -> Distortion:
    names = list(original)
    data = dataset_from_frame(original)
    returned, adjusted = (dataset_from_frame(frame) for frame in (before, after))
    return Distortion.of(data, returned, adjusted, names, Standardisation.of(data, names))


def test_equals_numpy_also_at_large_offsets():
    rng = np.random.default_rng(0)
    original = pd.DataFrame(rng.normal(size=(500, 3)) + 1e6, columns=list("abc"))
    before = original + rng.normal(size=(500, 3)) / 10
    after = before.assign(b=before["b"] + 0.25, c=before["c"] * 1.0 + 0.5 * (before["a"] - 1e6))
    found, scale = distortion(original, before, after), original.std()
    for shift in found.shifts:
        name = shift.variable
        assert shift.mean == pytest.approx((after[name].mean() - before[name].mean()) / scale[name], abs=1e-8)
        assert shift.deviation == pytest.approx((after[name].std() - before[name].std()) / scale[name], abs=1e-8)
        assert shift.method_mean == pytest.approx((before[name].mean() - original[name].mean()) / scale[name], abs=1e-8)
        deciles = (after[name].quantile(np.arange(1, 10) / 10) - before[name].quantile(np.arange(1, 10) / 10)) / scale[
            name
        ]
        assert abs(shift.decile) == pytest.approx(np.abs(deciles).max(), abs=0.05)
    told = found.to_json()
    shifts = np.abs(after.cov() - before.cov()) / np.outer(scale, scale)
    assert told["covariance"]["sd_squared"] == pytest.approx(np.asarray(shifts).max(), rel=1e-6)
    assert told["correlation"]["change"] == pytest.approx(
        np.asarray(np.abs(after.corr() - before.corr())).max(), rel=1e-6
    )
    assert told["mean"]["variable"] == "b"


def test_parts_add_up_also_as_plain_data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=list("ab"))
    frame.iloc[::7, 0] = np.nan
    data = dataset_from_frame(frame)
    standardisation = Standardisation.of(data, ["a", "b"])
    whole = Moments.of(data, ["a", "b"], standardisation)
    parts = [Moments.of(data.taken(rows), ["a", "b"], standardisation) for rows in np.array_split(np.arange(300), 3)]
    together = Moments.from_json(parts[0].to_json()) + parts[1] + parts[2]
    assert together.means == pytest.approx(whole.means)
    assert together.covariances == pytest.approx(frame.cov().to_numpy() / np.outer(frame.std(), frame.std()), rel=1e-9)
    assert (together.counts == whole.counts).all()


def test_cells_of_members_are_one_variable():
    """Columns of joined records, in their own units, say the same of the variable as its column does."""
    rng = np.random.default_rng(2)
    wide = pd.DataFrame({"x[1]": rng.normal(3, 1, 200), "x[2]": rng.normal(9, 4, 200)})
    long = pd.DataFrame({"x": wide.to_numpy().ravel()})
    own, data = dataset_from_frame(wide), dataset_from_frame(long)
    units, target = Standardisation.of(own, list(wide)), Standardisation.of(data, ["x"])
    found = Moments.of(own, list(wide), units).of_variables(dict.fromkeys(wide, "x"), units, target)
    expected = Moments.of(data, ["x"], target)
    assert found.means == pytest.approx(expected.means, abs=1e-12)
    assert found.deviations == pytest.approx(expected.deviations)
    assert found.deciles == pytest.approx(expected.deciles, abs=0.05)


def test_nothing_moves_nothing_drifts():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 5.0]})
    found = distortion(frame, frame, frame)
    assert [(each.mean, each.deviation, each.decile) for each in found.shifts] == [(0.0, 0.0, 0.0)]
    data = dataset_from_frame(frame)
    assert Distortion.of(data, data, data, [], Standardisation.of(data, [])).to_json() is None


PIPELINE = """maskwright: 1
data: {source: data.csv, variables: {%s}}
edits: [a >= 0, b >= 0]
protect: [{method: ipso}]
output: {data: masked.csv, record: run.json}
seed: 1
"""


@pytest.fixture
def exponential(tmp_path: Path) -> Path:
    """Synthetic values below 0 have to move up, and the mean with them."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.exponential(size=400).round(3), "b": rng.exponential(size=400).round(3)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_a_run_stops_where_adjusting_distorts(exponential):
    (exponential / "pipeline.yaml").write_text(PIPELINE % "")
    with pytest.raises(mw.OpenDoubts) as caught:
        mw.run(exponential / "pipeline.yaml")
    found = [each.message for each in caught.value.problems if "W309" in each.message]
    assert found
    assert all("to keep " in each and "% of its moves" in each for each in found)
    assert not (exponential / "masked.csv").exists()


def test_a_declared_bound_lets_it_pass(exponential):
    (exponential / "pipeline.yaml").write_text(PIPELINE % "a: {distortion: 0.5}, b: {distortion: 0.5}")
    record = mw.run(exponential / "pipeline.yaml").record
    assert record["moment_drift"]["mean"]["sd"] > 0.02
    assert record["moment_drift"]["covariance"]["sd_squared"] > 0.1
    masked, original = (pd.read_csv(exponential / name) for name in ("masked.csv", "data.csv"))
    for each in record["moment_drift"]["variables"]:
        name = each["variable"]
        moved = (masked[name].mean() - original[name].mean()) / original[name].std()
        assert each["mean"] + each["method_mean"] == pytest.approx(moved, abs=1e-6)


def test_a_shift_back_to_the_original_is_none(exponential):
    """Wrong by more before adjusting than after: adjusting does not distort."""
    rng = np.random.default_rng(3)
    original = pd.DataFrame({"a": rng.normal(size=500)})
    from maskwright.masking.distortion_doubts import is_distorted

    (back,) = distortion(original, original + 1.0, original + 0.5).shifts
    (on,) = distortion(original, original + 0.2, original + 0.6).shifts
    (little,) = distortion(original, original, original + 0.04).shifts
    assert [is_distorted(each, 500, None) for each in (back, on, little)] == [False, True, False]
    assert is_distorted(little, 500, 0.03)
    assert not is_distorted(on, 500, 0.5)
