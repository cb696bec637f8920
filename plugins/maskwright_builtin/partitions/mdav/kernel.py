"""The loop of exact MDAV over the remaining records, compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import NONE, compiled
from maskwright_builtin.partitions.mdav.ahead_kernel import Lists, farthest_listed, first_remaining
from maskwright_builtin.partitions.mdav.leaves import LEAF, Leaves
from maskwright_builtin.partitions.mdav.search import BOUNDS, Workspace, find_farthest, find_nearest

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

SLICE_ENDED, REBUILD, FEW_LEFT, NOT_LISTED = 0, 1, 2, 3

FEW_LEAVES = 4
"""So few leaves are not worth a new cut."""


@compiled
def add_to_sums(sums: Floats, record: Floats, sign: float) -> None:
    """Add a record to, or take it from, the column sums, which are unevaluated pairs of binary64 numbers.

    Knuth's exact sum of two numbers, then a renormalisation: the centroid keeps full precision however many records
    are taken away.

    `sums`: high and low part of each sum; changed; shape (2, p). `record`: shape (p,). `sign`: 1 to add, -1 to take
    away.

    Knuth (1997), The Art of Computer Programming 2, 3rd ed., section 4.2.2.
    """
    for j in range(record.shape[0]):
        value = sign * record[j]
        high = sums[0, j]
        total = high + value
        back = total - high
        lost = (high - (total - back)) + (value - back)
        low = sums[1, j] + lost
        sums[0, j] = total + low
        sums[1, j] = low - (sums[0, j] - total)


@compiled
def sum_columns(standardised: Floats) -> Floats:
    """Column sums as unevaluated pairs, shape (2, p)."""
    sums = np.zeros((2, standardised.shape[1]))
    for row in range(standardised.shape[0]):
        add_to_sums(sums, standardised[row], 1.0)
    return sums


@compiled
def remove(standardised: Floats, row: int, label: int, labels: Integers, sums: Floats, leaves: Leaves) -> None:
    """Give a remaining record its label and take it out of the leaves and the sums.

    `standardised`: shape (n, p). `labels`: written; shape (n,). `sums`: of the remaining records; changed; shape (2,
    p).
    """
    labels[row] = label
    leaf, slot = leaves.slots[row] // LEAF, leaves.slots[row] % LEAF
    leaves.rows[leaf, slot] = -1
    leaves.counts[leaf] -= 1
    leaves.values[leaf, 0, slot] = np.nan
    leaves.squares[leaf, slot] = np.nan
    add_to_sums(sums, standardised[row], -1.0)


@compiled
def take_cluster(
    standardised: Floats,
    row: int,
    label: int,
    labels: Integers,
    sums: Floats,
    leaves: Leaves,
    lists: Lists,
    work: Workspace,
) -> int:
    """Make the cluster of a record and its nearest ones; return the work, in leaves looked at.

    `standardised`: shape (n, p). `labels`: written; shape (n,). `sums`: of the remaining records; changed; shape (2,
    p).
    """
    remove(standardised, row, label, labels, sums, leaves)
    wanted = work.heap.shape[0]
    place = lists.places[row]
    if place >= 0:
        listed = lists.nearest[place]
        found = 0
        for i in range(listed.shape[0]):
            if found < wanted and listed[i] >= 0 and labels[listed[i]] < 0:
                work.heap_rows[found] = listed[i]
                found += 1
        if found == wanted:
            for i in range(wanted):
                remove(standardised, work.heap_rows[i], label, labels, sums, leaves)
            return 0
    seen = find_nearest(standardised, row, leaves, work)
    for i in range(wanted):
        remove(standardised, work.heap_rows[i], label, labels, sums, leaves)
    spent: int = seen + leaves.counts.shape[0] // BOUNDS
    return spent


@compiled
def make_clusters(
    standardised: Floats,
    labels: Integers,
    sums: Floats,
    leaves: Leaves,
    lists: Lists,
    work: Workspace,
    remaining: int,
    label: int,
    budget: int,
    ahead: bool,
) -> tuple[int, int, int, int]:
    """Make pairs of clusters until fewer than 3k records remain, or something else is to be done first.

    `standardised`: shape (n, p). `labels`: -1 for remaining records; written; shape (n,). `sums`: column sums of the
    remaining records; written; shape (2, p).
    """
    m, p = leaves.counts.shape[0], standardised.shape[1]
    k = work.heap.shape[0] + 1
    enough = m * LEAF * 5 // 8 if m > FEW_LEAVES else 0
    centroid = np.empty(p)
    spent = 0
    while remaining >= 3 * k:
        if spent >= budget:
            return SLICE_ENDED, remaining, label, spent
        for j in range(p):
            centroid[j] = sums[0, j] / remaining
        first, squared = farthest_listed(standardised, centroid, labels, lists)
        if first < 0:
            first, squared, seen = find_farthest(standardised, centroid, leaves, work)
            spent += seen + m // BOUNDS
        # Leaves are cut anew when they have thinned out, and when the outliers that set their scale are gone.
        outliers_gone = squared > 0.0 and math.sqrt(squared) * leaves.scale < 1.0 / 16.0
        if spent > 0 and (remaining < enough or outliers_gone):
            return REBUILD, remaining, label, spent
        place = lists.places[first]
        if ahead and place < 0:
            return NOT_LISTED, remaining, label, spent
        spent += 1 + take_cluster(standardised, first, label, labels, sums, leaves, lists, work)
        second = first_remaining(lists.farthest[place], labels) if 0 <= place < lists.farthest.shape[0] else NONE
        if second < 0:
            second, squared, seen = find_farthest(standardised, standardised[first], leaves, work)
            spent += seen + m // BOUNDS
        spent += take_cluster(standardised, second, label + 1, labels, sums, leaves, lists, work)
        remaining -= 2 * k
        label += 2
    return FEW_LEFT, remaining, label, spent
