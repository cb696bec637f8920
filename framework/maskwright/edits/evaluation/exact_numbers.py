"""Arithmetic with vectors of numbers: exact while the data are decimals, binary64 with an error bound otherwise.

Callers silence numpy's floating-point warnings: whatever has no value is marked unknown here.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maskwright.data.dates import LAST_DAY, calendar
from maskwright.edits.evaluation.exact_vectors import (
    INT64_BOUND,
    Approximate,
    Booleans,
    Exact,
    Numbers,
    approximate,
    constant,
    quotient,
    settled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


# Beyond this size numbers are no longer worth their exactness; they go on as binary64.
MOST_BITS = 4096
HIGHEST_EXACT_POWER = 64
# Data without declared decimals are equal up to this share of the sum of their terms' sizes.
RELATIVE_ALLOWANCE = 1e-12

Rounding = Literal["floor", "ceiling", "round"]


def _tightened(numbers: Exact) -> Exact:
    largest = max((abs(int(numbers.numerators.max(initial=0))), abs(int(numbers.numerators.min(initial=0)))))
    rows = numbers.denominators
    return replace(
        numbers,
        bound=min(largest, numbers.bound),
        denominator_bound=rows if isinstance(rows, int) else int(rows.max(initial=1)),
    )


def _times(values: NDArray[Any] | int, bound: int, factor: NDArray[Any] | int, factor_bound: int) -> Any:
    """Product that leaves int64 before it can overflow."""
    if isinstance(factor, int) and factor == 1:
        return values
    if isinstance(values, int) and values == 1:
        return factor
    # A product with 0 is small, but its other factor must fit as well.
    if max(bound, 1) * max(factor_bound, 1) >= INT64_BOUND:
        wide = values.astype(object) if isinstance(values, np.ndarray) else values
        other = factor.astype(object) if isinstance(factor, np.ndarray) else factor
        return wide * other
    return values * factor


def _common(a: Exact, b: Exact) -> tuple[Any, Any, int | NDArray[Any], int, int, int]:
    """Numerators over a common denominator: (of a, of b, denominator, bound of a, of b, of the denominator)."""
    if isinstance(a.denominators, int) and isinstance(b.denominators, int):
        shared = lcm(a.denominators, b.denominators)
        up_a, up_b = shared // a.denominators, shared // b.denominators
        bounds = a.bound * up_a, b.bound * up_b
        left = _times(a.numerators, a.bound, up_a, up_a)
        return left, _times(b.numerators, b.bound, up_b, up_b), shared, *bounds, shared
    left = _times(a.numerators, a.bound, b.denominators, b.denominator_bound)
    right = _times(b.numerators, b.bound, a.denominators, a.denominator_bound)
    bottom = _times(a.denominators, a.denominator_bound, b.denominators, b.denominator_bound)
    return (
        left, right, bottom, a.bound * b.denominator_bound, b.bound * a.denominator_bound,
        a.denominator_bound * b.denominator_bound,
    )  # fmt: skip


def _wide(values: Any) -> Any:
    return values.astype(object) if isinstance(values, np.ndarray) else values


def add(a: Numbers, b: Numbers, sign: int = 1) -> Numbers:
    """Return ``a + sign * b``."""
    if isinstance(a, Exact) and isinstance(b, Exact):
        left, right, bottom, bound_a, bound_b, bottom_bound = _common(a, b)
        bound = bound_a + bound_b
        if bound >= INT64_BOUND:
            left, right = _wide(left), _wide(right)
        result = left + right if sign > 0 else left - right
        return _limited(Exact(result, bottom, a.unknown | b.unknown, bound, bottom_bound))
    x, y = approximate(a), approximate(b)
    return _checked(x.values + sign * y.values, x.sizes + y.sizes, x.unknown | y.unknown)


def multiply(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a * b``."""
    if isinstance(a, Exact) and isinstance(b, Exact):
        top = _times(a.numerators, a.bound, b.numerators, b.bound)
        bottom = _times(a.denominators, a.denominator_bound, b.denominators, b.denominator_bound)
        bounds = a.bound * b.bound, a.denominator_bound * b.denominator_bound
        return _limited(Exact(top, bottom, a.unknown | b.unknown, *bounds))
    x, y = approximate(a), approximate(b)
    return _checked(x.values * y.values, x.sizes * y.sizes, x.unknown | y.unknown)


def divide(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a / b``; unknown where b is 0."""
    if isinstance(b, Exact):
        zero = np.asarray(b.numerators == 0, dtype=np.bool_)
        if isinstance(a, Exact):
            divisor = np.where(zero, 1, b.numerators)
            sign = np.where(divisor < 0, -1, 1)
            bottom: int | NDArray[Any] = divisor * sign
            if isinstance(bottom, np.ndarray) and len(bottom) == 1:
                bottom = int(bottom[0])
            flipped = replace(a, numerators=a.numerators * sign)
            inverse = Exact(_as_array(b.denominators), bottom, b.unknown | zero, b.denominator_bound, max(b.bound, 1))
            return multiply(flipped, inverse)
    x, y = approximate(a), approximate(b)
    zero = y.values == 0
    divisor = np.where(zero, 1.0, y.values)
    sizes = x.sizes / np.abs(divisor) * (y.sizes / np.abs(divisor))
    return _checked(x.values / divisor, sizes, x.unknown | y.unknown | zero)


def _as_array(values: int | NDArray[Any]) -> NDArray[Any]:
    if isinstance(values, int):
        return np.array([values], dtype=object if values >= INT64_BOUND else np.int64)
    return values


def _checked(values: NDArray[np.float64], sizes: NDArray[np.float64], unknown: Booleans) -> Approximate:
    undefined = unknown | np.isnan(values)
    return Approximate(np.where(undefined, 0.0, values), np.where(undefined, 0.0, sizes), undefined)


def _limited(found: Exact) -> Numbers:
    if max(found.bound, found.denominator_bound) < INT64_BOUND:
        return found
    tight = _reduced(_tightened(found))
    if max(tight.bound, tight.denominator_bound).bit_length() > MOST_BITS:
        return approximate(tight)
    return tight


def _reduced(found: Exact) -> Exact:
    """Smallest terms of a constant; int64 again where the numbers turned out small."""
    if isinstance(found.denominators, int) and len(found.numerators) == 1:
        divisor = gcd(int(found.numerators[0]), found.denominators)
        return replace(
            constant(Fraction(int(found.numerators[0]) // divisor, found.denominators // divisor)),
            unknown=found.unknown,
        )
    rows = found.denominators
    if isinstance(rows, np.ndarray) and rows.dtype == object and found.denominator_bound < INT64_BOUND:
        found = replace(found, denominators=rows.astype(np.int64))
    return settled(found)


def negate(a: Numbers) -> Numbers:
    """Return ``-a``."""
    if isinstance(a, Exact):
        return replace(a, numerators=-a.numerators)
    return replace(a, values=-a.values)


def absolute(a: Numbers) -> Numbers:
    """Return ``abs(a)``."""
    if isinstance(a, Exact):
        return replace(a, numerators=np.abs(a.numerators))
    return replace(a, values=np.abs(a.values))


def order(a: Numbers, b: Numbers) -> tuple[NDArray[np.int8], Booleans]:
    """Sign of ``a - b``: -1, 0 or 1, and where it is unknown.

    Exact numbers compare exactly. Binary64 numbers are equal when they differ by no more than 1e-12 of the sum of
    the absolute values of the terms they were computed from.
    """
    if isinstance(a, Exact) and isinstance(b, Exact):
        left, right, _, bound_a, bound_b, _ = _common(a, b)
        if max(bound_a, bound_b) >= INT64_BOUND:
            left, right = _wide(left), _wide(right)
        above = np.asarray(left > right, dtype=np.int8)
        return above - np.asarray(left < right, dtype=np.int8), a.unknown | b.unknown
    x, y = approximate(a), approximate(b)
    difference = x.values - y.values
    allowance = RELATIVE_ALLOWANCE * (x.sizes + y.sizes)
    # Infinity has no relative error.
    allowance = np.where(np.isfinite(allowance), allowance, 0.0)
    above = np.asarray(difference > allowance, dtype=np.int8)
    return above - np.asarray(difference < -allowance, dtype=np.int8), x.unknown | y.unknown | np.isnan(difference)


def among(a: Numbers, listed: Sequence[Fraction]) -> tuple[Booleans, Booleans]:
    """Whether each number is one of a list (sorted, not empty), and where that is unknown; work grows with its log."""
    if isinstance(a, Exact) and isinstance(a.denominators, int):
        scaled = [value * a.denominators for value in listed]
        whole = [int(value) for value in scaled if value.denominator == 1]
        members = set(whole)
        wide = a.numerators.dtype == object or any(abs(value) >= INT64_BOUND for value in whole)
        # numpy has no isin for Python integers.
        found = (
            np.array([int(value) in members for value in a.numerators], dtype=np.bool_)
            if wide
            else np.isin(a.numerators, np.array(whole, dtype=np.int64))
        )
        return found, a.unknown
    if isinstance(a, Exact):
        # Quotients: no common denominator to look up.
        equal = [order(a, constant(value))[0] == 0 for value in listed]
        return np.logical_or.reduce(equal), a.unknown
    x = approximate(a)
    values = np.array([quotient(value.numerator, value.denominator) for value in listed])
    values = values[np.isfinite(values)]
    if not len(values):
        return np.zeros(len(x.values), dtype=np.bool_), x.unknown
    after = np.searchsorted(values, x.values)
    found = np.zeros(len(x.values), dtype=np.bool_)
    for neighbour in (np.maximum(after - 1, 0), np.minimum(after, len(values) - 1)):
        near = values[neighbour]
        allowance = RELATIVE_ALLOWANCE * (x.sizes + np.abs(near))
        found |= np.isfinite(allowance) & (np.abs(x.values - near) <= allowance)
    return found, x.unknown


def extreme(a: Numbers, b: Numbers, sign: int) -> Numbers:
    """Return the larger of a and b for sign 1, the smaller for sign -1."""
    direction, unknown = order(a, b)
    first = direction * sign >= 0
    if isinstance(a, Exact) and isinstance(b, Exact):
        left, right, bottom, bound_a, bound_b, bottom_bound = _common(a, b)
        return _limited(Exact(np.where(first, left, right), bottom, unknown, max(bound_a, bound_b), bottom_bound))
    x, y = approximate(a), approximate(b)
    return Approximate(np.where(first, x.values, y.values), np.where(first, x.sizes, y.sizes), unknown)


def rounded(a: Numbers, how: Rounding) -> Numbers:
    """Whole numbers: floor, ceiling, or nearest with halves up (as XPath rounds)."""
    if isinstance(a, Exact):
        if how == "round":
            return rounded(add(a, constant(Fraction(1, 2))), "floor")
        top = a.numerators if how == "floor" else -a.numerators
        whole = top // _as_array(a.denominators)
        return replace(a, numerators=whole if how == "floor" else -whole, denominators=1, denominator_bound=1)
    # A number that rounding errors alone keep from being whole is meant as whole.
    near = np.rint(a.values)
    shift = 0.5 if how == "round" else 0.0
    whole = np.ceil(a.values) if how == "ceiling" else np.floor(a.values + shift)
    result = np.where(np.abs(a.values - near) <= RELATIVE_ALLOWANCE * a.sizes, near, whole)
    return Approximate(result, np.abs(result), a.unknown)


def calendar_number(function: str, arguments: Sequence[Numbers]) -> Exact:
    """Value of a function of dates, such as their year; unknown where an argument is no day of the calendar."""
    days = [approximate(rounded(each, "floor")) for each in arguments]
    found = calendar(function, [np.where(each.unknown, np.nan, each.values) for each in days])
    unknown = np.isnan(found)
    return Exact(np.where(unknown, 0.0, found).astype(np.int64), 1, unknown, LAST_DAY, 1)


def is_whole(a: Numbers) -> tuple[Booleans, Booleans]:
    """Whether each number is whole, and where that is unknown."""
    direction, unknown = order(a, rounded(a, "floor"))
    return direction == 0, unknown


def modulo(a: Numbers, b: Numbers) -> Numbers:
    """Remainder with the sign of a, as XPath's ``mod``; unknown where b is 0."""
    quotient = divide(a, b)
    zero = constant(Fraction(0))
    negative = order(quotient, zero)[0] < 0
    down, up = rounded(quotient, "floor"), rounded(quotient, "ceiling")
    whole = _where(negative, up, down)
    return add(a, multiply(b, whole), -1)


def _where(mask: Booleans, a: Numbers, b: Numbers) -> Numbers:
    if isinstance(a, Exact) and isinstance(b, Exact):
        left, right, bottom, bound_a, bound_b, bottom_bound = _common(a, b)
        return Exact(np.where(mask, left, right), bottom, a.unknown | b.unknown, max(bound_a, bound_b), bottom_bound)
    x, y = approximate(a), approximate(b)
    return Approximate(np.where(mask, x.values, y.values), np.where(mask, x.sizes, y.sizes), x.unknown | y.unknown)


def power(base: Numbers, exponent: Numbers) -> Numbers:
    """Return ``base ** exponent``.

    Exact for whole constant exponents up to 64 in size; other powers have no exact decimal and are binary64.
    Unknown where it is no real number.
    """
    if isinstance(exponent, Exact) and len(exponent.numerators) == 1 and not exponent.unknown[0]:
        whole, rest = divmod(int(exponent.numerators[0]), int(_as_array(exponent.denominators)[0]))
        if rest == 0 and abs(whole) <= HIGHEST_EXACT_POWER:
            result: Numbers = constant(Fraction(1))
            square, left = base, abs(whole)
            while left:
                if left % 2:
                    result = multiply(result, square)
                left //= 2
                if left:
                    square = multiply(square, square)
            if whole == 0:
                result = replace(result, unknown=base.unknown)
            return divide(constant(Fraction(1)), result) if whole < 0 else result
    x, y = approximate(base), approximate(exponent)
    values = np.asarray(np.power(x.values, y.values), dtype=np.float64)
    undefined = x.unknown | y.unknown | ((x.values == 0) & (y.values < 0))
    return _checked(values, np.abs(values), undefined)
