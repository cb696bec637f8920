"""``unit: household``: groups masked as one record each, composition by composition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.running.preparation import prepare
from maskwright.edits.edit_set import EditSet
from maskwright.edits.levels.joint_rules import (
    JoinedGroups,
    LevelColumns,
    cells_of,
    joined_groups,
    joint_rules,
    put_back,
)
from maskwright.edits.levels.joint_writing import JointWriter
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Quiet
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjustment_loss import Cost, cost_of_joined, cost_of_level
from maskwright.masking.context import Execution
from maskwright.masking.distortion_doubts import DistortionDoubts, EditEffects, distortion_beyond_errors
from maskwright.masking.levels.distortion import distortion_of_composition, variables_of_cells
from maskwright.masking.mask import mask
from maskwright.masking.masked_value_checks import guarantee_doubts
from maskwright.masking.masking_result import MaskingResult, Removal
from maskwright.masking.promised_classes import smallest_classes
from maskwright.masking.spikes import lost_spikes, spike_doubts, spike_notices
from maskwright.pipeline.file_model import ReleaseSection
from maskwright.pipeline.resolved import DataInMemory, MaskingRequest
from maskwright.planning.keepers import LEAST_CERTAIN
from maskwright.planning.levels.bound_edits import outcomes
from maskwright.planning.levels.cross_level_edits import AcrossLevels
from maskwright.planning.model import Keeper, with_steps
from maskwright.planning.strata import missing_codes
from maskwright.planning.warnings.missing_cells import rare_missing_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.joint_rules import JointRules
    from maskwright.edits.levels.joint_writing import JointEdits
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.adjusting.distortion import Distortion
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.model import Group, KeptBy, Step


@dataclass(frozen=True, eq=False)
class GroupMasking:
    """Groups that are masked with all their members as one record.

    `parts`: one for each composition; its data are joined records.
    """

    rules: JointRules
    parts: tuple[tuple[JoinedGroups, JointEdits, ReadyRun], ...]
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class MaskedGroups:
    """What masking whole groups made.

    `adjusted`: records of its level that were moved because of each edit: of members, those of a group by themselves.
    `infeasible`: those for which no values were found that satisfy it. `costs`: the groups of each composition, and
    what their joined records lost. `distortion`: of each level; `distortion_of_obeying`: of groups whose original obeys
    the edits that few violate. `effects`: of the edits, which are `edits`.
    """

    linked: LinkedData
    adjusted: Mapping[str, int]
    infeasible: Mapping[str, int]
    costs: tuple[tuple[NDArray[np.int64], Cost], ...] = ()
    distortion: Mapping[str, Distortion] = field(default_factory=dict)
    distortion_of_obeying: Mapping[str, Distortion] = field(default_factory=dict)
    effects: EditEffects | None = None
    edits: EditSet = field(default_factory=EditSet)


def plan_group_masking(
    described: Pipeline, loaded: LoadedLevels, masked: Mapping[str, Sequence[str]], clock: Clock
) -> tuple[LoadedLevels, GroupMasking]:
    """Plan the masking of whole groups, composition by composition."""
    top, low = loaded.linked.names
    rules = joint_rules(loaded.bound, (top, low), masked)
    first = next((name for step in described.steps for name in step.variables or masked[low] if name in masked[low]
                  and loaded.linked[low].data[name].variable.is_numeric), None)  # fmt: skip
    k = max((step.k or 1 for step in described.steps), default=1)
    writer = JointWriter(rules)
    numeric = {each.name for level in loaded.linked for each in level.data.variables if each.is_numeric}

    def part(each: JoinedGroups) -> tuple[JoinedGroups, JointEdits, ReadyRun]:
        written = writer.edits(each.composition)
        cells = {
            name: cells_of(name, None if level == top else len(each.composition))
            for level in (top, low) for name in masked[level]
        }  # fmt: skip
        names = {name: tuple(cell.name for cell in own) for name, own in cells.items()}
        data = columns.joined(each, (*(cell for own in cells.values() for cell in own), *written.cells))
        request = MaskingRequest(
            data=DataInMemory(data), edits=EditSet(written.edits), on_input_violation="mask",
            steps=tuple(_joined_steps(described.steps, names, masked, numeric)), seed=described.seed,
            execution=described.execution, waivers=described.waivers, release=ReleaseSection(order="kept"),
            file=described.file,
        )  # fmt: skip
        return each, written, prepare(request, Quiet(), clock)

    columns = LevelColumns.of(loaded.linked, loaded.bound, rules)
    found = joined_groups(columns, first)
    notes: list[JoinedGroups] = []
    strict = all(step.planning.k_guarantee == "require" for step in described.steps if step.k is not None)
    zeros = {name for step in described.steps if step.k is not None for name in step.planning.structural_zeros}
    with_missing = has_missing(loaded.linked, masked)
    if strict and (zeros or with_missing):
        found, notes = rare_by_pattern(loaded.linked, found, masked, k, zeros)
    if strict and with_missing:
        notes += rare_by_strata([each for each in found if len(each) >= k], lambda each: part(each)[2], k)
    rare = [*(each for each in found if len(each) < k), *notes]
    left_out = sum(map(len, rare))
    if rare:
        patterns = [*(["missing"] * with_missing), *(["0"] * bool(zeros))] if notes else []
        loaded = _without_rare(described, loaded, rare, k, patterns)
        columns = LevelColumns.of(loaded.linked, loaded.bound, rules)
        found = joined_groups(columns, first)
    return loaded, GroupMasking(rules, tuple(map(part, found)), left_out)


def _joined_steps(
    steps: Sequence[Step],
    names: Mapping[str, tuple[str, ...]],
    masked: Mapping[str, Sequence[str]],
    numeric: Collection[str],
) -> Iterator[Step]:
    """Steps on joined records; zeros keep apart who has something and who has nothing."""
    every = [name for own in masked.values() for name in own]
    for step in steps:
        taken = [name for name in every if step.variables is None or name in step.variables]
        own = tuple(cell for name in taken for cell in names[name])
        if not own:
            continue
        zeros = tuple(cell for name in step.planning.structural_zeros for cell in names.get(name, ()))
        # Without `structural_zeros` no zero is promised.
        apart = () if zeros else tuple(cell for name in taken if name in numeric for cell in names[name])
        weights = {
            cell: weight for name, weight in step.planning.adjustment_weights.items() for cell in names.get(name, ())
        }
        planning = step.planning.model_copy(update={"structural_zeros": zeros, "adjustment_weights": weights})
        yield replace(step, variables=own, groups=(own,), planning=planning, unit=None, zeros_apart=apart)


def rare_by_pattern(
    linked: LinkedData, found: Sequence[JoinedGroups], masked: Mapping[str, Sequence[str]], k: int,
    zeros: Collection[str],
) -> tuple[list[JoinedGroups], list[JoinedGroups]]:  # fmt: skip
    """Set apart groups that have cells missing, or structural zeros, as fewer than k of their composition have.

    Missing cells stay missing, and each missing code is published; zeros stay zeros: whatever is done to the values,
    such groups are alike with fewer than k.
    """
    top, low = linked.names
    gaps = {level: _gaps(linked, level, masked[level], zeros) for level in (top, low)}
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
    """Groups that the strata of their plan tell apart cross_level: those of another stratum publish other values."""
    waiting, apart = list(found), []
    while waiting:
        each = waiting.pop()
        ready = planned(each)
        is_rare = np.zeros(len(each), dtype=np.bool_)
        for group in ready.plan.groups:
            if ready.plan.steps[group.step - 1].k is not None:
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


def _gaps(linked: LinkedData, level: str, names: Sequence[str], zeros: Collection[str]) -> NDArray[np.int64]:
    """Missing code of each cell, 0 where there is a value, -1 where it is a structural zero; shape (n, p)."""
    data = linked[level].data
    found = [missing_codes(data[name]) for name in names]
    for name, codes in zip(names, found, strict=True):
        if name in zeros:
            codes[(codes == 0) & (data[name].values == 0)] = -1
    return np.stack(found, axis=1) if found else np.zeros((len(data), 0), dtype=np.int64)


def _without_rare(
    described: Pipeline, loaded: LoadedLevels, rare: Sequence[JoinedGroups], k: int, patterns: Sequence[str]
) -> LoadedLevels:
    top, low = loaded.linked.levels
    lost = sum(map(len, rare))
    cells = " or ".join(patterns)
    if any(step.planning.rare == "fail" for step in described.steps if step.k is not None):
        what = f"what edits ask of them, and which cells are {cells}" if cells else "and what edits ask of them"
        message = (
            f"{lost} {top.name} records have a composition (number of {low.name}, {what}) that "
            f"fewer than k = {k} have: whole {top.name} records cannot be alike"
        )
        hint = "`params: {rare: drop}` leaves them out"
        if "0" in patterns:
            hint += "; with fewer 'structural_zeros' fewer are lost"
        if "missing" in patterns:
            hint += "; impute missing cells before, or set 'k_guarantee: report', and fewer are lost"
        raise InputError(Problem(message, described.steps[0].place, hint))
    kept = np.ones(len(top), dtype=np.bool_)
    for each in rare:
        kept[each.groups] = False
    if not kept.any():
        raise InputError(f"every composition has fewer than k = {k} {top.name} records: none would be left")
    linked = loaded.linked.taken(np.flatnonzero(kept).astype(np.int64))
    members = len(low) - len(linked[low.name])
    what = f"composition and the same cells {cells}" if cells else "composition"
    text = f"left out, since fewer than k = {k} {top.name} have their {what}: {lost} {top.name}, {members} "
    return replace(
        loaded,
        linked=linked,
        standing=outcomes(linked, loaded.bound),
        notices=(*loaded.notices, Notice("rare-groups-left-out", "", text + low.name, lost, level=top.name)),
    )


def across_of_groups(loaded: LoadedLevels, whole: GroupMasking) -> AcrossLevels:
    """Who keeps each edit where whole groups are masked."""
    touched = {edit.name for edit, _ in whole.rules.edits}
    kept: dict[str, KeptBy] = {}
    for _, written, ready in whole.parts:
        for keeper in ready.plan.keepers:
            stated = written.stated.get(keeper.edit)
            if stated is not None:
                found = (kept.get(stated, "construction"), keeper.kept_by)
                kept[stated] = min(found, key=LEAST_CERTAIN.index)
        kept |= dict.fromkeys(written.open, "checked")
    keepers, structure = [], []
    top = loaded.linked.levels[0].name
    for edits in loaded.bound.edits.values():
        for edit in edits:
            if edit.name in touched:
                how = f"a {top} is masked with all its members, and what it reads of them is adjusted where it must be"
                keepers.append(Keeper(edit.name, kept.get(edit.name, "construction"), how))
            else:
                structure.append(edit.name)
                keepers.append(Keeper(edit.name, "construction", "no step masks a variable that it reads"))
    inside = {name: EditSet() for name in loaded.linked.names}
    return AcrossLevels(inside, structure=tuple(structure), changed=whole.rules.changed, keepers=tuple(keepers))


def mask_grouped(
    described: Pipeline, loaded: LoadedLevels, whole: GroupMasking, seed: int, reporter: Reporter
) -> MaskedGroups:
    """Mask the groups of each composition."""
    execution = Execution.of(described.execution)
    parts: list[tuple[JoinedGroups, Mapping[str, Column]]] = []
    adjusted: dict[str, int] = {}
    infeasible: dict[str, int] = {}
    costs = []
    total_cost = Cost()
    distortion: dict[str, Distortion] = {}
    of_obeying: dict[str, Distortion] = {}
    with_progress = reporter.stage("Masking whole groups")
    for number, (found, written, ready) in enumerate(whole.parts):
        own = int(generator(seed, "levels", "whole groups", number).integers(2**31))
        result = mask(ready.original, ready.edits, ready.plan, own, execution, Quiet(), is_part=True)
        parts.append((found, {column.name: column for column in result.masked}))
        costs.append((found.groups, result.cost))
        cells = variables_of_cells(loaded.linked, whole.rules, found, result.cost.moves.keys())
        variables = {cell: variable for _, own_cells in cells for cell, variable in own_cells.items()}
        total_cost += cost_of_joined(result.cost.moves, variables, written.stated)
        assert result.distortion is not None
        for total, measured in (
            (distortion, result.distortion), (of_obeying, result.distortion_of_obeying or result.distortion)
        ):  # fmt: skip
            for level, moved in distortion_of_composition(loaded.linked, whole.rules, found, ready, measured):
                total[level] = moved if level not in total else total[level] + moved
        for counts, reported in ((result.adjusted, adjusted), (result.infeasible, infeasible)):
            for name, count in counts.items():
                stated = written.stated.get(name)
                if stated is not None and count:
                    reported[stated] = reported.get(stated, 0) + count
        with_progress((number + 1) / len(whole.parts))
    names = tuple({name: None for own in distortion.values() for name in own.adjusted.names})
    effects = EditEffects(names, total_cost.moves)
    edits = EditSet(tuple({edit.name: edit for edit, _ in whole.rules.edits}.values()))
    return MaskedGroups(
        put_back(loaded.linked, whole.rules, parts),
        adjusted,
        infeasible,
        tuple(costs),
        distortion,
        of_obeying,
        effects,
        edits,
    )


def results_of_levels(whole: MaskedGroups, ready: Mapping[str, ReadyRun]) -> dict[str, MaskingResult]:
    """What was made of each level, as if it had been masked by itself."""
    results = {}
    linked = whole.linked
    for name, each in ready.items():
        distorted = DistortionDoubts()
        if name in whole.distortion and whole.effects is not None:
            distorted = distortion_beyond_errors(
                whole.distortion[name], partial(whole.distortion_of_obeying.get, name), [whole.effects],
                each.plan.variables, each.plan, whole.edits,
            )  # fmt: skip
        changed = {column.name: column for column in linked[name].data if column.name in each.original}
        data = each.original.with_columns(changed)
        names = [one for one in each.plan.masked if one in changed]
        # Of the whole groups with one composition too few have the same zeros for any step to keep them: no doubt.
        lost = tuple(replace(one, stands_out=False) for one in lost_spikes(each.original, data, names))
        results[name] = MaskingResult(
            masked=data,
            adjusted={},
            infeasible={},
            adjustment=(),
            moved=(),
            k=smallest_classes(data, each.plan),
            cost=cost_of_level(
                each.original,
                data,
                [name for name in each.plan.masked if data[name].variable.is_numeric],
                linked[name].groups,
                whole.costs,
            ),
            notes=tuple(
                {"step": step.number, "variables": list(group.variables)}
                for group, step in with_steps(each.plan.groups, each.plan.steps)
            ),
            notices=(*spike_notices(lost, each.plan), *distorted.notices),
            doubts=(
                *guarantee_doubts(each.plan, each.original, data, {}),
                *spike_doubts(lost, each.plan),
                *distorted.doubts,
            ),
            distortion=whole.distortion.get(name),
            doing_most=distorted.doing_most,
            removal=Removal(data, (), np.arange(len(data)), EditSet(), data),
        )
    return results
