"""What a run over parts does part by part, and for what it takes all records in one process; and what it will cost."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from maskwright.commands.parted.measuring import is_merged
from maskwright.commands.parted.planning import sample_size
from maskwright.commands.parted.task_run import BLOCK_SIZE
from maskwright.commands.running.cost_estimates import costs_of_measures, gigabytes, limit_of, masked_by_steps
from maskwright.commands.running.loading import read_by_rules, read_rules
from maskwright.commands.running.preparation import refuse_steps
from maskwright.data.parts.part_files import is_remote
from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.applicable_edits import identifiers_of
from maskwright.planning.costs import BASE, READ, Shape, StageCost, costs_over_parts
from maskwright.plugins.engines.local import LOCAL, PROCESSES
from maskwright.plugins.method import Method
from maskwright.release.part_layout import RECORDS_OF_PART

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from maskwright.data.parts.model import Parts
    from maskwright.data.variable import Variable
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.costs import Costs
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Method
    from maskwright.plugins.registered import Registry


CATEGORIES = frozenset({"nominal", "ordinal"})
"""Types of variables that are no numbers."""

IN_ONE_PLACE = "the columns that it reads are in the memory of one worker"

Form = Literal["local", "block", "global", "whole", "run"]
Result = Literal["exact", "blocked", "approximate", "sampled"]


@dataclass(frozen=True)
class Support:
    """A row of the table of ``maskwright explain scale``.

    `form`: each record by itself; blocks of near records; sums over all parts; the columns of all records in one
    place; the whole run in one process. `result`: against a run in memory.
    """

    kind: Literal["method", "measure", "setting"]
    name: str
    form: Form
    result: Result
    why: str


@dataclass(frozen=True)
class Setting:
    """A setting for which all records are in one process."""

    name: str
    why: str
    is_set: Callable[[Pipeline], bool]


def _has_new_keys(pipeline: Pipeline) -> bool:
    declared = pipeline.data.variables.values()
    return pipeline.release.ids == "new" or any(each.release == "new" for each in declared)


SETTINGS = (
    Setting("data: levels", "groups stay with their members", lambda each: each.levels is not None),
    Setting("data: cluster", "members of a household are masked together", lambda each: each.data.cluster is not None),
    Setting("on_input_violation: drop", "the other records are numbered anew",
            lambda each: each.on_input_violation == "drop"),
    Setting("on_input_violation: localize", "values of other records mend a field",
            lambda each: each.on_input_violation == "localize"),
    Setting("release: order: random", "any record may go to any part", lambda each: each.release.order == "random"),
    Setting("release: ids: new", "equal keys get the same new one, and records another place", _has_new_keys),
    Setting("output: key_map", "one file has the old and the new places of all records",
            lambda each: each.output.key_map is not None),
    Setting("output: formulas: escape", "what is read back has no apostrophes",
            lambda each: each.output.escapes_formulas),
    Setting("measure: per_record", "contributions of all records are in one file",
            lambda each: any(request.per_record for request in each.measures)),
)  # fmt: skip


class AllRecordsNeededError(Exception):
    """A run over parts that is done in one process after all."""

    def __init__(self, reasons: Iterable[str]) -> None:
        super().__init__()
        self.reasons = tuple(dict.fromkeys(reasons))


def need_no_other_records(reasons: Iterable[str]) -> None:
    """Leave the run over parts if there is any reason to."""
    found = tuple(reasons)
    if found:
        raise AllRecordsNeededError(found)


def is_by_record(method: Method) -> bool:
    """Whether a method masks each record by itself, if need be with facts on all of them."""
    return method.claims.cut == "any" or method.claims.gathering is not None


def needs_one_place(method: Method, variables: Iterable[Variable]) -> bool:
    """Whether a method takes all records of these variables at once; of categories one in blocks does, too."""
    if is_by_record(method):
        return False
    return method.claims.cut == "none" or not all(each.is_numeric for each in variables)


def clusters_of(plan: Plan, unit: AdjustmentUnit) -> int | None:
    """Group with whose clusters a unit is adjusted where they are made; None where records are alone."""
    if unit.group is None or is_by_record(plan.steps[plan.groups[unit.group].step - 1].method):
        return None
    return unit.group


def home_of(plan: Plan, unit: AdjustmentUnit) -> int | None:
    """The same where that is all; None where records are adjusted, part by part, at the end.

    Where clusters are made nothing is known yet of what later steps publish.
    """
    found = clusters_of(plan, unit)
    read = {name for each in plan.edits if each.name in unit.edits for name in each.variables}
    later = {name for group in plan.groups[(found or 0) + 1 :] for name in group.variables}
    return None if later & (read & plan.recoded | set(unit.variables)) else found


def of_all_records(method: Method) -> str | None:
    """Why a method takes the whole run into one process; None where it does not."""
    if method.is_remover:
        return "takes records or cells away, as all others leave them"
    if "cells" in method.claims.removes:
        return "leaves cells empty, as all others leave them"
    return "draws records anew" if method.claims.draws_records else None


def support_of_method(method: Method) -> Support:
    """What a method does in a run over parts."""
    why = of_all_records(method)
    if why is not None:
        return Support("method", method.name, "run", "exact", why)
    if method.claims.cut == "any":
        return Support("method", method.name, "local", "exact", "changes each record by itself, part by part")
    if method.claims.gathering is not None:
        message = "asks something of all records first, then changes each by itself, part by part"
        message += f"; with {method.claims.gathering.not_with} in one place" if method.claims.gathering.not_with else ""
        return Support("method", method.name, "local", "exact", message)
    if method.claims.cut == "none" or not method.claims.variable_types - CATEGORIES:
        message = f"sees all records at once: {IN_ONE_PLACE}"
        message += "" if method.variant is None else ", unless its parameters ask nothing of the others"
        return Support("method", method.name, "whole", "exact", message)
    message = "in blocks of near records, cut by a sample; as good as `block_size` in memory"
    message += f"; of categories {IN_ONE_PLACE}" if method.claims.variable_types & CATEGORIES else ""
    return Support("method", method.name, "block", "blocked", message)


def support_of_measure(measure: Measure) -> Support:
    """What a measure does in a run over parts."""
    merging = measure.merging
    if measure.claims.of_levels:
        return Support("measure", measure.name, "run", "exact", "counts groups with all their members")
    if merging is None:
        return Support("measure", measure.name, "whole", "exact", "all columns are in the memory of one worker")
    message = "rows of all parts, shuffled to tasks that count them" if merging.counted else "sums of all parts"
    message = "a sample of the records against all parts" if merging.sampled else message
    message += "" if merging.refused is None else "; with some parameters in one place"
    return Support("measure", measure.name, "global", merging.result, message)


def support(registry: Registry) -> Iterator[Support]:
    """Every method and measure that is installed, and the settings for which all records are in one process."""
    for method in registry.methods.values():
        yield support_of_method(method)
    for measure in registry.measures.values():
        yield support_of_measure(measure)
    for setting in SETTINGS:
        yield Support("setting", setting.name, "run", "exact", setting.why)


def reasons_of_request(pipeline: Pipeline) -> Iterator[str]:
    """What a pipeline asks for that takes all records in one process."""
    yield from (f"{each.name} ({each.why})" for each in SETTINGS if each.is_set(pipeline))
    for step in pipeline.steps:
        why = of_all_records(step.method)
        if why is not None:
            yield f"step {step.number}: {step.method.name} {why}"
    for each in pipeline.measures:
        if each.asked and each.measure.claims.of_levels:
            yield f"{each.label} {support_of_measure(each.measure).why}"
    hidden = identifiers_of(pipeline.data.variables)
    for name in read_by_rules(read_rules(pipeline), hidden) if hidden else ():
        yield f"edits read {name}, which is not published, and check the original with it"


def in_one_process(pipeline: Pipeline, reasons: tuple[str, ...]) -> Pipeline:
    """The pipeline with all records in one process, in blocks as they are without a word on them over parts."""
    execution = pipeline.execution
    execution = execution.model_copy(update={"block_size": execution.block_size or BLOCK_SIZE})
    return replace(pipeline, execution=execution, in_one_process=reasons)


def reasons_of_output(pipeline: Pipeline, parts: Parts) -> Iterator[str]:
    """What an output asks for, of the parts that there are, that takes all records in one process."""
    output = pipeline.output
    if not output.is_folder and len(parts) > 1:
        yield f"output data: {output.data.name} is one file, and the data have {len(parts)} parts"
    if output.source.name != pipeline.data.source.name:
        yield f"output data: the format is another than that of the parts, {pipeline.data.source.name}"


def refuse_request(pipeline: Pipeline) -> None:
    """Refuse blocks in which no cluster fits, and an output that is sent from nowhere."""
    refuse_steps(pipeline)
    if is_remote(str(pipeline.output.data)) and (pipeline.engine is None or pipeline.engine.scratch is None):
        message = "output data: a run over parts writes into a folder first, and sends it when all is well"
        raise InputError(Problem(message, hint="execution: {scratch: DIR} names a folder here that all workers see"))


def reasons_of_plan(plan: Plan) -> Iterator[str]:
    """Edits that take all records in one process."""
    for edit in plan.edits:
        tuples = domain_tuples((edit,))
        if edit.for_validation.engine is not None:
            yield f"edit {edit.name!r} is for another engine, or reads more than one record"
        elif any(0 < sum(name in plan.masked for name in names) < len(names) for names in tuples):
            yield f"edit {edit.name!r} ties masked variables to unmasked ones by the values that occur together"
        elif tuples and plan.coarse.read_by(edit):
            yield f"edit {edit.name!r} reads which values occur together, and one of its variables is recoded"


def with_needed_measures(pipeline: Pipeline, plan: Plan) -> Pipeline:
    """The pipeline without usual measures that were not requested and take all records in one place."""
    folders = pipeline.output.parts if isinstance(pipeline.output.parts, tuple) else ()
    refuse_problems(
        Problem(f"output parts: {unknown_name('variable', name, plan.variables)}")
        for name in folders
        if name not in plan.variables
    )
    return replace(pipeline, measures=tuple(each for each in pipeline.measures if each.asked or is_merged(each)))


def dropped_notices(before: Pipeline, after: Pipeline) -> tuple[Notice, ...]:
    """Say which of the usual measures, which were not requested, are not computed."""
    kept = {each.label for each in after.measures}
    return tuple(
        Notice(
            "not-computed", each.label,
            f"{each.label} is not computed, which no output needs: it takes all records in one place; name it under "
            "`measure:`",
        )
        for each in before.measures
        if each.label not in kept
    )  # fmt: skip


HINT = (
    "Take a larger memory_limit, fewer workers, parts of fewer records, or a smaller block_size; `maskwright plan` "
    "says what each stage needs."
)


def costs_of_parted_plan(
    request: Pipeline, plan: Plan, variables: int, records: int, part: int | None = None, examined: int = 0
) -> Costs:
    """Expected costs of a run over parts; `examined`: columns of which all records are examined together."""
    block = request.execution.block_size or BLOCK_SIZE
    largest = min(max(part or block, _records_of_file(request)), records)
    shape = Shape(records, variables, largest, block, sample_size(request, records), request.execution.at_once)
    return costs_over_parts(
        shape, masked_by_steps(plan), plan.steps, costs_of_measures(request, plan),
        masked_at_once=max(examined, *map(len, _columns_in_one_place(plan)), 0),
        is_measured_at_once=not all(map(is_merged, request.measures)),
    )  # fmt: skip


def _columns_in_one_place(plan: Plan) -> Iterator[set[str]]:
    """What one task reads to mask each group of which it takes all records."""
    for group in plan.groups:
        step = plan.steps[group.step - 1]
        if needs_one_place(step.method, (plan.variables[name] for name in group.variables)):
            tied = {name for edit in group.edits for name in plan.edits[edit].variables}
            yield {*group.variables, *step.companions, *tied}


def _records_of_file(request: Pipeline) -> int:
    """Most records of a file that is made of several parts; 0 where each part is written as it came."""
    requested = request.output.parts
    return RECORDS_OF_PART if isinstance(requested, tuple) else requested or 0


def worker_limit(request: Pipeline, costs: Costs) -> int | None:
    """Bytes that a worker may take: what the pipeline says, else what its machine leaves; None where nobody knows."""
    limit = limit_of(request)
    assert request.engine is not None
    engine = request.engine.plugin
    if limit is None:
        return None
    if engine is LOCAL:
        # All workers are threads of the process that leads; what the program takes, it takes once.
        return int((limit - costs.leader - BASE) / costs.workers + BASE)
    if request.execution.memory_limit is not None:
        return limit
    return int((limit - costs.leader) / costs.workers) if engine is PROCESSES else None


def refuse_unscannable(request: Pipeline, parts: Parts) -> None:
    """Refuse parts of which a worker cannot hold the largest one, before they are read."""
    largest = max(parts, key=lambda each: each.records)
    variables = len(parts.schema or ())
    shape = Shape(parts.records, variables, largest.records, max(1, largest.records), 1, request.execution.at_once)
    costs = costs_over_parts(shape, [])
    need = StageCost("scan", BASE + READ.memory * largest.records * variables, 0.0)
    _refuse(need, worker_limit(request, costs), request, largest.name)


def refuse_too_large_parts(request: Pipeline, plan: Plan, parts: Parts, scratch: Path, examined: int) -> None:
    """Refuse a run that is expected to need more memory than its workers have, or more room on the way than is left."""
    largest = max(parts, key=lambda each: each.records)
    costs = costs_of_parted_plan(request, plan, len(parts.schema or ()), parts.records, largest.records, examined)
    _refuse(costs.peak, worker_limit(request, costs), request, largest.name)
    used = sum(each.stat().st_size for each in scratch.rglob("*") if each.is_file())
    free = shutil.disk_usage(scratch).free + used
    if costs.scratch > free:
        raise InputError(
            Problem(
                f"the run is expected to write {gigabytes(costs.scratch)} on the way, and {scratch.parent} has room "
                f"for {gigabytes(free)}",
                hint="Name a folder with more room: execution: {scratch: DIR}.",
            )
        )


def _refuse(peak: StageCost, limit: int | None, request: Pipeline, part: str) -> None:
    if limit is None or peak.bytes <= limit:
        return
    stated = request.execution.memory_limit
    there = f"this machine leaves {gigabytes(limit)} for each" if stated is None else f"memory_limit is {stated}"
    workers = request.execution.at_once
    shared = f" for {workers} workers in one process" if stated is not None and limit < (limit_of(request) or 0) else ""
    raise InputError(
        Problem(
            f"each worker is expected to need {gigabytes(peak.bytes)} (stage: {peak.stage}; the largest part is "
            f"{part}), and {there}{shared}",
            hint=HINT,
        )
    )
