"""Columns of categories: nominal ones, and ordinal ones in their declared order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dataset import Column
from maskwright.data.missing import HAD_VALUE, NO_CELL, MissingCells, is_code_text
from maskwright.data.number_columns import first_records
from maskwright.data.number_text import is_blank_text, read_numbers
from maskwright.data.variable import Variable, VariableType
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration

LARGEST_STRINGS = 2**31 - 1
"""Bytes that one array of strings can hold."""


def category_column(
    name: str, text: Any, declared: VariableDeclaration, order: tuple[str, ...] | None = None
) -> tuple[Column, list[str]]:
    """Column of a nominal or ordinal variable.

    `text`: null, blank and declared missing codes are missing; shape (n,). `declared`: with categories, those are the
    codes, in that order; otherwise the texts found, sorted. `order`: categories in order, from a source that knows them
    (an ordered dictionary or a pandas categorical).
    """
    encoded = _encoded(text)
    found = pc.cast(encoded.dictionary, pa.string())
    blank = is_blank_text(found) | is_code_text(found, declared.empty_texts)
    listed = order if order is not None and not declared.categories else declared.categories
    kind: VariableType = "ordinal" if declared.type == "ordinal" or (order and declared.type is None) else "nominal"
    # One more code than texts: the last stands for a null cell.
    new_code = np.full(len(found) + 1, -1, dtype=np.int32)
    if listed:
        categories = tuple(listed)
        new_code[:-1] = np.array(pc.fill_null(pc.index_in(found, value_set=pa.array(categories, found.type)), -1))
    else:
        sorted_places = _in_order(name, found, np.flatnonzero(~blank), kind)
        categories = tuple(found.take(pa.array(sorted_places)).to_numpy(zero_copy_only=False).tolist())
        new_code[sorted_places] = np.arange(len(categories))
    old = np.asarray(pc.fill_null(encoded.indices, len(found)))
    codes = new_code[old]
    any_missing = bool(np.any(blank)) or encoded.indices.null_count > 0
    missing = np.append(blank, True)[old] if any_missing else np.zeros(len(codes), dtype=np.bool_)
    if listed:
        codes[missing] = -1
        outside = ~missing & (codes < 0)
        if np.any(outside):
            raise _outside(name, outside)
    variable = Variable(
        name=name,
        type=kind,
        role=declared.role or "other",
        as_is=declared.release == "as is",
        renewed=declared.release == "new",
        inferred_role=declared.role is None,
        unchanged=declared.unchanged,
        unit=declared.unit,
        categories=categories,
        missing_codes=declared.missing_codes,
        missing_meanings=declared.missing_meanings,
        suppressed_as=declared.suppressed_as,
        label=declared.label,
        labels=declared.labels,
    )
    return Column(variable, codes, missing, _missing_cells(found, blank, old) if any_missing else None), []


def _encoded(text: Any) -> Any:
    """Dictionary of a column's texts; of one array, since joining the dictionaries of many is slow."""
    small = text.nbytes < LARGEST_STRINGS
    whole = text.combine_chunks() if small else pc.cast(text, pa.large_string()).combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], pa.string())
    return whole.dictionary_encode()


def _missing_cells(found: Any, blank: NDArray[np.bool_], places: NDArray[Any]) -> MissingCells:
    """How missing cells are written: texts found, which of them say that there is no value, and where each stands."""
    texts = found.filter(pa.array(blank)).to_pylist()
    code = np.full(len(found) + 1, HAD_VALUE, dtype=np.int16 if len(texts) < 2**15 else np.int32)
    code[:-1][blank] = np.arange(len(texts))
    code[-1] = NO_CELL
    return MissingCells(tuple(texts), code[places])


def _in_order(name: str, found: Any, places: NDArray[np.int64], kind: VariableType) -> NDArray[np.int64]:
    """Places of the texts that are categories, sorted: as texts, or as numbers where the variable is ordinal."""
    texts = found.take(pa.array(places))
    if kind == "nominal":
        sorted_places: NDArray[np.int64] = places[np.asarray(pc.sort_indices(texts))]
        return sorted_places
    spoken = read_numbers(texts)
    if not np.all(spoken.is_number):
        hint = f"Declare it: `{name}: {{type: ordinal, categories: [lowest, ..., highest]}}`."
        raise DataError(
            Problem(f"variable {name!r} is ordinal, and the order of its categories is not known", hint=hint)
        )
    return places[np.argsort(spoken.values, kind="stable")]


def _outside(name: str, outside: NDArray[np.bool_]) -> DataError:
    return DataError(
        Problem(
            f"variable {name!r}: {np.count_nonzero(outside)} of {len(outside)} cells are none of the declared "
            f"categories ({first_records(outside)})",
            hint=f"Add what is missing to `categories` of {name}, or list it under `missing` if it means 'no value'.",
        )
    )
