"""Households, or persons, as units that are swapped: what they are like, where they are, how easily they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError
from maskwright_builtin.numerics.numbering import numbered, numbered_together

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Households:
    """Records by household.

    `of_record`: household of each record, 0..H-1; shape (n,). `order`: records, household after household; shape (n,).
    `starts`: where each household begins in `order`; shape (H,). `sizes`: records of each; shape (H,).
    """

    of_record: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, households: NDArray[np.int64] | None, n: int) -> Households:
        """Declared households; without them each record is one."""
        of_record = np.arange(n) if households is None else numbered(households)
        sizes = np.bincount(of_record)
        return cls(of_record, np.argsort(of_record, kind="stable"), np.cumsum(sizes) - sizes, sizes)

    def common(self, column: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """Value of each household; shape (H,)."""
        found = column[self.order[self.starts]]
        differing = ~((column == found[self.of_record]) | (np.isnan(column) & np.isnan(found[self.of_record])))
        if differing.any():
            count = len(np.unique(self.of_record[differing]))
            raise InputError(
                f"{name} differs among the members of {count} household(s), and households are swapped as a whole: "
                "leave it out of the step, or correct the file"
            )
        return found

    def composition(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Class of households of one size whose members have the same codes, each as often; shape (H,)."""
        # Members of a household by code, household after household.
        order = np.lexsort((codes, self.of_record)) if len(self.sizes) < len(codes) else self.order
        members = codes[order]
        classes = np.zeros(len(self.sizes), dtype=np.int64)
        used = 0
        for size in np.unique(self.sizes):
            here = np.flatnonzero(self.sizes == size)
            found = numbered_together([members[self.starts[here] + place] for place in range(int(size))])
            classes[here] = found + used
            used += int(found.max()) + 1
        return classes

    def least(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Smallest value of the members of each household; shape (H,)."""
        return np.minimum.reduceat(values[self.order], self.starts)
