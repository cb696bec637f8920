"""Pairs of masked and original records, with their sampling weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Column, Comparison, Dataset, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


LARGEST = 1e100
"""Squares and fourth powers of larger numbers overflow, and no survey has them: they are a mistake in the file."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Both files as numbers, checked.

    `original`: the whole original file, NaN where missing; Fortran order, as measures read column by column; shape (n,
    p). `masked`: the masked file, likewise; shape (m, p). `origin`: original record of each masked record; None when
    record i comes from record i and m = n, or when pairs are not required; shape (m,). `notes`: missing cells, counted
    by file.
    """

    names: tuple[str, ...]
    original: Floats
    masked: Floats
    origin: Integers | None
    notes: tuple[str, ...]

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.names)

    def originals(self, variable: int) -> Floats:
        """Original values of the masked records; shape (m,)."""
        column = self.original[:, variable]
        return column if self.origin is None else column[self.origin]


def pair_records(
    comparison: Comparison, rule: str, *, required: bool = True, wanted: Sequence[str] | None = None
) -> Pairs:
    """Pair every masked record with the original it comes from (identity, or `Comparison.origin`).

    `wanted`: variables whose numbers are needed, of those compared, all of which are checked; by default all. Each
    takes 16 bytes a record.
    """
    names = tuple(comparison.variables)
    if not names:
        raise InputError("there is nothing to measure: no numeric variable is in both files")
    original, masked = comparison.original, comparison.masked
    if not len(original) or not len(masked):
        raise InputError(f"there is nothing to measure: {len(original)} original and {len(masked)} masked records")
    if required:
        comparison.require_pairs("each masked record is compared with its own original")
    origin = _checked_origin(comparison, len(original), len(masked))
    for data, file in ((original, "original"), (masked, "masked")):
        huge = [name for name in names if _has_beyond(data[name])]
        if huge:
            raise InputError(
                f"infinite values, or values beyond {LARGEST:g}, in the {file} file cannot be measured; "
                f"variables: {listed(huge)}"
            )
    gone = _missing_cells(original, names), _missing_cells(masked, names)
    notes = (
        (f"missing cells: {gone[0]} in the original file, {gone[1]} in the masked file; {rule}",) if any(gone) else ()
    )
    kept = names if wanted is None else tuple(wanted)
    return Pairs(kept, _by_column(original, kept), _by_column(masked, kept), origin, notes)


def _has_beyond(column: Column) -> bool:
    """Whether a number is larger than `LARGEST`."""
    return bool(np.any((np.abs(column.values) > LARGEST) & ~column.missing))


def _missing_cells(data: Dataset, names: Sequence[str]) -> int:
    columns = (data[name] for name in names)
    return sum(int(np.count_nonzero(column.missing | np.isnan(column.values))) for column in columns)


def households_of(comparison: Comparison, pairs: Pairs) -> Integers | None:
    """Household of each masked record's original, where households are declared; shape (m,)."""
    if comparison.households is None or pairs.origin is None:
        return comparison.households
    return comparison.households[pairs.origin]


def largest_of_household(counts: Integers, households: Integers) -> Integers:
    """Largest count among the records of each household; shape (h,)."""
    present, household = np.unique(households, return_inverse=True)
    largest = np.zeros(present.size, dtype=np.int64)
    np.maximum.at(largest, household, counts)
    return largest


def _by_column(data: Dataset, names: tuple[str, ...]) -> Floats:
    values = np.empty((len(data), len(names)), order="F")
    for j, name in enumerate(names):
        values[:, j] = numbers_of(data[name])
    return values


def numbers_of(column: Column) -> Floats:
    """Numbers of a column, NaN where missing; shape (n,). Not copied where its values are that."""
    values: Floats = np.asarray(column.values, dtype=np.float64)
    gone = column.missing & ~np.isnan(values)
    return np.where(gone, np.nan, values) if gone.any() else values


def _checked_origin(comparison: Comparison, n: int, m: int) -> Integers | None:
    origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
    if origin is None:
        return None
    if origin.shape != (m,):
        raise InputError(f"the origin of the masked records has {origin.size} entries for {m} masked records")
    if origin.min() < 0 or origin.max() >= n:
        raise InputError(f"the origin of the masked records must be positions 0..{n - 1} of the original file")
    return origin.astype(np.int64)


def present_values(column: Floats) -> Floats:
    """Values of a column that are not missing, in their order."""
    gone = np.isnan(column)
    return column[~gone] if gone.any() else column


def spread(column: Floats, ddof: int) -> float:
    """Return the standard deviation of the present values, centred first; 0 for equal values or too few of them."""
    present = present_values(column)
    # The extremes decide what is constant: the standard deviation of equal numbers is not always exactly 0.
    if present.size <= ddof or present.min() == present.max():
        return 0.0
    return float(np.std(present, ddof=ddof))


def listed(names: Sequence[str]) -> str:
    """Names for a note: at most eight, then how many more."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


class WeightedParams(BaseModel, extra="forbid", frozen=True):
    """Whether records count by their sampling weights."""

    weighted: bool = Field(
        default=False,
        description="Count each record by its sampling weight: the one variable with role weight, as the original "
        "file has it. Without such a variable the weighted version is refused.",
    )


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the records of both files, scaled to mean 1.

    `original`: shape (n,). `masked`: those of the originals of the masked records; shape (m,).
    """

    original: Floats
    masked: Floats


def weights_of(comparison: Comparison, measure: str, *, weighted: bool) -> Weights | None:
    """Weights to use; None when every record counts once."""
    if not weighted:
        return None
    original, masked = comparison.weights, comparison.masked_weights()
    if original is None or masked is None:
        raise InputError(
            f"{measure}: the weighted version needs weights: declare one variable with role weight, with a number that "
            "is not negative in every record"
        )
    if not masked.any():
        raise InputError(f"{measure}: the weights of the masked records are all zero")
    return Weights(original / original.mean(), masked / masked.mean())


def mean(values: Floats, weights: Floats | None) -> float:
    """(Weighted) mean of values without missing ones; NaN when there is none, or none with weight."""
    if not values.size:
        return float("nan")
    if weights is None:
        return float(values.mean())
    total = float(weights.sum())
    return float(np.dot(values, weights)) / total if total > 0.0 else float("nan")


def chosen(weights: Floats | None, records: Booleans) -> Floats | None:
    """Weights of some records."""
    return None if weights is None else weights[records]


def effective_number(weights: Floats) -> float:
    """Kish's effective number of records, ``sum(w)**2 / sum(w**2)``: at most n, and n for equal weights.

    The variance of a weighted mean is that of a plain mean of so many records, when weights and values are unrelated.
    0 for no weight at all.

    Kish (1965), Survey Sampling, Wiley, section 11.7; Kish (1992), Weighting for unequal P_i, Journal of Official
    Statistics 8(2), 183-200.
    """
    squares = float(np.dot(weights, weights))
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def weighted_over_parts(params: WeightedParams) -> str | None:
    """Why a measure cannot be had of a file in parts: weights are brought to mean 1 over the whole file."""
    return "weights are brought to mean 1 over the whole file: leave out `weighted`" if params.weighted else None
