"""Verdict of every edit on every record of a file, flat or nested, read as a stream."""

from __future__ import annotations

import contextlib
import itertools
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from maskwright.data.date_columns import format_of
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.record_chunk import RecordChunk, grid_facts
from maskwright.data.stored_cells import is_text_type
from maskwright.edits.evaluation.check import Outcome, record_form
from maskwright.edits.evaluation.check_data import check, record_path
from maskwright.edits.evaluation.outcomes import (
    FIRST_RECORDS,
    MOST_LISTED,
    EditOutcome,
    Failure,
    Placed,
    Undecidable,
    count_undecidable,
)
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.type_resolution import with_dates
from maskwright.foundation.errors import EditError, InputError, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.progress import Progress, silent
from maskwright.plugins.source import batches_of, number_notation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.binary_decimals import GridFacts
    from maskwright.data.levels.linked_data import NestedDocument, NestedElements
    from maskwright.data.notations import NumberNotation
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.engines.nested_checker import Found, NestedChecker, RecordNumbers
    from maskwright.edits.evaluation.check_data import Fired
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.languages.schematron.options import SchematronOptions
    from maskwright.plugins.source import NestedReading, Reading, Source


def check_file(
    path: Path,
    source: Source,
    params: BaseModel,
    edits: EditSet,
    *,
    domain: Domain | None = None,
    variables: Mapping[str, Variable] | None = None,
    others: Variable | None = None,
    described: Callable[[Mapping[str, VariableDeclaration]], Mapping[str, Variable]] | None = None,
    svrl: IO[bytes] | None = None,
    fired: Fired = "summary",
    is_share: bool = False,
    progress: Progress = silent,
    notice: Callable[[str], None] | None = None,
) -> Outcome:
    """Verdict of every edit on every record of a file, read as a stream."""

    def checked(reading: Reading, grids: Mapping[str, int | None] | None) -> Outcome:
        with batches_of(reading) as batches:
            first = next(batches, None)
            known = variables if described is None else described(getattr(reading, "declared", {}))
            known = _with_forms(known or {}, first)
            # Undeclared variables may be dates, too: their cells tell, one by one.
            stated = with_dates(bound_to(edits, reading.layout), [*known.values()])
            every = batches if first is None else itertools.chain((first,), batches)
            chunks = _chunks(every, stated, known, others, number_notation(reading), grids, notice)
            form = record_form(reading.layout.details, stated)
            return check(
                chunks, stated, record_path(reading.layout), domain, svrl, fired=fired, form=form,
                places=lambda: getattr(reading, "places", None), is_share=is_share,
            )  # fmt: skip

    def validated(open_file: Callable[[Path, Any, Progress], Reading]) -> Outcome:
        # Nothing has been written when this fails: the report is put together at the end.
        try:
            # What a run has written is what it says: its variables are known.
            return checked(open_file(path, params, progress), None if variables is None else {})
        except _OtherDecimals as found:
            return checked(open_file(path, params, progress), found.grids)

    note_read(path)
    if source.open_once is not None:
        # Mistakes are looked at again too, because a variable may stand in later records only.
        with contextlib.suppress(InputError):
            return validated(source.open_once)
    return validated(source.open)


class _OtherDecimals(Exception):  # noqa: N818 - the file is read again
    """The numbers of all records stand for other decimals than those of the first ones."""

    def __init__(self, grids: Mapping[str, int | None]) -> None:
        super().__init__()
        self.grids = grids


def _chunks(
    batches: Iterator[Any],
    edits: EditSet,
    known: Mapping[str, Variable],
    others: Variable | None,
    notation: NumberNotation,
    grids: Mapping[str, int | None] | None,
    notice: Callable[[str], None] | None,
) -> Iterator[RecordChunk]:
    """Records in chunks, read with the decimals of the first ones, if none are given, until all have been seen."""
    if grids is not None:
        for batch in batches:
            yield RecordChunk.from_batch(batch, known, others, notation, grids)
        return
    facts: dict[str, GridFacts | None] = {}
    assumed: dict[str, int | None] = {}
    for position, batch in enumerate(batches):
        chunk = RecordChunk.from_batch(batch, known, others, notation)
        for name in _calculated_with(edits, known, batch):
            found = grid_facts(chunk[name], batch.column(name).type)
            before = facts.get(name)
            facts[name] = found if position == 0 else None if before is None or found is None else before + found
        if position == 0:
            assumed = _grids(facts, known)
        yield chunk if not assumed else RecordChunk.from_batch(batch, known, others, notation, assumed)
    settled = _grids(facts, known)
    for name, places in settled.items():
        each = facts[name]
        said = None if each is None or places is None else each.notice(name, places)
        if said is not None and notice is not None:
            notice(said)
    if settled != assumed:
        raise _OtherDecimals(settled)


def _calculated_with(edits: EditSet, known: Mapping[str, Variable], batch: Any) -> Iterator[str]:
    """Names of the columns whose numbers edits calculate with in decimals, and of which no decimals are sure."""
    own = [edit for edit in edits if edit.engine is None and edit.binding == "exact"]
    used = {name for edit in own for name in edit.variables}
    for column in batch.schema:
        variable, kind = known.get(column.name), column.type
        is_used = column.name in used or any(edit.ranged for edit in own)
        is_number = variable is None or (variable.is_numeric and not variable.is_date)
        is_stored = pa.types.is_floating(kind)
        is_sure = is_stored and variable is not None and variable.decimals is not None
        may_have_more = is_stored or is_text_type(kind) or pa.types.is_decimal(kind)
        if is_used and is_number and not is_sure and may_have_more:
            yield column.name


def _grids(facts: Mapping[str, GridFacts | None], known: Mapping[str, Variable]) -> dict[str, int | None]:
    """Decimals that columns are read with, where these are not what their cells say; None: they have no grid."""
    found: dict[str, int | None] = {}
    for name, each in facts.items():
        variable = known.get(name)
        declared = None if variable is None else variable.decimals
        if declared is None and variable is not None and variable.type == "integer":
            declared = 0
        places = None if each is None else each.places(declared)
        if each is None:
            continue
        if places is not None and (each.written is None or each.changes(places)):
            found[name] = places
        elif places is None and declared is None and each.has_no_grid:
            found[name] = None
    return found


def _with_forms(known: Mapping[str, Variable], first: Any) -> dict[str, Variable]:
    """Variables, in which datetimes of no declared form have that of their first cell."""
    found = dict(known)
    for name, variable in known.items():
        formless = variable.type == "datetime" and variable.date_format is None
        if not formless or first is None or name not in first.schema.names:
            continue
        cells = first.column(name)
        if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
            meant = VariableDeclaration(type="datetime", missing=tuple((code, "") for code in variable.empty_texts))
            found[name] = replace(variable, date_format=format_of(pa.chunked_array([cells]), meant))
    return found


NOWHERE = Placed(0, (), ())


@dataclass
class _Count:
    """Counts of one edit."""

    edit: Edit
    level: int
    most: int = MOST_LISTED
    violations: int = 0
    fired: int = 0
    kept: int = 0
    listed: list[NDArray[np.int64]] = field(default_factory=list)
    undecidable: dict[str, Undecidable] = field(default_factory=dict)

    def add(self, found: Found, records: RecordNumbers) -> None:
        """Count what an edit said of the records of a document."""
        self.level = max(self.level, found.level)
        of_records = [node for node in found.failed if node.places]
        numbers = records.of(of_records, self.level)
        self.violations += len(numbers) + len(found.failed) - len(of_records)
        self.fired += found.fired
        for node in found.failed:
            if node.undecidable:
                where = int(records.of([node], self.level)[0]) if node.places else 0
                count_undecidable(self.undecidable, node.undecidable, where)
        shown = numbers[: self.most - self.kept]
        self.kept += len(shown)
        self.listed.append(shown)

    def outcome(self, level: str) -> EditOutcome:
        """Say what was counted."""
        edit = self.edit
        listed = np.concatenate([np.zeros(0, dtype=np.int64), *self.listed])
        return EditOutcome(
            name=edit.name,
            kind=edit.kind,
            checked_by=edit.checked_by,
            severity=edit.severity,
            violations=self.violations,
            unknown=0,
            fired=self.fired,
            first_records=tuple(listed[:FIRST_RECORDS].tolist()),
            message=edit.message,
            text=edit.text,
            variables=edit.variables,
            listed=listed,
            undecidable=tuple(self.undecidable.values()),
            level=level,
        )


def check_nested(
    path: Path,
    reading: NestedReading,
    edits: EditSet,
    limits: SchematronOptions,
    *,
    levels: Sequence[str] | None = None,
    svrl: IO[bytes] | None = None,
    fired: Literal["summary", "all"] = "summary",
    most_listed: int = MOST_LISTED,
    evaluated: Sequence[tuple[Edit, Placed]] = (),
) -> Outcome:
    """Verdict of every edit on every record of a file with records inside records."""
    from maskwright.edits.engines.nested_checker import NestedChecker, RecordNumbers, messages_of
    from maskwright.edits.evaluation.svrl import SvrlWriter  # of SVRL alone

    note_read(path)
    elements = reading.elements
    assert elements is not None
    names = tuple(levels or elements.records)
    with contextlib.ExitStack() as stack:
        messages = None if svrl is None else {edit.name: messages_of(edit) for edit in edits}
        stated = (*edits, *(edit for edit, _ in evaluated))
        checker = stack.enter_context(NestedChecker(edits, elements, limits, placed=fired == "all", messages=messages))
        writer = None if svrl is None else stack.enter_context(SvrlWriter(svrl, stated, None, fired))
        counts = [_Count(edit, checker.level_of(edit), most_listed) for edit in edits]
        totals = [0] * len(names)
        for document, found in _checked(checker, _documents(path, reading, checker.needs_whole)):
            records = RecordNumbers(totals, document.sizes)
            for count, of_edit in zip(counts, found, strict=True):
                count.add(of_edit, records)
            if writer is not None:
                writer.write_placed(
                    records.counts[0], [*(_placed(each, elements) for each in found), *[NOWHERE] * len(evaluated)]
                )
            totals = [total + more for total, more in zip(totals, records.counts, strict=True)]
        if writer is not None:
            writer.write_placed(0, [*[NOWHERE] * len(edits), *(placed for _, placed in evaluated)])
    outcomes = tuple(count.outcome(names[count.level]) for count in counts)
    return Outcome(sum(totals), outcomes, levels=dict(zip(names, totals, strict=True)))


def _checked(
    checker: NestedChecker, documents: Iterator[NestedDocument]
) -> Iterator[tuple[NestedDocument, list[Found]]]:
    """Documents with what the engine says of them; the next one is cut while the engine, another process, works."""
    with ThreadPoolExecutor(1) as asking:
        waiting: tuple[NestedDocument, Future[list[Found]]] | None = None
        for document in documents:
            before, waiting = waiting, (document, asking.submit(checker.check, document))
            if before is not None:
                yield before[0], before[1].result()
        if waiting is not None:
            yield waiting[0], waiting[1].result()


def _documents(path: Path, reading: NestedReading, whole: Sequence[str]) -> Iterator[NestedDocument]:
    if not whole:
        return reading.documents()
    from maskwright.edits.engines.nested_checker import MOST_WHOLE

    if path.stat().st_size > MOST_WHOLE:
        hint = "Rules about one household and its persons are checked in pieces; leave the others to a phase of theirs."
        names = ", ".join(whole)
        wrong = f"these rules look beyond a record and its members: {names}; a file of over 100 MB is not checked whole"
        raise EditError(Problem(wrong, hint=hint))
    return reading.documents(None)


def _placed(found: Found, elements: NestedElements) -> Placed:
    from maskwright.edits.engines.nested_checker import place_of

    return Placed(
        found.fired,
        [node.places for node in found.fired_on],
        [Failure(node.places, place_of(elements, node), node.messages, node.undecidable) for node in found.failed],
    )
