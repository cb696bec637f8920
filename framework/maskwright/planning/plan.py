"""The plan of a run: groups, strata, operators, adjustment units, and for every edit who keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from maskwright.data.dataset import Dataset
from maskwright.data.variable import Variable
from maskwright.edits.edit import (
    CheckedPart,
    DomainPart,
    Edit,
    EditSet,
    GoverningPart,
    LinearPart,
    ProductPart,
    RangePart,
)
from maskwright.errors import InputError, Problem, unknown_name
from maskwright.planning.grouping import Components, choose_operators, group_variables, product_names
from maskwright.planning.params import PlanningParams
from maskwright.planning.strata import Strata, stratify
from maskwright.plugins.method import Method

KeptBy = Literal["construction", "derivation", "adjustment", "checked"]


@dataclass(frozen=True)
class StepRequest:
    """One step of a pipeline, as the planner needs it.

    Attributes
    ----------
    method : Method
    params : pydantic.BaseModel
        Of the method.
    planning : PlanningParams
    variables : tuple of str or None
        None: the numeric variables with role quasi_identifier or confidential.
    groups : tuple of tuples of str
        Groups the user listed.
    """

    method: Method
    params: BaseModel
    planning: PlanningParams = field(default_factory=PlanningParams)
    variables: tuple[str, ...] | None = None
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def k(self) -> int | None:
        """Smallest cluster that the step promises; None when its method promises none."""
        return None if self.method.k_parameter is None else int(getattr(self.params, self.method.k_parameter))


@dataclass(frozen=True, eq=False)
class Group:
    """Variables that one step masks together.

    Attributes
    ----------
    step : int
        1-based.
    variables, operators : tuple of str
    computed : tuple of str
        Variables computed from masked ones, for product edits.
    edits : tuple of str
        Names of the edits inside the group.
    strata : Strata or None
        None when planned without data.
    """

    step: int
    variables: tuple[str, ...]
    operators: tuple[str, ...]
    computed: tuple[str, ...]
    edits: tuple[str, ...]
    strata: Strata | None


@dataclass(frozen=True)
class Unit:
    """Variables that are adjusted together: those that edits join.

    Attributes
    ----------
    variables : tuple of str
        Masked numeric variables, in file order.
    edits : tuple of str
    computed : tuple of str
    group : int or None
        Position of the group whose representatives are adjusted; None: records are adjusted, k may be lost.
    """

    variables: tuple[str, ...]
    edits: tuple[str, ...]
    computed: tuple[str, ...]
    group: int | None


@dataclass(frozen=True)
class Keeper:
    """Who keeps an edit, and how."""

    edit: str
    kept_by: KeptBy
    how: str


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
                    "acting_on": "records" if unit.group is None else "representatives",
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
        for group in group_variables(names, relevant, step.planning, step.groups, step.method.scope):
            groups.append(_plan_group(number, step, group, known, relevant, masked, data))
    units = _units(groups, steps, known, edits, masked)
    _require_k(units, steps, groups, edits)
    keepers = tuple(_keeper(edit, groups, units, steps, masked, arrival or {}) for edit in edits)
    dropped = tuple(name for name, variable in known.items() if variable.role == "identifier")
    untouched = tuple(name for name in known if name not in masked and name not in dropped)
    return Plan(
        tuple(steps), tuple(groups), tuple(units), keepers, known, untouched, dropped,
        None if data is None else len(data), _warnings(edits, known, masked, dropped, groups), edits,
    )  # fmt: skip


def _step_variables(
    step: StepRequest, known: Mapping[str, Variable], problems: list[Problem], number: int
) -> tuple[str, ...]:
    listed = [name for group in step.groups for name in group]
    wanted = list(dict.fromkeys([*(step.variables or ()), *listed]))
    for name in wanted:
        if name not in known:
            problems.append(Problem(f"step {number}: {unknown_name('variable', name, known)}"))
    if len(set(listed)) < len(listed):
        problems.append(Problem(f"step {number}: a variable is listed in two groups"))
    if step.variables is None:
        default = [
            name
            for name, variable in known.items()
            if variable.is_numeric and variable.role in ("quasi_identifier", "confidential")
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
            problems.append(
                Problem(f"step {number}: {name!r} is an identifier: it is dropped, so it cannot be masked")
            )
        elif variable.type not in step.method.accepts:
            able = ", ".join(sorted(step.method.accepts - {"missing"}))
            problems.append(
                Problem(
                    f"step {number}: method {step.method.name!r} cannot mask {name!r}: it is {variable.type}, "
                    f"the method takes {able}"
                )
            )
    return tuple(name for name in known if name in wanted)


def _plan_group(
    number: int,
    step: StepRequest,
    group: tuple[str, ...],
    known: Mapping[str, Variable],
    edits: EditSet,
    masked: frozenset[str],
    data: Dataset | None,
) -> Group:
    operators = choose_operators(group, known, edits)
    strata = None
    if data is not None:
        if step.planning.missing == "refuse" and any(data[name].missing.any() for name in group):
            counts = ", ".join(f"{name}: {int(data[name].missing.sum())}" for name in group if data[name].missing.any())
            raise InputError(f"step {number}: cells are missing and 'missing: refuse' is set ({counts})")
        geometric = [name for name, how in zip(group, operators.names, strict=True) if how == "geometric_mean"]
        touching = EditSet(tuple(edit for edit in edits if set(edit.variables) & set(group)))
        strata = stratify(
            data, group, geometric if step.method.blockable else (),
            touching if step.method.blockable else EditSet(), masked, step.k or 1,
            by_missing=step.planning.missing == "own_pattern",
        )  # fmt: skip
    inside = tuple(edit.name for edit in edits if set(edit.variables) & masked <= set(group))
    return Group(number, group, operators.names, operators.computed, inside, strata)


def _units(
    groups: Sequence[Group],
    steps: Sequence[StepRequest],
    known: Mapping[str, Variable],
    edits: EditSet,
    masked: frozenset[str],
) -> list[Unit]:
    movable = [name for name in known if name in masked and known[name].is_numeric]
    joined = Components(movable)
    for edit in edits:
        joined.join(edit.variables)
    units: list[Unit] = []
    for names in joined.sets():
        touching = EditSet(tuple(edit for edit in edits if set(edit.variables) & set(names)))
        homes = [
            position for position, group in enumerate(groups) if set(group.variables) & set(names)
        ]
        home: int | None = None
        if len(homes) == 1 and set(names) <= set(groups[homes[0]].variables):
            home = homes[0]
            group, step = groups[home], steps[groups[home].step - 1]
            outside = [edit for edit in touching if _reads_outside(edit, group, masked, known)]
            if outside or step.k is None:
                home = None
        computed = tuple(name for group in groups for name in group.computed if name in names)
        units.append(Unit(names, tuple(edit.name for edit in touching), computed, home))
    return units


def _reads_outside(edit: Edit, group: Group, masked: frozenset[str], known: Mapping[str, Variable]) -> bool:
    """Whether an edit compares masked variables of the group with numbers that differ within its clusters."""
    other_masked = set(edit.variables) & masked - set(group.variables)
    if other_masked:
        return True
    return any(
        isinstance(part, LinearPart | ProductPart | CheckedPart)
        and (set(_names(part)) & set(group.variables))
        and (set(_names(part)) - set(group.variables))
        for part in _flat(edit.parts)
    )


def _flat(parts: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        if isinstance(part, GoverningPart):
            found.extend(_flat(part.consequent))
            found.extend(_flat(part.otherwise))
        else:
            found.append(part)
    return found


def _names(part: Any) -> tuple[str, ...]:
    from maskwright.edits.expression import variable_names  # noqa: PLC0415

    match part:
        case LinearPart(coefficients):
            return tuple(name for name, _ in coefficients)
        case ProductPart():
            return product_names(part)
        case CheckedPart(expression):
            return variable_names(expression)
        case RangePart(variable):
            return (variable,)
        case _:
            return ()


def _require_k(
    units: Sequence[Unit], steps: Sequence[StepRequest], groups: Sequence[Group], edits: EditSet
) -> None:
    """Refuse plans in which adjustment has to move records apart that a step promised to keep equal."""
    problems: list[Problem] = []
    for unit in units:
        if unit.group is not None or not unit.edits:
            continue
        involved = sorted({group.step for group in groups if set(group.variables) & set(unit.variables)})
        strict = [number for number in involved if steps[number - 1].k is not None]
        if not strict or any(steps[number - 1].planning.k_guarantee == "report" for number in strict):
            continue
        homes = [group for group in groups if set(group.variables) & set(unit.variables)]
        crossing = [
            name for name in unit.edits
            if not any(set(edits[name].variables) <= set(group.variables) for group in homes)
        ]  # fmt: skip
        shown = ", ".join(repr(name) for name in crossing[:5])
        problems.append(
            Problem(
                f"step {strict[0]} promises k = {steps[strict[0] - 1].k}, but edit {shown} reads variables outside one "
                "variable group: keeping it means moving single records, which breaks k",
                hint="mask all variables of the edit in one group, or set 'k_guarantee: report' in the step's params",
            )
        )
    if problems:
        raise InputError(problems)


def _keeper(
    edit: Edit,
    groups: Sequence[Group],
    units: Sequence[Unit],
    steps: Sequence[StepRequest],
    masked: frozenset[str],
    arrival: Mapping[str, int],
) -> Keeper:
    touched = set(edit.variables) & masked
    if not touched:
        return Keeper(edit.name, "checked", "its variables are published as they are")
    if edit.kind == "checked":
        return Keeper(edit.name, "checked", "outside the analysable language: adjusted where neighbours allow, validated")
    unit = next((unit for unit in units if touched <= set(unit.variables)), None)
    if unit is None:
        unit = next((unit for unit in units if touched & set(unit.variables)), None)
    if unit is None:
        return Keeper(edit.name, "checked", "its masked variables are not numeric: validated")
    if unit.group is None:
        return Keeper(edit.name, "adjustment", "each record is moved to the nearest point that satisfies it")
    group = groups[unit.group]
    step = steps[group.step - 1]
    broken = arrival.get(edit.name, 0)
    if broken:
        return Keeper(
            edit.name, "adjustment",
            f"{broken} original record(s) violate it: representatives are moved onto it, all records of a cluster alike",
        )  # fmt: skip
    kind = {"linear": "linear", "product": "product", "range": "range", "governing": "linear", "domain": "domain"}[edit.kind]
    operators = dict(zip(group.variables, group.operators, strict=True))
    if edit.kind == "product" and any(
        isinstance(part, ProductPart) and part.total in group.computed for part in edit.parts
    ):
        return Keeper(edit.name, "derivation", "its total is computed from the masked factors")
    if kind not in step.method.preserves and not (kind == "product" and "linear" in step.method.preserves):
        return Keeper(edit.name, "adjustment", f"{step.method.name} does not keep it: representatives are moved onto it")
    if group.strata is not None and edit.name in group.strata.mixed:
        return Keeper(edit.name, "adjustment", "a stratum smaller than k was merged: its representatives are moved onto it")
    how = _how(edit, operators)
    if how is None:
        return Keeper(edit.name, "adjustment", "no operator keeps all its kinds: representatives are moved onto it")
    return Keeper(edit.name, "construction", how)


def _how(edit: Edit, operators: Mapping[str, str]) -> str | None:
    """Sentence on how averaging keeps the edit; None when it does not."""
    used = {operators.get(name) for name in edit.variables} - {None}
    match edit.kind:
        case "linear":
            equal = any(isinstance(part, LinearPart) and part.relation == "==" for part in edit.parts)
            if used <= {"mean"}:
                return "arithmetic means of the same clusters" + (", totals computed after rounding" if equal else "")
            return None
        case "product":
            return "geometric means of the same clusters, total computed after rounding" if used <= {"geometric_mean"} else None
        case "range":
            convex = all(isinstance(part, RangePart) and part.numbers is None for part in edit.parts)
            return "averages stay inside the interval" if convex else None
        case "governing":
            convex = all(
                isinstance(each, LinearPart | RangePart)
                for part in edit.parts
                if isinstance(part, GoverningPart)
                for each in (*part.consequent, *part.otherwise)
            )
            return "records on either side of the condition are clustered apart" if convex and used <= {"mean"} else None
        case "domain":
            return "lower medians are values of the file" if used <= {"lower_median", "mode"} else None
        case _:
            return None


def _warnings(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    dropped: Sequence[str],
    groups: Sequence[Group],
) -> tuple[str, ...]:
    said: list[str] = []
    for edit in edits:
        gone = set(edit.variables) & set(dropped)
        if gone:
            said.append(f"edit {edit.name!r} reads {', '.join(sorted(gone))}, which is dropped as an identifier")
        for part in edit.parts:
            if isinstance(part, LinearPart) and part.relation == "==":
                hidden = [name for name, _ in part.coefficients if name in masked]
                if len(hidden) == 1 and len(part.coefficients) > 1:
                    said.append(
                        f"edit {edit.name!r} determines {hidden[0]}: all its other variables are published unmasked, so "
                        "anyone can compute the original value"
                    )
    for group in groups:
        small = [one for one in (group.strata.strata if group.strata else ()) if one.merged]
        for one in small:
            said.append(
                f"stratum '{one.label}' has {one.records} record(s), fewer than k: merged with the nearest stratum"
            )
    return tuple(said)
