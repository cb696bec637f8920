"""The whole run: read, plan, protect, adjust, round, write, read back, validate, measure, publish."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.arrive import Clock, ReadyRun, load, prepare
from maskwright.commands.run_record import public_record, run_json, run_record
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.published import published_batches
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.errors import EditViolation, Problem, ThresholdMissed
from maskwright.foundation.progress import Progress, Quiet, Reporter, stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.masking.context import Execution
from maskwright.masking.mask import mask
from maskwright.masking.protecting.compiling import report_compilation
from maskwright.masking.suppressing.rule_file import rule_file
from maskwright.pipeline.reading import read_pipeline
from maskwright.plugins.registry import plugins
from maskwright.release.check_file import check_file
from maskwright.release.files import Release, file_facts, writing
from maskwright.release.measuring import (
    Request,
    compute_measures,
    measurement_json,
    released_variables,
    unmasked_variable_notices,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.masking.context import Observer
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline
    from maskwright.plugins.block import Block
    from maskwright.plugins.measure import Measurement
    from maskwright.plugins.method import Masked
    from maskwright.plugins.source import Source


@dataclass(frozen=True, eq=False)
class RunResult:
    """A finished run.

    Attributes
    ----------
    ok : bool
        True: everything was published.
    record : mapping
        What `run.json` holds. It has the seed: confidential.
    """

    ok: bool
    record: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the outcome only: the record holds the seed."""
        return f"RunResult(ok={self.ok}, records={self.record['records']})"

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright run --json`` prints."""
        return run_json(self.record)


def run(
    pipeline: str | Path,
    overrides: Mapping[str, object] | Sequence[str] = (),
    reporter: Reporter | None = None,
) -> RunResult:
    """Run a pipeline file.

    Parameters
    ----------
    pipeline : str or Path
    overrides : mapping of dotted path to value, or sequence of "path=value"
        Put over the settings of the file: ``{"protect.0.params.k": 10}``.
    reporter : Reporter, optional
        Told of stages and notices; nothing is shown by default.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        Bad input: nothing was written.
    EditViolation, ThresholdMissed
        The result may not be released: nothing was published.
    """
    reporter = reporter or Quiet()
    clock = Clock()
    prepared = prepare(read_pipeline(pipeline, overrides), reporter, clock)
    described, original, edits, plan = prepared.pipeline, prepared.original, prepared.edits, prepared.plan
    for notice in prepared.notices:
        reporter.notice(notice)
    seed = fresh_seed() if described.seed is None else described.seed
    execution = Execution(described.execution.workers, described.execution.block_size)
    private = frozenset({"svrl", "record"})
    with Release(described.output.paths, private) as release:
        with clock("protect"), report_compilation(reporter):
            result = mask(original, edits, plan, seed, execution, reporter, _observer())
        for notice in result.notices:
            reporter.notice(notice)
        data_file = release.temporary("data")
        with clock("write"), stage(reporter, "Writing"), writing(data_file):
            write_dataset(result.masked, data_file, described.output.source)
        _write_rules(release, described, result, reporter)
        result = result.without_data()
        with clock("read back"), stage(reporter, "Reading back") as progress:
            released = read_back(data_file, described, result.masked.variables, progress)
            released = replace(released, origin=result.masked.origin)
        with clock("validate"), stage(reporter, "Validating") as progress:
            outcome = _validate(release, prepared, result.edits, progress)
        requests = [Request(each.label, each.measure, each.params) for each in described.measures]
        with clock("measure"), report_compilation(reporter):
            names = released_variables(original, released, plan.masked, plan.recoded)
            about = unmasked_variable_notices(names, plan.masked)
            if requests and about:
                reporter.notice(about[0])
            found = compute_measures(
                requests, original, released, edits, plan.to_json(), seed, reporter, names, about=about
            )
        for each in described.measures:
            if each.per_record and found[each.label].per_record is None:
                reporter.notice(f"{each.label} has no contributions of single records: none are written")
        measures = {
            request.label: measurement_json(request, found[request.label], described.thresholds.get(request.label))
            for request in requests
        }
        record = run_record(prepared, result, outcome, measures, seed, clock.seconds)
        _refuse(prepared, outcome, result, requests, record)
        with clock("publish"):
            # Reports are about the run as it will be when it is published.
            record["ok"] = True
            later = {"record", "public_record", *(report.name for report, _ in described.output.reports)}
            record["outputs"] = {
                key: {"file": str(path), **({} if key in later else file_facts(release.temporary(key)))}
                for key, path in described.output.paths.items()
            }
            for report, _ in described.output.reports:
                with writing(release.temporary(report.name)):
                    report.write(release.temporary(report.name), record)
                record["outputs"][report.name] |= file_facts(release.temporary(report.name))
            if described.output.record is not None:
                # Contributions of records are in this file only: reports and the caller never get them.
                details = _per_record(described.measures, found)
                _write_json(release.temporary("record"), {**record, **({"per_record": details} if details else {})})
            if described.output.public_record is not None:
                _write_json(release.temporary("public_record"), public_record(record))
            release.publish()
    record["seconds"] = dict(clock.seconds)
    return RunResult(True, record)


def _per_record(requests: Sequence[MeasureRequest], found: Mapping[str, Measurement]) -> dict[str, Any]:
    """Contributions of the masked records, in their order, to the measures they were asked of; null: not defined."""
    chosen = {request.label: found[request.label].per_record for request in requests if request.per_record}
    return {
        label: [value if math.isfinite(value) else None for value in values.tolist()]
        for label, values in chosen.items()
        if values is not None
    }


def write_dataset(data: Dataset, path: Path, source: Source) -> None:
    """Write a dataset with a source plugin; another format than it came in drops the layout."""
    source.write(path, published_batches(data, source.writes_text), data.variables, data.layout)


def read_back(path: Path, described: Pipeline, variables: Sequence[Variable], progress: Progress) -> Dataset:
    """Read the masked file as anyone would, knowing only what was declared."""
    same = described.output.source.name == described.data.source.name
    params = described.data.params if same else described.output.source.params()
    declared = {
        variable.name: VariableDeclaration(
            type=variable.type,
            role=variable.role,
            decimals=variable.decimals if variable.is_numeric else None,
            categories=variable.categories if variable.type == "ordinal" else (),
        )
        for variable in variables
    }
    return load(path, described.output.source, params, declared, progress)


def _write_rules(release: Release, described: Pipeline, result: MaskingResult, reporter: Reporter) -> None:
    """Write the rules that hold in the published data, where they are not those of the original."""
    if described.output.edits is None:
        return
    text, notices = rule_file(described.output.edits, result.edits, result.masked)
    for notice in notices:
        reporter.notice(notice)
    with writing(release.temporary("edits")):
        release.temporary("edits").write_text(text, encoding="utf-8")


def _validate(release: Release, prepared: ReadyRun, edits: EditSet, progress: Progress) -> Outcome:
    described = prepared.pipeline
    same = described.output.source.name == described.data.source.name
    params = described.data.params if same else described.output.source.params()
    domain = Domain.from_dataset(prepared.original, domain_tuples(prepared.edits))
    data_file = release.temporary("data")
    variables = {variable.name: variable for variable in prepared.original.variables}
    if described.output.svrl is None:
        return check_file(
            data_file, described.output.source, params, edits, domain=domain, variables=variables,
            progress=progress,
        )  # fmt: skip
    with writing(release.temporary("svrl")), release.temporary("svrl").open("wb") as svrl:
        return check_file(
            data_file, described.output.source, params, edits, domain=domain, variables=variables, svrl=svrl,
            progress=progress,
        )  # fmt: skip


def _refuse(
    prepared: ReadyRun, outcome: Outcome, result: MaskingResult, requests: Sequence[Request], record: dict[str, Any]
) -> None:
    """Stop the release when an edit is violated or a threshold missed."""
    record["ok"] = False
    record["outputs"] = {}
    left = [str(path) for path in prepared.pipeline.output.paths.values() if path.exists()]
    ending = Problem(
        "nothing was released" + (f"; of an earlier run there is still: {', '.join(left)}" if left else "")
    )
    broken = [each for each in outcome.edits if each.violations and each.severity == "error"]
    if broken:
        problems = [
            Problem(
                f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked records",
                hint=(
                    f"no feasible point was found for {result.infeasible[each.name]} row(s)"
                    if result.infeasible.get(each.name)
                    else None
                ),
            )
            for each in broken
        ]
        raise EditViolation([*problems, ending], record)
    missed: list[Problem] = []
    for request in requests:
        found = record["measures"][request.label]
        threshold = found["threshold"]
        if threshold is not None and not found["met"]:
            side = "at most" if request.measure.direction == "lower" else "at least"
            shown = "not defined" if found["value"] is None else f"{found['value']:.6g}"
            missed.append(Problem(f"{request.label} is {shown}; the threshold is {side} {threshold:g}"))
    if missed:
        raise ThresholdMissed([*missed, ending], record)


def _observer() -> Observer | None:
    """Tell plugins that observe steps; a plugin that fails there is not let off."""
    hooks = plugins().hooks
    if not hooks.before_step.get_hookimpls() and not hooks.after_step.get_hookimpls():
        return None

    def observe(step: int, method: str, block: Block, masked: Masked | None) -> None:
        if masked is None:
            hooks.before_step(step=step, method=method, block=block)
        else:
            hooks.after_step(step=step, method=method, block=block, masked=masked)

    return observe


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with writing(path):
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
