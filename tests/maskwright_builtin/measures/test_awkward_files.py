"""Every measure on files that break programs: an answer, or a reason, and never a silent NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = tuple(each.record() for each in OFFERED)

KEYS = {"keys": ["a"]}
PARAMS: dict[str, dict[str, Any]] = {
    "dominance": {"tables": [["a"]], "amounts": ["b", "c"]},
    "k_anonymity": KEYS,
    "uniqueness": KEYS,
    "individual_risk": KEYS,
    "k_map": KEYS,
    "suda": KEYS,
    "mixed_record_linkage": KEYS,
    "mixed_probabilistic_record_linkage": KEYS,
    "population_uniques": {**KEYS, "sampling_fraction": 0.1},
    "l_diversity": {**KEYS, "sensitive": ["c"]},
    "t_closeness": {**KEYS, "sensitive": ["c"]},
    "weighted_score": {
        "components": [{"measure": "pi", "weight": 0.5}, {"measure": "uniqueness", "weight": 0.5, "params": KEYS}]
    },
    "subdomains": {"random": 20, "domains": ["b"]},
    "microaggregation_gap": {"k": 2},
    **{
        name: {"variables": ["a", "b"]}
        for name in (
            "contingency_tables",
            "contingency_table_loss",
            "cramers_v",
            "distance_based_loss",
            "entropy_based_loss",
        )
    },
}
EDITS = ["a + b == t", "c >= 0"]
BY_NAME = {name for name, params in PARAMS.items() if KEYS["keys"] in params.values()} | {
    "dominance",
    "weighted_score",
    "contingency_tables",
    "contingency_table_loss",
    "cramers_v",
    "distance_based_loss",
    "entropy_based_loss",
}
"""Measures that are told to use the variable a."""


@pytest.fixture(params=[each for each in MEASURES if not each.claims.of_levels], ids=lambda measure: measure.name)
def measure(request):
    return request.param


def measured(measure, original, masked, params=None, **more):
    """By the function that users call; every number that is not one needs a note."""
    chosen = PARAMS.get(measure.name, {}) | (params or {})
    found = mw.measure(original, masked, [{measure.name: chosen}], edits=EDITS, **more)[measure.name]
    assert math.isfinite(found.value) or (math.isnan(found.value) and found.notes)
    if math.isfinite(found.value):
        assert all(math.isfinite(part) for part in {**found.parts, **found.per_variable}.values())
    if found.per_record is not None:
        assert found.per_record.shape == (len(masked),)
        assert not np.isinf(found.per_record).any()
    if found.interval is not None:
        assert found.interval[0] <= found.value <= found.interval[1]
    return found


def table(n=60, seed=1):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": generator.integers(0, 50, n), "b": generator.integers(0, 50, n)}).astype(float)
    return frame.assign(t=frame.a + frame.b, c=generator.normal(size=n) ** 2)


def shaken(frame, seed=2):
    return frame + np.random.default_rng(seed).integers(-4, 5, frame.shape)


def test_exactly_dependent_columns(measure):
    """The total is the sum of two others in both files, so covariance matrices are singular."""
    original = table()
    masked = shaken(original)
    measured(measure, original, masked.assign(t=masked.a + masked.b))
    measured(measure, original.assign(c=original.a), masked.assign(c=masked.a))
    measured(measure, original, original)


@pytest.mark.covering(3)
@pytest.mark.parametrize("column", ["a", "t", "c"])
def test_constant_columns(measure, column):
    original = table().assign(**{column: 7.0})
    measured(measure, original, shaken(original).assign(**{column: 7.0}))
    measured(measure, original, shaken(original))
    measured(measure, table(), shaken(table()).assign(**{column: 7.0}))


def test_every_column_constant(measure):
    original = table().assign(a=1.0, b=2.0, t=3.0, c=4.0)
    measured(measure, original, original)
    measured(measure, original, original + 1.0)
    measured(measure, table(), original)


def test_a_variable_without_any_value(measure):
    original, masked = table(), shaken(table())
    for name in ("b", "c"):
        measured(measure, original.assign(**{name: np.nan}), masked)
        measured(measure, original, masked.assign(**{name: np.nan}))
        measured(measure, original.assign(**{name: np.nan}), masked.assign(**{name: np.nan}))


def test_no_variable_with_any_value(measure):
    nothing = table() * np.nan
    assert measured(measure, nothing, nothing).notes
    measured(measure, nothing, table())
    measured(measure, table(), nothing)


@pytest.mark.covering(3)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_record_and_few(measure, n):
    measured(measure, table(n), shaken(table(n)))
    measured(measure, table(n), table(n))
    measured(measure, table(n).assign(b=np.nan), table(n))


def test_all_records_alike(measure):
    alike = pd.concat([table(1)] * 30, ignore_index=True)
    measured(measure, alike, alike)


def test_large_offsets_and_tiny_scales(measure):
    original = table()
    for factor, shift in ((1.0, 1e9), (1e-9, 0.0), (1e12, 0.0)):
        measured(measure, original * factor + shift, shaken(original) * factor + shift)


def test_different_record_counts_need_a_key(measure):
    """Measures that compare files as files do without; where they cannot, they say so."""
    original = table().assign(id=np.arange(60))
    masked = shaken(table()).assign(id=np.arange(60)).iloc[::-2]
    if measure.name in {"subdomains", "weighted_score"} or not measure.claims.compares_unpaired:
        with pytest.raises(mw.InputError, match=f"{measure.name}: .*60 records and the masked file 30, and no --key"):
            measured(measure, original, masked)
    else:
        measured(measure, original, masked)
        measured(measure, original, pd.concat([masked] * 3))
    found = measured(measure, original, masked, key="id")
    again = measured(measure, original, masked.iloc[::-1], key="id")
    if measure.name != "subdomains":  # which draws other records then
        assert found.value == pytest.approx(again.value, nan_ok=True)


def test_reordered_records_with_a_key_change_nothing(measure):
    original, masked = table().assign(id=np.arange(60)), shaken(table()).assign(id=np.arange(60))
    order = np.random.default_rng(3).permutation(60)
    params = {"random": 0} if measure.name == "subdomains" else {}
    expected = measured(measure, table(), shaken(table()), params)
    found = measured(measure, original, masked.iloc[order], params, key="id")
    assert found.value == pytest.approx(expected.value, nan_ok=True)
    if expected.per_record is not None:
        assert found.per_record == pytest.approx(expected.per_record[order], nan_ok=True)


def test_missing_columns(measure):
    """Variables that only one file has are left out; when a measure needs one by name it says so."""
    masked = shaken(table())
    if measure.name in BY_NAME:
        with pytest.raises(mw.InputError, match="no variable called 'a'"):
            measured(measure, table(), masked.drop(columns="a"))
    else:
        measured(measure, table(), masked.drop(columns="a"))
    with pytest.raises(mw.InputError):
        measured(measure, table(), masked[[]].assign(z=1.0))


def test_households_and_weights(measure):
    """Also households of one record, one household of all, and weights of zero."""
    original, masked = table(), shaken(table())
    for households in (np.arange(60), np.zeros(60), np.arange(60) // 7):
        for weights in (np.ones(60), np.arange(60) % 3):
            frame = original.assign(house=households, w=weights)
            described = dataset_from_frame(frame, {"w": VariableDeclaration(role="weight")})
            measured(measure, described, masked, cluster="house")
            if "weighted" in measure.params.model_fields:
                measured(measure, described, masked, {"weighted": True}, cluster="house")


def test_the_input_is_left_alone(measure):
    original, masked = table(), shaken(table())
    before = original.copy(), masked.copy()
    measured(measure, original, masked)
    pd.testing.assert_frame_equal(original, before[0])
    pd.testing.assert_frame_equal(masked, before[1])
