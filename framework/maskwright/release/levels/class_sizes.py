"""Sizes of equivalence classes in data of two levels: of persons, household rows and households."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_groups import class_codes
from maskwright.planning.model import size_compared_with
from maskwright.release.record.run_record import LikeClasses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData

    Codes = NDArray[np.int64]


def four_counts(
    linked: LinkedData,
    variable_groups: Mapping[tuple[str, ...], int],
    own_groups: Mapping[tuple[str, ...], int],
    masked: Sequence[str],
    derived: Sequence[str],
    below: Sequence[str],
    k: int,
) -> tuple[LikeClasses, ...]:
    """Count what is published alike."""
    top, low = linked.levels
    assert low.groups is not None
    found = []
    for names, own in variable_groups.items():
        codes = class_codes(low.data, names)
        # Whole numbers that stand for pairs: sorting rows of two takes ten times as long.
        pairs = np.unique(codes * len(top) + low.groups)
        size = np.bincount(pairs // len(top))[codes]
        found.append(_classes_about(f"{low.name} on {', '.join(names)}, counted in {top.name}", size, own))
    quasi = [column.name for column in top.data if column.variable.role == "quasi_identifier"]
    together = next((own for names, own in own_groups.items() if set(names) == set(masked)), k)
    found += [
        _classes_about(f"{top.name} on {', '.join(names)}", _sizes(class_codes(top.data, names)), own)
        for names, own in own_groups.items() if set(names) != set(masked)
    ]  # fmt: skip
    if quasi and not any(set(quasi) == set(names) for names in (*own_groups, masked)):
        about = f"{top.name} on its quasi-identifiers ({', '.join(quasi)})"
        found.append(
            _classes_about(
                about, _sizes(class_codes(top.data, quasi)), size_compared_with(quasi, own_groups.items(), k)
            )
        )
    if masked:
        found.append(
            _classes_about(f"{top.name} on {', '.join(masked)}", _sizes(class_codes(top.data, masked)), together)
        )
    if derived:
        every = [*masked, *derived]
        found.append(_classes_about(f"{top.name} on {', '.join(every)}", _sizes(class_codes(top.data, every)), k))
    if below or masked:
        rows = class_codes(top.data, [*masked, *derived])
        whole = _with_members(rows, class_codes(low.data, below), low.groups)
        found.append(_classes_about(f"whole {top.name}, by the masked values of row and members", _sizes(whole), k))
    return tuple(found)


def _classes_about(about: str, sizes: Codes, k: int) -> LikeClasses:
    smallest, below = int(sizes.min(initial=len(sizes))), int((sizes < k).sum())
    return LikeClasses(about=about, records=len(sizes), expected=k, smallest=smallest, below=below)


def _sizes(codes: Codes) -> Codes:
    return np.bincount(codes)[codes]


def _with_members(rows: Codes, members: Codes, groups: Codes) -> Codes:
    """Class of each group by its row and the multiset of its members, joined member by member."""
    import pandas as pd  # heavy: `maskwright validate` does without

    ordered = members[np.lexsort((members, groups))]
    starts = np.searchsorted(groups, np.arange(len(rows) + 1))
    sizes = np.diff(starts)
    kinds = int(members.max(initial=-1)) + 1
    found = pd.factorize(rows * (int(sizes.max(initial=0)) + 1) + sizes)[0].astype(np.int64)
    # Groups of other sizes have other classes from the start, so those that have no more members stay apart.
    left, place, taken = np.flatnonzero(sizes > 0), 0, len(rows)
    while len(left):
        codes, different = pd.factorize(found[left] * kinds + ordered[starts[left] + place])
        found[left] = taken + codes
        place, taken = place + 1, taken + len(different)
        left = left[sizes[left] > place]
    return np.unique(found, return_inverse=True)[1].ravel()
