"""The four counts of k for data of two levels: what is published alike of persons, household rows and households."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData

    Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Alike:
    """Records that are published alike.

    Attributes
    ----------
    about : str
        Which, and on what.
    records : int
    smallest : int
        Records, or groups, of the smallest class.
    below : int
        Records in classes smaller than k.
    """

    about: str
    records: int
    smallest: int
    below: int


def four_counts(
    linked: LinkedData,
    variable_groups: Sequence[Sequence[str]],
    masked: Sequence[str],
    derived: Sequence[str],
    below: Sequence[str],
    k: int,
) -> tuple[Alike, ...]:
    """Count what is published alike.

    Parameters
    ----------
    linked : LinkedData
        Masked.
    variable_groups : sequence of sequences of str
        Variables of the lower level that steps mask together.
    masked : sequence of str
        Variables of the upper level that steps mask.
    derived : sequence of str
        Those that are derived besides.
    below : sequence of str
        Variables of the lower level that steps mask.
    k : int

    Returns
    -------
    tuple of Alike
        Records of the lower level on each of their groups of variables, counted in groups; rows of the upper level on
        their own masked values; with derived ones; whole groups, by their row and the set of their members.
    """
    top, low = linked.levels
    assert low.groups is not None
    found = []
    for names in variable_groups:
        codes = _classes(low.data, names)
        pairs = np.unique(np.stack([codes, low.groups]), axis=1)
        size = np.bincount(pairs[0])[codes]
        found.append(_alike(f"{low.name} on {', '.join(names)}, counted in {top.name}", size, k))
    if masked:
        found.append(_alike(f"{top.name} on {', '.join(masked)}", _sizes(_classes(top.data, masked)), k))
    if derived:
        every = [*masked, *derived]
        found.append(_alike(f"{top.name} on {', '.join(every)}", _sizes(_classes(top.data, every)), k))
    if below or masked:
        rows = _classes(top.data, [*masked, *derived])
        together = _with_members(rows, _classes(low.data, below), low.groups)
        found.append(_alike(f"whole {top.name}, by its row and the set of its members", _sizes(together), k))
    return tuple(found)


def _alike(about: str, sizes: Codes, k: int) -> Alike:
    return Alike(about, len(sizes), int(sizes.min(initial=len(sizes))), int((sizes < k).sum()))


def _sizes(codes: Codes) -> Codes:
    return np.bincount(codes)[codes]


def _classes(data: Dataset, names: Sequence[str]) -> Codes:
    """Class of each record by what is published of these variables."""
    if not names:
        return np.zeros(len(data), dtype=np.int64)
    return np.unique(data.matrix(names), axis=0, return_inverse=True, equal_nan=True)[1].ravel()


def _with_members(rows: Codes, members: Codes, groups: Codes) -> Codes:
    """Class of each group by its row and the multiset of its members, compared group size by group size."""
    order = np.lexsort((members, groups))
    starts = np.searchsorted(groups, np.arange(len(rows) + 1))
    counts = np.diff(starts)
    found = np.zeros(len(rows), dtype=np.int64)
    taken = 0
    for size in np.unique(counts).tolist():
        here = np.flatnonzero(counts == size)
        inside = members[order][starts[here][:, None] + np.arange(size)]
        codes = np.unique(np.column_stack([rows[here], inside]), axis=0, return_inverse=True)[1].ravel()
        found[here] = codes + taken
        taken += int(codes.max(initial=-1)) + 1
    return found
