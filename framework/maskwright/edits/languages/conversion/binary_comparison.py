"""Comparisons of decimals that binary64 decides rightly.

Half a unit of the last place decides, quotients are multiplied out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import conjunction
from maskwright.edits.languages.conversion.converted import Inexpressible, PathReference
from maskwright.edits.languages.conversion.yaml_text import decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping

HIGHEST_POWER = 8
MOST_PLACES = 15
_ZERO, _ONE = x.Number(Fraction(0)), x.Number(Fraction(1))


@dataclass(frozen=True)
class Grids:
    """Decimals of variables, and what else the data say of their cells.

    `known`: of the data; None is a variable without a grid. `otherwise`: most decimals of the other variables. `dates`:
    variables that are dates, and how they are written. `empty`: texts of cells that mean "no value".
    """

    known: Mapping[str, int | None] = field(default_factory=dict)
    otherwise: int = 4
    dates: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, name: str) -> int:
        """Decimals of one variable."""
        places = self.known.get(name, self.otherwise)
        if places is None:
            raise Inexpressible(f"{name} has no published decimals, and XPath would round what is calculated from it")
        return places


@dataclass(frozen=True)
class _Ratio:
    """``top / bottom``; bottom None is 1. Where a divisor is 0 there is no value."""

    top: x.Expression
    bottom: x.Expression | None = None
    divisors: tuple[x.Expression, ...] = ()


def compared(left: x.Expression, operator: x.ComparisonOperator, right: x.Expression, grids: Grids) -> x.Expression:
    """XPath for "the comparison is true": false where an operand is no number or a divisor is 0."""
    if _is_plain(left) and _is_plain(right):
        return _direct(left, operator, right)
    first, second = _ratio(left, grids), _ratio(right, grids)
    divisors = (*first.divisors, *second.divisors)
    if not divisors:
        return _near(_scaled(first, second), operator, _scaled(second, first), grids)
    top = _scaled(first, second), _scaled(second, first)
    bottom = _times(first.bottom, second.bottom)
    nonzero = [_near(divisor, "!=", _ZERO, grids) for divisor in dict.fromkeys(divisors)]
    if operator in ("==", "!="):
        return conjunction([*nonzero, _near(top[0], operator, top[1], grids)])
    if bottom is None:
        return conjunction([*nonzero, _near(top[0], operator, top[1], grids)])
    upright = conjunction([_near(bottom, ">", _ZERO, grids), _near(top[0], operator, top[1], grids)])
    turned = conjunction([_near(bottom, "<", _ZERO, grids), _near(top[0], x.MIRRORED[operator], top[1], grids)])
    return conjunction([*nonzero, x.Or((upright, turned))])


def whole(operand: x.Expression, grids: Grids, *, holds: bool) -> x.Expression:
    """XPath for "the number is whole", or for "it is not": both false where there is no number."""
    if _is_plain(operand):
        return _direct(x.Function("floor", (operand,)), "==" if holds else "<", operand)
    value = _without_divisor(_ratio(operand, grids), "'is integer'")
    half = _half_unit(value, grids)
    rest = x.Arithmetic("-", value, x.Function("floor", (x.Arithmetic("+", value, x.Number(half)),)))
    return x.Comparison("<=" if holds else ">", rest, x.Number(half))


def _is_plain(node: x.Expression) -> bool:
    """Whether no calculation comes between the cell, or the literal, and the comparison."""
    match node:
        case x.Function("number", (PathReference(is_sum=True),)):
            return False
        case x.Number() | x.Function("number"):
            return True
        case _:
            return False


def _direct(left: x.Expression, operator: x.ComparisonOperator, right: x.Expression) -> x.Expression:
    # Not `!=`: it holds where a number is missing.
    if operator == "!=":
        return x.Or((x.Comparison("<", left, right), x.Comparison(">", left, right)))
    return x.Comparison(operator, left, right)


def _near(left: x.Expression, operator: x.ComparisonOperator, right: x.Expression, grids: Grids) -> x.Expression:
    """Comparison of two numbers that differ by nothing or by a unit of the last place at least."""
    sides = [_places(side, grids) for side in (left, right) if not isinstance(side, x.Number)]
    # Whole numbers are exact, and no rounding brings one nearer to a literal.
    if not any(sides) or (_is_plain(left) and _is_plain(right)):
        return _direct(left, operator, right)
    half = Fraction(1, 2 * 10 ** max(_places(left, grids), _places(right, grids)))
    if isinstance(right, x.Number):
        value, low, high = left, x.Number(right.value - half), x.Number(right.value + half)
    else:
        value, low, high = x.Arithmetic("-", left, right), x.Number(-half), x.Number(half)
    match operator:
        case "==":
            return x.And((x.Comparison(">=", value, low), x.Comparison("<=", value, high)))
        case "!=":
            return x.Or((x.Comparison("<", value, low), x.Comparison(">", value, high)))
        case "<=" | ">":
            return x.Comparison(operator, value, high)
        case _:
            return x.Comparison(operator, value, low)


def _places(node: x.Expression, grids: Grids) -> int:
    """Most decimals that a number can have."""
    places = _raw_places(node, grids)
    if places > MOST_PLACES:
        raise Inexpressible(
            f"what it calculates has up to {places} decimals, more than binary64 distinguishes: give fewer decimals"
        )
    return places


def _raw_places(node: x.Expression, grids: Grids) -> int:
    match node:
        case x.Number(value):
            return _decimals(value)
        case x.Function("number", (x.VariableReference(name),)):
            return grids.of(name)
        case x.Function("floor" | "ceiling" | "round"):
            return 0
        case x.Negative(operand):
            return _raw_places(operand, grids)
        case x.Arithmetic("*", left, right):
            return _raw_places(left, grids) + _raw_places(right, grids)
        case x.Arithmetic(_, left, right):
            return max(_raw_places(left, grids), _raw_places(right, grids))
        case _:
            raise AssertionError(f"no decimals of {type(node).__name__}")


def _decimals(value: Fraction) -> int:
    text = decimal_text(value)
    assert text is not None
    return len(text.partition(".")[2])


def _ends(value: Fraction) -> bool:
    return decimal_text(value) is not None


def _half_unit(node: x.Expression, grids: Grids) -> Fraction:
    return Fraction(1, 2 * 10 ** max(_places(node, grids), 1))


def _ratio(node: x.Expression, grids: Grids) -> _Ratio:  # noqa: C901, PLR0911 - one case for each kind of node
    match node:
        case x.Number(value):
            if _ends(value):
                return _Ratio(node)
            return _Ratio(x.Number(Fraction(value.numerator)), x.Number(Fraction(value.denominator)))
        case x.Function("number", _):
            return _Ratio(node)
        case x.Function("floor" | "ceiling" | "round" as name, (argument,)):
            return _Ratio(_rounded(name, argument, grids))
        case x.Negative(operand):
            inner = _ratio(operand, grids)
            return _Ratio(x.Negative(inner.top), inner.bottom, inner.divisors)
        case x.Arithmetic("+" | "-" as operator, left, right):
            first, second = _ratio(left, grids), _ratio(right, grids)
            top = x.Arithmetic(operator, _scaled(first, second), _scaled(second, first))
            return _Ratio(top, _times(first.bottom, second.bottom), (*first.divisors, *second.divisors))
        case x.Arithmetic("*", left, right):
            first, second = _ratio(left, grids), _ratio(right, grids)
            return _product(first, second)
        case x.Arithmetic("/", left, right):
            return _product(_ratio(left, grids), _inverse(_ratio(right, grids)))
        case x.Arithmetic("^", base, exponent):
            return _power(_ratio(base, grids), exponent)
        case x.Arithmetic("mod", left, right):
            return _modulo(left, right, grids)
        case _:
            raise Inexpressible("XPath 1.0 has no such calculation")


def _product(first: _Ratio, second: _Ratio) -> _Ratio:
    top = second.top if first.top == _ONE else first.top if second.top == _ONE else None
    return _Ratio(
        top if top is not None else x.Arithmetic("*", first.top, second.top),
        _times(first.bottom, second.bottom),
        (*first.divisors, *second.divisors),
    )


def _inverse(value: _Ratio) -> _Ratio:
    if isinstance(value.top, x.Number):
        if value.top.value == 0:
            raise Inexpressible("it divides by zero: it is unknown for every record")
        reciprocal = 1 / value.top.value
        if value.bottom is None and _ends(reciprocal):
            return _Ratio(x.Number(reciprocal))
        sign = 1 if value.top.value > 0 else -1
        top = value.bottom or _ONE
        size = x.Number(abs(value.top.value))
        return _Ratio(top if sign > 0 else x.Negative(top), size if size != _ONE else None, value.divisors)
    return _Ratio(value.bottom or _ONE, value.top, (*value.divisors, value.top))


def _power(base: _Ratio, exponent: x.Expression) -> _Ratio:
    if not isinstance(exponent, x.Number) or exponent.value.denominator != 1:
        raise Inexpressible("XPath 1.0 has no powers other than whole numbers, multiplied out")
    times = int(exponent.value)
    if times == 0 or abs(times) > HIGHEST_POWER:
        raise Inexpressible(f"XPath 1.0 has no powers: only those from 1 to {HIGHEST_POWER} are multiplied out")
    factor = base if times > 0 else _inverse(base)
    result = factor
    for _ in range(abs(times) - 1):
        result = _product(result, factor)
    return result


def _modulo(left: x.Expression, right: x.Expression, grids: Grids) -> _Ratio:
    steady = isinstance(right, x.Number) and right.value.denominator == 1 and right.value != 0
    if steady and _is_plain(left):
        return _Ratio(x.Arithmetic("mod", left, right))
    top, bottom = _ratio(left, grids), _ratio(right, grids)
    if top.bottom is None and bottom.bottom is None and max(_places(top.top, grids), _places(bottom.top, grids)) == 0:
        divisors = () if steady else (bottom.top,)
        # The guard of a divisor needs a denominator that is positive; 1 is.
        return _Ratio(x.Arithmetic("mod", top.top, bottom.top), _ONE if divisors else None, divisors)
    raise Inexpressible("mod() of decimals: XPath would round what it divides")


def _rounded(name: str, argument: x.Expression, grids: Grids) -> x.Expression:
    """Rounding that is not misled by rounding errors just below a whole number."""
    if _is_plain(argument) or (isinstance(argument, x.Function) and argument.name in ("floor", "ceiling", "round")):
        inner = argument if _is_plain(argument) else _ratio(argument, grids).top
        return x.Function(name, (inner,))
    value = _without_divisor(_ratio(argument, grids), f"{name}()")
    if _places(value, grids) == 0:
        return value
    # Less than half a unit for `round`, whose limit lies half-way between whole numbers.
    shift = _half_unit(value, grids) / 2
    return x.Function(name, (x.Arithmetic("-" if name == "ceiling" else "+", value, x.Number(shift)),))


def _without_divisor(value: _Ratio, taker: str) -> x.Expression:
    if value.bottom is not None or value.divisors:
        raise Inexpressible(f"{taker} of a quotient: XPath would round it first")
    return value.top


def _scaled(value: _Ratio, other: _Ratio) -> x.Expression:
    """Top of one ratio, brought to the common bottom of both."""
    return value.top if other.bottom is None else x.Arithmetic("*", value.top, other.bottom)


def _times(first: x.Expression | None, second: x.Expression | None) -> x.Expression | None:
    if first is None or second is None:
        return first if second is None else second
    return x.Arithmetic("*", first, second)
