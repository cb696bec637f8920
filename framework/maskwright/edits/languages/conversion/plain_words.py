"""Rules on levels as a person would write them: without double negations, and without what says itself.

A test of XPath is often the negation of what makes a rule false, with guards for what is missing. By Kleene's logic
negations can be moved inwards, and of a sum with a missing term nothing is known anyway.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.algebra.negation import all_of, any_of
from maskwright.edits.expression import (
    NEGATED,
    And,
    Comparison,
    Expression,
    GroupFunction,
    IfThen,
    IsNumber,
    Not,
    Or,
    nodes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def plain_words(rule: Expression, *, holds: bool = True) -> Expression:  # noqa: PLR0911 - one case for each kind of node
    """Rule, or its negation, that is violated by the same records.

    `rule`: in the language of levels.
    """
    match rule:
        case Not(operand):
            return plain_words(operand, holds=not holds)
        case And(operands) if holds:
            return _all([plain_words(each) for each in operands])
        case Or(operands) if not holds:
            return _all([plain_words(each, holds=False) for each in operands])
        case And(operands) | Or(operands):
            return _any([plain_words(each, holds=holds) for each in operands])
        case IfThen(condition, consequent, None) if not holds:
            return _all([plain_words(condition), plain_words(consequent, holds=False)])
        case IfThen(condition, consequent, None):
            return IfThen(plain_words(condition), plain_words(consequent))
        case Comparison(operator) if not holds:
            return replace(rule, operator=NEGATED[operator])
        case GroupFunction("any" | "no" as function, condition=asked) if asked is not None:
            inner = plain_words(asked)
            return replace(rule, function="any" if (function == "any") == holds else "no", condition=inner)
        case GroupFunction("all", condition=asked) if asked is not None:
            inner = plain_words(asked, holds=holds)
            return replace(rule, function="all" if holds else "any", condition=inner)
        case _:
            return rule if holds else Not(rule)


def _all(operands: Sequence[Expression]) -> Expression:
    """Conjunction, in which `a <= b and a >= b` is `a == b`."""
    flat = [one for each in operands for one in (each.operands if isinstance(each, And) else (each,))]
    found: list[Expression] = []
    for each in dict.fromkeys(flat):
        last = found[-1] if found else None
        match last, each:
            case Comparison("<=" | ">=" as one), Comparison("<=" | ">=" as other) if one != other and (
                (last.left, last.right) == (each.left, each.right)
            ):
                found[-1] = Comparison("==", each.left, each.right)
            case _:
                found.append(each)
    return all_of(found)


def _any(operands: Sequence[Expression]) -> Expression:
    """Disjunction without the guards of the sums in its comparisons."""
    flat = [one for each in operands for one in (each.operands if isinstance(each, Or) else (each,))]
    guards = {guard for each in flat if isinstance(each, Comparison) for guard in _guards(each)}
    kept = [each for each in dict.fromkeys(flat) if each not in guards]
    return any_of(kept)


def _guards(node: Comparison) -> list[Expression]:
    """What is said of members where a sum of a comparison is not known."""
    found: list[Expression] = []
    for each in nodes(node):
        if isinstance(each, GroupFunction) and each.function == "sum" and each.operand is not None:
            lost: Expression = Not(IsNumber(each.operand))
            if each.condition is not None:
                meant, other = plain_words(each.condition), plain_words(each.condition, holds=False)
                lost = _all([meant, _any([other, lost])])
            found.append(GroupFunction("any", each.level, None, lost))
    return found
