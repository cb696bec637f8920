"""Missing codes and labels in another format than they came in: what it holds, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from maskwright.data.missing import is_code_text
from maskwright.data.missing_notes import code_counts
from maskwright.data.number_text import read_numbers
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import Expression, MissingAs, nodes, rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.plugins.source import Source

    Renamed = Mapping[str, Mapping[str, str]]

MOST_SHOWN = 20


def in_codes_of(data: Dataset, source: Source) -> tuple[Dataset, Renamed]:
    """Dataset whose missing codes are those of the format that it is to be written in, and what became of which.

    Returns codes that have others now, by variable.
    """
    if source.missing_codes is None or source.name == data.layout.format:
        return data, {}
    changed: dict[str, Column] = {}
    renamed: dict[str, dict[str, str]] = {}
    for column in data:
        held = source.missing_codes(column.variable)
        new = {old: code for old, code in held.items() if old != code}
        if new:
            renamed[column.name] = new
        if new or (held and column.variable.is_date):
            changed[column.name] = _with_codes(column, new)
    return data.with_columns(changed), renamed


def _with_codes(column: Column, new: Mapping[str, str]) -> Column:
    variable, blank = column.variable, column.blank
    meanings = variable.missing_meanings or ("",) * len(variable.missing_codes)
    said = tuple(
        meaning or (code if code in new else "") for code, meaning in zip(variable.missing_codes, meanings, strict=True)
    )
    suppressed = variable.suppressed_as
    with_new = replace(
        variable,
        missing_codes=tuple(new.get(code, code) for code in variable.missing_codes),
        missing_meanings=said,
        suppressed_as=None if suppressed is None else new.get(suppressed, suppressed),
        # Dates beside such codes are texts on their way, of ISO 8601, and no texts in the file.
        date_format=None,
    )
    told = None if blank is None else replace(blank, texts=tuple(_new_text(text, new) for text in blank.texts))
    return replace(column, variable=with_new, blank=told, written=None)


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


def missing_code_notices(data: Dataset, source: Source, *, has_codebook: bool = False) -> Iterator[str]:
    """Sentences about missing codes that are to be written in another format than they came in; names and counts.

    `source`: of the format that is to be written. `has_codebook`: whether a codebook is written beside the masked file.
    """
    if source.name == data.layout.format:
        return
    letters, values, nothing = [], [], []
    for column in data:
        variable = column.variable
        held = {} if source.missing_codes is None else source.missing_codes(variable)
        meanings = dict(variable.empty_meanings)
        found = [(code, meanings[code], count) for code, count in code_counts(column) if count and code.strip()]
        letters += [
            _said(column.name, each, f"is {held[each[0]]}") for each in found if held.get(each[0], each[0]) != each[0]
        ]
        lost = [each for each in found if each[0] not in held]
        empty = [each for each in lost if not source.writes_text and not keeps_code(variable, each[0])]
        nothing += [_said(column.name, each) for each in empty]
        values += [_said(column.name, each) for each in lost if each not in empty]
    if letters:
        yield f"missing codes have other names in the masked file ({source.name}): {_listed(letters)}"
    if values:
        hint = "" if has_codebook else "; a codebook says what they mean: `output: {codebook: about.csv}`"
        yield (
            f"the masked file ({source.name}) does not say which values mean 'no value', and these are values like "
            f"others there: {_listed(values)}{hint}"
        )
    if nothing:
        yield (
            f"the masked file ({source.name}) cannot hold these missing codes among numbers or dates, and has empty "
            f"cells in their place: {_listed(nothing)}"
        )


def keeps_code(variable: Variable, code: str) -> bool:
    """Whether a typed format keeps a missing code as a value: numbers among numbers, and any text among texts."""
    if not variable.is_numeric:
        return True
    return not variable.is_date and bool(read_numbers(pa.array([code], pa.string())).is_number[0])


def _said(name: str, found: tuple[str, str, int], becomes: str = "") -> str:
    code, meaning, count = found
    inside = f"{meaning}, {count}" if meaning else str(count)
    return " ".join(filter(None, [name, repr(code), becomes, f"({inside} cell{'' if count == 1 else 's'})"]))


def _listed(said: Sequence[str]) -> str:
    more = f", and {len(said) - MOST_SHOWN} more" if len(said) > MOST_SHOWN else ""
    return ", ".join(said[:MOST_SHOWN]) + more


def label_notices(data: Dataset, source: Source, *, has_codebook: bool = False) -> Iterator[str]:
    """A sentence about labels for which another format than that of the original has no place."""
    if source.name == data.layout.format or has_codebook or source.holds is None or source.holds.labels:
        return
    of_variables = sum(each.label is not None for each in data.variables)
    of_values = sum(bool(each.labels) for each in data.variables)
    if of_variables or of_values:
        yield (
            f"the masked file ({source.name}) has no place for labels: those of {of_variables} variables, and of the "
            f"values of {of_values}, are left out; `output: {{codebook: about.csv}}` writes them beside it"
        )
