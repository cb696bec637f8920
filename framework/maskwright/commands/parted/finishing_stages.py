"""The stages in which parts are finished and measured, and what is counted over all of them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.feasibility import home_of
from maskwright.commands.parted.finishing import (
    FOUND,
    OCCURRING,
    Finish,
    Occurring,
    added_up,
    finish,
    occurring_in_part,
)
from maskwright.commands.parted.measuring import (
    BEFORE,
    MEASURED,
    MOST_ROUNDS,
    Round,
    collect_cells,
    count_rows,
    examined_columns,
    is_merged,
    measure_again,
    measure_in_one_place,
    merged_measure,
    of_both_files,
)
from maskwright.commands.parted.output_files import join_parts
from maskwright.commands.parted.partial_statistics import DISTINCT_AT_ONCE, DriftTotals, count_classes
from maskwright.commands.parted.planning import merged_outcome
from maskwright.commands.parted.results import TaskResults, masking_result
from maskwright.commands.parted.shuffling import spilled, together
from maskwright.commands.parted.task_run import AGAIN, FINISHED, MeasureFacts, PartedRun
from maskwright.commands.parted.task_settings import empty
from maskwright.data.dataset import Column, Dataset
from maskwright.foundation.errors import InputError
from maskwright.masking.adjusting.row_outcomes import Donors
from maskwright.masking.category_adjustment import occurring_categories
from maskwright.masking.masked_value_checks import Extent
from maskwright.masking.promised_classes import ClassSets
from maskwright.masking.spikes import SHARE, frequent_values
from maskwright.planning.warnings.wrong_edits import violated_by_errors
from maskwright.plugins.measurement import Further
from maskwright.release.output_format import formulas_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.parted.finishing import FinishedPart
    from maskwright.commands.parted.masking_stages import MaskedSteps
    from maskwright.commands.parted.planning import ScannedFile
    from maskwright.commands.parted.task_settings import Stored, WholeVariable
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.domain import Combinations as CombinationsOfValues
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.findings import Notice
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.plan import Plan
    from maskwright.plugins.engine import Receipt
    from maskwright.plugins.measurement import Measurement


def finish_parts(
    run: PartedRun, settings: Stored, found: ScannedFile, done: MaskedSteps
) -> tuple[Any, Any, Any, MeasureFacts]:
    """Finish every part, and count what they have in common; last, what measures are settings."""
    masking, groups = done.masking, done.groups
    plan = masking.plan
    record_units = tuple(number for number, unit in enumerate(plan.units) if home_of(plan, unit) is None)
    masked = empty(done.published).without(plan.dropped)
    sets = ClassSets.of(plan, masked, found.records)
    asked = sets.asked()
    tasks = max(1, -(-found.records // DISTINCT_AT_ONCE))
    task = Finish(
        masking,
        groups,
        record_units,
        tuple(names for names, _ in asked),
        tasks,
        _domain_rows(found, done.published),
        tuple(of_both_files(run.pipeline.measures)),
        done.published,
        _occurring(run, settings, done),
        extents=_extents(found, plan),
        mended=frozenset(violated_by_errors(found.outcome.edits)),
        frequent=_frequent(found, plan),
    )

    def finished_by(name: str, title: str, task: Finish) -> tuple[list[Receipt], MeasureFacts, DriftTotals]:
        facts, drift = MeasureFacts(task.measures), DriftTotals()
        about = run.store(name, task)
        receipts = run.run(
            name, title, finish, run.part_keys, settings, about, kept=lambda each: drift.taken(facts.taken(each))
        )
        return receipts, facts, drift

    title = "Writing, reading back and validating"
    receipts, first, drift = finished_by(FINISHED, title, task)
    is_infeasible = any(unit["infeasible"] for receipt in receipts for unit in receipt.facts.get("units", ()))
    changed = _changed([receipt.facts for receipt in receipts], if_any=is_infeasible)
    if is_infeasible or changed:
        # Rows for which nothing was found take the place of feasible ones of the whole file; and the form of numbers
        # must not tell in which parts nothing was changed.
        donors = _donors(run, record_units) if is_infeasible else {}
        task, run.finished = replace(task, donors=donors, changed=changed), AGAIN
        receipts, first, drift = finished_by(AGAIN, f"{title} again", task)
    folders = run.folders(run.finished)
    keys = [f"{which}-{share}" for which in range(len(asked)) for share in range(tasks)]
    least = tuple(k for _, k in asked)
    counted = run.run("classes", "Counting equal records", count_classes, keys, folders, least, tasks)
    counts = [
        _count([each.facts for each in counted[at * tasks : (at + 1) * tasks]], found.records)
        for at in range(len(asked))
    ]
    firsts = [first for first, folder in zip(run.parts.offsets, folders, strict=False) if folder]
    finished = added_up(zip(firsts, run.read(run.finished, FOUND), strict=True))
    if run.pipeline.output.parts is not None:
        finished = replace(finished, outcome=merged_outcome(join_parts(run, settings, task, finished.masked)))
    facts = [receipt.facts for receipt, folder in zip(receipts, folders, strict=True) if folder]
    of_groups = [
        [receipt.facts for receipt in run.done.get(f"mask-{at}", run.done.get(f"local-{at}", []))]
        for at in range(len(plan.groups))
    ]
    of_groups = [
        [*each, {"notes": group.notes}] if group.notes else each for each, group in zip(of_groups, groups, strict=True)
    ]
    result = masking_result(
        TaskResults(of_groups, facts, drift, finished, sets.report(counts), found.records), plan, masking.edits,
        masking.terms,
    )  # fmt: skip
    result = replace(result, notices=(*result.notices, *_formula_notices(facts, result)))
    return result, finished.outcome, finished.unchanged, first


def _extents(found: ScannedFile, plan: Plan) -> dict[str, Extent]:
    """How far masked numbers go in the whole original."""
    whole = {name: found.variables[name] for name in plan.masked}
    return {
        name: Extent.of(each.variable, each.moments.low, each.moments.high)
        for name, each in whole.items()
        if each.moments.n
    }


def _frequent(found: ScannedFile, plan: Plan) -> dict[str, tuple[float, ...]]:
    """Values of which so many records of the sample have each that it may be a spike of the file."""
    numbers = [found.sample[name] for name in plan.masked if found.sample[name].variable.is_numeric]
    return {
        each.name: tuple(frequent_values(each.values[~each.missing].astype(np.float64), SHARE / 2).tolist())
        for each in numbers
        if not each.missing.all()
    }


def _formula_notices(facts: Iterable[Mapping[str, Any]], result: MaskingResult) -> tuple[Notice, ...]:
    """Notices of texts that a spreadsheet would run, where one may open the files."""
    notes = [each["formulas"] for each in facts if "formulas" in each]
    if not notes:
        return ()
    cells = {name: sum(each.get(name, 0) for each in notes) for name in result.masked.names}
    shown = {name: count for name, count in cells.items() if count}
    return tuple(formulas_of(shown, result.masked.names, result.edits, escapes=False))


def _occurring(run: PartedRun, reported: Stored, done: MaskedSteps) -> tuple[NDArray[np.int64], ...]:
    """For each unit of categories the combinations that occur in the whole file, masked or original."""
    units = done.masking.plan.category_units
    if not units:
        return ()
    about = run.store(OCCURRING, Occurring(done.groups, tuple(unit.variables for unit in units)))
    run.run(OCCURRING, "Looking which categories occur together", occurring_in_part, run.part_keys, reported, about)
    shares = list(run.read(OCCURRING, OCCURRING))
    return tuple(occurring_categories([each[at] for each in shares]) for at in range(len(units)))


def _donors(run: PartedRun, units: Sequence[int]) -> dict[int, Donors]:
    """Feasible rows of the whole file, for each unit that acts on records."""
    finished: list[FinishedPart] = list(run.read(FINISHED, FOUND))
    return {number: Donors.merged([each.donors[number] for each in finished]) for number in units}


def _changed(facts: Iterable[Mapping[str, Any]], *, if_any: bool) -> frozenset[str]:
    """Masked columns that some parts have as they were written, and others not."""
    kept: set[str] = set()
    others: set[str] = set()
    for each in facts:
        kept.update(each.get("as_they_were", ()))
        others.update(set(each.get("formed", ())) - set(each.get("as_they_were", ())))
    return frozenset(kept if if_any else kept & others)


def _domain_rows(found: ScannedFile, published: Mapping[str, WholeVariable]) -> Dataset | None:
    """Records that hold each combination that domain edits ask for: of one tuple of variables after the other."""
    names_of = found.domain.tuples
    if not names_of:
        return None
    pieces = [found.domain.combinations(names) for names in names_of]
    n = sum(map(len, pieces))
    columns = []
    for name, whole in published.items():
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


def _count(facts: Iterable[Mapping[str, Any]], records: int) -> dict[str, int]:
    smallest, below = records, 0
    for each in facts:
        below += each["below"]
        smallest = smallest if each["smallest"] is None else min(smallest, each["smallest"])
    return {"smallest": smallest, "below": below}


def measured(
    run: PartedRun, plan: Plan, published: Mapping[str, WholeVariable], settings: Stored, facts: MeasureFacts
) -> dict[str, Measurement]:
    """What measures say of all parts, in as many rounds as they ask for; `facts` are those of the first."""
    requested: dict[str, Mapping[str, Any]] = {}
    waiting = of_both_files(run.pipeline.measures)
    found: dict[str, Measurement] = {}
    for number in range(1, MOST_ROUNDS + 1):
        further: dict[str, Further] = {}
        for request in waiting:
            stated = merged_measure(request, facts.of(request.label), requested.get(request.label), plan, published)
            if isinstance(stated, Further):
                further[request.label] = stated
            else:
                found[request.label] = stated
        waiting = [each for each in waiting if each.label in further]
        if not waiting:
            break
        requested, facts = _round(run, plan, published, settings, number, waiting, further)
    if waiting:
        raise InputError(f"{waiting[0].label} did not end after {MOST_ROUNDS} rounds over the parts")
    merged = {label: replace(each, before=found.get(label + BEFORE)) for label, each in found.items()}
    merged |= _measured_in_one_place(run, plan, published, settings)
    return {each.label: merged[each.label] for each in run.pipeline.measures}


def _measured_in_one_place(
    run: PartedRun, plan: Plan, published: Mapping[str, WholeVariable], settings: Stored
) -> dict[str, Measurement]:
    """What measures say that take all records at once."""
    requests = tuple(each for each in run.pipeline.measures if not is_merged(each))
    if not requests:
        return {}
    about = Round(requests, plan, {}, run.folders(run.finished), published=published)
    found = _in_one_place(run, about, settings, "measured", "measures")
    return {label: each for share in found for label, each in share.items()}


def doubts_in_one_place(
    run: PartedRun, plan: Plan, published: Mapping[str, WholeVariable], settings: Stored, sample: Dataset
) -> tuple[Doubt, ...]:
    """Doubts about all records together, which one task takes with the columns that are examined."""
    columns = examined_columns(plan, sample)
    if not columns:
        return ()
    about = Round((), plan, {}, run.folders(run.finished), published=published, columns=columns)
    (found,) = _in_one_place(run, about, settings, "examined", "doubts")
    return tuple(found)


def _in_one_place(run: PartedRun, task: Round, settings: Stored, name: str, what: str) -> Iterator[Any]:
    """Results of tasks that take the cells of all records, one for each measure."""
    cells = f"cells-{name}"
    about = run.store(cells, task)
    receipts = run.run(cells, f"Collecting for {what}", collect_cells, run.part_keys, settings, about)
    first = next(each.facts for each in receipts if each.facts["records"])
    names = (tuple(first["original"]), tuple(first["released"]))
    keys = [str(number) for number in range(max(1, len(task.requests)))]
    run.run(name, "Measuring", measure_in_one_place, keys, settings, about, run.folders(cells), names)
    return run.read(name, MEASURED)


def _round(
    run: PartedRun, plan: Plan, published: Mapping[str, WholeVariable], reported: Stored, number: int,
    waiting: Sequence[MeasureRequest], further: Mapping[str, Further],
) -> tuple[dict[str, Mapping[str, Any]], MeasureFacts]:  # fmt: skip
    """What is asked now, and what the parts say; where every part is to get rows, only these."""
    requested = {label: each.asked for label, each in further.items()}
    taken = tuple(label for label, each in further.items() if each.rows_to is not None)
    tasks = max(1, -(-run.parts.records // DISTINCT_AT_ONCE))
    name = f"measure-{number}"
    finished = run.folders(run.finished)
    about = run.store(name, Round(tuple(waiting), plan, requested, finished, taken, tasks, published))
    facts = MeasureFacts(waiting, requested)
    run.run(name, "Measuring", measure_again, run.part_keys, reported, about, kept=facts.taken)
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
            requested[each.label] = {**requested[each.label], "rows": together(pieces)}
    return requested, facts
