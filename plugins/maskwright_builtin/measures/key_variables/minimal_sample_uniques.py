"""Minimal sample uniques: the smallest sets of keys on which a record is alone, searched level by level."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Classes, processors
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32

    Keys = tuple[int, ...]

MOST_KEYS = 62
"""Their missing cells are bits of one number."""
LARGEST_TABLE = 1 << 24
"""Combinations, and bytes, of a table with a place for each; more of them are looked up by their number."""
LARGEST_NUMBER = 1 << 62


@dataclass(frozen=True, eq=False)
class DifferentRows:
    """The different rows of some keys, those that several records have before those of one record.

    `codes`: 0 where missing; shape (q, d). `missing`: one bit for each key; shape (d,). `several`: rows that several
    records have. `unique`: the class of each row that one record has;
    shape (d - several,). `pairs`: rows that two
    records have.
    """

    codes: Integers32
    missing: Integers
    levels: tuple[int, ...]
    several: int
    unique: Integers
    pairs: int


@dataclass(frozen=True, eq=False)
class MinimalSampleUniques:
    """What was found, in the order of ``DifferentRows.unique``; u rows of one record each.

    `sets`: sets of keys that were searched, smaller ones first. `unique`: records that are alone on each set; shape
    (len(sets). `minimal`: records that are alone on it, and on none of its subsets; shape (len(sets). `score`: sum of
    the weights of the record's minimal sets; shape (u,). `by_key`: sum of the weights of those that hold each key;
    shape (q, u).
    """

    sets: tuple[Keys, ...]
    unique: Integers
    minimal: Integers
    score: Floats
    by_key: Floats

    def by_size(self, largest: int) -> list[int]:
        """Minimal sets of 1, 2, ... `largest` keys, over all records."""
        sizes = np.array([len(keys) for keys in self.sets])
        return [int(self.minimal[sizes == size].sum()) for size in range(1, largest + 1)]


def count_sets(keys: int, largest: int) -> int:
    """How many sets of at most `largest` of the keys there are, without the empty one."""
    return sum(math.comb(keys, size) for size in range(1, largest + 1))


def score_weights(keys: int, largest: int) -> list[float]:
    """Weight of a minimal set of 1, 2, ... `largest` keys.

    `keys`, `largest`: q and M, with 1 <= M <= q. Returns the product of q - i for i from k to M; for M = q up to q - 1,
    which is (q - k)!.

    Elliot, Manning, Mayes, Gurd and Bane (2005), SUDA: a program for detecting special uniques, Joint UNECE/Eurostat
    work session on statistical data confidentiality, Geneva.
    """
    last = min(largest, keys - 1)
    return [float(math.prod(keys - i for i in range(size, last + 1))) for size in range(1, largest + 1)]


def different_rows(codes: Sequence[Integers], size: Integers) -> DifferentRows:
    """Rows of classes, those of several records first; a missing cell differs from every value.

    `codes`: codes 0, 1, ... of each key, -1 where missing; at most `MOST_KEYS`; shape (c,). `size`: records of each
    class; shape (c,).
    """
    order = np.argsort(size == 1, kind="stable")
    several = int((size > 1).sum())
    rows = np.empty((len(codes), len(order)), dtype=np.int32)
    missing = np.zeros(len(order), dtype=np.int64)
    for j, code in enumerate(codes):
        own = code[order]
        missing |= (own < 0).astype(np.int64) << j
        rows[j] = np.maximum(own, 0)
    levels = tuple(int(row.max()) + 1 for row in rows)
    return DifferentRows(rows, missing, levels, several, order[several:], int((size == 2).sum()))


def minimal_sample_uniques(rows: DifferentRows, largest: int, progress: Progress) -> MinimalSampleUniques:
    """Search sets of 1, 2, ... `largest` keys.

    A record that is alone on a set is alone on every larger one. So a set is minimal for a record that is alone on it
    and on no set with one key less; and who is alone on such a set equals nobody on the larger one, and is left out.

    The marks of two neighbouring levels are held, one bit for each set and record that is alone on all keys: 62 MB for
    a million of them and eight keys, 860 MB for fourteen. Each processor has a table of up to 16 MB besides.

    Manning, Haglin and Keane (2008), A recursive search algorithm for statistical disclosure assessment, Data Mining
    and Knowledge Discovery 16, 165-196, for SUDA2; the search by levels over tables of counts is ours.
    """
    q, u = len(rows.levels), len(rows.unique)
    weights = score_weights(q, largest)
    score, by_key = np.zeros(u), np.zeros((q, u))
    sets, unique, minimal = [], [], []
    before: dict[Keys, NDArray[np.uint8]] = {(): np.zeros(-(-u // 8), dtype=np.uint8)}
    total = count_sets(q, largest)
    for size in range(1, largest + 1):
        level = list(itertools.combinations(range(q), size))
        marks: dict[Keys, NDArray[np.uint8]] = {}
        chunks = [slice(begin, begin + 1) for begin in range(len(level))]
        searched = in_order(partial(_searched, rows, before, level), chunks, min(processors(), len(chunks)))
        for keys, (alone, records) in zip(level, searched, strict=True):
            marks[keys] = alone
            sets.append(keys)
            unique.append(int(np.unpackbits(alone).sum()))
            minimal.append(len(records))
            score[records] += weights[size - 1]
            for key in keys:
                by_key[key, records] += weights[size - 1]
            progress(len(sets) / total)
        before = marks
    return MinimalSampleUniques(tuple(sets), np.array(unique), np.array(minimal), score, by_key)


def _searched(
    rows: DifferentRows, before: dict[Keys, NDArray[np.uint8]], level: list[Keys], chunk: slice
) -> tuple[NDArray[np.uint8], Integers]:
    """Bits of the rows that are alone on a set of keys, and the rows for which it is minimal."""
    from maskwright_builtin.measures.key_variables.minimal_sample_uniques_kernel import alone_on  # Numba

    (keys,) = level[chunk]
    smaller = (keys[:left] + keys[left + 1 :] for left in range(len(keys)))
    alone = np.bitwise_or.reduce([before[each] for each in smaller])
    u = len(rows.unique)
    known = np.unpackbits(alone, count=u).view(np.bool_)
    if known.all():
        return alone, np.empty(0, dtype=np.int64)
    found = np.zeros(u, dtype=np.bool_)
    mask = sum(1 << key for key in keys)
    codes, positions, levels = _numbered(rows, keys)
    combinations = math.prod(levels)
    slots = combinations if combinations <= LARGEST_TABLE else -(1 << (2 * rows.codes.shape[1]).bit_length())
    given = np.array(positions, dtype=np.int64), np.array(levels, dtype=np.int64)
    alone_on(codes, rows.missing, *given, mask, rows.several, slots, known, found)
    return alone | np.packbits(found), np.flatnonzero(found)


def _numbered(rows: DifferentRows, keys: Keys) -> tuple[Integers32, Sequence[int], Sequence[int]]:
    """Codes, where the keys stand in them, and their levels; keys are joined where a number would be too large."""
    levels = [rows.levels[key] for key in keys]
    if math.prod(levels) < LARGEST_NUMBER:
        return rows.codes, keys, levels
    joined = Classes.of([rows.codes[key] for key in keys]).codes.astype(np.int32)
    return joined[None, :], (0,), [int(joined.max()) + 1]
