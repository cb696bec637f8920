"""Doubts about variables that adjusting moved farther than the methods did, and the edits that made it so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import LinearPart, ProductPart
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.masking.adjusting.derivation import is_equality

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.adjusting.adjustment_loss import Cost
    from maskwright.masking.adjusting.distortion import Distortion, Shift
    from maskwright.planning.plan import Plan

LEAST_MOVED = 0.05
"""Standard deviations of the original that a mean or a standard deviation may move; in small files more."""

MOVED_BY_REMOVAL = 0.2
"""The same where steps that only remove cells or records moved them.

What few have lies in the tails, so that whoever suppresses it moves these moments, as is known: by 0.05 to 0.15 in
ordinary runs that leave most cells. From 0.2 on, a small effect in the terms of Cohen (1988), results are others.
"""

MOST_GONE = 0.5
"""Share of the cells from which on what is left is another variable: then moving by the least is too much."""

MOST_NAMED = 3
MOST = 0.5
"""Share of what adjusting costs from which on one edit does most of it."""


@dataclass(frozen=True, eq=False)
class EditEffects:
    """What adjusting cost in variables that edits join.

    `touched`: records that were moved because of each edit.
    """

    variables: tuple[str, ...]
    cost: Cost
    touched: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """Of what adjusting added, by edit, the one that added most first; what several did falls to all of them."""
        touched = {name: count for name, count in self.touched.items() if count}
        own = {name: max((self.cost.edits or {}).get(name, 0.0), 0.0) for name in touched}
        several = max(self.cost.several_edits, 0.0)
        total, records = sum(own.values()) + several, sum(touched.values())
        if not total:
            return {name: count / records for name, count in sorted(touched.items(), key=lambda each: -each[1])}
        shares = {name: (own[name] + several * touched[name] / records) / total for name in own}
        return dict(sorted(shares.items(), key=lambda each: -each[1]))


@dataclass(frozen=True, eq=False)
class DistortionDoubts:
    """Doubts, and edits that do most of what is in doubt, with the share that they do.

    `notices`: of variables that only records which violate an edit on arrival moved so far, or only removing did, less.
    """

    doubts: tuple[Doubt, ...] = ()
    doing_most: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    def __add__(self, other: DistortionDoubts) -> DistortionDoubts:
        return DistortionDoubts(
            (*self.doubts, *other.doubts), {**self.doing_most, **other.doing_most}, (*self.notices, *other.notices)
        )


def distortion_doubts(
    found: Distortion, effects: Sequence[EditEffects], variables: Mapping[str, Variable], plan: Plan, edits: EditSet
) -> DistortionDoubts:
    """Look at each variable that was adjusted."""
    doubts: list[Doubt] = []
    most: dict[str, float] = {}
    known = {edit.name for edit in edits}
    for shift, present in zip(found.shifts, np.diag(found.adjusted.both).tolist(), strict=True):
        shares: dict[str, float] = {}
        for each in effects:
            if shift.variable in each.variables:
                shares |= each.shares
        if not is_distorted(shift, present, variables[shift.variable].distortion):
            continue
        named = [(name, share) for name, share in shares.items() if name in known and share >= 1 / 100][:MOST_NAMED]
        most |= {name: share for name, share in named if share > MOST}
        doubts.append(_doubt(shift, named, plan, edits))
    return DistortionDoubts(tuple(doubts), most)


def distortion_beyond_errors(
    found: Distortion, obeying: Callable[[], Distortion | None], effects: Sequence[EditEffects],
    variables: Mapping[str, Variable], plan: Plan, edits: EditSet,
) -> DistortionDoubts:  # fmt: skip
    """Look at each variable that was adjusted; what is moved where the original violates an edit is mended.

    `obeying`: measured of the records whose original obeys the edits that few violate; None: that is all of them.
    """
    distorted = distortion_doubts(found, effects, variables, plan, edits)
    beyond = obeying() if distorted.doubts else None
    if beyond is None:
        return distorted
    left = distortion_doubts(beyond, effects, variables, plan, edits)
    return replace(left, notices=_mending_notices(distorted.doubts, left.doubts))


def _mending_notices(all_records: Iterable[Doubt], obeying: Iterable[Doubt]) -> tuple[Notice, ...]:
    """What is said of variables that only records which violate an edit on arrival moved so far."""
    left = {each.subject for each in obeying}
    return tuple(
        Notice(
            "mended-violations",
            each.subject,
            f"{each.subject}: {each.message}; nearly all of it in records that violate an edit in the original: right "
            "where these are errors, wrong where good records violate the edit",
        )
        for each in all_records
        if each.subject not in left
    )


def is_distorted(shift: Shift, present: float, declared: float | None) -> bool:
    """Whether adjusting moved a mean or a standard deviation away from the original, and farther than it may.

    `present`: cells with a value: of few, a move within the standard error of their mean shows nothing.
    """
    bound = least_moved(present, declared)
    pairs = ((shift.mean, shift.method_mean), (shift.deviation, shift.method_deviation))
    return any(
        min(abs(moved), abs(moved + before)) > (bound if declared is not None else max(bound, abs(before)))
        for moved, before in pairs
    )


def least_moved(present: float, declared: float | None, least: float = LEAST_MOVED) -> float:
    """Standard deviations that a mean or a standard deviation may move in any case."""
    return max(least, 1 / float(np.sqrt(max(present, 1.0)))) if declared is None else declared


def signed(moved: float) -> str:
    """A number of standard deviations, with its sign; 0 where it rounds to that."""
    shown = round(moved, 2)
    return f"{shown:+.2f}" if shown else "0"


def _doubt(shift: Shift, named: Sequence[tuple[str, float]], plan: Plan, edits: EditSet) -> Doubt:
    message = (
        f"adjusting and rounding moved its mean by {signed(shift.mean)}, its standard deviation by "
        f"{signed(shift.deviation)} and a decile by {signed(shift.decile)} standard deviations of the original (the "
        f"methods: mean {signed(shift.method_mean)}, standard deviation {signed(shift.method_deviation)})"
    )
    if named:
        message += " to keep " + ", ".join(
            f"{_said(edits[name])} ({100 * share:.0f} % of the cost)" for name, share in named
        )
    chosen = [edits[name] for name, _ in named]
    in_steps = {each for edit in chosen for each in edit.variables} | {shift.variable}
    ways = dict.fromkeys((*_ways_off_steps(in_steps, plan.variables), *_ways(chosen, plan)))
    declared = declaration(shift.variable, shift.mean, shift.deviation)
    return Doubt("adjustment-distorts", shift.variable, message, hint=_sentence([*ways, declared]))


def _said(edit: Edit) -> str:
    """Its name; of a limit, which no pipeline names, what it is."""
    step = edit.limit_of
    return edit.name if step is None else f"the limit of step {step} on {', '.join(edit.variables)}"


def _sentence(ways: Sequence[str]) -> str:
    text = "; ".join(ways[:-1]) + ("; or " if len(ways) > 1 else "") + ways[-1]
    return text[0].upper() + text[1:] + "."


def _ways_off_steps(names: Collection[str], variables: Mapping[str, Variable]) -> Iterator[str]:
    """What would do better where values stand in coarse steps, for sums that XPath finds equal."""
    stepped = [each for name, each in variables.items() if name in names and each.units_in_a_step > 1]
    if stepped:
        steps = ", ".join(f"{each.name} in multiples of {0.5 ** (each.decimals or 0):g}" for each in stepped)
        yield (
            "give the tests of Schematron that add over members a tolerance, abs(sum - total) <= 0.01: Schematron "
            "calculates in binary numbers, which miss one sum of decimals in four, and without a tolerance the values "
            f"have to be published in coarse steps ({steps}), onto which records are moved"
        )


def _ways(edits: Sequence[Edit], plan: Plan) -> Iterator[str]:
    """What would do better."""
    if not edits:
        yield "publish more decimals"
        return
    rules = [edit for edit in edits if edit.limit_of is None]
    them = "it" if len(rules) == 1 else "them"
    violated = [edit.name for edit in rules if edit.name in plan.violated]
    if violated:
        which = "it" if len(violated) == 1 else "them"
        yield f"check {', '.join(violated)}: `maskwright validate` counts the original records that violate {which}"
    for edit in edits:
        if (step := edit.limit_of) is not None:
            limited = ", ".join(edit.variables)
            yield f"let step {step} limit {limited} less, or not at all where another step masks {limited}"
    for edit in rules:
        yield from _together(edit, plan)
        if any(isinstance(part, LinearPart | ProductPart) and is_equality(part) for part in edit.parts):
            yield f"give {edit.name} a tolerance, where its variables are rounded"
        if edit.kind == "checked":
            yield f"write {edit.name} as a sum or a product with one variable alone, which is then derived"
    if rules:
        yield f"take a method that keeps {them} by itself (`maskwright plan` says what keeps each edit)"


def _together(edit: Edit, plan: Plan) -> Iterator[str]:
    """That its variables be masked together, where no step does."""
    own = {name for name in edit.variables if name in plan.masked}
    groups = [group for group in plan.groups if own & set(group.variables)]
    if len(own) > 1 and not any(own <= set(group.variables) for group in groups):
        apart = [plan.steps[group.step - 1].method for group in groups]
        by = dict.fromkeys(method.name for method in apart if method.scope == "variable")
        together = ", ".join(name for name in edit.variables if name in own)
        if by:
            yield f"mask {together} together, by another method: {', '.join(by)} masks each variable by itself"
        else:
            yield f"mask {together} in one step and one group"


def declaration(name: str, mean: float, deviation: float) -> str:
    """Way out of a doubt: a bound that lets pass what a mean and a standard deviation moved, with one digit."""
    moved = max(abs(mean), abs(deviation))
    step = 10.0 ** np.floor(np.log10(moved))
    bound = f"{(np.floor(moved / step) + 1) * step:.1g}"
    return f"declare how far it may move: `{name}: {{distortion: {bound}}}`"
