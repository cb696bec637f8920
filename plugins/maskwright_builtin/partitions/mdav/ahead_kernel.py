"""Searches of MDAV made ahead: for many records at once, as lists that stay true while records are removed.

Removing records never lets another one in: of a list of the farthest (nearest) records, those that still remain are
the farthest (nearest) ones that remain, in the same order. So the records that will soon be the farthest from the
centroid are asked about together, on several threads, and the lists are read when their turn comes. A list that is used
up, or a record without one, is searched for then: nothing depends on what was asked ahead.

A view of an array is taken only where a record passes: counting references takes longer than looking at a leaf.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import NONE, ZERO, compiled, inlined
from maskwright_builtin.numerics.spatial import squared_distance
from maskwright_builtin.partitions.mdav.leaves import LEAF, Leaves
from maskwright_builtin.partitions.mdav.nearest import comes_before, keep_nearest
from maskwright_builtin.partitions.mdav.search import (
    BOUNDS,
    OFFERED,
    UNBOUNDED,
    farthest_slack,
    farthest_threshold,
    first_row,
)

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Floats32, Integers, Integers32


CERTAIN = 1e-9
"""Share of a distance by which another is larger beyond doubt."""


class Lists(NamedTuple):
    """What was found ahead for up to s records.

    `places`: where the lists of a record are; -1 where there are none; shape (n,). `farthest`: records by falling
    distance, ties by ascending number; -1 from where there are no more. Only the first half of the places have one;
    shape (s // 2, f). `nearest`: likewise by growing distance; the record itself may be among them; shape (s, g).
    `outermost`: the records farthest from `center`, of those that remained then; -1 from where there are no more; shape
    (s // 2,). `radii`: their distances from it; shape (s // 2,). `center`: centroid of the records that remained then;
    shape (p,).
    """

    places: Integers32
    farthest: Integers
    nearest: Integers
    outermost: Integers
    radii: Floats
    center: Floats


def empty_lists(n: int, p: int, records: int, far: int, near: int) -> Lists:
    """Room for the lists of so many records of n, and as many farthest ones of them."""
    return Lists(
        places=np.full(n, -1, dtype=np.int32),
        farthest=np.full((records, far), -1, dtype=np.int64),
        nearest=np.full((2 * records, near), -1, dtype=np.int64),
        outermost=np.full(records, -1, dtype=np.int64),
        radii=np.zeros(records),
        center=np.zeros(p),
    )


@inlined
def write_in_order(heap: Floats, heap_rows: Integers, size: int, listed: Integers) -> None:
    """Sort the heap, first the record that comes before the others, and write it into a list."""
    for i in range(1, size):
        distance, row = heap[i], heap_rows[i]
        at = i
        while at > 0 and comes_before(distance, row, heap[at - 1], heap_rows[at - 1]):
            heap[at], heap_rows[at] = heap[at - 1], heap_rows[at - 1]
            at -= 1
        heap[at], heap_rows[at] = distance, row
    listed[:] = -1
    for i in range(size):
        listed[i] = heap_rows[i]


@inlined
def look_along(values: Floats32, squares: Floats32, leaf: int, doubled: Floats32, at: int, scores: Floats32) -> None:
    """Compute ``abs(x)**2 - 2 x.q`` in binary32 for all slots of a leaf; `doubled` holds 2 q of each point."""
    p, slots = doubled.shape[1], scores.shape[0]
    q0 = doubled[at, 0]
    for i in range(slots):
        scores[i] = squares[leaf, i] - values[leaf, 0, i] * q0
    j = 1
    while j + 4 <= p:
        q0, q1, q2, q3 = doubled[at, j], doubled[at, j + 1], doubled[at, j + 2], doubled[at, j + 3]
        for i in range(slots):
            scores[i] -= (values[leaf, j, i] * q0 + values[leaf, j + 1, i] * q1) + (
                values[leaf, j + 2, i] * q2 + values[leaf, j + 3, i] * q3
            )
        j += 4
    while j < p:
        q0 = doubled[at, j]
        for i in range(slots):
            scores[i] -= values[leaf, j, i] * q0
        j += 1


@compiled
def list_farthest(standardised: Floats, points: Floats, leaves: Leaves, farthest: Integers) -> int:
    """Write the list of the farthest remaining records of each point; return the work, in leaves looked at.

    `standardised`: shape (n, p). `points`: remaining records, or points between them; shape (q, p). `farthest`:
    written; shape (q, f).

    Scores are distances without the square of the point's own radius: with radii of at most 1, p + 2 terms whose sizes
    sum to at most 4, so that `farthest_slack` is above their error.
    """
    count, p = points.shape
    capacity = farthest.shape[1]
    single = np.empty((p, count), dtype=np.float32)
    doubled = np.empty((count, p), dtype=np.float32)
    radii = np.empty(count, dtype=np.float32)
    least = np.full(count, np.float32(-UNBOUNDED))
    bounds = np.empty(count, dtype=np.float32)
    scores = np.empty(LEAF, dtype=np.float32)
    heaps = np.empty((count, capacity))
    heap_rows = np.empty((count, capacity), dtype=np.int64)
    sizes = np.zeros(count, dtype=np.int64)
    slack, two = farthest_slack(p), np.float32(2.0)
    values, rows, uniform, counts, scale = leaves.values, leaves.rows, leaves.uniform, leaves.counts, leaves.scale
    squares, lows, highs, outer = leaves.squares, leaves.low, leaves.high, leaves.outer
    for at in range(count):
        squared = 0.0
        for j in range(p):
            coordinate = (points[at, j] - leaves.center[j]) * scale
            squared += coordinate * coordinate
            single[j, at] = np.float32(coordinate)
            doubled[at, j] = two * single[j, at]
        radii[at] = np.float32(math.sqrt(squared))
    seen, offered = 0, 0
    # The outermost leaves are the last ones.
    for leaf in range(counts.shape[0] - 1, -1, -1):
        if counts[leaf] == 0:
            continue
        bounds[:] = np.float32(0.0)
        for j in range(p):
            low, high, column = lows[j, leaf], highs[j, leaf], single[j]
            for at in range(count):
                one, other = column[at] * low, column[at] * high
                bounds[at] += one if one < other else other
        radius = outer[leaf]
        for at in range(count):
            corner = radius * radius - two * bounds[at]
            opposite = (radius + two * radii[at]) * radius
            bounds[at] = (corner if corner < opposite else opposite) + slack
        for at in range(count):
            if bounds[at] < least[at]:
                continue
            seen += 1
            if uniform[leaf]:
                point, heap, heap_row, own, size = points[at], heaps[at], heap_rows[at], rows[leaf], sizes[at]
                first = first_row(own)
                distance = squared_distance(standardised, own[first], point)
                for slot in range(first, LEAF):
                    row = own[slot]
                    if row < 0:
                        continue
                    if size == capacity and not comes_before(-distance, row, heap[0], heap_row[0]):
                        break
                    size = keep_nearest(heap, heap_row, size, -distance, row)
                    offered += 1
                sizes[at] = size
            else:
                look_along(values, squares, leaf, doubled, at, scores)
                limit, found = least[at], False
                for i in range(scores.shape[0]):
                    found = found | (scores[i] >= limit)
                if not found:
                    continue
                point, heap, heap_row, size = points[at], heaps[at], heap_rows[at], sizes[at]
                squared_radius = radii[at] * radii[at]
                for i in range(scores.shape[0]):
                    if scores[i] >= limit:
                        distance = squared_distance(standardised, rows[leaf, i], point)
                        size = keep_nearest(heap, heap_row, size, -distance, rows[leaf, i])
                        offered += 1
                        if size == capacity:
                            limit = farthest_threshold(-heap[0], scale, p) - squared_radius - slack
                sizes[at] = size
            if sizes[at] == capacity:
                squared_radius = radii[at] * radii[at]
                least[at] = farthest_threshold(-heaps[at, 0], scale, p) - squared_radius - slack
    for at in range(count):
        write_in_order(heaps[at], heap_rows[at], sizes[at], farthest[at])
    spent: int = seen + offered // OFFERED + count * counts.shape[0] // BOUNDS
    return spent


@compiled
def expected_partners(farthest: Integers, expected: Integers) -> int:
    """Write the records that are likely to be the farthest of others when their turn comes; return how many they are.

    `farthest`: the lists, in the order in which they are likely to be read; shape (q, f). `expected`: Written: each
    record once; shape (q,).
    """
    count = ZERO
    for at in range(farthest.shape[0]):
        for i in range(farthest.shape[1]):
            row = farthest[at, i]
            known = False
            for other in range(count):
                known = known or expected[other] == row
            if row >= 0 and not known:
                expected[count] = row
                count += 1
                break
    return count


@inlined
def first_remaining(listed: Integers, labels: Integers) -> int:
    """First record of a list that has no label yet, or -1."""
    for i in range(listed.shape[0]):
        row: int = listed[i]
        if row >= 0 and labels[row] < 0:
            return row
    return NONE


@compiled
def measure_radii(standardised: Floats, lists: Lists) -> None:
    """Write the distances of the outermost records from the centre."""
    for i in range(lists.outermost.shape[0]):
        if lists.outermost[i] >= 0:
            lists.radii[i] = math.sqrt(squared_distance(standardised, lists.outermost[i], lists.center))


@compiled
def farthest_listed(standardised: Floats, point: Floats, labels: Integers, lists: Lists) -> tuple[int, float]:
    """Return the remaining record farthest from a point and its squared distance, or -1 where the list cannot tell.

    `standardised`: shape (n, p). `point`: near the centre of `lists`; shape (p,). `labels`: -1 for remaining records;
    shape (n,).

    The centroid has moved by t since the outermost records were listed: a record that was r away is at most r + t away,
    and one that is not listed at most as far as the last one listed. `CERTAIN` is far above the rounding of all of it.
    """
    p = point.shape[0]
    squared = 0.0
    for j in range(p):
        step = point[j] - lists.center[j]
        squared += step * step
    moved = math.sqrt(squared)
    best, best_row, reached = -1.0, NONE, -1.0
    outermost, radii = lists.outermost, lists.radii
    for i in range(outermost.shape[0]):
        row = outermost[i]
        if row < 0:
            break
        if best_row >= 0 and (radii[i] + moved) * (1.0 + CERTAIN) + math.sqrt(p * 1e-307) < reached:
            return best_row, best
        if labels[row] < 0:
            distance = squared_distance(standardised, row, point)
            if distance > best or (distance == best and row < best_row):
                best, best_row, reached = distance, row, math.sqrt(distance)
    return NONE, 0.0
