"""Ranges and sets of single variables, as a person would state them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.edits.suggestions.model import Candidate, is_date, name_parts, nameable, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset

MOST_VALUES = 12
"""Numbers that are listed, at most."""

MOST_CODES = 60
"""Codes that are listed, at most."""

LEAST_RECORDS = 3
"""Records of each value that is listed."""

APART = 8
"""What is so many times larger than all others, or so many times rarer, is a stray value: a code, a mistake."""

FEW_CODES = 3
"""Negative numbers of a variable that is not negative otherwise are codes where they are no more than this."""

USUAL = {
    (0, 120): {"age", "alter", "edad", "edat"},
    (1, 12): {"month", "monat", "mes"},
    (1, 4): {"quarter", "quartal"},
    (0, 100): {"percent", "percentage", "pct", "prozent"},
}
"""Ranges that follow from what a variable is, by words of its name."""

YEARS = (1800, 2100)


def ranges(data: Dataset, share: float, *, exact: bool = False) -> Iterator[Candidate]:
    """Ranges, sets and constants of single variables.

    A variable whose name says what it is has the range of that: an age is in [0, 120]. Other bounds are rounded
    outwards to two digits, or further where that would be a record's value. With `exact` they are the smallest and the
    largest value, and constants and sets of values, each in at least three records, are listed. With a share below 1,
    stray values are left out.

    `share`: of the records in which a range has to hold.
    """
    for column in data:
        if column.variable.role == "identifier" or column.missing.all() or not nameable(column.name) or is_date(column):
            continue
        values, counts = np.unique(column.values[~column.missing], return_counts=True)
        strays = int((1 - share) * counts.sum())
        if exact:
            kept, often = _frequent(values, counts, strays, is_numeric=column.variable.is_numeric)
            most = MOST_VALUES if column.variable.is_numeric else MOST_CODES
            if len(kept) <= most and often.sum() >= 4 * len(kept) and often.min() >= LEAST_RECORDS:
                yield from _listed(column, kept)
                continue
        if column.variable.is_numeric:
            low, high = _usual(column.name, values, counts, strays) or _bounds(
                column.name, values, counts, strays, exact
            )
            yield Candidate("range", f"{name_text(column.name)} in [{number(low)}, {number(high)}]")


def _frequent(
    values: NDArray[np.float64], counts: NDArray[np.int64], strays: int, *, is_numeric: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Values without the rarest, as far as these are few records, and much rarer than the rarest of the others.

    Numbers next to those that stay are no strays: of counts, large ones are rare.
    """
    order = np.argsort(counts, kind="stable")
    sorted_counts = counts[order]
    few = int(np.searchsorted(np.cumsum(sorted_counts), strays, side="right"))
    steps = [place for place in range(1, min(few, len(values) - 1) + 1) if _is_step(sorted_counts, place)]
    if not steps:
        return values, counts
    kept, rare = np.sort(order[steps[-1] :]), values[order[: steps[-1]]]
    if is_numeric and any(abs(values[kept] - value).min() <= 1 for value in rare):
        return values, counts
    return values[kept], counts[kept]


def _is_step(rising: NDArray[np.int64], place: int) -> bool:
    return bool(rising[place] >= APART * rising[place - 1])


def _usual(
    name: str, values: NDArray[np.float64], counts: NDArray[np.int64], strays: int
) -> tuple[Fraction, Fraction] | None:
    """The range that the name tells, where nearly all values are in it."""
    for (low, high), words in USUAL.items():
        if words & name_parts(name) and counts[(values < low) | (values > high)].sum() <= strays and values[-1] > 1:
            return Fraction(low), Fraction(high)
    return None


def _bounds(
    name: str, values: NDArray[np.float64], counts: NDArray[np.int64], strays: int, exact: bool
) -> tuple[Fraction, Fraction]:
    """Smallest and largest value without stray ones, rounded outwards unless exact."""
    first, last = 0, len(values)
    negative = int(np.searchsorted(values, 0))
    if 0 < negative <= FEW_CODES and negative < last and counts[:negative].sum() <= strays:
        first = negative
        strays -= int(counts[:negative].sum())
    few = int(np.searchsorted(np.cumsum(counts[::-1]), strays, side="right"))
    for place in range(last - 1, max(last - few - 1, first), -1):
        if values[place] >= APART * values[place - 1] > 0:
            last = place
    low, high = fraction(values[first]), fraction(values[last - 1])
    if exact:
        return low, high
    if name_parts(name) & {"year", "jahr", "any", "ano", "birth"} and YEARS[0] <= low and high <= YEARS[1]:
        return Fraction((low - 1) // 10 * 10), Fraction((high + 10) // 10 * 10)
    return Fraction(0) if low >= 0 else -_beyond(-low), _beyond(high) if high > 0 else -_within(-high)


def fraction(value: float) -> Fraction:
    """The decimal number that a float is written as."""
    return Fraction(str(float(value)))


def _listed(column: Column, values: NDArray[np.float64]) -> Iterator[Candidate]:
    """The values of a column, unless the rule language has no way to write one of them."""
    if column.variable.is_numeric:
        shown = [number(fraction(value)) for value in values]
    else:
        try:
            shown = [quoted_text(column.variable.categories[int(value)]) for value in values]
        except Inexpressible:
            return
    if len(shown) == 1:
        yield Candidate("constant", f"{name_text(column.name)} == {shown[0]}")
    else:
        yield Candidate("set", f"{name_text(column.name)} in {{{', '.join(shown)}}}")


def _beyond(value: Fraction) -> Fraction:
    """Number above a positive one, with two significant digits, else with one, else 1, 2, 5 or 10 times ten's power.

    Only a number like 50 itself may stay: nobody can tell it from one that was rounded.
    """
    power = _power(value)
    for step in (power / 10, power):
        rounded = math.ceil(value / step) * step
        if rounded > value:
            return rounded
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _within(value: Fraction) -> Fraction:
    """The same below: a largest value that is negative is rounded towards 0."""
    if value == 0:
        return value
    power = _power(value)
    for step in (power / 10, power):
        rounded = math.floor(value / step) * step
        if rounded < value:
            return rounded
    return next(step * power for step in (5, 2, 1) if step * power <= value)


def _power(value: Fraction) -> Fraction:
    """The power of ten at or below a positive number."""
    power = Fraction(10) ** math.floor(math.log10(value))
    # The logarithm may be rounded to the wrong side.
    return power * 10 if power * 10 <= value else power / 10 if power > value else power
