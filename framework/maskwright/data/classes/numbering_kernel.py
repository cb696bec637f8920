"""Compiled: equal rows of words are numbered as they first occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPREAD = np.int64(-7046029254386353131)
"""The odd number nearest to 2**64 divided by the golden ratio: multiplying spreads words over the high bits."""


@kernel_cache
@njit(nogil=True, error_model="numpy")
def number_rows(
    words: NDArray[np.int64],
    table: NDArray[np.int32],
    dense: bool,
    of_row: NDArray[np.int64],
    first: NDArray[np.int64],
) -> int:
    """Number the different rows as they first occur; how many there are.

    `words`: shape (n, w). `table`: zeros, a power of two of them, at least twice as many as rows. `dense`: whether the
    only word of a row is its place in the table. `of_row`, `first`: written: the number of each row, and the first row
    of each number; shape (n,).
    """
    count = 0
    last = table.shape[0] - 1
    width = words.shape[1]
    for row in range(words.shape[0]):
        if dense:
            slot = words[row, 0]
        else:
            mixed = np.int64(0)
            for word in range(width):
                mixed = (mixed ^ words[row, word]) * SPREAD
                mixed ^= (mixed >> np.int64(32)) & np.int64(0xFFFFFFFF)
            slot = mixed & last
            while table[slot] != 0:
                other = first[table[slot] - 1]
                same = True
                for word in range(width):
                    same &= words[row, word] == words[other, word]
                if same:
                    break
                slot = (slot + 1) & last
        if table[slot] == 0:
            first[count] = row
            count += 1
            table[slot] = count
        of_row[row] = table[slot] - 1
    return count
