"""Cells of any flat Arrow type, as the texts and the numbers that they say: one reading for every reader."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import write_numbers
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_number_type(kind: Any) -> bool:
    """Whether an Arrow type holds numbers; truth values, dates and times are none."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def refuse_nested(name: str, kind: Any) -> None:
    """Stop at a column of lists, structures or bytes."""
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    if pa.types.is_nested(kind) or any(test(kind) for test in binary):
        raise DataError(
            Problem(f"variable {name!r} holds {kind}, and one flat value was expected", hint="Drop the column.")
        )


def stored_numbers(array: Any) -> NDArray[np.float64]:
    """Nearest binary64 numbers of a column of numbers; NaN where a cell is null.

    `array`: of a type that `is_number_type`; shape (n,).
    """
    # Integers beyond 2**53 are rounded here; who needs all their digits takes them from the text.
    floats = pc.cast(array, pa.float64(), safe=False)
    return np.array(pc.fill_null(floats, np.nan) if floats.null_count else floats, dtype=np.float64)


def stored_text(name: str, array: Any) -> Any:
    """Text of every cell, null where it is null: numbers in canonical form, dates and times as ISO 8601.

    `name`: of the variable, for messages. `array`: shape (n,). Returns shape (n,).
    """
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
        raise DataError(Problem(f"variable {name!r} holds {kind}, of which no text is known", hint=hint)) from None
    return _plain_decimals(text) if pa.types.is_decimal(kind) else text


def _plain_decimals(text: Any) -> Any:
    """Decimals without trailing zeros, and without the exponent that Arrow writes for small ones."""
    if pc.any(pc.match_substring(text, "E")).as_py():
        text = pa.array([None if cell is None else f"{Decimal(cell):f}" for cell in text.to_pylist()], pa.string())
    bare = pc.utf8_rtrim(pc.utf8_rtrim(text, characters="0"), characters=".")
    return pc.if_else(pc.match_substring(text, "."), bare, text)
