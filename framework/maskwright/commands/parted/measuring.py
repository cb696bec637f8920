"""Measures over parts: facts of each part, put together, and asked again where a measure needs another round."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.part_output import in_order_of_part, written_part
from maskwright.commands.parted.shuffling import arrays_of, dataset_of, gathered, spill, spilled, together
from maskwright.commands.parted.task_settings import PartAtWork, Stored, in_file_terms, of_each_part
from maskwright.commands.reading import load
from maskwright.commands.running.stages import measured_files
from maskwright.data.dependencies import FEW_VALUES, ValueCodes
from maskwright.disclosure.attacks.record_order import file_order_doubts, masked_in_rows
from maskwright.disclosure.attacks.weight import masked_categories, original_category_doubts
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Quiet
from maskwright.plugins.measure import Comparison
from maskwright.plugins.measurement import Further, PartOfFile
from maskwright.release.measures.measuring import unusable_weights, weight_variable
from maskwright.release.measures.variable_selection import (
    left_out,
    released_categories,
    released_variables,
    to_be_measured,
    unmasked_variable_notices,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.commands.parted.task_settings import WholeVariable
    from maskwright.data.dataset import Dataset
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measurement import Measurement

MOST_ROUNDS = 20

BEFORE = " of the original"
"""What the label of a measure ends with where it looks at the original alone."""


def is_merged(request: MeasureRequest) -> bool:
    """Whether a measure is put together of what it finds in each part; else it takes all records in one place."""
    merging = request.measure.merging
    return merging is not None and (merging.refused is None or merging.refused(request.params) is None)


def partial_measures(
    requests: Sequence[MeasureRequest],
    original: Dataset,
    released: Dataset,
    plan: Plan,
    known: Mapping[str, WholeVariable],
    asked: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Facts of one part, by label; `known`: variables of the whole file, as they are published."""
    comparison, found = _comparison(original, released, plan, known), {}
    for request in requests:
        merging = request.measure.merging
        assert merging is not None
        with _placed(request):
            own = _compared_files(request, comparison)
            found[request.label] = dict(merging.partial(own, request.params, asked.get(request.label)))
    return found


def whole_weights(known: Mapping[str, WholeVariable]) -> tuple[str | None, tuple[str, ...]]:
    """The variable whose values weigh the records of all parts, and why there is none although some are declared."""
    name, message = weight_variable(each.variable for each in known.values())
    if name is None:
        return None, message
    moments, gone = known[name].moments, known[name].gone.cells
    wrong = plural(gone, "record") if gone else "some records" if moments.low < 0 else ""
    message = unusable_weights(name, wrong, is_zero=not moments.high)
    return (None, message) if message else (name, ())


def _comparison(original: Dataset, released: Dataset, plan: Plan, known: Mapping[str, WholeVariable]) -> Comparison:
    weights, _ = whole_weights(known)
    names = released_variables(original, released, plan.masked, plan.recoded)
    return Comparison(
        original, released, names, plan.edits_on_values, plan=plan.to_json(),
        weights=None if weights is None else np.asarray(original[weights].values, dtype=np.float64),
        categorical=released_categories(original, released, plan.masked),
    )  # fmt: skip


def of_both_files(requests: Sequence[MeasureRequest]) -> list[MeasureRequest]:
    """Measures that are merged, and those that look at one file once more, of the original."""
    requests = [each for each in requests if is_merged(each)]
    again = [replace(each, label=each.label + BEFORE) for each in requests if each.measure.claims.of_one_file]
    return [*requests, *again]


def _compared_files(request: MeasureRequest, comparison: Comparison) -> Comparison:
    """Both files, or the original as if it were released as it is."""
    if not request.label.endswith(BEFORE):
        return comparison
    return replace(comparison, masked=replace(comparison.original, origin=None), origin=None)


@contextmanager
def _placed(request: MeasureRequest) -> Iterator[None]:
    """Mistakes name the place in the pipeline."""
    try:
        yield
    except InputError as error:
        raise InputError([replace(each, place=request.place) for each in error.problems]) from error


@dataclass(frozen=True, eq=False)
class Round:
    """A further round of measures.

    `finished`: folder of the task that finished each part; "" for one without records. `taken`: labels of measures that
    rows are taken for, in place of facts. `tasks`: that rows may go to. `published`: variables as they are published.
    `columns`: of which all records are taken into one place; None: all.
    """

    requests: tuple[MeasureRequest, ...]
    plan: Plan
    asked: Mapping[str, Mapping[str, Any]]
    finished: tuple[str, ...]
    taken: tuple[str, ...] = ()
    tasks: int = 1
    published: Mapping[str, WholeVariable] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None


def _released(part: PartAtWork) -> Dataset:
    """A part as it was written, in its order."""
    task: Round = part.content
    variables = tuple(each.variable for each in task.published.values())
    finished = Path(task.finished[part.position])
    file = written_part(finished, part.sheet.pipeline, variables)
    released = in_order_of_part(load(file, identifiers=True, may_lack="anything", again=True), finished)
    return in_file_terms(released, task.published)


CELLS, MEASURED = "cells", "measured"
"""What a part spills for measures that take all records in one place, and the file of the task that takes them."""


@of_each_part
def collect_cells(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Spill the cells of one part, as they were and as they are released; a task."""
    original, released = part.original, _released(part)
    wanted = part.content.columns
    if wanted is not None:
        original, released = (
            each.without([name for name in each.names if name not in wanted]) for each in (original, released)
        )
    columns = {f"o{name}": own for name, own in arrays_of(original, original.names, part.sheet.variables).items()}
    published = part.content.published
    columns |= {f"r{name}": own for name, own in arrays_of(released, released.names, published).items()}
    spill(folder / CELLS, columns, np.zeros(len(original), dtype=np.int64), 1)
    return {"original": list(original.names), "released": list(released.names)}


def measure_in_one_place(
    settings: Stored,
    about: Stored,
    folders: tuple[str, ...],
    names: tuple[Sequence[str], Sequence[str]],
    folder: Path,
    key: str,
) -> Mapping[str, object]:
    """Compute the measure that the key numbers, of all records, as a run in memory does; a task.

    Without any measure: the doubts that a run in memory has about all records together.
    """
    sheet, task = settings.read(), about.read()
    arrays, _ = gathered([Path(each) / CELLS for each in folders if each], 0, 1)
    original, released = (
        dataset_of({name[1:]: own for name, own in arrays.items() if name.startswith(mark)}, listed, known)
        for mark, listed, known in zip("or", names, (sheet.variables, task.published), strict=True)
    )
    found: object
    if task.requests:
        found = measured_files([task.requests[int(key)]], task.plan, original, released, sheet.seed, Quiet())
    else:
        found = tuple(doubts_of_records(task.plan, original, released))
    Stored.of(found, folder / MEASURED)
    return {"records": len(original)}


def examined_columns(plan: Plan, sample: Dataset) -> tuple[str, ...]:
    """Columns that `doubts_of_records` examines; what has many values in a sample has them in the file."""
    codes = ValueCodes(sample)
    weights = [each.name for each in sample.variables if each.role == "weight" and each.is_numeric]
    inferable = [name for name in masked_categories(plan) if codes.distinct(name) <= FEW_VALUES] if weights else []
    return tuple(dict.fromkeys([*inferable, *_ordered_categories(plan), *(weights if inferable else [])]))


def doubts_of_records(plan: Plan, original: Dataset, released: Dataset) -> Iterator[Doubt]:
    """Doubts about all records together: what their order and their weights say of masked categories."""
    yield from file_order_doubts(plan, original, _ordered_categories(plan))
    yield from original_category_doubts(plan, original, released)


def _ordered_categories(plan: Plan) -> list[str]:
    """Categories whose blocks in the file are examined; of numbers a sample says enough, and planning has said it."""
    return [name for name in masked_in_rows(plan) if not plan.variables[name].is_numeric]


@of_each_part
def measure_again(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Measure one part in a further round; a task."""
    sheet, task, original, released = part.sheet, part.content, part.original, _released(part)
    for at, request in enumerate(task.requests):
        if request.label in task.taken:
            place = PartOfFile(part.first, sheet.parts.records, task.tasks)
            with _placed(request):
                comparison = _compared_files(request, _comparison(original, released, task.plan, task.published))
                columns, readers = request.measure.merging.rows(
                    comparison, request.params, task.asked.get(request.label), place
                )
            spill(folder / f"r{at}", columns, readers, task.tasks)
    others = [each for each in task.requests if each.label not in task.taken]
    return {"measures": partial_measures(others, original, released, task.plan, task.published, task.asked)}


def count_rows(about: Stored, folders: tuple[str, ...], folder: Path, key: str) -> Mapping[str, object]:  # noqa: ARG001
    """Say what the rows of one measure are that go to one task; a task.

    `key`: position of the measure in the round, and of the task: ``2-17``.
    """
    task = about.read()
    at, share = (int(each) for each in key.split("-"))
    request = task.requests[at]
    pieces = [spilled(Path(each) / f"r{at}", share, share + 1) for each in folders if each]
    counted = request.measure.merging.counted
    return {"facts": dict(counted(together(pieces), request.params, task.asked.get(request.label)))}


def merged_measure(
    request: MeasureRequest,
    facts: Sequence[Mapping[str, Any]],
    asked: Mapping[str, Any] | None,
    plan: Plan,
    known: Mapping[str, WholeVariable],
) -> Measurement | Further:
    """What a measure says of all parts, or what it asks of them."""
    merging = request.measure.merging
    assert merging is not None
    found = merging.merged(facts, request.params, asked)
    if isinstance(found, Further):
        return found
    given = to_be_measured(plan)
    missed = left_out(request.measure, request.params, given, plan.masked)
    about = unmasked_variable_notices(given.compared, plan.masked)
    return replace(found, notes=(*found.notes, *about, *whole_weights(known)[1]), leaves_out=missed.names)
