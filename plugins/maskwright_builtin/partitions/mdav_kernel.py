"""Compiled core of exact MDAV: remaining records in small leaves, pruned and prefiltered without changing a result.

The remaining records are kept in *leaves* of up to `LEAF` records near each other, in binary32, coordinates of a leaf
contiguous. Two questions are asked again and again: which records are nearest to a point, and which is farthest from
it. Both are answered in three stages, each a necessary condition of the next:

1. bounds of the distance to a whole leaf, from its box and from the radii of its records around the leaves' centre;
2. binary32 distances to the records of the leaves that are left;
3. the binary64 distance of the records that are left, which alone decides.

Why stages 1 and 2 lose nothing. Coordinates are taken relative to `Leaves.center` and multiplied by a power of two
that brings the largest radius into (1/2, 1]. With u = 2**-24, a record and a point err by at most u in norm each when
rounded to binary32, the difference by 2u more, a radius by u: a distance d is seen as d' with abs(d' - d) <= 8u.
Squares and sums of p terms err by a factor within 1 +- (p + 2)u. `nearest_threshold` and `farthest_threshold` widen
the exact threshold by twice these amounts, so that whatever has a binary64 distance on the right side of the exact
threshold passes. The bound on a leaf's largest distance also has an absolute error, `Leaves.slack`.

Nothing here may be compiled with fast-math: the order of the sums is part of the definition.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

LEAF = 128
"""Records of a leaf: four vectors of eight binary32 numbers."""

ERROR = 2.0**-20
"""Bound, with margin, on the error of a scaled distance seen in binary32."""

FIRST_LEAVES = 4
"""Leaves that are looked at in order of their bounds before the others."""

SLICE_ENDED, REBUILD, FEW_LEFT = 0, 1, 2


class Leaves(NamedTuple):
    """Remaining records, cut into m leaves.

    Attributes
    ----------
    values : ndarray of shape (m, p, LEAF), float32
        Scaled coordinates. The first one of a removed record is NaN,
        which no comparison admits.
    rows : ndarray of shape (m * LEAF,), int64
        Record in each slot, ascending in a leaf; -1 where there is none (any more).
    slots : ndarray of shape (n,), int64
        Slot of each remaining record.
    counts : ndarray of shape (m,), int64
        Remaining records in each leaf.
    low, high : ndarray of shape (p, m), float32
        Box of each leaf.
    inner, outer : ndarray of shape (m,), float32
        Smallest and largest radius in each leaf.
    uniform : ndarray of shape (m,), bool
        Whether all records of a leaf are equal, bit for bit.
    center : ndarray of shape (p,), float64
    scale : float
        Power of two.
    slack : float
        Absolute error bound of a leaf's largest squared distance.
    """

    values: Any
    rows: Any
    slots: Any
    counts: Any
    low: Any
    high: Any
    inner: Any
    outer: Any
    uniform: Any
    center: Any
    scale: float
    slack: float


class Workspace(NamedTuple):
    """Scratch memory of the queries: float32 unless said.

    Attributes
    ----------
    point : ndarray of shape (p,)
        The point asked about, scaled.
    bounds, sums : ndarray of shape (m,)
    candidates : ndarray of shape (m,), int64
        Leaves still to be looked at.
    distances : ndarray of shape (LEAF,)
    heap : ndarray of shape (k - 1,), float64
        Squared distances of the nearest records found, largest first as in a binary heap.
    heap_rows : ndarray of shape (k - 1,), int64
    """

    point: Any
    bounds: Any
    sums: Any
    candidates: Any
    distances: Any
    heap: Any
    heap_rows: Any


@njit(cache=True)
def select(keys, order, start, stop, middle):  # type: ignore[no-untyped-def]
    """Rearrange `keys` and `order` in [start, stop) so that the smallest ones come before `middle`; ties by `order`."""
    low = start
    high = stop - 1
    while low < high:
        center = (low + high) // 2
        pivot = keys[center]
        pivot_order = order[center]
        i = low
        j = high
        while i <= j:
            while keys[i] < pivot or (keys[i] == pivot and order[i] < pivot_order):
                i += 1
            while keys[j] > pivot or (keys[j] == pivot and order[j] > pivot_order):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True)
def widest(scaled, order, start, stop):  # type: ignore[no-untyped-def]
    """Return the coordinate with the largest range over the records in [start, stop)."""
    p = scaled.shape[1]
    low = scaled[order[start]].copy()
    high = low.copy()
    for i in range(start + 1, stop):
        row = order[i]
        for j in range(p):
            value = scaled[row, j]
            low[j] = value if value < low[j] else low[j]
            high[j] = value if value > high[j] else high[j]
    best = 0
    for j in range(1, p):
        if high[j] - low[j] > high[best] - low[best]:
            best = j
    return best


@njit(cache=True)
def leaf_order(scaled, radii, shells):  # type: ignore[no-untyped-def]
    """Return an order of the records in which every run of `LEAF` is compact.

    First `shells` shells of equal counts by radius, because the farthest records lie in the outer ones; in a shell a
    k-d cut. Every cut falls on a multiple of `LEAF`. Ties go by position, so the order is deterministic.
    """
    m = scaled.shape[0]
    order = np.arange(m)
    keys = radii.copy()
    # Each entry of the stack is a run of records and the number of shells it is still to be cut into.
    stack = np.empty((256, 3), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, m, shells
    depth = 1
    while depth > 0:
        depth -= 1
        start, stop, rings = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        leaves = (stop - start + LEAF - 1) // LEAF
        if leaves < 2:
            order[start:stop].sort()
            continue
        if rings > 1:
            for i in range(start, stop):
                keys[i] = radii[order[i]]
        else:
            column = widest(scaled, order, start, stop)
            for i in range(start, stop):
                keys[i] = scaled[order[i], column]
        middle = start + (leaves // 2) * LEAF
        select(keys, order, start, stop, middle)
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = start, middle, rings // 2
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = middle, stop, rings // 2
        depth += 2
    return order


@njit(cache=True)
def fill_leaves(standardised, scaled, radii, members, order, leaves):  # type: ignore[no-untyped-def]
    """Write the records `members` (ascending) into `leaves` in the given order of their positions."""
    count, p = scaled.shape
    leaves.values[:] = np.nan
    leaves.rows[:] = -1
    leaves.uniform[:] = True
    for leaf in range(leaves.counts.shape[0]):
        start = leaf * LEAF
        stop = min(start + LEAF, count)
        first = order[start]
        leaves.counts[leaf] = stop - start
        leaves.inner[leaf] = radii[first]
        leaves.outer[leaf] = radii[first]
        for j in range(p):
            leaves.low[j, leaf] = scaled[first, j]
            leaves.high[j, leaf] = scaled[first, j]
        for slot in range(start, stop):
            position = order[slot]
            row = members[position]
            leaves.rows[slot] = row
            leaves.slots[row] = slot
            leaves.inner[leaf] = min(leaves.inner[leaf], radii[position])
            leaves.outer[leaf] = max(leaves.outer[leaf], radii[position])
            for j in range(p):
                value = scaled[position, j]
                leaves.values[leaf, j, slot - start] = value
                leaves.low[j, leaf] = min(leaves.low[j, leaf], value)
                leaves.high[j, leaf] = max(leaves.high[j, leaf], value)
                if standardised[row, j] != standardised[members[first], j]:
                    leaves.uniform[leaf] = False


@njit(cache=True, forceinline=True)
def squared_distance(standardised, row, point):  # type: ignore[no-untyped-def]
    """Squared Euclidean distance in binary64, summed in column order: the distance that decides."""
    total = 0.0
    for j in range(point.shape[0]):
        difference = standardised[row, j] - point[j]
        total += difference * difference
    return total


@njit(cache=True, forceinline=True)
def nearest_threshold(squared, leaves, p):  # type: ignore[no-untyped-def]
    """Largest binary32 scaled squared distance of a record whose binary64 one is at most `squared`."""
    # The addend is more than p squares can lose to underflow.
    distance = math.sqrt(squared + p * 1e-307) * leaves.scale + ERROR
    widened = distance * distance * (1.0 + (p + 4) * 2.0**-21) + 2.0**-100
    # Scaled squared distances are at most 4 but for rounding: the cap only keeps the number in binary32's range.
    return np.float32(min(widened, 64.0))


@njit(cache=True, forceinline=True)
def farthest_threshold(squared, leaves, p):  # type: ignore[no-untyped-def]
    """Smallest binary32 scaled squared distance of a record whose binary64 one is at least `squared`."""
    distance = max(math.sqrt(max(squared, 0.0)) * leaves.scale - ERROR, 0.0)
    return np.float32(min(distance * distance * (1.0 - min((p + 4) * 2.0**-21, 1.0)) - 2.0**-100, 64.0))


@njit(cache=True, forceinline=True)
def look_at(leaf, leaves, work):  # type: ignore[no-untyped-def]
    """Compute the binary32 squared distances of the point to all slots of a leaf."""
    point, distances, values = work.point, work.distances, leaves.values[leaf]
    p = point.shape[0]
    # Not `LEAF`: a loop of known length is unrolled before it is vectorised, and four times slower.
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


@njit(cache=True, forceinline=True)
def comes_before(distance, row, other_distance, other_row):  # type: ignore[no-untyped-def]
    """Order of the nearest records: by distance, then by record number."""
    return distance < other_distance or (distance == other_distance and row < other_row)


@njit(cache=True, forceinline=True)
def keep_nearest(work, size, distance, row):  # type: ignore[no-untyped-def]
    """Offer a record to the heap of the nearest ones, of which there are `size`; return their new number."""
    heap, rows = work.heap, work.heap_rows
    capacity = heap.shape[0]
    if size < capacity:
        child = size
        while child > 0:
            parent = (child - 1) // 2
            if not comes_before(heap[parent], rows[parent], distance, row):
                break
            heap[child], rows[child] = heap[parent], rows[parent]
            child = parent
        heap[child], rows[child] = distance, row
        return size + 1
    if not comes_before(distance, row, heap[0], rows[0]):
        return size
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= capacity:
            break
        if child + 1 < capacity and comes_before(heap[child], rows[child], heap[child + 1], rows[child + 1]):
            child += 1
        if not comes_before(distance, row, heap[child], rows[child]):
            break
        heap[parent], rows[parent] = heap[child], rows[child]
        parent = child
    heap[parent], rows[parent] = distance, row
    return size


@njit(cache=True, forceinline=True)
def scan_nearest(standardised, point, leaf, leaves, work, size, threshold):  # type: ignore[no-untyped-def]
    """Offer the records of a leaf to the heap; return the heap's size and the threshold."""
    start = leaf * LEAF
    p = point.shape[0]
    capacity = work.heap.shape[0]
    if leaves.uniform[leaf]:
        # Equal records are at one distance: in ascending order the first that is refused ends the leaf.
        distance = -1.0
        for slot in range(start, start + LEAF):
            row = leaves.rows[slot]
            if row < 0:
                continue
            if distance < 0.0:
                distance = squared_distance(standardised, row, point)
            if size == capacity and not comes_before(distance, row, work.heap[0], work.heap_rows[0]):
                break
            size = keep_nearest(work, size, distance, row)
    else:
        look_at(leaf, leaves, work)
        distances = work.distances
        slots = distances.shape[0]
        found = False
        for i in range(slots):
            found = found | (distances[i] <= threshold)
        if not found:
            return size, threshold
        for i in range(slots):
            if distances[i] <= threshold:
                row = leaves.rows[start + i]
                size = keep_nearest(work, size, squared_distance(standardised, row, point), row)
    if size == capacity:
        threshold = nearest_threshold(work.heap[0], leaves, p)
    return size, threshold


@njit(cache=True, forceinline=True)
def place_point(point, leaves, work):  # type: ignore[no-untyped-def]
    """Write the scaled point into the workspace; return its radius."""
    squared = 0.0
    for j in range(point.shape[0]):
        coordinate = (point[j] - leaves.center[j]) * leaves.scale
        squared += coordinate * coordinate
        work.point[j] = np.float32(coordinate)
    return np.float32(math.sqrt(squared))


@njit(cache=True)
def find_nearest(standardised, row, leaves, work):  # type: ignore[no-untyped-def]
    """Fill the heap with the remaining records nearest to `row`, itself removed before; return the leaves scanned."""
    capacity = work.heap.shape[0]
    if capacity == 0:
        return 0
    point = standardised[row]
    radius = place_point(point, leaves, work)
    bounds, candidates = work.bounds, work.candidates
    m, p = bounds.shape[0], point.shape[0]
    zero = np.float32(0.0)
    for leaf in range(m):
        gap = max(leaves.inner[leaf] - radius, radius - leaves.outer[leaf])
        gap = gap if gap > zero else zero
        bounds[leaf] = gap * gap
    for leaf in range(m):
        work.sums[leaf] = zero
    for j in range(p):
        coordinate = work.point[j]
        low, high = leaves.low[j], leaves.high[j]
        for leaf in range(m):
            below = low[leaf] - coordinate
            above = coordinate - high[leaf]
            gap = below if below > above else above
            gap = gap if gap > zero else zero
            work.sums[leaf] += gap * gap
    for leaf in range(m):
        bounds[leaf] = work.sums[leaf] if work.sums[leaf] > bounds[leaf] else bounds[leaf]

    threshold = np.float32(64.0)
    home = leaves.slots[row] // LEAF
    size, threshold = scan_nearest(standardised, point, home, leaves, work, 0, threshold)
    seen = 1
    waiting = 0
    for leaf in range(m):
        if bounds[leaf] <= threshold and leaf != home and leaves.counts[leaf] > 0:
            candidates[waiting] = leaf
            waiting += 1
    # The nearest leaves first, to tighten the threshold; the order of the others no longer pays.
    for _ in range(FIRST_LEAVES):
        if waiting == 0:
            break
        best = 0
        for i in range(1, waiting):
            if bounds[candidates[i]] < bounds[candidates[best]]:
                best = i
        leaf = candidates[best]
        waiting -= 1
        candidates[best] = candidates[waiting]
        if bounds[leaf] <= threshold:
            size, threshold = scan_nearest(standardised, point, leaf, leaves, work, size, threshold)
            seen += 1
    for i in range(waiting):
        leaf = candidates[i]
        if bounds[leaf] <= threshold:
            size, threshold = scan_nearest(standardised, point, leaf, leaves, work, size, threshold)
            seen += 1
    return seen


@njit(cache=True, forceinline=True)
def scan_farthest(standardised, point, leaf, leaves, work, best, best_row):  # type: ignore[no-untyped-def]
    """Return the farthest of the records of a leaf and the best one so far; ties go to the lowest number."""
    start = leaf * LEAF
    if leaves.uniform[leaf]:
        for slot in range(start, start + LEAF):
            row = leaves.rows[slot]
            if row >= 0:
                distance = squared_distance(standardised, row, point)
                if distance > best or (distance == best and row < best_row):
                    return distance, row
                break
        return best, best_row
    look_at(leaf, leaves, work)
    distances = work.distances
    slots = distances.shape[0]
    threshold = farthest_threshold(best, leaves, point.shape[0])
    found = False
    for i in range(slots):
        found = found | (distances[i] >= threshold)
    if not found:
        return best, best_row
    for i in range(slots):
        if distances[i] >= threshold:
            row = leaves.rows[start + i]
            distance = squared_distance(standardised, row, point)
            if distance > best or (distance == best and row < best_row):
                best, best_row = distance, row
                threshold = farthest_threshold(best, leaves, point.shape[0])
    return best, best_row


@njit(cache=True)
def find_farthest(standardised, point, leaves, work):  # type: ignore[no-untyped-def]
    """Return the remaining record farthest from a point, its squared distance, and the leaves scanned."""
    radius = place_point(point, leaves, work)
    bounds, candidates = work.bounds, work.candidates
    m, p = bounds.shape[0], point.shape[0]
    two = np.float32(2.0)
    zero = np.float32(0.0)
    # abs(x - q)**2 = abs(x)**2 + abs(q)**2 - 2 x.q, and x.q is smallest in a corner of the box.
    for leaf in range(m):
        work.sums[leaf] = zero
    for j in range(p):
        coordinate = work.point[j]
        side = leaves.low[j] if coordinate > zero else leaves.high[j]
        for leaf in range(m):
            work.sums[leaf] += coordinate * side[leaf]
    for leaf in range(m):
        outer = leaves.outer[leaf]
        opposite = (radius + outer) * (radius + outer)
        corner = radius * radius + outer * outer - two * work.sums[leaf]
        bounds[leaf] = corner if corner < opposite else opposite

    best, best_row = -1.0, np.int64(-1)
    first = -1
    for leaf in range(m):
        if leaves.counts[leaf] > 0 and (first < 0 or bounds[leaf] > bounds[first]):
            first = leaf
    best, best_row = scan_farthest(standardised, point, first, leaves, work, best, best_row)
    seen = 1
    slack = np.float32(leaves.slack)
    threshold = farthest_threshold(best, leaves, p) - slack
    waiting = 0
    for leaf in range(m):
        if bounds[leaf] >= threshold and leaf != first and leaves.counts[leaf] > 0:
            candidates[waiting] = leaf
            waiting += 1
    for _ in range(FIRST_LEAVES):
        if waiting == 0:
            break
        at = 0
        for i in range(1, waiting):
            if bounds[candidates[i]] > bounds[candidates[at]]:
                at = i
        leaf = candidates[at]
        waiting -= 1
        candidates[at] = candidates[waiting]
        if bounds[leaf] >= threshold:
            best, best_row = scan_farthest(standardised, point, leaf, leaves, work, best, best_row)
            threshold = farthest_threshold(best, leaves, p) - slack
            seen += 1
    for i in range(waiting):
        leaf = candidates[i]
        if bounds[leaf] >= threshold:
            best, best_row = scan_farthest(standardised, point, leaf, leaves, work, best, best_row)
            threshold = farthest_threshold(best, leaves, p) - slack
            seen += 1
    return best_row, best, seen


@njit(cache=True, forceinline=True)
def add_to_sums(sums, row_values, sign):  # type: ignore[no-untyped-def]
    """Add a record to, or take it from, the column sums, which are unevaluated pairs of binary64 numbers.

    Knuth's exact sum of two numbers, then a renormalisation: the centroid keeps full precision however many records
    are taken away.
    """
    for j in range(row_values.shape[0]):
        value = sign * row_values[j]
        high = sums[0, j]
        total = high + value
        back = total - high
        lost = (high - (total - back)) + (value - back)
        low = sums[1, j] + lost
        sums[0, j] = total + low
        sums[1, j] = low - (sums[0, j] - total)


@njit(cache=True)
def sum_columns(standardised):  # type: ignore[no-untyped-def]
    """Column sums as unevaluated pairs, shape (2, p)."""
    sums = np.zeros((2, standardised.shape[1]))
    for row in range(standardised.shape[0]):
        add_to_sums(sums, standardised[row], 1.0)
    return sums


@njit(cache=True)
def remove(standardised, row, label, labels, sums, leaves):  # type: ignore[no-untyped-def]
    """Give a remaining record its label and take it out of the leaves and the sums."""
    labels[row] = label
    slot = leaves.slots[row]
    leaf = slot // LEAF
    leaves.rows[slot] = -1
    leaves.counts[leaf] -= 1
    leaves.values[leaf, 0, slot % LEAF] = np.nan
    add_to_sums(sums, standardised[row], -1.0)


@njit(cache=True)
def take_cluster(standardised, row, label, labels, sums, leaves, work):  # type: ignore[no-untyped-def]
    """Make the cluster of a record and its nearest ones; return the leaves scanned."""
    remove(standardised, row, label, labels, sums, leaves)
    seen = find_nearest(standardised, row, leaves, work)
    for i in range(work.heap.shape[0]):
        remove(standardised, work.heap_rows[i], label, labels, sums, leaves)
    return seen


@njit(cache=True)
def make_clusters(standardised, labels, sums, leaves, work, remaining, label, budget):  # type: ignore[no-untyped-def]
    """Make pairs of clusters until fewer than 3k records remain, the leaves have thinned out, or the budget is spent.

    Parameters
    ----------
    standardised : ndarray of shape (n, p), float64
    labels : ndarray of shape (n,), int64
        -1 for remaining records; written.
    sums : ndarray of shape (2, p), float64
        Column sums of the remaining records; written.
    leaves : Leaves
        The remaining records; written.
    work : Workspace
    remaining : int
        Number of remaining records.
    label : int
        Next label.
    budget : int
        Work until the call returns, in leaves scanned; a pair of clusters is always finished.

    Returns
    -------
    status : int
        `SLICE_ENDED`, `REBUILD` or `FEW_LEFT`.
    remaining, label : int
    """
    m, p = leaves.counts.shape[0], standardised.shape[1]
    k = work.heap.shape[0] + 1
    enough = remaining_to_rebuild(m)
    centroid = np.empty(p)
    spent = 0
    while remaining >= 3 * k:
        if spent >= budget:
            return SLICE_ENDED, remaining, label
        for j in range(p):
            centroid[j] = sums[0, j] / remaining
        first, squared, seen = find_farthest(standardised, centroid, leaves, work)
        # Leaves are rebuilt when half empty, and when outliers that set their scale are gone.
        if remaining < enough or (math.sqrt(squared) * leaves.scale < 1.0 / 16.0 and squared > 0.0):
            enough = 0
            if spent > 0:
                return REBUILD, remaining, label
        spent += seen + m // 4
        spent += take_cluster(standardised, first, label, labels, sums, leaves, work)
        second, squared, seen = find_farthest(standardised, standardised[first], leaves, work)
        spent += seen
        spent += take_cluster(standardised, second, label + 1, labels, sums, leaves, work)
        remaining -= 2 * k
        label += 2
    return FEW_LEFT, remaining, label


@njit(cache=True, forceinline=True)
def remaining_to_rebuild(m):  # type: ignore[no-untyped-def]
    """Records below which m leaves are too empty to go on with; few leaves are not worth a new cut."""
    return m * LEAF * 5 // 8 if m > 16 else 0
