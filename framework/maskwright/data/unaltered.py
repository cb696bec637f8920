"""Columns that masking left as they were, cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset

    Rows = NDArray[np.int64] | slice


def unaltered_columns(original: Dataset, released: Dataset) -> frozenset[str]:
    """Names of the released columns whose every cell, missing or not, is that of the original.

    Parameters
    ----------
    original : Dataset
    released : Dataset
        `origin` pairs its records with those of the original; without it they are paired in order.
    """
    rows = original_rows(original, released)
    return frozenset(
        column.name for column in released if column.name in original and _same(original[column.name], column, rows)
    )


def original_rows(original: Dataset, released: Dataset) -> NDArray[np.int64] | slice:
    """Where in the original each released record comes from; both may be counted in a file before them."""
    if released.origin is None:
        return slice(None)
    if original.origin is None:
        return released.origin
    order = np.argsort(original.origin, kind="stable")
    return np.asarray(order[np.searchsorted(original.origin, released.origin, sorter=order)], dtype=np.int64)


def _same(before: Column, after: Column, rows: Rows) -> bool:
    if before.variable.is_numeric != after.variable.is_numeric or len(before.missing[rows]) != len(after):
        return False
    if not np.array_equal(before.missing[rows], after.missing):
        return False
    if after.variable.is_numeric:
        return np.array_equal(before.values[rows], after.values, equal_nan=True)
    return np.array_equal(before.values[rows], codes_in(before, after))


def codes_in(before: Column, after: Column) -> NDArray[np.int64]:
    """Code that the original has for each cell's text; -1 where it is missing, -2 for a new one.

    Parameters
    ----------
    before, after : Column
        Of categories.

    Returns
    -------
    ndarray of shape (n,), int64
    """
    known = {text: code for code, text in enumerate(before.variable.categories)}
    codes = np.array([*(known.get(text, -2) for text in after.variable.categories), -1], dtype=np.int64)
    return np.asarray(codes[after.values], dtype=np.int64)
