"""A certified lower bound of the within-cluster sum of squares of any partition into groups of at least k."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright_builtin.partitions.lower_bound.pricing_kernel import price_groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers

    Groups = dict[tuple[int, ...], float]

RECORDS_AT_ONCE = 16
"""Fixed, so that nothing depends on the number of threads."""

THREADS = 2

SMOOTHING = 0.6
"""Weight of the best prices so far in the ones that are tried next: duals of a programme with few groups swing."""

NODES = 2_000_000
"""Nodes of one search tree."""

ROUNDING = 1e-9
"""Taken off the bound, as a share of it, for rounding."""


@dataclass(frozen=True)
class LowerBound:
    """What column generation found.

    `value`: no partition into groups of at least k has a smaller within-group sum of squares. `relaxed`: value of the
    linear programme over the groups generated; the bound cannot rise above it. `unfinished`: searches of the last round
    that were cut off: their own bound stands for them.
    """

    value: float
    relaxed: float
    rounds: int
    groups: int
    unfinished: int


def sum_of_squares_bound(
    points: Floats,
    k: int,
    partitions: Iterable[Integers],
    *,
    precision: float = 1e-3,
    max_rounds: int = 100,
    progress: Progress | None = None,
) -> LowerBound:
    """Bound the within-group sum of squares of all partitions into groups of at least k records from below.

    `points`: standardised; shape (n, p). `k`: at least 2; n at least 2k. `partitions`: labels of partitions with groups
    of k to 2k - 1 records, at least one: their groups are the first columns; shape (n,). `precision`: stop when the
    bound is within this share of the linear programme's value.

    Set partitioning: minimise the sum of squares of the chosen groups, each record in exactly one. Groups of 2k and
    more can be split without loss, so k to 2k - 1 records suffice. The linear relaxation is solved over a pool of
    groups; its dual prices are searched exactly for groups that cost less than the prices of their records. Lowering
    the price of each record by the lowest reduced cost (if below 0) of the groups in which it is the first makes the
    prices feasible for all groups, and their sum a lower bound, whatever the pool is. Records with high prices come
    first: they have many groups to look at, and are then out of the way. The prices that are searched lie between the
    best ones so far and those of the programme, which swing.

    Aloise, D., Hansen, P., Rocha, C. and Santi, E. (2014): Column generation bounds for numerical microaggregation.
    Journal of Global Optimization 60(2), 165-182.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    n = len(points)
    # What counts as below 0 is absolute: the unit is the mean sum of squares of a record.
    unit = float(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))) or 1.0
    points = np.ascontiguousarray((points - points.mean(axis=0)) / np.sqrt(unit))
    pool: Groups = {}
    for labels in partitions:
        for group in _groups_of(labels):
            pool.setdefault(group, _cost(points, group))
    tried = _shares_of_costs(n, pool)
    excess, unfinished, found = _price(points, tried, k)
    pool.update({group: _cost(points, group) for group in found if group not in pool})
    kept = tried + excess
    value = float(kept.sum())
    relaxed, rounds = np.inf, 0
    while rounds < max_rounds:
        rounds += 1
        groups = list(pool)
        sizes = np.array([len(group) for group in groups])
        matrix: Any = csc_array(
            (np.ones(int(sizes.sum())), np.concatenate([np.array(group) for group in groups]),
             np.concatenate([[0], np.cumsum(sizes)])), shape=(n, len(groups)),
        )  # fmt: skip
        solved: Any = linprog(np.array([pool[group] for group in groups]), A_eq=matrix, b_eq=np.ones(n), method="highs")
        assert solved.status == 0, "the first partitions are feasible, and costs are bounded below by 0"
        relaxed = float(solved.fun)
        prices = np.asarray(solved.eqlin.marginals)
        for weight in (SMOOTHING, 0.0):
            tried = weight * kept + (1 - weight) * prices
            excess, unfinished, found = _price(points, tried, k)
            bound = float((tried + excess).sum())
            if bound > value:
                value, kept = bound, tried + excess
            new = [group for group in found if group not in pool]
            if new:
                break
        pool.update({group: _cost(points, group) for group in new})
        if progress is not None:
            progress(min(rounds / max_rounds, 1.0))
        if relaxed - value <= precision * relaxed or not new:
            break
    return LowerBound(max(value * (1 - ROUNDING), 0.0) * unit, relaxed * unit, rounds, len(pool), unfinished)


def _price(points: Floats, prices: Floats, k: int) -> tuple[Floats, int, list[tuple[int, ...]]]:
    """What each price is too high by (at most 0), searches cut off, and the cheapest groups below 0 found."""
    n = len(points)
    order = np.argsort(-prices, kind="stable")
    sorted_points, sorted_prices = np.ascontiguousarray(points[order]), prices[order]
    excess, costs = np.zeros(n), np.zeros((n, k))
    members = np.zeros((n, k, 2 * k - 1), dtype=np.int64)

    def run(first: int) -> int:
        last = min(first + RECORDS_AT_ONCE, n)
        return int(price_groups(sorted_points, sorted_prices, k, first, last, NODES, excess, costs, members))

    with ThreadPoolExecutor(THREADS) as pool:
        unfinished = sum(pool.map(run, range(0, n, RECORDS_AT_ONCE)))
    groups = [
        tuple(sorted(order[members[root, extra, : k + extra]].tolist()))
        for root, extra in np.argwhere(costs < -1e-9).tolist()
    ]
    too_high = np.empty(n)
    too_high[order] = excess
    return too_high, unfinished, groups


def _shares_of_costs(n: int, pool: Groups) -> Floats:
    """Prices to start with: a record's mean share of the cost of its groups."""
    shares, times = np.zeros(n), np.zeros(n)
    for group, cost in pool.items():
        shares[list(group)] += cost / len(group)
        times[list(group)] += 1
    return np.asarray(shares / times)


def _groups_of(labels: Integers) -> list[tuple[int, ...]]:
    order = np.argsort(labels, kind="stable")
    return [tuple(part.tolist()) for part in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)]


def _cost(points: Floats, group: tuple[int, ...]) -> float:
    rows = points[list(group)]
    return float(((rows - rows.mean(axis=0)) ** 2).sum())
