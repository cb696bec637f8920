"""What a picture shows, whoever draws it: panels with points, lines and names. Lengths are in points (1/72 inch)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
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
