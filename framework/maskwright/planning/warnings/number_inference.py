"""Attribute inference from published numbers: order, sums, products, rates, and factors by category."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright.planning.warnings.median_lines import median_lines
from maskwright.planning.warnings.observed_numbers import (
    FEWEST_NUMBERS,
    FEWEST_VALUES,
    HOLDS,
    RECORDS_A_NUMBER,
    ObservedNumbers,
    correlation,
    is_derivable,
    is_mode,
    logarithms,
    most_correlated,
    most_identified,
    ranks,
    some_records,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.foundation.arrays import Booleans, Floats, Integers


NEAR = 0.005
"""Share of a number, or of the range of most of them where that is less, up to which a sum or product may be off."""

MOST = (0.1, 0.9)
"""Quantiles between which most of the numbers lie: years and dates are large, and near to each other."""

NEAR_RANKS = 0.01
"""Share of the records that a number may stand from the place that another one gives it: a rank in 50 steps."""

NEAR_PLACE = 0.02
"""Share of a number by which the one at the place that another gives it may be off: what is rounded has few places."""

TRIMMED = 0.9
"""Share of the records that a fit is taken from, those that it fits best."""

TRIMS = 6
"""Times that the records that fit best are chosen again."""

FEW_RECORDS = 60
"""Records on which a relation is tried first."""

OFTEN = 0.8
"""Share of these in which a line has to hold."""

FEWEST_TRIED = 10
"""Of these, those with all numbers, at least: fewer do not exclude a line."""

ALIKE = 0.5
"""Rank correlation in these below which numbers are not in one order."""

SCREENED = 300
"""Records in which a number is in the order of another often, or is not examined further."""

SHOWN = 0.5
"""Share of the records in which a rounded result has to be within `NEAR_PLACE`."""

JOINTLY = (0.15, HOLDS)
"""Shares of the records with one number in which others have to be observed to be summed up with it."""

FEWEST_EACH = 4
"""Records of a category through which a line is laid, at least."""

MOST_PAIRED = 16
"""Variables of whose categories all pairs are tried: those with the fewest."""


def inferred_from_numbers(
    own: Floats,
    numbers: ObservedNumbers,
    tied: Collection[Collection[str]] = (),
    groups: Mapping[str, Integers] | None = None,
) -> tuple[str, ...] | None:
    """Published numbers from which a number can be computed or, by its place in their order, read nearly exactly.

    Examined are, in this order, a number in the same or in the opposite order (rounded, in other units, a tax, a
    rank), a weighted sum of numbers and a constant, a product of powers of numbers (a price and an amount), both to
    within `NEAR`, a product or quotient of a number and a line through another one (a rate), and a line through a
    number in each category, or pair of categories (a currency by year), to within what their decimals leave. Each has
    to hold in `HOLDS` of the records that have all of its numbers.

    `own`: NaN where missing; shape (n,). `groups`: codes of categories, -1 where missing; shape (n,).
    """
    if not is_derivable(own):
        return None
    ordering = next((name for name in in_the_order_of(own, numbers) if not are_tied([name], tied)), None)
    if ordering is not None:
        return (ordering,)
    unusual = np.where(is_mode(own), np.nan, own)
    names = most_correlated(unusual, numbers)
    for fit in (_Sum, _Product):
        target, scaled = fit.on_scale(own, numbers)
        examined: list[set[str]] = []
        for together in _jointly_observed(target, scaled, names):
            left = {name: scaled[name] for name in together[: most_identified(target)]}
            # What fewer numbers determine, more of them do as well.
            if any(left.keys() <= each for each in examined):
                continue
            while found := (fitted := fit(target, left)).names():
                if not are_tied(found, tied):
                    return found
                # A relation that an edit declares may hide one that none does.
                del left[found[0]]
            examined.append(fitted.identified)
    lines = _Lines(unusual, numbers, names)
    found_by_lines = chain(lines.of_rates(), lines.of_groups(groups or {}))
    return next((names for names in found_by_lines if not are_tied(names, tied)), None)


def in_the_order_of(own: Floats, numbers: ObservedNumbers) -> Iterator[str]:
    """Numbers that put nearly all records in the order of another, or in the opposite one."""
    along, counts = numbers.correlations(own, FEW_RECORDS)
    excluded = (counts < FEWEST_NUMBERS) | (np.abs(along) < ALIKE)
    return (
        name for name, is_excluded in zip(numbers, excluded, strict=True)
        if not is_excluded and in_one_order(own, numbers[name])
    )  # fmt: skip


def in_one_order(one: Floats, other: Floats) -> bool:
    """Whether the other number puts nearly all records in the order of the one, or in the opposite one.

    `one`, `other`: NaN where missing. Records with the mode of both, as where both are 0, are not counted; shape (n,).
    """
    both = np.isfinite(one) & np.isfinite(other)
    few = some_records(both, FEW_RECORDS)
    if len(few) < FEWEST_NUMBERS or abs(correlation(ranks(one[few]), ranks(other[few]))) < ALIKE:
        return False
    some = some_records(both, SCREENED)
    without_modes = some[~(is_mode(one[some]) & is_mode(other[some]))]
    # Records in another order move the places of fewer records by more.
    enough = len(without_modes) >= len(some) / 2
    if enough and _share_in_order(one[without_modes], other[without_modes], 5 * NEAR_RANKS) < OFTEN:
        return False
    both[both] &= ~(is_mode(one[both]) & is_mode(other[both]))
    rows = some_records(both)
    first, second = one[rows], other[rows]
    if len(first) < FEWEST_NUMBERS or min(len(np.unique(first)), len(np.unique(second))) < FEWEST_VALUES:
        return False
    return _share_in_order(first, second, NEAR_RANKS) >= HOLDS


def _share_in_order(first: Floats, second: Floats, near_places: float) -> float:
    """Share of the records whose place in the order of one number is nearly that in the order of another."""
    place, other_place, in_order = ranks(first), ranks(second), np.sort(first)
    room = NEAR_PLACE * np.minimum(np.abs(first), np.ptp(np.quantile(first, MOST)))
    shares = []
    for implied in (other_place, len(first) + 1 - other_place):
        near = np.abs(place - implied) <= max(1.0, near_places * len(first))
        near |= np.abs(first - np.interp(implied, np.arange(1, len(first) + 1), in_order)) <= room
        shares.append(float(np.mean(near)))
    return max(shares)


class _Sum:
    """A number as a weighted sum of others, the most correlated first, and a constant, by trimmed least squares."""

    def __init__(self, own: Floats, numbers: Mapping[str, Floats]) -> None:
        self._names = list(numbers)
        known = np.isfinite([own, *(numbers[name] for name in self._names)])
        # Of those with missing cells, the least correlated are left out until enough records are complete.
        while np.count_nonzero(known.all(axis=0)) < RECORDS_A_NUMBER * len(known) and not known[1:].all():
            last = 1 + int(np.flatnonzero(~known[1:].all(axis=1))[-1])
            self._names.pop(last - 1)
            known = np.delete(known, last, axis=0)
        rows = some_records(np.logical_and.reduce(known))
        self._own = own[rows]
        table = np.array([numbers[name][rows] for name in self._names]).reshape(len(self._names), len(rows)).T
        spread = np.ptp(table, axis=0) if len(rows) else np.ones(table.shape[1])
        self._table = np.column_stack([table / np.where(spread > 0, spread, 1.0), np.ones(len(rows))])

    @property
    def identified(self) -> set[str]:
        """Numbers whose weights the complete records identify: all, or none."""
        enough = len(self._own) >= max(FEWEST_NUMBERS, RECORDS_A_NUMBER * (len(self._names) + 1))
        return {*self._names} if enough else set()

    def names(self) -> tuple[str, ...]:
        """The fewest numbers found that determine it; none: they do not."""
        chosen = list(range(len(self._names)))
        if not self.identified:
            return ()
        # A number that is nearly constant fits without any other.
        few = some_records(np.ones(len(self._own), dtype=np.bool_), RECORDS_A_NUMBER * (len(chosen) + 1))
        if not self._range() or self._fits([]) or not self._fits(chosen, few, OFTEN) or not self._fits(chosen):
            return ()
        # The least correlated are left out first.
        for place in reversed(range(len(self._names))):
            without = [each for each in chosen if each != place]
            if self._fits(without):
                chosen = without
        return tuple(self._names[each] for each in chosen)

    @staticmethod
    def on_scale(own: Floats, numbers: ObservedNumbers) -> tuple[Floats, ObservedNumbers]:
        """The number, NaN where it is 0, and the others, on the scale on which they are added up."""
        return np.where(own == 0, np.nan, own), numbers

    def _room(self) -> Floats:
        return NEAR * np.minimum(np.abs(self._own), self._range())

    def _range(self) -> float:
        return float(np.ptp(np.quantile(self._own, MOST)))

    def _fits(self, chosen: Sequence[int], among: Integers | None = None, share: float = HOLDS) -> bool:
        among = np.arange(len(self._own)) if among is None else among
        room = self._room()[among]
        table, own = self._table[among][:, [*chosen, -1]] / room[:, None], self._own[among] / room
        rows = np.arange(len(own))
        # Records that do not follow at all must not bend the fit: it is taken again without those that it fits least.
        for _ in range(TRIMS):
            off = np.abs(table @ np.linalg.lstsq(table[rows], own[rows], rcond=None)[0] - own)
            if float(np.mean(off <= 1.0)) >= share:
                return True
            rows = np.argpartition(off, int(TRIMMED * len(off)) - 1)[: int(TRIMMED * len(off))]
        return False


class _Product(_Sum):
    """A number as a product of powers of others: a sum of logarithms."""

    @staticmethod
    def on_scale(own: Floats, numbers: ObservedNumbers) -> tuple[Floats, ObservedNumbers]:
        """Logarithms, NaN where there are none."""
        return logarithms(own), numbers.logarithms

    def _room(self) -> Floats:
        return np.full(len(self._own), NEAR * min(1.0, self._range()))


class _Lines:
    """A number as a line through another one that is multiplied with a third, or that differs between categories.

    `own`: NaN where missing, and where it has its mode, such as 0; shape (n,).
    """

    def __init__(self, own: Floats, numbers: ObservedNumbers, names: Sequence[str]) -> None:
        known = np.isfinite(own)
        places = numbers.places(names)
        places = places[_vary(numbers, places, known)]
        self._own, self._numbers, self._names = own, numbers, [numbers.names[each] for each in places]
        # With a constant at the end: where its line holds as well, the other number adds nothing.
        self._places, self._none = np.append(places, len(numbers)), len(places)
        shares = numbers.counts(known)[places] / max(np.count_nonzero(known), 1)
        self._few = int(FEW_RECORDS / max(float(shares.min(initial=1.0)), FEWEST_TRIED / FEW_RECORDS))
        self._size = np.minimum(np.abs(own), np.ptp(np.quantile(own[known], MOST)) if known.any() else 0.0)
        self._factors = range(min(len(places), most_identified(own)))

    def _known(self, place: int) -> Booleans:
        """Records with one of the numbers; shape (n,)."""
        return self._numbers.known[self._places[place]]

    def of_rates(self) -> Iterator[tuple[str, ...]]:
        """Pairs of a number x and a rate r of which the one examined is ``x (a + b r)`` or ``x / (a + b r)``."""
        for place in self._factors:
            known = np.isfinite(self._own) & self._known(place)
            few = some_records(known, self._few)
            for power in (1, -1):
                for rate in self._candidates(few, (place, power)):
                    rows = some_records(known & self._known(rate))
                    if self._hold(rows, np.array([rate, self._none]), HOLDS, (place, power))[0]:
                        yield self._names[place], self._names[rate]

    def of_groups(self, groups: Mapping[str, Integers]) -> Iterator[tuple[str, ...]]:
        """Numbers, and the variables, none or up to two, of which each category, or pair, has a line of its own."""
        found: list[tuple[int, tuple[str, ...]]] = []
        for names, codes in _groupings(groups, np.isfinite(self._own)):
            sizes = np.bincount(codes[codes >= 0])
            if sizes[sizes >= FEWEST_EACH].sum() < max(FEWEST_NUMBERS, SHOWN * sizes.sum()):
                continue
            largest = np.argsort(-sizes, kind="stable")[: FEW_RECORDS // FEWEST_EACH]
            largest = largest[np.cumsum(np.minimum(sizes[largest], self._few // 2)) <= self._few]
            few = np.concatenate([some_records(codes == each, self._few // 2) for each in largest])
            for place in self._candidates(few, groups=codes):
                # A line in each category is one in each pair.
                if self._names[place] in names or any(place == one and {*fewer} <= {*names} for one, fewer in found):
                    continue
                observed = (codes >= 0) & self._known(place)
                rows = np.flatnonzero(observed & (sizes[codes] >= FEWEST_EACH))
                if self._hold(rows, np.array([place, self._none]), HOLDS, groups=codes)[0]:
                    found.append((place, names))
                    yield self._names[place], *names

    def _candidates(
        self, few: Integers, factor: tuple[int, int] = (-1, 1), groups: Integers | None = None
    ) -> list[int]:  # fmt: skip
        """Numbers through which lines may give the one examined, by few records, where no constant does."""
        codes = np.zeros(len(few), dtype=np.int64) if groups is None else groups[few]
        places = np.flatnonzero(self._are_collinear(few, codes, factor))
        places = places[(places != factor[0]) & (places < self._none)]
        if not len(places):
            return []
        possible = self._hold(few, np.append(places, self._none), OFTEN, factor, groups)
        return [] if possible[-1] else places[possible[:-1]].tolist()

    def _are_collinear(self, few: Integers, codes: Integers, factor: tuple[int, int]) -> Booleans:
        """Whether three records of a group often lie on a line, as far as decimals and `NEAR` let it be; shape (k,)."""
        firsts = np.flatnonzero((np.arange(len(few) - 2) % 3 == 0) & (codes[2:] == codes[:-2]))
        rows = few[firsts + np.arange(3)[:, None]]
        # Of all numbers, in their order: rows that lie together are read faster than those that are chosen.
        own, x = self._own[rows, None], self._numbers.by_record[rows]
        first = x[..., self._places[factor[0]], None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            y = (own / first) ** factor[1]
            run, step, rise = x[2] - x[0], x[1] - x[0], y[2] - y[0]
            slope = rise / run
            step /= run
            slope[run == 0] = step[run == 0] = 0.0
            line = y[0] + step * rise
            off, room = self._distances(own[1], first[1], slope, line, self._numbers.units, factor)
            # What the two others may be off counts as often as the third lies away from them.
            off /= np.maximum(np.abs(step), 1.0) + np.abs(1.0 - step)
        known = np.isfinite(x).all(axis=0) & np.isfinite(y).all(axis=0)
        size, count = self._size[rows[1], None], known.sum(axis=0)
        follow, near = (
            np.count_nonzero(known & (off <= limit), axis=0) for limit in (NEAR * size + room, NEAR_PLACE * size)
        )
        return np.asarray(((2 * follow >= count) & (4 * near >= count)) | (3 * count < FEWEST_TRIED))[self._places]

    def _table(self, rows: Integers, places: Integers) -> Floats:
        """Some numbers of some records; shape (len(rows), len(places))."""
        return self._numbers.by_record[rows[:, None], self._places[places][None, :]]

    def _hold(
        self, rows: Integers, places: Integers, share: float, factor: tuple[int, int] = (-1, 1),
        groups: Integers | None = None,
    ) -> Booleans:  # fmt: skip
        """Whether lines through numbers, the last of them a constant, give the one examined; shape (k,).

        In a share of the records that the constant does not give, but two of each group, to which a line is fitted.
        `factor`: a number by which the line is multiplied, and 1; or that is divided by it, and -1.
        """
        own, size, table = self._own[rows, None], self._size[rows, None], self._table(rows, places)
        if share != HOLDS:
            table[np.cumsum(np.isfinite(table), axis=0) > FEW_RECORDS] = np.nan
        first = self._table(rows, np.array([factor[0]]))
        codes = np.zeros(len(rows), dtype=np.int64) if groups is None else groups[rows]
        units = self._numbers.units[self._places[places]]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope, constant, lines = median_lines(table, (own / first) ** factor[1], codes)
            off, room = self._distances(own, first, slope, constant + slope * table, units, factor)
        follows, near = off <= NEAR * size + room / 2, off <= NEAR_PLACE * size
        counted = np.isfinite(table) & np.isfinite(own) & np.isfinite(first)
        if share == HOLDS:
            counted &= ~follows[:, -1:]
        count, fitted = np.count_nonzero(counted, axis=0) - 2 * lines, 2 * lines
        enough = count >= (FEWEST_NUMBERS if share == HOLDS else FEWEST_TRIED) - 2
        holds = np.count_nonzero(follows & counted, axis=0) - fitted >= share * count
        holds &= np.count_nonzero(near & counted, axis=0) - fitted >= SHOWN * count
        return np.asarray(holds & enough if share == HOLDS else holds | ~enough)

    def _distances(
        self, own: Floats, first: Floats, slope: Floats, line: Floats, units: Floats, factor: tuple[int, int]
    ) -> tuple[Floats, Floats]:
        """How far what lines imply is from the number examined, infinite where unknown; and what decimals leave."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Multiplied by 1, and by nothing that has decimals, where there is no factor.
            implied = line if factor[0] < 0 else first * line ** factor[1]
            room = np.abs(implied * slope / line) * units
            if factor[0] >= 0:
                room += np.abs(implied / first) * self._numbers.units[self._places[factor[0]]]
            off = np.abs(implied - own)
        # Unknown numbers are infinitely far away, and leave no room.
        return np.fmin(off, np.inf), np.fmax(room, 0.0)

def _groupings(groups: Mapping[str, Integers], known: Booleans) -> Iterator[tuple[tuple[str, ...], Integers]]:
    """All records as one group, the categories of each variable, and those of two; codes, -1 where missing."""
    yield (), known.astype(np.int64) - 1
    for name, codes in groups.items():
        yield (name,), np.where(known, codes, -1)
    counts = {name: int(codes.max(initial=0)) + 1 for name, codes in groups.items()}
    fewest = sorted(groups, key=lambda name: counts[name])[:MOST_PAIRED]
    for one, other in combinations(fewest, 2):
        if counts[one] * counts[other] <= len(known):
            both = known & (groups[one] >= 0) & (groups[other] >= 0)
            yield (one, other), np.where(both, groups[one] * counts[other] + groups[other], -1)


def _vary(numbers: ObservedNumbers, places: Integers, known: Booleans) -> Booleans:
    """Which of some numbers enough of the records have, and with different values; shape (len(places),)."""
    few = numbers.table[places][:, some_records(known, FEW_RECORDS)]
    varies = np.fmin.reduce(few, axis=1, initial=np.inf) < np.fmax.reduce(few, axis=1, initial=-np.inf)
    for each in np.flatnonzero(~varies):
        varies[each] = is_derivable(numbers.table[places[each], known], 2)
    return varies & (numbers.counts(known)[places] >= FEWEST_NUMBERS)


def _jointly_observed(own: Floats, numbers: ObservedNumbers, names: Sequence[str]) -> list[list[str]]:
    """Sets of numbers that are observed in the records in which one of them is; the largest first."""
    is_known = np.isfinite(own)
    counts = dict(zip(numbers.names, numbers.counts(is_known), strict=True))
    names = [name for name in names if counts[name] >= FEWEST_NUMBERS]
    table = numbers.known[numbers.places(names)[:, None], some_records(is_known)[None, :]].astype(np.float32)
    common = table @ table.T
    sets = {tuple(np.flatnonzero(row >= each * row[place])) for each in JOINTLY for place, row in enumerate(common)}
    return [[names[each] for each in one] for one in sorted(sets, key=lambda one: (-len(one), one)) if len(one) > 1]


def are_tied(names: Sequence[str], tied: Collection[Collection[str]]) -> bool:
    """Whether an edit ties all of these variables."""
    return any(set(names) <= set(each) for each in tied)
