"""A table written as a SQLite file of its own, in one transaction."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright import DataError, Place, Problem, Variable, write_dates
from maskwright_builtin.sources.files import disk_trouble
from maskwright_builtin.sources.sql.options import quoted, refuse_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

WORDED = re.compile(r"\w[\w ]*(\(\s*\d+\s*(,\s*\d+\s*)?\))?")
"""Declared types as they are usual; others are not repeated."""
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def write_sqlite(
    path: Path,
    batches: Iterable[Any],
    variables: tuple[Variable, ...],
    table: str,
    declared: Mapping[str, str],
    kinds: Mapping[str, str],
    as_written: Collection[str] = (),
) -> None:
    """Write typed batches as the only table of a SQLite file.

    `path`: it is empty, or not there. `declared`: declared types of the original's columns. `kinds`: what cells of the
    original's columns are. `as_written`: columns whose cells are the original's.
    """
    place = Place(str(path))
    refuse_twice([variable.name for variable in variables], place)
    with disk_trouble(path):
        path.write_bytes(b"")
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                # Nobody else sees the file, and it is thrown away if this does not end well.
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute("PRAGMA synchronous = OFF")
                _write(connection, batches, variables, table, declared, kinds, as_written)
        except sqlite3.OperationalError as error:
            raise OSError(None, str(error)) from None
        except (sqlite3.Error, OverflowError):
            raise DataError(Problem("masked values do not fit the original's columns", place)) from None


def _write(
    connection: sqlite3.Connection,
    batches: Iterable[Any],
    variables: tuple[Variable, ...],
    table: str,
    declared: Mapping[str, str],
    kinds: Mapping[str, str],
    as_written: Collection[str],
) -> None:
    insert = ""
    stored: list[Any] = []
    connection.execute("BEGIN")
    for batch in batches:
        if not insert:
            columns = [
                f"{quoted(each.name)} {_type(each, field, declared.get(each.name))}".rstrip()
                for each, field in zip(variables, batch.schema, strict=True)
            ]
            connection.execute(f"CREATE TABLE {quoted(table)} ({', '.join(columns)})")
            insert = f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})"
            stored = [
                _said if each.name in as_written and kinds.get(each.name) == "number"
                else _storing(each, kinds.get(each.name))
                for each in variables
            ]  # fmt: skip
        cells = [make(array) for make, array in zip(stored, batch.columns, strict=True)]
        connection.executemany(insert, zip(*cells, strict=True))
    connection.execute("COMMIT")


def _type(variable: Variable, field: Any, original: str | None) -> str:
    if original is not None:
        return original if WORDED.fullmatch(original) else ""
    if not variable.is_numeric or variable.is_date:
        return "TEXT"
    return "INTEGER" if pa.types.is_integer(field.type) else "REAL"


def _storing(variable: Variable, kind: str | None) -> Callable[[Any], list[Any]]:
    """How cells of a variable become those of SQLite: as they were in the original, where that can be."""
    if variable.is_date:
        return partial(_texts, variable)
    if not variable.is_numeric:
        if kind == "integer" and all(WHOLE.fullmatch(each) for each in variable.categories):
            return _integers
        return _reals if kind in ("real", "number") and all(map(_is_short, variable.categories)) else _as_they_are
    return _whole_as_integers if kind == "number" else _as_they_are


def _texts(variable: Variable, array: Any) -> list[Any]:
    """Dates as SQLite has them: texts."""
    if not pa.types.is_string(array.type):
        missing = np.asarray(array.is_null())
        moments = array.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0)
        seconds = np.asarray(moments) / 1e6
        array = write_dates(seconds / (86_400 // variable.day), missing, variable.date_text)
    texts: list[Any] = array.to_pylist()
    return texts


def _is_short(text: str) -> bool:
    try:
        return repr(float(text)).removesuffix(".0") == text
    except ValueError:
        return False


def _as_they_are(array: Any) -> list[Any]:
    cells: list[Any] = _simple(array).to_pylist()
    return cells


def _simple(array: Any) -> Any:
    """Cells of a DuckDB column that no step changed, in a type that SQLite has."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_int64(kind) or pa.types.is_floating(kind):
        return array
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64())
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return array.cast(pa.int64())
    return array.cast(pa.string())


def _said(array: Any) -> list[Any]:
    """Integers and other numbers, as the texts of the original's cells say."""
    cells: list[str | None] = array.to_pylist()
    return [None if cell is None else int(cell) if WHOLE.fullmatch(cell) else float(cell) for cell in cells]


def _integers(array: Any) -> list[Any]:
    return [None if cell is None else int(cell) for cell in array.to_pylist()]


def _reals(array: Any) -> list[Any]:
    return [None if cell is None else float(cell) for cell in array.to_pylist()]


def _whole_as_integers(array: Any) -> list[Any]:
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in array.to_pylist()]
