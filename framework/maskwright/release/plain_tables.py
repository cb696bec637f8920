"""The one table of a written database, read by plain means: cells as DuckDB gives them to pandas, and SQLite to Python."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb
    from numpy.typing import NDArray

SQLITE = b"SQLite format 3"
VECTOR = 2048
"""Records in a vector of DuckDB."""


def table_cells(path: Path, names: Sequence[str], rows: int) -> Iterator[list[NDArray[Any]]]:
    """Cells of consecutive records, one array for each variable.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Variables, in order.
    rows : int
        About so many records at a time.

    Yields
    ------
    list of ndarray of shape (rows,)
        Numbers where every cell is one; float64 NaN, and None among objects, are missing cells.

    Raises
    ------
    ValueError
        The database has not exactly one table, or not these variables.
    """
    columns = ", ".join(map(_quoted, names))
    yield from (_of_sqlite if _is_sqlite(path) else _of_duckdb)(path, columns, rows)


def binary_columns(path: Path) -> frozenset[str]:
    """Variables that are stored as binary floating-point numbers.

    Parameters
    ----------
    path : Path
    """
    if not _is_sqlite(path):
        with _duckdb(path) as connection:
            described = connection.execute(f"DESCRIBE {_quoted(_only_table(connection))}").fetchall()
        return frozenset(name for name, kind, *_ in described if kind in {"FLOAT", "DOUBLE"})
    with closing(sqlite3.connect(path)) as connection:
        described = connection.execute("SELECT name, type FROM pragma_table_info(?)", (_only_table(connection),))
        return frozenset(name for name, kind in described if "INT" not in kind.upper() and "CHAR" not in kind.upper())


def _of_duckdb(path: Path, columns: str, rows: int) -> Iterator[list[NDArray[Any]]]:
    with _duckdb(path) as connection:
        table = _quoted(_only_table(connection))
        described = connection.execute(f"DESCRIBE SELECT {columns} FROM {table}").fetchall()
        # What pandas has no exact type for comes as text.
        native = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR"}
        cells = (
            _quoted(name) if kind in native else f"CAST({_quoted(name)} AS VARCHAR)" for name, kind, *_ in described
        )
        connection.execute(f"SELECT {', '.join(cells)} FROM {table}")
        while len(frame := connection.fetch_df_chunk(max(1, rows // VECTOR))):
            yield [_array(frame.iloc[:, place]) for place in range(frame.shape[1])]


def _array(column: Any) -> NDArray[Any]:
    # Integers of which some are missing come as numbers with NaN: large ones would be rounded, the others are right.
    cells: NDArray[Any] = column.to_numpy()
    return cells if cells.dtype.kind in "iuf" else np.where(column.isna(), None, cells)


def _of_sqlite(path: Path, columns: str, rows: int) -> Iterator[list[NDArray[Any]]]:
    with closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute(f"SELECT {columns} FROM {_quoted(_only_table(connection))}")
        while found := cursor.fetchmany(rows):
            yield [_narrow(column) for column in zip(*found, strict=True)]


def _narrow(column: tuple[Any, ...]) -> NDArray[Any]:
    kinds = set(map(type, column))
    if kinds == {int}:
        return np.array(column, dtype=np.int64)
    if kinds <= {float, type(None)} and float in kinds:
        return np.array(column, dtype=np.float64)
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    return cells


def _duckdb(path: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(str(path), read_only=True)


def _only_table(connection: Any) -> str:
    """Name of the table; the one statement that both engines understand."""
    ((name,),) = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    table: str = name
    return table


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
