"""Variables of a group that say of how many members have a value: ``foreign`` where any member is a foreigner.

Whoever sees one of the two, and the other members, may know the other. Beside a suppressed member's cell that variable
goes; beside a suppressed cell of the group, the members' cells do. Where it went itself beside a member's, it stays
unknown without that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.sources import Source

    Cells = dict[Source, NDArray[np.bool_]]

MOST_VALUES = 30
"""Values of a member's variable up to which each is counted."""


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
        self._said: dict[str, tuple[NDArray[np.int64], ...]] = {}
        self._known: dict[tuple[str, str], tuple[bool, bool]] = {}

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
            for other in self._published[self._low if level == self._top else self._top]:
                group, member = (name, other) if level == self._top else (other, name)
                of_members, of_group = self._tells(group, member)
                if of_members if level == self._low else of_group:
                    yield level, name, other, gone

    def _tells(self, group: str, member: str) -> tuple[bool, bool]:
        """Whether a variable of the group tells how many members have a value, and whether that tells the variable."""
        if (group, member) not in self._known:
            own, counts = self._codes[self._top].of(group), self._numbers(member)
            tests = 2 * max(sum(map(len, self._published.values())), 1) ** 2 * max(len(counts), 1)
            self._known[group, member] = (
                any(determines(own, each, tests) for each in counts),
                any(determines(each, own, tests) for each in counts),
            )
        return self._known[group, member]

    def _numbers(self, member: str) -> tuple[NDArray[np.int64], ...]:
        """For each value of a member's variable: whether any has it, and how many; -1 in groups without members."""
        if member not in self._said:
            codes, values = self._codes[self._low].of(member), self._codes[self._low].distinct(member)
            nobody = np.bincount(self._groups, minlength=self._counted) == 0
            found = []
            for value in range(values if 1 < values <= MOST_VALUES else 0):
                counts = np.bincount(self._groups[codes == value], minlength=self._counted).astype(np.int64)
                counts[nobody] = -1
                found += [np.minimum(counts, 1), counts]
            self._said[member] = tuple(found)
        return self._said[member]

    def _across(self, level: str, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of the other level beside these."""
        return gone[self._groups] if level == self._top else np.bincount(self._groups, gone, self._counted) > 0
