"""Exact sums of weights by class: the same whatever the order and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

DIGIT = 26
"""Bits of a digit: 2^27 digits add up to a binary64 number."""

AT_ONCE = 1 << 26
"""Digits that are added at once."""


@dataclass(frozen=True, eq=False)
class ExactTotals:
    """Sums of numbers that are not negative, by class; `grouped` adds them exactly.

    `digits`: by place p, multiples of 2^(26 p) below 2^26, places that are 0 in all classes left out; shape (c,).
    """

    count: int
    digits: Mapping[int, NDArray[np.int64]]

    @classmethod
    def of(cls, values: NDArray[np.float64], codes: NDArray[np.int64], count: int) -> Self:
        """Sums of finite numbers; `codes`: class of each, 0 to count - 1; shape (n,)."""
        rest = np.asarray(values, dtype=np.float64)
        largest = float(rest.max(initial=0.0))
        if not (float(rest.min(initial=0.0)) >= 0.0 and largest < np.inf):
            raise ValueError("exact totals are of finite numbers that are not negative")
        # The highest digit may be larger than the others, as long as all of them together are below 2^53.
        bits = int(np.frexp(largest)[1]) + len(rest).bit_length()
        place = max(-(-(bits - 53) // DIGIT), 0)
        digits: dict[int, NDArray[np.int64]] = {}
        while largest > 0.0:
            own = np.floor(np.ldexp(rest, -DIGIT * place) if place else rest)
            digits[place] = _added(own, codes, count)
            rest = rest - (np.ldexp(own, DIGIT * place) if place else own)
            largest = float(rest.max())
            place -= 1
        return cls(count, _carried(digits, count))

    def grouped(self, codes: NDArray[np.int64], count: int) -> ExactTotals:
        """Sums over some classes each; `codes`: which of them each class goes to; shape (c,)."""
        added = {place: _added(own.astype(np.float64), codes, count) for place, own in self.digits.items()}
        return ExactTotals(count, _carried(added, count))

    @property
    def values(self) -> NDArray[np.float64]:
        """Sums as binary64 numbers, a function of the exact ones, off by less than two units in the last place."""
        total = np.zeros(self.count)
        for place in sorted(self.digits):
            total += np.ldexp(self.digits[place].astype(np.float64), DIGIT * place)
        return total


def _added(values: NDArray[np.float64], codes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Sums of whole numbers by class."""
    slices = [slice(begin, begin + AT_ONCE) for begin in range(0, max(len(values), 1), AT_ONCE)]
    sums = [np.bincount(codes[own], values[own], count).astype(np.int64) for own in slices]
    return sums[0] if len(sums) == 1 else np.sum(sums, axis=0)


def _carried(digits: Mapping[int, NDArray[np.int64]], count: int) -> dict[int, NDArray[np.int64]]:
    """The same numbers with digits below 2^26."""
    found: dict[int, NDArray[np.int64]] = {}
    waiting = dict(digits)
    while waiting:
        place = min(waiting)
        own = waiting.pop(place)
        largest = int(own.max(initial=0))
        if largest >> DIGIT:
            waiting[place + 1] = waiting.get(place + 1, np.zeros(count, dtype=np.int64)) + (own >> DIGIT)
            own = own & ((1 << DIGIT) - 1)
        if largest and own.any():
            found[place] = own
    return found
