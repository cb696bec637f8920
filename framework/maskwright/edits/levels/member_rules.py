"""Rules about what members say together, as conditions that hold of each member."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.expression import MIRRORED, And, Comparison, Expression, IfThen, Not, Number, VariableReference
from maskwright.edits.levels.structure import LinkedColumn, MembersColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ZERO, _ONE = Number(Fraction(0)), Number(Fraction(1))


def rules_of_members(
    expression: Expression, columns: Mapping[str, LinkedColumn], is_positive: Callable[[str], bool]
) -> tuple[Expression, ...] | None:
    """Conditions that hold of every member exactly where a rule holds of the group; None where there are none such.

    ``all(person where c)`` asks ``c`` of each; ``no`` its opposite; ``max(person.x) <= 3`` that ``x <= 3``; and
    ``sum(person.x where c) == 0`` that ``x`` is 0 where ``c`` holds, if ``x`` is never negative.
    """
    if isinstance(expression, And):
        found: list[Expression] = []
        for operand in expression.operands:
            inner = rules_of_members(operand, columns, is_positive)
            if inner is None:
                return None
            found.extend(inner)
        return tuple(found)
    if not isinstance(expression, Comparison):
        return None
    for side, other, operator in (
        (expression.left, expression.right, expression.operator),
        (expression.right, expression.left, MIRRORED[expression.operator]),
    ):
        column = columns.get(side.name) if isinstance(side, VariableReference) else None
        if isinstance(column, MembersColumn) and isinstance(other, Number):
            rule = _of_each(column, operator, other, is_positive)
            return None if rule is None else (rule,)
    return None


def _of_each(
    column: MembersColumn, operator: str, bound: Number, is_positive: Callable[[str], bool]
) -> Expression | None:
    condition, operand = column.condition, column.operand
    match column.function, operator:
        case ("all", "==") if bound == _ONE:
            return condition
        case ("no", "==") if bound == _ONE:
            return None if condition is None else Not(condition)
        case ("max", "<=" | "<") | ("min", ">=" | ">") if operand is not None:
            return _where(condition, Comparison(operator, VariableReference(operand), bound))  # type: ignore[arg-type]
        case ("sum", "==" | "<=") if bound == _ZERO and operand is not None and is_positive(operand):
            return _where(condition, Comparison("==", VariableReference(operand), _ZERO))
        case ("count", "==" | "<=") if bound == _ZERO and condition is not None:
            return Not(condition)
        case _:
            return None


def _where(condition: Expression | None, rule: Expression) -> Expression:
    return rule if condition is None else IfThen(condition, rule)
