"""Variables of members that look like variables of their group: the same within nearly all, and not among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import LinkedData

ENOUGH = 20
"""Groups, at least, in which the values of two members would differ by chance: in fewer all may agree by chance."""
EXCEPTIONS = 0.01
"""Share of these in which they may differ all the same: a file has mistakes."""


class Agreement(NamedTuple):
    """How many groups agree in a variable of their members.

    `alike`: groups of two or more in which all members have the same value. `several`: groups of two or more.
    """

    alike: int
    several: int


def alike_within(linked: LinkedData) -> dict[str, Agreement]:
    """Variables of the lower level that are the same within nearly all groups, where chance would let many differ.

    Of a column in which nearly everybody has the same value, equal members say nothing: counted is how many groups
    would differ if the values of the groups' first members were dealt anew to two members of each.

    `linked`: keys and pointers are left out. Returns in the order of the file. A missing cell beside a known one
    differs, and one missing code beside another.
    """
    low = linked.levels[1]
    assert low.groups is not None
    together = low.groups[1:] == low.groups[:-1]
    sizes = np.bincount(low.groups, minlength=len(linked.levels[0]))
    several = int(np.count_nonzero(sizes > 1))
    firsts = linked.starts(low.name)[:-1][sizes > 1]
    found = {}
    for column in low.data if several >= ENOUGH else ():
        if column.name in low.key_columns:
            continue
        differing = _groups_in_which(together & _changes(column), low.groups)
        # Most columns end here, after one comparison of neighbours; only the others are sorted.
        if differing <= EXCEPTIONS * several:
            expected = several * _share_of_unequal_pairs(column, firsts)
            if expected >= ENOUGH and differing <= EXCEPTIONS * expected:
                found[column.name] = Agreement(several - differing, several)
    return found


def _changes(column: Column) -> NDArray[np.bool_]:
    """Whether each cell but the first is another than the one before it."""
    missing, values = column.missing, column.values
    changes = (values[1:] != values[:-1]) & ~(missing[1:] & missing[:-1]) | (missing[1:] != missing[:-1])
    if missing.any():
        kinds = column.missing_kinds()
        changes |= kinds[1:] != kinds[:-1]
    return np.asarray(changes, dtype=np.bool_)


def _groups_in_which(changes: NDArray[np.bool_], groups: NDArray[np.int64]) -> int:
    """Groups, whose records stand together, in which any record is another than the one before it."""
    return len(np.unique(groups[1:][changes]))


def _share_of_unequal_pairs(column: Column, rows: NDArray[np.int64]) -> float:
    """Share of the pairs of these cells that are unequal; all missing cells count as one value."""
    there = ~column.missing[rows]
    counts = np.unique(column.values[rows][there], return_counts=True)[1]
    shares = np.append(counts, len(rows) - int(there.sum())) / len(rows)
    return 1.0 - float(np.sum(shares**2))
