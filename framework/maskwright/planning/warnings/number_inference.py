"""Attribute inference from published numbers: order, sums, products, rates, and factors by category."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from maskwright.planning.warnings.median_lines import Lines
from maskwright.planning.warnings.observed_numbers import (
    FEW_RECORDS,
    FEWEST_NUMBERS,
    FEWEST_VALUES,
    HOLDS,
    MOST,
    NEAR,
    NEAR_PLACE,
    OFTEN,
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
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.planning.warnings.median_lines import Grouping


NEAR_RANKS = 0.01
"""Share of the records that a number may stand from the place that another one gives it: a rank in 50 steps."""

TRIMMED = 0.9
"""Share of the records that a fit is taken from, those that it fits best."""

TRIMS = 6
"""Times that the records that fit best are chosen again."""

ALIKE = 0.5
"""Rank correlation in these below which numbers are not in one order."""

SCREENED = 300
"""Records in which a number is in the order of another often, or is not examined further."""

JOINTLY = (0.15, HOLDS)
"""Shares of the records with one number in which others have to be observed to be summed up with it."""


def inferred_from_numbers(
    own: Floats,
    numbers: ObservedNumbers,
    tied: Collection[Collection[str]] = (),
    groups: Iterable[Grouping] = (),
) -> tuple[str, ...] | None:
    """Published numbers from which a number can be computed or, by its place in their order, read nearly exactly.

    Examined are, in this order, a number in the same or in the opposite order (rounded, in other units, a tax, a
    rank), a weighted sum of numbers and a constant, a product of powers of numbers (a price and an amount), both to
    within `NEAR`, a product or quotient of a number and a line through another one (a rate), and a line through a
    number in each category, or pair of categories (a currency by year), to within what their decimals leave. Each has
    to hold in `HOLDS` of the records that have all of its numbers.

    `own`: NaN where missing; shape (n,). `groups`: the records by categories.
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
    lines = Lines(unusual, numbers, names)
    found_by_lines = chain(lines.of_rates(), lines.of_groups(groups))
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
