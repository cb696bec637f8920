"""What published numbers say of another one: its order, sums, products, rates, factors of categories."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.foundation.arrays import Booleans, Floats, Integers


HOLDS = 0.95
"""Share of the records in which a relation has to hold."""

FEWEST_NUMBERS = 20
"""Records, or groups of them, that have to be there for a relation to be one."""

NEAR = 0.005
"""Share of a number, or of the range of most of them where that is less, up to which a sum or product may be off."""

MOST = (0.1, 0.9)
"""Quantiles between which most of the numbers lie: years and dates are large, and near to each other."""

NEAR_RANKS = 0.01
"""Share of the records that a number may stand from the place that another one gives it: a rank in 50 steps."""

NEAR_PLACE = 0.02
"""Share of a number by which the one at the place that another gives it may be off: what is rounded has few places."""

FEWEST_VALUES = 5
"""Different values of a number: what few values say is so by chance."""

RECORDS_A_NUMBER = 10
"""Records that have to be there for each number of a sum."""

MOST_NUMBERS = 30
"""Numbers of which sums and products are made: those that go along most with the number examined."""

NUMBER_SAMPLE = 2_000
"""Records that are examined, of those with the most usual value of a number, and of the others."""

TRIMMED = 0.9
"""Share of the records that a fit is taken from, those that it fits best."""

TRIMS = 6
"""Times that the records that fit best are chosen again."""


FEW_RECORDS = 60
"""Records on which lines are tried first, and the share of them in which one has to hold to be tried on others."""

OFTEN = 0.8
"""Share of these in which a line has to hold."""

SHOWN = 0.5
"""Share of the records in which what rounded numbers leave has to be within `NEAR_PLACE`."""

MOST_DECIMALS = 6
"""Decimals, and zeros at the end, by which the unit of a number is searched for."""

MOST_GROUPS = 50
"""Categories of a variable by which lines are tried, at most."""


def inferred_from_numbers(
    own: Floats,
    numbers: Mapping[str, Floats],
    tied: Collection[Collection[str]] = (),
    groups: Mapping[str, Integers] | None = None,
) -> tuple[str, ...] | None:
    """Published numbers from which a number can be computed or, by its place in their order, read nearly exactly.

    Examined are, in this order, a number in the same or in the opposite order (rounded, in other units, a tax, a
    rank), a weighted sum of numbers and a constant, a product of powers of numbers (a price and an amount), both to
    within `NEAR`, a product or quotient of a number and a line through another one (a rate), and a line through a
    number in each category (a currency), to within what their decimals leave. All of them have to hold in `HOLDS` of
    the records.

    `own`: NaN where missing; shape (n,). `numbers`: by name, NaN where missing; shape (n,). `groups`: codes of
    categories, -1 where missing; shape (n,).
    """
    if not _is_derivable(own):
        return None
    usual = _is_usual(own)
    unusual = some_records(np.isfinite(own) & ~usual)
    lines = _Lines(own[unusual], {name: each[unusual] for name, each in numbers.items()})
    by_groups = (lines.by(name, codes[unusual]) for name, codes in (groups or {}).items())
    rows = np.sort(np.concatenate([some_records(usual), unusual]))
    own, numbers = own[rows], {name: each[rows] for name, each in numbers.items()}
    for name, other in numbers.items():
        if not are_tied([name], tied) and in_one_order(own, other):
            return (name,)
    for fit in (_Sum, _Product):
        left = dict(numbers)
        while found := fit(own, left).names():
            if not are_tied(found, tied):
                return found
            # What an edit says may hide what is nowhere said.
            del left[found[0]]
    found_by_lines = chain(lines.of_rates(), *by_groups)
    return next((names for names in found_by_lines if not are_tied(names, tied)), None)


def in_one_order(one: Floats, other: Floats) -> bool:
    """Whether the other number puts nearly all records in the order of the one, or in the opposite one.

    `one`, `other`: NaN where missing. Records that have the most usual value of both say nothing, as where no one has
    any; shape (n,).
    """
    there = np.isfinite(one) & np.isfinite(other)
    there[there] &= ~(_is_usual(one[there]) & _is_usual(other[there]))
    first, second = one[there], other[there]
    if len(first) < FEWEST_NUMBERS or min(len(np.unique(first)), len(np.unique(second))) < FEWEST_VALUES:
        return False
    place, other_place, in_order = _ranks(first), _ranks(second), np.sort(first)
    room = NEAR_PLACE * np.minimum(np.abs(first), np.ptp(np.quantile(first, MOST)))
    for implied in (other_place, len(first) + 1 - other_place):
        near = np.abs(place - implied) <= max(1.0, NEAR_RANKS * len(first))
        near |= np.abs(first - np.interp(implied, np.arange(1, len(first) + 1), in_order)) <= room
        if np.mean(near) >= HOLDS:
            return True
    return False


class _Sum:
    """A number as a weighted sum of others and a constant, by least squares on the records that it fits best."""

    def __init__(self, own: Floats, numbers: Mapping[str, Floats]) -> None:
        self._own, kept = self._on_scale(own, numbers)
        self._names = _nearest(self._own, kept)
        table = np.column_stack([kept[name] for name in self._names]) if self._names else np.empty((len(own), 0))
        rows = some_records(np.isfinite(self._own) & np.isfinite(table).all(axis=1))
        self._own, table = self._own[rows], table[rows]
        spread = np.ptp(table, axis=0) if len(rows) else np.ones(table.shape[1])
        self._table = np.column_stack([table / np.where(spread > 0, spread, 1.0), np.ones(len(rows))])

    def names(self) -> tuple[str, ...]:
        """The fewest numbers found that determine it; none: they do not."""
        chosen = list(range(len(self._names)))
        if not chosen or len(self._own) < max(FEWEST_NUMBERS, RECORDS_A_NUMBER * (len(chosen) + 1)):
            return ()
        # Where nearly everybody has the same, a constant fits.
        if not self._range() or self._fits([]) or not self._fits(chosen):
            return ()
        # Those that go along with it least are left out first.
        for place in reversed(range(len(self._names))):
            without = [each for each in chosen if each != place]
            if self._fits(without):
                chosen = without
        return tuple(self._names[each] for each in chosen)

    def _on_scale(self, own: Floats, numbers: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
        return np.where(own == 0, np.nan, own), {name: each for name, each in numbers.items() if _is_there(each, own)}

    def _room(self) -> Floats:
        return NEAR * np.minimum(np.abs(self._own), self._range())

    def _range(self) -> float:
        return float(np.ptp(np.quantile(self._own, MOST)))

    def _fits(self, chosen: Sequence[int]) -> bool:
        table = self._table[:, [*chosen, -1]]
        rows = np.arange(len(table))
        # Records that do not follow at all must not bend the fit: it is taken again without those that it fits least.
        room = self._room()
        for _ in range(TRIMS):
            weights = np.linalg.lstsq(table[rows] / room[rows, None], self._own[rows] / room[rows], rcond=None)[0]
            off = np.abs(table @ weights - self._own) / room
            if float(np.mean(off <= 1.0)) >= HOLDS:
                return True
            rows = np.argpartition(off, int(TRIMMED * len(off)) - 1)[: int(TRIMMED * len(off))]
        return False


class _Product(_Sum):
    """A number as a product of powers of others: a sum of logarithms."""

    def _on_scale(self, own: Floats, numbers: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
        kept = {name: _logarithms(each) for name, each in numbers.items()}
        return _logarithms(own), {name: each for name, each in kept.items() if _is_there(each, own)}

    def _room(self) -> Floats:
        return np.full(len(self._own), NEAR * min(1.0, self._range()))


class _Lines:
    """A number as a line through another one that is multiplied with a third, or that differs between categories.

    `own`: without its most usual value, such as 0, which says nothing about the others; shape (n,).
    """

    def __init__(self, own: Floats, numbers: Mapping[str, Floats]) -> None:
        numbers = {name: each for name, each in numbers.items() if _is_there(each, own)}
        self._own, self._names = own, list(numbers)
        # With a constant at the end: where its line holds as well, the other number adds nothing.
        self._table = np.array([*numbers.values(), np.ones(len(own))]).T
        self._units = np.array([*map(_unit, numbers.values()), 0.0])
        self._size = np.minimum(np.abs(own), np.ptp(np.quantile(own, MOST)))
        self._factors = _nearest(own, numbers)

    def of_rates(self) -> Iterator[tuple[str, str]]:
        """Pairs of a number x and a rate r of which the one examined is ``x (a + b r)`` or ``x / (a + b r)``."""
        few = some_records(np.isfinite(self._own), FEW_RECORDS)
        for name in self._factors:
            place = self._names.index(name)
            for is_quotient in (False, True):
                may_be = self._rates(place, np.arange(len(self._units)), few, is_quotient, OFTEN)
                may_be[place] = False
                for rate in () if may_be[-1] else np.flatnonzero(may_be):
                    if self._rates(place, np.array([rate]), np.arange(len(self._own)), is_quotient, HOLDS)[0]:
                        yield name, self._names[rate]

    def by(self, group: str, codes: Integers) -> Iterator[tuple[str, str]]:
        """Numbers through which a line in each category that enough records have gives the one examined."""
        sizes = np.bincount(codes[codes >= 0])
        known = np.flatnonzero(sizes >= FEWEST_NUMBERS)
        known = known[np.argsort(-sizes[known], kind="stable")][:MOST_GROUPS]
        if len(known) < 2 or sizes[known].sum() < SHOWN * len(codes):
            return
        few = some_records(codes == known[0], FEW_RECORDS)
        may_be = self._hold(few, *self._implied(few, np.arange(len(self._units))), OFTEN)
        for place in () if may_be[-1] else np.flatnonzero(may_be):
            rows = [np.flatnonzero(codes == code) for code in known]
            implied, room = (
                np.concatenate(each)
                for each in zip(*(self._implied(own, np.array([place])) for own in rows), strict=True)
            )
            if group != self._names[place] and self._hold(np.concatenate(rows), implied, room, HOLDS)[0]:
                yield self._names[place], group

    def _rates(self, place: int, rates: Integers, rows: Integers, is_quotient: bool, share: float) -> Booleans:
        """Whether lines through rates give the quotient of the number and another one; shape (k,)."""
        own, factor, table = self._own[rows, None], self._table[rows, place, None], self._table[rows][:, rates]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope, constant = _median_lines(table, factor / own if is_quotient else own / factor)
            line = constant + slope * table
            implied = factor / line if is_quotient else factor * line
            room = np.abs(implied) * np.abs(slope / line) * self._units[rates]
            room += np.abs(implied / factor) * self._units[place]
        return self._hold(rows, implied, room, share)

    def _implied(self, rows: Integers, places: Integers) -> tuple[Floats, Floats]:
        """What lines through numbers give, and how much their units leave open; shape (m, k) each."""
        table = self._table[rows][:, places]
        slope, constant = _median_lines(table, self._own[rows, None])
        return constant + slope * table, np.broadcast_to(np.abs(slope) * self._units[places], table.shape)

    def _hold(self, rows: Integers, implied: Floats, room: Floats, share: float) -> Booleans:
        """Whether what is implied is within the room in a share of the records, and near in many; shape (k,)."""
        off, size = np.abs(implied - self._own[rows, None]), self._size[rows, None]
        follows = np.mean(off <= NEAR * size + room / 2, axis=0) >= share
        return np.asarray(follows & (np.mean(off <= NEAR_PLACE * size, axis=0) >= SHOWN))


def _median_lines(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Slopes and constants of median lines through the columns of tables (Theil); shape (k,) each."""
    order, half = np.argsort(x, axis=0, kind="stable"), len(x) // 2
    x_in_order, y_in_order = (np.take_along_axis(np.broadcast_to(each, x.shape), order, axis=0) for each in (x, y))
    across, up = (each[half : 2 * half] - each[:half] for each in (x_in_order, y_in_order))
    slope = np.nan_to_num(_medians(np.divide(up, across, out=np.full(up.shape, np.nan), where=across > 0)))
    return slope, _medians(y - slope * x)


def _medians(values: Floats) -> Floats:
    """Medians of columns, of the numbers in them; NaN of none; shape (k,)."""
    known = np.isfinite(values)
    ordered = np.sort(np.where(known, values, np.nan), axis=0)
    middle = np.maximum(np.count_nonzero(known, axis=0) - 1, 0) // 2
    found: Floats = np.take_along_axis(ordered, middle[None, :], axis=0)[0]
    return found


def _unit(values: Floats) -> float:
    """The largest power of ten, up to some decimals, of which all numbers are multiples; 0: of none."""
    known = values[np.isfinite(values)]
    exponents = range(-MOST_DECIMALS, MOST_DECIMALS + 1)
    return next((10.0**-each for each in exponents if np.allclose(np.round(known, each), known, 1e-12, 0)), 0.0)


def _is_derivable(own: Floats) -> bool:
    known = own[np.isfinite(own)]
    return (
        len(known) >= FEWEST_NUMBERS
        and len(np.unique(known)) >= FEWEST_VALUES
        and bool(np.mean(_is_usual(known)) < HOLDS)
    )


def _is_usual(values: Floats) -> Booleans:
    """Records with the value that most have."""
    distinct, counts = np.unique(values, return_counts=True)
    return values == distinct[np.argmax(counts)] if len(values) else np.zeros(0, dtype=np.bool_)


def some_records(there: Booleans, most: int = NUMBER_SAMPLE) -> Integers:
    """Records, at most so many, from all over the file."""
    rows = np.flatnonzero(there)
    return rows[np.linspace(0, max(len(rows) - 1, 0), min(len(rows), most)).astype(np.int64)]


def _is_there(values: Floats, own: Floats) -> bool:
    """Whether a number is there beside nearly all of another one, and is no constant."""
    concerned = values[np.isfinite(own) & (own != 0)]
    known = concerned[np.isfinite(concerned)]
    return len(known) >= HOLDS * len(concerned) and len(known) > 0 and bool(np.ptp(known) > 0)


def _ranks(values: Floats) -> Floats:
    """Places in ascending order from 1; equal values share the middle of theirs. Importing SciPy takes a second."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middle[group]


def _logarithms(values: Floats) -> Floats:
    return np.log(values, out=np.full(len(values), np.nan), where=values > 0)


def _nearest(own: Floats, numbers: Mapping[str, Floats]) -> list[str]:
    """Names of the numbers that go along with one most, the nearest first: no more than its records can tell apart."""
    known = np.isfinite(own)
    place = _ranks(own[known])
    along = dict(_correlations(place, {name: each[known] for name, each in numbers.items()}))
    most = min(MOST_NUMBERS, int(np.count_nonzero(known)) // RECORDS_A_NUMBER - 1)
    return sorted(along, key=lambda name: -along[name])[: max(most, 0)]


def _correlations(place: Floats, numbers: Mapping[str, Floats]) -> Iterator[tuple[str, float]]:
    for name, values in numbers.items():
        there = np.isfinite(values)
        one, other = place[there], _ranks(values[there])
        if len(one) and np.ptp(one) and np.ptp(other):
            yield name, abs(float(np.corrcoef(one, other)[0, 1]))


def are_tied(names: Sequence[str], tied: Collection[Collection[str]]) -> bool:
    """Whether a relation says together what these names say."""
    return any(set(names) <= set(each) for each in tied)
