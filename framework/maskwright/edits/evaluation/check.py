"""Checking records against edits: columns and edits in, outcome out; it changes no data and decides nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.binary64 import evaluate_xpath
from maskwright.edits.evaluation.edit_names import refuse_unknown_codes, unknown_variables
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.evaluation.outcomes import Tally, Verdict
from maskwright.edits.evaluation.whole_files import FileVerdicts, condition_of, is_file_test
from maskwright.edits.normalisation import written_out
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    import pandas as pd

    from maskwright.data.parts.model import Places
    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit
    from maskwright.edits.engines.checker import Answer, EngineChecker
    from maskwright.edits.engines.record_form import RecordForm
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.evaluation.outcomes import EditOutcome


@dataclass(frozen=True, eq=False)
class Outcome:
    """What all edits said of a file: counts and record numbers, no values.

    Attributes
    ----------
    records : int
    edits : tuple of EditOutcome
        In the order of the edit set.
    allow_unknown : bool
        Whether an edit whose verdict is unknown in every record is let pass.
    levels : mapping of level name to int
        Records of each level, where there are several.
    places : Places or None
        Of data in parts: which part each record is in.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> outcome = mw.validate(pd.DataFrame({"age": [31, 47, 130]}), ["age in [0, 120]"])
    >>> outcome.ok, outcome.counts
    (False, {'edit-1': 1})
    >>> outcome.violations
         edit severity  record
    0  edit-1    error       3
    """

    records: int
    edits: tuple[EditOutcome, ...] = ()
    allow_unknown: bool = False
    levels: Mapping[str, int] = field(default_factory=dict)
    places: Places | None = None

    @property
    def ok(self) -> bool:
        """Whether no edit of severity ``error`` is violated, and of none the verdict is unknown in every record."""
        violated = any(edit.violations for edit in self.edits if edit.severity == "error")
        return not violated and (self.allow_unknown or not self.undecided)

    @property
    def undecided(self) -> tuple[EditOutcome, ...]:
        """Edits of severity ``error`` whose verdict is unknown in every record that they are for."""
        return tuple(edit for edit in self.edits if edit.undecided and edit.severity == "error")

    @property
    def counts(self) -> Mapping[str, int]:
        """Violations by edit name."""
        return {edit.name: edit.violations for edit in self.edits}

    @property
    def nothing_fired(self) -> bool:
        """Whether there are edits and none of them was evaluated on any record: a valid verdict would mean nothing."""
        return bool(self.edits) and not any(edit.fired for edit in self.edits)

    @property
    def violations(self) -> pd.DataFrame:
        """Violations one by one: columns ``edit``, ``severity``, ``record`` (1-based).

        Of data in parts, ``file`` and ``row`` too. At most 10,000 rows an edit; ``frame.attrs["violations"]`` has the
        full count of every edit.
        """
        import pandas as pd

        sizes = [len(edit.listed) for edit in self.edits]
        columns = {
            "edit": np.repeat(np.array([edit.name for edit in self.edits], dtype=object), sizes),
            "severity": np.repeat(np.array([edit.severity for edit in self.edits], dtype=object), sizes),
            "record": np.concatenate([np.zeros(0, dtype=np.int64), *(edit.listed for edit in self.edits)]),
        }
        frame = pd.DataFrame(columns)
        if self.places is not None:
            at, rows = self.places.of(columns["record"] - 1)
            frame["file"], frame["row"] = [self.places.names[place] for place in at], rows
        frame.attrs["violations"] = dict(self.counts)
        return frame

    def __repr__(self) -> str:
        """Return the counts only."""
        return f"Outcome(ok={self.ok}, records={self.records}, violations={sum(self.counts.values())})"

    def _repr_html_(self) -> str:
        """Table for notebooks: what was found of each edit, in counts."""
        from maskwright.foundation.html_tables import block, sentence, table  # of notebooks

        columns = ("edit", "kind", "applied to", "violations", "unknown", "rule")
        rows = [
            (each.name, each.kind, f"{each.fired:,}", f"{each.violations:,}", f"{each.unknown:,}", each.text)
            for each in self.edits
        ]
        violations = sum(self.counts.values())
        found = f"{violations:,} violation{'' if violations == 1 else 's'}"
        title = f"{'ok' if self.ok else 'not ok'}: {found} in {self.records:,} records"
        reasons = (sentence("; ".join(each.unknown_because), f"{each.name} is unknown:") for each in self.undecided)
        return block(title, table(columns, rows, (2, 3, 4)), *reasons)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``validate --json`` prints it."""
        reasons = {edit.name: edit.unknown_because for edit in self.undecided}
        return (
            {
                "records": self.records,
                "ok": self.ok,
                "violations": sum(edit.violations for edit in self.edits),
                "edits": [edit.to_json(self.places) for edit in self.edits],
            }
            | ({"undecided": reasons} if reasons else {})
            | ({"levels": dict(self.levels)} if self.levels else {})
        )


def evaluate(edit: Edit, columns: RecordChunk, domain: Domain | None = None) -> Verdict:
    """Verdict of one edit as its binding computes it.

    Parameters
    ----------
    edit : Edit
    columns : RecordChunk
        A chunk of n records.
    domain : Domain, optional
        Combinations occurring in the original file; needed for domain edits only.

    Returns
    -------
    Verdict
        ``holds`` and ``unknown``, each of shape (n,), bool; see `maskwright.edits.evaluation.outcomes.Verdict`.

    Raises
    ------
    EditError
        The edit uses a variable that the data do not have, or the original file and `domain` is None.

    Examples
    --------
    >>> import numpy as np
    >>> import maskwright as mw
    >>> (edit,) = mw.EditSet.parse(["wages + pensions == income"])
    >>> columns = {"wages": np.array([1.0, 2.0]), "pensions": np.array([4.0, 5.0]), "income": np.array([5.0, 9.0])}
    >>> mw.evaluate(edit, mw.RecordChunk.from_arrays(columns)).holds.tolist()
    [True, False]
    """
    if edit.ranged:
        (edit,) = written_out(EditSet((edit,)), columns.names)
    problems = unknown_variables([edit], columns.names)
    if problems:
        raise EditError(problems)
    if edit.engine is not None:
        with Checker([edit]) as checker:
            if checker.needs_whole(columns.names):
                raise EditError(
                    Problem(f"edit {edit.name} looks beyond a record, and needs the whole file", edit.place)
                )
            return checker.add(columns)[0]
    try:
        if edit.binding == "xpath1":
            return evaluate_xpath(edit.expression, columns, domain)
        return evaluate_exact(edit.expression, columns, domain)
    except EditError as error:
        first = error.problems[0]
        raise EditError(replace(first, place=edit.place, edit=edit.name)) from None


def fires(edit: Edit, record_path: tuple[str, ...] | None) -> bool:
    """Whether an edit is evaluated on records at `record_path`, the element names from the root to the record.

    A context is an element name (``Record``), the last steps of a path (``Data/Record``, ``//Record``) or a whole path
    (``/Data/Record``). Files without elements (None), and edits without a context, always match.
    """
    if edit.shadowed:
        return False
    if edit.engine is not None:
        return True  # the engine decides
    if edit.context is None or record_path is None:
        return True
    context = edit.context.strip()
    absolute = context.startswith("/") and not context.startswith("//")
    steps = tuple(step for step in context.split("/") if step)
    return steps == (record_path if absolute else record_path[len(record_path) - len(steps) :])


def record_form(details: Mapping[str, Any], edits: Iterable[Edit]) -> RecordForm | None:
    """How a file writes its records, for edits that an engine checks; None where there are none."""
    if all(edit.for_validation.engine is None or is_file_test(edit) for edit in edits):
        return None
    from maskwright.edits.engines.record_form import RecordForm  # of tests that an engine evaluates

    return RecordForm.of_layout(details)


def _engine_checker(edits: Sequence[Edit], record_path: Sequence[str] | None, form: RecordForm | None) -> EngineChecker:
    from maskwright.edits.engines.checker import EngineChecker  # of tests that an engine evaluates
    from maskwright.edits.engines.record_form import RecordForm

    plain = None if record_path is None else RecordForm.plain(record_path)
    return EngineChecker(edits, plain if form is None else form)


class Checker(AbstractContextManager["Checker"]):
    """Checks a file chunk by chunk, in memory that does not grow with it.

    `record_path`: element names from the root to the record; None for files without elements. `domain`: needed for
    domain edits only. `form`: how the file writes its records, for edits that an engine checks.

    Edits that an engine checks and that look beyond a record get the whole file first, by `prepare`.
    """

    def __init__(
        self,
        edits: EditSet | Iterable[Edit],
        record_path: tuple[str, ...] | None = None,
        domain: Domain | None = None,
        form: RecordForm | None = None,
    ) -> None:
        stated = [edit.for_validation for edit in edits]
        self._tallies = [Tally(edit, fires(edit, record_path)) for edit in stated]
        self._domain = domain
        self._records = 0
        self._together = FileVerdicts(stated)
        by_engine = [each for each in stated if each.engine is not None and not is_file_test(each)]
        self._engines = _engine_checker(by_engine, record_path, form) if by_engine else None
        self._whole: dict[str, Answer] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._engines is not None:
            self._engines.__exit__(kind, error, trace)

    def needs_whole(self, names: tuple[str, ...]) -> bool:
        """Whether an edit looks beyond a record, so that `prepare` must come before `add`."""
        engines = self._engines
        if self._together.edits:
            return True
        return engines is not None and not all(engines.stays_in_record(edit, names) for edit in engines.edits)

    def prepare(self, columns: RecordChunk) -> dict[str, Answer]:
        """Ask about edits that look beyond a record, given all records; the answers by edit."""
        self._together.prepare(columns, self._domain)
        self._whole = {} if self._engines is None else self._engines.answers(columns, in_pieces=False)
        for tally in self._tallies:
            if tally.edit.name in self._whole:
                tally.violations += self._whole[tally.edit.name].above
                tally.fired += self._whole[tally.edit.name].fired_above
                above = self._whole[tally.edit.name].undecidable.get(0)
                tally.take_undecidable({} if above is None else {0: above}, 0)
        return self._whole

    def add(self, columns: RecordChunk) -> tuple[Verdict, ...]:
        """Check the next records of the file."""
        if self._records == 0:
            ranged = EditSet(tuple(tally.edit for tally in self._tallies))
            for tally, edit in zip(self._tallies, written_out(ranged, columns.names), strict=True):
                tally.edit = edit
        active = [tally for tally in self._tallies if tally.fires]
        problems = unknown_variables([tally.edit for tally in active], columns.names)
        if problems:
            raise EditError(problems)
        if not self._records:
            refuse_unknown_codes([tally.edit for tally in active], columns)
        verdicts: list[Verdict] = []
        engines = self._engines
        answers = {} if engines is None else engines.answers(columns, in_pieces=True, before=self._records)
        for tally in self._tallies:
            if tally.edit.engine is not None:
                together = self._together.of_records(tally.edit, self._records, columns.n)
                verdict = self._engine_verdict(tally.edit, columns, answers) if together is None else together
                applies = columns.n if verdict.fired is None else int(np.count_nonzero(verdict.fired))
                tally.add(verdict, columns, self._records, applies)
                verdicts.append(verdict)
                continue
            if not tally.fires:
                verdicts.append(Verdict(np.ones(columns.n, dtype=np.bool_), np.zeros(columns.n, dtype=np.bool_)))
                continue
            verdict = evaluate(tally.edit, columns, self._domain)
            tally.add(verdict, columns, self._records, _applies(tally.edit, columns, self._domain))
            verdicts.append(verdict)
        self._records += columns.n
        return tuple(verdicts)

    def _engine_verdict(self, edit: Edit, columns: RecordChunk, answers: Mapping[str, Answer]) -> Verdict:
        if edit.name in answers:
            fired, holds = answers[edit.name].fired, answers[edit.name].holds
            undecidable = dict(answers[edit.name].undecidable)
        elif edit.name in self._whole:
            these = slice(self._records, self._records + columns.n)
            fired, holds = self._whole[edit.name].fired[these], self._whole[edit.name].holds[these]
            found = self._whole[edit.name].undecidable.items()
            undecidable = {at - self._records: code for at, code in found if 0 < at - self._records <= columns.n}
        else:
            raise EditError(Problem(f"edit {edit.name} looks beyond a record, and needs the whole file", edit.place))
        return Verdict(holds, np.zeros(columns.n, dtype=np.bool_), fired, undecidable)

    def outcome(self) -> Outcome:
        """Outcome of the edits on all records so far."""
        return Outcome(self._records, tuple(tally.outcome() for tally in self._tallies))


def _applies(edit: Edit, columns: RecordChunk, domain: Domain | None) -> int:
    """Records that an edit is for: all, or those whose ``when``, or ``if`` without ``else``, is not false."""
    condition = condition_of(edit)
    if condition is None:
        return columns.n
    return int(np.count_nonzero(evaluate_exact(condition, columns, domain).holds))
