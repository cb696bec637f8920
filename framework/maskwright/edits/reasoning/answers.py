"""Answers of reasoning: values of free variables, refutations, and atoms on given values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.conditions import all_of, any_of, expression_of
from maskwright.edits.edit import LinearPart, ProductPart
from maskwright.edits.expression import (
    Comparison,
    Expression,
    InSet,
    IsInteger,
    Not,
    Number,
    Text,
    Truth,
    VariableReference,
)
from maskwright.edits.reasoning.clauses import Atom, Band, Clause, Integral, Member, Opaque, TextSet
from maskwright.edits.reasoning.diophantine import band_holds, product_holds
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


Value = Fraction | str

# Branch-and-bound nodes, values of sets and choices tried before an answer is left open.
MOST_NODES = 200
MOST_CHOICES = 20_000


@dataclass
class Effort:
    """What a search may still spend: the same for the same question on any machine, so it is no time.

    `left`: conditions that may still be evaluated; below 0, every further answer is left open.
    """

    left: int

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left < 0

    def spend(self, conditions: int) -> None:
        """Count so many conditions as evaluated."""
        self.left -= conditions


@dataclass(frozen=True)
class Space:
    """What values free variables may take.

    `steps`: Grids: values are multiples of the step. Other numeric variables take any rational number. `texts`:
    categories of nominal and ordinal variables, those to try first in front.
    """

    steps: Mapping[str, Fraction] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reason:
    """One way out that is closed.

    `variables`: fixed variables whose values close it. `atom`: what these values break, whatever the free ones are;
    true of any record with the same fixed variables. None: it was only found for these values.
    """

    variables: frozenset[str]
    atom: Atom | None = None


@dataclass(frozen=True)
class Refutation:
    """Why no values of the free variables do.

    `reasons`: all closed ways; one of them has to be opened. `clauses`: positions of the clauses used. `is_open`:
    nothing was found, but it was not proven that there is nothing.
    """

    reasons: tuple[Reason, ...]
    clauses: frozenset[int]
    is_open: bool = False

    @property
    def variables(self) -> frozenset[str]:
        """Fixed variables of which at least one has to be freed."""
        return frozenset().union(*(reason.variables for reason in self.reasons))


@dataclass(frozen=True)
class Chosen:
    """An atom that has to hold.

    `tag`: position of the clause whose alternative was chosen; below 0, the choice of a value in a set. `clauses`:
    choices that it rests on. `basis`: fixed variables whose values are already in the atom's numbers; None when the
    atom is as the edit states it.
    """

    tag: int
    atom: Atom
    clauses: frozenset[int]
    basis: frozenset[str] | None = None


def reduced_row(
    row: Row, fixed: Mapping[str, Value], slack: Callable[[Row], Fraction] | None = None
) -> list[tuple[int, Row]]:
    """Row on the free variables; fixed ones are moved to the constant.

    Where fixed values are only known approximately, `slack` says by how much the row may be broken; an equality then
    becomes two inequalities.

    Returns the sign is -1 for the row times -1.
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


def holds_on(atom: Atom, values: Mapping[str, Value], slack: Callable[[Row], Fraction] | None = None) -> bool:
    """Whether an atom holds for values of all its variables."""
    match atom:
        case Row():
            return all(row.holds_at(0) for _, row in reduced_row(atom, values, slack))
        case Member():
            return values[atom.variable] in atom.numbers
        case Integral():
            value = values[atom.variable]
            return isinstance(value, Fraction) and value.denominator == 1
        case TextSet():
            return (values[atom.variable] in atom.texts) == atom.inside
        case ProductPart() | Band():
            numbers = {name: value for name, value in values.items() if isinstance(value, Fraction)}
            return product_holds(atom, numbers) if isinstance(atom, ProductPart) else band_holds(atom, numbers)
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
        case Band(part) if atom.is_open:
            exact = expression_of(replace(part, tolerance=Fraction(0)))
            assert isinstance(exact, Comparison)
            above = Comparison(">=", exact.left, Number(-part.tolerance))
            return all_of([above, Comparison("<", exact.left, Number(part.tolerance))])
        case Band(part):
            return expression_of(part)
        case Opaque():
            return atom.expression


def clause_expression(clause: Clause) -> Expression:
    """Condition that a clause stands for."""
    return any_of([all_of([atom_expression(atom) for atom in atoms]) for atoms in clause.alternatives])
