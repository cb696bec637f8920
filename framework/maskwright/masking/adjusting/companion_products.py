"""Products with a factor that does not move: rows are put on them by moving the two variables that may, and no other.

Where a rate stays, ``rate * base == tax`` ties two variables, and each rate leaves other grid points: those of 0.05 are
not those of 0.1, so that no dependent is computed for all rows. One variable is moved unit by unit and the other
computed from it, until both lie on the grid. A search that moves all variables of the row seldom meets such points, and
moves what has nothing to do with the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.adjusting.constraint_system import RELATIVE, fetcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.masking.adjusting.grid_search import GridSearch
    from maskwright.masking.adjusting.polynomials import PolynomialConstraint

_REACH = 500
"""Units of the grid by which a variable is moved at most: products of factors of three decimals are met."""


@dataclass(frozen=True, eq=False)
class _Product:
    """An equality of two variables that may move, linear in each, with others; `place` is that among the edits."""

    place: int
    equality: PolynomialConstraint
    pair: tuple[str, str]


def onto_companion_products(search: GridSearch, result: NDArray[np.float64], satisfied: NDArray[np.bool_]) -> None:
    """Put rows that are not satisfied on products with companions, near to where they are.

    `result`: on the grid. Written where every edit is satisfied then: other rows are left as they are; shape (r, q).
    `satisfied`: written likewise; shape (r,).
    """
    index = np.flatnonzero(~satisfied)
    products = list(_products(search)) if len(index) else []
    if not products:
        return
    current = result[index]
    broken = _broken(search, current, index)
    for product in products:
        left = np.flatnonzero(broken[product.place])
        for move in sorted(range(-_REACH, _REACH + 1), key=abs):
            for moved, computed in (product.pair, product.pair[::-1]):
                if len(left):
                    left = _moved_along(search, product, (moved, computed, move), current, broken, left, index)
    good = search.satisfied(current, index)
    result[index[good]] = current[good]
    satisfied[index[good]] = True


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
    current: NDArray[np.float64],
    broken: NDArray[np.bool_],
    left: NDArray[np.int64],
    index: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Move one variable of rows `left` by some units and compute the other; which rows are left then.

    A move is made where the product holds then, and whatever else did.
    """
    moved, computed, move = how
    rows = current[left]
    first, second = search.system.position[moved], search.system.position[computed]
    rows[:, first] = _on_grid(search, moved, rows[:, first], move)

    def value(number: float | NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows[:, second] = number
        return product.equality.evaluate(fetcher(search.system, rows, index[left]))

    absent = np.isnan(rows[:, second])
    base, _ = value(0.0)
    slope = value(1.0)[0] - base
    with np.errstate(divide="ignore", invalid="ignore"):
        solved = np.where(absent, np.nan, _on_grid(search, computed, -base / slope, 0))
        gap, size = value(solved)
        near = np.flatnonzero(np.isfinite(solved) & (np.abs(gap) <= RELATIVE * size))
    if not len(near):
        return left
    chosen = left[near]
    found = search.grid.round(rows[near])
    after = _broken(search, found, index[chosen])
    good = ~after[product.place] & ~(after & ~broken[:, chosen]).any(axis=0)
    current[chosen[good]] = found[good]
    broken[:, chosen[good]] = after[:, good]
    return np.setdiff1d(left, chosen[good])


def _on_grid(search: GridSearch, name: str, values: NDArray[np.float64], move: int) -> NDArray[np.float64]:
    """Nearest values on the grid of a variable, some of its units farther."""
    places, stride = search.grid.decimals[name] or 0, search.grid.strides.get(name, 1)
    return np.asarray((np.rint(values * 10.0**places / stride) + move) * stride / 10.0**places)


def _broken(search: GridSearch, values: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which edits rows break; shape (edits, m)."""
    found = [~search.system.targets.satisfied(edit, values, index) for edit in search.edits]
    return np.stack(found) if found else np.zeros((0, len(index)), dtype=np.bool_)
