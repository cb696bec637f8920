"""What a run over parts will cost, said of a plan, and refused before records are shuffled where it cannot fit."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from maskwright.commands.parted.scanning import sample_size
from maskwright.commands.parted.task_run import BLOCK_SIZE
from maskwright.commands.running.foreseen import limit_of, masked_by_steps
from maskwright.foundation.errors import InputError, Problem
from maskwright.planning.costs import BASE, READ, StageCost
from maskwright.planning.costs_of_parts import Shape, costs_over_parts
from maskwright.plugins.engines.local import LOCAL
from maskwright.plugins.engines.processes import PROCESSES
from maskwright.release.in_parts import RECORDS_OF_PART

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.data.parts.model import Parts
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.costs import Costs
    from maskwright.planning.plan import Plan

HINT = (
    "Take a larger memory_limit, fewer workers, parts of fewer records, or a smaller block_size; `maskwright plan` "
    "says what each stage needs."
)


def costs_of_parted_plan(request: Pipeline, plan: Plan, variables: int, records: int, part: int | None = None) -> Costs:
    """Expected costs of a run over parts.

    `part`: records of the largest part; left out, as many as a block has.
    """
    block = request.execution.block_size or BLOCK_SIZE
    largest = min(max(part or block, _records_of_file(request)), records)
    shape = Shape(records, variables, largest, block, sample_size(request, records), request.execution.at_once)
    return costs_over_parts(shape, masked_by_steps(plan), plan.steps, request.measures)


def _records_of_file(request: Pipeline) -> int:
    """Most records of a file that is made of several parts; 0 where each part is written as it came."""
    asked = request.output.parts
    return RECORDS_OF_PART if isinstance(asked, tuple) else asked or 0


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
    """Refuse a run that is expected to need more memory than its workers have, or more room on the way than is left.

    `scratch`: what is there already counts as room.
    """
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
    said = request.execution.memory_limit
    there = f"this machine leaves {_gigabytes(limit)} for each" if said is None else f"memory_limit is {said}"
    workers = request.execution.at_once
    shared = f" for {workers} workers in one process" if said is not None and limit < (limit_of(request) or 0) else ""
    raise InputError(
        Problem(
            f"each worker is expected to need {_gigabytes(peak.bytes)} (stage: {peak.stage}; the largest part is "
            f"{part}), and {there}{shared}",
            hint=HINT,
        )
    )


def _gigabytes(size: float) -> str:
    return f"{max(size, 0.0) / 1e9:.3g} GB"
