"""Classes of groups by their own values and by those of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.classes.classes import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def group_classes(own: Sequence[Integers], members: Integers, groups: Integers, count: int) -> Integers:
    """Class of each group by its own values and the multiset of its members; groups of different size differ.

    Parameters
    ----------
    own : sequence of ndarray of shape (count,), int64
        Codes of each variable of the groups.
    members : ndarray of shape (n,), int64
        Class of each member.
    groups : ndarray of shape (n,), int64
        Group of each member, ascending.
    count : int
        Number of groups.

    Returns
    -------
    ndarray of shape (count,), int64
        0 to c - 1, numbered as they first occur.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import group_classes
    >>> region, sex, household = np.array([7, 7]), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])
    >>> group_classes([region], sex, household, 2).tolist()
    [0, 0]
    """
    ordered = members[np.lexsort((members, groups))]
    starts = np.searchsorted(groups, np.arange(count + 1))
    sizes = np.diff(starts)
    found = Classes.of([*own, sizes]).codes
    # Member by member, so that no more than two codes are joined at once. Groups of other sizes have other classes from
    # the start, so those that have no more members stay apart.
    left, place, taken = np.flatnonzero(sizes > 0), 0, count
    while len(left):
        joined = Classes.of([found[left], ordered[starts[left] + place]])
        found[left] = taken + joined.codes
        place, taken = place + 1, taken + len(joined)
        left = left[sizes[left] > place]
    return Classes.of([found]).codes
