"""Compiled: where rows of packed keys stand in a hash table, and whether two are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Integers

    Numbers = Integers

SPREAD = np.int64(-7046029254386353131)
"""The odd number nearest to 2**64 divided by the golden ratio: multiplying spreads keys over the high bits."""


@inlined
def first_slot(words: Numbers, row: int, common: Numbers, last: int) -> int:
    """Where to look first for a row, by the bits in `common`; `last` is a power of two less one."""
    mixed = np.int64(0)
    for word in range(words.shape[1]):
        mixed = (mixed ^ (words[row, word] & common[word])) * SPREAD
        mixed ^= (mixed >> np.int64(32)) & np.int64(0xFFFFFFFF)
    return int(mixed & last)


@inlined
def are_equal(words: Numbers, row: int, other: int, common: Numbers) -> bool:
    """Whether two rows are equal by the bits in `common`."""
    same = True
    for word in range(words.shape[1]):
        same &= (words[row, word] ^ words[other, word]) & common[word] == 0
    return same
