"""Outcomes of edits: verdicts on a chunk, why they are unknown, where they fail, and their counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.edits import expression as x

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.parts.model import Places
    from maskwright.data.record_chunk import Cells, RecordChunk
    from maskwright.edits.edit import Edit, EditKind, Severity


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one edit says of each of n records.

    `holds`: the record does not violate the edit; shape (n,). `unknown`: the answer rests on a missing cell, or on a
    text where a number is needed: neither true nor false, and `holds` is True there so that a missing cell is no
    violation; shape (n,). XPath (Schematron) has two truth values, and nothing is unknown. `undecidable`: see
    `maskwright.edits.engines.checker.Answer`.
    """

    holds: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    fired: NDArray[np.bool_] | None = None
    undecidable: Mapping[int, str] = field(default_factory=dict)


Cause = Literal["missing", "text", "comma", "date", "no value"]
Causes = Counter[tuple[str, Cause]]

COMMA_NUMBER = r"^[ \t\r\n]*-?[0-9]+(,[0-9]+)+[ \t\r\n]*$"
DATE = r"^[ \t\r\n]*(?:[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{4})"

_DESCRIPTIONS: dict[Cause, str] = {
    "missing": "missing",
    "text": "text, not a number,",
    "comma": "text, not a number (it has a comma),",
    "date": "text, not a number (it looks like a date),",
    "no value": "a result without a value, as of a division by zero,",
}
_REMEDIES: dict[Cause, str] = {
    "missing": "where a cell may be missing, the rule has to say so (`if x is not missing then ...`)",
    "text": "declare the texts that mean 'no value' (`missing: [NA]`), or compare with texts",
    "comma": "declare the decimal sign of the file (`decimal: ','`), or remove signs between thousands",
    "date": "declare how its dates are written (`type: date, format: '%d.%m.%Y'`, with times of day `type: datetime`)",
    "no value": "say in the rule which records it is for",
}


@dataclass(frozen=True)
class UnknownBecause:
    """Why an edit is unknown in some records.

    `variable`: empty where a result has no value although every operand has one. `records`: in which the verdict is
    unknown and the variable's cell is so.
    """

    variable: str
    cause: Cause
    records: int


@dataclass(frozen=True)
class Undecidable:
    """Records, or nodes of a document, on which a test cannot be evaluated.

    `code`: an engine's name of the error. `first`: number of a record (1-based; 0: above them), or XPath of a node.
    """

    code: str
    count: int
    first: int | str

    def sentence(self, places: Places | None = None) -> str:
        """What is the matter and where, without a value; of data in parts, with file and row."""
        from maskwright.edits.engines.engine_tests import meaning_of  # of tests that an engine evaluates

        if self.first == 0:
            where = "above the records"
        elif isinstance(self.first, int):
            first = self.first if places is None else places.said(self.first - 1)
            where = f"on record {first}" if self.count == 1 else f"on {self.count:,} records, the first is {first}"
        else:
            where = f"at {self.first}" if self.count == 1 else f"on {self.count:,} nodes, the first is {self.first}"
        return f"its test cannot be evaluated {where} ({meaning_of(self.code)})"


def count_undecidable(found: dict[str, Undecidable], code: str, where: int | str, count: int = 1) -> None:
    """Add records or nodes to those that are counted, by the code of the error; the first stays the first."""
    known = found.get(code, Undecidable(code, 0, where))
    found[code] = replace(known, count=known.count + count)


def merged_undecidable(shares: Iterable[tuple[int, tuple[Undecidable, ...]]]) -> tuple[Undecidable, ...]:
    """Counts of parts of a file, each with the number of records before it."""
    found: dict[str, Undecidable] = {}
    for before, own in shares:
        for each in own:
            first = each.first + before if isinstance(each.first, int) and each.first else each.first
            count_undecidable(found, each.code, first, each.count)
    return tuple(found.values())


def unknown_because(reasons: Sequence[UnknownBecause], total: int) -> list[str]:
    """Sentences on why verdicts are unknown, with remedies and without values."""
    together: dict[tuple[Cause, int], list[str]] = {}
    for each in reasons:
        together.setdefault((each.cause, each.records), []).append(each.variable)
    return [
        f"{', '.join(names)}: ".removeprefix(": ")
        + f"{_DESCRIPTIONS[cause]} in {records} of {total} records"
        + f"; {_REMEDIES[cause]}"
        for (cause, records), names in together.items()
    ]


def numeric_variables(expression: x.Expression) -> frozenset[str]:
    """Variables that a rule computes with or compares as numbers; two variables that are equated may be texts."""
    operands = (each for node in x.nodes(expression) for each in _operands(node))
    return frozenset(each.name for each in operands if isinstance(each, x.VariableReference))


def _operands(node: x.Expression) -> tuple[x.Expression, ...]:
    """Operands of a node that have to be numbers."""
    match node:
        case x.Arithmetic() | x.Negative() | x.InInterval() | x.IsInteger():
            return x.children(node)
        case x.KindCondition(_, _, columns):
            return columns
        case x.Function(name, arguments):
            return () if name in ("string", "boolean", "normalize-space") else arguments
        case x.Comparison(operator, left, right):
            sides = (left, right)
            computed = any(isinstance(side, x.Number | x.Arithmetic | x.Negative) for side in sides)
            return sides if computed or operator not in ("==", "!=") else ()
        case x.InSet(operand, members):
            return (operand,) if all(isinstance(member, x.Number) for member in members) else ()
        case _:
            return ()


def causes_of(edit: Edit, columns: RecordChunk, unknown: NDArray[np.bool_]) -> Causes:
    """Count the causes in the records where an edit's verdict is unknown.

    `unknown`: shape (n,).
    """
    found: Causes = Counter()
    explained = np.zeros(columns.n, dtype=np.bool_)
    numeric = numeric_variables(edit.expression)
    for name in edit.variables:
        if name not in columns:
            found[name, "missing"] += int(np.count_nonzero(unknown))
            explained |= unknown
            continue
        cells = columns[name]
        gone = unknown & cells.missing
        wordy = unknown & ~cells.missing & np.isnan(cells.numbers) if name in numeric else np.zeros_like(gone)
        found[name, "missing"] += int(np.count_nonzero(gone))
        if wordy.any():
            found.update({(name, cause): count for cause, count in _kinds(cells, wordy)})
        explained |= gone | wordy
    found["", "no value"] += int(np.count_nonzero(unknown & ~explained))
    return +found


def _kinds(cells: Cells, chosen: NDArray[np.bool_]) -> Iterator[tuple[Cause, int]]:
    texts = cells.text()
    flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    taken = pc.filter(flat, pa.array(chosen))
    commas = pc.sum(pc.match_substring_regex(taken, COMMA_NUMBER)).as_py() or 0
    dates = pc.sum(pc.match_substring_regex(taken, DATE)).as_py() or 0
    yield "comma", commas
    yield "date", dates
    yield "text", len(taken) - commas - dates


def reasons_of(causes: Causes) -> tuple[UnknownBecause, ...]:
    """Causes as reasons, the most frequent first."""
    return tuple(UnknownBecause(name, cause, count) for (name, cause), count in causes.most_common())


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
    verdict is unknown in every record: whether the edit holds is not known. Where texts stand for numbers, every record
    that the edit is for will do. `undecidable`: records on which the test cannot be evaluated; they are among
    `violations`. `level`: level of the records that are counted; "" where there is only one.
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
    undecidable: tuple[Undecidable, ...] = ()
    level: str = ""

    @property
    def undecidable_because(self) -> list[str]:
        """On which records the test cannot be evaluated, and why, in sentences without values."""
        return [each.sentence() for each in self.undecidable]

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
            | ({"undecidable": [each.sentence(places) for each in self.undecidable]} if self.undecidable else {})
            | ({"level": self.level} if self.level else {})
        )


class Tally:
    """Counts of one edit."""

    def __init__(self, edit: Edit, does_fire: bool) -> None:
        self.edit, self.fires = edit, does_fire
        self.records = self.violations = self.unknown = self.fired = self.kept = 0
        self.listed: list[NDArray[np.int64]] = []
        self.causes: Causes = Counter()
        self.undecidable: dict[str, Undecidable] = {}

    def take_undecidable(self, found: Mapping[int, str], before: int) -> None:
        """Count records on which the test cannot be evaluated; 0 is above the records."""
        for number, code in found.items():
            count_undecidable(self.undecidable, code, number + before if number else 0)

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
        self.take_undecidable(verdict.undecidable, before)
        numbers = violating[: MOST_LISTED - self.kept].astype(np.int64) + (before + 1)
        if len(numbers):
            self.listed.append(numbers)
            self.kept += len(numbers)

    def outcome(self) -> EditOutcome:
        """Outcome of what was counted."""
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
            undecidable=tuple(self.undecidable.values()),
            level=edit.level,
        )

    def _is_undecided(self) -> bool:
        if self.fired == 0 or self.unknown < self.fired:
            return False
        if any(cause != "missing" for _, cause in self.causes):
            return True
        return self.unknown == self.records


class Failure(NamedTuple):
    """Where a test fails: on the records of which level, and on which element.

    `messages`: its own, and those that it refers to. `undecidable`: code of the error, where it cannot be evaluated.
    """

    places: tuple[int, ...]
    location: str
    messages: tuple[str, ...]
    undecidable: str = ""


@dataclass(frozen=True)
class Placed:
    """What an engine said of one edit, on records that are inside each other.

    `fired_on`: places of each record that the rule fired on, the top level's first, where that is wanted.
    """

    fired: int
    fired_on: Sequence[tuple[int, ...]]
    failed: Sequence[Failure]
