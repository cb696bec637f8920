"""Variables of a group that say how many members have a value: ``foreign`` where any member is a foreigner.

Whoever sees one of the two, and the other members, may know the other, by excluding them: no other is a foreigner.
Beside a suppressed member's cell that variable goes; beside a suppressed cell of the group, the members' cells do.
Where it went itself beside a member's, it stays unknown without that. Single values tell as whole variables do:
``kind`` "with one lodger", where the other kinds say nothing. It goes beside all suppressed cells then, or its absence
would tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines
from maskwright.masking.suppressing.single_values import telling_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.sources import Source

    Cells = dict[Source, NDArray[np.bool_]]

MOST_VALUES = 30
"""Values of a member's variable up to which each is counted."""


class _Number(NamedTuple):
    """How many members of each group have a value, or have another.

    Attributes
    ----------
    members : ndarray of shape (groups,), int64
        -1 in groups without members.
    says : ndarray of shape (groups,), bool
        Where it says more than that nobody has the value, or nobody another one.
    """

    members: NDArray[np.int64]
    says: NDArray[np.bool_]


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
    """

    def __init__(
        self,
        shown: LinkedData,
        published: Mapping[str, Collection[str]],
        wanted: Collection[str],
        never: Collection[str],
    ) -> None:
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
        """Cells beside which a variable stays that says of them, and its name.

        Parameters
        ----------
        hidden : mapping of (level, name) to ndarray of shape (n,), bool
        """
        found: dict[Source, tuple[NDArray[np.bool_], tuple[str, ...]]] = {}
        for level, name, other, gone in self._asked(hidden):
            if other in self._never:
                before, words = found.get((level, name), (np.zeros(len(gone), dtype=np.bool_), ()))
                found[level, name] = (before | gone, (*words, other))
        return found

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
            each_number = [number for each in numbers for number in (np.minimum(each.members, 1), each.members)]
            tests = 2 * max(sum(map(len, self._published.values())), 1) ** 2 * max(len(each_number), 1)
            of_members, of_group = (
                np.full(self._counted, any(determines(given, found, tests) for given, found in pairs))
                for pairs in (((own, each) for each in each_number), ((each, own) for each in each_number))
            )
            if member in self._wanted and not of_members.all():
                for each in numbers:
                    of_members |= telling_values(own, each.members, tests * self._counted) & each.says
            if group in self._wanted and not of_group.all():
                for number in each_number:
                    of_group |= telling_values(number, own, tests * self._counted)
            if (group in self._wanted and not of_group.all()) or (member in self._wanted and not of_members.all()):
                pairs = [number for each in self._beside(member) for number in (np.minimum(each, 1), each)]
                tests *= max(len(pairs), 1)
                of_members = of_members | any(determines(own, each, tests) for each in pairs)
                of_group = of_group | any(determines(each, own, tests) for each in pairs)
            self._known[group, member] = of_members, of_group
        return self._known[group, member]

    def _beside(self, member: str) -> Iterator[NDArray[np.int64]]:
        """How many members have a value of this variable and one of another; -1 in groups without members."""
        nobody = np.bincount(self._groups, minlength=self._counted) == 0
        codes, of_one = self._codes[self._low], self._codes[self._low].distinct(member)
        for other in self._published[self._low]:
            if other == member or not of_one > 1 or not 1 < codes.distinct(other) <= MOST_VALUES // of_one:
                continue
            both = np.where(codes.of(other) < 0, -1, codes.of(member) * codes.distinct(other) + codes.of(other))
            both[codes.of(member) < 0] = -1
            for value in np.unique(both[both >= 0]).tolist():
                counts = np.bincount(self._groups[both == value], minlength=self._counted).astype(np.int64)
                counts[nobody] = -1
                yield counts

    def _numbers(self, member: str) -> tuple[_Number, ...]:
        """For each value of a member's variable: how many have it, and how many have another."""
        if member not in self._said:
            codes, values = self._codes[self._low].of(member), self._codes[self._low].distinct(member)
            nobody = np.bincount(self._groups, minlength=self._counted) == 0
            valued = np.bincount(self._groups[codes >= 0], minlength=self._counted).astype(np.int64)
            found = []
            for value in range(values if 1 < values <= MOST_VALUES else 0):
                counts = np.bincount(self._groups[codes == value], minlength=self._counted).astype(np.int64)
                others = valued - counts
                # Where all others have another value, nobody has this one.
                both = _Number(counts, counts > 0), _Number(others, (others > 0) & (counts > 0))
                for each in both if values > 2 else both[:1]:
                    each.members[nobody] = -1
                    found.append(each)
            self._said[member] = tuple(found)
        return self._said[member]

    def _across(self, level: str, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of the other level beside these."""
        return gone[self._groups] if level == self._top else np.bincount(self._groups, gone, self._counted) > 0
