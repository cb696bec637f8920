"""What adjusting did to units of variables, in numbers that add up over parts of a file."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.category_adjustment import CategoryCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Integers
    from maskwright.masking.category_adjustment import AdjustedCategories
    from maskwright.masking.unit_adjustment import AdjustedUnit
    from maskwright.planning.model import AdjustmentUnit


EVERY = slice(None)
"""All records."""

Facts = dict[str, Any]


def touched_records(adjusted: AdjustedUnit, kept: Integers | slice = EVERY) -> dict[str, int]:
    """Records of one unit that were moved because of each edit; `kept`: those that are counted."""
    return {name: int(np.sum(adjusted.by_record(rows)[kept])) for name, rows in adjusted.adjustment.touched.items()}


def unit_facts(number: int, found: AdjustedUnit, kept: Integers | slice = EVERY) -> Facts:
    """What adjusting did to one unit in some records.

    `number`: its position in the plan. `kept`: positions of the records that are published; shape (m,).
    """
    adjustment, cost = found.adjustment, found.cost
    return {
        "unit": number,
        "clusters": found.members is not None,
        "rows": len(adjustment.moved),
        "moved": int(adjustment.moved.sum()),
        "fallback": int(adjustment.fallback.sum()),
        "infeasible": int(adjustment.infeasible.sum()),
        "conflicts": [list(names) for names in adjustment.conflicts],
        "dependents": list(adjustment.derivations.dependents),
        "cost": [float(each) for each in adjustment.cost],
        "loss": [cost.method, cost.adjustment, cost.rounding, cost.several_edits],
        "edits": {name: float(value) for name, value in (cost.edits or {}).items()},
        "moves": cost.moves,
        "touched": touched_records(found, kept),
        "failing": dict(adjustment.failing),
        "without_multiples": bool(adjustment.without_multiples.any()),
    }


def moved_facts(found: Sequence[AdjustedUnit], categories: Sequence[AdjustedCategories] = ()) -> Facts:
    """Rows that adjusting moved, each counted once however many of these units it is in."""
    moved = [each.adjustment.moved for each in found if each.unit.edits] + [each.moved for each in categories]
    together: NDArray[np.bool_] = np.logical_or.reduce(moved) if moved else np.zeros(0, dtype=np.bool_)
    return {"rows": len(together), "moved": int(together.sum())}


def category_facts(number: int, found: AdjustedCategories, kept: Integers | slice = EVERY) -> Facts:
    """What adjusting did to one unit of categories in some records; `number` is its position in the plan."""
    counts = found.counts
    return {
        "unit": number,
        "names": list(counts.names),
        "counts": [counts.rows, counts.moved, counts.infeasible, counts.changed, counts.restored],
        "touched": {name: int(rows[kept].sum()) for name, rows in found.touched.items()},
        "failing": dict(found.failing),
    }


class CategoryTotals:
    """One unit of categories over all tasks."""

    def __init__(self, unit: AdjustmentUnit) -> None:
        self.counts = CategoryCounts(unit)
        self.touched: dict[str, int] = {}
        self.failing: dict[str, int] = {}

    def add(self, facts: Mapping[str, Any]) -> None:
        """Add the facts of one task."""
        before = self.counts
        rows, moved, infeasible, changed, restored = facts["counts"]
        self.counts = CategoryCounts(
            before.unit, tuple(dict.fromkeys([*before.names, *facts["names"]])), before.rows + rows,
            before.moved + moved, before.infeasible + infeasible, before.changed + changed, before.restored + restored,
        )  # fmt: skip
        _add_counts(self.touched, facts["touched"])
        _add_counts(self.failing, facts["failing"])


def _add_counts(known: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        known[name] = known.get(name, 0) + int(count)


class UnitTotals:
    """One adjustment unit over all tasks, which are added in the order of their keys."""

    def __init__(self, unit: AdjustmentUnit) -> None:
        self.unit = unit
        self.clusters = False
        self.counts = {"rows": 0, "moved": 0, "fallback": 0, "infeasible": 0}
        self.conflicts: dict[tuple[str, ...], None] = {}
        self.dependents: list[str] = []
        self.deviations = [0.0] * len(unit.variables)
        self.cost = Cost(edits={})
        self.touched: dict[str, int] = {}
        self.failing: dict[str, int] = {}
        self.without_multiples = False

    def add(self, facts: Mapping[str, Any]) -> None:
        """Add the facts of one task."""
        self.without_multiples |= facts["without_multiples"]
        self.clusters = bool(facts["clusters"])
        self.deviations = _together(self.deviations, self.counts["rows"], facts["cost"], facts["rows"])
        for name in self.counts:
            self.counts[name] += int(facts[name])
        self.conflicts |= dict.fromkeys(tuple(each) for each in facts["conflicts"])
        self.dependents = list(facts["dependents"])
        method, adjustment, rounding, several = facts["loss"]
        self.cost += Cost(method, adjustment, rounding, facts["edits"], several, facts["moves"])
        _add_counts(self.touched, facts["touched"])
        _add_counts(self.failing, facts["failing"])

    @property
    def acting_on(self) -> str:
        """What was adjusted."""
        return "representatives" if self.clusters else "records"

    def to_json(self) -> Facts:
        """One adjustment unit, as in `run.json`."""
        return {
            "variables": list(self.unit.variables),
            "edits": list(self.unit.edits),
            "acting_on": self.acting_on,
            **self.counts,
            "conflicts": [list(names) for names in self.conflicts],
            "dependents": self.dependents,
            "cost_sd": dict(zip(self.unit.variables, self.deviations, strict=True)),
            "loss": {
                "method": self.cost.method,
                "adjustment": self.cost.adjustment,
                "rounding": self.cost.rounding,
            },
        }


def _together(one: Sequence[float], rows: int, other: Sequence[float], others: int) -> list[float]:
    """Standard deviations of rows and of others together."""
    if not rows:
        return list(other)
    return [sqrt((a**2 * rows + b**2 * others) / (rows + others)) for a, b in zip(one, other, strict=True)]


def counts_by_edit(shares: Iterable[Mapping[str, int]], edits: EditSet) -> dict[str, int]:
    """Counts of all units together, for each of these edits.

    Of a conjunction whose operands are kept apart, a record counts for each of them that moved it.
    """
    total = dict.fromkeys((edit.name for edit in edits), 0)
    for each in shares:
        _add_counts(total, {name: count for name, count in each.items() if name in total})
    return total
