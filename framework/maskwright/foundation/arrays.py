"""Arrays of numbers, whole numbers and truth values, between NumPy and Arrow.

`pyarrow.array`, `pyarrow.scalar` and `Array.to_numpy` import pandas where it is installed, which takes longer than
validating a small file. These functions share or copy the buffers instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_Scalar = TypeVar("_Scalar", bound=np.generic)


def truths_of(array: Any, absent: bool = False) -> Booleans:
    """Values of an Arrow array of booleans; `absent`: what a null counts as. Returns shape (n,), a copy."""
    flat = _flat(array)
    values = _bits(flat, flat.buffers()[1])
    if flat.null_count:
        values[~_bits(flat, flat.buffers()[0])] = absent
    return values


def numbers_of(array: Any, dtype: type[_Scalar], absent: float = np.nan) -> NDArray[_Scalar]:
    """Numbers of an Arrow array as `dtype`; `absent`: what a null becomes. Returns shape (n,), a copy."""
    flat = _flat(array).cast(pa.from_numpy_dtype(dtype))
    if not len(flat):
        return np.empty(0, dtype=dtype)
    stored = np.frombuffer(flat.buffers()[1], dtype=dtype)
    values = stored[flat.offset : flat.offset + len(flat)].copy()
    if flat.null_count:
        values[~_bits(flat, flat.buffers()[0])] = absent
    return values


def arrow_array(values: NDArray[Any], missing: Booleans | None = None) -> Any:
    """An Arrow array of numbers or booleans, null where `missing`. `values`: shape (n,). `missing`: shape (n,)."""
    present = None if missing is None or not missing.any() else _packed(~missing)
    held = _packed(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [present, held])


def scalar(value: str | float | None, kind: Any = None) -> Any:
    """One value as Arrow has it, of this type."""
    if value is None:
        return pa.nulls(1, kind)[0]
    one = arrow_texts([value]) if isinstance(value, str) else arrow_array(np.array([value]))
    return (one if kind is None else one.cast(kind))[0]


def arrow_texts(texts: Sequence[str]) -> Any:
    """An Arrow array of strings without nulls."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def _flat(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _bits(array: Any, buffer: Any) -> Booleans:
    """The bits of a buffer that belong to the array."""
    if not len(array):
        return np.empty(0, dtype=np.bool_)
    stored = np.frombuffer(buffer, dtype=np.uint8)
    bits = np.unpackbits(stored, count=array.offset + len(array), bitorder="little")
    return bits[array.offset :].astype(np.bool_)


def _packed(values: Booleans) -> Any:
    return pa.py_buffer(np.packbits(values, bitorder="little"))
