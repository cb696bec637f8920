"""Compiled: the nearest rows over keys of any type, among trees of rows with the same keys missing.

All costs are whole numbers, held in binary64 below 2^53: sums are exact in any order, so that ties are ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.kd import select, widest_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

ROUNDER = 2.0**52
"""Added and taken off again, it rounds a number from 0 to 2^51 to a whole one."""
DEEPEST = 200
"""Cuts above a leaf, at most."""


class Forest(NamedTuple):
    """Distinct rows of the searched file: a binary tree for each pattern of keys that are there.

    A node knows only how far it and its two children reach on the key that it is cut by: the least cost of a child is
    that of the node with one term exchanged. Leaves know how far they reach on every key.

    Attributes
    ----------
    low, high : ndarray of shape (r, d), float64
        From where to where each row reaches on each key, in the order of the leaves; 0 where missing.
    copies : ndarray of shape (r,), int64
        Records with each row.
    present, root : ndarray of shape (p,), int64
        Of each tree: bit j, key j is there; its first node.
    root_low, root_high : ndarray of shape (p, d), float64
    cut : ndarray of shape (nodes,), int64
        The key a node is cut by, or -1 of a leaf.
    first, second : ndarray of shape (nodes,), int64
        The children; of a leaf its number and -1.
    reach : ndarray of shape (nodes, 6), float64
        On the key of the cut: from where to where the node, its first and its second child reach.
    leaf_low, leaf_high : ndarray of shape (leaves, d), float64
    bounds : ndarray of shape (leaves + 1,), int64
        Leaf i has the rows from bound i on.
    """

    low: Floats
    high: Floats
    copies: Numbers
    present: Numbers
    root: Numbers
    root_low: Floats
    root_high: Floats
    cut: Numbers
    first: Numbers
    second: Numbers
    reach: Floats
    leaf_low: Floats
    leaf_high: Floats
    bounds: Numbers


class Costs(NamedTuple):
    """What two rows cost on each key; all whole numbers.

    Attributes
    ----------
    linear : ndarray of shape (d,), bool
        The cost is the gap times `weight`, rounded; else one of three levels.
    weight : ndarray of shape (d,), float64
    near, next : ndarray of shape (d,), float64
        Largest gap of the first and of the second level.
    top : ndarray of shape (1 or q, d), float64
        Cost of the first level, of each query where it depends on what agrees.
    close, far, gone : ndarray of shape (d,), float64
        Cost of the second and third level, and where the key is missing in either row.
    factor : ndarray of shape (d + 1,), float64
        Of the sum, by the number of keys that both rows have.
    """

    linear: NDArray[np.bool_]
    weight: Floats
    near: Floats
    next: Floats
    top: Floats
    close: Floats
    far: Floats
    gone: Floats
    factor: Floats


@inlined
def _gap(low: float, high: float, other_low: float, other_high: float) -> float:
    below, above = other_low - high, low - other_high
    gap = below if below > above else above
    return gap if gap > 0.0 else 0.0


@inlined
def _cost(gap: float, i: int, j: int, costs: Costs) -> float:
    if costs.linear[j]:
        return float((gap * costs.weight[j] + ROUNDER) - ROUNDER)
    if gap <= costs.near[j]:
        return float(costs.top[i if costs.top.shape[0] > 1 else 0, j])
    return float(costs.close[j] if gap <= costs.next[j] else costs.far[j])


@inlined
def _least_cost(gap: float, i: int, j: int, costs: Costs) -> float:
    """The least that a gap of at least this size can cost."""
    if costs.linear[j]:
        return float((gap * costs.weight[j] + ROUNDER) - ROUNDER)
    least = costs.far[j]
    if gap <= costs.next[j]:
        least = min(least, costs.close[j])
    if gap <= costs.near[j]:
        least = min(least, costs.top[i if costs.top.shape[0] > 1 else 0, j])
    return float(least)


@compiled
def pair_costs(
    low: Floats,
    high: Floats,
    present: Numbers,
    query: Numbers,
    other_low: Floats,
    other_high: Floats,
    other_present: Numbers,
    target: Numbers,
    costs: Costs,
    found: Floats,
) -> None:
    """Costs of some pairs of rows; infinite where no key is there in both.

    Parameters
    ----------
    low, high : ndarray of shape (q, d), float64
    present : ndarray of shape (q,), int64
    query : ndarray of shape (c,), int64
        Row of each pair in the first file.
    other_low, other_high, other_present, target
        The same of the second file.
    costs : Costs
    found : ndarray of shape (c,), float64
        Written.
    """
    d = low.shape[1]
    for at in range(query.shape[0]):
        i, k = query[at], target[at]
        common = present[i] & other_present[k]
        total, keys = 0.0, 0
        for j in range(d):
            if common >> j & 1:
                total += _cost(_gap(low[i, j], high[i, j], other_low[k, j], other_high[k, j]), i, j, costs)
                keys += 1
            else:
                total += costs.gone[j]
        found[at] = total * costs.factor[keys] if keys else np.inf


@compiled
def search(
    low: Floats,
    high: Floats,
    present: Numbers,
    begin: int,
    forest: Forest,
    costs: Costs,
    best: Floats,
    ties: Numbers,
) -> None:
    """The least cost of each query, and how many records have it.

    Parameters
    ----------
    low, high : ndarray of shape (q, d), float64
        A part of the queries, from `begin` on of all.
    present : ndarray of shape (q,), int64
    begin : int
        For ``costs.top``.
    forest : Forest
    costs : Costs
    best : ndarray of shape (q,), float64
        A cost that no best one exceeds, infinite where none is known; written. Infinite after it: no row has a key in
        common.
    ties : ndarray of shape (q,), int64
        Written.
    """
    d = low.shape[1]
    waiting, least = np.empty(DEEPEST + 2, np.int64), np.empty(DEEPEST + 2)
    shared, rest = np.empty(d, np.int64), np.empty(d + 1)
    ties[:] = 0
    # One tree after another: it stays in the cache while all queries of the part are looked up in it.
    for pattern in range(forest.present.shape[0]):
        for q in range(low.shape[0]):
            common = present[q] & forest.present[pattern]
            if common == 0:
                continue
            i, limit, total = begin + q, best[q], ties[q]
            keys, base, bound = 0, 0.0, 0.0
            for j in range(d):
                if common >> j & 1:
                    shared[keys] = j
                    keys += 1
                    gap = _gap(low[q, j], high[q, j], forest.root_low[pattern, j], forest.root_high[pattern, j])
                    bound += _least_cost(gap, i, j, costs)
                else:
                    base += costs.gone[j]
            factor = costs.factor[keys]
            # What the keys from s on cost at least: rows are given up as soon as the sum cannot stay in the limit.
            rest[keys] = base
            for s in range(keys - 1, -1, -1):
                rest[s] = rest[s + 1] + _least_cost(0.0, i, shared[s], costs)
            waiting[0], least[0], height = forest.root[pattern], base + bound, 1
            while height > 0:
                height -= 1
                if least[height] * factor > limit:
                    continue
                node, bound = waiting[height], least[height]
                j = int(forest.cut[node])
                if j >= 0:
                    own, one, other = bound, bound, bound
                    if common >> j & 1:
                        a, b, reach = low[q, j], high[q, j], forest.reach[node]
                        own = bound - _least_cost(_gap(a, b, reach[0], reach[1]), i, j, costs)
                        one = own + _least_cost(_gap(a, b, reach[2], reach[3]), i, j, costs)
                        other = own + _least_cost(_gap(a, b, reach[4], reach[5]), i, j, costs)
                    nearer, farther = forest.first[node], forest.second[node]
                    # The nearer child is taken up next: one nearer row ends the search early.
                    if other < one:
                        one, other = other, one
                        nearer, farther = farther, nearer
                    if other * factor <= limit:
                        waiting[height], least[height] = farther, other
                        height += 1
                    if one * factor <= limit:
                        waiting[height], least[height] = nearer, one
                        height += 1
                    continue
                leaf = int(forest.first[node])
                cost = base
                for s in range(keys):
                    j = shared[s]
                    gap = _gap(low[q, j], high[q, j], forest.leaf_low[leaf, j], forest.leaf_high[leaf, j])
                    cost += _least_cost(gap, i, j, costs)
                if cost * factor > limit:
                    continue
                for row in range(forest.bounds[leaf], forest.bounds[leaf + 1]):
                    cost = 0.0
                    for s in range(keys):
                        j = shared[s]
                        gap = _gap(low[q, j], high[q, j], forest.low[row, j], forest.high[row, j])
                        cost += _cost(gap, i, j, costs)
                        if (cost + rest[s + 1]) * factor > limit:
                            break
                    else:
                        cost = (cost + base) * factor
                        if cost < limit:
                            limit, total = cost, forest.copies[row]
                        else:
                            total += forest.copies[row]
            best[q], ties[q] = limit, total
    for q in range(low.shape[0]):
        if ties[q] == 0:
            best[q] = np.inf


@compiled
def cut_rows(
    low: Floats,
    high: Floats,
    split: Floats,
    leaf: int,
    order: Numbers,
    cut: Numbers,
    children: Numbers,
    reach: Floats,
    bounds: Numbers,
) -> tuple[int, int]:
    """Cut rows into a tree, between two different values of the key on which they spread most.

    Parameters
    ----------
    low, high : ndarray of shape (r, d), float64
    split : ndarray of shape (d,), float64
        Factor of each key.
    leaf : int
        Rows that are not cut any more.
    order : ndarray of shape (r,), int64
        0, 1, ...; rearranged to the order of the leaves.
    cut : ndarray of shape (2 r,), int64
    children : ndarray of shape (2 r, 2), int64
    reach : ndarray of shape (2 r, 6), float64
    bounds : ndarray of shape (r + 1,), int64
        Written, as in `Forest`.

    Returns
    -------
    Number of nodes, and of leaves.
    """
    rows, d = low.shape
    middles = (low + high) / 2.0
    keys = np.empty(rows)
    begin, end, parent = (
        np.empty(DEEPEST + 2, np.int64),
        np.empty(DEEPEST + 2, np.int64),
        np.empty(DEEPEST + 2, np.int64),
    )
    depth = np.zeros(DEEPEST + 2, np.int64)
    cell = np.empty((DEEPEST + 2, 2, d))
    begin[0], end[0], parent[0], height = 0, rows, -1, 1
    for j in range(d):
        cell[0, 0, j], cell[0, 1, j] = low[:, j].min(), high[:, j].max()
    nodes, leaves = 0, 0
    while height > 0:
        height -= 1
        first, last, up, deep = begin[height], end[height], parent[height], depth[height]
        node = nodes
        nodes += 1
        if up >= 0:
            # The first child is made directly after its node.
            children[up, 0 if up == node - 1 else 1] = node
        axis = widest_column(middles, order, first, last, split)
        smallest, largest = np.inf, -np.inf
        for at in range(first, last):
            keys[at] = middles[order[at], axis]
            smallest, largest = min(smallest, keys[at]), max(largest, keys[at])
        if last - first <= leaf or smallest == largest or deep >= DEEPEST:
            cut[node], children[node, 0], children[node, 1] = -1, leaves, -1
            bounds[leaves] = first
            leaves += 1
            continue
        middle = (first + last) // 2
        select(keys, order, first, last, middle)
        value, below, equal = keys[middle], 0, 0
        for at in range(first, last):
            below += keys[at] < value
            equal += keys[at] == value
        # Before the middle value or after it, whichever halves better; never between equal ones.
        after = below == 0 or (below + equal < last - first and 2 * below + equal < last - first)
        left, right = first, last - 1
        while left <= right:
            if keys[left] < value or (after and keys[left] == value):
                left += 1
            else:
                keys[left], keys[right] = keys[right], keys[left]
                order[left], order[right] = order[right], order[left]
                right -= 1
        cut[node] = axis
        reach[node, 0], reach[node, 1] = cell[height, 0, axis], cell[height, 1, axis]
        for side in range(2):
            a, b = (first, left) if side == 0 else (left, last)
            least, most = np.inf, -np.inf
            for at in range(a, b):
                least, most = min(least, low[order[at], axis]), max(most, high[order[at], axis])
            reach[node, 2 + 2 * side], reach[node, 3 + 2 * side] = least, most
        # The first child comes on top, so that it is the next node.
        for j in range(d):
            cell[height + 1, 0, j], cell[height + 1, 1, j] = cell[height, 0, j], cell[height, 1, j]
        for side in range(2):
            at = height + 1 - side
            begin[at], end[at] = (first, left) if side == 0 else (left, last)
            parent[at], depth[at] = node, deep + 1
            cell[at, 0, axis], cell[at, 1, axis] = reach[node, 2 + 2 * side], reach[node, 3 + 2 * side]
        height += 2
    bounds[leaves] = rows
    return nodes, leaves


@compiled
def count_levels(
    low: Floats,
    high: Floats,
    present: Numbers,
    counts: Numbers,
    other_low: Floats,
    other_high: Floats,
    other_present: Numbers,
    other_counts: Numbers,
    near: Floats,
    next_: Floats,
    place: Numbers,
    found: Numbers,
) -> None:
    """Add up pairs of records by the level of every key: agree, next, farther, missing.

    Parameters
    ----------
    low, high, present, counts
        Rows of the first file, and how many records have each.
    other_low, other_high, other_present, other_counts
        Of the second.
    near, next_ : ndarray of shape (d,), float64
    place : ndarray of shape (4, d), int64
        What each level of each key adds to the number of the pattern.
    found : ndarray of shape (patterns,), int64
        Added to.
    """
    d = low.shape[1]
    for i in range(low.shape[0]):
        for k in range(other_low.shape[0]):
            pattern = 0
            common = present[i] & other_present[k]
            for j in range(d):
                if common >> j & 1:
                    gap = _gap(low[i, j], high[i, j], other_low[k, j], other_high[k, j])
                    level = 0 if gap <= near[j] else (1 if gap <= next_[j] else 2)
                else:
                    level = 3
                pattern += place[level, j]
            found[pattern] += counts[i] * other_counts[k]
