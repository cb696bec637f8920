"""Levels of agreement of mixed keys, counted over all pairs, and the linkage model estimated from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.record_linkage.fellegi_sunter import MOST_ITERATIONS, SMALLEST, START, TOLERANCE
from maskwright_builtin.measures.record_linkage.linkage import large_households, relatives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import Rows
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


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

    near: Floats
    next: Floats
    has: Booleans

    @property
    def place(self) -> Integers:
        """What each level of each key adds to the number of a pattern; shape (4, d)."""
        own = np.maximum(np.cumsum(self.has, axis=0) - 1, 0)
        sizes = self.has.sum(axis=0)
        return np.asarray(own * np.append(1, np.cumprod(sizes)[:-1]), dtype=np.int64)

    def of_patterns(self) -> list[Integers]:
        """Level of each key, numbered among those that it has, in each pattern; shape (patterns,) each."""
        sizes = self.has.sum(axis=0)
        numbers, found = np.arange(int(np.prod(sizes))), []
        for size in sizes:
            found.append(numbers % size)
            numbers = numbers // size
        return found


def pattern_counts(queries: Rows, targets: Rows, levels: Levels) -> tuple[Floats, int]:
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


def true_levels(queries: Rows, targets: Rows, households: tuple[Integers, Integers], levels: Levels) -> Floats:
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


def _level(queries: Rows, targets: Rows, one: Integers, other: Integers, j: int, levels: Levels) -> Integers:
    gap = np.maximum(targets.low[other, j] - queries.high[one, j], queries.low[one, j] - targets.high[other, j])
    level = np.where(gap <= levels.near[j], 0, np.where(gap <= levels.next[j], 1, 2))
    return np.where((queries.present[one] & targets.present[other]) >> j & 1, level, MISSING)


def all_levels(queries: Rows, targets: Rows, levels: Levels) -> tuple[Floats, list[Floats]]:
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


_Cumulated = tuple["Floats", "Floats"]
"""Ascending places, and how many records lie before each of them and before the end."""


def _cumulated(places: Floats, counts: Integers) -> _Cumulated:
    order = np.argsort(places, kind="stable")
    return places[order], np.append(0.0, np.cumsum(counts[order]))


def _agreeing(low: Floats, high: Floats, starts: _Cumulated, ends: _Cumulated) -> Floats:
    """Records that begin no later than `high` and do not end before `low`."""
    begun = starts[1][np.searchsorted(starts[0], high, side="right")]
    return np.asarray(begun - ends[1][np.searchsorted(ends[0], low, side="left")])


START_U = 0.1
"""Where the shares of agreeing pairs start among other pairs than matches."""


@dataclass(frozen=True, eq=False)
class LevelClasses:
    """Matches and other pairs.

    `m`, `u`: share of each level of each key, the first being agreement; shape (levels,). `prior`: share of matches
    among all pairs.
    """

    m: Sequence[Floats]
    u: Sequence[Floats]
    prior: float
    converged: bool = True


def shares(counts: Floats) -> Floats:
    """Counts as shares, none of them 0."""
    total = float(counts.sum())
    return np.maximum(counts / total if total else np.full(len(counts), 1.0 / len(counts)), SMALLEST)


def fit_levels(
    levels: Sequence[Integers], sizes: Sequence[int], counts: Floats, prior: float, *,
    estimate_prior: bool
) -> LevelClasses:  # fmt: skip
    """Fit both classes to the counts of patterns by EM; keys are independent within a class.

    `levels`: level of each key in each pattern; -1 where a missing cell does not count; shape (patterns,). `counts`:
    pairs with each pattern; shape (patterns,). `prior`: share of matches among all pairs, or where it starts.

    Jaro (1989), Journal of the American Statistical Association 84(406), 414-420; Winkler (1988).
    """
    share = counts / counts.sum()
    m, u = ([_start(agree, size) for size in sizes] for agree in (START, START_U))
    converged = False
    for _ in range(MOST_ITERATIONS):
        matching, other = prior * _probability(levels, m), (1.0 - prior) * _probability(levels, u)
        mass = share * matching / np.maximum(matching + other, SMALLEST**4)
        total = float(mass.sum())
        new_m, new_u = (
            [
                shares(np.bincount(level[level >= 0], one[level >= 0], size).astype(np.float64))
                for level, size in zip(levels, sizes, strict=True)
            ]
            for one in (mass, share - mass)
        )
        new_prior = min(max(total, SMALLEST), 1.0 - SMALLEST) if estimate_prior else prior
        moved = [np.abs(new - old).max() for new, old in zip((*new_m, *new_u), (*m, *u), strict=True)]
        # A prior of one in a million must settle too, so its change counts relative to itself.
        change = max(*moved, abs(new_prior - prior) / prior)
        m, u, prior = new_m, new_u, new_prior
        if change < TOLERANCE:
            converged = True
            break
    return LevelClasses(m, u, prior, converged)


def _start(agree: float, size: int) -> Floats:
    return np.array([agree, *([(1.0 - agree) / max(size - 1, 1)] * (size - 1))])


def _probability(levels: Sequence[Integers], share: Sequence[Floats]) -> Floats:
    """Probability of each pattern in a class; a key that does not count is certain."""
    product = np.ones(len(levels[0]))
    for level, own in zip(levels, share, strict=True):
        product *= np.append(own, 1.0)[level]
    return product
