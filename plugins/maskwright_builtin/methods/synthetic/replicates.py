"""Synthetic records that are unique and equal to a unique original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


class OriginalUniques:
    """Original records that no other equals, by a 64-bit hash of their values: chances of a mistake are below 1e-6.

    `columns`: NaN where missing; missing cells are equal; shape (n,).
    """

    def __init__(self, columns: Sequence[NDArray[np.float64]]) -> None:
        found, counts = np.unique(_hashed(columns), return_counts=True)
        self._hashes = found[counts == 1]

    def repeated(self, columns: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Records that are unique among these and equal to a unique original; shape (m,)."""
        hashes = _hashed(columns)
        _, place, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        return np.asarray((counts[place.ravel()] == 1) & np.isin(hashes, self._hashes))


def _hashed(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.uint64]:
    # Adding 0 makes negative zero positive; all missing cells have the same bits.
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        total = (total ^ bits) * _ODD
        total ^= total >> _SHIFT
    return total
