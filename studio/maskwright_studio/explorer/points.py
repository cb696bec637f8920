"""Points of the explorer: columns of numbers, and the plane they are drawn in."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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


MOST = 2000
"""Points: of more records as many are taken, evenly."""

LARGEST_FILE = 4_000_000
"""Bytes of a text file of points."""

Row = TypeVar("Row")

BETWEEN = re.compile(r"\s*[,;]\s*|\s+")


@dataclass(frozen=True)
class Table:
    """Columns of numbers.

    `columns`: none, where a cell is missing. `records`: of which these are all, or as many as are looked at.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[float | None, ...], ...]
    records: int

    def chosen(self, text: str, what: str) -> list[str]:
        """Names of the columns that a field names, by name or by number from 1."""
        found: list[str] = []
        for word in BETWEEN.split(text.strip()):
            at = int(word) - 1 if word.isdecimal() and word not in self.names else -1
            name = self.names[at] if 0 <= at < len(self.names) else word
            if name not in self.names:
                raise Refusal(
                    f"{what}: there is no column {word}" if word else f"no column is named as {what}",
                    f"Columns are {', '.join(self.names)}, or 1 to {len(self.names)}.",
                )
            if name not in found:
                found.append(name)
        return found

    def rows(self, names: Sequence[str]) -> list[tuple[float, ...]]:
        """Rows of some columns in which no cell is missing."""
        picked = [self.columns[self.names.index(name)] for name in names]
        return [tuple(each for each in row if each is not None) for row in zip(*picked, strict=True) if None not in row]


def clicked(points: Sequence[tuple[float, float]]) -> Table:
    """Points that were clicked, as columns x and y."""
    return Table(("x", "y"), (tuple(x for x, _ in points), tuple(y for _, y in points)), len(points))


def read_points(path: Path) -> Table:
    """Read a text file of points: one a row, numbers with spaces, commas or semicolons between them."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Refusal(f"{path.name} is larger than points to look at are", "Open it as data of a pipeline.")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise Refusal(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refusal(f"{path.name} is no text in UTF-8") from None
    rows = [(number, BETWEEN.split(line.strip())) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise Refusal(f"{path.name} has no rows")
    first = rows[0][1]
    is_named = any(_number(word) is None for word in first)
    names = [word.strip('"') for word in first] if is_named else [str(place + 1) for place in range(len(first))]
    if len(set(names)) < len(names):
        raise Refusal(f"{path.name}: two columns have the same name")
    points = rows[is_named:]
    for number, words in points:
        if len(words) != len(names) or any(_number(word) is None for word in words):
            raise Refusal(
                f"{path.name}, line {number}: it is not a row of {len(names)} numbers",
                "One point a row, its numbers with spaces or commas between them.",
            )
    kept = [[_number(word) for word in words] for _, words in evenly(points)]
    columns = tuple(zip(*kept, strict=True)) if kept else tuple(() for _ in names)
    return Table(tuple(names), columns, len(points))


def evenly(rows: Sequence[Row]) -> list[Row]:
    """As many rows as are looked at."""
    if len(rows) <= MOST:
        return list(rows)
    return [rows[place * len(rows) // MOST] for place in range(MOST)]


def _number(word: str) -> float | None:
    try:
        found = float(word)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
