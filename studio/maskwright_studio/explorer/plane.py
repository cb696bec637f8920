"""The plane in the picture: where a point is drawn, where a line leaves it, and which point a click means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 720, 480
"""Of the picture, in its own units."""

CURVE_WIDTH, CURVE_HEIGHT = 480, 220


@dataclass(frozen=True)
class Plane:
    """The part of the plane that is seen, from corner to corner."""

    left: float = 0.0
    right: float = 100.0
    bottom: float = 0.0
    top: float = 100.0

    @classmethod
    def around(cls, points: Sequence[tuple[float, float]]) -> Plane:
        """The plane that shows all points, with a margin."""
        if not points:
            return cls()
        sides = []
        for numbers in zip(*points, strict=True):
            low, high = min(numbers), max(numbers)
            margin = 0.05 * (high - low) or 1.0
            sides += [low - margin, high + margin]
        return cls(*sides)

    def drawn(self, x: float, y: float) -> tuple[float, float]:
        """Place of a point in the picture."""
        across = (x - self.left) / (self.right - self.left)
        up = (y - self.bottom) / (self.top - self.bottom)
        return round(across * WIDTH, 2), round((1 - up) * HEIGHT, 2)

    def meant(self, across: float, down: float) -> tuple[float, float]:
        """Point at a place of the picture, to the digits that a picture can show."""
        x = self.left + across / WIDTH * (self.right - self.left)
        y = self.bottom + (1 - down / HEIGHT) * (self.top - self.bottom)
        return _short(x, self.right - self.left), _short(y, self.top - self.bottom)

    def crossing(self, a: float, b: float, c: float) -> tuple[float, float, float, float] | None:
        """Ends of the line ``a x + b y = c`` where it leaves the picture; None where it does not cross it."""
        ends: list[tuple[float, float]] = []
        if b:
            for x in (self.left, self.right):
                y = (c - a * x) / b
                if self.bottom <= y <= self.top:
                    ends.append((x, y))
        if a:
            for y in (self.bottom, self.top):
                x = (c - b * y) / a
                if self.left <= x <= self.right:
                    ends.append((x, y))
        if len(ends) < 2:
            return None
        one, other = min(ends), max(ends)
        return (*self.drawn(*one), *self.drawn(*other))


def _short(number: float, span: float) -> float:
    """A number to a hundredth of a unit of the picture, at most."""
    step = 10.0 ** _power(span / (100 * WIDTH))
    return round(round(number / step) * step, 12)


def _power(number: float) -> int:
    return int(f"{number:e}".split("e")[1])


def curve(values: Sequence[float | None], highest: float) -> str:
    """Points of a line through values, one for each iteration; '' where fewer than two are known."""
    step = CURVE_WIDTH / max(1, len(values) - 1)
    known = [(place, each) for place, each in enumerate(values) if each is not None]
    if len(known) < 2:
        return ""
    return " ".join(f"{place * step:.1f},{CURVE_HEIGHT * (1 - each / highest):.1f}" for place, each in known)
