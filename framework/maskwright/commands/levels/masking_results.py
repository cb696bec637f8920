"""Results of masking several levels: changed weights, derived totals, class sizes, ranges, and variables treated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.disclosure.attacks.weight import (
    factors_of_weights,
    masked_categories,
    published_weights,
    same_weight_doubts,
    strata_doubts,
    weight_doubts,
)
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.findings import Notice
from maskwright.masking.masked_value_checks import range_counts, range_notices
from maskwright.masking.suppressing.inference_findings import complementary_to, primary_suppressions
from maskwright.planning.levels.level_steps import takes_records
from maskwright.release.codebook import (
    NEW_KEYS,
    UNCHANGED,
    Treatment,
    complementary_note,
    treatment,
)
from maskwright.release.levels.arrangement import places_of
from maskwright.release.levels.class_sizes import CountedLevel, class_sizes
from maskwright.release.record.record_parts import PlanRecord
from maskwright.release.record.run_record import GroupClassSizes, SuppressedCells, VariableRecord
from maskwright.release.wording import k_among_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.levels.arrangement import ArrangedLevels
    from maskwright.release.record.run_record import LikeClasses, RunRecord


def with_changed_weights(
    record: RunRecord, whole: PlannedLevels, left: PlannedLevels, rows: Mapping[str, NDArray[np.int64]]
) -> RunRecord:
    """Record in which the weights of the lower levels count as changed where groups were taken away.

    The steps of a lower level get these weights as they are published, so that its own record has them as unchanged.

    `rows`: groups that are left, where steps of the upper level took some away; shape (n,).
    """
    top, *lower = whole.loaded.linked.names
    if top not in rows:
        return record
    before, after = whole.loaded.linked.taken(rows[top]), left.loaded.linked
    found = whole.steps[top]
    step = next(own.number for own in found.steps if takes_records(own))
    shares = {
        column.name: float(100 * np.mean(column.values == before[low].data[column.name].values))
        for low in lower for column in after[low].data
        if column.variable.role == "weight" and column.variable.is_numeric
        and not np.array_equal(column.values, before[low].data[column.name].values, equal_nan=True)
    }  # fmt: skip
    variables = tuple(
        each.model_copy(update={"masked_by": step, "unchanged": shares[each.name]}) if each.name in shares else each
        for each in record.variables
    )
    untouched = tuple(name for name in record.plan.untouched if name not in shares)
    return record.model_copy(
        update={"variables": variables, "plan": record.plan.model_copy(update={"untouched": untouched})}
    )


def weight_doubts_across(
    whole: PlannedLevels, masked: LinkedData, rows: Mapping[str, NDArray[np.int64]]
) -> Iterator[Doubt]:
    """Doubts about suppressed cells that the weights of members show, of members and of groups without weights.

    `rows`: groups that are left, where steps of the upper level took some away; shape (n,).
    """
    top = masked.names[0]
    if top not in rows:
        return
    before = whole.loaded.linked.taken(rows[top])
    for above, low in masked.pairs:
        groups = masked.groups_in(low, above)
        of_groups, of_members = (factors_of_weights(before[name].data, masked[name].data) for name in (above, low))
        shown = of_members or {name: factor[groups] for name, factor in of_groups.items()}
        for name, factor in shown.items():
            yield from weight_doubts(name, factor, before[low].data, masked[low].data)
        if of_groups:
            continue
        firsts = np.searchsorted(groups, np.arange(len(masked[above])))
        for name, factor in of_members.items():
            of_first = factor[np.minimum(firsts, max(len(factor) - 1, 0))]
            yield from weight_doubts(name, of_first, before[above].data, masked[above].data)


def original_doubts_across(
    whole: PlannedLevels, left: PlannedLevels, masked: LinkedData, rows: Mapping[str, NDArray[np.int64]]
) -> Iterator[Doubt]:
    """Doubts about recoded, perturbed or suppressed categories of one level that follow from the weights of another.

    `rows`: groups that are left, where steps of the upper level took some away; shape (n,).
    """
    top = masked.names[0]
    # Steps of any level take groups away.
    original = whole.loaded.linked
    before = original.taken(places_of(masked, original)[top])
    names = {name: masked_categories(ready.plan) for name, ready in left.ready.items()}
    for above, low in masked.pairs:
        groups = masked.groups_in(low, above)
        if not len(groups):
            continue
        own = (before[low].data, masked[low].data)
        for each in published_weights(before[above].data, masked[above].data):
            of_members = each.taken(groups)
            yield from strata_doubts(of_members, names.get(low, ()), *own, groups)
            yield from same_weight_doubts(each.name, of_members.values, *own, groups)
        # The file of members was examined with the weights as its steps got them, multiplied already.
        for each in published_weights(*own) if top in rows else ():
            if each.factor is not None:
                factor_alone = each._replace(values=np.full(len(groups), np.nan))
                yield from strata_doubts(factor_alone, names.get(low, ()), *own, groups)
        # One member of each group: whoever has its members has their weights.
        there, firsts = np.unique(groups, return_index=True)
        for each in published_weights(*own):
            of_groups = (before[above].data.taken(there), masked[above].data.taken(there))
            yield from strata_doubts(each.taken(firsts), names.get(above, ()), *of_groups)
            yield from same_weight_doubts(each.name, each.values[firsts], *of_groups)


def with_totals(seen: Dataset, level: Dataset, totals: Collection[str]) -> Dataset:
    """Copy with derived totals at their places in the file."""
    own = {each.name: each for each in seen}
    own |= {name: level[name] for name in totals}
    return replace(seen, columns=tuple(own[name] for name in dict.fromkeys((*level.names, *own)) if name in own))


def class_sizes_of(planned: PlannedLevels, masked: MaskedLevels) -> tuple[LikeClasses, ...]:
    """Sizes of classes: each group of variables for its own k, the others for the largest; none without a k."""
    promised = [step.k for ready in planned.ready.values() for step in ready.plan.steps if step.k is not None]
    if not promised:
        return ()
    largest = max((*promised, *(each["expected"] for own in masked.results.values() for each in own.k["groups"])))
    counted = {}
    for level in masked.linked:
        ready = planned.ready.get(level.name)
        changed = () if ready is None else tuple(name for name in ready.plan.changed if name in level.data)
        groups = _counted_together(planned, masked, level.name, largest)
        counted[level.name] = CountedLevel(groups, changed, planned.across.derived_of(level.name))
    return class_sizes(masked.linked, counted, largest)


def class_size_notices(masked: MaskedLevels, alike: Sequence[LikeClasses]) -> tuple[Notice, ...]:
    """What to tell of groups that are unlike others although their records are not."""
    if not alike or not alike[-1].below:
        return ()
    top = masked.linked.levels[0].name
    whole = alike[-1]
    groups = [GroupClassSizes.model_validate(each) for own in masked.results.values() for each in own.k["groups"]]
    message = f"{k_among_records(groups)}Derived totals, and the key that says who belongs together, tell "
    message += f"{top} records apart: {whole.below:,} of {whole.records:,} are unlike k - 1 others"
    return (Notice("groups-unlike-others", "", message, whole.below, whole.records, level=top),)


def _counted_together(
    planned: PlannedLevels, masked: MaskedLevels, level: str, largest: int
) -> dict[tuple[str, ...], int]:
    """Variables of a level that steps mask together, and those that a step promises k of, each once; and their k."""
    if level not in planned.ready:
        return {}
    plan = planned.ready[level].plan
    found = {
        frozenset(each.variables): (each.variables, 0)
        for each in plan.groups
        if plan.steps[each.step - 1].method.changes_cells
    }
    for each in masked.results[level].k["groups"] if level in masked.results else ():
        names = tuple(each["variables"])
        first, k = found.get(frozenset(names), (names, 0))
        found[frozenset(names)] = first, max(k, each["expected"])
    # A step whose variables are all derived has a column of its own, which is not published.
    there = set(masked.linked[level].data.names)
    return {names: k or largest for names, k in found.values() if there.issuperset(names)}


def range_notices_of_levels(planned: PlannedLevels, masked: MaskedLevels) -> tuple[Notice, ...]:
    """Notices of masked values of any level beyond the original's smallest or largest value: counts alone."""
    left: dict[str, tuple[int, int]] = {}
    for level in masked.linked:
        ready = planned.ready.get(level.name)
        names = [] if ready is None else list(ready.plan.masked)
        names += planned.across.derived_of(level.name)
        names += () if planned.otherwise is None else planned.otherwise.derived_of(level.name)
        original = planned.loaded.linked[level.name].data
        there = [name for name in dict.fromkeys(names) if name in level.data and name in original]
        left |= range_counts(original, level.data, there)
    bound = planned.loaded.bound
    stated = {edit.name: edit for edits in bound.edits.values() for edit in edits}
    return tuple(range_notices(left, EditSet(tuple(stated.values()))))


@dataclass(frozen=True, eq=False)
class DoneToVariables:
    """What was done to the variables of each level.

    `whole`: of all groups that came to the steps. `released`: as it was read back.
    """

    described: Pipeline
    whole: PlannedLevels
    masked: MaskedLevels
    released: LinkedData
    arranged: ArrangedLevels

    def of_steps(self, level: str, variables: Iterable[VariableRecord]) -> tuple[VariableRecord, ...]:
        """Variables that the steps of a level see, with the cells of them that went because of other records."""
        known = self.released[level].data
        return tuple(
            each.model_copy(update=self._said(self._treatment(level, each.name))) for each in variables
            if each.name in known
        )  # fmt: skip

    def of_others(self, level: str) -> list[VariableRecord]:
        """Variables of a level that its steps never see: keys, pointers, and what is derived."""
        ready = self.masked.planned.ready.get(level)
        seen = () if ready is None else ready.original.names
        original = self.whole.loaded.linked[level].data
        return [
            VariableRecord(
                name=column.name, type=column.variable.type, role=original[column.name].variable.role,
                decimals=column.variable.decimals, masked_by=self._computed_by(level, column.name),
                unchanged=None, **self._said(self._treatment(level, column.name)),
            )
            for column in self.released[level].data if column.name not in seen and column.name in original
        ]  # fmt: skip

    def plan_of_unmasked(self, level: str) -> PlanRecord:
        """Plan of a level without steps, of which cells may be suppressed because of other records."""
        plan = PlanRecord.model_validate(self.masked.planned.unmasked[level].plan.to_json())
        gone = tuple(name for (of, name), cells in self._cells.items() if of == level and cells.any())
        return plan.model_copy(update={"may_lose_cells": gone})

    def suppressed_elsewhere(self) -> Iterator[SuppressedCells]:
        """Cells of levels that no step masks, which went because of other records."""
        for (level, name), gone in self._cells.items():
            if level not in self.masked.results:
                count = int(gone.sum())
                yield SuppressedCells(variable=name, cells=count, complementary=count, for_dependencies=0)

    @property
    def _cells(self) -> dict[tuple[str, str], NDArray[np.bool_]]:
        return dict(self.masked.emptied.cells)

    @staticmethod
    def _said(treated: Treatment) -> dict[str, Any]:
        return {"done": treated.text, "altered": treated.altered}

    def _treatment(self, level: str, name: str) -> Treatment:
        declared = self.released[level].declared
        key = declared.key
        if name == key:
            if declared.keep_key:
                return UNCHANGED
            is_new = self.arranged.linked[level].data[key].variable.renewed
            return NEW_KEYS if is_new else Treatment("renumbered in the new order", altered=True)
        if name in declared.pointers:
            done = self._complementary(level, name) if declared.keep_key else f"renumbered with {key}"
            return Treatment(done, altered=True) if done else UNCHANGED
        for each in self.masked.planned.across.derived:
            if each.variable == name and each.level == level:
                return self._of_derived(level, name, each.edit)
        return self._of_steps(level, name)

    def _of_derived(self, level: str, name: str, edit: str) -> Treatment:
        step = self._computed_by(level, name)
        message = f"computed by edit {edit!r} from masked values" + ("" if step is None else f" (step {step})")
        return Treatment("; ".join(filter(None, (message, self._complementary(level, name)))), altered=True)

    def _complementary(self, level: str, name: str) -> str:
        """What is said of cells that went because of others; empty: none did."""
        cells = self._emptied(level, name)
        return complementary_note(cells, self._beside(level, name)) if cells else ""

    def _of_steps(self, level: str, name: str) -> Treatment:
        ready = self.masked.planned.every[level]
        if name not in ready.plan.variables:
            return UNCHANGED
        return treatment(
            ready.plan, name, self._emptied(level, name), self._beside(level, name),
            reweighted=self._is_reweighted(level, name),
        )  # fmt: skip

    def _computed_by(self, level: str, name: str) -> int | None:
        """Number of the step that names a derived variable, or else of the first of its level."""
        if name not in {each.variable for each in self.masked.planned.across.derived}:
            return None
        named = (step.number for step in self.described.steps if name in (step.variables or ()))
        of_level = self.masked.planned.steps[level]
        return next(named, next(iter((*of_level.computed, *(step.number for step in of_level.steps))), None))

    def _emptied(self, level: str, name: str) -> int:
        cells = self._cells.get((level, name))
        return 0 if cells is None else int(np.count_nonzero(cells))

    @cached_property
    def _asked(self) -> dict[tuple[str, str], NDArray[np.bool_]]:
        """Cells of the variables that steps suppress for reasons of their own."""
        requested = {
            (level, name)
            for level, ready in self.masked.planned.ready.items()
            for name in primary_suppressions(ready.plan)
        }
        return {source: cells for source, cells in self._cells.items() if source in requested}

    def _beside(self, level: str, name: str) -> tuple[str, ...]:
        gone = self._cells.get((level, name))
        if gone is None or (level, name) in self._asked or not gone.any():
            return ()
        own = {each: cells for (of, each), cells in self._asked.items() if of == level}
        others = {
            each: self._of_other_level(level, of, cells) for (of, each), cells in self._asked.items() if of != level
        }  # fmt: skip
        return complementary_to(gone, own, others)

    def _of_other_level(self, level: str, of: str, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of another level, said of records of this one."""
        linked = self.masked.linked
        if (of, level) in linked.pairs:
            return np.asarray(cells[linked.groups_in(level, of)])
        return linked.above(cells, of, level)

    def _is_reweighted(self, level: str, name: str) -> bool:
        """Whether the released weights are others than those of the same records in the file."""
        before = self.whole.loaded.linked[level].data[name]
        if before.variable.role != "weight":
            return False
        places = places_of(self.arranged.linked, self.whole.loaded.linked)[level]
        after = self.released[level].data[name]
        return bool(np.any(after.values != before.values[places]))
