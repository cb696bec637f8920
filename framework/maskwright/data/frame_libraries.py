"""Data frames and Arrow tables of any library: taken in as datasets, given back in the type that came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dataset import Dataset, Layout
from maskwright.data.date_texts import write_dates
from maskwright.data.inference import read_dataset, refuse_frame
from maskwright.data.number_text import write_numbers
from maskwright.data.published import published_batches
from maskwright.data.stored_cells import is_number_type, refuse_nested
from maskwright.foundation.errors import DataError, InputError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    from narwhals.typing import IntoDataFrame, IntoLazyFrame
    from numpy.typing import NDArray

    class ArrowStream(Protocol):
        """What has the Arrow PyCapsule interface of tables."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            """Stream of record batches."""

    Frame: TypeAlias = pd.DataFrame | IntoDataFrame | IntoLazyFrame | ArrowStream
    Data: TypeAlias = Dataset | Frame
    from maskwright.data.dataset import Column
    from maskwright.data.declaration import VariableDeclaration


ACCEPTED = (
    "a Dataset or a data frame: of pandas, polars, pyarrow, DuckDB or another library that narwhals or the Arrow "
    "PyCapsule interface knows"
)


@dataclass(frozen=True, eq=False)
class TakenIn:
    """Data of a program as the framework reads them; `frame`: collected where it was lazy, known to narwhals."""

    data: Dataset | pd.DataFrame | pa.Table
    given: object
    frame: Any = None
    notices: tuple[str, ...] = ()


def taken_in(data: object, argument: str = "data") -> TakenIn:
    """Take in what a program has; nothing is copied that need not be."""
    import narwhals as nw
    import pandas as pd

    if isinstance(data, (Dataset, pd.DataFrame, pa.Table)):
        return TakenIn(data, data)
    place = Place(f"argument {argument}")
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        library = frame.implementation.value
        notice = f"{argument} is lazy ({library}): all of its records are collected in memory"
        if frame.implementation.is_duckdb():
            _refuse_zones_of_times(data, place)
        # DuckDB and others have no frames in memory of their own.
        collected = frame.collect()
        return TakenIn(_as_table(collected, place), data, collected, (notice,))
    if isinstance(frame, nw.DataFrame):
        return TakenIn(_as_table(frame, place), data, frame)
    if not isinstance(data, type) and hasattr(data, "__arrow_c_stream__"):
        try:
            return TakenIn(pa.table(data), data)
        except (pa.ArrowException, TypeError, ValueError):
            pass
    raise InputError(Problem(f"expected {ACCEPTED}; not {_called(data)}", place, _hint(data)))


def _called(data: object) -> str:
    return "nothing" if data is None else f"a {type(data).__name__}"


def _hint(data: object) -> str | None:
    from os import PathLike

    if isinstance(data, (str, PathLike)):
        return "A file is read first: mw.read(path)."
    if hasattr(data, "to_frame"):
        return "One column is no table: make a data frame of it with to_frame()."
    return None if data is None else "Make a data frame of it: a name for each column, and a record in each row."


def _as_table(frame: Any, place: Place) -> pa.Table:
    try:
        table: pa.Table = frame.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        lacking = {name: frame.schema[name] for name in frame.columns if not _has_arrow_form(frame, name)}
        if not lacking:
            raise
        raise _no_arrow_form(lacking, place) from error
    return table


def _no_arrow_form(types: Mapping[str, object], place: Place) -> DataError:
    listed = ", ".join(f"{name} ({kind})" for name, kind in list(types.items())[:5])
    hint = "Convert them to text, numbers or dates, or drop them."
    return DataError(Problem(f"columns of types that Arrow does not have: {listed}", place, hint))


def _refuse_zones_of_times(relation: Any, place: Place) -> None:
    """DuckDB gives such times to Arrow without their zones, and says nothing."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    zoned = {name: kind for name, kind in types.items() if kind.id == "time with time zone"}
    if zoned:
        raise _no_arrow_form(zoned, place)


def _has_arrow_form(frame: Any, name: str) -> bool:
    try:
        frame.select(name).to_arrow()
    except Exception:  # noqa: BLE001 - libraries differ in what they raise
        return False
    return True


def given_back(
    released: pa.Table, taken: TakenIn, untouched: Collection[str], origin: NDArray[Any] | None = None
) -> object:
    """Released records in the type that came in; `origin`: original record of each, where some were dropped."""
    import narwhals as nw

    given = taken.given
    if isinstance(given, pa.RecordBatch):
        return released.combine_chunks().to_batches()[0]
    if isinstance(given, pa.RecordBatchReader):
        return released.to_reader()
    if taken.frame is None:
        return released
    came: Any = nw.from_native(given, pass_through=True)
    if came.implementation.is_duckdb():
        return _as_relation(released, came.to_native(), untouched if origin is None else ())
    frame = _as_before(nw.from_arrow(released, backend=taken.frame.implementation), taken.frame, untouched, origin)
    if isinstance(came, nw.LazyFrame):
        frame = frame.lazy(backend=came.implementation)
    return frame if came is given else frame.to_native()


def _as_before(frame: Any, original: Any, untouched: Collection[str], origin: NDArray[Any] | None) -> Any:
    """Give columns the types that Arrow does not carry: the library's own categories."""
    import narwhals as nw

    rows = original if origin is None else original[origin.tolist()]
    columns = []
    for name in frame.columns:
        before = original.schema.get(name)
        if name in untouched and (origin is None or not isinstance(before, nw.Enum)):
            columns.append(rows.get_column(name))
        elif isinstance(before, nw.Categorical | nw.Enum):
            values = frame.get_column(name).cast(nw.String)
            occurring = set(values.unique().drop_nulls().to_list())
            listed = before.categories if isinstance(before, nw.Enum) else ()
            is_listed = bool(listed) and occurring <= set(listed)
            columns.append(
                values.cast(nw.Enum([each for each in listed if each in occurring]) if is_listed else nw.Categorical)
            )
    return frame.with_columns(*columns) if columns else frame


def _as_relation(released: pa.Table, original: Any, untouched: Collection[str]) -> Any:
    """Relation of DuckDB; Arrow lacks some of its types, and DuckDB takes dictionaries for texts."""
    import duckdb

    relation = duckdb.from_arrow(released)
    before = dict(zip(original.columns, original.types, strict=True))
    columns = []
    for name, kind in zip(relation.columns, relation.types, strict=True):
        quoted, wanted = '"' + name.replace('"', '""') + '"', before.get(name, kind)
        if name not in untouched and wanted.id == "enum":
            cells = released.column(name)
            codes = cells.chunk(0).dictionary.to_pylist() if pa.types.is_dictionary(cells.type) else ()
            listed = ", ".join("'" + code.replace("'", "''") + "'" for code in codes)
            wanted = f"ENUM({listed})" if codes else kind
        elif name not in untouched:
            wanted = kind
        columns.append(quoted if wanted == kind else f"CAST({quoted} AS {wanted}) AS {quoted}")
    return relation.project(", ".join(columns))


def dataset_from_table(table: pa.Table, declared: Mapping[str, VariableDeclaration] | None = None) -> Dataset:
    """Dataset of a table's columns; null and NaN are missing cells, and text is text, also where it is numbers."""
    refuse_frame(table.column_names, table.num_rows)
    problems: list[Problem] = []
    for field in table.schema:
        try:
            refuse_nested(field.name, field.type)
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return read_dataset(_plain_text(table).to_batches(), Layout("dataframe"), declared, typed=True)


def _plain_text(table: pa.Table) -> pa.Table:
    """Texts that are views of memory as texts: not every function of Arrow takes views."""
    for position, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            plain = pa.dictionary(kind.index_type, pa.large_string(), kind.ordered)
        elif pa.types.is_string_view(kind):
            plain = pa.large_string()
        else:
            continue
        table = table.set_column(position, field.with_type(plain), _recast(table.column(position), plain))
    return table


def _recast(cells: Any, kind: Any) -> Any:
    """Texts, or dictionaries of them, as texts of another type; Arrow does not cast dictionaries."""
    if not pa.types.is_dictionary(kind):
        return cells.cast(kind)
    made = pa.DictionaryArray.from_arrays
    chunks = [made(each.indices, each.dictionary.cast(kind.value_type), ordered=kind.ordered) for each in cells.chunks]
    return pa.chunked_array(chunks, kind)


def released_table(data: Dataset, original: Dataset, table: pa.Table, untouched: Collection[str]) -> pa.Table:
    """Masked records as a table, each column in the type of the original where it can hold the masked values."""
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    table = _plain_text(table)
    plain = pa.Table.from_batches(published_batches(data.without(tuple(untouched)), writes_text=False))
    order = [name for name in table.column_names if name in data]
    order += [name for name in data.names if name not in order]
    rows = np.arange(len(data)) if data.origin is None else data.origin
    fields, columns = [], []
    for name in order:
        held = table.column(name) if name in table.column_names else None
        if held is None:
            cells = plain.column(name)
        elif name in untouched:
            cells = _occurring(held if data.origin is None else held.take(pa.array(rows)))
        else:
            cells = _restored(data[name], original[name], held, plain.column(name), rows)
        if held is not None and cells.type == held.type != types[name]:
            cells = _recast(cells, types[name])
        may_lack = held is None or table.field(name).nullable or cells.null_count > 0
        fields.append(pa.field(name, cells.type, may_lack))
        columns.append(cells)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _restored(after: Column, before: Column, cells: Any, plain: Any, rows: NDArray[np.int64]) -> Any:
    both_missing = np.asarray(before.missing[rows] & after.missing & (~after.lost_codes | before.lost_codes[rows]))
    if not (after.variable.is_numeric or before.variable.is_numeric):
        same = _cells_of_equal_text(after, before, cells, rows, both_missing)
        if same is not None:
            return _occurring(same)
    found = _in_type(plain, after, cells.type)
    if found.type == cells.type and not pa.types.is_dictionary(found.type) and np.any(both_missing):
        # A missing cell keeps the code that it has in the original.
        return pc.if_else(pa.array(both_missing), cells.take(pa.array(rows)), found)
    return found


def _cells_of_equal_text(
    after: Column, before: Column, cells: Any, rows: NDArray[np.int64], both_missing: NDArray[np.bool_]
) -> Any:
    """Cells of the original that say what the masked ones do, whatever their type; None where one says it nowhere."""
    found, places = np.unique(before.values, return_index=True)
    first = {before.variable.categories[code]: place for code, place in zip(found, places, strict=True) if code >= 0}
    stands = np.array([*(first.get(text, -1) for text in after.variable.categories), -1], dtype=np.int64)
    taken = np.where(both_missing, rows, stands[after.values])
    gone = np.asarray(after.missing & ~both_missing)
    if np.any((taken < 0) & ~gone) or (np.any(gone) and after.variable.suppressed_as is not None):
        return None
    return cells.take(pa.array(np.where(gone, 0, taken), mask=gone))


def _in_type(plain: Any, column: Column, kind: Any) -> Any:  # noqa: PLR0911 - one return for each type
    """Cells in a type, or as they are where it cannot hold them."""
    if pa.types.is_dictionary(kind):
        if not _is_text(kind.value_type):
            return plain
        texts = _in_type(plain, column, kind.value_type).combine_chunks()
        encoded = texts.dictionary_encode()
        return pa.chunked_array([encoded])
    if _is_text(kind):
        return pc.cast(_number_text(column) if column.variable.is_numeric else plain, kind)
    if column.variable.is_date:
        return pc.cast(plain, kind) if pa.types.is_temporal(kind) else plain
    if not (column.variable.is_numeric and is_number_type(kind)):
        return plain
    if pa.types.is_decimal(kind):
        plain = pc.cast(plain, pa.float64())
    try:
        # Single precision rounds: that is what the original column held.
        return pc.cast(plain, kind, safe=pa.types.is_integer(kind))
    except pa.ArrowInvalid:
        return plain


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _number_text(column: Column) -> Any:
    if column.variable.is_date:
        return pa.chunked_array([write_dates(column.values, column.missing, column.variable.date_text)])
    return pa.chunked_array([write_numbers(column.values, column.missing, column.variable.decimals)])


def _occurring(cells: Any) -> Any:
    """Cells of a dictionary type whose dictionary holds what occurs, in its order; others as they are."""
    kind = cells.type
    if not pa.types.is_dictionary(kind):
        return cells
    array = cells.unify_dictionaries().combine_chunks() if cells.num_chunks != 1 else cells.chunk(0)
    missing = np.asarray(array.indices.is_null())
    codes = np.asarray(pc.fill_null(array.indices, 0), dtype=np.int64)
    used, places = np.unique(codes[~missing], return_inverse=True)
    new = np.zeros(len(codes), dtype=np.int64)
    new[~missing] = places
    indices = pa.array(new, mask=missing).cast(kind.index_type)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(indices, array.dictionary.take(pa.array(used)), ordered=kind.ordered)]
    )
