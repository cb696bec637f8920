"""Atoms of clauses on given values: whether they hold, and what is left of a row when some variables are fixed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.negation import all_of, any_of
from maskwright.edits.algebra.parts import expression_of
from maskwright.edits.edit import LinearPart, ProductPart
from maskwright.edits.expression import Expression, InSet, IsInteger, Not, Number, Text, Truth, VariableReference
from maskwright.edits.reasoning.clauses import Atom, Clause, Integral, Member, Opaque, TextSet
from maskwright.edits.reasoning.product_rows import product_holds
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.edits.reasoning.answers import Value


def reduced_row(
    row: Row, fixed: Mapping[str, Value], slack: Callable[[Row], Fraction] | None = None
) -> list[tuple[int, Row]]:
    """Row on the free variables; fixed ones are moved to the constant.

    Where fixed values are only known approximately, `slack` says by how much the row may be broken; an equality then
    becomes two inequalities.

    `fixed`: values of the fixed variables. `slack`: of a row; left out, fixed values are exact. Returns the sign is -1
    for the row times -1.
    """
    constant = row.constant
    free: dict[str, Fraction] = {}
    for name, coefficient in row.coefficients.items():
        value = fixed.get(name)
        if isinstance(value, Fraction):
            constant -= coefficient * value
        else:
            free[name] = coefficient
    amount = Fraction(0) if slack is None or len(free) == len(row.coefficients) else slack(row)
    if not amount or row.relation != "==":
        return [(1, Row(row.source, free, row.relation, constant + amount))]
    below = Row(row.source, {name: -value for name, value in free.items()}, "<=", amount - constant)
    return [(1, Row(row.source, free, "<=", constant + amount)), (-1, below)]


def _is_true(row: Row) -> bool:
    if row.relation == "==":
        return row.constant == 0
    return row.constant >= 0 if row.relation == "<=" else row.constant > 0


def holds_on(atom: Atom, values: Mapping[str, Value], slack: Callable[[Row], Fraction] | None = None) -> bool:
    """Whether an atom holds for values of all its variables.

    `slack`: by how much a row may be broken; left out, not at all.
    """
    match atom:
        case Row():
            return all(_is_true(row) for _, row in reduced_row(atom, values, slack))
        case Member():
            return values[atom.variable] in atom.numbers
        case Integral():
            value = values[atom.variable]
            return isinstance(value, Fraction) and value.denominator == 1
        case TextSet():
            return (values[atom.variable] in atom.texts) == atom.inside
        case ProductPart():
            return product_holds(atom, {name: value for name, value in values.items() if isinstance(value, Fraction)})
        case Opaque():
            return True


def atom_expression(atom: Atom) -> Expression:  # noqa: PLR0911 - one return for each kind
    """Condition that an atom stands for."""
    match atom:
        case Row():
            if not atom.coefficients:
                return Truth(holds_on(atom, {}))
            return expression_of(LinearPart(tuple(atom.coefficients.items()), atom.relation, atom.constant))
        case Member():
            return InSet(VariableReference(atom.variable), tuple(Number(value) for value in atom.numbers))
        case Integral():
            return IsInteger(VariableReference(atom.variable))
        case TextSet():
            found = InSet(VariableReference(atom.variable), tuple(Text(text) for text in atom.texts))
            return found if atom.inside else Not(found)
        case ProductPart():
            return expression_of(atom)
        case Opaque():
            return atom.expression


def clause_expression(clause: Clause) -> Expression:
    """Condition that a clause stands for."""
    return any_of([all_of([atom_expression(atom) for atom in atoms]) for atoms in clause.alternatives])
