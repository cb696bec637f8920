"""The whole run: read, plan, protect, adjust, round, write, read back, validate, measure, publish."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.cost_estimates import plugins_used
from maskwright.commands.running.loading import Clock
from maskwright.commands.running.measured_costs import note_run, processor_seconds
from maskwright.commands.running.preparation import apply_plan_checks
from maskwright.commands.running.publish import (
    contributions,
    log_waived,
    publish_record,
    refuse_doubts,
    refuse_results,
    write_release_rules,
)
from maskwright.commands.running.recording import run_json
from maskwright.commands.running.release_candidate import planned_run
from maskwright.foundation.errors import InputError, MaskwrightError
from maskwright.foundation.files import reads_noted
from maskwright.foundation.findings import Notice, distinct_notices
from maskwright.foundation.processes.resources import share_memory_with_arrow
from maskwright.foundation.progress import Logged, Reporter, notify, stage
from maskwright.pipeline.reading import read_pipeline
from maskwright.plugins.guarding.call import time_limit
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.registry import pipelines_own_plugins
from maskwright.release.data_file import file_facts
from maskwright.release.files import Release
from maskwright.release.record.record_parts import notice_record
from maskwright.release.record.run_record import RunRecord
from maskwright.release.release_decision import decide_release
from maskwright.release.wording import count, kept_as_planned, release_remarks, step_line, verdict, with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.commands.running.release_candidate import PlannedRun
    from maskwright.pipeline.extras.extra import Extra
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.data_file import FileFacts


PRIVATE = frozenset({"svrl", "record", "key_map"})
"""Outputs that carry values of records, their old keys, or the seed; no action is given their names."""


def act_after_release(described: Pipeline, record: RunRecord, reporter: Reporter) -> None:
    """Do what the pipeline lists under ``after:``, in order."""
    outputs = {key: path for key, path in described.output.paths.items() if key not in PRIVATE}
    shown = frozen(record.public_json())
    released = _facts(described) if described.after else {}
    for each in described.after:
        failed: MaskwrightError | None = None
        stated = None
        try:
            with stage(reporter, f"After the release: {each.extra.name}"):
                stated = each.extra.work(outputs, shown, each.params)
        except MaskwrightError as error:
            failed = error
        _refuse_changed(each.extra, released, _facts(described))
        if failed is not None:
            message = f"everything is released and stays so; what comes after ended with {each.extra.name}"
            notify(reporter, [Notice("ended-after-the-release", "", message)])
            raise failed
        if stated:
            notify(reporter, [Notice("after-the-release", "", f"{each.extra.name}: {stated}")])


def _facts(described: Pipeline) -> dict[Path, FileFacts]:
    """What tells the released files from others; an action may have moved some away."""
    return {path: file_facts(path) for path in described.output.paths.values() if path.is_file()}


def _refuse_changed(action: Extra, released: Mapping[Path, FileFacts], found: Mapping[Path, FileFacts]) -> None:
    """Take away files that are not what was released any more: what is passed on is what was checked."""
    changed = [path for path, facts in found.items() if released.get(path) != facts]
    for path in changed:
        path.unlink(missing_ok=True)
    if changed:
        names = ", ".join(path.name for path in changed)
        raise AssertionError(f"{action.name} changed what was released ({names}), which was taken away")


@dataclass(frozen=True, eq=False)
class RunResult:
    """A finished run.

    Attributes
    ----------
    ok : bool
        True: everything was published.
    record : mapping
        What `run.json` holds. It has the seed: confidential.

    Examples
    --------
    >>> from maskwright import RunResult
    >>> RunResult(True, {"records": 20, "seed": 1})  # the seed is not shown
    RunResult(ok=True, records=20)
    """

    ok: bool
    record: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the outcome only: the record holds the seed."""
        return f"RunResult(ok={self.ok}, records={self.record['records']})"

    def _repr_html_(self) -> str:
        """Tables for notebooks: edits before and after, measures, files; the seed is not shown."""
        from maskwright.foundation.html_tables import block, sentence, table  # of notebooks

        record = RunRecord.model_validate(self.record)
        edits = [
            (each.name, count(each.violations_on_arrival), count(each.violations), kept_as_planned(each))
            for each in record.edits
        ]
        measures = [(label, with_unit(each.value, each.unit)) for label, each in record.measures.items()]
        steps = [(each.step, step_line(each, every_parameter=False)) for each in record.plan.steps]
        files = [(key, Path(each.file).name) for key, each in record.outputs.items()]
        return block(
            verdict(record),
            table(("step", "what"), steps, (0,)),
            table(("edit", "violations: original", "masked", "kept by"), edits, (1, 2)),
            table(("measure", "value"), measures, (1,)),
            table(("output", "file"), files),
            *(sentence(text, f"{title}:") for title, text in release_remarks(record)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright run --json`` prints."""
        return run_json(self.record)


@reads_noted()
@pipelines_own_plugins()
def run(
    pipeline: str | Path | Mapping[str, object],
    overrides: Mapping[str, object] | Sequence[str] = (),
    reporter: Reporter | None = None,
    *,
    resume: bool = False,
) -> RunResult:
    """Run a pipeline.

    Parameters
    ----------
    pipeline : str, Path or mapping
        A pipeline file, or a mapping that says what the file would; then names of files are relative to the working
        directory.
    overrides : mapping of dotted path to value, or sequence of "path=value"
        Put over these settings: ``{"protect.0.params.k": 10}``.
    reporter : Reporter, optional
        Receives stages and notices; by default the logger ``maskwright`` does.
    resume : bool, default False
        Of a run over parts (``execution: {engine: ...}``): whether to go on from what an earlier run has finished.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        Bad input: nothing was written.
    EditViolation, ThresholdMissed, OpenDoubts
        The result may not be released: nothing was published.
    PluginFailed
        A plugin failed, took too long, or returned what its contract forbids: nothing was published.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
    >>> _ = Path("pipeline.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... protect: [{method: microaggregation, params: {k: 4}}]
    ... output: {data: masked.csv}
    ... seed: 1
    ... ''', encoding="utf-8")
    >>> mw.run("pipeline.yaml", {"protect.0.params.k": 5})
    RunResult(ok=True, records=20)
    >>> mw.read("masked.csv")["age"].values[:5]
    array([22., 27., 32., 22., 27.])
    >>> steps = [{"method": "microaggregation", "params": {"k": 4}}]
    >>> mw.run({"maskwright": 1, "data": {"source": "ages.csv"}, "protect": steps, "output": {"data": "again.csv"}})
    RunResult(ok=True, records=20)
    """
    share_memory_with_arrow()
    began = processor_seconds()
    listener, clock = reporter or Logged(), Clock()
    described = read_pipeline(pipeline, overrides)
    if resume and described.engine is None:
        raise InputError("only a run over parts can be resumed: `execution: {engine: local}`")
    folders = frozenset({"data"} if described.output.is_folder else ())
    with time_limit(described.execution.plugin_seconds):
        with ExitStack() as stack:
            release = Release(described.output.paths, PRIVATE, folders)
            planned = planned_run(described, listener, clock, stack, resume=resume)
            # What was read until here is refused as an output.
            stack.enter_context(release)
            expected = planned.costs(None)
            record = _released(planned, release, listener, clock)
            note_run(expected, began, [name for name, _ in plugins_used(planned.pipeline)])
        act_after_release(planned.pipeline, record, listener)
    return RunResult(True, record.to_json())


def _released(planned: PlannedRun, release: Release, listener: Reporter, clock: Clock) -> RunRecord:
    """Carry out a plan, decide on what came out, and publish it; the record of what was released."""
    described = planned.pipeline
    notices = distinct_notices((*release.notices, *planned.notices))
    notify(listener, notices)
    if described.checks:
        apply_plan_checks(described, planned.to_json(), listener)
    refuse_doubts(described, decide_release(planned.doubts, described.waivers), notices, clock.seconds)
    candidate = planned.carry_out(release)
    judgement = decide_release((*planned.doubts, *candidate.doubts), described.waivers)
    notify(listener, judgement.notices)
    record = candidate.record(judgement)
    log_waived(judgement)
    refuse_results(described, candidate.violated, candidate.requests, record, judgement)
    written = write_release_rules(release, described, candidate)
    notices = tuple(each for each in distinct_notices(written) if each not in planned.notices)
    notify(listener, notices)
    record = record.model_copy(update={"notices": (*record.notices, *map(notice_record, notices))})
    candidate.complete(record)
    with clock("publish"):
        per_record = contributions(candidate.requests, candidate.measured)
        record = publish_record(release, described, record, per_record)
    return record.model_copy(update={"seconds": dict(clock.seconds)})
