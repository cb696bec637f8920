"""Checks that protection took place: every planned step was run, and how many published cells are unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.stored_cells import rows_of
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import Problem, StepNotDone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan
    from maskwright.release.record.record_parts import PlanRecord
    from maskwright.release.record.run_record import RunRecord


MOST_UNCHANGED = 50.0
"""Percent of the cells of a confidential variable that may be as they were, unless it is declared."""

LEAST_DECLARED = 80
"""Percentage that is proposed to be declared, at least."""

FEW_VALUES = 20
"""Different values up to which a number may be a code."""


@dataclass(frozen=True)
class UnchangedCells:
    """Cells of a variable that have the value of the original.

    `cells`: cells of the released records whose original has a value, other than 0 for a number: zeros are many, and
    tell little. `unchanged`: those of them that show that value. `values`: how many different ones there are. `zeros`:
    cells that are left out since they are 0.
    """

    variable: Variable
    cells: int
    unchanged: int
    values: int
    zeros: int = 0

    @property
    def percent(self) -> float | None:
        """Share of the cells that are unchanged; None where there are none."""
        return 100 * self.unchanged / self.cells if self.cells else None


def unchanged_cells(original: Dataset, released: Dataset) -> tuple[UnchangedCells, ...]:
    """Compare each released variable with the original, record by record."""
    origin = slice(None) if released.origin is None else rows_of(original, released)
    return tuple(_compared(original[column.name], column, origin) for column in released if column.name in original)


def _compared(before: Column, after: Column, origin: NDArray[np.int64] | slice) -> UnchangedCells:
    values, telling = before.values[origin], ~before.missing[origin]
    present = int(np.count_nonzero(telling))
    if before.variable.is_numeric:
        telling &= values != 0
        same = _numbers(after) == values
    else:
        same = _codes(after, before.variable.categories) == values
    same &= telling & ~after.missing
    different = int(pc.count_distinct(pa.array(values[telling])).as_py())
    cells = int(np.count_nonzero(telling))
    return UnchangedCells(before.variable, cells, int(np.count_nonzero(same)), different, present - cells)


def _numbers(column: Column) -> NDArray[np.float64]:
    """Values; of categories, the numbers that their texts are."""
    if column.variable.is_numeric:
        return np.asarray(column.values, dtype=np.float64)
    numbers = np.array([*map(_number, column.variable.categories), np.nan])
    return np.asarray(numbers[column.values], dtype=np.float64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _codes(column: Column, categories: Sequence[str]) -> NDArray[np.int64]:
    """Position of each cell's text in the categories of the original; -1 for another text."""
    if column.variable.is_numeric:
        known: Mapping[float, int] = {_number(text): position for position, text in enumerate(categories)}
        found, places = np.unique(column.values, return_inverse=True)
        return np.array([known.get(value, -1) for value in found.tolist()], dtype=np.int64)[places]
    position_of = {text: position for position, text in enumerate(categories)}
    new = np.array([*(position_of.get(text, -1) for text in column.variable.categories), -1], dtype=np.int64)
    return np.asarray(new[column.values], dtype=np.int64)


def unchanged_doubts(found: Iterable[UnchangedCells], plan: Plan, told: Iterable[Doubt] = ()) -> Iterator[Doubt]:
    """Doubts about masked variables that are mostly, or altogether, as they were.

    Steps that only remove records or cells may find nothing to remove: what no other step masks is no doubt here. Of a
    variable with one value nothing follows. A step that promises k hides records among others, not values: where
    like records are many, most stay. But a number with few values of which nothing is declared may be a code. A total
    that is derived across levels is as it was where nothing that it is computed from is masked.
    """
    messages = {doubt.subject for doubt in told if doubt.kind == "step-changed-nothing"}
    derived = {each.name for each in plan.derived}
    changed_by: dict[str, list[Step]] = {}
    for group in plan.groups:
        step = plan.steps[group.step - 1]
        for name in () if step.only_removes else group.variables:
            changed_by.setdefault(name, []).append(step)
    for seen in found:
        variable, share, steps = seen.variable, seen.percent, changed_by.get(seen.variable.name, ())
        is_masked = bool(steps) or variable.name in derived
        if share is None or not is_masked or variable.as_is or variable.name in messages or seen.values == 1:
            continue
        allowed = variable.unchanged
        if allowed is None:
            may_stay = bool(steps) and _may_stay(seen, steps)
            allowed = MOST_UNCHANGED if variable.role == "confidential" and not may_stay else 100.0
        if share > allowed or (share == 100 and variable.unchanged is None):
            limit = "" if allowed == 100 else f", and at most {allowed:g} % may be"
            value = "a value other than 0" if seen.zeros else "a value"
            message = f"{seen.unchanged} of {seen.cells} cells with {value} are as they were{limit}"
            instead = "Mask it more strongly" if steps else "It is derived from others: mask these"
            passing = max(LEAST_DECLARED, ceil(share))
            hint = f"{instead}, or declare the percentage that may stay: `{variable.name}: {{unchanged: {passing}}}`."
            if any(step.within for step in steps):
                hint += " Where it is constant in the strata of `within`, who knows these knows it: nothing masks it."
            yield Doubt("values-unchanged", variable.name, message, seen.unchanged, seen.cells, hint=hint)


def _may_stay(seen: UnchangedCells, steps: Sequence[Step]) -> bool:
    """Whether the methods are expected to leave most values of a variable as they are."""
    may_be_code = seen.values <= FEW_VALUES and seen.variable.inferred_role
    promised = any(step.promised is not None for step in steps)
    return (promised and not may_be_code) or all(step.method.claims.changes_few for step in steps)


_HINT = "nothing was published; this is a mistake in Maskwright: please report it with the pipeline, without data"


def require_every_step_planned(steps: Sequence[Step], plan: PlanRecord) -> None:
    """Refuse a plan that lacks a step."""
    planned = {each.step for each in plan.steps if each.groups}
    _refuse(Problem(f"{step} is not in the plan", step.place, _HINT) for step in steps if step.number not in planned)


def require_every_step_run(steps: Sequence[Step], record: RunRecord) -> None:
    """Refuse to release what a step of the plan was not run on."""
    require_every_step_planned(steps, record.plan)
    run = {(each.step, frozenset(each.variables)) for each in record.methods}
    _refuse(
        Problem(f"step {each.step} ({each.method}) was not run on {', '.join(group.variables)}", None, _HINT)
        for each in record.plan.steps
        for group in each.groups
        if set(group.variables) > set(group.computed) and (each.step, frozenset(group.variables)) not in run
    )


def _refuse(problems: Iterator[Problem]) -> None:
    found = list(problems)
    if found:
        raise StepNotDone(found)
