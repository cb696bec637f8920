"""Tables of DuckDB files: attached read-only to an engine that can reach nothing else."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright import DataError, Layout, Place, Problem, Progress
from maskwright_builtin.sources.files import ROWS, optional_library
from maskwright_builtin.sources.sql.options import (
    Table,
    TableParams,
    chosen_table,
    literal,
    ordered,
    quoted,
    refuse_nested,
    refuse_twice,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

MAGIC = b"DUCK"
MAGIC_AT = 8
CLOSED = {"temp_directory": "", "python_enable_replacements": "false", "autoload_known_extensions": "false"}
"""Nothing is spilt to the disk, no variable of Python is taken for a table, nothing is downloaded."""
SILENT = "SET enable_progress_bar = false"
"""DuckDB else draws on standard output."""

NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|VARIANT|GEOMETRY)\b")
AS_TEXT = ("UUID", "INTERVAL", "BIT", "BIGNUM", "TIME WITH TIME ZONE", "TIME_NS")
"""Types without an Arrow type of their own, or one that loses something: read as the text that DuckDB writes."""
TAIL = re.compile(r";\s*((--[^\n]*|/\*.*?\*/)\s*)*$", re.DOTALL)
"""A semicolon at the end of a statement, and comments behind it."""
HUGE = ("HUGEINT", "UHUGEINT")
LEAST, MOST = -(2**63), 2**63 - 1
FIRST, LAST = "0001-01-01", "9999-12-31"


def library() -> Any:
    """Module `duckdb`, which is optional."""
    return optional_library("duckdb", "DuckDB files are read and written", "sql")


@contextmanager
def attached(path: Path, *, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Engine that has a DuckDB file, read-only, as the catalog ``original``, and can reach nothing else."""
    engine = library()
    connection = engine.connect(":memory:", config=CLOSED)
    try:
        try:
            connection.execute(f"ATTACH {literal(str(path.resolve()))} AS original (TYPE duckdb, READ_ONLY)")
        except engine.Error as error:
            raise DataError(_unopened(path, str(error))) from None
        connection.execute("USE original")
        connection.execute(SILENT)
        connection.execute("SET TimeZone = 'UTC'")
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


def _unopened(path: Path, message: str) -> Problem:
    place = Place(str(path))
    if "encrypted" in message:
        hint = "Copy the table into a database without encryption, or export it to Parquet."
        return Problem("the database is encrypted", place, hint)
    if "lock" in message or "Unique file handle" in message:
        hint = "Close the program, or the connection, that has it open for writing."
        return Problem("the database is in use by another program", place, hint)
    hint = "It may be damaged, cut short, or made by a later version of DuckDB than the one installed."
    return Problem("DuckDB cannot open the database", place, hint)


class DuckdbReading:
    """A table of a DuckDB file, or what a query makes of its tables."""

    def __init__(self, path: Path, params: TableParams, progress: Progress) -> None:
        self._path, self._progress = path, progress
        self._place = Place(str(path))
        wal = path.with_name(path.name + ".wal")
        if wal.is_file() and wal.stat().st_size:
            hint = "Close the program that has it open, or let it run CHECKPOINT."
            raise DataError(Problem(f"the database has changes that are still in {wal.name}", self._place, hint))
        with attached(path) as connection, self._explained():
            self._table = None if params.query else chosen_table(params, _tables(connection), self._place)
            # What several threads make of a query may come in another order each time.
            self._threads = None if self._table is not None and not self._table.is_view and not params.order_by else 1
            rows = self._rows(params)
            wanted = connection.execute(f"DESCRIBE {params.query or 'SELECT * FROM ' + rows}").fetchall()
            refuse_twice([name for name, *_ in wanted], self._place)
            described = connection.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()
            self._types = {name: str(kind) for name, kind, *_ in described}
            refuse_nested([name for name, kind in self._types.items() if NESTED.search(kind)], self._place)
            wide = self._beyond(connection, rows)
            columns = ", ".join(self._column(name, wide) for name in self._types)
            self._select = f"SELECT {columns} FROM {rows}{ordered(params, list(self._types), self._place)}"

    def _rows(self, params: TableParams) -> str:
        if params.query is None:
            assert self._table is not None
            return self._table.quoted
        engine = library()
        try:
            statements = engine.extract_statements(params.query)
        except engine.Error as error:
            raise self._refused(str(error)) from None
        if len(statements) == 1 and statements[0].type == engine.StatementType.SELECT:
            for text in (params.query, TAIL.sub("", params.query)):
                rows = f"(\n{text}\n) AS asked"
                with suppress(engine.Error):
                    if len(engine.extract_statements(f"SELECT * FROM {rows}")) == 1:
                        return rows
        hint = "Nothing is changed in the original: a query is one SELECT, or WITH ... SELECT."
        raise DataError(Problem("`query` is not one SELECT", self._place, hint))

    def _beyond(self, connection: duckdb.DuckDBPyConnection, rows: str) -> frozenset[str]:
        """Columns with values that their Arrow type cannot hold: huge integers, dates before or after all calendars."""
        requested = {name: _is_beyond(quoted(name), kind) for name, kind in self._types.items()}
        tests = {name: test for name, test in requested.items() if test is not None}
        if not tests:
            return frozenset()
        found = connection.execute(f"SELECT {', '.join(f'bool_or({test})' for test in tests.values())} FROM {rows}")
        return frozenset(name for name, each in zip(tests, found.fetchall()[0], strict=True) if each)

    def _column(self, name: str, wide: frozenset[str]) -> str:
        kind = self._types[name]
        if kind in AS_TEXT or name in wide:
            return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}"
        if kind in HUGE:
            return f"CAST({quoted(name)} AS BIGINT) AS {quoted(name)}"
        return quoted(name)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records, typed as in the table."""
        with attached(self._path, threads=self._threads) as connection, self._explained():
            total = 0
            if self._table is not None and not self._table.is_view:
                total = connection.execute(f"SELECT count(*) FROM {self._table.quoted}").fetchall()[0][0]
            # Random numbers in a query: the same each time it is run.
            connection.execute("SELECT setseed(0.5)").fetchall()
            done = 0
            reader = connection.sql(self._select).to_arrow_reader(ROWS)
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
                yield batch
                done += batch.num_rows
                self._progress(min(1.0, done / total) if total else 0.0)
            if not done:
                yield pa.RecordBatch.from_pylist([], schema=reader.schema)

    @property
    def layout(self) -> Layout:
        """Name of the table, and types of the columns."""
        name = None if self._table is None else self._table.name
        return Layout("sql", {"engine": "duckdb", "table": name, "types": self._types})

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what DuckDB says of names and syntax; what it says of values quotes them."""
        engine = library()
        try:
            yield
        except (engine.ParserException, engine.CatalogException, engine.BinderException) as error:
            raise self._refused(str(error)) from None
        except engine.PermissionException:
            hint = "It can read the tables of this database only: no other files, and nothing in the network."
            raise DataError(Problem("`query` reads something else than the database", self._place, hint)) from None
        except engine.OutOfMemoryException:
            hint = "Let the database order and join beforehand, in a table."
            raise DataError(Problem("there is not enough memory for `query`", self._place, hint)) from None
        except (engine.Error, pa.ArrowException) as error:
            kind = str(error).partition(":")[0] if ":" in str(error)[:40] else type(error).__name__
            hint = "The table may be damaged, or `query` computes what cannot be; try it in DuckDB."
            raise DataError(Problem(f"DuckDB cannot read the records ({kind})", self._place, hint)) from None

    def _refused(self, detail: str) -> DataError:
        lines = [line.strip() for line in detail.splitlines() if line.strip()]
        hint = next((line for line in lines if line.startswith("Did you mean")), None)
        return DataError(Problem(f"DuckDB does not understand what to read: {lines[0]}", self._place, hint))


def tables_of(path: Path) -> list[Table]:
    """Tables and views of a DuckDB file."""
    with attached(path) as connection:
        return _tables(connection)


def _tables(connection: duckdb.DuckDBPyConnection) -> list[Table]:
    found = connection.execute(
        "SELECT schema_name, table_name, false FROM duckdb_tables() WHERE database_name = 'original' AND NOT internal "
        "UNION ALL SELECT schema_name, view_name, true FROM duckdb_views() WHERE database_name = 'original' "
        "AND NOT internal ORDER BY ALL"
    )
    return [Table(schema, name, is_view, schema == "main") for schema, name, is_view in found.fetchall()]


def _is_beyond(column: str, kind: str) -> str | None:
    if kind in HUGE:
        return f"{column} < {LEAST} OR {column} > {MOST}" if kind == "HUGEINT" else f"{column} > {MOST}"
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return f"NOT isfinite({column}) OR CAST({column} AS DATE) NOT BETWEEN DATE '{FIRST}' AND DATE '{LAST}'"
    return None
