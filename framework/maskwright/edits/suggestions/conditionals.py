"""Conditionals: under a condition or a limit, another variable is 0, has a code, or is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.edits.suggestions.model import Candidate, fraction, is_date, nameable, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.edits.suggestions.model import Sample


MOST_CODES = 30
"""Values that a code has at most, where conditionals name them."""

LEAST_RECORDS = 30
LEAST_SHARE = 0.005
"""Records, and share of the searched ones, that a condition is true and not true of, at least."""

LEAST_USUAL = 0.02
"""Share of all records in which what a conditional demands is not so, at least: else it hardly demands anything."""

FREQUENT = 0.05
"""Share of zeros from which 0 is more than a number."""

MOST_CONDITIONS = 400
OF_CHANCE = 0.1
"""Violations a conditional may have, in parts of those chance would leave if its variables were unrelated."""


@dataclass(frozen=True, eq=False)
class Condition:
    """Something that is true, false or unknown of a record; `opposite` is its negation as text."""

    name: str
    text: str
    opposite: str
    true: NDArray[np.bool_]
    known: NDArray[np.bool_]
    is_missing: bool = False


def conditionals(sample: Sample, *, show_values: bool) -> Iterator[Candidate]:
    """``if a then b`` for pairs of conditions on two variables.

    All pairs at once, by the products of two matrices of conditions and records.
    """
    yield from _missing_together(sample)
    conditions = conditions_of(sample, show_values=show_values)
    if not conditions:
        return
    true = np.array([each.true & each.known for each in conditions], dtype=np.float32)
    false = np.array([~each.true & each.known for each in conditions], dtype=np.float32)
    agree, differ = true @ true.T, true @ false.T
    falls, known = (np.array([np.count_nonzero(row) for row in rows]) for rows in (false, true + false))
    usual = falls / np.maximum(known, 1)
    least = math.log(BY_CHANCE * len(conditions) ** 2)
    # Of a rule and its contrapositive the first one stays: "if employed == 0 then wage == 0" is what people write.
    for other in sorted(range(len(conditions)), key=lambda place: not conditions[place].text.endswith("== 0")):
        for one, first in enumerate(conditions):
            second = conditions[other]
            of, violated = int(agree[one, other] + differ[one, other]), int(differ[one, other])
            expected = of * float(usual[other])
            if (
                first.name == second.name
                or of < max(LEAST_RECORDS, LEAST_SHARE * len(sample))
                or expected < least
                or usual[other] < LEAST_USUAL
                or violated > OF_CHANCE * expected
                or not sample.enough(of - violated, of)
            ):
                continue
            yield Candidate(
                "conditional",
                f"if {first.text} then {second.text}",
                expected / len(sample),
                violated / len(sample),
                implications=((first.text, second.text),),
                negations=((first.opposite, second.opposite),),
                pair=(first.name, second.name),
            )


def conditions_of(sample: Sample, *, show_values: bool) -> list[Condition]:
    """Conditions on single variables that are true of some records and false of some; with or without codes."""
    every = [each for column in sample.data for each in _conditions(column, show_values=show_values) if _is_some(each)]
    follow = {name for names in _same_missing(sample) for name in names[1:]}
    return [each for each in every if not (each.is_missing and each.name in follow)][:MOST_CONDITIONS]


def _same_missing(sample: Sample) -> list[list[str]]:
    """Variables that are missing in the same records, in some and not in all."""
    groups: dict[bytes, list[str]] = {}
    for column in sample.data:
        if column.missing.any() and not column.missing.all() and may_be_named(column):
            groups.setdefault(np.packbits(column.missing).tobytes(), []).append(column.name)
    return list(groups.values())


def _missing_together(sample: Sample) -> Iterator[Candidate]:
    """For variables that are missing in the same records, two rules for all of them."""
    for names in _same_missing(sample):
        share = float(np.mean(sample.data[names[0]].missing))
        texts = [(f"{name_text(name)} is missing", f"{name_text(name)} is not missing") for name in names]
        if len(names) == 1 or min(share, 1 - share) < LEAST_SHARE:
            continue
        for here, there in ((0, 1), (1, 0)):
            yield Candidate(
                "conditional",
                f"if {texts[0][here]} then {' and '.join(text[here] for text in texts[1:])}",
                share * (1 - share),
                implications=tuple((texts[0][here], text[here]) for text in texts[1:]),
                negations=tuple((texts[0][there], text[there]) for text in texts[1:]),
            )


def _is_some(condition: Condition) -> bool:
    """Whether a condition is true of some records, and false of some."""
    true = int(np.count_nonzero(condition.true & condition.known))
    false = int(np.count_nonzero(condition.known)) - true
    return min(true, false) >= max(LEAST_RECORDS, LEAST_SHARE * len(condition.true))


def may_be_named(column: Column) -> bool:
    """Whether rules may name a column."""
    return column.variable.role != "identifier" and nameable(column.name)


def is_zero_special(values: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether 0 says that something is not there, being frequent; an age of 0 is an age like others."""
    zeros, others = int(counts[values == 0].sum()), counts[values != 0]
    return zeros > 0 and (zeros >= FREQUENT * counts.sum() or zeros >= 3 * others.max(initial=0))


def _conditions(column: Column, *, show_values: bool) -> Iterator[Condition]:
    if not may_be_named(column):
        return
    name, known = name_text(column.name), ~column.missing
    everywhere = np.ones(len(column), dtype=bool)
    missing, present = f"{name} is missing", f"{name} is not missing"
    yield Condition(column.name, missing, present, column.missing, everywhere, True)
    yield Condition(column.name, present, missing, known, everywhere, True)
    values, counts = np.unique(column.values[known], return_counts=True)
    if column.variable.is_numeric and not is_date(column) and is_zero_special(values, counts):
        zero = known & (column.values == 0)
        other = f"{name} > 0" if values[0] >= 0 else f"{name} != 0"
        yield Condition(column.name, f"{name} == 0", other, zero, known)
        yield Condition(column.name, other, f"{name} == 0", known & ~zero, known)
        if len(values) == 2:
            return
    if show_values and len(values) <= MOST_CODES and not is_date(column):
        for value in values:
            if column.variable.is_numeric:
                if value == 0:
                    continue
                text = number(fraction(value))
            else:
                try:
                    text = quoted_text(column.variable.categories[int(value)])
                except Inexpressible:
                    continue
            yield Condition(
                column.name, f"{name} == {text}", f"{name} != {text}", known & (column.values == value), known
            )


FEW_VALUES = 12
"""Values of a variable that may have a limit, at least; with fewer they are codes."""

BEYOND = 0.02
"""Share of the records next to a limit, on its other side, of which many have to break the rule: it is no slope."""

SAME = 0.8
"""Share of the records that two limits speak of in common where they are one limit, stated with different variables."""


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
