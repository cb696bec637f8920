"""Columns of cell texts and of categories: whether they are numbers, dates, codes or categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.binary_decimals import EXACT
from maskwright.data.column_doubts import declared_missing, missing_value_texts
from maskwright.data.dataset import Column
from maskwright.data.date_columns import are_iso_dates, date_text_column
from maskwright.data.declaration import variable_of
from maskwright.data.missing import HAD_VALUE, NO_CELL, MissingCells, is_code_text, missing_texts
from maskwright.data.notations import NEARLY_ALL, PLAIN, NumberNotation, date_notes
from maskwright.data.number_columns import first_record, first_records, largest_of, number_column, seen_beyond
from maskwright.data.number_text import (
    LARGEST_STRINGS,
    MOST_DIGITS,
    NumberText,
    cell_bytes,
    is_blank_text,
    other_bytes,
    read_many_numbers,
    read_numbers,
)
from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, scalar
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.variable import VariableType


def category_column(
    name: str, text: Any, declared: VariableDeclaration, order: tuple[str, ...] | None = None
) -> tuple[Column, list[str]]:
    """Column of a nominal or ordinal variable; null, blank and declared missing codes are missing."""
    encoded = _encoded(text)
    found = pc.cast(encoded.dictionary, pa.string())
    blank = is_blank_text(found) | is_code_text(found, declared.empty_texts)
    listed = order if order is not None and not declared.categories else declared.categories
    kind: VariableType = "ordinal" if declared.type == "ordinal" or (order and declared.type is None) else "nominal"
    # One more code than texts: the last stands for a null cell.
    new_code = np.full(len(found) + 1, -1, dtype=np.int32)
    if listed:
        categories = tuple(listed)
        new_code[:-1] = numbers_of(pc.index_in(found, value_set=arrow_texts(categories).cast(found.type)), np.int32, -1)
    else:
        sorted_places = _in_order(name, found, np.flatnonzero(~blank), kind)
        categories = tuple(found.take(arrow_array(sorted_places)).to_pylist())
        new_code[sorted_places] = np.arange(len(categories))
    old = numbers_of(encoded.indices, np.int64, len(found))
    codes = new_code[old]
    any_missing = bool(np.any(blank)) or encoded.indices.null_count > 0
    missing = np.append(blank, True)[old] if any_missing else np.zeros(len(codes), dtype=np.bool_)
    if listed:
        codes[missing] = -1
        outside = ~missing & (codes < 0)
        if np.any(outside):
            raise _outside(name, outside)
    is_new = declared.release == "new"
    variable = variable_of(name, kind, "other", declared, renewed=is_new, categories=categories)
    return Column(variable, codes, missing, _missing_cells(found, blank, old) if any_missing else None), []


def _encoded(text: Any) -> Any:
    """Dictionary of a column's texts; of one array, since joining the dictionaries of many is slow."""
    small = text.nbytes < LARGEST_STRINGS
    whole = text.combine_chunks() if small else pc.cast(text, pa.large_string()).combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else arrow_texts([])
    return whole.dictionary_encode()


def _missing_cells(found: Any, blank: NDArray[np.bool_], places: NDArray[Any]) -> MissingCells:
    """How missing cells are written: texts found, which of them say that there is no value, and where each stands."""
    texts = found.filter(arrow_array(blank)).to_pylist()
    code = np.full(len(found) + 1, HAD_VALUE, dtype=np.int16 if len(texts) < 2**15 else np.int32)
    code[:-1][blank] = np.arange(len(texts))
    code[-1] = NO_CELL
    return MissingCells(tuple(texts), code[places])


def _in_order(name: str, found: Any, places: NDArray[np.int64], kind: VariableType) -> NDArray[np.int64]:
    """Places of the texts that are categories, sorted: as texts, or as numbers where the variable is ordinal."""
    texts = found.take(arrow_array(places))
    if kind == "nominal":
        sorted_places: NDArray[np.int64] = places[numbers_of(pc.sort_indices(texts), np.int64)]
        return sorted_places
    parsed = read_numbers(texts)
    if not np.all(parsed.is_number):
        hint = f"Declare it: `{name}: {{type: ordinal, categories: [lowest, ..., highest]}}`."
        raise DataError(
            Problem(
                f"variable {name!r} is ordinal, and the order of its categories is not known", hint=hint, variable=name
            )
        )
    return places[np.argsort(parsed.values, kind="stable")]


def _outside(name: str, outside: NDArray[np.bool_]) -> DataError:
    message = (
        f"variable {name!r}: {np.count_nonzero(outside)} of {len(outside)} cells are none of the declared "
        f"categories ({first_records(outside)})"
    )
    hint = f"Add what is missing to `categories` of {name}, or list it under `missing` if it means 'no value'."
    return DataError(Problem(message, hint=hint, variable=name, record=first_record(outside)))


NO_NUMBER = "?"
BARE_EXPONENT = r"^[ \t\r\n]*[0-9]+[eE][0-9]+[ \t\r\n]*$"
DECIMAL_COMMA = r"^[ \t\r\n]*-?[0-9]+,[0-9]+[ \t\r\n]*$"


@dataclass
class _Numbers:
    """What the cells of a column say as numbers."""

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    other: NDArray[np.bool_]
    decimals: int
    leading_zeros: int
    fewest_digits: int = MOST_DIGITS
    most_digits: int = 0
    only_digits: bool = True
    foreign: int = 0
    exponents: int = 0

    @property
    def digits(self) -> int | None:
        """Digits after the point, where all numbers are written with as many and there are some."""
        return self.most_digits if 0 < self.most_digits == self.fewest_digits else None


def text_column(
    name: str, text: Any, declared: VariableDeclaration, notation: NumberNotation = PLAIN
) -> tuple[Column, list[str]]:
    """Column of a variable whose cells are text in the file; null (no cell) and blank ones are missing."""
    if declared.categories or declared.type in ("nominal", "ordinal"):
        return category_column(name, text, declared)
    if declared.is_date:
        return date_text_column(name, text, declared)
    must_be_numeric = declares_number(declared)
    numbers = _numbers(text, declared, notation, must_be_numeric=must_be_numeric)
    if numbers is None:
        return _column_of_texts(name, text, declared, may_be_dates=True)
    present = len(numbers.missing) - int(np.count_nonzero(numbers.missing))
    others = int(np.count_nonzero(numbers.other))
    if others:
        if must_be_numeric or present - others >= NEARLY_ALL * present:
            raise _not_numbers(name, numbers, text, declared, notation)
        return _column_of_texts(name, text, declared, may_be_dates=others == present)
    notes: list[str] = []
    if not must_be_numeric:
        reason = _why_codes(numbers)
        if reason is not None:
            column, more = category_column(name, text, declared)
            return column, [
                *notes,
                *more,
                f"{name}: read as nominal codes, since {reason}; declare its type if it is a number",
            ]
    if present == 0:
        notes.append(f"{name}: every cell is missing; read as continuous")
    blank = missing_texts(text, numbers.missing)
    column, more = number_column(
        name, numbers.values, numbers.missing, numbers.decimals, declared, blank, numbers.digits
    )
    is_canonical = numbers.only_digits and not numbers.leading_zeros
    return column if is_canonical else replace(column, written=text), notes + more


def _column_of_texts(
    name: str, text: Any, declared: VariableDeclaration, *, may_be_dates: bool
) -> tuple[Column, list[str]]:
    """Column of cells that are no numbers: dates, or categories."""
    if may_be_dates and are_iso_dates(text, declared):
        return date_text_column(name, text, declared)
    column, notes = category_column(name, text, declared)
    return column, [*notes, *_decimal_commas(name, text), *date_notes(column)]


def declares_number(declared: VariableDeclaration) -> bool:
    """Whether a declaration says that a variable is a number."""
    numeric = declared.type in ("continuous", "integer")
    return numeric or any(fact is not None for fact in (declared.decimals, declared.min, declared.max))


def _numbers(
    text: Any, declared: VariableDeclaration, notation: NumberNotation, *, must_be_numeric: bool
) -> _Numbers | None:
    """What the cells say as numbers; None once more of them are no numbers than a column of numbers may have."""
    n = len(text)
    most_others = n if must_be_numeric else (1 - NEARLY_ALL) * n + 1
    others = 0
    found = _Numbers(np.empty(n), np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_), 0, 0)
    start = 0
    for chunk in text.chunks:
        coded = is_code_text(chunk, declared.empty_texts)
        plain = chunk
        cells = _without(chunk, coded)
        # With a decimal point, cells that all are numbers to XPath are the same numbers in every notation.
        parsed = read_many_numbers(cells) if notation.decimal == "." else None
        if parsed is None or not np.all(parsed.is_number | parsed.is_blank):
            plain, foreign = notation.plain(chunk)
            if plain is not chunk:
                coded |= is_code_text(plain, declared.empty_texts)
                found.exponents += pc.sum(pc.match_substring_regex(chunk, BARE_EXPONENT)).as_py() or 0
            if foreign is not None:
                plain = pc.if_else(arrow_array(foreign), scalar(NO_NUMBER), plain)
                found.foreign += int(np.count_nonzero(foreign & ~coded))
            if parsed is None or plain is not chunk:
                cells = _without(plain, coded)
                parsed = read_many_numbers(cells)
        part = slice(start, start + len(chunk))
        found.values[part] = seen_beyond(parsed.values, cells)
        found.missing[part] = parsed.is_blank
        found.other[part] = ~parsed.is_blank & ~parsed.is_number
        others += int(np.count_nonzero(found.other[part]))
        if others > most_others:
            return None
        found.decimals = max(found.decimals, parsed.decimals)
        fewest, most = _written_digits(chunk, cells, parsed)
        found.fewest_digits = min(found.fewest_digits, fewest)
        found.most_digits = max(found.most_digits, most)
        found.only_digits &= parsed.only_digits and plain is chunk
        found.leading_zeros += parsed.leading_zeros
        start += len(chunk)
    return found


def _without(cells: Any, coded: NDArray[np.bool_]) -> Any:
    """Cells, null in place of missing codes."""
    return pc.if_else(arrow_array(coded), scalar(None, cells.type), cells) if np.any(coded) else cells


def _written_digits(chunk: Any, cells: Any, spoken: NumberText) -> tuple[int, int]:
    """Fewest and most digits after the point, but for numbers with an exponent: 1e5 says nothing of the others."""
    if cells is chunk and np.all(spoken.is_number | spoken.is_blank):
        return spoken.digits
    if b"e" not in other_bytes(chunk).lower():
        return spoken.digits
    has_power = pc.match_substring_regex(chunk, r"[0-9.][eE][-+0-9]")
    return read_many_numbers(pc.if_else(has_power, scalar(None, chunk.type), cells)).digits


def _why_codes(numbers: _Numbers) -> str | None:
    if numbers.leading_zeros:
        many = "1 cell has" if numbers.leading_zeros == 1 else f"{numbers.leading_zeros} cells have"
        return f"{many} leading zeros"
    largest = largest_of(numbers.values[~numbers.missing] if numbers.missing.any() else numbers.values)
    if 0 < numbers.exponents == int(np.count_nonzero(~numbers.missing)):
        return "all are digits with an E among them"
    if np.isinf(largest) or (numbers.decimals == 0 and largest > EXACT):
        return "some have more digits than a number can hold"
    return None


def _not_numbers(
    name: str, numbers: _Numbers, text: Any, declared: VariableDeclaration, notation: NumberNotation
) -> DataError:
    other = numbers.other
    why = "the variable is declared a number" if declares_number(declared) else "nearly all cells are"
    count = int(np.count_nonzero(other))
    words = missing_value_texts(text.filter(arrow_array(other)))
    missing = declared_missing(name, words) if words else f"`{name}: {{missing: [...]}}`"
    way = "Correct them; or"
    if notation.decimal == "." and _decimal_commas(name, text):
        way = 'Declare `decimal: ","` in the data section if the comma is the decimal mark. Or correct them; or'
    pointed = f", {numbers.foreign} of them with a point where {notation.decimal!r} is the decimal mark"
    return DataError(
        Problem(
            f"variable {name!r}: {count} of {len(other)} cells {'is' if count == 1 else 'are'} not a number, and {why} "
            f"({first_records(other)}{pointed if numbers.foreign else ''})",
            hint=f"{way} declare {missing} with the texts that mean 'no value', or "
            f"`{name}: {{type: nominal}}` if it holds categories.",
            variable=name,
            record=first_record(other),
        )
    )


def _decimal_commas(name: str, text: Any) -> list[str]:
    with_comma = sum(
        pc.sum(pc.match_substring_regex(chunk, DECIMAL_COMMA)).as_py() or 0
        for chunk in text.chunks
        if b"," in cell_bytes(chunk)
    )
    if with_comma == 0:
        return []
    what = "numbers with a decimal comma or thousands separators"
    return [f"{name}: read as nominal, and {with_comma} cells look like {what} (CSV, XML: `decimal: ','`)"]
