"""Figures written as SVG with Python alone, or as PNG by matplotlib."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.experiments.pictures.figure import LINE_FROM, SIZE, Scale, name_points, places_of, scale_of, text_width
from maskwright.foundation.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.experiments.pictures.figure import Figure, Panel, Series


LETTERS = 9.0
SMALL = 8.0
LINE = 14.0
"""From one line of text to the next."""
EDGE = 8.0
"""Around the picture, and between its parts."""
GAP = 14.0
"""Between panels."""
MARK = 20.0
"""Room of a sign in the legend."""
APART = 45.0
"""Between numbers along an axis, at least."""
CORNERS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.1), (1, 0.9), (-1, 0.9)),
    "triangle_down": ((0, 1.1), (1, -0.9), (-1, -0.9)),
    "diamond": ((0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)),
    "plus": ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2),
             (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
    "cross": ((0, -0.55), (0.65, -1.2), (1.2, -0.65), (0.55, 0), (1.2, 0.65), (0.65, 1.2), (0, 0.55), (-0.65, 1.2),
              (-1.2, 0.65), (-0.55, 0), (-1.2, -0.65), (-0.65, -1.2)),
    "star": tuple((radius * np.sin(np.pi * n / 5), -radius * np.cos(np.pi * n / 5))
                  for n, radius in enumerate((1.3, 0.55) * 5)),
}  # fmt: skip
"""Of each shape, around its middle, in halves of its size; y downwards."""


def svg_text(figure: Figure) -> str:
    """The picture as the text of an SVG file."""
    return "\n".join(_lines(figure)) + "\n"


def _lines(figure: Figure) -> Iterator[str]:
    size = f"{_number(figure.width)} {_number(figure.height)}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_number(figure.width)}pt" '
        f'height="{_number(figure.height)}pt" viewBox="0 0 {size}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="{_number(LETTERS)}">'
    )
    yield f"<title>{escape(figure.title)}</title>"
    yield f'<rect width="{_number(figure.width)}" height="{_number(figure.height)}" fill="#ffffff"/>'
    legend = figure.legend
    of_legend = EDGE + MARK + max((text_width(each.label, SMALL) for each in legend), default=0.0)
    left = EDGE + (LINE if figure.y_title else 0.0)
    right, below = figure.width - of_legend - EDGE, figure.height - EDGE - (LINE if figure.note else 0.0)
    spread = [series for panel in figure.panels for series in panel.series]
    shared = len(figure.panels) > 1
    columns = max(len(row) for row in figure.rows)
    width, height = (right - left) / columns, (below - EDGE) / len(figure.rows)
    for row, panels in enumerate(figure.rows):
        for column, panel in enumerate(panels):
            y_scale = _scale(spread if shared else panel.series, "y", panel)
            corner = (left + column * width, EDGE + row * height)
            yield from _panel(panel, y_scale, corner, (width - (GAP if column + 1 < columns else 0.0), height))
    if figure.y_title:
        yield _text(EDGE + LETTERS / 2, (EDGE + below) / 2, figure.y_title, turned=True, anchor="middle")
    if figure.note:
        yield _text(EDGE, figure.height - EDGE, figure.note, size=SIZE)
    top = max(EDGE + LINE, (EDGE + below - LINE * len(legend)) / 2)
    for number, series in enumerate(legend):
        yield from _legend(series, right + EDGE, top + LINE * number)
    yield "</svg>"


def _panel(panel: Panel, y_scale: Scale, corner: tuple[float, float], size: tuple[float, float]) -> Iterator[str]:
    x_scale = _scale(panel.series, "x", panel)
    x0, y0 = corner
    others = y_scale.ticks(max(2, int(size[1] / 40)))
    of_numbers = max((text_width(text, SMALL) for _, text in others), default=0.0)
    left, top = x0 + of_numbers + 6 + (LINE if panel.y_title else 0.0), y0 + 4
    right, bottom = x0 + size[0], y0 + size[1] - 2 * LINE - 4
    area = np.array([[left, bottom], [right, top]])
    yield '<g stroke="#b0b0b0" stroke-width="0.3">'
    across = x_scale.ticks(max(2, int((right - left) / APART)))
    for value, _ in across:
        x = _along(x_scale, value, area[:, 0])
        yield f'<path d="M{_number(x)} {_number(bottom)}V{_number(top)}"/>'
    for value, _ in others:
        y = _along(y_scale, value, area[:, 1])
        yield f'<path d="M{_number(left)} {_number(y)}H{_number(right)}"/>'
    yield "</g>"
    yield (
        f'<path d="M{_number(left)} {_number(top)}V{_number(bottom)}H{_number(right)}" fill="none" stroke="#000000" '
        'stroke-width="0.8"/>'
    )
    for value, text in across:
        yield _text(_along(x_scale, value, area[:, 0]), bottom + 12, text, size=SMALL, anchor="middle")
    for value, text in others:
        yield _text(left - 4, _along(y_scale, value, area[:, 1]) + 3, text, size=SMALL, anchor="end")
    yield _text((left + right) / 2, bottom + 12 + LINE, panel.x_title, anchor="middle")
    if panel.y_title:
        yield _text(x0 + LETTERS, (top + bottom) / 2, panel.y_title, turned=True, anchor="middle")
    placed = [(series, _points(series, x_scale, y_scale, area)) for series in panel.series]
    for series, points in sorted(placed, key=lambda each: each[0].hollow):
        yield from _series(series, points, x_scale, y_scale, area)
    yield from _names(panel, x_scale, y_scale, area, [points for series, points in placed if series.shape])


def _scale(series: Iterable[Series], side: str, panel: Panel) -> Scale:
    """Axis with room for the points and the bars through them."""
    values = [np.zeros(0)]
    for each in series:
        at, spread = (each.x, each.x_spread) if side == "x" else (each.y, each.y_spread)
        values += [at] if spread is None else [at - spread, at + spread]
    return scale_of(
        np.concatenate(values), panel.linear_up_to if side == "y" else None, whole=side == "x" and panel.whole_x
    )


def _along(scale: Scale, value: float, ends: NDArray[np.float64]) -> float:
    return float(ends[0] + (ends[1] - ends[0]) * scale.shares(np.array(value)))


def _points(series: Series, x_scale: Scale, y_scale: Scale, area: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.column_stack([x_scale.shares(series.x), y_scale.shares(series.y)])
    found: NDArray[np.float64] = area[0] + shares * (area[1] - area[0])
    return found


def _series(
    series: Series, points: NDArray[np.float64], x_scale: Scale, y_scale: Scale, area: NDArray[np.float64]
) -> Iterator[str]:
    for at, (spread, scale, side) in (
        (points, (series.x_spread, x_scale, 0)), (points, (series.y_spread, y_scale, 1)),
    ):  # fmt: skip
        if spread is None:
            continue
        values = series.x if side == 0 else series.y
        for point, value, half in zip(at, values, spread, strict=True):
            if half > 0:
                ends = [_along(scale, value + sign * half, area[:, side]) for sign in (-1, 1)]
                fixed = _number(point[1 - side])
                path = (
                    f"M{_number(ends[0])} {fixed}H{_number(ends[1])}" if side == 0
                    else f"M{fixed} {_number(ends[0])}V{_number(ends[1])}"
                )  # fmt: skip
                yield f'<path d="{path}" stroke="{series.colour}" stroke-width="0.6" stroke-opacity="0.6"/>'
    if series.line != "none" and len(points) > 1:
        yield f'<path d="{_path(series.line, points)}" fill="none" stroke="{series.colour}" stroke-width="0.9"/>'
    if series.shape is not None:
        yield from (_mark(series, x, y) for x, y in points.tolist())


def _path(line: str, points: NDArray[np.float64]) -> str:
    (x, y), *others = points.tolist()
    parts = [f"M{_number(x)} {_number(y)}"]
    for x, y in others:
        parts.append({
            "straight": f"L{_number(x)} {_number(y)}",
            "level_after": f"H{_number(x)}V{_number(y)}",
            "level_before": f"V{_number(y)}H{_number(x)}",
        }[line])  # fmt: skip
    return "".join(parts)


def _mark(series: Series, x: float, y: float) -> str:
    half = series.size / 2
    colours = (
        f'fill="none" stroke="{series.colour}" stroke-width="1"' if series.hollow
        else f'fill="{series.colour}" stroke="#ffffff" stroke-width="0.4"'
    )  # fmt: skip
    if series.shape == "circle":
        return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(half)}" {colours}/>'
    corners = " ".join(
        f"{_number(x + half * right)},{_number(y + half * down)}" for right, down in CORNERS[str(series.shape)]
    )
    return f'<polygon points="{corners}" {colours}/>'


def _names(
    panel: Panel, x_scale: Scale, y_scale: Scale, area: NDArray[np.float64], points: list[NDArray[np.float64]]
) -> Iterator[str]:
    if not panel.names:
        return
    # Places are found upwards, and an SVG goes downwards.
    up = np.array([1.0, -1.0])
    dots = np.concatenate(points) * up
    radius = max((series.size for series in panel.series if series.shape and not series.hollow), default=0.0) / 2 + 1.5
    at = {
        name: np.array([_along(x_scale, x, area[:, 0]), _along(y_scale, y, area[:, 1])]) * up
        for name, (x, y) in panel.names.items()
    }
    sizes = {name: np.array([text_width(name, SIZE), SIZE * 1.2]) for name in at}
    places = places_of({name: (at[name], sizes[name]) for name in at}, area * up, dots, radius)
    for name, (distance, box) in places.items():
        if distance >= LINE_FROM:
            start, end = at[name] * up, box.mean(axis=0) * up
            start = start + (end - start) * min(1.0, radius / max(float(np.hypot(*(end - start))), 1e-9))
            yield (
                f'<path d="M{_number(start[0])} {_number(start[1])}L{_number(end[0])} {_number(end[1])}" '
                'stroke="#000000" stroke-width="0.4"/>'
            )
        # In letters that are narrower than the room for them, the name is at the side of its point all the same.
        side = int(box[0, 0] >= at[name][0]) - int(box[1, 0] <= at[name][0])
        x = {1: box[0, 0], 0: box[:, 0].mean(), -1: box[1, 0]}[side]
        anchor = {1: "start", 0: "middle", -1: "end"}[side]
        yield _text(x, -box[0, 1] - SIZE * 0.25, name, size=SIZE, anchor=anchor, outlined=True)


def _legend(series: Series, x: float, y: float) -> Iterator[str]:
    middle = y - SMALL * 0.35
    if series.line != "none":
        start = f"M{_number(x)} {_number(middle)}"
        yield f'<path d="{start}h{_number(MARK - 6)}" stroke="{series.colour}" stroke-width="0.9"/>'
    if series.shape is not None:
        yield _mark(series, x + (MARK - 6) / 2, middle)
    yield _text(x + MARK, y, series.label, size=SMALL)


def _text(
    x: float, y: float, text: str, *, size: float | None = None, anchor: str = "start", turned: bool = False,
    outlined: bool = False,
) -> str:  # fmt: skip
    """A line of text; `turned` upwards, `outlined` in white where it may cross a line."""
    messages = [f'x="{_number(x)}" y="{_number(y)}"']
    if size is not None:
        messages.append(f'font-size="{_number(size)}"')
    if anchor != "start":
        messages.append(f'text-anchor="{anchor}"')
    if turned:
        messages.append(f'transform="rotate(-90 {_number(x)} {_number(y)})"')
    if outlined:
        messages.append('stroke="#ffffff" stroke-width="2" stroke-linejoin="round" paint-order="stroke"')
    return f"<text {' '.join(messages)}>{escape(text, quote=False)}</text>"


def _number(value: float) -> str:
    """Hundredths of a point are enough, and the same on every machine; no ``-0``."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


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
