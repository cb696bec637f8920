"""Strata with too few records: joined with the nearest, and cut again by their zeros as far as k records allow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.sketches.exact_sums import UNIT, Moments, exact_cell_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.strata import Cut

_MOST_MERGED_ONE_BY_ONE = 500
"""Small strata up to which each joins the nearest one as it is by then; more join the nearest large one at once."""


def join_strata(
    combinations: Integers,
    cuts: Sequence[Cut],
    counts: Integers,
    sizes: Integers,
    centres: Floats,
    k: int,
    counted: Callable[[Integers], Integers] | None = None,
) -> Integers:
    """Join strata with fewer than k, as `join_small` does.

    Those with the same cells missing come first, of the same value of `within` before others, where k records have
    these cells: whoever is joined with others is known by the cells that are missing. `combinations`: shape (s, cuts).
    """
    stages: list[Integers] = []
    outer = np.zeros(len(combinations), dtype=np.int64)
    if cuts and cuts[0].criterion.apart:
        outer = combinations[:, 0]
    gaps = [at for at, each in enumerate(cuts) if each.gaps]
    if gaps:
        pattern = row_codes(combinations[:, gaps])
        held = np.bincount(pattern, counts) if counted is None else counted(pattern)
        alone = len(combinations) + np.arange(len(combinations))
        stages = [
            np.where(held[pattern] >= k, codes, alone)
            for codes in (row_codes(np.column_stack([outer, pattern])), pattern)
        ]
    return join_small(counts, sizes, centres, k, counted, (*stages, outer))


def row_codes(codes: Integers) -> Integers:
    """Code of each row, 0, 1, ... in the order of the rows; shape (n,)."""
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def join_small(
    counts: Integers,
    sizes: Integers,
    centres: Floats,
    k: int,
    counted: Callable[[Integers], Integers] | None = None,
    stages: Sequence[Integers] = (),
) -> Integers:
    """Join each stratum with fewer than k to the one with the nearest centre, the smallest first.

    `counts`: what k counts: records, or households; shape (s,). `sizes`: records; shape (s,). `centres`: standardised
    means; shape (s, p). `stages`: codes; strata with the same one are joined with one another before those of the next
    stage; shape (s,). Returns stratum that each of them is in then; shape (s,).
    """
    target, centres = np.arange(len(counts)), centres.copy()
    total = counts.astype(np.float64)
    alive = sizes > 0
    for codes in (*stages, np.zeros(len(counts), dtype=np.int64)):
        left = np.flatnonzero(alive)
        left = left[np.argsort(codes[left], kind="stable")]
        for own in np.split(left, np.flatnonzero(np.diff(codes[left])) + 1):
            _join_nearest(own, centres, target, alive, total, k, counted)
    return target


def _join_nearest(
    own: Integers,
    centres: Floats,
    target: Integers,
    alive: Booleans,
    total: Floats,
    k: int,
    counted: Callable[[Integers], Integers] | None,
) -> None:
    """Join the small ones of some strata with the nearest of them."""
    if np.sum(total[own] < k) > _MOST_MERGED_ONE_BY_ONE:
        _merge_many(own, centres, target, alive, total, k)
        if counted is not None:
            total[:] = counted(target)
    while (total[own] < k).any() and len(own) > 1:
        small = int(own[np.argmin(total[own])])
        own = own[own != small]
        distance = np.sum((centres[own] - centres[small]) ** 2, axis=1)
        into = int(own[np.argmin(distance)])
        weight = total[small] + total[into]
        centres[into] = (centres[into] * total[into] + centres[small] * total[small]) / weight
        total[into], alive[small] = weight, False
        target[target == small] = into
        if counted is not None:
            total[into] = counted(target)[into]


def households_in(codes: Integers, households: Integers, count: int) -> Integers:
    """Number of households in each stratum; shape (count,)."""
    return np.bincount(Classes.of([codes, households]).keys[0], minlength=count)


def _merge_many(own: Integers, centres: Floats, target: Integers, alive: Booleans, total: Floats, k: int) -> None:
    """Merge thousands of small strata at once, each into the nearest large one, or all into the largest."""
    from scipy.spatial import cKDTree

    small, large = own[total[own] < k], own[total[own] >= k]
    if not len(large):
        large = own[[int(np.argmax(total[own]))]]
        small = small[small != large[0]]
    _, nearest = cKDTree(centres[large]).query(centres[small])
    into = large[np.asarray(nearest)]
    became = np.arange(len(target))
    became[small] = into
    target[:] = became[target]
    np.add.at(total, into, total[small])
    alive[small] = False


def standardised(values: Floats, center: Floats, scale: Floats) -> Floats:
    """Values in standard deviations from the mean, at which missing cells stand; shape (n, p)."""
    return np.nan_to_num((values - center) / scale)


def standardised_means(
    sums: Sequence[Sequence[int]], present: Sequence[Sequence[int]], center: Iterable[float], scale: Iterable[float]
) -> Floats:
    """Standardised mean of the cells with a value of each combination; shape (s, p), 0 where there are none.

    `sums`: in units of 2^-1074. `present`: cells with a value; both of each combination and variable.
    """
    spreads = [*zip(center, scale, strict=True)]
    rows = [
        [(total / (cells << UNIT) - mean) / spread if cells else 0.0
         for total, cells, (mean, spread) in zip(own, there, spreads, strict=True)]
        for own, there in zip(sums, present, strict=True)
    ]  # fmt: skip
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(spreads))


class Candidates(NamedTuple):
    """Records that may be in another stratum than their combination.

    `numbers`: in the file, ascending; shape (m,). `combinations`: of each; shape (m,). `points`: standardised; shape
    (m, p).
    """

    numbers: Integers
    combinations: Integers
    points: Floats

    @classmethod
    def stacked(cls, parts: Sequence[Candidates]) -> Self:
        """Those of the parts of a file, in their order."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Moved:
    """Records that are not in the stratum of their combination.

    `numbers`: in the file; `combinations`: of each; `strata`: where they are; shape (m,). `given`: how many of them
    fill up a pattern of zeros of others.
    """

    numbers: Integers
    combinations: Integers
    strata: Integers
    given: int = 0

    @classmethod
    def none(cls) -> Self:
        """No record."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, empty)

    def memberships(self, codes: Integers, sizes: Integers) -> tuple[Integers, Integers]:
        """Combinations and strata that have records in common; shape (r,) each.

        `codes`: stratum of each combination but for the records moved; `sizes`: its records; shape (s,).
        """
        stay = np.flatnonzero(sizes > np.bincount(self.combinations, minlength=len(sizes)))
        pairs = np.column_stack([
            np.concatenate([stay, self.combinations]), np.concatenate([codes[stay], self.strata])
        ])  # fmt: skip
        combinations, strata = np.unique(pairs, axis=0).T
        return combinations, strata


class GroupRecords:
    """All records of a variable group, for what joining strata needs of them.

    `codes`: combination of each record; shape (n,). `count`: of combinations.
    """

    def __init__(self, data: Dataset, group: Sequence[str], codes: Integers, count: int) -> None:
        self._values, self._codes, self._count = data.matrix(group), codes, count
        self._numeric, self._households = [data[name].variable.is_numeric for name in group], data.households

    @cached_property
    def _scales(self) -> tuple[Floats, Floats]:
        """Centre and scale of each variable: exact, as a run over parts has them; shape (p,)."""
        moments = [
            Moments.of(column[~np.isnan(column)]) if numeric else Moments()
            for column, numeric in zip(self._values.T, self._numeric, strict=True)
        ]
        return np.array([each.mean for each in moments]), np.array([each.scale for each in moments])

    def households(self, target: Integers) -> Integers:
        """Households in the strata that hold the combinations: one in several counts once; shape (s,)."""
        assert self._households is not None
        return households_in(target[self._codes], self._households, self._count)

    def centres(self) -> Floats:
        """Standardised mean of each combination; shape (s, p)."""
        return standardised_means(*exact_cell_sums(self._values, self._codes, self._count), *self._scales)

    def candidates(self, patterns: ZeroPatterns) -> Candidates:
        """Records that patterns of zeros may move."""
        return patterns.candidates(self._codes, standardised(self._values, *self._scales))


@dataclass(frozen=True, eq=False)
class ZeroPatterns:
    """Patterns of zeros in joined strata, each to be a stratum of its own again as far as k records allow.

    A pattern of at least k records is. One of more than k / 2, a recipient, gets the nearest records of patterns that
    keep k, the donors: fewer records change their zeros than if all of its own were joined with another. Records of
    rarer ones go where the nearest pattern is.

    `of`: pattern of each combination; shape (s,). `strata`: of each pattern as joined; `sizes`: its records; `cut`:
    whether its stratum is cut; shape (c,). `centres`: standardised means; shape (c, p).
    """

    of: Integers
    strata: Integers
    sizes: Integers
    cut: Booleans
    centres: Floats
    k: int

    @classmethod
    def found(cls, strata: Integers, zeros: Integers, sizes: Integers, centres: Floats, k: int) -> Self:
        """Patterns of some combinations.

        `strata`: joined stratum of each combination; `zeros`: code of its zeros; `sizes`: its records; shape (s,).
        `centres`: its standardised mean; shape (s, p).
        """
        keys, of = np.unique(np.column_stack([strata, zeros]), axis=0, return_inverse=True)
        of, home = of.reshape(-1).astype(np.int64), keys[:, 0]
        held = np.bincount(of, sizes).astype(np.int64)
        can_be_cut = (
            (np.bincount(home, held) >= 2 * k) & (np.bincount(home) > 1) & (np.bincount(home, 2 * held > k) > 0)
        )
        means = np.stack([np.bincount(of, sizes * each) / held for each in centres.T], axis=1)
        return cls(of, home, held, can_be_cut[home], means, k)

    @cached_property
    def _recipients(self) -> list[int]:
        """Patterns that are filled up, the largest first."""
        found = np.flatnonzero(self.cut & (self.sizes < self.k) & (2 * self.sizes > self.k))
        return [int(each) for each in found[np.argsort(-self.sizes[found], kind="stable")]]

    @cached_property
    def _spare(self) -> Integers:
        """Records of each pattern that recipients may get: of a donor those beyond k, of a rare one all; shape (c,)."""
        return np.where(2 * self.sizes <= self.k, self.sizes, np.maximum(self.sizes - self.k, 0)) * self.cut

    @cached_property
    def _first(self) -> Integers:
        """First pattern of each stratum, and how many patterns there are; shape (strata + 1,)."""
        return np.searchsorted(self.strata, np.arange(int(self.strata[-1]) + 2))

    def _by_pattern(self, combinations: Integers) -> tuple[Integers, Integers]:
        """Order of records by their patterns, shape (n,); first of each pattern, and how many; shape (c + 1,)."""
        own = self.of[combinations]
        order = np.argsort(own, kind="stable")
        return order, np.searchsorted(own[order], np.arange(len(self.sizes) + 1))

    def candidates(self, combinations: Integers, points: Floats, first: int = 0) -> Candidates:
        """Those of some records, of which `first` is the first one's number in the file, that may move.

        `combinations`: shape (n,). `points`: standardised; shape (n, p).
        """
        order, starts = self._by_pattern(combinations)
        ordered, homes = np.ascontiguousarray(points[order]), self.strata[self._recipients]
        lacking = np.bincount(homes, self.k - self.sizes[self._recipients], len(self._first)).astype(np.int64)
        # Nearer ones can have gone to other recipients.
        most = np.minimum(self._spare, lacking[self.strata])
        # Where as many may be found as there are, all are taken: fewer searches, and no more memory.
        searched = np.bincount(homes, minlength=len(lacking))[self.strata] * most < np.diff(starts)
        chosen = (self.cut & ((self.sizes < self.k) | ~searched))[self.of[combinations[order]]]
        free = ~chosen
        for recipient in self._recipients:
            chosen[self._nearest(ordered, starts, free, recipient, most * searched)[0]] = True
        rows = np.sort(order[chosen])
        return Candidates(rows + first, combinations[rows], points[rows])

    def _nearest(
        self, points: Floats, starts: Integers, free: Booleans, recipient: int, most: Integers
    ) -> tuple[Integers, Floats]:
        """Free records of each pattern, at most so many, that are nearest to a recipient, and squared distances."""
        from maskwright.planning.nearest_records_kernel import nearest_of_each  # Numba, heavy

        own = slice(*self._first[self.strata[recipient] :][:2])
        starts = starts[own.start : own.stop + 1]
        most = np.minimum(most[own], np.diff(starts))
        found, distances = np.full(most.sum(), -1), np.full(most.sum(), np.inf)
        nearest_of_each(points, starts, free, self.centres[recipient], most, found, distances)
        return found[found >= 0], distances[found >= 0]

    def separated(self, found: Candidates) -> tuple[Integers, Moved]:
        """Stratum of each combination, shape (s,), and the records that are elsewhere."""
        order, starts = self._by_pattern(found.combinations)
        points = np.ascontiguousarray(found.points[order])
        found = Candidates(found.numbers[order], found.combinations[order], points)
        own = self.of[found.combinations]
        part, kept = self._filled(found, own, starts)
        # The first pattern of a stratum keeps its code.
        codes = self.strata.copy()
        survivors = np.flatnonzero(kept)
        later = survivors[np.flatnonzero(np.diff(self.strata[survivors], prepend=-1) == 0)]
        codes[later] = int(self.strata.max()) + 1 + np.arange(len(later))
        there = np.where(part >= 0, codes[part], self.strata[own])
        moved = np.flatnonzero(there != codes[own])
        moved = moved[np.argsort(found.numbers[moved])]
        given = int(np.sum(self.sizes[own[moved]] >= self.k))
        return codes[self.of], Moved(found.numbers[moved], found.combinations[moved], there[moved], given)

    def _filled(self, found: Candidates, own: Integers, starts: Integers) -> tuple[Integers, Booleans]:
        """Pattern that each candidate goes to, -1 where none of its stratum is left; and which patterns are left."""
        kept, spare = self.cut & (2 * self.sizes > self.k), self._spare.copy()
        part, free = np.where(kept[own], own, -1), np.ones(len(own), dtype=np.bool_)
        for recipient in self._recipients:
            lacking = self.k - int(self.sizes[recipient])
            near, distances = self._nearest(found.points, starts, free, recipient, np.minimum(spare, lacking))
            # Who has no part of its own changes its zeros in any case.
            taken = near[np.lexsort((found.numbers[near], distances, part[near] >= 0))[:lacking]]
            if len(taken) == lacking:
                np.subtract.at(spare, own[taken], 1)
                part[taken], free[taken] = recipient, False
            else:
                kept[recipient], spare[recipient] = False, self.sizes[recipient]
                part[starts[recipient] : starts[recipient + 1]] = -1
        for first, last in pairwise(self._first.tolist()):
            rows = starts[first] + np.flatnonzero(part[starts[first] : starts[last]] < 0)
            able = first + np.flatnonzero(kept[first:last])
            points, least = found.points[rows], np.full(len(rows), np.inf)
            for each in able[np.argsort(-self.sizes[able], kind="stable")].tolist():
                distances = _squared_distances(points, self.centres[each])
                nearer = distances < least
                least[nearer], part[rows[nearer]] = distances[nearer], each
        return part, kept


def _squared_distances(points: Floats, centre: Floats) -> Floats:
    """Added up variable by variable: the same to the last bit however many records there are; shape (n,)."""
    found = np.zeros(len(points))
    for column, value in zip(points.T, centre, strict=True):
        found += (column - value) ** 2
    return found
