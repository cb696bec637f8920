"""Conditions: complements, normal form, tolerances, bounds on dates, and parts as conditions again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dates import DAY, days_in_month, days_of, year_month_day
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.edit import DomainPart, GoverningPart, LinearPart, Part, ProductPart, RangePart
from maskwright.edits.expression import (
    MIRRORED,
    NEGATED,
    And,
    Arithmetic,
    Comparison,
    Date,
    Expression,
    Function,
    IfThen,
    InInterval,
    InOriginal,
    InSet,
    IsInteger,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence


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


class NormalForm:
    """Keys of conditions, each computed once."""

    def __init__(self) -> None:
        self._keys: dict[int, Hashable] = {}
        self._alive: list[Expression] = []

    def key(self, node: Expression) -> Hashable:
        """Hashable form; conditions with the same form mean the same."""
        if id(node) not in self._keys:
            self._alive.append(node)
            self._keys[id(node)] = self._key(node)
        return self._keys[id(node)]

    def _key(self, node: Expression) -> Hashable:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case Comparison():
                return _comparison_key(node)
            case And(operands):
                return ("and", frozenset(self.key(operand) for operand in operands))
            case Or(operands):
                return ("or", frozenset(self.key(operand) for operand in operands))
            case Not(operand):
                pushed = negate(operand)
                return ("not", self.key(operand)) if isinstance(pushed, Not) else self.key(pushed)
            case InInterval():
                bounds = frozenset(_comparison_key(bound) for bound in interval_comparisons(node))
                return ("and", bounds) if len(bounds) > 1 else next(iter(bounds), node)
            case Function("boolean", (argument,)):
                return self.key(argument)
            case _:
                return node

    def two_branches(self, operands: list[Expression]) -> tuple[Expression, Expression, Expression] | None:
        """Recognise ``A and B or not A and C`` as (A, B, C)."""
        if len(operands) != 2 or not all(isinstance(operand, And) for operand in operands):
            return None
        first, second = (list(operand.operands) for operand in operands if isinstance(operand, And))
        keys = {self.key(operand): position for position, operand in enumerate(second)}
        for position, condition in enumerate(first):
            partner = keys.get(self.key(negate(condition)))
            if partner is not None:
                rest = first[:position] + first[position + 1 :]
                return condition, all_of(rest), all_of(second[:partner] + second[partner + 1 :])
        return None

    def absorbed(self, operands: list[Expression]) -> list[Expression]:
        """Drop conjuncts whose complement is a disjunct: ``A and B or not A`` is ``B or not A``."""
        alone = {self.key(operand) for operand in operands if not isinstance(operand, And)}
        untouched: list[Expression] = []
        shortened: list[Expression] = []
        for operand in operands:
            if isinstance(operand, And):
                kept = [inner for inner in operand.operands if self.key(negate(inner)) not in alone]
                if len(kept) < len(operand.operands):
                    shortened.append(all_of(kept))
                    continue
            untouched.append(operand)
        # What is left of them is what the rule demands, and the last disjunct is taken for that.
        return untouched + shortened


def _comparison_key(node: Comparison) -> Hashable:
    left, right = polynomial_of(node.left), polynomial_of(node.right)
    if left is None or right is None:
        return node
    difference, operator = left - right, node.operator
    if operator in (">", ">="):
        difference, operator = -difference, "<" if operator == ">" else "<="
    terms = sorted(difference.terms.items())
    if terms:
        leading = terms[0][1]
        scale = leading if operator in ("==", "!=") else abs(leading)
        terms = [(monomial, coefficient / scale) for monomial, coefficient in terms]
    constant: tuple[tuple[object, Fraction], ...] = tuple(terms)
    return (operator, constant, difference.divisors)


def with_tolerance(expression: Expression, equality: Fraction, inequality: Fraction | None = None) -> Expression:
    """Let the comparisons that a rule demands be missed by a little.

    ``a == b`` becomes ``abs(a - b) <= t``, ``a <= b`` becomes ``a <= b + t`` (``<`` likewise), an interval grows by t
    at both ends. Comparisons of texts, ``!=``, sets, ``is integer`` and the condition of an ``if`` stay as written, so
    that the result never demands more than the rule.
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


def calendar_bounds(comparison: Comparison) -> list[Expression] | None:
    """Bounds on a date that hold together where a comparison of its year, or of an age, with a number holds."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if isinstance(left, Number):
        left, operator, right = right, MIRRORED[operator], left
    if not isinstance(right, Number) or operator == "!=":
        return None
    at_least, below = _first_and_next(operator, right.value)
    match left:
        case Function("year", (date,)) if _is_date(date):
            return _bounds(date, at_least, below, lambda year: days_of(year, 1, 1))
        case Function("age_at", (date, Number(reference))) if _is_date(date):
            # Who is older was born earlier: the negative of the age rises with the day of birth.
            day = floor(reference)
            first = None if below is None else 1 - below
            after = None if at_least is None else 1 - at_least
            return _bounds(date, first, after, lambda younger: _latest_birth(day, 1 - younger) + 1)
        case _:
            return None


def _first_and_next(operator: str, value: Fraction) -> tuple[int | None, int | None]:
    """Smallest whole number for which ``n operator value`` holds, and the smallest above those; None: unbounded."""
    at_least = {">=": ceil(value), ">": floor(value) + 1, "==": ceil(value)}.get(operator)
    below = {"<=": floor(value) + 1, "<": ceil(value), "==": floor(value) + 1}.get(operator)
    return at_least, below


def _is_date(term: Expression) -> bool:
    """Whether a term is a variable in days, or a datetime divided by the seconds of a day."""
    return isinstance(term, VariableReference) or (
        isinstance(term, Arithmetic)
        and isinstance(term.left, VariableReference)
        and (term.operator, term.right) == ("/", Number(Fraction(DAY)))
    )


def _bounds(
    date: Expression, at_least: int | None, below: int | None, first_day: Callable[[int], int]
) -> list[Expression]:
    found: list[Expression] = []
    if at_least is not None:
        found.append(Comparison(">=", date, Date(Fraction(first_day(at_least)))))
    if below is not None:
        # A datetime may be on the last day at any time of it.
        if isinstance(date, VariableReference):
            found.append(Comparison("<=", date, Date(Fraction(first_day(below) - 1))))
        else:
            found.append(Comparison("<", date, Date(Fraction(first_day(below)))))
    return found


def _latest_birth(reference: int, age: int) -> int:
    """Last day of birth of those who have completed so many years on a day."""
    then = year_month_day(np.array([reference]))
    year, month, day = int(then.year[0]) - age, then.month, int(then.day[0])
    last = int(days_in_month(np.array([year]), month)[0])
    return int(days_of(year, int(month[0]), min(day, last)))
