"""A k-d cut: records halved along the column that varies most, to fewer than 2k; near records get near places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled, inlined
from maskwright_builtin.numerics.spatial import select

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

DEEPEST = 256
"""Ranges that wait at once: each is at most about half of the one before it."""


@inlined
def most_varied_column(values: Floats, order: Integers, low: int, high: int) -> int:
    """Column with the largest variance among the records of ``order[low:high]``; the first of several.

    `values`: shape (n, p). `order`: record numbers; shape (n,).
    """
    best, widest = -1.0, 0
    for column in range(values.shape[1]):
        origin = values[order[low], column]
        total = squares = 0.0
        for at in range(low, high):
            offset = values[order[at], column] - origin
            total += offset
            squares += offset * offset
        variance = squares - total * total / (high - low)
        if variance > best:
            best, widest = variance, column
    return widest


@compiled
def kd_cut(values: Floats, k: int) -> tuple[Integers, Integers]:
    """Cut records into clusters of k to 2k - 1, each range at the multiple of k nearest its middle.

    `values`: finite, and so small that sums of n squares are finite; p >= 1; shape (n, p). Returns records, cluster by
    cluster, near clusters near each other; cluster of each record: 0, 1, ... in that order; shape (n,).
    """
    n = values.shape[0]
    order = np.arange(n)
    keys = np.empty(n)
    labels = np.empty(n, dtype=np.int64)
    lows = np.empty(DEEPEST, dtype=np.int64)
    highs = np.empty(DEEPEST, dtype=np.int64)
    lows[0], highs[0] = 0, n
    waiting, label = 1, 0
    while waiting > 0:
        waiting -= 1
        low, high = lows[waiting], highs[waiting]
        size = high - low
        if size < 2 * k:
            for at in range(low, high):
                labels[order[at]] = label
            label += 1
            continue
        # 2k <= size: the multiple of k leaves at least k on both sides.
        cut = low + min(max((size // 2 + k // 2) // k, 1), size // k - 1) * k
        column = most_varied_column(values, order, low, high)
        for at in range(low, high):
            keys[at] = values[order[at], column]
        select(keys, order, low, high, cut)
        lows[waiting], highs[waiting] = cut, high
        lows[waiting + 1], highs[waiting + 1] = low, cut
        waiting += 2
    return order, labels
