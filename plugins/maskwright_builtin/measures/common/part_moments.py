"""Central moments of parts of a column, put together as those of the whole: what measures over parts need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from maskwright_builtin.measures.common.pairing import present_values

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class PartMoments:
    """Moments of the values that are present, about their own mean.

    Put together with the formulas of Pébay (2008), Formulas for robust, one-pass parallel computation of covariances
    and arbitrary-order statistical moments, Sandia report SAND2008-6212, section 3.

    `mean`, `second`, `third`, `fourth`: mean, and sums of powers of the differences from it.
    """

    n: int = 0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, column: NDArray[np.float64]) -> Self:
        """Moments of a column; NaN where missing."""
        values = present_values(column)
        if not values.size:
            return cls()
        low, high = float(values.min()), float(values.max())
        # Of equal values the mean is exactly theirs, and all differences are none.
        mean = low if low == high else float(values[0] + (values - values[0]).mean())
        left = values - mean
        squares = left * left
        return cls(
            values.size, mean, float(squares.sum()), float((squares * left).sum()), float((squares * squares).sum()),
            low, high,
        )  # fmt: skip

    def __add__(self, other: PartMoments) -> PartMoments:
        if not self.n or not other.n:
            return self if self.n else other
        one, two = self.n, other.n
        n = one + two
        apart = other.mean - self.mean
        share = apart / n
        second = self.second + other.second + apart * share * one * two
        third = (
            self.third + other.third + apart * share**2 * one * two * (one - two)
            + 3.0 * share * (one * other.second - two * self.second)
        )  # fmt: skip
        fourth = (
            self.fourth + other.fourth + apart * share**3 * one * two * (one * one - one * two + two * two)
            + 6.0 * share**2 * (one * one * other.second + two * two * self.second)
            + 4.0 * share * (one * other.third - two * self.third)
        )  # fmt: skip
        return PartMoments(
            n, self.mean + share * two, second, third, fourth, min(self.low, other.low), max(self.high, other.high)
        )

    def spread(self, ddof: int) -> float:
        """Standard deviation; 0 for equal values or too few of them."""
        if self.n <= ddof or self.low == self.high:
            return 0.0
        return math.sqrt(self.second / (self.n - ddof))

    def to_json(self) -> list[Any]:
        """Plain data."""
        extremes = [self.low, self.high] if self.n else [None, None]
        return [self.n, self.mean, self.second, self.third, self.fourth, *extremes]

    @classmethod
    def merged(cls, parts: Iterable[list[Any]]) -> PartMoments:
        """Moments of a column from those of its parts, in their order."""
        return sum((cls(*each) for each in parts if each[0]), cls())
