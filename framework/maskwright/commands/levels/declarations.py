"""Variables declared on levels: compositions of groups, identifiers in rules, and variables probably left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.commands.running.loading import identifiers_in_file
from maskwright.data.levels.consistency import constant_within_groups
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import (
    Comparison,
    GroupFunction,
    InSet,
    VariableReference,
    names_of_levels,
    nodes,
)
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import MembersColumn, Structure
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import EditError, InputError, Problem
from maskwright.foundation.findings import Notice
from maskwright.pipeline.variable_names import names_of_files, with_nearest_names, wrong_level_names
from maskwright.planning.levels.level_steps import maskable
from maskwright.planning.step_variables import default_variables
from maskwright.release.release_decision import flow_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression
    from maskwright.pipeline.resolved import LevelSources, Pipeline
    from maskwright.planning.model import Step


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


def composition_columns(names: Iterable[str], linked: LinkedData, level: str) -> tuple[Column, ...]:
    """Columns of a level that say what its members say together."""
    data, found = linked[level].data, []
    for name in dict.fromkeys(names):
        if name in data or not is_composition(name):
            continue
        (rule,) = EditSet.parse([f"{name} >= 0"])
        members = next(node.level for node in nodes(rule.expression) if isinstance(node, GroupFunction))
        if (level, members) not in linked.pairs:
            continue
        bound = bind(EditSet((replace(rule, level=level),)), Structure.of(linked))
        (column,) = [each for each in bound.columns[level] if isinstance(each, MembersColumn) and each.end == "exact"]
        computed = with_linked_columns(linked, bound, level, [column.name])[column.name]
        found.append(replace(computed, variable=replace(computed.variable, name=name)))
    return tuple(found)


def identifiers(levels: LevelSources) -> frozenset[str]:
    """Variables that are not published, and not even read into levels."""
    return frozenset(
        name
        for source in levels.sources.values()
        for name, declared in source.variables.items()
        if declared.is_identifier
    )


def dropped_identifiers(levels: LevelSources) -> tuple[str, ...]:
    """Identifiers that the files hold and that are not published; keys, which get new values, are none of them."""
    keys = {name for each in levels.declared.values() for name in (each.key, *each.pointers)}
    found: dict[str, None] = {}
    for source in levels.sources.values():
        own = [name for name, each in source.variables.items() if each.is_identifier and name not in keys]
        found |= dict.fromkeys(identifiers_in_file(source, own))
    return tuple(found)


def without_dropped(levels: LevelSources, names: Mapping[str, Collection[str]]) -> LevelSources:
    """Copy whose levels do not name the identifiers that a file lacks: they are dropped from a release of the file."""
    hidden, declared = identifiers(levels), {}
    for name, level in levels.declared.items():
        dropped = hidden.difference(names[name])
        stated = level.variables
        kept = None if stated is None else tuple(each for each in stated if each not in dropped)
        declared[name] = level.model_copy(update={"variables": kept})
    return replace(levels, declared=declared)


def refuse_rules_on_identifiers(edits: EditSet, levels: LevelSources) -> None:
    """Stop when an edit reads an identifier, or the value of a key that is published with new ones."""
    problems = _refused(edits, levels)
    if not problems:
        return
    names = names_of_files(levels)
    wrong = [] if names is None else wrong_level_names(levels, names)
    if names is not None and wrong:
        # A misspelt pointer is reported where it is declared, not in every edit that names it rightly.
        meant = with_nearest_names(levels, names)
        raise InputError([*wrong, *(() if wrong_level_names(meant, names) else _refused(edits, meant))])
    raise EditError(problems)


def _refused(edits: EditSet, levels: LevelSources) -> list[Problem]:
    leave = "or leave the edit to `maskwright validate`, which judges it on the original."
    return [Problem(text, edit.place, f"{way}, {leave}") for edit, text, way in _refused_edits(edits, levels)]


def notices_on_identifiers(edits: EditSet, levels: LevelSources) -> list[str]:
    """The same sentence for who validates: these edits are judged, and a run would refuse them."""
    return [f"{text}: a run would refuse the edit" for _, text, _ in _refused_edits(edits, levels)]


def _refused_edits(edits: EditSet, levels: LevelSources) -> Iterator[tuple[Edit, str, str]]:
    """Edits that a run refuses, why, and what to do."""
    hidden = identifiers(levels)
    renewed = {each.key: level for level, each in levels.declared.items() if not each.keep_key}
    naming = {*renewed, *(pointer for each in levels.declared.values() for pointer in each.pointers)}
    for edit in edits:
        for name in names_of_levels(edit.expression):
            message = f"edit {edit.name!r} reads {name!r}, which"
            if name in hidden and name not in renewed:
                yield edit, f"{message} is an identifier and will not be published", "Give the variable another role"
        # XPath reads keys in forms of its own: what does not hold of new ones stops the release.
        for name in dict.fromkeys(() if edit.assertion is not None else _values_read(edit.expression, naming)):
            if name in renewed:
                message = f"edit {edit.name!r} reads the value of {name!r}, a key that is published with new values"
                yield edit, message, f"Declare `keep_key: true` in the level {renewed[name]}"


def _values_read(expression: Expression, naming: Collection[str]) -> Iterator[str]:
    """Names that are equal to something, but for keys and pointers that name the same record.

    New keys count the members of a group as well: an order, as ``pno <= size`` says, may hold of them.
    """
    for node in nodes(expression):
        match node:
            case Comparison("==" | "!=", left, right):
                sides = [_last(each.name) if isinstance(each, VariableReference) else None for each in (left, right)]
                if not all(each in naming for each in sides):
                    yield from (each for each in sides if each is not None)
            case InSet(VariableReference(name)):
                yield _last(name)
            case GroupFunction(_, _, operand, condition):
                for inner in (operand, condition):
                    yield from () if inner is None else _values_read(inner, naming)
            case _:
                pass


def _last(name: str) -> str:
    """Name of a variable without what is before the dot."""
    return name.rpartition(".")[2]


KIND = "constant-within-groups"


def forgotten_variables(described: Pipeline, linked: LinkedData) -> tuple[tuple[Doubt, ...], tuple[Notice, ...]]:
    """Doubts about variables that steps name and that are probably those of the groups; a notice of the others."""
    if described.levels is None or described.levels.form != "flat":
        return (), ()
    top, low = linked.levels[-2:]
    known = {each.name: each for each in maskable(low)}
    # A weight is often that of the group, and belongs to each member all the same.
    found = {name: each for name, each in constant_within_groups(linked, low).items() if known[name].role != "weight"}
    named = {name for step in described.steps for name in _named(step)}
    named |= {
        name for step in described.steps if not _named(step)
        for name in default_variables(step, known)
    }  # fmt: skip
    doubts = []
    for name, (alike, several) in found.items():
        if name in named:
            groups = f"each {top.name}" if alike == several else f"{alike:,} of the {several:,} of {top.name}"
            message = (
                f"it is declared of {low.name}, differs from {top.name} to {top.name}, and is the same in all rows of "
                f"{groups} with two or more: it is probably a variable of {top.name}"
            )
            hint = _what_to_write(top, low, [name])
            doubts.append(Doubt(KIND, name, message, alike, several, hint=hint, level=low.name))
    others = [name for name in found if name not in named]
    if not others:
        return tuple(doubts), ()
    message = (
        f"declared of {low.name}, and the same in all rows of nearly every {top.name}: {', '.join(others)}. "
        f"{_what_to_write(top, low, others)}"
    )
    return tuple(doubts), (Notice("same-within-groups", "", message, len(others), level=low.name),)


def _named(step: Step) -> set[str]:
    """Variables that a step names: to mask, or to look at while it masks others."""
    return {*(step.variables or ()), *step.keys, *step.dependents, *(name for group in step.groups for name in group)}


def _what_to_write(top: Level, low: Level, names: Sequence[str]) -> str:
    """How a pipeline says that variables are the upper level's."""
    those = ", ".join(map(flow_text, names))
    stated, them = ("it says", "it") if len(names) == 1 else ("they say", "them")
    if top.declared.variables is None:
        return (
            f"If {stated} something of the whole {top.name}, take {them} out of the variables of {low.name}: {those}."
        )
    written = ", ".join((*(["..."] if top.declared.variables else []), those))
    return (
        f"If {stated} something of the whole {top.name}, write "
        f"`levels: {{{flow_text(top.name)}: {{variables: [{written}]}}}}`."
    )
