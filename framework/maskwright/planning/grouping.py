"""Variable groups: which variables are masked together, so that edits hold by construction.

A rule is only safe when all its variables are in one group and clusters are formed jointly; rules that share a variable
therefore share a group (V. Torra, "Constrained microaggregation: adding constraints for data editing", Transactions on
Data Privacy 1(2), 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.edits.edit import DomainPart, Edit, GoverningPart, LinearPart, Part, ProductPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.params import PlanningParams


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
        case GoverningPart() | DomainPart():
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
    """Cut the variables of a step into groups.

    `names`: variables the step masks, in file order. `listed`: groups named in the pipeline; variables they leave out
    are grouped as usual. `scope`: of the method: "variable" gives groups of one, "all" one group.
    """
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


def choose_operators(group: Sequence[str], variables: Mapping[str, Variable], edits: EditSet) -> Operators:
    """Operator of each variable: what keeps its edits.

    Arithmetic means keep linear equalities; geometric means keep products; a lower median is a value of the file. A
    variable under edits of several kinds takes the arithmetic mean, and the product's total is computed.
    """
    inside = [part for edit in edits for part in edit.parts]
    linear = {name for part in inside if isinstance(part, LinearPart) for name in part.variables}
    equal = {
        name for part in inside if isinstance(part, LinearPart) and part.relation == "==" for name in part.variables
    }
    products = [
        part
        for part in inside
        if isinstance(part, ProductPart) and part.relation == "==" and set(part.variables) <= set(group)
    ]
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
    for name in group:
        variable = variables[name]
        if variable.type == "nominal":
            chosen[name] = "mode"
        elif variable.type == "ordinal" or (name in domain and name not in linear and name not in chosen):
            chosen[name] = "lower_median"
    return Operators(tuple(chosen.get(name, "mean") for name in group), tuple(dict.fromkeys(computed)))
