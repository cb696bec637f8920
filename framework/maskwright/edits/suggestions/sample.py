"""The records that candidates are searched in: all, or an even part of a long file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.suggestions.model import is_date, numeric_names
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset

SEARCHED = 20_000
"""Records that are searched; what is found there is verified on every record."""

LARGEST_UNITS = 2.0**53


@dataclass(frozen=True, eq=False)
class Sample:
    """Records to search in, and how often a rule has to hold there.

    `share`: of the records of the file in which a rule has to hold. `dates`: variables that the file has as texts and
    that are days here.
    """

    data: Dataset
    share: float
    of: int
    dates: frozenset[str] = frozenset()

    @classmethod
    def drawn(cls, data: Dataset, share: float, dates: frozenset[str] = frozenset()) -> Sample:
        """All records of a file, or `SEARCHED` drawn ones."""
        if len(data) <= SEARCHED:
            return cls(data, share, len(data), dates)
        rows = generator(0, "suggest").choice(len(data), size=SEARCHED, replace=False)
        return cls(data.taken(np.sort(rows)), share, len(data), dates)

    def __len__(self) -> int:
        return len(self.data)

    def enough(self, held: int, of: int) -> bool:
        """Whether so many of so many searched records allow that the share is reached in the file."""
        if of == 0:
            return False
        slack = 0.0 if self.of == len(self) else 3 * np.sqrt(self.share * (1 - self.share) / of)
        return bool(held >= (self.share - slack) * of)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numeric variables that are not the same in all searched records."""
        found = []
        for name in numeric_names(self.data):
            present = self.data[name].values[~self.data[name].missing]
            if len(present) and np.ptp(present) > 0:
                found.append(name)
        return tuple(found)

    @cached_property
    def exact(self) -> tuple[str, ...]:
        """Those with declared decimals whose numbers binary64 holds exactly."""
        found = []
        for name in self.numbers:
            column = self.data[name]
            places = column.variable.decimals
            if places is not None and np.nanmax(np.abs(column.values)) * 10.0**places < LARGEST_UNITS:
                found.append(name)
        return tuple(found)

    def is_date(self, column: Column) -> bool:
        """Whether a column holds days."""
        return column.name in self.dates or is_date(column)

    def shuffled(self) -> NDArray[np.int64]:
        """Places of records in an order that has nothing to do with the file: what chance would pair."""
        return generator(0, "chance").permutation(len(self))

    def cells(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Numbers of the searched records, NaN where missing; shape (m, p)."""
        return self.data.matrix(names)
