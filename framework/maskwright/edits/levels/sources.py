"""Which variables, of which levels, a rule says something of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import variable_names
from maskwright.edits.levels.linked_columns import OtherRecordColumn, StructureColumn

if TYPE_CHECKING:
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure import Structure

Source = tuple[str, str]
"""A level and a variable of it."""


def sources_of(bound: BoundEdits, structure: Structure, level: str, name: str) -> set[Source]:
    """Variables, with their levels, that a variable or a computed column of a level says something of.

    Parameters
    ----------
    bound : BoundEdits
    structure : Structure
    level : str
    name : str
    """
    column = next((each for each in bound.columns[level] if each.name == name), None)
    if column is None:
        return {(level, name)}
    if isinstance(column, StructureColumn):
        return set()
    if isinstance(column, OtherRecordColumn):
        home = column.through if column.through in structure.names else level
        return set() if column.variable is None else sources_of(bound, structure, home, column.variable)
    inner = () if column.condition is None else variable_names(column.condition)
    read = (*inner, *(() if column.operand is None else (column.operand,)))
    return {source for each in read for source in sources_of(bound, structure, column.level, each)}


def sources_of_edit(bound: BoundEdits, structure: Structure, edit: Edit) -> set[Source]:
    """Variables, with their levels, that an edit says something of; as `sources_of` takes it."""
    return {source for name in edit.variables for source in sources_of(bound, structure, edit.level, name)}


def spans_records(bound: BoundEdits, edit: Edit) -> bool:
    """Whether an edit reads other records than the one that it is about."""
    columns = {each.name for each in bound.columns[edit.level] if not isinstance(each, StructureColumn)}
    return not columns.isdisjoint(edit.variables)
