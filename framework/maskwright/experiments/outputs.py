"""What an experiment writes: tables of its cells and runs, and the pipeline file of a cell."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import yaml

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import split_name, write_text, write_whole
from maskwright.foundation.yaml_document import scalar
from maskwright.pipeline.resolved import RuleFile
from maskwright.plugins.parameter_markers import file_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.experiments.experiment import Cell


FIRST = ("cell", "family", "edits")
ABOUT_RUN = ("run", "status", "problem", "violations", "adjusted", "smallest_class")
FAILED = "failed"


def runs_table(cells: Sequence[Cell], found: Sequence[Sequence[dict[str, Any]]], labels: Sequence[str]) -> pd.DataFrame:
    """One row for each run: its cell and settings, what became of it, and every measure and part in a column.

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


HEAD = """\
# {cell}: a cell of {experiment}.
# It has no seed: `maskwright run` draws a fresh one, so that the released file is none of those that were compared.
"""


def write_pipeline(cell: Cell, folder: Path) -> Path:
    """Write the pipeline of a cell into a folder, as a file named after the cell."""
    path = pipeline_path(cell, folder)
    write_text(path, pipeline_text(cell, path))
    return path


def pipeline_text(cell: Cell, path: Path) -> str:
    """Text of the pipeline of a cell, as it stands in a file of that name."""
    if not cell.active.steps:
        raise InputError(
            Problem(f"{cell.name} masks nothing (k is 1): there is no pipeline to run", hint="Choose another cell.")
        )
    head = HEAD.format(cell=cell.name, experiment=cell.pipeline.name)
    return head + yaml.dump(_settings(cell, path), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def pipeline_path(cell: Cell, folder: Path) -> Path:
    """Name of the pipeline file of a cell."""
    stem = re.sub(r"[^\w.=-]+", "-", cell.name).strip("-")
    return folder / f"{stem}.yaml"


def _settings(cell: Cell, path: Path) -> dict[str, Any]:
    described = cell.pipeline
    settings = dict(described.settings)
    settings["data"] = _with_data_files(settings["data"], described.folder, path)
    if described.data.source.content is None:
        settings["data"] |= {"source": _relative(described.data.path, path)}
    settings["measure"] = [
        _with_measure_files(stated, file_fields(each.measure.params), described.folder, path)
        for stated, each in zip(settings.get("measure") or [], described.measures, strict=True)
    ]
    settings["edits"] = [
        _with_file(stated, _relative(each.path, path)) if isinstance(each, RuleFile) else stated
        for stated, each in zip(settings.get("edits") or [], described.edits, strict=True)
    ]
    settings["protect"] = [step for number, step in enumerate(settings["protect"], 1) if number not in cell.identity]
    stem = path.stem
    settings["output"] = {
        "data": f"{stem}-masked{split_name(described.data.path.name)[1]}",
        "record": f"{stem}-run.json",
        "public_record": f"{stem}-about.json",
    }
    return settings


def _with_data_files(section: dict[str, Any], folder: Path, path: Path) -> dict[str, Any]:
    """The data section with the files that describe the data, relative to a folder, as `path` has to name them."""

    def moved(file: str) -> str:
        return _relative(folder / file, path)

    found: dict[str, Any] = dict(section)
    if found.get("codebook"):
        found["codebook"] = moved(found["codebook"])
    variables: dict[str, dict[str, Any] | None] = dict(found.get("variables") or {})
    for name, declared in variables.items():
        stated: dict[str, Any] = dict(declared or {})
        hierarchy: Any = stated.get("hierarchy")
        if isinstance(hierarchy, str):
            variables[name] = {**stated, "hierarchy": moved(hierarchy)}
        elif hierarchy and "file" in hierarchy:
            variables[name] = {**stated, "hierarchy": {**hierarchy, "file": moved(hierarchy["file"])}}
    return found | {"variables": variables} if variables else found


def _with_measure_files(stated: Any, fields: Sequence[str], folder: Path, path: Path) -> Any:
    """A measure with the names of its files, relative to a folder, as the pipeline in `path` has to write them."""
    if not isinstance(stated, dict):
        return stated
    ((name, params),) = stated.items()
    files = {key: _relative(folder / params[key], path) for key in fields if params and params.get(key)}
    return {name: params | files} if files else stated


def _with_file(stated: dict[str, Any], file: str) -> dict[str, Any]:
    ((language, named),) = stated.items()
    return {language: named | {"file": file} if isinstance(named, dict) else file}


def _relative(file: Path, path: Path) -> str:
    """Name of a file as the pipeline in `path` has to write it."""
    try:
        return Path(os.path.relpath(file, path.parent)).as_posix()
    except ValueError:  # on another drive
        return str(file)


class _Dumper(yaml.SafeDumper):
    """Texts that a pipeline file would read as numbers, true, false or null are put in quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = isinstance(scalar(text).value, str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)
