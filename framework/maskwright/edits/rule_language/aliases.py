"""Aliases: other names for variables, or names for calculations, put in place of the name they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.expression import (
    Expression,
    GroupFunction,
    InOriginal,
    IsMissing,
    IsNumber,
    MissingAs,
    VariableRange,
    VariableReference,
    children,
    rewritten,
)
from maskwright.edits.rule_language.operands import DEEPEST_NESTING
from maskwright.foundation.errors import EditError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_TREE = 20_000


def without_aliases(  # noqa: C901 - one case for each kind of node
    expression: Expression, aliases: Mapping[str, Expression], place: Place | None
) -> Expression:
    """Tree in which every alias is what it stands for.

    `aliases`: what each alias stands for, without aliases itself. `place`: of the rule, for errors.
    """
    if not aliases:
        return expression
    size = 0

    def variable(name: str) -> str:
        meant = aliases.get(name, VariableReference(name))
        if isinstance(meant, VariableReference):
            return meant.name
        raise EditError(
            Problem(
                f"the alias {name!r} stands for a calculation; here only a variable can stand", place,
                "'is missing', 'is number', 'in original' and ranges are about variables of the file.",
            )
        )  # fmt: skip

    def change(node: Expression) -> Expression:  # noqa: PLR0911 - one for each kind of node
        nonlocal size
        match node:
            case VariableReference(name) if name in aliases:
                size += _size(aliases[name])
                if size > LARGEST_TREE:
                    raise EditError(Problem("the rule grows too large when its aliases are written out", place))
                return aliases[name]
            case GroupFunction(_, _, _, condition) if condition is not None:
                return replace(node, condition=rewritten(condition, change))
            case IsMissing(VariableReference(name)):
                return IsMissing(VariableReference(variable(name)))
            case MissingAs(VariableReference(name), meaning):
                return MissingAs(VariableReference(variable(name)), meaning)
            case IsNumber(VariableReference(name)):
                return IsNumber(VariableReference(variable(name)))
            case InOriginal(names):
                return InOriginal(tuple(variable(name) for name in names))
            case VariableRange(first, last):
                return VariableRange(variable(first), variable(last))
            case _:
                return node

    found = rewritten(expression, change)
    if _depth(found) > DEEPEST_NESTING:
        raise EditError(
            Problem(f"with its aliases written out the rule is nested more than {DEEPEST_NESTING} deep", place)
        )
    return found


def _size(expression: Expression) -> int:
    count, stack = 0, [expression]
    while stack:
        count += 1
        stack.extend(children(stack.pop()))
    return count


def _depth(expression: Expression) -> int:
    deepest, stack = 0, [(expression, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(node))
    return deepest
