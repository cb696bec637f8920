"""What an experiment found: its cells, their figures, how they are ranked, and a summary in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.outputs import pipeline_path, pipeline_text, write_pipeline
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.pipeline.steps import threshold_figures
from maskwright.plugins.parameter_markers import PromisesK
from maskwright.release.wording import names, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from maskwright.experiments.experiment import Cell, Experiment
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.model import Step


@dataclass(frozen=True, eq=False)
class Compared:
    """An experiment that has been run.

    Attributes
    ----------
    experiment : Experiment
    cells : tuple of Cell
    runs : pandas.DataFrame
        One row for each run; what ``table.csv`` holds.
    points : pandas.DataFrame
        One row for each cell, means over its runs; indexed by cell.
    score, risk, loss : str or None
        Columns by which cells are judged; None when nothing of the kind is measured.
    best : str or None
        Cell with the best score among those that keep every edit; k = 1 is never the best.
    front : tuple of str
        Cells that no other beats in both risk and loss, by risk.
    computed, cached : int
        Runs.
    seconds : float
    leaves_out : mapping of cell to mapping of label to tuple of str
        Masked variables that a loss, and quasi-identifiers that a risk does not look at.
    files : mapping of str to Path
        What was written.
    not_drawn : str or None
        Why there are no pictures as PNG, and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
    >>> _ = Path("experiment.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... grid: [{family: means, method: microaggregation, vary: {k: [2, 4]}}]
    ... measure: [sse]
    ... seed: 1
    ... output: compared
    ... ''', encoding="utf-8")
    >>> compared = mw.compare("experiment.yaml", workers=1, draw=False)
    >>> compared.loss, len(compared.table), sorted(compared.files)
    ('sse', 2, ['csv', 'parquet', 'summary'])
    """

    experiment: Experiment
    cells: tuple[Cell, ...]
    runs: pd.DataFrame
    points: pd.DataFrame
    score: str | None
    risk: str | None
    loss: str | None
    best: str | None
    front: tuple[str, ...]
    computed: int
    cached: int
    seconds: float
    leaves_out: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    not_drawn: str | None = None

    @property
    def table(self) -> pd.DataFrame:
        """The same as `runs`."""
        return self.runs

    @property
    def folder(self) -> Path:
        """Where the results are."""
        return self.experiment.folder

    def cell(self, name: str) -> Cell:
        """Cell by its name.

        Raises
        ------
        InputError
            With the nearest name.
        """
        for each in self.cells:
            if each.name == name:
                return each
        raise InputError(unknown_name("cell", name, [each.name for each in self.cells]))

    def value(self, name: str, column: str) -> float:
        """Figure of a cell in `points`; NaN where there is none."""
        return float(self.points[column].to_numpy(np.float64, na_value=np.nan)[self.points.index.get_loc(name)])

    def write_pipeline(self, name: str, folder: Path | None = None) -> Path:
        """Write the pipeline of a cell, ready for ``maskwright run``.

        Parameters
        ----------
        name : str
            Of the cell.
        folder : Path, optional
            By default ``pipelines`` in the folder of the results.

        Raises
        ------
        InputError
            Unknown name, k = 1, or a cell of which a run failed or does not keep every edit.
        """
        self._refuse_unusable(name)
        return write_pipeline(self.cell(name), folder or self.experiment.folder / "pipelines")

    def pipeline_text(self, name: str) -> tuple[Path, str]:
        """Say which file `write_pipeline` writes, and its text.

        Parameters
        ----------
        name : str
            Of the cell.

        Raises
        ------
        InputError
            As `write_pipeline`, but for what the disk refuses: nothing is written.
        """
        self._refuse_unusable(name)
        path = pipeline_path(self.cell(name), self.experiment.folder / "pipelines")
        return path, pipeline_text(self.cell(name), path)

    def _refuse_unusable(self, name: str) -> None:
        hint = "Choose a cell that masks without failing and keeps every edit."
        if name in self.failed:
            raise InputError(Problem(f"{name} cannot be chosen: it failed: {self.failed[name]}", hint=hint))
        if name in self.violating:
            times = plural(self.violating[name], "violation")
            raise InputError(Problem(f"{name} cannot be chosen: it does not keep every edit ({times})", hint=hint))

    @property
    def failed(self) -> Mapping[str, str]:
        """Cells of which a run failed, and why, in order."""
        points = self.points[self.points["failed"] > 0]
        return {str(name): str(row["problem"]) for name, row in points.iterrows()}

    @property
    def violating(self) -> Mapping[str, int]:
        """Cells that do not keep every edit, and how often edits of severity error are violated, in order."""
        points = self.points[(self.points["violations"] > 0).fillna(False)]
        return {str(name): int(number) for name, number in points["violations"].items()}

    @property
    def usable(self) -> tuple[str, ...]:
        """Cells that mask and keep every edit in every run, none of which failed."""
        masking = [cell.name for cell in self.cells if cell.active.steps]
        return tuple(name for name in masking if name not in self.failed and name not in self.violating)

    def left_out(self, column: str) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """Variables that a figure does not look at, and the cells in which it does not, in order.

        Parameters
        ----------
        column : str
            Label of a measure, or of a part.
        """
        label = request_of(self.experiment, column).label
        found: dict[tuple[str, ...], list[str]] = {}
        for cell in self.cells:
            names = self.leaves_out.get(cell.name, {}).get(label, ())
            if names:
                found.setdefault(names, []).append(cell.name)
        return {names: tuple(cells) for names, cells in found.items()}

    @property
    def at_random(self) -> tuple[str, ...]:
        """Cells that draw values and promise no k, where the risk of the map is counted in the masked file alone."""
        if self.risk is None or not request_of(self.experiment, self.risk).measure.claims.of_one_file:
            return ()
        usable = set(self.usable)
        return tuple(cell.name for cell in self.cells if cell.name in usable and any(map(_draws, cell.active.steps)))

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright compare --json`` prints."""
        return {
            "cells": len(self.cells),
            "runs": len(self.runs),
            "computed": self.computed,
            "cached": self.cached,
            "failed": [{"cell": name, "problem": problem} for name, problem in self.failed.items()],
            "violating": [{"cell": name, "violations": number} for name, number in self.violating.items()],
            "score": self.score,
            "risk": self.risk,
            "loss": self.loss,
            "leaves_out": {
                column: [{"variables": list(names), "cells": list(cells)} for names, cells in left.items()]
                for column in dict.fromkeys((self.score, self.risk, self.loss))
                if column is not None and (left := self.left_out(column))
            },
            "best": None if self.best is None else self._point(self.best),
            "front": [self._point(name) for name in self.front],
            "files": {key: str(path) for key, path in self.files.items()},
            **({} if self.not_drawn is None else {"not_drawn": self.not_drawn}),
            "seconds": round(self.seconds, 2),
        }

    def _point(self, name: str) -> dict[str, Any]:
        cell = self.cell(name)
        judged = {
            column: self.value(name, column) for column in (self.score, self.risk, self.loss) if column is not None
        }
        return {"cell": name, "family": cell.family, "edits": cell.edits, "settings": dict(cell.values), **judged}


def _draws(step: Step) -> bool:
    return not step.is_deterministic and step.method.parameter(PromisesK) is None


def request_of(described: Experiment, column: str) -> MeasureRequest:
    """Measure of a column ``label`` or ``label.part``."""
    by_label = {request.label: request for request in described.measures}
    return by_label[column] if column in by_label else by_label[column.split(".", maxsplit=1)[0]]


def sign_of(described: Experiment, column: str) -> float:
    """1 when smaller is better, -1 when larger is. A part that says nothing goes the way of its measure."""
    request = request_of(described, column)
    return 1.0 if threshold_figures(request).get(column, request.measure).direction == "lower" else -1.0


MOST_SHOWN = 10
MOST_NAMED = 4


def summary_text(compared: Compared, *, every: bool = False) -> str:
    """Text that names the best cell by score, the front, and the cells that failed; or every cell too."""
    return "\n".join(_lines(compared, every=every)) + "\n"


def _lines(compared: Compared, *, every: bool) -> Iterator[str]:
    points = compared.points
    yield f"{plural(len(points), 'cell')}, {plural(len(compared.runs), 'run')}."
    if compared.failed:
        yield f"{plural(len(compared.failed), 'cell')} failed:"
        yield from _some([f"{name}: {problem}" for name, problem in compared.failed.items()])
    if compared.violating:
        yield f"{plural(len(compared.violating), 'cell')} without every edit kept, neither best nor on the front:"
        yield from _some([f"{name}: {plural(number, 'violation')}" for name, number in compared.violating.items()])
    if compared.score is not None and compared.best is not None:
        yield f"Best by {compared.score}: {compared.best}, {_shown(compared, compared.best, compared.score)}."
        yield from _families(compared, compared.score)
    if compared.front:
        count = plural(len(compared.front), "cell")
        yield f"Not beaten in both {compared.risk} (risk) and {compared.loss} (loss): {count}"
        most = len(compared.front) if every else MOST_SHOWN
        yield from (_cell(compared, name) for name in compared.front[:most])
        if len(compared.front) > most:
            yield f"  and {len(compared.front) - MOST_SHOWN} more, on the map"
    known = {*compared.front, *compared.failed}
    others = [cell.name for cell in compared.cells if cell.name not in known]
    if every and others:
        yield "The other cells:"
        yield from (_cell(compared, name) for name in others)
    for column in dict.fromkeys((compared.score, compared.risk, compared.loss)):
        yield from () if column is None else _left_out(compared, column)
    if compared.not_drawn is not None:
        yield f"The map was drawn as SVG only: {compared.not_drawn}."
    if compared.at_random:
        yield (
            f"{compared.risk} is counted in the masked file alone. Of {_cells(compared, compared.at_random)}, which "
            "draw values at random, it does not say who is found: measure linkage too."
        )
    yield (
        "These figures are of masked files that were made for comparison; a release is masked anew, with random "
        "numbers of its own."
    )


def _cell(compared: Compared, name: str) -> str:
    axes = dict.fromkeys((compared.score, compared.risk, compared.loss))
    messages = [f"{axis} {_shown(compared, name, axis)}" for axis in axes if axis]
    return f"  {name}: {', '.join(messages)}"


def _left_out(compared: Compared, column: str) -> Iterator[str]:
    """What a figure does not look at; losses of other variables cannot be compared."""
    request = request_of(compared.experiment, column)
    for left, cells in compared.left_out(column).items():
        hint = f"; name what it uses: {{{request.label}: {{variables: [...]}}}}"
        takes = "variables" in request.measure.params.model_fields
        yield (
            f"{column} does not look at {names(left, MOST_SHOWN)} in {_cells(compared, cells)}"
            f"{hint if takes and len(cells) < len(compared.usable) else ''}."
        )


def _cells(compared: Compared, cells: Sequence[str]) -> str:
    """Some cells by name, or that it is all of those that mask."""
    return "every cell" if set(compared.usable) <= set(cells) else names(cells, MOST_NAMED)


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:MOST_SHOWN])
    if len(lines) > MOST_SHOWN:
        yield f"  and {len(lines) - MOST_SHOWN} more, in the table"


def _families(compared: Compared, score: str) -> Iterator[str]:
    """Best cell of each family, when there are several."""
    sign = sign_of(compared.experiment, score)
    masking = {cell.name for cell in compared.cells if cell.active.steps}
    points = compared.points
    points = points[points.index.isin(masking) & (points["violations"] == 0).fillna(False) & points[score].notna()]
    if points["family"].nunique() < 2:
        return
    best = (points[score] * sign).groupby(points["family"]).idxmin()
    ranked = sorted(best, key=lambda name: (sign * compared.value(name, score), name))
    yield "Best of each family:"
    for name in ranked:
        yield f"  {name}: {_shown(compared, name, score)}"


def _shown(compared: Compared, name: str, column: str) -> str:
    runs = int(compared.value(name, "runs") - compared.value(name, "failed"))
    deviation = compared.value(name, f"{column} sd")
    spread = "" if math.isnan(deviation) else f" (mean of {runs} runs, sd {deviation:.2f})"
    return f"{compared.value(name, column):.2f}{spread}"
