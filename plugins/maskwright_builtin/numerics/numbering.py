"""Numbers of values and of combinations of values, 0..c-1, without sorting where codes are small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LARGEST_CODE = 2**40
"""Codes of combinations are numbered anew before they grow beyond."""


def numbered(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
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


def _whole(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Values as integers, None where they are none."""
    if values.dtype.kind == "i":
        return values.astype(np.int64, copy=False)
    if not len(values) or not np.isfinite(values).all() or np.abs(values).max() >= LARGEST_CODE:
        return None
    codes = values.astype(np.int64)
    return codes if np.array_equal(codes, values) else None


def numbered_together(columns: Sequence[NDArray[np.float64] | NDArray[np.int64]]) -> NDArray[np.int64]:
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
