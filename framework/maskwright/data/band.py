"""What a published category stands for, of a variable that was recoded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Band:
    """Original values that one published category stands for: an interval of numbers (or days), or listed values.

    Attributes
    ----------
    lower, upper : float
        From `lower`, inclusive, to under `upper`; infinite where the band is open. Days since 1970-01-01 for dates.
    upper_inclusive : bool
        Whether `upper` belongs to it.
    members : tuple of str, tuple of float, or None
        The original categories, or the single numbers; None: it is the interval.

    Examples
    --------
    >>> from maskwright import Band
    >>> Band(lower=18, upper=65).holds(64.5), Band(members=("A", "B")).holds("C")
    (True, False)
    """

    lower: float = -math.inf
    upper: float = math.inf
    upper_inclusive: bool = False
    members: tuple[str | float, ...] | None = None

    def holds(self, value: str | float) -> bool:
        """Whether an original value is in the band."""
        if self.members is not None:
            return value in self.members
        if isinstance(value, str):
            return False
        return self.lower <= value < self.upper or (self.upper_inclusive and value == self.upper)

    @staticmethod
    def joined(bands: Sequence[Band]) -> Band | None:
        """One band of several, such as those of categories that are joined; None where it would have a gap.

        Parameters
        ----------
        bands : sequence of Band
            At least one.
        """
        if all(band.members is not None for band in bands):
            return Band(members=tuple(member for band in bands for member in band.members or ()))
        if any(band.members is not None for band in bands):
            return None
        ordered = sorted(bands, key=lambda band: band.lower)
        if any(low.upper != high.lower for low, high in pairwise(ordered)):
            return None
        return Band(ordered[0].lower, ordered[-1].upper, upper_inclusive=ordered[-1].upper_inclusive)
