"""The end of a run: nothing is released, or everything is, with the sections of its reports."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.commands.running.input_violations import violated_edits
from maskwright.commands.running.recording import run_json
from maskwright.data.parts.part_files import address_of
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import Problem
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import LOGGER
from maskwright.foundation.release_outcomes import EditViolation, OpenDoubts, ThresholdMissed
from maskwright.pipeline.resolved import Pipeline
from maskwright.release.files import writing
from maskwright.release.protection_checks import require_every_step_run
from maskwright.release.record.record_parts import doubt_records, notice_record
from maskwright.release.record.run_record import FigureRecord, OutputFile, RunRecord, SectionRecord, record_for_reports

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright.commands.running.release_candidate import ReleaseCandidate
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import MaskingRequest, MeasureRequest
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.codebook import HeldTexts
    from maskwright.release.files import Release
    from maskwright.release.release_decision import ReleaseDecision


def with_sections(pipeline: Pipeline, record: RunRecord) -> RunRecord:
    """Record with the sections that the pipeline lists, composed of what reports get of it."""
    if not pipeline.sections:
        return record
    return record.model_copy(update={"sections": tuple(_composed(pipeline, record))})


def _composed(pipeline: Pipeline, record: RunRecord) -> Iterator[SectionRecord]:
    shown = record_for_reports(record)
    for each in pipeline.sections:
        content = each.extra.work(shown, each.params)
        figures = tuple(
            FigureRecord(caption=figure.caption, values=dict(figure.values), unit=figure.unit)
            for figure in content.figures
        )
        yield SectionRecord(
            name=each.extra.name, title=each.extra.title, paragraphs=content.paragraphs, head=content.head,
            rows=content.rows, figures=figures,
        )  # fmt: skip


def refuse_results(
    pipeline: Pipeline,
    broken: Sequence[Problem],
    measures: Sequence[MeasureRequest],
    record: RunRecord,
    judgement: ReleaseDecision,
) -> None:
    """Stop the release when an edit is violated, a threshold missed, or a doubt open: all are reported at once."""
    missed = list(_missed_thresholds(measures, record))
    reasons = [*broken, *missed, *judgement.problems]
    _log_open(judgement)
    if reasons:
        refusal = EditViolation if broken else ThresholdMissed if missed else OpenDoubts
        raise refusal([*reasons, _ending(pipeline, judgement)], record.to_json())


def refuse_doubts(
    request: MaskingRequest, judgement: ReleaseDecision, notices: Iterable[Notice] = (),
    seconds: Mapping[str, float] | None = None,
) -> None:  # fmt: skip
    """Stop before anything is masked when reading or planning left a doubt open."""
    # Other doubts name variables, and these names may be values of a record.
    of_names = tuple(each for each in judgement.open if each.kind == "header-may-be-a-record")
    if of_names:
        judgement, notices = replace(judgement, open=of_names, waived=()), ()
    if judgement.open:
        _log_open(judgement)
        found = run_json(
            {
                "ok": False, "records": 0, "edits": [], "k": None, "measures": {}, "variables": (), "outputs": {},
                "doubts": [each.to_json() for each in doubt_records(judgement)],
                "notices": [notice_record(each).to_json() for each in notices], "seconds": dict(seconds or {}),
            }
        )  # fmt: skip
        raise OpenDoubts([*judgement.problems, _ending(request, judgement)], summary=found)


def _log_open(judgement: ReleaseDecision) -> None:
    """Records of open doubts, for a program that listens; the command line shows them itself."""
    for doubt in judgement.open:
        LOGGER.warning("%s", doubt)


def log_waived(judgement: ReleaseDecision) -> None:
    """Records of the doubts that the pipeline waives, with the reasons it gives."""
    for each in judgement.waived:
        LOGGER.info("%s (waived, because: %s)", each.doubt, each.waiver.because)


def _ending(request: MaskingRequest, judgement: ReleaseDecision) -> Problem:
    """What was released: nothing; and what the pipeline would have to say to have it released all the same."""
    paths = request.output.paths.values() if isinstance(request, Pipeline) else ()
    left = [str(path) for path in paths if path.exists()]
    message = "nothing was released" + (f"; of an earlier run there is still: {', '.join(left)}" if left else "")
    ending = Notice("nothing-released", "", message)
    if not judgement.open:
        return Problem(message, finding=ending)
    waivers = judgement.waivers_to_write.replace("\n", "\n    ")
    hint = f"where all is as it should be, say so in the pipeline, and why:\n    {waivers}"
    return Problem(message, hint=hint, finding=ending)


def write_release_codebook(
    release: Release,
    pipeline: Pipeline,
    record: RunRecord,
    released: Mapping[str, HeldTexts],
    variables: tuple[Variable, ...],
    recoded: Collection[str],
    cluster: str | None,
) -> None:
    """Write the codebook of the masked data, where one is requested."""
    target = pipeline.output.codebook
    if target is None:
        return
    from maskwright.release.codebook import release_codebook  # of codebooks alone

    codebook = release_codebook(
        pipeline.output.data.name, record, released, variables, pipeline.data.variables, recoded, cluster
    )
    written = release.temporary("codebook")
    from maskwright.data.codebooks.files import refuse_otherwise, write_codebook  # of codebooks alone

    with writing(written):
        write_codebook(written, codebook, as_table=target.suffix.lower() == ".csv")
    refuse_otherwise(written, codebook)
    release.sealed("codebook")


def publish_record(
    release: Release,
    pipeline: Pipeline,
    record: RunRecord,
    per_record: dict[str, tuple[float | None, ...]] | None = None,
) -> RunRecord:
    """Write reports and records, and move every file into place; the record as it is then."""
    require_every_step_run(pipeline.steps, record)
    record = with_sections(pipeline, record)
    record = _written_about(release, pipeline, record, per_record or {})
    release.publish()
    return record


def violated_problems(result: MaskingResult, outcome: Outcome, plan: Plan) -> list[Problem]:
    """A problem for each edit that does not hold in the masked records."""
    least = {
        name: group.strata.least for group in plan.groups if group.strata is not None for name in group.strata.mixed
    }  # fmt: skip
    problems = []
    for each in violated_edits(outcome.edits):
        failed = result.infeasible.get(each.name)
        infeasible = f"no feasible point was found for {plural(failed, 'row')}" if failed else None
        message = f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked records"
        few = None
        if each.name in least:
            few = (
                f"fewer than {least[each.name]} have its conditions and those of others in common, and are masked "
                "with others: join categories of a condition (recoding), lower k, or leave these records out"
            )
        hint = "; ".join(filter(None, (infeasible, few, *each.undecidable_because)))
        problems.append(Problem(message, hint=hint or None))
    return problems


def _missed_thresholds(measures: Sequence[MeasureRequest], record: RunRecord) -> Iterator[Problem]:
    for request in measures:
        found = record.measures[request.label]
        if found.threshold is not None and not found.met:
            yield _missed_threshold(request.label, found.value, found.threshold, found.direction)
        for name, each in found.part_thresholds.items():
            if not each.met:
                yield _missed_threshold(
                    f"{request.label}.{name}", found.parts.get(name), each.threshold, each.direction
                )


def _missed_threshold(name: str, value: float | None, threshold: float, direction: str) -> Problem:
    side = "at most" if direction == "lower" else "at least"
    shown = "not defined" if value is None else f"{value:.6g}"
    return Problem(f"{name} is {shown}; the threshold is {side} {threshold:g}")


def _written_about(
    release: Release, pipeline: Pipeline, record: RunRecord, per_record: dict[str, tuple[float | None, ...]]
) -> RunRecord:
    """Write reports and records of the run as it will be when it is published, and return that record."""
    later = {"record", "public_record", *(report.name for report, _ in pipeline.output.reports)}
    outputs = {
        key: OutputFile(file=place) if key in later else OutputFile(file=place, **release.sealed(key))
        for key, place in ((key, address_of(str(path))) for key, path in pipeline.output.paths.items())
    }
    record = record.model_copy(update={"ok": True, "outputs": outputs})
    for report, path in pipeline.output.reports:
        written = release.temporary(report.name)
        with writing(written):
            report.write(written, record_for_reports(record))
        outputs = outputs | {report.name: OutputFile(file=str(path), **release.sealed(report.name))}
        record = record.model_copy(update={"outputs": outputs})
    if pipeline.output.record is not None:
        # Contributions of records are in this file only: reports and the caller never get them.
        whole = record.model_copy(update={"per_record": per_record}) if per_record else record
        _write_json(release.temporary("record"), whole.to_json())
    if pipeline.output.public_record is not None:
        _write_json(release.temporary("public_record"), record.public_json())
    return record


def contributions(
    requests: Sequence[MeasureRequest], found: Mapping[str, Measurement]
) -> dict[str, tuple[float | None, ...]]:
    """Contributions of the masked records, in their order, to the measures they were asked of; null: not defined."""
    chosen = {request.label: found[request.label].per_record for request in requests if request.per_record}
    return {
        label: tuple(value if math.isfinite(value) else None for value in values.tolist())
        for label, values in chosen.items()
        if values is not None
    }


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    with writing(path):
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_release_rules(release: Release, pipeline: Pipeline, candidate: ReleaseCandidate) -> tuple[Notice, ...]:
    """Write the rules that hold in the published data, where they are requested; notices on them."""
    target = pipeline.output.edits
    if target is None:
        return ()
    from maskwright.masking.suppressing.published_rules import rule_file

    variables = (column.variable for column in candidate.columns)
    text, notices = rule_file(target, candidate.rules, variables, candidate.layout)
    with writing(release.temporary("edits")):
        release.temporary("edits").write_text(text, encoding="utf-8")
    return notices
