"""Masking level by level, and what holds across levels: derived, repaired, and put together again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.whole_groups import mask_whole_groups, results_of_levels
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.randomness import generator
from maskwright.masking.context import Execution
from maskwright.masking.equivalence_classes import smallest_classes
from maskwright.masking.levels.derived import with_derived
from maskwright.masking.levels.derived_instead import derived_instead
from maskwright.masking.levels.repair import Repaired, repaired
from maskwright.masking.levels.together import MovedTogether, moved_together
from maskwright.masking.mask import mask
from maskwright.masking.standardisation import Standardisation
from maskwright.planning.levels.promises import lets_k_go

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.levels.arriving import ArrivedLevels
    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline


@dataclass(frozen=True, eq=False)
class MaskedLevels:
    """What masking the levels made.

    Attributes
    ----------
    linked : LinkedData
        Record for record beside the original, keys as they were.
    results : mapping of level name to MaskingResult
        Of the levels that steps mask, before what holds across levels.
    repaired : Repaired or None
        What meeting bounds across levels did; None where there are none.
    together : MovedTogether or None
        What moving groups with their members did; None where a step promises k.
    notices : tuple of str
    by_edit : mapping of edit name to int
        Groups that were moved because of each edit where they are masked with their members as one record.
    """

    linked: LinkedData
    results: Mapping[str, MaskingResult]
    repaired: Repaired | None = None
    together: MovedTogether | None = None
    notices: tuple[str, ...] = ()
    by_edit: Mapping[str, int] = field(default_factory=dict)

    @property
    def adjusted(self) -> dict[str, int]:
        """Records that were moved because of each edit across levels."""
        counts = dict(self.by_edit if self.repaired is None else self.repaired.by_edit)
        for name, count in ({} if self.together is None else self.together.by_edit).items():
            counts[name] = counts.get(name, 0) + count
        return counts


def mask_levels(
    described: Pipeline, arrived: ArrivedLevels, planned: PlannedLevels, seed: int, reporter: Reporter
) -> MaskedLevels:
    """Mask each level, and derive across levels.

    Parameters
    ----------
    described : Pipeline
    arrived : ArrivedLevels
    planned : PlannedLevels
    seed : int
    reporter : Reporter

    Raises
    ------
    InputError
        A step that takes records away on its own: members would miss their group.
    """
    if planned.whole is not None:
        whole = mask_whole_groups(described, arrived, planned.whole, seed, reporter)
        return MaskedLevels(whole.linked, results_of_levels(whole.linked, planned.ready), by_edit=whole.adjusted)
    execution = Execution.of(described.execution)
    results = {}
    linked = arrived.linked
    changed = {}
    for level in linked:
        ready = planned.ready.get(level.name)
        if ready is None:
            continue
        results[level.name] = result = mask(ready.original, ready.edits, ready.plan, seed, execution, reporter)
        if result.masked.origin is not None:
            message = f"steps on the level {level.name} take single records away, and groups would lose members"
            raise InputError(Problem(message, hint="Take a method that keeps all records."))
        named = {column.name: column for column in result.masked if column.name in level.data}
        gone = [name for name in level.data.names if name in ready.original.names and name not in named]
        changed[level.name] = level.data.with_columns(named).without(gone)
    linked, mended = _kept_across(linked.with_data(changed), arrived, planned, seed)
    masked = MaskedLevels(linked, results, mended)
    return _moved_together(masked, arrived, planned, seed) if lets_k_go(described.steps) else masked


def _kept_across(
    linked: LinkedData, arrived: ArrivedLevels, planned: PlannedLevels, seed: int
) -> tuple[LinkedData, Repaired | None]:
    """Derive across levels, and repair the bounds that read what is derived."""
    top = linked.levels[0].name
    beside = with_linked_columns(linked, arrived.bound, top)
    beside = with_derived(beside, planned.across.derived)
    mended = None
    if planned.across.repaired:
        movable = _shaped(planned, linked, top)
        scale = Standardisation.of(arrived.linked[top].data, movable).scale
        mended = repaired(
            beside, planned.across, movable, planned.across.inside[top], [scale[name] for name in movable],
            generator(seed, "levels", "repair"),
        )  # fmt: skip
        beside = mended.data
    kept = linked[top].data
    own = replace(kept, columns=tuple(beside[column.name] for column in kept))
    return linked.with_data({top: own}), mended


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


def _moved_together(masked: MaskedLevels, arrived: ArrivedLevels, planned: PlannedLevels, seed: int) -> MaskedLevels:
    """Move groups in which an edit does not hold yet; where that cannot be, derive their totals."""
    across, linked = planned.across, masked.linked
    top = linked.levels[0]
    shaped = {level.name: _shaped(planned, linked, level.name) for level in linked}
    moving = {name: [each for each in names if each not in across.standing] for name, names in shaped.items()}
    moving[top.name] += [each.variable for each in across.derived]
    scale: dict[str, float] = {}
    for level in arrived.linked:
        every = dict.fromkeys((*moving[level.name], *shaped[level.name]))
        scale |= Standardisation.of(level.data, list(every)).scale
    found = moved_together(linked, arrived.bound, moving, scale, top.declared.largest_group, seed)
    linked, left = found.linked, np.flatnonzero(found.left)
    derives = planned.otherwise is not None and len(left) > 0
    if planned.otherwise is not None and derives:
        rng = generator(seed, "levels", "derived instead")
        linked = derived_instead(linked, arrived.bound, planned.otherwise, left, scale, shaped[top.name], rng)
    said = _notices(found, top.name, derives=derives)
    return replace(masked, linked=linked, results=_counted_again(masked, linked, planned), together=found, notices=said)


def _counted_again(masked: MaskedLevels, linked: LinkedData, planned: PlannedLevels) -> dict[str, MaskingResult]:
    """Results of the levels with what moved, and with the classes that are left of k."""
    results = {}
    for name, result in masked.results.items():
        moved = {column.name: column for column in linked[name].data if column.name in result.masked}
        data = result.masked.with_columns(moved)
        results[name] = replace(result, masked=data, k=smallest_classes(data, planned.ready[name].plan))
    return results


def _notices(found: MovedTogether, top: str, *, derives: bool) -> tuple[str, ...]:
    said = []
    if found.moved.any():
        said.append(
            f"{int(found.moved.sum()):,} {top} records were moved with their members onto edits: k does not hold for "
            "what was moved"
        )
    instead = "their totals are derived" if derives else "they are left as they are"
    for name, count in found.failing.items():
        said.append(f"edit {name!r}: no values were found for {count:,} {top} records and their members; {instead}")
    if found.large.any():
        said.append(
            f"{int(found.large.sum()):,} {top} records have more members than largest_group, {instead}"
        )  # fmt: skip
    return tuple(said)
