"""Inference by marked members: values that one member of each group has, and variables disclosed by them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE, EXCEPTIONS, ValueCodes, determines
from maskwright.disclosure.attacks.dependency import InferencePath
from maskwright.disclosure.attacks.group_counts import MOST_VALUES
from maskwright.disclosure.attacks.similar_records import CERTAIN
from maskwright.disclosure.cells import LevelCellMasks, joined_cells
from maskwright.edits.levels.pairs import can_equate
from maskwright.edits.levels.structure import MembersColumn
from maskwright.edits.levels.structure_edits import sources_of_edit
from maskwright.foundation.doubts import Doubt
from maskwright.planning.levels.attribute_inference import HOLDS, level_inference_doubts, remedy, same_numbers
from maskwright.planning.warnings.number_inference import in_one_order
from maskwright.planning.warnings.observed_numbers import FEWEST_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans, Integers
    from maskwright.planning.plan import Plan


@dataclass(frozen=True, eq=False)
class SoleValue:
    """A value that exactly one member of a group has, but for few groups.

    `members`: those who have the value; shape (n,). `of_two`: whether the variable has only one other value.
    """

    name: str
    members: Booleans
    of_two: bool


def sole_values(shown: LinkedData, names: Collection[str]) -> tuple[SoleValue, ...]:
    """Values of the members' variables that exactly one member of each group has, and not by chance.

    Were members drawn one by one, some groups would have the value twice. At most `EXCEPTIONS` times as many may; that
    none has is chance where fewer are expected than the logarithm of `BY_CHANCE` times the number of values.
    """
    top, low = shown
    assert low.groups is not None
    groups, codes = low.groups, ValueCodes(low.data)
    sizes = np.bincount(groups, minlength=len(top))
    there = int(np.count_nonzero(sizes))
    tried = [name for name in names if 1 < codes.distinct(name) <= MOST_VALUES]
    tests = max(sum(map(codes.distinct, tried)), 1)
    found = []
    for name in tried:
        for value in range(codes.distinct(name)):
            members = codes.of(name) == value
            share = float(members.mean())
            counts = np.bincount(groups[members], minlength=len(top))
            expected = float(np.sum(1 - (1 - share) ** sizes - sizes * share * (1 - share) ** np.maximum(sizes - 1, 0)))
            twice = int(np.count_nonzero(counts > 1))
            once = int(np.count_nonzero(counts == 1)) >= CERTAIN * there
            if once and expected >= math.log(BY_CHANCE * tests) and twice <= EXCEPTIONS * expected:
                found.append(SoleValue(name, members, codes.distinct(name) == 2))
    return tuple(found)


class SoleReader:
    """An intruder who knows that each group has exactly one member with a value, and looks for him among the others.

    `shown`: as it would be published without suppression; two levels. `never`: variables that are not suppressed.
    """

    def __init__(
        self, shown: LinkedData, values: Collection[SoleValue], wanted: Collection[str], never: Collection[str]
    ) -> None:
        self._top, self._low = shown.names
        low = shown[self._low]
        assert low.groups is not None
        self._groups, self._counted = low.groups, len(shown[shown.names[0]])
        self._values = tuple(values)
        self._missing = {each.name: low.data[each.name].missing for each in self._values}
        self._wanted, self._never = frozenset(wanted), frozenset(never)

    def complement(self, hidden: LevelCellMasks) -> dict[Source, Booleans]:
        """Cells of other members that go with these: of a pair it is not known which one has the value."""
        more: dict[Source, Booleans] = {}
        for each, gone, disclosed in self._disclosed(hidden):
            if each.name in self._never:
                continue
            rows = np.flatnonzero(disclosed[self._groups] & ~gone & ~self._missing[each.name])
            _, first = np.unique(self._groups[rows], return_index=True)
            # Where the value is shown all others have the only other one: the one who shows it goes.
            found = np.zeros(len(gone), dtype=np.bool_)
            found[rows[first]] = True
            shows = _with_any(self._groups, each.members & ~gone, self._counted)
            found = np.where(shows[self._groups], disclosed[self._groups] & each.members & ~gone, found)
            if found.any():
                source = (self._low, each.name)
                more[source] = more.get(source, np.False_) | found
        return more

    def left(self, hidden: LevelCellMasks) -> dict[Source, dict[InferencePath, Booleans]]:
        """Suppressed cells that follow all the same, and from what."""
        found: dict[Source, dict[InferencePath, Booleans]] = {}
        for each, gone, disclosed in self._disclosed(hidden):
            if each.name in self._wanted and disclosed.any():
                off = f"{each.name} of the others of the {self._top}: there is a value that exactly one of them has"
                shows = _with_any(self._groups, each.members & ~gone, self._counted)
                # A second member with the value is an exception, which is taken for what it is not.
                cells = gone & disclosed[self._groups] & (each.members != shows[self._groups])
                if cells.any():
                    ways = found.get((self._low, each.name), {})
                    found[self._low, each.name] = joined_cells(ways, {InferencePath(off): cells})
        return found

    def _disclosed(self, hidden: LevelCellMasks) -> Iterator[tuple[SoleValue, Booleans, Booleans]]:
        """Values, suppressed cells, and the groups in which these are known."""
        for each in self._values:
            gone = hidden.get((self._low, each.name))
            if gone is None or not gone.any():
                continue
            emptied = np.bincount(self._groups, gone, self._counted)
            disclosed = _with_any(self._groups, gone & each.members, self._counted) & (emptied == 1)
            if each.of_two:
                disclosed |= (emptied > 0) & _with_any(self._groups, each.members & ~gone, self._counted)
            yield each, gone, disclosed


def _with_any(groups: Integers, members: Booleans, counted: int) -> Booleans:
    """Groups that have any of these members; shape (counted,)."""
    return np.bincount(groups, members, counted) > 0


MOST_GROUPS = 20_000
"""Groups that are examined, spread over the file."""

MOST_FOR_PAIRS = 8
"""Values of a member's variable up to which each two of them are counted together."""


def level_disclosure_doubts(
    linked: LinkedData, bound: BoundEdits, plans: Mapping[str, Plan], computed: Collection[tuple[str, str]] = ()
) -> Iterator[Doubt]:
    """Doubts about variables of one level that the other shows.

    `computed`: levels and variables that are derived from masked ones after all steps: they show nothing of the
    original.
    """
    masked = {name: {each for each in plan.changed if not plan.variables[each].as_is} for name, plan in plans.items()}
    changed = {name: masked[name] & plan.replaced for name, plan in plans.items()}
    edits = [edit for own in bound.edits.values() for edit in own]
    tied = [frozenset(sources_of_edit(bound, edit)) for edit in edits if can_equate(edit)]
    for pair in linked.pairs:
        counts = {
            each.name for each in bound.columns[pair[0]]
            if isinstance(each, MembersColumn) and each.function == "count" and each.level == pair[1]
        }  # fmt: skip
        sizes = {name for edit in edits if not counts.isdisjoint(edit.variables) for name in edit.variables}
        levels = linked.pair(*pair)
        own = {name for level, name in computed if level == pair[0]}
        yield from level_inference_doubts(levels, masked, tied, sizes, own)
        yield from member_disclosure_doubts(levels, masked, changed, tied, own)


def member_disclosure_doubts(
    linked: LinkedData,
    masked: Mapping[str, Collection[str]],
    changed: Mapping[str, Collection[str]],
    tied: Collection[frozenset[tuple[str, str]]],
    computed: Collection[str] = (),
) -> Iterator[Doubt]:
    """Doubts about changed variables that a marked member, or the number of members, shows.

    `computed`: variables of the group that are derived from masked ones.
    """
    if not any(changed.values()):
        return
    some = _some_groups(linked)
    top, low = some.levels
    pairs = [
        (upper, lower) for upper in _disclosed_variables(top) for lower in _disclosed_variables(low)
        if (upper.name in changed.get(top.name, ())) != (lower.name in changed.get(low.name, ()))
        and upper.name not in computed
        and not any({(top.name, upper.name), (low.name, lower.name)} <= each for each in tied)
    ]  # fmt: skip
    reported: set[tuple[str, str]] = set()
    for search in (_by_marked_members(some, masked, pairs), _by_counting(some, pairs, changed.get(top.name, ()))):
        for upper, lower, how in search:
            if (upper, lower) in reported:
                continue
            reported.add((upper, lower))
            name, message = lower, f"{upper} of {top.name}, published as it is, tells of it: {how}"
            if upper in changed.get(top.name, ()):
                name, message = upper, f"{lower} of {low.name}, published as it is, tells it: {how}"
            yield Doubt("follows-from-published", name, message, hint=remedy())


def _some_groups(linked: LinkedData) -> LinkedData:
    """Groups of two or more members, at most `MOST_GROUPS`, spread over the file."""
    top, low = linked.levels
    assert low.groups is not None
    several = np.flatnonzero(np.bincount(low.groups, minlength=len(top)) >= 2)
    places = np.linspace(0, max(len(several) - 1, 0), min(len(several), MOST_GROUPS)).astype(np.int64)
    return linked.taken(several[places])


def _disclosed_variables(level: Level) -> list[Column]:
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
    marks = [column.name for column in _disclosed_variables(low) if column.name not in masked.get(low.name, ())]
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
    return bool(
        len(second) >= FEWEST_NUMBERS and same.mean() >= HOLDS and 1 - same.mean() <= (1 - usual) / 4 and usual < 1
    )


def _by_counting(
    linked: LinkedData, pairs: Collection[tuple[Column, Column]], changed: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Variables of a group that are, or disclose, how many members have one or two values of a variable."""
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
            # An amount of the group that is masked is examined as the number alone: what goes along with it is none.
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


def _numbers(codes: ValueCodes, name: str, groups: Integers, counted: int) -> Iterator[Integers]:
    """How many members of each group have a value, and where there are few, one of two."""
    own, values = codes.of(name), codes.distinct(name)
    there = own >= 0
    table = np.bincount(groups[there] * values + own[there], minlength=counted * values).reshape(counted, values)
    yield from table.T
    if 2 < values <= MOST_FOR_PAIRS:
        for one, other in combinations(range(values), 2):
            yield table[:, one] + table[:, other]
