"""Groups whose missing cells tell them apart from the others of their composition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.planning.criteria import missing_codes
from maskwright.planning.warnings.missing_cells import rare_missing_records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.running.ready import ReadyRun
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.joined_records import JoinedGroups
    from maskwright.planning.model import Group


def apart_by_missing(
    linked: LinkedData, found: Sequence[JoinedGroups], masked: Mapping[str, Sequence[str]], k: int
) -> tuple[list[JoinedGroups], list[JoinedGroups]]:
    """Set apart groups that have cells missing as fewer than k of their composition have.

    Missing cells stay missing, and each missing code is published: whatever is done to the values, such groups are
    alike with fewer than k.
    """
    top, low = linked.names
    gaps = {level: _gaps(linked, level, masked[level]) for level in (top, low)}
    kept: list[JoinedGroups] = []
    apart: list[JoinedGroups] = []
    for each in found:
        own = np.column_stack([gaps[top][each.groups], gaps[low][each.members].reshape(len(each), -1)])
        _, which, sizes = np.unique(own, axis=0, return_inverse=True, return_counts=True)
        is_rare = sizes[which.ravel()] < k
        kept += _of(each, ~is_rare)
        apart += _of(each, is_rare)
    return kept, apart


def apart_by_plans(
    found: Sequence[JoinedGroups], planned: Callable[[JoinedGroups], ReadyRun], k: int
) -> list[JoinedGroups]:
    """Groups that the strata of their plan tell apart besides: those of another stratum publish other values.

    `found`: of k groups or more each. `planned`: plans the joined records of groups. Returns with what is left of a
    composition of which fewer than k would be.
    """
    waiting, apart = list(found), []
    while waiting:
        each = waiting.pop()
        ready = planned(each)
        is_rare = np.zeros(len(each), dtype=np.bool_)
        for group in ready.plan.groups:
            if ready.request.steps[group.step - 1].k is not None:
                is_rare |= rare_missing_records(group, k, ready.original) | _in_a_minority(group, ready.original)
        if int((~is_rare).sum()) < k:
            apart.append(each)
        elif is_rare.any():
            apart += _of(each, is_rare)
            # Strata of those that are left may be joined otherwise.
            waiting += _of(each, ~is_rare)
    return apart


def _in_a_minority(group: Group, data: Dataset) -> NDArray[np.bool_]:
    """Records with other cells missing than most of their stratum: a cluster of both is two classes; shape (n,)."""
    gaps = np.stack([missing_codes(data[name]) for name in group.variables], axis=1)
    _, pattern = np.unique(gaps, axis=0, return_inverse=True)
    strata = np.zeros(len(data), dtype=np.int64) if group.strata is None else group.strata.codes
    pairs, which, sizes = np.unique(
        np.stack([strata, pattern.ravel()], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    most = np.zeros(int(pairs[:, 0].max(initial=0)) + 1, dtype=np.int64)
    for place in np.argsort(sizes, kind="stable").tolist():
        most[pairs[place, 0]] = place
    return np.asarray(most[strata] != which.ravel())


def has_missing(linked: LinkedData, masked: Mapping[str, Sequence[str]]) -> bool:
    """Whether any cell of the masked variables is missing."""
    return any(linked[level].data[name].missing.any() for level, names in masked.items() for name in names)


def _of(found: JoinedGroups, chosen: NDArray[np.bool_]) -> list[JoinedGroups]:
    """Those groups, if there are any."""
    return [replace(found, groups=found.groups[chosen], members=found.members[chosen])] if chosen.any() else []


def _gaps(linked: LinkedData, level: str, names: Sequence[str]) -> NDArray[np.int64]:
    """Missing code of each cell, 0 where there is a value; shape (n, p)."""
    data = linked[level].data
    found = [missing_codes(data[name]) for name in names]
    return np.stack(found, axis=1) if found else np.zeros((len(data), 0), dtype=np.int64)
