"""The risk-utility map, drawn."""

from __future__ import annotations

import importlib.util
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.labels import name_points
from maskwright.experiments.results import Compared, request_of, sign_of
from maskwright.foundation.whole_files import write_whole
from maskwright.plugins.parameter_markers import PromisesK

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

# Colours that are told apart also by people who do not see red or green (Okabe and Ito), then shapes.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F")
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
MOST_NAMED = 8
"""Cells of the front that are named on a map of many."""
PANELS = 3
"""Side by side."""
FEW = 24
"""Of so few cells, each is named where there is room."""
RADIUS = 4.5
"""Of a drawn point, with the room around it, in points."""
LIBRARY = "matplotlib"
NO_LIBRARY = f"drawing needs {LIBRARY}, which is not installed; pip install 'maskwright[figures]'"
Scale = tuple[str, ...]
"""A setting, and the method whose it is: parameters of one name are comparable where they are the cluster size."""
# With a fixed salt and no date the same map has the same bytes.
SETTINGS: Any = {"svg.hashsalt": "maskwright", "svg.fonttype": "none", "font.size": 9.0, "axes.spines.top": False,
            "axes.spines.right": False}  # fmt: skip


def why_not_drawn() -> str | None:
    """Say what is missing for drawing, and what installs it; None when nothing is."""
    return NO_LIBRARY if importlib.util.find_spec(LIBRARY) is None else None


def draw_map(compared: Compared, folder: Path) -> dict[str, Path]:
    """Draw ``map.svg`` and ``map.png``: a point for each cell, the front as a line, the best cell by score as a star.

    Families that set one number also get ``score.svg`` and ``score.png``: the score over that number.

    Returns
    -------
    mapping of str to Path

    Raises
    ------
    InputError
        What the disk refuses.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(9.0, 5.6), layout="constrained")
        axes = figure.add_subplot()
        points = _map(axes, compared)
        dots = points[[compared.risk, compared.loss]].to_numpy(np.float64)
        name_points(figure, axes, _names(compared, points), dots, RADIUS)
        files = _save(figure, folder, "map")
        numbers = _numbers(compared)
        if compared.score is not None and numbers:
            scales = list(dict.fromkeys(numbers.values()))
            rows = -(-len(scales) // PANELS)
            columns = -(-len(scales) // rows)
            figure = Figure(figsize=(5.0 + 4.0 * columns, 1.0 + 4.0 * rows), layout="constrained")
            panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
            _curves(figure, panels, compared, numbers, scales)
            files |= _save(figure, folder, "score")
    return files


def _save(figure: Any, folder: Path, stem: str) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for form, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        path = folder / f"{stem}.{form}"
        write_whole(path, partial(figure.savefig, format=form, dpi=150, metadata=metadata))
        files[path.name] = path
    return files


def _map(axes: Any, compared: Compared) -> pd.DataFrame:
    """Draw all but names; the cells that are drawn."""
    risk, loss = compared.risk, compared.loss
    assert risk is not None
    assert loss is not None
    points = compared.points[compared.points[[risk, loss]].notna().all(axis=1)]
    masking = {cell.name for cell in compared.cells if cell.active.steps}
    identity = ~points.index.isin(masking)
    for (family, cells), style in zip(_families(points[~identity]), _styles(), strict=False):
        if cells[f"{risk} sd"].notna().any() or cells[f"{loss} sd"].notna().any():
            axes.errorbar(
                cells[risk], cells[loss], xerr=cells[f"{risk} sd"].fillna(0), yerr=cells[f"{loss} sd"].fillna(0),
                fmt="none", ecolor=style["color"], elinewidth=0.6, alpha=0.6,
            )  # fmt: skip
        axes.scatter(
            cells[risk], cells[loss], s=26, linewidths=0.4, edgecolors="white", label=family, zorder=3, **style
        )
    if identity.any():
        original = points[identity]
        axes.scatter(original[risk], original[loss], s=60, marker="*", color="black", label="original data", zorder=3)
    front = points.loc[list(compared.front)]
    if len(front) > 1:
        axes.step(
            front[risk], front[loss], where=_step(compared), color="black", linewidth=0.9, label="not beaten in both"
        )
    if compared.best is not None and compared.best in points.index:
        best = points.loc[compared.best]
        axes.scatter([best[risk]], [best[loss]], s=150, facecolors="none", edgecolors="black", zorder=4,
                     label=f"best by {compared.score}")  # fmt: skip
    _scale(axes, points[loss])
    axes.set_xlabel(_title(compared, risk, "risk"))
    axes.set_ylabel(_title(compared, loss, "loss"))
    axes.grid(linewidth=0.3, alpha=0.5)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return points


def _step(compared: Compared) -> str:
    """From one point of the front the best that is known stays until the next."""
    assert compared.risk is not None
    return "post" if sign_of(compared.experiment, compared.risk) > 0 else "pre"


def _scale(axes: Any, loss: pd.Series[float]) -> None:
    """Losses that differ a hundredfold are drawn on a logarithmic scale, linear near 0."""
    positive = loss[loss > 0]
    if len(positive) > 2 and positive.max() > 100 * positive.median():
        axes.set_yscale("symlog", linthresh=max(float(positive.quantile(0.1)), 1e-9))


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


def _curves(
    figure: Any, panels: NDArray[Any], compared: Compared, numbers: dict[str, Scale], scales: list[Scale]
) -> None:
    """Draw a panel for each scale, with the families that vary along it; the others are named below."""
    score = compared.score
    assert score is not None
    families = _families(compared.points)
    for axes, scale in zip(panels, scales, strict=False):
        integer = True
        for (family, cells), style in zip(families, _styles(), strict=False):
            if numbers.get(family) == scale:
                shown = cells.assign(at=cells[scale[0]].astype(np.float64)).dropna(subset=[score]).sort_values("at")
                axes.plot(shown["at"], shown[score], linewidth=0.9, markersize=3.5, label=family, **style)
                integer = integer and bool((shown["at"] % 1 == 0).all())
        if integer:
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel(" of ".join(scale))
        axes.grid(linewidth=0.3, alpha=0.5)
    for axes in panels[len(scales) :]:
        axes.remove()
    figure.supylabel(_title(compared, score, "score"), fontsize=9)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    others = [family for family, _ in families if family not in numbers]
    if others:
        figure.supxlabel(f"not drawn, as not one number alone varies: {', '.join(others)}", fontsize=7)


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


def _styles() -> list[dict[str, Any]]:
    return [{"color": colour, "marker": shape} for shape in SHAPES for colour in COLOURS]


def _title(compared: Compared, column: str, what: str) -> str:
    measure = request_of(compared.experiment, column).measure
    better = "smaller" if measure.direction == "lower" else "larger"
    return f"{column}, {measure.unit} ({what}; {better} is better)"
