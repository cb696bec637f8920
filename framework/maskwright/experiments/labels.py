"""Names beside points of a drawing, where they cover no point and no other name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

SIZE = 7.0
"""Of the letters, in points."""
DISTANCES = (2.0, 5.0, 9.0, 14.0, 20.0, 28.0, 40.0)
"""Between a point and its name, in points; the nearest place that is free is taken."""
LINE_FROM = 9.0
"""Distance from which on a line leads from the name to its point."""
DIRECTIONS = 16


def places_of(
    names: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    frame: NDArray[np.float64],
    dots: NDArray[np.float64],
    radius: float,
) -> dict[str, tuple[float, NDArray[np.float64]]]:
    """Find places for names; one for which none is free is left out.

    Greedy: one name after the other, at each distance in sixteen directions, to the upper right first.

    `names`: its point, and width and height of the text; the most important first. All in points, upwards; shape (2,).
    `frame`: lower left and upper right corner of what may be written on; shape (2, 2). `dots`: all points drawn; shape
    (n, 2). Returns distance from the point, and lower left and upper right corner of the text; shape (2, 2).
    """
    found: dict[str, tuple[float, NDArray[np.float64]]] = {}
    for name, (point, size) in names.items():
        for distance, box in _places(point, size, radius):
            if _is_free(box, frame, dots, [taken for _, taken in found.values()], radius):
                found[name] = (distance, box)
                break
    return found


def name_points(
    figure: Any, axes: Any, names: Mapping[str, tuple[float, float]], dots: NDArray[np.float64], radius: float
) -> tuple[str, ...]:
    """Write names beside their points in a drawing of matplotlib; one for which no place is free is left out.

    `names`: in data coordinates; the most important first. `dots`: all points drawn, in data coordinates; shape (n, 2).
    `radius`: of the largest point, in points. Returns names that found a place.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.patheffects import withStroke

    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    figure.draw_without_rendering()
    unit = figure.dpi / 72.0
    inside = axes.get_window_extent(renderer)
    frame = np.array([[inside.x0, inside.y0], [inside.x1, inside.y1]]) / unit
    measured = {}
    for name, at in names.items():
        label = axes.text(0, 0, name, fontsize=SIZE)
        extent = label.get_window_extent(renderer)
        label.remove()
        measured[name] = (axes.transData.transform(at) / unit, np.array([extent.width, extent.height]) / unit)
    places = places_of(measured, frame, axes.transData.transform(dots) / unit, radius)
    for name, (distance, box) in places.items():
        line = {"arrowstyle": "-", "linewidth": 0.4, "shrinkA": 0, "shrinkB": radius, "relpos": (0.5, 0.5)}
        axes.annotate(
            name, names[name], xytext=tuple(box[0] - measured[name][0]), textcoords="offset points", fontsize=SIZE,
            zorder=5, ha="left", va="bottom", annotation_clip=False,
            arrowprops=line if distance >= LINE_FROM else None,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )  # fmt: skip
    return tuple(places)


def _places(
    point: NDArray[np.float64], size: NDArray[np.float64], radius: float
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Distance and box (lower left and upper right corner, in points) of each place for a name of that size."""
    for distance in DISTANCES:
        for step in range(DIRECTIONS):
            angle = np.pi / 4 + 2 * np.pi * step / DIRECTIONS
            direction = np.array([np.cos(angle), np.sin(angle)])
            edge = point + direction * (distance + radius)
            # The corner or side that faces the point touches the circle around it.
            lower = edge - size * (1 - np.clip(direction * 2, -1, 1)) / 2
            yield distance, np.array([lower, lower + size])


def _is_free(
    box: NDArray[np.float64],
    frame: NDArray[np.float64],
    dots: NDArray[np.float64],
    taken: list[NDArray[np.float64]],
    radius: float,
) -> bool:
    if (box[0] < frame[0]).any() or (box[1] > frame[1]).any():
        return False
    nearest = np.clip(dots, box[0], box[1])
    if (np.hypot(*(dots - nearest).T) < radius).any():
        return False
    return not any((box[0] < other[1]).all() and (other[0] < box[1]).all() for other in taken)
