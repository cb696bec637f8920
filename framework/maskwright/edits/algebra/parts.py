"""Parts as conditions again."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.negation import all_of
from maskwright.edits.edit import DomainPart, GoverningPart, LinearPart, Part, ProductPart, RangePart
from maskwright.edits.expression import (
    Arithmetic,
    Comparison,
    Expression,
    Function,
    IfThen,
    InInterval,
    InOriginal,
    InSet,
    IsInteger,
    Number,
    Text,
    Truth,
    VariableReference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def expression_of(part: Part) -> Expression:
    """Condition that a part stands for."""
    match part:
        case LinearPart():
            return _linear(part)
        case ProductPart():
            return _product(part)
        case RangePart():
            return _range(part)
        case GoverningPart(condition, _, consequent, otherwise):
            other = _all(otherwise) if otherwise else None
            return IfThen(condition, _all(consequent), other)
        case DomainPart(names):
            return InOriginal(names)
        case _:
            return part.expression


def _all(parts: Sequence[Part]) -> Expression:
    return all_of([expression_of(part) for part in parts])


def _linear(part: LinearPart) -> Expression:
    total: Expression | None = None
    for name, coefficient in part.coefficients:
        term = _scaled(abs(coefficient), VariableReference(name))
        if total is None:
            total = term if coefficient > 0 else Arithmetic("-", Number(Fraction(0)), term)
        else:
            total = Arithmetic("+" if coefficient > 0 else "-", total, term)
    side = total if total is not None else Number(Fraction(0))
    if part.tolerance:
        distance = Arithmetic("-", side, Number(part.constant)) if part.constant else side
        return Comparison("<=", Function("abs", (distance,)), Number(part.tolerance))
    return Comparison(part.relation, side, Number(part.constant))


def _product(part: ProductPart) -> Expression:
    left = _scaled(part.coefficient, _monomial(part.left))
    right = _scaled(part.constant, _monomial(part.right)) if part.right else Number(part.constant)
    return Comparison(part.relation, left, right)


def _monomial(factors: Sequence[tuple[str, int]]) -> Expression:
    result: Expression | None = None
    for name, exponent in factors:
        base: Expression = VariableReference(name)
        factor = base if abs(exponent) == 1 else Arithmetic("^", base, Number(Fraction(abs(exponent))))
        if exponent < 0:
            result = Arithmetic("/", result if result is not None else Number(Fraction(1)), factor)
        else:
            result = factor if result is None else Arithmetic("*", result, factor)
    return result if result is not None else Number(Fraction(1))


def _scaled(coefficient: Fraction, expression: Expression) -> Expression:
    return expression if coefficient == 1 else Arithmetic("*", Number(coefficient), expression)


def _range(part: RangePart) -> Expression:
    variable = VariableReference(part.variable)
    found: list[Expression] = []
    if part.low is not None or part.high is not None:
        low = Number(part.low) if part.low is not None else None
        high = Number(part.high) if part.high is not None else None
        found.append(InInterval(variable, low, high, part.low_closed, part.high_closed))
    if part.numbers is not None:
        found.append(InSet(variable, tuple(Number(value) for value in part.numbers)))
    if part.texts is not None:
        found.append(InSet(variable, tuple(Text(text) for text in part.texts)))
    if part.integer:
        found.append(IsInteger(variable))
    return all_of(found) if found else Truth(True)
