"""Spikes that masking lost: values that many records of the original have, and far fewer masked ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

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
"""Share of a spike's share below which it is lost."""
DEVIATIONS = 4.0
"""Standard errors of a share that a loss is larger than: less may be chance, in a sample above all."""


@dataclass(frozen=True)
class LostSpike:
    """A spike of a variable; `before`, `after`: its share of the values that are there; `records`: that had it."""

    variable: str
    is_zero: bool
    before: float
    after: float
    records: int

    def __str__(self) -> str:
        what = "are 0" if self.is_zero else "are one value"
        return f"{100 * self.before:.1f} % of the values of {self.variable} {what}, and {100 * self.after:.1f} % masked"


def lost_spikes(original: Dataset, masked: Dataset, names: Sequence[str]) -> Iterator[LostSpike]:
    """Spikes that masked numbers have lost; of several of one variable the largest."""
    for name in names:
        before, after = original[name], masked[name]
        if after.variable.is_numeric:
            lost = list(_lost(before, after))
            if lost:
                yield max(lost, key=lambda each: each.records)


def _lost(before: Column, after: Column) -> Iterator[LostSpike]:
    old, new = (column.values[~column.missing].astype(np.float64) for column in (before, after))
    if not len(old) or not len(new):
        return
    for value in _frequent(old):
        count, left = int(np.count_nonzero(old == value)), int(np.count_nonzero(new == value))
        share, kept = count / len(old), left / len(new)
        chance = DEVIATIONS * sqrt(share * (1.0 - share) / len(new))
        if count >= max(RECORDS, SHARE * len(old)) and kept < min(KEPT * share, share - chance):
            yield LostSpike(before.variable.name, value == 0.0, share, kept, count)


def _frequent(values: Floats) -> Floats:
    """Values among which are all that so many records have: each of these lies at one of equally spaced ranks."""
    step = max(int(SHARE * len(values)), 1)
    ranks = np.arange(0, len(values), step)
    return np.unique(np.partition(values, ranks)[ranks])


def spike_notices(lost: Iterable[LostSpike], plan: Plan) -> Iterator[Notice]:
    """Notices of spikes that steps lost which change values."""
    for each in lost:
        if each.variable not in plan.drawn:
            way = " ('structural_zeros' in the params of its step keeps them)" if each.is_zero else ""
            yield Notice("frequent-value-lost", each.variable, f"{each}{way}", each.records)


def spike_doubts(lost: Iterable[LostSpike], plan: Plan) -> Iterator[Doubt]:
    """Doubts about spikes that steps lost which draw records from the distribution of the original."""
    for each in lost:
        if each.variable in plan.drawn:
            yield Doubt("spike-lost", each.variable, str(each), each.records)
