"""Dates and times: numbers since a package's first day, as Arrow dates and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.sources.statistical.form import Moments

YEAR_1, YEAR_10000 = -719_162, 2_932_897
"""Days from 1970-01-01 to the first day of these years: dates of other years have no four-digit text."""
MICROSECONDS = 86_400_000_000
PARTS = {"s": 86_400, "ms": 86_400_000, "us": MICROSECONDS}


def as_moments(values: NDArray[np.float64], variable_format: str, moments: Moments) -> Any:
    """Numbers of a date format as dates, or as times of a day where one of them is no midnight.

    `values`: NaN where missing; shape (n,). Returns date32 or timestamp. None: the format is no date, or a number has
    no date of a year from 1 to 9999; shape (n,).
    """
    known = moments.of(variable_format)
    missing = np.isnan(values)
    if known is None or missing.all():
        return None
    units = known[1]
    days = np.where(missing, 0.0, values / units - moments.epoch)
    if days.min() < YEAR_1 or days.max() >= YEAR_10000:
        return None
    if np.array_equal(np.rint(days), days):
        return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    for unit, parts in PARTS.items():
        counts = np.rint(np.where(missing, 0.0, (values - moments.epoch * units) * (parts / units)))
        if np.array_equal(
            counts * (units / parts) + moments.epoch * units, np.where(missing, moments.epoch * units, values)
        ):
            return pa.array(counts.astype(np.int64), pa.int64(), mask=missing).cast(pa.timestamp(unit))
    return None


def from_moments(cells: Any, variable_format: str, moments: Moments) -> NDArray[np.float64] | None:
    """Dates, times of a day or their ISO texts as numbers of a date format.

    `cells`: shape (n,). Returns NaN where missing; None: some are no dates, or the format is none; shape (n,).
    """
    known = moments.of(variable_format)
    if known is None:
        return None
    try:
        moment = pc.cast(cells, pa.timestamp("us"))
    except pa.ArrowException:
        return None
    counts = np.asarray(pc.fill_null(moment.cast(pa.int64()), 0))
    units = known[1]
    # Whole days apart: the sum of both has more digits than binary64.
    days, rest = np.divmod(counts, MICROSECONDS)
    values = (days + moments.epoch) * units + rest / (MICROSECONDS / units)
    return np.where(np.asarray(moment.is_null()), np.nan, values)
