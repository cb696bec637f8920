"""Tuning: the settings with the smallest measure, within bounds of others, starting from what the grid found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.cells import Cache
from maskwright.experiments.compare import CACHE, axes_of, results_of, run_cells, workers_of
from maskwright.experiments.experiment import Cell, Experiment, read_experiment
from maskwright.experiments.experiment_file import Span
from maskwright.experiments.outputs import cells_table, runs_table
from maskwright.experiments.results import Compared, request_of, sign_of
from maskwright.experiments.worker_pool import WorkerPool
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import reads_noted
from maskwright.foundation.progress import Logged, Quiet, Reporter, stage
from maskwright.foundation.release_outcomes import ThresholdMissed
from maskwright.foundation.yaml_document import from_python

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import optuna
    import pandas as pd

BATCH = 4
"""Settings tried at a time, whatever the number of processes: what is tried next must not depend on it."""
FAMILY = "family"


@dataclass(frozen=True, eq=False)
class Tuned:
    """What tuning found.

    Attributes
    ----------
    compared : Compared
        The grid and the settings tried.
    objective : str
        Column that was made small (or large, where larger is better).
    thresholds : mapping of str to float
    best : str
        Cell.
    grid_best : str or None
        The best cell of the grid within the thresholds.
    tried : int
        Settings beyond the grid.
    pipeline : Path
        Of the best cell, without a seed.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
    >>> _ = Path("experiment.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... grid: [{family: noise, method: additive_noise, vary: {p: {from: 0.1, to: 0.5, step: 0.4}}}]
    ... measure: [sse]
    ... seed: 1
    ... output: tuned
    ... tune: {minimise: sse, trials: 2}
    ... ''', encoding="utf-8")
    >>> tuned = mw.tune("experiment.yaml", workers=1)
    >>> tuned.tried, tuned.pipeline.suffix
    (2, '.yaml')
    """

    compared: Compared
    objective: str
    thresholds: dict[str, float]
    best: str
    grid_best: str | None
    tried: int
    pipeline: Path

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright tune --json`` prints."""
        shown: dict[str, Any] = {}
        for key, name in (("best", self.best), ("grid_best", self.grid_best)):
            if name is None:
                shown[key] = None
                continue
            columns = [self.objective, *self.thresholds]
            cell = self.compared.cell(name)
            figures = {column: self.compared.value(name, column) for column in columns}
            shown[key] = {"cell": name, "settings": dict(cell.values), **figures}
        return {
            "objective": self.objective, "thresholds": self.thresholds, **shown, "tried": self.tried,
            "pipeline": str(self.pipeline), "folder": str(self.compared.folder),
        }  # fmt: skip


@reads_noted()
def tune(experiment: str | Path, *, workers: int | None = None, reporter: Reporter | None = None) -> Tuned:
    """Search settings beyond the grid of an experiment file, within the budget of its section `tune`.

    A setting given as a span is searched between its ends, in whole numbers where all of the span are; one given as a
    list is chosen from it. The grid is run first, or taken from its cache.

    Parameters
    ----------
    experiment : str or Path
    workers : int, optional
        As in `compare`.
    reporter : Reporter, optional

    Returns
    -------
    Tuned
        The pipeline of the best cell has no seed: what is released is masked with random numbers that were not
        searched over.

    Raises
    ------
    InputError
        As `compare`; when nothing varies, or the optional library for searching is not installed.
    ThresholdMissed
        When no settings that were tried keep to the thresholds.

    References
    ----------
    Tree-structured Parzen estimator: Bergstra et al. (2011), Advances in Neural Information Processing Systems 24;
    by Optuna.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
    >>> _ = Path("experiment.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... grid: [{family: means, method: microaggregation, vary: {k: {from: 3, to: 6, step: 3}}}]
    ... measure: [sse]
    ... seed: 1
    ... output: tuned
    ... tune: {minimise: sse, trials: 2}
    ... ''', encoding="utf-8")
    >>> tuned = mw.tune("experiment.yaml", workers=1)
    >>> tuned.objective, tuned.grid_best == tuned.best
    ('sse', True)
    """
    reporter = reporter or Logged()
    described = read_experiment(experiment)
    if not any(family.vary for family in described.settings.grid):
        raise InputError(Problem("nothing varies in this experiment", hint="Give a family `vary`, for instance k."))
    library = _library()
    objective, thresholds = _aim(described)
    cells = list(described.cells())
    compared = run_cells(described, cells, reporter, workers=workers)
    for column in (objective, *thresholds):
        if column not in compared.points:
            raise InputError(f"no cell has a value of {column!r}")
    grid_best = _best(described, compared.points, cells, objective, thresholds)
    search = _Search(described, library, objective, thresholds, compared)
    found = search.run(reporter, workers)
    whole = run_cells(described, [*cells, *found], reporter, workers=workers)
    best = _best(described, whole.points, whole.cells, objective, thresholds)
    if best is None:
        bounds = ", ".join(f"{column} {'<=' if sign_of(described, column) > 0 else '>='} {bound:g}"
                           for column, bound in thresholds.items())  # fmt: skip
        raise ThresholdMissed(
            Problem(
                f"none of {len(whole.cells)} settings keeps to the thresholds ({bounds or 'none'})",
                hint="Raise the thresholds, the number of trials, or the spans of `vary`.",
            )
        )
    return Tuned(whole, objective, thresholds, best, grid_best, len(found), whole.write_pipeline(best))


def _library() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            Problem("tuning needs the optional library optuna", hint="Install it: pip install 'maskwright[tune]'")
        ) from error
    return optuna


def _aim(described: Experiment) -> tuple[str, dict[str, float]]:
    stated = described.settings.tune
    score, _, loss = axes_of(described)
    objective = stated.minimise or (loss if stated.thresholds and loss is not None else score or loss)
    if objective is None:
        raise InputError(Problem("there is nothing to make small", hint="Name a measure: tune: {minimise: pil}"))
    return objective, dict(stated.thresholds)


def _best(
    described: Experiment,
    points: pd.DataFrame,
    cells: Sequence[Cell],
    objective: str,
    thresholds: dict[str, float],
) -> str | None:
    """Best cell that masks, keeps every edit, failed in no run, and keeps to the thresholds."""
    masking = {cell.name for cell in cells if cell.active.steps}
    fits = points.index.isin(masking) & (points["violations"] == 0).fillna(False) & (points["failed"] == 0)
    for column, bound in thresholds.items():
        sign = sign_of(described, column)
        fits &= sign * points[column] <= sign * bound
    values = points.loc[fits.astype(bool), objective].dropna() * sign_of(described, objective)
    return None if values.empty else str(values.idxmin())


class _Search:
    """Settings that the library proposes, and their values, in batches."""

    def __init__(
        self, described: Experiment, library: Any, objective: str, thresholds: dict[str, float], grid: Compared
    ) -> None:
        self._described, self._library, self._objective, self._thresholds = described, library, objective, thresholds
        self._families = [index for index, family in enumerate(described.settings.grid) if family.vary]
        self._known = {cell.name: cell for cell in grid.cells}
        self._study = self._new_study()
        for cell in grid.cells:
            if cell.family_index in self._families and cell.active.steps:
                self._add_grid_trial(cell, grid.points)

    def run(self, reporter: Reporter, workers: int | None) -> list[Cell]:
        """Settings tried beyond the grid; the budget counts them and the seconds they take."""
        budget, start = self._described.settings.tune, time.monotonic()
        found: list[Cell] = []
        cache = Cache(self._described.folder / CACHE)
        requested = 0
        with (
            stage(reporter, f"Tuning, at most {budget.trials} settings") as progress,
            WorkerPool(self._described, workers_of(self._described, workers, BATCH)) as pool,
        ):
            # A small space is soon known: asking again and again for settings that were tried must end.
            while len(found) < budget.trials and requested < 20 * budget.trials:
                if budget.seconds is not None and time.monotonic() - start > budget.seconds:
                    break
                trials = [self._study.ask() for _ in range(min(BATCH, budget.trials - len(found)))]
                requested += len(trials)
                cells = [self._cell(trial) for trial in trials]
                results, _ = results_of(self._described, cells, cache, Quiet(), pool=pool)
                points = cells_table(runs_table(cells, results, [each.label for each in self._described.measures]))
                for trial, cell in zip(trials, cells, strict=True):
                    self._report(trial, cell, points)
                    if cell.name not in self._known:
                        self._known[cell.name] = cell
                        found.append(cell)
                progress(min(len(found) / budget.trials, 0.999))
        return found

    def _new_study(self) -> optuna.Study:
        self._library.logging.set_verbosity(self._library.logging.ERROR)
        seed = (self._described.settings.seed or 0) % 2**32
        sampler = self._library.samplers.TPESampler(seed=seed)
        study: optuna.Study = self._library.create_study(sampler=sampler, direction="minimize")
        return study

    def _add_grid_trial(self, cell: Cell, points: pd.DataFrame) -> None:
        """A cell of the grid as a trial that is done."""
        distributions = {FAMILY: self._choice(self._families)}
        params: dict[str, Any] = {FAMILY: self._families.index(cell.family_index)}
        space = self._space(cell.family_index)
        for name, value in cell.values.items():
            key = f"{cell.family_index}.{name}"
            distributions[key] = space[name]
            stated = self._described.settings.grid[cell.family_index].vary[name]
            params[key] = value if isinstance(stated, Span) else self._plain(cell.family_index, name).index(value)
        edits = self._described.edits_of(cell.family_index)
        distributions[f"{cell.family_index}.edits"] = self._choice(edits)
        params[f"{cell.family_index}.edits"] = edits.index(cell.edits)
        value, bounds = self._figures(cell, points)
        self._study.add_trial(
            self._library.trial.create_trial(
                params=params, distributions=distributions, value=value, constraints=bounds
            )
        )

    def _report(self, trial: optuna.Trial, cell: Cell, points: pd.DataFrame) -> None:
        value, bounds = self._figures(cell, points)
        for column, excess in bounds.items():
            trial.set_constraint(column, excess)
        self._study.tell(trial, value)

    def _figures(self, cell: Cell, points: pd.DataFrame) -> tuple[float, dict[str, float]]:
        """Value to make small, and how far each threshold is exceeded; a cell that failed is as bad as can be."""
        known = dict(points.select_dtypes("number").astype("float64").loc[cell.name].items())
        worst = float(np.finfo(np.float32).max)

        def figure(column: str) -> float:
            value = sign_of(self._described, column) * known.get(column, np.nan)
            return worst if np.isnan(value) else value

        bounds = {
            column: figure(column) - sign_of(self._described, column) * bound
            for column, bound in self._thresholds.items()
        }
        good = known["failed"] == 0 and known["violations"] == 0
        return (figure(self._objective) if good else worst), bounds

    def _cell(self, trial: optuna.Trial) -> Cell:
        index = self._families[trial.suggest_categorical(FAMILY, tuple(range(len(self._families))))]
        place = self._described.family_node(index).place
        values = {}
        for name, stated in self._described.settings.grid[index].vary.items():
            key = f"{index}.{name}"
            chosen: Any
            if isinstance(stated, Span) and stated.is_whole:
                chosen = trial.suggest_int(key, int(stated.from_), int(stated.to))
            elif isinstance(stated, Span):
                chosen = _rounded(trial.suggest_float(key, stated.from_, stated.to))
            else:
                listed = self._plain(index, name)
                chosen = listed[trial.suggest_categorical(key, tuple(range(len(listed))))]
            values[name] = from_python(chosen, place)
        edits = self._described.edits_of(index)
        name = edits[trial.suggest_categorical(f"{index}.edits", tuple(range(len(edits))))]
        return self._described.cell(index, name, values)

    def _space(self, index: int) -> dict[str, Any]:
        made = self._library.distributions
        found: dict[str, Any] = {}
        for name, stated in self._described.settings.grid[index].vary.items():
            if isinstance(stated, Span) and stated.is_whole:
                found[name] = made.IntDistribution(int(stated.from_), int(stated.to))
            elif isinstance(stated, Span):
                found[name] = made.FloatDistribution(stated.from_, stated.to)
            else:
                found[name] = self._choice(self._plain(index, name))
        return found

    def _choice(self, values: Sequence[object]) -> Any:
        """Choice of one of the values by its position: they may be lists and mappings."""
        return self._library.distributions.CategoricalDistribution(tuple(range(len(values))))

    def _plain(self, index: int, name: str) -> list[Any]:
        return [value.to_python() for value in self._described.values_of(index)[name]]


def _rounded(value: float) -> float:
    """Numbers that people can read: six digits."""
    return float(f"{value:.6g}")


def aim_text(tuned: Tuned) -> str:
    """What was found, in a few lines."""
    described, compared = tuned.compared.experiment, tuned.compared
    better = "smallest" if sign_of(described, tuned.objective) > 0 else "largest"
    unit = request_of(described, tuned.objective).measure.unit
    lines = [f"{len(compared.cells)} settings, {tuned.tried} of them beyond the grid."]
    for what, name in (("Best of the grid", tuned.grid_best), (f"Best ({better} {tuned.objective})", tuned.best)):
        if name is None:
            lines.append(f"{what}: none keeps to the thresholds")
            continue
        figures = [f"{column} {compared.value(name, column):.4g} {unit if column == tuned.objective else ''}".rstrip()
                   for column in (tuned.objective, *tuned.thresholds)]  # fmt: skip
        lines.append(f"{what}: {name}: {', '.join(figures)}")
    if not compared.cell(tuned.best).is_deterministic:
        lines.append("It draws random numbers: masked anew, the best of many is usually a little worse.")
    return "\n".join(lines) + "\n"
