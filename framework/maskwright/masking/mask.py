"""Protect, adjust, round: from a dataset and a plan to a masked dataset, all in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.record_chunk import Cells, column_cells
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.progress import Reporter, part, stage
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import Adjustment, adjust
from maskwright.masking.adjusting.cost import Cost, cost_of
from maskwright.masking.adjusting.domain_values import domain_values
from maskwright.masking.adjusting.drift import Drift, drift_of
from maskwright.masking.adjusting.targets import Targets
from maskwright.masking.equivalence_classes import k_report
from maskwright.masking.protecting.assembling import GroupResult, with_group
from maskwright.masking.protecting.local import Execution, GroupWork, Observer, Standardisation, protect_group
from maskwright.masking.suppressing.steps import Removal, remove
from maskwright.masking.values_out_of_range import range_notices
from maskwright.planning.criteria import is_zero
from maskwright.planning.plan import with_fewer_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.planning.model import AdjustmentUnit, Group
    from maskwright.planning.plan import Plan


LARGE_DRIFT = 0.1
"""Shift of a mean or covariance by adjustment from which on a notice tells of it, in standard deviations."""


@dataclass(frozen=True, eq=False)
class MaskingResult:
    """A masked dataset and what was done to make it.

    Attributes
    ----------
    masked : Dataset
        Identifiers dropped; record order and missing cells as in the original.
    adjusted : mapping of edit name to int
        Records whose masked values were moved because of the edit.
    infeasible : mapping of edit name to int
        Records that violate the edit after adjustment.
    adjustment : tuple of mappings
        One for each unit with edits, as in `run.json`.
    moved : tuple of mappings
        Rows that adjusting moved, each counted once however many units it is in, as in `run.json`.
    k : mapping
        As in `run.json`.
    notes : tuple of mappings
        What methods said, by step and group.
    zeros : tuple of mappings
        Share of zeros before and after, for variables with structural zeros.
    notices : tuple of str
        What methods and adjustment did that a person should know.
    cost : Cost
        Of masking, adjusting and rounding.
    removal : Removal
        What the last steps took away.
    drift : Drift or None
        How far adjustment and rounding moved means and covariances of the masked numeric variables.
    """

    masked: Dataset
    adjusted: Mapping[str, int]
    infeasible: Mapping[str, int]
    adjustment: tuple[Mapping[str, Any], ...]
    moved: tuple[Mapping[str, Any], ...]
    k: Mapping[str, Any]
    notes: tuple[Mapping[str, Any], ...]
    zeros: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    drift: Drift | None = None
    removal: Removal | None = None

    @property
    def edits(self) -> EditSet:
        """Edits that hold in `masked`: when everything they read is there, where cells were suppressed."""
        assert self.removal is not None
        return self.removal.edits

    def without_data(self) -> MaskingResult:
        """Copy whose `masked` has no records, once they are written: measuring needs the memory."""
        empty = tuple(Column(each.variable, each.values[:0].copy(), each.missing[:0].copy()) for each in self.masked)
        removal = None if self.removal is None else replace(self.removal, data=replace(self.masked, columns=empty))
        return replace(self, masked=replace(self.masked, columns=empty), removal=removal)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """One adjustment unit, adjusted; `members` gives the row of each record, None when rows are records."""

    unit: AdjustmentUnit
    adjustment: Adjustment
    members: NDArray[np.int64] | None
    cost: Cost


def mask(
    data: Dataset,
    edits: EditSet,
    plan: Plan,
    seed: int,
    execution: Execution,
    reporter: Reporter,
    observe: Observer | None = None,
) -> MaskingResult:
    """Run a plan.

    Parameters
    ----------
    data : Dataset
        The original.
    edits : EditSet
        That the masked data have to satisfy.
    plan : Plan
    seed : int
    execution : Execution
    reporter : Reporter
    observe : callable, optional
        Told of each block before and after a method masks it.

    Raises
    ------
    EditError
        When a domain edit has no value that may be republished.
    PluginError
        When a method breaks its contract.
    """
    came_from, data = data.origin, replace(data, origin=None)
    standard = Standardisation.of(data, plan.masked)
    current = data
    results: list[GroupResult] = []
    for number, step in enumerate(plan.steps[: plan.shaping], 1):
        groups = [group for group in plan.groups if group.step == number]
        with stage(reporter, f"Masking, step {number}: {step.method.name}") as progress:
            source = current
            for position, planned in enumerate(groups):
                share = part(progress, position / len(groups), (position + 1) / len(groups))
                group = planned
                if source.origin is not None:
                    group = with_fewer_records(plan, planned, data.taken(source.origin))
                work = _work(group, plan, edits)
                with step.placed(f"step {number} ({step.method.name}): "):
                    result = protect_group(source, work, standard, seed, execution, observe, share)
                if result.kept_rows is not None:
                    results = [each.taken(result.kept_rows) for each in results]
                results.append(result)
                current = with_group(current, result)
        if "detail" in step.method.removes:
            standard = standard.updated(current, [name for group in groups for name in group.variables])
    domain = Domain.from_dataset(data, domain_tuples(edits))
    unadjusted = current
    with stage(reporter, "Adjusting and rounding") as progress:
        outcomes: list[_Outcome] = []
        for position, unit in enumerate(plan.units):
            outcome = _adjust_unit(unit, plan, results, current, data, edits, domain, standard, seed)
            current = _with_values(current, outcome)
            outcomes.append(outcome)
            progress((position + 1) / len(plan.units))
    removal = remove(current, data, plan, edits, domain, standard, seed, execution, reporter, observe)
    results.extend(removal.results)
    masked = removal.data.without(plan.dropped)
    if came_from is not None:
        masked = replace(masked, origin=came_from if masked.origin is None else came_from[masked.origin])
    zeros = tuple(_zeros(data, masked, plan))
    numeric = [name for name in plan.masked if current[name].variable.is_numeric]
    drift = drift_of(unadjusted, current, numeric, standard.scale)
    return MaskingResult(
        replace(masked, notes=()),
        _records_by_edit(outcomes, edits, "touched", removal.rows),
        _records_by_edit(outcomes, edits, "failing", removal.rows),
        tuple(_unit_json(outcome) for outcome in outcomes if outcome.unit.edits),
        tuple(_moved_json(outcomes)),
        k_report(masked, plan),
        tuple(
            {"step": group.step, "variables": list(group.variables), **result.notes}
            for group, result in zip(plan.groups, results, strict=True)
        ),
        zeros,
        (
            *_warnings(plan, results),
            *_zero_notices(zeros),
            *range_notices(data, masked, numeric, edits),
            *_conflicts(outcomes),
            *_drift_notices(drift),
            *removal.notices,
        ),
        sum((each.cost for each in outcomes), Cost()),
        drift,
        removal,
    )


def _zeros(original: Dataset, masked: Dataset, plan: Plan) -> Iterator[Mapping[str, Any]]:
    """Share of the cells with a value that are 0, before and after."""
    for number, step in enumerate(plan.steps, 1):
        for name in step.planning.structural_zeros:
            before, after = (
                float(np.sum(is_zero(data[name])) / max(int(np.sum(~data[name].missing)), 1))
                for data in (original, masked)
            )
            yield {"step": number, "variable": name, "before": before, "after": after}


def _zero_notices(zeros: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in zeros:
        yield (
            f"structural zeros of {each['variable']}: {100 * each['before']:.2f} % of the values before, "
            f"{100 * each['after']:.2f} % after"
        )


def _drift_notices(drift: Drift | None) -> Iterator[str]:
    if drift is not None and max(drift.mean, drift.covariance) > LARGE_DRIFT:
        one, other = drift.covariance_of
        second = f"variance of {one}" if one == other else f"covariance of {one} and {other}"
        yield (
            f"adjusting and rounding moved the mean of {drift.mean_of} by {drift.mean:.2g} standard deviations and the "
            f"{second} by {drift.covariance:.2g} (in standard deviations)"
        )


def _warnings(plan: Plan, results: Sequence[GroupResult]) -> Iterator[str]:
    """What methods warn of."""
    for group, result in zip(plan.groups, results, strict=True):
        shown = ", ".join(group.variables[:5]) + (", ..." if len(group.variables) > 5 else "")
        method = plan.steps[group.step - 1].method.name
        for warning in result.notes.get("warnings", ()):
            yield f"step {group.step} ({method}) on {shown}: {warning}"


def _conflicts(outcomes: Sequence[_Outcome]) -> Iterator[str]:
    """Edits that records could not be brought onto together, whatever is masked."""
    for outcome in outcomes:
        for names in outcome.adjustment.conflicts:
            *others, last = names
            several = f"{', '.join(others)} and {last} together" if others else last
            yield f"in some records no masked values satisfy {several}: their unmasked values exclude it"


def _work(group: Group, plan: Plan, edits: EditSet) -> GroupWork:
    step = plan.steps[group.step - 1]
    assert group.strata is not None
    inside = EditSet(tuple(edits[name] for name in group.edits))
    return GroupWork(
        group.step, step.method, step.params, group.variables, group.operators, inside, group.strata.codes,
        step.independents,
    )  # fmt: skip


def _adjust_unit(
    unit: AdjustmentUnit,
    plan: Plan,
    results: Sequence[GroupResult],
    current: Dataset,
    original: Dataset,
    edits: EditSet,
    domain: Domain,
    standard: Standardisation,
    seed: int,
) -> _Outcome:
    """Adjust one unit."""
    rules = EditSet(tuple(edits[name] for name in unit.edits))
    members: NDArray[np.int64] | None = None
    values: NDArray[np.float64]
    result = None if unit.group is None else results[unit.group]
    if unit.group is not None and result is not None and result.labels is not None:
        assert result.representatives is not None
        places = [plan.groups[unit.group].variables.index(name) for name in unit.variables]
        members, values = result.labels, result.representatives[:, places]
    else:
        values = current.matrix(unit.variables)
    variables = tuple(current[name].variable for name in unit.variables)
    companions: dict[str, Cells] = {
        name: column_cells(current[name]) for name in rules.variables if name not in unit.variables and name in current
    }
    scale = np.array([standard.scale[name] for name in unit.variables])
    weights = {name: weight for step in plan.steps for name, weight in step.planning.adjustment_weights.items()}
    weight = np.sqrt([weights.get(name, 1.0) for name in unit.variables])
    adjustment = adjust(
        values, Targets(variables, companions, members, domain), rules, scale / weight,
        generator(seed, "adjust", *unit.variables),
        sets=domain_values(rules, unit, plan, original), computed=frozenset(unit.computed),
    )  # fmt: skip
    adjustment = replace(adjustment, cost=adjustment.cost / weight)
    numeric = sum(plan.variables[name].is_numeric and not original[name].missing.all() for name in plan.masked)
    true = [_true_values(original, current, name) for name in unit.variables]
    return _Outcome(unit, adjustment, members, cost_of(adjustment, values, members, true, scale, numeric))


def _true_values(original: Dataset, current: Dataset, name: str) -> NDArray[np.float64]:
    """Original values of the records that are still there; shape (n,)."""
    values = np.asarray(original[name].values, dtype=np.float64)
    return values if current.origin is None else values[current.origin]


def _with_values(data: Dataset, outcome: _Outcome) -> Dataset:
    unit, adjustment, members = outcome.unit, outcome.adjustment, outcome.members
    changed: dict[str, Column] = {}
    for position, name in enumerate(unit.variables):
        column = data[name]
        values = adjustment.values[:, position]
        spread = values if members is None else values[members]
        missing = column.missing | np.isnan(spread)
        changed[name] = Column(column.variable, np.where(missing, np.nan, spread), missing)
    return data.with_columns(changed)


def _records_by_edit(
    outcomes: Sequence[_Outcome], edits: EditSet, what: str, kept: NDArray[np.int64]
) -> dict[str, int]:
    """Count records by edit: those touched among the records that are published, or all rows that failed."""
    counts = dict.fromkeys((edit.name for edit in edits), 0)
    for outcome in outcomes:
        adjustment, members = outcome.adjustment, outcome.members
        for name in outcome.unit.edits:
            if what == "failing":
                counts[name] += adjustment.failing.get(name, 0)
                continue
            rows = adjustment.touched.get(name)
            if rows is not None:
                counts[name] += int(np.sum((rows if members is None else rows[members])[kept]))
    return counts


def _moved_json(outcomes: Sequence[_Outcome]) -> Iterator[dict[str, Any]]:
    """Rows moved, over all units that act on the same rows: the representatives of one group, or the records."""
    together: dict[int | None, list[_Outcome]] = {}
    for outcome in outcomes:
        if outcome.unit.edits:
            together.setdefault(None if outcome.members is None else outcome.unit.group, []).append(outcome)
    for home in sorted(together, key=lambda home: (home is None, home)):
        found = together[home]
        moved = np.logical_or.reduce([outcome.adjustment.moved for outcome in found])
        yield {
            "acting_on": "records" if home is None else "representatives",
            "variables": [list(outcome.unit.variables) for outcome in found],
            "rows": len(moved),
            "moved": int(moved.sum()),
        }


def _unit_json(outcome: _Outcome) -> dict[str, Any]:
    unit, adjustment, members, cost = outcome.unit, outcome.adjustment, outcome.members, outcome.cost
    return {
        "variables": list(unit.variables),
        "edits": list(unit.edits),
        "acting_on": "records" if members is None else "representatives",
        "rows": len(adjustment.values),
        "moved": int(adjustment.moved.sum()),
        "fallback": int(adjustment.fallback.sum()),
        "infeasible": int(adjustment.infeasible.sum()),
        "conflicts": [list(names) for names in adjustment.conflicts],
        "dependents": list(adjustment.derivations.dependents),
        "cost_sd": {name: float(cost) for name, cost in zip(unit.variables, adjustment.cost, strict=True)},
        "loss": {"method": cost.method, "adjustment": cost.adjustment, "rounding": cost.rounding},
    }
