"""Data that a program read before stand for their file, where reading it anew would give the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from maskwright.data.dataset import Column, Dataset
    from maskwright.pipeline.resolved import DataSource

SAYS_NO_TYPE = frozenset({"role", "label", "unchanged", "reliability"})
"""Keys of a declaration that leave it to the file what its cells are."""


def held_without(data: DataSource, left_out: Collection[str], keys: Collection[str]) -> Dataset | None:
    """What is held of a file, without some variables; None where the file has to be read.

    `left_out`: variables that a reading of the file would not read. `keys`: identifiers that are read as texts: what is
    held has them as whatever they look like.
    """
    held = data.held
    hidden = frozenset(held.names if held is not None else ()) & frozenset(left_out)
    if held is None or keys:
        return None
    if not hidden:
        return held
    # What reading says may be of a variable that is left out; and where all that is left is text, numbers are looked
    # for in it. A number that nobody declared says that the file has numbers, or that it is a file of text.
    kept = held.without(sorted(hidden))
    is_surely_typed_alike = held.of_file is None and any(_is_number_by_itself(data, column) for column in kept)
    return kept if is_surely_typed_alike and not held.notes and not held.doubts else None


def _is_number_by_itself(data: DataSource, column: Column) -> bool:
    declared = data.variables.get(column.name)
    return column.variable.is_numeric and (declared is None or declared.model_fields_set <= SAYS_NO_TYPE)
