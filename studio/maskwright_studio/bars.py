"""Bars of a distribution, as figures of a picture: counted elsewhere, so that no record comes to the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH, HEIGHT = 720, 200


@dataclass(frozen=True)
class Bar:
    """One bar, in units of the picture."""

    x: float
    y: float
    width: float
    height: float
    count: int
    label: str


def bars(found: Mapping[str, Any]) -> list[Bar]:
    """Bars of a distribution.

    `found`: what `DataAnswers.distribution` says: counts, and below them labels, or edges, one more than counts.
    """
    counts, labels = found["counts"], found["labels"]
    highest = max(counts, default=0) or 1
    step = WIDTH / max(1, len(counts))
    edges = len(labels) == len(counts) + 1
    placed = []
    for place, count in enumerate(counts):
        # A bin that holds few records is seen all the same.
        height = max(1.5, HEIGHT * count / highest) if count else 0.0
        label = f"{labels[place]} to {labels[place + 1]}" if edges else labels[place] if labels else ""
        gap = 0.5 if found["form"] == "bins" else step * 0.1
        placed.append(
            Bar(round(place * step + gap, 2), round(HEIGHT - height, 2), round(step - 2 * gap, 2), round(height, 2),
                count, label)
        )  # fmt: skip
    return placed
