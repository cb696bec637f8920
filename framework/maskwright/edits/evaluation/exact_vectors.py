"""Vectors of numbers, one a record: exact rationals, or binary64 with the size of what it was computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from maskwright.data.record_chunk import Cells

# int64 holds less than 2**63; sums of two products below 2**62 stay inside.
INT64_BOUND = 2**62
# x * 10**d is within half a unit of the integer it means only below this.
SURE_SCALED = 2.0**51
MOST_POWERS_OF_TEN = 22
Booleans = NDArray[np.bool_]
_NOWHERE: Booleans = np.zeros(1, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Exact:
    """Rational numbers, one a record; length 1 for constants.

    `numerators`: shape (n,). `denominators`: Positive. One integer while all records share it; one a record after a
    division by a variable; shape (n,). `unknown`: no value; the numerator is arbitrary there; shape (n,). `bound`,
    `denominator_bound`: no numerator (denominator) is larger in absolute value; int64 is left before either product
    could overflow.
    """

    numerators: NDArray[Any]
    denominators: int | NDArray[Any]
    unknown: Booleans
    bound: int
    denominator_bound: int


@dataclass(frozen=True, eq=False)
class Approximate:
    """Binary64 numbers with the size of what they were computed from.

    `values`: shape (n,). `sizes`: sum of the absolute values of the terms: what a relative rounding error applies to.
    """

    values: NDArray[np.float64]
    sizes: NDArray[np.float64]
    unknown: Booleans


Numbers = Exact | Approximate


def constant(value: Fraction) -> Exact:
    """Return the same number for every record."""
    large = abs(value.numerator) >= INT64_BOUND
    numerators = np.array([value.numerator], dtype=object if large else np.int64)
    return Exact(numerators, value.denominator, _NOWHERE, abs(value.numerator), value.denominator)


def from_cells(cells: Cells) -> Numbers:
    """Numbers of a variable: scaled integers on its grid, or plain binary64 when it has none."""
    unknown = cells.missing | np.isnan(cells.numbers)
    if cells.decimals is None:
        values = np.where(unknown, 0.0, cells.numbers)
        return Approximate(values, np.abs(values), unknown)
    scale = 10**cells.decimals
    scaled = np.where(unknown, 0.0, cells.numbers)
    if cells.decimals:
        scaled = scaled * float(scale) if cells.decimals <= 300 else np.where(scaled == 0, 0.0, np.inf)
    largest = float(np.max(np.abs(scaled), initial=0.0))
    # A whole number below 2**53 is exact in binary64 without any scaling.
    sure = SURE_SCALED if cells.decimals else 2.0**53
    if largest < sure and cells.decimals <= MOST_POWERS_OF_TEN:
        rounded = np.rint(scaled, out=scaled) if cells.decimals else scaled
        return Exact(rounded.astype(np.int64), scale, unknown, int(largest) + 1, scale)
    return _from_texts(cells, scaled, unknown, scale)


def _from_texts(cells: Cells, scaled: NDArray[np.float64], unknown: Booleans, scale: int) -> Exact:
    """Digits beyond binary64's are in the cell texts; only the records that need it are read that way."""
    small = np.abs(scaled) < SURE_SCALED
    if cells.decimals is not None and cells.decimals > MOST_POWERS_OF_TEN:
        small &= scaled == 0
    numerators = np.where(small, np.rint(np.where(small, scaled, 0.0)), 0.0).astype(np.int64).astype(object)
    wanted = np.flatnonzero(np.logical_not(small | unknown))
    unreadable = unknown.copy()
    texts = cells.text()
    for row in wanted:
        try:
            exact = Fraction(str(texts[int(row)].as_py()).strip()) * scale
        except (ValueError, ZeroDivisionError):  # infinity: no decimal says it
            unreadable[row] = True
            continue
        numerators[row] = exact.numerator // exact.denominator
    bound = max((abs(value) for value in numerators[wanted]), default=0)
    return settled(Exact(numerators, scale, unreadable, max(int(bound), 2**51), scale))


def settled(found: Exact) -> Exact:
    """Object arrays back to int64 where they fit."""
    if found.numerators.dtype == object and found.bound < INT64_BOUND:
        return replace(found, numerators=found.numerators.astype(np.int64))
    return found


def approximate(numbers: Numbers) -> Approximate:
    """Nearest binary64 numbers."""
    if isinstance(numbers, Approximate):
        return numbers
    unknown = numbers.unknown
    denominators = numbers.denominators
    if max(numbers.bound, numbers.denominator_bound) < INT64_BOUND:
        values = numbers.numerators / np.asarray(denominators)
    else:
        top, bottom = np.broadcast_arrays(numbers.numerators, np.asarray(denominators, dtype=object))
        values = np.array([quotient(int(a), int(b)) for a, b in zip(top, bottom, strict=True)], dtype=np.float64)
        unknown = unknown | np.isnan(values)
    values = np.where(unknown, 0.0, np.asarray(values, dtype=np.float64))
    return Approximate(values, np.abs(values), unknown)


def quotient(top: int, bottom: int) -> float:
    """Nearest binary64 number; NaN beyond its range."""
    try:
        return top / bottom
    except OverflowError:
        return float("nan")
