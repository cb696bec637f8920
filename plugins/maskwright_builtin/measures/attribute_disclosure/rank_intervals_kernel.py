"""Which originals lie in intervals of ranks around their masked values, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def disclosed_by_rank(original: Floats, masked: Floats, below: Integers, above: Integers) -> Integers:
    """Count the intervals that hold the original value.

    `original`: NaN is in no interval; shape (n,). `masked`: Ascending. The rank of equal values is that of the last of
    them; shape (n,). `below`, `above`: ranks to each side, ascending: each interval lies in the next; shape (w,).
    Returns 0 to w; shape (n,).
    """
    n, widths = masked.shape[0], below.shape[0]
    counts = np.empty(n, dtype=np.int64)
    last = -1
    for place in range(n):
        if place > last:
            last = place
            while last + 1 < n and masked[last + 1] == masked[place]:
                last += 1
        narrowest = 0
        while narrowest < widths:
            low, high = max(last - below[narrowest], 0), min(last + above[narrowest], n - 1)
            if masked[low] <= original[place] <= masked[high]:
                break
            narrowest += 1
        counts[place] = widths - narrowest
    return counts
