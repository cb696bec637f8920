"""Rules that read identifiers: a run refuses them, as nobody could check them in its release; `validate` judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import GroupFunction, nodes, variable_names
from maskwright.foundation.errors import EditError, Problem
from maskwright.pipeline.names import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def refuse_rules_on_identifiers(edits: EditSet, levels: LevelSources) -> None:
    """Stop when an edit reads an identifier.

    Parameters
    ----------
    edits : EditSet
        As they are stated, before they are bound to levels.
    levels : LevelSources

    Raises
    ------
    EditError
    """
    hint = (
        "Give the variable another role, or leave the edit to `maskwright validate`, which judges it on the original."
    )
    problems = [Problem(said, edit.place, hint) for edit, said in _said(edits, levels)]
    if problems:
        raise EditError(problems)


def notices_on_identifiers(edits: EditSet, levels: LevelSources) -> list[str]:
    """The same sentence for who validates: these edits are judged, and a run would refuse them."""
    return [f"{said}: a run would refuse the edit" for _, said in _said(edits, levels)]


def _said(edits: EditSet, levels: LevelSources) -> Iterator[tuple[Edit, str]]:
    hidden = identifiers(levels)
    for edit in edits if hidden else ():
        for name in dict.fromkeys(_names(edit.expression)):
            if name in hidden:
                yield edit, f"edit {edit.name!r} reads {name!r}, which is an identifier and will not be published"


def _names(expression: Expression) -> Iterator[str]:
    """Names of variables of any level: those that members and others say among them, without what is before the dot."""
    yield from (name.rpartition(".")[2] for name in variable_names(expression))
    for node in nodes(expression):
        if isinstance(node, GroupFunction):
            for inner in (node.operand, node.condition):
                yield from () if inner is None else _names(inner)
