"""Steps of a pipeline that mask variables of one level."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column
from maskwright.data.levels.linked_data import refuse_deeper
from maskwright.data.variable import Variable
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.model import key_names
from maskwright.planning.step_variables import default_variables
from maskwright.plugins.parameter_markers import without_variables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.planning.levels.cross_level_edits import AcrossLevels
    from maskwright.planning.model import PlanningParams, Step


@dataclass(frozen=True, eq=False)
class LevelSteps:
    """Steps that mask variables of one level.

    `computed`: steps whose variables are all derived across levels, by their numbers in the pipeline: nothing is left
    to mask. `derived`: variables that the other steps name, and that are derived, by the numbers of the steps.
    `joint`: parameters of the steps that count k with keys of levels above, which name these too.
    """

    steps: tuple[Step, ...] = ()
    computed: Mapping[int, Step] = field(default_factory=dict)
    derived: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    joint: Mapping[int, BaseModel] = field(default_factory=dict)

    @property
    def drawing(self) -> tuple[int, ...]:
        """Numbers of the steps that draw whole groups."""
        return tuple(step.number for step in self.steps if _draws_records(step))

    def handed(self, known: Mapping[str, Variable]) -> tuple[Step, ...]:
        """Steps as they are run: those that remove by keys do so by the keys above too; `known`: of this level."""
        return tuple(
            replace(
                step, variables=(*_masked_names(step, known), *step.keys_above), params=self.joint[step.number]
            ) if step.keys_above and step.keeps_detail else step
            for step in self.steps
        )  # fmt: skip


def steps_of_level(steps: Sequence[Step], level: Level, linked: LinkedData) -> LevelSteps:
    """Those of the steps that name variables of a level, and only these variables."""
    known = {variable.name: variable for variable in maskable(level)}
    elsewhere = {name for other in linked for name in other.data.names if name not in level.data}
    above = {
        each.name: each
        for name in linked.names[: linked.names.index(level.name)] for each in maskable(linked[name])
    }  # fmt: skip
    found = []
    for step in steps:
        named = [*(step.variables or ()), *step.dependents, *step.keys, *(n for group in step.groups for n in group)]
        if _draws_records(step):
            # Whole groups are drawn, whatever the step names.
            if level.groups is None:
                wanted = {n for n in named if n in known} or default_variables(step, known)
                free = [n for n, each in known.items() if n not in step.companions and each.role != "weight"]
                chosen = [n for n in free if n in wanted] or free
                found.append(replace(step, variables=tuple(chosen), groups=()))
            continue
        if not named:
            if default := default_variables(step, known):
                _refuse_keys_of_levels(step, default, (each for each in linked if each is not level))
                found.append(step)
            continue
        own = [name for name in named if name in known]
        if not own:
            continue
        parameters = [name for name in (*step.dependents, *step.keys) if name not in known]
        if _has_joint_keys(step) and step.keys and all(name in parameters for name in step.keys):
            continue
        _refuse_keys_of_levels(step, own, (each for each in linked if each is not level))
        if parameters and not _has_joint_keys(step) and any(name in known for name in (*step.dependents, *step.keys)):
            raise InputError(_of_different_levels(step, parameters, own, "Take a step for each level."))
        kept = None if step.variables is None else tuple(name for name in step.variables if name in known)
        groups = tuple(tuple(name for name in group if name in known) for group in step.groups)
        planning = _planning_without(step.planning, elsewhere)
        own_groups = tuple(group for group in groups if group)
        found.append(replace(step, variables=kept, groups=own_groups, planning=planning))
    refuse_problems(
        [
            Problem(
                f"within: {name!r} is a variable of another level than those that the step masks",
                step.place, "Name a variable of the same level: one of the groups may be copied to their members.",
                step=step.number,
            )
            for step in found for name in step.within if name in elsewhere
        ]
    )  # fmt: skip
    whole = {step.number: step for step in steps}
    return LevelSteps(
        tuple(
            replace(
                step, params=without_variables(step.params, elsewhere),
                keys_above=_keys_above(whole[step.number], above),
            ) if _has_joint_keys(step) else step
            for step in found
        ),
        joint={
            number: without_variables(step.params, elsewhere - above.keys()) for number, step in whole.items()
            if _has_joint_keys(step)
        },
    )  # fmt: skip


def _refuse_keys_of_levels(step: Step, own: Collection[str], others: Iterable[Level]) -> None:
    """Refuse a step that suppresses by keys of several levels, and counts k in a way that is that of one level."""
    if not step.method.has_keys or not step.keeps_detail or _has_joint_keys(step):
        return
    is_named = step.variables is not None or step.keys or step.groups
    elsewhere = [
        name for level in others
        for name in _masked_names(step, {each.name: each for each in maskable(level)})
        if is_named or level.data[name].variable.role == "quasi_identifier"
    ]  # fmt: skip
    if elsewhere:
        hint = "k of `subsets`, `key_sets` or another `count` than 'own' is that of one level: take a step for each."
        raise InputError(_of_different_levels(step, elsewhere, own, hint))


def _of_different_levels(step: Step, one: Collection[str], other: Collection[str], hint: str) -> Problem:
    names = (", ".join(dict.fromkeys(each)) for each in (one, other))
    return Problem(f"{' and '.join(names)} are variables of different levels", step.place, hint, step=step.number)


def _has_joint_keys(step: Step) -> bool:
    """Whether a step promises a k of all its keys together, on whichever levels they are."""
    return step.method.has_keys and step.promised is not None


def _keys_above(step: Step, above: Mapping[str, Variable]) -> tuple[str, ...]:
    """Keys of levels above on which a step of the pipeline promises a k, together with those of the level."""
    return tuple(name for name in step.keys or _masked_names(step, above) if name in above)


def _masked_names(step: Step, known: Mapping[str, Variable]) -> tuple[str, ...]:
    """Variables that a step with keys names, or else those of `known` that are its keys by default."""
    listed = [*(step.variables or ()), *step.keys, *(name for group in step.groups for name in group)]
    if step.variables is None and not listed:
        default = default_variables(step, known)
        listed = [*key_names(step, [each for name, each in known.items() if name in default])]
    return tuple(name for name in known if name in listed)


def _planning_without(planning: PlanningParams, names: Collection[str]) -> PlanningParams:
    """What is asked of the variables of a step, but of these: the step names variables of two levels."""
    lists = planning.release_edits
    own = {each: tuple(name for name in getattr(lists, each) if name not in names) for each in ("weaken", "drop")}
    return planning.model_copy(
        update={
            "release_edits": lists.model_copy(update=own),
            "structural_zeros": tuple(name for name in planning.structural_zeros if name not in names),
            "adjustment_weights": {
                name: weight for name, weight in planning.adjustment_weights.items() if name not in names
            },
        }
    )


def refuse_unknown_variables(steps: Sequence[Step], linked: LinkedData) -> None:
    """Refuse steps that name variables that no level has, or keys."""
    names = [each.name for level in linked for each in maskable(level)]
    keys = {name for level in linked for name in level.key_columns}
    problems = []
    for step in steps:
        for name in (*(step.variables or ()), *step.keys, *step.dependents):
            if name in keys:
                problems.append(
                    Problem(f"{name!r} is a key or a pointer: it is not masked", step.place, step=step.number)
                )
            elif name not in names:
                problems.append(Problem(f"{unknown_name('variable', name, names)}", step.place, step=step.number))
    refuse_problems(problems)


def refuse_two_removals(steps: Mapping[str, LevelSteps]) -> None:
    """Refuse steps on two levels that take records away: each would have to look at what the other leaves."""
    removing = {name: [step.number for step in found.steps if takes_records(step)] for name, found in steps.items()}
    named = {name: numbers for name, numbers in removing.items() if numbers}
    if len(named) > 1:
        where = ", ".join(f"step {numbers[0]} on {name}" for name, numbers in named.items())
        one_step = len({numbers[0] for numbers in named.values()}) == 1
        hint = (
            "Name keys of one level; local_suppression keeps k on keys of several levels together."
            if one_step else "Take one pipeline after the other."
        )  # fmt: skip
        raise InputError(Problem(f"records are taken away on two levels ({where})", hint=hint))


def _draws_records(step: Step) -> bool:
    """Whether a step takes records away at random."""
    return takes_records(step) and not step.method.claims.deterministic


def takes_records(step: Step) -> bool:
    """Whether a step takes records away."""
    return not step.method.changes_cells


def without_derived(found: LevelSteps, derived: Collection[str], level: Level) -> LevelSteps:
    """Steps without variables that are derived; those that mask no others are listed as `computed`.

    A step that draws records has nothing to do with the values of its variables: it takes others, or none of the file.
    """
    kept, computed, instead = [], {}, {}
    known = {variable.name: variable for variable in maskable(level)}
    for step in found.steps:
        named = step.variables
        if named is None:
            # Parameters say what a step masks, where they name variables: geography, carry_along.
            named = step.dependents or tuple(default_variables(step, known))
        gone = tuple(name for name in named if name in derived)
        if gone and not _draws_records(step):
            instead[step.number] = gone
        if step.variables is None:
            kept.append(step)
            continue
        names = tuple(name for name in step.variables if name not in derived)
        if not names and _draws_records(step):
            others = (each.name for each in maskable(level) if each.role != "weight" and each.name not in derived)
            names = tuple(name for name in others if name not in step.companions) or (records_name(level),)
        groups = tuple(tuple(name for name in group if name not in derived) for group in step.groups)
        if names:
            kept.append(replace(step, variables=names, groups=tuple(group for group in groups if group)))
        else:
            computed[step.number] = step
            instead.pop(step.number)
    return LevelSteps(tuple(kept), computed, instead, found.joint)


def refuse_taking_by_derived(steps: Mapping[str, LevelSteps], across: AcrossLevels) -> None:
    """Refuse steps that empty or leave out by the values of a variable that is computed only after them."""
    edits = {each.variable: each.edit for each in across.derived}
    problems = []
    for found in steps.values():
        for step in found.steps:
            read = (*(step.variables or ()), *step.keys) if step.only_removes and not _draws_records(step) else ()
            for name in dict.fromkeys((*read, *step.companions)):
                if name in edits:
                    message = (
                        f"{step} needs the values of {name}, which are computed by edit {edits[name]!r} after all steps"
                    )
                    hint = (
                        f"Leave {name} out of this step, or out of the steps that mask it; or run this step in a "
                        "pipeline of its own, on what the other steps release."
                    )
                    problems.append(Problem(message, step.place, hint))
    refuse_problems(problems)


def masks_as_groups(steps: Sequence[Step], linked: LinkedData) -> bool:
    """Whether the steps mask whole groups."""
    requested = [step for step in steps if step.unit is not None]
    if not requested:
        return False
    refuse_deeper(linked.names, f"step {requested[0].number} (`unit`) masks the records of")
    top = linked.levels[0].name
    problems = []
    for step in requested:
        if step.unit != top:
            message = f"unit: {unknown_name('level with members', step.unit or '', [top])}"
            problems.append(Problem(message, step.place, step=step.number))
        if step.planning.totals:
            message = f"totals: a {top} is masked with its members, and its totals with them"
            problems.append(Problem(message, step.place, "Leave `totals` out, or `unit`.", step=step.number))
        if step.keys or step.dependents or step.companions or step.method.claims.removes:
            message = f"{step.method.name} cannot mask a {top} with its members as one record"
            hint = "Take a method that changes the variables of the step, as microaggregation."
            problems.append(Problem(message, step.place, hint, step=step.number))
        elif not step.method.claims.within_strata:
            message = (
                f"{step.method.name} needs all records at once, and a {top} is masked with those of its composition"
            )
            hint = "Take a method that masks clusters, as microaggregation."
            problems.append(Problem(message, step.place, hint, step=step.number))
    if len(requested) < len(steps):
        other = next(step for step in steps if step.unit is None)
        message = (
            f"step {other.number} masks each level by itself, and step {requested[0].number} a {top} with its members"
        )
        hint = f"Say `unit: {top}` in each step, or in none."
        if other.method.claims.removes or other.keys or other.dependents or other.companions:
            hint = (
                f"{other.method.name} goes with no step with `unit`: run it on what a run with these steps released, "
                "or leave `unit` out."
            )
        problems.append(Problem(message, other.place, hint))
    refuse_problems(problems)
    return True


def records_name(level: Level) -> str:
    """Name of the column that stands for the records of a level of which a step sees no variable."""
    return f"records of {level.name}"


def maskable(level: Level) -> tuple[Variable, ...]:
    """Variables of a level that steps may mask: all but keys and pointers."""
    return tuple(each for each in level.data.variables if each.name not in level.key_columns)


def made_for_drawing(level: Level, data: Dataset, steps: Sequence[Step]) -> Iterator[Column]:
    """Columns of 1 that the file does not have, where steps take groups away.

    A weight where groups have none: what becomes of it, their members' weights do. And one for a step whose variables
    are all derived.
    """
    drawing = [step for step in steps if takes_records(step)]
    wanted = []
    if drawing and not any(each.role == "weight" for each in data.variables):
        wanted.append(Variable(f"weight of {level.name}", "continuous", "weight"))
    if any(records_name(level) in (step.variables or ()) for step in drawing):
        wanted.append(Variable(records_name(level), "integer", "other"))
    for variable in wanted:
        yield Column(variable, np.ones(len(level)), np.zeros(len(level), dtype=np.bool_))


def with_keys_above(data: Dataset, linked: LinkedData, level: str, steps: Sequence[Step]) -> Dataset:
    """Records of a level with the keys of levels above on which its steps promise a k, and what these steps read."""
    keys = [name for step in steps if step.keys_above for name in (*step.keys_above, *step.companions)]
    handed = {name for step in steps for name in step.variables or ()}
    joined = linked.with_columns_above(data, level, keys)
    added = [name for name in joined.names if name not in data and name not in handed]
    return read_only(joined, added)


def read_only(data: Dataset, names: Sequence[str]) -> Dataset:
    """Copy whose named columns no step masks; edits and counts may read them."""
    plain = {name: replace(data[name].variable, role="other", inferred_role=False) for name in names}
    return data.with_columns({name: replace(data[name], variable=variable) for name, variable in plain.items()})
