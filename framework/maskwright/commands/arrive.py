"""Data and edits arrive: read, checked against each other, and found fit for a plan. Every run begins here."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.commands.reading import load
from maskwright.data.variable import Variable
from maskwright.edits.date_arithmetic import with_dates
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.errors import EditError, EditViolation, InputError, Problem
from maskwright.foundation.progress import Reporter, stage
from maskwright.masking.field_adjustment import with_errors_located
from maskwright.pipeline.edits_read import read_edits_of
from maskwright.pipeline.names import further_problems, in_order, names_in, unknown_uses, unpublished_uses
from maskwright.pipeline.resolved import DataInMemory
from maskwright.planning.applicable_edits import (
    applicable,
    declared_bounds,
    identifiers_of,
    refuse_contradictions,
    refuse_identifiers,
    without_violations,
)
from maskwright.planning.publication_warnings import refuse_arithmetic_on_text, suspicious_edit_notices
from maskwright.planning.undecided_edits import undecided_doubts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from maskwright.data.dataset import Dataset
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import MaskingRequest


@dataclass(eq=False)
class Clock:
    """Seconds spent in each stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time that the work inside takes to the stage `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 4)


@dataclass(frozen=True, eq=False)
class CheckedInput:
    """Data and edits as they are before any step: several pipelines that differ in their steps share them.

    Attributes
    ----------
    original : Dataset
    edits : EditSet
        That fire on these data.
    outcome : Outcome
        Verdicts on the original.
    broken : mapping of edit name to int
        Records that violate it, after what `on_input_violation` did.
    identifiers : tuple of Variable
        Declared, and not read.
    notices : tuple of str
    doubts : tuple of Doubt
        What was not surely understood.
    localisation : mapping or None
        Confidential.
    """

    original: Dataset
    edits: EditSet
    outcome: Outcome
    broken: Mapping[str, int]
    identifiers: tuple[Variable, ...] = ()
    notices: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    localisation: Mapping[str, Any] | None = None


def arrive(
    request: MaskingRequest, reporter: Reporter, clock: Clock | None = None, *, thorough: bool = True
) -> CheckedInput:
    """Read data and edits, and check the original: all that does not depend on the steps.

    Parameters
    ----------
    request : MaskingRequest
        Of a pipeline file or of a call.
    reporter : Reporter
    clock : Clock, optional
    thorough : bool, default True
        Whether the edits are analysed for what is worth a notice, besides what stops a run.

    Raises
    ------
    InputError
        Anything wrong with data or edits: every mistake that can be found, in the order of their places.
    EditViolation
        Under ``on_input_violation: fail``.
    """
    timed = clock or Clock()
    original, rules, identifiers = _read(request, reporter, timed)
    hidden = [variable.name for variable in identifiers]
    cluster = request.data.cluster
    known = [*original.names, *hidden, *([] if cluster is None else [cluster])]
    problems = [*unknown_uses(request.uses, known), *unpublished_uses(request.uses, known[len(original.names) :])]
    try:
        stated = written_out(rules, original.names, hidden)
        stated += declared_bounds(original.variables, stated)
        refuse_identifiers(stated, hidden)
        with explained_by(original.doubts):
            stated = with_dates(stated, original.variables)
        with timed("check"), stage(reporter, "Checking the original"):
            domain = Domain.from_dataset(original, domain_tuples(stated))
            arrival = check_dataset(original, stated, domain)
    except InputError as error:
        raise InputError(in_order([*problems, *error.problems], request.file)) from error
    if problems:
        raise InputError(in_order(problems, request.file))
    edits, silent_notices = applicable(stated, arrival, original)
    with timed("analyse"), stage(reporter, "Analysing the edits"), explained_by(original.doubts):
        rule_notices = refuse_contradictions(edits, original.variables, thorough=thorough)
        refuse_arithmetic_on_text(edits, original)
    located: dict[str, Any] | None = None
    if request.on_input_violation == "localize":
        trusted = {name: each.reliability for name, each in request.data.variables.items() if name in original}
        with timed("localize"), stage(reporter, "Locating errors") as progress:
            original, located, more = with_errors_located(original, edits, trusted, domain, progress)
        broken = {each.name: each.violations for each in check_dataset(original, edits, domain).edits}
    else:
        original, arrival, more = _on_violation(request, original, edits, arrival)
        broken = {each.name: each.violations for each in arrival.edits}
    doubts = (*original.doubts, *undecided_doubts(arrival))
    gone = [f"{variable.name} is an identifier: it is not published" for variable in identifiers]
    suspicious = suspicious_edit_notices(arrival)
    notices = (*gone, *original.notes, *stated.notes, *silent_notices, *more, *rule_notices, *suspicious)
    return CheckedInput(original, edits, arrival, broken, identifiers, notices, doubts, located)


@contextmanager
def explained_by(doubts: Iterable[Doubt]) -> Iterator[None]:
    """Tell with a mistake which columns were not understood: a number that was read as text is often its real reason.

    Parameters
    ----------
    doubts : iterable of Doubt
        Of reading.

    Raises
    ------
    InputError
        The mistakes that were found inside, and these doubts; an `EditError` stays one.
    """
    try:
        yield
    except InputError as error:
        reasons = [
            Problem(str(each), each.place, each.remedy) for each in doubts if each.kind == "column-not-understood"
        ]
        if not reasons:
            raise
        kind = EditError if isinstance(error, EditError) else InputError
        raise kind([*error.problems, *reasons]) from error


def read_rules(request: MaskingRequest) -> EditSet:
    """Edits of a request: rules and rule files, in order.

    Raises
    ------
    InputError
        With every mistake in any of them.
    """
    if isinstance(request.edits, EditSet):
        return request.edits
    edits, problems = read_edits_of(request.edits)
    if problems:
        raise InputError(problems)
    return edits


def _read(request: MaskingRequest, reporter: Reporter, timed: Clock) -> tuple[Dataset, EditSet, tuple[Variable, ...]]:
    """Data without identifiers, edits, and the identifiers; mistakes of both are told together."""
    try:
        rules = read_rules(request)
        with timed("read"), stage(reporter, f"Reading {request.data.name}") as progress:
            original = load(request.data, progress, identifiers=isinstance(request.data, DataInMemory))
    except InputError as error:
        edits = () if isinstance(request.edits, EditSet) else request.edits
        further = further_problems(names_in(request.data), edits, request.uses)
        raise InputError(in_order([*error.problems, *further], request.file)) from error
    if isinstance(request.data, DataInMemory):
        found = tuple(each for each in original.variables if each.role == "identifier")
        return original.without([variable.name for variable in found]), rules, found
    declared = identifiers_of(request.data.variables)
    return original, rules, tuple(Variable(name, "nominal", "identifier") for name in declared)


def _on_violation(
    request: MaskingRequest, original: Dataset, edits: EditSet, arrival: Outcome
) -> tuple[Dataset, Outcome, tuple[str, ...]]:
    """Do what the pipeline says with records that violate an edit on arrival."""
    broken = [each for each in arrival.edits if each.violations and each.severity == "error"]
    if not broken or request.on_input_violation == "mask":
        return original, arrival, ()
    shown = ", ".join(f"{each.name}: {each.violations}" for each in broken)
    if request.on_input_violation == "fail":
        raise EditViolation(
            Problem(
                f"records of the original violate edits ({shown})",
                hint="on_input_violation is 'fail'; 'mask' masks and mends them, 'drop' leaves them out, 'localize' "
                "adjusts as few fields as possible first",
            )
        )
    kept, dropped = without_violations(original, edits)
    if len(kept) == 0:
        raise InputError(f"every record violates an edit ({shown}), so on_input_violation: drop leaves none")
    return kept, check_dataset(kept, edits, Domain.from_dataset(kept, domain_tuples(edits))), (
        f"{dropped} record(s) that violate an edit on arrival were dropped ({shown})",
    )  # fmt: skip
