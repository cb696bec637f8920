"""Texts that are dates, as days: rules about their order need them declared as dates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column
from maskwright.data.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Dataset

ISO = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
NEARLY_ALL = 0.99
"""Share of the different texts of a variable that are dates, where it is one."""


def with_days(data: Dataset) -> tuple[Dataset, frozenset[str]]:
    """The file with texts like 2026-11-22 as days since 1970-01-01, and the names of these variables."""
    changed = {}
    for column in data:
        if column.variable.is_numeric or len(column.variable.categories) < 2:
            continue
        days = _days(column.variable.categories)
        if days is not None:
            values = np.append(days, np.nan)[column.values]
            missing = np.isnan(values)
            variable = Variable(column.name, "integer", role=column.variable.role, decimals=0)
            changed[column.name] = Column(variable, values, missing)
    return data.with_columns(changed), frozenset(changed)


def _days(texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Days of texts, NaN where one is no date; None where many are none."""
    some = [text if ISO.fullmatch(text) else "NaT" for text in texts]
    if some.count("NaT") > (1 - NEARLY_ALL) * len(some):
        return None
    try:
        days = np.array(some, dtype="datetime64[D]")
    except ValueError:  # the 31st of February
        return None
    return np.where(np.isnat(days), np.nan, days.astype(np.float64))
