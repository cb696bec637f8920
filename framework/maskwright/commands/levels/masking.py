"""Masking level by level, and what holds across levels: derived, repaired, and put together again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.randomness import generator
from maskwright.masking.context import Execution
from maskwright.masking.levels.derived import with_derived
from maskwright.masking.levels.repair import Repaired, repaired
from maskwright.masking.mask import mask
from maskwright.masking.standardisation import Standardisation

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
    """

    linked: LinkedData
    results: Mapping[str, MaskingResult]
    repaired: Repaired | None = None


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
    execution = Execution(described.execution.workers, described.execution.block_size)
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
    linked = linked.with_data(changed)
    top = linked.levels[0].name
    beside = with_linked_columns(linked, arrived.bound, top)
    beside = with_derived(beside, planned.across.derived)
    mended = None
    if planned.across.repaired:
        result_of_top = results.get(top)
        movable = [] if result_of_top is None else list(planned.ready[top].plan.masked)
        movable = [name for name in movable if beside[name].variable.is_numeric]
        scale = Standardisation.of(arrived.linked[top].data, movable).scale
        mended = repaired(
            beside, planned.across, movable, planned.across.inside[top], [scale[name] for name in movable],
            generator(seed, "levels", "repair"),
        )  # fmt: skip
        beside = mended.data
    kept = linked[top].data
    own = replace(kept, columns=tuple(beside[column.name] for column in kept))
    return MaskedLevels(linked.with_data({top: own}), results, mended)
