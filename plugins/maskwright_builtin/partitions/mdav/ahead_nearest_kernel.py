"""Lists of the nearest remaining records of MDAV, for many records at once: see `ahead_kernel`.

A leaf that several records have to look at is read from memory once. The bounds rule out leaves as in `find_nearest`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.spatial import squared_distance
from maskwright_builtin.partitions.mdav.ahead_kernel import write_in_order
from maskwright_builtin.partitions.mdav.leaves import LEAF, Leaves
from maskwright_builtin.partitions.mdav.nearest import keep_nearest
from maskwright_builtin.partitions.mdav.search import (
    BOUNDS,
    FIRST_LEAVES,
    OFFERED,
    UNBOUNDED,
    nearest_threshold,
    offer_equal,
)

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Floats32, Integers


TOGETHER = 64
"""Records whose bounds to all leaves are held at once."""


@inlined
def look_from(values: Floats32, leaf: int, singles: Floats32, at: int, distances: Floats32) -> None:
    """Compute the binary32 squared distances of a point to all slots of a leaf, without a view of any array."""
    p, slots = singles.shape[1], distances.shape[0]
    q0 = singles[at, 0]
    for i in range(slots):
        d0 = values[leaf, 0, i] - q0
        distances[i] = d0 * d0
    j = 1
    while j + 4 <= p:
        q0, q1, q2, q3 = singles[at, j], singles[at, j + 1], singles[at, j + 2], singles[at, j + 3]
        for i in range(slots):
            d0 = values[leaf, j, i] - q0
            d1 = values[leaf, j + 1, i] - q1
            d2 = values[leaf, j + 2, i] - q2
            d3 = values[leaf, j + 3, i] - q3
            distances[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
        j += 4
    while j < p:
        q0 = singles[at, j]
        for i in range(slots):
            d0 = values[leaf, j, i] - q0
            distances[i] += d0 * d0
        j += 1


@compiled
def list_nearest(standardised: Floats, asked: Integers, leaves: Leaves, nearest: Integers) -> int:
    """Write the list of the nearest remaining records of each record; return the work, in leaves looked at.

    `standardised`: shape (n, p). `asked`: remaining records; shape (q,). `nearest`: written; shape (q, g).
    """
    p, capacity = standardised.shape[1], nearest.shape[1]
    m = leaves.counts.shape[0]
    values, rows, uniform, counts, scale = leaves.values, leaves.rows, leaves.uniform, leaves.counts, leaves.scale
    lows, highs, inner, outer = leaves.low, leaves.high, leaves.inner, leaves.outer
    zero, unbounded = np.float32(0.0), np.float32(UNBOUNDED)
    distances = np.empty(LEAF, dtype=np.float32)
    bounds = np.empty((m, TOGETHER), dtype=np.float32)
    columns = np.zeros((p, TOGETHER), dtype=np.float32)
    singles = np.zeros((TOGETHER, p), dtype=np.float32)
    radii = np.zeros(TOGETHER, dtype=np.float32)
    limits = np.empty(TOGETHER, dtype=np.float32)
    lowest = np.empty(TOGETHER, dtype=np.float32)
    promising = np.empty(TOGETHER, dtype=np.int32)
    sizes = np.empty(TOGETHER, dtype=np.int64)
    heaps = np.empty((TOGETHER, capacity))
    heap_rows = np.empty((TOGETHER, capacity), dtype=np.int64)
    seen, offered = 0, 0
    for first in range(0, asked.shape[0], TOGETHER):
        count = min(TOGETHER, asked.shape[0] - first)
        for at in range(count):
            squared = 0.0
            for j in range(p):
                coordinate = (standardised[asked[first + at], j] - leaves.center[j]) * scale
                squared += coordinate * coordinate
                columns[j, at] = singles[at, j] = np.float32(coordinate)
            radii[at] = np.float32(math.sqrt(squared))
        limits[:] = unbounded
        sizes[:] = 0
        lowest[:] = unbounded
        promising[:] = 0
        for leaf in range(m):
            row = bounds[leaf]
            if counts[leaf] == 0:
                row[:] = np.float32(np.inf)
                continue
            row[:] = zero
            for j in range(p):
                low, high, column = lows[j, leaf], highs[j, leaf], columns[j]
                for at in range(row.shape[0]):
                    below, above = low - column[at], column[at] - high
                    gap = below if below > above else above
                    gap = gap if gap > zero else zero
                    row[at] += gap * gap
            low, high = inner[leaf], outer[leaf]
            for at in range(row.shape[0]):
                below, above = low - radii[at], radii[at] - high
                gap = below if below > above else above
                gap = gap if gap > zero else zero
                row[at] = gap * gap if gap * gap > row[at] else row[at]
        # The record's own leaf and the most promising ones set the thresholds.
        for at in range(count):
            promising[at] = leaves.slots[asked[first + at]] // LEAF
        for turn in range(1 + FIRST_LEAVES):
            if turn > 0:
                lowest[:] = np.float32(np.inf)
                promising[:] = -1
                for leaf in range(m):
                    row = bounds[leaf]
                    for at in range(row.shape[0]):
                        better = row[at] < lowest[at]
                        lowest[at] = row[at] if better else lowest[at]
                        promising[at] = np.int32(leaf) if better else promising[at]
            for at in range(count):
                leaf = promising[at]
                if leaf < 0 or bounds[leaf, at] > limits[at]:
                    continue
                bounds[leaf, at] = np.inf
                seen += 1
                if uniform[leaf]:
                    point, heap, heap_row = standardised[asked[first + at]], heaps[at], heap_rows[at]
                    sizes[at] = offer_equal(standardised, point, rows[leaf], heap, heap_row, sizes[at])
                else:
                    look_from(values, leaf, singles, at, distances)
                    limit, found = limits[at], False
                    for i in range(distances.shape[0]):
                        found = found | (distances[i] <= limit)
                    if not found:
                        continue
                    point, heap, heap_row = standardised[asked[first + at]], heaps[at], heap_rows[at]
                    size = sizes[at]
                    for i in range(distances.shape[0]):
                        if distances[i] <= limit:
                            distance = squared_distance(standardised, rows[leaf, i], point)
                            size = keep_nearest(heap, heap_row, size, distance, rows[leaf, i])
                            offered += 1
                            if size == capacity:
                                limit = nearest_threshold(heap[0], scale, p)
                    sizes[at] = size
                if sizes[at] == capacity:
                    limits[at] = nearest_threshold(heaps[at, 0], scale, p)
        for leaf in range(m - 1, -1, -1):
            row = bounds[leaf]
            for at in range(count):
                if row[at] <= limits[at]:
                    seen += 1
                    if uniform[leaf]:
                        point, heap, heap_row = standardised[asked[first + at]], heaps[at], heap_rows[at]
                        sizes[at] = offer_equal(standardised, point, rows[leaf], heap, heap_row, sizes[at])
                    else:
                        look_from(values, leaf, singles, at, distances)
                        limit, found = limits[at], False
                        for i in range(distances.shape[0]):
                            found = found | (distances[i] <= limit)
                        if not found:
                            continue
                        point, heap, heap_row = standardised[asked[first + at]], heaps[at], heap_rows[at]
                        size = sizes[at]
                        for i in range(distances.shape[0]):
                            if distances[i] <= limit:
                                distance = squared_distance(standardised, rows[leaf, i], point)
                                size = keep_nearest(heap, heap_row, size, distance, rows[leaf, i])
                                offered += 1
                                if size == capacity:
                                    limit = nearest_threshold(heap[0], scale, p)
                        sizes[at] = size
                    if sizes[at] == capacity:
                        limits[at] = nearest_threshold(heaps[at, 0], scale, p)
        for at in range(count):
            write_in_order(heaps[at], heap_rows[at], sizes[at], nearest[first + at])
    spent: int = seen + offered // OFFERED + asked.shape[0] * m // BOUNDS
    return spent
