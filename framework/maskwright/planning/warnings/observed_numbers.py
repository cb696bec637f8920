"""Numbers as they are observed in a file: samples of records, modes, ranks, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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

NEAR = 0.005
"""Share of a number, or of the range of most of them where that is less, up to which a sum or product may be off."""

MOST = (0.1, 0.9)
"""Quantiles between which most of the numbers lie: years and dates are large, and near to each other."""

NEAR_PLACE = 0.02
"""Share of a number by which the one at the place that another gives it may be off: what is rounded has few places."""

FEW_RECORDS = 60
"""Records on which a relation is tried first."""

OFTEN = 0.8
"""Share of these in which a line has to hold."""

MOST_DECIMALS = 6
"""Decimals, and zeros at the end, by which the unit of a number is searched for."""


class ObservedNumbers(Mapping[str, "Floats"]):
    """Numbers that many others are compared with: what is known of each by itself is found once.

    `numbers`: by name, NaN where missing; shape (n,) each, of so many `records`.
    """

    def __init__(self, records: int, numbers: Iterable[tuple[str, Floats]]) -> None:
        found = dict(numbers)
        self.names = list(found)
        self.table: Floats = np.array(list(found.values()), dtype=np.float64).reshape(len(found), records)
        self.known: Booleans = np.isfinite(self.table)
        self._places = {name: place for place, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> Floats:
        """Values of a number, NaN where missing; shape (n,)."""
        values: Floats = self.table[self._places[name]]
        return values

    def __iter__(self) -> Iterator[str]:
        """Names, in order."""
        return iter(self.names)

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return len(self.names)

    def only(self, names: Iterable[str]) -> ObservedNumbers:
        """Some of the numbers."""
        return ObservedNumbers(self.table.shape[1], ((name, self[name]) for name in names))

    def places(self, names: Iterable[str]) -> Integers:
        """Rows of `table` of some numbers."""
        return np.array([self._places[name] for name in names], dtype=np.int64)

    def counts(self, among: Booleans) -> Integers:
        """How many of some records have each number; shape (p,)."""
        return np.asarray(np.sum(self.known & among, axis=1, dtype=np.int64))

    @cached_property
    def logarithms(self) -> ObservedNumbers:
        """The same numbers as logarithms, NaN where there are none."""
        return ObservedNumbers(self.table.shape[1], ((name, logarithms(each)) for name, each in self.items()))

    @cached_property
    def by_record(self) -> Floats:
        """The numbers record by record, and a constant in the last place; shape (n, p + 1)."""
        return np.ascontiguousarray(np.vstack([self.table, np.ones((1, self.table.shape[1]))]).T)

    @cached_property
    def units(self) -> Floats:
        """The unit of each number, 0 of the constant; shape (p + 1,)."""
        return np.array([*map(unit, self.table), 0.0])

    @cached_property
    def complete(self) -> Booleans:
        """Which numbers all records have; shape (p,)."""
        return np.asarray(self.known.all(axis=1))

    def correlations(self, own: Floats, most: int) -> tuple[Floats, Integers]:
        """Rank correlations of another number with each, in at most so many records with both, and in how many.

        NaN where one of both is constant there; shape (p,) each.
        """
        found, counts, known = np.full(len(self), np.nan), np.zeros(len(self), dtype=np.int64), np.isfinite(own)
        for places, rows in self._records(known, most):
            counts[places] = rows.shape[1]
            one, other = (
                each - each.mean(axis=1, keepdims=True)
                for each in (ranks(own[rows]), ranks(self.table[places[:, None], rows]))
            )
            size = np.sqrt(np.sum(one * one, axis=1) * np.sum(other * other, axis=1))
            along = np.full(len(places), np.nan)
            found[places] = np.divide(np.sum(one * other, axis=1), size, out=along, where=size > 0)
        return found, counts

    def _records(self, known: Booleans, most: int) -> Iterator[tuple[Integers, Integers]]:
        """Numbers and, for each, the records in which it is examined; of shape (1, m) where these are the same."""
        whole = np.flatnonzero(self.complete)
        if len(whole) and known.any():
            yield whole, some_records(known, most)[None, :]
        by_size: dict[int, list[tuple[int, Integers]]] = {}
        for place in np.flatnonzero(~self.complete).tolist():
            rows = some_records(known & self.known[place], most)
            by_size.setdefault(len(rows), []).append((place, rows))
        for size, alike in by_size.items():
            if size:
                yield np.array([place for place, _ in alike]), np.array([rows for _, rows in alike])


def logarithms(values: Floats) -> Floats:
    """Natural logarithms, NaN where there are none."""
    return np.log(values, out=np.full(len(values), np.nan), where=values > 0)


def some_records(among: Booleans, most: int = NUMBER_SAMPLE) -> Integers:
    """Records, at most so many, from all over the file."""
    return some_of(np.flatnonzero(among), most)


def some_of(rows: Integers, most: int) -> Integers:
    """At most so many records, from all over those."""
    return rows[_spread(len(rows), most)]


@lru_cache(maxsize=4096)
def _spread(count: int, most: int) -> Integers:
    """At most so many places from all over a number of them."""
    found = np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.int64)
    found.flags.writeable = False
    return found


def is_mode(values: Floats) -> Booleans:
    """Records with the most frequent value."""
    distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    return values == distinct[np.argmax(counts)] if len(distinct) else np.zeros(len(values), dtype=np.bool_)


def is_derivable(own: Floats, fewest_values: int = FEWEST_VALUES) -> bool:
    """Whether a number is observed in enough records, has enough values, and is not nearly constant."""
    known = own[np.isfinite(own)]
    has_values = len(known) >= FEWEST_NUMBERS and len(np.unique(known)) >= fewest_values
    return has_values and not is_nearly_constant(known)


def is_nearly_constant(values: Floats) -> bool:
    """Whether one value stands in `HOLDS` of the records at least: it is then the middle one as well."""
    middle = len(values) // 2
    return len(values) > 0 and bool(np.mean(values == np.partition(values, middle)[middle]) >= HOLDS)


def ranks(values: Floats) -> Floats:
    """Places in ascending order from 1 along the last axis; equal values share the middle of theirs."""
    order, places = np.argsort(values, axis=-1), np.arange(values.shape[-1])
    ordered = np.take_along_axis(values, order, -1)
    begins, ends = np.ones(values.shape, dtype=np.bool_), np.ones(values.shape, dtype=np.bool_)
    begins[..., 1:] = ends[..., :-1] = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=-1)
    last = np.minimum.accumulate(np.where(ends, places, len(places) - 1)[..., ::-1], axis=-1)[..., ::-1]
    found = np.empty(values.shape)
    np.put_along_axis(found, order, (first + last) / 2 + 1, -1)
    return found


def correlation(one: Floats, other: Floats) -> float:
    """Correlation; 1 where one is constant, which excludes nothing."""
    first, second = one - one.mean(), other - other.mean()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size else 1.0


def most_correlated(own: Floats, numbers: ObservedNumbers) -> list[str]:
    """Names of numbers by descending rank correlation; constant ones are left out."""
    along = np.abs(numbers.correlations(own, RANKED)[0])
    return [numbers.names[each] for each in np.argsort(-along, kind="stable") if not np.isnan(along[each])]


def most_identified(own: Floats) -> int:
    """Numbers of a sum, as many as the records can identify."""
    return max(min(MOST_NUMBERS, int(np.count_nonzero(np.isfinite(own))) // RECORDS_A_NUMBER - 1), 0)


def unit(values: Floats) -> float:
    """The largest power of ten, up to some decimals, of which all numbers are multiples; 0: of none."""
    known = values[some_records(np.isfinite(values))]
    exponents, room = range(-MOST_DECIMALS, MOST_DECIMALS + 1), 1e-12 * np.abs(known)
    return next((10.0**-each for each in exponents if (np.abs(np.round(known, each) - known) <= room).all()), 0.0)
