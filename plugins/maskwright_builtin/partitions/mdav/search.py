"""Nearest and farthest remaining records of MDAV: pruned and prefiltered without changing a result.

Each query has three stages, each a necessary condition of the next:

1. bounds of the distance to a whole leaf, from its box and from the radii of its records around the leaves' centre;
2. binary32 distances to the records of the leaves that are left;
3. the binary64 distance of the records that are left, which alone decides.

Why stages 1 and 2 lose nothing. Coordinates are relative to `Leaves.center` and multiplied by a power of two that
brings the largest radius into (1/2, 1]. With u = 2**-24, a record and a point err by at most u in norm each when
rounded to binary32, their difference by 2u more, and a radius by u: a distance d is seen as d' with abs(d' - d) <= 8u.
Squares and sums of p terms err by a factor within 1 +- (p + 2)u. `nearest_threshold` and `farthest_threshold` widen
the exact threshold by twice these amounts, so whatever has a binary64 distance on the right side of the exact threshold
passes. The bound of a leaf's largest distance has sums of larger terms: `farthest_slack` is its absolute error.

Nothing here may be compiled with fast-math: the order of the sums is part of the definition.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import NONE, ZERO, compiled, inlined
from maskwright_builtin.numerics.spatial import squared_distance
from maskwright_builtin.partitions.mdav.leaves import LEAF, Leaves, Single
from maskwright_builtin.partitions.mdav.nearest import comes_before, keep_nearest

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Floats32, Integers


ERROR = 2.0**-20
"""Bound, with margin, on the error of a scaled distance seen in binary32."""

UNBOUNDED = 64.0
"""Larger than any scaled squared distance: those are at most 4, but for rounding."""

FIRST_LEAVES = 4
"""Leaves that are looked at in order of their bounds before the others: then the threshold is about right."""

BOUNDS = 32
"""Leaves whose bounds cost about as much as looking at one leaf."""

OFFERED = 4
"""Records whose distance in binary64 costs about as much as looking at one leaf."""


class Workspace(NamedTuple):
    """Scratch memory of the queries: float32 unless said.

    `point`: the point asked about, scaled; shape (p,). `bounds`: of each leaf: the more promising the smaller; shape
    (m,). `candidates`: leaves still to be looked at; shape (m,). `distances`: shape (LEAF,). `heap`: squared distances
    of the nearest records found, in a binary heap with the largest first; shape (k - 1,). `heap_rows`: shape (k - 1,).
    """

    point: Floats32
    bounds: Floats32
    candidates: Integers
    distances: Floats32
    heap: Floats
    heap_rows: Integers


def workspace(leaves: Leaves, k: int) -> Workspace:
    """Scratch memory for queries of `leaves` for up to k - 1 nearest records."""
    p, m = leaves.low.shape
    return Workspace(
        point=np.empty(p, dtype=np.float32),
        bounds=np.empty(m, dtype=np.float32),
        candidates=np.empty(m, dtype=np.int64),
        distances=np.empty(LEAF, dtype=np.float32),
        heap=np.empty(k - 1, dtype=np.float64),
        heap_rows=np.empty(k - 1, dtype=np.int64),
    )


@inlined
def nearest_threshold(squared: float, scale: float, p: int) -> Single:
    """Largest binary32 scaled squared distance of a record whose binary64 one is at most `squared`."""
    # The addend is more than p squares can lose to underflow.
    distance = math.sqrt(squared + p * 1e-307) * scale + ERROR
    return np.float32(min(distance * distance * (1.0 + (p + 4) * 2.0**-21) + 2.0**-100, UNBOUNDED))


@inlined
def farthest_threshold(squared: float, scale: float, p: int) -> Single:
    """Smallest binary32 scaled squared distance of a record whose binary64 one is at least `squared`."""
    distance = max(math.sqrt(max(squared - p * 1e-307, 0.0)) * scale - ERROR, 0.0)
    return np.float32(min(distance * distance * (1.0 - min((p + 4) * 2.0**-21, 1.0)) - 2.0**-100, UNBOUNDED))


@inlined
def farthest_slack(p: int) -> Single:
    """Absolute error, with margin, of a leaf's largest scaled squared distance: p terms whose sizes sum to sqrt(p)."""
    return np.float32((p + 8) * (1.0 + math.sqrt(p)) * 2.0**-21)


@inlined
def place_point(point: Floats, leaves: Leaves, work: Workspace) -> Single:
    """Write the scaled point into the workspace; return its radius."""
    squared = 0.0
    for j in range(point.shape[0]):
        coordinate = (point[j] - leaves.center[j]) * leaves.scale
        squared += coordinate * coordinate
        work.point[j] = np.float32(coordinate)
    return np.float32(math.sqrt(squared))


@inlined
def look_at(values: Floats32, point: Floats32, distances: Floats32) -> None:
    """Compute the binary32 squared distances of a point to all slots of a leaf; `values` has shape (p, LEAF)."""
    p = point.shape[0]
    # Not `LEAF`: a loop of known length is unrolled before it is vectorised, and several times slower.
    slots = distances.shape[0]
    q0, v0 = point[0], values[0]
    for i in range(slots):
        d0 = v0[i] - q0
        distances[i] = d0 * d0
    # Coordinates are taken four at a time to spare loads and stores of the sums.
    j = 1
    while j + 4 <= p:
        q0, q1, q2, q3 = point[j], point[j + 1], point[j + 2], point[j + 3]
        v0, v1, v2, v3 = values[j], values[j + 1], values[j + 2], values[j + 3]
        for i in range(slots):
            d0 = v0[i] - q0
            d1 = v1[i] - q1
            d2 = v2[i] - q2
            d3 = v3[i] - q3
            distances[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
        j += 4
    while j < p:
        q0, v0 = point[j], values[j]
        for i in range(slots):
            d0 = v0[i] - q0
            distances[i] += d0 * d0
        j += 1


@inlined
def gather(bounds: Floats32, candidates: Integers, counts: Integers, threshold: Single, home: int) -> int:
    """List the leaves whose bound does not rule them out, but for the one already seen; return their number."""
    waiting = 0
    for leaf in range(counts.shape[0]):
        if bounds[leaf] <= threshold and leaf != home and counts[leaf] > 0:
            candidates[waiting] = leaf
            waiting += 1
    return waiting


@inlined
def most_promising(bounds: Floats32, counts: Integers) -> int:
    """Leaf with the smallest bound of those with records; at least one has some."""
    best = -1
    for leaf in range(counts.shape[0]):
        if counts[leaf] > 0 and (best < 0 or bounds[leaf] < bounds[best]):
            best = leaf
    return best


@inlined
def next_leaf(bounds: Floats32, candidates: Integers, turn: int, waiting: int) -> int:
    """Leaf to look at in this turn: the most promising one in the first turns, then any."""
    if turn < FIRST_LEAVES:
        best = turn
        for i in range(turn + 1, waiting):
            if bounds[candidates[i]] < bounds[candidates[best]]:
                best = i
        candidates[turn], candidates[best] = candidates[best], candidates[turn]
    leaf: int = candidates[turn]
    return leaf


@inlined
def first_row(rows: Integers) -> int:
    """Slot of the first remaining record of a leaf that has one."""
    slot = 0
    while rows[slot] < 0:
        slot += 1
    return slot


@inlined
def offer_equal(
    standardised: Floats, point: Floats, rows: Integers, heap: Floats, heap_rows: Integers, size: int
) -> int:
    """Offer the equal records of a uniform leaf to the heap; return the heap's size."""
    first = first_row(rows)
    distance = squared_distance(standardised, rows[first], point)
    for slot in range(first, LEAF):
        row = rows[slot]
        if row < 0:
            continue
        # All are at one distance: in ascending order, the first that is refused ends the leaf.
        if size == heap.shape[0] and not comes_before(distance, row, heap[0], heap_rows[0]):
            break
        size = keep_nearest(heap, heap_rows, size, distance, row)
    return size


@inlined
def offer_near(
    standardised: Floats,
    point: Floats,
    rows: Integers,
    distances: Floats32,
    threshold: Single,
    heap: Floats,
    heap_rows: Integers,
    size: int,
) -> int:
    """Offer the records whose binary32 distance is below a threshold to the heap; return the heap's size."""
    found = False
    for i in range(distances.shape[0]):
        found = found | (distances[i] <= threshold)
    if found:
        for i in range(distances.shape[0]):
            if distances[i] <= threshold:
                distance = squared_distance(standardised, rows[i], point)
                size = keep_nearest(heap, heap_rows, size, distance, rows[i])
    return size


@compiled
def find_nearest(standardised: Floats, row: int, leaves: Leaves, work: Workspace) -> int:
    """Fill the heap with the remaining records nearest to `row`, itself removed before; return the leaves scanned.

    At least as many records as the heap holds must remain.
    """
    capacity = work.heap.shape[0]
    if capacity == 0:
        return 0
    point = standardised[row]
    radius = place_point(point, leaves, work)
    m, p = work.bounds.shape[0], point.shape[0]
    bounds = work.bounds
    zero = np.float32(0.0)
    bounds[:] = zero
    for j in range(p):
        coordinate = work.point[j]
        low, high = leaves.low[j], leaves.high[j]
        for leaf in range(m):
            below = low[leaf] - coordinate
            above = coordinate - high[leaf]
            gap = below if below > above else above
            gap = gap if gap > zero else zero
            bounds[leaf] += gap * gap
    inner, outer = leaves.inner, leaves.outer
    for leaf in range(m):
        below = inner[leaf] - radius
        above = radius - outer[leaf]
        gap = below if below > above else above
        gap = gap if gap > zero else zero
        bounds[leaf] = gap * gap if gap * gap > bounds[leaf] else bounds[leaf]

    # Taken out of the records once: whatever passes one on counts references to all its arrays, which takes longer
    # than looking at a leaf.
    values, rows, uniform, counts, scale = leaves.values, leaves.rows, leaves.uniform, leaves.counts, leaves.scale
    single_point, distances, candidates = work.point, work.distances, work.candidates
    heap, heap_rows = work.heap, work.heap_rows
    threshold = np.float32(UNBOUNDED)
    # The record's own leaf first; the others when its records have set a threshold.
    candidates[0] = leaves.slots[row] // LEAF
    home = candidates[0]
    waiting, turn, size, seen = ZERO + 1, ZERO, ZERO, 0
    while turn < waiting:
        leaf = home if seen == 0 else next_leaf(bounds, candidates, turn, waiting)
        turn += 1
        if bounds[leaf] <= threshold and counts[leaf] > 0:
            if uniform[leaf]:
                size = offer_equal(standardised, point, rows[leaf], heap, heap_rows, size)
            else:
                look_at(values[leaf], single_point, distances)
                size = offer_near(standardised, point, rows[leaf], distances, threshold, heap, heap_rows, size)
            if size == capacity:
                threshold = nearest_threshold(heap[0], scale, p)
        if leaf == home:
            waiting = gather(bounds, candidates, counts, threshold, home)
            turn = ZERO
        seen += 1
    return seen


@inlined
def best_of_far(
    standardised: Floats, point: Floats, rows: Integers, distances: Floats32, scale: float, best: float, best_row: int
) -> tuple[float, int]:
    """Return the farthest of the records of a leaf and the best one so far; ties go to the lowest number."""
    threshold = farthest_threshold(best, scale, point.shape[0])
    found = False
    for i in range(distances.shape[0]):
        found = found | (distances[i] >= threshold)
    if found:
        for i in range(distances.shape[0]):
            if distances[i] >= threshold:
                distance = squared_distance(standardised, rows[i], point)
                if distance > best or (distance == best and rows[i] < best_row):
                    best, best_row = distance, rows[i]
                    threshold = farthest_threshold(best, scale, point.shape[0])
    return best, best_row


@compiled
def find_farthest(standardised: Floats, point: Floats, leaves: Leaves, work: Workspace) -> tuple[int, float, int]:
    """Return the remaining record farthest from a point, its squared distance, and the leaves scanned.

    At least one record must remain.
    """
    radius = place_point(point, leaves, work)
    m, p = work.bounds.shape[0], point.shape[0]
    bounds = work.bounds
    zero, two = np.float32(0.0), np.float32(2.0)
    # abs(x - q)**2 = abs(x)**2 + abs(q)**2 - 2 x.q, and x.q is smallest in a corner of the box. Signs are turned.
    bounds[:] = zero
    for j in range(p):
        coordinate = work.point[j]
        side = leaves.low[j] if coordinate > zero else leaves.high[j]
        for leaf in range(m):
            bounds[leaf] += coordinate * side[leaf]
    outer = leaves.outer
    for leaf in range(m):
        corner = two * bounds[leaf] - (radius * radius + outer[leaf] * outer[leaf])
        opposite = -(radius + outer[leaf]) * (radius + outer[leaf])
        bounds[leaf] = corner if corner > opposite else opposite

    values, rows, uniform, counts, scale = leaves.values, leaves.rows, leaves.uniform, leaves.counts, leaves.scale
    single_point, distances, candidates = work.point, work.distances, work.candidates
    slack = farthest_slack(p)
    threshold = np.float32(UNBOUNDED)
    home = most_promising(bounds, counts)
    best, best_row = -1.0, NONE
    waiting, turn, seen = ZERO + 1, ZERO, 0
    while turn < waiting:
        leaf = home if seen == 0 else next_leaf(bounds, candidates, turn, waiting)
        turn += 1
        if bounds[leaf] <= threshold:
            if uniform[leaf]:
                row = rows[leaf, first_row(rows[leaf])]
                distance = squared_distance(standardised, row, point)
                if distance > best or (distance == best and row < best_row):
                    best, best_row = distance, row
            else:
                look_at(values[leaf], single_point, distances)
                best, best_row = best_of_far(standardised, point, rows[leaf], distances, scale, best, best_row)
            threshold = slack - farthest_threshold(best, scale, p)
        if leaf == home:
            waiting = gather(bounds, candidates, counts, threshold, home)
            turn = ZERO
        seen += 1
    return best_row, best, seen
