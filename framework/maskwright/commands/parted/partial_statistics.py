"""Statistics of parts that add up: of masking and adjusting, drift of moments, and class sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.shuffling import spill, spilled, together
from maskwright.data.classes.classes import Classes
from maskwright.data.sketches.record_hashes import class_hashes
from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.adjusting.distortion import Distortion, Moments
from maskwright.masking.category_adjustment import CategoryCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.masking.category_adjustment import AdjustedCategories
    from maskwright.masking.unit_adjustment import AdjustedUnit
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.plugins.engine import Receipt


Facts = dict[str, Any]


def unit_facts(number: int, found: AdjustedUnit) -> Facts:
    """What adjusting did to one unit in some records; `number` is its position in the plan."""
    adjustment, cost = found.adjustment, found.cost
    return {
        "unit": number,
        "clusters": found.members is not None,
        "rows": len(adjustment.values),
        "moved": int(adjustment.moved.sum()),
        "fallback": int(adjustment.fallback.sum()),
        "infeasible": int(adjustment.infeasible.sum()),
        "conflicts": [list(names) for names in adjustment.conflicts],
        "dependents": list(adjustment.derivations.dependents),
        "squares": [float(each) ** 2 * len(adjustment.values) for each in adjustment.cost],
        "loss": [cost.method, cost.adjustment, cost.rounding, cost.several_edits],
        "edits": {name: float(value) for name, value in (cost.edits or {}).items()},
        "touched": {name: int(found.by_record(rows).sum()) for name, rows in adjustment.touched.items()},
        "failing": dict(adjustment.failing),
        "without_multiples": bool(adjustment.without_multiples.any()),
    }


def moved_facts(found: Sequence[AdjustedUnit], categories: Sequence[AdjustedCategories] = ()) -> Facts:
    """Rows that adjusting moved, each counted once however many of these units it is in."""
    moved = [each.adjustment.moved for each in found if each.unit.edits] + [each.moved for each in categories]
    together: NDArray[np.bool_] = np.logical_or.reduce(moved) if moved else np.zeros(0, dtype=np.bool_)
    return {"rows": len(together), "moved": int(together.sum())}


def category_facts(number: int, found: AdjustedCategories) -> Facts:
    """What adjusting did to one unit of categories in some records; `number` is its position in the plan."""
    counts = found.counts
    return {
        "unit": number,
        "names": list(counts.names),
        "counts": [counts.rows, counts.moved, counts.infeasible, counts.changed, counts.restored],
        "touched": {name: int(rows.sum()) for name, rows in found.touched.items()},
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
        self.squares = [0.0] * len(unit.variables)
        self.cost = Cost(edits={})
        self.touched: dict[str, int] = {}
        self.failing: dict[str, int] = {}
        self.without_multiples = False

    def add(self, facts: Mapping[str, Any]) -> None:
        """Add the facts of one task."""
        self.without_multiples |= facts["without_multiples"]
        self.clusters = bool(facts["clusters"])
        for name in self.counts:
            self.counts[name] += int(facts[name])
        self.conflicts |= dict.fromkeys(tuple(each) for each in facts["conflicts"])
        self.dependents = list(facts["dependents"])
        self.squares = [one + other for one, other in zip(self.squares, facts["squares"], strict=True)]
        method, adjustment, rounding, several = facts["loss"]
        self.cost += Cost(method, adjustment, rounding, facts["edits"], several)
        _add_counts(self.touched, facts["touched"])
        _add_counts(self.failing, facts["failing"])

    @property
    def acting_on(self) -> str:
        """What was adjusted."""
        return "representatives" if self.clusters else "records"

    def to_json(self) -> Facts:
        """As `maskwright.masking.unit_adjustment.unit_json` has it."""
        rows = max(self.counts["rows"], 1)
        return {
            "variables": list(self.unit.variables),
            "edits": list(self.unit.edits),
            "acting_on": self.acting_on,
            **self.counts,
            "conflicts": [list(names) for names in self.conflicts],
            "dependents": self.dependents,
            "cost_sd": {
                name: float(np.sqrt(total / rows))
                for name, total in zip(self.unit.variables, self.squares, strict=True)
            },
            "loss": {
                "method": self.cost.method,
                "adjustment": self.cost.adjustment,
                "rounding": self.cost.rounding,
            },
        }


DRIFT, OBEYING = "drift", "drift of obeying"
"""What a task reports of the moments of its records."""


class DriftTotals:
    """Moments of all parts, added in the order in which the parts are finished."""

    def __init__(self) -> None:
        self.states: dict[str, list[Moments]] = {DRIFT: [], OBEYING: []}
        self.records = 0

    def taken(self, receipt: Receipt) -> Receipt:
        """Take the moments that a finished part reports; its receipt without them."""
        for which, before in self.states.items():
            own = [Moments.from_json(each) for each in receipt.facts.get(which, ())]
            if own:
                self.states[which] = [one + other for one, other in zip(before, own, strict=True)] if before else own
        self.records += int(receipt.facts["records"]) if receipt.facts.get(DRIFT) else 0
        return replace(receipt, facts={name: each for name, each in receipt.facts.items() if name not in self.states})

    @property
    def distortion(self) -> Distortion | None:
        """Of all parts together; None where none has records."""
        return self._of(DRIFT)

    @property
    def distortion_of_obeying(self) -> Distortion | None:
        """Of the records whose original obeys the edits that few violate; None where these are all of them."""
        return self._of(OBEYING)

    def _of(self, which: str) -> Distortion | None:
        states = self.states[which]
        return Distortion(states[0], states[1], states[2], self.records) if states else None


DISTINCT_AT_ONCE = 250_000
"""Classes that one task counts: about 30 MB."""


def spill_classes(path: Path, data: Dataset, names: Sequence[str], tasks: int) -> None:
    """Write the classes of one part and how many of its records are in each, sorted by the task that counts them."""
    columns = Classes.of(class_hashes(data, names)).columns()
    readers = columns["k0"].view(np.uint64) % np.uint64(tasks)
    spill(path, columns, readers.astype(np.int64), tasks)


def count_classes(
    folders: tuple[str, ...],
    least: tuple[int, ...],
    tasks: int,
    folder: Path,  # noqa: ARG001
    key: str,
) -> Mapping[str, object]:
    """Count the classes of one share of the hashes; a task.

    `key`: set of variables, and share: ``2-17``.
    """
    from pathlib import Path as FilePath

    which, share = (int(each) for each in key.split("-"))
    assert share < tasks
    pieces = [spilled(FilePath(each) / f"k{which}", share, share + 1) for each in folders if each]
    found = together(pieces)
    counts = Classes.of_columns(found).records
    if not len(counts):
        return {"smallest": None, "below": 0}
    return {"smallest": int(counts.min()), "below": int(counts[counts < least[which]].sum())}
