"""Verdict of every edit on a file with records inside records, by an engine, as a stream of whole groups."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Literal

import numpy as np

from maskwright.edits.engines.nested.checker import MOST_WHOLE, NestedChecker, messages_of, numbers_of, place_of
from maskwright.edits.evaluation.check import Outcome
from maskwright.edits.evaluation.placed import Placed
from maskwright.edits.evaluation.svrl import SvrlWriter
from maskwright.edits.evaluation.tally import FIRST_RECORDS, MOST_LISTED, EditOutcome
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.file_identity import note_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.levels.nested_document import NestedDocument, NestedElements
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.engines.nested.checker import Found
    from maskwright.edits.languages.schematron.options import SchematronOptions
    from maskwright.plugins.nested_reading import NestedReading


NOWHERE = Placed(0, (), ())


@dataclass
class _Count:
    """Counts of one edit."""

    edit: Edit
    is_of_member: bool
    most: int = MOST_LISTED
    violations: int = 0
    fired: int = 0
    kept: int = 0
    listed: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, found: Found, before: NDArray[np.int64], groups: int) -> None:
        """Count what an edit said of the groups after the first `groups`; `before` are the members before each."""
        self.is_of_member = self.is_of_member or found.on_members
        of_records = [replace(node, group=node.group - groups) for node in found.failed if node.group]
        numbers = numbers_of(of_records, before, member=self.is_of_member)
        self.violations += len(numbers) + len(found.failed) - len(of_records)
        self.fired += found.fired
        shown = numbers[: self.most - self.kept] + (0 if self.is_of_member else groups)
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
            level=level,
        )


def check_nested(
    path: Path,
    reading: NestedReading,
    edits: EditSet,
    limits: SchematronOptions,
    *,
    levels: tuple[str, str] | None = None,
    svrl: IO[bytes] | None = None,
    fired: Literal["summary", "all"] = "summary",
    most_listed: int = MOST_LISTED,
    beside: Sequence[tuple[Edit, Placed]] = (),
) -> Outcome:
    """Verdict of every edit on every record of a file with records inside records.

    `edits`: all of which an engine is asked about. `levels`: names of the upper and the lower level; the elements'
    names where there are none. `svrl`: that an SVRL report is written to. `fired`: whether that report says once of
    each rule that it fired, or once for each record. `most_listed`: numbers of violating records that are kept of each
    edit. `beside`: edits that no engine is asked about, and where they fail: they are in the report, and not in the
    outcome.
    """
    note_read(path)
    elements = reading.elements
    assert elements is not None
    names = levels or (elements.group, elements.member)
    with contextlib.ExitStack() as stack:
        messages = None if svrl is None else {edit.name: messages_of(edit) for edit in edits}
        stated = (*edits, *(edit for edit, _ in beside))
        checker = stack.enter_context(NestedChecker(edits, elements, limits, placed=fired == "all", messages=messages))
        writer = None if svrl is None else stack.enter_context(SvrlWriter(svrl, stated, None, fired))
        counts = [_Count(edit, checker.is_about_members(edit), most_listed) for edit in edits]
        groups = members = 0
        for document, found in _checked(checker, _documents(path, reading, checker.needs_whole)):
            sizes = np.array(document.sizes, dtype=np.int64)
            before = members + np.cumsum(sizes) - sizes
            for count, of_edit in zip(counts, found, strict=True):
                count.add(of_edit, before, groups)
            if writer is not None:
                writer.write_placed(
                    len(sizes), [*(_placed(each, elements) for each in found), *[NOWHERE] * len(beside)]
                )
            groups, members = groups + len(sizes), members + int(sizes.sum())
        if writer is not None:
            writer.write_placed(0, [*[NOWHERE] * len(edits), *(placed for _, placed in beside)])
    outcomes = tuple(count.outcome(names[1] if count.is_of_member else names[0]) for count in counts)
    return Outcome(groups + members, outcomes, levels={names[0]: groups, names[1]: members})


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
    if path.stat().st_size > MOST_WHOLE:
        hint = "Rules about one household and its persons are checked in pieces; leave the others to a phase of theirs."
        names = ", ".join(whole)
        wrong = (
            f"these rules look beyond a record and its members: {names}; a file of over 100 MB is not looked at whole"
        )
        raise EditError(Problem(wrong, hint=hint))
    return reading.documents(None)


def _placed(found: Found, elements: NestedElements) -> Placed:
    return Placed(
        found.fired,
        [(node.group, node.member) for node in found.fired_on],
        [((node.group, node.member), place_of(elements, node), node.messages) for node in found.failed],
    )
