"""SVRL, the report that Schematron tools read: one element for every record that breaks an edit.

It is the one file that carries values of records: the caller creates it readable by its owner only.
Source: ISO/IEC 19757-3, annex on the Schematron Validation Report Language.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.edits.evaluation.binary64 import xpath_strings
from maskwright.edits.evaluation.check import fires
from maskwright.edits.evaluation.svrl_elements import (
    SVRL_NAMESPACE,
    attributes,
    character_data,
    content_of,
    content_without_texts,
    element_name,
    escaped_cells,
    opening_text,
    quoted,
    undecidable_instruction,
)
from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from maskwright.data.parts.model import Places
    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.outcomes import Failure, Placed, Verdict

_NO_ELEMENTS = ("records", "record")
_LOCATION = ' location="'
PIECE = 1 << 20
"""Bytes that are copied at a time."""


@dataclass(frozen=True)
class SvrlTotals:
    """Totals of a report.

    `fired`: rule and record pairs that were checked. `failed`: for each edit, in the order given: its failed asserts or
    successful reports.
    """

    records: int
    fired: int
    failed: tuple[int, ...]


@dataclass(frozen=True)
class _Rule:
    """The edits of one rule, which fire together."""

    pattern: str | None
    pattern_number: int
    context: str
    positions: tuple[int, ...]
    fires: bool


class SvrlWriter(AbstractContextManager["SvrlWriter"]):
    """Write a report while the records stream past.

    SVRL lists patterns first and records inside them; records come in chunks with all edits. Failures are therefore
    kept in one temporary file and put in order by `close`: memory does not grow with the number of failures.

    Parameters
    ----------
    stream : binary stream
        Where the report goes, as UTF-8; the caller opens and closes it.
    edits : iterable of Edit
        From any language. An edit without a Schematron rule is its own pattern.
    record_path : tuple of str or None
        Element names from the root to the record: ``("Microdata", "Record")`` gives the locations
        ``/Microdata/Record[1]`` and so on. Rules whose context is another element do not fire. None, for files without
        elements: every rule fires, and locations are ``/records/record[1]`` and so on.
    fired : {"summary", "all"}, default "summary"
        One ``fired-rule`` for each rule, or one for each rule and record.
    places : callable
        Gives the parts that the records are in: locations are then ``doc('part-2.xml')/Microdata/Record[17]``.
    is_share : bool, default False
        Whether leaving the context writes a share, as `close_share` does, and no report.

    Examples
    --------
    >>> with open(path, "wb") as stream, SvrlWriter(stream, edits, ("Microdata", "Record")) as report:
    ...     for columns in chunks:
    ...         report.write(columns, [evaluate_xpath(edit.expression, columns) for edit in edits])
    """

    def __init__(
        self,
        stream: IO[bytes],
        edits: Iterable[Edit],
        record_path: tuple[str, ...] | None,
        fired: Literal["summary", "all"] = "summary",
        places: Callable[[], Places | None] = lambda: None,
        *,
        is_share: bool = False,
    ) -> None:
        if fired not in ("summary", "all"):
            raise InputError(f"fired must be 'summary' or 'all', not {fired!r}")
        self._stream = stream
        self._edits = tuple(edits)
        self._each = fired == "all"
        self._close = self.close_share if is_share else self.close
        self._places = places
        self._rules = _rules(self._edits, record_path)
        location = "/" + "/".join(record_path or _NO_ELEMENTS)
        self._opening = [f"{opening_text(edit)}{quoted(location)[:-1]}[" for edit in self._edits]
        self._closing = [f"</svrl:{element_name(edit)}>\n" for edit in self._edits]
        self._messages = [content_of(edit) for edit in self._edits]
        self._records = 0
        self._failed = [0] * len(self._edits)
        self._fired = [0] * len(self._rules)
        self._segments: list[list[tuple[int, int]]] = [[] for _ in self._rules]
        # On POSIX systems the file has no name and mode 0600; it holds values.
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - lives until close
        self._size = 0

    def write(self, columns: RecordChunk, verdicts: Sequence[Verdict]) -> None:
        """Add the next records.

        `verdicts`: one for each edit, in the order given to the constructor, each of shape (n,).
        """
        if len(verdicts) != len(self._edits):
            raise InputError(f"expected {len(self._edits)} verdicts, one for each edit; got {len(verdicts)}")
        for number, rule in enumerate(self._rules):
            if rule.fires:
                self._fired[number] += self._count_fired(rule, columns.n, verdicts)
                lines = self._rule_lines(rule, columns, [verdicts[position] for position in rule.positions])
                self._keep(number, "".join(lines.to_pylist()))
        self._records += columns.n

    def _keep(self, number: int, text: str) -> None:
        """Put what a rule found into the temporary file."""
        content = text.encode()
        if content:
            self._spool.write(content)
            self._segments[number].append((self._size, len(content)))
            self._size += len(content)

    def write_above(self, name: str, failures: int, undecidable: str = "") -> None:
        """Add failures of an edit on elements above the records, which no chunk holds: one line, with their number.

        `undecidable`: code of the error, where one of them is that the test cannot be evaluated.
        """
        for number, rule in enumerate(self._rules):
            for position in rule.positions:
                if self._edits[position].name == name and failures:
                    opening = self._opening[position].removesuffix("[").rpartition("/")[0]
                    if undecidable:
                        above = opening.rpartition(_LOCATION)[2]
                        self._keep(number, undecidable_instruction(self._edits[position].name, undecidable, above))
                    failed = failures - 1 if undecidable else failures
                    content = f'{opening}"><svrl:text>{failed} above the records</svrl:text>{self._closing[position]}'
                    self._keep(number, content if failed else "")
                    self._failed[position] += failures
                    self._fired[number] += 1

    def write_placed(self, records: int, found: Sequence[Placed]) -> None:
        """Add the verdicts of an engine on records that are inside each other."""
        for number, rule in enumerate(self._rules):
            first = found[rule.positions[0]]
            self._fired[number] += first.fired
            lines: dict[tuple[int, ...], list[str]] = {}
            if self._each:
                lines = {key: [_fired(rule)] for key in first.fired_on}
            for position in rule.positions:
                self._failed[position] += len(found[position].failed)
                for each in found[position].failed:
                    lines.setdefault(each.places, []).append(self._placed(position, each))
            self._keep(number, "".join(line for key in sorted(lines) for line in lines[key]))
        self._records += records

    def _placed(self, position: int, failure: Failure) -> str:
        location = failure.location
        if failure.undecidable:
            return undecidable_instruction(self._edits[position].name, failure.undecidable, location)
        opening = self._opening[position]
        opening = opening[: opening.rindex(" location=")]
        texts = iter(failure.messages)
        content = [piece or character_data(next(texts, "")) for piece in content_without_texts(self._edits[position])]
        return f"{opening} location={quoted(location)}>{''.join(content)}{self._closing[position]}"

    def close(self) -> SvrlTotals:
        """Write the report and forget the temporary file."""
        fired = sum(self._fired)
        failed = sum(self._failed)
        with self._spool:
            self._put('<?xml version="1.0" encoding="UTF-8"?>\n')
            self._put(f'<svrl:schematron-output xmlns:svrl="{SVRL_NAMESPACE}">\n')
            self._put(f"<svrl:text>records: {self._records}; rules fired: {fired}; failures: {failed}</svrl:text>\n")
            before: int | None = None
            for rule, segments, often in zip(self._rules, self._segments, self._fired, strict=True):
                if rule.pattern_number != before:
                    self._put(f"<svrl:active-pattern{attributes(id=rule.pattern)}/>\n")
                    before = rule.pattern_number
                if often and not self._each:
                    self._put(_fired(rule))
                for start, length in segments:
                    self._spool.seek(start)
                    for first in range(0, length, PIECE):
                        self._stream.write(self._spool.read(min(PIECE, length - first)))
            self._put("</svrl:schematron-output>\n")
        return SvrlTotals(self._records, fired, tuple(self._failed))

    def close_share(self) -> SvrlTotals:
        """Write what other records' reports are put together with, in place of a report, and forget the temporary file.

        A line of JSON with the counts and the bytes of each rule; then what was found, rule by rule.
        """
        with self._spool:
            counts = {"records": self._records, "fired": self._fired, "failed": self._failed}
            lengths = [sum(length for _, length in segments) for segments in self._segments]
            self._put(json.dumps(counts | {"bytes": lengths}) + "\n")
            for start, length in itertools.chain.from_iterable(self._segments):
                self._spool.seek(start)
                self._stream.write(self._spool.read(length))
        return SvrlTotals(self._records, sum(self._fired), tuple(self._failed))

    def add_share(self, share: IO[bytes]) -> None:
        """Add records of which another writer of the same edits wrote a share."""
        counts = json.loads(share.readline())
        self._records += counts["records"]
        self._failed = [one + other for one, other in zip(self._failed, counts["failed"], strict=True)]
        self._fired = [one + other for one, other in zip(self._fired, counts["fired"], strict=True)]
        for segments, length in zip(self._segments, counts["bytes"], strict=True):
            for first in range(0, length, PIECE):
                self._spool.write(share.read(min(PIECE, length - first)))
            if length:
                segments.append((self._size, length))
                self._size += length

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._close()
        else:
            # A report that looks complete after a failure would be taken for one.
            self._spool.close()

    def _put(self, text: str) -> None:
        self._stream.write(text.encode())

    @staticmethod
    def _count_fired(rule: _Rule, n: int, verdicts: Sequence[Verdict]) -> int:
        chosen = verdicts[rule.positions[0]].fired
        return n if chosen is None else int(np.count_nonzero(chosen))

    def _rule_lines(self, rule: _Rule, columns: RecordChunk, verdicts: Sequence[Verdict]) -> Any:
        """Text of each record that has any: StringArray of at most n."""
        broken = np.zeros((len(rule.positions), columns.n), dtype=np.bool_)
        for row, verdict in zip(broken, verdicts, strict=True):
            np.logical_not(verdict.holds, out=row)
        records = np.flatnonzero(broken.any(axis=0))
        if self._each:
            seen = verdicts[0].fired
            records = np.arange(columns.n) if seen is None else np.flatnonzero(seen)
        lines = pa.array([_fired(rule) if self._each else ""]).take(pa.array(np.zeros(len(records), dtype=np.int64)))
        for row, position, verdict in zip(broken, rule.positions, verdicts, strict=True):
            self._failed[position] += int(row.sum())
            chosen = np.flatnonzero(row)
            if len(chosen) == 0:
                continue
            elements = self._elements(position, columns, chosen)
            if verdict.undecidable:
                elements = self._with_instructions(position, elements, chosen, verdict.undecidable)
            # Null where the record keeps this edit: joined as nothing.
            places = pa.array(np.searchsorted(chosen, records), mask=~row[records])
            lines = pc.binary_join_element_wise(lines, pc.fill_null(elements.take(places), ""), "")
        return lines

    def _with_instructions(self, position: int, elements: Any, chosen: Any, undecidable: Mapping[int, str]) -> Any:
        """Failures, with an instruction in place of each where the test cannot be evaluated."""
        texts: list[str] = elements.to_pylist()
        for place, record in enumerate(chosen.tolist()):
            if record + 1 in undecidable:
                location = texts[place].partition(_LOCATION)[2].partition('"')[0]
                texts[place] = undecidable_instruction(self._edits[position].name, undecidable[record + 1], location)
        return pa.array(texts, pa.string())

    def _elements(self, position: int, columns: RecordChunk, chosen: Any) -> Any:
        indices = pa.array(chosen)
        numbers = pc.cast(pc.add(indices, self._records + 1), pa.string())
        pieces: list[Any] = [self._opening[position], numbers, ']">']
        places = self._places()
        if places is not None:
            before, mark, path = self._opening[position].rpartition(_LOCATION)
            pieces = [before + mark, *places.documents(chosen + self._records, path), ']">']
        for piece in self._messages[position]:
            if isinstance(piece, str):
                pieces.append(piece)
            else:
                pieces.append(escaped_cells(xpath_strings(piece, columns).take(indices)))
        pieces.append(self._closing[position])
        return pc.binary_join_element_wise(*pieces, "")


def _rules(edits: Sequence[Edit], record_path: tuple[str, ...] | None) -> list[_Rule]:
    grouped: dict[object, list[int]] = {}
    for position, edit in enumerate(edits):
        file = edit.place.file if edit.place is not None else None
        key = position if edit.assertion is None else (file, edit.assertion.rule_number)
        grouped.setdefault(key, []).append(position)
    patterns: dict[object, int] = {}
    rules = []
    for positions in grouped.values():
        edit = edits[positions[0]]
        file = edit.place.file if edit.place is not None else None
        key = positions[0] if edit.assertion is None else (file, edit.assertion.pattern_number)
        number = patterns.setdefault(key, len(patterns))
        name = edit.name if edit.assertion is None else edit.assertion.pattern
        context = (edit.assertion and edit.assertion.context) or edit.context or (record_path or _NO_ELEMENTS)[-1]
        rules.append(_Rule(name, number, context, tuple(positions), fires(edit, record_path)))
    return rules


def _fired(rule: _Rule) -> str:
    return f"<svrl:fired-rule{attributes(context=rule.context)}/>\n"
