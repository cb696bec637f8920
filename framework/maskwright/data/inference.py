"""From batches of cells to a dataset: gathered, then typed column by column."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright.data.binary_decimals import EXACT
from maskwright.data.column_doubts import apart_doubt, doubtful_names, misread_doubt, missing_notes
from maskwright.data.dataset import Column, Dataset, Layout, WrittenBatch
from maskwright.data.date_columns import are_iso_dates, date_doubt, holds_dates, stored_date_column
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.hierarchies.building import with_hierarchy
from maskwright.data.missing import is_code_number, missing_numbers
from maskwright.data.notations import PLAIN, Marks, NumberNotation, date_notes, thousands_doubt
from maskwright.data.number_columns import is_at_end, largest_of, number_column, seen_beyond, stored_decimals
from maskwright.data.stored_cells import is_number_type, must_be_held, stored_numbers, stored_text
from maskwright.data.text_columns import category_column, declares_number, text_column
from maskwright.foundation.arrays import truths_of
from maskwright.foundation.errors import DataError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.processes.resources import processors
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from maskwright.foundation.doubts import Doubt


def typed_column(  # noqa: PLR0911 - one return for each type
    name: str, array: Any, declared: VariableDeclaration
) -> tuple[Column, list[str]]:
    """Column of a variable that a typed format stores. `array`: null is a missing cell, and so is NaN; shape (n,)."""
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
    if stated or declared.is_identifier:
        return column, notes
    return column, [*notes, *date_notes(column)]


def _number_column(name: str, array: Any, declared: VariableDeclaration) -> tuple[Column, list[str]]:
    notes: list[str] = []
    is_integer = pa.types.is_integer(array.type)
    missing = truths_of(array.is_null())
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


UNDECLARED = VariableDeclaration()

WORTH_THREADS = 100_000
MOST_THREADS = 4
"""Each thread holds the text and the numbers of a column."""


def read_dataset(
    batches: Iterable[Any],
    layout: Layout | Callable[[], Layout],
    declared: Mapping[str, VariableDeclaration] | None = None,
    progress: Progress = silent,
    file: str | None = None,
    notation: NumberNotation = PLAIN,
    *,
    typed: bool = False,
    again: bool = False,
) -> Dataset:
    """Gather the batches of a source and decide what each variable is."""
    names, kinds, gathered, written = _gathered(batches)
    place = Place(file) if file is not None else None
    layout = layout() if callable(layout) else layout
    declarations = declared or {}
    records = sum(map(len, gathered[0])) if names else 0
    if records == 0:
        hint = "A file of one row has names only; in CSV, `header: false` says that this row is a record."
        raise DataError(Problem("the file has no records", place, hint))
    refuse_undescribed(names, declarations, place)
    typed = typed or not all(_is_text(kind) for kind in kinds)
    columns: list[Column] = []
    notes: list[str] = list(layout.details.get("notes", ()))
    doubts: list[Doubt] = list(doubtful_names(names)) if typed and not again else []
    problems: list[Problem] = []
    marks = Marks()
    looked_at = marks if layout.details.get("marks_may_differ") and not again else None

    def typed_one(position: int) -> _Typed | DataError:
        # The chunks of a column are let go as soon as it is typed: text and numbers of the whole file never coexist.
        chunks, gathered[position] = gathered[position], []
        name, cells = names[position], pa.chunked_array(chunks, kinds[position])
        stated = declarations.get(name, UNDECLARED)
        try:
            found = _typed_one(name, cells, written.pop(name, None), stated, None if typed else notation, looked_at)
            if again:
                return found
            is_dictionary = pa.types.is_dictionary(cells.type)
            doubts = doubts_of(found.column, cells, stated, None if typed else notation, is_dictionary=is_dictionary)
            return replace(found, doubts=doubts)
        except DataError as error:
            return error

    for position, found in enumerate(_in_order(typed_one, len(names), threads=records >= WORTH_THREADS)):
        if isinstance(found, DataError):
            problems += [replace(problem, place=problem.place or place) for problem in found.problems]
        else:
            columns.append(found.column)
            notes += found.notes
            doubts += found.doubts
        progress((position + 1) / len(names))
    if problems:
        raise DataError(problems)
    # Threads may have looked at the columns in another order.
    doubts += sorted(marks.doubts(notation), key=lambda doubt: names.index(doubt.subject))
    return Dataset(tuple(columns), layout, notes=(*notes, *missing_notes(columns)), doubts=tuple(doubts))


@dataclass(frozen=True)
class _Typed:
    """A column, and what is to be said of it."""

    column: Column
    notes: list[str]
    doubts: list[Doubt]


def _typed_one(
    name: str,
    cells: Any,
    written: list[Any] | None,
    stated: VariableDeclaration,
    notation: NumberNotation | None,
    marks: Marks | None,
) -> _Typed:
    """One column of a file; the notation of its numbers, where the format is of texts."""
    if notation is None:
        column, notes = typed_column(name, cells, stated)
    else:
        column, notes = text_column(name, cells, stated, notation)
    column = with_hierarchy(column, stated.hierarchy)
    if written is not None:
        column = replace(column, written=pa.chunked_array(written))
    elif notation is None and must_be_held(column, cells):
        column = replace(column, written=cells)
    if marks is not None and notation is not None and column.variable.is_numeric:
        marks.look_at(column, cells, stated, notation)
    return _Typed(column, notes, [])


def _in_order(make: Callable[[int], _Typed | DataError], count: int, *, threads: bool) -> Iterator[_Typed | DataError]:
    """What is made of each column, in their order; columns are independent, and most of the work is compiled code."""
    workers = min(MOST_THREADS, processors(), count) if threads else 1
    if workers == 1:
        yield from map(make, range(count))
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(make, range(count))


def doubts_of(
    column: Column, cells: Any, declared: VariableDeclaration, notation: NumberNotation | None, *, is_dictionary: bool
) -> list[Doubt]:
    """Doubts about one column; the notation of its numbers, where they are text."""
    found: list[Doubt | None] = []
    if column.variable.is_numeric:
        found.append(apart_doubt(column, declared))
        if notation is not None:
            found.append(thousands_doubt(column, cells, declared, notation))
    if not is_dictionary:
        mark = (notation or PLAIN).decimal
        found.append(misread_doubt(column, declared, typed=notation is None, decimal=mark))
    found.append(date_doubt(column, declared, typed=notation is None))
    return [doubt for doubt in found if doubt is not None]


def refuse_undescribed(
    names: Sequence[str], declared: Mapping[str, VariableDeclaration], place: Place | None = None
) -> None:
    """Stop at declarations of variables that a file does not have."""
    unknown = [Problem(unknown_name("variable", name, names), place) for name in declared if name not in names]
    if unknown:
        raise DataError(unknown)


def refuse_frame(names: Sequence[str], records: int) -> None:
    """Stop at a data frame without records, or with two columns of one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the DataFrame has columns of one name: {', '.join(twice[:5])}")
    if records == 0 or not names:
        raise DataError("the DataFrame has no records")


def _gathered(batches: Iterable[Any]) -> tuple[list[str], list[Any], list[list[Any]], dict[str, list[Any]]]:
    """Names, types and chunks of the columns; and of some, chunks of their cells as the file holds them."""
    names: list[str] = []
    kinds: list[Any] = []
    gathered: list[list[Any]] = []
    written: dict[str, list[Any]] = {}
    for each in batches:
        batch = each.cells if isinstance(each, WrittenBatch) else each
        held = each.written if isinstance(each, WrittenBatch) else {}
        if not names:
            names, kinds = list(batch.schema.names), list(batch.schema.types)
            gathered = [[] for _ in names]
        for name in held.keys() - written.keys():
            written[name] = list(gathered[names.index(name)])
        for chunks, array in zip(gathered, batch.columns, strict=True):
            chunks.append(array)
        for name, chunks in written.items():
            chunks.append(held.get(name, batch.column(name)))
    return names, kinds, gathered, written


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
