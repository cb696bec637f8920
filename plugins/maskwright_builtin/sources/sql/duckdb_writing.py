"""A table written as a DuckDB file of its own, by a process that reads the masked records and never had others.

DuckDB leaves bytes in its files that it has not written to, and so what stood in memory before: in the process that
read the original that may be values of the original. This module is run as that process (`main`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Place, Problem, Variable, write_numbers
from maskwright_builtin.sources.files import disk_trouble
from maskwright_builtin.sources.sql.duckdb_reading import CLOSED, SILENT, library
from maskwright_builtin.sources.sql.options import literal, quoted, refuse_twice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import duckdb

STORAGE = "v1.2.0"
"""A form of the file that all versions of DuckDB from 1.2 on can read."""

INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "BIGNUM",
}  # fmt: skip
FLOATS = {"FLOAT", "DOUBLE"}
DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
TEXTS = {"VARCHAR", "JSON"}
PLAIN_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"


@dataclass(frozen=True)
class Published:
    """What the table is to be."""

    file: str
    table: str
    columns: tuple[PublishedColumn, ...]

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Published:
        """From the line of `to_json`."""
        content = json.loads(line)
        columns = (PublishedColumn(**each | {"categories": tuple(each["categories"])}) for each in content["columns"])
        return cls(content["file"], content["table"], tuple(columns))


@dataclass(frozen=True)
class PublishedColumn:
    """A column of the table; `categories` include the text of emptied cells.

    `original`: DuckDB type of the original's column, if any; `as_written`: the cells are the original's, in that type.
    """

    name: str
    categories: tuple[str, ...]
    is_numeric: bool
    decimals: int | None
    original: str | None
    as_written: bool


class MisfitError(Exception):
    """A masked value that the type of its column cannot hold. `column`, `kind`: empty where it is not known which."""

    def __init__(self, column: str = "", kind: str = "") -> None:
        super().__init__(column)
        self.column, self.kind = column, kind


def make_table(published: Published, batches: Iterable[Any]) -> None:
    """Make the file and, in one transaction, its table."""
    with library().connect(":memory:", config=CLOSED) as connection:
        connection.execute(f"ATTACH {literal(published.file)} AS masked (STORAGE_VERSION '{STORAGE}')")
        connection.execute(SILENT)
        connection.execute("SET TimeZone = 'UTC'")
        _write(connection, published, batches)
        connection.execute("DETACH masked")


def _write(connection: duckdb.DuckDBPyConnection, published: Published, batches: Iterable[Any]) -> None:
    engine = library()
    target = f"masked.{quoted(published.table)}"
    columns: dict[str, str] = {}
    connection.execute("BEGIN")
    for batch in batches:
        if not columns:
            pairs = zip(batch.schema, published.columns, strict=True)
            columns = {column.name: _type(connection, field.type, column) for field, column in pairs}
            # An enumeration is made at the end, of the categories that are left.
            made = ((name, "VARCHAR" if kind.startswith("ENUM") else kind) for name, kind in columns.items())
            connection.execute(f"CREATE TABLE {target} ({', '.join(f'{quoted(name)} {kind}' for name, kind in made)})")
        stored = [_stored(array, columns[field.name]) for array, field in zip(batch.columns, batch.schema, strict=True)]
        connection.register("incoming", pa.record_batch(stored, names=list(columns)))
        try:
            connection.execute(f"INSERT INTO {target} SELECT * FROM incoming")
        except (engine.ConversionException, engine.OutOfRangeException, engine.InvalidInputException):
            raise _misfit(connection, pa.record_batch(stored, names=list(columns)), columns) from None
        connection.unregister("incoming")
    for name, kind in columns.items():
        if kind.startswith("ENUM"):
            _enumerate(connection, target, name, kind)
    connection.execute("COMMIT")


def _type(connection: duckdb.DuckDBPyConnection, kind: Any, column: PublishedColumn) -> str:
    """Type of a column: the original's, unless the published values are more than it can hold."""
    own, original = _own_type(kind), column.original
    if original is None or original == '"NULL"':
        return own
    if column.as_written:
        return original
    if not column.is_numeric:
        return original if _hold(connection, column.categories, original) else "VARCHAR"
    if original in TEXTS:
        return "VARCHAR"
    if pa.types.is_floating(kind):
        scale = _scale(original)
        is_enough = scale is None or (column.decimals is not None and column.decimals <= scale)
        return original if is_enough else own
    return original


def _own_type(kind: Any) -> str:
    if pa.types.is_integer(kind):
        return "BIGINT"
    if pa.types.is_date(kind):
        return "DATE"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    return "DOUBLE" if pa.types.is_floating(kind) else "VARCHAR"


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


def _misfit(connection: duckdb.DuckDBPyConnection, batch: Any, columns: Mapping[str, str]) -> MisfitError:
    """Error that names the first column with a value that its type cannot hold; the transaction ends."""
    connection.execute("ROLLBACK")
    connection.register("incoming", batch)
    for name, kind in columns.items():
        test = f"TRY_CAST({quoted(name)} AS {kind}) IS NULL AND {quoted(name)} IS NOT NULL"
        if connection.execute(f"SELECT bool_or({test}) FROM incoming").fetchall()[0][0]:
            return MisfitError(name, kind)
    return MisfitError()


def _enumerate(connection: duckdb.DuckDBPyConnection, target: str, name: str, kind: str) -> None:
    """Make an enumeration of the original's categories that are published: the others may say who is not there."""
    there = {row[0] for row in connection.execute(f"SELECT DISTINCT {quoted(name)} FROM {target}").fetchall()}
    order = connection.execute(f"SELECT unnest(enum_range(NULL::{kind}))").fetchall()
    kept = ", ".join(literal(value) for (value,) in order if value in there)
    if kept:
        connection.execute(f"ALTER TABLE {target} ALTER {quoted(name)} TYPE ENUM({kept})")


def write_duckdb(
    path: Path,
    batches: Iterable[Any],
    variables: tuple[Variable, ...],
    table: str,
    types: Mapping[str, str],
    as_written: Collection[str] = (),
) -> None:
    """Write typed batches as the only table of a new DuckDB file, in the original's types where these can hold them."""
    refuse_twice([variable.name for variable in variables], Place(str(path)))
    library()
    with disk_trouble(path):
        # DuckDB makes its file itself, and others beside it: in a folder that no one else can look into.
        folder = Path(tempfile.mkdtemp(prefix=".maskwright-sql-", dir=path.parent))
        try:
            columns = (
                PublishedColumn(
                    each.name, _texts(each), each.is_numeric, each.decimals, types.get(each.name),
                    each.name in as_written,
                )
                for each in variables
            )  # fmt: skip
            made = folder.resolve() / path.name
            answer = _made(Published(str(made), table, tuple(columns)), batches)
            if "done" not in answer:
                raise _failure(path, answer)
            made.chmod(0o600)
            made.replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _texts(variable: Variable) -> tuple[str, ...]:
    """Categories, and what stands in emptied cells."""
    return variable.categories if variable.suppressed_as is None else (*variable.categories, variable.suppressed_as)


def _made(published: Published, batches: Iterable[Any]) -> dict[str, str]:
    """Answer of the process that makes the table."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Our own interpreter and module, no shell.
    process = subprocess.Popen(
        [sys.executable, "-m", "maskwright_builtin.sources.sql.duckdb_writing"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Whoever reads no more has said why, or has ended.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(published.to_json().encode() + b"\n")
            _send(process.stdin, batches)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        result = process.stdout.read()
        process.wait()
        answer: dict[str, str] = (
            json.loads(result) if result.endswith(b"\n") else {"failed": f"code {process.returncode}"}
        )
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
    return answer


def _send(stream: Any, batches: Iterable[Any]) -> None:
    writer: Any = None
    for batch in batches:
        if writer is None:
            # A dictionary may differ from batch to batch.
            writer = pa.ipc.new_stream(stream, batch.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=False))
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def _failure(path: Path, answer: Mapping[str, str]) -> Exception:
    place = Place(str(path))
    if "disk" in answer:
        return OSError(None, answer["disk"])
    if answer.get("column"):
        message = f"variable {answer['column']!r} has masked values that do not fit the original column"
        hint = "Give the original's column a wider type, such as DOUBLE or VARCHAR, or cast it in `query:`."
        return DataError(Problem(f"{message} ({answer['kind']})", place, hint))
    if "column" in answer:
        return DataError(Problem("masked values do not fit the original's columns", place))
    return DataError(Problem(f"DuckDB cannot write the table ({answer['failed']})", place))


def main() -> None:
    """Read what is to be made, and then the records, from standard input; write what became of it as a line of JSON."""
    engine = library()
    published = Published.from_json(sys.stdin.buffer.readline().decode())
    answer: dict[str, str]
    try:
        with pa.ipc.open_stream(sys.stdin.buffer) as batches:
            make_table(published, batches)
        answer = {"done": published.file}
    except MisfitError as error:
        answer = {"column": error.column, "kind": error.kind}
    except (engine.IOException, OSError) as error:
        # What DuckDB says of the disk names the file, and no values.
        answer = {"disk": str(error).splitlines()[0]}
    except engine.Error as error:
        answer = {"failed": type(error).__name__}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
