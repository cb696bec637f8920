"""What a run costs in memory or over parts: peak memory, scratch and processor seconds of each stage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.planning.model import Step
    from maskwright.plugins.cost import Cost


MEGABYTE = 1e6

BASE = 350 * MEGABYTE
"""Program, libraries and compiled kernels, before a single record."""


@dataclass(frozen=True)
class Rate:
    """What a stage takes for one cell; `memory`: bytes held at its peak."""

    memory: float
    time: float


READ = Rate(17.5, 0.08)

STAGES: Mapping[str, Rate] = {
    "read": READ,
    "plan": Rate(21.7, 0.06),
    "mask": Rate(42.0, 0.0),
    "adjust": Rate(51.5, 0.16),
    "drift and k": Rate(57.3, 0.15),
    "write": Rate(55.0, 0.1),
    "read back and validate": Rate(75.0, 0.09),
    "measure": Rate(87.0, 0.0),
}
"""In the order of a run. What masking and measuring take depends on methods and measures."""

START = 3.0
"""Seconds until the first record is read: modules are imported, and kernels loaded."""


RELATION, SAMPLED_FOR_RELATIONS = 0.0012, 20_000
"""Seconds in which it is examined whether a published variable gives a masked one away, and of how many records."""


@dataclass(frozen=True)
class StageCost:
    """Expected cost of one stage; `bytes`: peak of the process while it lasts."""

    stage: str
    bytes: float
    seconds: float


@dataclass(frozen=True)
class Costs:
    """Expected costs of a run.

    `stages`: in the order of a run; over parts, the memory is that of one worker. `workers`: of a run over parts; 0: in
    memory. `leader`: bytes of the process that leads a run over parts. `scratch`: bytes of files that a run over parts
    writes on the way.
    """

    records: int
    stages: tuple[StageCost, ...]
    workers: int = 0
    leader: float = 0.0
    scratch: float = 0.0

    @property
    def peak(self) -> StageCost:
        """The stage that needs the most memory."""
        return max(self.stages, key=lambda each: each.bytes)

    @property
    def seconds(self) -> float:
        """Of all stages, of one processor."""
        return sum(each.seconds for each in self.stages)

    @property
    def kind(self) -> str:
        """The stage that takes the most time, by which runs are alike."""
        return max(self.stages, key=lambda each: each.seconds).stage

    def with_compiling(self, seconds: float) -> Costs:
        """Return the costs of a run that compiles kernels before it does anything."""
        if not seconds:
            return self
        return replace(self, stages=(StageCost("compile kernels, once", BASE, seconds), *self.stages))

    def times(self, ratio: float) -> Costs:
        """Return the costs on a machine that takes so many times as long."""
        return replace(self, stages=tuple(replace(each, seconds=ratio * each.seconds) for each in self.stages))


def costs_together(levels: Sequence[Costs]) -> Costs:
    """Expected costs of a run on several levels, the lowest last: all are in memory at once, and the program once."""
    stages = tuple(
        StageCost(
            same[0].stage,
            BASE + sum(each.bytes - BASE for each in same),
            sum(each.seconds for each in same) - (START * (len(same) - 1) if same[0].stage == "read" else 0.0),
        )
        for same in zip(*(each.stages for each in levels), strict=True)
    )
    return Costs(levels[-1].records, stages)


def reading_costs(records: int, variables: int) -> Costs:
    """Expected costs of reading alone, which no step can lower."""
    size = BASE + READ.memory * records * variables
    return Costs(records, (StageCost("read", size, READ.time * records * variables * 1e-6),))


def costs_of(
    records: int,
    variables: int,
    masked: Sequence[int],
    steps: Sequence[Step] = (),
    measures: Sequence[tuple[Cost, int]] = (),
    block_size: int | None = None,
    strata: Sequence[Sequence[GroupStrata]] = (),
) -> Costs:
    """Expected costs of a run; `measures`: the cost of each, and how many variables it looks at.

    `strata`: of the groups of each step; left out: all records are masked together.
    """
    most = min(max(masked, default=0), variables)
    sampled = min(records, SAMPLED_FOR_RELATIONS) / SAMPLED_FOR_RELATIONS
    seconds = {
        "read": START,
        "plan": RELATION * sampled * most * (variables - most),
        "mask": sum(
            _masking(step, records, groups, block_size)
            for step, groups in zip(steps, strata or [[(count, (1.0,))] for count in masked], strict=True)
        ),
        "measure": sum(cost.of(records, count) for cost, count in measures),
    }
    return Costs(
        records,
        tuple(
            StageCost(
                name,
                BASE + records * (READ.memory * variables + (rate.memory - READ.memory) * most),
                records * variables * rate.time * 1e-6 + seconds.get(name, 0.0),
            )
            for name, rate in STAGES.items()
        ),
    )


GroupStrata = tuple[int, "Sequence[float]"]
"""Variables that are masked together, and the share of the records that each stratum has."""

OF_STRATUM = 0.0015
"""Seconds for each stratum of a group, whatever it holds."""


def _masking(step: Step, records: int, groups: Sequence[GroupStrata], block_size: int | None) -> float:
    """Seconds that a step takes."""
    method, partition = step.method.claims.cost, step.partition
    costs = [method] if partition is None else [method, partition.partition.cost]
    sizes = [(variables, round(records * share)) for variables, strata in groups for share in strata]
    # What a plugin takes whatever the data are, it takes once.
    once = sum(cost.seconds for cost in costs)
    return once + OF_STRATUM * (len(sizes) - len(groups)) + sum(
        cost.of(size, variables, block_size) - cost.seconds for cost in costs for variables, size in sizes
    )  # fmt: skip


SCRATCH = 45.0
"""Bytes of a cell: what is shuffled, masked and published, until the run ends; 90 MB for 200,000 records of ten."""

LEADER = 170 * MEGABYTE
"""Bytes of the process that leads, before it has a sample: it compiles nothing."""

SAMPLED = 36.0
"""Bytes of a sampled cell while the cuts are made: 72 MB for 200,000 records of ten."""

TASK_FACTS = 8_000.0
"""Bytes that are kept of a part, or of a block: receipts, and what measures get."""

SHUFFLING = 0.1
"""Microseconds of a cell that is written to the leaf of its record."""

MEASURED = 5_000_000
"""Records up to which runs were measured."""

GROWTH = 0.05
"""Exponent by which the seconds of a record grow with their number beyond that."""


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
    measures: Sequence[tuple[Cost, int]] = (),
    *,
    masked_at_once: int = 0,
    is_measured_at_once: bool = False,
) -> Costs:
    """Expected costs of a run over parts; `measures`: the cost of each, and how many variables it looks at.

    `masked_at_once`: columns of all records that one task has in its memory to mask or examine them;
    `is_measured_at_once`: whether one has all columns, to measure.
    """
    n = shape.records
    most = min(max(masked, default=0), shape.variables)
    time = {
        each.stage: each.seconds for each in costs_of(n, shape.variables, masked, steps, measures, shape.block).stages
    }
    growth = max(1.0, n / MEASURED) ** GROWTH
    shuffles = sum(count for step, count in zip(steps, masked, strict=True) if step.method.claims.cut != "any")

    def cost(stage: str, held: int, rate: str, seconds: float) -> StageCost:
        cells = READ.memory * shape.variables + (STAGES[rate].memory - READ.memory) * most
        return StageCost(stage, BASE + min(held, n) * cells, growth * seconds)

    at_once = {"mask in one place": ("adjust", masked_at_once)} if masked_at_once else {}
    at_once |= {"measure in one place": ("measure", shape.variables)} if is_measured_at_once else {}
    return Costs(
        n,
        (
            *(
                StageCost(stage, BASE + n * columns * STAGES[rate].memory, 0.0)
                for stage, (rate, columns) in at_once.items()
            ),
            cost("scan", shape.part, "plan", 2 * time["read"] + time["plan"]),
            cost("shuffle", shape.part, "plan", (time["read"] + n * shuffles * SHUFFLING * 1e-6) if shuffles else 0.0),
            cost("mask and adjust", shape.block, "adjust", time["mask"] + time["adjust"]),
            cost("finish", shape.part, "measure",
                 sum(time[name] for name in ("read", "drift and k", "write", "read back and validate"))),
            cost("measure", shape.part, "measure", time["measure"]),
        ),
        workers=shape.workers,
        leader=LEADER + min(shape.sample, n) * shape.variables * SAMPLED
        + sum(-(-n // max(each, 1)) for each in (shape.part, shape.block)) * TASK_FACTS,
        scratch=n * shape.variables * SCRATCH,
    )  # fmt: skip
