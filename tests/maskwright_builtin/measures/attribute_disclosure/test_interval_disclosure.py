"""Interval disclosure: reference values, the definition cell by cell, awkward files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import (
    IntervalDisclosureParams,
    interval_disclosure,
)

GOLDEN = Path(__file__).parents[3] / "golden"
IPSO = pd.read_csv(GOLDEN / "ipso_reference.csv", comment="#").set_index("scenario")


@pytest.fixture(scope="module")
def disclosure(compare, rng):
    def measure(original, masked, by="rank", pairing="identity", **more):
        params = IntervalDisclosureParams(by=by, pairing=pairing)
        return interval_disclosure(compare(original, masked, **more), params, rng)

    return measure


@pytest.mark.parametrize(("by", "column"), [("rank", "icn"), ("sd", "icd")])
@pytest.mark.parametrize("scenario", ["S1", "S2"])
def test_reference_values(scenario, by, column, ipso_a, disclosure):
    found = disclosure(*ipso_a(scenario), by=by)
    assert found.value == pytest.approx(IPSO.loc[scenario, column], abs=1e-6)
    assert np.mean(list(found.parts.values())) == pytest.approx(found.value)
    assert np.mean(list(found.per_variable.values())) == pytest.approx(found.value)
    assert found.per_record.mean() == pytest.approx(found.value)


def cell_by_cell(original, masked, by):
    """Percent inside for each half width 1..10, over complete data, one cell at a time."""
    n, p = masked.shape
    inside = np.zeros(10)
    for j in range(p):
        ordered = sorted(masked[:, j])
        for x, y in zip(original[:, j], masked[:, j], strict=True):
            last = max(rank for rank, value in enumerate(ordered) if value == y)
            for percent in range(1, 11):
                if by == "rank":
                    w = n * percent / 100
                    lower = ordered[max(0, math.floor(last - w))]
                    upper = ordered[min(n - 1, math.floor(last + w))]
                    inside[percent - 1] += lower <= x <= upper
                else:
                    inside[percent - 1] += abs(x - y) <= percent / 100 * np.std(masked[:, j])
    return 100 * inside / (n * p)


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 70), p=st.integers(1, 3), step=st.sampled_from([0.0, 1.0, 0.05])
)
@pytest.mark.parametrize("by", ["rank", "sd"])
def test_equals_the_definition_cell_by_cell(disclosure, by, seed, n, p, step):
    generator = np.random.default_rng(seed)
    original = generator.integers(0, 30, (n, p)).astype(float)
    masked = original + step * generator.integers(-3, 4, (n, p))
    found = disclosure(original, masked, by=by)
    if by == "sd" and any(np.ptp(column) == 0 for column in masked.T):
        assert found.notes  # the naive sd of equal numbers may be a rounding error instead of 0
    else:
        assert list(found.parts.values()) == pytest.approx(cell_by_cell(original, masked, by))


def test_parts_are_named_by_half_width(disclosure):
    found = disclosure(np.arange(50.0).reshape(-1, 1), np.arange(50.0).reshape(-1, 1))
    assert list(found.parts) == [f"percent_{width}" for width in range(1, 11)]
    assert found.value == 100


@pytest.mark.parametrize("by", ["rank", "sd"])
def test_scale_and_order_change_nothing(disclosure, by):
    generator = np.random.default_rng(3)
    original = generator.normal(size=(300, 3))
    masked = original + 0.05 * generator.normal(size=original.shape)
    expected = disclosure(original, masked, by=by).parts
    order, columns = generator.permutation(300), [1, 2, 0]
    assert disclosure(original[order], masked[order], by=by).parts == pytest.approx(expected)
    assert disclosure(original[:, columns], masked[:, columns], by=by).parts == pytest.approx(expected)
    assert disclosure(4 * original + 1, 4 * masked + 1, by=by).parts == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("by", ["rank", "sd"])
def test_a_constant_masked_variable_is_an_interval_of_one_point(disclosure, by):
    original = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])
    found = disclosure(original, np.full((3, 2), 0.1), by=by)
    assert found.per_variable == {"v1": 100, "v2": 0}
    assert any("single point: v1, v2" in note for note in found.notes)


@pytest.mark.parametrize("by", ["rank", "sd"])
def test_missing_cells_are_left_out_and_counted(disclosure, by):
    generator = np.random.default_rng(4)
    original = generator.normal(size=(60, 3))
    masked = original + 0.02 * generator.normal(size=original.shape)
    alone = disclosure(original[10:, :1], masked[10:, :1], by=by).value
    masked[:10, 0] = np.nan
    original[:, 2] = np.nan
    found = disclosure(original, masked, by=by)
    assert found.per_variable["v1"] == pytest.approx(alone)
    assert set(found.per_variable) == {"v1", "v2"}
    assert any("60 in the original file, 10 in the masked file" in note for note in found.notes)
    assert any("left out" in note and "v3" in note for note in found.notes)
    nothing = disclosure(original[:, 2:], masked[:, 2:], by=by)
    assert np.isnan(nothing.value)
    assert any("not defined" in note for note in nothing.notes)


def test_one_record(disclosure):
    assert disclosure([[1.0]], [[1.0]]).value == 100
    assert disclosure([[1.0]], [[2.0]]).value == 0


def test_sampled_records_are_compared_with_their_own_originals(disclosure):
    original = np.arange(100.0).reshape(-1, 1)
    kept = np.arange(99, -1, -5)
    assert disclosure(original, original[kept], origin=kept).value == 100


@pytest.mark.parametrize("bad", [{"by": "range"}, {"width": 3}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValidationError):
        IntervalDisclosureParams(**bad)


@pytest.mark.parametrize("by", ["rank", "sd"])
def test_a_household_is_disclosed_when_one_of_its_values_is(disclosure, by):
    generator = np.random.default_rng(7)
    original = generator.normal(size=(90, 2))
    masked = original + 0.1 * generator.normal(size=original.shape)
    alone = disclosure(original, masked, by=by, households=np.arange(90)[::-1].copy())
    assert alone.parts == disclosure(original, masked, by=by).parts
    households = generator.integers(0, 30, 90)
    found = disclosure(original, masked, by=by, households=households)
    for percent in (1, 10):
        inside = np.zeros((90, 2), dtype=bool)
        for j in range(2):
            ordered = np.sort(masked[:, j])
            last = np.searchsorted(ordered, masked[:, j], side="right") - 1
            width = 90 * percent / 100
            low = ordered[np.maximum(np.floor(last - width).astype(int), 0)]
            high = ordered[np.minimum(np.floor(last + width).astype(int), 89)]
            near = np.abs(original[:, j] - masked[:, j]) <= percent / 100 * np.std(masked[:, j])
            inside[:, j] = (low <= original[:, j]) & (original[:, j] <= high) if by == "rank" else near
        any_inside = [inside[households == one].any(axis=0) for one in np.unique(households)]
        assert found.parts[f"percent_{percent}"] == pytest.approx(100 * np.mean(any_inside))


def test_nearest_pairing_compares_with_the_nearest_original(disclosure):
    original = np.arange(0.0, 100.0).reshape(-1, 1)
    masked = original[::-1].copy()
    with_own = disclosure(original, masked, by="sd").value
    assert with_own < 20
    assert disclosure(original, masked, by="sd", pairing="nearest").value == 100
