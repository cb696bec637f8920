"""Making the plan of a run: the groups of each step, what cuts their records, and who keeps each edit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import Dependencies
from maskwright.data.record_groups import household_columns
from maskwright.edits.edit import DomainPart, Edit, GoverningPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import variable_names
from maskwright.edits.normalisation import conjuncts, is_inside, narrowed, reading
from maskwright.foundation.errors import InputError, refuse_problems
from maskwright.planning.adjustment_units import (
    Changes,
    adjustment_units,
    broken_by_adjustment,
    category_units,
    is_of_unit,
)
from maskwright.planning.applicable_edits import StepLimit, declared_limits, limit_edits
from maskwright.planning.keepers import (
    keeper_of,
    kind_keeper,
    least_certain,
    limit_keeper,
    moving_edits,
    recoded_keeper,
)
from maskwright.planning.missing_patterns import LEAST
from maskwright.planning.model import AdjustmentUnit, Group, Keeper, Step, key_names
from maskwright.planning.plan import Plan
from maskwright.planning.recoded_edits import RecodedVariables
from maskwright.planning.step_order import other_order
from maskwright.planning.step_variables import running_order, variables_of_steps
from maskwright.planning.strata import Criterion, Strata, criteria, stratify
from maskwright.planning.variable_groups import (
    Components,
    aggregation_notices,
    choose_operators,
    group_variables,
    with_aggregation,
)
from maskwright.planning.warnings.missing_cells import (
    disclosing_code_doubts,
    missing_pattern_notices,
    rare_missing_doubts,
    rare_missing_notices,
    refuse_missing,
)
from maskwright.planning.warnings.plan_warnings import (
    broken_guarantees,
    disclosure_warnings,
    household_doubts,
    random_change_notices,
    sign_notices,
)
from maskwright.planning.warnings.publication_warnings import labels_of_suppressed, unmasked_doubts, unused_key_doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.translation.translate import Translation
    from maskwright.planning.step_order import StepVariables


PLANNING_SAMPLE = 100_000
"""First records of a file on which the plan looks for dependencies; the run looks at all."""


def make_plan(
    steps: Sequence[Step],
    variables: Sequence[Variable],
    edits: EditSet,
    data: Dataset | None = None,
    arrival: Mapping[str, int] | None = None,
    *,
    coarse: RecodedVariables | None = None,
    translations: Sequence[Translation] = (),
    elsewhere: Collection[str] = (),
) -> Plan:
    """Plan a run."""
    known = {variable.name: variable for variable in variables}
    steps = running_order(steps, variables)
    found = grouped_steps(steps, variables, edits, data)
    chosen, groups, units, limits, changes = found.chosen, found.groups, found.units, found.limits, found.changes
    recoded = changes.recoded
    problems = broken_by_adjustment(units, steps, groups, edits, elsewhere)
    undone = tuple(broken_guarantees(groups, steps))
    if problems or undone:
        way = other_order(steps, lambda moved: keeps_k(moved, variables, edits, elsewhere))
        refuse_problems([each if way is None else replace(each, hint=way) for each in problems])
        undone = tuple(each if way is None else replace(each, hint=way) for each in undone)
    moving = moving_edits(edits, groups, (*found.categories, *units), steps, changes.masked, arrival or {})
    movable = {name for unit in units for name in unit.variables}

    def of_conjunct(edit: Edit) -> Keeper:
        if edit.name in moving:
            how = "records get values that one record of the original had together"
            return Keeper(edit.name, "construction", how)
        if recoded.intersection(edit.variables) and not (changes.moving - recoded).intersection(edit.variables):
            otherwise = "" if coarse is None else coarse.otherwise(edit)
            return recoded_keeper(edit, changes.moving, (arrival or {}).get(edit.name, 0), otherwise=otherwise)
        of_kind = kind_keeper(edit, edits + limits, movable)
        if of_kind is not None and not edit.shadowed:
            return of_kind
        if found.is_kept_by_categories(edit):
            return Keeper(edit.name, "adjustment", "records that break it get the nearest categories that satisfy it")
        return keeper_of(edit, groups, units, steps, changes.masked, arrival or {})

    def keeper(edit: Edit) -> Keeper:
        every = conjuncts(edit)
        touched = [each for each in every if not changes.masked.isdisjoint(each.variables)] or [edit]
        return least_certain([of_conjunct(each) for each in touched])

    keepers = (*map(keeper, edits), *map(limit_keeper, limits))
    identifiers = [name for name, variable in known.items() if variable.role == "identifier"]
    dropped = tuple(name for name in identifiers if not known[name].renewed)
    changing = [own for step, own in zip(steps, chosen, strict=True) if step.method.changes_cells]
    altered = {name for own in changing for name in own.names}
    untouched = tuple(name for name in known if name not in altered and name not in identifiers)
    # Keys by which records are taken away are protected by that: no one is left who is rare in them.
    kept_by_keys = {
        name for step, own in zip(steps, chosen, strict=True)
        if not step.method.changes_cells and step.promised is not None
        for name in key_names(step, [known[each] for each in own.names])
    }  # fmt: skip
    # Where cells are only suppressed, those that edits would give them away by are suppressed too.
    changed = changes.moving | recoded
    notices = (
        *disclosure_warnings(edits, known, changed, groups, steps, data),
        *aggregation_notices(groups, steps, known, edits),
        *missing_pattern_notices(groups, steps, data),
        *sign_notices(groups, steps, edits, data, found.promised),
        *rare_missing_notices(groups, steps, data),
        *random_change_notices(groups, steps),
    )
    labels = labels_of_suppressed([name for name in known if name not in identifiers], groups, steps, known, data)
    from maskwright.planning.warnings.attribute_inference import attribute_inference_doubts

    doubts = (
        *unmasked_doubts((known[name] for name in untouched if name not in kept_by_keys), labels),
        *household_doubts(groups, steps, data),
        *attribute_inference_doubts(groups, steps, untouched, edits, data),
        *unused_key_doubts(groups, steps, known, labels),
        *rare_missing_doubts(groups, steps, data),
        *disclosing_code_doubts((name for name in known if name not in identifiers), data),
    )
    return Plan(
        tuple(steps), tuple(groups), tuple(units), keepers, known, untouched, dropped,
        None if data is None else len(data), notices, edits, recoded,
        _may_lose_cells(steps, chosen, known, untouched, edits, data), (*doubts, *undone),
        limits, found.promised, tuple(found.categories), coarse or RecodedVariables(), tuple(translations),
        violated=frozenset(name for name, count in (arrival or {}).items() if count),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class GroupedSteps:
    """What steps mask together, and what is brought onto the edits together."""

    chosen: Sequence[StepVariables]
    changes: Changes
    promised: tuple[StepLimit, ...]
    limits: EditSet
    categories: Sequence[AdjustmentUnit]
    groups: Sequence[Group] = ()
    units: Sequence[AdjustmentUnit] = ()

    def is_kept_by_categories(self, edit: Edit) -> bool:
        """Whether categories are moved where records break an edit."""
        replaced = self.changes.moving - self.changes.recoded
        units = (unit for unit in self.categories if edit.name in unit.edits)
        return any(is_of_unit(edit, unit.variables, replaced) for unit in units)


def grouped_steps(
    steps: Sequence[Step], variables: Sequence[Variable], edits: EditSet, data: Dataset | None = None
) -> GroupedSteps:
    """Groups of the variables of each step, and the units of all."""
    known = {variable.name: variable for variable in variables}
    chosen = variables_of_steps(steps, variables)
    changes = Changes.of(steps, chosen)
    promised = declared_limits(steps, chosen, changes.recoded)
    limits = limit_edits(promised, known)
    categories = category_units(steps, chosen, known, edits + limits, changes.recoded)
    found = GroupedSteps(chosen, changes, promised, limits, categories)
    groups: list[Group] = []
    for position, (step, own) in enumerate(zip(steps, chosen, strict=True), 1):
        # What is published as categories has no groups of values to keep edits in.
        touching = () if "detail" in step.method.claims.removes else edits.on(own.names)
        relevant = EditSet(tuple(touching))
        together = group_variables(own.names, relevant, step.planning, step.groups, step.method.scope)
        with step.placed(step.number):
            groups.extend(
                _plan_group(position, step, group, own.known, relevant, changes, found.is_kept_by_categories, data)
                for group in together
            )
    units = adjustment_units(groups, steps, known, edits + limits, changes, data)
    return replace(found, groups=groups, units=units)


def keeps_k(steps: Sequence[Step], variables: Sequence[Variable], edits: EditSet, elsewhere: Collection[str]) -> bool:
    """Whether steps, in another order, keep what they promise; judged without data."""
    try:
        found = grouped_steps(steps, variables, edits)
    except InputError:
        return False
    broken = broken_by_adjustment(found.units, steps, found.groups, edits, elsewhere)
    return not broken and next(broken_guarantees(found.groups, steps), None) is None


def _may_lose_cells(
    steps: Sequence[Step],
    chosen: Sequence[StepVariables],
    known: Mapping[str, Variable],
    untouched: Sequence[str],
    edits: EditSet,
    data: Dataset | None,
) -> tuple[str, ...]:
    """Unmasked variables that edits or dependencies in the data tie to suppressed ones; weights and households stay."""
    tied = Components(known)
    for edit in edits:
        if edit.severity == "error":
            tied.join(edit.variables)
    emptied = [
        name
        for step, own in zip(steps, chosen, strict=True)
        if "cells" in step.method.claims.removes
        for name in own.names
    ]
    suppressed = {tied.find(name) for name in emptied}
    may_go = {name for name in known if tied.find(name) in suppressed}
    stay = {name for name, variable in known.items() if variable.role == "weight"}
    if data is not None and emptied:
        stay |= set(household_columns(data, untouched))
        seen = [name for name in data.names if name in known and known[name].role != "identifier"]
        some = data if len(data) <= PLANNING_SAMPLE else data.taken(np.arange(PLANNING_SAMPLE))
        may_go |= set(Dependencies(some, seen).behind([name for name in seen if name in may_go]))
    return tuple(name for name in untouched if name in may_go - stay)


def _plan_group(
    position: int,
    step: Step,
    group: tuple[str, ...],
    known: Mapping[str, Variable],
    edits: EditSet,
    changes: Changes,
    adjusted: Callable[[Edit], bool],
    data: Dataset | None,
) -> Group:
    own = narrowed(edits, lambda each: _is_inside(each, group, changes))
    operators = choose_operators(group, known, own, data, step)
    if step.aggregation is not None:
        operators = with_aggregation(operators, group, known, own, step.aggregation)
    # What a method could never change if it cut the records, adjustment keeps for categories.
    cutting = narrowed(edits, lambda each: not adjusted(each) or not _governed_by(each, group))
    cut_by = _criteria(step, group, operators.names, cutting, changes)
    strata = None
    if data is not None:
        strata = _strata(step, group, cut_by, edits, data)
        refuse_missing(step, group, strata, data)
    names = tuple(edit.name for edit in own)
    return Group(position, group, operators.names, operators.computed, names, cut_by, strata)


def _is_inside(edit: Edit, group: Sequence[str], changes: Changes) -> bool:
    """Whether a group holds all variables that an edit reads and that move; combinations, all that are masked."""
    combined = any(isinstance(part, DomainPart) for part in edit.parts)
    return is_inside(group, changes.masked if combined else changes.moving)(edit)


def _governed_by(edit: Edit, group: Sequence[str]) -> bool:
    """Whether the conditions of an edit read variables of the group, and no other."""
    used = {name for part in edit.parts if isinstance(part, GoverningPart) for name in variable_names(part.condition)}
    return bool(used) and used <= set(group)


def _criteria(
    step: Step, group: tuple[str, ...], operators: Sequence[str], edits: EditSet, changes: Changes
) -> tuple[Criterion, ...]:
    """What cuts the records of a group; nothing but missing cells for a method that needs all of them."""
    whole = not step.method.claims.within_strata
    # Bands and limits are those of the file, whoever else lacks a value.
    alike = whole and "detail" in step.method.claims.removes
    # Where whole records move or are drawn, missing cells move with the others.
    moving = whole and step.moves_records
    geometric = [name for name, how in zip(group, operators, strict=True) if how == "geometric_mean"]
    return criteria(
        group, () if whole else geometric, EditSet() if whole else reading(edits, group),
        changes.masked, changes.moving,
        by_missing=step.planning.missing == "own_pattern" and not step.only_removes
        and step.method.claims.handles_missing and not (moving or alike),
        structural_zeros=() if step.holds_zeros else step.planning.structural_zeros,
        zeros_apart=step.zeros_apart,
        within=step.within,
    )  # fmt: skip


def _strata(step: Step, group: tuple[str, ...], cut_by: Sequence[Criterion], edits: EditSet, data: Dataset) -> Strata:
    households = None if data.households is None else int(np.unique(data.households).size)
    if step.k is not None and households is not None and households < step.k:
        raise InputError(
            f"k = {step.k} is larger than the number of {data.groups_said}, {households}: no group holds that many"
        )
    least = smallest_stratum(step, group, cut_by, len(data))
    return stratify(data, group, cut_by, edits, least, keep=step.planning.small_strata == "keep")


def smallest_stratum(step: Step, group: Sequence[str], cut_by: Sequence[Criterion], n: int) -> int:
    """Records that a stratum of a variable group of a file of n must have."""
    least = step.smallest_stratum(n, len(group))
    if step.k is None and (step.within or (cut_by and step.moves_records and step.planning.structural_zeros)):
        # Among fewer a record would come out as it was, or as its only neighbour.
        return max(least, min(LEAST, n))
    return least


def with_fewer_records(plan: Plan, group: Group, original: Dataset) -> Group:
    """Group with its strata made again, of the original records that a step before has left."""
    step = plan.steps[group.step - 1]
    return replace(group, strata=_strata(step, group.variables, group.cut_by, plan.edits, original))
