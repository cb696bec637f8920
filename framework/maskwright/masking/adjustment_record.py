"""What adjusting did, counted by edit and by unit, as `run.json` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.category_adjustment import AdjustedCategories, CategoryCounts
    from maskwright.masking.unit_adjustment import AdjustedUnit


def adjusted_by_edit(
    units: Sequence[AdjustedUnit],
    categories: Sequence[AdjustedCategories],
    edits: EditSet,
    kept: NDArray[np.int64],
) -> dict[str, int]:
    """Published records whose masked values were moved because of each edit.

    Of a conjunction whose operands are kept apart, a record counts for each of them that moved it.

    `edits`: of the published file: those that moved nothing count 0, and one that a later step let go is not counted.
    `kept`: positions of the records that are published; shape (m,).
    """
    counts = dict.fromkeys((edit.name for edit in edits), 0)
    for each in units:
        for name in each.unit.edits:
            touched = each.adjustment.touched.get(name)
            if touched is not None and name in counts:
                counts[name] += int(np.sum(each.by_record(touched)[kept]))
    for found in categories:
        for name in counts.keys() & found.touched.keys():
            counts[name] += int(np.sum(found.touched[name][kept]))
    return counts


def infeasible_by_edit(
    units: Sequence[AdjustedUnit], categories: Sequence[AdjustedCategories], edits: EditSet
) -> dict[str, int]:
    """Rows that violate each edit after adjustment."""
    counts = dict.fromkeys((edit.name for edit in edits), 0)
    for each in units:
        for name in counts.keys() & each.unit.edits:
            counts[name] += each.adjustment.failing.get(name, 0)
    for found in categories:
        for name in counts.keys() & found.failing.keys():
            counts[name] += found.failing[name]
    return counts


def unit_json(adjusted: AdjustedUnit) -> dict[str, Any]:
    """One adjustment unit."""
    unit, adjustment, cost = adjusted.unit, adjusted.adjustment, adjusted.cost
    return {
        "variables": list(unit.variables),
        "edits": list(unit.edits),
        "acting_on": _acting_on(adjusted),
        "rows": len(adjustment.moved),
        "moved": int(adjustment.moved.sum()),
        "fallback": int(adjustment.fallback.sum()),
        "infeasible": int(adjustment.infeasible.sum()),
        "conflicts": [list(names) for names in adjustment.conflicts],
        "dependents": list(adjustment.derivations.dependents),
        "cost_sd": {name: float(cost) for name, cost in zip(unit.variables, adjustment.cost, strict=True)},
        "loss": {"method": cost.method, "adjustment": cost.adjustment, "rounding": cost.rounding},
    }


def category_unit_json(adjusted: CategoryCounts) -> dict[str, Any]:
    """One unit of categories; a change of category has no size in standard deviations."""
    return {
        "variables": list(adjusted.unit.variables),
        "edits": list(adjusted.unit.edits),
        "acting_on": "records",
        "rows": adjusted.rows,
        "moved": adjusted.moved,
        "fallback": 0,
        "infeasible": adjusted.infeasible,
        "conflicts": [],
        "dependents": [],
        "cost_sd": {},
        "loss": {"method": 0.0, "adjustment": 0.0, "rounding": 0.0},
    }


def moved_json(units: Sequence[AdjustedUnit], categories: Sequence[AdjustedCategories]) -> Iterator[dict[str, Any]]:
    """Rows moved, over all units that act on the same rows: the representatives of one group, or the records."""
    together: dict[int | None, list[AdjustedUnit]] = {}
    for each in units:
        if each.unit.edits:
            together.setdefault(None if each.members is None else each.unit.group, []).append(each)
    if categories:
        together.setdefault(None, [])
    for group in sorted(together, key=lambda group: (group is None, group)):
        found = together[group]
        others = categories if group is None else ()
        moved = np.logical_or.reduce([each.adjustment.moved for each in found] + [each.moved for each in others])
        yield {
            "acting_on": "records" if others else _acting_on(found[0]),
            "variables": [list(unit.variables) for unit in (*(e.unit for e in found), *(e.unit for e in others))],
            "rows": len(moved),
            "moved": int(moved.sum()),
        }


def _acting_on(adjusted: AdjustedUnit) -> str:
    return "records" if adjusted.members is None else "representatives"
