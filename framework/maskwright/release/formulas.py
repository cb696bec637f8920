"""Texts that a spreadsheet would run as formulas when somebody opens the published file in one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import read_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet

FORMULA = r"^(?:[=+@-].|[\t\r])"
"""How such a text begins; a sign alone is none, and neither is a number."""
ESCAPE = "'"
"""What a spreadsheet takes for 'the rest is text'."""


def formula_notices(data: Dataset, edits: EditSet, *, escapes: bool) -> Iterator[str]:
    """How many cells of each variable are such texts, and names of variables that are.

    `data`: that is to be written. `escapes`: whether an apostrophe is put before them, where no edit reads them.
    """
    yield from formula_sentences(formula_cells(data), data.names, edits, escapes=escapes)


def formula_cells(data: Dataset) -> dict[str, int]:
    """Cells of each variable that are such texts; variables without one are left out.

    `data`: that is to be written.
    """
    texts = (column for column in data if not column.variable.is_numeric)
    cells = {
        each.name: int(np.count_nonzero(_are_formulas(each.variable)[each.values] & ~each.missing)) for each in texts
    }
    return {name: count for name, count in cells.items() if count}


def formula_sentences(
    cells: Mapping[str, int], names: Sequence[str], edits: EditSet, *, escapes: bool
) -> Iterator[str]:
    """Sentences on such texts, and on names of variables that are."""
    for name, count in cells.items():
        readers = [edit.name for edit in edits if name in edit.variables]
        done = (
            "`output: {formulas: escape}` puts an apostrophe before each"
            if not escapes
            else f"they stay as they are, since edits read them ({', '.join(readers)})"
            if readers
            else "an apostrophe is put before each"
        )
        yield f"{name}: {count} cell(s) begin like a formula, which a spreadsheet would run; {done}"
    texts = pa.array(names, pa.string())
    odd = texts.filter(pc.match_substring_regex(texts, FORMULA)).to_pylist()
    if odd:
        yield f"names of variables that begin like a formula, which a spreadsheet would run: {', '.join(odd)}"


def escaped(data: Dataset, edits: EditSet) -> Dataset:
    """Copy with an apostrophe before every text that is one and that no edit reads."""

    def of(variable: Variable) -> tuple[str, ...]:
        pairs = zip(variable.categories, _are_formulas(variable).tolist(), strict=False)
        return tuple(ESCAPE + text if is_formula else text for text, is_formula in pairs)

    return _with_texts(data, edits, of)


def unescaped(data: Dataset, edits: EditSet, original: Dataset) -> Dataset:
    """Copy of escaped data as they were before: compared with the original, they have not changed by it.

    `data`: as it was read back. `original`: texts that it holds have no apostrophe of ours.
    """

    def of(variable: Variable) -> tuple[str, ...]:
        known = frozenset(original[variable.name].variable.categories if variable.name in original else ())
        pairs = zip(variable.categories, _are_formulas(variable, ESCAPE).tolist(), strict=False)
        return tuple(text.removeprefix(ESCAPE) if ours and text not in known else text for text, ours in pairs)

    return _with_texts(data, edits, of)


def _with_texts(data: Dataset, edits: EditSet, of: Callable[[Variable], tuple[str, ...]]) -> Dataset:
    read = {name for edit in edits for name in edit.variables}
    columns = {}
    for column in data:
        texts = column.variable.categories if column.name in read else of(column.variable)
        if texts != column.variable.categories:
            columns[column.name] = replace(column, variable=replace(column.variable, categories=texts))
    return data.with_columns(columns)


def _are_formulas(variable: Variable, lead: str = "") -> NDArray[np.bool_]:
    """For each category whether it is a formula behind `lead`; the last one stands for a missing cell."""
    texts = pa.array(variable.categories, pa.string())
    rest = pc.utf8_slice_codeunits(texts, len(lead))
    found = np.asarray(pc.and_(pc.starts_with(texts, lead), pc.match_substring_regex(rest, FORMULA)))
    return np.append(found & ~read_numbers(rest).is_number, False)
