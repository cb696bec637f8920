"""A run on records of one level, held in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.cost_estimates import costs_in_memory, costs_of_plan, refuse_too_large
from maskwright.commands.running.preparation import ToPublish, doubts_of_measures, output_findings, prepare
from maskwright.commands.running.release_candidate import PlannedRun
from maskwright.plugins.registry import plugins
from maskwright.release.measures.variable_selection import with_usual_losses

if TYPE_CHECKING:
    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.commands.running.release_candidate import ReleaseCandidate
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.costs import Costs
    from maskwright.release.files import Release


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedInMemory(PlannedRun):
    """A planned run on records in memory."""

    ready: ReadyRun

    @staticmethod
    def of(described: Pipeline, reporter: Reporter, clock: Clock) -> PlannedInMemory:
        """Read data and edits, and make the plan."""
        ready = prepare(described, reporter, clock)
        refuse_too_large(described, ready.plan, len(ready.original.names))
        named = {each.name: each for each in (*ready.original.variables, *ready.keys.old.variables)}
        variables = tuple(named[name] for name in ready.keys.order or named if name in named)
        table = ToPublish(ready.original, variables, ready.plan.recoded)
        doubts, notices = output_findings(described, {"": table})
        return PlannedInMemory(
            pipeline=with_usual_losses(described, ready.plan, plugins()),
            doubts=(*ready.doubts, *doubts_of_measures(described, ready.plan), *doubts),
            notices=(*ready.notices, *notices), reporter=reporter, clock=clock, ready=ready,
            rules=(ready.edits, ready.original.variables, ready.original.layout), variables=ready.plan.variables,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the plan, as ``maskwright plan --json`` prints it."""
        return self.ready.plan.to_json()

    def costs(self, assumed: int | None) -> Costs:
        """Return expected memory and time, for the records of the file or as many as are assumed."""
        plan = self.ready.plan
        records = plan.records if assumed is None else assumed
        assert records is not None
        return costs_of_plan(self.pipeline, plan, len(self.ready.original.names), records)

    def extent(self, assumed: int | None) -> dict[str, Any]:
        """Return the same as ``maskwright plan --json`` prints it."""
        return costs_in_memory(self.pipeline, self.costs(assumed))

    def carry_out(self, release: Release) -> ReleaseCandidate:
        """Mask, write, read back, validate and measure."""
        from maskwright.commands.running.candidate_in_memory import carried_out  # with all that masks

        # The record has what was said of the files to be written too.
        ready = replace(self.ready, notices=self.notices)
        return carried_out(self.pipeline, ready, release, self.reporter, self.clock)
