"""The plan of a run: what will be done to which variables, and who keeps each edit. Nothing is masked or written."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.requests import DeclaredVariables, Rules, masking_request
from maskwright.commands.running.cost_estimates import costs_in_memory, costs_json, costs_of_plan
from maskwright.commands.running.loading import Clock, read_rules
from maskwright.commands.running.preparation import (
    dropped_edits,
    plan_findings,
    plan_of_steps,
    prepare,
)
from maskwright.commands.running.release_candidate import planned_run
from maskwright.data.declaration import variable_of
from maskwright.data.frame_libraries import taken_in
from maskwright.data.variable import Variable, VariableType
from maskwright.edits.normalisation import refuse_ranges
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import distinct_notices, notices_of
from maskwright.foundation.progress import Logged, Reporter
from maskwright.pipeline.reading import read_pipeline
from maskwright.pipeline.variable_names import names_in
from maskwright.planning.applicable_edits import refuse_contradictions
from maskwright.planning.recoded_edits import (
    recoded_edit_notices,
)
from maskwright.plugins.registry import pipelines_own_plugins
from maskwright.release.protection_checks import require_every_step_planned
from maskwright.release.pseudonymisation import key_names
from maskwright.release.record.record_parts import PlannedVariable, PlanRecord, PublishedAs, doubt_records
from maskwright.release.release_decision import decide_release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.frame_libraries import Data
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.plan import Plan


def plan(
    data: Data,
    method: str | None = None,
    *,
    steps: Sequence[Mapping[str, object]] | None = None,
    edits: Rules | None = None,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    within: str | Sequence[str] = (),
    declared: DeclaredVariables | None = None,
    cluster: str | None = None,
    reporter: Reporter | None = None,
) -> Plan:
    """Say what `maskwright.protect` would do with these arguments: groups, strata, and who keeps each edit.

    Parameters
    ----------
    data, method, steps, edits, params, variables, groups, within, declared, cluster
        As in `maskwright.protect`.
    reporter : Reporter, optional
        Receives stages; by default the logger ``maskwright`` does.

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
        within=within, declared=declared, cluster=cluster,
    )  # fmt: skip
    ready = prepare(request, reporter or Logged())
    return replace(ready.plan, doubts=ready.doubts)


@pipelines_own_plugins()
def plan_pipeline(
    pipeline: str | Path | Mapping[str, object],
    overrides: Mapping[str, object] | Sequence[str] = (),
    *,
    with_data: bool = True,
    data: Dataset | None = None,
    assume_records: int | None = None,
    reporter: Reporter | None = None,
) -> dict[str, Any]:
    r"""Plan of a pipeline, as ``maskwright plan --json`` prints it.

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
    data : Dataset, optional
        What `maskwright.pipeline_data` read of this pipeline: the file is then read once more only where that could say
        something else. The plan is the same.
    assume_records : int, optional
        Records that expected memory and time are said of, in place of those of the file.
    reporter : Reporter, optional
        Receives stages; by default the logger ``maskwright`` does.

    Raises
    ------
    InputError
        With every mistake in the file; edits that contradict each other; a plan that cannot keep k.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> settings = {
    ...     "maskwright": 1, "data": {"source": "people.csv"}, "edits": ["wages >= 0"],
    ...     "protect": [{"method": "microaggregation", "params": {"k": 2}}], "output": {"data": "masked.csv"},
    ... }
    >>> _ = Path("people.csv").write_text("wages\n10\n20\n30\n40\n")
    >>> plan = mw.plan_pipeline(settings)
    >>> plan["records"], [edit["kept_by"] for edit in plan["edits"]]
    (4, ['construction'])
    """
    request = read_pipeline(pipeline, overrides, check_data=with_data)
    if not with_data:
        return _plan_without_data(request, assume_records)
    if request.data.held is None and data is not None:
        request = replace(request, data=replace(request.data, held=data))
    with ExitStack() as stack:
        planned = planned_run(request, reporter or Logged(), Clock(), stack)
        plan, described = planned.to_json(), planned.pipeline
        require_every_step_planned(described.steps, PlanRecord.model_validate(plan))
        judgement = decide_release(planned.doubts, described.waivers)
        notices = [each.to_json() for each in distinct_notices(planned.notices)]
        found = {
            "doubts": [each.to_json() for each in doubt_records(judgement)],
            "notices": [each for each in notices if each not in plan["warnings"]],
        }
        found["variables"] = _planned_variables(described, planned.variables, PlanRecord.model_validate(plan))
        checks = {"checks": plan_findings(described, plan)} if described.checks else {}
        return plan | found | checks | planned.extent(assume_records)


def _planned_variables(
    described: Pipeline, published: Mapping[str, Variable], plan: PlanRecord
) -> list[dict[str, Any]]:
    """Each variable of the data: what it is, by what, and which steps mask it."""
    sources = [described.data] if described.levels is None else list(described.levels.sources.values())
    names = dict.fromkeys(name for source in sources for name in names_in(source) or ())
    declared = {name: each for source in sources for name, each in source.variables.items()}
    found = []
    for name in dict.fromkeys([*names, *published, *plan.dropped]):
        known, own = published.get(name), declared.get(name)
        origin = described.data.origins.get(name)
        stated = own is not None and own.role is not None
        steps = tuple(
            step.step
            for step in plan.steps
            if any(name in (*group.variables, *group.computed) for group in step.groups)
        )
        is_dropped = name in plan.dropped or name not in published
        published_as: PublishedAs = "as it is" if name in plan.untouched or not steps else "masked"
        if name in plan.new_keys:
            published_as = "new values"
        elif is_dropped:
            published_as = "no"
        found.append(
            PlannedVariable(
                name=name, type=known.type if known is not None else None if own is None else own.type,
                role="identifier" if known is None or is_dropped else known.role,
                declared_by="" if not stated else "codebook or file" if origin is None else origin.words,
                line=None if origin is None else origin.place.line, steps=steps,
                published=published_as,
            ).model_dump()
        )  # fmt: skip
    return found


def _plan_without_data(request: Pipeline, assume_records: int | None) -> dict[str, Any]:
    """Plan of what is declared: nothing is known of values, and of records only their assumed number."""
    if request.levels is not None:
        hint = "Leave out `--no-data`."
        raise InputError(Problem("what the levels have is known from the data only", hint=hint))
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
    plan = plan_of_steps(request.steps, variables, edits)
    dropped = dropped_edits(edits, plan)
    stated = recoded_edit_notices(plan.translations, dropped)
    costs = _costs(request, plan, len(variables), assume_records)
    notices = (*notices_of("rules", edits.notes), *rule_notices, *stated)
    return plan.to_json() | {"notices": [each.to_json() for each in notices]} | costs


def _costs(request: Pipeline, plan: Plan, variables: int, assumed: int | None) -> dict[str, Any]:
    """Expected memory and time of the run; nothing where no one knows how many records there are."""
    if assumed is None:
        return {}
    if request.engine is not None:
        from maskwright.commands.parted.feasibility import (
            costs_of_parted_plan,
            in_one_process,
            reasons_of_request,
            worker_limit,
        )

        reasons = tuple(reasons_of_request(request))
        if reasons:
            request = in_one_process(request, reasons)
            return costs_in_memory(request, costs_of_plan(request, plan, variables, assumed))
        over_parts = costs_of_parted_plan(request, plan, variables, assumed)
        return costs_json(over_parts, worker_limit(request, over_parts), request)
    return costs_in_memory(request, costs_of_plan(request, plan, variables, assumed))


def _declared_variable(name: str, declared: VariableDeclaration | None) -> Variable:
    if declared is None:
        return Variable(name)
    dated: VariableType = "datetime" if declared.is_datetime else "date"
    listed: VariableType = "nominal" if declared.categories else "continuous"
    kind: VariableType = declared.type or (dated if declared.is_date else listed)
    return variable_of(
        name, kind, "confidential" if kind in ("continuous", "integer") else "other", declared,
        decimals=0 if declared.is_date else declared.decimals,
        date_format=declared.date_format if declared.is_date else None, renewed=declared.release == "new",
        categories=declared.categories or (),
    )  # fmt: skip
