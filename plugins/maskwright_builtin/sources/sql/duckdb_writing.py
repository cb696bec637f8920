"""A table written as a DuckDB file of its own, by a process that is told the masked records only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright import DataError, Place, Problem, Variable
from maskwright_builtin.sources.files import disk_trouble
from maskwright_builtin.sources.sql.duckdb_reading import library
from maskwright_builtin.sources.sql.duckdb_table import Published, PublishedColumn
from maskwright_builtin.sources.sql.options import refuse_twice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

MODULE = "maskwright_builtin.sources.sql.duckdb_table"


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
        # DuckDB makes its file itself, and others beside it: in a folder that nobody else can look into.
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
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", MODULE],
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
        said = process.stdout.read()
        process.wait()
        answer: dict[str, str] = json.loads(said) if said.endswith(b"\n") else {"failed": f"code {process.returncode}"}
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
