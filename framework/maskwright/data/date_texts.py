"""Dates and moments as cell texts of a declared format, and as numbers: days, or seconds, since 1970-01-01.

Nothing is guessed: a text is a date if it has every digit and every sign of the format, and the calendar has the day. A
format with an hour is one of moments, whose numbers are seconds of the clock that the texts show. A zone is a plain
sign of the format, so that every text has the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dates import DAY, FIRST_DAY, LAST_DAY, days_in_month, days_of, year_month_day
from maskwright.data.number_text import MANY_CELLS, WHITE_SPACE, scanned_parts
from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, scalar
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

ISO = "%Y-%m-%d"
ISO_MOMENT = "%Y-%m-%dT%H:%M:%S"
ISO_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
WIDTHS = {"%Y": 4, "%m": 2, "%d": 2, "%q": 1, "%H": 2, "%M": 2, "%S": 2, **{f"%{n}f": n for n in range(1, 7)}}
ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
MOMENT_TEXT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<mark>[ T])[0-9]{2}:[0-9]{2}(?P<second>:[0-9]{2})?"
    rf"(?:\.(?P<fraction>[0-9]{{1,6}}))?(?P<zone> ?{ZONE[:-1]})?"
)
LARGEST = 2**53
"""Of the units of a moment's last decimal: from there on binary64 does not tell them apart."""


@dataclass(frozen=True, eq=False)
class DateText:
    """What a column of cell texts is as dates; arrays of shape (n,).

    `values`: days since 1970-01-01, or seconds where the format has an hour; the first day of a month, quarter or year;
    NaN where the text is no date.
    """

    values: NDArray[np.float64]
    is_date: NDArray[np.bool_]
    is_blank: NDArray[np.bool_]


def format_mistake(date_format: str) -> str | None:  # noqa: C901, PLR0911 - one return for each mistake
    """What is wrong with a format of dates; None: nothing."""
    pieces = _pieces(re.sub(ZONE, "", date_format) if has_time(date_format) else date_format)
    found = [piece for piece in pieces if piece.startswith("%")]
    strange = [piece for piece in found if piece not in WIDTHS]
    if "%y" in strange:
        return "%y is no full year: two digits do not tell the century; write the years in full, as %Y"
    if strange:
        if strange[0] == "%f":
            return "%f does not say how many decimals a second has: write %3f for three"
        return f"{strange[0]} is unknown: dates are made of %Y, %m, %d and %q (quarter), times of %H, %M, %S and %3f"
    if len(set(found)) < len(found):
        return "a directive stands twice"
    if "%Y" not in found:
        return "the year, %Y, is missing"
    if "%d" in found and "%m" not in found:
        return "a day, %d, needs its month, %m"
    times = [piece for piece in ("%H", "%M", "%S") if piece in found]
    if times and (times != ["%H", "%M", "%S"][: len(times)] or "%d" not in found):
        return "a time of day needs its day, %d, a minute its hour, and a second its minute"
    if sum(piece.endswith("f") for piece in found) > ("%S" in found):
        return "decimals stand once, after the second: %S.%3f"
    if "%q" in found and "%m" in found:
        return "a quarter, %q, has no month beside it"
    if not date_format.isascii() or any(piece.isdigit() for piece in pieces):
        return "between the directives stand plain signs, no digits: %d.%m.%Y"
    return None


def has_time(date_format: str) -> bool:
    """Whether a format is one of moments."""
    return "%H" in date_format


def second_decimals(date_format: str) -> int:
    """Decimals of a second that a format has."""
    found = re.search(r"%([1-6])f", date_format)
    return int(found[1]) if found else 0


def moment_format(text: str) -> str | None:
    """Format of a moment that is written as ISO 8601 or SQL has it, with its zone; None: it is none."""
    found = MOMENT_TEXT.fullmatch(text.strip(WHITE_SPACE))
    if found is None or (found["fraction"] and not found["second"]):
        return None
    fraction = f".%{len(found['fraction'])}f" if found["fraction"] else ""
    return f"{ISO}{found['mark']}%H:%M{':%S' if found['second'] else ''}{fraction}{found['zone'] or ''}"


def _pieces(date_format: str) -> list[str]:
    """Directives and single signs of a format."""
    return re.findall(r"%[1-6]?.|.|\n", date_format)


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
    >>> said.values.tolist(), said.is_blank.tolist()
    ([59.0, nan, nan, nan], [False, False, False, True])
    """
    flat = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    if date_format == ISO and len(flat) >= MANY_CELLS and pa.types.is_string(flat.type):
        return _many_iso_dates(flat)
    trimmed = pc.utf8_trim(pc.cast(flat, pa.string()), characters=WHITE_SPACE)
    lengths = numbers_of(pc.binary_length(trimmed), np.int64, 0)
    pieces = _pieces(date_format)
    width = sum(WIDTHS.get(piece, 1) for piece in pieces)
    fitting = np.flatnonzero(lengths == width)
    values = np.full(len(flat), np.nan)
    if len(fitting):
        values[fitting] = _counted(_signs(trimmed, fitting, width), pieces)
    return DateText(values, ~np.isnan(values), lengths == 0)


def _many_iso_dates(flat: Any) -> DateText:
    # Numba is imported for long columns alone: it takes as long as some hundred thousand cells.
    from maskwright.data.cell_kernels import scan_iso_dates

    days, blank = np.empty(len(flat)), np.empty(len(flat), dtype=np.bool_)
    scan_iso_dates(*scanned_parts(flat), days, blank)
    return DateText(days, ~np.isnan(days), blank)


def _signs(texts: Any, rows: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Bytes of texts that are all so long; shape (rows, width)."""
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts)][rows]
    return np.asarray(np.frombuffer(data, dtype=np.uint8)[starts[:, None] + np.arange(width)])


def _counted(signs: NDArray[np.uint8], pieces: list[str]) -> NDArray[np.float64]:
    """Days or seconds of texts of the right length; NaN where they are no dates."""
    fits = np.ones(len(signs), dtype=np.bool_)
    fields: dict[str, NDArray[np.int64]] = dict.fromkeys(("%m", "%d"), np.ones(len(signs), dtype=np.int64))
    place = 0
    for piece in pieces:
        width = WIDTHS.get(piece, 1)
        own = signs[:, place : place + width]
        place += width
        if piece in WIDTHS:
            digits = own - np.uint8(ord("0"))
            fits &= (digits < 10).all(axis=1)
            fields[piece] = digits.astype(np.int64) @ (10 ** np.arange(width - 1, -1, -1))
        else:
            fits &= own[:, 0] == ord(piece)
    if "%q" in fields:
        fits &= (fields["%q"] >= 1) & (fields["%q"] <= 4)
        fields["%m"] = 3 * fields["%q"] - 2
    year, month, day = fields["%Y"], fields["%m"], fields["%d"]
    fits &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    fits &= day <= days_in_month(year, np.where(fits, month, 1))
    days = days_of(year, month, day)
    if "%H" not in fields:
        return np.where(fits, days, np.nan)
    zero = np.zeros(len(signs), dtype=np.int64)
    hour, minute, second = (fields.get(piece, zero) for piece in ("%H", "%M", "%S"))
    fits &= (hour < 24) & (minute < 60) & (second < 60)
    decimals = second_decimals("".join(pieces))
    units = (DAY * days + 3600 * hour + 60 * minute + second) * 10**decimals + fields.get(f"%{decimals}f", zero)
    return np.where(fits & (np.abs(units) < LARGEST), units / 10.0**decimals, np.nan)


def write_dates(values: NDArray[np.float64], missing: NDArray[np.bool_], date_format: str = ISO) -> Any:
    """Texts of dates or moments.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        Days from 0001-01-01 to 9999-12-31, or seconds where the format has an hour.
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
    units = 10 ** second_decimals(date_format)
    parts = DAY * units if has_time(date_format) else 1
    whole = np.rint(np.where(missing, 0.0, values) * units).astype(np.int64)
    first, last = int(whole.min(initial=0)), int(whole.max(initial=0))
    if first < FIRST_DAY * parts or last >= (LAST_DAY + 1) * parts:
        hint = "Declare `min` and `max` of the variable, or the date that means 'no value' as missing."
        raise DataError(Problem("a masked date is outside the years 1 to 9999", hint=hint))
    if last - first < len(whole):
        # Each day of the calendar, or second, between them is written once.
        written = _texts_of(np.arange(first, last + 1), date_format)
        return written.take(arrow_array(whole - first, missing))
    text = _texts_of(whole, date_format)
    return pc.if_else(arrow_array(missing), scalar(None, pa.string()), text) if missing.any() else text


def _texts_of(whole: NDArray[np.int64], date_format: str) -> Any:
    """Texts of days, or of moments in units of the last decimal."""
    decimals = second_decimals(date_format)
    days, rest = np.divmod(whole, DAY * 10**decimals) if has_time(date_format) else (whole, np.zeros_like(whole))
    second, fraction = np.divmod(rest, 10**decimals)
    date = year_month_day(days)
    numbers = {
        "%Y": date.year, "%m": date.month, "%d": date.day, "%q": (date.month + 2) // 3,
        "%H": second // 3600, "%M": second // 60 % 60, "%S": second % 60, f"%{decimals}f": fraction,
    }  # fmt: skip
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


_BEHIND_SECONDS = re.compile(r"\.(\d+)")


def iso_day(text: str) -> Fraction | None:
    """Days since 1970-01-01 that an ISO text says, with a part of a day where it has a time; None: it is no date."""
    plain = text.strip(WHITE_SPACE)
    form = moment_format(plain) or ISO
    if not read_dates(arrow_texts([plain]), form).is_date[0]:
        return None
    # Whole seconds, and the digits behind them apart: together they may be too long for binary64.
    behind = _BEHIND_SECONDS.search(plain) if second_decimals(form) else None
    whole = plain if behind is None else plain[: behind.start()] + plain[behind.end() :]
    parsed = read_dates(arrow_texts([whole]), moment_format(whole) or ISO)
    parts = Fraction(0) if behind is None else Fraction(int(behind[1]), 10 ** len(behind[1]))
    return (Fraction(round(float(parsed.values[0]))) + parts) / (DAY if has_time(form) else 1)


def iso_text(day: Fraction | int) -> str:
    """ISO text of a day, or of a moment in it; without a year of four digits, a number of days."""
    if not FIRST_DAY <= day < LAST_DAY + 1:
        return f"day {day}"
    if Fraction(day).denominator == 1:
        return _written(Fraction(day), ISO)
    # Seconds as whole numbers: with their microseconds they may be too long for binary64.
    seconds, millionths = divmod(round(Fraction(day) * DAY * 1_000_000), 1_000_000)
    text = _written(Fraction(seconds), ISO_MOMENT)
    return f"{text}.{millionths:06d}" if millionths else text


def _written(number: Fraction, form: str) -> str:
    return str(write_dates(np.array([float(number)]), np.zeros(1, dtype=np.bool_), form)[0].as_py())
