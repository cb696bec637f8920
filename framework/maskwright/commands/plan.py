"""The plan of a run: what will be done to which variables, and who keeps each edit. Nothing is masked or written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.requests import DeclaredVariables, Rules, masking_request
from maskwright.commands.running.arrive import CheckedInput, Clock, arrive, explained_by, read_rules
from maskwright.commands.running.refused_steps import refuse_steps
from maskwright.data.dataset import Dataset
from maskwright.data.frame_libraries import taken_in
from maskwright.data.variable import Variable, VariableType
from maskwright.edits.edit_set import EditSet
from maskwright.edits.variable_ranges import refuse_ranges
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Logged, Reporter, stage
from maskwright.pipeline.names import in_order
from maskwright.pipeline.reading import read_pipeline
from maskwright.pipeline.resolved import Pipeline
from maskwright.planning.applicable_edits import refuse_contradictions
from maskwright.planning.make_plan import make_plan
from maskwright.planning.recoded_edits import (
    published_before_data,
    recoded_edit_notices,
    recoded_variables,
    settled,
)
from maskwright.planning.warnings.publication_warnings import publication_notices
from maskwright.release.arranging import Arranged, Keys, arranged, key_names
from maskwright.release.facts import data_facts
from maskwright.release.gate import judge
from maskwright.release.measures.measured_variables import measure_doubts, measure_problems, to_be_measured
from maskwright.release.other_format import label_notices, missing_code_notices
from maskwright.release.record.doubt_record import doubt_records
from maskwright.release.second_look import not_read_twice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.frame_libraries import Data
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import MaskingRequest
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan


@dataclass(frozen=True, eq=False)
class ReadyRun:
    """A request with its data and edits read, and the plan made.

    Attributes
    ----------
    request : MaskingRequest
    original : Dataset
    edits : EditSet
        That fire on these data.
    arrival : Outcome
        Verdicts on the original.
    plan : Plan
    notices : tuple of str
    doubts : tuple of Doubt
        Of reading and planning.
    localisation : mapping or None
        Under ``on_input_violation: localize``: which fields of which records were adjusted. Confidential.
    dropped : tuple of Edit
        Those that steps drop, because what they read is published as categories.
    keys : Keys
        Published with new values; they are put back when all else is done.
    """

    request: MaskingRequest
    original: Dataset
    edits: EditSet
    arrival: Outcome
    plan: Plan
    notices: tuple[str, ...]
    doubts: tuple[Doubt, ...] = ()
    localisation: Mapping[str, Any] | None = None
    dropped: tuple[Edit, ...] = ()
    keys: Keys = field(default_factory=lambda: Keys(Dataset(())))

    @property
    def is_shuffled(self) -> bool:
        """Whether the records are released in random order."""
        asked = self.request.release.order
        return asked == "random" or (asked is None and bool(self.keys.names))

    def arranged(self, masked: Dataset, seed: int) -> Arranged:
        """Masked data with their new keys, in the order of the release."""
        return arranged(
            masked, self.original, self.keys, seed, is_shuffled=self.is_shuffled, untouched=self.plan.untouched
        )


def plan(
    data: Data,
    method: str | None = None,
    *,
    steps: Sequence[Mapping[str, object]] | None = None,
    edits: Rules | None = None,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    declared: DeclaredVariables | None = None,
    cluster: str | None = None,
    reporter: Reporter | None = None,
) -> Plan:
    """Say what `maskwright.protect` would do with these arguments: groups, strata, and who keeps each edit.

    Parameters
    ----------
    data, method, steps, edits, params, variables, groups, declared, cluster
        As in `maskwright.protect`.
    reporter : Reporter, optional
        Told of stages; the logger ``maskwright`` is by default.

    Returns
    -------
    Plan
        ``groups``, ``keepers``, ``untouched``, ``doubts``, ``warnings``. A notebook shows it as tables.

    Raises
    ------
    InputError
        Anything wrong with data, edits or steps.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"wages": range(20), "pensions": range(20)})
    >>> mw.plan(data, "microaggregation", edits=["wages <= pensions"], params={"k": 5})
    Plan(microaggregation: 2 of 2 variables, 1 edits)
    """
    request = masking_request(
        taken_in(data).data, method, steps=steps, edits=edits, params=params, variables=variables, groups=groups,
        declared=declared, cluster=cluster,
    )  # fmt: skip
    ready = prepare(request, reporter or Logged())
    return replace(ready.plan, doubts=ready.doubts)


def plan_pipeline(
    pipeline: str | Path | Mapping[str, object],
    overrides: Mapping[str, object] | Sequence[str] = (),
    *,
    with_data: bool = True,
    reporter: Reporter | None = None,
) -> dict[str, Any]:
    """Plan of a pipeline, as ``maskwright plan --json`` prints it.

    Without data, the variables are those that are declared, named by a step or used by an edit, all numeric unless
    declared.

    Parameters
    ----------
    pipeline : str, Path or mapping
        A pipeline file, or what it would say.
    overrides : mapping of dotted path to value, or sequence of "path=value"
        Put over the settings of the file.
    with_data : bool, default True
        Whether the data file is read.
    reporter : Reporter, optional
        Told of stages; the logger ``maskwright`` is by default.

    Raises
    ------
    InputError
        With every mistake in the file; edits that contradict each other; a plan that cannot keep k.
    """
    request = read_pipeline(pipeline, overrides, check_data=with_data)
    if with_data:
        ready = prepare(request, reporter or Logged())
        judgement = judge(ready.doubts, request.waivers)
        doubts = [each.to_json() for each in doubt_records(judgement)]
        return ready.plan.to_json() | {"doubts": doubts, "notices": list(ready.notices)}
    edits = read_rules(request)
    refuse_ranges(edits)
    named = [name for step in request.steps for name in step.named]
    variables = [
        _declared_variable(name, request.data.variables.get(name))
        for name in dict.fromkeys([*request.data.variables, *edits.variables, *named])
    ]
    keys = key_names(request.release, variables, request.data.cluster)
    variables = [replace(each, renewed=each.name in keys) for each in variables]
    rule_notices = refuse_contradictions(edits, variables)
    plan = _plan(request.steps, variables, edits)
    _refuse_impossible_limits(plan)
    dropped = _dropped(edits, plan)
    said = recoded_edit_notices(plan.translations, dropped)
    return plan.to_json() | {"notices": [*edits.notes, *rule_notices, *said]}


def prepare(
    request: MaskingRequest, reporter: Reporter, clock: Clock | None = None, *, thorough: bool = True
) -> ReadyRun:
    """Read data and edits, check the original, make the plan.

    Parameters
    ----------
    request : MaskingRequest
    reporter : Reporter
    clock : Clock, optional
    thorough : bool, default True
        As `maskwright.commands.running.arrive.arrive` takes it.

    Raises
    ------
    InputError
        Anything wrong with data, edits or plan.
    EditViolation
        Under ``on_input_violation: fail``.
    """
    timed = clock or Clock()
    refuse_steps(request)
    arrived = arrive(request, reporter, timed, thorough=thorough)
    with timed("plan"), stage(reporter, "Planning"):
        plan = plan_of(request, arrived)
        _refuse_unwritable(request, arrived)
    doubts = (*arrived.doubts, *plan.doubts, *_doubts_of_measures(request, plan))
    dropped = _dropped(arrived.edits, plan)
    written = not_read_twice(request.output.source) if isinstance(request, Pipeline) else ()
    notices = (
        *arrived.notices,
        *recoded_edit_notices(plan.translations, dropped),
        *_earlier_release_notices(request),
        *_notices_of_format(request, arrived.original, plan.recoded),
        *plan.warnings,
        *publication_notices(arrived.original, plan, arrived.broken),
    )
    return ReadyRun(
        request,
        arrived.original,
        plan.edits,
        arrived.outcome,
        plan,
        notices,
        (*doubts, *written),
        arrived.localisation,
        dropped,
        arrived.keys,
    )


def plan_of(request: MaskingRequest, arrived: CheckedInput) -> Plan:
    """Plan of a request's steps on data that have been read; its edits are those that the steps do not drop."""
    variables = [*arrived.identifiers, *arrived.original.variables]
    with explained_by(arrived.doubts):
        plan = _plan(request.steps, variables, arrived.edits, arrived.original, arrived.broken)
        _refuse_impossible_limits(plan)
    return plan


def _plan(
    steps: Sequence[Step],
    variables: Sequence[Variable],
    edits: EditSet,
    data: Dataset | None = None,
    broken: Mapping[str, int] | None = None,
) -> Plan:
    """Plan with what becomes of the edits on recoded variables, as far as that is known before masking."""
    coarse = recoded_variables(edits, steps, variables, broken or {})
    known = published_before_data(steps, variables, coarse)
    found = settled(edits, coarse, known, lambda _: None, coarse.steps.keys() - known.keys())
    gone = {edit.name for edit in found.dropped}
    kept = EditSet(tuple(edit for edit in edits if edit.name not in gone), edits.notes)
    return make_plan(steps, variables, kept, data, broken, coarse=coarse, translations=found.translations)


def _refuse_impossible_limits(plan: Plan) -> None:
    """Stop when no record could satisfy the edits within the limits that the steps set."""
    if len(plan.limits):
        refuse_contradictions(plan.edits + plan.limits, tuple(plan.variables.values()), thorough=False)


def _doubts_of_measures(request: MaskingRequest, plan: Plan) -> tuple[Doubt, ...]:
    """Doubts about what a pipeline measures; mistakes in it are refused here, before anything is masked."""
    if not isinstance(request, Pipeline):
        return ()
    given = to_be_measured(plan)
    problems = measure_problems(request.measures, given)
    if problems:
        raise InputError(in_order(problems, request.file))
    return tuple(measure_doubts(request.measures, request.thresholds, given, plan.masked))


def _dropped(edits: EditSet, plan: Plan) -> tuple[Edit, ...]:
    kept = {edit.name for edit in plan.edits}
    return tuple(edit for edit in edits if edit.name not in kept)


def _declared_variable(name: str, declared: VariableDeclaration | None) -> Variable:
    if declared is None:
        return Variable(name)
    dated: VariableType = "datetime" if declared.is_datetime else "date"
    listed: VariableType = "nominal" if declared.categories else "continuous"
    kind: VariableType = declared.type or (dated if declared.is_date else listed)
    role = declared.role or ("confidential" if kind in ("continuous", "integer") else "other")
    return Variable(
        name, kind, role, decimals=0 if declared.is_date else declared.decimals,
        date_format=declared.date_format if declared.is_date else None, as_is=declared.release == "as is",
        inferred_role=declared.role is None, renewed=declared.release == "new", categories=declared.categories or (),
    )  # fmt: skip


def _earlier_release_notices(request: MaskingRequest) -> tuple[str, ...]:
    """Notice when the record to be replaced says that these data were released before, with other random numbers.

    Two releases of one file that were masked at random can be averaged, which takes noise away.
    """
    if not isinstance(request, Pipeline):
        return ()
    path = request.output.record
    if path is None or not path.is_file() or all(step.is_deterministic for step in request.steps):
        return ()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        before = {entry["sha256"] for entry in record["inputs"] if entry["role"] == "data"}
        seed = record["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        return (f"{path.name} exists and is no run record: it will be replaced",)
    if data_facts(request.data)["sha256"] not in before or seed == request.seed:
        return ()
    danger = "whoever gets both releases can average them and so remove noise"
    return (f"{path.name} says that these data were masked before with another seed: {danger}",)


def _notices_of_format(request: MaskingRequest, original: Dataset, recoded: Collection[str]) -> tuple[str, ...]:
    """What the format of the masked file cannot say; of codes of recoded variables that is seen when they are."""
    if not isinstance(request, Pipeline):
        return ()
    has_codebook = request.output.codebook is not None
    target = request.output.source
    return (
        *missing_code_notices(original.without(tuple(recoded)), target, has_codebook=has_codebook),
        *label_notices(original, target, has_codebook=has_codebook),
    )


def _refuse_unwritable(request: MaskingRequest, arrived: CheckedInput) -> None:
    """Refuse what the format of the masked file cannot hold, before anything is masked."""
    if not isinstance(request, Pipeline) or request.output.source.refuse_unwritable is None:
        return
    original = arrived.original
    variables = {each.name: each for each in (*original.variables, *arrived.keys.old.variables)}
    names = arrived.keys.order or original.names
    request.output.source.refuse_unwritable(
        request.output.data, tuple(variables[name] for name in names), original.layout
    )
