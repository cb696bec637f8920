"""Distinct rows of category codes with their counts, joined as codes become coarser; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def rolled_up(
    codes: NDArray[np.int32], counts: Integers, amounts: Floats, maps: NDArray[np.int32], starts: Integers, most: int
) -> tuple[NDArray[np.int32], Integers, Floats, NDArray[np.int32]]:
    """Join rows that are equal once each code is replaced by a coarser one.

    `codes`: shape (r, q). `counts`: shape (r,). `amounts`: what else is summed: weights, people; shape (r, m).
    `starts`: where in `maps` that of each key begins; shape (q,). Returns distinct rows, in the order in which they are
    met; place of each row among them; shape (c, q).
    """
    r, q = codes.shape
    size = 16
    while size < 2 * r:
        size *= 2
    mask = size - 1
    table = np.full(size, -1, dtype=np.int32)
    joined = np.empty((r, q), dtype=np.int32)
    sums = np.zeros(r, dtype=np.int64)
    totals = np.zeros((r, amounts.shape[1]), dtype=np.float64)
    last = 0
    of_row = np.empty(r, dtype=np.int32)
    found = 0
    for i in range(r):
        mixed = np.uint64(1469598103934665603)
        for j in range(q):
            code = maps[starts[j] + codes[i, j]]
            joined[found, j] = code
            mixed = (mixed ^ np.uint64(code)) * np.uint64(11400714819323198485)
            mixed ^= mixed >> np.uint64(29)
        same = found > 0
        for j in range(q):
            if not same:
                break
            same = joined[last, j] == joined[found, j]
        if same:
            # Rows come in an order in which many are followed by one that is joined with them.
            sums[last] += counts[i]
            for j in range(amounts.shape[1]):
                totals[last, j] += amounts[i, j]
            of_row[i] = last
            continue
        slot = np.int64(mixed >> np.uint64(20)) & mask
        while True:
            place = table[slot]
            if place < 0:
                table[slot] = found
                place = found
                found += 1
                if found > most:
                    return joined[:found], sums[:found], totals[:found], of_row
                break
            same = True
            for j in range(q):
                if joined[place, j] != joined[found, j]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & mask
        sums[place] += counts[i]
        for j in range(amounts.shape[1]):
            totals[place, j] += amounts[i, j]
        of_row[i] = place
        last = place
    return joined[:found].copy(), sums[:found].copy(), totals[:found].copy(), of_row


@compiled
def owners_of_classes(of_class: NDArray[np.int32], owner: Integers, classes: int) -> Integers:
    """Count the different owners (households) of the entries of each class.

    `of_class`: class of each entry; shape (m,). `owner`: owner of each entry, not falling; shape (m,). Returns shape
    (classes,).
    """
    counts = np.zeros(classes, dtype=np.int64)
    last = np.full(classes, -1, dtype=np.int64)
    for i in range(of_class.shape[0]):
        if last[of_class[i]] != owner[i]:
            last[of_class[i]] = owner[i]
            counts[of_class[i]] += 1
    return counts
