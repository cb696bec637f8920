"""A run over parts: scanned, planned, shuffled, masked block by block, finished part by part, measured."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.feasibility import (
    AllRecordsNeededError,
    costs_of_parted_plan,
    dropped_notices,
    in_one_process,
    need_no_other_records,
    reasons_of_output,
    reasons_of_plan,
    reasons_of_request,
    refuse_request,
    refuse_too_large_parts,
    refuse_unscannable,
    support_of_measure,
    support_of_method,
    with_needed_measures,
    worker_limit,
)
from maskwright.commands.parted.finishing import FOUND
from maskwright.commands.parted.finishing_stages import doubts_in_one_place, finish_parts, measured
from maskwright.commands.parted.masking_stages import mask_groups
from maskwright.commands.parted.measuring import examined_columns, is_merged
from maskwright.commands.parted.output_files import gather, write_svrl
from maskwright.commands.parted.planning import SCANNED, ScannedPart, are_read_alike, planned, scan, scanned_file
from maskwright.commands.parted.strata import conditions_of
from maskwright.commands.parted.task_run import PartedRun, import_for_tasks
from maskwright.commands.parted.task_settings import TaskSettings, empty
from maskwright.commands.running.cost_estimates import costs_json
from maskwright.commands.running.in_memory import PlannedInMemory
from maskwright.commands.running.preparation import ReadyRun, doubts_of_measures, earlier_release_notices
from maskwright.commands.running.publish import violated_problems, write_release_codebook
from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.commands.running.release_candidate import PlannedRun, ReleaseCandidate
from maskwright.data.parts.part_files import address_of, is_several
from maskwright.foundation.errors import InputError
from maskwright.foundation.findings import notices_of
from maskwright.foundation.progress import notify, stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.pipeline.execution_section import choice_notices
from maskwright.planning.applicable_edits import identifiers_of
from maskwright.planning.warnings.plan_warnings import strata_notices
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.planning.warnings.wrong_edits import distorting_edit_doubts
from maskwright.plugins.engine import EngineTerms
from maskwright.plugins.parts_reading import files_description, refuse_changed_parts, scan_parts
from maskwright.plugins.registry import find_source, needed_packages, plugins
from maskwright.release.codebook import HeldTexts
from maskwright.release.measures.variable_selection import with_usual_losses
from maskwright.release.part_layout import refuse_disclosing_folders
from maskwright.release.protection_checks import unchanged_doubts
from maskwright.release.record.record_parts import CutRecord
from maskwright.release.reference_validation import no_reference_doubts
from maskwright.release.work_folders import passing_scratch_folder, scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from maskwright.commands.parted.masking_stages import MaskedSteps
    from maskwright.commands.parted.planning import PartsPlan, ScannedFile
    from maskwright.commands.parted.task_settings import WholeVariable
    from maskwright.commands.running.loading import Clock
    from maskwright.data.parts.model import Parts
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.progress import Progress, Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.costs import Costs
    from maskwright.release.files import Release
    from maskwright.release.protection_checks import UnchangedCells
    from maskwright.release.record.run_record import RunRecord
    from maskwright.release.release_decision import ReleaseDecision


def planned_over_parts(
    described: Pipeline, reporter: Reporter, clock: Clock, stack: ExitStack, *, resume: bool | None
) -> PlannedRun:
    """Plan a run part by part, or in one process where something takes all records at once.

    `resume`: whether to go on from what an earlier run has finished; None: nothing but the plan is wanted.
    """
    with ExitStack() as own:
        try:
            need_no_other_records(reasons_of_request(described))
            planned = _planned_by_part(described, reporter, clock, own, resume=resume)
            stack.enter_context(own.pop_all())
        except AllRecordsNeededError as found:
            reasons = found.reasons
        else:
            return planned
    place, output = _scratch_of(described), described.output.data
    if resume is not None and place.is_dir():
        # What a run part by part has left of the same output is of no use to this one.
        with scratch_folder(place, output, "in one process", resume=resume, reporter=reporter):
            pass
    described = in_one_process(described, reasons)
    if described.levels is not None:
        from maskwright.commands.levels.running import PlannedOnLevels  # with all that masks levels

        return PlannedOnLevels.of(described, reporter, clock)
    return PlannedInMemory.of(described, reporter, clock)


def _scratch_of(described: Pipeline) -> Path:
    """Where scratch folders are."""
    named = None if described.engine is None else described.engine.scratch
    return named or described.output.data.parent


def _planned_by_part(
    described: Pipeline, reporter: Reporter, clock: Clock, stack: ExitStack, *, resume: bool | None
) -> PlannedOverParts:
    """Find and scan the parts, and make the plan."""
    chosen = described.engine
    assert chosen is not None
    refuse_request(described)
    with clock("find"), stage(reporter, "Finding the parts") as progress:
        parts = _parts_of(described, progress)
    place, output = _scratch_of(described), described.output.data
    if resume is None:
        scratch, drawn, identity = stack.enter_context(passing_scratch_folder(place)), 0, "plan"
    else:
        identity = _identity(described, parts)
        kept = stack.enter_context(scratch_folder(place, output, identity, resume=resume, reporter=reporter))
        scratch = kept.path
        drawn = int(described.seed if described.seed is not None else kept.remember("seed", fresh_seed))
    workers = stack.enter_context(chosen.plugin.start(_terms(described, scratch), chosen.params))
    run = PartedRun(described, parts, drawn, scratch, workers, reporter, clock, f"{identity} {drawn}")
    found = _scanned(run)
    plan = planned(described, found)
    usual = with_usual_losses(described, plan.plan, plugins())
    need_no_other_records(reasons_of_plan(plan.plan))
    run.pipeline = with_needed_measures(usual, plan.plan)
    # Where values of `within` cannot be numbered over parts, all records are needed.
    conditions_of(plan.plan, plan.edits, found.variables)
    stated = _support(run.pipeline) if resume is None else ()
    notices = (
        *notices_of("over-parts", dict.fromkeys(stated)), *plan.notices, *dropped_notices(usual, run.pipeline),
        *earlier_release_notices(described), *choice_notices(described),
    )  # fmt: skip
    written = no_reference_doubts(described.output.source)
    doubts = (*plan.doubts, *doubts_of_measures(run.pipeline, plan.plan), *written)
    return PlannedOverParts(
        pipeline=run.pipeline, doubts=doubts, notices=notices, reporter=reporter, clock=clock, run=run, found=found,
        plan=plan, variables=plan.plan.variables,
        rules=(plan.edits, [each.variable for each in found.variables.values()], found.layout),
    )  # fmt: skip


def _support(described: Pipeline) -> Iterator[str]:
    """How each method and measure works over parts, and how exact it is."""
    rows = [
        *(support_of_method(step.method) for step in described.steps),
        *(support_of_measure(each.measure) for each in described.measures),
    ]
    for each in rows:
        yield f"over parts, {each.kind} {each.name}: {each.form}, {each.result}; {each.why}"


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedOverParts(PlannedRun):
    """A planned run over parts, with the workers that its tasks are given to."""

    run: PartedRun
    found: ScannedFile
    plan: PartsPlan

    def to_json(self) -> dict[str, Any]:
        """Return the plan, as ``maskwright plan --json`` prints it."""
        return self.plan.plan.to_json()

    def costs(self, assumed: int | None) -> Costs:
        """Return expected memory of each worker, and time."""
        parts, plan = self.run.parts, self.plan.plan
        largest = max(each.records for each in parts)
        variables, records = len(parts.schema or ()), assumed or parts.records
        examined = len(examined_columns(plan, self.found.sample))
        return costs_of_parted_plan(self.pipeline, plan, variables, records, largest, examined)

    def extent(self, assumed: int | None) -> dict[str, Any]:
        """Return expected memory of each worker, and time."""
        costs = self.costs(assumed)
        return costs_json(costs, worker_limit(self.pipeline, costs), self.pipeline)

    def carry_out(self, release: Release) -> CandidateOverParts:
        """Mask group by group, then write, read back, validate and measure part by part."""
        run, found, plan, described = self.run, self.found, self.plan, self.pipeline
        release.keep_in(run.scratch)
        examined = len(examined_columns(plan.plan, found.sample))
        refuse_too_large_parts(described, plan.plan, run.parts, run.scratch, examined)
        refuse_disclosing_folders(found.layout, described.output, plan.plan.masked, tuple(found.variables))
        reported = run.store(
            "sheet", TaskSettings(_for_tasks(described), run.parts, run.seed, found.variables, found.layout)
        )
        masked = mask_groups(run, reported, found, plan)
        result, outcome, unchanged, first = finish_parts(run, reported, found, masked)
        if len(found.sample) < found.records:
            whole = masked.masking.plan
            result = replace(result, notices=(*strata_notices(whole.groups, whole.steps), *result.notices))
        together = doubts_in_one_place(run, plan.plan, masked.published, reported, found.sample)
        seen = (*together, *unchanged_doubts(unchanged, plan.plan, result.doubts))
        left = undecided_doubts(outcome, found.outcome)
        wrong = distorting_edit_doubts(result.doing_most, found.outcome.edits, plan.edits, found.sample, self.doubts)
        notify(run.reporter, result.notices)
        return CandidateOverParts(
            doubts=(*result.doubts, *wrong, *left, *seen),
            violated=violated_problems(result, outcome, masked.masking.plan),
            requests=described.measures, measured=measured(run, plan.plan, masked.published, reported, first),
            rules=result.edits, columns=result.masked.columns, layout=found.layout,
            planned=self, release=release, masked=masked, result=result, outcome=outcome, unchanged=unchanged,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateOverParts(ReleaseCandidate):
    """Masked parts that were written, read back, validated and measured."""

    planned: PlannedOverParts
    release: Release
    masked: MaskedSteps
    result: MaskingResult
    outcome: Outcome
    unchanged: tuple[UnchangedCells, ...]

    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, not ok yet."""
        planned, run, found = self.planned, self.planned.run, self.planned.found
        original = replace(empty(found.variables), layout=found.layout)
        ready = ReadyRun(
            original, planned.plan.edits, found.outcome, {}, (), planned.plan.notices, planned.doubts,
            request=planned.pipeline, plan=self.masked.masking.plan, dropped=planned.plan.dropped,
        )  # fmt: skip
        record = run_record(
            MeasuredRun(
                planned.pipeline, ready, self.result, self.outcome, self.measured, self.unchanged, judgement, run.seed,
                run.clock.seconds,
            )
        )  # fmt: skip
        mode = f"blocks of about {run.block_size} records, cut by a sample"
        return record.model_copy(update={"mode": mode, "cut": _cut_record(run, found)})

    def complete(self, record: RunRecord) -> None:
        """Put the files of all parts together, and write what is about them; the parts must not have changed."""
        run, release, result, described = self.planned.run, self.release, self.result, self.planned.pipeline
        masking, layout = self.masked.masking, self.planned.found.layout
        with run.clock("publish"):
            refuse_changed_parts(run.parts)
            write_svrl(run, release, masking.edits, layout)
            if described.output.codebook is not None:
                texts = HeldTexts.merged([each.texts for each in run.read(run.finished, FOUND)])
                recoded, cluster = masking.plan.recoded, described.data.cluster
                write_release_codebook(release, described, record, texts, result.masked.variables, recoded, cluster)
            gather(run, release, [each.variable for each in self.masked.published.values()])


def _parts_of(described: Pipeline, progress: Progress) -> Parts:
    """Parts of the data, none of which is too large for a worker."""
    source = find_source(described.data.source.name)
    parts = scan_parts(source, described.data.params, address_of(str(described.data.path)), progress)
    if parts.records == 0:
        raise InputError("the data have no records")
    need_no_other_records(reasons_of_output(described, parts))
    refuse_unscannable(described, parts)
    return parts


def _terms(described: Pipeline, scratch: Path) -> EngineTerms:
    return EngineTerms(described.execution.at_once, scratch, needed_packages(), import_for_tasks)


def _identity(described: Pipeline, parts: Parts) -> str:
    """What all results depend on."""
    files = [(part.name, part.bytes, part.stamp, part.records, part.fingerprint) for part in parts]
    settings = dict(described.settings)
    # Engine, workers and limits never change a result: a run may be resumed with others.
    settings["execution"] = described.execution.block_size
    stated = json.dumps([settings, files, described.seed], ensure_ascii=False, default=str)
    return hashlib.sha256(stated.encode()).hexdigest()


def _for_tasks(described: Pipeline) -> Pipeline:
    """What tasks need of a pipeline: no engine, no reports; its source reads one part."""
    output = replace(described.output, reports=(), source=find_source(described.output.source.name))
    data = replace(described.data, source=find_source(described.data.source.name))
    return replace(described, data=data, output=output, engine=None, checks=(), sections=(), after=(), measures=())


def _cut_record(run: PartedRun, found: ScannedFile) -> CutRecord:
    engine = run.pipeline.engine
    merged = {each.label: each.measure.merging if is_merged(each) else None for each in run.pipeline.measures}
    return CutRecord(
        engine="" if engine is None else engine.plugin.name,
        parts=len(run.parts),
        sampled=len(found.sample),
        groups=tuple(run.cuts),
        measures={label: "exact" if each is None else each.result for label, each in merged.items()},
    )


def _scanned(run: PartedRun) -> ScannedFile:
    """Look at all parts for the first time."""
    shares = _scanned_parts(run, "scan", {})
    whole = scanned_file(shares)
    if not are_read_alike(shares, whole):
        # Verdicts are on the numbers that all parts together stand for.
        again = scanned_file(_scanned_parts(run, "scan-again", whole.variables))
        whole = replace(again, variables=whole.variables, doubts=whole.doubts, notes=whole.notes)
    # What one part says of itself is not what is read.
    details = {name: each for name, each in whole.layout.details.items() if name != "parts"}
    if is_several(run.parts.found_by):
        details["parts"] = run.parts
    layout = replace(whole.layout, details=details)
    names = set() if run.parts.schema is None else set(run.parts.schema.names)
    identifiers = tuple(name for name in identifiers_of(run.pipeline.data.variables) if name in names)
    notes = (files_description([part.name for part in run.parts]), *whole.notes)
    return replace(whole, layout=layout, identifiers=identifiers, notes=notes)


def _scanned_parts(
    run: PartedRun, name: str, variables: Mapping[str, WholeVariable]
) -> list[tuple[str, int, ScannedPart]]:
    """What each part says, with its name and the number of its first record."""
    reported = run.store(f"{name}-parts", TaskSettings(_for_tasks(run.pipeline), run.parts, run.seed, variables))
    run.run(name, "Reading the parts", scan, run.part_keys, reported)
    read = [(part.name, first) for part, first in zip(run.parts, run.parts.offsets, strict=False) if part.records]
    return [(*each, found) for each, found in zip(read, run.read(name, SCANNED), strict=True)]
