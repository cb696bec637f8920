"""Masked values of levels that have left the range of the original: counted in what is released of every level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.masking.values_out_of_range import range_counts, range_sentences

if TYPE_CHECKING:
    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.commands.levels.planning import PlannedLevels


def range_notices_of_levels(planned: PlannedLevels, masked: MaskedLevels) -> tuple[str, ...]:
    """Sentences on masked values of any level beyond the original's smallest or largest value; counts, never a value.

    `planned`: of all groups that came to the steps: their values are the range. `masked`: as it is released: derived,
    moved with others and rounded, which masking a level by itself knows nothing of.
    """
    left: dict[str, tuple[int, int]] = {}
    for level in masked.linked:
        ready = planned.ready.get(level.name)
        names = [] if ready is None else list(ready.plan.masked)
        if level is masked.linked.levels[0]:
            names += [each.variable for each in planned.across.derived]
            names += [] if planned.otherwise is None else [each.variable for each in planned.otherwise.derived]
        original = planned.arrived.linked[level.name].data
        there = [name for name in dict.fromkeys(names) if name in level.data and name in original]
        left |= range_counts(original, level.data, there)
    bound = planned.arrived.bound
    stated = {edit.name: edit for edits in bound.edits.values() for edit in edits}
    return tuple(range_sentences(left, EditSet(tuple(stated.values()))))
