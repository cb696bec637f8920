"""Chunks of records against edits, one after the other, in bounded memory; never trusting a claim."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Literal

from maskwright.data.parts.model import Places
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.check import Checker, Outcome, record_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from maskwright.data.dataset import Dataset, Layout
    from maskwright.data.parts.model import Parts
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.engines.record_form import RecordForm
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.evaluation.svrl import SvrlWriter

CHUNK = 65536
Fired = Literal["summary", "all"]


def record_path(layout: Layout) -> tuple[str, ...] | None:
    """Element names down to a record, when the file is XML; None otherwise."""
    path = layout.details.get("record_path")
    return None if path is None else tuple(path)


def chunks_of(data: Dataset) -> Iterator[RecordChunk]:
    """Chunks of a dataset, in record order."""
    return RecordChunk.slices(data, CHUNK)


def check_dataset(data: Dataset, edits: EditSet, domain: Domain | None = None) -> Outcome:
    """Verdict of every edit on every record of a dataset in memory."""
    form = record_form(data.layout.details, edits)
    parts: Parts | None = data.layout.details.get("parts") if data.origin is None else None
    places = None if parts is None else Places([each.name for each in parts], list(parts.offsets[:-1]))
    return check(chunks_of(data), edits, record_path(data.layout), domain, form=form, places=lambda: places)


def check(
    chunks: Iterable[RecordChunk],
    edits: EditSet,
    path: Sequence[str] | None,
    domain: Domain | None = None,
    svrl: IO[bytes] | None = None,
    *,
    fired: Fired = "summary",
    form: RecordForm | None = None,
    places: Callable[[], Places | None] = lambda: None,
    is_share: bool = False,
) -> Outcome:
    """Verdict of every edit on every record.

    `path`: element names down to a record (XML); a Schematron rule with another context does not fire. `domain`: values
    of the original file, for domain edits. `svrl`: where to write the violations with their values. `fired`: whether
    the report says once of each rule that it fired, or once for each record. `form`: how the file writes its records,
    for edits that an engine checks. `places`: gives the parts that the records are in, as soon as one of them was read;
    None: there is one file. `is_share`: whether these are some records of many: a share of the report is written.

    Memory does not grow with the number of records, but for edits that look beyond a record: then all are kept.
    """
    where = None if path is None else tuple(path)
    with contextlib.ExitStack() as stack:
        checker = stack.enter_context(Checker(edits, where, domain, form))
        writer: SvrlWriter | None = None
        if svrl is not None:
            from maskwright.edits.evaluation import svrl as reports

            writer = stack.enter_context(reports.SvrlWriter(svrl, edits, where, fired, places, is_share=is_share))
        remaining = iter(chunks)
        first = next(remaining, None)
        if first is not None:
            if checker.needs_whole(first.names):
                whole = [first, *remaining]
                answers = checker.prepare(RecordChunk.joined(whole))
                for name, answer in answers.items():
                    if writer is not None:
                        writer.write_above(name, answer.above, answer.undecidable.get(0, ""))
                remaining = iter(whole)
            else:
                remaining = itertools.chain([first], remaining)
        for columns in remaining:
            verdicts = checker.add(columns)
            if writer is not None:
                writer.write(columns, verdicts)
    return replace(checker.outcome(), places=places())
