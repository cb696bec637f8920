"""Records of one level, masked in memory, on their way to a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.commands.running.background_task import background_task
from maskwright.commands.running.publish import violated_problems, write_release_codebook
from maskwright.commands.running.release_candidate import ReleaseCandidate
from maskwright.commands.running.stages import PipelineRun, ReleasedLevel
from maskwright.foundation.randomness import fresh_seed
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.release.codebook import HeldTexts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.files import Release
    from maskwright.release.record.run_record import RunRecord
    from maskwright.release.release_decision import ReleaseDecision


def carried_out(
    described: Pipeline, ready: ReadyRun, release: Release, reporter: Reporter, clock: Clock
) -> CandidateInMemory:
    """Mask, write, read back, validate and measure."""
    from maskwright.release.part_layout import refuse_disclosing_folders  # of parts

    seed = fresh_seed() if described.seed is None else described.seed
    running = PipelineRun(described, ready, release, seed, reporter, clock)
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
        outcome, stated = validating.awaited(reporter)
    running.notify(stated)
    level = ReleasedLevel.of(running, result, ready.original, released, outcome, found)
    return CandidateInMemory(
        doubts=(*level.doubts, *undecided_doubts(outcome, ready.arrival)),
        violated=violated_problems(result, outcome, ready.plan), requests=described.measures, measured=found,
        rules=result.edits, columns=result.masked.columns, layout=result.masked.layout, level=level,
        texts={} if described.output.codebook is None else HeldTexts.of(released),
    )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateInMemory(ReleaseCandidate):
    """Masked records of one level that were written, read back, validated and measured."""

    level: ReleasedLevel
    texts: Mapping[str, HeldTexts]

    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, not ok yet; the original must not have changed under the run."""
        from maskwright.release.part_layout import refuse_changed_original  # of parts

        refuse_changed_original(self.level.run.ready.original.layout)
        return self.level.record(judgement)

    def complete(self, record: RunRecord) -> None:
        """Write the codebook."""
        run, variables = self.level.run, self.level.result.masked.variables
        write_release_codebook(
            run.release, run.pipeline, record, self.texts, variables, run.ready.plan.recoded, run.pipeline.data.cluster
        )  # fmt: skip
