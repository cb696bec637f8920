"""The whole run: read, plan, protect, adjust, round, write, read back, validate, measure, publish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.commands.arrive import Clock
from maskwright.commands.plan import prepare
from maskwright.commands.publish import publish, refuse_doubts, refuse_release
from maskwright.commands.recording import MeasuredRun, run_json, run_record
from maskwright.commands.stages import PipelineRun
from maskwright.foundation.file_identity import reads_noted
from maskwright.foundation.progress import Quiet, Reporter
from maskwright.foundation.randomness import fresh_seed
from maskwright.pipeline.reading import read_pipeline
from maskwright.planning.undecided_edits import undecided_doubts
from maskwright.release.files import Release
from maskwright.release.gate import judge
from maskwright.release.last_look import unchanged_cells, unchanged_doubts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PRIVATE = frozenset({"svrl", "record", "key_map"})
"""Outputs that carry values of records, their old keys, or the seed."""


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

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright run --json`` prints."""
        return run_json(self.record)


@reads_noted()
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
    EditViolation, ThresholdMissed, OpenDoubts
        The result may not be released: nothing was published.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": range(20, 40)}).to_csv("ages.csv", index=False)
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
    array([22., 22., 22., 22., 22.])
    """
    listener, clock = reporter or Quiet(), Clock()
    described = read_pipeline(pipeline, overrides)
    ready = prepare(described, listener, clock)
    seed = fresh_seed() if described.seed is None else described.seed
    with Release(described.output.paths, PRIVATE) as release:
        running = PipelineRun(described, ready, release, seed, listener, clock)
        running.tell((*release.notices, *ready.notices))
        refuse_doubts(described, judge(ready.doubts, described.waivers))
        result = running.mask()
        result = running.write(running.arrange(result))
        released = running.read_back(result)
        outcome = running.validate(result)
        found = running.measure(released)
        with clock("last look"):
            unchanged = unchanged_cells(ready.original, released)
            seen = tuple(unchanged_doubts(unchanged, ready.plan, result.doubts))
        left = undecided_doubts(outcome, ready.arrival)
        judgement = judge((*ready.doubts, *result.doubts, *left, *seen), described.waivers)
        running.tell(judgement.notices)
        record = run_record(
            MeasuredRun(described, ready, result, outcome, found, unchanged, judgement, seed, clock.seconds)
        )
        refuse_release(described, result, outcome, record, judgement)
        record = publish(running, record, found)
    return RunResult(True, record.to_json())
