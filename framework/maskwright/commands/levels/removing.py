"""Records that steps take away: always whole groups, so that nobody's household lacks a member."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.planning import PlannedLevels, ready_level
from maskwright.commands.levels.steps import takes_records
from maskwright.foundation.errors import InputError
from maskwright.masking.context import Execution
from maskwright.masking.mask import mask
from maskwright.masking.protecting.assembling import WEIGHT_DECIMALS
from maskwright.planning.levels.step_numbers import told_by_pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright.commands.running.arrive import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline


@dataclass(frozen=True, eq=False)
class LevelResults:
    """What the steps made of each level.

    `planned`: on the groups that are left. `results`: of the levels that steps mask, before what holds across levels.
    `rows`: where the masked records stand in the level that its steps got, where these took records away; shape (n,).
    """

    planned: PlannedLevels
    results: Mapping[str, MaskingResult]
    rows: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def level_by_level(
    described: Pipeline, planned: PlannedLevels, seed: int, reporter: Reporter, clock: Clock
) -> LevelResults:
    """Mask each level; where steps take records away, whole groups are left.

    Records that are taken from the upper level take their members along, and the lower level is masked without them. A
    record that is taken from the lower level takes its whole group along; the steps are run again on what is left,
    until they take nobody, and the upper level is masked then.
    """
    run = _Run(described, seed, reporter, clock)
    top, low = planned.arrived.linked.names
    if any(takes_records(step) for step in planned.steps[low].steps):
        return run.from_below(planned, top, low)
    results: dict[str, MaskingResult] = {}
    rows: dict[str, NDArray[np.int64]] = {}
    notices: tuple[str, ...] = ()
    if top in planned.ready:
        results[top] = result = run.masked(planned, top)
        kept = result.masked.origin
        if kept is not None:
            rows[top] = kept
            factors = _factors(planned.ready[top].original.taken(kept), result.masked)
            left = _weighted(planned.arrived.linked.taken(kept), low, factors)
            notices = (_said(planned.arrived.linked, left),)
            planned = run.on(planned, left, (low,))
    if low in planned.ready:
        results[low] = run.masked(planned, low)
    return LevelResults(planned, results, rows, notices)


@dataclass(frozen=True, eq=False)
class _Run:
    described: Pipeline
    seed: int
    reporter: Reporter
    clock: Clock

    def masked(self, planned: PlannedLevels, name: str) -> MaskingResult:
        ready = planned.ready[name]
        with told_by_pipeline(planned.steps[name].numbers):
            found = mask(
                ready.original, ready.edits, ready.plan, self.seed, Execution.of(self.described.execution),
                self.reporter,
            )  # fmt: skip
        # What leaves the range is counted once all levels are masked: their values may still be moved.
        said = tuple(each for each in found.notices if each not in found.out_of_range)
        return replace(found, notices=said, out_of_range=())

    def on(self, planned: PlannedLevels, left: LinkedData, names: tuple[str, ...]) -> PlannedLevels:
        """Plan of some levels on the groups that are left."""
        planned = replace(planned, arrived=replace(planned.arrived, linked=left))
        again = {
            name: ready_level(self.described, planned, name, self.reporter, self.clock)
            for name in names
            if name in planned.ready
        }
        return replace(planned, ready={**planned.ready, **again})

    def from_below(self, planned: PlannedLevels, top: str, low: str) -> LevelResults:
        before = planned.arrived.linked
        taken = 0
        while True:
            result = self.masked(planned, low)
            linked = planned.arrived.linked
            kept = result.masked.origin
            if kept is None or len(kept) == len(linked[low]):
                break
            lost = np.ones(len(linked[low]), dtype=np.bool_)
            lost[kept] = False
            taken += int(lost.sum())
            groups = linked[low].groups
            assert groups is not None
            without = np.bincount(groups, lost, len(linked[top])) > 0
            if without.all():
                raise InputError(
                    f"a {low} that is taken away takes the whole {top} along, and no {top} would be left: use fewer "
                    "keys, or suppress cells"
                )
            planned = self.on(planned, linked.taken(np.flatnonzero(~without).astype(np.int64)), (low,))
        left = planned.arrived.linked
        notices: tuple[str, ...] = ()
        if taken:
            planned = self.on(planned, left, (top,))
            along = len(before[low]) - len(left[low]) - taken
            notices = (
                f"{_said(before, left)}; {along} of these {low} records go along with {taken} that steps take away",
            )
        results = {low: result}
        if top in planned.ready:
            results = {top: self.masked(planned, top), low: result}
        return LevelResults(planned, results, {}, notices)


def _said(before: LinkedData, left: LinkedData) -> str:
    counts = ", ".join(f"{len(a) - len(b)} {a.name}" for a, b in zip(before, left, strict=True))
    return f"records are taken away in whole {before.levels[0].name} groups: {counts}"


def _factors(before: Dataset, after: Dataset) -> NDArray[np.float64] | None:
    """What a step that took records away multiplied the weight of each record by; None: it left weights alone."""
    name = next((each.name for each in before.variables if each.role == "weight"), None)
    if name is None or name not in after:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.asarray(after[name].values / before[name].values, dtype=np.float64)
    return np.where(np.isfinite(factors), factors, 1.0)


def _weighted(left: LinkedData, low: str, factors: NDArray[np.float64] | None) -> LinkedData:
    """Groups whose members' weights are multiplied as those of the groups were."""
    level = left[low]
    name = next((each.name for each in level.data.variables if each.role == "weight"), None)
    if name is None or factors is None or (factors == 1.0).all():
        return left
    assert level.groups is not None
    column = level.data[name]
    places = column.variable.decimals
    values = column.values * factors[level.groups]
    decimals = None if places is None else max(places, WEIGHT_DECIMALS)
    values = values if decimals is None else np.round(values, decimals)
    changed = column.changed(values, variable=replace(column.variable, type="continuous", decimals=decimals))
    return left.with_data({low: level.data.with_columns({name: changed})})
