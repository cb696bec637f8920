"""Round-trip check: whether a source gives back the cells, labels and missing codes that it was given to write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.date_texts import write_dates
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.missing import HAD_VALUE, NO_CELL, MissingCells
from maskwright.data.number_text import canonical_text, write_numbers
from maskwright.data.published import ROWS
from maskwright.foundation.errors import DataError, Problem, WrittenOtherwise
from maskwright.plugins.registry import plugins
from maskwright.release.output_format import keeps_code

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any, NoReturn

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.plugins.legal_values import Unheld
    from maskwright.plugins.source import Source


NOTHING = VariableDeclaration()


def label_differences(meant: Dataset, found: Dataset, source: Source) -> Iterator[str]:
    """What a written file says otherwise of its variables, without a code or a label."""
    same_format = meant.layout.format == source.name
    if found.of_file is None or (same_format and meant.of_file is None):
        return
    for column in meant:
        stated = found.of_file.get(column.name, NOTHING)
        if same_format:
            wrong = _differs_from_original(column, (meant.of_file or {}).get(column.name, NOTHING), stated)
        else:
            wrong = _differs_from_variable(column, stated, source)
        if any(wrong.values()):
            yield f"{' and '.join(what for what, is_wrong in wrong.items() if is_wrong)} of column {column.name}"


def _differs_from_original(
    column: Column, original: VariableDeclaration, stated: VariableDeclaration
) -> dict[str, bool]:
    wanted, reported = _meanings(original), _meanings(stated)
    if column.variable.bands:  # codes that recoding took away have no labels any more
        wanted = {code: meaning for code, meaning in wanted.items() if reported.get(code) is not None}
    added = {canonical_text(code): _plain(text) for code, text in column.variable.empty_meanings}
    reported = {code: text for code, text in reported.items() if code in wanted or added.get(code) != text}
    codes = {canonical_text(code) for code, _ in original.missing} & _standing_codes(column)
    return {
        "label": _plain(stated.label) != _plain(original.label),
        "labels of codes": reported != wanted,
        "missing codes": not codes <= {canonical_text(code) for code, _ in stated.missing},
    }


def _differs_from_variable(column: Column, stated: VariableDeclaration, source: Source) -> dict[str, bool]:
    variable = column.variable
    wanted = {canonical_text(code): _plain(text) for code, text in (*variable.labels, *variable.empty_meanings) if text}
    reported = _meanings(stated)
    holds_labels = source.format.holds is not None and bool(source.format.holds.labels)
    held = {} if source.format.missing_codes is None else source.format.missing_codes(variable)
    codes = {canonical_text(code) for code in held.values()}
    return {
        "label": _plain(stated.label) != _plain(variable.label) and (holds_labels or bool(stated.label)),
        "labels of codes": any(wanted.get(code) != meaning for code, meaning in reported.items())
        or (source.format.labels_codes and not _standing_categories(column) & wanted.keys() <= reported.keys()),
        "missing codes": not codes & _standing_codes(column) <= {canonical_text(code) for code, _ in stated.missing},
    }


def _meanings(declared: VariableDeclaration) -> dict[str, str]:
    """What codes mean, those of missing cells among them."""
    return {canonical_text(code): _plain(text) for code, text in (*declared.labels, *declared.missing) if _plain(text)}


def _plain(text: str | None) -> str:
    return (text or "").strip()


def _standing_codes(column: Column) -> set[str]:
    """Missing codes that stand in a cell."""
    if column.blank is None:
        return set()
    counts = np.bincount(column.blank.codes[column.blank.codes >= 0], minlength=len(column.blank.texts))
    return {canonical_text(text) for text, count in zip(column.blank.texts, counts.tolist(), strict=True) if count}


def _standing_categories(column: Column) -> set[str]:
    """Categories that stand in a cell, where all are whole numbers: codes that every format with such labels labels."""
    categories = column.variable.categories
    if not all(code.removeprefix("-").isdigit() and canonical_text(code) == code for code in categories):
        return set()
    present = np.unique(column.values[~column.missing]).astype(np.int64)
    return {categories[place] for place in present.tolist()} if categories else set()


TIME = r"^(\d\d:\d\d:\d\d)(?:(\.\d*[1-9])|\.)0*$"
"""A time of day with zeros at its end."""
MOST_DIFFERENCES = 5
"""Columns that are named."""


@dataclass(frozen=True)
class _Difference:
    """Cells of a column that are not what was meant: how many, and the first of them, counted from 0."""

    name: str
    cells: int
    first: int


def refuse_difference(meant: Dataset, found: Dataset, source: Source, held: Mapping[str, Any] | None = None) -> None:
    """Stop unless a file holds what its source was given: the same columns, and the same cells in the same order.

    A file that says of its variables what they and their codes mean has to say what was meant, too.

    `held`: columns that were given exactly as the original held them; see `untouched_cells`; shape (n,).
    """
    messages = [*_column_differences(meant.names, found.names)]
    if len(meant) != len(found):
        messages.append(f"{len(found):,} records instead of {len(meant):,}")
    notes = [each for each in meant.names if each in found]
    same_format = meant.layout.format == source.name
    different = [
        _difference(
            meant[name], found[name], (held or {}).get(name),
            frozenset() if same_format else _lost_codes(meant[name], source), source.format.loses,
        )
        for name in notes
    ]  # fmt: skip
    wrong = sorted((each for each in different if each is not None), key=lambda each: each.first)
    for each in wrong[:MOST_DIFFERENCES]:
        more = f" and {each.cells - 1:,} more" if each.cells > 1 else ""
        messages.append(f"row {each.first + 1}{more}, column {each.name}")
    if len(wrong) > MOST_DIFFERENCES:
        messages.append(f"and {len(wrong) - MOST_DIFFERENCES} more columns")
    otherwise = list(label_differences(meant, found, source))
    if otherwise:
        more = f", and {len(otherwise) - MOST_DIFFERENCES} more" if len(otherwise) > MOST_DIFFERENCES else ""
        messages.append(f"the file says otherwise: {', '.join(otherwise[:MOST_DIFFERENCES])}{more}")
    if messages:
        refuse_written(source, "; ".join(messages))


def refuse_written(source: Source, difference: str) -> NoReturn:
    """Stop because of what a source wrote."""
    info = plugins().info("source", source.name)
    package = f"package {info.distribution} {info.version}"
    raise WrittenOtherwise(
        Problem(
            f"source {source.name!r} of {package} does not give back what it was given to write: {difference}",
            hint="Nothing was released. This is a mistake in that package, in how it writes or how it reads: report it "
            "there, or write another format.",
        )
    )


def _column_differences(meant: Sequence[str], found: Sequence[str]) -> Iterator[str]:
    missing = [name for name in meant if name not in found]
    added = [name for name in found if name not in meant]
    if missing:
        yield f"without column {', '.join(missing[:MOST_DIFFERENCES])}"
    if added:
        # A name that no one gave may be a value.
        yield f"with {len(added)} more column{'' if len(added) == 1 else 's'}"
    if not missing and not added and tuple(meant) != tuple(found):
        yield "columns in another order"


def _difference(
    meant: Column, found: Column, held: Any, lost: Collection[str], loses: AbstractSet[Unheld]
) -> _Difference | None:
    """Compare the records that both have, a part at a time."""
    n = min(len(meant), len(found))
    compared = _Compared(meant, found, lost, loses)
    cells, first = 0, n
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        differing = np.flatnonzero(compared.differing(rows) | _differ_as_held(held, found, rows))
        if len(differing):
            first = min(first, start + int(differing[0]))
            cells += len(differing)
    return _Difference(meant.name, cells, first) if cells else None


def _differ_as_held(held: Any, found: Column, rows: slice) -> Any:
    """Cells that are not exactly those of the original, where binary64 does not tell: integers beyond 2 ** 53."""
    if held is None or found.written is None or held.type != found.written.type or not _is_exact(held.type):
        return False
    one, other = (each.slice(rows.start, rows.stop - rows.start) for each in (held, found.written))
    same = pc.fill_null(pc.equal(one, other), False)
    return ~np.asarray(pc.or_(same, pc.and_(pc.is_null(one), pc.is_null(other))))


def _is_exact(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_temporal(kind))


class _Compared:
    """A column as it was meant beside the same as it was found."""

    def __init__(self, meant: Column, found: Column, lost: Collection[str], loses: AbstractSet[Unheld]) -> None:
        self.meant, self.found = meant, found
        self.same_kind = meant.variable.is_numeric == found.variable.is_numeric
        self.meant_codes = _code_texts(meant, lost)
        self.found_codes = _code_texts(found)
        self.loses = loses

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where each category of the found column is among those that were meant; -2: nowhere. The last: missing."""
        known = {text: place for place, text in enumerate(self.meant.variable.categories)}
        return np.array([*(known.get(text, -2) for text in self.found.variable.categories), -1])

    def differing(self, rows: slice) -> NDArray[np.bool_]:
        """Which of these records have another cell; shape (rows,)."""
        missing, gone = self.meant.missing[rows], self.found.missing[rows]
        if self.same_kind:
            numeric = self.meant.variable.is_numeric
            found = self.found.values[rows] if numeric else self.places[self.found.values[rows]]
            differing = np.asarray(self.meant.values[rows] != found)
        else:
            differing = np.ones(len(missing), dtype=np.bool_)
        differing |= missing | gone
        if self.meant.blank is not None and self.found.blank is not None:
            both = missing & gone
            one, other = _codes(self.meant, rows), _codes(self.found, rows)
            differing[both] = self.meant_codes[one[both]] != self.found_codes[other[both]]
        # Not the same binary number, or no value here and one there: perhaps the same text all the same.
        odd = np.flatnonzero(differing)
        if len(odd):
            at = odd + rows.start
            one_text, other_text = (
                _texts(self.meant, at, self.meant_codes, self.meant),
                _texts(self.found, at, self.found_codes, self.meant),
            )
            differing[odd] = np.asarray(pc.not_equal(_as_held(one_text, self.loses), _as_held(other_text, self.loses)))
        return differing


def _texts(column: Column, rows: NDArray[np.int64], codes: NDArray[np.object_], like: Column) -> Any:
    """Canonical texts of these cells: numbers and dates as those of `like` are published."""
    values, missing = column.values[rows], column.missing[rows]
    variable = like.variable if like.variable.is_numeric == column.variable.is_numeric else column.variable
    if variable.is_numeric:
        texts = _number_texts(values, missing, variable)
    else:
        texts = column.variable.category_texts.take(pa.array(values, mask=np.asarray(missing)))
    places = np.full(len(rows), HAD_VALUE) if column.blank is None else column.blank.codes[rows]
    return pc.coalesce(texts, pa.array(codes[places], pa.string(), mask=~missing))


def _number_texts(values: NDArray[np.float64], missing: NDArray[np.bool_], variable: Variable) -> Any:
    if variable.is_date:
        try:
            return write_dates(values, missing, variable.date_text)
        except DataError:  # no date of a calendar
            return write_numbers(values, missing, None)
    return write_numbers(values, missing, variable.decimals)


def _as_held(texts: Any, loses: AbstractSet[Unheld]) -> Any:
    """Texts without what the format does not hold of them."""
    if "blanks_at_ends" in loses:
        return pc.utf8_trim(texts, characters=" ")
    if "blanks_at_end" in loses:
        return pc.utf8_rtrim(texts, characters=" ")
    if "zeros_of_times" in loses:
        return pc.replace_substring_regex(texts, TIME, r"\1\2")
    return texts


def _codes(column: Column, rows: slice) -> NDArray[np.int64]:
    assert column.blank is not None
    return np.asarray(column.blank.codes[rows], dtype=np.int64)


def _code_texts(column: Column, lost: Collection[str] = ()) -> NDArray[np.object_]:
    """Canonical text of each missing code by its place; the last two: of cells that were emptied, and of no cell."""
    assert (HAD_VALUE, NO_CELL) == (-2, -1)
    blank = MissingCells((), np.zeros(0, dtype=np.int16)) if column.blank is None else column.blank
    emptied = blank.suppressed_text(column.variable.suppressed_as)
    texts = (*blank.texts, emptied, None)
    return np.array(
        ["" if text is None or text in lost else canonical_text(text.strip()) for text in texts], dtype=object
    )


def _lost_codes(column: Column, source: Source) -> frozenset[str]:
    """Codes that a format of types cannot hold in this column, in whose place it has empty cells."""
    if source.writes_text:
        return frozenset()
    held = {} if source.format.missing_codes is None else source.format.missing_codes(column.variable)
    known = {*held, *held.values()}
    texts = {*(() if column.blank is None else column.blank.texts), column.variable.suppressed_as or ""}
    return frozenset(each for each in texts if each not in known and not keeps_code(column.variable, each))
