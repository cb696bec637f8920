"""Compiled k-d tree that counts nearer records and finds the nearest, exactly as a loop over all records would.

The tree is cut at medians of the widest side into a power of two of leaves; sixteen consecutive leaves, and sixteen
consecutive nodes of each level above, make one node of the next level. Coordinates of siblings lie side by side, so
that sixteen distances are computed together.

Distances are sums of squares in the order of the columns, without fused multiply-add. The distance to a box is
computed by the same operations in the same order from parts that are no larger, so even after rounding it never
exceeds the distance to a point inside: pruning what is strictly farther cannot lose a tie.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import compiled
from maskwright_builtin.numerics.spatial import select, widest_column
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

WIDTH = 16
"""Points in a leaf, at most, and children of a node."""

APART = 3
"""Cuts after which the parts of a tree are cut on, several at once."""


class Tree(NamedTuple):
    """Distinct records in a k-d tree.

    `leaves`: coordinates of each leaf's records side by side; NaN, neither nearer nor tied, where it has fewer than
    WIDTH; shape (leaves, d, WIDTH). `bounds`: where each leaf's records begin and end, in the order of the leaves;
    shape (leaves + 1,). `copies`, `lowest`: how many records are equal to this one, and the lowest of their positions;
    in the order of the leaves; shape (c,). `low`, `high`: boxes of the children of every group: the groups of leaves,
    then the groups of those, up to the root; shape (groups, d, WIDTH). `levels`: where each level's groups begin; the
    last entry is their number, the last group is the root; shape (h + 1,).
    """

    leaves: Floats
    bounds: Integers
    copies: Integers
    lowest: Integers
    low: Floats
    high: Floats
    levels: Integers


def build_tree(targets: Floats, weight: Floats) -> tuple[Tree, Integers]:
    """Cut records into a tree.

    `targets`: Finite; t, d >= 1; shape (t, d). `weight`: factor of each difference; shape (d,). Returns place of each
    record in the order of the leaves; shape (t,).
    """
    rows, copies, lowest, row_of = _distinct_rows(targets)
    depth = max(0, math.ceil(math.log2(len(rows) / WIDTH)))
    order, bounds = _order_by_leaf(rows, weight, depth)
    count, d = rows.shape
    points = rows[order]
    del rows  # each of these is as large as the file
    low, high = np.minimum.reduceat(points, bounds[:-1]), np.maximum.reduceat(points, bounds[:-1])
    leaf = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    leaves = np.full((len(bounds) - 1, d, WIDTH), np.nan)
    leaves[leaf, :, np.arange(count) - bounds[leaf]] = points
    del points, leaf
    lows, highs, levels = [], [], [0]
    while len(low) > 1:
        grouped_low, grouped_high = _grouped(low, np.inf), _grouped(high, -np.inf)
        lows.append(grouped_low)
        highs.append(grouped_high)
        levels.append(levels[-1] + len(grouped_low))
        low, high = grouped_low.min(axis=2), grouped_high.max(axis=2)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    nothing = np.empty((0, d, WIDTH))
    tree = Tree(
        leaves,
        bounds,
        copies[order],
        lowest[order],
        np.concatenate([nothing, *lows]),
        np.concatenate([nothing, *highs]),
        np.array(levels, dtype=np.int64),
    )
    return tree, place[row_of]


def _grouped(boxes: Floats, beyond: float) -> Floats:
    """Sides of boxes (b, d) by group of consecutive ones: shape (groups, d, WIDTH), `beyond` where there is no box."""
    groups = -(-len(boxes) // WIDTH)
    padded = np.full((groups * WIDTH, boxes.shape[1]), beyond)
    padded[: len(boxes)] = boxes
    return np.ascontiguousarray(padded.reshape(groups, WIDTH, -1).transpose(0, 2, 1))


def _distinct_rows(targets: Floats) -> tuple[Floats, Integers, Integers, Integers]:
    """Distinct rows, how many records have each, the lowest of their positions, and the row of each record."""
    order = _ascending(targets)
    ordered = np.ascontiguousarray(targets[order])
    begins = np.ones(len(ordered), dtype=np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    copies = np.diff(np.append(starts, len(ordered)))
    row_of = np.empty(len(ordered), dtype=np.int64)
    row_of[order] = np.cumsum(begins) - 1
    # Equal rows are in the order of their positions, so the first record of a run is the lowest.
    return ordered[starts], copies, order[starts], row_of


def _ascending(targets: Floats) -> Integers:
    """``np.lexsort(targets.T)``: by the last column, then the one before; equal rows in the order of their positions.

    Numbers that are measured rarely repeat, and records whose last one does not are in their places after one sort.
    """
    last = targets[:, -1]
    order = np.argsort(last)
    ordered = last[order]
    repeats = ordered[1:] == ordered[:-1]
    tied = np.zeros(len(order), dtype=np.bool_)
    tied[1:] = repeats
    tied[:-1] |= repeats
    records = np.sort(order[tied])
    # Masked records are mostly all tied: no second copy of the file then.
    keys = targets if len(records) == len(targets) else targets[records]
    order[tied] = records[np.lexsort(keys.T)]
    return order


def _order_by_leaf(points: Floats, weight: Floats, depth: int) -> tuple[Integers, Integers]:
    """Cut points into ``2 ** depth`` leaves of nearly equal size.

    `points`: shape (c, d). `weight`: makes the sides comparable; shape (d,). Returns points by leaf; leaf i holds
    ``order[bounds[i]:bounds[i + 1]]``; shape (c,).
    """
    order, keys = np.arange(len(points)), np.empty(len(points))
    bounds = np.zeros(2**depth + 1, dtype=np.int64)
    bounds[-1] = len(points)
    part = 2 ** max(0, depth - APART)
    _cut(points, weight, 0, 2**depth, part, order, keys, bounds)
    parts = [slice(begin, begin + part) for begin in range(0, 2**depth, part)]

    def cut(leaves: slice) -> None:
        _cut(points, weight, leaves.start, leaves.stop, 1, order, keys, bounds)

    for _ in in_order(cut, parts):
        pass
    return order, bounds


@compiled
def _cut(
    points: Floats,
    weight: Floats,
    first: int,
    last: int,
    smallest: int,
    order: Integers,
    keys: Floats,
    bounds: Integers,
) -> None:
    """Cut the points of the leaves from `first` to `last`, a power of two, until `smallest` leaves are together.

    `keys`: scratch; shape (c,).
    """
    step = last - first
    while step > smallest:
        for node in range(first, last, step):
            begin, end = bounds[node], bounds[node + step]
            axis = widest_column(points, order, begin, end, weight)
            for i in range(begin, end):
                keys[i] = points[order[i], axis]
            middle = (begin + end) // 2
            select(keys, order, begin, end, middle)
            bounds[node + step // 2] = middle
        step //= 2


@compiled
def search(  # noqa: C901, PLR0912, PLR0915 - calls and small arrays inside a kernel cost more than its branches
    queries: Floats,
    limits: Floats,
    leaf: Integers,
    enough: int,
    weight: Floats,
    tree: Tree,
    found: Integers,
) -> None:
    """Count for each query the records strictly nearer than its limit and those exactly at it.

    `queries`: shape (q, d). `limits`: squared distances ``sum(((query - point) * weight) ** 2)`` summed in column
    order. With `enough` 0 they follow the nearest record found, and end as its squared distance; shape (q,). `leaf`:
    one near the query, which may hold `enough` records that are nearer; it is looked at first; shape (q,). `weight`:
    shape (d,). `found`: Written: records nearer than the limit; records at the limit, and the lowest of their
    positions. The last two are 0 and -1 where `enough` records are nearer; shape (3, q).
    """
    # Taken out of the tuple once: the compiler cannot know that they stay the same.
    leaves, bounds, copies, lowest, low, high, levels = tree
    d, leaf_count, height = queries.shape[1], len(bounds) - 1, len(levels) - 1
    distance = np.empty(WIDTH)
    waiting_level, waiting_node = np.empty(WIDTH * 20, np.int64), np.empty(WIDTH * 20, np.int64)
    near_node, near_distance = np.empty(WIDTH, np.int64), np.empty(WIDTH)
    for i in range(queries.shape[0]):
        limit = limits[i]
        inside, total, best = 0, 0, -1
        if enough > 0:
            node = leaf[i]
            distance[:] = 0.0
            for j in range(d):
                value, factor = queries[i, j], weight[j]
                for k in range(WIDTH):
                    term = (value - leaves[node, j, k]) * factor
                    distance[k] += term * term
            for k in range(bounds[node + 1] - bounds[node]):
                if distance[k] < limit:
                    inside += copies[bounds[node] + k]
            if inside >= enough:
                found[0, i], found[1, i], found[2, i] = inside, total, best
                continue
            inside = 0
        waiting_level[0], waiting_node[0], waiting = height, 0, 1
        while waiting > 0:
            waiting -= 1
            level, node = waiting_level[waiting], waiting_node[waiting]
            distance[:] = 0.0
            if level == 0:
                for j in range(d):
                    value, factor = queries[i, j], weight[j]
                    for k in range(WIDTH):
                        term = (value - leaves[node, j, k]) * factor
                        distance[k] += term * term
                reached = 0
                for k in range(WIDTH):
                    reached += distance[k] <= limit
                if reached == 0:
                    continue
                for k in range(bounds[node + 1] - bounds[node]):
                    row = bounds[node] + k
                    if distance[k] < limit:
                        if enough > 0:
                            inside += copies[row]
                        else:
                            limit, total, best = distance[k], copies[row], lowest[row]
                    elif distance[k] == limit:
                        total += copies[row]
                        best = lowest[row] if best < 0 else min(best, lowest[row])
                if 0 < enough <= inside:
                    total, best = 0, -1
                    break
                continue
            group = levels[level - 1] + node
            for j in range(d):
                value, factor = queries[i, j], weight[j]
                for k in range(WIDTH):
                    below, above = low[group, j, k] - value, value - high[group, j, k]
                    gap = below if below > above else above
                    term = (gap if gap > 0.0 else 0.0) * factor
                    distance[k] += term * term
            children = (leaf_count if level == 1 else levels[level - 1] - levels[level - 2]) - node * WIDTH
            near = 0
            for k in range(min(WIDTH, children)):
                if distance[k] <= limit:
                    place = near
                    while place > 0 and near_distance[place - 1] < distance[k]:
                        near_distance[place], near_node[place] = near_distance[place - 1], near_node[place - 1]
                        place -= 1
                    near_distance[place], near_node[place] = distance[k], node * WIDTH + k
                    near += 1
            # Farthest first, so that the nearest is taken up next: one nearer point ends the search.
            for k in range(near):
                waiting_level[waiting], waiting_node[waiting] = level - 1, near_node[k]
                waiting += 1
        limits[i] = limit
        found[0, i], found[1, i], found[2, i] = inside, total, best
