"""Conditions: complements, normal form, tolerances, bounds on dates, and parts as conditions again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dates import DAY, days_in_month, days_of, year_month_day
from maskwright.edits import expression as x
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.edit import DomainPart, GoverningPart, LinearPart, Part, PolynomialPart, ProductPart, RangePart

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence


def negate(expression: x.Expression) -> x.Expression:  # noqa: PLR0911 - one case for each kind of node
    """Condition that is true where `expression` is false, false where it is true, unknown where it is unknown."""
    match expression:
        case x.Comparison(operator, left, right):
            return x.Comparison(x.NEGATED[operator], left, right)
        case x.Not(operand):
            return operand
        case x.And(operands):
            return x.Or(tuple(negate(operand) for operand in operands))
        case x.Or(operands):
            return x.And(tuple(negate(operand) for operand in operands))
        case x.IfThen(condition, consequent, None):
            return x.And((condition, negate(consequent)))
        case x.IfThen(condition, consequent, otherwise) if otherwise is not None:
            # Not an IfThen of the negations: where the condition is unknown and both branches agree, it would be too.
            return x.Or((x.And((condition, negate(consequent))), x.And((negate(condition), negate(otherwise)))))
        case x.InInterval():
            outside = tuple(negate(bound) for bound in interval_comparisons(expression))
            return x.Not(expression) if not outside else outside[0] if len(outside) == 1 else x.Or(outside)
        case x.Truth(value):
            return x.Truth(not value)
        case x.Function("boolean", (argument,)):
            return negate(argument)
        case _:
            return x.Not(expression)


def interval_comparisons(interval: x.InInterval) -> tuple[x.Comparison, ...]:
    """Return the comparisons an interval stands for; none when it has no bounds."""
    found: list[x.Comparison] = []
    if interval.low is not None:
        found.append(x.Comparison(">=" if interval.low_closed else ">", interval.operand, interval.low))
    if interval.high is not None:
        found.append(x.Comparison("<=" if interval.high_closed else "<", interval.operand, interval.high))
    return tuple(found)


def all_of(operands: list[x.Expression]) -> x.Expression:
    """Conjunction of any number of conditions."""
    return x.Truth(True) if not operands else operands[0] if len(operands) == 1 else x.And(tuple(operands))


def any_of(operands: list[x.Expression]) -> x.Expression:
    """Disjunction of any number of conditions."""
    return x.Truth(False) if not operands else operands[0] if len(operands) == 1 else x.Or(tuple(operands))


def conjunction(operands: Iterable[x.Expression], *, flat: bool = True) -> x.Expression:
    """All hold, each once, without what is always true; `flat`: conjunctions among them are taken apart."""
    return _joined(x.And, operands, flat=flat)


def disjunction(operands: Iterable[x.Expression], *, flat: bool = True) -> x.Expression:
    """One holds at least; see `conjunction`."""
    return _joined(x.Or, operands, flat=flat)


def _joined(kind: type[x.And | x.Or], operands: Iterable[x.Expression], *, flat: bool) -> x.Expression:
    neutral, decisive = x.Truth(kind is x.And), x.Truth(kind is x.Or)
    parts = [one for each in operands for one in (each.operands if flat and isinstance(each, kind) else (each,))]
    kept = tuple(one for one in dict.fromkeys(parts) if one != neutral)
    if decisive in kept:
        return decisive
    return kind(kept) if len(kept) > 1 else kept[0] if kept else neutral


def negation(operand: x.Expression) -> x.Expression:
    """Opposite, without a double ``not``; `negate` moves it inwards."""
    match operand:
        case x.Truth(value):
            return x.Truth(not value)
        case x.Not(inner):
            return inner
        case _:
            return x.Not(operand)


class NormalForm:
    """Keys of conditions, each computed once."""

    def __init__(self) -> None:
        self._keys: dict[int, Hashable] = {}
        self._alive: list[x.Expression] = []

    def key(self, node: x.Expression) -> Hashable:
        """Hashable form; conditions with the same form mean the same."""
        if id(node) not in self._keys:
            self._alive.append(node)
            self._keys[id(node)] = self._key(node)
        return self._keys[id(node)]

    def _key(self, node: x.Expression) -> Hashable:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case x.Comparison():
                return _comparison_key(node)
            case x.And(operands):
                return ("and", frozenset(self.key(operand) for operand in operands))
            case x.Or(operands):
                return ("or", frozenset(self.key(operand) for operand in operands))
            case x.Not(operand):
                pushed = negate(operand)
                return ("not", self.key(operand)) if isinstance(pushed, x.Not) else self.key(pushed)
            case x.InInterval():
                bounds = frozenset(_comparison_key(bound) for bound in interval_comparisons(node))
                return ("and", bounds) if len(bounds) > 1 else next(iter(bounds), node)
            case x.Function("boolean", (argument,)):
                return self.key(argument)
            case _:
                return node

    def two_branches(self, operands: list[x.Expression]) -> tuple[x.Expression, x.Expression, x.Expression] | None:
        """Recognise ``A and B or not A and C`` as (A, B, C)."""
        if len(operands) != 2 or not all(isinstance(operand, x.And) for operand in operands):
            return None
        first, second = (list(operand.operands) for operand in operands if isinstance(operand, x.And))
        keys = {self.key(operand): position for position, operand in enumerate(second)}
        for position, condition in enumerate(first):
            partner = keys.get(self.key(negate(condition)))
            if partner is not None:
                rest = first[:position] + first[position + 1 :]
                return condition, all_of(rest), all_of(second[:partner] + second[partner + 1 :])
        return None

    def absorbed(self, operands: list[x.Expression]) -> list[x.Expression]:
        """Drop conjuncts whose complement is a disjunct: ``A and B or not A`` is ``B or not A``."""
        alone = {self.key(operand) for operand in operands if not isinstance(operand, x.And)}
        untouched: list[x.Expression] = []
        shortened: list[x.Expression] = []
        for operand in operands:
            if isinstance(operand, x.And):
                kept = [inner for inner in operand.operands if self.key(negate(inner)) not in alone]
                if len(kept) < len(operand.operands):
                    shortened.append(all_of(kept))
                    continue
            untouched.append(operand)
        # What is left of them is what the rule demands, and the last disjunct is taken for that.
        return untouched + shortened


def _comparison_key(node: x.Comparison) -> Hashable:
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


def with_tolerance(expression: x.Expression, equality: Fraction, inequality: Fraction | None = None) -> x.Expression:
    """Let the comparisons that a rule demands be missed by a little.

    ``a == b`` becomes ``abs(a - b) <= t``, ``a <= b`` becomes ``a <= b + t`` (``<`` likewise), an interval grows by t
    at both ends. Comparisons of texts, ``!=``, sets, ``is integer`` and the condition of an ``if`` stay as written, so
    that the result never demands more than the rule.
    """
    return _Tolerance(equality, equality if inequality is None else inequality).relaxed(expression)


class _Tolerance:
    def __init__(self, equality: Fraction, inequality: Fraction) -> None:
        self.equality, self.inequality = equality, inequality

    def relaxed(self, node: x.Expression) -> x.Expression:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case x.Comparison():
                return self._comparison(node)
            case x.And(operands) | x.Or(operands):
                changed = tuple(self.relaxed(operand) for operand in operands)
                same = all(new is old for new, old in zip(changed, operands, strict=True))
                return node if same else type(node)(changed)
            case x.IfThen(_, consequent, otherwise):
                then = self.relaxed(consequent)
                other = None if otherwise is None else self.relaxed(otherwise)
                same = then is consequent and other is otherwise
                return node if same else replace(node, consequent=then, otherwise=other)
            case x.InInterval(_, low, high) if self.inequality:
                wider_low = None if low is None else _moved(low, -self.inequality)
                return replace(node, low=wider_low, high=None if high is None else _moved(high, self.inequality))
            case x.Not(operand):
                pushed = negate(operand)
                if isinstance(pushed, x.Not):
                    return node
                changed_inside = self.relaxed(pushed)
                return node if changed_inside is pushed else changed_inside
            case _:
                return node

    def _comparison(self, node: x.Comparison) -> x.Expression:
        left, operator, right = node.left, node.operator, node.right
        if isinstance(left, x.Text) or isinstance(right, x.Text):
            return node
        match operator:
            case "==" if self.equality:
                distance = left if right == x.Number(Fraction(0)) else x.Arithmetic("-", left, right)
                return x.Comparison("<=", x.Function("abs", (distance,)), x.Number(self.equality))
            case "<" | "<=" if self.inequality:
                return x.Comparison(operator, left, _moved(right, self.inequality))
            case ">" | ">=" if self.inequality:
                return x.Comparison(operator, left, _moved(right, -self.inequality))
            case _:
                return node


def _moved(bound: x.Expression, by: Fraction) -> x.Expression:
    if isinstance(bound, x.Number):
        return x.Number(bound.value + by)
    return x.Arithmetic("+" if by > 0 else "-", bound, x.Number(abs(by)))


def expression_of(part: Part) -> x.Expression:  # noqa: PLR0911 - one case for each kind of part
    """Condition that a part stands for."""
    match part:
        case LinearPart():
            return _linear(part)
        case ProductPart():
            return _product(part)
        case PolynomialPart():
            return _polynomial(part)
        case RangePart():
            return _range(part)
        case GoverningPart(condition, _, consequent, otherwise):
            other = _all(otherwise) if otherwise else None
            return x.IfThen(condition, _all(consequent), other)
        case DomainPart(names):
            return x.InOriginal(names)
        case _:
            return part.expression


def _all(parts: Sequence[Part]) -> x.Expression:
    return all_of([expression_of(part) for part in parts])


def _linear(part: LinearPart) -> x.Expression:
    total: x.Expression | None = None
    for name, coefficient in part.coefficients:
        term = _scaled(abs(coefficient), x.VariableReference(name))
        if total is None:
            total = term if coefficient > 0 else x.Arithmetic("-", x.Number(Fraction(0)), term)
        else:
            total = x.Arithmetic("+" if coefficient > 0 else "-", total, term)
    side = total if total is not None else x.Number(Fraction(0))
    if part.tolerance:
        distance = x.Arithmetic("-", side, x.Number(part.constant)) if part.constant else side
        return x.Comparison("<=", x.Function("abs", (distance,)), x.Number(part.tolerance))
    return x.Comparison(part.relation, side, x.Number(part.constant))


def _product(part: ProductPart) -> x.Expression:
    left = _scaled(part.coefficient, _monomial(part.left))
    right = _scaled(part.constant, _monomial(part.right)) if part.right else x.Number(part.constant)
    return x.Comparison(part.relation, left, right)


def _polynomial(part: PolynomialPart) -> x.Expression:
    total: x.Expression | None = None
    for coefficient, monomial in part.terms:
        term = _scaled(abs(coefficient), _monomial(monomial))
        if total is None:
            total = term if coefficient > 0 else x.Negative(term)
        else:
            total = x.Arithmetic("+" if coefficient > 0 else "-", total, term)
    assert total is not None
    if part.tolerance:
        return x.Comparison("<=", x.Function("abs", (total,)), x.Number(part.tolerance))
    return x.Comparison("==", total, x.Number(Fraction(0)))


def _monomial(factors: Sequence[tuple[str, int]]) -> x.Expression:
    result: x.Expression | None = None
    for name, exponent in factors:
        base: x.Expression = x.VariableReference(name)
        factor = base if abs(exponent) == 1 else x.Arithmetic("^", base, x.Number(Fraction(abs(exponent))))
        if exponent < 0:
            result = x.Arithmetic("/", result if result is not None else x.Number(Fraction(1)), factor)
        else:
            result = factor if result is None else x.Arithmetic("*", result, factor)
    return result if result is not None else x.Number(Fraction(1))


def _scaled(coefficient: Fraction, expression: x.Expression) -> x.Expression:
    return expression if coefficient == 1 else x.Arithmetic("*", x.Number(coefficient), expression)


def _range(part: RangePart) -> x.Expression:
    variable = x.VariableReference(part.variable)
    found: list[x.Expression] = []
    if part.low is not None or part.high is not None:
        low = x.Number(part.low) if part.low is not None else None
        high = x.Number(part.high) if part.high is not None else None
        found.append(x.InInterval(variable, low, high, part.low_closed, part.high_closed))
    if part.numbers is not None:
        found.append(x.InSet(variable, tuple(x.Number(value) for value in part.numbers)))
    if part.texts is not None:
        found.append(x.InSet(variable, tuple(x.Text(text) for text in part.texts)))
    if part.integer:
        found.append(x.IsInteger(variable))
    return all_of(found) if found else x.Truth(True)


def calendar_bounds(comparison: x.Comparison) -> list[x.Expression] | None:
    """Bounds on a date that hold together where a comparison of its year, or of an age, with a number holds."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if isinstance(left, x.Number):
        left, operator, right = right, x.MIRRORED[operator], left
    if not isinstance(right, x.Number) or operator == "!=":
        return None
    at_least, below = _first_and_next(operator, right.value)
    match left:
        case x.Function("year", (date,)) if _is_date(date):
            return _bounds(date, at_least, below, lambda year: days_of(year, 1, 1))
        case x.Function("age_at", (date, x.Number(reference))) if _is_date(date):
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


def _is_date(term: x.Expression) -> bool:
    """Whether a term is a variable in days, or a datetime divided by the seconds of a day."""
    return isinstance(term, x.VariableReference) or (
        isinstance(term, x.Arithmetic)
        and isinstance(term.left, x.VariableReference)
        and (term.operator, term.right) == ("/", x.Number(Fraction(DAY)))
    )


def _bounds(
    date: x.Expression, at_least: int | None, below: int | None, first_day: Callable[[int], int]
) -> list[x.Expression]:
    found: list[x.Expression] = []
    if at_least is not None:
        found.append(x.Comparison(">=", date, x.Date(Fraction(first_day(at_least)))))
    if below is not None:
        # A datetime may be on the last day at any time of it.
        if isinstance(date, x.VariableReference):
            found.append(x.Comparison("<=", date, x.Date(Fraction(first_day(below) - 1))))
        else:
            found.append(x.Comparison("<", date, x.Date(Fraction(first_day(below)))))
    return found


def _latest_birth(reference: int, age: int) -> int:
    """Last day of birth of those who have completed so many years on a day."""
    then = year_month_day(np.array([reference]))
    year, month, day = int(then.year[0]) - age, then.month, int(then.day[0])
    last = int(days_in_month(np.array([year]), month)[0])
    return int(days_of(year, int(month[0]), min(day, last)))
