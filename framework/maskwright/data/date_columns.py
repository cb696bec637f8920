"""Columns of dates: texts of a declared format or of ISO 8601, and the dates and times that typed formats store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dataset import Column
from maskwright.data.dates import ISO, ISO_TEXT, LAST_DAY, days_of, read_dates
from maskwright.data.missing import HAD_VALUE, NO_CELL, MissingCells, is_code_text, missing_texts
from maskwright.data.number_columns import first_records
from maskwright.data.undeclared_dates import date_remedy, fitting_formats
from maskwright.data.variable import Variable
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration

SPACED = r"^[ \t\r\n]|[ \t\r\n]$"
TIME_OF_DAY = r"^[ \t\r\n]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}"
SENTINELS = {"1900-01-01": days_of(1900, 1, 1), "9999-12-31": LAST_DAY}
"""Dates that say 'no value' in many files."""

NEARLY_ALL = 0.9
FEWEST_CELLS = 3


def is_date_type(kind: Any) -> bool:
    """Whether an Arrow type holds dates, or times without a zone, which may all be midnights."""
    return bool(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def stored_days(array: Any) -> NDArray[np.float64] | None:
    """Days since 1970-01-01 of a column of dates or times; NaN where a cell is null; None where some are no midnights.

    Parameters
    ----------
    array : pyarrow.Array or ChunkedArray of shape (n,)
        Of a type that `is_date_type`.
    """
    dates = pc.cast(array, pa.date32())
    # Arrow cuts times of day off without a word.
    if pc.any(pc.not_equal(pc.cast(dates, array.type), array)).as_py():
        return None
    return np.array(pc.fill_null(pc.cast(pc.cast(dates, pa.int32()), pa.float64()), np.nan), dtype=np.float64)


def date_text_column(name: str, text: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    """Column of a variable whose cells are declared to be dates, or were seen to be ISO dates.

    Parameters
    ----------
    name : str
    text : pyarrow.ChunkedArray of strings, shape (n,)
        Null, blank and declared missing codes are missing.
    declared : VariableDeclaration

    Returns
    -------
    Column, list of str

    Raises
    ------
    DataError
        Cells that are no dates of the format. Names the variable, how many, and the first records; never a value.
    """
    days, missing = _days(text, declared)
    wrong = np.isnan(days) & ~missing
    if np.any(wrong):
        raise _no_dates(name, wrong, text, declared)
    column = _column(name, days, missing, declared, missing_texts(text, missing), declared.date_format)
    is_spaced = bool(pc.any(pc.match_substring_regex(text, SPACED)).as_py())
    return (replace(column, written=text) if is_spaced else column), []


def stored_date_column(name: str, array: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    """Column of dates that a typed format stores; null is a missing cell.

    Parameters
    ----------
    name : str
    array : pyarrow.ChunkedArray of shape (n,)
        Of a type that `is_date_type`.
    declared : VariableDeclaration

    Returns
    -------
    Column, list of str

    Raises
    ------
    DataError
        Some have a time of day.
    """
    days = stored_days(array)
    if days is None:
        hint = f"Declare `{name}: {{type: nominal}}`, or store dates and times in columns of their own."
        raise DataError(Problem(f"variable {name!r} is declared a date, and some cells have a time of day", hint=hint))
    missing = np.isnan(days)
    blank = MissingCells((), np.where(missing, NO_CELL, HAD_VALUE).astype(np.int16)) if missing.any() else None
    return _column(name, days, missing, declared, blank, None), []


def are_iso_dates(text: Any, declared: VariableDeclaration) -> bool:
    """Whether every cell that has a value is an ISO date, and there is one.

    Parameters
    ----------
    text : pyarrow.ChunkedArray of strings, shape (n,)
    declared : VariableDeclaration
        Its missing codes.
    """
    shown = pc.fill_null(pc.match_substring_regex(text, r"^[ \t\r\n]*[0-9]{4}-[0-9]{2}-[0-9]{2}"), False)
    if not pc.any(shown).as_py():
        return False
    days, missing = _days(text, declared)
    return not np.any(np.isnan(days) & ~missing)


def _days(text: Any, declared: VariableDeclaration) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    days, missing = np.empty(len(text)), np.empty(len(text), dtype=np.bool_)
    start = 0
    for chunk in text.chunks:
        said = read_dates(chunk, declared.date_format)
        part = slice(start, start + len(chunk))
        missing[part] = said.is_blank | is_code_text(chunk, declared.missing_codes)
        days[part] = np.where(missing[part], np.nan, said.days)
        start += len(chunk)
    return days, missing


def _column(
    name: str,
    days: NDArray[np.float64],
    missing: NDArray[np.bool_],
    declared: VariableDeclaration,
    blank: MissingCells | None,
    date_format: str | None,
) -> Column:
    variable = Variable(
        name=name,
        type="date",
        role=declared.role or "other",
        as_is=declared.release == "as is",
        inferred_role=declared.role is None,
        unchanged=declared.unchanged,
        unit=declared.unit,
        decimals=0,
        lower=declared.lower,
        upper=declared.upper,
        date_format=date_format,
        missing_codes=declared.missing_codes,
        missing_meanings=declared.missing_meanings,
        suppressed_as=declared.suppressed_as,
        label=declared.label,
        labels=declared.labels,
    )
    return Column(variable, days, missing, blank)


def _no_dates(name: str, wrong: NDArray[np.bool_], text: Any, declared: VariableDeclaration) -> DataError:
    count = int(np.count_nonzero(wrong))
    others = text.filter(pa.array(wrong))
    with_time = pc.sum(pc.match_substring_regex(others, TIME_OF_DAY)).as_py() or 0
    seen = "" if declared.format is None else f" of the form {declared.format}"
    hint = f"Correct them, or declare `{name}: {{missing: [...]}}` with the texts that mean 'no value'."
    remedy = date_remedy(name, others) if declared.format is None or fitting_formats(others) else None
    hint = hint if remedy is None else remedy
    if with_time:
        own = "Store the dates in a column of their own." if remedy is None else remedy
        hint = f"{with_time} have a time of day. {own} Or declare `{name}: {{type: nominal}}`."
    which = "is no date" if count == 1 else "are no dates"
    message = f"variable {name!r}: {count} of {len(wrong)} cells {which}{seen} ({first_records(wrong)})"
    return DataError(Problem(message, hint=hint))


def date_doubt(column: Column, declared: VariableDeclaration, *, typed: bool) -> Doubt | None:
    """Doubt about a column of texts that are ISO dates but for a few, or about dates that may mean 'no value'.

    Parameters
    ----------
    column : Column
        As it was read.
    declared : VariableDeclaration
    typed : bool
        Whether the format has dates of its own, so that texts in it are meant to be texts.
    """
    told = declared.type is not None or bool(declared.categories) or declared.release is not None
    if told or declared.role == "identifier":
        return None
    if column.variable.is_date:
        return _sentinel_doubt(column)
    return None if column.variable.is_numeric or typed else _few_others_doubt(column)


def _sentinel_doubt(column: Column) -> Doubt | None:
    name, variable = column.name, column.variable
    found = {text: int(np.count_nonzero(column.values == day)) for text, day in SENTINELS.items()}
    named = [text for text, count in found.items() if count >= FEWEST_CELLS]
    judged = variable.role in ("confidential", "quasi_identifier") and variable.lower is None and variable.upper is None
    if not named or not judged:
        return None
    count = sum(found[text] for text in named)
    said = ", ".join(named)
    hint = f"Declare `{name}: {{missing: [{said}]}}`; or `{name}: {{type: date}}`, if these are dates."
    return Doubt("may-be-a-missing-code", name, f"{count} cells hold {said}", count, len(column), hint=hint)


def _few_others_doubt(column: Column) -> Doubt | None:
    name, present = column.name, len(column) - int(np.count_nonzero(column.missing))
    texts = pa.array(column.variable.categories, pa.string())
    if not pc.any(pc.match_substring_regex(texts, ISO_TEXT)).as_py():
        return None
    is_date = np.append(read_dates(texts, ISO).is_date, False)
    dates = int(np.count_nonzero(is_date[column.values]))
    if dates < NEARLY_ALL * present:
        return None
    message = f"{dates} of {present} cells are dates, and the others are not; it was read as text"
    hint = (
        f"Correct the others, or declare `{name}: {{type: date, missing: [...]}}` with the texts that mean 'no value', "
        f"or `{name}: {{type: nominal}}`."
    )
    return Doubt("column-not-understood", name, message, dates, present, hint=hint)
