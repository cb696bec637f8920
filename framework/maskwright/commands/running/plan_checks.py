"""Checks of the house on what a pipeline is going to do, before anything is masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import Problem
from maskwright.foundation.refusals import PlanRefused
from maskwright.pipeline.waivers import kind_called
from maskwright.plugins.guarding.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.plan_check import PlanFinding


def heed_checks(described: Pipeline, plan: Mapping[str, Any], reporter: Reporter) -> None:
    """Tell what the checks of a pipeline warn of, and stop where one refuses.

    `plan`: as ``maskwright plan --json`` prints it.
    """
    found = list(_findings(described, plan))
    for name, each in found:
        if not each.refuses:
            reporter.notice(f"{name}: {each.message}")
    refused = [Problem(f"{name}: {each.message}", hint=each.hint) for name, each in found if each.refuses]
    if refused:
        raise PlanRefused(refused)


def plan_findings(described: Pipeline, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the checks say, as ``maskwright plan --json`` prints it."""
    return [
        {"check": name, "refuses": each.refuses, "message": each.message, "hint": each.hint}
        for name, each in _findings(described, plan)
    ]


def plan_for_checks(described: Pipeline, plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a check is given: the plan, and of the pipeline what is no part of it; nothing in it can be changed.

    `plan`: as ``maskwright plan --json`` prints it.
    """
    settings = {
        "measure": [each.label for each in described.measures],
        "thresholds": dict(described.thresholds),
        "waived": [kind.name for waiver in described.waivers if (kind := kind_called(waiver.doubt)) is not None],
        "output": list(described.output.paths),
    }
    return frozen({**plan, "pipeline": settings})


def _findings(described: Pipeline, plan: Mapping[str, Any]) -> Iterator[tuple[str, PlanFinding]]:
    if not described.checks:
        return
    shown = plan_for_checks(described, plan)
    for each in described.checks:
        for finding in each.plugin.check(shown, each.params):
            yield each.plugin.name, finding
