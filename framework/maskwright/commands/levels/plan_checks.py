"""Checks of plans across levels: exact sums, rare patterns of missing cells, variables that another level discloses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import LinearPart, RangePart
from maskwright.edits.levels.structure import MembersColumn
from maskwright.edits.levels.structure_edits import sources_of_edit
from maskwright.masking.context import Standardisation
from maskwright.masking.levels.member_inference import member_disclosure_doubts
from maskwright.planning.levels.attribute_inference import level_inference_doubts
from maskwright.planning.levels.exact_sums import exact_sums
from maskwright.planning.step_variables import variables_of_steps
from maskwright.planning.strata import missing_codes
from maskwright.planning.warnings.missing_cells import rare_missing_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.joint_rules import JoinedGroups
    from maskwright.foundation.doubts import Doubt
    from maskwright.planning.model import Group, Step
    from maskwright.planning.plan import Plan


def with_exact_sums(
    steps: Sequence[Step],
    arrived: LoadedLevels,
    variables: Mapping[str, Sequence[Variable]],
    masked: Mapping[str, Collection[str]],
) -> LoadedLevels:
    """Data whose sums over members are to be exact in binary64 too, where methods average."""
    every = tuple(variable for own in variables.values() for variable in own)
    averaged: set[str] = set()
    for step, chosen in zip(steps, variables_of_steps(steps, every), strict=True):
        if step.only_removes:
            continue  # What is left stays in its steps.
        averaged = (
            averaged | set(chosen.names) if "linear" in step.method.claims.preserves else averaged - set(chosen.names)
        )
    numeric = {
        level.name: [each.name for each in level.data.variables if each.name in averaged and each.decimals]
        for level in arrived.linked
    }
    spread = {
        name: float(size) for level in arrived.linked
        for name, size in Standardisation.of(level.data, numeric[level.name]).scale.items()
    }  # fmt: skip
    found = exact_sums(arrived.bound, arrived.linked, masked, averaged, spread)
    notices = (*arrived.notices, *found.notices())
    return replace(arrived, linked=found.put_on(arrived.linked), notices=notices)


def rare_by_missing(
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


def rare_by_strata(
    found: Sequence[JoinedGroups], planned: Callable[[JoinedGroups], ReadyRun], k: int
) -> list[JoinedGroups]:
    """Groups that the strata of their plan tell apart besides: those of another stratum publish other values."""
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


def level_disclosure_doubts(linked: LinkedData, bound: BoundEdits, plans: Mapping[str, Plan]) -> Iterator[Doubt]:
    """Doubts about variables of one level that the other shows."""
    masked = {name: {each for each in plan.changed if not plan.variables[each].as_is} for name, plan in plans.items()}
    changed = {name: masked[name] & plan.replaced for name, plan in plans.items()}
    edits = [edit for own in bound.edits.values() for edit in own]
    counts = {
        each.name for each in bound.columns[linked.names[0]]
        if isinstance(each, MembersColumn) and each.function == "count"
    }  # fmt: skip
    sizes = {name for edit in edits if not counts.isdisjoint(edit.variables) for name in edit.variables}
    tied = [frozenset(sources_of_edit(bound, edit)) for edit in edits if _can_equate(edit)]
    yield from level_inference_doubts(linked, masked, tied, sizes)
    yield from member_disclosure_doubts(linked, masked, changed, tied)


def _can_equate(edit: Edit) -> bool:
    """Whether an edit says more than which of two values is larger: of such alone nothing is computed."""
    return any(
        not isinstance(part, RangePart) and (not isinstance(part, LinearPart) or part.relation == "==")
        for part in edit.parts
    )
