"""A run on records of one level, held in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.background_task import background_task
from maskwright.commands.running.cost_estimates import costs_json, costs_of_plan, limit_of
from maskwright.commands.running.preparation import prepare
from maskwright.commands.running.publish import violated_problems, write_release_codebook
from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.commands.running.release_candidate import ReleaseCandidate
from maskwright.commands.running.stages import PipelineRun, last_doubts
from maskwright.foundation.randomness import fresh_seed
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.plugins.registry import plugins
from maskwright.release.codebook import HeldTexts
from maskwright.release.measures.variable_selection import with_usual_losses
from maskwright.release.protection_checks import unchanged_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.findings import Notice
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.files import Release
    from maskwright.release.protection_checks import UnchangedCells
    from maskwright.release.record.run_record import RunRecord
    from maskwright.release.release_decision import ReleaseDecision


@dataclass(frozen=True, eq=False)
class PlannedInMemory:
    """A planned run on records in memory; `pipeline` has the usual losses."""

    pipeline: Pipeline
    ready: ReadyRun
    reporter: Reporter
    clock: Clock

    @staticmethod
    def of(described: Pipeline, reporter: Reporter, clock: Clock) -> PlannedInMemory:
        """Read data and edits, and make the plan."""
        ready = prepare(described, reporter, clock)
        return PlannedInMemory(with_usual_losses(described, ready.plan, plugins()), ready, reporter, clock)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """About the data, the plan, and what is to be measured."""
        return self.ready.doubts

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a person should know before anything is masked."""
        return self.ready.notices

    def to_json(self) -> dict[str, Any]:
        """Return the plan, as ``maskwright plan --json`` prints it."""
        return self.ready.plan.to_json()

    def extent(self, assumed: int | None) -> dict[str, Any]:
        """Return expected memory and time, for the records of the file or as many as are assumed."""
        request, plan = self.pipeline, self.ready.plan
        records = plan.records if assumed is None else assumed
        assert records is not None
        return costs_json(costs_of_plan(request, plan, len(self.ready.original.names), records), limit_of(request))

    def carry_out(self, release: Release) -> CandidateInMemory:
        """Mask, write, read back, validate and measure."""
        from maskwright.release.part_layout import refuse_disclosing_folders  # of parts

        described, ready = self.pipeline, self.ready
        seed = fresh_seed() if described.seed is None else described.seed
        running = PipelineRun(described, ready, release, seed, self.reporter, self.clock)
        refuse_disclosing_folders(ready.original.layout, described.output, ready.plan.masked, ready.original.names)
        result = running.arrange(running.mask())
        held = running.write(result)
        published = result.without_data()
        # What anyone reads in the file and what the rules say of it have nothing to do with each other.
        with background_task(lambda progress: running.validate(published, progress), "Validating") as validating:
            released = running.read_back(result, held)
            result = published  # measuring needs the memory
            del held
            found = running.measure(released)
            outcome, stated = validating.awaited(self.reporter)
        running.notify(stated)
        with self.clock("unchanged values"):
            unchanged = unchanged_cells(ready.original, released)
            seen = last_doubts(ready.plan, ready.original, released, unchanged, result.doubts)
        left = undecided_doubts(outcome, ready.arrival)
        return CandidateInMemory(
            doubts=(*result.doubts, *left, *seen), violated=violated_problems(result, outcome),
            requests=described.measures, measured=found, running=running, result=result, outcome=outcome,
            unchanged=unchanged, texts={} if described.output.codebook is None else HeldTexts.of(released),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateInMemory(ReleaseCandidate):
    """Masked records of one level that were written, read back, validated and measured."""

    running: PipelineRun
    result: MaskingResult
    outcome: Outcome
    unchanged: tuple[UnchangedCells, ...]
    texts: Mapping[str, HeldTexts]

    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, not ok yet."""
        running = self.running
        return run_record(
            MeasuredRun(running.pipeline, running.ready, self.result, self.outcome, self.measured, self.unchanged,
                        judgement, running.seed, running.clock.seconds)
        )  # fmt: skip

    def complete(self, record: RunRecord) -> None:
        """Write the codebook; the original must not have changed under the run."""
        from maskwright.release.part_layout import refuse_changed_original  # of parts

        ready, described = self.running.ready, self.running.pipeline
        refuse_changed_original(ready.original.layout)
        write_release_codebook(
            self.running.release, described, record, self.texts, self.result.masked.variables, ready.plan.recoded,
            described.data.cluster,
        )  # fmt: skip
