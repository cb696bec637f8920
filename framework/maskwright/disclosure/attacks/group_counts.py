"""Inference by counts: suppressed cells that follow from how many members have a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.dependencies import EXCEPTIONS, ValueCodes, determines, exceptions
from maskwright.disclosure.attacks.dependency import InferencePath
from maskwright.disclosure.attacks.single_values import determining_values, majority_values
from maskwright.disclosure.cells import LevelCellMasks, joined_cells
from maskwright.disclosure.published_cells import reads_suppressed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans, Integers


class KnownNumber(NamedTuple):
    """How many members of each group are of some kind, where something that is published discloses it.

    `disclosed`: the number; -1 where it is not disclosed; shape (groups,). `capped`: what is disclosed is whether any
    member is, as 0 or 1. `is_of`: values of the variable that members of this kind have; shape (values,). `inside`:
    members who are seen to be of the kind; shape (n,). `open`: members of whom it is not seen; shape (n,). `sure`:
    members of whom it depends on the variable alone: whatever else makes the kind is seen; shape (n,).
    """

    disclosed: Integers
    capped: bool
    is_of: Booleans
    inside: Booleans
    open: Booleans
    sure: Booleans


def counted_out(values: Integers, gone: Booleans, groups: Integers, numbers: Iterable[KnownNumber]) -> Booleans:
    """Suppressed cells for which known numbers leave one value, which is the right one; shape (n,).

    `values`: codes 0, 1, ... of what members have, -1 where nothing; shape (n,). `gone`: suppressed cells; shape (n,).
    `groups`: shape (n,).
    """
    affected = np.flatnonzero(gone & (values >= 0))
    possible = np.ones((len(affected), int(values.max(initial=-1)) + 1), dtype=np.bool_)
    for number in numbers:
        counted = len(number.disclosed)
        seen = np.bincount(groups[number.inside], minlength=counted)
        unknown = np.bincount(groups[number.open], minlength=counted)
        lacking = number.disclosed - seen
        none = (number.disclosed >= 0) & (lacking == 0) & (not number.capped or (number.disclosed == 0))
        every = (number.disclosed > 0) & (lacking == unknown) & (not number.capped or (unknown == 1))
        rows, of = number.open[affected], groups[affected]
        possible[rows & every[of]] &= number.is_of
        possible[rows & none[of] & number.sure[affected]] &= ~number.is_of
    found = np.zeros(len(values), dtype=np.bool_)
    found[affected] = (possible.sum(axis=1) == 1) & possible[np.arange(len(affected)), values[affected]]
    return found


MOST_VALUES = 30
"""Values of a member's variable up to which each is counted."""

ORDER_OF_CHANCE = 0
"""Seed of the order in which members are shuffled, to see what chance says: no result has a value of it."""


class _Number(NamedTuple):
    """How many members of each group have a value, or have another.

    `members`: -1 in groups without members; shape (groups,). `informative`: where it says more than that no one has the
    value, or no one another one; shape (groups,).
    """

    members: Integers
    informative: Booleans


class _Kind(NamedTuple):
    """Members of some kind, by group.

    `counts`: -1 in groups without members; shape (groups,). `capped`: 1 stands for any number of members. `is_of`:
    values of the variable that they have; shape (values,). `combined`: another variable, and the value of it that they
    have besides. `shuffled`: as many, were the members shuffled; shape (groups,). `disclosed`: groups in which the
    number, or what it discloses, is disclosed; None: in all; shape (groups,).
    """

    counts: Integers
    capped: bool
    is_of: Booleans
    combined: tuple[str, int] | None = None
    shuffled: Integers | None = None
    disclosed: Booleans | None = None


def _number_or_any(
    counts: Integers, is_of: Booleans, combined: tuple[str, int] | None, shuffled: Integers
) -> Iterator[_Kind]:
    """Members of a kind by their number, and by whether there are any."""
    yield _Kind(counts, False, is_of, combined, shuffled)
    yield _Kind(np.minimum(counts, 1), True, is_of, combined, np.minimum(shuffled, 1))


class CountReader:
    """An intruder who knows how many members have a value.

    `shown`: as it would be published without suppression; two levels. `published`: variables that are published, keys
    left out. `wanted`: variables that steps suppressed, the others went beside them. `never`: variables that are not
    suppressed. `by_counting`: those of the upper level that counting the members discloses: leaving them out of the
    release hides nothing.
    """

    def __init__(
        self,
        shown: LinkedData,
        published: Mapping[str, Collection[str]],
        wanted: Collection[str],
        never: Collection[str],
        by_counting: Collection[str] = (),
    ) -> None:
        self._top, self._low = shown.names
        self._data = shown[self._low].data
        self._no_members = np.zeros(len(self._data), dtype=np.bool_)
        self._by_counting = frozenset(by_counting)
        self._codes = {level.name: ValueCodes(level.data) for level in shown}
        self._published, self._wanted, self._never = published, frozenset(wanted), frozenset(never)
        groups = shown[self._low].groups
        assert groups is not None
        self._groups, self._counted = groups, len(shown[self._top])
        self._numbers_of: dict[str, tuple[_Number, ...]] = {}
        self._known: dict[tuple[str, str], tuple[Booleans, Booleans]] = {}

    def complement(self, hidden: LevelCellMasks) -> dict[Source, Booleans]:
        """Cells that go with these."""
        more: dict[Source, Booleans] = {}
        for level, name, other, affected in self._related_variables(hidden):
            gone = affected
            source = (self._low if level == self._top else self._top, other)
            if other in self._never:
                continue
            if level == self._top and name not in self._wanted and source in hidden:
                gone = gone & ~self._of_any(hidden[source])
            across = gone[self._groups] if level == self._top else self._of_any(gone)
            lacking = across & ~hidden.get(source, np.False_)
            if lacking.any():
                more[source] = more.get(source, np.False_) | lacking
        return more

    def left(self, hidden: LevelCellMasks) -> dict[Source, dict[InferencePath, Booleans]]:
        """Suppressed cells that follow from a variable that stays, and how.

        That a variable says something of the members is not enough: of two empty cells, that one of them is the head's
        says of neither whether it is.
        """
        affected: dict[Source, list[str]] = {}
        for level, name, other, _ in self._related_variables(hidden):
            if other in self._never:
                affected.setdefault((level, name), []).append(other)
        found: dict[Source, dict[InferencePath, Booleans]] = {}
        for (level, name), others in affected.items():
            source, read = (level, name), np.zeros(len(hidden[level, name]), dtype=np.bool_)
            # Each by itself, then all together.
            for some in (*((each,) for each in others), *((tuple(others),) if len(others) > 1 else ())):
                cells = (self._of_groups if level == self._top else self._of_members)(name, some, hidden)
                if (cells & ~read).any():
                    read |= cells
                    found[source] = joined_cells(found.get(source, {}), {self._way(level, name, some): cells})
        return found

    def _way(self, level: str, name: str, others: tuple[str, ...]) -> InferencePath:
        without = () if set(others) & self._by_counting else others
        named = " and ".join(others)
        if level == self._top:
            return InferencePath(f"{named} of the {self._low} records, by counting", without)
        verb = "tells" if len(others) == 1 else "tell"
        off = f"{named} of {self._top}, which {verb} how many have which {name}, and {name} of the other members"
        return InferencePath(off, without)

    def _of_groups(self, name: str, others: tuple[str, ...], hidden: LevelCellMasks) -> Booleans:
        """Suppressed cells of groups that numbers of members show as other groups with as many have it."""
        own, gone = self._codes[self._top].of(name), hidden[self._top, name]
        read = np.zeros(self._counted, dtype=np.bool_)
        for other in others:
            blurred = self._of_any(hidden.get((self._low, other), self._no_members))
            for number in self._disclosing_kinds(name, other, own_is_given=False):
                codes = np.where(blurred, -1, number.counts)
                disclosing = np.True_ if number.disclosed is None else number.disclosed
                read |= gone & (own >= 0) & disclosing & (majority_values(codes, own, ~gone) == own)
        return read

    def _of_members(self, name: str, others: tuple[str, ...], hidden: LevelCellMasks) -> Booleans:
        """Suppressed cells of members that are counted out."""
        values, gone = self._codes[self._low].of(name), hidden[self._low, name]
        empty = gone | self._appears_suppressed(name)
        numbers = []
        for other in others:
            own = self._codes[self._top].of(other)
            own = np.where(hidden.get((self._top, other), np.False_), -1, own)
            for number in self._disclosing_kinds(other, name, own_is_given=True):
                seen_combined, may_be = np.ones(len(values), dtype=np.bool_), np.ones(len(values), dtype=np.bool_)
                if number.combined is not None:
                    second, value = number.combined
                    unseen = hidden.get((self._low, second), self._no_members) | self._appears_suppressed(second)
                    seen_combined = ~unseen & (self._codes[self._low].of(second) == value)
                    may_be = seen_combined | unseen
                has = (values >= 0) & number.is_of[values]
                open_ = may_be & (empty | (has & ~seen_combined))
                inside = has & ~empty & seen_combined
                whole = ~self._of_any(open_)
                disclosed = majority_values(own, number.counts, whole)
                disclosed = disclosed if number.disclosed is None else np.where(number.disclosed, disclosed, -1)
                numbers.append(KnownNumber(disclosed, number.capped, number.is_of, inside, open_, seen_combined))
        return counted_out(values, gone, self._groups, numbers)

    def _disclosing_kinds(self, group: str, member: str, *, own_is_given: bool) -> Iterator[_Kind]:
        """Numbers of members that disclose a variable of the group, or that it discloses, in some groups at least."""
        own = self._codes[self._top].of(group)
        kinds = list(self._kinds(member))
        tests = 2 * max(sum(map(len, self._published.values())), 1) ** 2 * max(len(kinds), 1)
        for kind in kinds:
            given, found = (own, kind.counts) if own_is_given else (kind.counts, own)
            if determines(given, found, tests) and not self._is_by_chance(group, kind):
                yield kind
            elif kind.combined is None and (some := determining_values(given, found, tests * self._counted)).any():
                yield kind._replace(disclosed=some)

    def _is_by_chance(self, group: str, kind: _Kind) -> bool:
        """Whether what only says how many members there are would disclose the number of any members nearly as well.

        How many have another than a rare value is nearly how many there are, whatever the members are like.
        """
        if group not in self._by_counting or kind.shuffled is None:
            return False
        own = self._codes[self._top].of(group)
        return exceptions(own, kind.counts) > EXCEPTIONS * exceptions(own, kind.shuffled)

    def _kinds(self, member: str) -> Iterator[_Kind]:
        distinct = self._codes[self._low].distinct(member)
        codes = self._codes[self._low].of(member)
        shuffled = self._shuffled(codes)
        for value in range(distinct if 1 < distinct <= MOST_VALUES else 0):
            is_of = np.arange(distinct) == value
            for chosen in (is_of, ~is_of):
                counts, by_chance = (self._counts((each >= 0) & chosen[each]) for each in (codes, shuffled))
                yield from _number_or_any(counts, chosen, None, by_chance)
        for second, value, other, counts, by_chance in self._combinations(member):
            yield from _number_or_any(counts, np.arange(distinct) == value, (second, other), by_chance)

    def _counts(self, members: Booleans) -> Integers:
        """How many of these members each group has; -1 in groups without members."""
        memberless = np.bincount(self._groups, minlength=self._counted) == 0
        return np.where(memberless, -1, np.bincount(self._groups[members], minlength=self._counted))

    def _of_any(self, members: Booleans) -> Booleans:
        """Groups that have any of these members."""
        return np.bincount(self._groups, members, self._counted) > 0

    def _shuffled(self, codes: Integers) -> Integers:
        return np.random.default_rng(ORDER_OF_CHANCE).permutation(codes)

    def _appears_suppressed(self, name: str) -> Booleans:
        """Members whose cell had no value and looks like a suppressed one."""
        column = self._data[name]
        return np.asarray(column.missing & reads_suppressed(column))

    def _related_variables(self, hidden: LevelCellMasks) -> Iterator[tuple[str, str, str, Booleans]]:
        """Suppressed variables, and those of the other level that say something of them."""
        for (level, name), gone in hidden.items():
            if not gone.any() or name not in self._published[level]:
                continue
            groups = gone if level == self._top else self._of_any(gone)
            for other in self._published[self._low if level == self._top else self._top]:
                group, member = (name, other) if level == self._top else (other, name)
                of_members, of_group = self._disclosing_groups(group, member)
                if (groups & (of_members if level == self._low else of_group)).any():
                    yield level, name, other, gone

    def _disclosing_groups(self, group: str, member: str) -> tuple[Booleans, Booleans]:
        """Groups whose variable discloses how many members have a value, and those whose variable that discloses.

        Single values are examined for variables that steps suppressed. That no one has a value, or no one another one,
        is not examined: it says the same of each single member. For these variables it is examined, too, how many
        members have a value beside one of another variable: young women, of whom sex is published.
        """
        if (group, member) not in self._known:
            own, numbers = self._codes[self._top].of(group), self._numbers(member)
            each_number = [number for each in numbers for number in (np.minimum(each.members, 1), each.members)]
            tests = 2 * max(sum(map(len, self._published.values())), 1) ** 2 * max(len(each_number), 1)
            of_members, of_group = (
                np.full(self._counted, any(determines(given, found, tests) for given, found in pairs))
                for pairs in (((own, each) for each in each_number), ((each, own) for each in each_number))
            )
            if member in self._wanted and not of_members.all():
                for each in numbers:
                    of_members |= determining_values(own, each.members, tests * self._counted) & each.informative
            if group in self._wanted and not of_group.all():
                for number in each_number:
                    of_group |= determining_values(number, own, tests * self._counted)
            if (group in self._wanted and not of_group.all()) or (member in self._wanted and not of_members.all()):
                pairs = [number for *_, each, _ in self._combinations(member) for number in (np.minimum(each, 1), each)]
                tests *= max(len(pairs), 1)
                of_members = of_members | any(determines(own, each, tests) for each in pairs)
                of_group = of_group | any(determines(each, own, tests) for each in pairs)
            self._known[group, member] = of_members, of_group
        return self._known[group, member]

    def _combinations(self, member: str) -> Iterator[tuple[str, int, int, Integers, Integers]]:
        """Another variable, a value of this one and one of that, how many members have both, and have by chance.

        The numbers are -1 in groups without members.
        """
        codes, of_one = self._codes[self._low], self._codes[self._low].distinct(member)
        for other in self._published[self._low]:
            if other == member or not of_one > 1 or not 1 < codes.distinct(other) <= MOST_VALUES // of_one:
                continue
            both = np.where(codes.of(other) < 0, -1, codes.of(member) * codes.distinct(other) + codes.of(other))
            both[codes.of(member) < 0] = -1
            shuffled = self._shuffled(both)
            for value in np.unique(both[both >= 0]).tolist():
                counts, by_chance = self._counts(both == value), self._counts(shuffled == value)
                yield other, value // codes.distinct(other), value % codes.distinct(other), counts, by_chance

    def _numbers(self, member: str) -> tuple[_Number, ...]:
        """For each value of a member's variable: how many have it, and how many have another."""
        if member not in self._numbers_of:
            codes, values = self._codes[self._low].of(member), self._codes[self._low].distinct(member)
            memberless = np.bincount(self._groups, minlength=self._counted) == 0
            valued = np.bincount(self._groups[codes >= 0], minlength=self._counted).astype(np.int64)
            found = []
            for value in range(values if 1 < values <= MOST_VALUES else 0):
                counts = np.bincount(self._groups[codes == value], minlength=self._counted).astype(np.int64)
                others = valued - counts
                # Where all others have another value, no one has this one.
                both = _Number(counts, counts > 0), _Number(others, (others > 0) & (counts > 0))
                for each in both if values > 2 else both[:1]:
                    each.members[memberless] = -1
                    found.append(each)
            self._numbers_of[member] = tuple(found)
        return self._numbers_of[member]
