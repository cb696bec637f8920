"""Every disclosure risk on files that break programs: an answer, or a reason, and never a silent NaN."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright_builtin.measures import MEASURES

KEYS = {"keys": ["a"]}
PARAMS = {
    "k_anonymity": KEYS,
    "uniqueness": KEYS,
    "l_diversity": {**KEYS, "sensitive": ["c"]},
    "t_closeness": {**KEYS, "sensitive": ["c"]},
}
RISKS = sorted(measure.name for measure in MEASURES if measure.kind == "risk")
EDITS = ["a + b == t", "c >= 0"]


def measured(name, original, masked, **more):
    """By the function that users call; every number that is not one needs a note."""
    found = mw.measure(original, masked, [{name: PARAMS.get(name, {})}], edits=EDITS, **more)[name]
    assert math.isfinite(found.value) or (math.isnan(found.value) and found.notes)
    if math.isfinite(found.value):
        assert all(math.isfinite(part) for part in {**found.parts, **found.per_variable}.values())
    return found


def table(n=80, seed=1):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": generator.integers(0, 50, n), "b": generator.integers(0, 50, n)}).astype(float)
    return frame.assign(t=frame.a + frame.b, c=generator.normal(size=n) ** 2)


def shaken(frame, seed=2):
    return frame + np.random.default_rng(seed).integers(-4, 5, frame.shape)


@pytest.fixture(params=RISKS)
def risk(request):
    return request.param


def test_exactly_dependent_columns(risk):
    """The total is the sum of two others in both files, so covariance matrices are singular."""
    original = table()
    masked = shaken(original)
    measured(risk, original, masked.assign(t=masked.a + masked.b))
    measured(risk, original, original)


@pytest.mark.parametrize("column", ["a", "t", "c"])
def test_constant_columns(risk, column):
    original = table().assign(**{column: 7.0})
    measured(risk, original, shaken(original).assign(**{column: 7.0}))
    measured(risk, original, shaken(original))
    measured(risk, table(), shaken(table()).assign(**{column: 7.0}))


def test_a_variable_without_any_value(risk):
    original, masked = table(), shaken(table())
    for name in ("b", "c"):
        measured(risk, original.assign(**{name: np.nan}), masked)
        measured(risk, original, masked.assign(**{name: np.nan}))
        measured(risk, original.assign(**{name: np.nan}), masked.assign(**{name: np.nan}))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_record_and_few(risk, n):
    measured(risk, table(n), shaken(table(n)))
    measured(risk, table(n), table(n))


def test_all_records_alike(risk):
    alike = pd.concat([table(1)] * 30, ignore_index=True)
    measured(risk, alike, alike)


def test_large_offsets_and_tiny_scales(risk):
    original = table()
    for factor, shift in ((1.0, 1e9), (1e-9, 0.0), (1e12, 0.0)):
        measured(risk, original * factor + shift, shaken(original) * factor + shift)


def test_different_record_counts_need_a_key(risk):
    original = table().assign(id=np.arange(80))
    masked = shaken(table()).assign(id=np.arange(80)).iloc[::-2]
    with pytest.raises(mw.InputError, match="80 records and the masked file 40"):
        measured(risk, original, masked)
    found = measured(risk, original, masked, key="id")
    again = measured(risk, original, masked.iloc[::-1], key="id")
    assert found.value == pytest.approx(again.value, nan_ok=True)


def test_reordered_records_with_a_key_change_nothing(risk):
    original, masked = table().assign(id=np.arange(80)), shaken(table()).assign(id=np.arange(80))
    expected = measured(risk, table(), shaken(table())).value
    order = np.random.default_rng(3).permutation(80)
    found = measured(risk, original, masked.iloc[order], key="id")
    assert found.value == pytest.approx(expected, nan_ok=True)


def test_missing_columns(risk):
    """Variables that only one file has are left out; when a measure needs one by name it says so."""
    masked = shaken(table())
    if risk in PARAMS:
        with pytest.raises(mw.InputError, match="no variable called 'a'"):
            measured(risk, table(), masked.drop(columns="a"))
    else:
        measured(risk, table(), masked.drop(columns="a"))
    with pytest.raises(mw.InputError):
        measured(risk, table(), masked[[]].assign(z=1.0))


def test_the_input_is_left_alone(risk):
    original, masked = table(), shaken(table())
    before = original.copy(), masked.copy()
    measured(risk, original, masked)
    pd.testing.assert_frame_equal(original, before[0])
    pd.testing.assert_frame_equal(masked, before[1])
