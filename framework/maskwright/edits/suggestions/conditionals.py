"""Conditionals: where one variable is 0, has a code, or is missing, another is 0, is not, has a code, or is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.edits.suggestions.model import Candidate, is_date, nameable, number
from maskwright.edits.suggestions.ranges_and_sets import fraction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.edits.suggestions.sample import Sample

MOST_CODES = 30
"""Values that a code has at most, where conditionals name them."""

LEAST_RECORDS = 30
LEAST_SHARE = 0.005
"""Records, and share of the searched ones, that a condition is true and not true of, at least."""

MOST_CONDITIONS = 400
OF_CHANCE = 0.1
"""Violations a conditional may have, in parts of those chance would leave if its variables were unrelated."""

BY_CHANCE = 1000
"""One in so many files has a conditional by chance alone."""


@dataclass(frozen=True, eq=False)
class Condition:
    """Something that is true, false or unknown of a record; `opposite` is its negation as text."""

    name: str
    text: str
    opposite: str
    true: NDArray[np.bool_]
    known: NDArray[np.bool_]


def conditionals(sample: Sample, *, show_values: bool) -> Iterator[Candidate]:
    """``if a then b`` for pairs of conditions on two variables.

    All pairs at once, by the products of two matrices of conditions and records.

    Parameters
    ----------
    sample : Sample
    show_values : bool
        Whether conditions may name codes, which are values of records. Without, they speak of 0 and of missing cells.
    """
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
                or violated > OF_CHANCE * expected
                or not sample.enough(of - violated, of)
            ):
                continue
            yield Candidate(
                "conditional",
                f"if {first.text} then {second.text}",
                expected / len(sample),
                violated / len(sample),
                implication=(first.text, second.text),
                pair=(first.name, second.name),
                negations=(first.opposite, second.opposite),
            )


def conditions_of(sample: Sample, *, show_values: bool) -> list[Condition]:
    """Conditions on single variables that are true of some records and false of some; with or without codes."""
    every = (each for column in sample.data for each in _conditions(column, show_values=show_values))
    return [each for each in every if _is_some(each)][:MOST_CONDITIONS]


def _is_some(condition: Condition) -> bool:
    """Whether a condition is true of some records, and false of some."""
    true = int(np.count_nonzero(condition.true & condition.known))
    false = int(np.count_nonzero(condition.known)) - true
    return min(true, false) >= max(LEAST_RECORDS, LEAST_SHARE * len(condition.true))


def _conditions(column: Column, *, show_values: bool) -> Iterator[Condition]:
    if column.variable.role == "identifier" or not nameable(column.name):
        return
    name, known = name_text(column.name), ~column.missing
    everywhere = np.ones(len(column), dtype=bool)
    missing, present = f"{name} is missing", f"{name} is not missing"
    yield Condition(column.name, missing, present, column.missing, everywhere)
    yield Condition(column.name, present, missing, known, everywhere)
    values = np.unique(column.values[known])
    if column.variable.is_numeric and not is_date(column) and 0 in values:
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
