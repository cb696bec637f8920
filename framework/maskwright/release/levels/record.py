"""The plan and the record of a run on several levels, from those of its levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maskwright.planning.keepers import is_weaker
from maskwright.release.record.adjustment_record import LossByStep
from maskwright.release.record.record_parts import NoticeRecord, PlannedEdit, PlanRecord, StepRecord
from maskwright.release.record.run_record import (
    ClassesRecord,
    EditRecord,
    InputFile,
    LevelRecord,
    LikeClasses,
    RunRecord,
    VariableRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.levels.cross_level_edits import AcrossLevels
    from maskwright.planning.model import Keeper


@dataclass(frozen=True)
class CrossLevelPlan:
    """What the plans of the levels do not say.

    `computed`: variables that steps name and that are computed across levels instead, by the numbers of the steps in
    the pipeline. `taken`: what steps that draw whole groups take, by their numbers. `published`: variables of the files
    that are published, in their order.
    """

    computed: tuple[StepRecord, ...] = ()
    grid: Mapping[str, int | None] = field(default_factory=dict)
    taken: Mapping[int, str] = field(default_factory=dict)
    published: tuple[str, ...] = ()


def plan_of_levels(
    plans: Mapping[str, PlanRecord],
    bound: BoundEdits,
    across: AcrossLevels,
    records: int,
    cross_level: CrossLevelPlan,
) -> PlanRecord:
    """One plan of all levels."""
    steps: dict[int, StepRecord] = {}
    own = (step for plan in plans.values() for step in plan.steps)
    for step in (*own, *cross_level.computed):
        before = steps.get(step.step)
        groups = step.groups if before is None else (*before.groups, *step.groups)
        taken = {"takes": cross_level.taken[step.step]} if step.step in cross_level.taken else {}
        steps[step.step] = step.model_copy(update={"groups": groups, **taken})
    every = list(plans.values())
    hidden = {each.variable for each in across.derived}
    hidden |= {column.name for columns in bound.columns.values() for column in columns}
    altered = {
        name for step in steps.values() if step.takes is None for group in step.groups for name in group.variables
    }
    drawn = [
        name for step in steps.values() if step.takes is not None for group in step.groups for name in group.variables
        if name not in altered and name in cross_level.published
    ]  # fmt: skip
    grid = {name: places for plan in every for name, places in plan.grid.items()} | dict(cross_level.grid)
    return every[0].model_copy(
        update={
            "records": records,
            "steps": tuple(steps[number] for number in sorted(steps)),
            "edits": tuple(_planned_edits(every, bound, across)),
            "adjustment": tuple(unit for plan in every for unit in plan.adjustment),
            "grid": {name: places for name, places in grid.items() if name in altered},
            "untouched": tuple(
                name
                for name in (*dict.fromkeys(name for plan in every for name in plan.untouched), *drawn)
                if name not in hidden
            ),
            "may_lose_cells": tuple(name for plan in every for name in plan.may_lose_cells),
            "dropped": tuple(dict.fromkeys(name for plan in every for name in plan.dropped)),
            "warnings": tuple(each for name, plan in plans.items() for each in _of_level(plan.warnings, name)),
        }
    )


def _planned_edits(plans: Sequence[PlanRecord], bound: BoundEdits, across: AcrossLevels) -> Iterator[PlannedEdit]:
    """Every edit that is stated, by level; what members must obey is listed with the edit that says it."""
    inside = {edit.name: edit for plan in plans for edit in plan.edits}
    keepers = {each.edit: each for each in across.keepers}
    for edits in bound.edits.values():
        for edit in edits:
            keeper = keepers.get(edit.name)
            own = inside.get(edit.name)
            # Of a conjunction, one operand may be kept within its level and another across levels.
            if own is not None and (keeper is None or is_weaker(own.kept_by, keeper.kept_by)):
                yield own
            else:
                kept_by = "construction" if keeper is None else keeper.kept_by
                how = "nothing that it reads is masked" if keeper is None else keeper.how
                yield PlannedEdit(name=edit.name, kind=edit.kind, text=edit.text, kept_by=kept_by, how=how)


@dataclass(frozen=True, eq=False)
class LevelPart:
    """What the record of a run takes of one level.

    `record`: of the level as a file of its own; None where no step masks it. `plan`: of the level as a file of its own.
    `arrival`, `outcome`: verdicts before and after, of all edits on records of this level.
    """

    record: RunRecord | None
    plan: PlanRecord
    arrival: Outcome
    outcome: Outcome
    level: LevelRecord


def record_of_levels(
    parts: Mapping[str, LevelPart],
    bound: BoundEdits,
    across: AcrossLevels,
    alike: Sequence[LikeClasses],
    untouched: Mapping[str, Sequence[VariableRecord]],
    moved: Mapping[str, int],
    infeasible: Mapping[str, int],
    not_applicable: Mapping[str, int],
    cross_level: CrossLevelPlan,
) -> RunRecord:
    """One record of all levels."""
    known = {name: part.record for name, part in parts.items() if part.record is not None}
    lowest = list(parts)[-1]
    first = next(iter(known.values()))
    every = list(known.values())
    lower_records = parts[lowest].level.records
    return first.model_copy(
        update={
            "records": lower_records,
            "inputs": tuple(sorted({file: None for each in every for file in each.inputs}, key=_is_no_data)),
            "plugins": {key: value for each in every for key, value in each.plugins.items()},
            "variables": tuple(_variables(known, untouched)),
            "plan": plan_of_levels(
                {name: part.plan for name, part in parts.items()},
                bound,
                across,
                lower_records,
                cross_level,
            ),
            "edits": tuple(_edits(parts, known, bound, across, moved, infeasible, not_applicable)),
            "dropped_edits": _joined(each.dropped_edits for each in every),
            "suppressed": _joined(each.suppressed for each in every),
            "k": _classes(every),
            "measures": {label: found for each in every for label, found in each.measures.items()},
            "not_measured": _joined(each.not_measured for each in every),
            "adjustment": _joined(each.adjustment for each in every),
            "moved": _joined(each.moved for each in every),
            "loss_by_step": _loss_by_step(every),
            "structural_zeros": _joined(each.structural_zeros for each in every),
            "methods": _joined(each.methods for each in every),
            "notices": tuple(
                dict.fromkeys(each for name, own in known.items() for each in _of_level(own.notices, name))
            ),
            "levels": {name: part.level for name, part in parts.items()},
            "k_of_groups": tuple(alike),
        }
    )


def _is_no_data(file: InputFile) -> bool:
    return file.role != "data"


def _loss_by_step(records: Sequence[RunRecord]) -> LossByStep | None:
    """The mean over the masked numbers of all levels: what each level says is the mean over its own."""
    losses = [
        (sum(each.masked_by is not None and each.type in ("continuous", "integer") for each in record.variables), loss)
        for record in records if (loss := record.loss_by_step) is not None
    ]  # fmt: skip
    if len(losses) < len(records):
        return None
    total = max(sum(count for count, _ in losses), 1)
    return LossByStep.model_validate({
        name: sum(count * getattr(loss, name) for count, loss in losses) / total for name in LossByStep.model_fields
    })  # fmt: skip


def _of_level(notices: Iterable[NoticeRecord], level: str) -> Iterator[NoticeRecord]:
    """Notices of a level, where they do not say of which they are."""
    return (each if each.level is not None else each.model_copy(update={"level": level}) for each in notices)


def _joined(parts: Iterable[tuple[object, ...]]) -> tuple[object, ...]:
    return tuple(item for part in parts for item in part)


def _variables(
    records: Mapping[str, RunRecord], untouched: Mapping[str, Sequence[VariableRecord]]
) -> Iterator[VariableRecord]:
    for name, others in untouched.items():
        hidden = {each.name for each in others}
        own = records[name].variables if name in records else ()
        for each in (*others, *(one for one in own if one.name not in hidden)):
            yield each.model_copy(update={"level": name})


def _classes(records: Sequence[RunRecord]) -> ClassesRecord:
    """Classes of all groups; those of whole records are of the lowest level."""
    counts = [each.k for each in records]
    requested = [each.requested for each in counts if each.requested is not None]
    expected = [each.expected for each in counts if each.expected is not None]
    return counts[-1].model_copy(
        update={
            "requested": max(requested, default=None),
            "expected": max(expected, default=None),
            "groups": tuple(group for each in counts for group in each.groups),
        }
    )


def _edits(
    parts: Mapping[str, LevelPart],
    records: Mapping[str, RunRecord],
    bound: BoundEdits,
    across: AcrossLevels,
    moved: Mapping[str, int],
    infeasible: Mapping[str, int],
    not_applicable: Mapping[str, int],
) -> Iterator[EditRecord]:
    """Every edit on the records that it is about; what members must obey is listed with the edit that says it."""
    inside = {each.name: each for record in records.values() for each in record.edits}
    keepers = {each.edit: each for each in across.keepers}
    for name, part in parts.items():
        arrival = {each.name: each.violations for each in part.arrival.edits}
        for each in part.outcome.edits:
            edit, keeper = bound.edits[name][each.name], keepers.get(each.name)
            if each.name in inside:
                own = inside[each.name]
                if keeper is not None:
                    own = _with_operands_across(own, edit, keeper, moved.get(each.name, 0))
            else:
                own = _kept_across(edit, keeper, moved.get(each.name, 0), not_applicable.get(each.name, 0))
            yield own.model_copy(
                update={
                    "violations": each.violations, "unknown": each.unknown, "fired": each.fired, "level": name,
                    "violations_on_arrival": arrival.get(each.name, 0), "infeasible": infeasible.get(each.name, 0),
                }
            )  # fmt: skip


def _kept_across(edit: Edit, keeper: Keeper | None, moved: int, not_applicable: int) -> EditRecord:
    """Record of an edit that no level keeps by itself, before its records are counted."""
    kept_by = "construction" if keeper is None else keeper.kept_by
    how = "nothing that it reads is masked" if keeper is None else keeper.how
    return EditRecord(
        name=edit.name, kind=edit.kind, text=edit.text, message=edit.message, severity=edit.severity, planned=kept_by,
        kept_by=kept_by, how=how, not_applicable=not_applicable, adjusted=moved, loss=0.0, violations=0,
        violations_on_arrival=0, unknown=0, fired=0,
    )  # fmt: skip


def _with_operands_across(own: EditRecord, edit: Edit, keeper: Keeper, moved: int) -> EditRecord:
    """Record of a conjunction of which a level keeps some operands, and `keeper` those across levels."""
    reported: dict[str, object] = {"kind": edit.kind, "adjusted": own.adjusted + moved}
    if not is_weaker(own.kept_by, keeper.kept_by):
        reported |= {"planned": keeper.kept_by, "kept_by": keeper.kept_by, "how": keeper.how}
    return own.model_copy(update=reported)
