"""What a run over parts can do, by method and measure; what it cannot is refused by name; and what it will cost."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from maskwright.commands.parted.measuring import is_merged, refused_measure, unmeasurable
from maskwright.commands.parted.planning import sample_size
from maskwright.commands.parted.task_run import BLOCK_SIZE
from maskwright.commands.running.cost_estimates import limit_of, masked_by_steps
from maskwright.data.parts.part_files import is_remote
from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.costs import BASE, READ, Shape, StageCost, costs_over_parts
from maskwright.plugins.engines.local import LOCAL, PROCESSES
from maskwright.plugins.method import Method
from maskwright.release.part_layout import RECORDS_OF_PART

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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

Form = Literal["local", "block", "global", "whole", "refused"]
Result = Literal["exact", "blocked", "approximate", "sampled", "refused"]


@dataclass(frozen=True)
class Support:
    """A row of the table of ``maskwright explain scale``.

    `form`: each record by itself; blocks of near records; sums over all parts; all records in one place; not at all.
    `result`: against a run in
    memory.
    """

    kind: Literal["method", "measure"]
    name: str
    form: Form
    result: Result
    why: str


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


def refused_method(method: Method) -> str | None:
    """Why a method cannot run over parts; None where it can."""
    if method.is_remover:
        return "takes records or cells away, and that needs all records at once"
    if "cells" in method.claims.removes:
        return "leaves cells empty, and that needs all records at once"
    if method.claims.draws_records:
        return "draws records anew"
    return None


def support_of_method(method: Method) -> Support:
    """What a method does in a run over parts."""
    why = refused_method(method)
    if why is not None:
        return Support("method", method.name, "refused", "refused", why)
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
        return Support("measure", measure.name, "refused", "refused", "counts households")
    if merging is None:
        return Support("measure", measure.name, "whole", "exact", "all columns are in the memory of one worker")
    message = "rows of all parts, shuffled to tasks that count them" if merging.counted else "sums of all parts"
    message = "a sample of the records against all parts" if merging.sampled else message
    message += "" if merging.refused is None else "; with some parameters in one place"
    return Support("measure", measure.name, "global", merging.result, message)


def support(registry: Registry) -> Iterator[Support]:
    """Every method and measure that is installed."""
    for method in registry.methods.values():
        yield support_of_method(method)
    for measure in registry.measures.values():
        yield support_of_measure(measure)


IN_MEMORY = "leave out `execution: engine`: the whole file is in memory then"


def refuse_request(pipeline: Pipeline) -> None:
    """Refuse what the pipeline asks for and a run over parts cannot do."""
    requested = [each for each in pipeline.measures if each.asked]
    problems = [*_of_settings(pipeline), *_of_steps(pipeline), *unmeasurable(requested)]
    refuse_problems(problems)


def _of_settings(pipeline: Pipeline) -> Iterator[Problem]:
    engine = "a run over parts"
    if pipeline.data.cluster is not None:
        yield Problem(f"{engine} does not keep households together yet", pipeline.data.place, IN_MEMORY)
    if pipeline.on_input_violation in ("drop", "localize"):
        what = f"on_input_violation: {pipeline.on_input_violation}"
        yield Problem(f"{what}: {engine} masks records that violate edits, or stops", hint="'mask' or 'fail'")
    if pipeline.release.order == "random" or pipeline.release.ids is not None:
        yield Problem(f"{engine} keeps the order and the keys of the records", hint=IN_MEMORY)
    output = pipeline.output
    if is_remote(str(output.data)) and (pipeline.engine is None or pipeline.engine.scratch is None):
        hint = "execution: {scratch: DIR} names a folder here that all workers see"
        yield Problem(f"output data: {engine} writes into a folder first, and sends it when all is well", hint=hint)
    if output.key_map is not None:
        yield Problem(f"output key_map: {engine} does not write it", hint=f"leave it out, or {IN_MEMORY}")
    if output.escapes_formulas:
        yield Problem(f"output formulas: {engine} does not escape them", hint=IN_MEMORY)


def _of_steps(pipeline: Pipeline) -> Iterator[Problem]:
    size = pipeline.execution.block_size
    for step in pipeline.steps:
        if size is not None and step.k is not None and size < step.k and not is_by_record(step.method):
            message = f"k = {step.k} is larger than a block, which has {size} records (block_size)"
            yield Problem(message, step.place, "execution: {block_size: 50000} is usual", step=step.number)
        why = refused_method(step.method)
        if why:
            yield Problem(
                f"{step.method.name} {why}", step.place, f"take another method, or {IN_MEMORY}", step=step.number
            )


def refuse_output(pipeline: Pipeline, parts: Parts) -> None:
    """Refuse an output that does not fit the parts."""
    output = pipeline.output
    if parts.records == 0:
        raise InputError("the data have no records")
    if not output.is_folder and len(parts) > 1:
        raise InputError(
            Problem(
                f"output data: {output.data.name} is one file, and the data have {len(parts)} parts",
                hint="name a folder (output: {data: masked/}), which gets a masked file for each part",
            )
        )
    if output.source.name != pipeline.data.source.name:
        raise InputError(
            Problem(f"a run over parts writes them in the format of the original, {pipeline.data.source.name}")
        )


def refuse_plan(pipeline: Pipeline, plan: Plan) -> Pipeline:
    """Refuse measures and edits that cannot be had over parts; the pipeline without those that nobody asked for."""
    problems = [*_of_recoded_combinations(plan)]
    problems += [
        Problem(f"edit {edit.name!r} is for another engine, or reads more than one record", hint=IN_MEMORY)
        for edit in plan.edits
        if edit.for_validation.engine is not None
    ]
    problems += [
        Problem(
            f"edit {edit.name!r} ties masked variables to unmasked ones by the values that occur together, and a run "
            "over parts does not cut along these",
            hint=IN_MEMORY,
        )
        for edit in plan.edits
        if any(0 < sum(name in plan.masked for name in names) < len(names) for names in domain_tuples((edit,)))
    ]
    folders = pipeline.output.parts if isinstance(pipeline.output.parts, tuple) else ()
    problems += [
        Problem(f"output parts: {unknown_name('variable', name, plan.variables)}")
        for name in folders
        if name not in plan.variables
    ]
    refuse_problems(problems)
    kept = (each for each in pipeline.measures if refused_measure(each) is None and (each.asked or is_merged(each)))
    return replace(pipeline, measures=tuple(kept))


def _of_recoded_combinations(plan: Plan) -> Iterator[Problem]:
    """Edits that read which values occur together, of variables that become categories."""
    for edit in plan.edits:
        if plan.coarse.read_by(edit) and domain_tuples((edit,)):
            why = f"edit {edit.name!r} reads which values occur together, and one of its variables is recoded"
            yield Problem(why, edit.place, IN_MEMORY)


def dropped_notices(before: Pipeline, after: Pipeline) -> tuple[Notice, ...]:
    """Say which of the usual measures, that nobody asked for, are not computed."""
    kept = {each.label for each in after.measures}
    return tuple(
        Notice(
            "not-computed",
            each.label,
            f"{each.label} is not computed, which no output needs: "
            + (refused_measure(each) or "it takes all records in one place; name it under `measure:`"),
        )
        for each in before.measures
        if each.label not in kept
    )


HINT = (
    "Take a larger memory_limit, fewer workers, parts of fewer records, or a smaller block_size; `maskwright plan` "
    "says what each stage needs."
)


def costs_of_parted_plan(request: Pipeline, plan: Plan, variables: int, records: int, part: int | None = None) -> Costs:
    """Expected costs of a run over parts."""
    block = request.execution.block_size or BLOCK_SIZE
    largest = min(max(part or block, _records_of_file(request)), records)
    shape = Shape(records, variables, largest, block, sample_size(request, records), request.execution.at_once)
    return costs_over_parts(
        shape, masked_by_steps(plan), plan.steps, [each.measure.name for each in request.measures],
        masked_at_once=max((len(names) for names in _columns_in_one_place(plan)), default=0),
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


def refuse_too_large_parts(request: Pipeline, plan: Plan, parts: Parts, scratch: Path) -> None:
    """Refuse a run that is expected to need more memory than its workers have, or more room on the way than is left."""
    largest = max(parts, key=lambda each: each.records)
    costs = costs_of_parted_plan(request, plan, len(parts.schema or ()), parts.records, largest.records)
    _refuse(costs.peak, worker_limit(request, costs), request, largest.name)
    used = sum(each.stat().st_size for each in scratch.rglob("*") if each.is_file())
    free = shutil.disk_usage(scratch).free + used
    if costs.scratch > free:
        raise InputError(
            Problem(
                f"the run is expected to write {_gigabytes(costs.scratch)} on the way, and {scratch.parent} has room "
                f"for {_gigabytes(free)}",
                hint="Name a folder with more room: execution: {scratch: DIR}.",
            )
        )


def _refuse(peak: StageCost, limit: int | None, request: Pipeline, part: str) -> None:
    if limit is None or peak.bytes <= limit:
        return
    stated = request.execution.memory_limit
    there = f"this machine leaves {_gigabytes(limit)} for each" if stated is None else f"memory_limit is {stated}"
    workers = request.execution.at_once
    shared = f" for {workers} workers in one process" if stated is not None and limit < (limit_of(request) or 0) else ""
    raise InputError(
        Problem(
            f"each worker is expected to need {_gigabytes(peak.bytes)} (stage: {peak.stage}; the largest part is "
            f"{part}), and {there}{shared}",
            hint=HINT,
        )
    )


def _gigabytes(size: float) -> str:
    return f"{max(size, 0.0) / 1e9:.3g} GB"
