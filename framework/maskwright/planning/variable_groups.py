"""Variable groups: variables masked together, and their aggregation, so that edits hold by construction."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.cluster_aggregation import ChosenAggregation
from maskwright.data.record_groups import varying
from maskwright.data.sketches.record_hashes import published_cells
from maskwright.edits.algebra.products import solvable_for
from maskwright.edits.edit import (
    DomainPart,
    Edit,
    GoverningPart,
    LinearPart,
    Part,
    PolynomialPart,
    ProductPart,
    RangePart,
)
from maskwright.foundation.findings import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.cluster_aggregation import ChosenAggregation
    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.model import Group, PlanningParams, Step
    from maskwright.plugins.legal_values import KeptByAggregation


NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})

_COARSE_GRID = 0.01
"""Step of the published grid, as a share of the mean, above which rounding a derived factor moves totals visibly."""


class Components:
    """Sets of names that edits join, transitively."""

    def __init__(self, names: Iterable[str]) -> None:
        self._root = {name: name for name in names}

    def find(self, name: str) -> str:
        """Return the name that stands for the set of `name`."""
        while self._root[name] != name:
            self._root[name] = self._root[self._root[name]]
            name = self._root[name]
        return name

    def join(self, names: Iterable[str]) -> None:
        """Make the known ones among `names` one set."""
        known = [name for name in names if name in self._root]
        for name in known[1:]:
            self._root[self.find(name)] = self.find(known[0])

    def sets(self) -> list[tuple[str, ...]]:
        """Return the sets, each in the order of the names given, ordered by their first name."""
        found: dict[str, list[str]] = {}
        for name in self._root:
            found.setdefault(self.find(name), []).append(name)
        return [tuple(names) for names in found.values()]


def binds(edit: Edit, grouping: str) -> bool:
    """Whether an edit needs its variables in one group under `grouping`.

    Under ``all_edits`` every edit does, also one that only lists ranges of several variables: it is one rule, and is
    kept or broken as one.
    """
    return grouping == "all_edits" or any(_part_binds(part) for part in edit.parts)


def _part_binds(part: Part) -> bool:
    match part:
        case LinearPart(_, relation) | ProductPart(_, _, relation):
            return relation == "=="
        case GoverningPart() | DomainPart() | PolynomialPart():
            return True
        case _:
            return False


def group_variables(
    names: Sequence[str],
    edits: EditSet,
    params: PlanningParams,
    listed: Sequence[Sequence[str]] = (),
    scope: str = "group",
) -> list[tuple[str, ...]]:
    """Cut the variables of a step into groups."""
    if scope == "variable":
        return [(name,) for name in names]
    if scope == "all" or (params.group_size == "all" and not listed):
        return [tuple(names)]
    groups = [tuple(group) for group in listed]
    taken = {name for group in groups for name in group}
    rest = [name for name in names if name not in taken]
    joined = Components(rest)
    for edit in edits:
        if binds(edit, params.grouping):
            joined.join(edit.variables)
    bound = [group for group in joined.sets() if len(group) > 1]
    groups.extend(bound)
    free = [name for name in rest if not any(name in group for group in bound)]
    size = len(free) if params.group_size == "all" else params.group_size
    whole = max(len(free) // size, 1) if free else 0
    for number in range(whole):
        stop = len(free) if number == whole - 1 else (number + 1) * size
        groups.append(tuple(free[number * size : stop]))
    return groups


@dataclass(frozen=True)
class Operators:
    """How a group's variables are aggregated.

    `names`: ``mean``, ``geometric_mean``, ``lower_median`` or ``mode`` for each variable of the group. `computed`:
    variables computed from masked ones instead.
    """

    names: tuple[str, ...]
    computed: tuple[str, ...]


def choose_operators(
    group: Sequence[str],
    variables: Mapping[str, Variable],
    edits: EditSet,
    data: Dataset | None = None,
    step: Step | None = None,
) -> Operators:
    """Operator of each variable: what keeps its edits.

    Arithmetic means keep linear equalities; geometric means keep products; a lower median is a value of the file. A
    variable under edits of several kinds takes the arithmetic mean, and the product's total is computed. Of a product
    with a tolerance, which rounding of the published total explains, a factor is computed: total and means stay. Of
    records that are drawn it is the total: the factors keep the values that many records have.
    """
    weights = NO_WEIGHTS if step is None else step.planning.adjustment_weights
    drawn = step is not None and step.method.claims.draws_records
    inside = [part for edit in edits for part in edit.parts]
    linear = {name for part in inside if isinstance(part, LinearPart) for name in part.variables}
    equal = {
        name for part in inside if isinstance(part, LinearPart) and part.relation == "==" for name in part.variables
    }
    conditional = [part for part in conditional_products(inside) if set(part.variables) <= set(group)]
    nearly = [
        part
        for part in (*inside, *conditional)
        if isinstance(part, PolynomialPart) and set(part.variables) <= set(group)
    ]
    equal.update(name for part in (*nearly, *conditional) for name in part.variables)
    products = [
        part
        for part in inside
        if isinstance(part, ProductPart) and part.relation == "==" and set(part.variables) <= set(group)
        and not _is_linear_within_strata(part, data, step)
    ]  # fmt: skip
    in_products = Components(group)
    for part in products:
        in_products.join(part.variables)
    domain = {name for part in inside if isinstance(part, DomainPart) for name in part.variables if name in group}
    chosen: dict[str, str] = {}
    computed: list[str] = []
    for part in products:
        together = {
            other for each in products for other in each.variables
            if in_products.find(other) == in_products.find(part.variables[0])
        }  # fmt: skip
        if not together & (equal | domain):
            chosen.update(dict.fromkeys(part.variables, "geometric_mean"))
        elif part.total is not None and part.total not in equal:
            computed.append(part.total)
    # Where the condition does not hold the factors may be 0: no geometric mean.
    computed += [part.total for part in conditional if isinstance(part, ProductPart) and part.total is not None]
    for near in nearly:
        choices = [name for name in near.variables if name not in computed]
        is_total = drawn and near.total in choices
        computed.append(
            near.total if is_total and near.total is not None
            else _derived_variable(near, choices, variables, data, weights)
        )  # fmt: skip
    for name in group:
        variable = variables[name]
        if variable.type == "nominal":
            chosen[name] = "mode"
        elif variable.type == "ordinal" or (name in domain and name not in linear and name not in chosen):
            chosen[name] = "lower_median"
    return Operators(tuple(chosen.get(name, "mean") for name in group), tuple(dict.fromkeys(computed)))


def _is_linear_within_strata(part: ProductPart, data: Dataset | None, step: Step | None) -> bool:
    """Whether all but one variable of either side of a product have one value in each stratum of `within`."""
    if data is None or step is None or not step.within or not {*step.within, *part.variables} <= set(data.names):
        return False
    strata = Classes.of([published_cells(data[name]) for name in step.within]).codes
    same = {
        name for name in part.variables
        if not data[name].missing.any() and not varying(data[name].values, strata).any()
    }  # fmt: skip
    sides = [[power for name, power in side if name not in same] for side in (part.left, part.right)]
    return bool(same) and all(powers in ([], [1]) for powers in sides)


def _derived_variable(
    part: PolynomialPart,
    choices: Sequence[str],
    variables: Mapping[str, Variable],
    data: Dataset | None,
    weights: Mapping[str, float],
) -> str:
    """Variable of a product with a tolerance that is computed from the others, whose means stay.

    The ratio of a rule that divides, and the total of one without tolerance. Else a factor: the one whose moves count
    least, then with a fine grid, then the one with the largest coefficient of variation: what the covariance of the
    factors inside a cluster adds to it is least in its standard deviations. The total where nothing else can be.
    """
    solvable = [name for name in choices if solvable_for(part.terms, name)] or list(part.variables)
    divides = any(exponent < 0 for _, monomial in part.terms for _, exponent in monomial)
    if (divides or part.tolerance == 0) and part.total in solvable:
        return part.total

    def order(name: str) -> tuple[float, bool, bool, float]:
        mean, deviation = _moments(name, data)
        decimals = variables[name].decimals
        coarse = decimals is not None and 10.0**-decimals > _COARSE_GRID * abs(mean)
        return weights.get(name, 1.0), name == part.total, coarse, -deviation / abs(mean) if mean else 0.0

    return min(solvable, key=order)


def _moments(name: str, data: Dataset | None) -> tuple[float, float]:
    """Mean and standard deviation of a variable; without data those of a variable that says nothing."""
    if data is None or name not in data:
        return 1.0, 0.0
    values = data[name].values[~data[name].missing]
    return (float(np.mean(values)), float(np.std(values))) if len(values) else (1.0, 0.0)


_NOTHING_KEEPS = "combinations"
"""What no aggregation of one variable at a time can keep."""


def with_aggregation(
    operators: Operators,
    group: Sequence[str],
    variables: Mapping[str, Variable],
    edits: EditSet,
    chosen: ChosenAggregation,
) -> Operators:
    """Operators of a group in which each variable has the aggregation, where that keeps all that binds the variable."""
    bound = _bound_by_unkept(group, edits, chosen)
    names = tuple(
        str(chosen) if variables[name].is_numeric and name not in bound else operator
        for name, operator in zip(group, operators.names, strict=True)
    )
    taken = {name for name, operator in zip(group, names, strict=True) if operator == str(chosen)}
    return Operators(names, tuple(name for name in operators.computed if name not in taken))


def _bound_by_unkept(
    group: Sequence[str], edits: Iterable[Edit], chosen: ChosenAggregation
) -> dict[str, tuple[str, ...]]:
    """Variables that edits bind which an aggregation does not keep, or that are bound with such, and these edits."""
    parts = [(edit.name, part) for edit in edits for part in demanded_parts(edit.parts)]
    together = Components(group)
    for _, part in parts:
        together.join(part.variables)
    unkept: dict[str, list[str]] = {}
    for edit, part in parts:
        if not claims_needed([part]) <= chosen.aggregation.keeps:
            for root in {together.find(name) for name in part.variables if name in group}:
                unkept.setdefault(root, []).append(edit)
    return {name: tuple(dict.fromkeys(unkept[together.find(name)])) for name in group if together.find(name) in unkept}


def aggregation_notices(
    groups: Sequence[Group], steps: Sequence[Step], variables: Mapping[str, Variable], edits: EditSet
) -> Iterator[Notice]:
    """Notices of variables that do not take the aggregation that their step asks for, and why."""
    for position, step in enumerate(steps, 1):
        chosen = step.aggregation
        if chosen is None:
            continue
        left: dict[str, list[str]] = {}
        for group in groups:
            if group.step != position:
                continue
            own = [edit for edit in edits if edit.name in group.edits]
            bound = _bound_by_unkept(group.variables, own, chosen)
            for name, how in zip(group.variables, group.operators, strict=True):
                if how != str(chosen):
                    why = f"categories have no {_in_words(chosen)}"
                    if variables[name].is_numeric and name in bound:
                        why = f"{_in_words(chosen)} does not keep {', '.join(bound[name])}"
                    left.setdefault(why, []).append(name)
        for why, names in left.items():
            verb = "keeps" if len(names) == 1 else "keep"
            message = f"step {step.number}: {', '.join(names)} {verb} the operator of the plan: {why}"
            yield Notice("other-aggregation", str(step.number), message, len(names), place=step.place)


def _in_words(chosen: ChosenAggregation) -> str:
    return str(chosen).replace("_", " ")


def keeps(chosen: ChosenAggregation, edit: Edit) -> bool:
    """Whether an aggregation claims to keep an edit all of whose variables it aggregates."""
    return claims_needed(demanded_parts(edit.parts)) <= chosen.aggregation.keeps


def claims_needed(parts: Iterable[Part]) -> set[KeptByAggregation | str]:
    """What an aggregation has to keep for each of these parts to hold of representatives."""
    return {claim for part in parts for claim in _claims(part)}


def _claims(part: Part) -> Iterator[KeptByAggregation | str]:
    match part:
        case LinearPart(coefficients, relation):
            signs = {value > 0 for _, value in coefficients}
            yield "order" if relation != "==" and len(coefficients) == 2 and len(signs) == 2 else "linear"
        case ProductPart():
            yield "product"
        case PolynomialPart():
            yield _NOTHING_KEEPS
        case RangePart(_, low, high, _, _, numbers):
            if numbers is not None:
                yield "domain"
            elif low is not None or high is not None:
                yield "range"
        case DomainPart(names):
            yield "domain" if len(names) == 1 else _NOTHING_KEEPS


def conditional_products(parts: Iterable[Part]) -> Iterator[ProductPart | PolynomialPart]:
    """Equalities of products that conditional parts demand where their condition holds, or where it does not."""
    for part in parts:
        if isinstance(part, GoverningPart):
            for each in demanded_parts((part,)):
                if isinstance(each, PolynomialPart) or (isinstance(each, ProductPart) and each.relation == "=="):
                    yield each


def demanded_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts with what conditional ones demand: their conditions are cut by, so that they hold in whole clusters."""
    for part in parts:
        if isinstance(part, GoverningPart):
            yield from demanded_parts((*part.consequent, *part.otherwise))
        else:
            yield part
