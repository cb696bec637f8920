"""Which partial records can be completed: never refused where a completion exists among the values that occur."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maskwright import Completion, EditSet, Variable

A, B = (Variable(name, "nominal", categories=("p", "q", "r")) for name in ("a", "b"))
X, Y, Z = (Variable(name, "integer", decimals=0) for name in ("x", "y", "z"))
RULES = (
    "if a == 'p' then b == 'q'", "if b == 'r' then x == 0", "x + y == z", "y <= 2", "x in {0, 1, 3}",
    "if a in {'q', 'r'} then x <= y", "(a, b) in original", "x * y <= 2", "if z > 3 then a == 'q' else b != 'p'",
    "not (x == 1 and y == 1)",
)  # fmt: skip


@pytest.mark.covering(3)
@pytest.mark.parametrize("seed", range(15))
def test_what_can_be_completed_is_never_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edits = EditSet.parse([str(rule) for rule in rng.choice(RULES, 4, replace=False)])
    variables = [A, B, X, Y, Z]
    grid = np.array(list(itertools.product(range(3), range(3), range(4), range(4), range(7))), dtype=np.float64)
    names = [each.name for each in variables]
    # Domain edits hold for half the pairs; numbers and categories all occur.
    originals = dict(zip(names, grid[rng.random(len(grid)) < 0.05].T, strict=True))
    for place, name in enumerate(names):
        originals[name][[0, 1]] = grid[:, place].min(), grid[:, place].max()
    completion = Completion(edits, variables, originals)
    valid = grid[~completion.broken(dict(zip(names, grid.T, strict=True)))]
    order = [int(place) for place in rng.permutation(5)]
    for known in range(1, 6):
        fixed = {names[place]: valid[:, place] for place in order[:known]}
        assert completion.can_complete(fixed, names[order[known - 1]]).all()
    whole = {names[place]: grid[:, place] for place in order}
    accepted = np.logical_and.reduce([completion.can_complete(whole, name) for name in names])
    assert np.array_equal(accepted, ~completion.broken(whole))


def test_sums_leave_one_number_and_missing_cells_refuse_nothing() -> None:
    originals = {name: np.array([0.0, 50.0]) for name in ("x", "y", "z")}
    completion = Completion(EditSet.parse(["x + y == z", "y >= 0"]), [X, Y, Z], originals)
    low, high = completion.bounds({"x": np.array([3.0, np.nan]), "y": np.array([4.0, 4.0])}, "z", 2)
    assert (low[0], high[0]) == (7.0, 7.0)
    assert high[1] > low[1]
    assert completion.can_complete({"z": np.array([2.0, np.nan]), "x": np.array([5.0, 5.0])}, "x").tolist() == [
        False,
        True,
    ]
    assert completion.restricted == {"x", "y", "z"}


def test_numbers_that_products_and_tolerances_define() -> None:
    """Both sides equal; NaN where a factor is 0, missing, or has no value yet, and where the rule is a plain sum."""
    names = ["price", "quantity", "value", "net", "rate", "gross", "total"]
    edits = EditSet.parse([
        "abs(price * quantity - value) <= 1", "round(net * (1 + rate), 2) == gross", "abs(value + gross - total) <= 2",
    ])  # fmt: skip
    originals = {name: np.array([1.0, 2.0]) for name in names}
    completion = Completion(edits, [Variable(name) for name in names], originals)
    price, quantity = np.array([2.5, 3.0, np.nan]), np.array([4.0, 0.0, 2.0])
    value = completion.defined({"price": price, "quantity": quantity}, "value", 3)
    assert value.tolist()[:2] == [10.0, 0.0]
    assert np.isnan(value[2])
    found = completion.defined({"value": np.array([10.0, 0.0, 1.0]), "quantity": quantity}, "price", 3)
    assert found.tolist()[0] == 2.5
    assert np.isnan(found[1])
    assert completion.defined({"gross": np.array([107.0]), "net": np.array([100.0])}, "rate", 1) == pytest.approx(
        [0.07]
    )
    assert completion.defined({"value": np.array([5.0]), "gross": np.array([6.5])}, "total", 1).tolist() == [11.5]
    assert np.isnan(completion.defined({"value": np.array([5.0])}, "total", 1)).all()


def test_numbers_that_equalities_under_a_condition_define() -> None:
    """Where the condition is known to hold, its other branch where it is known not to; elsewhere NaN."""
    names = ["staff", "wages", "social", "labour", "per_head"]
    edits = EditSet.parse([
        "if staff > 0 then wages + social == labour else labour == 2 * social",
        "if staff > 0 then round(wages / staff, 0) == per_head",
    ])  # fmt: skip
    originals = {name: np.array([0.0, 900.0]) for name in names}
    completion = Completion(edits, [Variable(name) for name in names], originals)
    fixed = {
        "staff": np.array([4.0, 0.0, np.nan, 8.0]), "wages": np.array([10.0, 20.0, 30.0, np.nan]),
        "social": np.array([2.0, 3.0, 4.0, 5.0]),
    }  # fmt: skip
    nothing = np.nan
    assert completion.defined(fixed, "labour", 4) == pytest.approx([12.0, 6.0, nothing, nothing], nan_ok=True)
    assert completion.defined(fixed, "per_head", 4) == pytest.approx([2.5, nothing, nothing, nothing], nan_ok=True)
    undecided = {name: column for name, column in fixed.items() if name != "staff"}
    assert np.isnan(completion.defined(undecided, "labour", 4)).all()
    turned = {"per_head": np.array([5.0]), "wages": np.array([10.0])}
    assert np.isnan(completion.defined(turned, "staff", 1)).all()
