"""The first row of a CSV file: names of variables, as they are understood and as they are written."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from maskwright import DataError, Place, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_builtin.sources.csv.dialect import Beginning, CsvDialect, CsvParams

NO_NAME = re.compile(
    r"\s*(?:[-+\u2212]?(?:[0-9][0-9., '’\u00a0\u202f]*(?:[eE][-+]?[0-9]+)?|[.,][0-9]+)\s*[%€$£]?"  # a number
    r"|[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[ T][0-9:.]+Z?)?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"  # date, time
    r"|NA|N/A|n/a|NaN|NULL|null|\.+|-+|\?)\s*"
)
"""What a value is and hardly a name: its whole text."""


def column_names(path: Path, beginning: Beginning, params: CsvParams) -> tuple[str, ...]:
    """Names of the columns of a file."""
    before = len(beginning.first) - len(beginning.first.lstrip("\r\n"))
    place = Place(str(path), 1 + len(beginning.first[:before].splitlines()))
    first = beginning.rows[0]
    if not beginning.dialect.header:
        return tuple(f"V{position}" for position in range(1, len(first) + 1))
    if params.header is None:
        _refuse_record(place, first, beginning.rows[1:])
    nameless = [position for position, name in enumerate(first, 1) if not name.strip()]
    if nameless:
        hint = "Name every column in the first row, or declare `header: false`."
        raise DataError(Problem(f"column {nameless[0]} has no name in the header", place, hint))
    twice = sorted({name for name in first if first.count(name) > 1})
    if twice:
        hint = "Every column needs a name of its own; declare `header: false` if the first row is a record."
        raise DataError(Problem(f"the header names columns twice: {', '.join(twice[:5])}", place, hint))
    _refuse_alike(place, first)
    return tuple(first)


def _refuse_alike(place: Place, names: list[str]) -> None:
    """Refuse names that people, and many programs, take for one."""
    seen: dict[str, str] = {}
    for name in names:
        same = " ".join(unicodedata.normalize("NFC", name).casefold().split())
        if same in seen:
            message = f"the header has two names that are easily taken for one: {seen[same]!a} and {name!a}"
            hint = "Rename one: they differ in capital letters, white space, or the Unicode form of a letter only."
            raise DataError(Problem(message, place, hint))
        seen[same] = name


def written_names(first: str, dialect: CsvDialect) -> tuple[str, ...]:
    """Cells of the first row exactly as they are written, quotes included.

    `first`: the row, with empty lines before it and its line end.
    """
    row = first.strip("\r\n")
    if dialect.quote is None or dialect.quote not in row:
        return tuple(row.split(dialect.delimiter))
    quote, delimiter = re.escape(dialect.quote), re.escape(dialect.delimiter)
    cell = rf"((?:{quote}(?:[^{quote}]|{quote}{quote})*{quote})|[^{delimiter}]*)(?:{delimiter}|$)"
    # No name is empty, and the last match is: the end of the row.
    return tuple(match[1] for match in re.finditer(cell, row))[:-1]


def _refuse_record(place: Place, first: list[str], rows: list[list[str]]) -> None:
    """Refuse a first row that may be a record: every later message and the record of a run would quote its values."""
    values = sum(NO_NAME.fullmatch(name) is not None for name in first)
    again = sum(
        bool(name.strip()) and any(position < len(row) and row[position] == name for row in rows)
        for position, name in enumerate(first)
    )
    found = [f"{values} of its {len(first)} cells are numbers, dates or missing codes"] if values else []
    found += [f"{again} of its {len(first)} cells occur again below"] if again else []
    if found:
        hint = (
            "Put a row with the names of the variables first, or declare `header: false` (variables are then V1, V2, "
            "...); `header: true` if these are the names."
        )
        raise DataError(Problem(f"the first row may be a record, not names: {', and '.join(found)}", place, hint))
