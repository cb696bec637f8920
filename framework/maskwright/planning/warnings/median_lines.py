"""Numbers that lie on lines, within groups of records too: median lines, which single points do not move (Theil)."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright.planning.warnings.observed_numbers import (
    FEW_RECORDS,
    FEWEST_NUMBERS,
    HOLDS,
    MOST,
    NEAR,
    NEAR_PLACE,
    OFTEN,
    is_derivable,
    is_nearly_constant,
    most_identified,
    some_of,
    some_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.warnings.observed_numbers import ObservedNumbers


FEWEST_TRIED = 10
"""Of these, those with all numbers, at least: fewer do not exclude a line."""

SHOWN = 0.5
"""Share of the records in which a rounded result has to be within `NEAR_PLACE`."""

FEWEST_EACH = 4
"""Records of a category through which a line is laid, at least."""

MOST_PAIRED = 16
"""Variables of whose categories all pairs are tried: those with the fewest."""


class Grouping:
    """Records by the categories of one variable, or of two, or all as one group.

    `codes`: of the groups, -1 where missing; shape (n,).
    """

    def __init__(self, names: tuple[str, ...], codes: Integers) -> None:
        self.names, self.codes = names, codes
        self.sizes: Integers = np.bincount(codes[codes >= 0])
        self.in_groups = int(self.sizes[self.sizes >= FEWEST_EACH].sum())
        self._ends: Integers = np.cumsum(self.sizes)

    @cached_property
    def _by_group(self) -> Integers:
        """Records group by group, each in the order of the file."""
        # Small integers are sorted by their digits.
        small = self.codes.astype(np.int16) if len(self.sizes) < np.iinfo(np.int16).max else self.codes
        return np.argsort(small, kind="stable")[np.count_nonzero(self.codes < 0) :]

    def some_records(self, code: int, among: Booleans, most: int) -> Integers:
        """Records of a group, at most so many, from all over the file."""
        rows = self._by_group[self._ends[code] - self.sizes[code] : self._ends[code]]
        return some_of(rows[among[rows]], most)


def groupings(records: int, groups: Mapping[str, Integers]) -> list[Grouping]:
    """All records as one group, the categories of each variable, and those of two; codes, -1 where missing."""
    found = [Grouping((), np.zeros(records, dtype=np.int64))]
    found += [Grouping((name,), codes) for name, codes in groups.items()]
    counts = {name: int(codes.max(initial=0)) + 1 for name, codes in groups.items()}
    fewest = sorted(groups, key=lambda name: counts[name])[:MOST_PAIRED]
    for one, other in combinations(fewest, 2):
        if counts[one] * counts[other] <= records:
            both = (groups[one] >= 0) & (groups[other] >= 0)
            codes = np.where(both, groups[one] * counts[other] + groups[other], -1)
            found.append(Grouping((one, other), codes))
    return found


class Lines:
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
        shares = numbers.counts(known)[places] / max(int(np.count_nonzero(known)), 1)
        self._few = int(FEW_RECORDS / max(float(shares.min(initial=1.0)), FEWEST_TRIED / FEW_RECORDS))
        self._size = np.minimum(np.abs(own), np.ptp(np.quantile(own[known], MOST)) if known.any() else 0.0)
        self._factors = range(min(len(places), most_identified(own)))

    def _known(self, place: int) -> Booleans:
        """Records with one of the numbers; shape (n,)."""
        return np.asarray(self._numbers.known[self._places[place]])

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

    def of_groups(self, groupings: Iterable[Grouping]) -> Iterator[tuple[str, ...]]:
        """Numbers, and the variables, none or up to two, of which each category, or pair, has a line of its own."""
        found: list[tuple[int, tuple[str, ...]]] = []
        known = np.isfinite(self._own)
        unknown = np.flatnonzero(~known)
        for each in groupings:
            codes, names = each.codes, each.names
            if each.in_groups < max(FEWEST_NUMBERS, SHOWN * (each.sizes.sum() - len(unknown))):
                continue
            lost = codes[unknown]
            sizes = each.sizes - np.bincount(lost[lost >= 0], minlength=len(each.sizes))
            if sizes[sizes >= FEWEST_EACH].sum() < max(FEWEST_NUMBERS, SHOWN * sizes.sum()):
                continue
            largest = np.argsort(-sizes, kind="stable")[: FEW_RECORDS // FEWEST_EACH]
            largest = largest[np.cumsum(np.minimum(sizes[largest], self._few // 2)) <= self._few]
            few = np.concatenate([each.some_records(code, known, self._few // 2) for code in largest])
            for place in self._candidates(few, groups=codes):
                # A line in each category is one in each pair.
                if self._names[place] in names or any(place == one and {*fewer} <= {*names} for one, fewer in found):
                    continue
                observed = known & (codes >= 0) & self._known(place)
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
        follow, near = (np.sum(known & (off <= limit), axis=0) for limit in (NEAR * size + room, NEAR_PLACE * size))
        possible = ((2 * follow >= count) & (4 * near >= count)) | (3 * count < FEWEST_TRIED)
        return np.asarray(possible[self._places])

    def _table(self, rows: Integers, places: Integers) -> Floats:
        """Some numbers of some records; shape (len(rows), len(places))."""
        return np.asarray(self._numbers.by_record[rows[:, None], self._places[places][None, :]])

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


def _vary(numbers: ObservedNumbers, places: Integers, known: Booleans) -> Booleans:
    """Which of some numbers enough of the records have, not nearly all with one value; shape (len(places),)."""
    few = numbers.table[places[:, None], some_records(known, FEW_RECORDS)[None, :]]
    varies = np.fmin.reduce(few, axis=1, initial=np.inf) < np.fmax.reduce(few, axis=1, initial=-np.inf)
    result = numbers.counts(known)[places] >= FEWEST_NUMBERS
    for each in np.flatnonzero(result):
        values, there = numbers.table[places[each]], known & numbers.known[places[each]]
        # A sort tells how many values there are: not needed where a few records have two.
        result[each] = not is_nearly_constant(values[there]) if varies[each] else is_derivable(values[known], 2)
    return np.asarray(result)


def median_lines(x: Floats, y: Floats, groups: Integers) -> tuple[Floats, Floats, Integers]:
    """Slopes and constants of median lines through the columns of tables in each group (Theil), and their number.

    `x`: NaN where missing; shape (m, k). `y`: shape (m, 1). Returns arrays of shape (m, k) twice, and (k,).
    """
    column, row = np.nonzero((np.isfinite(x) & np.isfinite(y)).T)
    found, codes = np.unique(groups, return_inverse=True)
    key, counted = column * len(found) + codes[row], x.shape[1] * len(found)
    order = np.lexsort((x[row, column], key))
    key, across, up = key[order], x[row, column][order], y[row, 0][order]
    sizes = np.bincount(key, minlength=counted)
    half = sizes[key] // 2
    first = np.flatnonzero(np.arange(len(key)) - (np.cumsum(sizes) - sizes)[key] < half)
    run, rise = (each[first + half[first]] - each[first] for each in (across, up))
    slope = np.nan_to_num(_medians(rise[run > 0] / run[run > 0], key[first][run > 0], counted))
    constant = _medians(up - slope[key] * across, key, counted)
    lines = np.count_nonzero(sizes.reshape(x.shape[1], len(found)), axis=1)
    of_rows = (np.arange(x.shape[1]) * len(found))[None, :] + codes[:, None]
    return slope[of_rows], constant[of_rows], lines


def _medians(values: Floats, groups: Integers, counted: int) -> Floats:
    """The lower median of each group; NaN of none; shape (counted,)."""
    sizes, ordered = np.bincount(groups, minlength=counted), values[np.lexsort((values, groups))]
    found = np.full(counted, np.nan)
    found[sizes > 0] = ordered[(np.cumsum(sizes) - sizes + (sizes - 1) // 2)[sizes > 0]]
    return found
