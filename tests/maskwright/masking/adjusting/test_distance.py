"""How far rows are moved: as little as an independent solver, or trying every grid point, can do."""

from __future__ import annotations

import itertools
import os
from fractions import Fraction
from typing import TYPE_CHECKING

import daqp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.masking.adjusting.adjust import adjust
from maskwright.masking.adjusting.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Callable


@settings(max_examples=60 if os.environ.get("SLOW") else 25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(0, 3), st.integers(1, 6))
def test_convex_adjustment_is_as_near_as_daqp(seed: int, p: int, equal: int, below: int) -> None:
    """Random equalities, inequalities and boxes around a witness: standardised distances within 1e-8 of DAQP."""
    rng = np.random.default_rng(seed)
    names = [f"x{number}" for number in range(p)]
    witness = rng.integers(1, 50, p)
    matrix = rng.integers(-3, 4, (min(equal, p - 1) + below, p))
    matrix[np.arange(len(matrix)), rng.integers(0, p, len(matrix))] = 1
    equal = len(matrix) - below
    slack = np.where(np.arange(len(matrix)) < equal, 0, rng.integers(0, 30, len(matrix)))
    bounds = matrix @ witness + slack
    rules = [
        " + ".join(f"{c} * {name}" for c, name in zip(row, names, strict=True))
        + f" {'==' if number < equal else '<='} {bound}"
        for number, (row, bound) in enumerate(zip(matrix, bounds, strict=True))
    ] + [f"0 <= {name} <= 60" for name in names]
    scale = rng.uniform(0.5, 20, p)
    start = witness + rng.normal(size=(4, p)) * 30
    points, found = mw.project(start, [mw.Variable(name) for name in names], mw.EditSet.parse(rules), scale)
    assert found.all()
    rows = np.ascontiguousarray(matrix * scale)
    # Rows of length one: DAQP's tolerance is absolute.
    length = np.linalg.norm(rows, axis=1)
    upper = np.concatenate([60 / scale, bounds / length])
    lower = np.concatenate([np.zeros(p), np.where(np.arange(len(matrix)) < equal, bounds / length, -1e30)])
    sense = np.concatenate([np.zeros(p, np.int32), np.where(np.arange(len(matrix)) < equal, 5, 0).astype(np.int32)])
    for before, after in zip(start / scale, points / scale, strict=True):
        nearest, _, flag, _ = daqp.solve(
            np.eye(p), -before, rows / length[:, None], upper.copy(), lower.copy(), sense.copy()
        )
        if flag != 1:  # dependent equalities, which it does not take
            continue
        assert np.linalg.norm(after - before) == pytest.approx(np.linalg.norm(nearest - before), abs=1e-8)


Row = dict[str, Fraction]
CASES: dict[str, tuple[list[str], dict[str, int], Callable[[Row], bool]]] = {
    "governing": (
        ["if a < 6 then b <= 4", "if c > 5 then a >= 7 else b >= 2"], {"a": 0, "b": 0, "c": 0},
        lambda r: (r["a"] >= 6 or r["b"] <= 4) and (r["a"] >= 7 if r["c"] > 5 else r["b"] >= 2),
    ),
    "product": (["a * b == c"], {"a": 0, "b": 0, "c": 0}, lambda r: r["a"] * r["b"] == r["c"]),
    "product inequality": (
        ["a * b <= 20", "a + b >= c"], {"a": 0, "b": 0, "c": 0},
        lambda r: r["a"] * r["b"] <= 20 and r["a"] + r["b"] >= r["c"],
    ),
    "finite sets": (
        ["a in {1, 4, 9}", "b in {2, 3, 8}", "a + b == c"], {"a": 0, "b": 0, "c": 0},
        lambda r: r["a"] in (1, 4, 9) and r["b"] in (2, 3, 8) and r["a"] + r["b"] == r["c"],
    ),
    "coarse grid": (["3 * a == 5 * b", "c <= a"], {"a": 0, "b": 0, "c": 0},
        lambda r: 3 * r["a"] == 5 * r["b"] and r["c"] <= r["a"]),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_other_adjustments_are_nearly_as_near_as_trying_everything(case: str) -> None:
    """Mean distance at most 1.05 times that of the nearest of all grid points 0..16 (exact fractions judge them)."""
    rules, grid, obeys = CASES[case]
    rng = np.random.default_rng(7)
    start = rng.uniform(1, 11, (60, 3))
    scale = np.array([1.0, 1.5, 2.0])
    points = itertools.product(range(17), repeat=3)
    allowed = np.array([each for each in points if obeys(dict(zip(grid, map(Fraction, each), strict=True)))], float)
    variables = tuple(mw.Variable(name, decimals=places) for name, places in grid.items())
    done = adjust(start, Targets(variables, {}), mw.EditSet.parse(rules), scale, np.random.default_rng(0))
    assert not done.infeasible.any()
    nearest = np.array([np.sqrt((((allowed - row) / scale) ** 2).sum(axis=1)).min() for row in start])
    ours = np.sqrt((((done.values - start) / scale) ** 2).sum(axis=1))
    assert obeys(dict(zip(grid, map(Fraction, done.values[0]), strict=True)))
    assert ours.mean() <= 1.05 * nearest.mean()


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
@pytest.mark.parametrize("k", [2, 5])
def test_rounding_does_not_break_k(k: int) -> None:
    """Representatives are rounded, never records: classes of the published text hold k records or more."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(100, 40, (200, 4)).round(1), columns=list("abcd"))
    edits = ["a + b + c == d", "a >= 0", "b <= c + 20", "if a < 50 then b >= 10"]
    declared = {name: {"decimals": 1} for name in frame}
    done = mask_request(
        masking_request(frame, "microaggregation", edits=edits, seed=1, params={"k": k}, declared=declared)
    )
    texts = pd.DataFrame({name: [f"{value:.1f}" for value in done.masked[name].values] for name in frame})
    assert texts.value_counts().min() >= k
