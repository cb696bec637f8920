"""One adjustment unit brought onto its edits and the published grid, and the record of it by edit and unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from maskwright.data.record_chunk import Cells, column_cells
from maskwright.edits.edit import PolynomialPart, ProductPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import MissingAs, nodes
from maskwright.edits.normalisation import as_far_as
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import Adjustment, adjust
from maskwright.masking.adjusting.adjustment_loss import Cost, cost_of, moves_by_edit
from maskwright.masking.adjusting.edit_preparation import domain_values
from maskwright.masking.adjusting.targets import Targets
from maskwright.masking.adjusting.zeros import ZeroTargets
from maskwright.planning.applicable_edits import guaranteed_units
from maskwright.planning.variable_groups import demanded_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.masking.adjusting.row_outcomes import Donors
    from maskwright.masking.category_adjustment import AdjustedCategories, CategoryCounts
    from maskwright.masking.context import MaskingContext, Standardisation
    from maskwright.masking.protecting.assembling import GroupResult
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
    members: Integers | None
    cost: Cost

    def without_values(self) -> AdjustedUnit:
        """Copy without the values of the rows, once they are in a dataset."""
        none = self.adjustment.values[:0].copy()
        return replace(self, adjustment=replace(self.adjustment, values=none, points=none, start=none))

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

    `current`: Masked; the units before this one adjusted.
    """
    own = set(unit.variables)
    edits = as_far_as((context.edits[name] for name in unit.edits), lambda each: not own.isdisjoint(each.variables))
    values, members = _rows(unit, results, current, context.plan)
    variables = tuple(current[name].variable for name in unit.variables)
    companions: dict[str, Cells] = {
        name: column_cells(current[name]) for edit in edits for name in edit.read
        if name not in unit.variables and name in current
    }  # fmt: skip
    with_codes = {
        node.operand.name for edit in edits for node in nodes(edit.expression) if isinstance(node, MissingAs)
    }  # fmt: skip
    moving = {name: column_cells(current[name]) for name in unit.variables if name in with_codes}
    multiples = guaranteed_units(context.plan.promised, variables)
    scale = np.array([standardisation.scale[name] for name in unit.variables])
    weight = np.sqrt(_adjustment_weights(unit, context.plan))
    drawn = members is None and context.plan.drawn.issuperset(unit.variables)
    targets = Targets(variables, companions, members, context.domain, moving, multiples, drawn)
    sets = domain_values(edits, unit, context.plan, context.original, context.whole)

    def adjusted(zeros: ZeroTargets | None) -> Adjustment:
        rng = generator(context.seed, "adjust", *unit.variables)
        more = EditSet() if zeros is None else zeros.edits()
        own = targets if zeros is None else targets.beside(zeros.companions())
        return adjust(
            values if zeros is None else zeros.reflected(values), own, edits + more, scale / weight, rng, sets=sets,
            computed=frozenset(unit.computed), held=None if zeros is None else zeros.held, donors=donors,
        )  # fmt: skip

    zeros = _zero_targets(unit, values, members, current, edits, scale, context)
    adjustment = adjusted(zeros)
    if zeros is not None and adjustment.infeasible.any():
        # An equality may leave no values on the sides on which noise put its variables: it chooses others.
        near = adjusted(zeros.without_sides(adjustment.infeasible))
        zeros = zeros.with_sides_of(near.values, adjustment.infeasible)
        adjustment = adjusted(zeros)
    if zeros is not None and adjustment.infeasible.any():
        # Edits come before structural zeros.
        adjustment = adjusted(zeros.without(adjustment.infeasible))
    adjustment = replace(adjustment, cost=adjustment.cost / weight)
    true = [_true_values(context.original, current, name) for name in unit.variables]
    present = None if context.whole is None else [context.whole.present[name] for name in unit.variables]
    read = {name: context.edits[name].variables for name in unit.edits}
    moves = moves_by_edit(adjustment, values, members, unit.variables, scale, read, _computing(unit, edits))
    cost = cost_of(adjustment, values, members, true, scale, _measured_variables(context), present, moves)
    return AdjustedUnit(unit, adjustment, members, cost)


def _computing(unit: AdjustmentUnit, edits: EditSet) -> dict[str, list[str]]:
    """Edits by which the variables of a unit that the plan computes are computed."""
    products = [
        (edit.name, part.variables) for edit in edits for part in demanded_parts(edit.parts)
        if isinstance(part, ProductPart | PolynomialPart)
    ]  # fmt: skip
    return {name: list(dict.fromkeys(edit for edit, read in products if name in read)) for name in unit.computed}


def _zero_targets(
    unit: AdjustmentUnit, values: Floats, members: Integers | None, current: Dataset, edits: EditSet, scale: Floats,
    context: MaskingContext,
) -> ZeroTargets | None:  # fmt: skip
    """What structural zeros ask of the rows of a unit; None where they ask nothing.

    Clusters are made of records with the same zeros: their representatives are 0 where their records are.
    """
    plan = context.plan
    of_step = {name: step for step in plan.steps for name in step.planning.structural_zeros}
    own = [of_step.get(name) for name in unit.variables]
    if not any(own):
        return None
    zeros, others = np.zeros(values.shape, dtype=np.bool_), np.zeros(values.shape, dtype=np.bool_)
    for place, (name, step) in enumerate(zip(unit.variables, own, strict=True)):
        if step is None:
            continue
        as_masked = members is not None or step.method.claims.draws_records
        true = values[:, place] if as_masked else _true_values(context.original, current, name)
        missing = np.isnan(values[:, place])
        zeros[:, place], others[:, place] = (true == 0) & ~missing, (true != 0) & ~missing
    return ZeroTargets.of([current[name].variable for name in unit.variables], zeros, others, values, edits, scale)


def _rows(
    unit: AdjustmentUnit, results: Sequence[GroupResult], current: Dataset, plan: Plan
) -> tuple[Floats, Integers | None]:
    """Masked values, one row each for what is adjusted, and the row of each record; None when rows are records."""
    result = None if unit.group is None else results[unit.group]
    if unit.group is None or result is None or result.labels is None:
        return current.matrix(unit.variables), None
    assert result.representatives is not None
    if _is_changed_later(unit, plan):
        return _first_of_each(current.matrix(unit.variables), result.labels), result.labels
    columns = [plan.groups[unit.group].variables.index(name) for name in unit.variables]
    return result.representatives[:, columns], result.labels


def _is_changed_later(unit: AdjustmentUnit, plan: Plan) -> bool:
    """Whether a step changes the variables of a unit after the one whose clusters are adjusted."""
    assert unit.group is not None
    later = (group for group in plan.groups[unit.group + 1 :] if not plan.steps[group.step - 1].only_removes)
    return any(not set(group.variables).isdisjoint(unit.variables) for group in later)


def _first_of_each(values: Floats, labels: Integers) -> Floats:
    """First value of each cluster, of records that have one; shape (c, q). Equal records stayed equal."""
    found = np.full((int(labels.max(initial=-1)) + 1, values.shape[1]), np.nan)
    for column in range(values.shape[1]):
        known = np.flatnonzero(~np.isnan(values[:, column]))[::-1]
        # Of several that are written in one place the last one stays: the first record.
        found[labels[known], column] = values[known, column]
    return found


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


def _true_values(original: Dataset, current: Dataset, name: str) -> Floats:
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
