"""Bounds on classes of equal keys by the people of the population who have them: k-map, and individual risk.

Both are monotone: a class that fulfils one does so when any other is joined to it, also one that does not. Of k-map
that is plain. The individual risk, the mean of 1 / F given f where F is estimated by F', is the integral of
``(1 + u F' / f)^-f / (1 + u)`` over u from 0 to infinity (of the generating function of F, s = 1 / (1 + u)). It falls
with f and with F', so that it falls whenever records are added, whatever their own risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright_builtin.key_counts.counts import matched_sizes
from maskwright_builtin.key_counts.negative_binomial_risk import individual_risk, sampling_fraction
from maskwright_builtin.key_counts.packing import pack_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.methods.generalisation.leaf_rows import Rows

SLACK = 1e-12
"""By how much a sum of weights may be below its bound, or two risks differ, through rounding."""


class RiskBound(BaseModel, extra="forbid", frozen=True):
    """Largest individual risk, and how many records may be above it."""

    bound: Annotated[float, Field(gt=0, lt=1)] = Field(description="The risk, 0 to 1.")
    share_above: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Share of the records that may be published with a larger one."
    )


@dataclass(frozen=True)
class LeastPeople:
    """k-map: a least number of people of the population in every class.

    `column`: of `Rows.amounts`: people, or sampling weights. `is_counted`: whether people are counted, in a file of the
    population. Then those are counted who have what a class shows, whatever stands in its missing keys, and show all of
    it themselves.
    """

    least: float
    column: int
    is_counted: bool

    def of_classes(self, rows: Rows) -> NDArray[np.float64]:
        """People with the keys of each class."""
        people = rows.amounts[:, self.column]
        if not self.is_counted:
            return people
        missing = rows.codes == rows.blanks
        incomplete = missing.any(axis=1)
        if not (incomplete & (rows.counts > 0)).any():
            return people
        from maskwright_builtin.key_counts.counting_kernel import SUBSET  # Numba is heavy

        packed = pack_keys([np.where(gone, -1, codes) for gone, codes in zip(missing.T, rows.codes.T, strict=True)])
        matched = matched_sizes(packed, people.astype(np.int64), SUBSET)
        return np.where(incomplete, matched, people)

    def failing(self, rows: Rows) -> NDArray[np.bool_]:
        """Classes with too few people."""
        return np.asarray(self.of_classes(rows) < self.least * (1 - SLACK), dtype=np.bool_)

    def fails_together(self, rows: Rows, emptied: NDArray[np.bool_]) -> bool:
        """Whether these classes have too few people once all their keys are emptied."""
        own = rows.amounts[:, self.column]
        return float(own.sum() if self.is_counted else own[emptied].sum()) < self.least * (1 - SLACK)


@dataclass(frozen=True)
class LargestRisk:
    """A bound on the individual risk of records, as the measure `individual_risk` has it with its defaults.

    `most_above`: records that may be published with a larger risk. `column`: of `Rows.amounts`: sampling weights; None:
    the file is the population.
    """

    bound: float
    most_above: int
    column: int | None

    def of_classes(self, rows: Rows) -> NDArray[np.float64]:
        """Risk of the records of each class; 0 for one without records."""
        weights = None if self.column is None else rows.amounts[:, self.column]
        return self._risk(rows.counts, weights)

    def above(self, rows: Rows) -> NDArray[np.bool_]:
        """Classes with a larger risk."""
        return np.asarray(self.of_classes(rows) > self.bound, dtype=np.bool_)

    def riskiest(self, rows: Rows, emptied: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Classes to empty beside those that are, so that no more records than may be are left above the bound.

        Those of the largest risk; classes of the same risk together, so that no order decides.
        """
        risk = np.where(emptied, 0.0, self.of_classes(rows))
        above = np.flatnonzero(risk > self.bound)
        falling = above[np.argsort(-risk[above], kind="stable")]
        records = rows.counts[falling]
        left = int(records.sum()) - np.cumsum(records)
        if not len(above) or int(records.sum()) <= self.most_above:
            return np.zeros(len(risk), dtype=np.bool_)
        last = risk[falling[np.flatnonzero(left <= self.most_above)[0]]]
        return np.asarray(risk >= last * (1 - SLACK), dtype=np.bool_)

    def fails_together(self, rows: Rows, emptied: NDArray[np.bool_]) -> bool:
        """Whether the records of these classes have a larger risk as one class."""
        weights = None if self.column is None else rows.amounts[emptied, self.column].sum(keepdims=True)
        return bool(self._risk(rows.counts[emptied].sum(keepdims=True), weights)[0] > self.bound)

    def _risk(self, counts: NDArray[np.int64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        there = counts > 0
        file = np.maximum(counts, 1)
        if weights is None:
            return there / file
        fraction, _ = sampling_fraction(file, np.where(there, weights, 1.0))
        return np.where(there, individual_risk(file, fraction), 0.0)
