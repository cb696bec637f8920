"""Which original values a published category may stand for: an interval of numbers, or a few listed values."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.edit import RangePart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.data.band import Band
    from maskwright.data.variable import Variable
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
    """What the categories of a published variable stand for.

    `ranges`: which values the edits on this variable alone allow: outer bands, which are open, end there.
    """
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
    """Interval that the edits on one variable alone leave it, for each variable that has one.

    `edits`: that every record of the original keeps.
    """
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
