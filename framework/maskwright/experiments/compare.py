"""Comparing: every cell of an experiment run, or taken from the cache; table, front, map, text and pipelines."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.cells import Cache, Keys
from maskwright.experiments.experiment import Cell, Experiment, read_experiment
from maskwright.experiments.outputs import FAILED, cells_table, pareto_front, pipeline_path, runs_table, write_tables
from maskwright.experiments.results import Compared, request_of, sign_of, summary_text
from maskwright.experiments.worker_pool import WorkerPool, task_of
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import note_read, reads_noted, refuse_to_overwrite, write_text
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.processes.resources import processors
from maskwright.foundation.progress import Logged, Reporter, stage
from maskwright.foundation.randomness import generator
from maskwright.pipeline.resolved import RuleFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd


CACHE = ".cache"
PNG = ("map.png", "score.png")
RESULTS = ("table.csv", "table.parquet", "map.svg", "score.svg", *PNG, "summary.txt")


@reads_noted()
def compare(
    experiment: str | Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    reporter: Reporter | None = None,
    draw: bool = True,
) -> Compared:
    """Run an experiment file: every cell of its grid, or what is not yet in its cache.

    Parameters
    ----------
    experiment : str or Path
    workers : int, optional
        Processes; by default what the file says, else one for each processor. With 1 this process does the work.
    fresh : bool, default False
        Compute everything again.
    reporter : Reporter, optional
        Told of progress and notices; the logger ``maskwright`` is by default.
    draw : bool, default True
        Whether to draw the risk-utility map.

    Returns
    -------
    Compared
        Its files are in the folder of the experiment: ``table.csv``, ``table.parquet``, ``map.svg``, ``map.png``,
        ``summary.txt`` and ``pipelines/``. Without matplotlib (``pip install 'maskwright[figures]'``) there is no PNG,
        and `Compared.not_drawn`, a notice and the summary say so.

    Raises
    ------
    InputError
        With every mistake in the file; when every cell fails; when a result cannot be written.

    Notes
    -----
    Results are kept in ``.cache`` in that folder, readable by their owner only. A run that was killed goes on where
    it stopped; a result is computed again when the data, the edits, a setting, the seed, or the version of Maskwright
    or of a plugin has changed.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame(np.random.default_rng(1).integers(0, 100, (20, 2)), columns=["wages", "pensions"])
    >>> data.to_csv("survey.csv", index=False)
    >>> _ = Path("experiment.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: survey.csv}
    ... grid: [{family: microaggregation, method: microaggregation, vary: {k: [3, 5]}}]
    ... measure: [sse]
    ... seed: 1
    ... output: results
    ... ''', encoding="utf-8")
    >>> compared = mw.compare("experiment.yaml", workers=1, draw=False)
    >>> [cell.values for cell in compared.cells]
    [{'k': 3}, {'k': 5}]
    >>> compared.points["sse"].round(1).tolist()
    [10.4, 20.9]
    """
    reporter = reporter or Logged()
    described = read_experiment(experiment)
    compared = run_cells(described, described.cells(), reporter, workers=workers, fresh=fresh)
    return write_results(compared, reporter, draw=draw)


def run_cells(
    described: Experiment,
    cells: Sequence[Cell],
    reporter: Reporter,
    *,
    workers: int | None = None,
    fresh: bool = False,
) -> Compared:
    """Run cells, or take them from the cache, and judge them; nothing but the cache is written."""
    start = time.perf_counter()
    _refuse_to_overwrite_inputs(described, cells)
    cache = Cache(described.folder / CACHE)
    cache.prepare()
    found, computed = results_of(described, cells, cache, reporter, workers=workers, fresh=fresh)
    runs = runs_table(cells, found, [request.label for request in described.measures])
    if (runs["status"] == FAILED).all():
        reasons = [str(reason) for reason in runs["problem"].dropna().unique()]
        more = f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else ""
        raise InputError(f"every cell failed: {'; '.join(reasons[:3])}{more}")
    points = cells_table(runs)
    score, risk, loss = axes_of(described)
    _check_parts(points, described, (score, risk, loss))
    eligible = points[((points["violations"] == 0) & (points["failed"] == 0)).fillna(False).astype(bool)]
    return Compared(
        described, tuple(cells), runs, points, score, risk, loss,
        _best(described, eligible, cells, score), _front(described, eligible, risk, loss),
        computed, len(runs) - computed, time.perf_counter() - start,
        {cell.name: _leaves_out(runs) for cell, runs in zip(cells, found, strict=True)},
    )  # fmt: skip


def _leaves_out(runs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """What each measure leaves out in some run of a cell, by label."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for label, measured in run.get("measures", {}).items():
            found.setdefault(label, {}).update(dict.fromkeys(measured.get("leaves_out", ())))
    return {label: tuple(names) for label, names in found.items() if names}


def _refuse_to_overwrite_inputs(described: Experiment, cells: Sequence[Cell]) -> None:
    """Refuse a folder of results in which what is read has the name of a result."""
    note_read(described.path)
    for cell in cells:
        note_read(cell.pipeline.data.path)
        for edit in cell.pipeline.edits:
            if isinstance(edit, RuleFile):
                note_read(edit.path)
    files = [described.folder / name for name in RESULTS]
    files += [pipeline_path(cell, described.folder) for cell in cells]
    refuse_to_overwrite({f"the result {path.name}": path for path in files})


def results_of(
    described: Experiment,
    cells: Sequence[Cell],
    cache: Cache,
    reporter: Reporter,
    *,
    workers: int | None = None,
    fresh: bool = False,
    pool: WorkerPool | None = None,
) -> tuple[list[list[dict[str, Any]]], int]:
    """Results of every run of the cells, and how many were computed now; each is kept as soon as it is there."""
    base = described.settings.seed if described.settings.seed is not None else cache.seed()
    keys = Keys()
    masked: dict[str, list[tuple[int, int]]] = {}
    tasks: list[dict[str, Any]] = []
    known: list[dict[str, Any]] = []
    labels: list[Mapping[str, str]] = []
    for number, cell in enumerate(cells):
        for run in range(cell.repeats):
            seed = seed_of(base, run)
            key = keys.of_run(cell, seed)
            masked.setdefault(key, []).append((number, run))
            if len(masked[key]) > 1:
                continue  # the same masked file as another cell's
            kept = None if fresh else cache.load(key)
            wanted = {request.label: keys.of_measure(request, seed) for request in described.measures}
            missing = [label for label, measure in wanted.items() if kept is None or measure not in kept["measures"]]
            known.append(kept or {})
            labels.append(wanted)
            tasks.append(task_of(cell.family_index, cell.edits, dict(cell.values), seed, missing))
    results = [dict(each) for each in known]
    open_tasks = [position for position, task in enumerate(tasks) if task["measures"]]
    working = WorkerPool(described, workers_of(described, workers, len(open_tasks))) if pool is None else pool
    names = list(masked)
    try:
        with stage(reporter, f"Comparing {len(cells)} cells") as progress:
            for count, (position, result) in enumerate(working.results([tasks[p] for p in open_tasks]), 1):
                at = open_tasks[position]
                results[at] = _joined(known[at], result, labels[at])
                if result["status"] != FAILED:
                    cache.save(names[at], results[at])
                progress(count / (len(open_tasks) + 1))
    finally:
        if pool is None:
            working.end()
    found: list[list[dict[str, Any]]] = [[{} for _ in range(cell.repeats)] for cell in cells]
    for position, places in enumerate(masked.values()):
        shown = _labelled(results[position], labels[position])
        for number, run in places:
            found[number][run] = shown
    return found, sum(len(places) for position, places in enumerate(masked.values()) if tasks[position]["measures"])


def seed_of(base: int, run: int) -> int:
    """Seed of a run: the same for all cells, which are so compared under the same random numbers."""
    return int(generator(base, "compare", run).integers(2**63))


def _joined(known: dict[str, Any], result: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Result with its measures by key, together with those that were known."""
    measured = {labels[label]: each for label, each in result.get("measures", {}).items()}
    return {**result, "measures": known.get("measures", {}) | measured}


def _labelled(result: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    if result["status"] == FAILED:
        return {**result, "measures": {}}
    return {**result, "measures": {label: result["measures"][key] for label, key in labels.items()}}


def workers_of(described: Experiment, asked: int | None, tasks: int) -> int:
    """Processes for so many tasks: as asked, as the file says, or one for each processor."""
    chosen = asked or described.settings.execution.workers or processors()
    return max(1, min(chosen, tasks))


def axes_of(described: Experiment) -> tuple[str | None, str | None, str | None]:
    """Columns of score, risk and loss: those the file names, else the first measure of each kind."""
    axes = described.settings.map

    def first(kind: str) -> str | None:
        return next((each.label for each in described.measures if each.measure.kind == kind), None)

    return described.settings.score or first("score"), axes.risk or first("risk"), axes.loss or first("loss")


def _check_parts(points: pd.DataFrame, described: Experiment, columns: Sequence[str | None]) -> None:
    for column in columns:
        if column is not None and column not in points:
            label = request_of(described, column).label
            parts = [name for name in points.columns if name.startswith(f"{label}.") and not name.endswith(" sd")]
            raise InputError(Problem(unknown_name(f"part of {label}", column, parts)))


def _best(described: Experiment, points: pd.DataFrame, cells: Sequence[Cell], score: str | None) -> str | None:
    if score is None:
        return None
    masking = [cell.name for cell in cells if cell.active.steps]
    values = points.loc[points.index.isin(masking), score].dropna() * sign_of(described, score)
    return None if values.empty else str(values.idxmin())


def _front(described: Experiment, points: pd.DataFrame, risk: str | None, loss: str | None) -> tuple[str, ...]:
    if risk is None or loss is None:
        return ()
    x, y = (points[column].to_numpy(np.float64) * sign_of(described, column) for column in (risk, loss))
    on = np.flatnonzero(pareto_front(x, y))
    return tuple(str(points.index[position]) for position in on[np.argsort(x[on], kind="stable")])


def _remove_pictures(folder: Path) -> None:
    """Remove those of an earlier run: they would show other figures than the table beside them."""
    for name in PNG:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            message = f"the picture {name} of an earlier run cannot be removed: {error.strerror}"
            raise InputError(
                Problem(message, hint="Remove it, or draw anew: pip install 'maskwright[figures]'.")
            ) from None


def write_results(compared: Compared, reporter: Reporter, *, draw: bool = True) -> Compared:
    """Write table, map, text and the pipelines of the best cell and of the front."""
    folder = compared.experiment.folder
    compared.files.update(write_tables(compared.runs, folder))
    if draw and compared.risk is not None and compared.loss is not None:
        from maskwright.experiments.pictures.risk_utility_map import draw_map, why_no_png

        compared = replace(compared, not_drawn=why_no_png())
        with stage(reporter, "Drawing the map"):
            compared.files.update(draw_map(compared, folder, png=compared.not_drawn is None))
        if compared.not_drawn is not None:
            _remove_pictures(folder)
            reporter.notice(f"the map was drawn as SVG only: {compared.not_drawn}")
    masking = {cell.name for cell in compared.cells if cell.active.steps}
    for name in dict.fromkeys((compared.best, *compared.front)):
        if name is not None and name in masking:
            compared.files[f"pipeline of {name}"] = compared.write_pipeline(name)
    path = folder / "summary.txt"
    write_text(path, summary_text(compared))
    compared.files["summary"] = path
    return compared
