"""Diversity of a sensitive variable in classes of records, and how far it is from that of the file; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.class_criteria import DISTINCT, ENTROPY, EQUAL, RECURSIVE
from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def criterion_by_class(
    of_class: NDArray[np.int32],
    value: NDArray[np.int32],
    count: Integers,
    classes: int,
    shares: Floats,
    kind: int,
    c: float,
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
