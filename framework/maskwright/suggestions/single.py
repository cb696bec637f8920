"""Orderings of pairs, and ranges and sets of single variables."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.conversion.yaml_text import name_text
from maskwright.suggestions.model import Candidate, nameable, number, numeric_names

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


def ranges(data: Dataset) -> Iterator[Candidate]:
    """Ranges, sets and constants of single variables.

    Bounds are rounded outwards to two digits, so that they are not a record's value; values of a set occur in at least
    three records each.
    """
    for column in data:
        if column.variable.role == "identifier" or column.missing.all() or not nameable(column.name):
            continue
        present = column.values[~column.missing]
        values, counts = np.unique(present, return_counts=True)
        few = len(values) <= MOST_VALUES and len(present) >= 4 * len(values) and counts.min() >= LEAST_RECORDS
        if few:
            yield _listed(column, values)
        elif column.variable.is_numeric:
            low, high = _outwards(float(values[0]), -1), _outwards(float(values[-1]), 1)
            if values[0] >= 0:
                low = Fraction(0)
            yield Candidate("range", f"{name_text(column.name)} in [{number(low)}, {number(high)}]")


def _listed(column: Column, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Candidate:
    if column.variable.is_numeric:
        shown = [number(Fraction(str(float(value)))) for value in values]
    else:
        shown = ["'" + column.variable.categories[int(value)].replace("'", "''") + "'" for value in values]
    if len(shown) == 1:
        return Candidate("constant", f"{name_text(column.name)} == {shown[0]}")
    return Candidate("set", f"{name_text(column.name)} in {{{', '.join(shown)}}}")


def _outwards(value: float, direction: int) -> Fraction:
    """The number with two significant digits at or beyond `value`."""
    if value == 0:
        return Fraction(0)
    step = Fraction(10) ** (math.floor(math.log10(abs(value))) - 1)
    units = Fraction(str(value)) / step
    return (math.ceil(units) if direction > 0 else math.floor(units)) * step
