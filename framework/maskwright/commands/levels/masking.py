"""Masking level by level, and what holds across levels: derived, repaired, and put together again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.commands.levels.removing import results_of_levels
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.randomness import generator
from maskwright.masking.levels.derived import with_derived
from maskwright.masking.levels.emptied import Emptied, emptied_cells
from maskwright.masking.levels.repair import Repaired, repaired
from maskwright.masking.standardisation import Standardisation

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.commands.running.arrive import Clock
    from maskwright.data.dataset import Column
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
        Record for record beside the original groups that are left, keys as they were.
    planned : PlannedLevels
        On these groups.
    results : mapping of level name to MaskingResult
        Of the levels that steps mask, before what holds across levels.
    rows : mapping of level name to ndarray of shape (n,), int64
        Where the records stand in the level that its steps got, where these took records away.
    emptied : Emptied
        Suppressed cells, those that went because of other records among them.
    repaired : Repaired or None
        What meeting bounds across levels did; None where there are none.
    notices : tuple of str
        What became of whole groups, and of cells because of other records.
    """

    linked: LinkedData
    planned: PlannedLevels
    results: Mapping[str, MaskingResult]
    rows: Mapping[str, NDArray[np.int64]]
    emptied: Emptied
    repaired: Repaired | None = None
    notices: tuple[str, ...] = ()


def mask_levels(
    described: Pipeline, planned: PlannedLevels, seed: int, reporter: Reporter, clock: Clock
) -> MaskedLevels:
    """Mask each level, and derive across levels.

    Parameters
    ----------
    described : Pipeline
    planned : PlannedLevels
    seed : int
    reporter : Reporter
    clock : Clock

    Raises
    ------
    InputError
        No record would be left, or a suppressed cell follows from what cannot be suppressed.
    """
    masked = results_of_levels(described, planned, seed, reporter, clock)
    planned, results = masked.planned, dict(masked.results)
    arrived = planned.arrived
    changed = {}
    for level in arrived.linked:
        result = results.get(level.name)
        if result is None:
            continue
        # Suppressed cells have their values here: what is derived is derived from them, and emptied in the end.
        named = {each.name: _unsuppressed(each, result) for each in result.masked if each.name in level.data}
        asked = planned.ready[level.name].original.names
        gone = [name for name in level.data.names if name in asked and name not in named]
        changed[level.name] = level.data.with_columns(named).without(gone)
    linked = arrived.linked.with_data(changed)
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
    shown = linked.with_data({top: own})
    originals = {level.name: level.data for level in arrived.linked}
    emptied = emptied_cells(
        shown, originals, results, {name: ready.plan for name, ready in planned.ready.items()}, arrived.bound
    )
    return MaskedLevels(
        emptied.linked, planned, emptied.results, masked.rows, emptied, mended, (*masked.notices, *emptied.notices)
    )


def _unsuppressed(column: Column, result: MaskingResult) -> Column:
    """Masked column with the values of its suppressed cells."""
    assert result.removal is not None
    before = result.removal.shown[column.name]
    return before if (column.missing & ~before.missing).any() else column
