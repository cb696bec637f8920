"""The end of one part: put together, rounded, written, read back, validated twice, and measured."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.classes import spill_classes
from maskwright.commands.parted.drifting import drift_sums
from maskwright.commands.parted.facts import moved_facts, unit_facts
from maskwright.commands.parted.measuring import partial_measures
from maskwright.commands.parted.overlay import MaskedGroup, with_masked
from maskwright.commands.parted.sheet import Stored
from maskwright.commands.parted.whole_variables import in_whole_terms
from maskwright.commands.running.read_back import read_as_meant
from maskwright.foundation.progress import silent
from maskwright.masking.adjusting.donors import Donors
from maskwright.masking.kept_promises import beside_multiples
from maskwright.masking.unit_adjustment import adjust_unit, with_adjusted_values
from maskwright.masking.values_as_codes import value_as_code_doubts
from maskwright.planning.criteria import is_zero
from maskwright.plugins.registry import find_source
from maskwright.release.check_file import check_file
from maskwright.release.data_file import write_dataset, written_file
from maskwright.release.files import writing
from maskwright.release.last_look import unchanged_cells
from maskwright.release.second_look import is_read_twice, second_look

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.commands.parted.protecting import Masking
    from maskwright.commands.parted.sheet import Sheet
    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import DataSource, MeasureRequest, Pipeline
    from maskwright.release.last_look import UnchangedCells

PUBLISHED = "published"
"""Folder of a finished part in which the file lies that will be released."""

FOUND = "finished"
"""File with what was found of a finished part."""


@dataclass(frozen=True, eq=False)
class Finish:
    """What finishing a part takes.

    Attributes
    ----------
    masking : Masking
    groups : tuple of MaskedGroup
        In the order of the plan.
    record_units : tuple of int
        Adjustment units that act on records, by position in the plan.
    class_sets : tuple of tuple of str
        Variables whose classes are counted.
    class_tasks : int
        Tasks that count the classes of one set.
    domain_rows : Dataset or None
        Records that hold the combinations that domain edits ask for.
    measures : tuple of MeasureRequest
    donors : mapping of int to Donors
        Of units that act on records, by position; empty while they are not known.
    """

    masking: Masking
    groups: tuple[MaskedGroup, ...]
    record_units: tuple[int, ...]
    class_sets: tuple[tuple[str, ...], ...]
    class_tasks: int
    domain_rows: Dataset | None
    measures: tuple[MeasureRequest, ...] = ()
    donors: Mapping[int, Donors] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FinishedPart:
    """What was found of a part that is finished.

    Attributes
    ----------
    outcome : Outcome
        Of the file as it was read back.
    alone : tuple of str
        Edits without a second opinion.
    unchanged : tuple of (UnchangedCells, set of float)
        Of each variable, with up to `FEW` of its values.
    doubts : tuple of Doubt
    masked : Dataset
        Variables of the published file, without records.
    donors : mapping of int to Donors
        Of units that act on records, by position in the plan.
    """

    outcome: Outcome
    alone: tuple[str, ...]
    unchanged: tuple[tuple[UnchangedCells, frozenset[float]], ...]
    doubts: tuple[Doubt, ...]
    masked: Dataset
    donors: Mapping[int, Donors]


FEW = 30
"""Values of a variable that are kept to count the different ones; of more the number does not matter."""


def finish(told: Stored, about: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Finish one part; a task.

    Parameters
    ----------
    told : Stored
        A `Sheet`.
    about : Stored
        A `Finish`.
    folder : Path
        Gets the masked file, ``finished`` (a `FinishedPart`), and ``kN`` of each set of classes.
    key : str
        Position of the part.
    """
    sheet: Sheet = told.read()
    task: Finish = about.read()
    part, _ = sheet.part_of(key)
    (folder / PUBLISHED).mkdir(mode=0o700)
    file = folder / PUBLISHED / Path(part.name).name
    if not part.records:
        _write_empty(sheet, file)
        return {"records": 0}
    original = sheet.read(part)
    masked, facts, donors = _masked(original, task, int(key))
    doubts = tuple(value_as_code_doubts(masked))
    pipeline = sheet.pipeline
    with writing(file):
        held = write_dataset(
            masked, file, pipeline.output.source, original, canonical=pipeline.output.numbers == "canonical"
        )
    source = _written_file(file, pipeline, masked.variables)
    released = replace(read_as_meant(source, masked, held, silent), origin=None)
    outcome, alone = _validated(file, sheet, task, masked)
    for number, names in enumerate(task.class_sets):
        spill_classes(folder / f"k{number}", masked, names, task.class_tasks)
    found = FinishedPart(outcome, alone, _unchanged(original, released), doubts, _without_records(masked), donors)
    Stored.of(found, folder / FOUND)
    facts["records"] = len(masked)
    released = in_whole_terms(released, sheet.variables)
    facts["measures"] = partial_measures(task.measures, original, released, task.masking.plan, {})
    return facts


def _masked(original: Dataset, task: Finish, position: int) -> tuple[Dataset, dict[str, Any], dict[int, Donors]]:
    """The masked part, what is to be told of it, and rows that others may be replaced by."""
    masking: Masking = task.masking
    plan, standardisation = masking.plan, masking.standardisation
    protected, masked = with_masked(original, task.groups, position)
    context = masking.context(original, "records")
    done = []
    for number in task.record_units:
        unit = replace(plan.units[number], group=None)
        given = task.donors.get(number, Donors.none(len(unit.variables)))
        done.append(adjust_unit(unit, [], masked, standardisation, context, given))
        masked = with_adjusted_values(masked, done[-1])
    names = [name for name in plan.masked if masked[name].variable.is_numeric]
    facts = {
        "units": [unit_facts(number, each) for number, each in zip(task.record_units, done, strict=True)],
        "moved": moved_facts(done),
        "drift": [drift_sums(data, names, standardisation) for data in (protected, masked)],
        "range": {name: _range(masked, name) for name in names},
        "beside_multiples": beside_multiples(plan, masked),
        "zeros": {
            name: [[int(np.sum(is_zero(data[name]))), int(np.sum(~data[name].missing))] for data in (original, masked)]
            for step in plan.steps
            for name in step.planning.structural_zeros
        },
        "zeros_moved": {
            name: int(
                np.sum(
                    (is_zero(original[name]) != is_zero(masked[name])) & ~original[name].missing & ~masked[name].missing
                )
            )
            for step in plan.steps
            for name in step.planning.structural_zeros
        },
        "missing": {name: int(masked[name].missing.sum()) for name in plan.masked},
    }
    donors = {number: each.adjustment.donors for number, each in zip(task.record_units, done, strict=True)}
    return replace(masked, notes=()), facts, donors


def _range(masked: Dataset, name: str) -> list[float] | None:
    values = masked[name].values[~masked[name].missing]
    return [float(values.min()), float(values.max())] if len(values) else None


def _validated(file: Path, sheet: Sheet, task: Finish, masked: Dataset) -> tuple[Outcome, tuple[str, ...]]:
    """Verdicts on the written file, and the edits that have no second opinion."""
    pipeline, masking = sheet.pipeline, task.masking
    source = _written_file(file, pipeline, ())
    known = {each.variable.name: each.variable for each in sheet.variables.values()}
    outcome = check_file(
        source.path, source.source, source.params, masking.edits, domain=masking.whole.domain, variables=known
    )
    if not is_read_twice(source.source):
        return outcome, ()
    reference = _without_records(masked) if task.domain_rows is None else task.domain_rows
    alone = second_look(source.path, source.source, masked, masking.edits, outcome, reference)
    return outcome, alone


def _unchanged(original: Dataset, released: Dataset) -> tuple[tuple[UnchangedCells, frozenset[float]], ...]:
    found = []
    for each in unchanged_cells(original, released):
        column = original[each.variable.name]
        telling = ~column.missing
        if each.variable.is_numeric:
            telling &= column.values != 0
        values = np.unique(column.values[telling])[:FEW].astype(np.float64)
        found.append((each, frozenset(values.tolist())))
    return tuple(found)


def _written_file(file: Path, pipeline: Pipeline, variables: Sequence[Variable]) -> DataSource:
    """One written part, as anyone would read it."""
    found = written_file(file, pipeline, variables)
    return replace(found, source=find_source(found.source.name))


def _without_records(data: Dataset) -> Dataset:
    return data.taken(np.zeros(0, dtype=np.int64))


def _write_empty(sheet: Sheet, file: Path) -> None:
    """Write a part without records: its variables, and nothing else."""
    from maskwright.commands.parted.whole_variables import empty

    with contextlib.ExitStack() as stack:
        stack.enter_context(writing(file))
        write_dataset(empty(sheet.variables), file, sheet.pipeline.output.source)
