"""Arrow tables as datasets, by the code that reads a Parquet file; and masked data as a table like the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dataset import Dataset, Layout
from maskwright.data.date_texts import write_dates
from maskwright.data.inference import read_dataset
from maskwright.data.number_text import write_numbers
from maskwright.data.published import published_batches
from maskwright.data.stored_cells import is_number_type, refuse_nested
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.declaration import VariableDeclaration


def dataset_from_table(table: pa.Table, declared: Mapping[str, VariableDeclaration] | None = None) -> Dataset:
    """Dataset of a table's columns.

    `table`: null is a missing cell, and so is NaN. Text is meant as text, also where all of it is numbers; shape (n,
    p).
    """
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the DataFrame has columns of one name: {', '.join(twice[:5])}")
    if table.num_rows == 0 or not names:
        raise DataError("the DataFrame has no records")
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
    """Masked records as a table, each column in the type of the original where it can hold the masked values.

    `data`: its `origin` counts the records of `table`. `original`: of `table`, record by record. `table`: the original;
    columns that are not in `data` are left out, and new ones come last. `untouched`: columns that no step touched.
    Returns dictionaries hold the values that occur. Metadata of the original are left out.
    """
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
