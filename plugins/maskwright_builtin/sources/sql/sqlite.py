"""Tables of SQLite files, read and written with the standard library."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from maskwright import DataError, Layout, Place, Problem, Progress, Variable, WrittenBatch, write_dates
from maskwright_builtin.sources.files import WrittenReading, disk_trouble
from maskwright_builtin.sources.sql.options import (
    Table,
    TableParams,
    chosen_table,
    ordered,
    quoted,
    refuse_nested,
    refuse_twice,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
    from pathlib import Path


ROWS = 4_096
"""Few enough for their cells, which are objects of Python, to stay in the processor's cache."""
MAGIC = b"SQLite format 3\0"
WRITE_AHEAD = 2
"""Of the bytes 18 and 19, where changes are kept in a file of their own."""
SECONDS = 5.0
"""How long to wait for another program that is writing."""

TYPES = {"integer": pa.int64(), "real": pa.float64(), "number": pa.float64(), "text": pa.string()}
ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """SQLite file opened for reading, in which nothing but SELECT is allowed."""
    with path.open("rb") as file:
        head = file.read(20)
    # Such a file could else not be read without writing two others beside it; nothing is in them, as was looked up.
    mode = "mode=ro&immutable=1" if WRITE_AHEAD in head[18:20] else "mode=ro"
    with explained(path), closing(
        sqlite3.connect(f"file:{quote(str(path.resolve()))}?{mode}", uri=True, timeout=SECONDS)
    ) as connection:  # fmt: skip
        yield connection


def only_select(connection: sqlite3.Connection) -> None:
    """Refuse everything but SELECT from here on: other databases, settings, changes, extensions."""

    def allowed(action: int, *named: str | None) -> int:
        is_extension = action == sqlite3.SQLITE_FUNCTION and named[1] == "load_extension"
        return sqlite3.SQLITE_OK if action in ALLOWED and not is_extension else sqlite3.SQLITE_DENY

    connection.set_authorizer(allowed)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say what SQLite says of names and syntax; what it says of cells quotes them."""
    place = Place(str(path))
    try:
        yield
    except sqlite3.Error as error:
        detail, code = str(error), getattr(error, "sqlite_errorcode", None)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            hint = "Close the program that is writing, or copy the file when it has done."
            raise DataError(Problem("the database is in use by another program", place, hint)) from None
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
            hint = "It may be damaged or cut short: copy it again, or let `PRAGMA integrity_check` look at it."
            raise DataError(Problem("SQLite cannot read the database", place, hint)) from None
        if "not authorized" in detail or isinstance(error, sqlite3.ProgrammingError | sqlite3.Warning):
            hint = "Nothing is changed in the original, and nothing else is read: a query is one SELECT."
            raise DataError(Problem("`query` is not one SELECT", place, hint)) from None
        if code == sqlite3.SQLITE_ERROR and "decode" not in detail:
            raise DataError(Problem(f"SQLite does not understand what to read: {detail}", place)) from None
        advice = "Texts have to be UTF-8; cast what is not in `query:`." if "decode" in detail else None
        raise DataError(Problem("SQLite cannot read the records", place, advice)) from None


class SqliteReading(WrittenReading):
    """A table of a SQLite file, or what a query makes of its tables."""

    def __init__(self, path: Path, params: TableParams, progress: Progress) -> None:
        self._path, self._progress = path, progress
        self._place = Place(str(path))
        for ending in ("-wal", "-journal"):
            journal = path.with_name(path.name + ending)
            if journal.is_file() and journal.stat().st_size:
                hint = "Close the programs that have it open; one that was cut off has to open it once more."
                raise DataError(
                    Problem(f"the database has changes that are still in {journal.name}", self._place, hint)
                )
        self._total = 0
        with opened(path) as connection:
            declared: dict[str, str] = {}
            self._table = None if params.query else chosen_table(params, _tables(connection), self._place)
            if self._table is not None:
                declared = _declared(connection, self._table)
            only_select(connection)
            rows = f"(\n{(params.query or '').rstrip().rstrip(';')}\n) AS asked"
            if self._table is not None:
                # Not by an index that happens to have all the columns: its order is another.
                rows = self._table.quoted + ("" if self._table.is_view else " NOT INDEXED")
            names = [each[0] for each in connection.execute(params.query or f"SELECT * FROM {rows}").description or ()]
            refuse_twice(names, self._place)
            self._kinds = self._found_kinds(connection, rows, names, declared)
            self._declared = declared
            columns = ", ".join(map(quoted, names))
            self._select = f"SELECT {columns} FROM {rows}{ordered(params, names, self._place)}"

    def _found_kinds(
        self, connection: sqlite3.Connection, rows: str, names: list[str], declared: dict[str, str]
    ) -> dict[str, str]:
        """What the cells of each column are: SQLite lets every cell have a type of its own."""
        looked_at = [name for name in names if affinity(declared.get(name, "")) not in ("text", "real")]
        ends = "".join(f", min(typeof({quoted(name)})), max(typeof({quoted(name)}))" for name in looked_at)
        self._total, *found = connection.execute(f"SELECT count(*){ends} FROM {rows}").fetchone()
        kinds = {name: affinity(declared.get(name, "")) for name in names}
        for name, low, high in zip(looked_at, found[::2], found[1::2], strict=True):
            kinds[name] = KINDS.get((low, high)) or self._first_kind(connection, rows, name)
        refuse_nested([name for name, low in zip(looked_at, found[::2], strict=True) if low == "blob"], self._place)
        return kinds

    @staticmethod
    def _first_kind(connection: sqlite3.Connection, rows: str, name: str) -> str:
        """What the first cell is, of a column that does not stay what it is: reading says where it changes."""
        first = f"SELECT typeof({quoted(name)}) FROM {rows} WHERE {quoted(name)} IS NOT NULL LIMIT 1"
        kind: str = (connection.execute(first).fetchone() or ("text",))[0]
        return kind if kind in TYPES else "text"

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records, and the texts of numbers in columns of integers and others: each is to stay what it is."""
        schema = pa.schema([(name, TYPES[kind]) for name, kind in self._kinds.items()])
        mixed = {name for name, kind in self._kinds.items() if kind == "number"}
        done = 0
        with opened(self._path) as connection:
            only_select(connection)
            cursor = connection.execute(self._select)
            while (rows := cursor.fetchmany(ROWS)) or not done:
                cells = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
                texts = {
                    name: _text_column(column)
                    for name, column in zip(schema.names, cells, strict=True)
                    if name in mixed
                }
                yield WrittenBatch(self._batch(cells, schema, done), texts)
                done += len(rows)
                if not rows:
                    break
                self._progress(min(1.0, done / self._total) if self._total else 1.0)

    def _batch(self, cells: list[tuple[Any, ...]], schema: pa.Schema, before: int) -> pa.RecordBatch:
        arrays = []
        for column, field in zip(cells, schema, strict=True):
            try:
                arrays.append(_array(column, field.type))
            except (pa.ArrowException, TypeError, OverflowError):
                raise self._changed(field, column, before) from None
        return pa.record_batch(arrays, schema=schema)

    def _changed(self, field: Any, column: tuple[Any, ...], before: int) -> DataError:
        kind = self._kinds[field.name]
        expected = {"integer": (int,), "real": (float, int), "number": (float, int), "text": (str,)}[kind]
        row = next((i for i, cell in enumerate(column) if cell is not None and not isinstance(cell, expected)), None)
        if row is None:
            message, hint = f"column {field.name!r} has numbers that do not fit one type", "Cast it in `query:`."
            return DataError(Problem(message, self._place, hint))
        held = {int: "an integer", float: "a number", str: "a text", bytes: "bytes"}[type(column[row])]
        message = f"column {field.name!r} changes its type: record {before + row + 1} holds {held}"
        hint = "Cast it in `query:`, or put NULL where there is no value (NULLIF)."
        if kind == "text" and held != "bytes":
            message = f"{message}, and there are texts too"
        return DataError(Problem(message, self._place, hint))

    @property
    def layout(self) -> Layout:
        """Name of the table, declared types of its columns, and what their cells are."""
        name = None if self._table is None else self._table.name
        return Layout("sql", {"engine": "sqlite", "table": name, "declared": self._declared, "kinds": self._kinds})


def _text_column(column: tuple[Any, ...]) -> Any:
    return pa.array([None if cell is None else repr(cell) for cell in column], pa.string())


def _array(column: tuple[Any, ...], kind: Any) -> Any:
    if pa.types.is_string(kind) and bytes in set(map(type, column)):
        raise TypeError  # Arrow would take them for texts
    return pa.array(column, kind)


KINDS: Mapping[tuple[str, str], str] = {
    ("integer", "integer"): "integer",
    ("integer", "null"): "integer",
    ("integer", "real"): "number",
    ("null", "real"): "number",
    ("real", "real"): "number",
    ("null", "null"): "text",
    ("text", "text"): "text",
    ("null", "text"): "text",
}
"""By the first and the last of the types in a column, as words: blob, integer, null, real, text."""


def affinity(declared: str) -> str:
    """Affinity of a column by its declared type (sqlite.org/datatype3.html, 3.1): text, real, integer, or nothing."""
    kind = declared.upper()
    if "INT" in kind:
        return "integer"
    if any(each in kind for each in ("CHAR", "CLOB", "TEXT")):
        return "text"
    return "real" if any(each in kind for each in ("REAL", "FLOA", "DOUB")) else ""


def tables_of(path: Path) -> list[Table]:
    """Tables and views of a SQLite file."""
    with opened(path) as connection:
        return _tables(connection)


def _tables(connection: sqlite3.Connection) -> list[Table]:
    found = connection.execute(
        "SELECT name, type = 'view' FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    )
    return [Table("main", name, bool(is_view)) for name, is_view in found]


def _declared(connection: sqlite3.Connection, table: Table) -> dict[str, str]:
    found = connection.execute("SELECT name, type FROM pragma_table_info(?)", (table.name,))
    return dict(found.fetchall())


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
    """Write typed batches as the only table of a SQLite file."""
    place = Place(str(path))
    refuse_twice([variable.name for variable in variables], place)
    with disk_trouble(path):
        path.write_bytes(b"")
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                # No one else sees the file, and it is thrown away if this does not end well.
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
                _number_cells if each.name in as_written and kinds.get(each.name) == "number"
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
        return partial(_text_cells, variable)
    if not variable.is_numeric:
        if kind == "integer" and all(WHOLE.fullmatch(each) for each in variable.categories):
            return _integers
        return _reals if kind in ("real", "number") and all(map(_is_short, variable.categories)) else _as_they_are
    return _whole_as_integers if kind == "number" else _as_they_are


def _text_cells(variable: Variable, array: Any) -> list[Any]:
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


def _converted(convert: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda array: [None if cell is None else convert(cell) for cell in array.to_pylist()]


_integers, _reals = _converted(int), _converted(float)
_number_cells = _converted(lambda text: int(text) if WHOLE.fullmatch(text) else float(text))
"""Integers and other numbers, as the texts of the original's cells are."""
_whole_as_integers = _converted(lambda cell: int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
