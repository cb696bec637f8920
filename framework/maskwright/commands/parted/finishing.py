"""The end of one part: put together, rounded, written, validated and measured; and all parts added up."""

from __future__ import annotations

import contextlib
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.measuring import partial_measures
from maskwright.commands.parted.part_output import (
    arranged,
    in_order_of_part,
    write_part,
    written_files,
    written_part,
)
from maskwright.commands.parted.partial_statistics import (
    DRIFT,
    OBEYING,
    spill_classes,
)
from maskwright.commands.parted.planning import merged_outcome
from maskwright.commands.parted.shuffling import MaskedGroup, private_file, with_masked
from maskwright.commands.parted.task_settings import PartAtWork, Stored, empty, in_file_terms, of_each_part
from maskwright.commands.running.release_files import check_round_trip
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.progress import silent
from maskwright.masking.adjusting.distortion import Moments
from maskwright.masking.adjusting.moved_through_edits import moved_through_edits
from maskwright.masking.adjusting.row_outcomes import Donors
from maskwright.masking.adjustment_totals import category_facts, moved_facts, unit_facts
from maskwright.masking.category_adjustment import (
    adjust_categories,
    category_codes,
    occurring_categories,
    with_categories,
)
from maskwright.masking.masked_value_checks import beside_multiples, moved_zeros, value_as_code_doubts, zero_counts
from maskwright.masking.spikes import SpikeCounts
from maskwright.masking.unit_adjustment import adjust_unit, with_adjusted_values
from maskwright.planning.applicable_edits import without_violations
from maskwright.release.codebook import HeldTexts
from maskwright.release.file_validation import check_file
from maskwright.release.output_format import formula_cells
from maskwright.release.protection_checks import unchanged_cells
from maskwright.release.reference_validation import has_reference_reader, validate_by_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.commands.parted.protecting import Masking
    from maskwright.commands.parted.task_settings import TaskSettings, WholeVariable
    from maskwright.data.dataset import Dataset
    from maskwright.data.parts.model import Part
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.arrays import Integers
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.masked_value_checks import Extent
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.release.protection_checks import UnchangedCells


SVRL = "svrl"
"""Share of the report on violations."""

FOUND = "finished"
"""File with what was found of a finished part."""


@dataclass(frozen=True, eq=False)
class Finish:
    """What finishing a part takes.

    `groups`: in the order of the plan. `record_units`: adjustment units that act on records, by position in the plan.
    `class_sets`: variables whose classes are counted. `class_tasks`: tasks that count the classes of one set.
    `domain_rows`: records that hold the combinations that domain edits ask for. `published`: variables as they are
    published. `occurring`: for each unit of categories the combinations that occur in the whole file; shape (m, v).
    `donors`: of units that act on records, by position; empty while they are not known. `changed`: columns that are
    masked in some part: in others, too, they are not written in the form of the original. `extents`: how far masked
    numbers go in the whole original. `mended`: edits that some records of the original violate by error. `frequent`:
    values that many records of a sample have.
    """

    masking: Masking
    groups: tuple[MaskedGroup, ...]
    record_units: tuple[int, ...]
    class_sets: tuple[tuple[str, ...], ...]
    class_tasks: int
    domain_rows: Dataset | None
    measures: tuple[MeasureRequest, ...] = ()
    published: Mapping[str, WholeVariable] = field(default_factory=dict)
    occurring: tuple[NDArray[np.int64], ...] = ()
    donors: Mapping[int, Donors] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    extents: Mapping[str, Extent] = field(default_factory=dict)
    mended: frozenset[str] = frozenset()
    frequent: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FinishedPart:
    """What was found of a part that is finished.

    `outcome`: of the file as it was read back. `alone`: edits without a second opinion. `unchanged`: of each variable,
    with up to `FEW` of its values; shape (v,). `masked`: variables of the published file, without records. `donors`: of
    units that act on records, by position in the plan. `texts`: of the published variables, as they were read back.
    """

    outcome: Outcome
    alone: tuple[str, ...]
    unchanged: tuple[tuple[UnchangedCells, NDArray[np.float64]], ...]
    doubts: tuple[Doubt, ...]
    masked: Dataset
    donors: Mapping[int, Donors]
    texts: Mapping[str, HeldTexts]


FEW = 30
"""Values of a variable that are kept to count the different ones; of more the number does not matter."""


def finish(settings: Stored, about: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Finish one part; a task."""
    sheet: TaskSettings = settings.read()
    task: Finish = about.read()
    part, first = sheet.part_of(key)
    if not part.records:
        return {"records": 0, "written": _write_empty(sheet, task, part, folder)}
    original = sheet.read(part)
    masked, facts, donors = _masked(original, task, int(key), first)
    doubts = tuple(value_as_code_doubts(masked))
    published = arranged(masked, original, sheet.pipeline, first)
    held = write_part(published, original, sheet.pipeline, folder, task.changed)
    formed = [name for name in task.masking.plan.masked if name in original and original[name].written is not None]
    file = written_part(folder, sheet.pipeline, published.variables)
    released = in_order_of_part(check_round_trip(file, published, held, silent), folder)
    outcome, alone = validated(folder, sheet, task, published, reported=sheet.pipeline.output.parts is None)
    for number, names in enumerate(task.class_sets):
        spill_classes(folder / f"k{number}", masked, names, task.class_tasks)
    found = FinishedPart(
        outcome, alone, _unchanged(original, released), doubts, _without_records(masked), donors, HeldTexts.of(released)
    )
    Stored.of(found, folder / FOUND)
    facts |= {"records": len(masked), "written": written_files(published, sheet.pipeline)}
    if sheet.pipeline.output.source.format.is_opened_in_spreadsheets:
        facts["formulas"] = formula_cells(published)
    facts |= {"formed": formed, "as_they_were": [name for name in formed if name in held]}
    released = in_file_terms(released, task.published)
    facts["measures"] = partial_measures(task.measures, original, released, task.masking.plan, task.published, {})
    return facts


def _masked(
    original: Dataset, task: Finish, position: int, first_record: int
) -> tuple[Dataset, dict[str, Any], dict[int, Donors]]:
    """The masked part, facts on it, and rows that others may be replaced by."""
    masking: Masking = task.masking
    plan, standardisation = masking.plan, masking.standardisation
    protected, masked = with_masked(original, task.groups, position)
    context = masking.context(original, "records")
    first = replace(masking.whole, first=first_record)
    # Categories come before numbers, which may depend on them; they draw as in memory, each record its own number.
    by_record = replace(context, seed=masking.seed, whole=first)
    categories = [
        adjust_categories(unit, masked, by_record, known)
        for unit, known in zip(plan.category_units, task.occurring, strict=True)
    ]
    protected, masked = (with_categories(data, categories) for data in (protected, masked))
    done = []
    for number in task.record_units:
        unit = replace(plan.units[number], group=None)
        given = task.donors.get(number, Donors.none(len(unit.variables)))
        done.append(adjust_unit(unit, [], masked, standardisation, context, given))
        masked = with_adjusted_values(masked, done[-1])
    names = [name for name in plan.masked if masked[name].variable.is_numeric]
    numeric = [name for name in names if original[name].variable.is_numeric]
    limited = {each.limit.variable for each in plan.promised}
    returned = (
        protected if plan.draws_records else moved_through_edits(original, protected, masked, plan.edits, limited)
    )
    states = (original, returned, masked)
    facts = {
        "units": [unit_facts(number, each) for number, each in zip(task.record_units, done, strict=True)],
        "moved": moved_facts(done, categories),
        "categories": [category_facts(number, each) for number, each in enumerate(categories)],
        DRIFT: [Moments.of(data, numeric, standardisation).to_json() for data in states],
        OBEYING: [Moments.of(data, numeric, standardisation).to_json() for data in _obeying(states, task)],
        "spikes": {
            name: astuple(SpikeCounts.of(original[name], masked[name], values))
            for name, values in task.frequent.items()
            if masked[name].variable.is_numeric
        },
        "range": {name: _range(masked, name) for name in names},
        "left": {
            name: extent.left_by(masked[name].values[~masked[name].missing].astype(np.float64))
            for name, extent in task.extents.items()
            if masked[name].variable.is_numeric
        },
        "beside_multiples": beside_multiples(plan, masked),
        "zeros": [zero_counts(plan, data) for data in (original, masked)],
        "zeros_moved": moved_zeros(plan, original, masked, _obeying_rows(original, task)),
        "missing": {name: int(masked[name].missing.sum()) for name in plan.masked},
    }
    donors = {number: each.adjustment.donors for number, each in zip(task.record_units, done, strict=True)}
    return replace(masked, notes=()), facts, donors


def _obeying(states: tuple[Dataset, ...], task: Finish) -> tuple[Dataset, ...]:
    """The records whose original obeys the edits that few violate; nothing where these are all of them.

    What is moved where the original violates an edit is mended, not distorted.
    """
    rows = _obeying_rows(states[0], task)
    return () if rows is None else tuple(data.taken(rows) for data in states)


def _obeying_rows(original: Dataset, task: Finish) -> Integers | None:
    """Records that obey the edits that few violate; None: all do."""
    if not task.mended:
        return None
    mended = EditSet(tuple(edit for edit in task.masking.plan.edits if edit.name in task.mended))
    return without_violations(original, mended)[1]


def _range(masked: Dataset, name: str) -> list[float] | None:
    values = masked[name].values[~masked[name].missing]
    return [float(values.min()), float(values.max())] if len(values) else None


def validated(
    folder: Path, sheet: TaskSettings, task: Finish, masked: Dataset, *, reported: bool
) -> tuple[Outcome, tuple[str, ...]]:
    """Verdicts on what a task wrote, and the edits that have no second opinion."""
    pipeline, masking = sheet.pipeline, task.masking
    source = written_part(folder, pipeline, ())
    known = {each.variable.name: each.variable for each in task.published.values()}
    with contextlib.ExitStack() as stack:
        svrl = None
        if reported and pipeline.output.svrl is not None:
            svrl = stack.enter_context(private_file(folder / SVRL))
        outcome = check_file(
            source.path, source.source, source.params, masking.edits, domain=masking.whole.domain, variables=known,
            svrl=svrl, is_share=True,
        )  # fmt: skip
    if not has_reference_reader(source.source):
        return outcome, ()
    reference = _without_records(masked) if task.domain_rows is None else task.domain_rows
    alone = validate_by_reference(source.path, source.source, masked, masking.edits, outcome, reference)
    return outcome, alone


def _unchanged(original: Dataset, released: Dataset) -> tuple[tuple[UnchangedCells, NDArray[np.float64]], ...]:
    found = []
    for each in unchanged_cells(original, released):
        column = original[each.variable.name]
        telling = ~column.missing
        if each.variable.is_numeric:
            telling &= column.values != 0
        # A copy: a view would keep all of them.
        found.append((each, np.unique(column.values[telling])[:FEW].astype(np.float64, copy=True)))
    return tuple(found)


def _without_records(data: Dataset) -> Dataset:
    return data.taken(np.zeros(0, dtype=np.int64))


def _write_empty(sheet: TaskSettings, task: Finish, part: Part, folder: Path) -> list[list[object]]:
    """Write a part without records, where files keep their names: its variables, and nothing else."""
    pipeline = sheet.pipeline
    if pipeline.output.parts is not None:
        return []
    nothing = replace(empty(task.published), layout=sheet.layout_of(part))
    published = arranged(nothing, nothing, pipeline, 0)
    write_part(published, None, pipeline, folder)
    return written_files(published, pipeline)


@dataclass(frozen=True, eq=False)
class Finished:
    """What was found of all finished parts.

    `outcome`: of the files as they were read back. `masked`: variables of the published file, without records.
    """

    outcome: Outcome
    unchanged: tuple[UnchangedCells, ...]
    doubts: Mapping[tuple[str, str], Doubt]
    masked: Dataset


def added_up(parts: Iterable[tuple[int, FinishedPart]]) -> Finished:
    """What was found of all parts."""
    outcomes: list[tuple[int, Outcome]] = []
    unchanged: list[tuple[UnchangedCells, NDArray[np.float64]]] = []
    doubts: dict[tuple[str, str], Doubt] = {}
    masked: Dataset | None = None
    for first, part in parts:
        masked = part.masked if masked is None else masked
        outcomes.append((first, part.outcome))
        for doubt in part.doubts:
            doubts.setdefault((doubt.kind, doubt.subject), doubt)
        unchanged = [
            _added(*each) for each in zip(unchanged, part.unchanged, strict=True)
        ] if unchanged else list(part.unchanged)  # fmt: skip
    assert masked is not None
    cells = tuple(replace(each, values=max(len(values), each.values)) for each, values in unchanged)
    return Finished(merged_outcome(outcomes), cells, doubts, masked)


def _added(
    one: tuple[UnchangedCells, NDArray[np.float64]], other: tuple[UnchangedCells, NDArray[np.float64]]
) -> tuple[UnchangedCells, NDArray[np.float64]]:
    cells = replace(
        one[0], cells=one[0].cells + other[0].cells, unchanged=one[0].unchanged + other[0].unchanged,
        values=max(one[0].values, other[0].values),
    )  # fmt: skip
    return cells, np.union1d(one[1], other[1])[:FEW]


OCCURRING = "occurring"
"""The stage, and the file of a task: codes of each unit, each combination once."""


@dataclass(frozen=True, eq=False)
class Occurring:
    """What looking takes.

    `groups`: in the order of the plan. `units`: variables of each unit of categories.
    """

    groups: tuple[MaskedGroup, ...]
    units: tuple[tuple[str, ...], ...]


@of_each_part
def occurring_in_part(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Combinations of one part; a task."""
    task, original = part.content, part.original
    masked, _ = with_masked(original, task.groups, part.position)
    found = [occurring_categories([category_codes(data, names) for data in (masked, original)]) for names in task.units]
    Stored.of(found, folder / OCCURRING)
    return {}
