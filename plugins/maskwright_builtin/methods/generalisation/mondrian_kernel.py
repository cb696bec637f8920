"""Strict Mondrian: classes of at least k records by cuts at medians; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@compiled
def mondrian_classes(codes: Integers, values: Floats, starts: Integers, ranges: Floats, k: int) -> Integers:
    """Cut the records again and again until no side of a cut would have k of them.

    `codes`: rank of each value among the different ones of its key; shape (n, q). `starts`: where in `values` those of
    each key begin; shape (q + 1,). `ranges`: range of each key in the file; 0 for a constant; shape (q,). Returns class
    of each record, 0, 1, ; shape (n,).
    """
    n, q = codes.shape
    records = np.arange(n)
    held = np.empty(n, dtype=np.int64)
    of_record = np.zeros(n, dtype=np.int64)
    counts = np.zeros(np.max(starts[1:] - starts[:-1]), dtype=np.int64)
    stack = [(0, n)]
    classes = 0
    while len(stack) > 0:
        begin, end = stack.pop()
        size = end - begin
        cut = -1
        if size >= 2 * k:
            width = np.empty(q)
            for j in range(q):
                low, high = codes[records[begin], j], codes[records[begin], j]
                for i in range(begin, end):
                    code = codes[records[i], j]
                    low, high = min(low, code), max(high, code)
                spread = values[starts[j] + high] - values[starts[j] + low]
                width[j] = spread / ranges[j] if ranges[j] > 0 else 0.0
            for j in np.argsort(-width, kind="mergesort"):
                if width[j] <= 0:
                    break
                median, left = _lower_median(codes[:, j], records, begin, end, counts)
                if left >= k and size - left >= k:
                    cut = begin + left
                    first, second = begin, cut
                    for i in range(begin, end):
                        record = records[i]
                        if codes[record, j] <= median:
                            held[first] = record
                            first += 1
                        else:
                            held[second] = record
                            second += 1
                    records[begin:end] = held[begin:end]
                    break
        if cut < 0:
            for i in range(begin, end):
                of_record[records[i]] = classes
            classes += 1
        else:
            stack.append((cut, end))
            stack.append((begin, cut))
    return of_record


@compiled
def _lower_median(codes: Integers, records: Integers, begin: int, end: int, counts: Integers) -> tuple[int, int]:
    """Lower median of one key in a class, and how many records are not above it; `counts` is zero before and after."""
    size = end - begin
    low, high = codes[records[begin]], codes[records[begin]]
    for i in range(begin, end):
        code = codes[records[i]]
        low, high = min(low, code), max(high, code)
    if high - low > 4 * size:
        own = np.sort(codes[records[begin:end]])
        median = own[(size - 1) // 2]
        return median, np.searchsorted(own, median, side="right")
    for i in range(begin, end):
        counts[codes[records[i]]] += 1
    median, below = low, counts[low]
    while below < (size + 1) // 2:
        median += 1
        below += counts[median]
    counts[low : high + 1] = 0
    return int(median), int(below)
