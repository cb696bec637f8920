"""Tables of a PostgreSQL server, read through libpq: as a stream of rows in one transaction that can only read."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import pyarrow as pa
import pyarrow.csv as arrow_csv
from pydantic import Field

from maskwright import DataError, Format, FormatFacts, Layout, Place, Problem, Progress, Source, Variable
from maskwright_builtin.sources.files import optional_library
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
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import psycopg

BLOCK = 4 * 1024 * 1024
SECONDS = 10
"""How long to wait for the server, and for a table that another program has locked."""

TYPES = {
    "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64(), "float4": pa.float32(), "float8": pa.float64(),
    "bool": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC"),
}  # fmt: skip
"""Arrow types of the types whose every value they hold; others come as the text that PostgreSQL writes."""
DUCKDB_TYPES = {
    "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE", "bool": "BOOLEAN",
    "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE", "time": "TIME", "uuid": "UUID",
}  # fmt: skip
DIGITS = 38
"""Of the largest decimal that Arrow has."""
NESTED = {"bytea", "hstore", "point", "line", "lseg", "box", "path", "polygon", "circle", "tsvector", "tsquery"}
TRANSACTION = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


EnvironmentVariable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class PostgresqlParams(TableParams, frozen=True):
    """Options of a PostgreSQL server in the pipeline's ``data:`` section; `source` is the name of the database."""

    host: str | None = Field(default=None, min_length=1, description="Server. Left out: PGHOST, or this machine.")
    port: int | None = Field(default=None, ge=1, le=65535, description="Left out: PGPORT, or 5432.")
    user_variable: EnvironmentVariable = Field(default="PGUSER", description="Environment variable with the user.")
    password_variable: EnvironmentVariable = Field(default="PGPASSWORD", description="The same, with the password.")


def library() -> Any:
    """Module `psycopg`, which is optional."""
    return optional_library("psycopg", "tables of PostgreSQL are read", "postgresql")


@contextmanager
def connected(database: str, params: PostgresqlParams) -> Iterator[psycopg.Connection]:
    """Connection in a transaction that can only read, and sees one state of the database."""
    engine, place = library(), Place(database)
    if "=" in database or ":/" in database:
        hint = "Say `source: office`, and `host:` beside it."
        raise DataError(Problem("expected the name of a database, not an address", hint=hint))
    try:
        connection = engine.connect(
            dbname=database, host=params.host, port=params.port, autocommit=True, connect_timeout=SECONDS,
            application_name="maskwright", user=_secret(params, "user_variable", place),
            password=_secret(params, "password_variable", place),
        )  # fmt: skip
    except engine.Error as error:
        raise DataError(_unreached(str(error), params, place)) from None
    try:
        for setting in (
            f"SET lock_timeout = '{SECONDS}s'", "SET TimeZone = 'UTC'", "SET DateStyle = 'ISO'",
            # The same order each time, as long as the table is not changed.
            "SET synchronize_seqscans = off", "SET max_parallel_workers_per_gather = 0",
            TRANSACTION, "SELECT setseed(0.5)",
        ):  # fmt: skip
            connection.execute(setting)
        yield connection
    finally:
        connection.close()


def _secret(params: PostgresqlParams, field: str, place: Place) -> str | None:
    """What an environment variable holds; the usual ones, and ~/.pgpass, libpq looks up itself."""
    name = getattr(params, field)
    if name == PostgresqlParams.model_fields[field].default:
        return None
    if name not in os.environ:
        # Who writes the password itself there must not find it in a log.
        message = f"`{field}` names an environment variable that is not set"
        raise DataError(Problem(message, place, "Write the name of the variable there, never the password."))
    return os.environ[name]


def _unreached(text: str, params: PostgresqlParams, place: Place) -> Problem:
    # What libpq says may quote what it was given.
    server = "that `host:` names" if params.host else "of PGHOST" if os.environ.get("PGHOST") else "on this machine"
    if "password" in text or "authentication" in text:
        hint = f"Set {params.user_variable} and {params.password_variable}, or use ~/.pgpass."
        return Problem(f"the server {server} does not accept this user and password", place, hint)
    if "database" in text and "exist" in text:
        return Problem(f"the server {server} has no such database", place)
    hint = "Check `host:` and `port:`, and whether the server is running and takes connections from here."
    return Problem(f"the server {server} cannot be reached", place, hint)


class PostgresqlReading:
    """A table of a PostgreSQL database, or what a query makes of its tables."""

    def __init__(self, path: Path, params: PostgresqlParams, progress: Progress) -> None:
        self._database, self._params, self._progress = str(path), params, progress
        self._place = Place(self._database)
        self._digest, self._bytes = hashlib.sha256(), 0
        with connected(self._database, params) as connection, self._explained():
            self._table = None if params.query else chosen_table(params, _tables(connection), self._place)
            rows = f"(\n{(params.query or '').rstrip().rstrip(';')}\n) AS asked"
            if self._table is not None:
                rows = self._table.quoted
            # A statement that is prepared is a single one.
            described = connection.execute(f"SELECT * FROM {rows} LIMIT 0".encode(), prepare=True).description or []
            names = [column.name for column in described]
            refuse_twice(names, self._place)
            kinds = _kinds(connection, [column.type_code for column in described])
            refuse_nested([name for name, kind in zip(names, kinds, strict=True) if kind in NESTED], self._place)
            declared = {
                column.name: (kind, column.precision, column.scale)
                for column, kind in zip(described, kinds, strict=True)
            }
            self._types = _arrow_types(connection, rows, declared)
            self._kinds = {name: kind for name, (kind, *_) in declared.items()}
            columns = ", ".join(map(quoted, names))
            order = ordered(params, names, self._place)
            self._copy = f"COPY (SELECT {columns} FROM {rows}{order}) TO STDOUT (FORMAT csv)"

    def blocks(self) -> Iterator[bytes]:
        """Yield rows as CSV, some at a time."""
        with connected(self._database, self._params) as connection, self._explained():
            held: list[bytes] = []
            size = 0
            with connection.cursor() as cursor, cursor.copy(self._copy.encode()) as copy:
                for row in copy:
                    held.append(bytes(row))
                    size += len(held[-1])
                    if size >= BLOCK:
                        yield b"".join(held)
                        held, size = [], 0
            if held:
                yield b"".join(held)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records, typed as in the table."""
        schema = pa.schema(list(self._types.items()))
        self._digest, self._bytes = hashlib.sha256(), 0
        for block in self.blocks():
            self._digest.update(block)
            self._bytes += len(block)
            yield from self._parsed(block, schema)
        if not self._bytes:
            yield pa.RecordBatch.from_pylist([], schema=schema)
        self._progress(1.0)

    def _parsed(self, block: bytes, schema: pa.Schema) -> list[pa.RecordBatch]:
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(block),
                read_options=arrow_csv.ReadOptions(use_threads=False, column_names=schema.names, block_size=2 * BLOCK),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(schema) > 1),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
                    true_values=["t"], false_values=["f"],
                ),
            )  # fmt: skip
        except pa.ArrowException:
            # Arrow's messages quote the row.
            hint = "NaN or infinity in a numeric column, perhaps: cast it to double precision in `query:`."
            raise DataError(Problem("the records cannot be read", self._place, hint)) from None
        batches: list[pa.RecordBatch] = table.to_batches()
        return batches

    @property
    def layout(self) -> Layout:
        """Name of the table, types of the columns as DuckDB names them, and what tells these records from others."""
        name = None if self._table is None else self._table.name
        types = {name: _duckdb_type(kind, self._types[name]) for name, kind in self._kinds.items()}
        details = {"engine": "postgresql", "table": name, "types": types}
        return Layout("sql", details | {"sha256": self._digest.hexdigest(), "bytes": self._bytes})

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what the server says of names and syntax; what it says of values quotes them."""
        engine = library()
        try:
            yield
        except engine.Error as error:
            code, detail = error.sqlstate or "", error.diag.message_primary or ""
            if code == "55P03":
                hint = "Try again when the other program has done."
                raise DataError(Problem("the table is locked by another program", self._place, hint)) from None
            if code == "42501":
                raise DataError(Problem("the user may not read the table", self._place)) from None
            if code in ("25006", "0A000") or "multiple commands" in detail:
                hint = "Nothing is changed in the original: a query is one SELECT, or WITH ... SELECT."
                raise DataError(Problem("`query` is not one SELECT", self._place, hint)) from None
            if re.match("42", code):
                raise DataError(
                    Problem(f"PostgreSQL does not understand what to read: {detail}", self._place)
                ) from None
            message = f"PostgreSQL cannot read the records (code {code or 'unknown'})"
            raise DataError(Problem(message, self._place, "Try what is read in psql.")) from None


def _tables(connection: psycopg.Connection) -> list[Table]:
    found = connection.execute(
        "SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), n.nspname = current_schema() "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' "
        "ORDER BY 4 DESC, 1, 2"
    )
    return [Table(*row) for row in found.fetchall()]


def _kinds(connection: psycopg.Connection, codes: list[int]) -> list[str]:
    """Names of types; those of lists and of rows are ``bytea``, which stands for all that is not flat."""
    found = connection.execute(
        "SELECT t.oid, CASE WHEN t.typcategory = 'A' OR t.typtype = 'c' THEN 'bytea' "
        "WHEN t.typtype = 'd' THEN b.typname ELSE t.typname END "
        "FROM pg_type t LEFT JOIN pg_type b ON b.oid = t.typbasetype WHERE t.oid = ANY(%s)",
        (codes,),
    )
    names: dict[int, str] = dict(found.fetchall())
    return [str(names[code]) for code in codes]


def _arrow_types(
    connection: psycopg.Connection, rows: str, declared: dict[str, tuple[str, int | None, int | None]]
) -> dict[str, Any]:
    types: dict[str, Any] = {}
    wanted: dict[str, str] = {}
    for name, (kind, precision, scale) in declared.items():
        column = quoted(name)
        types[name] = TYPES.get(kind, pa.string())
        if kind == "numeric" and precision is not None and precision <= DIGITS and 0 <= (scale or 0) <= precision:
            types[name] = pa.decimal128(precision, scale or 0)
        elif kind == "numeric":
            digits = f"max(length(trunc(abs({column}))::text)) + coalesce(max(scale({column})), 0)"
            is_special = f"bool_or({column}::text IN ('NaN', 'Infinity', '-Infinity'))"
            wanted[name] = f"CASE WHEN {is_special} THEN NULL ELSE ARRAY[{digits}, max(scale({column}))] END"
        elif kind in ("date", "timestamp", "timestamptz"):
            day = f"{column} NOT BETWEEN '0001-01-01' AND '9999-12-31'"
            wanted[name] = f"CASE WHEN bool_or(NOT isfinite({column}) OR {day}) THEN NULL ELSE ARRAY[1, 0] END"
    if wanted:
        found = connection.execute(f"SELECT {', '.join(wanted.values())} FROM {rows}".encode()).fetchone() or ()
        for name, each in zip(wanted, found, strict=True):
            is_numeric = declared[name][0] == "numeric"
            if is_numeric and each is not None and each[0] is not None and each[0] <= DIGITS:
                types[name] = pa.decimal128(DIGITS, each[1])
            elif each is None:
                types[name] = pa.float64() if is_numeric else pa.string()
    return types


def _duckdb_type(kind: str, arrow: Any) -> str:
    if pa.types.is_decimal(arrow):
        return f"DECIMAL({arrow.precision},{arrow.scale})"
    return DUCKDB_TYPES.get(kind, "DOUBLE" if pa.types.is_floating(arrow) else "VARCHAR")


def open_postgresql(path: Path, params: PostgresqlParams, progress: Progress) -> PostgresqlReading:
    """Open a table of a PostgreSQL database; the environment names the user."""
    return PostgresqlReading(path, params, progress)


def content(path: Path, params: PostgresqlParams) -> Iterator[bytes]:
    """Yield what the table holds, to see whether it is still the same."""
    return PostgresqlReading(path, params, lambda _: None).blocks()


def write_postgresql(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> NoReturn:
    """Refuse: a release is moved into place as files, all or none, and a server's tables cannot be among them."""
    del path, batches, variables, layout
    hint = "Write a file (.duckdb, .csv, .parquet), look at the report, and load it with COPY or psql."
    raise DataError(Problem("masked data are not written to a server", hint=hint))


POSTGRESQL = Source(
    name="postgresql",
    suffixes=(),
    open=open_postgresql,
    write=write_postgresql,
    params=PostgresqlParams,
    writes_text=False,
    format=Format(
        holds=FormatFacts(
            types="those of PostgreSQL, but for nested ones and bytes",
            missing_codes="codes are values, without what they mean; empty cells are NULL",
            dates="date and timestamp",
            precision="that of the column's type",
            texts="any",
            names="any",
            order="not defined; `order_by` sets it",
        ),
        not_written="Write a file (.duckdb, .csv, .parquet), look at the report, and load it with COPY or psql.",
    ),
    summary="A table of a PostgreSQL server, or one SELECT; to read only.",
    content=content,
)
