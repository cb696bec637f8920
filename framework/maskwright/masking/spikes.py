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
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan
    from maskwright.plugins.method import Limit

SHARE = 0.1
"""Of the values of a variable that have to be equal for a spike."""
RECORDS = 20
"""That a spike has at least: in a small file every value is frequent."""
KEPT = 0.75
"""Share of a spike's share below which it is lost; a spike has grown where that happened to all other values, or where
the original share is below this share of the masked one."""
OVER_NEXT = 3.0
"""Times as many records as the next lower and the next higher value that a spike has which stands out, a point mass.

In a count or a scale each value has many records, and averaging moves some from one to the next."""
DEVIATIONS = 4.0
"""Standard errors of a share that a change is larger than: less may be chance, in a sample above all."""
DEVIATIONS_OF_SAME = 2.0
"""The same of a spike that stands out where the records are the same ones, with other values."""


@dataclass(frozen=True)
class LostSpike:
    """A spike of a variable that is lost, or has grown.

    `before`, `after`: its share of the values that are there; `records`: that had it, or have it now if that is more.
    `stands_out`: whether far fewer have the values next to it. `by_chance`: whether a sample might have done as much.
    """

    variable: str
    value: float
    before: float
    after: float
    records: int
    stands_out: bool = False
    by_chance: bool = False

    def __str__(self) -> str:
        what = "are 0" if self.is_zero else "are one value"
        change = "; the share grew to" if self.grew else ", and"
        before, after = 100 * self.before, 100 * self.after
        return f"{before:.1f} % of the values of {self.variable} {what}{change} {after:.1f} % masked"

    @property
    def is_zero(self) -> bool:
        """Whether the value is 0."""
        return self.value == 0.0

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
        """The largest value that was a spike and is none, or a much smaller one, of those that stand out if any does.

        Where none is lost, the largest that has grown much: a spike, or 0.
        """
        found = list(self._changed(variable))
        lost = [each for each in found if not each.grew] or found
        return [max(lost, key=lambda each: (each.stands_out, each.records))] if lost else []

    def _changed(self, variable: str) -> Iterator[LostSpike]:
        of, among = self.cells
        had = [count for count, _ in self.counts]
        nearest = [max(pair) for pair in zip([0, *had[:-1]], [*had[1:], 0], strict=True)]
        for value, (count, left), near in zip(self.values, self.counts, nearest, strict=True) if among else ():
            share, kept = count / of, left / among
            was_spike = count >= max(RECORDS, SHARE * of)
            is_spike = left >= max(RECORDS, SHARE * among) and (was_spike or value == 0.0)
            stands_out = count >= OVER_NEXT * near
            if was_spike and _much_less(kept, share, among, DEVIATIONS_OF_SAME if stands_out else DEVIATIONS):
                by_chance = not _much_less(kept, share, among)
                yield LostSpike(variable, value, share, kept, count, stands_out, by_chance)
            elif is_spike and (_much_less(share, kept, among) or _much_less(1.0 - kept, 1.0 - share, among)):
                yield LostSpike(variable, value, share, kept, left)


def _much_less(share: float, other: float, n: int, deviations: float = DEVIATIONS) -> bool:
    """Whether a share of n values is less than another one by a part of it that matters, and by more than chance."""
    return share < min(KEPT * other, other - deviations * sqrt(other * (1.0 - other) / n))


def frequent_values(values: Floats, share: float = SHARE) -> Floats:
    """Values among which are 0, all that so many records have, and what is next to each of these; ascending.

    Each frequent value lies at one of equally spaced ranks.
    """
    step = max(int(share * len(values)), 1)
    ranks = np.arange(0, len(values), step)
    frequent = np.union1d(np.partition(values, ranks)[ranks], [0.0])
    below = [np.max(values, where=values < each, initial=-np.inf) for each in frequent]
    above = [np.min(values, where=values > each, initial=np.inf) for each in frequent]
    near = np.union1d(below, above)
    return np.union1d(frequent, near[np.isfinite(near)])


def has_many_zeros(column: Column) -> bool:
    """Whether 0 is a spike of a column, and stands out."""
    values = column.values[~column.missing].astype(np.float64)
    zeros = np.count_nonzero(values == 0.0)
    if zeros < max(RECORDS, SHARE * len(values)):
        return False
    nearest = np.max(values, where=values < 0, initial=-np.inf), np.min(values, where=values > 0, initial=np.inf)
    return bool(zeros >= OVER_NEXT * max(np.count_nonzero(values == each) for each in nearest))


def spike_notices(lost: Iterable[LostSpike], plan: Plan) -> Iterator[Notice]:
    """Notices of spikes that steps which change values lost or made larger, and that are no doubt."""
    for each in lost:
        if each.variable not in plan.drawn and not _is_doubt(each, plan):
            kept = each.is_zero and not each.grew
            way = " ('structural_zeros' in the params of its step keeps them)" if kept else ""
            yield Notice("frequent-value-lost", each.variable, f"{each}{way}", each.records)


def spike_doubts(lost: Iterable[LostSpike], plan: Plan) -> Iterator[Doubt]:
    """Doubts about spikes that drawing, averaging or noise lost, or that drawing made larger."""
    for each in lost:
        if _is_doubt(each, plan):
            yield Doubt("spike-lost", each.variable, str(each), each.records, hint=_way_out(each, plan))


def _is_doubt(lost: LostSpike, plan: Plan) -> bool:
    """Whether no step means to do so, and of changed values the spike stood out."""
    if lost.variable in plan.drawn:
        return not lost.by_chance
    limits = [each.limit for each in plan.promised if each.limit.variable == lost.variable]
    return lost.stands_out and bool(_mixing(lost.variable, plan)) and all(_allows(each, lost.value) for each in limits)


def _mixing(name: str, plan: Plan) -> list[Step]:
    """Steps that give a variable values which depend on other records or on chance, as coarser values do not."""
    steps = (plan.steps[group.step - 1] for group in plan.groups if name in group.variables)
    return [
        step for step in steps
        if step.method.changes_cells and not step.only_removes and not step.method.claims.removes
        and step.method.claims.limits is None
    ]  # fmt: skip


def _allows(limit: Limit, value: float) -> bool:
    """Whether a value may be published."""
    within = (limit.low is None or limit.low <= value) and (limit.high is None or value <= limit.high)
    base = limit.multiple_of
    return within and (base is None or bool(np.isclose(value, round(value / base) * base)))


def _way_out(lost: LostSpike, plan: Plan) -> str | None:
    """What keeps the spike; None: what is said of the kind of doubt."""
    name, steps = lost.variable, _mixing(lost.variable, plan)
    if lost.grew or not steps:
        return None
    if lost.is_zero:
        without = [step for step in steps if name not in step.planning.structural_zeros]
        if without:
            return f"Write `structural_zeros: [{name}]` in the params of {_numbered(without)}: zeros then stay 0."
        return _way_out_of_zeros(name, plan)
    if name in plan.drawn:
        return None
    edits = [edit.name for edit in plan.edits if name in edit.variables and len({*edit.variables} & {*plan.masked}) > 1]
    first = f"`adjustment_weights: {{{name}: 100}}` in its params, so that others move first to keep {', '.join(edits)}"
    if plan.variables[name].decimals is None:
        # Without a grid it moves by a hundredth of what others do.
        first += f", and with the decimals of {name} declared"
    if all("domain" in step.method.claims.preserves and not step.method.makes_clusters for step in steps):
        why = f"write {first}" if edits else "check the edits that read it"
        return f"The method keeps every value, and adjusting moved them: {why}."
    also = f", with {first}" if edits else ""
    return f"Mask {name} by `rank_swapping` instead of {_numbered(steps)}{also}: swapping keeps every value."


def _way_out_of_zeros(name: str, plan: Plan) -> str:
    """What to do where the steps promise that zeros stay, and fewer are left."""
    groups = [plan.steps[group.step - 1] for group in plan.groups if name in group.variables]
    removing = [step for step in groups if step.method.claims.removes]
    if removing:
        return (
            f"Its zeros stay 0, and {_numbered(removing)} took cells or records away that have them: take less away "
            f"there (a smaller k, fewer keys), or leave {name} out of that step."
        )
    return f"Its zeros are to stay: W310 names why some did not. If there is none, cells of {name} were left missing."


def _numbered(steps: Sequence[Step]) -> str:
    """Steps by their numbers."""
    *others, last = (str(step.number) for step in steps)
    return f"steps {', '.join(others)} and {last}" if others else f"step {last}"
