"""The projection is the nearest feasible point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import maskwright as mw


def _variables(names: str, decimals: int | None = None) -> list[mw.Variable]:
    return [mw.Variable(name, decimals=decimals) for name in names.split()]


def test_an_equality_is_met_by_the_closed_form() -> None:
    """One equality: the plane projection of the textbooks."""
    edits = mw.EditSet.parse(["a + b == c"])
    points, found = mw.project(np.array([[1.0, 2.0, 6.0]]), _variables("a b c"), edits, np.ones(3))
    assert found.all()
    np.testing.assert_allclose(points, [[2.0, 3.0, 5.0]])


def test_distance_is_measured_in_the_given_scale() -> None:
    """A variable with a small standard deviation moves little."""
    edits = mw.EditSet.parse(["a == b"])
    points, _ = mw.project(np.array([[0.0, 10.0]]), _variables("a b"), edits, np.array([1.0, 3.0]))
    np.testing.assert_allclose(points, [[1.0, 1.0]])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(0, 2), st.integers(1, 6))
def test_projection_is_as_near_as_a_general_optimiser_finds(seed: int, p: int, equal: int, below: int) -> None:
    """Against SLSQP on random polyhedra that hold a known point: feasible, and never farther."""
    rng = np.random.default_rng(seed)
    names = [f"x{number}" for number in range(p)]
    witness = rng.integers(-5, 6, p)
    rules = []
    rows: list[tuple[np.ndarray, float, str]] = []
    for number in range(equal + below):
        coefficients = rng.integers(-4, 5, p)
        coefficients[rng.integers(p)] = 1
        slack = 0 if number < equal else int(rng.integers(0, 4))
        bound = int(coefficients @ witness) + slack
        sign = "==" if number < equal else "<="
        rules.append(
            " + ".join(f"{c} * {name}" for c, name in zip(coefficients, names, strict=True)) + f" {sign} {bound}"
        )
        rows.append((coefficients, bound, sign))
    edits = mw.EditSet.parse(rules)
    start = rng.normal(size=(3, p)) * 6
    points, found = mw.project(start, [mw.Variable(name) for name in names], edits, np.ones(p))
    assert found.all()
    constraints = [
        {
            "type": "eq" if sign == "==" else "ineq",
            "fun": lambda x, c=c, b=b: b - c @ x,
            "jac": lambda x, c=c: -c.astype(float),
        }
        for c, b, sign in rows
    ]
    for before, after in zip(start, points, strict=True):
        for coefficients, bound, sign in rows:
            gap = coefficients @ after - bound
            assert gap <= 1e-8
            if sign == "==":
                assert gap >= -1e-8
        other = minimize(
            lambda x, before=before: 0.5 * np.sum((x - before) ** 2),
            witness.astype(float),
            jac=lambda x, before=before: x - before,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-14},
        )
        if other.success:
            assert np.linalg.norm(after - before) <= np.linalg.norm(other.x - before) * (1 + 1e-6) + 1e-7


def test_the_nearest_branch_of_a_governing_edit_is_taken() -> None:
    """Leaving the condition is nearer for the first point, obeying the consequent for the second."""
    edits = mw.EditSet.parse(["if a < 10 then b <= 0"])
    points, found = mw.project(np.array([[9.0, 50.0], [1.0, 2.0]]), _variables("a b"), edits, np.ones(2))
    assert found.all()
    np.testing.assert_allclose(points, [[10.0, 50.0], [1.0, 0.0]])


def test_products_are_met() -> None:
    """A product and a linear edit on shared variables."""
    edits = mw.EditSet.parse(["a * b == c", "a + b == d"])
    rng = np.random.default_rng(1)
    start = rng.uniform(1, 20, size=(50, 4))
    points, found = mw.project(start, _variables("a b c d"), edits)
    assert found.all()
    np.testing.assert_allclose(points[:, 0] * points[:, 1], points[:, 2], rtol=1e-6)
    np.testing.assert_allclose(points[:, 0] + points[:, 1], points[:, 3], rtol=1e-9)


def test_infeasible_rows_are_reported_and_left_alone() -> None:
    """No point satisfies contradictory edits."""
    edits = mw.EditSet.parse(["a >= 2", "a <= 1"])
    points, found = mw.project(np.array([[0.0]]), _variables("a"), edits, np.ones(1))
    assert not found.any()
    np.testing.assert_array_equal(points, [[0.0]])


def test_missing_cells_switch_their_edits_off() -> None:
    """A missing cell stays missing and its edits do not move the others."""
    edits = mw.EditSet.parse(["a + b == c", "a <= 1"])
    points, found = mw.project(np.array([[5.0, np.nan, 6.0]]), _variables("a b c"), edits, np.ones(3))
    assert found.all()
    np.testing.assert_array_equal(points, [[1.0, np.nan, 6.0]])


def test_wrong_shape_is_explained() -> None:
    """The public helper checks its input."""
    with pytest.raises(mw.InputError, match="one column each"):
        mw.project(np.zeros((2, 3)), _variables("a b"), mw.EditSet())


def test_processors_do_not_change_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks, on one thread and on many."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40_000, 3))
    edits = mw.EditSet.parse(["a + b == c", "a <= b", "c >= 0"])
    found = []
    for count in (1, 7):
        monkeypatch.setattr("maskwright.masking.adjusting.constraint_system.processors", lambda count=count: count)
        found.append(mw.project(values, _variables("a b c"), edits)[0].tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("rule", ["hours * rate == pay", "abs(hours * rate - pay) <= 0.5"])
def test_a_product_with_a_missing_factor_moves_nothing(rule: str) -> None:
    """It is unknown: only the sum, which has all its values, is met."""
    edits = mw.EditSet.parse([rule, "pay + other == total"])
    values = np.array([[np.nan, 15.0, 3000.0, 200.0, 3100.0], [200.0, np.nan, 3000.0, 200.0, 3100.0]])
    points, found = mw.project(values, _variables("hours rate pay other total"), edits, np.ones(5))
    assert found.all()
    np.testing.assert_array_equal(points[:, :2], values[:, :2])
    np.testing.assert_allclose(points[:, 2:] - values[:, 2:], [[-100 / 3, -100 / 3, 100 / 3]] * 2, atol=1e-9)
