"""Squared distances and median cuts of k-d trees, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Floats, Integers


@inlined
def squared_distance(points: Floats, record: int, point: Floats) -> float:
    """Squared distance of a record from a point, summed in column order, without fused multiply-add.

    `points`: shape (n, p). `point`: shape (p,).
    """
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[record, j] - point[j]
        total += difference * difference
    return total


Row = Any
"""A row of numbers, in binary32 or binary64."""


@compiled
def widest_column(
    values: NDArray[np.floating[Any]], order: Integers, low: int, high: int, weight: NDArray[np.floating[Any]]
) -> int:
    """Column with the largest weighted range among the records of ``order[low:high]``; the first of several.

    `values`: without NaN; shape (n, p). `order`: shape (n,). `weight`: makes the columns comparable; shape (p,).
    """
    smallest: Row = values[order[low]].copy()
    largest: Row = smallest.copy()
    for at in range(low + 1, high):
        record = order[at]
        for j in range(values.shape[1]):
            value = values[record, j]
            smallest[j] = min(value, smallest[j])
            largest[j] = max(value, largest[j])
    best = 0
    for j in range(1, values.shape[1]):
        if (largest[j] - smallest[j]) * weight[j] > (largest[best] - smallest[best]) * weight[best]:
            best = j
    return best


@compiled
def select(keys: NDArray[np.floating[Any]], order: Integers, low: int, high: int, place: int) -> None:
    """Rearrange ``[low, high)`` so that what comes before `place` is no larger than what comes from it on.

    `keys`: without NaN; written; shape (n,). `order`: the record of each key, no two the same: the lower one of equal
    keys comes first. Written; shape (n,).
    """
    high -= 1
    while low < high:
        middle = (low + high) // 2
        # The median of three keeps columns in order, which microdata are full of, from taking quadratic time.
        _put_in_turn(keys, order, low, middle)
        _put_in_turn(keys, order, low, high)
        _put_in_turn(keys, order, middle, high)
        key, record = keys[middle], order[middle]
        i, j = low, high
        while i <= j:
            while _comes_first(keys[i], order[i], key, record):
                i += 1
            while _comes_first(key, record, keys[j], order[j]):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            return


@inlined
def _comes_first(key: float, record: int, other_key: float, other: int) -> bool:
    return key < other_key or (key == other_key and record < other)


@inlined
def _put_in_turn(keys: NDArray[np.floating[Any]], order: Integers, one: int, other: int) -> None:
    if _comes_first(keys[other], order[other], keys[one], order[one]):
        keys[one], keys[other] = keys[other], keys[one]
        order[one], order[other] = order[other], order[one]
