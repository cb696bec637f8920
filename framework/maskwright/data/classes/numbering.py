"""Rows of whole numbers, packed into as few words as hold them, and numbered."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

WORD = 63
"""Bits used of a word that holds several columns: it stays positive, so that words are in the order of the rows."""

WIDE = 24
"""Bits from which the ranks of few different numbers are worth a pass of their own."""
LOOKED_AT = 4096
FEW = 20_000
"""Rows that are sorted in less time than it takes to import the compiler."""


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows in whose words each column has bits of its own, the first one the highest.

    `words`: c order; shape (n, w). `bits`: of all columns together.
    """

    words: Integers
    bits: int

    @classmethod
    def of(cls, columns: Sequence[Integers]) -> PackedRows:
        """Pack columns of one length; of each, only the bits that differ."""
        packed: list[Integers] = []
        bits = used = first_width = 0
        for column in columns:
            own, width = _narrowed(column)
            if width > WIDE and len(columns) > 1 and _has_few(column):
                own, width = _narrowed(_ranks(column))
            bits += width
            if packed and used + width <= WORD:
                if used == first_width:
                    packed[-1] = packed[-1] << width
                else:
                    packed[-1] <<= width
                packed[-1] |= own
                used += width
            elif width:
                packed.append(own)
                used = first_width = width
        n = len(columns[0]) if columns else 0
        words = np.stack(packed, axis=1) if len(packed) > 1 else (packed[0] if packed else np.zeros(n, dtype=np.int64))
        return cls(np.ascontiguousarray(words.reshape(n, max(len(packed), 1))), bits)

    def numbered(self) -> tuple[Integers, Integers]:
        """Numbers 0..c-1 as different rows first occur, shape (n,), and the first row of each; shape (c,)."""
        n = len(self.words)
        if n <= FEW and "numba" not in sys.modules:
            return self._numbered_by_sorting()
        from maskwright.data.classes.numbering_kernel import number_rows  # Numba, heavy: few rows do without

        of_row, first = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        slots = 1 << max(2 * n - 1, 1).bit_length()
        # Where every combination has a slot of its own, its number is the slot.
        dense = self.bits < slots.bit_length()
        table = np.zeros(1 << self.bits if dense else slots, dtype=np.int32)
        count = number_rows(self.words, table, dense, of_row, first)
        return of_row, first[:count].copy()

    def _numbered_by_sorting(self) -> tuple[Integers, Integers]:
        order = self.order()
        ordered = self.words[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        firsts = order[new]
        number = np.empty(len(firsts), dtype=np.int64)
        number[np.argsort(firsts)] = np.arange(len(firsts))
        of_row = np.empty(len(order), dtype=np.int64)
        of_row[order] = number[np.cumsum(new) - 1]
        return of_row, np.sort(firsts)

    def order(self) -> Integers:
        """The rows in lexicographic order of the columns; shape (n,)."""
        order = np.argsort(self.words[:, 0], kind="stable")
        if self.words.shape[1] == 1:
            return order
        leading = self.words[order, 0]
        # Sorting by one word alone is many times as fast, and hashes are next to never alike in one.
        if (leading[1:] != leading[:-1]).all():
            return order
        return np.lexsort(self.words.T[::-1])


def _narrowed(column: Integers) -> tuple[Integers, int]:
    """A column without the bits in which all its numbers are alike, in the same order; and how many are left."""
    if not len(column):
        return column, 0
    least = column.min()
    above = (column - least if least else column).view(np.uint64)
    differing = int(np.bitwise_or.reduce(above))
    lowest = (differing & -differing).bit_length() - 1 if differing else 0
    width = differing.bit_length() - lowest
    # The whole column where it fills a word: less its minimum, it could be above the largest int64.
    return (column if width > WORD else (above >> np.uint64(lowest) if lowest else above).view(np.int64)), width


def _has_few(column: Integers) -> bool:
    """Whether a column seems to hold few different numbers, as far apart as numbers and missing cells are."""
    some = column[:LOOKED_AT]
    return len(column) > len(some) and 2 * len(np.unique(some)) <= len(some)


def _ranks(column: Integers) -> Integers:
    """Ranks of numbers among the different ones."""
    of_row, first = PackedRows(np.ascontiguousarray(column.reshape(-1, 1)), 64).numbered()
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(column[first])] = np.arange(len(first))
    return rank[of_row]
