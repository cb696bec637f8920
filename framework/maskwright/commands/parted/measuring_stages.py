"""Measures over parts, round by round."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.classes import DISTINCT_AT_ONCE
from maskwright.commands.parted.measure_facts import MeasureFacts
from maskwright.commands.parted.measuring import (
    BEFORE,
    MOST_ROUNDS,
    Round,
    count_rows,
    measure_again,
    merged_measure,
    of_both_files,
)
from maskwright.commands.parted.spilling import spilled, together
from maskwright.foundation.errors import InputError
from maskwright.plugins.merging import Further

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.commands.parted.sheet import Stored
    from maskwright.commands.parted.task_run import PartedRun
    from maskwright.commands.parted.whole_variables import WholeVariable
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measurement import Measurement


def measured(
    run: PartedRun, plan: Plan, published: Mapping[str, WholeVariable], told: Stored, facts: MeasureFacts
) -> dict[str, Measurement]:
    """What measures say of all parts, in as many rounds as they ask for; `facts` are those of the first."""
    asked: dict[str, Mapping[str, Any]] = {}
    waiting = of_both_files(run.pipeline.measures)
    found: dict[str, Measurement] = {}
    for number in range(1, MOST_ROUNDS + 1):
        further: dict[str, Further] = {}
        for request in waiting:
            said = merged_measure(request, facts.of(request.label), asked.get(request.label), plan)
            if isinstance(said, Further):
                further[request.label] = said
            else:
                found[request.label] = said
        waiting = [each for each in waiting if each.label in further]
        if not waiting:
            break
        asked, facts = _round(run, plan, published, told, number, waiting, further)
    if waiting:
        raise InputError(f"{waiting[0].label} did not end after {MOST_ROUNDS} rounds over the parts")
    return {
        each.label: replace(found[each.label], before=found.get(each.label + BEFORE)) for each in run.pipeline.measures
    }


def _round(
    run: PartedRun, plan: Plan, published: Mapping[str, WholeVariable], told: Stored, number: int,
    waiting: Sequence[MeasureRequest], further: Mapping[str, Further],
) -> tuple[dict[str, Mapping[str, Any]], MeasureFacts]:  # fmt: skip
    """What is asked now, and what the parts say; where every part is to get rows, only these."""
    asked = {label: each.asked for label, each in further.items()}
    taken = tuple(label for label, each in further.items() if each.rows_to is not None)
    tasks = max(1, -(-run.parts.records // DISTINCT_AT_ONCE))
    name = f"measure-{number}"
    finished = run.folders(run.finished)
    about = run.store(name, Round(tuple(waiting), plan, asked, finished, taken, tasks, published))
    facts = MeasureFacts(waiting, asked)
    run.run(name, "Measuring", measure_again, run.part_keys, told, about, kept=facts.taken)
    folders = run.folders(name)
    shuffled = [at for at, each in enumerate(waiting) if further[each.label].rows_to == "tasks"]
    if shuffled:
        keys = [f"{at}-{share}" for at in shuffled for share in range(tasks)]
        counted = run.run(f"count-{number}", "Measuring classes", count_rows, keys, about, folders)
        for receipt in counted:
            facts.add(waiting[int(receipt.key.split("-")[0])].label, receipt.facts["facts"])
    for at, each in enumerate(waiting):
        if further[each.label].rows_to == "parts":
            pieces = [spilled(Path(folder) / f"r{at}", 0, tasks) for folder in folders if folder]
            asked[each.label] = {**asked[each.label], "rows": together(pieces)}
    return asked, facts
