"""Before anything is masked: data and edits read, the original checked, the plan made."""

from __future__ import annotations

import itertools
import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.data.households import with_household_role, with_households
from maskwright.data.inference import read_dataset
from maskwright.data.variable import Variable
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.languages.yaml.variable_ranges import refuse_ranges, written_out
from maskwright.foundation.errors import EditViolation, InputError, Problem
from maskwright.foundation.progress import Progress, Quiet, Reporter, silent, stage
from maskwright.masking.field_adjustment import with_errors_located
from maskwright.pipeline.edits_read import read_edits_of
from maskwright.pipeline.names import further_problems, in_order, unknown_uses
from maskwright.pipeline.reading import read_pipeline
from maskwright.planning.applicable_edits import (
    applicable,
    declared_bounds,
    identifiers_of,
    refuse_contradictions,
    refuse_identifiers,
    without_violations,
)
from maskwright.planning.dropped_edits import dropped_edit_notices, without_dropped
from maskwright.planning.model import StepRequest
from maskwright.planning.plan import Plan, make_plan
from maskwright.planning.publication_warnings import (
    publication_notices,
    refuse_arithmetic_on_text,
    suspicious_edit_notices,
)
from maskwright.plugins.source import batches_of
from maskwright.release.files import file_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.declaration import VariableDeclaration
    from maskwright.edits.edit import Edit, EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.source import Source


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
    localisation : mapping or None
        Confidential.
    """

    original: Dataset
    edits: EditSet
    outcome: Outcome
    broken: Mapping[str, int]
    identifiers: tuple[Variable, ...] = ()
    notices: tuple[str, ...] = ()
    localisation: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class ReadyRun:
    """A pipeline with its data and edits read, and the plan made.

    Attributes
    ----------
    pipeline : Pipeline
    original : Dataset
    edits : EditSet
        That fire on these data.
    arrival : Outcome
        Verdicts on the original.
    plan : Plan
    notices : tuple of str
    localisation : mapping or None
        Under ``on_input_violation: localize``: which fields of which records were adjusted. Confidential.
    dropped : tuple of Edit
        Those that steps drop, because what they read is published as categories.
    """

    pipeline: Pipeline
    original: Dataset
    edits: EditSet
    arrival: Outcome
    plan: Plan
    notices: tuple[str, ...]
    localisation: Mapping[str, Any] | None = None
    dropped: tuple[Edit, ...] = ()


def plan_pipeline(
    pipeline: str | Path,
    overrides: Mapping[str, object] | Sequence[str] = (),
    *,
    with_data: bool = True,
    reporter: Reporter | None = None,
) -> dict[str, Any]:
    """Plan of a pipeline, as ``maskwright plan --json`` prints it; nothing is masked or written.

    Without data, the variables are those that are declared, named by a step or used by an edit, all numeric unless
    declared.
    """
    reporter = reporter or Quiet()
    described = read_pipeline(pipeline, overrides, check_data=with_data)
    if with_data:
        prepared = prepare(described, reporter)
        return prepared.plan.to_json() | {"notices": list(prepared.notices)}
    edits = read_rules(described)
    refuse_ranges(edits)
    requests = _step_requests(described)
    named = [name for request in requests for name in request.named]
    variables = [
        _declared_variable(name, described.data.variables.get(name))
        for name in dict.fromkeys([*described.data.variables, *edits.variables, *named])
    ]
    rule_notices = refuse_contradictions(edits, variables)
    plan = make_plan(requests, variables, without_dropped(edits, requests, variables))
    kept = {edit.name for edit in plan.edits}
    rule_notices = (*rule_notices, *dropped_edit_notices([edit for edit in edits if edit.name not in kept]))
    return plan.to_json() | {"notices": [*edits.notes, *rule_notices]}


def _step_requests(described: Pipeline) -> list[StepRequest]:
    return [
        StepRequest(step.method, step.params, step.planning, step.variables, step.groups or (), step.place)
        for step in described.steps
    ]


def _declared_variable(name: str, declared: VariableDeclaration | None) -> Variable:
    if declared is None:
        return Variable(name)
    kind = declared.type or "continuous"
    role = declared.role or ("confidential" if kind in ("continuous", "integer") else "other")
    return Variable(name, kind, role, decimals=declared.decimals)


def prepare(described: Pipeline, reporter: Reporter, clock: Clock | None = None) -> ReadyRun:
    """Read data and edits, validate the original, make the plan.

    Raises
    ------
    InputError
        Anything wrong with data, edits or plan.
    EditViolation
        Under ``on_input_violation: fail``.
    """
    timed = clock or Clock()
    refuse_steps(described)
    arrived = arrive(described, reporter, timed)
    with timed("plan"), stage(reporter, "Planning"):
        plan = plan_of(described, arrived)
    kept = {edit.name for edit in plan.edits}
    dropped = tuple(edit for edit in arrived.edits if edit.name not in kept)
    said = (
        *arrived.notices,
        *dropped_edit_notices(dropped),
        *_earlier_release(described),
        *plan.warnings,
        *publication_notices(arrived.original, plan, arrived.broken),
    )
    return ReadyRun(described, arrived.original, plan.edits, arrived.outcome, plan, said, arrived.localisation, dropped)


def refuse_steps(described: Pipeline) -> None:
    """Refuse steps that households or the block size rule out, before any data are read.

    Raises
    ------
    InputError
    """
    _refuse_methods_that_count_records(described)
    _refuse_small_blocks(described)


def plan_of(described: Pipeline, arrived: CheckedInput) -> Plan:
    """Plan of a pipeline's steps on data that have been read; its edits are those that the steps do not drop."""
    variables = [*arrived.identifiers, *arrived.original.variables]
    requests = _step_requests(described)
    edits = without_dropped(arrived.edits, requests, variables)
    return make_plan(requests, variables, edits, arrived.original, arrived.broken)


def arrive(described: Pipeline, reporter: Reporter, clock: Clock | None = None) -> CheckedInput:
    """Read data and edits and validate the original: all of `prepare` that does not depend on the steps.

    Raises
    ------
    InputError
        Anything wrong with data or edits.
    EditViolation
        Under ``on_input_violation: fail``.
    """
    timed = clock or Clock()
    try:
        rules = read_rules(described)
        with timed("read"), stage(reporter, f"Reading {described.data.path.name}") as progress:
            original = load(
                described.data.path, described.data.source, described.data.params, described.data.variables, progress,
                cluster=described.data.cluster,
            )  # fmt: skip
    except InputError as error:
        further = further_problems(described.data, described.edits, described.uses)
        raise InputError(in_order([*error.problems, *further], described.file)) from error
    identifiers = [Variable(name, "nominal", "identifier") for name in identifiers_of(described.data.variables)]
    hidden = [variable.name for variable in identifiers]
    known = [*original.names, *hidden, *([] if described.data.cluster is None else [described.data.cluster])]
    problems = unknown_uses(described.uses, known)
    try:
        stated = written_out(rules, [column.name for column in original], hidden)
        stated += declared_bounds(original.variables)
        refuse_identifiers(stated, hidden)
        with timed("check"), stage(reporter, "Checking the original"):
            domain = Domain.from_dataset(original, domain_tuples(stated))
            arrival = check_dataset(original, stated, domain)
    except InputError as error:
        raise InputError(in_order([*problems, *error.problems], described.file)) from error
    if problems:
        raise InputError(in_order(problems, described.file))
    edits, notices = applicable(stated, arrival, original)
    with timed("analyse"), stage(reporter, "Analysing the edits"):
        rule_notices = refuse_contradictions(edits, original.variables)
        refuse_arithmetic_on_text(edits, original)
    located: dict[str, Any] | None = None
    if described.on_input_violation == "localize":
        trusted = {name: each.reliability for name, each in described.data.variables.items() if name in original}
        with timed("localize"), stage(reporter, "Locating errors") as progress:
            original, located, more = with_errors_located(original, edits, trusted, domain, progress)
        broken = {each.name: each.violations for each in check_dataset(original, edits, domain).edits}
    else:
        original, arrival, more = _on_violation(described, original, edits, arrival)
        broken = {each.name: each.violations for each in arrival.edits}
    gone = [f"{variable.name} is an identifier: it is not published" for variable in identifiers]
    said = (*gone, *original.notes, *stated.notes, *notices, *more, *rule_notices, *suspicious_edit_notices(arrival))
    return CheckedInput(original, edits, arrival, broken, tuple(identifiers), said, located)


def _earlier_release(described: Pipeline) -> tuple[str, ...]:
    """Notice when the record to be replaced says that these data were released before, with other random numbers.

    Two releases of one file that were masked at random can be averaged, which takes noise away.
    """
    path = described.output.record
    if path is None or not path.is_file() or all(step.is_deterministic for step in described.steps):
        return ()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        before = {entry["sha256"] for entry in record["inputs"] if entry["role"] == "data"}
        seed = record["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        return (f"{path.name} exists and is no run record: it will be replaced",)
    if file_facts(described.data.path)["sha256"] not in before or seed == described.seed:
        return ()
    danger = "whoever gets both releases can average them and so remove noise"
    return (f"{path.name} says that these data were masked before with another seed: {danger}",)


def _refuse_methods_that_count_records(described: Pipeline) -> None:
    """With households declared, k is a number of households; a method that promises k has to count them."""
    if described.data.cluster is None:
        return
    problems = [
        Problem(
            f"step {step.index}: {step.method.name} counts k in single records, and data.cluster declares clusters of "
            f"records ({described.data.cluster})",
            step.place,
            "use a method that counts households, or remove 'cluster', knowing that k then counts single records",
        )
        for step in described.steps
        if step.method.promised_k(step.params) is not None and not step.method.counts_households
    ]
    if problems:
        raise InputError(problems)


def _refuse_small_blocks(described: Pipeline) -> None:
    """A block has to hold two clusters, or a file just above the block size would be cut below k."""
    size = described.execution.block_size
    for step, request in zip(described.steps, _step_requests(described), strict=True):
        if size is not None and request.k is not None and size < 2 * request.k:
            raise InputError(
                Problem(
                    f"execution.block_size is {size}, but step {step.index} needs blocks of at least 2 k = "
                    f"{2 * request.k} records",
                    step.place,
                )
            )


def load(
    path: Path,
    source: Source,
    params: Any,
    declared: Mapping[str, VariableDeclaration] | None = None,
    progress: Progress = silent,
    cluster: str | None = None,
) -> Dataset:
    """Read a data file, all but its declared identifiers: those are never published, so they are not even kept.

    The variable `cluster` names the household of a record; it is `other` unless it is declared otherwise.
    """
    reading = source.open(path, params, progress)
    stated = dict(declared or {})
    identifies = [name for name, each in stated.items() if each.role == "identifier"]
    if cluster is not None:
        stated = with_household_role(stated, cluster)
    with batches_of(reading) as batches:
        first = next(batches, None)
        if first is None:
            return read_dataset((), lambda: reading.layout, stated, file=path.name)
        hidden = [name for name in identifies if name in first.schema.names and name != cluster]
        kept = (batch.drop_columns(hidden) if hidden else batch for batch in itertools.chain((first,), batches))
        known = {name: each for name, each in stated.items() if name not in hidden}
        data = read_dataset(kept, lambda: reading.layout, known, file=path.name)
    if cluster is None:
        return data
    return with_households(data, cluster).without([cluster] if cluster in identifies else [])


def read_rules(described: Pipeline) -> EditSet:
    """Edits of a pipeline: rules in the file and rule files, in order.

    Raises
    ------
    InputError
        With every mistake in any of them.
    """
    edits, problems = read_edits_of(described.edits)
    if problems:
        raise InputError(problems)
    return edits


def _on_violation(
    described: Pipeline, original: Dataset, edits: EditSet, arrival: Outcome
) -> tuple[Dataset, Outcome, tuple[str, ...]]:
    """Do what the pipeline says with records that violate an edit on arrival."""
    broken = [each for each in arrival.edits if each.violations and each.severity == "error"]
    if not broken or described.on_input_violation == "mask":
        return original, arrival, ()
    shown = ", ".join(f"{each.name}: {each.violations}" for each in broken)
    if described.on_input_violation == "fail":
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
