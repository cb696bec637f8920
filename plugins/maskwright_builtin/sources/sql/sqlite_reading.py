"""Tables of SQLite files, read with Python's own library: DuckDB's extension for them would have to be downloaded."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from maskwright import DataError, Layout, Place, Problem, Progress, WrittenBatch
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
    from collections.abc import Iterator, Mapping
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
        said, code = str(error), getattr(error, "sqlite_errorcode", None)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            hint = "Close the program that is writing, or copy the file when it has done."
            raise DataError(Problem("the database is in use by another program", place, hint)) from None
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
            hint = "It may be damaged or cut short: copy it again, or let `PRAGMA integrity_check` look at it."
            raise DataError(Problem("SQLite cannot read the database", place, hint)) from None
        if "not authorized" in said or isinstance(error, sqlite3.ProgrammingError | sqlite3.Warning):
            hint = "Nothing is changed in the original, and nothing else is read: a query is one SELECT."
            raise DataError(Problem("`query` is not one SELECT", place, hint)) from None
        if code == sqlite3.SQLITE_ERROR and "decode" not in said:
            raise DataError(Problem(f"SQLite does not understand what to read: {said}", place)) from None
        advice = "Texts have to be UTF-8; cast what is not in `query:`." if "decode" in said else None
        raise DataError(Problem("SQLite cannot read the records", place, advice)) from None


class SqliteReading:
    """A table of a SQLite file, or what a query makes of its tables."""

    def __init__(self, path: Path, params: TableParams, progress: Progress) -> None:
        self._path, self._progress = path, progress
        self._place = Place(str(path))
        for ending in ("-wal", "-journal"):
            beside = path.with_name(path.name + ending)
            if beside.is_file() and beside.stat().st_size:
                hint = "Close the programs that have it open; one that was cut off has to open it once more."
                raise DataError(Problem(f"the database has changes that are still in {beside.name}", self._place, hint))
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

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records, typed by what is in the cells."""
        for batch in self.written_batches():
            yield batch.cells

    def written_batches(self) -> Iterator[WrittenBatch]:
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
                    name: _texts(column) for name, column in zip(schema.names, cells, strict=True) if name in mixed
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


def _texts(column: tuple[Any, ...]) -> Any:
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
    """What SQLite makes of cells of a column, by its declared type: ``text``, ``real``, ``integer`` or nothing.

    https://www.sqlite.org/datatype3.html, section 3.1.
    """
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
