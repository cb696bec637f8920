"""Guarantees of steps across levels: refused at plan time where moving a group would break them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit import LinearPart
from maskwright.edits.levels.structure import sources_of
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.model import Keeper

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.levels.cross_level_edits import AcrossLevels
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan


def adjusted_totals(steps: Sequence[Step], masked: Collection[str]) -> frozenset[str]:
    """Totals onto which members are to be moved."""
    problems = [
        Problem(f"step {number}: totals: {unknown_name('masked variable of the top level', name, masked)}", step.place)
        for number, step in enumerate(steps, 1)
        for name in step.planning.totals
        if name not in masked
    ]  # fmt: skip
    if problems:
        raise InputError(problems)
    return frozenset(name for step in steps for name, how in step.planning.totals.items() if how == "adjust")


def require_totals(across: AcrossLevels, steps: Sequence[Step]) -> None:
    """Refuse to say how variables are made that no edit gives as totals over members."""
    totals = [each.variable for each in across.derived]
    there = f"totals here are {', '.join(totals)}" if totals else "no edit gives any"
    problems = [
        Problem(f"step {number}: totals: {name} is no total that steps mask and an edit gives over members", step.place,
                f"{there[0].upper()}{there[1:]}.")
        for number, step in enumerate(steps, 1) for name in step.planning.totals if name not in totals
    ]  # fmt: skip
    if problems:
        raise InputError(problems)


def require_what_moves(
    across: AcrossLevels, bound: BoundEdits, masked: Mapping[str, Collection[str]], steps: Sequence[Step]
) -> None:
    """Refuse totals onto which nothing can move: no step masks anything else that their edit reads."""
    problems = []
    for level, edits in bound.edits.items():
        moving = (set(masked.get(level, ())) | across.changed[level]) - across.standing
        for edit in _moved_for(across, edits):
            onto = across.standing.intersection(edit.variables)
            if onto and not moving.intersection(edit.variables):
                (total, *_) = onto
                place = next(step.place for step in steps if step.planning.totals.get(total) == "adjust")
                message = f"totals: {{{total}: adjust}}: no step masks anything else that edit {edit.name!r} reads"
                hint = f"mask what is to move onto {total}, or leave {total} to be derived"
                problems.append(Problem(message, place, hint))
    if problems:
        raise InputError(problems)


def _moved_for(across: AcrossLevels, edits: Iterable[Edit]) -> Iterator[Edit]:
    """What of these edits, in their order, the records of a group move together for."""
    return (each for edit in edits for each in across.together if each.name == edit.name)


def lets_k_go(steps: Sequence[Step]) -> bool:
    """Whether records may be moved by themselves: a step that masks values does not insist on its k."""
    return any(not _requires_k(step) and not step.only_removes for step in steps)


def guaranteed_variables(plan: Plan) -> frozenset[str]:
    """Variables of which a step insists on its k: they are not moved record by record."""
    return frozenset(
        name for group in plan.groups if _requires_k(plan.steps[group.step - 1]) for name in group.variables
    )  # fmt: skip


def steps_requiring_k(edit: Edit, steps: Sequence[Step], bound: BoundEdits) -> tuple[int, ...]:
    """Numbers of the steps whose k forbids to move records onto an edit: they mask what it reads."""
    return tuple(
        number for number, step in enumerate(steps, 1) if _requires_k(step) and _reads(edit, step, bound)
    )  # fmt: skip


def _requires_k(step: Step) -> bool:
    return step.k is not None and step.planning.k_guarantee == "require"


def require_k_of_groups(across: AcrossLevels, bound: BoundEdits, steps: Sequence[Step]) -> None:
    """Refuse equalities for which groups have to move, one by one, while a step promises k.

    Inequalities may hold all the same: whether they do is seen when the masked values are there.
    """
    problems = []
    for edits in bound.edits.values():
        for edit in _moved_for(across, edits):
            if edit.severity != "error":
                continue
            if not any(isinstance(part, LinearPart) and part.relation == "==" for part in edit.parts):
                continue
            strict = steps_requiring_k(edit, steps, bound)
            if not strict:
                continue
            number, step = strict[0], steps[strict[0] - 1]
            message = (
                f"step {number} promises k = {step.k}, but to keep edit {edit.name!r} the records of each group "
                "have to move together, which breaks k"
            )
            hint = (
                "mask its total and let it be derived, or set 'k_guarantee: report' in its params; "
                "`unit` masks whole groups alike"
            )
            problems.append(Problem(message, step.place, hint))
    if problems:
        raise InputError(problems)


def checked_under_guarantees(across: AcrossLevels, bound: BoundEdits, steps: Sequence[Step]) -> AcrossLevels:
    """Who keeps the edits, with those that are only checked because a step promises k of what they read."""

    def told(keeper: Keeper) -> Keeper:
        own = (each for each in across.together if each.name == keeper.edit)
        strict = tuple(dict.fromkeys(number for each in own for number in steps_requiring_k(each, steps, bound)))
        if not strict:
            return keeper
        how = f"step {strict[0]} promises k, so no record is moved onto it ('k_guarantee: report' lets them move)"
        return Keeper(keeper.edit, "checked", how)

    return replace(across, keepers=tuple(told(each) for each in across.keepers))


def _reads(edit: Edit, step: Step, bound: BoundEdits) -> bool:
    """Whether an edit reads, from whatever level, a variable that a step names."""
    if step.variables is None:
        return True
    return any(name in step.named for read in edit.variables for _, name in sources_of(bound.columns, edit.level, read))
