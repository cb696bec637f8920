"""What a run over parts costs: memory of a worker and of the process that leads, scratch, and processor seconds.

A worker holds one part, or one block of records, at a time, whatever the file has; the process that leads holds the
sample that the plan and the cuts are made on, and what the tasks of each part and block told. The rates are those of
runs in memory (`maskwright.planning.costs`), with what reading twice and shuffling add::

    worker  = BASE + most of (records of a part or block) * (bytes of a cell at that stage) * variables
    leader  = LEADER + sampled records * SAMPLED * variables + (parts + blocks) * TOLD
    scratch = n * SCRATCH * variables
    seconds = rate * n * masked * (n / MEASURED) ** GROWTH

The last factor is that of the gate on growth, for files beyond those that were measured: 1.26 at 500 million records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.planning.costs import BASE, MEGABYTE, READ, STAGES, Costs, StageCost, costs_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.model import Step

SCRATCH = 45.0
"""Bytes of a cell: what is shuffled, masked and published, until the run ends; 90 MB for 200,000 records of ten."""

LEADER = 170 * MEGABYTE
"""Bytes of the process that leads, before it has a sample: it compiles nothing."""

SAMPLED = 36.0
"""Bytes of a sampled cell while the cuts are made: 72 MB for 200,000 records of ten."""

TOLD = 8_000.0
"""Bytes that are kept of a part, or of a block: receipts, and what measures are told."""

SHUFFLING = 0.1
"""Microseconds of a cell that is written to the leaf of its record."""

MEASURED = 5_000_000
"""Records up to which runs were measured."""

GROWTH = 0.05


@dataclass(frozen=True)
class Shape:
    """How a dataset is cut.

    `variables`: columns that are read and published. `part`: records of the largest part. `block`: records of the
    largest block.
    """

    records: int
    variables: int
    part: int
    block: int
    sample: int
    workers: int


def costs_over_parts(
    shape: Shape,
    masked: Sequence[int],
    steps: Sequence[Step] = (),
    measures: Collection[MeasureRequest] = (),
) -> Costs:
    """Expected costs of a run over parts.

    `masked`: how many variables each step masks.
    """
    n = shape.records
    most = min(max(masked, default=0), shape.variables)
    time = {
        each.stage: each.seconds for each in costs_of(n, shape.variables, masked, steps, measures, shape.block).stages
    }
    growth = max(1.0, n / MEASURED) ** GROWTH
    shuffles = sum(count for step, count in zip(steps, masked, strict=True) if step.method.cut != "any")

    def cost(stage: str, held: int, rate: str, seconds: float) -> StageCost:
        cells = READ.memory * shape.variables + (STAGES[rate].memory - READ.memory) * most
        return StageCost(stage, BASE + min(held, n) * cells, growth * seconds)

    return Costs(
        n,
        (
            cost("scan", shape.part, "plan", 2 * time["read"] + time["plan"]),
            cost("shuffle", shape.part, "plan", (time["read"] + n * shuffles * SHUFFLING * 1e-6) if shuffles else 0.0),
            cost("mask and adjust", shape.block, "adjust", time["mask"] + time["adjust"]),
            cost("finish", shape.part, "measure",
                 sum(time[name] for name in ("read", "drift and k", "write", "read back and validate"))),
            cost("measure", shape.part, "measure", time["measure"]),
        ),
        workers=shape.workers,
        leader=LEADER + min(shape.sample, n) * shape.variables * SAMPLED
        + sum(-(-n // max(each, 1)) for each in (shape.part, shape.block)) * TOLD,
        scratch=n * shape.variables * SCRATCH,
    )  # fmt: skip
