"""Orderings of two variables that are worth comparing: alike in name, unit or size, and in order far beyond chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.model import Candidate, name_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.edits.suggestions.sample import Sample

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

COMMON_LETTERS = 5
"""So many letters in a row that two names have in common count as a word: TOTREVENUE and RESREVENUE."""


def orderings(sample: Sample) -> Iterator[Candidate]:
    """``x <= y`` between variables that are comparable.

    What is said of them is said of records in which neither is 0: an ordering that zeros alone make is none.
    """
    columns = [sample.data[name] for name in sample.numbers]
    order = sample.shuffled()
    may_differ = {column.name: not _is_code_or_number(column) for column in columns}
    for one in columns:
        for other in columns:
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
