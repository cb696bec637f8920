"""Rows of cell texts of a data frame that a foreign library has read, for the second evaluation of what was written."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS = 32_768


def plain_rows(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Blocks of rows of cell texts; None where there is no cell.

    Parameters
    ----------
    frame : pandas.DataFrame
    names : sequence of str
        That it must have, in order.

    Raises
    ------
    ValueError
        It has others.
    """
    if list(frame.columns) != list(names):
        raise ValueError("other names")
    for start in range(0, len(frame), ROWS):
        columns = [[plain_text(cell) for cell in frame[name].iloc[start : start + ROWS].tolist()] for name in names]
        yield [list(row) for row in zip(*columns, strict=True)]


def plain_text(cell: Any) -> str | None:
    """Text of a cell: shortest decimals, ISO dates."""
    if cell is None or cell is pd.NaT or (isinstance(cell, float) and np.isnan(cell)):
        return None
    if isinstance(cell, float):
        return str(np.format_float_positional(cell, trim="-"))
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ").removesuffix(" 00:00:00")
    return str(cell)
