"""Negation pushed down to the comparisons: the complement of a condition, without ``not`` where that can be."""

from __future__ import annotations

from maskwright.edits.expression import (
    NEGATED,
    And,
    Comparison,
    Expression,
    Function,
    IfThen,
    InInterval,
    Not,
    Or,
    Truth,
)


def negate(expression: Expression) -> Expression:  # noqa: PLR0911 - one case for each kind of node
    """Condition that is true where `expression` is false, false where it is true, unknown where it is unknown."""
    match expression:
        case Comparison(operator, left, right):
            return Comparison(NEGATED[operator], left, right)
        case Not(operand):
            return operand
        case And(operands):
            return Or(tuple(negate(operand) for operand in operands))
        case Or(operands):
            return And(tuple(negate(operand) for operand in operands))
        case IfThen(condition, consequent, None):
            return And((condition, negate(consequent)))
        case IfThen(condition, consequent, otherwise) if otherwise is not None:
            # Not an IfThen of the negations: where the condition is unknown and both branches agree, it would be too.
            return Or((And((condition, negate(consequent))), And((negate(condition), negate(otherwise)))))
        case InInterval():
            outside = tuple(negate(bound) for bound in interval_comparisons(expression))
            return Not(expression) if not outside else outside[0] if len(outside) == 1 else Or(outside)
        case Truth(value):
            return Truth(not value)
        case Function("boolean", (argument,)):
            return negate(argument)
        case _:
            return Not(expression)


def interval_comparisons(interval: InInterval) -> tuple[Comparison, ...]:
    """Return the comparisons an interval stands for; none when it has no bounds."""
    found: list[Comparison] = []
    if interval.low is not None:
        found.append(Comparison(">=" if interval.low_closed else ">", interval.operand, interval.low))
    if interval.high is not None:
        found.append(Comparison("<=" if interval.high_closed else "<", interval.operand, interval.high))
    return tuple(found)


def all_of(operands: list[Expression]) -> Expression:
    """Conjunction of any number of conditions."""
    return Truth(True) if not operands else operands[0] if len(operands) == 1 else And(tuple(operands))


def any_of(operands: list[Expression]) -> Expression:
    """Disjunction of any number of conditions."""
    return Truth(False) if not operands else operands[0] if len(operands) == 1 else Or(tuple(operands))
