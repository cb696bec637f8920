"""On which variables pairs of records agree: exact counts over all pairs of two files, without visiting each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright import Progress

RECORDS_AT_ONCE = 256
TABLE_PER_RECORD = 8
"""Groups are counted in a table while it has at most this many places for each record; else they are numbered."""


def same_cell_subsets(
    queries: NDArray[np.int64], targets: NDArray[np.int64], progress: Progress
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """For every non-empty set of variables, how many targets agree with each query on all of them.

    Records are joined by their cells, one variable at a time; a record that has no partner on some variables has none
    on more of them and is dropped. Time is a join for each set, memory O(n).

    `queries`, `targets`: cell of each value, 0, 1, ...; a missing cell, -1, agrees with nothing; shape (q, d) and (t,
    d). Returns the set of variables: bit j for variable j. Every set once; sets that no pair agrees on may be left out;
    the queries with at least one partner; their numbers of partners.
    """
    d = queries.shape[1]
    sizes = [int(max(queries[:, j].max(initial=0), targets[:, j].max(initial=0))) + 1 for j in range(d)]

    def descend(
        first: int, pattern: int, groups: tuple[_Grouped, _Grouped], size: int
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        for j in range(first, d):
            left, right = (
                _split(one, cells[:, j], sizes[j]) for one, cells in zip(groups, (queries, targets), strict=True)
            )
            joined, places = _numbered(left[1], right[1], size * sizes[j])
            in_left, in_right = (np.bincount(keys, minlength=places) for keys in joined)
            kept = in_right[joined[0]] > 0, in_left[joined[1]] > 0
            narrowed = (left[0][kept[0]], joined[0][kept[0]]), (right[0][kept[1]], joined[1][kept[1]])
            if len(narrowed[0][0]):
                yield pattern | 1 << j, narrowed[0][0], in_right[narrowed[0][1]]
                yield from descend(j + 1, pattern | 1 << j, narrowed, places)
            if pattern == 0:
                progress(1.0 - 2.0 ** -(j + 1))

    everyone = [(np.arange(len(cells)), np.zeros(len(cells), dtype=np.int64)) for cells in (queries, targets)]
    yield from descend(0, 0, (everyone[0], everyone[1]), 1)
    progress(1.0)


_Grouped = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
"""Positions of records, and the group each is in."""


def _split(grouped: _Grouped, cells: NDArray[np.int64], size: int) -> _Grouped:
    """Groups split by the cell of one more variable; records without a value leave."""
    records, groups = grouped
    cell = cells[records]
    present = cell >= 0
    if not present.all():
        records, groups, cell = records[present], groups[present], cell[present]
    return records, groups * size + cell


def _numbered(
    left: NDArray[np.int64], right: NDArray[np.int64], size: int
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], int]:
    """Both files' groups with numbers below the returned one, which is not much larger than the files."""
    if size <= TABLE_PER_RECORD * (len(left) + len(right)) + 64:
        return (left, right), size
    values, numbers = np.unique(np.concatenate([left, right]), return_inverse=True)
    return (numbers[: len(left)], numbers[len(left) :]), len(values)


def same_cell_patterns(queries: NDArray[np.int64], targets: NDArray[np.int64], progress: Progress) -> NDArray[np.int64]:
    """How many of all pairs have each agreement pattern exactly; shape (2**d,), int64, bit j for variable j.

    Pairs that agree at least on a set are counted by joins; inclusion and exclusion (the Moebius inversion over
    supersets) makes the exact patterns of them, in whole numbers.

    `queries`, `targets`: cell of each value, 0, 1, ...; a missing cell, -1, agrees with nothing; shape (q, d) and (t,
    d).
    """
    d = queries.shape[1]
    counts = np.zeros(2**d, dtype=np.int64)
    counts[0] = len(queries) * len(targets)
    for pattern, _, partners in same_cell_subsets(queries, targets, progress):
        counts[pattern] = int(partners.sum())
    for j in range(d):
        by_variable = counts.reshape(-1, 2, 2**j)
        by_variable[:, 0] -= by_variable[:, 1]
    return counts


def best_same_cell(
    queries: NDArray[np.int64], targets: NDArray[np.int64], ranks: NDArray[np.int64], progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Best rank among the patterns of each query's pairs, and how many targets have it; each of shape (q,).

    `queries`, `targets`: cell of each value, 0, 1, ...; a missing cell, -1, agrees with nothing; shape (q, d) and (t,
    d). `ranks`: of each pattern; one more agreement must rank strictly higher. The best pattern that some target agrees
    with at least is then one that it has exactly; shape (2**d,).
    """
    best = np.full(len(queries), ranks[0])
    ties = np.full(len(queries), len(targets), dtype=np.int64)
    for pattern, chosen, partners in same_cell_subsets(queries, targets, progress):
        rank = ranks[pattern]
        better, equal = best[chosen] < rank, best[chosen] == rank
        ties[chosen] = np.where(better, partners, ties[chosen] + np.where(equal, partners, 0))
        best[chosen] = np.maximum(best[chosen], rank)
    return best, ties


def within_patterns(
    queries: NDArray[np.float64], targets: NDArray[np.float64], reach: NDArray[np.float64], progress: Progress
) -> NDArray[np.int64]:
    """How many of all pairs have each agreement pattern, agreeing where values differ by at most `reach`.

    Every pair is visited.

    `queries`, `targets`: NaN where missing, which agrees with nothing; shape (q, d) and (t, d). `reach`: largest
    difference of values that agree; shape (d,). Returns bit j of a place is set where variable j agrees; shape (2**d,).
    """
    from maskwright_builtin.measures.record_linkage.agreement_kernel import count_patterns

    columns = np.ascontiguousarray(targets.T)
    counts = np.zeros(2 ** queries.shape[1], dtype=np.int64)
    chunks = _chunks(len(queries))

    def count(chunk: slice) -> NDArray[np.int64]:
        found = np.zeros_like(counts)
        count_patterns(np.ascontiguousarray(queries[chunk]), columns, reach, found)
        return found

    for done, found in enumerate(in_order(count, chunks), start=1):
        counts += found
        progress(done / len(chunks))
    return counts


def best_within(
    queries: NDArray[np.float64],
    targets: NDArray[np.float64],
    reach: NDArray[np.float64],
    ranks: NDArray[np.int64],
    progress: Progress,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Best rank among the patterns of each query's pairs, and how many targets have it; as `best_same_cell`.

    `queries`, `targets`: NaN where missing, which agrees with nothing; shape (q, d) and (t, d). `reach`: largest
    difference of values that agree; shape (d,). `ranks`: rank of each pattern, not negative; the best is the largest;
    shape (2**d,).
    """
    from maskwright_builtin.measures.record_linkage.agreement_kernel import best_patterns

    columns = np.ascontiguousarray(targets.T)
    best, ties = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.int64)
    chunks = _chunks(len(queries))

    def find(chunk: slice) -> None:
        best_patterns(np.ascontiguousarray(queries[chunk]), columns, reach, ranks, best[chunk], ties[chunk])

    for done, _ in enumerate(in_order(find, chunks), start=1):
        progress(done / len(chunks))
    return best, ties


def _chunks(n: int) -> list[slice]:
    return [slice(begin, begin + RECORDS_AT_ONCE) for begin in range(0, n, RECORDS_AT_ONCE)]
