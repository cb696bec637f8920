"""Compiled: which rows are alone on a set of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.key_counts.counting_kernel import SPREAD
from maskwright_builtin.numerics.compilation import compiled, inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Integers, Integers32


TILE = 2048
"""Rows at once: their numbers stay in the processor's first cache."""
FREE = np.int64(-1)


@inlined
def _number_tile(codes: Integers32, keys: Integers, levels: Integers, begin: int, end: int, number: Integers) -> None:
    """Numbers of the combinations of codes of the rows `begin` to `end`, in mixed radix."""
    for k in range(end - begin):
        number[k] = codes[keys[0], begin + k]
    for j in range(1, keys.shape[0]):
        for k in range(end - begin):
            number[k] = number[k] * levels[j] + codes[keys[j], begin + k]


@inlined
def _slot(number: int, numbers: Integers) -> int:
    """Where a number stands in a table of numbers, or the free place where it belongs."""
    last = numbers.shape[0] - 1
    mixed = number * SPREAD
    slot: int = (mixed ^ (mixed >> np.int64(32))) & last
    while numbers[slot] not in (FREE, number):
        slot = (slot + 1) & last
    return slot


@compiled
def alone_on(
    codes: Integers32,
    missing: Integers,
    keys: Integers,
    levels: Integers,
    mask: int,
    several: int,
    slots: int,
    known: Booleans,
    found: Booleans,
) -> int:
    """Mark the rows of one record that no other row equals on some keys.

    `codes`: of d different rows; those that several records have come first. 0 where missing; shape (q, d). `missing`:
    one bit for each key; shape (d,). `keys`, `levels`: keys of the set, and how many codes each has; shape (s,).
    `known`: rows that are alone on fewer of these keys already: nothing equals them, and they are not marked again;
    shape (d - several,). `found`: False; written; shape (d - several,).
    """
    rows = codes.shape[1]
    numbers = np.full(max(-slots, 1), FREE)
    counts = np.zeros(abs(slots), np.uint8)
    number = np.empty(TILE, np.int64)
    for begin in range(0, rows, TILE):
        end = min(begin + TILE, rows)
        _number_tile(codes, keys, levels, begin, end, number)
        for k in range(end - begin):
            row = begin + k
            if missing[row] & mask != 0 or (row >= several and known[row - several]):
                continue
            slot = number[k]
            if slots < 0:
                slot = _slot(number[k], numbers)
                numbers[slot] = number[k]
            counts[slot] = 2 if row < several or counts[slot] != 0 else 1
    total = 0
    for begin in range(several, rows, TILE):
        end = min(begin + TILE, rows)
        _number_tile(codes, keys, levels, begin, end, number)
        for k in range(end - begin):
            row = begin + k
            if missing[row] & mask != 0 or known[row - several]:
                continue
            slot = _slot(number[k], numbers) if slots < 0 else number[k]
            if counts[slot] == 1:
                found[row - several] = True
                total += 1
    return total
