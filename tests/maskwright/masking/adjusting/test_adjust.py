"""Adjusting and rounding: every edit holds in decimal arithmetic and in binary64, on the published grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.masking.adjusting.adjust import Adjustment, adjust
from maskwright.masking.adjusting.targets import Targets


def _adjust(
    rules: list[str], grid: dict[str, int | None], values: np.ndarray, scale: np.ndarray | None = None
) -> Adjustment:
    variables = tuple(mw.Variable(name, decimals=places) for name, places in grid.items())
    edits = mw.EditSet.parse(rules)
    spread = np.maximum(np.nanstd(values, axis=0), 1e-6) if scale is None else scale
    return adjust(values, Targets(variables, {}), edits, spread, np.random.default_rng(0))


def _exact(values: np.ndarray, grid: dict[str, int | None]) -> list[dict[str, Fraction]]:
    """Rows as the decimals that are published."""
    return [
        {name: Fraction(f"{value:.{places}f}") for (name, places), value in zip(grid.items(), row, strict=True)}
        for row in values
    ]


def test_totals_are_computed_from_rounded_parts() -> None:
    """The parts move by at most half a unit, each total by the sum of its parts' moves (design section 7)."""
    rng = np.random.default_rng(0)
    parts = rng.uniform(0, 1000, size=(500, 2))
    values = np.column_stack([parts, parts.sum(axis=1), parts[:, 1] + parts.sum(axis=1)])
    grid: dict[str, int | None] = dict.fromkeys(("V8", "V9", "V10", "V14"), 0)
    done = _adjust(["V9 + V10 == V14", "V8 + V9 == V10"], grid, values)
    assert not done.moved.any()
    assert done.derivations.dependents == ("V10", "V14") or set(done.derivations.dependents) == {"V10", "V14"}
    move = np.abs(done.values - values).max(axis=0)
    assert np.all(move <= np.array([0.5, 0.5, 1.0, 1.5]) + 1e-9)
    np.testing.assert_array_equal(done.values[:, 0] + done.values[:, 1], done.values[:, 2])
    np.testing.assert_array_equal(done.values[:, 1] + done.values[:, 2], done.values[:, 3])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_sums_with_decimals_hold_exactly_and_in_binary64(seed: int, places: int) -> None:
    """Exact decimal sums fail a strict binary comparison in a quarter of the records unless rounding sees to it."""
    rng = np.random.default_rng(seed)
    grid: dict[str, int | None] = dict.fromkeys(("a", "b", "c", "total"), places)
    values = rng.normal(100, 60, size=(80, 4))
    done = _adjust(["a + b + c == total", "a >= 0"], grid, values)
    assert not done.infeasible.any()
    for row, exact in zip(done.values, _exact(done.values, grid), strict=True):
        assert row[0] + row[1] + row[2] == row[3]
        assert exact["a"] + exact["b"] + exact["c"] == exact["total"]
        assert exact["a"] >= 0


def test_a_product_on_a_coarse_grid_is_met() -> None:
    """A rate of 4 decimals times a base of 2 must be a tax of 2: factors are moved to where that is possible."""
    rng = np.random.default_rng(3)
    grid: dict[str, int | None] = {"rate": 4, "base": 2, "tax": 2}
    values = np.column_stack([rng.uniform(0, 0.5, 300), rng.uniform(0, 5000, 300), rng.uniform(0, 2500, 300)])
    done = _adjust(["rate * base == tax", "0 <= rate <= 0.5"], grid, values)
    assert not done.infeasible.any()
    assert done.fallback.mean() <= 0.01
    for row, exact in zip(done.values, _exact(done.values, grid), strict=True):
        assert exact["rate"] * exact["base"] == exact["tax"]
        assert row[0] * row[1] == row[2]


def test_a_factor_that_is_a_total_is_derived_in_order() -> None:
    """Net = gross - tax, tax = rate * gross, gross = a + b: three kinds of dependence on one record."""
    rng = np.random.default_rng(4)
    grid: dict[str, int | None] = {"a": 0, "b": 0, "gross": 0, "rate": 2, "tax": 2, "net": 2}
    values = np.abs(rng.normal(1000, 400, size=(200, 6)))
    values[:, 3] = rng.uniform(0, 0.6, 200)
    done = _adjust(["a + b == gross", "rate * gross == tax", "gross - tax == net", "net >= 0"], grid, values)
    assert not done.infeasible.any()
    for exact in _exact(done.values, grid):
        assert exact["a"] + exact["b"] == exact["gross"]
        assert exact["rate"] * exact["gross"] == exact["tax"]
        assert exact["gross"] - exact["tax"] == exact["net"] >= 0


def test_coefficients_that_leave_the_grid_are_searched_or_chosen() -> None:
    """2 a = b + c over whole numbers: a cannot be computed from b and c, but c can from a and b."""
    rng = np.random.default_rng(5)
    grid: dict[str, int | None] = {"a": 0, "b": 0, "c": 0}
    done = _adjust(["2 * a == b + c"], grid, rng.uniform(0, 50, size=(100, 3)))
    assert not done.infeasible.any()
    np.testing.assert_array_equal(2 * done.values[:, 0], done.values[:, 1] + done.values[:, 2])


def test_three_times_five_times() -> None:
    """3 a = 5 b: neither side is computed from the other; neighbours on the grid are searched."""
    grid: dict[str, int | None] = {"a": 0, "b": 0}
    done = _adjust(["3 * a == 5 * b"], grid, np.array([[10.2, 6.1], [23.0, 14.2], [-7.0, -4.0]]))
    assert not done.infeasible.any()
    np.testing.assert_array_equal(3 * done.values[:, 0], 5 * done.values[:, 1])


def test_strict_inequalities_and_sets() -> None:
    """Strict bounds are met on the grid; values come from the list."""
    grid: dict[str, int | None] = {"a": 1, "b": 1, "size": 0}
    rng = np.random.default_rng(6)
    values = np.column_stack([rng.normal(5, 3, (200, 2)), rng.uniform(0, 9, 200)])
    done = _adjust(["a < b", "a > 0", "size in {1, 2, 4, 8}"], grid, values)
    assert not done.infeasible.any()
    assert np.all(done.values[:, 0] < done.values[:, 1])
    assert np.all(done.values[:, 0] > 0)
    assert set(done.values[:, 2]) <= {1.0, 2.0, 4.0, 8.0}


def test_conflicting_edits_are_named() -> None:
    """Rows for which nothing is feasible are flagged with the edits that fail."""
    done = _adjust(["a >= 2", "a <= 1"], {"a": 0}, np.zeros((3, 1)), np.ones(1))
    assert done.infeasible.all()
    assert sum(done.failing.values()) >= 3


def test_without_a_grid_nothing_is_rounded() -> None:
    """Float DataFrames have no grid: values stay as they are, totals are computed in the written order."""
    values = np.array([[0.1, 0.2, 0.30000000000000004]])
    done = _adjust(["a + b == c"], dict.fromkeys("abc"), values, np.ones(3))
    np.testing.assert_array_equal(done.values, values)


@pytest.mark.parametrize("edits", [[], ["a >= 0"]])
def test_missing_cells_stay_missing(edits: list[str]) -> None:
    """NaN in, NaN out."""
    done = _adjust(edits, {"a": 0}, np.array([[np.nan], [1.4]]), np.ones(1))
    np.testing.assert_array_equal(done.values, [[np.nan], [1.0]])


def test_a_missing_part_leaves_its_total_alone() -> None:
    """The equality does not apply: the total keeps its own value, rounded, and a missing total stays missing."""
    grid: dict[str, int | None] = dict.fromkeys(("a", "b", "total"), 0)
    values = np.array([[np.nan, 2.2, 7.9], [1.0, 2.0, np.nan], [1.2, 2.2, 3.4]])
    done = _adjust(["a + b == total"], grid, values, np.ones(3))
    assert not done.infeasible.any()
    np.testing.assert_array_equal(done.values, [[np.nan, 2.0, 8.0], [1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])
