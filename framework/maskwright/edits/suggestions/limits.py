"""Conditionals with a limit: of records on one side of it, another variable is 0, has a code, or is missing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.conditionals import (
    BY_CHANCE,
    LEAST_RECORDS,
    LEAST_SHARE,
    OF_CHANCE,
    conditions_of,
    is_zero_special,
)
from maskwright.edits.suggestions.model import Candidate, number
from maskwright.edits.suggestions.ranges_and_sets import fraction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.edits.suggestions.conditionals import Condition
    from maskwright.edits.suggestions.sample import Sample

FEW_VALUES = 12
"""Values of a variable that may have a limit, at least; with fewer they are codes."""

BEYOND = 0.02
"""Share of the records next to a limit, on its other side, of which many have to break the rule: it is no slope."""

SAME = 0.8
"""Share of the records that two limits speak of in common where they are one limit, said with different variables."""


def limits(sample: Sample) -> Iterator[Candidate]:
    """``if x < t then b`` and ``if x >= t then b`` for whole numbers x, t being sharp: right behind it, b is not true.

    Each variable is sorted once. The limit is where chance would have left the most violations, ten times those there
    are being subtracted. Of limits of several variables that speak of the same records, an age and a year of birth, the
    best one stays.
    """
    found = sorted(_all_limits(sample), key=lambda each: -each[0].promise)
    for place, (candidate, rows) in enumerate(found):
        same = (other for better, other in found[:place] if better.implications[0][1] == candidate.implications[0][1])
        if not any(np.count_nonzero(rows & other) >= SAME * np.count_nonzero(rows | other) for other in same):
            yield candidate


def _all_limits(sample: Sample) -> Iterator[tuple[Candidate, NDArray[np.bool_]]]:
    """Candidates, and the records they speak of."""
    conditions = conditions_of(sample, show_values=True)
    for name in sample.numbers:
        column = sample.data[name]
        present = ~column.missing
        without_zeros = is_zero_special(*np.unique(column.values[present], return_counts=True))
        filled = np.flatnonzero(present & (column.values != 0) if without_zeros else present)
        values, starts = np.unique(column.values[filled], return_index=True)
        if len(values) <= FEW_VALUES or sample.is_date(column) or column.variable.decimals != 0:
            continue
        order = filled[np.argsort(column.values[filled], kind="stable")]
        starts = np.searchsorted(column.values[order], values)
        for condition in conditions:
            if condition.name != name:
                yield from _limits(sample, name, values, starts, order, condition)


def _limits(
    sample: Sample,
    name: str,
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    condition: Condition,
) -> Iterator[tuple[Candidate, NDArray[np.bool_]]]:
    known = condition.known[order]
    false = known & ~condition.true[order]
    if not known.any():
        return
    usual = float(np.mean(false[known]))
    for below in (True, False):
        # Places between two neighbouring values, and what lies on the side that the rule is for.
        speaking, violating = (
            (counts[starts[1:] - 1] if below else counts[-1] - counts[starts[1:] - 1])
            for counts in (np.cumsum(known), np.cumsum(false))
        )
        best = int(np.argmax(usual * speaking - violating / OF_CHANCE))
        of, wrong, expected = int(speaking[best]), int(violating[best]), usual * float(speaking[best])
        width = max(int(BEYOND * len(order)), LEAST_RECORDS)
        middle = int(starts[best + 1])
        beyond = slice(middle, middle + width) if below else slice(max(middle - width, 0), middle)
        sharp = known[beyond].any() and float(np.mean(false[beyond][known[beyond]])) >= max(usual, 1 - sample.share)
        enough = of >= max(LEAST_RECORDS, LEAST_SHARE * len(sample)) and expected >= math.log(BY_CHANCE * len(sample))
        if not sharp or not enough or wrong > OF_CHANCE * expected or not sample.enough(of - wrong, of):
            continue
        limit = number(_roundest(fraction(values[best]), fraction(values[best + 1])))
        first, opposite = (f"{name_text(name)} {sign} {limit}" for sign in (("<", ">=") if below else (">=", "<")))
        candidate = Candidate(
            "conditional",
            f"if {first} then {condition.text}",
            expected / len(sample),
            wrong / len(sample),
            implications=((first, condition.text),),
            negations=((opposite, condition.opposite),),
            pair=(name, condition.name),
        )
        rows = np.zeros(len(sample), dtype=bool)
        rows[order[:middle] if below else order[middle:]] = True
        yield candidate, rows


def _roundest(low: Fraction, high: Fraction) -> Fraction:
    """The number with the fewest digits above `low` and up to `high`."""
    step = Fraction(10 ** len(str(int(max(abs(high), abs(low), Fraction(1))))))
    while True:
        found: Fraction = high // step * step
        if found > low:
            return found
        step /= 10
