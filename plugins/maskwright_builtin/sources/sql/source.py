"""Database files as microdata: one table read, one table written and verified."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from maskwright import DataError, Format, FormatFacts, Layout, Place, Problem, Progress, Source, Variable
from maskwright_builtin.sources.files import readable_size, reading
from maskwright_builtin.sources.sql import duckdb_reading, sqlite
from maskwright_builtin.sources.sql.duckdb_reading import SILENT, DuckdbReading, library
from maskwright_builtin.sources.sql.duckdb_writing import write_duckdb
from maskwright_builtin.sources.sql.options import TableParams, quoted
from maskwright_builtin.sources.sql.sqlite import SqliteReading, write_sqlite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


ROWS = 8_192
Rows = list[list[str | None]]


def read_plainly(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[Rows]:
    """Blocks of rows of cell texts of a written table; None is a missing cell."""
    del details
    with path.open("rb") as file:
        is_sqlite = file.read(6) == b"SQLite"
    connection = sqlite3.connect(path) if is_sqlite else library().connect(str(path), read_only=True)
    with closing(connection):
        if not is_sqlite:
            connection.execute(SILENT)
        # The catalogue that both engines have.
        ((table,),) = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        cursor = connection.execute(
            f"SELECT {', '.join(_cell(name, is_sqlite) for name in names)} FROM {quoted(table)}"
        )
        while rows := cursor.fetchmany(ROWS):
            yield [[_text(cell) for cell in row] for row in rows]


def _cell(name: str, is_sqlite: bool) -> str:
    # SQLite's own texts of numbers have 15 digits only, and DuckDB's are exact.
    column = quoted(name)
    if is_sqlite:
        return column
    text = f"CAST({column} AS VARCHAR)"
    moments = "'TIMESTAMP', 'TIMESTAMP_NS', 'TIMESTAMP_MS', 'TIMESTAMP_S'"
    # A moment at midnight is a day.
    return f"CASE WHEN typeof({column}) IN ({moments}) THEN regexp_replace({text}, ' 00:00:00$', '') ELSE {text} END"


def _text(cell: object) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, str):
        return f"{Decimal(cell):f}" if _has_exponent(cell) else cell
    text = repr(cell)
    return f"{Decimal(text):f}" if "e" in text else text


def _has_exponent(text: str) -> bool:
    mantissa, exponent, power = text.partition("e")
    is_number = mantissa.removeprefix("-").replace(".", "", 1).isdecimal()
    return bool(exponent) and is_number and power.removeprefix("+").removeprefix("-").isdecimal()


TABLE = "microdata"
"""Name of the table where the original has none: of a query, or of another format."""
DUCKDB, SQLITE = (".duckdb", ".ddb"), (".sqlite", ".sqlite3")
EITHER = (".db",)


def open_database(path: Path, params: TableParams, progress: Progress) -> DuckdbReading | SqliteReading:
    """Open a table of a database file; its content, not its name, decides which engine reads it."""
    readable_size(path)
    with reading(path) as file:
        head = file.read(16)
    if head == sqlite.MAGIC:
        return SqliteReading(path, params, progress)
    if head[duckdb_reading.MAGIC_AT :].startswith(duckdb_reading.MAGIC):
        return DuckdbReading(path, params, progress)
    hint = "It may be encrypted, have been cut short, or be another format under this name."
    raise DataError(Problem("the file is no DuckDB and no SQLite database", Place(str(path)), hint))


def write_database(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write typed batches as a database file with this one table: no other table, no history, no free pages."""
    details = layout.details if layout.format == "sql" else {}
    engine, table = details.get("engine"), details.get("table") or TABLE
    name = path.name.lower()
    if name.endswith(DUCKDB) or (name.endswith(EITHER) and engine == "duckdb"):
        # The texts of numbers that SQLite gives, of columns with integers and others.
        numbers = {name: "DOUBLE" for name, kind in details.get("kinds", {}).items() if kind == "number"}
        write_duckdb(path, batches, variables, table, details.get("types", numbers), layout.as_written)
    else:
        write_sqlite(
            path, batches, variables, table, details.get("declared", {}), details.get("kinds", {}), layout.as_written
        )


def lost_when_replaced(path: Path) -> str | None:
    """What else than one table is in a database."""
    try:
        with path.open("rb") as file:
            is_sqlite = file.read(16) == sqlite.MAGIC
        reading = sqlite if is_sqlite else duckdb_reading
        there = reading.tables_of(path)
    except (DataError, OSError):
        return None  # no database: it is replaced as any file is
    return f"{len(there)} tables and views" if len(there) > 1 else None


def params_of_written(params: TableParams) -> TableParams:
    """Options for the file that was written: it has one table."""
    del params
    return TableParams()


SQL = Source(
    name="sql",
    suffixes=(*DUCKDB, *SQLITE, *EITHER),
    open=open_database,
    write=write_database,
    params=TableParams,
    writes_text=False,
    format=Format(
        loses=frozenset({"zeros_of_times"}),
        holds=FormatFacts(
            types="those of DuckDB, but for nested ones and bytes; SQLite has integers, reals and texts",
            missing_codes="codes stay as values, without what they mean; empty cells are NULL",
            dates="DATE and TIMESTAMP in DuckDB, texts in SQLite",
            precision="that of the column's type",
            texts="any",
            names="any, but two that differ in case only",
            file_itself="one table in a new file; indexes, keys, views and comments stay behind",
            order="kept; that of a table is not defined, `order_by` sets it",
        ),
        params_of_written=params_of_written,
        lost_when_replaced=lost_when_replaced,
    ),
    summary="A table of a DuckDB or SQLite file, or one SELECT.",
    read_plainly=read_plainly,
)
