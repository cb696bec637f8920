"""Axes: where a number stands along one, and which numbers are written beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        """Numbers to write, and their texts.

        `most`: no more than these, at least 2.
        """
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
    """Axis on which all these numbers have a place.

    `values`: those that are not finite do not count.
    """
    drawn = drawn_at(values[np.isfinite(values)], linear_up_to)
    low, high = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        half = 0.5 * abs(low) or 0.5
        low, high = low - half, high + half
    room = MARGIN * (high - low)
    return Scale(low - room, high + room, linear_up_to, whole)
