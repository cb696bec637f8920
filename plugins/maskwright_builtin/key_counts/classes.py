"""Classes of records that show the same on all keys: a missing cell is a value of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.key_counts.packing import PackedKeys, pack_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def classes_of(codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Class 0..c-1 of each record, numbered as they first occur; shape (n,).

    `codes`: one for each key, -1 where missing; shape (n,).
    """
    return numbered(pack_keys(codes))[0]


def class_sizes(classes: NDArray[np.int64], households: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Records of each class, or different households; shape (c,)."""
    counted = classes if households is None else classes[first_of_household(classes, households)]
    return np.bincount(counted)


def first_of_household(classes: NDArray[np.int64], households: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first record of each household in each class."""
    return numbered(pack_keys([classes, households]))[1]


def numbered(packed: PackedKeys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the different rows.

    Returns numbers 0..c-1 as the rows first occur; the first row of each; shape (n,).
    """
    from maskwright_builtin.key_counts.counting_kernel import number_rows  # Numba: plugins are listed without it

    n = len(packed.words)
    of_row, first = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    slots = 1 << max(2 * n - 1, 1).bit_length()
    # Where every combination of codes has a slot of its own, its number is the slot.
    dense = packed.bits < slots.bit_length()
    table = np.zeros(1 << packed.bits if dense else slots, dtype=np.int32)
    count = number_rows(packed.words, table, dense, of_row, first)
    return of_row, first[:count].copy()
