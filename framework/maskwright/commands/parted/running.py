"""The whole run over parts: scan, plan, shuffle, mask block by block, finish part by part, measure, publish."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.feasibility import (
    costs_of_parted_plan,
    dropped_notices,
    refuse_output,
    refuse_plan,
    refuse_request,
    refuse_too_large_parts,
    refuse_unscannable,
    support_of_measure,
    support_of_method,
    worker_limit,
)
from maskwright.commands.parted.finishing import FOUND
from maskwright.commands.parted.output_files import gather, write_svrl
from maskwright.commands.parted.planning import SCANNED, ScannedPart, are_read_alike, planned, scan, scanned_file
from maskwright.commands.parted.task_run import PartedRun, import_for_tasks
from maskwright.commands.parted.task_settings import TaskSettings, empty
from maskwright.commands.running.cost_estimates import costs_json
from maskwright.commands.running.loading import Clock
from maskwright.commands.running.preparation import ReadyRun, apply_plan_checks, doubts_of_measures
from maskwright.commands.running.publish import publish_record, refuse_doubts, refuse_release, write_release_codebook
from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.commands.running.stages import write_release_rules
from maskwright.data.parts.part_files import address_of, is_several
from maskwright.foundation.findings import notices_of
from maskwright.foundation.progress import notify, silent, stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.planning.applicable_edits import identifiers_of
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.planning.warnings.wrong_edits import distorting_edit_doubts
from maskwright.plugins.engine import EngineTerms
from maskwright.plugins.parts_reading import files_description, refuse_changed_parts, scan_parts
from maskwright.plugins.registry import find_source, needed_packages, plugins
from maskwright.release.codebook import HeldTexts
from maskwright.release.files import Release
from maskwright.release.measures.variable_selection import with_usual_losses
from maskwright.release.part_layout import refuse_disclosing_folders
from maskwright.release.protection_checks import unchanged_doubts
from maskwright.release.record.record_parts import CutRecord, doubt_records
from maskwright.release.release_decision import decide_release
from maskwright.release.work_folders import passing_scratch_folder, scratch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from maskwright.commands.parted.planning import ScannedFile
    from maskwright.commands.parted.task_settings import WholeVariable
    from maskwright.data.parts.model import Parts
    from maskwright.foundation.progress import Progress, Reporter
    from maskwright.pipeline.resolved import ChosenEngine, Pipeline
    from maskwright.release.record.run_record import RunRecord

from maskwright.commands.parted.finishing_stages import finish_parts, measured
from maskwright.commands.parted.masking_stages import mask_groups


def run_parted(
    described: Pipeline, reporter: Reporter, clock: Clock, private: frozenset[str], *, resume: bool = False
) -> RunRecord:
    """Run a pipeline over parts; the record of what was released."""
    chosen = described.engine
    assert chosen is not None
    refuse_request(described)
    with clock("find"), stage(reporter, "Finding the parts") as progress:
        parts = _parts_of(described, progress)

    paths, output = described.output.paths, described.output.data
    folders = frozenset({"data"} if described.output.is_folder else ())
    identity = _identity(described, parts)
    with (
        Release(paths, private, folders) as release,
        scratch_folder(_scratch_of(described, chosen), output, identity, resume=resume, reporter=reporter) as scratch,
        chosen.plugin.start(_terms(described, scratch.path), chosen.params) as workers,
    ):
        release.keep_in(scratch.path)
        drawn = described.seed if described.seed is not None else scratch.remember("seed", fresh_seed)
        run = PartedRun(described, parts, int(drawn), scratch.path, workers, reporter, clock, f"{identity} {drawn}")
        return _run(run, release)


def plan_parted(described: Pipeline, reporter: Reporter, assume_records: int | None = None) -> dict[str, Any]:
    """Plan of a run over parts, as ``maskwright plan --json`` prints it."""
    chosen = described.engine
    assert chosen is not None
    refuse_request(described)
    parts = _parts_of(described, silent)
    with (
        passing_scratch_folder(_scratch_of(described, chosen)) as folder,
        chosen.plugin.start(_terms(described, folder), chosen.params) as workers,
    ):
        run = PartedRun(described, parts, 0, folder, workers, reporter, Clock(), "plan")
        plan = planned(described, _scanned(run))
    usual = with_usual_losses(described, plan.plan, plugins())
    described = refuse_plan(usual, plan.plan)
    judgement = decide_release((*plan.doubts, *doubts_of_measures(described, plan.plan)), described.waivers)
    rows = [
        *(support_of_method(step.method) for step in described.steps),
        *(support_of_measure(each.measure) for each in described.measures),
    ]
    texts = (f"over parts, {each.kind} {each.name}: {each.form}, {each.result}; {each.why}" for each in rows)
    stated = dict.fromkeys(texts)
    largest = max(each.records for each in parts)
    costs = costs_of_parted_plan(
        described, plan.plan, len(parts.schema or ()), assume_records or parts.records, largest
    )
    return (
        plan.plan.to_json()
        | costs_json(costs, worker_limit(described, costs))
        | {
            "doubts": [each.to_json() for each in doubt_records(judgement)],
            "notices": [
                each.to_json()
                for each in (*notices_of("over-parts", stated), *plan.notices, *dropped_notices(usual, described))
            ],
        }
    )


def _parts_of(described: Pipeline, progress: Progress) -> Parts:
    """Parts of the data, none of which is too large for a worker."""
    source = find_source(described.data.source.name)
    parts = scan_parts(source, described.data.params, address_of(str(described.data.path)), progress)
    refuse_output(described, parts)
    refuse_unscannable(described, parts)
    return parts


def _scratch_of(described: Pipeline, chosen: ChosenEngine) -> Path:
    """Folder in which that of the run is made: all workers see where the masked data will be."""
    return chosen.scratch or described.output.data.parent


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


def _run(run: PartedRun, release: Release) -> RunRecord:
    described = run.pipeline
    found = _scanned(run)
    plan = planned(described, found)
    usual = with_usual_losses(described, plan.plan, plugins())
    described = refuse_plan(usual, plan.plan)
    run.pipeline = described
    refuse_too_large_parts(described, plan.plan, run.parts, run.scratch)
    notify(run.reporter, (*release.notices, *plan.notices, *dropped_notices(usual, described)))
    doubts = (*plan.doubts, *doubts_of_measures(described, plan.plan))
    if described.checks:
        apply_plan_checks(described, plan.plan.to_json(), run.reporter)
    refuse_doubts(described, decide_release(doubts, described.waivers))
    refuse_disclosing_folders(found.layout, described.output, plan.plan.masked, tuple(found.variables))
    reported = run.store(
        "sheet", TaskSettings(_for_tasks(described), run.parts, run.seed, found.variables, found.layout)
    )
    masked = mask_groups(run, reported, found, plan)
    masking = masked.masking
    result, outcome, unchanged, first = finish_parts(run, reported, found, masked)
    seen = tuple(unchanged_doubts(unchanged, plan.plan, result.doubts))
    left = undecided_doubts(outcome, found.outcome)
    wrong = distorting_edit_doubts(result.doing_most, found.outcome.edits, plan.edits, found.sample, doubts)
    judgement = decide_release((*doubts, *result.doubts, *wrong, *left, *seen), described.waivers)
    notify(run.reporter, (*result.notices, *judgement.notices))
    original = replace(empty(found.variables), layout=found.layout)
    ready = ReadyRun(
        original, plan.edits, found.outcome, {}, (), plan.notices, doubts, request=described, plan=masking.plan,
        dropped=plan.dropped,
    )  # fmt: skip
    found_measures = measured(run, plan.plan, masked.published, reported, first)
    record = run_record(
        MeasuredRun(
            described, ready, result, outcome, found_measures, unchanged, judgement, run.seed, run.clock.seconds
        )
    )
    record = record.model_copy(
        update={"mode": f"blocks of about {run.block_size} records, cut by a sample", "cut": _cut_record(run, found)}
    )
    refuse_release(described, result, outcome, record, judgement)
    with run.clock("publish"):
        refuse_changed_parts(run.parts)
        write_svrl(run, release, masking.edits, found.layout)
        notify(run.reporter, write_release_rules(release, described, result.edits, result.masked, found.layout))
        if described.output.codebook is not None:
            texts = HeldTexts.merged([each.texts for each in run.read(run.finished, FOUND)])
            recoded = masking.plan.recoded
            write_release_codebook(
                release, described, record, texts, result.masked.variables, recoded, described.data.cluster
            )
        gather(run, release, [each.variable for each in masked.published.values()])
        record = publish_record(release, described, record)
    return record.model_copy(update={"seconds": dict(run.clock.seconds)})


def _for_tasks(described: Pipeline) -> Pipeline:
    """What tasks need of a pipeline: no engine, no reports; its source reads one part."""
    output = replace(described.output, reports=(), source=find_source(described.output.source.name))
    data = replace(described.data, source=find_source(described.data.source.name))
    return replace(described, data=data, output=output, engine=None, checks=(), sections=(), after=(), measures=())


def _cut_record(run: PartedRun, found: ScannedFile) -> CutRecord:
    engine = run.pipeline.engine
    merging = {each.label: each.measure.merging for each in run.pipeline.measures}
    return CutRecord(
        engine="" if engine is None else engine.plugin.name,
        parts=len(run.parts),
        sampled=len(found.sample),
        groups=tuple(run.cuts),
        measures={label: each.result for label, each in merging.items() if each is not None},
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
