"""Whether a file says of its variables what it was meant to say: their labels, those of codes, and missing codes.

Where the format is that of the original, it is to say what that said; in another one, what is known of the variables,
as far as the format holds it. A file of a format without such facts says nothing, and is not asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.declaration import VariableDeclaration
from maskwright.data.number_text import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.dataset import Column, Dataset
    from maskwright.plugins.source import Source

NOTHING = VariableDeclaration()


def label_differences(meant: Dataset, found: Dataset, source: Source) -> Iterator[str]:
    """What a written file says otherwise of its variables, without a code or a label.

    `meant`: that was given to the source.
    """
    same_format = meant.layout.format == source.name
    if found.of_file is None or (same_format and meant.of_file is None):
        return
    for column in meant:
        said = found.of_file.get(column.name, NOTHING)
        if same_format:
            wrong = _differs_from_original(column, (meant.of_file or {}).get(column.name, NOTHING), said)
        else:
            wrong = _differs_from_variable(column, said, source)
        if any(wrong.values()):
            yield f"{' and '.join(what for what, is_wrong in wrong.items() if is_wrong)} of column {column.name}"


def _differs_from_original(column: Column, original: VariableDeclaration, said: VariableDeclaration) -> dict[str, bool]:
    wanted, told = _meanings(original), _meanings(said)
    if column.variable.bands:  # codes that recoding took away have no labels any more
        wanted = {code: meaning for code, meaning in wanted.items() if told.get(code) is not None}
    added = {canonical_text(code): _plain(text) for code, text in column.variable.empty_meanings}
    told = {code: text for code, text in told.items() if code in wanted or added.get(code) != text}
    codes = {canonical_text(code) for code, _ in original.missing} & _standing_codes(column)
    return {
        "label": _plain(said.label) != _plain(original.label),
        "labels of codes": told != wanted,
        "missing codes": not codes <= {canonical_text(code) for code, _ in said.missing},
    }


def _differs_from_variable(column: Column, said: VariableDeclaration, source: Source) -> dict[str, bool]:
    variable = column.variable
    wanted = {canonical_text(code): _plain(text) for code, text in (*variable.labels, *variable.empty_meanings) if text}
    told = _meanings(said)
    holds_labels = source.holds is not None and bool(source.holds.labels)
    held = {} if source.missing_codes is None else source.missing_codes(variable)
    codes = {canonical_text(code) for code in held.values()}
    return {
        "label": _plain(said.label) != _plain(variable.label) and (holds_labels or bool(said.label)),
        "labels of codes": any(wanted.get(code) != meaning for code, meaning in told.items())
        or (source.labels_codes and not _standing_categories(column) & wanted.keys() <= told.keys()),
        "missing codes": not codes & _standing_codes(column) <= {canonical_text(code) for code, _ in said.missing},
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
