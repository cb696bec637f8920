"""What a tree splits by: predictors as small whole numbers, categories and numbers alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_CODES = 2**16
"""Different codes of a predictor, missing included."""
ENOUGH_INTERVALS = 255
"""Intervals that a number is split by: more change what a tree finds by less than another sample would."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """One predictor of n records.

    `codes`: 0..size-1; the last one is that of a missing cell, whether one is missing or not; shape (n,). `nominal`:
    whether any set of codes may go to one side; otherwise codes go by their order, the missing ones to either side.
    """

    codes: NDArray[np.uint16]
    size: int
    nominal: bool


@dataclass(frozen=True, eq=False)
class Predictors:
    """All predictors of n records.

    `codes`: shape (p, n). `sizes`: shape (p,). `nominal`: shape (p,).
    """

    codes: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    nominal: NDArray[np.bool_]

    @classmethod
    def of(cls, predictors: Sequence[Predictor]) -> Predictors:
        """Put predictors of the same records together."""
        return cls(
            np.stack([each.codes for each in predictors]),
            np.array([each.size for each in predictors], dtype=np.int64),
            np.array([each.nominal for each in predictors], dtype=np.bool_),
        )

    def chosen(self, records: NDArray[np.int64] | NDArray[np.bool_]) -> Predictors:
        """Those of some records."""
        return Predictors(np.ascontiguousarray(self.codes[:, records]), self.sizes, self.nominal)


def categorical_predictor(codes: NDArray[np.int64], categories: int, *, nominal: bool = True) -> Predictor:
    """Categories as a predictor.

    `codes`: 0..categories-1; -1 where missing; shape (n,). `nominal`: false where the codes are in an order that means
    something.
    """
    if categories >= MOST_CODES:
        raise InputError(f"a tree splits by at most {MOST_CODES - 1} categories, not {categories}")
    return Predictor(np.where(codes < 0, categories, codes).astype(np.uint16), categories + 1, nominal)


def numeric_cuts(values: NDArray[np.float64], intervals: int = ENOUGH_INTERVALS) -> NDArray[np.float64]:
    """Where to cut numbers: between different values, or at quantiles where there are more values than intervals.

    `values`: NaN where missing; shape (n,). Returns ascending, c below `intervals`; interval i holds what is above cut
    i - 1 and at most cut i; shape (c,).
    """
    present = np.sort(values[~np.isnan(values)])
    different = present[np.concatenate([[True], present[1:] != present[:-1]])] if present.size else present
    if different.size <= intervals:
        # Half of each and not half of the sum, which could overflow.
        return np.asarray(different[:-1] / 2.0 + different[1:] / 2.0)
    places = np.arange(1, intervals) * present.size // intervals
    return np.unique(present[places - 1])


def numeric_predictor(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> Predictor:
    """Numbers as a predictor: the interval that each is in.

    `values`: NaN where missing; shape (n,). `cuts`: of `numeric_cuts`, of these values or of others; shape (c,).
    """
    if len(cuts) + 2 > MOST_CODES:
        raise InputError(f"a tree splits numbers by at most {MOST_CODES - 2} intervals, not {len(cuts) + 1}")
    codes = np.searchsorted(cuts, values, side="left")
    codes[np.isnan(values)] = len(cuts) + 1
    return Predictor(codes.astype(np.uint16), len(cuts) + 2, nominal=False)
