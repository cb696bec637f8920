"""Compiled: which groups of the masked file are nearest to each group of the original, as sets of members.

The distance of two groups of m members is the sum of squares of their own values, and of their members' values under
the cheapest assignment of members to members of the same kind. Column by column no assignment is cheaper than that in
order of size, so the squared distance of the columns, each sorted, is never larger: a k-d tree over them leaves out
most groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.spatial import select, widest_column

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

EXACT_MEMBERS = 8
"""Groups of more members are matched in the order of their members."""
LEAF = 8
TIE = 1e-9
"""Squared distances that differ by less, as a share, are equal: sums of rounded terms are not exact."""


class Sets(NamedTuple):
    """Groups of one size, those of one composition after each other.

    `own`: own values of the groups; shape (g, r). `members`: values of members, in the order of their kinds, and inside
    a kind of their values; shape (g, m, p). `sorted`: own values, then each column of members in order of size inside
    each kind; shape (g, r + m p). `starts`: where the groups of each composition begin; shape (c + 1,).
    """

    own: Floats
    members: Floats
    sorted: Floats
    starts: Integers


@compiled
def least_assignment(cost: Floats, best: Floats) -> float:
    """Smallest sum of costs of giving each of m members another one's place.

    `cost`: shape (m, m). `best`: written; shape (2 ** m,).
    """
    m = cost.shape[0]
    best[0] = 0.0
    for taken in range(1, 1 << m):
        member = -1
        for j in range(m):
            member += taken >> j & 1
        least = np.inf
        for j in range(m):
            if taken >> j & 1:
                total = best[taken ^ (1 << j)] + cost[member, j]
                least = min(least, total)
        best[taken] = least
    return float(best[(1 << m) - 1])


@compiled
def set_distance(
    queries: Sets,
    query: int,
    targets: Sets,
    target: int,
    weights: Floats,
    own_weights: Floats,
    kinds: Integers,
    cost: Floats,
    best: Floats,
) -> float:
    """Squared distance of two groups of the same composition.

    `weights`: factor of each difference of members; shape (p,). `own_weights`: shape (r,). `kinds`: kind of each
    member, ascending; shape (m,). `cost`, `best`: written; shape (m, m) and (2 ** m,).
    """
    total = 0.0
    for j in range(len(own_weights)):
        term = (queries.own[query, j] - targets.own[target, j]) * own_weights[j]
        total += term * term
    m, p = queries.members.shape[1], queries.members.shape[2]
    if m > EXACT_MEMBERS:
        for i in range(m):
            total += _between(queries.members, query, i, targets.members, target, i, weights, p)
        return total
    for i in range(m):
        for k in range(m):
            if kinds[i] == kinds[k]:
                cost[i, k] = _between(queries.members, query, i, targets.members, target, k, weights, p)
            else:
                cost[i, k] = np.inf
    return total + least_assignment(cost, best)


@inlined
def _between(
    one: Floats, query: int, i: int, other: Floats, target: int, k: int,
    weights: Floats, p: int,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(p):
        term = (one[query, i, j] - other[target, k, j]) * weights[j]
        total += term * term
    return total


@compiled
def link_sets(
    queries: Sets,
    targets: Sets,
    copies: Integers,
    counterpart: Integers,
    weights: Floats,
    own_weights: Floats,
    factors: Floats,
    kinds: Integers,
    ties: Integers,
) -> None:
    """Count for each query the targets that are as near as its own counterpart; none where another is nearer.

    `copies`: how many groups are equal to each target; shape (t,). `counterpart`: target that is each query's own; -1
    where that has another composition; shape (q,). `weights`, `own_weights`: shape (p,) and (r,). `factors`: those
    weights, of the sorted columns; shape (r + m p,). `kinds`: of the members of each composition; shape (c, m). `ties`:
    Written: its own counterpart counts; 0 where it is not among the nearest; shape (q,).
    """
    m, d = queries.members.shape[1], queries.sorted.shape[1]
    cost, best = np.empty((m, m)), np.empty(1 << min(m, EXACT_MEMBERS))
    waiting, nearest = np.empty(128, np.int64), np.empty(128)
    for composition in range(len(targets.starts) - 1):
        begin, end = targets.starts[composition], targets.starts[composition + 1]
        count = end - begin
        if count == 0:
            continue
        depth = 0
        while count >> depth > LEAF:
            depth += 1
        order = np.arange(begin, end)
        bounds = np.empty((1 << depth) + 1, np.int64)
        bounds[0], bounds[1 << depth] = 0, count
        keys = np.empty(count)
        step = 1 << depth
        while step > 1:
            for node in range(0, 1 << depth, step):
                low, high = bounds[node], bounds[node + step]
                axis = widest_column(targets.sorted, order, low, high, factors)
                for i in range(low, high):
                    keys[i] = targets.sorted[order[i], axis]
                middle = (low + high) // 2
                select(keys, order, low, high, middle)
                bounds[node + step // 2] = middle
            step //= 2
        leaves = 1 << depth
        # Node i has the children 2 i and 2 i + 1; the leaves are the nodes from `leaves` on.
        box_low, box_high = np.full((2 * leaves, d), np.inf), np.full((2 * leaves, d), -np.inf)
        for leaf in range(leaves):
            for i in range(bounds[leaf], bounds[leaf + 1]):
                for j in range(d):
                    value = targets.sorted[order[i], j]
                    box_low[leaves + leaf, j] = min(value, box_low[leaves + leaf, j])
                    box_high[leaves + leaf, j] = max(value, box_high[leaves + leaf, j])
        for node in range(leaves - 1, 0, -1):
            for j in range(d):
                box_low[node, j] = min(box_low[2 * node, j], box_low[2 * node + 1, j])
                box_high[node, j] = max(box_high[2 * node, j], box_high[2 * node + 1, j])
        for query in range(queries.starts[composition], queries.starts[composition + 1]):
            ties[query] = 0
            if counterpart[query] < 0:
                continue
            limit = set_distance(
                queries, query, targets, counterpart[query], weights, own_weights, kinds[composition], cost, best
            )
            reach, nearer = limit * (1.0 + TIE), limit * (1.0 - TIE)
            found, beaten = 0, False
            waiting[0], nearest[0], left = 1, 0.0, 1
            while left > 0 and not beaten:
                left -= 1
                node = waiting[left]
                if nearest[left] > reach:
                    continue
                if node < leaves:
                    one = _box_distance(queries.sorted, query, box_low, box_high, 2 * node, factors, d, reach)
                    other = _box_distance(queries.sorted, query, box_low, box_high, 2 * node + 1, factors, d, reach)
                    near = 2 * node if one <= other else 2 * node + 1
                    # The nearer one last, so that it is taken up next: one nearer group ends the search.
                    waiting[left], nearest[left] = 4 * node + 1 - near, max(one, other)
                    waiting[left + 1], nearest[left + 1] = near, min(one, other)
                    left += 2
                    continue
                for i in range(bounds[node - leaves], bounds[node - leaves + 1]):
                    target = order[i]
                    least = 0.0
                    for j in range(d):
                        term = (queries.sorted[query, j] - targets.sorted[target, j]) * factors[j]
                        least += term * term
                        if least > reach:
                            break
                    if least > reach:
                        continue
                    distance = set_distance(
                        queries, query, targets, target, weights, own_weights, kinds[composition], cost, best
                    )
                    if distance < nearer:
                        beaten = True
                        break
                    if distance <= reach:
                        found += copies[target]
            if not beaten:
                ties[query] = found


@inlined
def _box_distance(
    points: Floats, query: int, low: Floats, high: Floats, node: int,
    factors: Floats, d: int, reach: float,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(d):
        value = points[query, j]
        gap = max(low[node, j] - value, value - high[node, j], 0.0)
        total += (gap * factors[j]) ** 2
        if total > reach:
            break
    return total
