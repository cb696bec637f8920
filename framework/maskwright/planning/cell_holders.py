"""Which records have which cells: by pattern, after one sort, and by cell, a bit for each record.

There may be hundreds of patterns of missing cells. Records of a pattern are a run of the sorted ones, and records that
have the cells of a pattern, whatever else they have, are found in the bits, 64 at a time: neither passes over all
records again for each pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SET_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int64)
"""Of each byte."""


class Pool:
    """Records among which others with the same cells are looked for.

    `records`: shape (m,). `missing`: of all records of the file; shape (n, p).
    """

    def __init__(self, records: NDArray[np.int64], missing: NDArray[np.bool_]) -> None:
        self.records, self._missing = records, missing

    @cached_property
    def patterns(self) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """Patterns of missing cells, (p,), in order of their bits, and where in the pool their records are."""
        packed = np.packbits(self._missing[self.records], axis=1)
        words = _in_words(packed).view(">u8").astype(np.uint64)
        order = np.lexsort(words.T[::-1])
        ordered = words[order]
        starts = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
        runs = np.split(order, starts) if len(order) else []
        return [(self._missing[self.records[run[0]]], run) for run in runs]

    @cached_property
    def _bits(self) -> NDArray[np.uint64]:
        """Whether each record has each cell; shape (p, words)."""
        return _in_words(np.packbits(~self._missing[self.records].T, axis=1)).view(np.uint64)

    def holders(self, columns: NDArray[np.int64], excepted: NDArray[np.int64], most: int | None) -> OtherHolders | None:
        """Records that have these cells, and maybe others; None where there is none.

        `columns`: positions of the cells, q >= 1; shape (q,). `excepted`: places in the pool of records to be left out.
        `most`: so many of them, from all over the pool; None: all.
        """
        having = _Having(self, columns, excepted)
        found = int(_SET_BITS[having.bits()].sum())
        return OtherHolders(having, found, found if most is None else min(found, most)) if found else None

    def bits_of(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Whether records have all of these cells, eight to a byte."""
        words: NDArray[np.uint64] = np.bitwise_and.reduce(self._bits[columns], axis=0)
        return words.view(np.uint8)


@dataclass(frozen=True, eq=False)
class _Having:
    """Records of a pool that have some cells, but for those excepted."""

    pool: Pool
    columns: NDArray[np.int64]
    excepted: NDArray[np.int64]

    def bits(self) -> NDArray[np.uint8]:
        bits = self.pool.bits_of(self.columns)
        np.bitwise_and.at(bits, self.excepted >> 3, ~(np.uint8(128) >> (self.excepted & 7).astype(np.uint8)))
        return bits


@dataclass(frozen=True, eq=False)
class OtherHolders:
    """Records that have the cells of a pattern, as many as are to be seen with its own.

    `found`: how many records of the pool there are. `count`: how many of them are taken, at most `found`.
    """

    having: _Having
    found: int
    count: int

    @property
    def pool(self) -> Pool:
        """Where they are from."""
        return self.having.pool

    def records(self) -> NDArray[np.int64]:
        """Their positions in the file, in the order of the pool; found anew each time."""
        bits = self.having.bits()
        if self.count == self.found:
            places = np.flatnonzero(np.unpackbits(bits))
        else:
            places = _ranked(bits, np.linspace(0, self.found - 1, self.count).astype(np.int64))
        return self.pool.records[places]


def _ranked(bits: NDArray[np.uint8], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the set bits of these ranks, from 0."""
    until = np.cumsum(_SET_BITS[bits])
    byte = np.searchsorted(until, ranks, side="right")
    inside = ranks - (until[byte] - _SET_BITS[bits[byte]])
    reached = np.cumsum(np.unpackbits(bits[byte][:, None], axis=1), axis=1) > inside[:, None]
    return np.asarray(8 * byte + reached.argmax(axis=1))


def _in_words(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows of bytes, filled up to whole words of eight."""
    rows, width = packed.shape
    result = np.zeros((rows, -(-width // 8) * 8), dtype=np.uint8)
    result[:, :width] = packed
    return result
