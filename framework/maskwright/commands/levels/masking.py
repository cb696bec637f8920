"""Masking level by level: records removed, and what holds across levels derived, repaired and put together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.distortion import doubts_across_levels, wrong_edits_across_levels
from maskwright.commands.levels.group_masking import mask_grouped, results_of_levels
from maskwright.commands.levels.planning import PlannedLevels, ready_level
from maskwright.commands.levels.steps import takes_records
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import InputError
from maskwright.foundation.findings import Notice
from maskwright.foundation.randomness import generator
from maskwright.masking.context import Execution, Standardisation
from maskwright.masking.levels.adjustment import (
    MovedTogether,
    Repaired,
    derived_instead,
    moved_together,
    repaired,
    with_derived,
)
from maskwright.masking.levels.suppression_state import SuppressionState, codes_taken, suppress_across_levels
from maskwright.masking.mask import mask
from maskwright.masking.masked_value_checks import smallest_classes
from maskwright.masking.protecting.assembling import WEIGHT_DECIMALS
from maskwright.masking.spikes import lost_spikes, spike_notices
from maskwright.masking.suppressing.cells import without_cells
from maskwright.planning.levels.steps import guaranteed_variables, lets_k_go

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.doubts import Doubt
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
    notices: tuple[Notice, ...] = ()


def level_by_level(
    described: Pipeline, planned: PlannedLevels, seed: int, reporter: Reporter, clock: Clock
) -> LevelResults:
    """Mask each level; where steps take records away, whole groups are left.

    Records that are taken from the upper level take their members along, and the lower level is masked without them. A
    record that is taken from the lower level takes its whole group along; the steps are run again on what is left,
    until they take nobody, and the upper level is masked then.
    """
    run = _Run(described, seed, reporter, clock)
    top, low = planned.loaded.linked.names
    if any(takes_records(step) for step in planned.steps[low].steps):
        return run.from_below(planned, top, low)
    results: dict[str, MaskingResult] = {}
    rows: dict[str, NDArray[np.int64]] = {}
    notices: tuple[Notice, ...] = ()
    if top in planned.ready:
        results[top] = result = run.masked(planned, top)
        kept = result.masked.origin
        if kept is not None:
            rows[top] = kept
            factors = _factors(planned.ready[top].original.taken(kept), result.masked)
            left = _weighted(planned.loaded.linked.taken(kept), low, factors)
            message = _removed(planned.loaded.linked, left)
            notices = (Notice("groups-taken-away", "", message, level=top),)
            planned = run.on(planned, left, (low,))
    if low in planned.ready:
        results[low] = run.masked(planned, low)
    return LevelResults(planned, results, rows, notices)


OUT_OF_RANGE = ("below-zero", "beyond-the-original")
"""Notices that are made once all levels are masked: their values may still be moved."""


@dataclass(frozen=True, eq=False)
class _Run:
    described: Pipeline
    seed: int
    reporter: Reporter
    clock: Clock

    def masked(self, planned: PlannedLevels, name: str) -> MaskingResult:
        ready = planned.ready[name]
        found = mask(
            ready.original, ready.edits, ready.plan, self.seed, Execution.of(self.described.execution), self.reporter
        )
        return replace(found, notices=tuple(each for each in found.notices if each.kind not in OUT_OF_RANGE))

    def on(self, planned: PlannedLevels, left: LinkedData, names: tuple[str, ...]) -> PlannedLevels:
        """Plan of some levels on the groups that are left."""
        planned = replace(planned, loaded=replace(planned.loaded, linked=left))
        again = {
            name: ready_level(self.described, planned, name, self.reporter, self.clock)
            for name in names
            if name in planned.ready
        }
        return replace(planned, ready={**planned.ready, **again})

    def from_below(self, planned: PlannedLevels, top: str, low: str) -> LevelResults:
        before = planned.loaded.linked
        taken = 0
        while True:
            result = self.masked(planned, low)
            linked = planned.loaded.linked
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
        left = planned.loaded.linked
        notices: tuple[Notice, ...] = ()
        if taken:
            planned = self.on(planned, left, (top,))
            along = len(before[low]) - len(left[low]) - taken
            along_with = f"{along} of these {low} records go along with {taken} that steps take away"
            notices = (Notice("groups-taken-away", "", f"{_removed(before, left)}; {along_with}", level=low),)
        results = {low: result}
        if top in planned.ready:
            results = {top: self.masked(planned, top), low: result}
        return LevelResults(planned, results, {}, notices)


def _removed(before: LinkedData, left: LinkedData) -> str:
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


@dataclass(frozen=True, eq=False)
class MaskedLevels:
    """What masking the levels made.

    `linked`: record for record beside the original groups that are left, keys as they were. `results`: of the levels
    that steps mask, before what holds across levels. `rows`: where the records stand in the level that its steps got,
    where these took records away; shape (n,). `emptied`: suppressed cells, those that went because of other records
    among them. `repaired`: what meeting bounds across levels did; None where there are none. `together`: what moving
    groups with their members did; None where a step promises k. `notices`: what became of whole groups, and of cells
    because of other records. `by_edit`: records of its level that were moved because of each edit, where groups are
    masked with their members as one. `failing`: those for which no values were found then. `doubts`: about what keeping
    edits across levels did.
    """

    linked: LinkedData
    planned: PlannedLevels
    results: Mapping[str, MaskingResult]
    rows: Mapping[str, NDArray[np.int64]]
    emptied: SuppressionState
    repaired: Repaired | None = None
    together: MovedTogether | None = None
    notices: tuple[Notice, ...] = ()
    by_edit: Mapping[str, int] = field(default_factory=dict)
    failing: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()

    @property
    def infeasible(self) -> Mapping[str, int]:
        """Groups for which no values were found that satisfy each edit."""
        return self.failing if self.together is None else self.together.left_by_edit

    @property
    def adjusted(self) -> dict[str, int]:
        """Records that were moved because of each edit across levels."""
        counts = dict(self.by_edit if self.repaired is None else self.repaired.by_edit)
        for name, count in ({} if self.together is None else self.together.by_edit).items():
            counts[name] = counts.get(name, 0) + count
        return counts


def mask_levels(
    described: Pipeline, planned: PlannedLevels, seed: int, reporter: Reporter, clock: Clock
) -> MaskedLevels:
    """Mask each level, and derive across levels."""
    if planned.whole is not None:
        whole = mask_grouped(described, planned.loaded, planned.whole, seed, reporter)
        own = results_of_levels(whole, planned.ready)
        nothing = SuppressionState(whole.linked, whole.linked, own)
        most = {name: share for result in own.values() for name, share in result.doing_most.items()}
        wrong = tuple(wrong_edits_across_levels(planned.loaded, most, planned.loaded.doubts))
        return MaskedLevels(
            whole.linked, planned, own, {}, nothing, by_edit=whole.adjusted, failing=whole.infeasible, doubts=wrong
        )  # fmt: skip
    found = level_by_level(described, planned, seed, reporter, clock)
    planned, results = found.planned, found.results
    loaded = planned.loaded
    changed = {}
    for level in loaded.linked:
        result = results.get(level.name)
        if result is None:
            continue
        # Suppressed cells have their values here: what is derived is derived from them, and emptied in the end.
        named = {each.name: _unsuppressed(each, result) for each in result.masked if each.name in level.data}
        requested = planned.ready[level.name].original.names
        gone = [name for name in level.data.names if name in requested and name not in named]
        changed[level.name] = level.data.with_columns(named).without(gone)
    returned, shown, mended = _kept_across(loaded.linked.with_data(changed), loaded, planned, seed)
    nothing = SuppressionState(shown, shown, results)
    masked = MaskedLevels(shown, planned, results, found.rows, nothing, mended, notices=found.notices)
    if lets_k_go(described.steps):
        masked = _moved_together(masked, loaded, planned, seed)
    masked = replace(
        masked,
        notices=(
            *masked.notices, *_suppressed_by_deriving(masked.linked, loaded.linked, planned),
            *_spikes_of_totals(masked.linked, loaded.linked, planned),
        ),
    )  # fmt: skip
    if masked.repaired is not None or masked.together is not None:
        distorted = doubts_across_levels(
            loaded, planned, returned, masked.linked, masked.adjusted, lambda level: _shaped(planned, returned, level)
        )
        in_doubt = wrong_edits_across_levels(loaded, distorted.doing_most, loaded.doubts)
        masked = replace(
            masked, doubts=(*distorted.doubts, *in_doubt), notices=(*masked.notices, *distorted.notices)
        )  # fmt: skip
    originals = {level.name: level.data for level in loaded.linked}
    plans = {name: ready.plan for name, ready in planned.ready.items()}
    emptied = suppress_across_levels(masked.linked, originals, masked.results, plans, loaded.bound, reporter)
    return replace(
        masked, linked=emptied.linked, results=emptied.results, emptied=emptied,
        notices=(*masked.notices, *emptied.notices),
    )  # fmt: skip


def _unsuppressed(column: Column, result: MaskingResult) -> Column:
    """Masked column with the values of its suppressed cells."""
    assert result.removal is not None
    before = result.removal.shown[column.name]
    return before if (column.missing & ~before.missing).any() else column


def _kept_across(
    linked: LinkedData, loaded: LoadedLevels, planned: PlannedLevels, seed: int
) -> tuple[LinkedData, LinkedData, Repaired | None]:
    """Levels with the totals that are derived, the same with the bounds that read these repaired, and the repair."""
    top = linked.levels[0].name

    def with_columns_of(others: Dataset) -> LinkedData:
        kept = linked[top].data
        return linked.with_data({top: replace(kept, columns=tuple(others[column.name] for column in kept))})

    others = with_derived(with_linked_columns(linked, loaded.bound, top), planned.across.derived)
    derived = with_columns_of(others)
    if not planned.across.repaired:
        return derived, derived, None
    movable = _shaped(planned, linked, top)
    scale = Standardisation.of(loaded.linked[top].data, movable).scale
    mended = repaired(
        others, planned.across, movable, planned.across.inside[top], [scale[name] for name in movable],
        generator(seed, "levels", "repair"),
    )  # fmt: skip
    return derived, with_columns_of(mended.data), mended


def _suppressed_by_deriving(masked: LinkedData, original: LinkedData, planned: PlannedLevels) -> Iterator[Notice]:
    """Derived cells that had a value and have none: what they are computed from has missing cells."""
    top = original.names[0]
    ways = (planned.across, *(() if planned.otherwise is None else (planned.otherwise,)))
    for each in {derived.variable: derived for way in ways for derived in way.derived}.values():
        lost = int((masked[top].data[each.variable].missing & ~original[top].data[each.variable].missing).sum())
        if lost:
            message = (
                f"{each.variable}: {lost:,} cells that had a value are missing in the masked data: what edit "
                f"{each.edit!r} computes them from is missing there"
            )
            yield Notice("derived-cells-missing", each.variable, message, lost, level=top, edit=each.edit)


def _spikes_of_totals(masked: LinkedData, original: LinkedData, planned: PlannedLevels) -> Iterator[Notice]:
    """Notices of spikes that totals have lost which are computed instead of masked."""
    top = original.names[0]
    names = [each.variable for each in planned.across.derived]
    lost = lost_spikes(original[top].data, masked[top].data, names)
    yield from spike_notices(lost, planned.every[top].plan)


def _shaped(planned: PlannedLevels, linked: LinkedData, level: str) -> list[str]:
    """Numeric variables of a level whose values steps change."""
    ready = planned.ready.get(level)
    if ready is None:
        return []
    taken = {
        name for group in ready.plan.groups for name in group.variables
        if not ready.plan.steps[group.step - 1].only_removes
    }  # fmt: skip
    data = linked[level].data
    return [name for name in ready.plan.masked if name in taken and name in data and data[name].variable.is_numeric]


def _moved_together(masked: MaskedLevels, loaded: LoadedLevels, planned: PlannedLevels, seed: int) -> MaskedLevels:
    """Move groups in which an edit does not hold yet; where that cannot be, derive their totals."""
    across, linked = planned.across, masked.linked
    top = linked.levels[0]
    promised = {name for ready in planned.ready.values() for name in guaranteed_variables(ready.plan)}
    shaped = {
        level.name: [name for name in _shaped(planned, linked, level.name) if name not in promised] for level in linked
    }
    moving = {name: [each for each in names if each not in across.standing] for name, names in shaped.items()}
    moving[top.name] += [each.variable for each in across.derived]
    scale: dict[str, float] = {}
    for level in loaded.linked:
        every = dict.fromkeys((*moving[level.name], *shaped[level.name]))
        scale |= Standardisation.of(level.data, list(every)).scale
    weights = {
        name: weight
        for found in planned.steps.values()
        for step in found.steps
        for name, weight in step.planning.adjustment_weights.items()
    }
    dear = {name: value / math.sqrt(weights.get(name, 1.0)) for name, value in scale.items()}
    found = moved_together(linked, loaded.bound, moving, dear, top.declared.largest_group, seed)
    linked, left = found.linked, np.flatnonzero(found.left)
    derives = planned.otherwise is not None and len(left) > 0
    if planned.otherwise is not None and derives:
        rng = generator(seed, "levels", "derived instead")
        linked = derived_instead(linked, loaded.bound, planned.otherwise, left, scale, shaped[top.name], rng)
    return replace(
        masked,
        linked=linked,
        results=_counted_again(masked, linked, planned),
        together=found,
        notices=(*masked.notices, *found.notices(derives=derives)),
    )


def _counted_again(masked: MaskedLevels, linked: LinkedData, planned: PlannedLevels) -> dict[str, MaskingResult]:
    """Results of the levels with what moved, and with the classes that are left of k."""
    results = {}
    for name, result in masked.results.items():
        moved = {column.name: column for column in linked[name].data if column.name in result.masked}
        gone = {each: result.masked[each].missing & ~column.missing for each, column in moved.items()}
        gone |= {each: gone.get(each, np.False_) | own for each, own in codes_taken(result).items()}
        data = without_cells(result.masked.with_columns(moved), {each: own for each, own in gone.items() if own.any()})
        results[name] = replace(result, masked=data, k=smallest_classes(data, planned.ready[name].plan))
    return results
