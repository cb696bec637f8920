"""Compiled pricing: groups of records whose sum of squares is below the sum of their prices, by branch and bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def price_groups(
    points: Floats,
    prices: Floats,
    k: int,
    first: int,
    last: int,
    most_nodes: int,
    excess: Floats,
    costs: Floats,
    members: Integers,
) -> int:
    """For each record and group size, the group of it and later records with the lowest reduced cost.

    `points`: shape (n, p). `prices`: shape (n,). `k`: groups have k to 2k - 1 records. `first`, `last`: records
    first..last-1 are looked at. `most_nodes`: nodes of the search tree of one record and size; beyond, its bound stands
    for its groups. `excess`: receives a lower bound of the reduced costs of the record's groups; at most 0; shape (n,).
    `costs`: receives the reduced costs of the groups found, 0 where there is none below 0; shape (n, k). `members`:
    receives their records; shape (n, k, 2k - 1).

    The sum of squares of a group of s is the sum of the squared distances of its pairs, divided by s. With some of its
    records chosen, each further record j costs at least its distances to them over s, less its price: the sum of the
    smallest such costs bounds every way to complete the group.
    """
    n, p = points.shape
    unfinished = 0
    distances = np.empty(n)
    added = np.empty(n)
    for root in range(first, last):
        excess[root] = 0.0
        for other in range(root + 1, n):
            total = 0.0
            for dimension in range(p):
                step = points[root, dimension] - points[other, dimension]
                total += step * step
            distances[other] = total
        for extra in range(k):
            size = k + extra
            need = size - 1
            costs[root, extra] = 0.0
            if n - root - 1 < need:
                continue
            # The need - 1 cheapest others say which records can still be part of a group below 0.
            cheapest = np.full(need, np.inf)
            for other in range(root + 1, n):
                added[other] = distances[other] / size - prices[other]
                value = added[other]
                place = need - 1
                if value < cheapest[place]:
                    while place > 0 and cheapest[place - 1] > value:
                        cheapest[place] = cheapest[place - 1]
                        place -= 1
                    cheapest[place] = value
            rest = -prices[root]
            for place in range(need - 1):
                rest += cheapest[place]
            bound = rest + cheapest[need - 1]
            if bound >= -1e-12:
                continue
            count = 0
            for other in range(root + 1, n):
                if rest + added[other] < -1e-12:
                    count += 1
            near = np.empty(count, dtype=np.int64)
            count = 0
            for other in range(root + 1, n):
                if rest + added[other] < -1e-12:
                    near[count] = other
                    count += 1
            best, finished = _complete(points, near, added, -prices[root], size, most_nodes, members[root, extra])
            if not finished:
                unfinished += 1
                excess[root] = min(excess[root], bound)
            if best < 0.0:
                costs[root, extra] = best
                members[root, extra, size - 1] = root
                excess[root] = min(excess[root], best)
    return unfinished


@compiled
def _complete(
    points: Floats, near: Integers, added: Floats, start: float, size: int, most_nodes: int, found: Integers
) -> tuple[float, bool]:
    """Cheapest way to add size - 1 of the records `near`, depth first; the lowest total below 0, or 0."""
    count, p = len(near), points.shape[1]
    depth_limit = size - 1
    between = np.empty((count, count))
    for a in range(count):
        for b in range(a):
            total = 0.0
            for dimension in range(p):
                step = points[near[a], dimension] - points[near[b], dimension]
                total += step * step
            between[a, b] = between[b, a] = total / size
    lists = np.empty((depth_limit, count), dtype=np.int64)
    values = np.empty((depth_limit, count))
    lengths = np.zeros(depth_limit, dtype=np.int64)
    positions = np.zeros(depth_limit, dtype=np.int64)
    reached = np.empty(depth_limit)
    chosen = np.empty(depth_limit, dtype=np.int64)
    best = 0.0
    raw = np.empty(count)
    for a in range(count):
        raw[a] = added[near[a]]
    order = np.argsort(raw)
    for at in range(count):
        lists[0, at] = order[at]
        values[0, at] = raw[order[at]]
    lengths[0] = count
    reached[0] = start
    depth = 0
    nodes = 0
    while depth >= 0:
        position = positions[depth]
        left = depth_limit - depth
        if position + left > lengths[depth]:
            depth -= 1
            continue
        bound = reached[depth]
        for at in range(position, position + left):
            bound += values[depth, at]
        if bound >= best - 1e-12:
            # Sorted: every later choice at this depth costs at least as much.
            depth -= 1
            continue
        positions[depth] = position + 1
        nodes += 1
        if nodes > most_nodes:
            return best, False
        record = lists[depth, position]
        total = reached[depth] + values[depth, position]
        chosen[depth] = record
        if left == 1:
            best = total
            for at in range(depth_limit):
                found[at] = near[chosen[at]]
            depth -= 1
            continue
        length = 0
        for at in range(position + 1, lengths[depth]):
            other = lists[depth, at]
            value = values[depth, at] + between[record, other]
            place = length
            while place > 0 and values[depth + 1, place - 1] > value:
                values[depth + 1, place] = values[depth + 1, place - 1]
                lists[depth + 1, place] = lists[depth + 1, place - 1]
                place -= 1
            values[depth + 1, place] = value
            lists[depth + 1, place] = other
            length += 1
        lengths[depth + 1] = length
        positions[depth + 1] = 0
        reached[depth + 1] = total
        depth += 1
    return best, True
