"""Rows of a data frame as texts, for reference validation of the written file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright_builtin.sources.statistical.declarations import Moments


ROWS = 32_768
DAY = 86_400_000_000
"""Microseconds of a day."""


def plain_rows(
    frame: pd.DataFrame, names: Sequence[str], formats: Mapping[str, str | None], moments: Moments
) -> Iterator[list[list[str | None]]]:
    """Blocks of rows of cell texts; None where there is no cell."""
    if list(frame.columns) != list(names):
        raise ValueError("other names")
    columns: list[Any] = []
    for name in names:
        known = moments.of(formats.get(name) or "")
        dates = None if known is None else _dates(frame[name].tolist(), known[1], moments.epoch)
        columns.append(frame[name] if dates is None else dates)
    for start in range(0, len(frame), ROWS):
        block = [each[start : start + ROWS] for each in columns]
        texts = [each if isinstance(each, list) else _texts(each.tolist()) for each in block]
        yield [list(row) for row in zip(*texts, strict=True)]


def rows_by_pyreadstat(
    read: Callable[..., Any], path: Path, names: Sequence[str], moments: Moments, **options: bool
) -> Iterator[list[list[str | None]]]:
    """Rows of a written file as a function of pyreadstat gives them to pandas."""
    frame, metadata = read(str(path), disable_datetime_conversion=True, **options)
    return plain_rows(frame, names, metadata.original_variable_types, moments)


def _texts(cells: list[Any]) -> list[str | None]:
    if all(isinstance(cell, float) for cell in cells):
        pairs = zip(cells, map(repr, cells), strict=True)
        return [text[:-2] if text.endswith(".0") else plain_text(cell) if text[-1] == "n" or "e" in text else text
                for cell, text in pairs]  # fmt: skip
    return [plain_text(cell) for cell in cells]


def plain_text(cell: Any) -> str | None:
    """Text of a cell: shortest decimals without an exponent."""
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        text = repr(cell)
        return str(np.format_float_positional(cell, trim="-")) if "e" in text else text.removesuffix(".0")
    if cell is None or isinstance(cell, str):
        return cell
    # An object of pandas that stands for one of Stata's missing values.
    text = str(cell)
    return None if text == "." or cell is pd.NA else text


def _dates(cells: list[Any], units: float, epoch: int) -> list[str | None] | None:
    """ISO texts of dates; None where one of them is no date of four-digit years."""
    missing = [not isinstance(cell, int | float) or math.isnan(cell) for cell in cells]
    present = [cell for cell, gone in zip(cells, missing, strict=True) if not gone]
    counts = np.array([np.rint((cell - epoch * units) * (DAY / units)) for cell in present], dtype=np.float64)
    if not len(counts) or np.abs(counts).max() > 4e6 * DAY:
        return None
    moments = np.datetime64("1970-01-01", "us") + counts.astype(np.int64).astype("timedelta64[us]")
    if moments.min() < np.datetime64("0001-01-01") or moments.max() >= np.datetime64("10000-01-01"):
        return None
    unit = next(
        unit for unit in ("D", "s", "ms", "us") if np.array_equal(moments.astype(f"datetime64[{unit}]"), moments)
    )
    texts = iter(text.replace("T", " ") for text in moments.astype(f"datetime64[{unit}]").astype(str).tolist())
    return [plain_text(cell) if gone else next(texts) for cell, gone in zip(cells, missing, strict=True)]
