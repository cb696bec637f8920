"""Variables of a group that say how many members have a value: ``foreign`` where any member is a foreigner.

Whoever sees one of the two, and the other members, may know the other, by excluding them: no other is a foreigner.
Beside a suppressed member's cell that variable goes; beside a suppressed cell of the group, the members' cells do.
Where it went itself beside a member's, it stays unknown without that. Single values tell as whole variables do:
``kind`` "with one lodger", where the other kinds say nothing. It goes beside all suppressed cells then, or its absence
would tell.

What only says how many members there are tells how many have another than a rare value, whatever the members are like:
that is taken to say something where it would not say it of members that are shuffled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.dependencies import EXCEPTIONS, ValueCodes, determines, exceptions
from maskwright.masking.suppressing.single_values import telling_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.sources import Source

    Cells = dict[Source, NDArray[np.bool_]]

MOST_VALUES = 30
"""Values of a member's variable up to which each is counted."""

ORDER_OF_CHANCE = 0
"""Seed of the order in which members are shuffled, to see what chance says: no result has a value of it."""


class _Number(NamedTuple):
    """How many members of each group have a value, or have another.

    Attributes
    ----------
    members : ndarray of shape (groups,), int64
        -1 in groups without members.
    shuffled : ndarray of shape (groups,), int64
        As many, were the members shuffled.
    says : ndarray of shape (groups,), bool
        Where it says more than that nobody has the value, or nobody another one.
    value : int
        Its code.
    of_others : bool
        Whether it is the number of those who have another value.
    other : (str, int) or None
        Another variable, and the code of it that they have too.
    """

    members: NDArray[np.int64]
    shuffled: NDArray[np.int64]
    says: NDArray[np.bool_]
    value: int
    of_others: bool = False
    other: tuple[str, int] | None = None

    def facts(self) -> tuple[_Number, _Number]:
        """Whether there are any, and how many there are."""
        return self._replace(members=np.minimum(self.members, 1), shuffled=np.minimum(self.shuffled, 1)), self


class CountReader:
    """Somebody who knows how many members have a value.

    Parameters
    ----------
    shown : LinkedData
        As it would be published without suppression; two levels.
    published : mapping of level name to collection of str
        Variables that are published, keys left out.
    wanted : collection of str
        Variables that steps suppressed, the others went beside them.
    never : collection of str
        Variables that are not suppressed.
    of_size : collection of str
        Those of the upper level that say no more than how many members there are.
    """

    def __init__(
        self,
        shown: LinkedData,
        published: Mapping[str, Collection[str]],
        wanted: Collection[str],
        never: Collection[str],
        of_size: Collection[str],
    ) -> None:
        self._of_size = frozenset(of_size)
        self._top, self._low = shown.names
        self._codes = {level.name: ValueCodes(level.data) for level in shown}
        self._published, self._wanted, self._never = published, frozenset(wanted), frozenset(never)
        groups = shown[self._low].groups
        assert groups is not None
        self._groups, self._counted = groups, len(shown[self._top])
        self._said: dict[str, tuple[_Number, ...]] = {}
        self._known: dict[tuple[str, str], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def complement(self, hidden: Mapping[Source, NDArray[np.bool_]]) -> Cells:
        """Cells that go with these.

        Parameters
        ----------
        hidden : mapping of (level, name) to ndarray of shape (n,), bool
        """
        more: Cells = {}
        for level, name, other, asked in self._asked(hidden):
            gone = asked
            source = (self._low if level == self._top else self._top, other)
            if other in self._never:
                continue
            if level == self._top and name not in self._wanted and source in hidden:
                gone = gone & (np.bincount(self._groups, hidden[source], self._counted) == 0)
            lacking = self._across(level, gone) & ~hidden.get(source, np.False_)
            if lacking.any():
                more[source] = more.get(source, np.False_) | lacking
        return more

    def left(
        self, hidden: Mapping[Source, NDArray[np.bool_]]
    ) -> dict[Source, tuple[NDArray[np.bool_], tuple[str, ...]]]:
        """Cells beside which a variable stays that says of them, and what it is called.

        Parameters
        ----------
        hidden : mapping of (level, name) to ndarray of shape (n,), bool
        """
        found: dict[Source, tuple[NDArray[np.bool_], tuple[str, ...]]] = {}
        for level, name, other, gone in self._asked(hidden):
            if other not in self._never:
                continue
            # Its absence tells nothing, since it is absent nowhere.
            if level == self._top:
                said, word = gone & self._tells(name, other)[1], f"{other} of its {self._low} records tells {name}"
            else:
                said = self._read(other, name, gone, hidden)
                size = " (as counting them does)" if other in self._of_size else ""
                word = f"{other} tells{size} how many {self._low} records of one {self._top} have a value of {name}"
            if said.any():
                before, words = found.get((level, name), (np.zeros(len(gone), dtype=np.bool_), ()))
                found[level, name] = (before | said, (*words, word))
        return found

    def _read(
        self, group: str, member: str, gone: NDArray[np.bool_], hidden: Mapping[Source, NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Suppressed cells of members for which one value is left, where those who have it or another one are shown."""
        own, read = self._codes[self._top].of(group), np.zeros(len(gone), dtype=np.bool_)
        numbers, beside = self._numbers(member), tuple(self._beside(member))
        tests = self._tests(2 * len(numbers))
        for each in (*numbers, *beside):
            tried = tests if each.other is None else tests * 2 * len(beside)
            any_told, told = (self._is_told(group, fact, tried) for fact in each.facts())
            known = np.full(self._counted, told)
            if each.other is None and not told:
                known |= telling_values(own, each.members, tried * self._counted) & each.says
            if any_told or known.any():
                read |= self._with_one_value_left(each, member, known, gone, hidden, any_told=any_told)
        return read

    def _with_one_value_left(
        self,
        number: _Number,
        member: str,
        known: NDArray[np.bool_],
        gone: NDArray[np.bool_],
        hidden: Mapping[Source, NDArray[np.bool_]],
        *,
        any_told: bool,
    ) -> NDArray[np.bool_]:
        codes = self._codes[self._low]
        asked = gone & (codes.of(member) >= 0)
        having = codes.of(member) == number.value
        if number.other is not None:
            name, value = number.other
            beside = (codes.of(name) == value) & ~hidden.get((self._low, name), np.False_)
            asked, having = asked & beside, having & beside
        unlike = np.bincount(self._groups[asked & ~having], minlength=self._counted) > 0
        sure = known & ~unlike
        if any_told and number.of_others:
            sure |= number.members == 0
        elif any_told:
            shown = np.bincount(self._groups[having & ~gone], minlength=self._counted) > 0
            sure |= ~shown & (np.bincount(self._groups[asked], minlength=self._counted) == 1)
        read: NDArray[np.bool_] = asked & having & sure[self._groups]
        return read

    def _asked(self, hidden: Mapping[Source, NDArray[np.bool_]]) -> Iterator[tuple[str, str, str, NDArray[np.bool_]]]:
        """Suppressed variables, and those of the other level that say something of them."""
        for (level, name), gone in hidden.items():
            if not gone.any() or name not in self._published[level]:
                continue
            groups = gone if level == self._top else np.bincount(self._groups, gone, self._counted) > 0
            for other in self._published[self._low if level == self._top else self._top]:
                group, member = (name, other) if level == self._top else (other, name)
                of_members, of_group = self._tells(group, member)
                if (groups & (of_members if level == self._low else of_group)).any():
                    yield level, name, other, gone

    def _tells(self, group: str, member: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Groups whose variable tells how many members have a value, and those of whom that tells the variable.

        Single values are asked of variables that steps suppressed. That nobody has a value, or nobody another one, is
        not asked of them: it says of each member by himself what it says. Of these variables it is asked, too, how many
        members have a value beside one of another variable: young women, of whom sex is published.
        """
        if (group, member) not in self._known:
            own, numbers = self._codes[self._top].of(group), self._numbers(member)
            facts = [fact for each in numbers for fact in each.facts()]
            tests = self._tests(len(facts))
            of_members = np.full(self._counted, any(self._is_told(group, each, tests) for each in facts))
            of_group = np.full(self._counted, any(determines(each.members, own, tests) for each in facts))
            if member in self._wanted and not of_members.all():
                for each in numbers:
                    of_members |= telling_values(own, each.members, tests * self._counted) & each.says
            if group in self._wanted and not of_group.all():
                for each in facts:
                    of_group |= telling_values(each.members, own, tests * self._counted)
            if (group in self._wanted and not of_group.all()) or (member in self._wanted and not of_members.all()):
                pairs = [fact for each in self._beside(member) for fact in each.facts()]
                tests *= max(len(pairs), 1)
                of_members = of_members | any(self._is_told(group, each, tests) for each in pairs)
                of_group = of_group | any(determines(each.members, own, tests) for each in pairs)
            self._known[group, member] = of_members, of_group
        return self._known[group, member]

    def _tests(self, facts: int) -> int:
        return 2 * max(sum(map(len, self._published.values())), 1) ** 2 * max(facts, 1)

    def _is_told(self, group: str, number: _Number, tests: int) -> bool:
        """Whether a variable of groups tells a number of members, and not as it would of any members."""
        own = self._codes[self._top].of(group)
        if not determines(own, number.members, tests):
            return False
        if group not in self._of_size:
            return True
        return exceptions(own, number.members) <= EXCEPTIONS * exceptions(own, number.shuffled)

    def _beside(self, member: str) -> Iterator[_Number]:
        """How many members have a value of this variable and one of another."""
        codes, of_one = self._codes[self._low], self._codes[self._low].distinct(member)
        for other in self._published[self._low]:
            if other == member or not of_one > 1 or not 1 < codes.distinct(other) <= MOST_VALUES // of_one:
                continue
            both = np.where(codes.of(other) < 0, -1, codes.of(member) * codes.distinct(other) + codes.of(other))
            both[codes.of(member) < 0] = -1
            shuffled = self._shuffled(both)
            for value in np.unique(both[both >= 0]).tolist():
                counts, by_chance = self._with_value(both, value), self._with_value(shuffled, value)
                of_member, of_other = divmod(value, codes.distinct(other))
                yield self._number(counts, by_chance, counts > 0)._replace(value=of_member, other=(other, of_other))

    def _numbers(self, member: str) -> tuple[_Number, ...]:
        """For each value of a member's variable: how many have it, and how many have another."""
        if member not in self._said:
            codes, values = self._codes[self._low].of(member), self._codes[self._low].distinct(member)
            shuffled = self._shuffled(codes)
            valued, valued_by_chance = (
                np.bincount(self._groups[each >= 0], minlength=self._counted).astype(np.int64)
                for each in (codes, shuffled)
            )
            found = []
            for value in range(values if 1 < values <= MOST_VALUES else 0):
                counts, by_chance = self._with_value(codes, value), self._with_value(shuffled, value)
                found.append(self._number(counts, by_chance, counts > 0)._replace(value=value))
                if values > 2:
                    others = valued - counts
                    # Where all others have another value, nobody has this one.
                    says = (others > 0) & (counts > 0)
                    other = self._number(others, valued_by_chance - by_chance, says)
                    found.append(other._replace(value=value, of_others=True))
            self._said[member] = tuple(found)
        return self._said[member]

    def _shuffled(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.random.default_rng(ORDER_OF_CHANCE).permutation(codes)

    def _with_value(self, codes: NDArray[np.int64], value: int) -> NDArray[np.int64]:
        """How many members of each group have it."""
        return np.bincount(self._groups[codes == value], minlength=self._counted).astype(np.int64)

    def _number(self, counts: NDArray[np.int64], by_chance: NDArray[np.int64], says: NDArray[np.bool_]) -> _Number:
        nobody = np.bincount(self._groups, minlength=self._counted) == 0
        return _Number(np.where(nobody, -1, counts), np.where(nobody, -1, by_chance), says, 0)

    def _across(self, level: str, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of the other level beside these."""
        return gone[self._groups] if level == self._top else np.bincount(self._groups, gone, self._counted) > 0
