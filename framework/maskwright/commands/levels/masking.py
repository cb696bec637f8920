"""Masking level by level: records removed, and what holds across levels derived, repaired and put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.group_masking import mask_grouped, results_of_levels
from maskwright.commands.levels.planning import PlannedLevels, ready_level
from maskwright.commands.running.stages import masked_by_plan
from maskwright.disclosure.cells import without_cells
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import InputError
from maskwright.foundation.findings import Notice
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.context import Standardisation
from maskwright.masking.levels.adjustment import Repaired, repaired, with_derived
from maskwright.masking.levels.distortion import doubts_across_levels, suppression_doubts, wrong_edits_across_levels
from maskwright.masking.levels.group_weights import weight_factors, with_weights_of_groups
from maskwright.masking.levels.moving import MovedTogether, Moving, put_on
from maskwright.masking.levels.suppression_state import SuppressionState, codes_taken, suppress_across_levels
from maskwright.masking.promised_classes import smallest_classes
from maskwright.masking.spikes import lost_spikes, spike_notices
from maskwright.planning.levels.level_steps import takes_records
from maskwright.planning.levels.steps import guaranteed_variables, lets_k_go

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Column
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

    Records that are taken from the top level take their members along, and the lower levels are masked without them. A
    record that is taken from a lower level takes the whole top record along; its steps are run again on what is left,
    until none is taken any more, and the other levels are masked then.
    """
    run = _Run(described, seed, reporter, clock)
    top, *lower = planned.loaded.linked.names
    for name in lower:
        if any(takes_records(step) for step in planned.steps[name].steps):
            return run.from_below(planned, name)
    results: dict[str, MaskingResult] = {}
    rows: dict[str, NDArray[np.int64]] = {}
    notices: tuple[Notice, ...] = ()
    if top in planned.ready:
        results[top] = result = run.masked(planned, top)
        kept = result.masked.origin
        if kept is not None:
            rows[top] = kept
            factors = weight_factors(planned.ready[top].original.taken(kept), result.masked)
            left = with_weights_of_groups(planned.loaded.linked.taken(kept), factors)
            message = _removed(planned.loaded.linked, left)
            notices = (Notice("groups-taken-away", "", message, level=top),)
            planned = run.on(planned, left, lower)
    for name in lower:
        if name in planned.ready:
            planned = run.with_keys_above(planned, name, results)
            results[name] = run.masked(planned, name)
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
        found = masked_by_plan(planned.ready[name], self.described, self.seed, self.reporter)
        # What becomes of keys of the levels above is examined, counted and said of their own records.
        above = {key for step in planned.steps[name].steps for key in step.keys_above}
        removal = found.removal
        if removal is not None and above:
            own = tuple(each for each in removal.suppressed if each["variable"] not in above)
            doubts = tuple(each for each in found.doubts if each.subject not in above)
            found = replace(found, removal=replace(removal, suppressed=own), doubts=doubts)
        return replace(
            found,
            notices=tuple(
                each for each in found.notices if each.kind not in OUT_OF_RANGE and each.subject not in above
            ),
        )

    def on(
        self, planned: PlannedLevels, left: LinkedData, names: Sequence[str], above: LinkedData | None = None
    ) -> PlannedLevels:
        """Plan of some levels on the groups that are left; `above`: with the levels above as they are masked."""
        planned = replace(planned, loaded=replace(planned.loaded, linked=left))
        again = {
            name: ready_level(self.described, planned, name, self.reporter, self.clock, above)
            for name in names
            if name in planned.ready
        }
        return replace(planned, ready={**planned.ready, **again})

    def with_keys_above(self, planned: PlannedLevels, name: str, results: Mapping[str, MaskingResult]) -> PlannedLevels:
        """Plan of a level whose steps count k with keys of levels above: as these are published."""
        if not any(step.keys_above for step in planned.steps[name].steps):
            return planned
        linked = planned.loaded.linked
        return self.on(planned, linked, (name,), linked.with_data({of: each.masked for of, each in results.items()}))

    def from_below(self, planned: PlannedLevels, low: str) -> LevelResults:
        before = planned.loaded.linked
        top = before.names[0]
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
            without = linked.above(lost, low, top)
            if without.all():
                raise InputError(
                    f"a {low} that is taken away takes the whole {top} along, and no {top} would be left: use fewer "
                    "keys, or suppress cells"
                )
            planned = self.on(planned, linked.taken(np.flatnonzero(~without).astype(np.int64)), (low,))
        left = planned.loaded.linked
        others = [name for name in before.names if name != low]
        notices: tuple[Notice, ...] = ()
        if taken:
            planned = self.on(planned, left, others)
            along = len(before[low]) - len(left[low]) - taken
            along_with = f"{along} of these {low} records go along with {taken} that steps take away"
            notices = (Notice("groups-taken-away", "", f"{_removed(before, left)}; {along_with}", level=low),)
        found = {name: self.masked(planned, name) for name in others if name in planned.ready} | {low: result}
        results = {name: found[name] for name in before.names if name in found}
        return LevelResults(planned, results, {}, notices)


def _removed(before: LinkedData, left: LinkedData) -> str:
    counts = ", ".join(f"{len(a) - len(b)} {a.name}" for a, b in zip(before, left, strict=True))
    return f"records are taken away in whole {before.levels[0].name} groups: {counts}"


@dataclass(frozen=True, eq=False)
class MaskedLevels:
    """What masking the levels made.

    `linked`: record for record beside the original groups that are left, keys as they were. `results`: of the levels
    that steps mask, before what holds across levels. `rows`: where the records stand in the level that its steps got,
    where these took records away; shape (n,). `emptied`: suppressed cells, those that went because of other records
    among them. `repaired`: what meeting bounds across levels did, where there are some. `together`: what moving groups
    with their members did; none where a step promises k. `notices`: what became of whole groups, and of cells
    because of other records. `by_edit`: records of its level that were moved because of each edit, where groups are
    masked with their members as one. `failing`: those for which no values were found then. `doubts`: about what keeping
    edits across levels did.
    """

    linked: LinkedData
    planned: PlannedLevels
    results: Mapping[str, MaskingResult]
    rows: Mapping[str, NDArray[np.int64]]
    emptied: SuppressionState
    repaired: tuple[Repaired, ...] = ()
    together: tuple[MovedTogether, ...] = ()
    notices: tuple[Notice, ...] = ()
    by_edit: Mapping[str, int] = field(default_factory=dict)
    failing: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()

    @property
    def infeasible(self) -> Mapping[str, int]:
        """Groups for which no values were found that satisfy each edit."""
        return _added(self.failing, *(each.left_by_edit for each in self.together))

    @property
    def adjusted(self) -> dict[str, int]:
        """Records that were moved because of each edit across levels."""
        return _added(
            self.by_edit, *(each.by_edit for each in self.repaired), *(each.by_edit for each in self.together)
        )  # fmt: skip


def _added(*counts: Mapping[str, int]) -> dict[str, int]:
    """Sums of counts."""
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


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
    if masked.repaired or masked.together:
        costs = [*(each.cost for each in masked.repaired), *(each.cost for each in masked.together)]
        distorted = doubts_across_levels(
            loaded,
            planned,
            returned,
            masked.linked,
            sum(costs, Cost()).moves,
            lambda level: _shaped(planned, returned, level),
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
        doubts=(*masked.doubts, *suppression_doubts(loaded, planned, emptied)),
        notices=(*masked.notices, *emptied.notices),
    )  # fmt: skip


def _unsuppressed(column: Column, result: MaskingResult) -> Column:
    """Masked column with the values of its suppressed cells."""
    assert result.removal is not None
    before = result.removal.shown[column.name]
    return before if (column.missing & ~before.missing).any() else column


def _kept_across(
    linked: LinkedData, loaded: LoadedLevels, planned: PlannedLevels, seed: int
) -> tuple[LinkedData, LinkedData, tuple[Repaired, ...]]:
    """Levels with the totals that are derived, the same with the bounds that read these repaired, and the repairs.

    The lower levels first: totals are computed of what is published below them.
    """
    bound = loaded.bound
    derived = kept = linked
    repairs: list[Repaired] = []
    for name in reversed(linked.names[:-1]):
        across = planned.across.of_level(name)
        others = with_derived(with_linked_columns(kept, bound, name), across.derived)
        alone = with_derived(with_linked_columns(derived, bound, name), across.derived) if repairs else others
        derived = put_on(derived, name, alone)
        if across.repaired:
            movable = _shaped(planned, linked, name)
            scale = Standardisation.of(loaded.linked[name].data, movable).scale
            stream = ("levels", "repair") if name == linked.names[0] else ("levels", "repair", name)
            mended = repaired(
                others, across, movable, across.inside[name], [scale[each] for each in movable],
                generator(seed, *stream),
            )  # fmt: skip
            repairs.append(mended)
            others = mended.data
        kept = put_on(kept, name, others)
    return derived, kept, tuple(repairs)


def _suppressed_by_deriving(masked: LinkedData, original: LinkedData, planned: PlannedLevels) -> Iterator[Notice]:
    """Derived cells that had a value and have none: what they are computed from has missing cells."""
    ways = (planned.across, *(() if planned.otherwise is None else (planned.otherwise,)))
    for each in {derived.variable: derived for way in ways for derived in way.derived}.values():
        after, before = (levels[each.level].data[each.variable] for levels in (masked, original))
        lost = int((after.missing & ~before.missing).sum())
        if lost:
            message = (
                f"{each.variable}: {lost:,} cells that had a value are missing in the masked data: what edit "
                f"{each.edit!r} computes them from is missing there"
            )
            yield Notice("derived-cells-missing", each.variable, message, lost, level=each.level, edit=each.edit)


def _spikes_of_totals(masked: LinkedData, original: LinkedData, planned: PlannedLevels) -> Iterator[Notice]:
    """Notices of spikes that totals have lost which are computed instead of masked."""
    for level in original:
        names = planned.across.derived_of(level.name)
        lost = lost_spikes(level.data, masked[level.name].data, names)
        yield from spike_notices(lost, planned.every[level.name].plan)


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
    promised = {name for ready in planned.ready.values() for name in guaranteed_variables(ready.plan)}
    shaped = {
        name: [each for each in _shaped(planned, masked.linked, name) if each not in promised]
        for name in masked.linked.names
    }
    moving = {name: [*names, *planned.across.derived_of(name)] for name, names in shaped.items()}
    scale: dict[str, float] = {}
    for level in loaded.linked:
        scale |= Standardisation.of(level.data, moving[level.name]).scale
    found = Moving(loaded.bound, planned, moving, shaped, scale, seed).onto_edits(masked.linked)
    return replace(
        masked, linked=found.linked, results=_counted_again(masked, found.linked, planned), together=found.together,
        notices=(*masked.notices, *found.notices),
    )  # fmt: skip


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
