"""Orderings of pairs, and ranges and sets of single variables."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.edits.suggestions.model import Candidate, nameable, number, numeric_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.dataset import Column, Dataset

MOST_VALUES = 12
LEAST_RECORDS = 3


def orderings(data: Dataset, share: float) -> tuple[list[Candidate], int]:
    """``x <= y`` where it holds in at least `share` of the records; and pairs whose ranges do not even overlap.

    An ordering that follows from two others that hold in all records says so; it need not be stated.
    """
    names = [name for name in numeric_names(data) if not data[name].missing.all()]
    holds: set[tuple[str, str]] = set()
    always: set[tuple[str, str]] = set()
    apart = 0
    for first in names:
        for second in names:
            if first == second:
                continue
            one, other = data[first], data[second]
            both = ~(one.missing | other.missing)
            x, y = one.values[both], other.values[both]
            if len(x) == 0 or np.mean(x <= y) < share or np.array_equal(x, y):
                continue
            if x.max() <= y.min():
                apart += 1
            else:
                holds.add((first, second))
                if both.all() and np.all(x <= y):
                    always.add((first, second))
    found = []
    for first, second in sorted(holds, key=lambda pair: (names.index(pair[0]), names.index(pair[1]))):
        between = next((name for name in names if (first, name) in always and (name, second) in always), None)
        follows = ""
        if between is not None:
            follows = f"{name_text(first)} <= {name_text(between)} and {name_text(between)} <= {name_text(second)}"
        found.append(Candidate("ordering", f"{name_text(first)} <= {name_text(second)}", follows))
    return found, apart


def ranges(data: Dataset, *, exact: bool = False) -> Iterator[Candidate]:
    """Ranges, sets and constants of single variables.

    Bounds are rounded outwards to two digits, or further where that would be a record's value. With `exact` they are
    the smallest and the largest value, and constants and sets of values, each in at least three records, are listed.
    """
    for column in data:
        if column.variable.role == "identifier" or column.missing.all() or not nameable(column.name):
            continue
        present = column.values[~column.missing]
        values, counts = np.unique(present, return_counts=True)
        few = len(values) <= MOST_VALUES and len(present) >= 4 * len(values) and counts.min() >= LEAST_RECORDS
        if few and exact:
            yield from _listed(column, values)
        elif column.variable.is_numeric:
            low, high = (Fraction(str(float(value))) for value in (values[0], values[-1]))
            if not exact:
                low, high = Fraction(0) if low >= 0 else -_beyond(-low), _beyond(high) if high > 0 else -_within(-high)
            yield Candidate("range", f"{name_text(column.name)} in [{number(low)}, {number(high)}]")


def _listed(column: Column, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Iterator[Candidate]:
    """The values of a column, unless the rule language has no way to write one of them."""
    if column.variable.is_numeric:
        shown = [number(Fraction(str(float(value)))) for value in values]
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
