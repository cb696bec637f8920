"""An axis: where a value stands in a picture, and the round numbers beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

MARKS = 5
"""Marks are about so many."""


@dataclass(frozen=True)
class Mark:
    """A round number on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` stand between two places of the picture.

    `low`, `high`: in the unit of the values; `low` < `high`. `start`, `end`: in the unit of the picture; the axis may
    run either way.
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Place of a value."""
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 2)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Round numbers on the axis, with no more digits than tell them apart."""
        step = _round_step((self.high - self.low) / MARKS)
        digits = max(0, -math.floor(math.log10(step)))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(Mark(self.at(each * step), f"{each * step:,.{digits}f}") for each in range(first, last + 1))


def axis_of(values: list[float], start: float, end: float) -> Axis:
    """Axis on which some values stand, with a little room at both ends.

    `start`, `end`: in the unit of the picture.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return Axis(low - room, high + room, start, end)


def _round_step(least: float) -> float:
    """Smallest of 1, 2 and 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least * (1 - 1e-9))
