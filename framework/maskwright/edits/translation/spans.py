"""Between which numbers an expression lies when its variables lie between given ones."""

from __future__ import annotations

import math
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    ComparisonOperator,
    Expression,
    Function,
    InInterval,
    InSet,
    IsInteger,
    Negative,
    Not,
    Number,
    Or,
    Truth,
    VariableReference,
)
from maskwright.edits.translation.values import Interval, added, scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970-01-01: dates have four digits of the year."""
_START = date(1970, 1, 1)
_NOT_KNOWN = (True, False)
_SIGNS: dict[ComparisonOperator, tuple[int, ...]] = {
    "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1),
}  # fmt: skip


def decided(  # noqa: PLR0911 - one return for each kind
    condition: Expression, spans: Mapping[str, Interval]
) -> tuple[bool, bool]:
    """Whether a condition may hold, and whether it must, wherever in their intervals its variables lie.

    (True, False) where that is not known.
    """
    match condition:
        case Truth(value):
            return value, value
        case Not(operand):
            may, must = decided(operand, spans)
            return not must, not may
        case And(operands) | Or(operands):
            found_of = [decided(operand, spans) for operand in operands]
            every = all if isinstance(condition, And) else any
            return every(may for may, _ in found_of), every(must for _, must in found_of)
        case Comparison(operator, left, right):
            found = difference(left, right, spans)
            return _NOT_KNOWN if found is None else _by_sign(found, operator)
        case InInterval(operand, low, high):
            return _within(condition, span(operand, spans), (low, high))
        case InSet(operand, members):
            found = span(operand, spans)
            if found is None or not all(isinstance(member, Number) for member in members):
                return _NOT_KNOWN
            inside = any(found.holds(member.value) for member in members if isinstance(member, Number))
            return inside, inside and found.is_point
        case IsInteger(operand):
            found = span(operand, spans)
            if found is None or not found.is_point or found.low is None:
                return _NOT_KNOWN
            whole = found.low.denominator == 1
            return whole, whole
        case _:
            return _NOT_KNOWN


def _by_sign(found: Interval, operator: ComparisonOperator) -> tuple[bool, bool]:
    possible = {
        -1: found.low is None or found.low < 0,
        0: found.holds(Fraction(0)),
        1: found.high is None or found.high > 0,
    }
    wanted = _SIGNS[operator]
    return any(possible[sign] for sign in wanted), all(sign in wanted for sign, is_so in possible.items() if is_so)


def _within(
    condition: InInterval, found: Interval | None, ends: tuple[Expression | None, Expression | None]
) -> tuple[bool, bool]:
    low, high = ends
    if found is None or not all(isinstance(end, Number | None) for end in ends):
        return _NOT_KNOWN
    bounds = Interval(
        low.value if isinstance(low, Number) else None, high.value if isinstance(high, Number) else None,
        condition.low_closed, condition.high_closed,
    )  # fmt: skip
    common = found.common(bounds)
    return not common.is_empty, common == found.common(Interval())


def difference(left: Expression, right: Expression, spans: Mapping[str, Interval]) -> Interval | None:
    """Interval of ``left - right``; None where it is not known."""
    first, second = polynomial_of(left), polynomial_of(right)
    if first is not None and second is not None and (first - second).is_affine and not (first - second).divisors:
        total = Interval((first - second).constant, (first - second).constant)
        for name, factor in (first - second).linear_terms.items():
            if name not in spans:
                return None
            total = added(total, scaled(spans[name], factor))
        return total
    one, other = span(left, spans), span(right, spans)
    return None if one is None or other is None else added(one, scaled(other, Fraction(-1)))


def span(  # noqa: PLR0911 - one return for each kind
    node: Expression, spans: Mapping[str, Interval]
) -> Interval | None:
    """Interval of a number; None where it is not known, as of a text."""
    match node:
        case Number(value):
            return Interval(value, value)
        case VariableReference(name):
            return spans.get(name)
        case Negative(operand):
            found = span(operand, spans)
            return None if found is None else scaled(found, Fraction(-1))
        case Arithmetic("+" | "-" as sign, left, right):
            one, other = span(left, spans), span(right, spans)
            if one is None or other is None:
                return None
            return added(one, other if sign == "+" else scaled(other, Fraction(-1)))
        case Arithmetic("*" | "/" as sign, left, right):
            return _multiplied(sign, span(left, spans), span(right, spans))
        case Function("number", (argument,)):
            return span(argument, spans)
        case Function("abs", (argument,)):
            return _absolute(span(argument, spans))
        case Function("year", (argument,)):
            return _years(span(argument, spans))
        case _:
            return None


def _multiplied(sign: str, one: Interval | None, other: Interval | None) -> Interval | None:
    """Product with, or quotient by, a single number."""
    if one is None or other is None:
        return None
    if sign == "*" and one.is_point:
        one, other = other, one
    if not other.is_point or not other.low:
        return None
    return scaled(one, other.low if sign == "*" else 1 / other.low)


def _absolute(found: Interval | None) -> Interval | None:
    if found is None:
        return None
    if found.low is not None and found.low >= 0:
        return found
    turned = scaled(found, Fraction(-1))
    if found.high is not None and found.high <= 0:
        return turned
    both = [each for each in (found, turned) if each.high is None]
    farther = both[0] if both else max(found, turned, key=lambda each: (each.high or 0, each.high_closed))
    return Interval(Fraction(0), farther.high, high_closed=farther.high_closed)


def _years(found: Interval | None) -> Interval | None:
    """Years of days."""
    if found is None:
        return None
    return Interval(_year(found.low), _year(found.high))


def _year(day: Fraction | None) -> Fraction | None:
    if day is None:
        return None
    inside = min(max(math.floor(day), FIRST_DAY), LAST_DAY)
    return Fraction((_START + timedelta(days=inside)).year)
