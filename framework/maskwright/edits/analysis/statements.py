"""Rules and declared bounds as statements, in components that share no variable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from maskwright.edits.edit import Edit, LinearPart, Part, RangePart
from maskwright.edits.expression import IsMissing, IsNumber, MissingAs, children
from maskwright.edits.reasoning.clauses import Clause, Opaque, bound_rows, clauses_of, linear_rows, negation_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.expression import Expression
    from maskwright.edits.reasoning.simplex import Row
    from maskwright.foundation.errors import Place


@dataclass(frozen=True)
class Statement:
    """A rule, or the declared bounds of a variable (``edit`` is None)."""

    name: str
    parts: tuple[Part, ...]
    edit: Edit | None = None

    @property
    def place(self) -> Place | None:
        """Where the rule stands."""
        return None if self.edit is None else self.edit.place

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """What it says, for reasoning; parts that can only be evaluated are left out."""
        edit = self.edit or Edit(self.name, _nothing(self.parts), self.parts, (), "")
        found = clauses_of(edit)
        return tuple(
            clause
            for clause in found
            if not any(isinstance(atom, Opaque) for atoms in clause.alternatives for atom in atoms)
        )

    @cached_property
    def is_whole(self) -> bool:
        """Whether its clauses say all that it says."""
        return len(self.clauses) == len(self.parts) and not (
            self.edit is not None and _asks_for_cells(self.edit.expression)
        )

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Rows that hold for every record."""
        found: list[Row] = []
        for part in self.parts:
            if isinstance(part, LinearPart):
                found.extend(linear_rows(self.name, part))
            elif isinstance(part, RangePart) and part.texts is None:
                found.extend(bound_rows(self.name, part))
        return tuple(found)

    @cached_property
    def ranges(self) -> tuple[RangePart, ...]:
        """Ranges that hold for every record."""
        return tuple(part for part in self.parts if isinstance(part, RangePart))

    @property
    def is_linear(self) -> bool:
        """Whether its rows say all that it says."""
        return self.is_whole and all(
            isinstance(part, LinearPart)
            or (isinstance(part, RangePart) and part.texts is None and not part.integer and _is_point(part))
            for part in self.parts
        )

    @cached_property
    def negation(self) -> Clause | None:
        """Clause that holds where the rule does not; None where algebra cannot say."""
        return negation_of(self.name, self.parts) if self.is_whole else None

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables of its clauses and rows."""
        found = [name for clause in self.clauses for name in clause.variables]
        return tuple(dict.fromkeys(found))


def statements(edits: Iterable[Edit], variables: Sequence[Variable]) -> list[Statement]:
    """Rules that can fire, then the declared bounds."""
    found = [Statement(edit.name, edit.parts, edit) for edit in edits if not edit.shadowed and edit.parts]
    named = {statement.name for statement in found}
    found.extend(
        Statement(name, parts)
        for variable in variables
        if (parts := _bounds(variable)) and (name := f"bounds of {variable.name}") not in named
    )
    return found


def components(found: Sequence[Statement]) -> list[list[Statement]]:
    """Statements in groups that share no variable, in order; those without analysable clauses are left out."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for statement in found:
        names = statement.variables
        for name in names:
            parent.setdefault(name, name)
            parent[root(name)] = root(names[0])
    groups: dict[str, list[Statement]] = {}
    for statement in found:
        if statement.variables:
            groups.setdefault(root(statement.variables[0]), []).append(statement)
    return list(groups.values())


def smallest(names: Sequence[str], contradict: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """Drop every name without which the rest still contradicts (a deletion filter)."""
    kept = list(names)
    for name in names:
        rest = [other for other in kept if other != name]
        if contradict(rest):
            kept = rest
    return tuple(kept)


def _is_point(part: RangePart) -> bool:
    return part.numbers is None or len(part.numbers) == 1


def _bounds(variable: Variable) -> tuple[Part, ...]:
    low, high = (
        # As declared in decimal: 0.1 is 1/10, not the binary64 number next to it.
        Fraction(str(float(bound))) if bound is not None and math.isfinite(bound) else None
        for bound in (variable.lower, variable.upper)
    )
    return () if low is None and high is None else (RangePart(variable.name, low, high),)


def _nothing(parts: Sequence[Part]) -> Expression:
    from maskwright.edits.algebra.negation import all_of
    from maskwright.edits.algebra.parts import expression_of

    return all_of([expression_of(part) for part in parts])


def _asks_for_cells(expression: Expression) -> bool:
    """Whether a rule asks what a cell is, which its parts do not say."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, (IsMissing, MissingAs, IsNumber)):
            return True
        stack.extend(children(node))
    return False
