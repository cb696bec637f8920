"""The risk-utility map of an experiment, drawn."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.pictures.figure import Figure, Panel, Series, Shape
from maskwright.experiments.pictures.formats import svg_text, write_png
from maskwright.experiments.results import Compared, request_of, sign_of
from maskwright.foundation.files import write_text
from maskwright.plugins.parameter_markers import PromisesK

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from maskwright.experiments.pictures.figure import Line


# Colours that are distinguished also by people who do not see red or green (Okabe and Ito), then shapes.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F")
SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond", "triangle_down", "plus", "cross")
MOST_NAMED = 8
"""Cells of the front that are named on a map of many."""
PANELS = 3
"""Side by side."""
FEW = 24
"""Of so few cells, each is named where there is room."""
STAR, RING = 7.7, 12.2
"""Sizes of the points of the original data and of the best cell, in points."""
IN_CURVES = 3.5
"""Size of a point on a curve, in points."""
INCH = 72.0
LIBRARY = "matplotlib"
NO_LIBRARY = f"PNG needs {LIBRARY}, which is not installed; pip install 'maskwright[figures]'"
Scale = tuple[str, ...]
"""A setting, and the method whose it is: parameters of one name are comparable where they are the cluster size."""


def why_no_png() -> str | None:
    """Say what is missing for pictures as PNG, and what installs it; None when nothing is."""
    return NO_LIBRARY if importlib.util.find_spec(LIBRARY) is None else None


def draw_map(compared: Compared, folder: Path, *, png: bool = True) -> dict[str, Path]:
    """Draw ``map.svg`` and ``map.png``, and ``score.svg`` and ``score.png`` where families set one number."""
    files = _save(_map(compared), folder, "map", png=png)
    numbers = _numbers(compared)
    if compared.score is not None and numbers:
        files |= _save(_curves(compared, compared.score, numbers), folder, "score", png=png)
    return files


def _save(figure: Figure, folder: Path, stem: str, *, png: bool) -> dict[str, Path]:
    files = {f"{stem}.svg": folder / f"{stem}.svg"}
    write_text(files[f"{stem}.svg"], svg_text(figure))
    if png:
        files[f"{stem}.png"] = folder / f"{stem}.png"
        write_png(figure, files[f"{stem}.png"])
    return files


def _map(compared: Compared) -> Figure:
    risk, loss = compared.risk, compared.loss
    assert risk is not None
    assert loss is not None
    points = compared.points[compared.points[[risk, loss]].notna().all(axis=1)]
    masking = {cell.name for cell in compared.cells if cell.active.steps}
    identity = ~points.index.isin(masking)
    series = [
        _series(cells, risk, loss, family, colour=colour, shape=shape)
        for (family, cells), (colour, shape) in zip(_families(points[~identity]), _styles(), strict=False)
    ]
    if identity.any():
        series.append(_series(points[identity], risk, loss, "original data", shape="star", size=STAR, spread=False))
    front = points.loc[list(compared.front)]
    if len(front) > 1:
        # From one point of the front the best that is known stays until the next.
        line: Line = "level_after" if sign_of(compared.experiment, risk) > 0 else "level_before"
        series.append(_series(front, risk, loss, "not beaten in both", shape=None, line=line, spread=False))
    if compared.best is not None and compared.best in points.index:
        best = points.loc[[compared.best]]
        label = f"best by {compared.score}"
        series.append(_series(best, risk, loss, label, size=RING, hollow=True, spread=False))
    panel = Panel(
        tuple(series), _title(compared, risk, "risk"), _title(compared, loss, "loss"),
        linear_up_to=_linear_up_to(points[loss]), names=_names(compared, points),
    )  # fmt: skip
    return Figure(f"{loss} over {risk} of {len(points)} cells", 9.0 * INCH, 5.6 * INCH, ((panel,),))


def _series(cells: pd.DataFrame, x: str, y: str, label: str, *, spread: bool = True, **looks: Any) -> Series:
    """Cells as points; with the standard deviations of their runs, where there are several."""
    spreads: dict[str, Any] = {}
    if spread and (cells[f"{x} sd"].notna().any() or cells[f"{y} sd"].notna().any()):
        spreads = {
            side: cells[f"{column} sd"].fillna(0).to_numpy(np.float64)
            for side, column in (("x_spread", x), ("y_spread", y))
        }
    values = [cells[column].to_numpy(np.float64) for column in (x, y)]
    return Series(values[0], values[1], label, **looks, **spreads)


def _linear_up_to(loss: pd.Series[float]) -> float | None:
    """Losses that differ a hundredfold are drawn on a logarithmic scale, linear near 0."""
    positive = loss[loss > 0]
    if len(positive) > 2 and positive.max() > 100 * positive.median():
        return max(float(positive.quantile(0.1)), 1e-9)
    return None


def _names(compared: Compared, points: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Where the best cell, some of the front and, of a few, the others are."""
    named = [name for name in (compared.best,) if name is not None and name in points.index]
    masking = {cell.name for cell in compared.cells if cell.active.steps}
    stride = max(1, math.ceil(len(compared.front) / MOST_NAMED))
    named += [name for name in compared.front[::stride] if name in masking and name not in named]
    if len(points) <= FEW:
        named += [str(name) for name in points.index if name in masking and name not in named]
    assert compared.risk is not None
    assert compared.loss is not None
    return {name: (compared.value(name, compared.risk), compared.value(name, compared.loss)) for name in named}


def _curves(compared: Compared, score: str, numbers: dict[str, Scale]) -> Figure:
    """A panel for each scale, with the families that vary along it; the others are named below."""
    families = _families(compared.points)
    scales = list(dict.fromkeys(numbers.values()))
    panels = []
    for scale in scales:
        curves = []
        for (family, cells), (colour, shape) in zip(families, _styles(), strict=False):
            if numbers.get(family) == scale:
                shown = cells.assign(at=cells[scale[0]].astype(np.float64)).dropna(subset=[score]).sort_values("at")
                x, y = (shown[column].to_numpy(np.float64) for column in ("at", score))
                curves.append(Series(x, y, family, colour, shape, IN_CURVES, line="straight"))
        whole = all(bool((each.x % 1 == 0).all()) for each in curves)
        panels.append(Panel(tuple(curves), " of ".join(scale), whole_x=whole))
    rows = -(-len(panels) // PANELS)
    columns = -(-len(panels) // rows)
    others = [family for family, _ in families if family not in numbers]
    note = f"not drawn, as not one number alone varies: {', '.join(others)}" if others else ""
    return Figure(
        f"{score} of {len(numbers)} families", (5.0 + 4.0 * columns) * INCH, (1.0 + 4.0 * rows) * INCH,
        tuple(tuple(panels[row * columns : (row + 1) * columns]) for row in range(rows)),
        y_title=_title(compared, score, "score"), note=note,
    )  # fmt: skip


def _numbers(compared: Compared) -> dict[str, Scale]:
    """The setting of each family in which alone its cells differ, where it is a number."""
    found: dict[str, Scale] = {}
    for family, cells in _families(compared.points):
        first = compared.cell(str(cells.index[0]))
        if len(first.values) == 1 and len(cells) > 1 and cells["edits"].nunique() == 1:
            (name,) = first.values
            column = name if name in cells else f"params.{name}"
            if cells[column].map(lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)).all():
                methods = [step.method for step in first.pipeline.steps]
                sizes = all(method.parameter(PromisesK) == name for method in methods)
                found[family] = (column,) if sizes else (column, ", ".join(method.name for method in methods))
    return found


def _families(points: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Families in the order of the file; under several edit sets each is a family of its own."""
    keys = points["family"]
    if points["edits"].nunique() > 1:
        keys = keys + " [" + points["edits"] + "]"
    return [(str(name), cells) for name, cells in points.groupby(keys, sort=False)]


def _styles() -> list[tuple[str, Shape]]:
    return [(colour, shape) for shape in SHAPES for colour in COLOURS]


def _title(compared: Compared, column: str, what: str) -> str:
    measure = request_of(compared.experiment, column).measure
    better = "smaller" if measure.direction == "lower" else "larger"
    return f"{column}, {measure.unit} ({what}; {better} is better)"
