"""Rules that hold in data of several levels: those of each level, with what its records read of others beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.commands.levels.arriving import edits_of_levels
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import variable_names
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.suggestions.model import Suggestions
from maskwright.edits.suggestions.suggest import suggest as suggest_rules

if TYPE_CHECKING:
    from maskwright.data.levels.linked_data import Level, LinkedData


def suggest_levels(
    linked: LinkedData, known: EditSet, share: float, *, limit: int, show_values: bool = False
) -> Suggestions:
    """Find rules of groups and of members: sums and numbers of members, and members beside their group.

    `share`: share of the records of a level in which a rule has to hold. `limit`: suggestions, at most; 0: all.
    """
    top, low = linked.levels
    read = [f"count({low.name})", *(f"sum({low.name}.{name_text(name)})" for name in _amounts(low))]
    above = [f"{top.name}.{name_text(name)}" for name in _amounts(top)]
    seen = {top.name: read, low.name: above}
    asked = EditSet.parse([
        {"rule": f"{each} == {each}" if level == top.name else f"{own} == {each}", "name": f"read: {each}"}
        for level, several in seen.items() for each in several
        for own in (_amounts(low)[:1] if level == low.name else [""])
    ])  # fmt: skip
    bound = edits_of_levels(known + asked, linked)
    found = []
    notes: dict[str, None] = {}
    for level in linked:
        data = with_linked_columns(linked, bound, level.name, seen[level.name]).without(_keys(level))
        stated = EditSet(tuple(
            edit for edit in bound.edits[level.name]
            if not edit.name.startswith("read: ") and all(name in data for name in variable_names(edit.expression))
        ))  # fmt: skip
        own = suggest_rules(replace(data, households=None), stated, share, limit=limit, show_values=show_values)
        notes |= dict.fromkeys(own.notes)
        for each in own.found:
            if each.kind == "dependency" and any(name in each.rule for name in seen[level.name]):
                continue  # combinations of what members say together are looked up nowhere
            rule = each.rule
            for name in seen[level.name]:
                rule = rule.replace(f"`{name}`", name)
            about = ", ".join(filter(None, (f"level {level.name}", each.ground)))
            if level.name == top.name or any(name in rule for name in data.names if name not in above):
                found.append(replace(each, rule=rule, ground=about))
    found.sort(key=lambda each: -each.usefulness)
    kept = tuple(found[:limit] if limit else found)
    return Suggestions(len(low), kept, tuple(notes), shows_values=show_values)


def _amounts(level: Level) -> list[str]:
    """Numbers of a level that are no keys, pointers or weights."""
    keys = level.key_columns
    return [
        each.name for each in level.data.variables if each.is_numeric and not each.is_date and each.name not in keys
    ]


def _keys(level: Level) -> list[str]:
    return [name for name in level.key_columns if name in level.data]
