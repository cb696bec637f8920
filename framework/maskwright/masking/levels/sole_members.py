"""Values that exactly one member of each group has: the reference person of a household, the seat of a firm.

Variables of the group may be those of this member; and an empty cell is this member's if no other one shows the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE, EXCEPTIONS, ValueCodes
from maskwright.masking.suppressing.single_values import CERTAIN
from maskwright.masking.suppressing.ways import Way, joined_ways

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.sources import Source

    Cells = dict[Source, NDArray[np.bool_]]

MOST_VALUES = 30
"""Values of a variable up to which each is tried."""


@dataclass(frozen=True, eq=False)
class SoleValue:
    """A value that exactly one member of a group has, but for few groups.

    `members`: those who have the value; shape (n,). `of_two`: whether the variable has only one other value.
    """

    name: str
    members: NDArray[np.bool_]
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
    """Somebody who knows that each group has exactly one member with a value, and looks for him among the others.

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

    def complement(self, hidden: Mapping[Source, NDArray[np.bool_]]) -> Cells:
        """Cells of housemates that go with these: of a pair nobody knows which one has the value.

        `hidden`: shape (n,).
        """
        more: Cells = {}
        for each, gone, told in self._told(hidden):
            if each.name in self._never:
                continue
            rows = np.flatnonzero(told[self._groups] & ~gone & ~self._missing[each.name])
            _, first = np.unique(self._groups[rows], return_index=True)
            # Where the value is shown all others have the only other one: the one who shows it goes.
            found = np.zeros(len(gone), dtype=np.bool_)
            found[rows[first]] = True
            shows = _with_any(self._groups, each.members & ~gone, self._counted)
            found = np.where(shows[self._groups], told[self._groups] & each.members & ~gone, found)
            if found.any():
                source = (self._low, each.name)
                more[source] = more.get(source, np.False_) | found
        return more

    def left(self, hidden: Mapping[Source, NDArray[np.bool_]]) -> dict[Source, dict[Way, NDArray[np.bool_]]]:
        """Suppressed cells that follow all the same, and from what.

        `hidden`: shape (n,).
        """
        found: dict[Source, dict[Way, NDArray[np.bool_]]] = {}
        for each, gone, told in self._told(hidden):
            if each.name in self._wanted and told.any():
                off = f"{each.name} of the others of the {self._top}: there is a value that exactly one of them has"
                shows = _with_any(self._groups, each.members & ~gone, self._counted)
                # A second member with the value is an exception, which is taken for what it is not.
                cells = gone & told[self._groups] & (each.members != shows[self._groups])
                if cells.any():
                    ways = found.get((self._low, each.name), {})
                    found[self._low, each.name] = joined_ways(ways, {Way(off): cells})
        return found

    def _told(
        self, hidden: Mapping[Source, NDArray[np.bool_]]
    ) -> Iterator[tuple[SoleValue, NDArray[np.bool_], NDArray[np.bool_]]]:
        """Values, suppressed cells, and the groups in which these are known."""
        for each in self._values:
            gone = hidden.get((self._low, each.name))
            if gone is None or not gone.any():
                continue
            emptied = np.bincount(self._groups, gone, self._counted)
            told = _with_any(self._groups, gone & each.members, self._counted) & (emptied == 1)
            if each.of_two:
                told |= (emptied > 0) & _with_any(self._groups, each.members & ~gone, self._counted)
            yield each, gone, told


def _with_any(groups: NDArray[np.int64], members: NDArray[np.bool_], counted: int) -> NDArray[np.bool_]:
    """Groups that have any of these members; shape (counted,)."""
    return np.bincount(groups, members, counted) > 0
