"""Rules and bounds as statements in components, signs of variables, and findings about them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from maskwright.edits.edit import Edit, GoverningPart, LinearPart, Part, RangePart
from maskwright.edits.expression import IsMissing, IsNumber, MissingAs, nodes
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.reasoning.clauses import Clause, Opaque, bound_rows, clauses_of, linear_rows, negation_of
from maskwright.edits.reasoning.simplex import Conflict, Row, solve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import Expression
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
            self.edit is not None
            and any(isinstance(node, (IsMissing, MissingAs, IsNumber)) for node in nodes(self.edit.expression))
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
    from maskwright.edits.algebra.conditions import all_of, expression_of

    return all_of([expression_of(part) for part in parts])


MOST_ROWS = 60
"""Linear rules of variables that hang together, up to which it is worked out what follows from them."""


def lines_of_signs(edits: EditSet, names: Sequence[str]) -> tuple[str, ...]:
    """Rules ``x >= 0`` that would have to be added so that none of these variables can be negative."""
    stated = {name for edit in edits for name in _bounded_below(edit.parts)}
    rows = {
        name: found
        for component in components(statements(edits, ()))
        if len(found := [row for each in component for row in each.rows]) <= MOST_ROWS
        for name in {name for row in found for name in row.coefficients}
    }
    wanted = [name for name in names if name not in stated]
    for name in reversed(wanted):
        others = [Row("", {other: Fraction(-1)}, "<=", Fraction(0)) for other in wanted if other != name]
        if name in rows:
            below = Row("", {name: Fraction(1)}, "<", Fraction(0))
            known = {other for row in rows[name] for other in row.coefficients}
            system = [*rows[name], *(row for row in others if set(row.coefficients) <= known), below]
            if isinstance(solve(system), Conflict):
                wanted = [other for other in wanted if other != name]
    return tuple(line for name in wanted if (line := _line(name)) is not None)


def _line(name: str) -> str | None:
    try:
        return f"{name_text(name)} >= 0"
    except Inexpressible:
        return None


def _bounded_below(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, RangePart) and (part.low is not None or part.numbers is not None):
            yield part.variable
        elif isinstance(part, GoverningPart):
            yield from _bounded_below((*part.consequent, *part.otherwise))


FindingKind = Literal["contradiction", "unreachable_on_grid", "redundant", "implied_equality", "fixed", "dead_branch"]


@dataclass(frozen=True)
class Finding:
    """Something about rules that a person should know.

    `edits`: the rules concerned; ``bounds of V3`` stands for declared bounds of a variable. `place`: of the first rule
    concerned. `hint`: what to do about it.
    """

    kind: FindingKind
    edits: tuple[str, ...]
    message: str
    place: Place | None = None
    hint: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing can be masked under these rules."""
        return self.kind in ("contradiction", "unreachable_on_grid")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        place = None if self.place is None else str(self.place)
        return {"kind": self.kind, "edits": list(self.edits), "message": self.message, "place": place,
                "hint": self.hint}  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """Everything found in a set of rules.

    `findings`: those that block first, then in file order. `skipped`: what was not analysed, and why: reason to number
    of rules.
    """

    findings: tuple[Finding, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """Findings under which no record can be published."""
        return tuple(finding for finding in self.findings if finding.blocks)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``maskwright edits --json`` prints it."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "not_analysed": [{"reason": reason, "edits": count} for reason, count in self.skipped.items()],
        }
