"""The risk-utility map: a point for each cell of an experiment, and the line of those that no other beats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright_studio.drawing.axis import Axis, axis_of

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 48
SHADES = 6
"""Families that have a colour of their own; further ones begin again."""


@dataclass(frozen=True)
class Point:
    """A cell in the picture."""

    cell: str
    x: float
    y: float
    shade: int
    label: str
    is_on_front: bool
    is_best: bool


@dataclass(frozen=True)
class RiskUtilityMap:
    """The picture, in its own units.

    `points`: in the order of the cells. `front`: points of a line, as SVG has them; '' for less than two. `families`:
    with a colour each, in order.
    """

    risk: Axis
    loss: Axis
    points: tuple[Point, ...]
    front: str
    families: tuple[str, ...]


def risk_utility_map(found: Mapping[str, Any]) -> RiskUtilityMap:
    """Lay out the cells that have both figures."""
    risk, loss = found["risk"], found["loss"]
    cells = [each for each in found["cells"] if each["figures"].get(risk) is not None
             and each["figures"].get(loss) is not None]  # fmt: skip
    across = axis_of([each["figures"][risk] for each in cells], LEFT, WIDTH - RIGHT)
    up = axis_of([each["figures"][loss] for each in cells], HEIGHT - BOTTOM, TOP)
    families = tuple(dict.fromkeys(each["family"] for each in cells))
    points = tuple(
        Point(
            each["name"], across.at(each["figures"][risk]), up.at(each["figures"][loss]),
            families.index(each["family"]) % SHADES, _label(each, found),
            each["name"] in found["front"], each["name"] == found["best"],
        )
        for each in cells
    )  # fmt: skip
    placed = {each.cell: f"{each.x},{each.y}" for each in points}
    line = [placed[name] for name in found["front"] if name in placed]
    return RiskUtilityMap(across, up, points, " ".join(line) if len(line) > 1 else "", families)


def _label(cell: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    figures = ", ".join(f"{column} {cell['figures'][column]:.4g}" for column in (found["risk"], found["loss"]))
    told = [
        *(["best score"] if cell["name"] == found["best"] else []),
        *(["on the front"] if cell["name"] in found["front"] else []),
        *([cell["why_not"]] if cell["why_not"] else []),
    ]
    return f"{cell['name']}: {', '.join([figures, *told])}"
