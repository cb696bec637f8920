"""Which original values a published category stands for, and the spans of expressions on them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.edit import RangePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from maskwright.data.variable import Band, Variable
    from maskwright.edits.edit import Edit


@dataclass(frozen=True)
class Interval:
    """Numbers between two ends; None: without an end.

    `low_closed`, `high_closed`: whether the ends belong to it.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    low_closed: bool = True
    high_closed: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether no number is in it."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and not (self.low_closed and self.high_closed))

    @property
    def is_point(self) -> bool:
        """Whether it is one number."""
        return self.low is not None and self.low == self.high and not self.is_empty

    def holds(self, value: Fraction) -> bool:
        """Whether a number is in it."""
        return not Interval(value, value).common(self).is_empty

    def common(self, other: Interval) -> Interval:
        """Numbers that are in both."""
        low, low_closed = self.low, self.low_closed
        if other.low is not None and (low is None or other.low > low or (other.low == low and not other.low_closed)):
            low, low_closed = other.low, other.low_closed
        high, high_closed = self.high, self.high_closed
        if other.high is not None and (
            high is None or other.high < high or (other.high == high and not other.high_closed)
        ):
            high, high_closed = other.high, other.high_closed
        return Interval(low, high, low_closed, high_closed)

    def whole(self) -> Interval:
        """Whole numbers in it, from the first to the last."""
        low, high = self.low, self.high
        if low is not None:
            first = math.ceil(low)
            low = Fraction(first + 1 if first == low and not self.low_closed else first)
        if high is not None:
            last = math.floor(high)
            high = Fraction(last - 1 if last == high and not self.high_closed else last)
        return Interval(low, high)


Values = Interval | tuple[str, ...] | tuple[Fraction, ...]
"""What a category stands for."""


@dataclass(frozen=True)
class Recoded:
    """A variable that is published as categories.

    `original`: as it is in the original. `values`: what each of them may stand for; empty: not known.
    """

    original: Variable
    categories: tuple[str, ...]
    values: tuple[Values, ...]

    @property
    def overlaps(self) -> bool:
        """Whether some value may be in two categories."""
        listed = [each for values in self.values if isinstance(values, tuple) for each in values]
        if len(set(listed)) < len(listed):
            return True
        spans = [each if isinstance(each, Interval) else _hull(each) for each in self.values]
        between = sorted(
            (each for each in spans if each is not None and not each.is_empty),
            key=lambda each: (each.low is not None, each.low or Fraction(0)),
        )
        if not all(isinstance(each, Interval) for each in self.values):
            # Listed numbers may lie between those of another category.
            return any(isinstance(each, Interval) for each in self.values)
        return any(not one.common(other).is_empty for one, other in itertools.pairwise(between))


def recoded(original: Variable, published: Variable, ranges: Interval | None = None) -> Recoded:
    """What the categories of a published variable stand for."""
    if len(published.bands) != len(published.categories):
        return Recoded(original, published.categories, ())
    return Recoded(
        original, published.categories, tuple(_values(original, band, ranges or Interval()) for band in published.bands)
    )


def _values(original: Variable, band: Band, ranges: Interval) -> Values:
    if band.members is not None:
        if all(isinstance(member, str) for member in band.members):
            return tuple(str(member) for member in band.members)
        numbers = sorted(_exact(float(member)) / original.day for member in band.members)
        return tuple(each for each in numbers if ranges.holds(each))
    # Rules know moments as days and parts of days.
    low = None if math.isinf(band.lower) else _exact(band.lower) / original.day
    high = None if math.isinf(band.upper) else _exact(band.upper) / original.day
    found = Interval(low, high, high_closed=band.upper_inclusive or high is None).common(ranges)
    return found.whole() if original.type in ("date", "integer") else found


def _exact(value: float) -> Fraction:
    """Number that is meant: 0.1 is one tenth."""
    return Fraction(repr(value))


def _hull(values: tuple[str, ...] | tuple[Fraction, ...]) -> Interval | None:
    numbers = [each for each in values if isinstance(each, Fraction)]
    return Interval(min(numbers), max(numbers)) if numbers else None


def ranges_of(edits: Iterable[Edit]) -> dict[str, Interval]:
    """Interval that the edits on one variable alone leave it, for each variable that has one."""
    found: dict[str, Interval] = {}
    for edit in edits:
        if edit.severity != "error" or edit.shadowed or edit.when is not None or len(edit.variables) != 1:
            continue
        for part in edit.parts:
            if isinstance(part, RangePart) and (part.low is not None or part.high is not None):
                span = Interval(part.low, part.high, part.low_closed, part.high_closed)
                found[part.variable] = found.get(part.variable, Interval()).common(span)
    return found


def span_of(values: Values) -> Interval:
    """Smallest interval that holds all values of a category."""
    if isinstance(values, Interval):
        return values
    found = _hull(values)
    if found is None:
        raise ValueError("no numbers")
    return found


def scaled(interval: Interval, factor: Fraction) -> Interval:
    """Products with a number that is not zero."""
    low = None if interval.low is None else interval.low * factor
    high = None if interval.high is None else interval.high * factor
    found = replace(interval, low=low, high=high)
    return found if factor > 0 else Interval(high, low, interval.high_closed, interval.low_closed)


def added(one: Interval, other: Interval) -> Interval:
    """Sums."""
    low = None if one.low is None or other.low is None else one.low + other.low
    high = None if one.high is None or other.high is None else one.high + other.high
    return Interval(low, high, one.low_closed and other.low_closed, one.high_closed and other.high_closed)


FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970-01-01: dates have four digits of the year."""
_START = date(1970, 1, 1)
_NOT_KNOWN = (True, False)


def decided(  # noqa: PLR0911 - one return for each kind
    condition: x.Expression, spans: Mapping[str, Interval]
) -> tuple[bool, bool]:
    """Whether a condition may hold, and whether it must, wherever in their intervals its variables lie.

    (True, False) where that is not known.
    """
    match condition:
        case x.Truth(value):
            return value, value
        case x.Not(operand):
            may, must = decided(operand, spans)
            return not must, not may
        case x.And(operands) | x.Or(operands):
            found_of = [decided(operand, spans) for operand in operands]
            every = all if isinstance(condition, x.And) else any
            return every(may for may, _ in found_of), every(must for _, must in found_of)
        case x.Comparison(operator, left, right):
            found = difference(left, right, spans)
            return _NOT_KNOWN if found is None else _by_sign(found, operator)
        case x.InInterval(operand, low, high):
            return _within(condition, span(operand, spans), (low, high))
        case x.InSet(operand, members):
            found = span(operand, spans)
            if found is None or not all(isinstance(member, x.Number) for member in members):
                return _NOT_KNOWN
            inside = any(found.holds(member.value) for member in members if isinstance(member, x.Number))
            return inside, inside and found.is_point
        case x.IsInteger(operand):
            found = span(operand, spans)
            if found is None or not found.is_point or found.low is None:
                return _NOT_KNOWN
            whole = found.low.denominator == 1
            return whole, whole
        case _:
            return _NOT_KNOWN


def _by_sign(found: Interval, operator: x.ComparisonOperator) -> tuple[bool, bool]:
    possible = {
        -1: found.low is None or found.low < 0,
        0: found.holds(Fraction(0)),
        1: found.high is None or found.high > 0,
    }
    wanted = x.SIGNS[operator]
    return any(possible[sign] for sign in wanted), all(sign in wanted for sign, is_so in possible.items() if is_so)


def _within(
    condition: x.InInterval, found: Interval | None, ends: tuple[x.Expression | None, x.Expression | None]
) -> tuple[bool, bool]:
    low, high = ends
    if found is None or not all(isinstance(end, x.Number | None) for end in ends):
        return _NOT_KNOWN
    bounds = Interval(
        low.value if isinstance(low, x.Number) else None, high.value if isinstance(high, x.Number) else None,
        condition.low_closed, condition.high_closed,
    )  # fmt: skip
    common = found.common(bounds)
    return not common.is_empty, common == found.common(Interval())


def difference(left: x.Expression, right: x.Expression, spans: Mapping[str, Interval]) -> Interval | None:
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
    node: x.Expression, spans: Mapping[str, Interval]
) -> Interval | None:
    """Interval of a number; None where it is not known, as of a text."""
    match node:
        case x.Number(value):
            return Interval(value, value)
        case x.VariableReference(name):
            return spans.get(name)
        case x.Negative(operand):
            found = span(operand, spans)
            return None if found is None else scaled(found, Fraction(-1))
        case x.Arithmetic("+" | "-" as sign, left, right):
            one, other = span(left, spans), span(right, spans)
            if one is None or other is None:
                return None
            return added(one, other if sign == "+" else scaled(other, Fraction(-1)))
        case x.Arithmetic("*" | "/" as sign, left, right):
            return _multiplied(sign, span(left, spans), span(right, spans))
        case x.Function("number", (argument,)):
            return span(argument, spans)
        case x.Function("abs", (argument,)):
            return _absolute(span(argument, spans))
        case x.Function("year", (argument,)):
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
