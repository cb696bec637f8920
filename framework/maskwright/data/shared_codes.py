"""Codes of values that mean the same in several columns: keys, households and categories of two files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.number_text import read_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column


def shared_codes(columns: Sequence[Column]) -> tuple[NDArray[np.int64], ...]:
    """Whole numbers that are equal where the values are equal, whatever the file.

    Numbers are equal by value, categories by text; a category equals a number when its text says that number.

    `columns`: of one variable, in several files; lengths may differ. Returns one for each column: 0, 1, ... without
    gaps over all columns, -1 where missing; shape (n,).
    """
    numeric = any(column.variable.is_numeric for column in columns)
    numbered: dict[float | str, int] = {}
    found = []
    for column in columns:
        positions, values = _numeric_table(column) if column.variable.is_numeric else _category_table(column, numeric)
        table = [numbered.setdefault(value, len(numbered)) for value in values]
        found.append(np.where(column.missing, -1, np.array([*table, -1], dtype=np.int64)[positions]))
    together = np.concatenate(found)
    used = np.unique(together[together >= 0])
    without_gaps = np.full(len(numbered) + 1, -1, dtype=np.int64)
    without_gaps[used] = np.arange(len(used))
    return tuple(without_gaps[codes] for codes in found)


def published_codes(column: Column) -> NDArray[np.int64]:
    """Codes of one file, where missing codes that are published apart are values of their own.

    Returns 0, 1, ... Missing cells have -1 where all are published alike; otherwise those that are published as
    suppressed cells are have -1, and the other kinds the numbers after the last value; shape (n,).
    """
    (codes,) = shared_codes([column])
    kinds = column.missing_kinds()
    if len(np.unique(kinds[column.missing])) < 2:
        return codes
    return np.where(kinds > 0, int(codes.max(initial=-1)) + kinds, codes)


def _numeric_table(column: Column) -> tuple[NDArray[np.int64], list[float]]:
    import pandas as pd  # heavy: `maskwright validate` does without

    positions, values = pd.factorize(np.where(column.missing, np.nan, column.values).astype(np.float64))
    return positions.astype(np.int64), np.asarray(values, dtype=np.float64).tolist()


def _category_table(column: Column, numeric: bool) -> tuple[NDArray[np.int64], list[float | str]]:
    texts: list[float | str] = list(column.variable.categories)
    if numeric:
        spoken = read_numbers(pa.array(column.variable.categories, pa.string()))
        said = zip(spoken.values.tolist(), spoken.is_number.tolist(), texts, strict=True)
        texts = [number if is_number else text for number, is_number, text in said]
    return column.values.astype(np.int64), texts
