"""Points to explore: a few columns of numbers, clicked, read from a text file, or taken from the open data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
        """Names of the columns that a field names, by name or by number from 1.

        `text`: with spaces or commas between them. `what`: the field, for the message.
        """
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
    """Read a text file of points: one a row, numbers with spaces, commas or semicolons between them.

    `path`: its first row may name the columns; else they are called 1, 2, .
    """
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
