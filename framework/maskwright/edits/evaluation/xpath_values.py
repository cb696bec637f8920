"""Values of XPath 1.0 for a chunk of records, and their conversions: node-sets, strings, numbers, booleans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskwright.data.number_text import WHITE_SPACE, read_numbers, write_numbers
from maskwright.data.record_chunk import Cells

Numbers = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nodes:
    """A node-set of at most one child element in each record; XPath knows no dates, rules in YAML count their days."""

    cells: Cells
    has_days: bool = False

    @property
    def present(self) -> Booleans:
        """Whether a record has the element; shape (n,)."""
        return np.logical_not(self.cells.absent)


@dataclass(frozen=True, eq=False)
class Strings:
    """A string in each record, or one for all (`pyarrow.StringArray` or `pyarrow.StringScalar`, never null)."""

    texts: Any


# Numbers and booleans are arrays of shape (n,), or of shape () for constants.
Value = Numbers | Booleans | Nodes | Strings


def absent_cells(n: int) -> Cells:
    """Cells of a variable that no record has."""
    nothing = np.ones(n, dtype=np.bool_)
    return Cells(np.full(n, np.nan), nothing, nothing, None, lambda: pa.nulls(n, pa.string()))


def is_boolean(value: Value) -> bool:
    """Whether a value is of type boolean."""
    return isinstance(value, np.ndarray) and value.dtype == np.bool_


def _bools(mask: Any) -> Booleans:
    truth: Booleans = np.array(mask.as_py() if isinstance(mask, pa.Scalar) else mask, dtype=np.bool_)
    return truth


def same_text(left: Value, right: Value) -> Booleans:
    """Compare as strings."""
    return _bools(pc.equal(as_strings(left), as_strings(right)))


def as_numbers(value: Value) -> Numbers:
    """Convert to numbers, as ``number()`` does (XPath 1.0, section 4.4)."""
    match value:
        case Nodes(cells):
            return cells.numbers if value.has_days else cells.xpath_numbers
        case Strings(texts) if isinstance(texts, pa.Scalar):
            return read_numbers(pa.array([texts.as_py()], pa.string())).values[0:1].reshape(())
        case Strings(texts):
            return read_numbers(texts).values
        case _:
            return value.astype(np.float64, copy=False)


def as_booleans(value: Value) -> Booleans:
    """Convert to truth values, as ``boolean()`` does (XPath 1.0, section 4.3)."""
    match value:
        case Nodes():
            return value.present
        case Strings(texts):
            return _bools(pc.greater(pc.binary_length(texts), 0))
    if value.dtype == np.bool_:
        return value.astype(np.bool_, copy=False)
    return np.asarray(np.logical_and(value != 0, np.logical_not(np.isnan(value))))


def as_strings(value: Value) -> Any:
    """Convert to text, as ``string()`` does (XPath 1.0, section 4.2): StringArray, or StringScalar of a constant."""
    match value:
        case Nodes(cells):
            texts = cells.text()
            flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
            return pc.fill_null(pc.cast(flat, pa.string()), "")
        case Strings(texts):
            return texts
    if value.dtype == np.bool_:
        texts = pc.if_else(pa.array(np.atleast_1d(value)), "true", "false")
    else:
        texts = _number_strings(np.atleast_1d(value).astype(np.float64, copy=False))
    return texts if value.ndim else texts[0]


def single_spaced(texts: Any) -> Any:
    """Text without white space at its ends, and with one space for any inside (XPath 1.0, section 4.2)."""
    trimmed = pc.utf8_trim(texts, characters=WHITE_SPACE)
    return pc.replace_substring_regex(trimmed, pattern=f"[{WHITE_SPACE}]+", replacement=" ")


def _number_strings(numbers: Numbers) -> Any:
    finite = np.isfinite(numbers)
    texts = write_numbers(np.where(finite, numbers, 0.0), np.logical_not(finite), None)
    special = np.where(np.isnan(numbers), "NaN", np.where(numbers > 0, "Infinity", "-Infinity"))
    return pc.if_else(pa.array(finite), texts, pa.array(special.tolist(), pa.string()))


def rounded(numbers: Numbers) -> Numbers:
    """XPath 1.0 section 4.4: the nearest integer, a half goes up; -0.5 and what is above it give negative zero."""
    below = np.floor(numbers)
    # Not floor(x + 0.5): the sum itself rounds, so that 0.49999999999999994 would give 1.
    nearest = np.where(numbers - below >= 0.5, below + 1, below)
    return np.where((numbers >= -0.5) & (numbers < 0.5), np.copysign(0.0, numbers), nearest)
