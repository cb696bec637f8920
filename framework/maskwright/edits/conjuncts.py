"""Edits that are conjunctions, taken apart: ``a >= 0 and b >= 0`` on one line binds no more than on two.

A conjunction is violated exactly where one of its operands is, in decimal arithmetic with unknown as in XPath, so that
who plans and adjusts may treat each operand as an edit of its own. It is still told, and counted, as one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.negation import all_of
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import And, Expression, Not, Or, variable_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from maskwright.edits.edit import Edit


def conjuncts(edit: Edit) -> tuple[Edit, ...]:
    """Edits of the same name that together say what this one says; the edit itself where it is no conjunction.

    Operands on the same variables stay together: the bounds of one sum may be an equality with a tolerance.

    Returns in the order of the rule.
    """
    if edit.whole or not isinstance(edit.expression, And | Not):
        return (edit,)
    return tuple(each for each, _ in _apart(edit, edit.expression))


def conjuncts_as_written(edit: Edit, plain: Expression) -> tuple[tuple[Edit, Expression], ...]:
    """The conjuncts of an edit across levels, each with its comparisons as they are written.

    `plain`: its rule there, from which its parts come.
    """
    return ((edit, plain),) if edit.whole else _apart(edit, plain)


@lru_cache(maxsize=4096)
def _apart(edit: Edit, plain: Expression) -> tuple[tuple[Edit, Expression], ...]:
    together: dict[frozenset[str], list[tuple[Expression, Expression]]] = {}
    for stated, written in _operands(edit.expression, plain):
        together.setdefault(frozenset(variable_names(written)), []).append((stated, written))
    if len(together) < 2:
        return ((edit, plain),)
    found = []
    for each in together.values():
        rule = all_of([written for _, written in each])
        expression = all_of([stated for stated, _ in each])
        parts, names = classify(rule, edit.place), variable_names(rule)
        found.append((replace(edit, expression=expression, parts=parts, variables=names), rule))
    # An edit of which algebra uses less than it could, as of dates in XPath, stays one.
    parts = tuple(part for each, _ in found for part in each.parts)
    alike = len(parts) == len(edit.parts) and all(part in edit.parts for part in parts)
    return tuple(found) if alike else ((edit, plain),)


def _operands(stated: Expression, plain: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Operands of a conjunction, and the same as they are written, which has the same form down to comparisons."""
    match stated, plain:
        case And(operands), And(written) if len(operands) == len(written):
            for one, other in zip(operands, written, strict=True):
                yield from _operands(one, other)
        case Not(Or(operands)), Not(Or(written)) if len(operands) == len(written):
            for one, other in zip(operands, written, strict=True):
                yield from _operands(Not(one), Not(other))
        case _:
            yield stated, plain


def joined(found: Sequence[Edit]) -> Edit:
    """One edit that says what these conjuncts of an edit say.

    `found`: at least one, all of the same edit.
    """
    if len(found) == 1:
        return found[0]
    return replace(
        found[0],
        expression=And(tuple(each.expression for each in found)),
        parts=tuple(part for each in found for part in each.parts),
        variables=tuple(dict.fromkeys(name for each in found for name in each.variables)),
    )


def narrowed(edits: Iterable[Edit], wanted: Callable[[Edit], bool]) -> EditSet:
    """The edits as far as their conjuncts are wanted; those of which none is are left out."""
    found = []
    for edit in edits:
        every = conjuncts(edit)
        kept = [each for each in every if wanted(each)]
        if kept:
            found.append(edit if len(kept) == len(every) else joined(kept))
    return EditSet(tuple(found))


def as_far_as(edits: Iterable[Edit], wanted: Callable[[Edit], bool]) -> EditSet:
    """The edits without the conjuncts that are not wanted, where others of the same edit are.

    `edits`: of which each stays at least in part.
    """
    found = []
    for edit in edits:
        every = conjuncts(edit)
        kept = every if len(every) == 1 else [each for each in every if wanted(each)] or every
        found.append(edit if len(kept) == len(every) else joined(kept))
    return EditSet(tuple(found))


def reading(edits: Iterable[Edit], names: Iterable[str]) -> EditSet:
    """The edits as far as they read some of these variables."""
    own = set(names)
    return narrowed(edits, lambda each: not own.isdisjoint(each.variables))


def inside(edits: Iterable[Edit], group: Iterable[str], masked: Iterable[str]) -> EditSet:
    """The edits as far as a variable group holds all the masked variables that they read.

    `group`: variables that are masked together.
    """
    return narrowed(edits, is_inside(group, masked))


def is_inside(group: Iterable[str], masked: Iterable[str]) -> Callable[[Edit], bool]:
    """Whether an edit reads variables of a group, and no masked one that is not of it."""
    own = set(group)
    others = set(masked) - own
    return lambda edit: not own.isdisjoint(edit.variables) and others.isdisjoint(edit.variables)


def taken_apart(edits: EditSet) -> tuple[EditSet, dict[str, str]]:
    """Each conjunct as an edit with a name of its own, and the edit's name by these names."""
    found: list[Edit] = []
    stated: dict[str, str] = {}
    for edit in edits:
        every = conjuncts(edit)
        for number, each in enumerate(every):
            # No name that anybody wrote holds a NUL.
            name = edit.name if len(every) == 1 else f"{edit.name}\0{number}"
            found.append(each if name == edit.name else replace(each, name=name))
            stated[name] = edit.name
    return (edits if len(found) == len(edits) else EditSet(tuple(found), edits.notes)), stated
