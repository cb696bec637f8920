"""The plan of a run on several levels, from the plans of its levels and what is planned across them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.release.record.plan_record import PlannedEdit, PlanRecord, StepRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.levels.across import AcrossLevels


def plan_of_levels(
    plans: Mapping[str, PlanRecord],
    numbers: Mapping[str, Sequence[int]],
    bound: BoundEdits,
    across: AcrossLevels,
    records: int,
) -> PlanRecord:
    """One plan of all levels.

    Parameters
    ----------
    plans : mapping of level name to PlanRecord
        Of all levels, the top first.
    numbers : mapping of level name to sequence of int
        Of the steps of each level in the pipeline.
    bound : BoundEdits
    across : AcrossLevels
    records : int
        Of the lowest level.
    """
    steps: dict[int, StepRecord] = {}
    for name, plan in plans.items():
        for step in plan.steps:
            number = numbers[name][step.step - 1]
            before = steps.get(number)
            groups = step.groups if before is None else (*before.groups, *step.groups)
            steps[number] = step.model_copy(update={"step": number, "groups": groups})
    every = list(plans.values())
    hidden = {each.variable for each in across.derived}
    hidden |= {column.name for columns in bound.columns.values() for column in columns}
    return every[0].model_copy(
        update={
            "records": records,
            "steps": tuple(steps[number] for number in sorted(steps)),
            "edits": tuple(_edits(every, bound, across)),
            "adjustment": tuple(unit for plan in every for unit in plan.adjustment),
            "grid": {name: places for plan in every for name, places in plan.grid.items()},
            "untouched": tuple(name for plan in every for name in plan.untouched if name not in hidden),
            "may_lose_cells": tuple(name for plan in every for name in plan.may_lose_cells),
            "dropped": tuple(dict.fromkeys(name for plan in every for name in plan.dropped)),
            "warnings": tuple(dict.fromkeys(text for plan in every for text in plan.warnings)),
        }
    )


def _edits(plans: Sequence[PlanRecord], bound: BoundEdits, across: AcrossLevels) -> Iterator[PlannedEdit]:
    """Every edit that is stated, by level; what is asked of members is told with the edit that asks it."""
    inside = {edit.name: edit for plan in plans for edit in plan.edits}
    keepers = {each.edit: each for each in across.keepers}
    for edits in bound.edits.values():
        for edit in edits:
            keeper = keepers.get(edit.name)
            if keeper is None and edit.name in inside:
                yield inside[edit.name]
            else:
                kept_by = "construction" if keeper is None else keeper.kept_by
                how = "nothing that it reads is masked" if keeper is None else keeper.how
                yield PlannedEdit(name=edit.name, kind=edit.kind, text=edit.text, kept_by=kept_by, how=how)
