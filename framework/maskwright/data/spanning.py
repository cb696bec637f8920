"""Records of two levels joined: what reads across them, and how many groups, not records, bear witness.

Housemates are alike in much; that four of one household agree says what one of them says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

OWN, GROUP, HOME = "own", "group", "home"
"""What a variable is of: the record, its group, or the group's name."""


@dataclass(frozen=True, eq=False)
class Spanning:
    """Which variables of joined records are asked about together: those of one level alone are asked there.

    `belongs`: `OWN`, `GROUP` or `HOME`; any other word: of another record, that a pointer names. `groups`: shape (n,).
    `wanted`: variables of which single values of others are asked as well. What merely went beside them is asked of
    whole variables only: with all its values, each cell that goes asks for others, and in the end most are gone. Where
    edits tell others by such a cell, its variable is wanted too: `maskwright.masking.levels.told_beside`. `size`: the
    number of records of the group. `said`: what variables are called in messages, where that is not their name. `ends`:
    the published variable without which nobody knows one, where that is another; empty: anybody counts it.
    """

    belongs: Mapping[str, str]
    groups: NDArray[np.int64]
    wanted: Collection[str] = ()
    size: str = ""
    said: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, str] = field(default_factory=dict)

    def asks(self, name: str, given: Sequence[str]) -> bool:
        """Whether variables read across levels or records: those of other records beside the record's own only."""
        read = {self.belongs[each] for each in (name, *given)}
        return len(read) > 1 and (read <= {GROUP, HOME} or OWN in read)

    def asks_values(self, name: str, given: Sequence[str]) -> bool:
        """Whether single values are asked: of one variable, or of one in groups of one size."""
        return name in self.wanted and self.asks(name, given) and (len(given) == 1 or self.size in given)

    def witnesses(self, given: Sequence[str]) -> NDArray[np.int64] | None:
        """Groups of the records, of which each is one witness; None where the group is asked about itself."""
        return None if any(self.belongs[each] == HOME for each in given) else self.groups

    def whole(self, name: str, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of a variable with those of all members, where it is one of the group."""
        return (np.bincount(self.groups, gone) > 0)[self.groups] if self.belongs[name] == GROUP else gone

    def cells(self, name: str, gone: NDArray[np.bool_]) -> int:
        """How many cells of a variable these are: that of a group is one, in the rows of all its members."""
        return len(np.unique(self.groups[gone])) if self.belongs[name] == GROUP else int(gone.sum())


def groups_of_each(codes: NDArray[np.int64], groups: NDArray[np.int64], counted: int) -> NDArray[np.int64]:
    """How many groups have records with each of the codes 0, 1, ...; shape (counted,)."""
    wide = int(groups.max(initial=0)) + 1
    return np.bincount(np.unique(codes * wide + groups) // wide, minlength=counted)
