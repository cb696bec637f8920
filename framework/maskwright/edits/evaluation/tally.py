"""What one edit said of a file: counted chunk by chunk."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.evaluation.unknown import causes_of, reasons_of, unknown_because

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.parts.places import Places
    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit, EditKind, Severity
    from maskwright.edits.evaluation.unknown import Causes, UnknownBecause
    from maskwright.edits.evaluation.verdict import Verdict

FIRST_RECORDS = 10
MOST_LISTED = 10_000


@dataclass(frozen=True, eq=False)
class EditOutcome:
    """What one edit said of a file.

    `violations`: records that violate the edit. `unknown`: records whose verdict rests on a missing cell, or on a text
    where a number is needed. `fired`: records the edit is for: those its context matches (Schematron), those whose
    ``when``, or ``if`` without ``else``, is not false (YAML). `first_records`: numbers (1-based) of the first violating
    records, at most 10. `message`, `text`: the edit's message and source text. `listed`: numbers (1-based) of violating
    records, at most 10,000; shape (m,). `reasons`: why verdicts are unknown, the most frequent first. `undecided`: the
    verdict is unknown in every record: nobody knows whether the edit holds. Where texts stand for numbers, every record
    that the edit is for will do. XPath decides what a missing cell means. `level`: level of the records that are
    counted; "" where there is only one.
    """

    name: str
    kind: EditKind
    checked_by: str
    severity: Severity
    violations: int
    unknown: int
    fired: int
    first_records: tuple[int, ...]
    message: str
    text: str
    variables: tuple[str, ...]
    listed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    reasons: tuple[UnknownBecause, ...] = ()
    undecided: bool = False
    level: str = ""

    @property
    def unknown_because(self) -> list[str]:
        """Why verdicts are unknown, in sentences without values."""
        return unknown_because(self.reasons, self.fired)

    def to_json(self, places: Places | None = None) -> dict[str, Any]:
        """Entry of ``validate --json``; of data in parts, with the file and the row of each record."""
        parts = {} if places is None else {"first_places": [places.said(each - 1) for each in self.first_records]}
        return (
            parts
            | {
                "name": self.name,
                "kind": self.kind,
                "checked_by": self.checked_by,
                "violations": self.violations,
                "unknown": self.unknown,
                "fired": self.fired,
                "first_records": list(self.first_records),
            }
            | ({"level": self.level} if self.level else {})
        )


class Tally:
    """Counts of one edit."""

    def __init__(self, edit: Edit, does_fire: bool) -> None:
        self.edit, self.fires = edit, does_fire
        self.records = self.violations = self.unknown = self.fired = self.kept = 0
        self.listed: list[NDArray[np.int64]] = []
        self.causes: Causes = Counter()

    def add(self, verdict: Verdict, columns: RecordChunk, before: int, applies: int) -> None:
        """Count the verdict on the records after the first `before`; the edit is for `applies` of them."""
        self.records += columns.n
        self.fired += applies
        unknown = int(np.count_nonzero(verdict.unknown))
        self.unknown += unknown
        if unknown:
            self.causes += causes_of(self.edit, columns, verdict.unknown)
        violating = np.flatnonzero(np.logical_not(verdict.holds))
        self.violations += len(violating)
        numbers = violating[: MOST_LISTED - self.kept].astype(np.int64) + (before + 1)
        if len(numbers):
            self.listed.append(numbers)
            self.kept += len(numbers)

    def outcome(self) -> EditOutcome:
        """Say what was counted."""
        edit = self.edit
        listed = np.concatenate(self.listed) if self.listed else np.zeros(0, dtype=np.int64)
        return EditOutcome(
            name=edit.name,
            kind=edit.kind,
            checked_by=edit.checked_by,
            severity=edit.severity,
            violations=self.violations,
            unknown=self.unknown,
            fired=self.fired,
            first_records=tuple(int(number) for number in listed[:FIRST_RECORDS]),
            message=edit.message,
            text=edit.text,
            variables=edit.variables,
            listed=listed,
            reasons=reasons_of(self.causes),
            undecided=self._is_undecided(),
            level=edit.level,
        )

    def _is_undecided(self) -> bool:
        if self.fired == 0 or self.unknown < self.fired:
            return False
        if any(cause != "missing" for _, cause in self.causes):
            return True
        return self.edit.binding == "exact" and self.unknown == self.records
