"""The variable that probably names the household: its values repeat, and other variables are the same within them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.looking.look import Facts
    from maskwright.data.looking.name_meanings import Meaning

LARGEST_HOUSEHOLD = 60
MEMBERS = (1.05, 12.0)
"""Means of records of one household."""

MOST_TRIED = 5
SCATTERED = 1.05
"""Runs of equal values, for each value, up to which they stand together."""

FoundKey = tuple[str | None, str, tuple[str, ...]]


def household_key(data: Dataset, facts: Sequence[Facts], meanings: Mapping[str, Meaning | None]) -> FoundKey:
    """Name of the variable that probably names the household, what it was seen by, and what is unsure.

    Its cells are whole numbers or texts, one or a few records share each, and at least one other variable is the same
    within them though not by chance. Where its name says nothing, two variables have to be, and the records of each
    have to follow each other in the file: amounts that depend on each other do not.
    """
    codes = ValueCodes(data)
    named = [each for each in _candidates(facts, codes) if meanings[each.column.name] == "household"]
    others = [
        each for each in _candidates(facts, codes)
        if meanings[each.column.name] in (None, "identifier") and _are_together(codes.of(each.column.name))
    ]  # fmt: skip
    found: list[tuple[bool, int, str]] = []
    for each in [*named, *others][:MOST_TRIED]:
        name, is_named = each.column.name, each in named
        alike = _alike_within(name, facts, codes)
        if alike >= (1 if is_named else 2):
            found.append((is_named, alike, name))
    if not found:
        return None, "", ()
    is_named, alike, name = max(found)
    why = f"its values repeat, and {alike} variables are the same within them"
    unsure = () if is_named else ("perhaps the key of households or groups, though its name does not say so",)
    if len(found) > 1:
        rest = ", ".join(repr(other) for *_, other in found if other != name)
        unsure = (*unsure, f"{rest} would do for the key of households as well")
    return name, f"its name, and {why}" if is_named else why, unsure


def _candidates(facts: Sequence[Facts], codes: ValueCodes) -> Iterator[Facts]:
    for each in facts:
        variable = each.column.variable
        whole = not variable.is_numeric or variable.decimals == 0
        if not whole or each.missing or not each.distinct or each.looks_like in ("date", "constant", "code"):
            continue
        if not MEMBERS[0] <= each.cells / each.distinct <= MEMBERS[1]:
            continue
        if int(np.bincount(codes.of(variable.name)).max()) <= LARGEST_HOUSEHOLD:
            yield each


def _are_together(codes: NDArray[np.int64]) -> bool:
    """Whether equal values follow each other in the file."""
    return int(np.count_nonzero(np.diff(codes))) + 1 <= SCATTERED * (int(codes.max(initial=0)) + 1)


def _alike_within(name: str, facts: Sequence[Facts], codes: ValueCodes) -> int:
    given = codes.of(name)
    others = [each for each in facts if each.column.name != name and 1 < each.distinct < 0.95 * max(each.cells, 1)]
    return sum(determines(given, codes.of(each.column.name), 2 * len(others)) for each in others)
