"""The one table of a written database, read by other means than the sources read it: row by row, as texts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from maskwright_builtin.sources.sql.duckdb_reading import SILENT, library
from maskwright_builtin.sources.sql.options import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
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
