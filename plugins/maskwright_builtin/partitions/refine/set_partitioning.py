"""Groups of several searches combined: of all that were found, and some beside them, those that lose least together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32

    Pool = dict[int, Integers]
    """Groups of each size: members in ascending order, one group a row, rows in order."""

ROUNDS = 60
"""Times that prices are requested."""

ADDED = 10
"""A tenth as many groups as there are records join the pool each time: of more, most are of no use later."""

COLUMNS_PER_RECORD = 4
"""Groups that are chosen among in whole numbers: with many more it takes minutes."""

NODES = 200
"""Nodes of the search for whole numbers; counted, and not timed: the same data give the same groups."""

ENOUGH = 1e-5
"""Share of the sum of squares that the search for whole numbers may leave."""

WORTH = 1e-9
"""Reduced costs, in mean costs of a group, that do not count as below 0."""

AT_ONCE = 256
"""Groups whose exchanges are weighed together, for memory."""


def combined_labels(
    points: Floats, near: Integers32, partitions: Sequence[Integers], k: int, progress: Progress
) -> Integers:
    """Choose groups of several partitions, and groups that differ from those by one record, that lose least together.

    `points`: finite, about their mean; shape (n, p). `near`: near records of each record: those that a group may take
    in; shape (n, q). `partitions`: labels 0, 1, ... of groups of k to 2k - 1 records; shape (n,). `k`: at least 2.
    Returns labels of groups of k to 2k - 1 records. The sum of squares is never above that of the best partition; shape
    (n,).

    Set partitioning: minimise the sum of squares of the chosen groups, each record in exactly one. The dual prices of
    the linear relaxation say what a record may cost; groups in the pool that take in, give away or exchange one record
    for less than these prices join it, the cheapest first, until there is none. Then the cheapest groups by these
    prices are chosen among by branch and bound.
    """
    from scipy.optimize import LinearConstraint, milp

    best = min(partitions, key=lambda labels: float(costs_of_labels(points, labels).sum()))
    least = float(costs_of_labels(points, best).sum())
    pool = _unique([_groups_of(labels) for labels in partitions])
    unit = least / (best.max() + 1)
    if unit <= 0.0:
        return best
    prices = np.zeros(len(points))
    for turn in range(ROUNDS):
        solved_prices = _prices(points, pool)
        if solved_prices is None:
            return best
        prices = solved_prices
        found = _exchanges(points, near, pool, prices, k, -WORTH * unit)
        progress(0.7 * (turn + 1) / ROUNDS)
        if not found:
            break
        pool = _unique([pool, _cheapest(points, found, prices, -(-len(points) // ADDED))])
    chosen = _unique([_cheapest(points, pool, prices, COLUMNS_PER_RECORD * len(points)), _groups_of(best)])
    progress(0.75)
    costs = _costs(points, chosen)
    solved: Any = milp(
        costs / unit,
        integrality=np.ones(len(costs), dtype=np.int64),
        constraints=LinearConstraint(_matrix(len(points), chosen), 1, 1),
        options={"node_limit": NODES, "mip_rel_gap": ENOUGH},
    )
    progress(1.0)
    if solved.x is None:
        return best
    labels = _labels(len(points), chosen, np.asarray(solved.x) > 0.5)
    # Whole up to a tolerance, and cut off after so many nodes: looked at before it is believed.
    if labels is None or float(costs_of_labels(points, labels).sum()) >= least:
        return best
    return labels


def costs_of_labels(points: Floats, labels: Integers) -> Floats:
    """Sum of squares of each group.

    `points`: shape (n, p). `labels`: groups 0, 1, ..., none empty; shape (n,).
    """
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return np.asarray(np.bincount(labels, np.square(points - means[labels]).sum(axis=1)), dtype=np.float64)


def _groups_of(labels: Integers) -> Pool:
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    ends = np.cumsum(sizes)
    return {
        size: order[(ends[sizes == size] - size)[:, None] + np.arange(size)] for size in np.unique(sizes).tolist()
    }  # fmt: skip


def _unique(pools: Sequence[Pool]) -> Pool:
    sizes = sorted({size for pool in pools for size in pool})
    return {size: np.unique(np.concatenate([pool[size] for pool in pools if size in pool]), axis=0) for size in sizes}


def _costs(points: Floats, pool: Pool) -> Floats:
    """Sums of squares, in order of size and row."""
    return np.concatenate([
        np.square(points[groups] - points[groups].mean(axis=1, keepdims=True)).sum(axis=(1, 2))
        for groups in pool.values()
    ])  # fmt: skip


def _reduced(points: Floats, pool: Pool, prices: Floats) -> Floats:
    charged = np.concatenate([prices[groups].sum(axis=1) for groups in pool.values()])
    return np.asarray(_costs(points, pool) - charged)


def _cheapest(points: Floats, pool: Pool, prices: Floats, most: int) -> Pool:
    """The groups with the lowest reduced costs."""
    reduced = _reduced(points, pool, prices)
    kept = np.zeros(len(reduced), dtype=np.bool_)
    kept[np.argsort(reduced, kind="stable")[:most]] = True
    ends = np.cumsum([len(groups) for groups in pool.values()])
    pieces = np.split(kept, ends[:-1])
    return {size: groups[piece] for (size, groups), piece in zip(pool.items(), pieces, strict=True) if piece.any()}


def _matrix(n: int, pool: Pool) -> Any:
    from scipy.sparse import csc_array

    members = np.concatenate([groups.ravel() for groups in pool.values()])
    sizes = np.concatenate([np.full(len(groups), size) for size, groups in pool.items()])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return csc_array((np.ones(len(members)), members, starts), shape=(n, len(sizes)))


def _prices(points: Floats, pool: Pool) -> Floats | None:
    """Dual prices of the records, or None where costs differ so much that the solver gives up."""
    from scipy.optimize import linprog

    costs = _costs(points, pool)
    unit = float(costs.mean())
    n = len(points)
    solved: Any = linprog(costs / unit, A_eq=_matrix(n, pool), b_eq=np.ones(n), method="highs")
    return np.asarray(solved.eqlin.marginals) * unit if solved.status == 0 else None


def _exchanges(points: Floats, near: Integers32, pool: Pool, prices: Floats, k: int, below: float) -> Pool:
    """Groups that differ by one record from one of the pool, with a reduced cost below a threshold."""
    found: dict[int, list[Integers]] = {}
    for groups in pool.values():
        for first in range(0, len(groups), AT_ONCE):
            for made in _exchanges_of(points, near, groups[first : first + AT_ONCE], prices, k, below):
                if len(made):
                    found.setdefault(made.shape[1], []).append(np.sort(made, axis=1))
    return {size: np.unique(np.concatenate(found[size]), axis=0) for size in sorted(found)}


def _exchanges_of(
    points: Floats, near: Integers32, groups: Integers, prices: Floats, k: int, below: float
) -> list[Integers]:
    count, size = groups.shape
    means = points[groups].mean(axis=1, keepdims=True)
    own = points[groups] - means
    squares = np.square(own).sum(axis=2)
    costs = squares.sum(axis=1)
    reduced = costs - prices[groups].sum(axis=1)
    arriving = near[groups].reshape(count, -1).astype(np.int64)
    offsets = points[arriving] - means
    distances = np.square(offsets).sum(axis=2)
    # A record that is a member already cannot come.
    member = (arriving[:, :, None] == groups[:, None, :]).any(axis=2)
    made = []
    if size < 2 * k - 1:
        change = distances * (size / (size + 1)) - prices[arriving]
        group, at = np.nonzero((reduced[:, None] + change < below) & ~member)
        made.append(np.column_stack([groups[group], arriving[group, at]]))
    leaving = reduced[:, None] - squares * (size / (size - 1)) + prices[groups]
    if size > k:
        group, at = np.nonzero(leaving < below)
        kept = np.arange(size)[None, :] != at[:, None]
        made.append(groups[group][kept].reshape(len(group), size - 1))
    # The mean of those that stay is own / (size - 1) away from the mean, on the other side.
    products = np.matmul(own, offsets.transpose(0, 2, 1))
    moved = distances[:, None, :] + (2.0 / (size - 1)) * products + (squares / (size - 1) ** 2)[:, :, None]
    change = leaving[:, :, None] + moved * ((size - 1) / size) - prices[arriving][:, None, :]
    group, out, at = np.nonzero((change < below) & ~member[:, None, :])
    swapped = groups[group]
    swapped[np.arange(len(group)), out] = arriving[group, at]
    made.append(swapped)
    return made


def _labels(n: int, pool: Pool, chosen: Booleans) -> Integers | None:
    """Labels of the chosen groups, or None when they do not hold each record once."""
    labels = np.full(n, -1, dtype=np.int64)
    placed = start = following = 0
    for groups in pool.values():
        taken = groups[chosen[start : start + len(groups)]]
        labels[taken] = following + np.arange(len(taken))[:, None]
        placed += taken.size
        start += len(groups)
        following += len(taken)
    return labels if placed == n and labels.min(initial=0) >= 0 else None
