"""Doubts about variables whose mean or standard deviation moved because cells or records of them were removed."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.masking.adjusting.distortion import Shift
from maskwright.masking.distortion_doubts import (
    MOST_GONE,
    MOVED_BY_REMOVAL,
    DistortionDoubts,
    declaration,
    least_moved,
    signed,
)
from maskwright.masking.protecting.variable_group import sampling_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.distortion import Distortion
    from maskwright.masking.context import Standardisation
    from maskwright.masking.masking_result import Removal
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan

BY_CHANCE = 1e-4
"""Probability with which a random sample may move a mean or a standard deviation farther than its bound."""


def removal_doubts(
    found: Distortion | None, before: Dataset, removal: Removal, standardisation: Standardisation, plan: Plan
) -> DistortionDoubts:
    """Examine each variable of which cells or records went; what is moved as suppression does is a notice.

    Of records that went only masked numbers are examined. `found`: how far each was moved before that; None: none was.
    `before`: Masked, with all records.
    """
    weights = _both_weights(before, removal)
    steps = plan.steps[plan.shaping :]
    is_random = not all(step.is_deterministic for step in steps)
    are_cells = len(removal.data) == len(before)
    way = _way(steps, are_cells=are_cells)
    keys = {name for group in plan.groups if plan.steps[group.step - 1].only_removes for name in group.variables}
    doubts, notices = [], []
    shifts = {} if found is None else {shift.variable: shift for shift in found.shifts}
    unmasked = (name for name in removal.data.names if are_cells and name not in shifts and _is_published(name, plan))
    for name in (*shifts, *unmasked):
        column, left = before[name], removal.data[name]
        there = np.flatnonzero(~column.missing)
        kept = np.zeros(len(before), dtype=np.bool_)
        kept[removal.rows[~left.missing]] = True
        kept = kept[there]
        if kept.all():
            continue
        removed, cells = int(np.sum(~kept)), len(kept)
        declared = plan.variables[name].distortion
        if are_cells and (doubt := _of_most_cells(name, removed, cells, keys, removal, plan)) is not None:
            doubts.append(doubt)
            continue
        if not column.variable.is_numeric or not kept.any():
            continue
        values = column.values[there].astype(np.float64)
        values /= standardisation.scale[name] if name in shifts else (float(np.std(values)) or 1.0)
        full, published = weights[0][there], weights[1][there]
        # Whole households go together or not; cells go one by one.
        units = np.arange(len(there)) if before.households is None else before.households[there]
        moved = _Moved.of(values, kept, full, published, units, shifts.get(name, Shift(name, 0, 0, 0, 0, 0)))
        least = most = least_moved(cells, declared)
        only_removed = name not in plan.replaced
        if only_removed and declared is None and removed <= MOST_GONE * cells:
            most = least_moved(cells, None, MOVED_BY_REMOVAL)
        # What a method chooses without drawing is no sample, in which chance would explain as much.
        by_chance = is_random or not only_removed
        if not moved.is_beyond(least, by_chance=by_chance):
            continue
        message = (
            f"removing {removed} of its {cells} values moved its mean by {signed(moved.mean)} and its standard "
            f"deviation by {signed(moved.deviation)} standard deviations of the original"
            f"{', more than by chance' * moved.is_beyond(least)}: those that are {way.became} differ from the others"
        )
        if moved.is_beyond(most, by_chance=by_chance):
            hint = f"{way.remedy}; or {declaration(name, moved.mean, moved.deviation)}."
            doubts.append(Doubt("adjustment-distorts", name, message, removed, cells, hint=hint))
        else:
            message = f"{name}: {message}. {way.remedy}, if its mean or its spread matters"
            notices.append(Notice("removal-distorts", name, message, removed, cells))
    return DistortionDoubts(tuple(doubts), notices=tuple(notices))


def _of_most_cells(name: str, removed: int, cells: int, keys: set[str], removal: Removal, plan: Plan) -> Doubt | None:
    """The doubt about a variable of which all or most cells went because they would disclose others."""
    (also,) = [each["complementary"] for each in removal.suppressed if each["variable"] == name] or [0]
    if name not in keys and plan.variables[name].distortion is None and removed > MOST_GONE * cells:
        message = f"{removed} of its {cells} values are suppressed, and it is no key: they would disclose hidden keys"
        cut = [key for key in sorted(keys) if any(key in step.within for step in plan.steps)]
        leave = f"Leave {', '.join(cut)} out of `within`, or recode" if cut else "Recode"
        hint = f"{leave} the keys instead of suppressing them; or leave {name} out of the release."
    elif removed == cells and also:
        message = f"all of its {cells} values are suppressed, {also} of them because they would disclose others"
        hint = (
            f"Leave {name} out of the release, recode it to fewer values, or let other variables lose cells: "
            f"`disclosure: {{importance: {{{name}: 10}}}}`."
        )
    else:
        return None
    return Doubt("adjustment-distorts", name, message, removed, cells, hint=hint)


def _is_published(name: str, plan: Plan) -> bool:
    return name in plan.variables and name not in plan.dropped and plan.variables[name].role != "weight"


def _both_weights(before: Dataset, removal: Removal) -> tuple[Floats, Floats]:
    """Weights of all records, and those that are published, of the records that are left; 1 without weights."""
    full, published = sampling_weights(before), sampling_weights(removal.data)
    if full is None or published is None:
        return np.ones(len(before)), np.ones(len(before))
    left = np.zeros(len(before))
    left[removal.rows] = published
    return full, left


@dataclass(frozen=True)
class _Moved:
    """How far removing moved the mean and the standard deviation, and how far it may by chance; in one unit.

    `earlier`: how far both were moved before.
    """

    mean: float
    deviation: float
    mean_by_chance: float
    deviation_by_chance: float
    earlier: tuple[float, float]

    @classmethod
    def of(
        cls, values: Floats, kept: Booleans, full: Floats, published: Floats, units: Integers, before: Shift
    ) -> _Moved:
        """Compare all cells with those that are left.

        `full`, `published`: weights of the cells, the published ones as far as cells are left. `units`: that are
        drawn together. All of shape (n,).
        """
        mean, deviation = _moments(values, full)
        mean_left, deviation_left = _moments(values[kept], published[kept])
        shares = full / full.sum()
        away = values - mean
        # What a cell adds to a mean, and, to first order, to a standard deviation.
        of_mean = shares * away
        of_deviation = shares * (away**2 - deviation**2) / (2 * deviation) if deviation > 0 else np.zeros(len(values))
        share = float(np.mean(kept))
        mean_by_chance, deviation_by_chance = (
            _farthest_by_chance(np.bincount(units, weights=each).astype(np.float64), share)
            for each in (of_mean, of_deviation)
        )
        earlier = before.method_mean + before.mean, before.method_deviation + before.deviation
        return cls(mean_left - mean, deviation_left - deviation, mean_by_chance, deviation_by_chance, earlier)

    def is_beyond(self, bound: float, *, by_chance: bool = True) -> bool:
        """Whether one of them moved farther, by removing alone and all in all; `by_chance`: and than it may by that."""
        ways = ((self.mean, self.mean_by_chance), (self.deviation, self.deviation_by_chance))
        return any(
            min(abs(by), abs(by + was)) > (max(bound, chance) if by_chance else bound)
            for (by, chance), was in zip(ways, self.earlier, strict=True)
        )


def _moments(values: Floats, weights: Floats) -> tuple[float, float]:
    total = float(weights.sum())
    mean = float(np.sum(weights * values)) / total
    return mean, sqrt(float(np.sum(weights * (values - mean) ** 2)) / total)


def _farthest_by_chance(effects: Floats, share: float) -> float:
    """How far a sample moves a mean but for one in so many (Bernstein's inequality).

    `effects`: what each unit adds to the mean, 0 in all. `share`: of the units that are drawn.
    """
    variance = (1 - share) / share * float(np.sum(effects**2))
    exponent = log(2 / BY_CHANCE)
    third = exponent * float(np.max(np.abs(effects))) / share / 3
    return third + sqrt(third**2 + 2 * exponent * variance)


@dataclass(frozen=True)
class _Way:
    """What became of the values that went, and what lets more of them stay."""

    became: str
    remedy: str


def _way(steps: Sequence[Step], *, are_cells: bool) -> _Way:
    if are_cells:
        return _Way("suppressed", "Recode the keys, so that fewer cells have to go")
    if any(step.method.has_keys for step in steps):
        return _Way("left out", "Recode the keys, so that fewer records have to go")
    return _Way("left out", "Draw the same share of all kinds of records, or let weights make up for what is left out")
