"""The stages in which records are masked: strata are counted, records shuffled, blocks masked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.feasibility import is_by_record, needs_one_place
from maskwright.commands.parted.protecting import (
    CANDIDATES,
    GATHERED,
    VARIABLES,
    BlockMasking,
    Masking,
    MaskingInOnePlace,
    PartMasking,
    PatternSearch,
    collect,
    find_candidates,
    gather_part,
    protect_block,
    protect_in_one_place,
    protect_part,
)
from maskwright.commands.parted.shuffling import MaskedGroup, Shuffle, borders_of, shuffle
from maskwright.commands.parted.strata import Combinations, StratumOf, blocks_of, conditions_of, cut_of_group, survey
from maskwright.commands.parted.task_settings import as_published
from maskwright.foundation.errors import InputError
from maskwright.masking.context import WholeFile
from maskwright.masking.mask import group_work, limits_found, with_found_limits
from maskwright.masking.protecting.assembling import merged_strata, notes_of_all
from maskwright.planning.make_plan import smallest_stratum
from maskwright.planning.small_strata import Candidates
from maskwright.planning.strata import cut
from maskwright.release.record.record_parts import GroupCutRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.commands.parted.planning import PartsPlan, ScannedFile
    from maskwright.commands.parted.strata import Conditions, WholeStrata
    from maskwright.commands.parted.task_run import PartedRun
    from maskwright.commands.parted.task_settings import Stored, WholeVariable
    from maskwright.planning.plan import Plan
    from maskwright.planning.small_strata import ZeroPatterns
    from maskwright.plugins.block import Gathered


def mask_groups(run: PartedRun, settings: Stored, found: ScannedFile, plan: PartsPlan) -> MaskedSteps:
    """Mask every group of every step."""
    conditions = conditions_of(plan.plan, plan.edits, found.variables)
    strata = _strata(run, settings, found, plan.plan, conditions, plan)
    groups = tuple(replace(group, strata=each.strata) for group, each in zip(plan.plan.groups, strata, strict=True))
    whole_plan = replace(plan.plan, groups=groups)
    present = {name: each.present for name, each in found.variables.items()}
    numeric = [name for name in plan.plan.masked if plan.plan.variables[name].is_numeric]
    whole = WholeFile(found.records, present, sum(present[name] > 0 for name in numeric), found.domain)
    edits = plan.edits + plan.plan.limits
    masking = Masking(whole_plan, edits, plan.standardisation, whole, run.seed, run.block_size)
    done = MaskedSteps(masking, (), found.variables)
    for number, step in enumerate(plan.plan.steps, 1):
        own = [at for at, group in enumerate(groups) if group.step == number]
        if is_by_record(step.method):
            masked = [_by_part(run, settings, done, at, conditions[at], strata[at].stratum_of) for at in own]
        else:
            known = done.published
            at_once = [
                at for at in own
                if needs_one_place(step.method, (known[name].variable for name in groups[at].variables))
            ]  # fmt: skip
            masked = [
                _in_one_place(run, settings, found, done, at, conditions[at], strata[at].stratum_of) for at in at_once
            ]
            own = [at for at in own if at not in at_once]
            masked += _by_block(run, settings, found, done, own, conditions, strata) if own else []
            masked.sort(key=lambda each: each.group)
        shown = as_published(done.published, (variable for group in masked for variable in group.published))
        done = MaskedSteps(done.masking.in_terms_of(shown, found.variables), (*done.groups, *masked), shown)
    masking = done.masking
    limits = limits_found(masking.plan, ((masking.plan.groups[each.group], each.limits) for each in done.groups))
    limited, edits = with_found_limits(masking.plan, masking.edits, limits)
    return replace(done, masking=replace(masking, plan=limited, edits=edits))


@dataclass(frozen=True, eq=False)
class MaskedSteps:
    """What the steps made so far.

    `masking`: with the edits as they hold of it. `groups`: in the order of the plan. `published`: variables as these
    steps publish them.
    """

    masking: Masking
    groups: tuple[MaskedGroup, ...]
    published: Mapping[str, WholeVariable]


def _strata(
    run: PartedRun,
    reported: Stored,
    found: ScannedFile,
    plan: Plan,
    conditions: Sequence[Conditions],
    parts_plan: PartsPlan,
) -> list[WholeStrata]:
    """Strata of each group over the whole file."""
    counts = [Combinations() for _ in conditions]
    known = [each.only_combination(found.variables) for each in conditions]
    requested = [at for at, codes in enumerate(known) if codes is None]
    if requested:
        chosen = tuple(conditions[at] for at in requested)
        for receipt in run.run("strata", "Counting strata", survey, run.part_keys, reported, chosen):
            for at, rows in zip(requested, receipt.facts["groups"], strict=True):
                counts[at].add(rows)
    result = []
    for at, group in enumerate(plan.groups):
        codes = known[at]
        if codes is not None:
            zeros = [["0x0"] * len(group.variables), [0] * len(group.variables)]
            counts[at].add([[codes, found.records, *zeros]])
        center, scale = (
            [each[name] for name in group.variables]
            for each in (parts_plan.standardisation.center, parts_plan.standardisation.scale)
        )
        among = partial(_candidates, run, reported, at, conditions[at], center, scale)
        step = plan.steps[group.step - 1]
        cuts = cut(found.sample, group.cut_by, conditions[at].edits)
        least = smallest_stratum(step, group.variables, group.cut_by, found.records)
        keep = step.planning.small_strata == "keep"
        result.append(counts[at].strata(cuts, center, scale, least, among, keep=keep))
    return result


def _candidates(
    run: PartedRun, reported: Stored, at: int, conditions: Conditions, center: Sequence[float], scale: Sequence[float],
    numbers: Mapping[tuple[int, ...], int], patterns: ZeroPatterns,
) -> Candidates:  # fmt: skip
    """Records of all parts that patterns of zeros of a group may move; `numbers`: of the combinations."""
    name = f"zeros-{at}"
    about = run.store(name, PatternSearch(conditions, StratumOf(numbers), patterns, tuple(center), tuple(scale)))
    run.run(name, "Finding strata for rare zeros", find_candidates, run.part_keys, reported, about)
    return Candidates.stacked([*run.read(name, CANDIDATES)])


def _by_part(
    run: PartedRun, reported: Stored, before: MaskedSteps, at: int, conditions: Conditions, stratum_of: StratumOf
) -> MaskedGroup:  # fmt: skip
    """Mask a group whose method changes each record by itself, once it knows what it asks of all of them."""
    masking = before.masking
    group = masking.plan.groups[at]
    name, number = f"local-{at}", group.step
    task = PartMasking(masking, at, conditions, stratum_of, before.groups)
    notes: dict[str, Any] = {}
    if masking.plan.steps[number - 1].method.claims.gathering is not None:
        asking = f"ask-{at}"
        about = run.store(asking, task)
        run.run(asking, f"Looking at all records, step {number}", gather_part, run.part_keys, reported, about)
        task, notes = _with_answers(task, list(run.read(asking, GATHERED)), before.published)
    about = run.store(name, task)
    run.run(name, f"Masking, step {number}, part by part", protect_part, run.part_keys, reported, about)
    published = [variables for variables, _ in run.read(name, VARIABLES)]
    if any(each != published[0] for each in published):
        raise InputError(f"step {number}: the method publishes other variables in one part than in another")
    became = tuple(each for each in published[0] if each != before.published[each.name].variable)
    return MaskedGroup(at, group.variables, run.folders(name), by_part=True, published=became, notes=notes)


def _with_answers(
    task: PartMasking, shares: Sequence[Mapping[int, Gathered]], known: Mapping[str, WholeVariable]
) -> tuple[PartMasking, dict[str, Any]]:
    """The task with what all records said, and what is to be said of that once."""
    plan = task.masking.plan
    planned = plan.groups[task.group]
    step = plan.steps[planned.step - 1]
    with step.placed(step.number, step.method.name):
        work = group_work(planned, step, task.masking.edits, plan.masked)
        gathered = merged_strata(work, shares)
        notes = notes_of_all(work, gathered, [known[name].variable for name in planned.variables])
    return replace(task, gathered=gathered), notes


def _in_one_place(
    run: PartedRun, reported: Stored, found: ScannedFile, before: MaskedSteps, at: int, conditions: Conditions,
    stratum_of: StratumOf,
) -> MaskedGroup:  # fmt: skip
    """Mask a group of all records in one task."""
    masking, known = before.masking, before.published
    group = masking.plan.groups[at]
    step = masking.plan.steps[group.step - 1]
    units = tuple(number for number, unit in enumerate(masking.plan.units) if unit.group == at)
    columns = _needed(masking, at, units, found)
    categories = {name: found.variables[name] for name in group.variables if not known[name].variable.is_numeric}
    task = MaskingInOnePlace(masking, at, conditions, stratum_of, columns, units, before.groups, known, categories)
    about = run.store(f"collect-{at}", task)
    run.run(f"collect-{at}", f"Collecting, step {group.step}", collect, run.part_keys, reported, about)
    name, title = f"mask-{at}", f"Masking, step {group.step}: {step.method.name}"
    run.run(name, title, protect_in_one_place, [str(at)], about, run.folders(f"collect-{at}"))
    ((variables, limits),) = run.read(name, VARIABLES)
    became = tuple(each for each in variables if each != known[each.name].variable)
    return MaskedGroup(at, group.variables, run.folders(name), by_part=False, published=became, limits=limits)


def _by_block(
    run: PartedRun, reported: Stored, found: ScannedFile, before: MaskedSteps, own: Sequence[int],
    conditions: Sequence[Conditions], strata: Sequence[WholeStrata],
) -> list[MaskedGroup]:  # fmt: skip
    """Shuffle the records of a step to blocks, and mask these."""
    masking = before.masking
    plan, standardisation = masking.plan, masking.standardisation
    number = plan.groups[own[0]].step
    cuts, columns, units = [], [], []
    for at in own:
        group = plan.groups[at]
        center = np.array([standardisation.center[name] for name in group.variables])
        scale = np.array([standardisation.scale[name] for name in group.variables])
        cuts.append(
            cut_of_group(at, conditions[at], strata[at], found.sample, found.hashes, center, scale, run.block_size)
        )
        units.append(tuple(n for n, unit in enumerate(plan.units) if unit.group == at))
        columns.append(_needed(masking, at, units[-1], found))
    about = run.store(f"shuffle-{number}", Shuffle(tuple(cuts), tuple(columns), before.groups))
    name = f"shuffle-{number}"
    run.run(name, f"Shuffling, step {number}", shuffle, run.part_keys, reported, about)
    shuffled = run.folders(name)
    done = []
    for at, each, names, adjusted in zip(own, cuts, columns, units, strict=True):
        group = plan.groups[at]
        step = plan.steps[group.step - 1]
        sizes = np.zeros(each.leaves, dtype=np.int64)
        for folder in shuffled:
            if folder:
                sizes += np.diff(borders_of(Path(folder) / f"g{at}"))
        least = max(step.smallest_stratum(found.records, len(group.variables)), 2 * (step.k or 1))
        blocks = blocks_of(sizes, each.stratum_of_leaf, least)
        task = BlockMasking(masking, each, names, adjusted, shuffled, tuple(blocks), before.published)
        about = run.store(f"mask-{at}", task)
        held = [int(sizes[first:last].sum()) for first, last in blocks]
        run.cuts.append(
            GroupCutRecord(
                step=group.step, variables=group.variables, tree=each.fingerprint(), blocks=len(blocks),
                smallest=min(held), largest=max(held),
            )
        )  # fmt: skip
        keys = [str(position) for position in range(len(blocks))]
        title = f"Masking, step {group.step}: {step.method.name}"
        run.run(f"mask-{at}", title, protect_block, keys, about)
        done.append(MaskedGroup(at, group.variables, run.folders(f"mask-{at}"), by_part=False))
    return done


def _needed(masking: Masking, at: int, units: Sequence[int], found: ScannedFile) -> tuple[str, ...]:
    """Variables that masking a group looks at: its own, companions, weights, and what the edits of its units read."""
    plan = masking.plan
    group = plan.groups[at]
    step = plan.steps[group.step - 1]
    read = [name for unit in units for edit in plan.units[unit].edits for name in masking.edits[edit].variables]
    tied = [name for edit in group.edits for name in plan.edits[edit].variables]
    weights = [name for name, each in found.variables.items() if each.variable.role == "weight"]
    wanted = {*group.variables, *step.companions, *read, *weights}
    wanted |= set(tied) if step.method.claims.companions_of_edits else set()
    return tuple(name for name in found.variables if name in wanted)
