"""Columns of dates and moments: texts of a declared format or of ISO 8601, and what typed formats store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dataset import Column
from maskwright.data.date_texts import (
    ISO,
    ISO_MOMENT,
    ISO_TEXT,
    LARGEST,
    DateText,
    has_time,
    moment_format,
    read_dates,
    second_decimals,
)
from maskwright.data.dates import LAST_DAY, days_of
from maskwright.data.declaration import variable_of
from maskwright.data.missing import HAD_VALUE, NO_CELL, MissingCells, is_code_text, missing_texts
from maskwright.data.notations import FEWEST_CELLS, NEARLY_ALL, date_remedy, fitting_formats
from maskwright.data.number_columns import first_record, first_records
from maskwright.data.number_text import has_white_space
from maskwright.foundation.arrays import arrow_array, numbers_of, scalar, truths_of
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.variable import VariableType

SPACED = r"^[ \t\r\n]|[ \t\r\n]$"
TIME_OF_DAY = r"^[ \t\r\n]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}"
SENTINELS = {"1900-01-01": days_of(1900, 1, 1), "9999-12-31": LAST_DAY}
"""Dates that say 'no value' in many files."""

MOST_DECIMALS = 6
"""Of a second: those of microseconds, which Arrow, pandas and the formats here share."""
FEWEST_COMPACT = 5
"""Different numbers that must all be dates: of other numbers of six digits one in eight has such a month."""


UTC = (None, "UTC", "Etc/UTC", "Z", "+00:00")
"""Zones in which the clock shows what is stored."""


class Moments(NamedTuple):
    """Seconds since 1970-01-01T00:00:00, NaN where a cell is null, and how many decimals they have."""

    seconds: NDArray[np.float64]
    decimals: int


def is_date_type(kind: Any) -> bool:
    """Whether an Arrow type holds dates, or times without a zone, which may all be midnights."""
    return bool(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def is_moment_type(kind: Any) -> bool:
    """Whether an Arrow type holds dates with a time of day, without a zone or of UTC."""
    return bool(pa.types.is_timestamp(kind) and kind.tz in UTC)


def stored_moments(array: Any) -> Moments | None:
    """Seconds of a column that `is_moment_type`; None where some have more digits than binary64, or six decimals."""
    units = {"s": 0, "ms": 3, "us": 6, "ns": 9}[array.type.unit]
    missing = truths_of(array.is_null())
    counts = numbers_of(array, np.int64, 0)
    decimals = units
    while decimals and not np.any(counts % 10):
        counts, decimals = counts // 10, decimals - 1
    if decimals > MOST_DECIMALS or np.any(np.abs(counts) >= LARGEST):
        return None
    return Moments(np.where(missing, np.nan, counts / 10.0**decimals), decimals)


def stored_days(array: Any) -> NDArray[np.float64] | None:
    """Days since 1970-01-01 of a column that `is_date_type`, NaN where null; None where some are no midnights."""
    dates = pc.cast(array, pa.date32())
    # Arrow cuts times of day off without a word.
    if pc.any(pc.not_equal(pc.cast(dates, array.type), array)).as_py():
        return None
    return numbers_of(pc.cast(dates, pa.int32()), np.float64)


def holds_dates(array: Any, declared: VariableDeclaration) -> bool:
    """Whether cells are stored as dates or moments that are understood, or are declared to be. `array`: shape (n,)."""
    kind = array.type
    if declared.is_date:
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
    if is_date_type(kind) and stored_days(array) is not None:
        return True
    return is_moment_type(kind) and stored_moments(array) is not None


def date_text_column(name: str, text: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    """Column of cells that are declared dates, or all are ISO dates; null, blank and missing codes are missing."""
    date_format = format_of(text, declared)
    values, missing = _values(text, declared, date_format)
    wrong = np.isnan(values) & ~missing
    if np.any(wrong):
        raise _no_dates(name, wrong, text, declared)
    column = _column(name, values, missing, declared, missing_texts(text, missing), date_format)
    is_spaced = any(
        has_white_space(chunk) and pc.any(pc.match_substring_regex(chunk, SPACED)).as_py() for chunk in text.chunks
    )
    return (replace(column, written=text) if is_spaced else column), []


def stored_date_column(name: str, array: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    """Column of dates or moments that a typed format stores; null is a missing cell."""
    values = None if declared.is_datetime or not is_date_type(array.type) else stored_days(array)
    decimals = None
    if values is None and declared.is_date and not declared.is_datetime:
        hint = f"Declare `{name}: {{type: datetime}}`, or `{name}: {{type: nominal}}`."
        message = f"variable {name!r} is declared a date, and some cells have a time of day"
        raise DataError(Problem(message, hint=hint, variable=name))
    if values is None:
        moments = stored_moments(array) if is_moment_type(array.type) else None
        if moments is None:
            raise _no_moments(name, array.type)
        values, decimals = moments
    missing = np.isnan(values)
    blank = MissingCells((), np.where(missing, NO_CELL, HAD_VALUE).astype(np.int16)) if missing.any() else None
    return _column(name, values, missing, declared, blank, None, decimals), []


def _no_moments(name: str, kind: Any) -> DataError:
    """Error about a column that is declared a datetime, and stores something else."""
    hint = f"Declare `{name}: {{type: nominal}}`."
    why = "some cells have more digits than can be distinguished"
    if pa.types.is_date(kind):
        hint, why = f"Declare `{name}: {{type: date}}`.", "it stores dates without a time of day"
    elif kind.tz not in UTC:
        why = f"its zone is {kind.tz}; only moments of UTC, and those without a zone, are masked"
        hint = f"Store it in UTC, or declare `{name}: {{type: nominal}}`."
    return DataError(Problem(f"variable {name!r} is declared a datetime, and {why}", hint=hint, variable=name))


def are_iso_dates(text: Any, declared: VariableDeclaration) -> bool:
    """Whether every cell that has a value is an ISO date, or every one a moment in one form, and there is one."""
    date_format = format_of(text, declared)
    any_date = False
    for chunk in text.chunks:
        dates, missing = _parsed(chunk, declared, date_format)
        if not np.all(dates.is_date | missing):
            return False
        any_date = any_date or bool(np.any(dates.is_date))
    return any_date


def format_of(text: Any, declared: VariableDeclaration) -> str:
    """Format that is declared, or else that of the first cell that has a value. `text`: shape (n,)."""
    if declared.is_date and declared.date_format is not None:
        return declared.date_format
    for chunk in text.chunks:
        empty = truths_of(pc.equal(pc.utf8_trim_whitespace(chunk), scalar("")), absent=True)
        filled = np.flatnonzero(~(empty | is_code_text(chunk, declared.missing_codes)))
        if len(filled):
            return moment_format(chunk[int(filled[0])].as_py()) or (ISO_MOMENT if declared.is_datetime else ISO)
    return ISO_MOMENT if declared.is_datetime else ISO


def _values(
    text: Any, declared: VariableDeclaration, date_format: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values, missing = np.empty(len(text)), np.empty(len(text), dtype=np.bool_)
    start = 0
    for chunk in text.chunks:
        part = slice(start, start + len(chunk))
        dates, missing[part] = _parsed(chunk, declared, date_format)
        values[part] = np.where(missing[part], np.nan, dates.values)
        start += len(chunk)
    return values, missing


def _parsed(chunk: Any, declared: VariableDeclaration, date_format: str) -> tuple[DateText, NDArray[np.bool_]]:
    """Dates of some cells, and which of them have no value."""
    parsed = read_dates(chunk, date_format)
    return parsed, parsed.is_blank | is_code_text(chunk, declared.missing_codes)


def _column(
    name: str,
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    declared: VariableDeclaration,
    blank: MissingCells | None,
    date_format: str | None,
    decimals: int | None = None,
) -> Column:
    """Column of dates, or of moments where there are decimals of a second or a format that has an hour."""
    if date_format is not None and has_time(date_format):
        decimals = second_decimals(date_format)
    kind: VariableType = "date" if decimals is None else "datetime"
    facts = {"decimals": decimals or 0, "lower": declared.lower, "upper": declared.upper, "date_format": date_format}
    variable = variable_of(name, kind, "other", declared, **facts)
    return Column(variable, values, missing, blank)


def _no_dates(name: str, wrong: NDArray[np.bool_], text: Any, declared: VariableDeclaration) -> DataError:
    what = "datetime" if declared.is_datetime else "date"
    count = int(np.count_nonzero(wrong))
    others = text.filter(arrow_array(wrong))
    with_time = pc.sum(pc.match_substring_regex(others, TIME_OF_DAY)).as_py() or 0
    seen = "" if declared.format is None else f" of the form {declared.format}"
    hint = f"Correct them, or declare `{name}: {{missing: [...]}}` with the texts that mean 'no value'."
    remedy = date_remedy(name, others) if declared.format is None or fitting_formats(others) else None
    hint = hint if remedy is None else remedy
    if with_time and declared.is_datetime:
        hint = "All cells of a datetime have one form, with one zone at most: as many decimals, and Z or +01:00 in all."
    elif with_time:
        hint = f"{with_time} have a time of day: declare `{name}: {{type: datetime}}` if all have one, or cut it off."
    which = f"is no {what}" if count == 1 else f"are no {what}s"
    message = f"variable {name!r}: {count} of {len(wrong)} cells {which}{seen} ({first_records(wrong)})"
    return DataError(Problem(message, hint=hint, variable=name, record=first_record(wrong)))


def date_doubt(column: Column, declared: VariableDeclaration, *, typed: bool) -> Doubt | None:
    """Doubt about a column of texts that are ISO dates but for a few, or about dates that may mean 'no value'."""
    settled = declared.type is not None or bool(declared.categories) or declared.release is not None
    if settled or declared.is_identifier:
        return None
    if column.variable.is_date:
        return _sentinel_doubt(column)
    if column.variable.is_numeric:
        return _compact_doubt(column, declared)
    return None if typed else _few_others_doubt(column)


def compact_form(values: NDArray[np.float64]) -> str | None:
    """Format of numbers that are all days (20200131) or months (202001) of 1900 to 2100; None: they are none."""
    distinct = np.unique(values)
    if len(distinct) < FEWEST_COMPACT or distinct[0] < 190_001 or distinct[-1] > 21_001_231:
        return None
    if not np.array_equal(np.rint(distinct), distinct):
        return None
    date_format = "%Y%m%d" if distinct[0] > 999_999 else "%Y%m"
    parts = 10_000 if date_format == "%Y%m%d" else 100
    if distinct[0] // parts < 1900 or distinct[-1] // parts > 2100:
        return None
    texts = arrow_array(distinct.astype(np.int64)).cast(pa.string())
    return date_format if read_dates(texts, date_format).is_date.all() else None


def _compact_doubt(column: Column, declared: VariableDeclaration) -> Doubt | None:
    name = column.name
    stated = declared.role in ("other", "weight") or declared.decimals is not None
    bounded = declared.lower is not None or declared.upper is not None
    found = None if stated or bounded else compact_form(column.values[~column.missing])
    if found is None:
        return None
    sentence = found.replace("%Y", "yyyy").replace("%m", "mm").replace("%d", "dd")
    count = len(column) - int(np.count_nonzero(column.missing))
    hint = f'Declare `{name}: {{type: date, format: "{found}"}}`; or `{name}: {{type: integer}}`, if these are numbers.'
    return Doubt(
        "may-be-dates", name, f"all {count} numbers look like dates written {sentence}", count, count, hint=hint
    )


def _sentinel_doubt(column: Column) -> Doubt | None:
    name, variable = column.name, column.variable
    found = {text: int(np.count_nonzero(column.values == day)) for text, day in SENTINELS.items()}
    named = [text for text, count in found.items() if count >= FEWEST_CELLS]
    unbounded = variable.lower is None and variable.upper is None
    examined = unbounded and variable.role in ("confidential", "quasi_identifier")
    if not named or not examined:
        return None
    count = sum(found[text] for text in named)
    shown = ", ".join(named)
    hint = f"Declare `{name}: {{missing: [{shown}]}}`; or `{name}: {{type: date}}`, if these are dates."
    return Doubt("may-be-a-missing-code", name, f"{count} cells hold {shown}", count, len(column), hint=hint)


def _few_others_doubt(column: Column) -> Doubt | None:
    name, present = column.name, len(column) - int(np.count_nonzero(column.missing))
    texts = column.variable.category_texts
    is_date = np.append(read_dates(texts, ISO).is_date, False)
    dates = int(np.count_nonzero(is_date[column.values])) if is_date.any() else 0
    if dates < NEARLY_ALL * present or not pc.any(pc.match_substring_regex(texts, ISO_TEXT)).as_py():
        return None
    message = f"{dates} of {present} cells are dates, and the others are not; it was read as text"
    hint = (
        f"Correct the others, or declare `{name}: {{type: date, missing: [...]}}` with the texts that mean 'no value', "
        f"or `{name}: {{type: nominal}}`."
    )
    return Doubt("column-not-understood", name, message, dates, present, hint=hint)
