"""Spikes that masking lost, or made: values that many records have, and far fewer or more of the masked ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Self

import numpy as np

from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.foundation.arrays import Floats
    from maskwright.planning.plan import Plan

SHARE = 0.1
"""Of the values of a variable that have to be equal for a spike."""
RECORDS = 20
"""That a spike has at least: in a small file every value is frequent."""
KEPT = 0.75
"""Share of a spike's share below which it is lost; a spike has grown where that happened to all other values, or where
the original share is below this share of the masked one."""
DEVIATIONS = 4.0
"""Standard errors of a share that a change is larger than: less may be chance, in a sample above all."""


@dataclass(frozen=True)
class LostSpike:
    """A spike of a variable that is lost, or has grown.

    `before`, `after`: its share of the values that are there; `records`: that had it, or have it now if that is more.
    """

    variable: str
    is_zero: bool
    before: float
    after: float
    records: int

    def __str__(self) -> str:
        what = "are 0" if self.is_zero else "are one value"
        change = "; the share grew to" if self.grew else ", and"
        before, after = 100 * self.before, 100 * self.after
        return f"{before:.1f} % of the values of {self.variable} {what}{change} {after:.1f} % masked"

    @property
    def grew(self) -> bool:
        """Whether more masked values than original ones are the value."""
        return self.after > self.before


def lost_spikes(original: Dataset, masked: Dataset, names: Sequence[str]) -> Iterator[LostSpike]:
    """Spikes that masked numbers have lost, or that have grown; of several of one variable the largest."""
    for name in names:
        before, after = original[name], masked[name]
        if after.variable.is_numeric and not before.missing.all():
            frequent = frequent_values(before.values[~before.missing].astype(np.float64))
            yield from SpikeCounts.of(before, after, frequent).lost(name)


@dataclass(frozen=True)
class SpikeCounts:
    """How often some values occur among those of a variable, before and after; those of parts of a file add up.

    `cells`: that have a value, before and after. `counts`: of each value, before and after.
    """

    values: tuple[float, ...]
    cells: tuple[int, int]
    counts: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, before: Column, after: Column, values: Iterable[float]) -> Self:
        """Count in two states of a column."""
        wanted = tuple(float(value) for value in values)
        old, new = (column.values[~column.missing].astype(np.float64) for column in (before, after))
        counts = ((int(np.count_nonzero(old == one)), int(np.count_nonzero(new == one))) for one in wanted)
        return cls(wanted, (len(old), len(new)), tuple(counts))

    def __add__(self, other: SpikeCounts) -> SpikeCounts:
        counts = tuple((a + c, b + d) for (a, b), (c, d) in zip(self.counts, other.counts, strict=True))
        return SpikeCounts(
            self.values, (self.cells[0] + other.cells[0], self.cells[1] + other.cells[1]), counts
        )  # fmt: skip

    def lost(self, variable: str) -> list[LostSpike]:
        """The largest value that was a spike and is none, or a much smaller one; nothing where there is none.

        Where none is lost, the largest that has grown much: a spike, or 0.
        """
        found = list(self._changed(variable))
        lost = [each for each in found if not each.grew] or found
        return [max(lost, key=lambda each: each.records)] if lost else []

    def _changed(self, variable: str) -> Iterator[LostSpike]:
        of, among = self.cells
        for value, (count, left) in zip(self.values, self.counts, strict=True) if among else ():
            share, kept = count / of, left / among
            was_spike = count >= max(RECORDS, SHARE * of)
            is_spike = left >= max(RECORDS, SHARE * among) and (was_spike or value == 0.0)
            if was_spike and _much_less(kept, share, among):
                yield LostSpike(variable, value == 0.0, share, kept, count)
            elif is_spike and (_much_less(share, kept, among) or _much_less(1.0 - kept, 1.0 - share, among)):
                yield LostSpike(variable, value == 0.0, share, kept, left)


def _much_less(share: float, other: float, n: int) -> bool:
    """Whether a share of n values is less than another one by a part of it that matters, and by more than chance."""
    return share < min(KEPT * other, other - DEVIATIONS * sqrt(other * (1.0 - other) / n))


def frequent_values(values: Floats, share: float = SHARE) -> Floats:
    """Values among which are 0 and all that so many records have: each of these lies at one of equally spaced ranks."""
    step = max(int(share * len(values)), 1)
    ranks = np.arange(0, len(values), step)
    return np.union1d(np.partition(values, ranks)[ranks], [0.0])


def spike_notices(lost: Iterable[LostSpike], plan: Plan) -> Iterator[Notice]:
    """Notices of spikes that steps which change values lost, or made larger."""
    for each in lost:
        if each.variable not in plan.drawn:
            kept = each.is_zero and not each.grew
            way = " ('structural_zeros' in the params of its step keeps them)" if kept else ""
            yield Notice("frequent-value-lost", each.variable, f"{each}{way}", each.records)


def spike_doubts(lost: Iterable[LostSpike], plan: Plan) -> Iterator[Doubt]:
    """Doubts about spikes that steps lost, or made larger, which draw records from the distribution of the original."""
    for each in lost:
        if each.variable in plan.drawn:
            yield Doubt("spike-lost", each.variable, str(each), each.records)
