"""The output format and the data: codes and labels in another format, and texts a spreadsheet would run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.column_doubts import code_counts
from maskwright.data.missing import is_code_text
from maskwright.data.number_text import read_numbers
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import Expression, MissingAs, names_of_levels, nodes, rewritten
from maskwright.foundation.counts import plural
from maskwright.foundation.findings import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.pipeline.resolved import Output
    from maskwright.plugins.source import Source

    Renamed = Mapping[str, Mapping[str, str]]


MOST_SHOWN = 20


def in_output_format(
    data: Dataset, output: Output, edits: EditSet, recoded: Collection[str]
) -> tuple[Dataset, Renamed, tuple[Notice, ...]]:
    """Dataset as its file is to hold it, what became of which missing code, and notices.

    `recoded`: variables of which the missing codes were not known before masking.
    """
    notices: list[Notice] = []
    if output.source.format.is_opened_in_spreadsheets:
        notices += formula_notices(data, edits, escapes=output.escapes_formulas)
        data = escaped(data, edits) if output.escapes_formulas else data
    others = [name for name in data.names if name not in recoded]
    notices += missing_code_notices(data.without(others), output.source, has_codebook=output.codebook is not None)
    return *in_codes_of(data, output.source), tuple(notices)


def as_read_back(data: Dataset, output: Output, edits: EditSet, original: Dataset) -> Dataset:
    """Dataset that was read from its file, without what the format alone asked for."""
    is_escaped = output.escapes_formulas and output.source.format.is_opened_in_spreadsheets
    return unescaped(data, edits, original) if is_escaped else data


def in_codes_of(data: Dataset, source: Source) -> tuple[Dataset, Renamed]:
    """Dataset whose missing codes are those of the format that it is to be written in, and what became of which."""
    if source.format.missing_codes is None or source.name == data.layout.format:
        return data, {}
    changed: dict[str, Column] = {}
    renamed: dict[str, dict[str, str]] = {}
    for column in data:
        held = source.format.missing_codes(column.variable)
        new = {old: code for old, code in held.items() if old != code}
        if new:
            renamed[column.name] = new
        if new or (held and column.variable.is_date):
            changed[column.name] = _with_codes(column, new)
    return data.with_columns(changed), renamed


def _with_codes(column: Column, new: Mapping[str, str]) -> Column:
    variable, blank = column.variable, column.blank
    meanings = variable.missing_meanings or ("",) * len(variable.missing_codes)
    messages = tuple(
        meaning or (code if code in new else "") for code, meaning in zip(variable.missing_codes, meanings, strict=True)
    )
    suppressed = variable.suppressed_as
    with_new = replace(
        variable,
        missing_codes=tuple(new.get(code, code) for code in variable.missing_codes),
        missing_meanings=messages,
        suppressed_as=None if suppressed is None else new.get(suppressed, suppressed),
        # Dates beside such codes are texts on their way, of ISO 8601, and no texts in the file.
        date_format=None,
    )
    reported = None if blank is None else replace(blank, texts=tuple(_new_text(text, new) for text in blank.texts))
    return replace(column, variable=with_new, blank=reported, written=None)


def _new_text(text: str, new: Mapping[str, str]) -> str:
    held = pa.array([text], pa.string())
    return next((code for old, code in new.items() if is_code_text(held, [old])[0]), text)


def with_new_codes(edits: EditSet, renamed: Renamed) -> EditSet:
    """Edits that ask for missing codes by what these are called in the masked file."""
    return EditSet(tuple(_with_new_codes(edit, renamed) for edit in edits), edits.notes) if renamed else edits


def _with_new_codes(edit: Edit, renamed: Renamed) -> Edit:
    def change(node: Expression) -> Expression:
        if not isinstance(node, MissingAs):
            return node
        return replace(node, meaning=renamed.get(node.operand.name, {}).get(node.meaning, node.meaning))

    if not any(isinstance(node, MissingAs) for node in nodes(edit.expression)):
        return edit
    # A condition on a missing code is no arithmetic: the parts that adjusting works on do not have it.
    return replace(edit, expression=rewritten(edit.expression, change))


def missing_code_notices(data: Dataset, source: Source, *, has_codebook: bool = False) -> Iterator[Notice]:
    """Sentences about missing codes that are to be written in another format than they came in; names and counts."""
    if source.name == data.layout.format:
        return
    letters, values, nothing = [], [], []
    for column in data:
        variable = column.variable
        held = {} if source.format.missing_codes is None else source.format.missing_codes(variable)
        meanings = dict(variable.empty_meanings)
        found = [(code, meanings[code], count) for code, count in code_counts(column) if count and code.strip()]
        letters += [
            _code_text(column.name, each, f"is {held[each[0]]}")
            for each in found
            if held.get(each[0], each[0]) != each[0]
        ]
        lost = [each for each in found if each[0] not in held]
        empty = [each for each in lost if not source.writes_text and not keeps_code(variable, each[0])]
        nothing += [_code_text(column.name, each) for each in empty]
        values += [_code_text(column.name, each) for each in lost if each not in empty]
    if letters:
        message = f"missing codes have other names in the masked file ({source.name}): {_listed(letters)}"
        yield Notice("missing-codes-renamed", "", message, len(letters))
    if values:
        hint = "" if has_codebook else "; a codebook says what they mean: `output: {codebook: about.csv}`"
        message = (
            f"the masked file ({source.name}) does not say which values mean 'no value', and these are values like "
            f"others there: {_listed(values)}{hint}"
        )
        yield Notice("missing-codes-are-values", "", message, len(values))
    if nothing:
        message = (
            f"the masked file ({source.name}) cannot hold these missing codes among numbers or dates, and has empty "
            f"cells in their place: {_listed(nothing)}"
        )
        yield Notice("missing-codes-emptied", "", message, len(nothing))


def keeps_code(variable: Variable, code: str) -> bool:
    """Whether a typed format keeps a missing code as a value: numbers among numbers, and any text among texts."""
    if not variable.is_numeric:
        return True
    return not variable.is_date and bool(read_numbers(pa.array([code], pa.string())).is_number[0])


def _code_text(name: str, found: tuple[str, str, int], becomes: str = "") -> str:
    code, meaning, count = found
    inside = f"{meaning}, {count}" if meaning else str(count)
    return " ".join(filter(None, [name, repr(code), becomes, f"({inside} cell{'' if count == 1 else 's'})"]))


def _listed(messages: Sequence[str]) -> str:
    more = f", and {len(messages) - MOST_SHOWN} more" if len(messages) > MOST_SHOWN else ""
    return ", ".join(messages[:MOST_SHOWN]) + more


def label_notices(data: Dataset, source: Source, *, has_codebook: bool = False) -> Iterator[Notice]:
    """A sentence about labels for which another format than that of the original has no place."""
    if source.name == data.layout.format or has_codebook or source.format.holds is None or source.format.holds.labels:
        return
    of_variables = sum(each.label is not None for each in data.variables)
    of_values = sum(bool(each.labels) for each in data.variables)
    if of_variables or of_values:
        message = (
            f"the masked file ({source.name}) has no place for labels: those of {of_variables} variables, and of the "
            f"values of {of_values}, are left out; `output: {{codebook: about.csv}}` writes them beside it"
        )
        yield Notice("labels-left-out", "", message, of_variables + of_values)


FORMULA = r"^(?:[=+@-].|[\t\r])"
"""How such a text begins; a sign alone is none, and neither is a number."""
ESCAPE = "'"
"""What a spreadsheet takes for 'the rest is text'."""


def formula_notices(data: Dataset, edits: EditSet, *, escapes: bool) -> Iterator[Notice]:
    """How many cells of each variable are such texts, and names of variables that are."""
    yield from formulas_of(formula_cells(data), data.names, edits, escapes=escapes)


def formula_cells(data: Dataset) -> dict[str, int]:
    """Cells of each variable that are such texts; variables without one are left out."""
    texts = (column for column in data if not column.variable.is_numeric)
    cells = {
        each.name: int(np.count_nonzero(_are_formulas(each.variable)[each.values] & ~each.missing)) for each in texts
    }
    return {name: count for name, count in cells.items() if count}


def formulas_of(cells: Mapping[str, int], names: Sequence[str], edits: EditSet, *, escapes: bool) -> Iterator[Notice]:
    """Notices of such texts, and on names of variables that are."""
    read = [(edit.name, _names_read(edit)) for edit in edits]
    for name, count in cells.items():
        readers = [edit for edit, names in read if name in names]
        done = (
            "`output: {formulas: escape}` puts an apostrophe before each"
            if not escapes
            else f"they stay as they are, since edits read them ({', '.join(readers)})"
            if readers
            else "an apostrophe is put before each"
        )
        begin = plural(count, "cell begins", "cells begin")
        message = f"{name}: {begin} like a formula, which a spreadsheet would run; {done}"
        yield Notice("like-a-formula", name, message, count)
    texts = pa.array(names, pa.string())
    odd = texts.filter(pc.match_substring_regex(texts, FORMULA)).to_pylist()
    if odd:
        message = f"names of variables that begin like a formula, which a spreadsheet would run: {', '.join(odd)}"
        yield Notice("names-like-formulas", "", message, len(odd))


def escaped(data: Dataset, edits: EditSet) -> Dataset:
    """Copy with an apostrophe before every text that is one and that no edit reads."""

    def of(variable: Variable) -> tuple[str, ...]:
        pairs = zip(variable.categories, _are_formulas(variable).tolist(), strict=False)
        return tuple(ESCAPE + text if is_formula else text for text, is_formula in pairs)

    return _with_texts(data, edits, of)


def unescaped(data: Dataset, edits: EditSet, original: Dataset) -> Dataset:
    """Copy of escaped data as they were before: compared with the original, they have not changed by it."""

    def of(variable: Variable) -> tuple[str, ...]:
        known = frozenset(original[variable.name].variable.categories if variable.name in original else ())
        pairs = zip(variable.categories, _are_formulas(variable, ESCAPE).tolist(), strict=False)
        return tuple(text.removeprefix(ESCAPE) if ours and text not in known else text for text, ours in pairs)

    return _with_texts(data, edits, of)


def _with_texts(data: Dataset, edits: EditSet, of: Callable[[Variable], tuple[str, ...]]) -> Dataset:
    read = frozenset[str]().union(*map(_names_read, edits))
    columns = {}
    for column in data:
        texts = column.variable.categories if column.name in read else of(column.variable)
        if texts != column.variable.categories:
            columns[column.name] = replace(column, variable=replace(column.variable, categories=texts))
    return data.with_columns(columns)


def _names_read(edit: Edit) -> frozenset[str]:
    """Variables that an edit reads, on whatever level."""
    return frozenset((*edit.named, *names_of_levels(edit.expression)))


def _are_formulas(variable: Variable, lead: str = "") -> NDArray[np.bool_]:
    """For each category whether it is a formula behind `lead`; the last one stands for a missing cell."""
    texts = pa.array(variable.categories, pa.string())
    rest = pc.utf8_slice_codeunits(texts, len(lead))
    found = np.asarray(pc.and_(pc.starts_with(texts, lead), pc.match_substring_regex(rest, FORMULA)))
    return np.append(found & ~read_numbers(rest).is_number, False)
