"""Doubts about variables that adjusting moved farther than the methods did, and the edits that made it so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError
from maskwright.foundation.findings import Notice
from maskwright.planning.make_plan import grouped_steps, keeps_k
from maskwright.planning.model import Step
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.adjusting.adjustment_loss import Moves
    from maskwright.masking.adjusting.distortion import Distortion, Shift
    from maskwright.planning.plan import Plan
    from maskwright.plugins.method import Method

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
"""Share of what moved a variable from which on one edit does most of it."""

MOST_MENDED = 0.75
"""Share of a move from which on records that violate an edit in the original, or are averaged with one, have done it.

They explain it only if hardly anything is left for others: with this share these did a third as much at most.
"""


@dataclass(frozen=True, eq=False)
class EditEffects:
    """What adjusting moved of variables that edits join.

    `moves`: of each variable, by edit. `computed`: variables that are computed from the others.
    """

    variables: tuple[str, ...]
    moves: Moves
    computed: tuple[str, ...] = ()

    def shares(self, variable: str, edits: EditSet) -> dict[str, float]:
        """Of what moved a variable, by edit, the one that moved it most first."""
        known, moves = {edit.name for edit in edits}, self.moves.get(variable, {})
        total = sum(moves.values())
        named = sorted(((name, own) for name, own in moves.items() if name in known), key=lambda each: -each[1])
        return {name: own / total for name, own in named if own}


@dataclass(frozen=True, eq=False)
class DistortionDoubts:
    """Doubts, and edits that do most of what is in doubt, with the share that they do.

    `notices`: of variables that only records which violate an edit in the original moved so far, or that only removing
    moved, less.
    """

    doubts: tuple[Doubt, ...] = ()
    doing_most: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    def __add__(self, other: DistortionDoubts) -> DistortionDoubts:
        return DistortionDoubts(
            (*self.doubts, *other.doubts), {**self.doing_most, **other.doing_most}, (*self.notices, *other.notices)
        )


def distortion_beyond_errors(
    found: Distortion, obeying: Callable[[], Distortion | None], effects: Sequence[EditEffects],
    variables: Mapping[str, Variable], plan: Plan, edits: EditSet,
) -> DistortionDoubts:  # fmt: skip
    """Look at each variable that was adjusted; what is moved where the original violates an edit is mended.

    `obeying`: measured of the records whose original obeys the edits that few violate; None: that is all of them.
    """
    present = np.diag(found.adjusted.both).tolist()
    distorted = [
        (place, shift) for place, (shift, cells) in enumerate(zip(found.shifts, present, strict=True))
        if is_distorted(shift, cells, variables[shift.variable].distortion)
    ]  # fmt: skip
    beyond = obeying() if distorted else None
    left = None if beyond is None else list(found.moving_only(beyond).shifts)
    doubts: list[Doubt] = []
    notices: list[Notice] = []
    most: dict[str, float] = {}
    advised: dict[tuple[str, ...], str] = {}
    for place, shift in distorted:
        name = shift.variable
        (own,) = [each for each in effects if name in each.variables][-1:] or [EditEffects((), {})]
        named = [(edit, share) for edit, share in own.shares(name, edits).items() if share >= 1 / 100][:MOST_NAMED]
        declared = variables[name].distortion
        if left is not None and not is_distorted(left[place], present[place], declared):
            share = _mended(shift, left[place], least_moved(present[place], declared))
            if share >= MOST_MENDED:
                notices.append(_mending_notice(_doubt(shift, named, own, plan, edits, {}), share))
                continue
        most |= {edit: max(share, most.get(edit, 0.0)) for edit, share in named if share > MOST}
        doubts.append(_doubt(shift, named, own, plan, edits, advised))
    return DistortionDoubts(tuple(doubts), most, tuple(notices))


def _mended(shift: Shift, left: Shift, bound: float) -> float:
    """Share that records have of what moved too far: of a mean, of a standard deviation, the least; `left`: without."""
    pairs = ((shift.mean, left.mean), (shift.deviation, left.deviation))
    return min(1 - abs(without) / abs(moved) for moved, without in pairs if abs(moved) > bound)


def _mending_notice(doubt: Doubt, share: float) -> Notice:
    """Notice about a variable that records which violate an edit in the original moved so far."""
    return Notice(
        "mended-violations",
        doubt.subject,
        f"{doubt.subject}: {doubt.message}; {100 * min(share, 1.0):.0f} % of that in records that violate an edit in "
        "the original, or are averaged with one: right where these are errors, wrong where good records violate the "
        "edit",
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


def _doubt(
    shift: Shift, named: Sequence[tuple[str, float]], effects: EditEffects, plan: Plan, edits: EditSet,
    advised: dict[tuple[str, ...], str],
) -> Doubt:  # fmt: skip
    """Doubt about a variable; `advised`: the ways out that doubts before it name, with their variables; gains this."""
    name = shift.variable
    message = (
        f"adjusting and rounding moved its mean by {signed(shift.mean)} and its standard deviation by "
        f"{signed(shift.deviation)} standard deviations of the original (the methods: mean {signed(shift.method_mean)}"
        f", standard deviation {signed(shift.method_deviation)}; of the deciles, which have no bound, one by "
        f"{signed(shift.decile)})"
    )
    if named:
        message += " to keep " + ", ".join(
            f"{_said(edits[edit])} ({100 * share:.0f} % of its moves)" for edit, share in named
        )
    chosen = [edits[edit] for edit, _ in named]
    in_steps = {each for edit in chosen for each in edit.variables} | {name}
    if name in effects.computed and chosen:
        others = ", ".join(other for other in chosen[0].variables if other != name)
        message += f": {name} is computed from {others}, and a product or quotient of masked values is another"
        ways = dict.fromkeys(_ways_of_computed(name, chosen[0], plan))
    else:
        ways = dict.fromkeys((*_ways_off_steps(in_steps, plan.variables), *_ways(name, chosen, plan)))
    declared = declaration(name, shift.mean, shift.deviation)
    first = advised.setdefault(tuple(ways), name) if ways else name
    return Doubt(
        "adjustment-distorts", name, message,
        hint=_sentence([*(ways if first == name else [f"do what is advised for {first}"]), declared]),
    )  # fmt: skip


def _ways_of_computed(name: str, edit: Edit, plan: Plan) -> Iterator[str]:
    """What would do better where a variable is computed from others."""
    if computes_another(plan, name, 2.0):
        way = f"`adjustment_weights: {{{name}: 2}}` in the step's params"
        yield f"let another variable of {edit.name} be computed, which may move less: {way}"


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


def _ways(name: str, edits: Sequence[Edit], plan: Plan) -> Iterator[str]:
    """What would do better."""
    if not edits:
        yield "publish more decimals"
        return
    violated = [edit.name for edit in edits if edit.limit_of is None and edit.name in plan.violated]
    if violated:
        which = "it" if len(violated) == 1 else "them"
        yield f"check {', '.join(violated)}: `maskwright validate` counts the original records that violate {which}"
    for edit in edits:
        if (step := edit.limit_of) is not None:
            limited = ", ".join(edit.variables)
            yield f"let step {step} limit {limited} less, or not at all where another step masks {limited}"
    together = next((unit.variables for unit in plan.units if name in unit.variables), ())
    method = masked_together(plan, together) if all(edit.limit_of is None for edit in edits) else None
    if method is not None and all(set(edit.variables) <= set(plan.variables) for edit in edits):
        which = "its edits" if len(together) == 1 else "their edits"
        in_one = "" if len(together) == 1 else " in one step"
        yield f"mask {', '.join(together)}{in_one} by a method that keeps {which}, such as {method}"


def masked_together(plan: Plan, names: Sequence[str]) -> str | None:
    """Method of clusters that may mask some variables together, which no step does so far; None: no plan is accepted.

    Steps that mask them otherwise leave them out; those that code or recode values stay.
    """
    if any(step.unit is not None for step in plan.steps):
        return None
    keeping = [each for each in plugins().methods.values() if each.makes_clusters and _keeps_edits(each)]
    for method in sorted(keeping, key=lambda each: each.name):
        try:
            params = method.params()
        except ValueError:
            continue  # it has no default parameters
        steps = _with_step(plan, Step(method.with_params(params), params, variables=tuple(names)))
        if steps and keeps_k(steps, tuple(plan.variables.values()), plan.edits, ()):
            return method.name
    return None


def computes_another(plan: Plan, name: str, weight: float) -> bool:
    """Whether another variable of a product is computed in place of one, if its moves have this weight."""
    steps = [
        replace(step, planning=step.planning.model_copy(
            update={"adjustment_weights": {**step.planning.adjustment_weights, name: weight}}
        )) for step in plan.steps
    ]  # fmt: skip
    try:
        found = grouped_steps(steps, tuple(plan.variables.values()), plan.edits)
    except InputError:
        return False
    return all(name not in group.computed for group in found.groups)


def _with_step(plan: Plan, added: Step) -> list[Step]:
    """Steps of a plan with one more, whose variables others no longer mask; none where one of them is that step."""
    steps: list[Step] = []
    place, names = None, frozenset(added.variables or ())
    for number, step in enumerate(plan.steps, 1):
        own = [name for group in plan.groups if group.step == number for name in group.variables]
        stays = step.only_removes or step.method.claims.limits or "equals" in step.method.claims.preserves
        if stays or names.isdisjoint(own):
            steps.append(step)
            continue
        if step.method.name == added.method.name and names.issubset(own):
            return []
        place = len(steps) if place is None else place
        if left := tuple(name for name in own if name not in names):
            steps.append(replace(step, variables=left, groups=()))
    if place is None:
        return []
    return [replace(step, number=number) for number, step in enumerate([*steps[:place], added, *steps[place:]], 1)]


def _keeps_edits(method: Method) -> bool:
    return {"linear", "inequality", "range", "mean", "k"} <= method.claims.preserves


def declaration(name: str, mean: float, deviation: float) -> str:
    """Way out of a doubt: a bound that lets pass what a mean and a standard deviation moved, with one digit."""
    moved = max(abs(mean), abs(deviation))
    step = 10.0 ** np.floor(np.log10(moved))
    bound = f"{(np.floor(moved / step) + 1) * step:.1g}"
    return f"declare how far its mean and its standard deviation may move: `{name}: {{distortion: {bound}}}`"
