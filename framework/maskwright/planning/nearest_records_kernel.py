"""Compiled: the records of each pattern of zeros that are nearest to a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import njit

from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from maskwright.foundation.arrays import Booleans, Floats, Integers


@kernel_cache
@njit(nogil=True, error_model="numpy")
def nearest_of_each(
    points: Floats, first: Integers, free: Booleans, centre: Floats, most: Integers, rows: Integers, distances: Floats
) -> None:
    """Find the rows of each pattern that are nearest to a point, the first of equal ones.

    `points`: the rows of a pattern one after another; shape (n, p). `first`: its first row; shape (c,). `free`: rows
    that count; shape (n,). `most`: rows of each pattern at most; shape (c,). `rows`, `distances`: written, from pattern
    to pattern: -1 and infinity before, the rows and their squared distances after; shape (sum of `most`,).
    """
    start = 0
    for pattern in range(len(most)):
        end = start + most[pattern]
        if end == start:
            continue
        # A heap from start to end: the farthest comes first, of equal ones the last row.
        for row in range(first[pattern], first[pattern + 1]):
            if not free[row]:
                continue
            distance = 0.0
            for column in range(len(centre)):
                distance += (points[row, column] - centre[column]) ** 2
            if distance >= distances[start]:
                continue
            at, child = start, start + 1
            while child < end:
                other = child + 1
                if other < end and (
                    distances[other] > distances[child]
                    or (distances[other] == distances[child] and rows[other] > rows[child])
                ):
                    child = other
                if distances[child] <= distance:
                    break
                distances[at], rows[at] = distances[child], rows[child]
                at, child = child, 2 * child - start + 1
            distances[at], rows[at] = distance, row
        start = end
