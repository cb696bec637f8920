"""Protect, adjust, round: from a dataset and a plan to a masked dataset, all in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.normalisation import as_far_as, is_inside
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Progress, Reporter, part, stage
from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.adjusting.distortion import Distortion
from maskwright.masking.adjusting.moved_through_edits import moved_through_edits
from maskwright.masking.context import Execution, MaskingContext, Observer, Standardisation, in_published_terms
from maskwright.masking.distortion_doubts import DistortionDoubts, EditEffects, distortion_beyond_errors
from maskwright.masking.masked_value_checks import (
    CodedValues,
    coded_value_notices,
    coded_values,
    guarantee_doubts,
    moved_zeros,
    range_counts,
    range_notices,
    unchanged_counts,
    unchanged_doubts,
    value_as_code_doubts,
    zero_counts,
)
from maskwright.masking.masking_result import (
    MaskingResult,
    Removal,
    category_notices,
    conflict_notices,
    household_doubts,
    method_doubts,
    method_warnings,
    notices_of_edits,
    published_note_doubts,
    spread_findings,
    structural_zeros,
    uncut_notices,
    zero_notices,
    zeros_of_others,
)
from maskwright.masking.promised_classes import smallest_classes
from maskwright.masking.protecting.assembling import GroupResult, with_group
from maskwright.masking.protecting.local import protect_group
from maskwright.masking.protecting.method_contract import broken_aggregation_claims
from maskwright.masking.protecting.processes import worker_processes
from maskwright.masking.protecting.variable_group import GroupWork
from maskwright.masking.removal_doubts import removal_doubts
from maskwright.masking.spikes import lost_spikes, spike_doubts, spike_notices
from maskwright.planning.applicable_edits import StepLimit, limit_edits, without_violations
from maskwright.planning.keepers import limit_keeper
from maskwright.planning.make_plan import with_fewer_records
from maskwright.planning.warnings.wrong_edits import violated_by_errors
from maskwright.plugins.guarding.origin import package_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Integers
    from maskwright.masking.category_adjustment import AdjustedCategories
    from maskwright.masking.unit_adjustment import AdjustedUnit
    from maskwright.planning.model import AdjustmentUnit, Group, Keeper, Step
    from maskwright.planning.plan import Plan
    from maskwright.plugins.method import Limit


def mask(
    original: Dataset,
    edits: EditSet,
    plan: Plan,
    seed: int,
    execution: Execution,
    reporter: Reporter,
    observe: Observer | None = None,
    *,
    is_part: bool = False,
) -> MaskingResult:
    """Run a plan; `is_part`: of records of which others are masked apart, and all are judged together."""
    context = MaskingContext(
        replace(original.as_published(), origin=None), edits + plan.limits, plan, seed, execution, reporter, observe
    )
    with worker_processes(execution) as workers:
        protected = _protect(replace(context, workers=workers))
    context = in_published_terms(context, protected.data)
    known, edits = with_found_limits(context.plan, context.edits, protected.limits(context.plan))
    context = replace(context, plan=known, edits=edits)
    # Numbers come after, which may depend on categories.
    categories: tuple[AdjustedCategories, ...] = ()
    if context.plan.category_units:
        from maskwright.masking.category_adjustment import adjust_categories, with_categories

        categories = tuple(adjust_categories(unit, protected.data, context) for unit in context.plan.category_units)
        protected = replace(protected, data=with_categories(protected.data, categories))
    adjusted, units = _adjust(protected, context)
    numeric = [
        name for name in context.plan.masked
        if adjusted[name].variable.is_numeric and context.original[name].variable.is_numeric
    ]  # fmt: skip
    returned = protected.data
    if not context.plan.draws_records:
        limited = {each.limit.variable for each in context.plan.promised}
        returned = moved_through_edits(context.original, returned, adjusted, context.plan.edits, limited)
    states = (context.original, returned, adjusted)
    distortion = Distortion.of(*states, numeric, protected.standardisation)

    def obeying() -> Distortion | None:
        kept = _obeying(*states, units, context)
        return None if kept is None else Distortion.of(*kept, numeric, protected.standardisation)

    effects = [EditEffects(each.unit.variables, each.cost.moves, each.unit.computed) for each in units]
    distorted = distortion_beyond_errors(
        distortion, obeying, effects, context.plan.variables, context.plan, context.edits
    )
    without_errors = obeying() if is_part else None
    # All cells are in `adjusted` now, and what comes needs the memory.
    protected = replace(protected, data=adjusted, results=tuple(each.without_cells() for each in protected.results))
    if any(step.only_removes and step.method.has_keys for step in plan.steps) or plan.steps[plan.shaping :]:
        from maskwright.masking.suppressing.suppression_steps import remove

        removal = remove(adjusted, protected.standardisation, context)
        distorted += removal_doubts(distortion, adjusted, removal, protected.standardisation, context.plan)
    else:
        stated = in_published_terms(context, adjusted).edits
        removal = Removal(adjusted, (), np.arange(len(adjusted)), stated, adjusted, stated=stated)
    return _result(original, protected, units, categories, removal, (distortion, distorted, without_errors), context)


@dataclass(frozen=True, eq=False)
class _Protected:
    """What the steps that shape values made: `results` has one for each group; not adjusted."""

    data: Dataset
    results: tuple[GroupResult, ...]
    standardisation: Standardisation
    doubts: tuple[Doubt, ...] = ()
    coded: tuple[CodedValues, ...] = ()
    unkept: tuple[Keeper, ...] = ()

    def limits(self, plan: Plan) -> tuple[StepLimit, ...]:
        """Limits that methods found in the data, of variables that are published as values."""
        results = zip(plan.groups, self.results, strict=False)
        return limits_found(plan, ((group, result.limits) for group, result in results))


def limits_found(plan: Plan, found: Iterable[tuple[Group, Iterable[Limit]]]) -> tuple[StepLimit, ...]:
    """Limits that methods found in the data of each group, of variables that are published as values."""
    return tuple(
        StepLimit(plan.steps[group.step - 1], limit)
        for group, limits in found
        for limit in limits
        if limit.variable not in plan.recoded
    )


def with_found_limits(plan: Plan, edits: EditSet, limits: tuple[StepLimit, ...]) -> tuple[Plan, EditSet]:
    """Plan and edits in which the limits that methods found bind what comes after, adjustment first."""
    found = limit_edits(limits, plan.variables, found=True)
    found = EditSet(tuple(edit for edit in found if edit.name not in {known.name for known in plan.limits}))

    def bound(unit: AdjustmentUnit) -> AdjustmentUnit:
        return replace(unit, edits=(*unit.edits, *(edit.name for edit in found.on(unit.variables))))

    units = tuple(bound(unit) for unit in plan.units)
    return replace(plan, units=units, promised=(*plan.promised, *limits)), edits + found


def _protect(context: MaskingContext) -> _Protected:
    """Run the steps of the plan in order, all but the last ones that only remove."""
    plan = context.plan
    protected = _Protected(context.original, (), Standardisation.of(context.original, plan.masked))
    for position, step in enumerate(plan.steps[: plan.shaping], 1):
        function = step.method.remove if step.method.is_remover else step.method.protect
        title = f"Masking, step {step.number}: {step.method.name}{package_label(function)}"
        with stage(context.reporter, title) as progress:
            protected = _protect_step(position, step, protected, context, progress)
    return protected


def _protect_step(
    place: int, step: Step, before: _Protected, context: MaskingContext, progress: Progress
) -> _Protected:
    """Mask the groups of one step, each from what the steps before made."""
    context = in_published_terms(context, before.data)
    groups = [group for group in context.plan.groups if group.step == place]
    data, results, standardisation = before.data, list(before.results), before.standardisation
    for position, planned in enumerate(groups):
        group = planned
        if before.data.origin is not None:
            group = with_fewer_records(context.plan, planned, context.original.taken(before.data.origin))
        share = part(progress, position / len(groups), (position + 1) / len(groups))
        with step.placed(step.number, step.method.name):
            work = group_work(group, step, context.edits, context.plan.masked)
            result = protect_group(before.data, work, standardisation, context, share)
        if result.kept_rows is not None:
            results = [each.taken(result.kept_rows) for each in results]
        results.append(result)
        data = with_group(data, result)
    if "detail" in step.method.claims.removes:
        standardisation = standardisation.updated(data, [name for group in groups for name in group.variables])
    doubts = [
        doubt
        for group, result in zip(groups, results[len(before.results) :], strict=True)
        for doubt in unchanged_doubts(step, [unchanged_counts(step, group.variables, before.data, data, result.labels)])
    ]
    found = [limit for result in results[len(before.results) :] for limit in result.limits]
    coded = coded_values(step.number, found, before.data, data) if not step.only_removes else ()
    unkept = [
        keeper
        for group, result in zip(groups, results[len(before.results) :], strict=True)
        for keeper in broken_aggregation_claims(step, group, result, context.edits)
    ]
    return _Protected(
        data, tuple(results), standardisation, (*before.doubts, *doubts), (*before.coded, *coded),
        (*before.unkept, *unkept),
    )  # fmt: skip


def group_work(group: Group, step: Step, edits: EditSet, masked: Collection[str]) -> GroupWork:
    """What is to be done with a variable group."""
    assert group.strata is not None
    own = as_far_as((edit for edit in edits if edit.name in group.edits), is_inside(group.variables, masked))
    companions = step.companions
    if step.method.claims.companions_of_edits:
        tied = (name for name in own.variables if name not in group.variables)
        companions = tuple(dict.fromkeys([*companions, *tied]))
    chosen = step.aggregation
    operators = tuple(chosen if chosen is not None and name == str(chosen) else name for name in group.operators)
    return GroupWork(
        step.number, group.step, step.method, step.params, group.variables, operators, own, group.strata.codes,
        companions, step.planning.structural_zeros, step.holds_zeros,
    )  # fmt: skip


def _adjust(protected: _Protected, context: MaskingContext) -> tuple[Dataset, tuple[AdjustedUnit, ...]]:
    """Bring the masked values onto the edits and onto the published grid, unit by unit."""
    from maskwright.masking.unit_adjustment import (  # of units with several levels of values
        adjust_unit,
        with_adjusted_values,
    )

    data, units = protected.data, context.plan.units
    adjusted: list[AdjustedUnit] = []
    with stage(context.reporter, "Adjusting and rounding") as progress:
        for position, unit in enumerate(units):
            found = adjust_unit(unit, protected.results, data, protected.standardisation, context)
            data = with_adjusted_values(data, found)
            adjusted.append(found.without_values())
            progress((position + 1) / len(units))
    return data, tuple(adjusted)


def _result(
    original: Dataset,
    protected: _Protected,
    units: tuple[AdjustedUnit, ...],
    categories: tuple[AdjustedCategories, ...],
    removal: Removal,
    moved: tuple[Distortion, DistortionDoubts, Distortion | None],
    context: MaskingContext,
) -> MaskingResult:
    """Put the masked data and what is said of them together."""
    from maskwright.masking.adjustment_totals import UnitTotals, category_facts, counts_by_edit, unit_facts
    from maskwright.masking.unit_adjustment import category_unit_json, moved_json  # of units with several levels

    totals = [UnitTotals(each.unit) for each in units]
    for number, (total, each) in enumerate(zip(totals, units, strict=True)):
        total.add(unit_facts(number, each, removal.rows))
    counts = [category_facts(number, each, removal.rows) for number, each in enumerate(categories)]
    context = in_published_terms(context, removal.shown)
    plan, edits = context.plan, context.edits
    results = (*protected.results, *removal.results)
    masked = _published(removal.data, original, plan)
    numeric = [name for name in plan.masked if protected.data[name].variable.is_numeric]
    k = smallest_classes(masked, plan)
    left = context.original if removal.data.origin is None else context.original.taken(removal.data.origin)
    zeros = tuple(structural_zeros(plan, zero_counts(plan, context.original), zero_counts(plan, masked)))
    notes = [each.notes for each in results]
    moved_in = moved_zeros(plan, left, masked, _obeying_rows(left, context) if zeros else None)
    equal = tuple(spread_findings(plan, [each.without_spread for each in results]))
    lost = tuple(lost_spikes(left, masked, numeric))
    return MaskingResult(
        masked=replace(masked, notes=()),
        adjusted=counts_by_edit([*(each.touched for each in totals), *(each["touched"] for each in counts)], edits),
        infeasible=counts_by_edit([*(each.failing for each in totals), *(each["failing"] for each in counts)], edits),
        adjustment=(
            *(each.to_json() for each in totals if each.unit.edits),
            *(category_unit_json(each.counts) for each in categories),
        ),
        moved=tuple(moved_json(units, categories)),
        k=k,
        notes=tuple(
            {"step": plan.steps[group.step - 1].number, "variables": list(group.variables), **note}
            for group, note in zip(plan.groups, notes, strict=True)
        ),
        zeros=zeros,
        notices=(
            *method_warnings(plan, notes),
            *(each for each in equal if isinstance(each, Notice)),
            *(Notice("claim-not-kept", each.edit, f"edit {each.edit}: {each.how}") for each in protected.unkept),
            *uncut_notices(plan, len(context.original), context.execution.block_size),
            *zero_notices(zeros, zeros_of_others(plan, notes)),
            *spike_notices(lost, plan),
            *moved[1].notices,
            *range_notices(range_counts(context.original, masked, numeric), edits),
            *conflict_notices(names for each in units for names in each.adjustment.conflicts),
            *coded_value_notices(protected.coded, removal.data, plan, edits),
            *category_notices([each.counts for each in categories], plan),
            *removal.notices,
            *notices_of_edits(plan, context.terms),
        ),
        doubts=(
            *protected.doubts,
            *method_doubts(plan, [each.doubts for each in results]),
            *(each for each in equal if isinstance(each, Doubt)),
            *published_note_doubts(plan, notes, [each.counts for each in categories]),
            *guarantee_doubts(plan, left, masked, _off_multiples(units), moved_in, zeros_of_others(plan, notes)),
            *household_doubts(context.original, masked, plan),
            *spike_doubts(lost, plan),
            *moved[1].doubts,
            *removal.doubts,
            *value_as_code_doubts(removal.data),
        ),
        keepers=(
            *(limit_keeper(edit) for edit in edits if edit.name not in {each.edit for each in plan.keepers}),
            *protected.unkept,
        ),
        cost=sum((each.cost for each in units), Cost()),
        distortion=moved[0],
        distortion_of_obeying=moved[2],
        doing_most=moved[1].doing_most,
        removal=removal,
        terms=context.terms,
    )


def _obeying(
    original: Dataset, returned: Dataset, adjusted: Dataset, units: Iterable[AdjustedUnit], context: MaskingContext
) -> tuple[Dataset, Dataset, Dataset] | None:
    """Three states of the records whose original obeys the edits that few records violate; None: of all records.

    Nor are they averaged with one that does not: what it breaks is mended in all of its cluster.
    """
    kept = _obeying_rows(original, context)
    if kept is None:
        return None
    origin = np.arange(len(returned)) if returned.origin is None else returned.origin
    obeys = np.isin(origin, kept)
    obeying = obeys.copy()
    for members in [each.members for each in units if each.members is not None]:
        obeying &= (np.bincount(members[~obeys], minlength=int(members.max(initial=-1)) + 1) == 0)[members]
    rows = np.flatnonzero(obeying)
    return original.taken(np.unique(origin[rows])), returned.taken(rows), adjusted.taken(rows)


def _obeying_rows(original: Dataset, context: MaskingContext) -> Integers | None:
    """Records that obey the edits that few violate; None: all do."""
    stated = EditSet(tuple(edit for edit in context.plan.edits if set(edit.variables) <= set(original.names)))
    outcome = check_dataset(original, stated, Domain.from_dataset(original, domain_tuples(stated)))
    few = set(violated_by_errors(outcome.edits))
    if not few:
        return None
    return without_violations(original, EditSet(tuple(edit for edit in stated if edit.name in few)))[1]


def _off_multiples(units: tuple[AdjustedUnit, ...]) -> dict[str, tuple[str, ...]]:
    """Edits for which variables could not be kept among promised multiples, by variable."""
    return {
        name: each.unit.edits
        for each in units if each.adjustment.without_multiples.any() for name in each.unit.variables
    }  # fmt: skip


def _published(data: Dataset, original: Dataset, plan: Plan) -> Dataset:
    """Masked data without identifiers, their records counted where those of the original came from."""
    masked = data.without(plan.dropped)
    if original.origin is None:
        return masked
    return replace(masked, origin=original.origin if masked.origin is None else original.origin[masked.origin])
