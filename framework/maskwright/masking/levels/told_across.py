"""Changed variables of one level that the other shows as they were: by one marked member, or by counting members.

``founded`` of a firm is ``opened`` of its seat, ``hq_nace`` that plant's ``nace``, ``n_foreign`` the number of plants
that foreigners own. For suppressed cells there is a search of its own, which suppresses what tells them.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines
from maskwright.foundation.doubts import Doubt
from maskwright.masking.levels.sole_members import sole_values
from maskwright.planning.levels.read_off_members import FEWEST, HOLDS, remedy, same_numbers
from maskwright.planning.warnings.told_numbers import in_one_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import Level, LinkedData

    Codes = NDArray[np.int64]

MOST_GROUPS = 20_000
"""Groups that are looked at, spread over the file."""

MOST_VALUES = 30
"""Values of a member's variable up to which each is counted."""

MOST_FOR_PAIRS = 8
"""Values of a member's variable up to which each two of them are counted together."""


def told_across(
    linked: LinkedData,
    masked: Mapping[str, Collection[str]],
    changed: Mapping[str, Collection[str]],
    tied: Collection[frozenset[tuple[str, str]]],
) -> Iterator[Doubt]:
    """Doubts about changed variables that a marked member, or the number of members, shows.

    `masked`: variables that steps mask; of members, a mark that is masked marks nobody. `changed`: those of them that
    are more than emptied. `tied`: what an edit keeps together, in the masked data too.
    """
    if not any(changed.values()):
        return
    some = _some_groups(linked)
    top, low = some.levels
    pairs = [
        (upper, lower) for upper in _told_of(top) for lower in _told_of(low)
        if (upper.name in changed.get(top.name, ())) != (lower.name in changed.get(low.name, ()))
        and not any({(top.name, upper.name), (low.name, lower.name)} <= each for each in tied)
    ]  # fmt: skip
    said: set[tuple[str, str]] = set()
    for search in (_by_marked_members(some, masked, pairs), _by_counting(some, pairs, changed.get(top.name, ()))):
        for upper, lower, how in search:
            if (upper, lower) in said:
                continue
            said.add((upper, lower))
            if upper in changed.get(top.name, ()):
                yield Doubt(
                    "follows-from-published", upper, f"{lower} of {low.name}, published as it is, tells it: {how}",
                    hint=remedy(),
                )  # fmt: skip
            else:
                yield Doubt(
                    "follows-from-published", lower, f"{upper} of {top.name}, published as it is, tells of it: {how}",
                    hint=remedy(),
                )  # fmt: skip


def _some_groups(linked: LinkedData) -> LinkedData:
    """Groups of two or more members, at most `MOST_GROUPS`, spread over the file."""
    top, low = linked.levels
    assert low.groups is not None
    several = np.flatnonzero(np.bincount(low.groups, minlength=len(top)) >= 2)
    places = np.linspace(0, max(len(several) - 1, 0), min(len(several), MOST_GROUPS)).astype(np.int64)
    return linked.taken(several[places])


def _told_of(level: Level) -> list[Column]:
    """Variables of a level that are published, neither keys nor weights."""
    return [
        column for column in level.data
        if column.name not in level.key_columns and column.variable.role not in ("weight", "identifier")
    ]  # fmt: skip


def _by_marked_members(
    linked: LinkedData, masked: Mapping[str, Collection[str]], pairs: Collection[tuple[Column, Column]]
) -> Iterator[tuple[str, str, str]]:
    """Variables of a group that are those of the one member whom a value marks: the seat, the reference person."""
    top, low = linked.levels
    assert low.groups is not None
    marks = [column.name for column in _told_of(low) if column.name not in masked.get(low.name, ())]
    codes = {level.name: ValueCodes(level.data) for level in linked}
    known: set[bytes] = set()
    for sole in sole_values(linked, marks):
        if sole.members.tobytes() in known:
            continue
        known.add(sole.members.tobytes())
        rows = np.flatnonzero(sole.members)
        once = np.bincount(low.groups[rows], minlength=len(top))[low.groups[rows]] == 1
        rows = rows[once]
        groups = low.groups[rows]
        for upper, lower in pairs:
            if lower.name == sole.name:
                continue
            if _same_cells(upper.taken(groups), lower.taken(rows)):
                yield upper.name, lower.name, f"they are the same of the one {low.name} that {sole.name} marks"
            elif _in_one_order(upper.taken(groups), lower.taken(rows)):
                how = f"it gives the other by its place in their order, of the one {low.name} that {sole.name} marks"
                yield upper.name, lower.name, how
            elif _few(codes[top.name], upper.name) and _few(codes[low.name], lower.name):
                one, other = codes[top.name].of(upper.name)[groups], codes[low.name].of(lower.name)[rows]
                # A code and its label.
                if determines(one, other, 2 * len(pairs)) and determines(other, one, 2 * len(pairs)):
                    yield upper.name, lower.name, f"each tells the other, of the one {low.name} that {sole.name} marks"


def _few(codes: ValueCodes, name: str) -> bool:
    return 1 < codes.distinct(name) <= MOST_VALUES


def _in_one_order(one: Column, other: Column) -> bool:
    """Whether two numbers or dates are in the same or opposite order: other units, an age and a year of birth."""
    if not one.variable.is_numeric or not other.variable.is_numeric:
        return False
    first, second = (np.where(each.missing, np.nan, each.values).astype(np.float64) for each in (one, other))
    return in_one_order(first, second) or in_one_order(second, first)


def _same_cells(one: Column, other: Column) -> bool:
    """Whether two columns say the same in nearly all rows, and not one value alone."""
    there = ~one.missing & ~other.missing
    if one.variable.is_numeric != other.variable.is_numeric or one.variable.is_date != other.variable.is_date:
        return False
    if one.variable.is_numeric:
        first, second = (np.where(there, each.values, np.nan) for each in (one, other))
        return same_numbers(first, second, there, "max") is not None
    places = {text: place for place, text in enumerate(other.variable.categories)}
    texts = np.array([*(places.get(text, -2) for text in one.variable.categories), -3], dtype=np.int64)
    first, second = texts[one.values[there]], other.values[there]
    same = first == second
    usual = np.bincount(second).max(initial=0) / max(len(second), 1)
    # One value that nearly all have says nothing.
    return bool(len(second) >= FEWEST and same.mean() >= HOLDS and 1 - same.mean() <= (1 - usual) / 4 and usual < 1)


def _by_counting(
    linked: LinkedData, pairs: Collection[tuple[Column, Column]], changed: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Variables of a group that are, or tell, how many members have one or two values of a variable."""
    top, low = linked.levels
    assert low.groups is not None
    upper_codes, lower_codes = ValueCodes(top.data), ValueCodes(low.data)
    sizes = np.bincount(low.groups, minlength=len(top))
    every = np.ones(len(top), dtype=np.bool_)
    of_members: dict[str, list[Column]] = {}
    for upper, lower in pairs:
        if _few(lower_codes, lower.name):
            of_members.setdefault(lower.name, []).append(upper)
    for name, uppers in of_members.items():
        numbers = list(_numbers(lower_codes, name, low.groups, len(top)))
        tests = 6 * len(pairs) * len(numbers)
        for upper in uppers:
            is_number = upper.variable.is_numeric and not upper.variable.is_date
            own = np.where(upper.missing, np.nan, upper.values) if is_number else None
            codes = upper_codes.of(upper.name)
            if own is not None and any(same_numbers(own, each.astype(np.float64), every, "count") for each in numbers):
                yield upper.name, name, f"it is the number of {low.name} with one or two values of {name}"
            # An amount of the group that is masked is asked for as the number alone: what goes along with it is none.
            elif (
                _few(upper_codes, upper.name)
                and not (is_number and upper.name in changed)
                and any(
                    determines(fact, codes, tests) if upper.name in changed else determines(codes, fact, tests)
                    for number in numbers
                    for fact in (number, np.minimum(number, 1), (number == sizes).astype(np.int64))
                )
            ):
                how = f"it tells how many, whether any, or whether all {low.name} have certain values of {name}"
                yield upper.name, name, how


def _numbers(codes: ValueCodes, name: str, groups: Codes, counted: int) -> Iterator[Codes]:
    """How many members of each group have a value, and where there are few, one of two."""
    own, values = codes.of(name), codes.distinct(name)
    there = own >= 0
    table = np.bincount(groups[there] * values + own[there], minlength=counted * values).reshape(counted, values)
    yield from table.T
    if 2 < values <= MOST_FOR_PAIRS:
        for one, other in combinations(range(values), 2):
            yield table[:, one] + table[:, other]
