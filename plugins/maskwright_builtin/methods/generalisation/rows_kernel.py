"""Distinct rows of category codes and their counts as codes become coarser, and diversity of classes; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.class_criteria import DISTINCT, ENTROPY, EQUAL, RECURSIVE
from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32


@compiled
def rolled_up(
    codes: Integers32, counts: Integers, amounts: Floats, maps: Integers32, starts: Integers, most: int
) -> tuple[Integers32, Integers, Floats, Integers32]:
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
def owners_of_classes(of_class: Integers32, owner: Integers, classes: int) -> Integers:
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


@compiled
def criterion_by_class(
    of_class: Integers32, value: Integers32, count: Integers, classes: int, shares: Floats, kind: int, c: float
) -> Floats:
    """One figure for each class: how diverse its values are, or how far they are from those of the file.

    `of_class`: class of each entry; shape (m,). `value`: sensitive value of each entry, 0 .. v - 1; shape (m,).
    `count`: records of each entry; shape (m,). `shares`: of the values in the file; shape (v,). Returns NaN for a class
    without values; shape (classes,).
    """
    v = shares.shape[0]
    starts = np.zeros(classes + 1, dtype=np.int64)
    for i in range(of_class.shape[0]):
        starts[of_class[i] + 1] += 1
    for each in range(classes):
        starts[each + 1] += starts[each]
    place = starts[:-1].copy()
    order = np.empty(of_class.shape[0], dtype=np.int64)
    for i in range(of_class.shape[0]):
        order[place[of_class[i]]] = i
        place[of_class[i]] += 1
    cumulative = np.cumsum(shares)
    sums = np.zeros(v + 1, dtype=np.float64)
    for s in range(v):
        sums[s + 1] = sums[s] + cumulative[s]
    records = np.zeros(v, dtype=np.int64)
    touched = np.empty(v, dtype=np.int64)
    found = np.full(classes, np.nan)
    for each in range(classes):
        many, total = 0, 0
        for position in range(starts[each], starts[each + 1]):
            s = value[order[position]]
            if records[s] == 0:
                touched[many] = s
                many += 1
            records[s] += count[order[position]]
            total += count[order[position]]
        if many == 0:
            continue
        own = np.sort(touched[:many])
        if kind == DISTINCT:
            found[each] = many
        elif kind == ENTROPY:
            entropy = 0.0
            for s in own:
                p = records[s] / total
                entropy -= p * np.log(p)
            found[each] = np.exp(entropy) if many > 1 else 1.0
        elif kind == RECURSIVE:
            sizes = np.sort(records[own])
            rest, largest = 0, 1
            for place_from_end in range(many):
                rest += sizes[place_from_end]
                if sizes[many - 1] < c * rest:
                    largest = many - place_from_end
                    break
            found[each] = largest
        elif kind == EQUAL:
            more = 0.0
            for s in own:
                more += max(records[s] / total - shares[s], 0.0)
            found[each] = more
        elif v > 1:
            found[each] = _area(own, records, int(total), cumulative, sums) / (v - 1)
        else:
            found[each] = 0.0
        for s in own:
            records[s] = 0
    return found


@compiled
def _area(own: Integers, records: Integers, total: int, cumulative: Floats, sums: Floats) -> float:
    """Area between the cumulative shares of a class, which stand still between its values, and those of the file."""
    v = cumulative.shape[0]
    area = sums[own[0]]
    reached = 0
    for place in range(own.shape[0]):
        reached += records[own[place]]
        share = reached / total
        begin = own[place]
        end = own[place + 1] if place + 1 < own.shape[0] else v
        low, high = begin, end
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] < share:
                low = middle + 1
            else:
                high = middle
        area += share * (low - begin) - (sums[low] - sums[begin])
        area += sums[end] - sums[low] - share * (end - low)
    return float(max(area, 0.0))
