"""Rules that read identifiers or values of keys: a run refuses them, as nobody could check them in its release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.expression import (
    Comparison,
    GroupFunction,
    InSet,
    VariableReference,
    nodes,
    variable_names,
)
from maskwright.foundation.errors import EditError, InputError, Problem
from maskwright.pipeline.names import names_in
from maskwright.pipeline.names_of_levels import as_meant, names_of_files, wrong_level_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import Expression
    from maskwright.pipeline.resolved import LevelSources


def identifiers(levels: LevelSources) -> frozenset[str]:
    """Variables that are not published, and not even read into levels."""
    return frozenset(
        name
        for source in levels.sources.values()
        for name, declared in source.variables.items()
        if declared.role == "identifier"
    )


def dropped_identifiers(levels: LevelSources) -> tuple[str, ...]:
    """Identifiers that the files hold and that are not published; keys, which get new values, are none of them."""
    keys = {name for each in levels.declared.values() for name in (each.key, *each.pointers)}
    found: dict[str, None] = {}
    for source in levels.sources.values():
        own = [name for name, each in source.variables.items() if each.role == "identifier" and name not in keys]
        if not source.described_only.isdisjoint(own):
            there = names_in(source) or own
            own = [name for name in own if name not in source.described_only or name in there]
        found |= dict.fromkeys(own)
    return tuple(found)


def without_dropped(levels: LevelSources, names: Mapping[str, Collection[str]]) -> LevelSources:
    """Copy whose levels do not name the identifiers that a file lacks: they are dropped from a release of the file.

    `names`: of the variables that its file is found to have.
    """
    hidden, declared = identifiers(levels), {}
    for name, level in levels.declared.items():
        dropped = hidden.difference(names[name])
        stated = level.variables
        kept = None if stated is None else tuple(each for each in stated if each not in dropped)
        declared[name] = level.model_copy(update={"variables": kept})
    return replace(levels, declared=declared)


def refuse_rules_on_identifiers(edits: EditSet, levels: LevelSources) -> None:
    """Stop when an edit reads an identifier, or the value of a key that is published with new ones.

    `edits`: as they are stated, before they are bound to levels.
    """
    problems = _refused(edits, levels)
    if not problems:
        return
    names = names_of_files(levels)
    wrong = [] if names is None else wrong_level_names(levels, names)
    if names is not None and wrong:
        # A misspelt pointer is told where it is declared, not in every edit that names it rightly.
        meant = as_meant(levels, names)
        raise InputError([*wrong, *(() if wrong_level_names(meant, names) else _refused(edits, meant))])
    raise EditError(problems)


def _refused(edits: EditSet, levels: LevelSources) -> list[Problem]:
    leave = "or leave the edit to `maskwright validate`, which judges it on the original."
    return [Problem(said, edit.place, f"{way}, {leave}") for edit, said, way in _said(edits, levels)]


def notices_on_identifiers(edits: EditSet, levels: LevelSources) -> list[str]:
    """The same sentence for who validates: these edits are judged, and a run would refuse them."""
    return [f"{said}: a run would refuse the edit" for _, said, _ in _said(edits, levels)]


def _said(edits: EditSet, levels: LevelSources) -> Iterator[tuple[Edit, str, str]]:
    """Edits that a run refuses, why, and what to do."""
    hidden = identifiers(levels)
    renewed = {each.key: level for level, each in levels.declared.items() if not each.keep_key}
    naming = {*renewed, *(pointer for each in levels.declared.values() for pointer in each.pointers)}
    for edit in edits:
        for name in dict.fromkeys(_names(edit.expression)):
            said = f"edit {edit.name!r} reads {name!r}, which"
            if name in hidden and name not in renewed:
                yield edit, f"{said} is an identifier and will not be published", "Give the variable another role"
        # XPath reads keys in forms of its own: what does not hold of new ones stops the release.
        for name in dict.fromkeys(() if edit.assertion is not None else _values_read(edit.expression, naming)):
            if name in renewed:
                said = f"edit {edit.name!r} reads the value of {name!r}, a key that is published with new values"
                yield edit, said, f"Declare `keep_key: true` in the level {renewed[name]}"


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


def _names(expression: Expression) -> Iterator[str]:
    """Names of variables of any level: those that members and others say among them, without what is before the dot."""
    yield from (_last(name) for name in variable_names(expression))
    for node in nodes(expression):
        if isinstance(node, GroupFunction):
            for inner in (node.operand, node.condition):
                yield from () if inner is None else _names(inner)
