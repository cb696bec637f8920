"""One adjustment unit, from what the methods returned to values on its edits and on the published grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from maskwright.data.record_chunk import Cells, column_cells
from maskwright.edits.conjuncts import as_far_as
from maskwright.edits.expression import MissingAs, nodes
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import Adjustment, adjust
from maskwright.masking.adjusting.cost import Cost, cost_of
from maskwright.masking.adjusting.domain_values import domain_values
from maskwright.masking.adjusting.targets import Targets
from maskwright.planning.limits import promised_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.masking.adjusting.donors import Donors
    from maskwright.masking.context import MaskingContext
    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.masking.standardisation import Standardisation
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class AdjustedUnit:
    """An adjustment unit and what adjusting did to it.

    `members`: row of each record, where the rows are representatives of clusters; None: rows are records; shape (n,).
    """

    unit: AdjustmentUnit
    adjustment: Adjustment
    members: NDArray[np.int64] | None
    cost: Cost

    def without_values(self) -> AdjustedUnit:
        """Copy without the values of the rows, once they are in a dataset."""
        none = self.adjustment.values[:0].copy()
        return replace(self, adjustment=replace(self.adjustment, values=none, points=none))

    def by_record(self, rows: NDArray[Number]) -> NDArray[Number]:
        """One value for each row, shape (r, ...), given to the records of the row: shape (n, ...)."""
        return rows if self.members is None else rows[self.members]


def adjust_unit(
    unit: AdjustmentUnit,
    results: Sequence[GroupResult],
    current: Dataset,
    standardisation: Standardisation,
    context: MaskingContext,
    donors: Donors | None = None,
) -> AdjustedUnit:
    """Bring the variables of one unit onto their edits: its representatives where it has them, else its records.

    `results`: what the methods returned, by group of the plan. `current`: Masked; the units before this one adjusted.
    `donors`: of the whole file, where the records are some of it.
    """
    own = set(unit.variables)
    edits = as_far_as((context.edits[name] for name in unit.edits), lambda each: not own.isdisjoint(each.variables))
    values, members = _rows(unit, results, current, context.plan)
    variables = tuple(current[name].variable for name in unit.variables)
    companions: dict[str, Cells] = {
        name: column_cells(current[name]) for name in edits.variables if name not in unit.variables and name in current
    }
    asked = {
        node.operand.name for edit in edits for node in nodes(edit.expression) if isinstance(node, MissingAs)
    }  # fmt: skip
    moving = {name: column_cells(current[name]) for name in unit.variables if name in asked}
    multiples = promised_units(context.plan.promised, variables)
    scale = np.array([standardisation.scale[name] for name in unit.variables])
    weight = np.sqrt(_adjustment_weights(unit, context.plan))
    adjustment = adjust(
        values, Targets(variables, companions, members, context.domain, moving, multiples), edits, scale / weight,
        generator(context.seed, "adjust", *unit.variables),
        sets=domain_values(edits, unit, context.plan, context.original, context.whole),
        computed=frozenset(unit.computed), donors=donors,
    )  # fmt: skip
    adjustment = replace(adjustment, cost=adjustment.cost / weight)
    true = [_true_values(context.original, current, name) for name in unit.variables]
    present = None if context.whole is None else [context.whole.present[name] for name in unit.variables]
    cost = cost_of(adjustment, values, members, true, scale, _measured_variables(context), present)
    return AdjustedUnit(unit, adjustment, members, cost)


def _rows(
    unit: AdjustmentUnit, results: Sequence[GroupResult], current: Dataset, plan: Plan
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Masked values, one row each for what is adjusted, and the row of each record; None when rows are records."""
    result = None if unit.group is None else results[unit.group]
    if unit.group is None or result is None or result.labels is None:
        return current.matrix(unit.variables), None
    assert result.representatives is not None
    columns = [plan.groups[unit.group].variables.index(name) for name in unit.variables]
    return result.representatives[:, columns], result.labels


def _adjustment_weights(unit: AdjustmentUnit, plan: Plan) -> list[float]:
    """Weight of each variable of the unit in the distance that adjusting keeps small."""
    weights = {name: weight for step in plan.steps for name, weight in step.planning.adjustment_weights.items()}
    return [weights.get(name, 1.0) for name in unit.variables]


def _measured_variables(context: MaskingContext) -> int:
    """Number of masked numeric variables that have a value: loss is the mean over them."""
    plan = context.plan
    if context.whole is not None:
        return context.whole.measured
    return sum(plan.variables[name].is_numeric and not context.original[name].missing.all() for name in plan.masked)


def _true_values(original: Dataset, current: Dataset, name: str) -> NDArray[np.float64]:
    """Original values of the records that are still there; shape (n,)."""
    values = np.asarray(original[name].values, dtype=np.float64)
    return values if current.origin is None else values[current.origin]


def with_adjusted_values(data: Dataset, adjusted: AdjustedUnit) -> Dataset:
    """Dataset with the adjusted values in the columns of the unit; missing cells stay missing."""
    changed: dict[str, Column] = {}
    for position, name in enumerate(adjusted.unit.variables):
        column = data[name]
        values = adjusted.by_record(adjusted.adjustment.values[:, position])
        missing = column.missing | np.isnan(values)
        changed[name] = column.changed(np.where(missing, np.nan, values), missing)
    return data.with_columns(changed)
