"""Results as tables: one row for each run of a cell, and one for each cell."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from maskwright.foundation.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.experiments.experiment import Cell

FIRST = ("cell", "family", "edits")
ABOUT_RUN = ("run", "status", "problem", "violations", "adjusted", "smallest_class")
FAILED = "failed"


def runs_table(cells: Sequence[Cell], found: Sequence[Sequence[dict[str, Any]]], labels: Sequence[str]) -> pd.DataFrame:
    """One row for each run: its cell and settings, what became of it, and every measure and part in a column.

    `found`: for each cell the results of its runs, as `CellRunner.run` gives them. `labels`: of the measures, in order.
    Returns columns cell, family, edits, one for each setting that varies, run (1, 2, ...), status, problem, violations,
    adjusted, smallest_class, then ``label`` and ``label.part``. No seeds, no seconds: the same experiment gives the
    same table.
    """
    settings = list(dict.fromkeys(name for cell in cells for name in cell.values))
    taken = {*FIRST, *ABOUT_RUN, *labels}
    columns = {name: f"params.{name}" if name in taken else name for name in settings}
    rows = []
    parts: dict[str, dict[str, None]] = {label: {} for label in labels}
    for cell, runs in zip(cells, found, strict=True):
        for number, run in enumerate(runs, 1):
            row: dict[str, Any] = {"cell": cell.name, "family": cell.family, "edits": cell.edits}
            row |= {columns[name]: _setting(cell.values.get(name)) for name in settings}
            row |= {"run": number, "status": run["status"], "problem": run.get("problem")}
            row |= {name: run.get(name) for name in ABOUT_RUN[3:]}
            for label, measured in run.get("measures", {}).items():
                row[label] = measured["value"]
                row |= {f"{label}.{part}": value for part, value in measured["parts"].items()}
                parts[label] |= dict.fromkeys(f"{label}.{part}" for part in measured["parts"])
            rows.append(row)
    measured_columns = [column for label in labels for column in (label, *parts[label])]
    table = pd.DataFrame(rows, columns=[*FIRST, *columns.values(), *ABOUT_RUN, *measured_columns])
    counts = ["violations", "adjusted", "smallest_class"]
    return table.astype(dict.fromkeys(counts, "Int64") | dict.fromkeys(measured_columns, "float64"))


def cells_table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row for each cell: means over its runs, and ``label.sd``-like columns beside them.

    Returns indexed by cell, in order: family, edits, settings, ``runs`` and ``failed`` (counts), ``problem`` (the
    first), ``violations`` (largest), then the mean of each measure and part over the runs that did not fail, and its
    standard deviation (ddof = 1, NaN with one run) in a column of the same name with `` sd``.
    """
    start = runs.columns.get_loc("smallest_class")
    assert isinstance(start, int)
    measured = list(runs.columns[start + 1 :])
    settings = [name for name in runs.columns[1:start] if name not in ABOUT_RUN]
    grouped = runs.groupby("cell", sort=False)
    points = grouped[settings].first()
    points["runs"] = grouped.size()
    points["failed"] = (runs["status"] == FAILED).groupby(runs["cell"], sort=False).sum()
    points["problem"] = grouped["problem"].first()
    points["violations"] = grouped["violations"].max()
    means = grouped[measured].mean()
    deviations = grouped[measured].std(ddof=1).add_suffix(" sd")
    return pd.concat([points, means, deviations], axis=1)


def write_tables(runs: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """Write the runs as ``table.csv`` and ``table.parquet``."""
    files = {"csv": folder / "table.csv", "parquet": folder / "table.parquet"}
    write_whole(files["csv"], lambda path: runs.to_csv(path, index=False, lineterminator="\n"))
    write_whole(files["parquet"], lambda path: _put(path, _as_parquet(runs)))
    return files


def _put(path: Path, table: pd.DataFrame) -> None:
    content = io.BytesIO()
    table.to_parquet(content, index=False)
    path.write_bytes(content.getvalue())


def _as_parquet(runs: pd.DataFrame) -> pd.DataFrame:
    """Settings that are numbers in one family and texts in another become texts: a Parquet column has one type."""
    mixed = [
        name
        for name in runs.columns
        if runs[name].dtype == object and runs[name].dropna().map(lambda value: isinstance(value, str)).nunique() > 1
    ]
    return runs.assign(**{name: runs[name].map(lambda v: v if pd.isna(v) else str(v)) for name in mixed})


def _setting(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return value


def pareto_front(risk: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Points that no other point beats: none is as good in both and better in one.

    `risk`, `loss`: smaller is better. A point with NaN is never on the front; shape (n,). Returns equal points are on
    the front together; shape (n,).
    """
    known = np.flatnonzero(~(np.isnan(risk) | np.isnan(loss)))
    order = known[np.lexsort((loss[known], risk[known]))]
    front = np.zeros(len(risk), dtype=np.bool_)
    lowest, at = np.inf, np.nan
    for point in order:
        if loss[point] < lowest or (loss[point] == lowest and risk[point] == at):
            front[point] = True
            lowest, at = loss[point], risk[point]
    return front
