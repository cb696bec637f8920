"""Which variables, of which levels, a rule says something of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.levels.changed_columns import sources_of
from maskwright.edits.levels.linked_columns import StructureColumn

if TYPE_CHECKING:
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

Source = tuple[str, str]
"""A level and a variable of it."""


def sources_of_edit(bound: BoundEdits, edit: Edit) -> set[Source]:
    """Variables, with their levels, that an edit says something of."""
    return {source for name in edit.variables for source in sources_of(bound.columns, edit.level, name)}


def spans_records(bound: BoundEdits, edit: Edit) -> bool:
    """Whether an edit reads other records than the one that it is about."""
    columns = {each.name for each in bound.columns[edit.level] if not isinstance(each, StructureColumn)}
    return not columns.isdisjoint(edit.variables)
