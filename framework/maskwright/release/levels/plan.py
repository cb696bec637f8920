"""The plan of a run on several levels, from the plans of its levels and what is planned across them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maskwright.planning.keepers import says_less
from maskwright.planning.levels.step_numbers import in_pipeline
from maskwright.release.record.plan_record import PlannedEdit, PlanRecord, StepRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.levels.across import AcrossLevels


@dataclass(frozen=True)
class PlannedBesides:
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
    numbers: Mapping[str, Sequence[int]],
    bound: BoundEdits,
    across: AcrossLevels,
    records: int,
    besides: PlannedBesides,
) -> PlanRecord:
    """One plan of all levels.

    `plans`: of all levels, the top first. `numbers`: of the steps of each level in the pipeline.
    """
    steps: dict[int, StepRecord] = {}
    own = (
        step.model_copy(update={"step": numbers[name][step.step - 1]})
        for name, plan in plans.items() for step in plan.steps
    )  # fmt: skip
    for step in (*own, *besides.computed):
        before = steps.get(step.step)
        groups = step.groups if before is None else (*before.groups, *step.groups)
        taken = {"takes": besides.taken[step.step]} if step.step in besides.taken else {}
        steps[step.step] = step.model_copy(update={"groups": groups, **taken})
    every = [_told_by_pipeline(plan, numbers[name]) for name, plan in plans.items()]
    hidden = {each.variable for each in across.derived}
    hidden |= {column.name for columns in bound.columns.values() for column in columns}
    altered = {
        name for step in steps.values() if step.takes is None for group in step.groups for name in group.variables
    }
    drawn = [
        name for step in steps.values() if step.takes is not None for group in step.groups for name in group.variables
        if name not in altered and name in besides.published
    ]  # fmt: skip
    grid = {name: places for plan in every for name, places in plan.grid.items()} | dict(besides.grid)
    return every[0].model_copy(
        update={
            "records": records,
            "steps": tuple(steps[number] for number in sorted(steps)),
            "edits": tuple(_edits(every, bound, across)),
            "adjustment": tuple(unit for plan in every for unit in plan.adjustment),
            "grid": {name: places for name, places in grid.items() if name in altered},
            "untouched": tuple(
                name
                for name in (*dict.fromkeys(name for plan in every for name in plan.untouched), *drawn)
                if name not in hidden
            ),
            "may_lose_cells": tuple(name for plan in every for name in plan.may_lose_cells),
            "dropped": tuple(dict.fromkeys(name for plan in every for name in plan.dropped)),
            "warnings": tuple(dict.fromkeys(text for plan in every for text in plan.warnings)),
        }
    )


def _told_by_pipeline(plan: PlanRecord, numbers: Sequence[int]) -> PlanRecord:
    """The plan of a level, whose sentences name steps by the numbers that they have in the pipeline."""
    edits = tuple(each.model_copy(update={"how": in_pipeline(each.how, numbers)}) for each in plan.edits)
    warnings = tuple(in_pipeline(each, numbers) for each in plan.warnings)
    return plan.model_copy(update={"edits": edits, "warnings": warnings})


def _edits(plans: Sequence[PlanRecord], bound: BoundEdits, across: AcrossLevels) -> Iterator[PlannedEdit]:
    """Every edit that is stated, by level; what is asked of members is told with the edit that asks it."""
    inside = {edit.name: edit for plan in plans for edit in plan.edits}
    keepers = {each.edit: each for each in across.keepers}
    for edits in bound.edits.values():
        for edit in edits:
            keeper = keepers.get(edit.name)
            own = inside.get(edit.name)
            # Of a conjunction, one operand may be kept within its level and another across levels.
            if own is not None and (keeper is None or says_less(own.kept_by, keeper.kept_by)):
                yield own
            else:
                kept_by = "construction" if keeper is None else keeper.kept_by
                how = "nothing that it reads is masked" if keeper is None else keeper.how
                yield PlannedEdit(name=edit.name, kind=edit.kind, text=edit.text, kept_by=kept_by, how=how)
