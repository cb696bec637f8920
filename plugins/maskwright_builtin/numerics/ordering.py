"""Ordering and numbering: stable order of numbers, matching by rank, dense codes of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.numerics.arrays import Floats, Integers


WORTH_COMPILING = 50_000
"""Shorter columns are sorted before the compiled pass would be loaded."""
MOVES_PER_VALUE = 4
"""More places than this, on average, are only moved where most values differ in their last digits alone."""


def stable_order(values: Floats) -> Integers:
    """Places of the values in ascending order, equal ones in the order of their places.

    `values`: NaNs come last; shape (n,). Returns shape (n,).

    A number and its place are packed in one integer, which the processor sorts in vectors: the bits of binary64 order
    numbers like integers, and the last of them give way to the place. One compiled pass then settles values that
    differ in those bits only.
    """
    n = len(values)
    if n < WORTH_COMPILING:
        return np.argsort(values, kind="stable")
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.numerics.ordering_kernel import packed_with_places, settle

    places = (1 << (n - 1).bit_length()) - 1
    packed = packed_with_places(values, places)
    packed.sort()
    packed &= places
    if settle(values, packed, MOVES_PER_VALUE * n):
        return packed
    return np.argsort(values, kind="stable")


LARGEST_CODE = 2**40
"""Codes of combinations are numbered anew before they grow beyond."""


def numbered(values: Floats | Integers) -> Integers:
    """Number of each value among those that occur, in ascending order; missing ones (NaN) are the last value.

    `values`: shape (n,). Returns shape (n,).
    """
    codes = _whole(values)
    if codes is not None and len(codes):
        low, high = int(codes.min()), int(codes.max())
        if high - low <= 4 * len(codes):
            occurs = np.bincount(codes - low) > 0
            return np.asarray((np.cumsum(occurs) - 1)[codes - low], dtype=np.int64)
    return np.asarray(np.unique(np.nan_to_num(values, nan=np.inf), return_inverse=True)[1], dtype=np.int64)


def _whole(values: Floats | Integers) -> Integers | None:
    """Values as integers, None where they are none."""
    if values.dtype.kind == "i":
        return values.astype(np.int64, copy=False)
    if not len(values) or not np.isfinite(values).all() or np.abs(values).max() >= LARGEST_CODE:
        return None
    codes = values.astype(np.int64)
    return codes if np.array_equal(codes, values) else None


def numbered_together(columns: Sequence[Floats | Integers]) -> Integers:
    """Number of each combination of values, in the order of the first column, then of the second, and so on.

    `columns`: at least one; shape (n,). Returns 0..c-1; shape (n,).
    """
    classes = numbered(columns[0])
    several = int(classes.max(initial=-1)) + 1
    for column in columns[1:]:
        codes = numbered(column)
        kinds = int(codes.max(initial=0)) + 1
        if several * kinds > LARGEST_CODE:
            classes = numbered(classes)
            several = int(classes.max(initial=-1)) + 1
        classes, several = classes * kinds + codes, several * kinds
    return numbered(classes)


def matched_by_rank(values: Floats, ascending: Floats) -> Floats:
    """Give each value the one of its rank; equal values rank in the order of the records.

    `values`: shape (m,). `ascending`: the new values, sorted; shape (m,).
    """
    matched = np.empty_like(values)
    matched[stable_order(values)] = ascending
    return matched
