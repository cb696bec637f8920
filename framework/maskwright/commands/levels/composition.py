"""What steps read of a group's members: ``count(person where age < 18)`` as a variable of the group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import Comparison, GroupFunction
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.linked_columns import MembersColumn
from maskwright.edits.levels.structure import Structure
from maskwright.edits.rule_language.grammar import parse_expression
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import LinkedData

_NUMBERS = ("count", "sum", "min", "max")


def is_composition(name: str) -> bool:
    """Whether a name in a pipeline is what members say together, as a number: ``count(person)``."""
    if "(" not in name:
        return False
    try:
        rule = parse_expression(f"{name} >= 0")
    except EditError:
        return False
    return isinstance(rule, Comparison) and isinstance(rule.left, GroupFunction) and rule.left.function in _NUMBERS


def composition_columns(names: Iterable[str], linked: LinkedData) -> tuple[Column, ...]:
    """Columns of the top level that say what members say together.

    `names`: others than those that `is_composition` knows are left out. Returns called as they were written.
    """
    top = linked.levels[0]
    found = []
    for name in dict.fromkeys(names):
        if name in top.data or not is_composition(name):
            continue
        bound = bind(EditSet.parse([f"{name} >= 0"]), Structure.of(linked))
        (column,) = [
            each for each in bound.columns[top.name] if isinstance(each, MembersColumn) and each.end == "exact"
        ]
        computed = with_linked_columns(linked, bound, top.name, [column.name])[column.name]
        found.append(replace(computed, variable=replace(computed.variable, name=name)))
    return tuple(found)
