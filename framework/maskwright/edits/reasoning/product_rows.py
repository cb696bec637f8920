"""What products demand of their unknown variables: a linear row, the roots of a power, two factors of a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.edit import ProductPart

LARGEST_FACTORED = 10**12


@dataclass(frozen=True)
class Roots:
    """The values of the one unknown variable."""

    variable: str
    numbers: tuple[Fraction, ...]


@dataclass(frozen=True)
class Factors:
    """Two unknown variables whose product is this number, and of which there are more ways than one."""

    variables: tuple[str, str]
    product: Fraction


@dataclass(frozen=True)
class Unsolved:
    """Unknown variables in a form that is not solved here."""

    variables: tuple[str, ...]


def product_row(part: ProductPart, values: Mapping[str, Fraction]) -> Row | Roots | Factors | Unsolved | None:
    """What a product demands of its variables that have no value.

    Returns none where a known divisor is 0: the product has no value then, and is not violated. A row where the product
    is linear in what is unknown; without variables where all are known.
    """
    left, right = _known(part.coefficient, part.left, values), _known(part.constant, part.right, values)
    if left is None or right is None:
        return None
    sides = [{name: power for name, power in side if name not in values} for side in (part.left, part.right)]
    if all(side in ({}, dict.fromkeys(side, 1)) and len(side) <= 1 for side in sides):
        terms: dict[str, Fraction] = {}
        for side, factor in zip(sides, (left, -right), strict=True):
            for name in side:
                terms[name] = terms.get(name, Fraction(0)) + factor
        return _row(terms, Fraction(0) if sides[0] else left, Fraction(0) if sides[1] else right, part.relation)
    unknown = tuple(dict.fromkeys((*sides[0], *sides[1])))
    if part.relation != "==" or all(sides):
        return Unsolved(unknown)
    ((side, own, other),) = [each for each in ((sides[0], left, right), (sides[1], right, left)) if each[0]]
    if len(side) == 1:
        roots = _roots(own, other, side[unknown[0]])
        return Unsolved(unknown) if roots is None else Roots(unknown[0], roots)
    if len(side) == 2 and set(side.values()) == {1} and own:
        return Factors((unknown[0], unknown[1]), other / own)
    return Unsolved(unknown)


def whole_factors(number: int) -> list[int] | None:
    """Whole numbers that divide `number`, of both signs; None for 0 and for numbers above 10 ** 12."""
    if number == 0 or abs(number) > LARGEST_FACTORED:
        return None
    candidates = np.arange(1, math.isqrt(abs(number)) + 1, dtype=np.int64)
    small = [int(each) for each in candidates[abs(number) % candidates == 0]]
    every = sorted({*small, *(abs(number) // each for each in small)})
    return [*every, *(-each for each in every)]


def product_holds(part: ProductPart, values: Mapping[str, Fraction]) -> bool:
    """Whether a product holds for values of all its variables; so does one that divides by 0: it has no value."""
    row = product_row(part, values)
    if not isinstance(row, Row):
        return row is None
    if row.relation == "==":
        return row.constant == 0
    return row.constant >= 0 if row.relation == "<=" else row.constant > 0


def _known(
    coefficient: Fraction, factors: Sequence[tuple[str, int]], values: Mapping[str, Fraction]
) -> Fraction | None:
    for name, exponent in factors:
        value = values.get(name)
        if value is None:
            continue
        if value == 0 and exponent < 0:
            return None
        coefficient *= value**exponent
    return coefficient


def _row(terms: dict[str, Fraction], left: Fraction, right: Fraction, relation: str) -> Row:
    """``terms + left relation right``."""
    constant = right - left
    kept = {name: value for name, value in terms.items() if value}
    if relation in (">", ">="):
        kept, constant = {name: -value for name, value in kept.items()}, -constant
    return Row("", kept, "==" if relation == "==" else "<" if relation in ("<", ">") else "<=", constant)


def _roots(own: Fraction, other: Fraction, power: int) -> tuple[Fraction, ...] | None:
    """Rational numbers x with ``own * x ** power == other``; None where any number, or an irrational one, does."""
    if own == 0:
        return None if other == 0 else ()
    value = other / own
    if power < 0:
        if value == 0:
            return ()
        value, power = 1 / value, -power
    if value < 0 and power % 2 == 0:
        return ()
    root = _exact_root(abs(value.numerator), power), _exact_root(value.denominator, power)
    if root[0] is None or root[1] is None:
        return None
    found = Fraction(root[0], root[1])
    if power % 2:
        return (found if value > 0 else -found,)
    return (found, -found) if found else (found,)


def _exact_root(number: int, power: int) -> int | None:
    """Whole root of a whole number, None when there is none."""
    if number < 2:
        return number
    low, high = 1, 1 << (math.ceil(number.bit_length() / power) + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**power < number:
            low = middle + 1
        else:
            high = middle
    return low if low**power == number else None
