"""For every edit, what keeps it: the method by construction, a derivation, adjustment, or validation only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.constraint_kinds import CONSTRAINT_KINDS
from maskwright.edits.edit import (
    CheckedPart,
    DomainPart,
    Edit,
    GoverningPart,
    LinearPart,
    PolynomialPart,
    ProductPart,
    RangePart,
)
from maskwright.edits.evaluation.whole_files import is_file_test
from maskwright.edits.expression import KindCondition, VariableReference, nodes
from maskwright.edits.normalisation import conjuncts, reading
from maskwright.foundation.counts import plural
from maskwright.planning.model import AdjustmentUnit, Group, Keeper, KeptBy, Step
from maskwright.planning.variable_groups import demanded_parts, keeps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from maskwright.data.cluster_aggregation import ChosenAggregation
    from maskwright.edits.edit_set import EditSet


_BY_THE_METHOD = {
    "linear": "what is linear in every record stays so",
    "product": "products of positive factors stay so",
    "range": "values stay between the smallest and the largest of their variable",
    "governing": "what is linear in every record stays so, on either side of the condition",
    "domain": "values are values that their variable had",
}
"""How a method without clusters keeps edits of a kind, as it claims."""

LEAST_CERTAIN: tuple[KeptBy, ...] = ("checked", "adjustment", "derivation", "construction")
"""Ways to keep an edit, from the one that promises least."""


def keeper_of(
    edit: Edit,
    groups: Sequence[Group],
    units: Sequence[AdjustmentUnit],
    steps: Sequence[Step],
    masked: frozenset[str],
    arrival: Mapping[str, int],
) -> Keeper:
    """Say who keeps an edit."""
    touched = set(edit.variables) & masked
    unit = max(units, key=lambda unit: len(touched & set(unit.variables)), default=None)
    why_not = _only_checked(edit, touched)
    if why_not is not None:
        return Keeper(edit.name, "checked", why_not)
    if unit is None or not touched & set(unit.variables):
        return Keeper(edit.name, "checked", "its masked variables are not numeric")
    if unit.group is None:
        return Keeper(edit.name, "adjustment", "each record is moved to the nearest point that satisfies it")
    group = groups[unit.group]
    found = _keeper_in_group(edit, group, steps[group.step - 1], arrival.get(edit.name, 0))
    reason = _not_by_one_step(edit, unit.group, groups, steps) if found.kept_by == "construction" else None
    return found if reason is None else Keeper(edit.name, "adjustment", f"{reason}: representatives are moved onto it")


def _not_by_one_step(edit: Edit, home: int, groups: Sequence[Group], steps: Sequence[Step]) -> str | None:
    """Why the step that makes the clusters of an edit's variables does not keep it alone; None where it does."""
    own = set(groups[home].variables)
    if not own.issuperset(name for part in demanded_parts(edit.parts) for name in part.variables):
        return "it compares with what the step does not mask"
    others = (group for number, group in enumerate(groups) if number != home)
    shaping = (steps[each.step - 1].method for each in others if own & set(edit.variables) & set(each.variables))
    changing = (method for method in shaping if not (method.is_remover or "detail" in method.claims.removes))
    return None if next(changing, None) is None else "several steps change what it reads"


def least_certain(found: Sequence[Keeper]) -> Keeper:
    """Keeper of an edit, given those of its conjuncts: the one that says least."""
    return min(found, key=lambda each: LEAST_CERTAIN.index(each.kept_by))


def is_weaker(kept_by: KeptBy, other: KeptBy) -> bool:
    """Whether one way to keep an edit promises no more than another."""
    return LEAST_CERTAIN.index(kept_by) <= LEAST_CERTAIN.index(other)


def recoded_keeper(edit: Edit, remasked: frozenset[str], broken: int, *, otherwise: str = "") -> Keeper:
    """Keeper of an edit whose masked variables are all published as coarser categories.

    `otherwise`: what happens if it cannot be said of them; empty: it can be.
    """
    why_not = _only_checked(edit, set(edit.variables))
    if why_not is not None and edit.kind != "checked":
        return Keeper(edit.name, "checked", why_not)
    if broken:
        return Keeper(edit.name, "checked", f"{plural(broken, 'violation')} in the original")
    if remasked.intersection(edit.variables):
        return Keeper(edit.name, "checked", "its variables are recoded, and change besides")
    how = "it is stated of the published categories, which contain the true values"
    if otherwise:
        how += f"; where it cannot be, which is known when they are made, {otherwise}"
    return Keeper(edit.name, "construction", how)


def moving_edits(
    edits: EditSet,
    groups: Sequence[Group],
    units: Sequence[AdjustmentUnit],
    steps: Sequence[Step],
    masked: frozenset[str],
    arrival: Mapping[str, int],
) -> frozenset[str]:
    """Names of edits of which a record gets all values from one record of the original, which had them together."""
    found = frozenset(
        edit.name for edit in edits
        if not arrival.get(edit.name) and edit.engine is None and not edit.shadowed
        and all(
            _moves_as_a_whole(set(each.variables), groups, steps, masked)
            for each in conjuncts(edit) if len(conjuncts(edit)) == 1 or not masked.isdisjoint(each.variables)
        )
    )  # fmt: skip
    # Where a unit has other edits too, adjusting for these moves what all of them read.
    return found - {name for unit in units if not found >= set(unit.edits) for name in unit.edits}


def _moves_as_a_whole(read: set[str], groups: Sequence[Group], steps: Sequence[Step], masked: frozenset[str]) -> bool:
    touching = [group for group in groups if read & set(group.variables)]
    shaping = [group for group in touching if not steps[group.step - 1].only_removes]
    return bool(shaping) and all(_moves_together(group, steps[group.step - 1], read, masked) for group in shaping)


def _moves_together(group: Group, step: Step, read: set[str], masked: frozenset[str]) -> bool:
    """Whether a step changes the values that are read all at once, among records with the same others."""
    if "combinations" not in step.method.claims.preserves or not read & masked <= set(group.variables):
        return False
    cut = {name for each in group.cut_by if isinstance(each.part, DomainPart) for name in each.variables}
    others = read - set(group.variables)
    return step.method.claims.companions_of_edits or others <= cut | set(step.companions)


def limit_keeper(edit: Edit) -> Keeper:
    """Keeper of a limit that a step sets."""
    return Keeper(edit.name, "construction", "the step that sets the limit keeps it, and adjustment what follows")


def _only_checked(edit: Edit, touched: Collection[str]) -> str | None:
    if edit.shadowed:
        return "it is about no record of this file"
    if is_file_test(edit):
        return "it is about all records together"
    if edit.engine is not None:
        return "only an engine understands it"
    if not touched:
        return "its variables are published as they are"
    return "outside the analysable language: adjusted where neighbours allow" if edit.kind == "checked" else None


def _keeper_in_group(edit: Edit, group: Group, step: Step, broken: int) -> Keeper:
    """Keeper of an edit whose variables one group masks."""
    computed = _computed(edit, group)
    operators = dict(zip(group.variables, group.operators, strict=True))
    how = _aggregated(edit, operators, step.aggregation) or _how(edit, operators)
    if how is not None and not step.method.makes_clusters:
        how = _BY_THE_METHOD[edit.kind]
    claim = "linear" if edit.kind == "governing" else edit.kind
    if broken:
        reason = f"{plural(broken, 'violation')} in the original"
    elif computed:
        return Keeper(edit.name, "derivation", f"{computed} is computed from the other masked variables")
    elif claim not in step.method.claims.preserves:
        reason = f"{step.method.name} does not keep it"
    elif group.strata is not None and edit.name in group.strata.mixed:
        reason = "a stratum smaller than k was merged"
    elif how is None:
        reason = "no operator keeps all its kinds"
    else:
        return Keeper(edit.name, "construction", how)
    acting_on = "records" if not step.method.makes_clusters else "representatives"
    return Keeper(edit.name, "adjustment", f"{reason}: {acting_on} are moved onto it")


def _computed(edit: Edit, group: Group) -> str | None:
    """Variable that a product of the edit is computed by; None: none."""
    for part in edit.parts:
        if isinstance(part, ProductPart) and part.total in group.computed:
            return part.total
        if isinstance(part, PolynomialPart):
            return next((name for name in group.computed if name in part.variables), None)
    return None


def _aggregated(edit: Edit, operators: Mapping[str, str], chosen: ChosenAggregation | None) -> str | None:
    """Sentence on an aggregation that claims to keep the edit; None where none does."""
    used = {operators.get(name) for name in edit.variables} - {None}
    if chosen is None or used != {str(chosen)} or edit.kind == "checked" or not keeps(chosen, edit):
        return None
    if edit.kind == "governing" and not _is_convex(edit):
        return None
    return f"{str(chosen).replace('_', ' ')} of the same clusters, as the aggregation claims; looked at in the run"


def _how(edit: Edit, operators: Mapping[str, str]) -> str | None:
    """Sentence on how aggregation keeps the edit; None when it does not."""
    used = {operators.get(name) for name in edit.variables} - {None}
    how: str | None = None
    match edit.kind:
        case "linear" if used <= {"mean"}:
            equal = any(isinstance(part, LinearPart) and part.relation == "==" for part in edit.parts)
            how = "arithmetic means of the same clusters" + (", totals computed after rounding" if equal else "")
        case "product" if used <= {"geometric_mean"}:
            how = "geometric means of the same clusters, total computed after rounding"
        case "range" if all(isinstance(part, RangePart) and part.numbers is None for part in edit.parts):
            how = "averages stay inside the interval"
        case "governing" if used <= {"mean"} and _is_convex(edit):
            how = "records on either side of the condition are clustered apart"
        case "domain" if used <= {"lower_median", "mode"}:
            how = "lower medians are values of the file"
    return how


def _is_convex(edit: Edit) -> bool:
    return all(
        isinstance(each, LinearPart | RangePart) and not (isinstance(each, RangePart) and each.numbers is not None)
        for part in edit.parts
        if isinstance(part, GoverningPart)
        for each in (*part.consequent, *part.otherwise)
    )


def projected_condition(edit: Edit, edits: Iterable[Edit], movable: Collection[str]) -> KindCondition | None:
    """Condition of an edit that its kind may be asked to move rows onto; None where that cannot be."""
    if len(edit.parts) != 1 or not isinstance(part := edit.parts[0], CheckedPart):
        return None
    condition = part.expression
    if not isinstance(condition, KindCondition) or CONSTRAINT_KINDS[condition.name].project is None:
        return None
    names = [each.name for each in condition.columns if isinstance(each, VariableReference)]
    own = set(names)
    if len(own) < len(condition.columns) or not own & set(movable):
        return None
    others = reading((each for each in edits if each.name != edit.name), own & set(movable))
    ranges = [part for each in others for part in each.parts]
    intervals = (isinstance(each, RangePart) and each.numbers is None and each.texts is None for each in ranges)
    return condition if all(intervals) else None


def kind_keeper(edit: Edit, edits: Iterable[Edit], movable: Collection[str]) -> Keeper | None:
    """Keeper of an edit that calls a kind of constraint; None where it calls none, or reads nothing that moves."""
    called = [node.name for node in nodes(edit.expression) if isinstance(node, KindCondition)]
    if not called or edit.kind != "checked" or not set(movable) & set(edit.variables):
        return None
    condition = projected_condition(edit, edits, movable)
    if condition is not None:
        return Keeper(edit.name, "adjustment", f"what breaks it is moved to the nearest point that {called[0]} gives")
    if CONSTRAINT_KINDS[called[0]].project is None:
        why = f"{called[0]} tells no nearest points"
    elif isinstance(edit.expression, KindCondition):
        why = "other edits bind its variables, or they are computed"
    else:
        why = f"{called[0]} is a part of it"
    return Keeper(edit.name, "checked", f"{why}: adjusted where neighbours allow")
