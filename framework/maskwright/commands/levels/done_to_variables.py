"""What a run on several levels did to each variable: those that steps see, keys and pointers, totals, whole levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.masking.suppressing.beside import asked_to_suppress, beside_which
from maskwright.release.levels.arranging import places_of
from maskwright.release.record.plan_record import PlanRecord
from maskwright.release.record.run_record import SuppressedCells, VariableRecord
from maskwright.release.treatments import (
    NEW_KEYS,
    UNCHANGED,
    Treatment,
    emptied_beside,
    treatment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.levels.arranging import ArrangedLevels


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
        original = self.whole.arrived.linked[level].data
        return [
            VariableRecord(
                name=column.name, type=column.variable.type, role=original[column.name].variable.role,
                decimals=column.variable.decimals, masked_by=self._computed_by(level, column.name),
                unchanged=None, **self._said(self._treatment(level, column.name)),
            )
            for column in self.released[level].data if column.name not in seen and column.name in original
        ]  # fmt: skip

    def plan_of_unmasked(self, level: str) -> PlanRecord:
        """Plan of a level without steps, of which cells may have gone because of other records."""
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
        return {"done": treated.said, "altered": treated.altered}

    def _treatment(self, level: str, name: str) -> Treatment:
        declared = self.released[level].declared
        key = declared.key
        if name == key:
            if declared.keep_key:
                return UNCHANGED
            return NEW_KEYS if declared.above is None else Treatment("renumbered in the new order", altered=True)
        if name in declared.pointers:
            renumbered = Treatment(f"renumbered with {key}", altered=True)
            return self._of_pointer(level, name) if declared.keep_key else renumbered
        for each in self.masked.planned.across.derived:
            if each.variable == name and level == self.released.names[0]:
                return self._of_derived(level, name, each.edit)
        return self._of_steps(level, name)

    def _of_pointer(self, level: str, name: str) -> Treatment:
        cells = self._emptied(level, name)
        return Treatment(emptied_beside(cells, self._beside(level, name)), altered=True) if cells else UNCHANGED

    def _of_derived(self, level: str, name: str, edit: str) -> Treatment:
        said = f"computed by edit {edit!r} from masked values"
        step = self._computed_by(level, name)
        said += "" if step is None else f" (step {step})"
        cells = self._emptied(level, name)
        return Treatment(f"{said}; {emptied_beside(cells, self._beside(level, name))}" if cells else said, altered=True)

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
        named = (number for number, step in enumerate(self.described.steps, 1) if name in (step.variables or ()))
        of_level = self.masked.planned.steps[level]
        return next(named, next(iter((*of_level.computed, *of_level.numbers)), None))

    def _emptied(self, level: str, name: str) -> int:
        cells = self._cells.get((level, name))
        return 0 if cells is None else int(np.count_nonzero(cells))

    @cached_property
    def _asked(self) -> dict[tuple[str, str], NDArray[np.bool_]]:
        """Cells of the variables that steps suppress for reasons of their own."""
        asked = {
            (level, name)
            for level, ready in self.masked.planned.ready.items()
            for name in asked_to_suppress(ready.plan)
        }
        return {source: cells for source, cells in self._cells.items() if source in asked}

    def _beside(self, level: str, name: str) -> tuple[str, ...]:
        gone = self._cells.get((level, name))
        if gone is None or (level, name) in self._asked or not gone.any():
            return ()
        own = {each: cells for (of, each), cells in self._asked.items() if of == level}
        others = {each: self._said_of(level, cells) for (of, each), cells in self._asked.items() if of != level}
        return beside_which(gone, own, others)

    def _said_of(self, level: str, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of the other level, said of records of this one."""
        top, low = self.masked.linked.levels
        assert low.groups is not None
        if level == low.name:
            return np.asarray(cells[low.groups])
        return np.asarray(np.bincount(low.groups, cells, len(top)) > 0)

    def _is_reweighted(self, level: str, name: str) -> bool:
        """Whether the released weights are others than those of the same records in the file."""
        before = self.whole.arrived.linked[level].data[name]
        if before.variable.role != "weight":
            return False
        places = places_of(self.arranged.linked, self.whole.arrived.linked)[level]
        after = self.released[level].data[name]
        return bool(np.any(after.values != before.values[places]))
