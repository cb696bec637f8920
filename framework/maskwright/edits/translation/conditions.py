"""Conditions on categories: which of them a record may have, put so that a missing cell decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import (
    And,
    Comparison,
    Expression,
    IfThen,
    InSet,
    IsMissing,
    Not,
    Or,
    Text,
    Truth,
    VariableReference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_of(name: str, chosen: Sequence[str], categories: Sequence[str], *, weaker: bool) -> Expression:
    """Condition that a variable has one of the chosen categories.

    `chosen`, `categories`: all of them are possible. `weaker`: what a missing cell gives where none or all categories
    are chosen: then the condition no longer reads one. True: it holds. False: it does not.
    """
    variable = VariableReference(name)
    if len(chosen) == len(categories):
        return Truth(True) if weaker else Not(IsMissing(variable))
    if not chosen:
        return IsMissing(variable) if weaker else Truth(False)
    return is_one_of(name, chosen)


def is_one_of(name: str, chosen: Sequence[str]) -> Expression:
    """Condition that a variable has one of the categories, at least one."""
    variable = VariableReference(name)
    if len(chosen) == 1:
        return Comparison("==", variable, Text(chosen[0]))
    return InSet(variable, tuple(Text(each) for each in chosen))


def conjunction(operands: Sequence[Expression]) -> Expression:
    """All hold."""
    flat = [each for one in operands for each in (one.operands if isinstance(one, And) else (one,))]
    kept = [each for each in dict.fromkeys(flat) if each != Truth(True)]
    if Truth(False) in kept:
        return Truth(False)
    return Truth(True) if not kept else kept[0] if len(kept) == 1 else And(tuple(kept))


def disjunction(operands: Sequence[Expression]) -> Expression:
    """One holds at least."""
    flat = [each for one in operands for each in (one.operands if isinstance(one, Or) else (one,))]
    kept = [each for each in dict.fromkeys(flat) if each != Truth(False)]
    if Truth(True) in kept:
        return Truth(True)
    return Truth(False) if not kept else kept[0] if len(kept) == 1 else Or(tuple(kept))


def implication(condition: Expression, consequent: Expression) -> Expression:
    """The second holds where the first does."""
    if consequent == Truth(True) or condition == Truth(False):
        return Truth(True)
    return consequent if condition == Truth(True) else IfThen(condition, consequent)
