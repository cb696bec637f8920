"""Suppressed cells of members that follow from how many members have a value, by counting out the others.

The size of a household may tell that one member has the value `head`. That gives away an empty cell where the others
are shown, and none of them is the head; of two empty cells it says that one is the head's, and of neither which one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class KnownNumber(NamedTuple):
    """How many members of each group are of some kind, where something that is published tells it.

    `told`: the number; -1 where it is not told; shape (groups,). `capped`: what is told is whether any member is, as 0
    or 1. `is_of`: values of the variable that members of this kind have; shape (values,). `inside`: members who are
    seen to be of the kind; shape (n,). `open`: members of whom it is not seen; shape (n,). `sure`: members of whom it
    depends on the variable alone: whatever else makes the kind is seen; shape (n,).
    """

    told: NDArray[np.int64]
    capped: bool
    is_of: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    open: NDArray[np.bool_]
    sure: NDArray[np.bool_]


def counted_out(
    values: NDArray[np.int64], gone: NDArray[np.bool_], groups: NDArray[np.int64], numbers: Iterable[KnownNumber]
) -> NDArray[np.bool_]:
    """Suppressed cells for which known numbers leave one value, which is the right one; shape (n,).

    `values`: codes 0, 1, ... of what members have, -1 where nothing; shape (n,). `gone`: suppressed cells; shape (n,).
    `groups`: shape (n,).
    """
    asked = np.flatnonzero(gone & (values >= 0))
    possible = np.ones((len(asked), int(values.max(initial=-1)) + 1), dtype=np.bool_)
    for number in numbers:
        counted = len(number.told)
        seen = np.bincount(groups[number.inside], minlength=counted)
        unknown = np.bincount(groups[number.open], minlength=counted)
        lacking = number.told - seen
        none = (number.told >= 0) & (lacking == 0) & (not number.capped or (number.told == 0))
        every = (number.told > 0) & (lacking == unknown) & (not number.capped or (unknown == 1))
        rows, of = number.open[asked], groups[asked]
        possible[rows & every[of]] &= number.is_of
        possible[rows & none[of] & number.sure[asked]] &= ~number.is_of
    found = np.zeros(len(values), dtype=np.bool_)
    found[asked] = (possible.sum(axis=1) == 1) & possible[np.arange(len(asked)), values[asked]]
    return found
