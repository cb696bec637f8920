"""Relatives: the records of one household; undeclared, each original record is a household of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LARGEST_VISITED = 300
"""Households with more targets are searched like files; in smaller ones visiting every pair is faster."""

Household = Literal["any", "all"]

HOUSEHOLD_DESCRIPTION = (
    "Where households are declared, a household counts as linked when 'any' of its records is, or "
    "only when 'all' are; chances of its records are multiplied as independent ones."
)


def relatives(
    households: NDArray[np.int64], target_households: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of queries and targets of one household: each time some queries and one target for each of them.

    As many times as the largest household has targets, so that memory stays O(n); not those of `large_households`.
    """
    order, begin, end = _members(households, target_households)
    size = end - begin
    size[size > LARGEST_VISITED] = 0
    for step in range(int(size.max(initial=0))):
        chosen = np.flatnonzero(step < size)
        yield chosen, order[begin[chosen] + step]


def large_households(
    households: NDArray[np.int64], target_households: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Households of more than `LARGEST_VISITED` targets: positions of the queries, and of the targets, of each."""
    order, begin, end = _members(households, target_households)
    large = np.flatnonzero(end - begin > LARGEST_VISITED)
    large = large[np.argsort(begin[large], kind="stable")]
    for chosen in np.split(large, np.flatnonzero(np.diff(begin[large])) + 1) if large.size else ():
        yield chosen, np.sort(order[begin[chosen[0]] : end[chosen[0]]])


def _members(
    households: NDArray[np.int64], target_households: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Targets in the order of their households, and where those of each query begin and end."""
    order = np.argsort(target_households, kind="stable")
    members = target_households[order]
    begin, end = (np.searchsorted(members, households, side=side) for side in ("left", "right"))
    return order, begin, end


def reached(
    chance: NDArray[np.float64], households: NDArray[np.int64] | None, household: Household = "any"
) -> NDArray[np.float64]:
    """Chance that each record, or each household, is reached; shape (u,).

    `chance`: of each masked record; shape (m,). `households`: household of each masked record; None when none are
    declared; shape (m,). `household`: whether any of its records must be reached, or all; their chances are taken as
    independent.
    """
    if households is None:
        return chance
    present, unit = np.unique(households, return_inverse=True)
    product = np.ones(present.size)
    np.multiply.at(product, unit, chance if household == "all" else 1.0 - chance)
    return product if household == "all" else 1.0 - product
