"""What each form of data brings to a run: a plan to carry out, and a release that only has to be decided on.

`maskwright.commands.run` puts the stages in order and takes every decision: once for all forms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.foundation.findings import distinct_notices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Column, Layout
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.errors import Problem
    from maskwright.foundation.findings import Notice
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline
    from maskwright.planning.costs import Costs
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.files import Release
    from maskwright.release.record.run_record import RunRecord
    from maskwright.release.release_decision import ReleaseDecision


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedRun(ABC):
    """A run whose data and edits are read, and whose plan is made. Nothing is masked or written.

    `pipeline`: with the measures that are usual where it names none. `doubts`: about the data, the plan, and what is to
    be measured. `notices`: what a person should know before anything is masked. `rules`: that are to be kept, variables
    of all levels, and the layout of their file; None with several files. `variables`: that are published, by name.
    """

    pipeline: Pipeline
    doubts: tuple[Doubt, ...]
    notices: tuple[Notice, ...]
    reporter: Reporter
    clock: Clock
    rules: tuple[EditSet, Sequence[Variable], Layout | None]
    variables: Mapping[str, Variable]

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the plan, as ``maskwright plan --json`` prints it and checks of plans get it."""

    @abstractmethod
    def costs(self, assumed: int | None) -> Costs:
        """Return expected memory and time by the rates of measured runs, of the records there are or of others."""

    @abstractmethod
    def extent(self, assumed: int | None) -> dict[str, Any]:
        """Return how much there is to do: expected memory and time, of the records there are or as many as assumed."""

    @abstractmethod
    def carry_out(self, release: Release) -> ReleaseCandidate:
        """Mask, write to temporary files, read back, validate and measure."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseCandidate(ABC):
    """Masked data that were written to temporary files, read back, validated and measured.

    `doubts`: that arose since the plan was made. `violated`: edits that do not hold in the masked data. `requests`,
    `measured`: what was measured, and what came out, by label. `rules`: the edits that hold in them, as rules that can
    be written; `columns`: of all levels, without values; `layout`: of their file, None with several files.
    """

    doubts: Sequence[Doubt]
    violated: Sequence[Problem]
    requests: Sequence[MeasureRequest]
    measured: Mapping[str, Measurement]
    rules: EditSet
    columns: Sequence[Column]
    layout: Layout | None

    @abstractmethod
    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run: not ok yet, and without outputs."""

    @abstractmethod
    def complete(self, record: RunRecord) -> None:
        """Write what is only written of a release that nothing speaks against: its codebook, say."""


def planned_run(
    described: Pipeline, reporter: Reporter, clock: Clock, stack: ExitStack, *, resume: bool | None = None
) -> PlannedRun:
    """Plan a run on data of any form; `resume`: of a run over parts, None where nothing but the plan is wanted."""
    planned = _planned(described, reporter, clock, stack, resume=resume)
    target = described.output.edits
    if target is None:
        return planned
    from maskwright.masking.suppressing.published_rules import rule_file

    # What the file of rules cannot say is known before anything is masked.
    _, notices = rule_file(target, *planned.rules, planned=True)
    return replace(planned, notices=distinct_notices((*planned.notices, *notices)))


def _planned(
    described: Pipeline, reporter: Reporter, clock: Clock, stack: ExitStack, *, resume: bool | None
) -> PlannedRun:
    # Each imports much that no other run needs.
    if described.engine is not None:
        from maskwright.commands.parted.running import planned_over_parts

        return planned_over_parts(described, reporter, clock, stack, resume=resume)
    if described.levels is not None:
        from maskwright.commands.levels.running import PlannedOnLevels

        return PlannedOnLevels.of(described, reporter, clock)
    from maskwright.commands.running.in_memory import PlannedInMemory

    return PlannedInMemory.of(described, reporter, clock)
