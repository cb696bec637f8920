"""Columns that a typed format holds: integers, floats, decimals, truth values, dates, dictionaries, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.category_columns import category_column
from maskwright.data.date_columns import are_iso_dates, holds_dates, stored_date_column
from maskwright.data.missing import is_code_number, missing_numbers
from maskwright.data.number_columns import EXACT, is_at_end, largest_of, number_column, seen_beyond, stored_decimals
from maskwright.data.stored_cells import is_number_type, stored_numbers, stored_text
from maskwright.data.text_columns import declares_number, text_column
from maskwright.data.undeclared_dates import date_notes

if TYPE_CHECKING:
    from maskwright.data.dataset import Column
    from maskwright.data.declaration import VariableDeclaration


def typed_column(  # noqa: PLR0911 - one return for each type
    name: str, array: Any, declared: VariableDeclaration
) -> tuple[Column, list[str]]:
    """Column of a variable that a typed format stores.

    `array`: null is a missing cell, and so is NaN; shape (n,).
    """
    kind = array.type
    is_category = bool(declared.categories) or declared.type in ("nominal", "ordinal")
    if pa.types.is_null(kind):
        return text_column(name, array.cast(pa.string()), declared)
    if pa.types.is_dictionary(kind):
        return _dictionary_column(name, array, declared)
    if is_number_type(kind):
        if is_category:
            return category_column(name, stored_text(name, array), declared)
        if declared.is_date:
            return text_column(name, stored_text(name, array), declared)
        return _number_column(name, array, declared)
    stated = is_category or (declared.type is not None and not declared.is_date)
    if not stated and holds_dates(array, declared):
        return stored_date_column(name, array, declared)
    text = stored_text(name, array)
    # In a format that has numbers, text is meant as text, but for dates.
    may_be_date = not stated and not pa.types.is_timestamp(kind)
    is_date = may_be_date and (declared.is_date or are_iso_dates(text, declared))
    if is_date or declared.type in ("continuous", "integer"):
        return text_column(name, text, declared)
    column, notes = category_column(name, text, declared)
    if stated or declared.role == "identifier":
        return column, notes
    return column, [*notes, *date_notes(column)]


def _number_column(name: str, array: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    notes: list[str] = []
    is_integer = pa.types.is_integer(array.type)
    missing = np.array(array.is_null(), dtype=np.bool_)
    values = stored_numbers(array)
    if is_at_end(values):
        values = seen_beyond(values, stored_text(name, array))
    if not is_integer:
        no_number = np.isnan(values) & ~missing
        if np.any(no_number):
            notes.append(f"{name}: {np.count_nonzero(no_number)} cells are NaN; read as missing")
            missing = missing | no_number
    absent = missing
    missing = missing | is_code_number(values, declared.empty_texts)
    present = values[~missing] if missing.any() else values
    is_whole = is_integer or (pa.types.is_decimal(array.type) and array.type.scale <= 0)
    if is_whole and not declares_number(declared) and largest_of(present) > EXACT:
        column, more = category_column(name, stored_text(name, array), declared)
        why = "some have more digits than a number can hold"
        return column, [
            *notes,
            *more,
            f"{name}: read as nominal codes, since {why}; declare its type if it is a number",
        ]
    if len(present) == 0:
        notes.append(f"{name}: every cell is missing; read as continuous")
    blank = missing_numbers(values, missing, absent)
    column, more = number_column(name, values, missing, _seen_decimals(array.type, present), declared, blank)
    return column, notes + more


def _seen_decimals(kind: Any, present: Any) -> int | None:
    if pa.types.is_integer(kind):
        return 0
    if pa.types.is_decimal(kind):
        return max(int(kind.scale), 0)
    return stored_decimals(present)


def _dictionary_column(name: str, array: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    text = stored_text(name, array)
    order: tuple[str, ...] | None = None
    if array.type.ordered and declared.type != "nominal" and not declared.categories and array.num_chunks:
        dictionary = array.unify_dictionaries().chunk(0).dictionary
        order = tuple(stored_text(name, dictionary).to_pylist())
    if declared.is_date or declared.type in ("continuous", "integer"):
        return text_column(name, text, declared)
    return category_column(name, text, declared, order)
