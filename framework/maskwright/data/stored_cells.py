"""Cells as files hold them: of any flat Arrow type, and kept to the byte where no step touches them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.binary_decimals import EXACT
from maskwright.data.missing import HAD_VALUE
from maskwright.data.number_text import write_numbers
from maskwright.foundation.arrays import arrow_array, numbers_of, scalar
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset


def is_number_type(kind: Any) -> bool:
    """Whether an Arrow type holds numbers; truth values, dates and times are none."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def refuse_nested(name: str, kind: Any) -> None:
    """Stop at a column of lists, structures or bytes."""
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    if pa.types.is_nested(kind) or any(test(kind) for test in binary):
        raise DataError(
            Problem(
                f"variable {name!r} holds {kind}, and one flat value was expected",
                hint="Drop the column.",
                variable=name,
            )
        )


def stored_numbers(array: Any) -> NDArray[np.float64]:
    """Nearest binary64 numbers of a column that `is_number_type`; NaN where a cell is null."""
    # Integers beyond 2**53 are rounded here; who needs all their digits takes them from the text.
    floats = pc.cast(array, pa.float64(), safe=False)
    return numbers_of(floats, np.float64)


def stored_text(name: str, array: Any) -> Any:
    """Text of every cell, null where it is null: numbers in canonical form, dates and times as ISO 8601."""
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([stored_text(name, chunk) for chunk in array.chunks], pa.string())
    kind = array.type
    refuse_nested(name, kind)
    if pa.types.is_dictionary(kind):
        return stored_text(name, array.dictionary).take(array.indices)
    if pa.types.is_floating(kind):
        numbers = stored_numbers(array)
        return write_numbers(numbers, np.isnan(numbers), None)
    try:
        text = array.cast(pa.string())
    except pa.ArrowException:
        # Arrow's messages quote the cell.
        hint = "Store it as text, a number or a date."
        message = f"variable {name!r} holds {kind}, of which no text is known"
        raise DataError(Problem(message, hint=hint, variable=name)) from None
    return _plain_decimals(text) if pa.types.is_decimal(kind) else text


def _plain_decimals(text: Any) -> Any:
    """Decimals without trailing zeros, and without the exponent that Arrow writes for small ones."""
    if pc.any(pc.match_substring(text, "E")).as_py():
        text = pa.array([None if cell is None else f"{Decimal(cell):f}" for cell in text.to_pylist()], pa.string())
    bare = pc.utf8_rtrim(pc.utf8_rtrim(text, characters="0"), characters=".")
    return pc.if_else(pc.match_substring(text, "."), bare, text)


def must_be_held(column: Column, cells: Any) -> bool:
    """Whether a typed format holds cells that values and missing cells do not give again."""
    kind = cells.type
    if pa.types.is_floating(kind):
        return bool(pc.any(pc.is_nan(cells)).as_py())
    if pa.types.is_integer(kind):
        return not column.variable.is_numeric or bool(np.any(np.abs(column.values[~column.missing]) >= EXACT))
    return not is_text_type(kind)


def untouched_cells(original: Dataset, masked: Dataset) -> dict[str, Any]:
    """Cells, as the file holds them, of columns in which every masked record has what it had in the original.

    A column of which a single cell differs is left out: cells in the old form would show which are true.
    """
    held = {column.name: column.written for column in original if column.written is not None}
    rows = None if masked.origin is None else rows_of(original, masked)
    taken = (
        (name, held[name] if rows is None else held[name].take(rows))
        for name in untouched_columns(original, masked, held)
    )
    return {name: _with_used_values(cells) for name, cells in taken}


def _with_used_values(cells: Any) -> Any:
    """Cells without the values of a dictionary that no record has."""
    if not pa.types.is_dictionary(cells.type):
        return cells
    whole = cells.unify_dictionaries().combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    used = pc.unique(whole.indices.drop_null()).sort()
    places = pc.cast(pc.index_in(whole.indices, value_set=used), whole.type.index_type)
    return pa.DictionaryArray.from_arrays(places, whole.dictionary.take(used), ordered=whole.type.ordered)


def missing_as_written(original: Dataset, masked: Dataset, others: Collection[str]) -> dict[str, Any]:
    """Cells, as the file holds them, that had no value and have none still: quoted, or bare; others are null."""
    held = {column.name: column for column in original if column.written is not None and column.missing.any()}
    rows = None if masked.origin is None else rows_of(original, masked)
    found = {}
    for column in masked:
        before = held.get(column.name)
        if before is None or column.blank is None or column.name in others or not is_text_type(before.written.type):
            continue
        missing, written = before.missing, before.written
        if rows is not None:
            missing, written = missing[rows], written.take(rows)
        still = missing & column.missing & (column.blank.codes != HAD_VALUE) & ~_other_codes(before, column, rows)
        if still.any():
            found[column.name] = pc.if_else(arrow_array(still), written, scalar(None, written.type))
    return found


def is_text_type(kind: Any) -> bool:
    """Whether an Arrow type holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def untouched_columns(original: Dataset, masked: Dataset, among: Collection[str] | None = None) -> tuple[str, ...]:
    """Names of the columns in which every record has what it had in the original, in the order of `masked`."""
    rows = None if masked.origin is None else rows_of(original, masked)
    common = {column.name: column for column in original if among is None or column.name in among}
    return tuple(each.name for each in masked if each.name in common and _is_same(common[each.name], each, rows))


def rows_of(original: Dataset, masked: Dataset) -> NDArray[np.int64]:
    """Where in the original each masked record stands; both may be counted in a file that they come from."""
    origin = np.arange(len(masked)) if masked.origin is None else masked.origin
    if original.origin is None:
        return np.asarray(origin, dtype=np.int64)
    order = np.argsort(original.origin, kind="stable")
    return np.asarray(order[np.searchsorted(original.origin, origin, sorter=order)], dtype=np.int64)


def _is_same(before: Column, after: Column, rows: NDArray[np.int64] | None) -> bool:
    one, other = before.variable, after.variable
    if (one.is_numeric, one.categories) != (other.is_numeric, other.categories) or before.stored is not None:
        # What was read as decimals is published as these.
        return False
    values, missing = (before.values, before.missing) if rows is None else (before.values[rows], before.missing[rows])
    if len(values) != len(after) or not np.array_equal(missing, after.missing):
        return False
    # The same cells are missing: of those that say so in the original, each has still to say it in the same way.
    known = np.zeros(len(before), dtype=np.bool_) if before.blank is None else ~before.lost_codes
    if np.any(after.lost_codes & (known if rows is None else known[rows])):
        return False
    if _other_codes(before, after, rows).any():
        return False
    return bool(np.array_equal(values, after.values, equal_nan=one.is_numeric))


def _other_codes(before: Column, after: Column, rows: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Cells that say in another way than in the original that there is no value; shape (n,)."""
    if before.blank is None or after.blank is None or before.blank.texts != after.blank.texts:
        return np.zeros(len(after), dtype=np.bool_)
    codes = before.blank.codes if rows is None else before.blank.codes[rows]
    both = (codes != HAD_VALUE) & (after.blank.codes != HAD_VALUE)
    return np.asarray(both & (codes != after.blank.codes))
