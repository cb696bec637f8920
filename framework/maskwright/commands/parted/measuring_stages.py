"""Measures over parts, round by round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.finishing import PUBLISHED
from maskwright.commands.parted.measuring import MOST_ROUNDS, Round, measure_again, merged_measure
from maskwright.foundation.errors import InputError
from maskwright.plugins.merging import Further

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.parted.sheet import Stored
    from maskwright.commands.parted.task_run import PartedRun
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measurement import Measurement


def measured(run: PartedRun, plan: Plan, told: Stored) -> dict[str, Measurement]:
    """What measures say of all parts, in as many rounds as they ask for."""
    asked: dict[str, Mapping[str, Any]] = {}
    waiting = list(run.pipeline.measures)
    facts = [receipt.facts["measures"] for receipt in run.done[run.finished] if "measures" in receipt.facts]
    found: dict[str, Measurement] = {}
    for number in range(1, MOST_ROUNDS + 1):
        further: dict[str, Mapping[str, Any]] = {}
        for request in waiting:
            own = [each[request.label] for each in facts]
            said = merged_measure(request, own, asked.get(request.label), plan)
            if isinstance(said, Further):
                further[request.label] = said.asked
            else:
                found[request.label] = said
        waiting, asked = [each for each in waiting if each.label in further], further
        if not waiting:
            break
        about = run.store(f"measure-{number}", Round(tuple(waiting), plan, asked, _published(run)))
        receipts = run.run(f"measure-{number}", "Measuring", measure_again, run.part_keys, told, about)
        facts = [receipt.facts["measures"] for receipt in receipts if "measures" in receipt.facts]
    if waiting:
        raise InputError(f"{waiting[0].label} did not end after {MOST_ROUNDS} rounds over the parts")
    return found


def _published(run: PartedRun) -> tuple[str, ...]:
    """The masked file of each part, where it was written."""
    folders = run.folders(run.finished)
    return tuple(str(next((Path(each) / PUBLISHED).iterdir())) if each else "" for each in folders)
