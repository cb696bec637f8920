"""Steps on levels: what they remove and recode, what they promise, and edits that cannot be kept for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import Edit, LinearPart
from maskwright.edits.levels.structure import MembersColumn, sources_of
from maskwright.edits.levels.structure_edits import sources_of_edit
from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.model import Keeper, Step
from maskwright.planning.step_variables import variables_of_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.data.variable import Variable
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.levels.cross_level_edits import AcrossLevels
    from maskwright.planning.plan import Plan


_COUNTING = ("count", "any", "all", "one", "no", "unique")
FOLLOWS = 0.95
"""Share of records of the upper level whose value is the usual one of their number of members, if that discloses it."""


@dataclass(frozen=True)
class Treatment:
    """What the steps of one level do to its variables.

    `masked`: whose published cells are not those of the original, or may be empty. `emptied`: those of them that steps
    leave empty in some records, and change in none. `suppressed`: variables of which steps suppress cells, with the
    number of the step in the pipeline. `recoded`: variables that steps publish as coarser categories, with the number
    of the step. `droppable`, `weakenable`: recoded variables whose edits may be, as `release_edits` says.
    """

    masked: frozenset[str] = frozenset()
    emptied: frozenset[str] = frozenset()
    suppressed: Mapping[str, int] = field(default_factory=dict)
    recoded: Mapping[str, int] = field(default_factory=dict)
    droppable: frozenset[str] = frozenset()
    weakenable: frozenset[str] = frozenset()


def treatment(steps: Sequence[Step], variables: Sequence[Variable]) -> Treatment:
    """What steps do to the variables of a level."""
    shaped: set[str] = set()
    suppressed: dict[str, int] = {}
    recoded: dict[str, int] = {}
    droppable: set[str] = set()
    weakenable: set[str] = set()
    for step, found in zip(steps, variables_of_steps(steps, variables), strict=True):
        removes = step.method.claims.removes
        if not step.only_removes:
            shaped.update(found.names)
        if "cells" in removes:
            suppressed |= dict.fromkeys(found.names, step.number)
        if "detail" in removes:
            shaped.update(found.names)
            recoded |= dict.fromkeys(found.names, step.number)
            droppable.update(step.planning.release_edits.drop)
            weakenable.update(step.planning.release_edits.weaken)
    masked = frozenset(shaped).union(suppressed)
    return Treatment(masked, masked - shaped, suppressed, recoded, frozenset(droppable), frozenset(weakenable))


def refuse_given_back(bound: BoundEdits, treatments: Mapping[str, Treatment], linked: LinkedData) -> None:
    """Refuse to suppress what the published members give back: a household's size, when its rows can be counted."""
    problems = []
    for level in linked.levels[:-1]:
        for name, number in treatments[level.name].suppressed.items():
            how = next(_given_back(bound, treatments, level.name, name), None)
            counted = (lower for upper, lower in linked.pairs if upper == level.name)
            members = None if how else next((m for m in counted if _is_disclosed_by_size(linked, level, m, name)), None)
            if members is not None:
                how = f"the number of its {members} records tells it"
            if how is not None:
                message = f"an empty cell of {name} would not be empty: {how}"
                hint = (
                    f"Leave {name} out of this step; leave out whole {level.name} records that are rare in it "
                    f"(`record_suppression` with {name} among its keys), or take another key."
                )
                problems.append(Problem(message, None, hint, step=number))
    refuse_problems(problems)


def _given_back(bound: BoundEdits, treatments: Mapping[str, Treatment], level: str, name: str) -> Iterator[str]:
    """Equalities of a variable with what is counted among members that no step masks."""
    columns = {each.name: each for each in bound.columns[level]}
    for edit in bound.edits[level]:
        for part in edit.parts:
            if not isinstance(part, LinearPart) or part.relation != "==" or edit.severity != "error":
                continue
            others = [other for other, _ in part.coefficients if other != name]
            if len(others) == len(part.coefficients) or not others:
                continue
            counted = [columns.get(other) for other in others]
            if all(isinstance(each, MembersColumn) and each.function in _COUNTING for each in counted) and not any(
                variable in treatments[where].masked
                for other in others for where, variable in sources_of(bound.columns, level, other)
            ):  # fmt: skip
                yield f"{', '.join(others)} is counted in what is published, and edit {edit.name!r} gives it back"


def _is_disclosed_by_size(linked: LinkedData, level: Level, members: str, name: str) -> bool:
    """Whether the number of members discloses a variable, of nearly all records and much better than nothing does."""
    column = level.data[name]
    there = ~column.missing
    if not there.any():
        return False
    sizes = np.bincount(linked.groups_in(members, level.name), minlength=len(level))[there]
    values = np.unique(column.values[there], return_inverse=True)[1].ravel()
    pairs, counts = np.unique(np.stack([sizes, values]), axis=1, return_counts=True)
    usual = np.zeros(int(sizes.max(initial=0)) + 1, dtype=np.int64)
    np.maximum.at(usual, pairs[0], counts)
    determined, guessed = int(usual.sum()), int(np.bincount(values).max())
    # Sizes that occur once disclose everything of their only record.
    several = len(np.unique(sizes)) * 2 <= len(sizes)
    return several and determined >= FOLLOWS * len(sizes) and 2 * (len(sizes) - determined) <= len(sizes) - guessed - 1


def adjusted_totals(
    steps: Sequence[Step], masked: Mapping[str, Collection[str]], upper: Sequence[str]
) -> frozenset[str]:
    """Totals, of the `upper` levels, onto which members are to be moved."""
    where = "the top level" if len(upper) == 1 else "an upper level"
    known = [name for level in upper for name in masked[level]]
    problems = [
        Problem(f"totals: {unknown_name(f'masked variable of {where}', name, known)}", step.place, step=step.number)
        for step in steps for name in step.planning.totals if name not in known
    ]  # fmt: skip
    refuse_problems(problems)
    return frozenset(name for step in steps for name, how in step.planning.totals.items() if how == "adjust")


def require_totals(across: AcrossLevels, steps: Sequence[Step]) -> None:
    """Refuse to say how variables are made that no edit gives as totals over members."""
    totals = [each.variable for each in across.derived]
    there = f"totals here are {', '.join(totals)}" if totals else "no edit gives any"
    problems = [
        Problem(
            f"totals: {name} is no total that steps mask and an edit gives over members",
            step.place, f"{there[0].upper()}{there[1:]}.", step=step.number
        )
        for step in steps for name in step.planning.totals if name not in totals
    ]  # fmt: skip
    refuse_problems(problems)


def require_pairs(across: AcrossLevels, bound: BoundEdits, masked: Mapping[str, Collection[str]]) -> None:
    """Refuse edits for which records of more than two levels have to move together."""
    problems = []
    for edit in across.together:
        read = {level for level, name in sources_of_edit(bound, edit) if name in masked.get(level, ())}
        levels = [level for level in bound.edits if level in read or level == edit.level]
        if len(levels) > 2 and edit.severity == "error":
            message = (
                f"edit {edit.name!r} reads what steps mask of {len(levels)} levels ({', '.join(levels)}), and records "
                "are moved onto edits with those of one level above or below alone"
            )
            hint = (
                "Write it as rules of two levels, with a variable between that a step masks and an edit computes; or "
                "leave what it reads of one level out of all steps."
            )
            problems.append(Problem(message, edit.place, hint))
    refuse_problems(problems)


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
    refuse_problems(problems)


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


def steps_requiring_k(edit: Edit, steps: Sequence[Step], bound: BoundEdits) -> tuple[Step, ...]:
    """Steps whose k forbids to move records onto an edit: they mask what it reads."""
    return tuple(step for step in steps if _requires_k(step) and _reads(edit, step, bound))


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
            step = strict[0]
            message = (
                f"step {step.number} promises k = {step.k}, but to keep edit {edit.name!r} the records of each group "
                "have to move together, which breaks k"
            )
            hint = (
                "mask its total and let it be derived, or set 'k_guarantee: report' in its params; "
                "`unit` masks whole groups alike"
            )
            problems.append(Problem(message, step.place, hint))
    refuse_problems(problems)


def checked_under_guarantees(across: AcrossLevels, bound: BoundEdits, steps: Sequence[Step]) -> AcrossLevels:
    """Who keeps the edits, with those that are only checked because a step promises k of what they read."""

    def determined(keeper: Keeper) -> Keeper:
        own = (each for each in across.together if each.name == keeper.edit)
        strict = [step for each in own for step in steps_requiring_k(each, steps, bound)]
        if not strict:
            return keeper
        how = (
            f"step {strict[0].number} promises k, so no record is moved onto it ('k_guarantee: report' lets them move)"
        )
        return Keeper(keeper.edit, "checked", how)

    return replace(across, keepers=tuple(determined(each) for each in across.keepers))


def _reads(edit: Edit, step: Step, bound: BoundEdits) -> bool:
    """Whether an edit reads, from whatever level, a variable that a step names."""
    if step.variables is None:
        return True
    return any(name in step.named for read in edit.variables for _, name in sources_of(bound.columns, edit.level, read))
