"""Figures: panels, series, axes, widths of texts, and names placed where they cover nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


Shape = Literal["circle", "square", "triangle", "diamond", "triangle_down", "plus", "cross", "star"]
Line = Literal["none", "straight", "level_after", "level_before"]
"""Between points: none, straight, or level behind each point until the next, or before it."""


@dataclass(frozen=True, eq=False)
class Series:
    """Points that look alike.

    `x`, `y`: shape (n,). `shape`: None: no points, the line alone. `hollow`: whether it is drawn as an outline, above
    all others. `x_spread`, `y_spread`: half the length of a bar through each point; shape (n,).
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    label: str
    colour: str = "#000000"
    shape: Shape | None = "circle"
    size: float = 5.1
    hollow: bool = False
    line: Line = "none"
    x_spread: NDArray[np.float64] | None = None
    y_spread: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes, and what is between them.

    `linear_up_to`: the vertical axis is logarithmic beyond this number, on both sides of 0; None: it is linear.
    `whole_x`: whether only whole numbers stand along the horizontal axis. `names`: beside which points they are
    written, the most important first; one for which there is no room is left out.
    """

    series: tuple[Series, ...]
    x_title: str
    y_title: str = ""
    linear_up_to: float | None = None
    whole_x: bool = False
    names: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture.

    `title`: for those who hear it instead of seeing it. `rows`: all with the same vertical axis, where there are
    several.
    """

    title: str
    width: float
    height: float
    rows: tuple[tuple[Panel, ...], ...]
    y_title: str = ""
    note: str = ""

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All of them, row by row."""
        return tuple(panel for row in self.rows for panel in row)

    @property
    def legend(self) -> tuple[Series, ...]:
        """One series for each label, in the order in which they come."""
        return tuple({series.label: series for panel in self.panels for series in panel.series}.values())


NARROW = frozenset("iIjlt|!.,:;'()[]{} f")
WIDE = frozenset("mwMW%@—")
_OF_NARROW, _OF_WIDE, _OF_LARGE, _OF_OTHERS = 0.42, 1.0, 0.74, 0.64


def text_width(text: str, size: float) -> float:
    """Width in points of a text in letters of that size; rather too large than too small."""
    return size * sum(map(_width, text))


def _width(letter: str) -> float:
    if letter in NARROW:
        return _OF_NARROW
    if letter in WIDE or ord(letter) > 0x2E80:  # the writing systems of East Asia fill the square
        return _OF_WIDE
    return _OF_LARGE if letter.isupper() else _OF_OTHERS


MARGIN = 0.05
"""Share of an axis that is left free at each end."""
MOST_POWERS = 60
"""Of ten, along an axis: what is larger still has no number."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`.

    `low`, `high`: ends, in numbers as they are drawn: of a logarithmic axis their logarithms. `whole`: whether only
    whole numbers are written.
    """

    low: float
    high: float
    linear_up_to: float | None = None
    whole: bool = False

    def shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where numbers stand: 0 at the lower end, 1 at the upper one."""
        return (drawn_at(values, self.linear_up_to) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Numbers to write, and their texts."""
        return self._powers(most) if self.linear_up_to is not None else self._steps(most)

    def _steps(self, most: int) -> list[tuple[float, str]]:
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        steps = [each for each in STEPS if each != 2.5 or not self.whole]
        step = next(each * power for each in steps if each * power >= rough * (1 - 1e-9))
        if self.whole:
            step = max(1.0, step)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if abs(step / power - 2.5) < 1e-6 else 0))
        return [(n * step, f"{n * step:.{decimals}f}") for n in range(first, last + 1)]

    def _powers(self, most: int) -> list[tuple[float, str]]:
        assert self.linear_up_to is not None
        lowest = math.ceil(math.log10(self.linear_up_to))
        sizes = [10.0**power for power in range(lowest, lowest + MOST_POWERS)]
        inside = [
            value for value in (*(-size for size in reversed(sizes)), 0.0, *sizes)
            if 0.0 <= float(self.shares(np.array(value))) <= 1.0
        ]  # fmt: skip
        stride = max(1, math.ceil(len(inside) / most))
        return [(value, f"{value:g}") for value in inside[::stride]]


def drawn_at(values: NDArray[np.float64], linear_up_to: float | None) -> NDArray[np.float64]:
    """Numbers as they are drawn: themselves, or beyond `linear_up_to` their logarithms, continued through 0."""
    if linear_up_to is None:
        return values
    sizes = np.abs(values) / linear_up_to
    return np.sign(values) * np.where(sizes <= 1.0, sizes, 1.0 + np.log10(np.maximum(sizes, 1.0)))


def scale_of(values: NDArray[np.float64], linear_up_to: float | None = None, *, whole: bool = False) -> Scale:
    """Axis on which all these numbers have a place."""
    drawn = drawn_at(values[np.isfinite(values)], linear_up_to)
    low, high = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        half = 0.5 * abs(low) or 0.5
        low, high = low - half, high + half
    room = MARGIN * (high - low)
    return Scale(low - room, high + room, linear_up_to, whole)


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

    `dots`: all points drawn, in data coordinates; shape (n, 2).
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
