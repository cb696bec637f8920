"""The optimal cut of a sorted column into consecutive clusters, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def best_sizes(values: Floats, k: int) -> Integers:
    """Find the size of the last cluster of the best cut of each beginning of a sorted column.

    `values`: ascending, and so small that sums of n squares are finite; shape (n,). Returns 0 where a beginning is
    shorter than k. Of equally good cuts the one with the smallest last cluster; shape (n + 1,).
    """
    n = values.shape[0]
    costs = np.full(n + 1, np.inf)
    costs[0] = 0.0
    sizes = np.zeros(n + 1, dtype=np.int64)
    for stop in range(k, n + 1):
        # Offsets from the last value: the sum of squares keeps its digits however far the values are from 0.
        origin = values[stop - 1]
        total = squares = 0.0
        best, best_size = np.inf, 0
        for size in range(1, min(2 * k - 1, stop) + 1):
            offset = origin - values[stop - size]
            total += offset
            squares += offset * offset
            if size >= k:
                cost = costs[stop - size] + (squares - total * total / size)
                if cost < best:
                    best, best_size = cost, size
        costs[stop], sizes[stop] = best, best_size
    return sizes


@compiled
def labels_of_cut(sizes: Integers) -> Integers:
    """Cluster of each place of the sorted column, 0, 1, ... ascending; n >= k."""
    n = sizes.shape[0] - 1
    labels = np.empty(n, dtype=np.int64)
    count, stop = 0, n
    while stop > 0:
        count += 1
        stop -= sizes[stop]
    stop = n
    while stop > 0:
        count -= 1
        start = stop - sizes[stop]
        labels[start:stop] = count
        stop = start
    return labels
