"""A table written as a DuckDB file of its own, in one transaction."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Place, Problem, Variable, write_numbers
from maskwright_builtin.sources.files import disk_trouble
from maskwright_builtin.sources.sql.duckdb_reading import CLOSED, library
from maskwright_builtin.sources.sql.options import literal, quoted, refuse_twice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import duckdb

STORAGE = "v1.2.0"
"""Later forms of the file carry a random number, and the same seed has to give the same bytes."""

INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "BIGNUM",
}  # fmt: skip
FLOATS = {"FLOAT", "DOUBLE"}
DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
TEXTS = {"VARCHAR", "JSON"}
PLAIN_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"


def write_duckdb(
    path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], table: str, types: Mapping[str, str]
) -> None:
    """Write typed batches as the only table of a new DuckDB file, in the original's types where these can hold them.

    Parameters
    ----------
    path : Path
    batches : iterable of pyarrow.RecordBatch
    variables : tuple of Variable
        The columns, in order.
    table : str
        Its name.
    types : mapping of name to str
        DuckDB types of the original's columns; those that it does not name get the types of the batches.

    Raises
    ------
    DataError
        A masked value that the original column's type cannot hold, or trouble with the disk.
    """
    refuse_twice([variable.name for variable in variables], Place(str(path)))
    engine = library()
    with disk_trouble(path):
        # DuckDB makes its file itself, and others beside it: in a folder that nobody else can look into.
        folder = Path(tempfile.mkdtemp(prefix=".maskwright-sql-", dir=path.parent))
        try:
            made = folder / path.name
            connection = engine.connect(":memory:", config=CLOSED)
            try:
                connection.execute(f"ATTACH {literal(str(made))} AS masked (STORAGE_VERSION '{STORAGE}')")
                connection.execute("SET threads = 1")
                connection.execute("SET TimeZone = 'UTC'")
                _write(connection, path, batches, variables, table, types)
                connection.execute("DETACH masked")
            except engine.IOException as error:
                # What DuckDB says of the disk names the file, and no values.
                raise OSError(None, str(error).splitlines()[0]) from None
            finally:
                connection.close()
            made.chmod(0o600)
            made.replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _write(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    batches: Iterable[Any],
    variables: tuple[Variable, ...],
    table: str,
    types: Mapping[str, str],
) -> None:
    engine = library()
    target = f"masked.{quoted(table)}"
    columns: dict[str, str] = {}
    connection.execute("BEGIN")
    for batch in batches:
        if not columns:
            columns = {
                variable.name: _type(connection, field, variable, types.get(variable.name))
                for field, variable in zip(batch.schema, variables, strict=True)
            }
            # An enumeration is made at the end, of the categories that are left.
            made = ((name, "VARCHAR" if kind.startswith("ENUM") else kind) for name, kind in columns.items())
            connection.execute(f"CREATE TABLE {target} ({', '.join(f'{quoted(name)} {kind}' for name, kind in made)})")
        stored = [_stored(array, columns[field.name]) for array, field in zip(batch.columns, batch.schema, strict=True)]
        connection.register("incoming", pa.record_batch(stored, names=list(columns)))
        try:
            connection.execute(f"INSERT INTO {target} SELECT * FROM incoming")
        except (engine.ConversionException, engine.OutOfRangeException, engine.InvalidInputException):
            # DuckDB's messages quote the value.
            raise _misfit(connection, path, columns) from None
        finally:
            connection.unregister("incoming")
    for name, kind in columns.items():
        if kind.startswith("ENUM"):
            _enumerate(connection, target, name, kind)
    connection.execute("COMMIT")


def _type(connection: duckdb.DuckDBPyConnection, field: Any, variable: Variable, original: str | None) -> str:
    """Type of a column: the original's, unless the published values are more than it can hold."""
    own = "BIGINT" if pa.types.is_integer(field.type) else "DOUBLE" if pa.types.is_floating(field.type) else "VARCHAR"
    if original is None or original == '"NULL"':
        return own
    if not variable.is_numeric:
        return original if _hold(connection, variable.categories, original) else "VARCHAR"
    if original in TEXTS:
        return "VARCHAR"
    if pa.types.is_floating(field.type):
        scale = _scale(original)
        is_enough = scale is None or (variable.decimals is not None and variable.decimals <= scale)
        return original if is_enough else own
    return original


def _scale(kind: str) -> int | None:
    """Decimals that a type can hold; None for binary numbers."""
    found = DECIMAL.fullmatch(kind)
    return 0 if kind in INTEGERS else int(found[2]) if found else None


def _hold(connection: duckdb.DuckDBPyConnection, categories: tuple[str, ...], kind: str) -> bool:
    """Whether a type holds these texts so that they can be read again: those of truth, dates, enumerations, numbers."""
    if kind == "VARCHAR" or not categories:
        return True
    cast = f"TRY_CAST(category AS {kind})"
    if kind == "BOOLEAN":
        fits = "category IN ('true', 'false')"
    elif kind in INTEGERS:
        fits = f"CAST({cast} AS VARCHAR) = category"
    elif DECIMAL.fullmatch(kind) or kind in FLOATS:
        fits = f"regexp_full_match(category, '{PLAIN_NUMBER}') AND CAST({cast} AS DOUBLE) = CAST(category AS DOUBLE)"
    else:
        fits = f"{cast} IS NOT NULL"
    connection.register("categories", pa.table({"category": pa.array(categories, pa.string())}))
    try:
        found = connection.execute(f"SELECT bool_and(coalesce({fits}, false)) FROM categories").fetchall()[0][0]
    finally:
        connection.unregister("categories")
    return bool(found)


def _stored(array: Any, kind: str) -> Any:
    """Numbers as their canonical text, where the column holds text."""
    if kind == "VARCHAR" and pa.types.is_floating(array.type):
        return write_numbers(np.asarray(pc.fill_null(array, 0.0)), np.asarray(array.is_null()), None)
    return array


def _misfit(connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, str]) -> DataError:
    """Error that names the first column with a value that its type cannot hold; the transaction ends."""
    connection.execute("ROLLBACK")
    for name, kind in columns.items():
        test = f"TRY_CAST({quoted(name)} AS {kind}) IS NULL AND {quoted(name)} IS NOT NULL"
        if connection.execute(f"SELECT bool_or({test}) FROM incoming").fetchall()[0][0]:
            message = f"variable {name!r} has masked values that do not fit the original column ({kind})"
            hint = "Give the original's column a wider type, such as DOUBLE or VARCHAR, or cast it in `query:`."
            return DataError(Problem(message, Place(str(path)), hint))
    return DataError(Problem("masked values do not fit the original's columns", Place(str(path))))


def _enumerate(connection: duckdb.DuckDBPyConnection, target: str, name: str, kind: str) -> None:
    """Make an enumeration of the original's categories that are published: the others may say who is not there."""
    there = {row[0] for row in connection.execute(f"SELECT DISTINCT {quoted(name)} FROM {target}").fetchall()}
    order = connection.execute(f"SELECT unnest(enum_range(NULL::{kind}))").fetchall()
    kept = ", ".join(literal(value) for (value,) in order if value in there)
    if kept:
        connection.execute(f"ALTER TABLE {target} ALTER {quoted(name)} TYPE ENUM({kept})")
