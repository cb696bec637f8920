"""Projections besides the linear one: onto products with a fixed factor, and onto constraints called by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.constraint_kinds import CONSTRAINT_KINDS, MovableRows, params_of, verdicts_of
from maskwright.edits.edit import RangePart
from maskwright.edits.expression import KindCondition, VariableReference
from maskwright.masking.adjusting.constraint_system import RELATIVE, ConstraintSystem, fetcher
from maskwright.masking.adjusting.constraints import PolynomialConstraint, closed_on_grid, constraint_of
from maskwright.planning.keepers import projected_condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.grid_search import AdjustedRows, GridSearch


_REACH = 500
"""Units of the grid by which a variable is moved at most: products of factors of three decimals are met."""


@dataclass(frozen=True, eq=False)
class _Product:
    """An equality of two variables that may move, linear in each, with others; `place` is that among the edits."""

    place: int
    equality: PolynomialConstraint
    pair: tuple[str, str]


def onto_fixed_factor_products(search: GridSearch, rows: AdjustedRows) -> None:
    """Put rows that are not satisfied on near products with companions; written where every edit is satisfied then."""
    index = np.flatnonzero(~rows.satisfied)
    products = list(_products(search)) if len(index) else []
    if not products:
        return
    current = rows.rounded[index]
    broken = _broken(search, current, index)
    for product in products:
        left = np.flatnonzero(broken[product.place])
        for move in sorted(range(-_REACH, _REACH + 1), key=abs):
            for moved, computed in (product.pair, product.pair[::-1]):
                if len(left):
                    left = _moved_along(search, product, (moved, computed, move), current, broken, left, index)
    good = search.satisfied(current, index)
    rows.rounded[index[good]] = current[good]
    rows.satisfied[index[good]] = True


def _products(search: GridSearch) -> Iterator[_Product]:
    places = {edit.name: place for place, edit in enumerate(search.edits)}
    for constraint in search.system.constraints:
        if constraint.name not in places or len(constraint.alternatives) != 1:
            continue
        alternative = constraint.alternatives[0]
        if len(alternative.polynomials) != 1 or alternative.linear or alternative.memberships:
            continue
        equality = alternative.polynomials[0]
        exponents = [each for _, monomial in equality.terms for each in monomial]
        names = tuple(dict.fromkeys(name for name, _ in exponents if name in search.system.position))
        companions = any(name not in search.system.position for name, _ in exponents)
        plain = all(power == 1 for name, power in exponents if name in names)
        if equality.relation == "==" and companions and plain and len(names) == 2 and set(names) <= set(search.names):
            yield _Product(places[constraint.name], equality, (names[0], names[1]))


def _moved_along(
    search: GridSearch,
    product: _Product,
    how: tuple[str, str, int],
    current: Floats,
    broken: Booleans,
    left: Integers,
    index: Integers,
) -> Integers:
    """Move one variable of rows `left` by some units and compute the other; which rows are left then.

    A move is made where the product holds then, and whatever else did.
    """
    moved, computed, move = how
    rows = current[left]
    first, second = search.system.position[moved], search.system.position[computed]
    rows[:, first] = _on_grid(search, moved, rows[:, first], move)

    def value(number: float | Floats) -> tuple[Floats, Floats]:
        rows[:, second] = number
        return product.equality.evaluate(fetcher(search.system, rows, index[left]))

    absent = np.isnan(rows[:, second])
    base, _ = value(0.0)
    slope = value(1.0)[0] - base
    with np.errstate(divide="ignore", invalid="ignore"):
        solved = np.where(absent, np.nan, _on_grid(search, computed, -base / slope, 0))
        gap, size = value(solved)
        near = np.flatnonzero(np.isfinite(solved) & ~product.equality.broken(gap, RELATIVE * size))
    if not len(near):
        return left
    chosen = left[near]
    found = search.grid.round(rows[near])
    after = _broken(search, found, index[chosen])
    good = ~after[product.place] & ~(after & ~broken[:, chosen]).any(axis=0)
    current[chosen[good]] = found[good]
    broken[:, chosen[good]] = after[:, good]
    return np.setdiff1d(left, chosen[good])


def _on_grid(search: GridSearch, name: str, values: Floats, move: int) -> Floats:
    """Nearest values on the grid of a variable, some of its units farther."""
    places, stride = search.grid.decimals[name] or 0, search.grid.strides.get(name, 1)
    return np.asarray((np.rint(values * 10.0**places / stride) + move) * stride / 10.0**places)


def _broken(search: GridSearch, values: Floats, index: Integers) -> Booleans:
    """Which edits rows break; shape (edits, m)."""
    found = [~search.system.targets.satisfied(edit, values, index) for edit in search.edits]
    return np.stack(found) if found else np.zeros((0, len(index)), dtype=np.bool_)


def onto_kinds(system: ConstraintSystem, edits: EditSet, values: Floats, broken: Mapping[str, Booleans]) -> Floats:
    """Rows moved onto the constraints that plugins can move them onto; the others as they are.

    `values`: shape (r, q). `broken`: rows that violate each edit; shape (r,). Returns shape (r, q).
    """
    points = values
    for edit in edits:
        index = np.flatnonzero(broken[edit.name]) if edit.name in broken else np.zeros(0, dtype=np.int64)
        condition = projected_condition(edit, edits, system.targets.names) if len(index) else None
        if condition is None:
            continue
        points = points.copy() if points is values else points
        _move(system, edits, condition, points, index)
    return points


def _move(
    system: ConstraintSystem, edits: EditSet, condition: KindCondition, points: Floats,
    index: Integers,
) -> None:  # fmt: skip
    """Write the nearest points of a condition into the rows `index` that have a value in every column."""
    names = [each.name for each in condition.columns if isinstance(each, VariableReference)]
    place = system.position
    cells = np.stack(
        [points[index, place[name]] if name in place else system.targets.fixed_numbers(name, index) for name in names],
        axis=1,
    )
    known = np.logical_not(np.isnan(cells).any(axis=1))
    index, cells = index[known], cells[known]
    if not len(index):
        return
    movable = np.array([name in place for name in names])
    rows = MovableRows(
        values=cells,
        movable=movable,
        **_bounds(system, edits, names),
        step=np.array([_step(system, name) for name in names]),
        scale=np.array([system.scale[place[name]] if name in place else 1.0 for name in names]),
    )
    kind = CONSTRAINT_KINDS[condition.name]
    assert kind.project is not None
    found = np.asarray(kind.project(rows, params_of(kind, condition.numbers)), dtype=np.float64)
    given = np.logical_not(np.isnan(found).any(axis=1))
    grid = movable & (rows.step > 0.0)
    published = found[given].copy()
    published[:, grid] = np.rint(published[:, grid] / rows.step[grid]) * rows.step[grid]
    if (verdicts_of(condition, published) == 0).any():
        raise AssertionError(f"{condition.name} moved rows to points of the published grid that it refuses itself")
    for column in np.flatnonzero(movable):
        points[index[given], place[names[column]]] = published[:, column]


def _step(system: ConstraintSystem, name: str) -> float:
    places = system.decimals.get(name)
    return 0.0 if places is None else system.targets.strides.get(name, 1) * 10.0**-places


def _bounds(system: ConstraintSystem, edits: EditSet, names: list[str]) -> dict[str, Floats]:
    """Smallest and largest value that other edits allow each variable; as closed intervals."""
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for edit in edits:
        if not all(isinstance(part, RangePart) for part in edit.parts):
            continue
        for alternative in constraint_of(edit, frozenset(system.targets.names)).alternatives:
            for stated in alternative.linear:
                linear = closed_on_grid(stated, system.decimals)
                ((name, coefficient),) = linear.coefficients
                if name not in names:
                    continue
                column, bound = names.index(name), float(linear.bound / coefficient)
                if coefficient > 0 or linear.relation == "==":
                    high[column] = min(high[column], bound)
                if coefficient < 0 or linear.relation == "==":
                    low[column] = max(low[column], bound)
    return {"low": low, "high": high}
