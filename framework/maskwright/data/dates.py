"""Dates as cell texts of a declared format, and as days since 1970-01-01 in the proleptic Gregorian calendar.

Nothing is guessed: a text is a date if it has every digit and every sign of the format, and the calendar has the day.
Days from years, months and days, and back, follow H. Hinnant, chrono-Compatible Low-Level Date Algorithms (2013), in
which years begin in March, so that the leap day is the last one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import MANY_CELLS, WHITE_SPACE, scanned_parts
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Grain = Literal["day", "month", "quarter", "year"]

ISO = "%Y-%m-%d"
ISO_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
WIDTHS = {"%Y": 4, "%m": 2, "%d": 2, "%q": 1}
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31."""

_DAYS_OF_CYCLE, _DAYS_TO_1970 = 146_097, 719_468
_MONTH_LENGTHS = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


class YearMonthDay(NamedTuple):
    """Years, months (1..12) and days (1..31), int64 of shape (n,)."""

    year: NDArray[np.int64]
    month: NDArray[np.int64]
    day: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DateText:
    """What a column of cell texts says as dates.

    Attributes
    ----------
    days : ndarray of shape (n,), float64
        Days since 1970-01-01; the first day of a month, a quarter or a year; NaN where the text is no date.
    is_date : ndarray of shape (n,), bool
    is_blank : ndarray of shape (n,), bool
        Whether the cell is absent, empty or white space only.
    """

    days: NDArray[np.float64]
    is_date: NDArray[np.bool_]
    is_blank: NDArray[np.bool_]


def format_mistake(date_format: str) -> str | None:  # noqa: PLR0911 - one return for each mistake
    """What is wrong with a format of dates; None: nothing.

    Parameters
    ----------
    date_format : str
        Directives ``%Y`` (year, four digits), ``%m`` (month) and ``%d`` (day), two digits each, ``%q`` (quarter), each
        at most once, and between them signs that stand for themselves.
    """
    pieces = _pieces(date_format)
    found = [piece for piece in pieces if piece.startswith("%")]
    strange = [piece for piece in found if piece not in WIDTHS]
    if "%y" in strange:
        return "%y is no full year: two digits do not tell the century; write the years in full, as %Y"
    if strange:
        return f"{strange[0]} is unknown: dates are made of %Y (year), %m (month), %d (day) and %q (quarter)"
    if len(set(found)) < len(found):
        return "a directive stands twice"
    if "%Y" not in found:
        return "the year, %Y, is missing"
    if "%d" in found and "%m" not in found:
        return "a day, %d, needs its month, %m"
    if "%q" in found and "%m" in found:
        return "a quarter, %q, has no month beside it"
    if not date_format.isascii() or any(piece.isdigit() for piece in pieces):
        return "between the directives stand plain signs, no digits: %d.%m.%Y"
    return None


def grain_of(date_format: str) -> Grain:
    """Coarsest period that dates of a format tell."""
    return (
        "day"
        if "%d" in date_format
        else "month"
        if "%m" in date_format
        else "quarter"
        if "%q" in date_format
        else "year"
    )


def _pieces(date_format: str) -> list[str]:
    """Directives and single signs of a format."""
    return re.findall(r"%.|.|\n", date_format)


def read_dates(text: Any, date_format: str = ISO) -> DateText:
    """Read cell texts as dates.

    Parameters
    ----------
    text : pyarrow.StringArray or ChunkedArray of shape (n,)
        Null where the cell is absent. White space around a date does not count.
    date_format : str
        Of which `format_mistake` has nothing to say.

    Returns
    -------
    DateText

    Examples
    --------
    >>> import pyarrow as pa
    >>> from maskwright import read_dates
    >>> said = read_dates(pa.array(["01.03.1970", "31.02.2020", "1.3.1970", ""]), "%d.%m.%Y")
    >>> said.days.tolist(), said.is_blank.tolist()
    ([59.0, nan, nan, nan], [False, False, False, True])
    """
    flat = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    if date_format == ISO and len(flat) >= MANY_CELLS and pa.types.is_string(flat.type):
        return _many_iso_dates(flat)
    trimmed = pc.utf8_trim(pc.cast(flat, pa.string()), characters=WHITE_SPACE)
    lengths = np.array(pc.fill_null(pc.binary_length(trimmed), 0))
    pieces = _pieces(date_format)
    width = sum(WIDTHS.get(piece, 1) for piece in pieces)
    fitting = np.flatnonzero(lengths == width)
    days = np.full(len(flat), np.nan)
    if len(fitting):
        days[fitting] = _days_said(_signs(trimmed, fitting, width), pieces)
    return DateText(days, ~np.isnan(days), lengths == 0)


def _many_iso_dates(flat: Any) -> DateText:
    # Numba is imported for long columns alone: it takes as long as some hundred thousand cells.
    from maskwright.data.date_kernel import scan_iso_dates

    days, blank = np.empty(len(flat)), np.empty(len(flat), dtype=np.bool_)
    scan_iso_dates(*scanned_parts(flat), days, blank)
    return DateText(days, ~np.isnan(days), blank)


def _signs(texts: Any, rows: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Bytes of texts that are all so long; shape (rows, width)."""
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts)][rows]
    return np.asarray(np.frombuffer(data, dtype=np.uint8)[starts[:, None] + np.arange(width)])


def _days_said(signs: NDArray[np.uint8], pieces: list[str]) -> NDArray[np.float64]:
    """Days of texts of the right length; NaN where they are no dates."""
    fits = np.ones(len(signs), dtype=np.bool_)
    said = {"%m": np.ones(len(signs), dtype=np.int64), "%d": np.ones(len(signs), dtype=np.int64)}
    place = 0
    for piece in pieces:
        width = WIDTHS.get(piece, 1)
        own = signs[:, place : place + width]
        place += width
        if piece in WIDTHS:
            digits = own - np.uint8(ord("0"))
            fits &= (digits < 10).all(axis=1)
            said[piece] = digits.astype(np.int64) @ (10 ** np.arange(width - 1, -1, -1))
        else:
            fits &= own[:, 0] == ord(piece)
    if "%q" in said:
        fits &= (said["%q"] >= 1) & (said["%q"] <= 4)
        said["%m"] = 3 * said["%q"] - 2
    year, month, day = said["%Y"], said["%m"], said["%d"]
    fits &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    fits &= day <= days_in_month(year, np.where(fits, month, 1))
    return np.where(fits, days_of(year, month, day), np.nan)


def write_dates(days: NDArray[np.float64], missing: NDArray[np.bool_], date_format: str = ISO) -> Any:
    """Texts of dates.

    Parameters
    ----------
    days : ndarray of shape (n,), float64
        From 0001-01-01 to 9999-12-31.
    missing : ndarray of shape (n,), bool
        Cells written as null.
    date_format : str

    Returns
    -------
    pyarrow.StringArray of shape (n,)

    Raises
    ------
    DataError
        A date that four digits of a year cannot say.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import write_dates
    >>> write_dates(np.array([59.0, np.nan]), np.array([False, True]), "%d.%m.%Y").to_pylist()
    ['01.03.1970', None]
    """
    whole = np.rint(np.where(missing, 0.0, days)).astype(np.int64)
    first, last = int(whole.min(initial=0)), int(whole.max(initial=0))
    if first < FIRST_DAY or last > LAST_DAY:
        hint = "Declare `min` and `max` of the variable, or the date that means 'no value' as missing."
        raise DataError(Problem("a masked date is outside the years 1 to 9999", hint=hint))
    if last - first < len(whole):
        # Each day of the calendar between them is written once.
        written = _texts_of(np.arange(first, last + 1), date_format)
        return written.take(pa.array(whole - first, mask=np.asarray(missing)))
    text = _texts_of(whole, date_format)
    return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), text) if missing.any() else text


def _texts_of(days: NDArray[np.int64], date_format: str) -> Any:
    date = year_month_day(days)
    numbers = {"%Y": date.year, "%m": date.month, "%d": date.day, "%q": (date.month + 2) // 3}
    pieces = _pieces(date_format)
    signs = np.empty((len(days), sum(WIDTHS.get(piece, 1) for piece in pieces)), dtype=np.uint8)
    place = 0
    for piece in pieces:
        width = WIDTHS.get(piece, 1)
        if piece in WIDTHS:
            tens = 10 ** np.arange(width - 1, -1, -1)
            signs[:, place : place + width] = numbers[piece][:, None] // tens % 10 + ord("0")
        else:
            signs[:, place] = ord(piece)
        place += width
    offsets = np.arange(len(days) + 1, dtype=np.int64) * signs.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(signs.tobytes())]
    return pc.cast(pa.Array.from_buffers(pa.large_string(), len(days), buffers), pa.string())


def days_of(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970-01-01 of years, months and days that the calendar has: int64 arrays, or integers."""
    from_march = year - (month <= 2)
    cycle = from_march // 400
    year_of_cycle = from_march - cycle * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    return cycle * _DAYS_OF_CYCLE + day_of_cycle - _DAYS_TO_1970


def year_month_day(days: NDArray[np.int64]) -> YearMonthDay:
    """Year, month and day of days since 1970-01-01.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import year_month_day
    >>> date = year_month_day(np.array([11016]))
    >>> date.year.tolist(), date.month.tolist(), date.day.tolist()
    ([2000], [2], [29])
    """
    shifted = days + _DAYS_TO_1970
    cycle = shifted // _DAYS_OF_CYCLE
    day_of_cycle = shifted - cycle * _DAYS_OF_CYCLE
    year_of_cycle = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36_524 - day_of_cycle // 146_096) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = (month_from_march + 2) % 12 + 1
    return YearMonthDay(year_of_cycle + cycle * 400 + (month <= 2), month, day)


def days_in_month(year: NDArray[np.int64], month: NDArray[np.int64]) -> NDArray[np.int64]:
    """Length of months in days."""
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return np.asarray(_MONTH_LENGTHS[month] - ((month == 2) & ~is_leap), dtype=np.int64)


def completed_years(birth: NDArray[np.int64], reference: NDArray[np.int64]) -> NDArray[np.int64]:
    """Years completed from one day to another: who was born on 29 February completes them on 1 March of other years.

    Parameters
    ----------
    birth, reference : ndarray of shape (n,) or (1,), int64
        Days since 1970-01-01. Negative where the reference is before the birth.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import completed_years
    >>> completed_years(np.array([11016]), np.array([17590, 17591])).tolist()  # 2000-02-29; 2018-02-28 and 2018-03-01
    [17, 18]
    """
    born, then = year_month_day(birth), year_month_day(reference)
    before = (then.month < born.month) | ((then.month == born.month) & (then.day < born.day))
    return np.asarray(then.year - born.year - before, dtype=np.int64)


def first_of(days: NDArray[np.float64], grain: Grain) -> NDArray[np.float64]:
    """First day of the period that each day is in; NaN stays."""
    if grain == "day":
        return days
    gone = np.isnan(days)
    date = year_month_day(np.where(gone, 0.0, days).astype(np.int64))
    month = {"month": date.month, "quarter": date.month - (date.month - 1) % 3, "year": np.ones_like(date.month)}[grain]
    return np.where(gone, np.nan, days_of(date.year, month, 1))


CALENDAR = {"year": 1, "quarter": 1, "month": 1, "day": 1, "age_at": 2}
"""Functions of days in rules, and how many arguments each takes."""


def calendar(function: str, days: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Value of a function of `CALENDAR`; NaN where an argument is NaN, or no day of the years 1 to 9999.

    Parameters
    ----------
    function : str
    days : sequence of ndarray of shape (n,) or (1,), float64
        One for each argument, in days since 1970-01-01.
    """
    known = [(each >= FIRST_DAY) & (each <= LAST_DAY) for each in days]
    whole = [np.where(good, np.floor(each), 0.0).astype(np.int64) for each, good in zip(days, known, strict=True)]
    if function == "age_at":
        found = completed_years(whole[0], whole[1])
    else:
        date = year_month_day(whole[0])
        found = (date.month + 2) // 3 if function == "quarter" else getattr(date, function)
    return np.where(np.logical_and.reduce(np.broadcast_arrays(*known)), found, np.nan)


def iso_day(text: str) -> int | None:
    """Day that an ISO text says; None: it is no date."""
    said = read_dates(pa.array([text.strip(WHITE_SPACE)], pa.string()))
    return int(said.days[0]) if said.is_date[0] else None


def iso_text(day: int) -> str:
    """ISO text of a day; one that no calendar of four digits has is told as a number of days."""
    if not FIRST_DAY <= day <= LAST_DAY:
        return f"day {day}"
    return str(write_dates(np.array([float(day)]), np.zeros(1, dtype=np.bool_))[0].as_py())
