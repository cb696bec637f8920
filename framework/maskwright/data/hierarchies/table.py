"""Hierarchies as tables: a row for each value, with its category on each level, as ARX writes them."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from typing import TYPE_CHECKING

from maskwright.data.number_text import WHITE_SPACE
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.file_identity import note_read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST_BYTES = 64 * 2**20


def read_hierarchy_file(path: Path) -> tuple[tuple[str, ...], ...]:
    """Rows of a file with semicolons between fields and no header: a value, then its category on each level."""
    note_read(path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(Problem(f"the hierarchy cannot be read: {error.strerror}", Place(str(path)))) from None
    if len(content) > MOST_BYTES:
        raise InputError(Problem(f"a hierarchy of over {MOST_BYTES // 2**20} MB is not read", Place(str(path))))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeError:
        raise InputError(Problem("the hierarchy is not UTF-8 text", Place(str(path)), "Save it as UTF-8.")) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True)
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append(tuple(field.strip(WHITE_SPACE) for field in row))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(Problem(f"the hierarchy is no table: {error}", Place(str(path), reader.line_num))) from None
    found = _mistake(rows)
    if found is not None:
        row_number, mistake = found
        line = lines[row_number] if row_number < len(lines) else None
        raise InputError(Problem(f"the hierarchy: {mistake}", Place(str(path), line)))
    return tuple(rows)


def table_mistake(rows: Sequence[Sequence[str]]) -> str | None:
    """What is wrong with the rows of a hierarchy, in one sentence; None: nothing."""
    found = _mistake(rows)
    return None if found is None else f"row {found[0] + 1}: {found[1]}" if rows else found[1]


def _mistake(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row and mistake of a table; None: it is a hierarchy."""
    if not rows:
        return 0, "there are no rows"
    if len(rows[0]) < 2:
        return 0, "expected a value and its category on each level, with semicolons between them"
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            return number, f"it has {len(row)} fields, and the first row has {len(rows[0])}"
        if not all(row[1:]):
            return number, f"its category on level {row.index('', 1)} is empty"
    found = [_twice(rows), _spelt_alike(rows), _no_function(rows)]
    return min(filter(None, found), default=None)


def _twice(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row of a value that stood in one before."""
    seen: set[str] = set()
    for number, row in enumerate(rows):
        if row[0] in seen:
            return number, f"the value {row[0]!r} stands there twice"
        seen.add(row[0])
    return None


def _spelt_alike(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row of a category that another one of its level differs from in blanks or case only."""
    seen: dict[tuple[int, str], str] = {}
    for number, row in enumerate(rows):
        for level, category in enumerate(row[1:], 1):
            other = seen.setdefault((level, " ".join(category.split()).casefold()), category)
            if other != category:
                return number, f"{category!r} and {other!r} of level {level} differ in blanks or case only"
    return None


def _no_function(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row in which a category of one level has another one above it than in a row before."""
    above: dict[tuple[int, str], str] = {}
    for number, row in enumerate(rows):
        for level, (own, higher) in enumerate(pairwise(row[1:]), 1):
            other = above.setdefault((level, own), higher)
            if other != higher:
                wrong = f"level {level + 1} is no function of level {level}"
                return number, f"{wrong}: {own!r} is in {other!r} and in {higher!r}"
    return None
