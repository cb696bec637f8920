"""Conditions of predicates on members, as the language of levels has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.expression import (
    NEGATED,
    Arithmetic,
    Comparison,
    Expression,
    Function,
    GroupFunction,
    Negative,
    Not,
    Number,
    VariableReference,
    rewritten,
)

if TYPE_CHECKING:
    from maskwright.edits.languages.xpath.parser import OriginalNodes


def chooses_by_position(tree: Expression | OriginalNodes) -> bool:
    """Whether a predicate would choose by position."""
    match tree:
        case Number() | Arithmetic() | Negative() | GroupFunction("sum" | "count"):
            return True
        case Function(name):
            return name in ("number", "floor", "ceiling", "round")
        case _:
            return False


def without_conversions(condition: Expression) -> Expression:
    """Condition without XPath's conversions: in the language of levels a variable is a number or a text by itself."""

    def change(node: Expression) -> Expression:  # noqa: PLR0911 - one for each kind of node
        match node:
            case Function("number" | "string", (VariableReference() | GroupFunction() as inner,)):
                return inner
            case Function("number", (Number() as inner,)):
                return inner
            case Negative(Number(value)):
                return Number(-value)
            case Not(Not(inner)):
                return inner
            case Not(GroupFunction("any", level, None, Comparison(operator) as condition)):
                return GroupFunction("all", level, None, replace(condition, operator=NEGATED[operator]))
            case Not(GroupFunction("any", level, None, condition)):
                return GroupFunction("no", level, None, condition)
            case _:
                return node

    return rewritten(condition, change)
