"""Every step of a pipeline stands in the plan, and was run: a step that is lost on the way protects nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem, StepNotDone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.planning.model import Step
    from maskwright.release.record.plan_record import PlanRecord
    from maskwright.release.record.run_record import RunRecord

_HINT = "nothing was published; this is a mistake in Maskwright: please report it with the pipeline, without data"


def require_every_step_planned(steps: Sequence[Step], plan: PlanRecord) -> None:
    """Refuse a plan that lacks a step."""
    planned = {each.step for each in plan.steps if each.groups}
    _refuse(
        Problem(f"step {number} ({step.method.name}) is not in the plan", step.place, _HINT)
        for number, step in enumerate(steps, 1)
        if number not in planned
    )


def require_every_step_run(steps: Sequence[Step], record: RunRecord) -> None:
    """Refuse to release what a step of the plan was not run on."""
    require_every_step_planned(steps, record.plan)
    run = {(each.step, frozenset(each.variables)) for each in record.methods}
    _refuse(
        Problem(f"step {each.step} ({each.method}) was not run on {', '.join(group.variables)}", None, _HINT)
        for each in record.plan.steps
        for group in each.groups
        if set(group.variables) > set(group.computed) and (each.step, frozenset(group.variables)) not in run
    )


def _refuse(problems: Iterator[Problem]) -> None:
    found = list(problems)
    if found:
        raise StepNotDone(found)
