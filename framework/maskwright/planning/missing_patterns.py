"""Missing patterns: which records have which cells, and methods applied to each pattern apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError
from maskwright.plugins.parameter_markers import PromisesK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.foundation.arrays import Booleans, Integers
    from maskwright.plugins.method import Masked, Method


_SET_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int64)
"""Of each byte."""


class Pool:
    """Records among which others with the same cells are searched.

    `records`: shape (m,). `missing`: of all records of the file; shape (n, p).
    """

    def __init__(self, records: Integers, missing: Booleans) -> None:
        self.records, self._missing = records, missing

    @cached_property
    def patterns(self) -> list[tuple[Booleans, Integers]]:
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

    def holders(self, columns: Integers, excepted: Integers, most: int | None) -> OtherHolders | None:
        """Records that have these cells, and maybe others; None where there is none.

        `columns`: positions of the cells, q >= 1; shape (q,).
        """
        found = int(_SET_BITS[self.bits_of(columns, excepted)].sum())
        if not found:
            return None
        return OtherHolders(self, columns, excepted, found, found if most is None else min(found, most))

    def bits_of(self, columns: Integers, excepted: Integers) -> NDArray[np.uint8]:
        """Whether records, but for those excepted, have all of these cells, eight to a byte."""
        words: NDArray[np.uint64] = np.bitwise_and.reduce(self._bits[columns], axis=0)
        bits = words.view(np.uint8)
        np.bitwise_and.at(bits, excepted >> 3, ~(np.uint8(128) >> (excepted & 7).astype(np.uint8)))
        return bits


@dataclass(frozen=True, eq=False)
class OtherHolders:
    """Records of a pool that have the cells of a pattern, as many as are to be seen with its own.

    `columns`: positions of these cells; shape (q,). `excepted`: places of the pattern's own records. `found`: how many
    others the pool has. `count`: how many of them are taken, at most `found`.
    """

    pool: Pool
    columns: Integers
    excepted: Integers
    found: int
    count: int

    def records(self) -> Integers:
        """Their positions in the file, in the order of the pool; found anew each time."""
        bits = self.pool.bits_of(self.columns, self.excepted)
        if self.count == self.found:
            places = np.flatnonzero(np.unpackbits(bits))
        else:
            places = _ranked(bits, np.linspace(0, self.found - 1, self.count).astype(np.int64))
        return self.pool.records[places]


def _ranked(bits: NDArray[np.uint8], ranks: Integers) -> Integers:
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


LEAST = 10
"""Records of one pattern that are masked on their own: fewer would show little but their own spread."""

ENOUGH = 1_000
"""Records of other patterns that a method sees with a rare one, at most: there may be hundreds of rare ones."""


@dataclass(frozen=True, eq=False)
class MethodCall:
    """Records that are masked in one call of a method.

    `records`: to be masked; shape (m,). `columns`: positions of the variables that it masks; shape (q,). `beside`:
    records that the method sees with these, in their pool; None: none.
    """

    records: Integers
    columns: Integers
    beside: OtherHolders | None = None

    @classmethod
    def whole(cls, records: Integers, p: int) -> MethodCall:
        """These records, and all p variables."""
        return cls(records, np.arange(p))

    @property
    def seen(self) -> Integers:
        """Records that the method sees, the first m of them `records`; found anew each time, as they may be many."""
        return self.records if self.beside is None else np.concatenate([self.records, self.beside.records()])

    @property
    def count(self) -> int:
        """Number of records that the method sees."""
        return len(self.records) + (0 if self.beside is None else self.beside.count)


def splits_by_pattern(method: Method) -> bool:
    """Whether records with missing cells can be kept from a method that takes none, and masked on the cells they have.

    Not where it promises groups of records, or leaves records out: both speak of all records at once.
    """
    grouped = method.parameter(PromisesK) is not None or method.claims.mean_cluster_size is not None
    return not method.claims.handles_missing and not grouped and not method.claims.removes


def without_holes(blocks: Sequence[Integers], missing: Booleans, method: Method, params: BaseModel) -> list[MethodCall]:
    """Cut blocks by their patterns of missing cells; `missing`: shape (n, p)."""
    found: list[MethodCall] = []
    file = Pool(np.arange(len(missing)), missing)
    for records in blocks:
        block = Pool(records, missing)
        for pattern, places in block.patterns:
            if not pattern.all():
                found.append(_method_call(pattern, places, block, file, method, params))
    return found


def each_pattern(blocks: Sequence[Integers], missing: Booleans) -> list[MethodCall]:
    """Cut blocks by their patterns of missing cells, for a method that knows of all records what it needs.

    `missing`: shape (n, p).
    """
    pools = (Pool(records, missing) for records in blocks)
    return [
        MethodCall(pool.records[places], np.flatnonzero(~pattern))
        for pool in pools for pattern, places in pool.patterns if not pattern.all()
    ]  # fmt: skip


def _method_call(
    pattern: Booleans, places: Integers, block: Pool, file: Pool, method: Method, params: BaseModel
) -> MethodCall:
    """Records of one pattern, with as many others as the method needs: of their own block, or else of the file."""
    own, columns = block.records[places], np.flatnonzero(~pattern)
    needed = 1 if method.claims.fewest_records is None else method.claims.fewest_records(params, len(columns))
    least = max(needed, LEAST)
    call = MethodCall(own, columns)
    if len(own) >= least and method.claims.within_strata:
        return call
    most = max(ENOUGH, 4 * least) if method.claims.within_strata else None
    for pool, excepted in ((block, places), (file, own)):
        call = MethodCall(own, columns, pool.holders(columns, excepted, most))
        if call.count >= least:
            return call
    # A file that is too small as a whole is the method's to refuse: it knows the limit of these very data.
    if pattern.any() and call.count < needed:
        raise InputError(
            f"method {method.name!r} takes no missing cells, and masks records with the same cells missing apart: it "
            f"needs {needed} records that have the same {len(columns)} cells, and for "
            f"{plural(len(own), 'record')} there are only {call.count}. Leave out the variables with the most missing "
            "cells, impute them first, or take a method that takes missing cells (`maskwright explain NAME` says so)"
        )
    return call


def widened(masked: Masked, call: MethodCall, p: int) -> Masked:
    """What a method made in one call, for the call's own records only, with the cells it did not see left missing."""
    if len(call.columns) == p and len(masked.values) == len(call.records):
        return masked
    rows = len(call.records)
    values = np.full((rows, p), np.nan)
    missing = np.ones((rows, p), dtype=np.bool_)
    values[:, call.columns] = masked.values[:rows]
    missing[:, call.columns] = masked.missing[:rows]
    return replace(masked, values=values, missing=missing, labels=None, representatives=None)
