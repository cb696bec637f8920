"""Loops of linkage by an intruder who knows the method, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@inlined
def distance_of(query: Floats, target: Floats, weight: Floats) -> float:
    """Squared weighted distance; cells of which one is missing do not count.

    `query`, `target`, `weight`: shape (d,).
    """
    total = 0.0
    for j in range(len(weight)):
        difference = (query[j] - target[j]) * weight[j]
        if not np.isnan(difference):
            total += difference * difference
    return total


@compiled
def link_within(
    queries: Floats,
    targets: Floats,
    weight: Floats,
    low: Floats,
    high: Floats,
    order: Integers,
    window: Integers,
    found: Integers,
) -> None:
    """Count the targets within the bounds of each query, and those of them that are nearest.

    `queries`, `targets`: the own target of each query has its number; shape (m, d). `weight`: of differences; shape
    (d,). `low`, `high`: bounds of the targets' values, NaN where the cell has to be missing; shape (m, d). `order`:
    targets in the order of one variable; shape (m,). `window`: places of `order` within the bounds of that variable,
    from and to; shape (m, 2). `found`: candidates, nearest ones, whether the own target is a candidate, and whether it
    is a nearest one; written; shape (m, 4).
    """
    for query in range(len(queries)):
        best = np.inf
        for place in range(window[query, 0], window[query, 1]):
            target = order[place]
            fits = True
            for j in range(len(weight)):
                value = targets[target, j]
                fits = np.isnan(value) if np.isnan(low[query, j]) else low[query, j] <= value <= high[query, j]
                if not fits:
                    break
            if not fits:
                continue
            found[query, 0] += 1
            found[query, 2] |= target == query
            distance = distance_of(queries[query], targets[target], weight)
            if distance < best:
                best = distance
                found[query, 1] = 0
                found[query, 3] = 0
            if distance == best:
                found[query, 1] += 1
                found[query, 3] |= target == query


@compiled
def nearest_rows(queries: Floats, rows: Floats, weight: Floats, nearest: Integers) -> None:
    """Find the row nearest to each query; the first of several.

    `queries`: shape (m, d). `rows`: shape (c, d). `weight`: of differences; shape (d,). `nearest`: written; shape (m,).
    """
    for query in range(len(queries)):
        best = np.inf
        for row in range(len(rows)):
            distance = distance_of(queries[query], rows[row], weight)
            if distance < best:
                best, nearest[query] = distance, row
