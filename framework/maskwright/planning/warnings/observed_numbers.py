"""Numbers as they are observed in a file: samples of records, modes, ranks, correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.foundation.arrays import Booleans, Floats, Integers

HOLDS = 0.95
"""Share of the records in which a relation has to hold."""

FEWEST_NUMBERS = 20
"""Records, or groups of them, from which on a relation is not by chance."""

FEWEST_VALUES = 5
"""Different values of a number from which on a relation is not by chance."""

RECORDS_A_NUMBER = 10
"""Records for each number of a sum, at least."""

MOST_NUMBERS = 30
"""Numbers of which sums and products are made: those with the highest rank correlation."""

NUMBER_SAMPLE = 2_000
"""Records in which a relation is examined."""

RANKED = 500
"""Records from which rank correlations are computed."""


MOST_DECIMALS = 6
"""Decimals, and zeros at the end, by which the unit of a number is searched for."""


def some_records(among: Booleans, most: int = NUMBER_SAMPLE) -> Integers:
    """Records, at most so many, from all over the file."""
    rows = np.flatnonzero(among)
    return rows[np.linspace(0, max(len(rows) - 1, 0), min(len(rows), most)).astype(np.int64)]


def is_mode(values: Floats) -> Booleans:
    """Records with the most frequent value."""
    distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    return values == distinct[np.argmax(counts)] if len(distinct) else np.zeros(len(values), dtype=np.bool_)


def is_derivable(own: Floats, fewest_values: int = FEWEST_VALUES) -> bool:
    """Whether a number is observed in enough records, has enough values, and is not nearly constant."""
    known = own[np.isfinite(own)]
    has_values = len(known) >= FEWEST_NUMBERS and len(np.unique(known)) >= fewest_values
    return has_values and bool(np.mean(is_mode(known)) < HOLDS)


def ranks(values: Floats) -> Floats:
    """Places in ascending order from 1; equal values share the middle of theirs. Importing SciPy takes a second."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middle[group]


def correlation(one: Floats, other: Floats) -> float:
    """Correlation; 1 where one is constant, which excludes nothing."""
    first, second = one - one.mean(), other - other.mean()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size else 1.0


def correlations_of_first(table: Floats) -> Floats:
    """Rank correlations of the first row with each of the others, few records; 1 where one is constant; (p - 1,)."""
    below = np.count_nonzero(table[:, :, None] > table[:, None, :], axis=2)
    equal = np.count_nonzero(table[:, :, None] == table[:, None, :], axis=2)
    places = below + (equal - 1) / 2
    places -= places.mean(axis=1, keepdims=True)
    size = np.sqrt(np.sum(places[0] ** 2) * np.sum(places[1:] ** 2, axis=1))
    found: Floats = np.divide(places[1:] @ places[0], size, out=np.ones(len(size)), where=size > 0)
    return found


def most_correlated(own: Floats, numbers: Mapping[str, Floats]) -> list[str]:
    """Names of numbers by descending rank correlation."""
    along = {}
    for name, values in numbers.items():
        rows = some_records(np.isfinite(own) & np.isfinite(values), RANKED)
        one, other = ranks(own[rows]), ranks(values[rows])
        if len(rows) and np.ptp(one) and np.ptp(other):
            along[name] = abs(correlation(one, other))
    return sorted(along, key=lambda name: -along[name])


def most_identified(own: Floats) -> int:
    """Numbers of a sum, as many as the records can identify."""
    return max(min(MOST_NUMBERS, int(np.count_nonzero(np.isfinite(own))) // RECORDS_A_NUMBER - 1), 0)


def unit(values: Floats) -> float:
    """The largest power of ten, up to some decimals, of which all numbers are multiples; 0: of none."""
    known = values[some_records(np.isfinite(values))]
    exponents, room = range(-MOST_DECIMALS, MOST_DECIMALS + 1), 1e-12 * np.abs(known)
    return next((10.0**-each for each in exponents if (np.abs(np.round(known, each) - known) <= room).all()), 0.0)
