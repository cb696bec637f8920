"""A rule with a tolerance: the same rule, missed by no more than so much."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from maskwright.edits.algebra.negation import negate
from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    Expression,
    Function,
    IfThen,
    InInterval,
    Not,
    Number,
    Or,
    Text,
)


def with_tolerance(expression: Expression, equality: Fraction, inequality: Fraction | None = None) -> Expression:
    """Let the comparisons that a rule demands be missed by a little.

    ``a == b`` becomes ``abs(a - b) <= t``, ``a <= b`` becomes ``a <= b + t`` (``<`` likewise), an interval grows by t
    at both ends. Comparisons of texts, ``!=``, sets, ``is integer`` and the condition of an ``if`` stay as written, so
    that the result never demands more than the rule.

    `equality`: tolerance of ``==``, at least 0. `inequality`: tolerance of the other comparisons and of intervals; the
    same by default. Returns the same object where the tolerance applies to nothing.
    """
    return _Tolerance(equality, equality if inequality is None else inequality).relaxed(expression)


class _Tolerance:
    def __init__(self, equality: Fraction, inequality: Fraction) -> None:
        self.equality, self.inequality = equality, inequality

    def relaxed(self, node: Expression) -> Expression:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case Comparison():
                return self._comparison(node)
            case And(operands) | Or(operands):
                changed = tuple(self.relaxed(operand) for operand in operands)
                same = all(new is old for new, old in zip(changed, operands, strict=True))
                return node if same else type(node)(changed)
            case IfThen(_, consequent, otherwise):
                then = self.relaxed(consequent)
                other = None if otherwise is None else self.relaxed(otherwise)
                same = then is consequent and other is otherwise
                return node if same else replace(node, consequent=then, otherwise=other)
            case InInterval(_, low, high) if self.inequality:
                wider_low = None if low is None else _moved(low, -self.inequality)
                return replace(node, low=wider_low, high=None if high is None else _moved(high, self.inequality))
            case Not(operand):
                pushed = negate(operand)
                if isinstance(pushed, Not):
                    return node
                changed_inside = self.relaxed(pushed)
                return node if changed_inside is pushed else changed_inside
            case _:
                return node

    def _comparison(self, node: Comparison) -> Expression:
        left, operator, right = node.left, node.operator, node.right
        if isinstance(left, Text) or isinstance(right, Text):
            return node
        match operator:
            case "==" if self.equality:
                distance = left if right == Number(Fraction(0)) else Arithmetic("-", left, right)
                return Comparison("<=", Function("abs", (distance,)), Number(self.equality))
            case "<" | "<=" if self.inequality:
                return Comparison(operator, left, _moved(right, self.inequality))
            case ">" | ">=" if self.inequality:
                return Comparison(operator, left, _moved(right, -self.inequality))
            case _:
                return node


def _moved(bound: Expression, by: Fraction) -> Expression:
    if isinstance(bound, Number):
        return Number(bound.value + by)
    return Arithmetic("+" if by > 0 else "-", bound, Number(abs(by)))
