"""Edits that the structure adds: equality within groups, pointers, presence, and variables they use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.levels.structure import NEIGHBOURS, LinkedColumn, StructureColumn, sources_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure import Structure


def with_structure_edits(bound: BoundEdits, linked: LinkedData) -> BoundEdits:
    """Edits with one more for each variable that must be constant within groups, and for each pointer."""
    edits, columns = dict(bound.edits), dict(bound.columns)
    for level in linked:
        found = [
            *(_column(name, "varies") for name in level.varying),
            *(_column(name, "dangles") for name in level.pointers),
        ]
        if not found:
            continue
        around = linked[level.declared.above or level.name].declared.key
        keys = {"varies": level.declared.key, "dangles": around}
        items = [
            {
                "rule": f"`{each.name}` == 0",
                "name": f"{_KINDS[each.broken]}: {each.variable} within {keys[each.broken]}",
            }
            for each in found
        ]
        own = EditSet(tuple(replace(edit, level=level.name) for edit in EditSet.parse(items)))
        edits[level.name] = edits[level.name] + own
        more: tuple[LinkedColumn, ...] = tuple(found)
        columns[level.name] = (*columns[level.name], *more)
    return replace(bound, edits=edits, columns=columns)


_KINDS = {"varies": "constant", "dangles": "pointer"}
_WORDS = {"varies": "rows that differ in", "dangles": "names no other record:"}


def _column(variable: str, broken: str) -> StructureColumn:
    return StructureColumn(f"{_WORDS[broken]} {variable}", variable, "varies" if broken == "varies" else "dangles")


def with_conditions(
    rules: EditSet, levels: Mapping[str, str], structure: Structure, suppressed: Collection[Source]
) -> EditSet:
    """Rules that read suppressed variables, each ``when`` these are present, in its own record and in the others.

    ``sum(person.income) == total`` is about households in which ``all(person where income is not missing)`` holds.
    """
    return EditSet(
        tuple(
            _guarded(edit, levels[edit.name], structure, suppressed) if edit.name in levels else edit for edit in rules
        ),
        rules.notes,
    )


def _guarded(edit: Edit, level: str, structure: Structure, suppressed: Collection[Source]) -> Edit:
    conditions: dict[x.Expression, None] = {}
    for node in x.nodes(edit.expression):
        match node:
            case x.GroupFunction(_, below, operand, condition):
                read = [*(() if operand is None else (operand.name,))]
                read += [] if condition is None else x.variable_names(condition)
                gone = [name for name in dict.fromkeys(read) if source_of_name(name, below, structure) in suppressed]
                if gone:
                    conditions.setdefault(x.GroupFunction("all", below, None, _present(gone)))
            case x.VariableReference(name) if source_of_name(name, level, structure) in suppressed:
                conditions.setdefault(_present([name]))
            case x.InOriginal(names):
                gone = [name for name in names if source_of_name(name, level, structure) in suppressed]
                conditions.update(dict.fromkeys(_present([name]) for name in gone))
    if not conditions or edit.engine is not None:
        return edit
    present = _joined(tuple(conditions))
    text = f"when {rule_text(present)}: {edit.text}"
    rule, when = edit.expression, present
    if edit.when is not None and isinstance(rule, x.IfThen):
        rule, when = rule.consequent, _joined((present, edit.when))
    return replace(edit, expression=x.IfThen(when, rule), when=when, text=text)


def source_of_name(name: str, level: str, structure: Structure) -> Source | None:
    """Level and variable that a name in a rule of a level means."""
    if name in structure[level].variables:
        return level, name
    prefix, _, rest = name.partition(".")
    if rest and (prefix == level or prefix in structure[level].pointers or prefix in NEIGHBOURS):
        return source_of_name(rest, level, structure)
    for above in structure.above(level):
        wanted = rest if rest and prefix == above else name
        if wanted in structure[above].variables:
            return above, wanted
    return None


def _present(names: Collection[str]) -> x.Expression:
    return _joined(tuple(x.Not(x.IsMissing(x.VariableReference(name))) for name in names))


def _joined(conditions: tuple[x.Expression, ...]) -> x.Expression:
    flat = tuple(each for one in conditions for each in (one.operands if isinstance(one, x.And) else (one,)))
    return flat[0] if len(flat) == 1 else x.And(flat)


Source = tuple[str, str]
"""A level and a variable of it."""


def sources_of_edit(bound: BoundEdits, edit: Edit) -> set[Source]:
    """Variables, with their levels, that an edit says something of."""
    return {source for name in edit.variables for source in sources_of(bound.columns, edit.level, name)}


def spans_records(bound: BoundEdits, edit: Edit) -> bool:
    """Whether an edit reads other records than the one that it is about."""
    columns = {each.name for each in bound.columns[edit.level] if not isinstance(each, StructureColumn)}
    return not columns.isdisjoint(edit.variables)
