"""Clusters of k records that follow each other in sorted order; the middle one takes the remainder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.ordering import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray


def consecutive_groups(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Cut a column into clusters of k neighbours; the middle one, in ascending order, takes the remainder.

    `values`: shape (n,). `k`: at least 1. Returns labels 0..g-1, g = n // k, in ascending order; number g // 2 has k +
    n mod k records. One cluster when n < 2k; shape (n,).
    """
    n = len(values)
    count = max(n // k, 1)
    sizes = np.full(count, k, dtype=np.int64)
    sizes[count // 2] = n - (count - 1) * k
    labels = np.empty(n, dtype=np.int64)
    labels[stable_order(values)] = np.repeat(np.arange(count), sizes)
    return labels
