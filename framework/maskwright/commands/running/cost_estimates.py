"""Costs of a run, estimated from the beginning of a file, and refused where limits are exceeded."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.measured_costs import correction_of, kernels_to_compile
from maskwright.foundation.errors import InputError, Problem, ReadAgain
from maskwright.foundation.processes.resources import bytes_of, memory
from maskwright.pipeline.resolved import DataSource, Pipeline
from maskwright.planning.costs import MEGABYTE, Costs, costs_of, reading_costs
from maskwright.plugins.source import written_batches_of
from maskwright.release.measures.variable_selection import names_used, to_be_measured

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from maskwright.foundation.progress import Progress
    from maskwright.pipeline.resolved import MaskingRequest
    from maskwright.planning.costs import GroupStrata
    from maskwright.planning.plan import Plan
    from maskwright.plugins.cost import Cost
    from maskwright.plugins.source import Reading


MOST_GROWTH = 100
"""A file of which each byte became so many would still fit: its records need not be counted."""


def costs_of_plan(request: Pipeline, plan: Plan, variables: int, records: int) -> Costs:
    """Expected costs of a run in memory."""
    measures = costs_of_measures(request, plan)
    return costs_of(
        records, variables, masked_by_steps(plan), plan.steps, measures, request.execution.block_size,
        strata_by_steps(plan),
    )  # fmt: skip


def costs_of_measures(request: Pipeline, plan: Plan) -> list[tuple[Cost, int]]:
    """Cost of each measure, and of the components of a score, and how many variables it looks at."""
    given, found = to_be_measured(plan), []
    for each in request.measures:
        components = each.measure.claims.components
        # A measure of groups looks at those of all levels, of which this plan knows one.
        of_levels = each.measure.claims.of_levels
        used = len(given.compared if of_levels else names_used(each.measure, each.params, given))
        found.append((each.measure.claims.cost, used))
        for measure, _ in () if components is None else components(each.params):
            found.append((measure.claims.cost, used))
    return found


def masked_by_steps(plan: Plan) -> list[int]:
    """How many variables each step masks."""
    return [
        len({name for group in plan.groups if group.step == number for name in group.variables})
        for number in range(1, len(plan.steps) + 1)
    ]


def strata_by_steps(plan: Plan) -> list[list[GroupStrata]]:
    """How many variables each group of each step has, and which share of the records is in each stratum."""
    found: list[list[GroupStrata]] = [[] for _ in plan.steps]
    for group in plan.groups:
        sizes = [1] if group.strata is None else [each.records for each in group.strata.strata]
        found[group.step - 1].append((len(group.variables), [each / max(sum(sizes), 1) for each in sizes]))
    return found


def plugins_used(request: Pipeline) -> list[tuple[str, str]]:
    """Names of the methods, partitions and measures of a run, and their modules."""
    used = [(step.method.name, step.method.params) for step in request.steps]
    partitions = [step.partition.partition for step in request.steps if step.partition is not None]
    used += [(each.name, each.params) for each in partitions]
    used += [(each.measure.name, each.measure.params) for each in request.measures]
    return [(name, params.__module__) for name, params in used]


def costs_in_memory(request: Pipeline, costs: Costs) -> dict[str, Any]:
    """Costs of a run in memory, and why it is one where an engine is named."""
    found = costs_json(costs, limit_of(request), request)
    if request.in_one_process:
        found["costs"]["in_one_process"] = list(request.in_one_process)
    return found


def costs_json(costs: Costs, limit: int | None, request: Pipeline) -> dict[str, Any]:
    """Costs on this machine and whether they fit, as ``maskwright plan --json`` prints them.

    `limit`: bytes that the process, or each worker, may take; None: no one knows.
    """
    correction, kernels = correction_of(costs), kernels_to_compile(plugins_used(request), costs.records)
    costs = costs.with_compiling(kernels.seconds).times(correction.ratio)
    stages = [
        {"stage": each.stage, "megabytes": round(each.bytes / MEGABYTE, 1), "seconds": round(each.seconds, 2)}
        for each in costs.stages
    ]
    found: dict[str, Any] = {
        "records": costs.records, "stages": stages, "peak_megabytes": round(costs.peak.bytes / MEGABYTE, 1),
        "seconds": round(costs.seconds, 2), "memory_megabytes": None if limit is None else limit / MEGABYTE,
        "fits": limit is None or costs.peak.bytes <= limit,
        "basis": correction.basis, "to_compile": list(kernels.plugins),
    }  # fmt: skip
    if costs.workers:
        found["workers"] = costs.workers
        found["leader_megabytes"] = round(costs.leader / MEGABYTE, 1)
        found["scratch_megabytes"] = round(costs.scratch / MEGABYTE, 1)
    return {"costs": found}


def limit_of(request: Pipeline) -> int | None:
    """Bytes that a run may need: what the pipeline says, else what the machine has; None where nothing says so."""
    stated = request.execution.memory_limit
    return memory() if stated is None else bytes_of(stated)


def refuse_unreadable(request: MaskingRequest) -> None:
    """Refuse a file that cannot be held in memory, whatever is done with it, before it is read."""
    if not isinstance(request, Pipeline) or not isinstance(request.data, DataSource):
        return
    limit = limit_of(request)
    if limit is None or request.data.held is not None or _size(request.data) * MOST_GROWTH < limit:
        return
    records, variables = shape_of(request.data)
    _refuse(reading_costs(records, variables), limit, request)


def refuse_too_large(request: MaskingRequest, plan: Plan, variables: int) -> None:
    """Refuse a run that is expected to need more memory than there is."""
    if isinstance(request, Pipeline) and plan.records is not None:
        limit = limit_of(request)
        if limit is not None:
            _refuse(costs_of_plan(request, plan, variables, plan.records), limit, request)


def shape_of(data: DataSource) -> tuple[int, int]:
    """Records and columns of a file: those of its first batches, and the share of the file that these are."""
    # Once opened for good a file may have been looked at from end to end, and its share says less.
    if data.source.open_once is not None:
        with contextlib.suppress(ReadAgain):
            return _shape_of(data, data.source.open_once)
    return _shape_of(data, data.source.open)


def _shape_of(data: DataSource, open_file: Callable[[Path, Any, Progress], Reading]) -> tuple[int, int]:
    shares = [0.0]
    rows = columns = 0
    with written_batches_of(open_file(data.path, data.params, shares.append)) as batches:
        for batch in batches:
            # What is reported of the file is reported between two batches: of the records before this one.
            if shares[-1] > 0.0 and rows:
                return round(rows / min(shares[-1], 1.0)), columns
            rows, columns = rows + batch.cells.num_rows, batch.cells.num_columns
    return rows, columns


def _size(data: DataSource) -> int:
    """Bytes of a file, or of the files of a folder; 0 of what is no file."""
    try:
        if data.path.is_dir():
            return sum(each.stat().st_size for each in data.path.rglob("*") if each.is_file())
        return data.path.stat().st_size
    except OSError:
        return 0


def _refuse(costs: Costs, limit: int, request: Pipeline) -> None:
    peak = costs.peak
    if peak.bytes <= limit:
        return
    stated = request.execution.memory_limit
    there = f"this machine has {gigabytes(limit)}" if stated is None else f"memory_limit is {stated}"
    way = "Take `execution: {engine: processes, block_size: 50000}`, a sample"
    if request.in_one_process:
        way = f"All records are in one process: {'; '.join(request.in_one_process)}. Do without, or take a sample"
    raise InputError(
        Problem(
            f"the run in memory is expected to need {gigabytes(peak.bytes)} for {costs.records:,} records (stage: "
            f"{peak.stage}), and {there}",
            hint=f"{way} of the records, fewer variables, or more memory; `maskwright plan PIPELINE --no-data "
            "--assume-records N` says what N records need.",
        )
    )


def gigabytes(size: float) -> str:
    """``0.35 GB``."""
    return f"{max(size, 0.0) / 1e9:.3g} GB"
