"""Variables that rules let be negative."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.analysis.statements import components, statements
from maskwright.edits.edit import GoverningPart, Part, RangePart
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.reasoning.simplex import Conflict, Row, solve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.edits.edit_set import EditSet

MOST_ROWS = 60
"""Linear rules of variables that hang together, up to which it is worked out what follows from them."""


def lines_of_signs(edits: EditSet, names: Sequence[str]) -> tuple[str, ...]:
    """Rules ``x >= 0`` that would have to be added so that none of these variables can be negative.

    Returns in the order of `names`. None for a variable whose lower bound a rule states already, under whatever
    condition, or of which the rules, together with those given for the other variables, imply that it is not negative.
    """
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
