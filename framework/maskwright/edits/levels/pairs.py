"""Rules on data of several levels, as rules on two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit import LinearPart, RangePart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import variable_names
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import LinkedColumn, MembersColumn, OtherRecordColumn, sources_of
from maskwright.edits.levels.structure_edits import sources_of_edit, spans_records

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source

    Pair = tuple[str, str]


def on_two_levels(
    linked: LinkedData, bound: BoundEdits, pair: Pair, unsettled: Collection[Source]
) -> tuple[LinkedData, BoundEdits]:
    """Two levels as data of these alone: what edits read of levels outside becomes variables of them.

    Left out are edits that read there what is `unsettled`: variables that change, or that are not published.
    """
    if linked.names == pair:
        return linked, bound
    columns, edits, data = {}, {}, {}
    for level in pair:
        outside = {each.name: _outside(bound.columns, pair, level, each.name) for each in bound.columns[level]}
        left = {
            name for name, read in outside.items()
            if any(not sources_of(bound.columns, *each).isdisjoint(unsettled) for each in read)
        }  # fmt: skip
        edits[level] = EditSet(
            tuple(
                edit
                for edit in bound.edits[level]
                if left.isdisjoint(edit.variables) and left.isdisjoint(variable_names(edit.expression))
            ),
            bound.edits[level].notes,
        )
        taken = [name for name, read in outside.items() if (level, name) in read and name not in left]
        columns[level] = tuple(each for each in bound.columns[level] if each.name not in (*left, *taken))
        data[level] = with_linked_columns(linked, bound, level, taken)
    return linked.pair(*pair).with_data(data), replace(bound, edits=edits, columns=columns)


def tied_to_groups(bound: BoundEdits, level: str) -> set[Source]:
    """Variables, with their levels, that edits on groups read together with their members, and not as a bound alone."""
    return {
        source for edit in bound.edits[level] if spans_records(bound, edit) and can_equate(edit)
        for source in sources_of_edit(bound, edit)
    }  # fmt: skip


def can_equate(edit: Edit) -> bool:
    """Whether an edit says more than which of two values is larger: of such alone nothing is computed."""
    return any(
        not isinstance(part, RangePart) and (not isinstance(part, LinearPart) or part.relation == "==")
        for part in edit.parts
    )


def _outside(
    columns: Mapping[str, tuple[LinkedColumn, ...]], pair: Pair, level: str, name: str
) -> frozenset[tuple[str, str]]:
    """Columns, with their levels, that say something of records outside two levels, and that a column is made of."""
    column = next((each for each in columns[level] if each.name == name), None)
    read: list[tuple[str, str]] = []
    if isinstance(column, OtherRecordColumn) and column.variable is not None:
        read = [(column.through if column.through in columns else level, column.variable)]
    elif isinstance(column, MembersColumn):
        inner = () if column.condition is None else variable_names(column.condition)
        read = [(column.level, each) for each in (*inner, *(() if column.operand is None else (column.operand,)))]
    elsewhere = column.level if isinstance(column, MembersColumn) else getattr(column, "through", level)
    if elsewhere in columns and elsewhere not in pair:
        return frozenset({(level, name)})
    return frozenset[tuple[str, str]]().union(*(_outside(columns, pair, *each) for each in read))
