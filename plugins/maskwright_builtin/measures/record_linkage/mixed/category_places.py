"""Where categories stand: original ones at whole numbers, published groups of them from the first to the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Band, Variable


@dataclass(frozen=True, eq=False)
class CategoryPlaces:
    """Places of categories.

    `original`: of each original category; shape (c,). `low`, `high`: of the first and the last member of each published
    one; shape (g,).
    """

    original: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def band_of_text(before: Variable, after: Variable) -> dict[str, Band]:
    """What each published category stands for, by what the variable says or the original's hierarchy calls so."""
    if after.bands:
        return dict(zip(after.categories, after.bands, strict=True))
    known: dict[str, Band] = {}
    if before.hierarchy is not None:
        for level in range(before.hierarchy.height, 0, -1):
            known |= zip(before.hierarchy.labels(level), before.hierarchy.bands(level), strict=True)
    return known


def category_places(
    before: Variable, after: Variable, occurring: NDArray[np.int64], *, in_order: bool
) -> CategoryPlaces | None:
    """Places of the categories of both files; None where a published one that occurs stands for nothing known.

    Without an order the members of a group are put side by side, which nested groups allow.

    `occurring`: codes of the published categories that some record has. `in_order`: whether places follow the declared
    order.
    """
    position = {category: place for place, category in enumerate(before.categories)}
    known = band_of_text(before, after)
    groups: list[frozenset[int]] = []
    for code, category in enumerate(after.categories):
        band = known.get(category)
        if band is not None and band.members is not None:
            members = frozenset(position[str(member)] for member in band.members if str(member) in position)
        else:
            members = frozenset({position[category]} if category in position else ())
        if not members and code in occurring:
            return None
        groups.append(members or frozenset({0}))
    order = list(range(len(position))) if in_order else _side_by_side(len(position), groups)
    place = np.empty(len(order))
    place[order] = np.arange(float(len(order)))
    ends = np.array([(min(place[list(one)]), max(place[list(one)])) for one in groups]).reshape(-1, 2)
    sizes = np.array([len(one) for one in groups])
    if (ends[:, 1] - ends[:, 0] + 1.0 > sizes)[occurring].any():
        return None
    return CategoryPlaces(place, ends[:, 0], ends[:, 1])


def _side_by_side(count: int, groups: Sequence[frozenset[int]]) -> list[int]:
    """Order of the categories in which the members of nested groups are neighbours."""
    chains: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(sorted(set(groups), key=lambda one: (-len(one), sorted(one)))):
        for member in group:
            chains[member].append(number)
    return sorted(range(count), key=lambda member: (chains[member], member))
