"""Which computed columns change when variables are masked: those that say something of such a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import variable_names
from maskwright.edits.levels.linked_columns import LinkedColumn, OtherRecordColumn, StructureColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def changed_columns(
    columns: Mapping[str, Sequence[LinkedColumn]], masked: Mapping[str, Collection[str]]
) -> dict[str, frozenset[str]]:
    """Computed columns that change with masked variables."""
    return {
        level: frozenset(
            column.name for column in own
            if any(name in masked.get(where, ()) for where, name in sources_of(columns, level, column.name))
        )
        for level, own in columns.items()
    }  # fmt: skip


def sources_of(
    columns: Mapping[str, Sequence[LinkedColumn]], level: str, name: str, *, conditions: bool = True
) -> set[tuple[str, str]]:
    """Variables, with their levels, that a variable or a computed column says something of.

    `name`: of a variable or a computed column of the level. `conditions`: whether what decides which members are meant
    counts, too.
    """
    column = next((each for each in columns[level] if each.name == name), None)
    if column is None:
        return {(level, name)}
    if isinstance(column, StructureColumn):
        return set()
    if isinstance(column, OtherRecordColumn):
        home = column.through if column.through in columns else level
        return set() if column.variable is None else sources_of(
            columns, home, column.variable, conditions=conditions
        )  # fmt: skip
    inner = () if column.condition is None or not conditions else variable_names(column.condition)
    read = (*inner, *(() if column.operand is None else (column.operand,)))
    found = (sources_of(columns, column.level, each, conditions=conditions) for each in read)
    return set().union(*found)
