"""The stages in which parts are finished, and what is counted over all of them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.classes import DISTINCT_AT_ONCE, count_classes
from maskwright.commands.parted.finishing import FOUND, Finish, finish
from maskwright.commands.parted.measuring import of_both_files
from maskwright.commands.parted.planning import merged_outcome
from maskwright.commands.parted.results import Told, class_sets, masking_result, unchanged_of_parts
from maskwright.commands.parted.task_run import AGAIN, FINISHED, PartedRun
from maskwright.commands.parted.whole_variables import empty
from maskwright.data.dataset import Column, Dataset
from maskwright.masking.adjusting.donors import Donors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.parted.finishing import FinishedPart
    from maskwright.commands.parted.overlay import MaskedGroup
    from maskwright.commands.parted.planning import Arrived
    from maskwright.commands.parted.protecting import Masking
    from maskwright.commands.parted.sheet import Stored
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.domain import Combinations as CombinationsOfValues


def finish_parts(
    run: PartedRun, told: Stored, found: Arrived, masking: Masking, groups: tuple[MaskedGroup, ...]
) -> tuple[Any, Any, Any]:
    """Finish every part, and count what they have in common."""
    plan = masking.plan
    record_units = tuple(
        number for number, unit in enumerate(plan.units) if unit.group is None or not _is_homed(masking, unit.group)
    )
    masked = empty(found.variables).without(plan.dropped)
    sets, least, together = class_sets(plan, masked, found.records)
    tasks = max(1, -(-found.records // DISTINCT_AT_ONCE))
    task = Finish(
        masking,
        groups,
        record_units,
        tuple(sets),
        tasks,
        _domain_rows(found),
        tuple(of_both_files(run.pipeline.measures)),
    )
    receipts = run.run(
        FINISHED, "Writing, reading back and validating", finish, run.part_keys, told, run.store(FINISHED, task)
    )
    if any(unit["infeasible"] for receipt in receipts for unit in receipt.facts.get("units", ())):
        # Rows for which nothing was found take the place of feasible ones of the whole file.
        donors = _donors(run, record_units)
        about = run.store(AGAIN, replace(task, donors=donors))
        run.finished = AGAIN
        receipts = run.run(AGAIN, "Writing, reading back and validating again", finish, run.part_keys, told, about)
    folders = run.folders(run.finished)
    keys = [f"{which}-{share}" for which in range(len(sets)) for share in range(tasks)]
    counted = run.run("classes", "Counting equal records", count_classes, keys, folders, tuple(least), tasks)
    counts = [
        _count([each.facts for each in counted[at * tasks : (at + 1) * tasks]], found.records)
        for at in range(len(sets))
    ]
    finished: list[FinishedPart] = run.read(run.finished, FOUND)
    shares = [(first, each.outcome) for first, each in zip(_firsts(run, folders), finished, strict=True)]
    facts = [receipt.facts for receipt, folder in zip(receipts, folders, strict=True) if folder]
    of_groups = [
        [receipt.facts for receipt in run.done.get(f"mask-{at}", run.done.get(f"local-{at}", []))]
        for at in range(len(plan.groups))
    ]
    result = masking_result(Told(of_groups, facts, finished, together(counts), found.records), plan, masking.edits)
    return result, merged_outcome(shares), unchanged_of_parts(finished)


def _firsts(run: PartedRun, folders: Sequence[str]) -> list[int]:
    return [first for first, folder in zip(run.parts.offsets, folders, strict=False) if folder]


def _donors(run: PartedRun, units: Sequence[int]) -> dict[int, Donors]:
    """Feasible rows of the whole file, for each unit that acts on records."""
    finished: list[FinishedPart] = run.read(FINISHED, FOUND)
    return {number: Donors.merged([each.donors[number] for each in finished]) for number in units}


def _domain_rows(found: Arrived) -> Dataset | None:
    """Records that hold each combination that domain edits ask for: of one tuple of variables after the other."""
    names_of = found.domain.tuples
    if not names_of:
        return None
    pieces = [found.domain.combinations(names) for names in names_of]
    n = sum(map(len, pieces))
    columns = []
    for name, whole in found.variables.items():
        numeric = whole.variable.is_numeric
        values = np.full(n, np.nan) if numeric else np.full(n, -1, dtype=np.int32)
        start = 0
        for names, each in zip(names_of, pieces, strict=True):
            if name in names:
                at = names.index(name)
                values[start : start + len(each)] = each.numbers[:, at] if numeric else _codes(whole.variable, each, at)
            start += len(each)
        columns.append(Column(whole.variable, values, np.isnan(values) if numeric else values == -1))
    return Dataset(tuple(columns))


def _codes(variable: Variable, found: CombinationsOfValues, at: int) -> NDArray[np.int32]:
    """Category of each combination: categories that are numbers are compared as such."""
    as_text = {text: code for code, text in enumerate(variable.categories)}
    as_number: dict[float, int] = {}
    for text, code in as_text.items():
        with contextlib.suppress(ValueError):
            as_number[float(text)] = code
    texts, numbers = found.texts[at].to_pylist(), found.numbers[:, at].tolist()
    return np.array(
        [
            as_number.get(number, -1) if text is None else as_text[text]
            for text, number in zip(texts, numbers, strict=True)
        ],
        dtype=np.int32,
    )


def _is_homed(masking: Masking, group: int) -> bool:
    """Whether the clusters of a group were adjusted where they were made."""
    step = masking.plan.steps[masking.plan.groups[group].step - 1]
    return step.method.cut != "any"


def _count(facts: Iterable[Mapping[str, Any]], records: int) -> dict[str, int]:
    smallest, below = records, 0
    for each in facts:
        below += each["below"]
        smallest = smallest if each["smallest"] is None else min(smallest, each["smallest"])
    return {"smallest": smallest, "below": below}
