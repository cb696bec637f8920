"""The edits of one adjustment unit as numeric constraints on its rows, and which rows violate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from maskwright.adjustment.constraints import (
    Alternative,
    Constraint,
    LinearConstraint,
    Membership,
    constraint_of,
)

if TYPE_CHECKING:
    from maskwright.adjustment.rows import Rows
    from maskwright.edits.edit import EditSet, ProductPart


RELATIVE = 1e-9

Fetch = Callable[[str], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class System:
    """The edits of one adjustment unit as numeric constraints.

    Attributes
    ----------
    rows : Rows
    constraints : tuple of Constraint
    scale : ndarray of shape (q,)
        Standard deviations; distances are measured in them.
    decimals : mapping of name to int or None
    sets : mapping of Membership to ndarray of shape (m, v)
        Allowed combinations of values.
    """

    rows: Rows
    constraints: tuple[Constraint, ...]
    scale: NDArray[np.float64]
    decimals: Mapping[str, int | None]
    sets: Mapping[Membership, NDArray[np.float64]]

    @property
    def position(self) -> dict[str, int]:
        """Column of each variable that may move."""
        return {name: column for column, name in enumerate(self.rows.names)}


def system_of(
    rows: Rows, edits: EditSet, scale: NDArray[np.float64], sets: Mapping[Membership, NDArray[np.float64]]
) -> System:
    """Constraints of `edits` on `rows`; `sets` gives the members of domain edits."""
    movable = frozenset(rows.names)
    constraints = tuple(constraint_of(edit, movable) for edit in edits)
    listed = dict(sets)
    for constraint in constraints:
        for alternative in constraint.alternatives:
            for membership in alternative.memberships:
                if membership.numbers is not None:
                    listed[membership] = np.array([[float(number)] for number in membership.numbers])
    decimals = {variable.name: variable.decimals for variable in rows.variables}
    return System(rows, constraints, scale, decimals, listed)


@np.errstate(over="ignore", invalid="ignore")
def violated(system: System, values: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """Rows that violate each constraint by more than rounding in binary64 (relative 1e-9); edit name to shape (r,)."""
    index = np.arange(len(values))
    return {
        constraint.name: ~np.logical_or.reduce(
            [_holds(system, alternative, values, index) for alternative in constraint.alternatives]
        )
        for constraint in system.constraints
    }


def _holds(
    system: System, alternative: Alternative, values: NDArray[np.float64], index: NDArray[np.int64]
) -> NDArray[np.bool_]:
    result = np.ones(len(values), dtype=np.bool_)
    for linear in alternative.linear:
        total, size = _linear_value(system, linear, values, index)
        gap = total - float(linear.bound)
        allowed = RELATIVE * np.maximum(size, abs(float(linear.bound)))
        if linear.relation == "==":
            result &= ~(np.abs(gap) > allowed)
        elif linear.strict:
            result &= ~(gap >= 0)
        else:
            result &= ~(gap > allowed)
    for product in alternative.products:
        left, right = product_sides(product, fetcher(system, values, index))
        gap, allowed = left - right, RELATIVE * np.maximum(np.abs(left), np.abs(right))
        result &= ~beyond(product, gap, allowed)
    for membership in alternative.memberships:
        columns = [system.position[name] for name in membership.variables]
        chosen = values[:, columns]
        known: NDArray[np.bool_] = np.logical_not(np.any(np.isnan(chosen), axis=1))
        tree = cKDTree(system.sets[membership] / system.scale[columns])
        distance, _ = tree.query(np.where(known[:, None], chosen, 0.0) / system.scale[columns])
        result &= ~known | (np.asarray(distance) <= RELATIVE)
    for requirement in alternative.requirements:
        result &= system.rows.known(requirement, values, index)
    return result


def beyond(product: ProductPart, gap: NDArray[np.float64], allowed: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows where ``left - right`` is on the wrong side of the relation by more than `allowed`."""
    match product.relation:
        case "==":
            return np.abs(gap) > allowed
        case "<=":
            return gap > allowed
        case "<":
            return gap >= 0
        case ">=":
            return gap < -allowed
        case ">":
            return gap <= 0


def _linear_value(
    system: System, linear: LinearConstraint, values: NDArray[np.float64], index: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    total = np.zeros(len(values))
    size = np.zeros(len(values))
    for name, coefficient in linear.coefficients:
        column = system.position.get(name)
        term = values[:, column] if column is not None else system.rows.companion_numbers(name, index)
        term = float(coefficient) * term
        total = total + term
        size = np.maximum(size, np.abs(term))
    return total, size


def fetcher(system: System, values: NDArray[np.float64], index: NDArray[np.int64]) -> Fetch:
    """Numbers of a variable, whether it moves or not."""
    position = system.position

    def fetch(name: str) -> NDArray[np.float64]:
        column = position.get(name)
        return values[:, column] if column is not None else system.rows.companion_numbers(name, index)

    return fetch


def product_sides(product: ProductPart, fetch: Fetch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both sides of a product edit; `fetch` gives a variable's numbers, shape (r,)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = np.asarray(float(product.coefficient))
        for name, exponent in product.left:
            left = left * fetch(name) ** float(exponent)
        right = np.asarray(float(product.constant))
        for name, exponent in product.right:
            right = right * fetch(name) ** float(exponent)
    left, right = np.broadcast_arrays(left, right)
    return left, right
