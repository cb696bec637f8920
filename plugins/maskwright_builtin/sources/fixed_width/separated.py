"""Files with separators whose variables metadata of µ-Argus describe: CSV, with the names from elsewhere."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Any

from maskwright import (
    DataError,
    Layout,
    NumberNotation,
    Place,
    Problem,
    Progress,
    VariableDeclaration,
    WrittenBatch,
)
from maskwright_builtin.sources.csv.dialect import CsvParams
from maskwright_builtin.sources.csv.source import CsvReading
from maskwright_builtin.sources.files import reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from maskwright_builtin.sources.fixed_width.form import FixedWidthParams, Form


class SeparatedReading:
    """A file of cells between separators, with or without names in front."""

    def __init__(self, path: Path, form: Form, params: FixedWidthParams, progress: Progress) -> None:
        self._path = path
        self._form = form
        options = CsvParams(
            delimiter=form.separator,
            quote='"',
            header=form.has_names,
            encoding=params.encoding,
            decimal=params.decimal,
            thousands=None,
            max_file_size=params.max_file_size,
        )
        self._csv = CsvReading(path, options, progress)

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """What the metadata say of the variables."""
        return self._form.declared

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records as string columns."""
        return (batch.cells for batch in self.written_batches())

    def written_batches(self) -> Iterator[WrittenBatch]:
        """Yield the records, and the cells as they are written where that is another form."""
        names = list(self._form.places)
        for batch in self._csv.written_batches():
            there = batch.cells.schema.names
            if len(there) != len(names) or (self._form.has_names and there != names):
                message = f"the file has {len(there)} columns, and the metadata describe {len(names)}, or other names"
                hint = "Metadata of a file with separators describe every column of it, in order."
                raise DataError(Problem(message, Place(str(self._path), 1), hint))
            new = dict(zip(there, names, strict=True))
            written = {new[name]: cells for name, cells in batch.written.items()}
            yield WrittenBatch(batch.cells.rename_columns(names), written)

    @property
    def numbers(self) -> NumberNotation:
        """How the file writes numbers."""
        return self._csv.numbers

    @property
    def layout(self) -> Layout:
        """The dialect."""
        details = dict(self._csv.layout.details)
        details["form"] = details["form"].renamed(self._csv.names, list(self._form.places))
        return Layout("fixed_width", {"separated": details, "notes": (*self._form.notes, *details["notes"])})


def read_separated_plainly(
    path: Path, details: Mapping[str, Any], names: Sequence[str]
) -> Iterator[list[list[str | None]]]:
    """Rows of a written file, by the standard library's reader."""
    with reading(path) as file, io.TextIOWrapper(file, encoding=details["encoding"], newline="") as text:
        rows = csv.reader(text, delimiter=details["delimiter"], quotechar=details["quote"], strict=True)
        next(rows, None) if details["header"] else None
        while block := [row or [""] for row in islice(rows, 1 << 15) if row or len(names) == 1]:
            if any(len(row) != len(names) for row in block):
                raise ValueError("other columns")
            yield [list(row) for row in block]
