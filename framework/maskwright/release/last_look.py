"""The last look: of every variable of the file that will be released, how many cells are as they were.

It knows the original and the file that was read back; of the plan, which variables it masks and how many records it
promises to publish alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from maskwright.data.record_classes import class_codes, varying
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.planning.model import Group
    from maskwright.planning.plan import Plan

MOST_UNCHANGED = 50.0
"""Percent of the cells of a confidential variable that may be as they were, unless it is declared."""

FEW_VALUES = 20
"""Different values up to which a number may be a code."""


@dataclass(frozen=True)
class UnchangedCells:
    """Cells of a variable that have the value of the original.

    Attributes
    ----------
    variable : Variable
        As in the original.
    cells : int
        Cells of the released records whose original has a value, other than 0 for a number: zeros are many, and tell
        little.
    unchanged : int
        Those of them that show that value.
    values : int
        How many different ones there are.
    """

    variable: Variable
    cells: int
    unchanged: int
    values: int

    @property
    def percent(self) -> float | None:
        """Share of the cells that are unchanged; None where there are none."""
        return 100 * self.unchanged / self.cells if self.cells else None


def unchanged_cells(original: Dataset, released: Dataset) -> tuple[UnchangedCells, ...]:
    """Compare each released variable with the original, record by record.

    Parameters
    ----------
    original : Dataset
    released : Dataset
        As it was read back; `origin` pairs its records with those of the original. Without it they are paired in
        order.
    """
    origin = _positions(original, released)
    return tuple(_compared(original[column.name], column, origin) for column in released if column.name in original)


def _positions(original: Dataset, released: Dataset) -> NDArray[np.int64] | slice:
    """Where in the original each released record comes from; both may be counted in a file before them."""
    if released.origin is None:
        return slice(None)
    if original.origin is None:
        return released.origin
    order = np.argsort(original.origin, kind="stable")
    return np.asarray(order[np.searchsorted(original.origin, released.origin, sorter=order)], dtype=np.int64)


def _compared(
    before: Column, after: Column, origin: NDArray[np.int64] | slice, chosen: NDArray[np.bool_] | bool = True
) -> UnchangedCells:
    values, telling = before.values[origin], ~before.missing[origin] & chosen
    if before.variable.is_numeric:
        telling &= values != 0
        same = _numbers(after) == values
    else:
        same = _codes(after, before.variable.categories) == values
    same &= telling & ~after.missing
    different = len(pd.unique(values[telling]))
    return UnchangedCells(before.variable, int(np.count_nonzero(telling)), int(np.count_nonzero(same)), different)


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


def unchanged_doubts(
    original: Dataset, released: Dataset, found: Iterable[UnchangedCells], plan: Plan, told: Iterable[Doubt] = ()
) -> Iterator[Doubt]:
    """Doubts about masked variables that are mostly, or altogether, as they were.

    Steps that only remove records or cells may find nothing to remove: what no other step masks is no doubt here. Of a
    variable with one value nothing can be told. Where a step promises k, values that a whole class of records has are
    published by so many; but a number with few values of which nothing is declared may be a code, and is judged by all.

    Parameters
    ----------
    original, released : Dataset
    found : iterable of UnchangedCells
        Of them.
    plan : Plan
        Which variables are masked, and by methods that are to leave most values as they are.
    told : iterable of Doubt
        Of masking: a variable that a step left as it was is not told twice.
    """
    said = {doubt.subject for doubt in told if doubt.kind == "step-changed-nothing"}
    changed_by: dict[str, list[Group]] = {}
    for group in plan.groups:
        for name in () if plan.steps[group.step - 1].only_removes else group.variables:
            changed_by.setdefault(name, []).append(group)
    for seen in found:
        variable, groups = seen.variable, changed_by.get(seen.variable.name, ())
        if not groups or variable.as_is or variable.name in said or seen.values <= 1:
            continue
        few = all(plan.steps[group.step - 1].method.changes_few for group in groups)
        allowed = variable.unchanged
        if allowed is None:
            allowed = 100.0 if few or variable.role != "confidential" else MOST_UNCHANGED
        judged = seen
        promising = [group for group in groups if plan.steps[group.step - 1].promised is not None]
        if promising and variable.unchanged is None and (seen.values > FEW_VALUES or not variable.inferred_role):
            judged = _apart(original, released, promising[-1], seen) if _exceeds(seen, allowed) else seen
        if _exceeds(judged, allowed):
            limit = "" if allowed == 100 else f", and at most {allowed:g} % may be"
            message = f"{seen.unchanged} of {seen.cells} cells with a value are as they were{limit}"
            hint = (
                f"Mask it more strongly, or declare what may stay: `{variable.name}: {{unchanged: 80}}` (in percent)."
            )
            yield Doubt("values-unchanged", variable.name, message, seen.unchanged, seen.cells, hint=hint)


def _exceeds(seen: UnchangedCells, allowed: float) -> bool:
    """Whether more is as it was than may be; all, where nothing less is a doubt and nothing is declared."""
    share = seen.percent
    if share is None or allowed == 100 == seen.variable.unchanged:
        return False
    return share > allowed or share == allowed == 100


def _apart(original: Dataset, released: Dataset, group: Group, seen: UnchangedCells) -> UnchangedCells:
    """Cells of a variable without those whose value all records of their class had."""
    before, origin = original[seen.variable.name], _positions(original, released)
    classes = class_codes(released, [name for name in group.variables if name in released])
    apart = varying(np.where(before.missing, 0, before.values)[origin], classes)
    return _compared(before, released[seen.variable.name], origin, apart)
