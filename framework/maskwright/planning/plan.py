"""The plan of a run: groups, strata, operators, adjustment units, and for every edit who keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.edits.edit import EditSet
from maskwright.errors import InputError, Problem, unknown_name
from maskwright.planning.dangers import dangers
from maskwright.planning.grouping import choose_operators, group_variables
from maskwright.planning.keepers import keeper_of
from maskwright.planning.model import Group, Keeper, StepRequest, Unit
from maskwright.planning.strata import stratify
from maskwright.planning.units import adjustment_units, require_k

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable


@dataclass(frozen=True, eq=False)
class Plan:
    """What a run will do.

    Attributes
    ----------
    steps : tuple of StepRequest
    groups : tuple of Group
        Of all steps, in order.
    units : tuple of Unit
    keepers : tuple of Keeper
        One for each edit, in file order.
    variables : mapping of name to Variable
    untouched : tuple of str
        Published as they are.
    dropped : tuple of str
        Identifiers, not published.
    records : int or None
    warnings : tuple of str
    """

    steps: tuple[StepRequest, ...]
    groups: tuple[Group, ...]
    units: tuple[Unit, ...]
    keepers: tuple[Keeper, ...]
    variables: Mapping[str, Variable]
    untouched: tuple[str, ...]
    dropped: tuple[str, ...]
    records: int | None
    warnings: tuple[str, ...]
    edits: EditSet

    @property
    def masked(self) -> tuple[str, ...]:
        """Variables that any step masks, in file order."""
        touched = {name for group in self.groups for name in group.variables}
        return tuple(name for name in self.variables if name in touched)

    def _acting_on(self, unit: Unit) -> str:
        step = None if unit.group is None else self.steps[self.groups[unit.group].step - 1]
        return "records" if step is None or not step.makes_groups else "representatives"

    def to_json(self) -> dict[str, Any]:
        """Plain record of the plan, as in `run.json` and for measures."""
        return {
            "records": self.records,
            "steps": [
                {
                    "step": number,
                    "method": step.method.name,
                    "params": step.params.model_dump(mode="json") | step.planning.model_dump(mode="json"),
                    "groups": [_group_json(group, step) for group in self.groups if group.step == number],
                }
                for number, step in enumerate(self.steps, 1)
            ],
            "edits": [
                {
                    "name": keeper.edit,
                    "kind": self.edits[keeper.edit].kind,
                    "text": self.edits[keeper.edit].text,
                    "kept_by": keeper.kept_by,
                    "how": keeper.how,
                }
                for keeper in self.keepers
            ],
            "adjustment": [
                {
                    "variables": list(unit.variables),
                    "edits": list(unit.edits),
                    "acting_on": self._acting_on(unit),
                }
                for unit in self.units
                if unit.edits
            ],
            "grid": {name: self.variables[name].decimals for name in self.masked},
            "untouched": list(self.untouched),
            "dropped": list(self.dropped),
            "warnings": list(self.warnings),
        }


def _group_json(group: Group, step: StepRequest) -> dict[str, Any]:
    strata = group.strata.strata if group.strata else ()
    return {
        "variables": list(group.variables),
        "operators": dict(zip(group.variables, group.operators, strict=True)),
        "computed": list(group.computed),
        "edits": list(group.edits),
        "strata": [{"label": one.label, "records": one.records, "merged": one.merged} for one in strata],
        "smallest_cluster": step.k,
    }


def make_plan(
    steps: Sequence[StepRequest],
    variables: Sequence[Variable],
    edits: EditSet,
    data: Dataset | None = None,
    arrival: Mapping[str, int] | None = None,
) -> Plan:
    """Plan a run.

    Parameters
    ----------
    steps : sequence of StepRequest
    variables : sequence of Variable
        Of the file, in file order.
    edits : EditSet
        That fire on these data.
    data : Dataset, optional
        The original; without it strata are not planned.
    arrival : mapping of edit name to int, optional
        Records of the original that violate each edit.

    Raises
    ------
    InputError
        Unknown variables, variables a method cannot mask, k larger than n, or edits across groups under
        ``k_guarantee: require``; every mistake found.
    """
    known = {variable.name: variable for variable in variables}
    problems: list[Problem] = []
    chosen = [_step_variables(step, known, problems, number) for number, step in enumerate(steps, 1)]
    if problems:
        raise InputError(problems)
    masked = frozenset(name for names in chosen for name in names)
    groups: list[Group] = []
    for number, (step, names) in enumerate(zip(steps, chosen, strict=True), 1):
        relevant = EditSet(tuple(edit for edit in edits if set(edit.variables) & set(names)))
        found = group_variables(names, relevant, step.planning, step.groups, step.method.scope)
        groups.extend(_plan_group(number, step, group, known, relevant, masked, data) for group in found)
    units = adjustment_units(groups, known, edits, masked)
    require_k(units, steps, groups, edits)
    keepers = tuple(keeper_of(edit, groups, units, steps, masked, arrival or {}) for edit in edits)
    dropped = tuple(name for name, variable in known.items() if variable.role == "identifier")
    untouched = tuple(name for name in known if name not in masked and name not in dropped)
    return Plan(
        tuple(steps), tuple(groups), tuple(units), keepers, known, untouched, dropped,
        None if data is None else len(data), dangers(edits, known, masked, groups, steps, data), edits,
    )  # fmt: skip


def _step_variables(
    step: StepRequest, known: Mapping[str, Variable], problems: list[Problem], number: int
) -> tuple[str, ...]:
    listed = [name for group in step.groups for name in group]
    wanted = list(dict.fromkeys([*(step.variables or ()), *step.dependents, *listed]))
    strangers = [name for name in (*wanted, *step.planning.adjustment_weights) if name not in known]
    problems.extend(Problem(f"step {number}: {unknown_name('variable', name, known)}") for name in strangers)
    if len(set(listed)) < len(listed):
        problems.append(Problem(f"step {number}: a variable is listed in two groups"))
    problems.extend(_independent_problems(step, known, wanted, number))
    if step.variables is None and not step.dependents:
        default = [
            name
            for name, variable in known.items()
            if variable.is_numeric
            and variable.role in ("quasi_identifier", "confidential")
            and name not in step.independents
        ]
        wanted = [name for name in known if name in default or name in wanted]
        if not wanted:
            problems.append(
                Problem(
                    f"step {number} ({step.method.name}) has nothing to mask: no numeric variable has the role "
                    "confidential or quasi_identifier",
                    hint="name the variables of the step with 'variables: [...]'",
                )
            )
    for name in wanted:
        variable = known.get(name)
        if variable is None:
            continue
        if variable.role == "identifier":
            problems.append(Problem(f"step {number}: {name!r} is an identifier: it is dropped, so it cannot be masked"))
        elif variable.type not in step.method.accepts:
            able = ", ".join(sorted(step.method.accepts - {"missing"}))
            problems.append(
                Problem(
                    f"step {number}: method {step.method.name!r} cannot mask {name!r}: it is {variable.type}, "
                    f"the method takes {able}"
                )
            )
    problems.extend(_wrong_zeros(step, known, wanted, number))
    return tuple(name for name in known if name in wanted)


def _wrong_zeros(
    step: StepRequest, known: Mapping[str, Variable], wanted: Sequence[str], number: int
) -> Iterator[Problem]:
    """Mistakes in the list of variables with structural zeros."""
    names = step.planning.structural_zeros
    if names and not step.method.blockable:
        yield Problem(f"step {number}: structural_zeros cuts records apart, and {step.method.name!r} needs all of them")
    for name in names:
        if name not in wanted:
            said = unknown_name("variable that the step masks", name, wanted)
            yield Problem(f"step {number}: structural_zeros: {said}")
        elif name in known and not known[name].is_numeric:
            yield Problem(f"step {number}: structural_zeros: {name!r} is {known[name].type}, not a number")


def _independent_problems(
    step: StepRequest, known: Mapping[str, Variable], wanted: Sequence[str], number: int
) -> Iterator[Problem]:
    """Mistakes in the variables that a method reads beside those it masks."""
    if step.dependents and step.variables is not None and set(step.dependents) != set(step.variables):
        yield Problem(
            f"step {number}: 'variables' and '{step.method.dependent_parameter}' name different variables",
            hint=f"leave 'variables' out: '{step.method.dependent_parameter}' says what is masked",
        )
    for name in step.independents:
        variable = known.get(name)
        if variable is None:
            yield Problem(f"step {number}: {unknown_name('variable', name, known)}")
        elif name in wanted:
            yield Problem(f"step {number}: {name!r} is both masked and in '{step.method.independent_parameter}'")
        elif not variable.is_numeric or variable.role == "identifier":
            what = "an identifier" if variable.role == "identifier" else variable.type
            yield Problem(
                f"step {number}: method {step.method.name!r} reads numbers in '{step.method.independent_parameter}'; "
                f"{name!r} is {what}"
            )


def _plan_group(
    number: int,
    step: StepRequest,
    group: tuple[str, ...],
    known: Mapping[str, Variable],
    edits: EditSet,
    masked: frozenset[str],
    data: Dataset | None,
) -> Group:
    own = EditSet(tuple(edit for edit in edits if set(edit.variables) & masked <= set(group)))
    operators = choose_operators(group, known, own)
    strata = None
    if data is not None:
        if step.planning.missing == "refuse" and any(data[name].missing.any() for name in group):
            counts = ", ".join(f"{name}: {int(data[name].missing.sum())}" for name in group if data[name].missing.any())
            raise InputError(f"step {number}: cells are missing and 'missing: refuse' is set ({counts})")
        geometric = [name for name, how in zip(group, operators.names, strict=True) if how == "geometric_mean"]
        touching = EditSet(tuple(edit for edit in edits if set(edit.variables) & set(group)))
        strata = stratify(
            data, group, geometric if step.method.blockable else (),
            touching if step.method.blockable else EditSet(), masked, step.smallest_stratum(len(data), len(group)),
            by_missing=step.planning.missing == "own_pattern", structural_zeros=step.planning.structural_zeros,
        )  # fmt: skip
    inside = tuple(edit.name for edit in edits if set(edit.variables) & masked <= set(group))
    return Group(number, group, operators.names, operators.computed, inside, strata)
