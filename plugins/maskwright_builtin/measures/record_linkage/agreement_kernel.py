"""Compiled: agreement patterns pair by pair, where agreement is no equivalence and records cannot be joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32


TILE = 1024
"""Targets at once: their values and patterns stay in the processor's first cache."""


@compiled
def _patterns_of_tile(
    queries: Floats, i: int, columns: Floats, begin: int, end: int, reach: Floats, pattern: Integers32
) -> None:
    """Patterns of query i with the targets `begin` to `end`."""
    for k in range(end - begin):
        pattern[k] = 0
    for j in range(queries.shape[1]):
        value, within, bit = queries[i, j], reach[j], np.int32(1 << j)
        for k in range(end - begin):
            # A comparison with NaN is false: a missing cell agrees with nothing.
            pattern[k] += bit if abs(value - columns[j, begin + k]) <= within else np.int32(0)


@compiled
def count_patterns(queries: Floats, columns: Floats, reach: Floats, counts: Integers) -> None:
    """Add the pairs of each pattern to `counts`, shape (2**d,); `columns` are the targets, shape (d, t).

    `queries`: shape (q, d). `columns`: the targets, C order; shape (d, t). `reach`: shape (d,). `counts`: added to;
    shape (2**d,).
    """
    pattern = np.empty(TILE, np.int32)
    for begin in range(0, columns.shape[1], TILE):
        end = min(begin + TILE, columns.shape[1])
        for i in range(queries.shape[0]):
            _patterns_of_tile(queries, i, columns, begin, end, reach, pattern)
            for k in range(end - begin):
                counts[pattern[k]] += 1


@compiled
def best_patterns(
    queries: Floats, columns: Floats, reach: Floats, ranks: Integers, best: Integers, ties: Integers
) -> None:
    """Fill in the best rank among each query's patterns, and how many targets have it.

    `queries`: shape (q, d). `columns`: the targets, C order; shape (d, t). `reach`: shape (d,). `ranks`: rank of each
    pattern, not negative; shape (2**d,). `best`, `ties`: written; shape (q,).
    """
    pattern = np.empty(TILE, np.int32)
    for i in range(queries.shape[0]):
        best[i], ties[i] = -1, 0
    for begin in range(0, columns.shape[1], TILE):
        end = min(begin + TILE, columns.shape[1])
        for i in range(queries.shape[0]):
            _patterns_of_tile(queries, i, columns, begin, end, reach, pattern)
            for k in range(end - begin):
                rank = ranks[pattern[k]]
                if rank > best[i]:
                    best[i], ties[i] = rank, 1
                elif rank == best[i]:
                    ties[i] += 1
