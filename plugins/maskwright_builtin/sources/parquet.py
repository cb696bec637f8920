"""Parquet microdata: typed columns, null for missing cells, and metadata of pandas."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from maskwright import (
    DataError,
    Format,
    FormatFacts,
    Layout,
    NoParams,
    Place,
    Problem,
    Progress,
    Source,
    Variable,
    VariableDeclaration,
    write_numbers,
)
from maskwright_builtin.sources.files import ROWS, disk_trouble, readable_size, reading

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from pathlib import Path


KEY = b"pandas"
KNOWN = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|boolean|string|str|object")
UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True)
class PandasFrame:
    """A frame as a Parquet file describes it: types that only pandas has (``Int64``), columns that were the index."""

    types: Mapping[str, str] = field(default_factory=dict)
    index: tuple[str, ...] = ()

    @property
    def unnamed_index(self) -> tuple[str, ...]:
        """Columns that hold an index without a name, which no one chose to publish."""
        return tuple(name for name in self.index if UNNAMED_INDEX.fullmatch(name))


def described_frame(schema: Any) -> PandasFrame:
    """Frame that a Parquet file was made of, as far as it says so in a way that is understood."""
    try:
        content = json.loads((schema.metadata or {}).get(KEY, b"{}"))
        pairs = [(each["field_name"], each["numpy_type"]) for each in content.get("columns", ())]
        index = [each for each in content.get("index_columns", ()) if isinstance(each, str)]
    except (ValueError, TypeError, KeyError, AttributeError):
        return PandasFrame()
    names = frozenset(schema.names)
    types = {
        name: kind
        for name, kind in pairs
        if isinstance(name, str) and name in names and isinstance(kind, str) and _is_known(kind, schema.field(name))
    }
    return PandasFrame(types, tuple(name for name in index if name in names))


def _is_known(kind: str, stored: Any) -> bool:
    return bool(KNOWN.fullmatch(kind)) or kind == f"{stored.type}[pyarrow]"


def with_frame(schema: Any, frame: PandasFrame, types: Mapping[str, Any]) -> Any:
    """Schema with metadata from which pandas makes a frame like the original's."""
    kept = {
        name: kind
        for name, kind in frame.types.items()
        if name in schema.names and schema.field(name).type == types.get(name)
    }
    index = [name for name in frame.index if name in schema.names]
    if not kept and not index:
        return schema
    plain = schema.empty_table().to_pandas().astype(kept)
    made = pa.Table.from_pandas(plain.set_index(index) if index else plain, schema, preserve_index=bool(index))
    return schema.with_metadata({KEY: made.schema.metadata[KEY]})


ROWS_OF_GROUP, BYTES_OF_GROUP = 1 << 20, 1 << 28
"""A row group has its own dictionaries and statistics: of small ones, files grow by a quarter."""

DIGITS_OF_INT64 = 19


class ParquetReading:
    """A Parquet file whose columns are all flat."""

    def __init__(self, path: Path, progress: Progress) -> None:
        readable_size(path)
        self._path = path
        self._progress = progress
        place = Place(str(path))
        try:
            with reading(path) as file:
                parquet = pq.ParquetFile(file)
                self._schema, self._records = parquet.schema_arrow, parquet.metadata.num_rows
        except pa.ArrowNotImplementedError:
            hint = "Write it again with types that other programs have too: integers of at most 64 bits."
            raise DataError(Problem("the Parquet file has columns of a type that is not read", place, hint)) from None
        except pa.ArrowException:
            hint = "It may have been cut short, or be another format under this name."
            raise DataError(Problem("the file is not a Parquet file", place, hint)) from None
        self._frame = described_frame(self._schema)
        twice = sorted({name for name in self._schema.names if self._schema.names.count(name) > 1})
        if twice:
            raise DataError(Problem(f"the file names columns twice: {', '.join(twice[:5])}", place))
        nested = [field.name for field in self._schema if not _is_flat(field.type)]
        if nested:
            hint = "Microdata are flat: drop these columns, or give each of their parts a column of its own."
            names = ", ".join(nested[:5])
            raise DataError(Problem(f"columns that are lists, structures or bytes: {names}", place, hint))

    def batches(self) -> Generator[pa.RecordBatch]:
        """Yield the records, typed as in the file."""
        done = 0
        with reading(self._path) as file:
            for batch in self._decoded(file):
                yield batch
                done += batch.num_rows
                self._progress(done / max(self._records, 1))

    def _decoded(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:
        hint = "Some of its pages cannot be decoded; copy it again."
        damaged = DataError(Problem("the Parquet file is damaged", Place(str(self._path)), hint))
        try:
            yield from pq.ParquetFile(file).iter_batches(batch_size=ROWS)
        except MemoryError:  # Arrow's own is one of its exceptions too
            raise
        except pa.ArrowException:
            raise damaged from None
        except OSError as error:
            # Arrow reports pages it cannot decode as trouble with the disk, without an error number.
            if error.errno is not None:
                raise
            raise damaged from None

    @property
    def layout(self) -> Layout:
        """Column types, by name."""
        types = {field.name: field.type for field in self._schema}
        return Layout("parquet", {"types": types, "frame": self._frame})

    @property
    def declared(self) -> dict[str, VariableDeclaration]:
        """Index of a pandas frame that no one named: it identifies records, and is not published."""
        return {name: VariableDeclaration(role="identifier") for name in self._frame.unnamed_index}


def _is_flat(kind: Any) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
                or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind))  # fmt: skip


def write_parquet(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write typed batches as Parquet, each column in the original's type where it can hold the masked values."""
    types = layout.details["types"] if layout.format == "parquet" else {}
    frame = layout.details.get("frame", PandasFrame()) if layout.format == "parquet" else PandasFrame()
    wanted: pa.Schema | None = None
    writer: pq.ParquetWriter | None = None
    gathered: list[Any] = []
    rows = size = 0
    try:
        with disk_trouble(path):
            for batch in batches:
                if wanted is None:
                    pairs = zip(batch.schema, variables, strict=True)
                    fields = [
                        field if field.name in layout.as_written else (field.name, _type(field, variable, types))
                        for field, variable in pairs
                    ]
                    wanted = with_frame(pa.schema(fields), frame, types)
                    writer = pq.ParquetWriter(path, wanted)
                gathered.append(_cast(path, batch, wanted))
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if rows >= ROWS_OF_GROUP or size >= BYTES_OF_GROUP:
                    _write_group(writer, gathered)
                    rows = size = 0
            if gathered:
                _write_group(writer, gathered)
    finally:
        if writer is not None:
            with disk_trouble(path):
                writer.close()


def _write_group(writer: Any, gathered: list[Any]) -> None:
    writer.write_table(pa.Table.from_batches(gathered))
    gathered.clear()


def _type(field: Any, variable: Variable, types: dict[str, Any]) -> Any:
    original = types.get(field.name)
    if original is None or pa.types.is_null(original):
        return field.type
    if pa.types.is_dictionary(original) or not variable.is_numeric:
        # Recoding may have made categories that the original type (a number, a date) has no room for.
        emptied = () if variable.suppressed_as is None else (variable.suppressed_as,)
        return original if _holds(original, (*variable.categories, *emptied)) else pa.string()
    if pa.types.is_integer(original) and pa.types.is_floating(field.type):
        return field.type
    return original


def _holds(kind: Any, texts: tuple[str, ...]) -> bool:
    """Whether a type holds these texts so that the same are read again."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return True
    wanted = pa.array(texts, pa.string())
    try:
        cells = pc.cast(wanted, kind)
        again = _number_text(pc.cast(cells, pa.float64())) if _has_fractions(kind) else pc.cast(cells, pa.string())
    except pa.ArrowException:
        return False
    return bool(again.equals(wanted))


def _has_fractions(kind: Any) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _number_text(column: Any) -> Any:
    return write_numbers(np.asarray(pc.fill_null(column, 0.0)), np.asarray(column.is_null()), None)


def _cast(path: Path, batch: Any, wanted: Any) -> Any:
    columns = []
    for column, declared in zip(batch.columns, wanted, strict=True):
        try:
            # Arrow would write exponents, which are no numbers by the rule that texts are read with.
            worded = pa.types.is_floating(column.type) and not _is_number(declared.type)
            stored = _number_text(column) if worded else column
            if pa.types.is_decimal(declared.type) and pa.types.is_integer(stored.type):
                # Arrow would ask for a type that has room for every integer.
                stored = pc.cast(
                    stored, pa.decimal128(DIGITS_OF_INT64 + max(declared.type.scale, 0), declared.type.scale)
                )
            # Single precision rounds: that is what the original column held.
            columns.append(pc.cast(stored, declared.type, safe=not pa.types.is_floating(declared.type)))
        except pa.ArrowInvalid:
            message = (
                f"variable {declared.name!r} has masked values that do not fit the original column ({declared.type})"
            )
            hint = f"Declare `decimals: 0` for it, or store the original as {column.type}."
            raise DataError(Problem(message, Place(str(path)), hint)) from None
    return pa.record_batch(columns, schema=wanted)


def open_parquet(path: Path, params: Any, progress: Progress) -> ParquetReading:
    """Open a Parquet file of microdata; there are no options."""
    del params
    return ParquetReading(path, progress)


PARQUET = Source(
    name="parquet",
    suffixes=(".parquet", ".pq"),
    open=open_parquet,
    write=write_parquet,
    params=NoParams,
    writes_text=False,
    format=Format(
        holds=FormatFacts(
            types="integers, floats, decimals, truth values, dates, times, texts, dictionaries; flat ones only; a "
            "column whose masked categories are no values of its type becomes text",
            missing_codes="codes stay as values, without what they mean; empty cells are null",
            dates="dates and datetimes",
            precision="that of the column's type",
            texts="any",
            names="any",
            file_itself="pandas' description, without an index that has no name; other metadata stay behind",
        )
    ),
    summary="Typed columns; null is a missing cell.",
)
