"""How far the keys of two records agree, in levels: equal, one step apart, farther, missing; counted over all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.record_linkage.relatives import large_households, relatives

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import Rows

PAIRS_AT_MOST = 200_000_000
"""Pairs of rows that are visited to count patterns; beyond, a part of the records is compared with all."""
MISSING = 3
"""Number of the last level; before it agree, next, farther."""
PATTERNS_AT_MOST = 1 << 20


@dataclass(frozen=True, eq=False)
class Levels:
    """Which levels each key has.

    `near`, `next`: largest gap of the first and of the second level; equal where there is no second one; shape (d,).
    `has`: which of agree, next, farther, missing are levels of the key; shape (4, d).
    """

    near: NDArray[np.float64]
    next: NDArray[np.float64]
    has: NDArray[np.bool_]

    @property
    def place(self) -> NDArray[np.int64]:
        """What each level of each key adds to the number of a pattern; shape (4, d)."""
        own = np.maximum(np.cumsum(self.has, axis=0) - 1, 0)
        sizes = self.has.sum(axis=0)
        return np.asarray(own * np.append(1, np.cumprod(sizes)[:-1]), dtype=np.int64)

    def of_patterns(self) -> list[NDArray[np.int64]]:
        """Level of each key, numbered among those that it has, in each pattern; shape (patterns,) each."""
        sizes = self.has.sum(axis=0)
        numbers, found = np.arange(int(np.prod(sizes))), []
        for size in sizes:
            found.append(numbers % size)
            numbers = numbers // size
        return found


def pattern_counts(queries: Rows, targets: Rows, levels: Levels) -> tuple[NDArray[np.float64], int]:
    """Pairs of records with each pattern of levels, and how many query records were compared with all targets.

    Where there are too many pairs of distinct rows, so many records are taken in equal distances from the queries in
    the order of their rows: the same ones in any order of the file.
    """
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import count_levels

    copies = queries.copies
    if len(queries.low) * len(targets.low) > PAIRS_AT_MOST:
        order = np.lexsort((*queries.low.T, *queries.high.T, queries.present))
        ends = np.cumsum(copies[order])
        taken = max(PAIRS_AT_MOST // len(targets.low), 1)
        at = (np.arange(taken) + 0.5) * (ends[-1] / taken)
        copies = np.zeros_like(copies)
        np.add.at(copies, order[np.searchsorted(ends, at, side="right")], 1)
    rows = np.flatnonzero(copies)
    counts = np.zeros(int(np.prod(levels.has.sum(axis=0))), dtype=np.int64)
    one = queries.low[rows], queries.high[rows], queries.present[rows], copies[rows]
    other = targets.low, targets.high, targets.present, targets.copies
    count_levels(*one, *other, levels.near, levels.next, levels.place, counts)
    return counts.astype(np.float64), int(copies.sum())


def true_levels(
    queries: Rows, targets: Rows, households: tuple[NDArray[np.int64], NDArray[np.int64]], levels: Levels
) -> NDArray[np.float64]:
    """Pairs of one household at each level of each key; shape (4, d)."""
    d = queries.low.shape[1]
    found = np.zeros((4, d))
    for chosen, relative in relatives(*households):
        one, other = queries.of_record[chosen], targets.of_record[relative]
        for j in range(d):
            found[:, j] += np.bincount(_level(queries, targets, one, other, j, levels), minlength=4)
    for chosen, members in large_households(*households):
        some, others = queries.part(chosen).copies, targets.part(members).copies
        used = np.flatnonzero(others)
        for row in np.flatnonzero(some):
            for j in range(d):
                level = _level(queries, targets, np.full(len(used), row), used, j, levels)
                found[:, j] += np.bincount(level, others[used] * float(some[row]), minlength=4)
    return found


def _level(
    queries: Rows, targets: Rows, one: NDArray[np.int64], other: NDArray[np.int64], j: int, levels: Levels
) -> NDArray[np.int64]:
    gap = np.maximum(targets.low[other, j] - queries.high[one, j], queries.low[one, j] - targets.high[other, j])
    level = np.where(gap <= levels.near[j], 0, np.where(gap <= levels.next[j], 1, 2))
    return np.where((queries.present[one] & targets.present[other]) >> j & 1, level, MISSING)


def all_levels(queries: Rows, targets: Rows, levels: Levels) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Of all pairs of records those at each level of each key, and the share of targets each query row agrees with.

    The shares are among the targets that have the key.

    Returns one for each key; shape (4, d).
    """
    counts, share = np.zeros((4, queries.low.shape[1])), []
    pairs = float(queries.copies.sum()) * float(targets.copies.sum())
    for j in range(len(counts.T)):
        own, theirs = (rows.present >> j & 1 == 1 for rows in (queries, targets))
        here, there = queries.copies[own], targets.copies[theirs]
        starts, ends = (_cumulated(side[theirs, j], there) for side in (targets.low, targets.high))
        near, next_ = (
            _agreeing(queries.low[own, j] - reach, queries.high[own, j] + reach, starts, ends)
            for reach in (levels.near[j], levels.next[j])
        )
        both = float(here.sum()) * float(there.sum())
        counts[:, j] = near @ here, (next_ - near) @ here, both - next_ @ here, pairs - both
        found = np.zeros(len(queries.low))
        found[own] = near / max(float(there.sum()), 1.0)
        share.append(found)
    return counts, share


_Cumulated = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
"""Ascending places, and how many records lie before each of them and before the end."""


def _cumulated(places: NDArray[np.float64], counts: NDArray[np.int64]) -> _Cumulated:
    order = np.argsort(places, kind="stable")
    return places[order], np.append(0.0, np.cumsum(counts[order]))


def _agreeing(
    low: NDArray[np.float64], high: NDArray[np.float64], starts: _Cumulated, ends: _Cumulated
) -> NDArray[np.float64]:
    """Records that begin no later than `high` and do not end before `low`."""
    begun = starts[1][np.searchsorted(starts[0], high, side="right")]
    return np.asarray(begun - ends[1][np.searchsorted(ends[0], low, side="left")])
