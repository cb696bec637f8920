"""Edits that linking rests on: what a household says is the same in all its rows, and pointers point to somebody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.levels.linked_columns import LinkedColumn, StructureColumn

if TYPE_CHECKING:
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits


def with_structure_edits(bound: BoundEdits, linked: LinkedData) -> BoundEdits:
    """Edits with one more for each variable that must be constant within groups, and for each pointer.

    `linked`: of whose levels and variables they are.
    """
    edits, columns = dict(bound.edits), dict(bound.columns)
    for level in linked:
        found = [
            *(_column(name, "varies") for name in level.varying),
            *(_column(name, "dangles") for name in level.pointers),
        ]
        if not found:
            continue
        key = linked.levels[0].declared.key
        items = [
            {"rule": f"`{each.name}` == 0", "name": f"{_SAID[each.broken]}: {each.variable} within {key}"}
            for each in found
        ]
        own = EditSet(tuple(replace(edit, level=level.name) for edit in EditSet.parse(items)))
        edits[level.name] = edits[level.name] + own
        more: tuple[LinkedColumn, ...] = tuple(found)
        columns[level.name] = (*columns[level.name], *more)
    return replace(bound, edits=edits, columns=columns)


_SAID = {"varies": "constant", "dangles": "pointer"}
_WORDS = {"varies": "rows that differ in", "dangles": "names nobody else:"}


def _column(variable: str, broken: str) -> StructureColumn:
    return StructureColumn(f"{_WORDS[broken]} {variable}", variable, "varies" if broken == "varies" else "dangles")
