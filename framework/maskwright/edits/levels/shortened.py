"""Sums, conjunctions and conditions of expressions, without the parts that are already known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from maskwright.edits.expression import And, Arithmetic, Comparison, Expression, IfThen, Not, Number, Or, Truth


def sum_of(terms: list[Expression]) -> Expression:
    """Sum of terms; 0 of none."""
    if not terms:
        return Number(Fraction(0))
    total = terms[0]
    for term in terms[1:]:
        total = Arithmetic("+", total, term)
    return total


def all_of(operands: tuple[Expression, ...]) -> Expression:
    """All of these; what is true is left out."""
    if Truth(False) in operands:
        return Truth(False)
    left = tuple(dict.fromkeys(each for each in operands if each != Truth(True)))
    return And(left) if len(left) > 1 else left[0] if left else Truth(True)


def any_of(operands: tuple[Expression, ...]) -> Expression:
    """Any of these; what is false is left out."""
    if Truth(True) in operands:
        return Truth(True)
    left = tuple(dict.fromkeys(each for each in operands if each != Truth(False)))
    return Or(left) if len(left) > 1 else left[0] if left else Truth(False)


def implied(condition: Expression, said: Expression) -> Expression:
    """What is said where a condition holds."""
    if isinstance(said, Truth):
        return said if said.value else negated(condition)
    return IfThen(condition, said)


def negated(operand: Expression) -> Expression:
    """Not this."""
    return Truth(not operand.value) if isinstance(operand, Truth) else Not(operand)


def complement(operand: Expression) -> Expression:
    """Complement; of a number that is equal to another in two cases, of which algebra can take one."""
    if isinstance(operand, Comparison) and operand.operator == "==" and isinstance(operand.right, Number):
        return Or(tuple(replace(operand, operator=each) for each in ("<", ">")))
    return negated(operand)
