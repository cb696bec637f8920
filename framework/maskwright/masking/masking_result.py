"""The result of masking: the masked data, what was done to make them, and notices about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.dependencies import ValueCodes, determines
from maskwright.data.record_groups import household_columns
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.protecting.assembling import ZEROS_OF_OTHERS
from maskwright.planning.recoded_edits import recoded_edit_notices
from maskwright.planning.warnings.plan_warnings import agreeing_households
from maskwright.plugins.method import Method

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from maskwright.foundation.arrays import Integers
    from maskwright.masking.adjusting.distortion import Distortion
    from maskwright.masking.category_adjustment import CategoryCounts
    from maskwright.masking.context import PublishedTerms
    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.masking.suppressing.suppression_steps import SuppressedAgain
    from maskwright.planning.model import Group, Keeper
    from maskwright.planning.plan import Plan


@dataclass(frozen=True, eq=False)
class Removal:
    """What was taken away, and what is left.

    `results`: one for each group of the last steps. `rows`: records left, as positions in the dataset that came in;
    shape (m,). `edits`: that hold in what is published: `when` everything they read is there. `shown`: as it would be
    published without suppression. `not_applicable`: records in which a cell that the edit reads was suppressed.
    `suppressed`: for each variable with suppressed cells: how many, how many of them are complementary, and how many of
    these because of dependencies in the data. `doubts`: suppressed cells that follow all the same, or perhaps do.
    `stated`: the same edits as they hold without suppression. `again`: the steps that suppressed cells, for whoever
    takes more of them. `complementary`: variables with complementary cells only, and to the suppressed cells of which.
    """

    data: Dataset
    results: tuple[GroupResult, ...]
    rows: Integers
    edits: EditSet
    shown: Dataset
    not_applicable: Mapping[str, int] = field(default_factory=dict)
    suppressed: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[Notice, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    stated: EditSet = field(default_factory=lambda: EditSet(()))
    again: SuppressedAgain | None = None
    complementary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MaskingResult:
    """A masked dataset and what was done to make it.

    `masked`: identifiers dropped; record order and missing cells as in the original. `adjusted`: records whose masked
    values were moved because of the edit. `infeasible`: records that violate the edit after adjustment. `adjustment`:
    one for each unit with edits, as in `run.json`. `moved`: rows that adjusting moved, each counted once however many
    units it is in, as in `run.json`. `notes`: what methods said, by step and group. `zeros`: share of zeros before and
    after, for variables with structural zeros. `notices`: what methods and adjustment did that a person should know.
    `doubts`: what masking may not have protected. `keepers`: of the limits that methods found in the data; the plan has
    those of the other edits. `cost`: of masking, adjusting and rounding. `removal`: what the last steps took away.
    `terms`: in which the edits on recoded variables are said; None: no variable is recoded. `distortion`: moments of
    the masked numeric variables before and after adjusting. `doing_most`: edits that do most of what adjusting
    distorts, and what share.
    """

    masked: Dataset
    adjusted: Mapping[str, int]
    infeasible: Mapping[str, int]
    adjustment: tuple[Mapping[str, Any], ...]
    moved: tuple[Mapping[str, Any], ...]
    k: Mapping[str, Any]
    notes: tuple[Mapping[str, Any], ...]
    zeros: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[Notice, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    keepers: tuple[Keeper, ...] = ()
    cost: Cost = field(default_factory=Cost)
    distortion: Distortion | None = None
    distortion_of_obeying: Distortion | None = None
    doing_most: Mapping[str, float] = field(default_factory=dict)
    removal: Removal | None = None
    terms: PublishedTerms | None = None

    @property
    def edits(self) -> EditSet:
        """Edits that hold in `masked`: when everything they read is there, where cells were suppressed."""
        assert self.removal is not None
        return self.removal.edits

    def domain(self, original: Dataset) -> Domain:
        """Combinations that domain edits of `masked` refer to: of the original, recoded alike."""
        return Domain.from_dataset(self.reference(original), domain_tuples(self.edits))

    def reference(self, original: Dataset) -> Dataset:
        """The original, with the categories that are published in the place of the values of recoded variables."""
        return original if self.terms is None else self.terms.reference

    def published_as(self, masked: Dataset, edits: EditSet) -> MaskingResult:
        """Copy with the masked data in the form of the release, and the edits that hold in it."""
        removal = None if self.removal is None else replace(self.removal, edits=edits)
        return replace(self, masked=masked, removal=removal)

    def without_data(self) -> MaskingResult:
        """Copy without the records, once they are written: measuring needs the memory."""
        masked, removal = _without_records(self.masked), self.removal
        if removal is not None:
            removal = replace(removal, data=masked, shown=_without_records(removal.shown))
        return replace(self, masked=masked, removal=removal)


def _without_records(data: Dataset) -> Dataset:
    columns = (Column(each.variable, each.values[:0].copy(), each.missing[:0].copy()) for each in data)
    return replace(data, columns=tuple(columns))


def method_warnings(plan: Plan, notes: Sequence[Mapping[str, Any]]) -> Iterator[Notice]:
    """What methods warn of; `notes`: of each group of the plan."""
    for group, note in zip(plan.groups, notes, strict=True):
        step = plan.steps[group.step - 1]
        for warning in note.get("warnings", ()):
            yield Notice("method-says", str(step.number), f"{step} on {_shown(group)}: {warning}", place=step.place)


def uncut_notices(plan: Plan, records: int, block_size: int | None) -> Iterator[Notice]:
    """Which steps mask the whole file at once although there are to be blocks."""
    if block_size is None or records <= block_size:
        return
    for step in plan.steps:
        if isinstance(step.method, Method) and step.method.claims.cut == "none":
            message = (
                f"step {step.number}: {step.method.name} masks all records at once, not in blocks of {block_size:,}"
            )
            yield Notice("not-in-blocks", str(step.number), message, place=step.place)


def method_doubts(plan: Plan, found: Sequence[Iterable[str]]) -> Iterator[Doubt]:
    """What methods are for and say that they could not do; `found`: of each group of the plan."""
    for group, doubts in zip(plan.groups, found, strict=True):
        step = plan.steps[group.step - 1]
        for doubt in doubts:
            message = f"{step.method.name} on {_shown(group)}: {doubt}"
            yield Doubt("method-warned", str(step.number), message, place=step.place)


def spread_findings(plan: Plan, found: Sequence[Mapping[str, AbstractSet[int]]]) -> Iterator[Doubt | Notice]:
    """On variables that have no spread to scale a change by, group by group of the plan: a doubt in most strata.

    `found`: the strata in which each variable of a group has none.
    """
    for group, equal in zip(plan.groups, found, strict=True):
        step = plan.steps[group.step - 1]
        of = 1 if group.strata is None else max(group.strata.count, 1)
        for count in dict.fromkeys(map(len, equal.values())):
            names = ", ".join(name for name, strata in equal.items() if len(strata) == count)
            where = f"in {count} of {of} strata " * (of > 1)
            message = (
                f"{names}: {where}true values are published unchanged, because those that are masked together are all "
                "equal and have no spread to scale a change by"
            )
            if 2 * count > of:
                message = f"{step.method.name} on {_shown(group)}: {message}"
                yield Doubt("method-warned", str(step.number), message, count, of, step.place)
            else:
                message = f"{step} on {_shown(group)}: {message}"
                yield Notice("without-spread", str(step.number), message, count, of, step.place)


def _shown(group: Group) -> str:
    return ", ".join(group.variables[:5]) + (", ..." if len(group.variables) > 5 else "")


def structural_zeros(plan: Plan, *counts: Mapping[str, Sequence[int]]) -> Iterator[Mapping[str, Any]]:
    """Share of the cells with a value that are 0, of variables that a step says have such zeros.

    `counts`: before and after, as `zero_counts` has them.
    """
    for step in plan.steps:
        for name in step.planning.structural_zeros:
            before, after = (zeros / max(there, 1) for zeros, there in (each[name] for each in counts))
            yield {"step": step.number, "variable": name, "before": before, "after": after}


def zeros_of_others(plan: Plan, notes: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str], int]:
    """Records whose zero is that of others in their cluster, by step and variable; `notes`: of each group."""
    return {
        (plan.steps[group.step - 1].number, name): count
        for group, each in zip(plan.groups, notes, strict=True)
        for name, count in each.get(ZEROS_OF_OTHERS, {}).items()
    }


def zero_notices(zeros: Sequence[Mapping[str, Any]], joined: Mapping[tuple[int, str], int]) -> Iterator[Notice]:
    """Notices of what `structural_zeros` found; `joined`: as `zeros_of_others` has them."""
    for each in zeros:
        count = joined.get((each["step"], each["variable"]), 0)
        why = f"; {plural(count, 'record')}, whose zeros fewer than k records share, as others in their cluster"
        message = (
            f"structural zeros of {each['variable']}: {100 * each['before']:.2f} % of the values before, "
            f"{100 * each['after']:.2f} % after{why if count else ''}"
        )
        yield Notice("structural-zeros", each["variable"], message, step=each["step"])


def conflict_notices(conflicts: Iterable[Sequence[str]]) -> Iterator[Notice]:
    """Edits that records could not be brought onto together, whatever is masked."""
    for names in conflicts:
        *others, last = names
        several = f"{', '.join(others)} and {last} together" if others else last
        message = f"in some records no masked values satisfy {several}: their unmasked values exclude it"
        yield Notice("edits-exclude-each-other", "", message)


def notices_of_edits(plan: Plan, terms: PublishedTerms | None) -> tuple[Notice, ...]:
    """What became of edits on recoded variables, beyond what the plan says."""
    if terms is None:
        return ()
    translated = {each.original.name for each in plan.translations}
    return recoded_edit_notices(
        [each for each in terms.translations if each.original.name not in translated], terms.dropped
    )


def category_notices(adjusted: Sequence[CategoryCounts], plan: Plan) -> Iterator[Notice]:
    """What adjusting did to categories, how often the original came back by it, and what no longer holds then."""
    for each in adjusted:
        names = ", ".join(each.unit.variables)
        if each.changed:
            message = (
                f"{plural(each.changed, 'category', 'categories')} of {names} changed in "
                f"{plural(each.moved, 'record')} to keep edits; {each.restored} of them came out as in the original"
            )
            yield Notice("categories-adjusted", "", message, each.changed)
            yield from _before_adjusting(each, plan)
        if each.infeasible:
            message = (
                f"in {plural(each.infeasible, 'record')} no categories of {names} satisfy every edit: what is "
                "published unmasked, or missing, excludes it"
            )
            yield Notice("categories-not-adjusted", "", message, each.infeasible)


def _before_adjusting(adjusted: CategoryCounts, plan: Plan) -> Iterator[Notice]:
    """What methods that draw categories say of probabilities and counts is true before adjusting only."""
    places = {group.step for group in plan.groups if set(group.variables) & set(adjusted.names)}
    drawing = [
        str(step) for position, step in enumerate(plan.steps, 1)
        if position in places and not (step.method.claims.deterministic or step.method.claims.removes)
    ]  # fmt: skip
    if drawing:
        message = (
            f"probabilities, distances and counts that {', '.join(drawing)} had for {', '.join(adjusted.names)} are "
            "those before edits were kept"
        )
        yield Notice("counts-before-adjusting", "", message)


def published_note_doubts(
    plan: Plan, notes: Sequence[Mapping[str, Any]], adjusted: Sequence[CategoryCounts]
) -> Iterator[Doubt]:
    """Doubts about what methods publish of the changes that they made, where these are not the only ones."""
    for group, note in zip(plan.groups, notes, strict=True):
        if not any(note.get("published", {}).values()):
            continue
        own = set(group.variables)
        moved = [name for each in adjusted for name in each.names if name in own]
        others = [each for each in plan.groups if each.step != group.step and own & set(each.variables)]
        changed = [each for each in others if not plan.steps[each.step - 1].only_removes]
        if not moved and not changed:
            continue
        names = ", ".join(moved or sorted(own & set(changed[0].variables)))
        why = "to keep edits" if moved else f"by step {plan.steps[changed[0].step - 1].number} too"
        own_step = plan.steps[group.step - 1]
        yield Doubt(
            "promise-not-kept", str(own_step.number),
            f"what is published of the changes of {names} is not all: the categories were changed {why}",
            place=own_step.place,
            hint="mask variables that edits tie together jointly and in one step, or do not publish it",
        )  # fmt: skip


def household_doubts(original: Dataset, masked: Dataset, plan: Plan) -> Iterator[Doubt]:
    """Doubts about variables that were the same within households and are no longer, unless the plan has them."""
    if masked.households is None or not household_columns(masked, plan.untouched):
        return
    warned = {each.subject for each in plan.doubts if each.kind == "constant-within-households"}
    before = original if masked.origin is None else original.taken(masked.origin)
    for name in (name for name in plan.masked if name in masked and name not in warned):
        codes = ValueCodes(before).of(name)
        if determines(masked.households, codes):
            _, _, alike = agreeing_households(masked.households, codes)
            several, _, still = agreeing_households(masked.households, ValueCodes(masked).of(name))
            valued = masked.households[~masked[name].missing]
            broken = int(np.sum(alike & ~still & (np.bincount(valued, minlength=len(alike)) > 1)))
            if broken:
                message = f"its masked values differ between members of {broken} of {several} households of two or more"
                yield Doubt("constant-within-households", name, message, broken, several)
