"""Groups that cannot be moved onto totals that stand: their totals are derived instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.masking.levels.derived import with_derived
from maskwright.masking.levels.repair import repaired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.levels.across import AcrossLevels


def derived_instead(
    linked: LinkedData,
    bound: BoundEdits,
    across: AcrossLevels,
    groups: NDArray[np.int64],
    scale: Mapping[str, float],
    movable: Sequence[str],
    rng: np.random.Generator,
) -> LinkedData:
    """Levels in which the totals of some groups are derived, and bounds that read them are met.

    `across`: as planned where every total is derived that can be. `groups`: positions in the upper level. `movable`:
    numeric variables of the upper level that steps mask.
    """
    top = linked.levels[0]
    beside = with_linked_columns(linked.taken(groups), bound, top.name)
    beside = with_derived(beside, across.derived)
    derived = {each.variable for each in across.derived}
    if across.repaired:
        left = [name for name in movable if name not in derived]
        beside = repaired(beside, across, left, across.inside[top.name], [scale[name] for name in left], rng).data
    columns = {}
    for name in {*movable, *derived}:
        values, missing = top.data[name].values.copy(), top.data[name].missing.copy()
        values[groups], missing[groups] = beside[name].values, beside[name].missing
        columns[name] = top.data[name].changed(values, missing)
    return linked.with_data({top.name: top.data.with_columns(columns)})
