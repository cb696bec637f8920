"""Ranges and sets of single variables, and orderings of two, as a person would state them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.edits.suggestions.model import Candidate, fraction, is_date, name_parts, nameable, number
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.suggestions.model import Sample


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
    places = range(1, min(few, len(values) - 1) + 1)
    steps = [place for place in places if sorted_counts[place] >= APART * sorted_counts[place - 1]]
    if not steps:
        return values, counts
    kept, rare = np.sort(order[steps[-1] :]), values[order[: steps[-1]]]
    if is_numeric and any(abs(values[kept] - value).min() <= 1 for value in rare):
        return values, counts
    return values[kept], counts[kept]


def _usual(
    name: str, values: NDArray[np.float64], counts: NDArray[np.int64], strays: int
) -> tuple[Fraction, Fraction] | None:
    """The range that the name implies, where nearly all values are in it."""
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
    return rounded_outwards(low, high)


def rounded_outwards(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds around a smallest and a largest value that are neither of them; nothing negative: 0 is the lower one."""
    return Fraction(0) if low >= 0 else -_beyond(-low), _beyond(high) if high > 0 else -_within(-high)


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

    Only a number like 50 itself may stay: it cannot be distinguished from one that was rounded.
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


FEW_VALUES = 20
"""Variables with no more values may be codes: they are compared only with those alike in name or unit."""

LEAST_EXPECTED = 20.0
"""Violations that chance would leave, at least, where an ordering is to mean something."""

OF_CHANCE = 0.05
"""Violations an ordering of two variables alike in name or unit may have, in parts of those that chance would leave."""

OVERLAP = 0.25
"""Of two variables that are alike in nothing else, chance would put so many records in the wrong order, at least ..."""

CORRELATED = 0.95
"""... or they have such a rank correlation; and no record is in the wrong order."""

EQUAL = 0.02
"""Equal numbers in so many records, and far beyond chance, make two variables alike: a part that is often the whole."""

TRIED = 64
"""Records on which orderings are tried first."""

CERTAIN = 6.0
"""Standard deviations by which the violations there may be more than the share allows."""

COMMON_LETTERS = 5
"""So many letters in a row that two names have in common count as a word: TOTREVENUE and RESREVENUE."""


def orderings(sample: Sample) -> Iterator[Candidate]:
    """``x <= y`` between variables that are comparable.

    They are compared in records in which neither is 0: an ordering that zeros alone make is none.
    """
    columns = [sample.data[name] for name in sample.numbers]
    order = sample.shuffled()
    may_differ = {column.name: not _is_code_or_number(column) for column in columns}
    may_hold = _may_hold(sample)
    for place, one in enumerate(columns):
        for other in (columns[each] for each in np.flatnonzero(may_hold[place])):
            if one is other or sample.is_date(one) != sample.is_date(other):
                continue
            both = ~(one.missing | other.missing)
            x, y = one.values, other.values
            held = x <= y
            if not sample.enough(int(np.count_nonzero(held & both)), int(both.sum())) or np.array_equal(
                x[both], y[both]
            ):
                continue
            alike = sample.is_date(one) or _alike(one, other)
            if not alike and not (may_differ[one.name] and may_differ[other.name]):
                continue
            chance = _chance(x, y, both & (x != 0) & (y != 0), order, alike)
            if chance is not None:
                wrong = float(np.mean(both & ~held))
                needs = ", ".join(name for name in (one.name, other.name) if name in sample.dates)
                rule = f"{name_text(one.name)} <= {name_text(other.name)}"
                yield Candidate("ordering", rule, chance, wrong, needs=needs and f"type: date for {needs}")


def _may_hold(sample: Sample) -> NDArray[np.bool_]:
    """Of each pair of numbers whether some records allow ``x <= y`` in the whole file; shape (p, p)."""
    rows = generator(0, "orderings").permutation(len(sample))[:TRIED]
    cells = sample.cells(sample.numbers)[rows]
    violated = np.zeros((cells.shape[1], cells.shape[1]), dtype=np.int64)
    for row in cells:
        violated += row[:, None] > row[None, :]
    wrong = len(rows) * (1 - sample.share)
    return np.asarray(violated <= wrong + CERTAIN * math.sqrt(wrong * sample.share))


def _chance(
    x: NDArray[np.float64], y: NDArray[np.float64], filled: NDArray[np.bool_], order: NDArray[np.int64], alike: bool
) -> float | None:
    """Share of records that chance would put in the wrong order; None where the ordering has not been earned."""
    one, other = x[filled], y[filled]
    if not len(one):
        return None
    mixed = other[np.argsort(order[: len(one)], kind="stable")]
    chance, violated = float(np.mean(one > mixed)), float(np.mean(one > other))
    equal, equal_by_chance = float(np.mean(one == other)), float(np.mean(one == mixed))
    alike = alike or (equal >= EQUAL and equal >= 5 * equal_by_chance)
    if chance * len(one) < LEAST_EXPECTED or violated > (OF_CHANCE * chance if alike else 0):
        return None
    if not alike and chance < OVERLAP and _rank_correlation(one, other) < CORRELATED:
        return None
    return chance * len(one) / len(x)


def _rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    one, other = (np.unique(values, return_inverse=True)[1].astype(np.float64) for values in (x, y))
    one, other = one - one.mean(), other - other.mean()
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def _is_code_or_number(column: Column) -> bool:
    """Whether a variable has few values, as codes have, or those of a running number."""
    present = column.values[~column.missing]
    return len(np.unique(present)) <= FEW_VALUES or bool(np.all(np.diff(present) >= 0))


def _alike(one: Column, other: Column) -> bool:
    """Whether two variables share a unit, or a part of their names."""
    units = (one.variable.unit, other.variable.unit)
    if units[0] is not None and units[1] is not None:
        return units[0] == units[1]
    return bool(name_parts(one.name) & name_parts(other.name)) or _common_letters(one.name, other.name)


def _common_letters(one: str, other: str) -> bool:
    starts = range(len(one) - COMMON_LETTERS + 1)
    parts = (one.lower()[start : start + COMMON_LETTERS] for start in starts)
    return any(part.isalpha() and part in other.lower() for part in parts)
