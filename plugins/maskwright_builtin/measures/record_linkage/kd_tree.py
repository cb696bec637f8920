"""Compiled k-d tree that counts nearer records and finds the nearest, exactly as a loop over all records would.

The tree is cut at medians of the widest side into a power of two of leaves; sixteen consecutive leaves, and sixteen
consecutive nodes of each level above, make one node of the next level. Coordinates of siblings lie side by side, so
that sixteen distances are computed together.

Distances are sums of squares in the order of the columns, without fused multiply-add. The distance to a box is
computed by the same operations in the same order from parts that are no larger, so even after rounding it never
exceeds the distance to a point inside: pruning what is strictly farther cannot lose a tie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH = 16
"""Points in a leaf, at most, and children of a node."""


@compiled
def order_by_leaf(
    points: NDArray[np.float64], weight: NDArray[np.float64], depth: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut points into ``2 ** depth`` leaves of nearly equal size.

    Parameters
    ----------
    points : ndarray of shape (c, d), float64
    weight : ndarray of shape (d,)
        Makes the sides comparable.
    depth : int
        Number of cuts; ``2 ** depth <= c``.

    Returns
    -------
    order : ndarray of shape (c,), int64
        Points by leaf.
    bounds : ndarray of shape (2 ** depth + 1,), int64
        Leaf i holds ``order[bounds[i]:bounds[i + 1]]``.
    """
    count, d = points.shape
    order = np.arange(count)
    keys = np.empty(count)
    bounds = np.zeros((1 << depth) + 1, np.int64)
    bounds[1 << depth] = count
    step = 1 << depth
    while step > 1:
        for node in range(0, 1 << depth, step):
            begin, end = bounds[node], bounds[node + step]
            axis, widest = 0, -1.0
            for j in range(d):
                smallest = largest = points[order[begin], j]
                for i in range(begin + 1, end):
                    value = points[order[i], j]
                    smallest, largest = min(smallest, value), max(largest, value)
                side = (largest - smallest) * weight[j]
                if side > widest:
                    axis, widest = j, side
            for i in range(begin, end):
                keys[i] = points[order[i], axis]
            middle = (begin + end) // 2
            _put_median(keys, order, begin, end - 1, middle)
            bounds[node + step // 2] = middle
        step //= 2
    return order, bounds


@compiled
def _put_median(keys: NDArray[np.float64], order: NDArray[np.int64], begin: int, last: int, middle: int) -> None:
    """Reorder ``begin..last`` so that keys before `middle` are no larger and keys after it no smaller than its key."""
    while begin < last:
        # The median of three keeps ordered and tied columns, which microdata are full of, from taking quadratic time.
        a, b, c = keys[begin], keys[(begin + last) // 2], keys[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = begin, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            begin = i
        else:
            return


@compiled
def search(  # noqa: C901, PLR0912, PLR0915 - calls and small arrays inside a kernel cost more than its branches
    queries: NDArray[np.float64],
    limits: NDArray[np.float64],
    enough: int,
    weight: NDArray[np.float64],
    leaves: NDArray[np.float64],
    bounds: NDArray[np.int64],
    copies: NDArray[np.int64],
    lowest: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    levels: NDArray[np.int64],
    nearer: NDArray[np.int64],
    ties: NDArray[np.int64],
    first: NDArray[np.int64],
) -> None:
    """Count for each query the records strictly nearer than its limit and those exactly at it.

    Parameters
    ----------
    queries : ndarray of shape (q, d), float64
    limits : ndarray of shape (q,), float64
        Squared distances ``sum(((query - point) * weight) ** 2)`` summed in column order. With `enough` 0 they follow
        the nearest record found, and end as its squared distance.
    enough : int
        A query's search ends when this many records are nearer; 0: search for the nearest records themselves.
    weight : ndarray of shape (d,), positive
    leaves : ndarray of shape (leaves, d, WIDTH)
        Coordinates of each leaf's points side by side; NaN, neither nearer nor tied, where it has fewer than WIDTH.
    bounds : ndarray of shape (leaves + 1,), int64
    copies, lowest : ndarray of shape (c,), int64
        How many records have this row, and the lowest of their positions; in the order of the leaves.
    low, high : ndarray of shape (groups, d, WIDTH)
        Boxes of the children of every group: the groups of leaves, then the groups of those, up to the root.
    levels : ndarray of shape (h + 1,), int64
        Where each level's groups begin; the last entry is their number, the last group is the root.
    nearer, ties, first : ndarray of shape (q,), int64
        Output: records nearer than the limit; records at the limit, and the lowest of their positions. The last two
        are 0 and -1 where `enough` records are nearer.
    """
    d, leaf_count, height = queries.shape[1], len(bounds) - 1, len(levels) - 1
    distance = np.empty(WIDTH)
    waiting_level, waiting_node = np.empty(WIDTH * 20, np.int64), np.empty(WIDTH * 20, np.int64)
    near_node, near_distance = np.empty(WIDTH, np.int64), np.empty(WIDTH)
    for i in range(queries.shape[0]):
        limit = limits[i]
        inside, total, best = 0, 0, -1
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
            found = 0
            for k in range(min(WIDTH, children)):
                if distance[k] <= limit:
                    place = found
                    while place > 0 and near_distance[place - 1] < distance[k]:
                        near_distance[place], near_node[place] = near_distance[place - 1], near_node[place - 1]
                        place -= 1
                    near_distance[place], near_node[place] = distance[k], node * WIDTH + k
                    found += 1
            # Farthest first, so that the nearest is taken up next: one nearer point ends the search.
            for k in range(found):
                waiting_level[waiting], waiting_node[waiting] = level - 1, near_node[k]
                waiting += 1
        limits[i], nearer[i], ties[i], first[i] = limit, inside, total, best
