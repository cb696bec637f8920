"""Warnings about a plan: what it discloses, household constants, signs, and later steps that undo earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.dependencies import ValueCodes, determines
from maskwright.data.record_groups import published_classes
from maskwright.edits.algebra.polynomial import eliminate
from maskwright.edits.analysis.statements import lines_of_signs
from maskwright.edits.edit import DomainPart, LinearPart, Part, PolynomialPart, ProductPart
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.planning.model import Group, Step, with_steps
from maskwright.planning.step_order import leaves_equal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Integers
    from maskwright.planning.applicable_edits import StepLimit


MOST_STRATA = 4
"""Small strata that are named."""


def disclosure_warnings(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    data: Dataset | None = None,
) -> tuple[Notice, ...]:
    """Notices about a plan; names and counts only."""
    return (
        *_determined(edits, masked),
        *_singling_out(edits, masked, data),
        *_republished(edits, known, masked, groups, steps, data),
        *strata_notices(groups, steps),
    )


def strata_notices(groups: Sequence[Group], steps: Sequence[Step]) -> tuple[Notice, ...]:
    """Notices about strata with too few records."""
    return (*_strata_of_few(groups, steps), *_small_strata(groups, steps))


def _determined(edits: EditSet, masked: frozenset[str]) -> Iterator[Notice]:
    """Masked variables that edits determine from what is published unmasked: anyone can compute the original value."""
    equalities = [
        (edit.name, part)
        for edit in edits
        for part in edit.parts
        if isinstance(part, LinearPart) and part.relation == "==" and part.tolerance == 0
    ]
    rows = [(dict(part.coefficients), part.constant) for _, part in equalities]
    solved = eliminate(rows, sorted(masked.intersection(name for row, _ in rows for name in row)))
    found = {name: sorted(row.keys() - {name}) for name, (row, _) in solved.items() if masked & row.keys() == {name}}
    products = [
        (hidden[0], [name for name in part.variables if name not in masked])
        for edit in edits
        for part in edit.parts
        if not isinstance(part, LinearPart) and _is_equality(part)
        and len(hidden := [name for name in part.variables if name in masked]) == 1
    ]  # fmt: skip
    names = {name: [edit for edit, part in equalities if name in dict(part.coefficients)] for name in found}
    ending = "published unmasked: anyone can compute the original value"
    for name, shown in found.items():
        what = f"from {', '.join(shown)}, {ending}" if shown else "by themselves: it has one possible value"
        yield Notice("determined-by-edits", name, f"edits ({', '.join(names[name])}) determine {name} {what}")
    for name, shown in products:
        message = f"a product edit determines {name} from {', '.join(shown)}, {ending}"
        yield Notice("determined-by-edits", name, message)


def _singling_out(edits: EditSet, masked: frozenset[str], data: Dataset | None) -> Iterator[Notice]:
    """Equalities of masked variables with one that is published: records with a value of their own there are unique.

    Masked values have to add up to it record by record, so they differ wherever it does.
    """
    for edit in edits:
        for part in edit.parts:
            names = part.variables if _is_equality(part) else ()
            hidden = [name for name in names if name in masked]
            shown = [name for name in names if name not in masked]
            if len(hidden) < 2 or not shown or data is None or not set(shown) <= set(data.names):
                continue
            alone = int(np.sum(published_classes(data, shown).records == 1))
            if alone:
                message = (
                    f"edit {edit.name!r} ties {', '.join(hidden)} to {', '.join(shown)}, published unmasked: "
                    f"{alone} of {plural(len(data), 'record')} have a value of their own there, so their masked "
                    "values are unique too; mask all variables of the edit"
                )
                yield Notice("unique-by-edit", edit.name, message, alone, len(data), edit.place)


def _is_equality(part: Part) -> bool:
    return isinstance(part, PolynomialPart) or (isinstance(part, LinearPart | ProductPart) and part.relation == "==")


def _republished(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    data: Dataset | None,
) -> Iterator[Notice]:
    """Domain edits that put true values of single records back into the masked file."""
    for edit in edits:
        for part in edit.parts:
            if not isinstance(part, DomainPart):
                continue
            continuous = [name for name in part.variables if name in masked and known[name].type == "continuous"]
            allowed = any(
                steps[group.step - 1].planning.allow_original_values
                for group in groups
                if set(group.variables) & set(continuous)
            )
            if continuous and allowed:
                message = f"edit {edit.name!r} republishes true values of {', '.join(continuous)}, as was allowed"
                yield Notice("original-values-published", edit.name, message, place=edit.place)
            rare = 0 if continuous or data is None else _rare_values(part.variables, masked, groups, steps, data)
            if rare:
                message = (
                    f"edit {edit.name!r} may republish true values of {', '.join(part.variables)}: {rare} of them "
                    "belong to fewer than k records"
                )
                yield Notice("original-values-published", edit.name, message, rare, place=edit.place)


def _rare_values(
    names: Sequence[str],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    data: Dataset,
) -> int:
    """Values, or combinations, of masked variables that fewer than k records share."""
    if not masked & set(names) or not set(names) <= set(data.names):
        return 0
    sizes = [steps[group.step - 1].group_records(len(data)) for group in groups if set(group.variables) & set(names)]
    least = max((size for size in sizes if size is not None), default=2)
    present = ~np.any([data[name].missing for name in names], axis=0)
    classes = Classes.of([data[name].values[present] for name in names])
    return int(np.sum(classes.records < least))


def _strata_of_few(groups: Sequence[Group], steps: Sequence[Step]) -> Iterator[Notice]:
    """How many strata of `within` are small, once for each step: there may be hundreds."""
    for position, step in enumerate(steps, 1):
        found = next((group.strata for group in groups if group.step == position), None)
        if found is None or not found.small[0]:
            continue
        count, records = found.small
        done = "masked by themselves" if step.planning.small_strata == "keep" else "joined with the nearest ones"
        message = (
            f"{step}: {count} of {found.within} strata of {', '.join(step.within)} have "
            f"fewer than {found.least} records, {records} in all: {done}"
        )
        if found.left == 1 < found.within:
            message += "; one stratum is left, as if there were no 'within'"
            yield Notice("strata-all-joined", str(step.number), message, count, found.within, step.place)
        else:
            yield Notice("small-strata", str(step.number), message, count, found.within, step.place)


def _small_strata(groups: Sequence[Group], steps: Sequence[Step]) -> Iterator[Notice]:
    for group, step in with_steps(groups, steps):
        small = [one for one in group.strata.strata if one.merged] if group.strata is not None else []
        if not small or group.strata is None:
            continue
        shown = "; ".join(f"{one.label}: {one.records}" for one in small[:MOST_STRATA])
        more = f"; and {len(small) - MOST_STRATA} more" if len(small) > MOST_STRATA else ""
        what = "1 stratum has" if len(small) == 1 else f"{len(small)} strata have"
        message = (
            f"{what} fewer than {group.strata.least} records, and joined the nearest one ({shown}{more}); masked "
            f"together: {', '.join(group.variables)}"
        )
        if group.strata.given:
            message += (
                f"; {plural(group.strata.given, 'record')} of larger ones joined these, as fewer zeros change then"
            )
        yield Notice("strata-joined", str(step.number), message, len(small), len(group.strata.strata), step.place)


def broken_guarantees(groups: Sequence[Group], steps: Sequence[Step]) -> Iterator[Doubt]:
    """Doubts about groups of which k is promised and a later step changes values.

    A later step keeps k when records that are equal stay equal, or when it promises as much of a group that holds the
    variables of the earlier one.
    """
    for position, step in enumerate(steps, 1):
        if step.k is None or step.planning.k_guarantee == "report":
            continue
        own = [set(group.variables) for group in groups if group.step == position]
        for later in groups:
            other = steps[later.step - 1]
            if later.step <= position or other.only_removes:
                continue
            shared = [names for names in own if names & set(later.variables)]
            if shared and not all(leaves_equal(other, set(later.variables), names, step.k) for names in shared):
                touched = [name for name in later.variables if any(name in names for names in shared)]
                how = "in other clusters" if other.method.makes_clusters else "record by record"
                yield Doubt(
                    "promise-undone-by-a-later-step", str(step.number),
                    f"{step.method.name} promises k = {step.k}, and {other} changes {', '.join(touched)} after it, "
                    f"{how}",
                    place=other.place,
                    hint=f"set 'k_guarantee: report' in the params of step {step.number}: the smallest class is then "
                    "reported",
                )  # fmt: skip


def random_change_notices(groups: Sequence[Group], steps: Sequence[Step]) -> Iterator[Notice]:
    """Notices about key variables that were drawn at random before, and about moved values that change again."""
    for later in groups:
        after = steps[later.step - 1]
        for position, before in enumerate(steps[: later.step - 1], 1):
            own = {name for group in groups if group.step == position for name in group.variables}
            shared = ", ".join(name for name in later.variables if name in own)
            if not shared or before.method.claims.removes:
                continue
            drawn = not before.method.claims.deterministic and not before.method.makes_clusters
            if after.method.has_keys and after.promised is not None and drawn:
                message = (
                    f"{after} counts values of {shared} that {before} has changed at random: k equal records among "
                    "these are no protection against who knows the true values"
                )
                yield Notice("counts-random-values", str(after.number), message, place=after.place)
            elif "combinations" in before.method.claims.preserves and not after.method.claims.removes:
                message = (
                    f"{after} changes {shared} after {before}: the combinations and counts that step {before.number} "
                    "keeps are those before it"
                )
                yield Notice("combinations-changed-again", str(after.number), message, place=after.place)


def household_doubts(groups: Sequence[Group], steps: Sequence[Step], data: Dataset | None) -> Iterator[Doubt]:
    """Doubts about variables that are the same within households and are masked member by member.

    Whether or not the household's name is published: what the members have in common tells who is of one household,
    and their masked values together tell more than one of them. Rounding and coding give equal values the same, but
    for what edits ask: of such steps the run tells.
    """
    if data is None or data.households is None:
        return
    codes = ValueCodes(data)
    reported: set[str] = set()
    for group, step in with_steps(groups, steps):
        for name in group.variables if _member_by_member(step) else ():
            if name in reported or not determines(data.households, codes.of(name)):
                continue
            reported.add(name)
            several, alike, _ = agreeing_households(data.households, codes.of(name))
            message = (
                f"it is the same for all members of {alike} of the {several} households of two or more, and {step} "
                "masks members one by one"
            )
            yield Doubt("constant-within-households", name, message, alike, several, step.place, step=step.number)


def agreeing_households(homes: Integers, values: Integers) -> tuple[int, int, Booleans]:
    """Households with two or more members that have a value, and those in which they all have the same.

    `homes`: household of each record, 0..c-1; shape (n,). `values`: codes, -1 where missing; shape (n,).
    """
    count = int(homes.max(initial=-1)) + 1
    known = values >= 0
    several = np.bincount(homes[known], minlength=count) > 1
    first = np.zeros(count, dtype=np.int64)
    first[homes[known]] = values[known]
    differing = np.bincount(homes[known & (first[homes] != values)], minlength=count) > 0
    alike = several & ~differing
    return int(several.sum()), int(alike.sum()), alike


def _member_by_member(step: Step) -> bool:
    """Whether its masked values differ where the original ones are equal: it makes clusters, or draws numbers."""
    method = step.method
    if "households" in method.claims.preserves:
        return False
    return not method.claims.removes and (
        step.method.makes_clusters or not (method.claims.deterministic or method.scope == "group")
    )


def sign_notices(
    groups: Sequence[Group],
    steps: Sequence[Step],
    edits: EditSet,
    data: Dataset | None,
    promised: Sequence[StepLimit] = (),
) -> Iterator[Notice]:
    """Notice of the lines to add to the edits; only of methods that do not keep values in their range.

    Nor of those that publish multiples of a base, since 0 is a multiple of any: what is not below 0 does not get there.
    """
    multiples = {(each.step.number, each.limit.variable) for each in promised if each.limit.multiple_of is not None}
    free = {
        name: steps[group.step - 1].method.name
        for group in groups
        if "range" not in steps[group.step - 1].method.claims.preserves
        and not steps[group.step - 1].method.claims.removes
        for name in group.variables
        if data is not None and (steps[group.step - 1].number, name) not in multiples and never_negative(data[name])
    }
    lines = lines_of_signs(edits, tuple(free))
    if lines:
        methods = " and ".join(dict.fromkeys(free.values()))
        message = (
            f"{methods} may give values below 0, which the original has not; where a variable cannot be negative, add "
            f"to the edits: {listed(lines)}"
        )
        yield Notice("may-become-negative", "", message)


def never_negative(column: Column) -> bool:
    """Whether a column of numbers, not of dates, has values and none of them is below 0."""
    if not column.variable.is_numeric or column.variable.is_date or column.missing.all():
        return False
    return bool(np.all(column.values[~column.missing] >= 0))


def listed(lines: Sequence[str]) -> str:
    """Rules as they may be copied: ``- x >= 0`` each, in back quotes."""
    return ", ".join(f"`- {line}`" for line in lines)
