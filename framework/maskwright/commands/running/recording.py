"""The record of a run from its parts, and what ``maskwright run --json`` prints of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from maskwright.pipeline.resolved import RuleFile
from maskwright.planning.model import with_steps
from maskwright.plugins.guarding.origin import origin_of
from maskwright.plugins.parameter_markers import files_named
from maskwright.plugins.registry import plugins
from maskwright.release.codebook import Treatment, treatment
from maskwright.release.data_file import data_facts, file_facts
from maskwright.release.measures.variable_selection import not_measured, to_be_measured
from maskwright.release.record.adjustment_record import AdjustedUnit, LossByStep, MomentDrift, MovedRows
from maskwright.release.record.measure_record import measure_record
from maskwright.release.record.record_parts import PlanRecord, doubt_records, notice_record
from maskwright.release.record.run_record import (
    ClassesRecord,
    DroppedEdit,
    EditRecord,
    InputFile,
    LocalisationRecord,
    MethodNotes,
    PipelineRecord,
    PluginRecord,
    ReleasedForm,
    RunRecord,
    SuppressedCells,
    VariableRecord,
    ZeroShares,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Layout
    from maskwright.edits.edit import Edit, EditKind
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.model import KeptBy
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.protection_checks import UnchangedCells
    from maskwright.release.release_decision import ReleaseDecision


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run of which nothing is left to do but to release it, or to refuse that.

    `outcome`: verdicts on the masked file as it was read back. `unchanged`: of each variable of the masked file.
    """

    pipeline: Pipeline
    prepared: ReadyRun
    result: MaskingResult
    outcome: Outcome
    found: Mapping[str, Measurement]
    unchanged: tuple[UnchangedCells, ...]
    judgement: ReleaseDecision
    seed: int
    seconds: Mapping[str, float]


def run_record(run: MeasuredRun) -> RunRecord:
    """Record of a run that is not released yet: not ok, and without outputs."""
    described, prepared, result = run.pipeline, run.prepared, run.result
    plan = PlanRecord.model_validate(prepared.plan.to_json())
    changed = _changed_weights(run)
    plan = plan.model_copy(update={"untouched": tuple(name for name in plan.untouched if name not in changed)})
    block = described.execution.block_size
    return RunRecord(
        maskwright=version("maskwright"),
        ok=False,
        records=run.outcome.records,
        left_out={"record": prepared.left_out} if prepared.left_out else {},
        pipeline=PipelineRecord(file=described.name, text=described.text, settings=dict(described.settings)),
        inputs=tuple(_inputs(described, prepared.original.layout)),
        outputs={},
        plugins=_plugins(described),
        seed=run.seed,
        mode="exact" if block is None else f"blocks of at most {block} records",
        variables=tuple(_variables(run)),
        release=ReleasedForm(order="random" if prepared.is_shuffled else "kept", new_keys=tuple(prepared.keys.names)),
        plan=plan,
        edits=tuple(_edits(run, plan)),
        doubts=doubt_records(run.judgement),
        dropped_edits=tuple(DroppedEdit(name=edit.name, text=edit.text) for edit in _dropped(run)),
        suppressed=tuple(
            SuppressedCells.model_validate(each) for each in (result.removal.suppressed if result.removal else ())
        ),
        localisation=(
            None if prepared.localisation is None else LocalisationRecord.model_validate(prepared.localisation)
        ),
        k=ClassesRecord.model_validate(result.k),
        measures={
            each.label: measure_record(each, run.found[each.label], described.thresholds) for each in described.measures
        },
        not_measured=not_measured(described.measures, to_be_measured(prepared.plan), prepared.plan.altered),
        adjustment=tuple(AdjustedUnit.model_validate(unit) for unit in result.adjustment),
        moved=tuple(MovedRows.model_validate(each) for each in result.moved),
        loss_by_step=None
        if prepared.plan.draws_records
        else LossByStep(
            method=result.cost.method,
            adjustment=result.cost.adjustment,
            rounding=result.cost.rounding,
            several_edits=result.cost.several_edits,
        ),
        moment_drift=_moment_drift(result),
        structural_zeros=tuple(ZeroShares.model_validate(each) for each in result.zeros),
        methods=tuple(MethodNotes.model_validate(notes) for notes in result.notes),
        notices=tuple(notice_record(each) for each in (*prepared.notices, *result.notices)),
        seconds=dict(run.seconds),
    )


def _inputs(described: Pipeline, layout: Layout) -> Iterator[InputFile]:
    yield InputFile(role="data", file=described.data.path.name, **data_facts(described.data, layout))
    if described.data.codebook is not None:
        codebook = described.data.codebook.path
        yield InputFile(role="codebook", file=codebook.name, **file_facts(codebook))
    if described.path is not None:
        yield InputFile(role="pipeline", file=described.path.name, **file_facts(described.path))
    for each in described.edits:
        if isinstance(each, RuleFile):
            yield InputFile(role="edits", file=each.path.name, **file_facts(each.path))
    for path in dict.fromkeys(path for each in described.steps for path in files_named(each.params).values()):
        yield InputFile(role="method", file=path.name, **file_facts(path))
    for path in dict.fromkeys(path for each in described.measures for path in files_named(each.params).values()):
        yield InputFile(role="measure", file=path.name, **file_facts(path))


def _plugins(described: Pipeline) -> dict[str, PluginRecord]:
    registry = plugins()
    used = {("source", described.data.source.name), ("source", described.output.source.name)}
    used |= {("method", step.method.name) for step in described.steps}
    used |= {("partition", step.partition.partition.name) for step in described.steps if step.partition is not None}
    used |= {("measure", request.measure.name) for request in described.measures}
    used |= {("rule_language", each.reader.name) for each in described.edits if isinstance(each, RuleFile)}
    used |= {("report", report.name) for report, _ in described.output.reports}
    infos = {f"{kind} {name}": registry.info(kind, name) for kind, name in sorted(used)}
    found = {key: PluginRecord(distribution=info.distribution, version=info.version) for key, info in infos.items()}
    return found | observer_records(registry.observers)


def observer_records(observers: Mapping[str, Sequence[Callable[..., None]]]) -> dict[str, PluginRecord]:
    """Packages that observe steps: each could have failed the run."""
    origins = (origin_of(each, "observer", hook) for hook, reported in sorted(observers.items()) for each in reported)
    return {
        f"observer {each.name} of {each.distribution}": PluginRecord(
            distribution=each.distribution, version=each.version
        )
        for each in origins
    }


def _variables(run: MeasuredRun) -> Iterator[VariableRecord]:
    plan = run.prepared.plan
    masked_by = {
        name: step.number for group, step in with_steps(plan.groups, plan.steps) if step.method.changes_cells
        for name in group.variables
    } | _changed_weights(run)  # fmt: skip
    unchanged = {each.variable.name: each.percent for each in run.unchanged}
    published = {variable.name: variable for variable in run.result.masked.variables}
    treatments = _treatments(run)
    for variable in plan.variables.values():
        after = published.get(variable.name, variable)
        treated = treatments[variable.name]
        yield VariableRecord(
            name=variable.name,
            type=after.type,
            role=variable.role,
            decimals=after.decimals,
            altered=treated.altered,
            done=treated.text,
            masked_by=masked_by.get(variable.name),
            unchanged=unchanged.get(variable.name),
        )


def _treatments(run: MeasuredRun) -> dict[str, Treatment]:
    """What was done to each variable of the original."""
    plan, removal = run.prepared.plan, run.result.removal
    emptied = {} if removal is None else {each["variable"]: each["cells"] for each in removal.suppressed}
    others = {} if removal is None else removal.complementary
    other_weights = _changed_weights(run)
    return {
        name: treatment(plan, name, emptied.get(name, 0), others.get(name, ()), reweighted=name in other_weights)
        for name in plan.variables
    }


def _changed_weights(run: MeasuredRun) -> dict[str, int]:
    """Weights that a step changed that took records away, with its number."""
    steps = [step.number for step in run.prepared.plan.steps if not step.method.changes_cells]
    return {
        each.variable.name: steps[0] for each in run.unchanged
        if steps and each.variable.role == "weight" and each.unchanged < each.cells
    }  # fmt: skip


def _edits(run: MeasuredRun, plan: PlanRecord) -> Iterator[EditRecord]:
    prepared, result = run.prepared, run.result
    arrival = {each.name: each for each in (prepared.as_it_came or prepared.arrival).edits}
    planned: dict[str, tuple[KeptBy, str]] = {each.name: (each.kept_by, each.how) for each in plan.edits}
    planned |= {each.edit: (each.kept_by, each.how) for each in result.keepers}
    # An edit that is published `when` its cells are present is still of the kind that was masked for.
    own_kind: dict[str, EditKind] = {edit.name: edit.kind for edit in prepared.edits}
    became = {} if result.terms is None else {each.original.name: each for each in result.terms.translations}
    for each in run.outcome.edits:
        kept_by, how = planned[each.name]
        moved = result.adjusted.get(each.name, 0)
        edit = result.edits[each.name]
        yield EditRecord(
            name=each.name,
            kind=own_kind.get(each.name, each.kind),
            text=edit.text,
            message=edit.message,
            severity=edit.severity,
            planned=kept_by,
            # A promise is only reported as kept when it was: an edit that needed adjustment was kept by adjustment.
            kept_by="adjustment" if moved and kept_by == "construction" else kept_by,
            how=how,
            violations=each.violations,
            # A limit is no edit of the original: it was set to be crossed there.
            violations_on_arrival=arrival[each.name].violations if each.name in arrival else 0,
            unknown=each.unknown,
            not_applicable=0 if result.removal is None else result.removal.not_applicable.get(each.name, 0),
            fired=each.fired,
            adjusted=moved,
            loss=(result.cost.edits or {}).get(each.name, 0.0),
            form=became[each.name].form if each.name in became else None,
            stated=became[each.name].original.text if each.name in became else None,
        )


def _dropped(run: MeasuredRun) -> tuple[Edit, ...]:
    """Edits that were dropped before masking, and when the categories were known."""
    return (*run.prepared.dropped, *(() if run.result.terms is None else run.result.terms.dropped))


def run_json(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``maskwright run --json`` prints."""
    return {
        "ok": record["ok"],
        "records": record["records"],
        "edits": [
            {key: row[key] for key in ("name", "kind", "kept_by", "violations", "adjusted")} for row in record["edits"]
        ],
        "k": record["k"],
        "measures": record["measures"],
        "doubts": record["doubts"],
        "notices": record["notices"],
        "unchanged": {
            f"{each['level']}/{each['name']}" if each.get("level") else each["name"]: each["unchanged"]
            for each in record["variables"]
            if each["masked_by"] is not None and each["unchanged"] is not None
        },
        "outputs": {key: facts["file"] for key, facts in record["outputs"].items()},
        "seconds": record["seconds"],
    }


def _moment_drift(result: MaskingResult) -> MomentDrift | None:
    found = None if result.distortion is None else result.distortion.to_json()
    return None if found is None else MomentDrift.model_validate(found)
