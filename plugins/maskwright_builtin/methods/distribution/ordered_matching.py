"""Ordered matching: the r-th smallest value of a column is replaced by the r-th smallest of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.ordering import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray


def matched_by_rank(values: NDArray[np.float64], ascending: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give each value the one of its rank; equal values rank in the order of the records.

    `values`: shape (m,). `ascending`: the new values, sorted; shape (m,).
    """
    matched = np.empty_like(values)
    matched[stable_order(values)] = ascending
    return matched
