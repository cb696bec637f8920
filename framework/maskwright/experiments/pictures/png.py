"""A picture as PNG, by matplotlib, which may be missing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.labels import name_points
from maskwright.foundation.whole_files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.experiments.pictures.figure import Figure, Panel, Series

MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "triangle_down": "v", "plus": "P",
           "cross": "X", "star": "*"}  # fmt: skip
STEPS = {"level_after": "post", "level_before": "pre"}
SETTINGS: Any = {"font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}


def write_png(figure: Figure, path: Path) -> None:
    """Draw a picture with matplotlib; the same picture has the same bytes."""
    from matplotlib import figure as matplotlib_figure
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        drawn: Any = matplotlib_figure.Figure(figsize=(figure.width / 72, figure.height / 72), layout="constrained")
        rows, columns = len(figure.rows), max(len(row) for row in figure.rows)
        axes: Any = drawn.subplots(rows, columns, sharey=len(figure.panels) > 1, squeeze=False)
        for row in range(rows):
            for column in range(columns):
                if column < len(figure.rows[row]):
                    _draw(axes[row][column], figure.rows[row][column])
                else:
                    axes[row][column].remove()
        if figure.y_title:
            drawn.supylabel(figure.y_title, fontsize=9)
        if figure.note:
            drawn.supxlabel(figure.note, fontsize=7)
        handles = {label: handle for row in axes for each in row for handle, label in
                   zip(*each.get_legend_handles_labels(), strict=True)}  # fmt: skip
        drawn.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False, fontsize=8)
        for row, panels in enumerate(figure.rows):
            for column, panel in enumerate(panels):
                if panel.names:
                    _name(drawn, axes[row][column], panel)
        write_whole(path, partial(drawn.savefig, format="png", dpi=150, metadata={"Software": None}))


def _draw(axes: Any, panel: Panel) -> None:
    for series in panel.series:
        _draw_series(axes, series)
    if panel.linear_up_to is not None:
        axes.set_yscale("symlog", linthresh=panel.linear_up_to)
    if panel.whole_x:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(panel.x_title)
    axes.set_ylabel(panel.y_title)
    axes.grid(linewidth=0.3, alpha=0.5)


def _draw_series(axes: Any, series: Series) -> None:
    if series.x_spread is not None or series.y_spread is not None:
        axes.errorbar(
            series.x, series.y, xerr=series.x_spread, yerr=series.y_spread, fmt="none", ecolor=series.colour,
            elinewidth=0.6, alpha=0.6,
        )  # fmt: skip
    style: dict[str, Any] = {"color": series.colour, "label": series.label}
    if series.line == "none":
        colours = (
            {"facecolors": "none", "edgecolors": series.colour}
            if series.hollow
            else {"color": series.colour, "edgecolors": "white", "linewidths": 0.4}
        )
        axes.scatter(
            series.x, series.y, s=series.size**2, marker=MARKERS[series.shape or "circle"], label=series.label,
            zorder=4 if series.hollow else 3, **colours,
        )  # fmt: skip
    elif series.line == "straight":
        marker = None if series.shape is None else MARKERS[series.shape]
        axes.plot(series.x, series.y, linewidth=0.9, markersize=series.size, marker=marker, **style)
    else:
        axes.step(series.x, series.y, where=STEPS[series.line], linewidth=0.9, **style)


def _name(figure: Any, axes: Any, panel: Panel) -> None:
    points = [series for series in panel.series if series.shape is not None]
    dots = np.column_stack([np.concatenate([each.x for each in points]), np.concatenate([each.y for each in points])])
    radius = max((each.size for each in points if not each.hollow), default=0.0) / 2 + 1.5
    name_points(figure, axes, panel.names, dots, radius)
