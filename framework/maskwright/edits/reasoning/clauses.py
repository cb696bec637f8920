"""Edits as clauses for reasoning: each a choice of alternatives, each alternative a conjunction of atoms.

``if P then E`` is the clause "P does not hold, or E does". A record obeys an edit when it obeys all its clauses.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import cases
from maskwright.edits.algebra.conditions import expression_of, negate
from maskwright.edits.algebra.conjunctions import rounding_of
from maskwright.edits.algebra.polynomial import Polynomial, polynomial_of
from maskwright.edits.edit import (
    CheckedPart,
    DomainPart,
    Edit,
    GoverningPart,
    LinearPart,
    Part,
    PolynomialPart,
    ProductPart,
    RangePart,
    Relation,
)
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Beyond this an edit is no longer taken apart; it is only evaluated.
MOST_ALTERNATIVES = 256

_OPPOSITE: dict[Relation, tuple[Relation, ...]] = {
    "==": ("<", ">"), "<=": (">",), "<": (">=",), ">=": ("<",), ">": ("<=",),
}  # fmt: skip


@dataclass(frozen=True)
class Member:
    """The variable is one of these numbers."""

    variable: str
    numbers: tuple[Fraction, ...]


@dataclass(frozen=True)
class Integral:
    """The variable is a whole number."""

    variable: str


@dataclass(frozen=True)
class TextSet:
    """The variable's text is one of these (`inside`), or none of them."""

    variable: str
    texts: tuple[str, ...]
    inside: bool = True


@dataclass(frozen=True)
class Band:
    """A sum of products lies within the tolerance of 0; below it where `is_open`: halves are rounded up."""

    part: PolynomialPart
    is_open: bool = False


@dataclass(frozen=True)
class Opaque:
    """A condition of the edit `source` that can be evaluated, but not reasoned about."""

    source: str
    expression: x.Expression


Atom = Row | Member | Integral | TextSet | ProductPart | Band | Opaque
Alternative = tuple[Atom, ...]
# A disjunction of conjunctions: () never holds, ((),) always does.
Choice = tuple[Alternative, ...]


@dataclass(frozen=True)
class Clause:
    """At least one alternative holds.

    `source`: name of the edit that states it. `variables`: in order of first use.
    """

    source: str
    alternatives: Choice
    variables: tuple[str, ...]


def clauses_of(edit: Edit) -> tuple[Clause, ...]:
    """Clauses that an edit stands for: one for each part."""
    rounded = dict(_roundings(edit))
    return tuple(clause_of(edit.name, _choice(edit.name, part, rounded)) for part in edit.parts)


def clause_of(source: str, alternatives: Choice) -> Clause:
    """Clause with the variables of its alternatives."""
    names = dict.fromkeys(name for atoms in alternatives for atom in atoms for name in atom_variables(atom))
    return Clause(source, alternatives, tuple(names))


def atom_variables(atom: Atom) -> tuple[str, ...]:
    """Variables of an atom, in order of first use."""
    match atom:
        case Row():
            return tuple(atom.coefficients)
        case ProductPart():
            return atom.variables
        case Band(part):
            return part.variables
        case Opaque():
            return x.variable_names(atom.expression)
        case _:
            return (atom.variable,)


def negation_of(source: str, parts: Sequence[Part]) -> Clause | None:
    """Clause that holds where the conjunction of `parts` does not; None where algebra cannot say.

    A missing integer property is taken as something a grid allows or not: ``x is integer`` has no negation here.
    """
    found: list[Alternative] = []
    for part in parts:
        refused = _refusal(source, part)
        if refused is None:
            return None
        found.extend(refused)
    return clause_of(source, tuple(found)) if len(found) <= MOST_ALTERNATIVES else None


def linear_rows(source: str, part: LinearPart) -> list[Row]:
    """Rows of a linear part: ``==``, ``<=`` and ``<`` only; an equality with a tolerance is two."""
    terms = dict(part.coefficients)
    match part.relation:
        case "==" if part.tolerance:
            return [
                Row(source, terms, "<=", part.constant + part.tolerance),
                Row(source, negative(terms), "<=", part.tolerance - part.constant),
            ]
        case ">=":
            return [Row(source, negative(terms), "<=", -part.constant)]
        case ">":
            return [Row(source, negative(terms), "<", -part.constant)]
        case _:
            return [Row(source, terms, part.relation, part.constant)]


def bound_rows(source: str, part: RangePart) -> list[Row]:
    """Rows for the bounds of a range; those of its numbers for a set."""
    one, minus = {part.variable: Fraction(1)}, {part.variable: Fraction(-1)}
    if part.numbers is not None:
        return [Row(source, one, "<=", max(part.numbers)), Row(source, minus, "<=", -min(part.numbers))]
    low, high, low_closed, high_closed = part.low, part.high, part.low_closed, part.high_closed
    if part.integer and low is not None:
        low, low_closed = Fraction(math.ceil(low) if low_closed else math.floor(low) + 1), True
    if part.integer and high is not None:
        high, high_closed = Fraction(math.floor(high) if high_closed else math.ceil(high) - 1), True
    if low is not None and low == high and low_closed and high_closed:
        return [Row(source, one, "==", low)]
    found = []
    if low is not None:
        found.append(Row(source, minus, "<=" if low_closed else "<", -low))
    if high is not None:
        found.append(Row(source, one, "<=" if high_closed else "<", high))
    return found


def negative(terms: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Coefficients with the other sign."""
    return {name: -value for name, value in terms.items()}


def _roundings(edit: Edit) -> Iterator[tuple[frozenset[object], tuple[int, Fraction]]]:
    """Terms of what is rounded less what it equals, as an edit states them or negated: the sign, and the unit."""
    for node in x.nodes(edit.expression):
        found = _rounding(node)
        if found is not None:
            yield frozenset(found[0].terms.items()), (1, found[1])
            yield frozenset((-found[0]).terms.items()), (-1, found[1])


def _rounding(node: x.Expression) -> tuple[Polynomial, Fraction] | None:
    """What is rounded less what it equals, and the unit, of ``round(f) == g``."""
    found = rounding_of(node)
    rest = None if found is None else polynomial_of(x.Arithmetic("-", found[0], found[2]))
    return None if found is None or rest is None else (rest, found[1])


def _choice(source: str, part: Part, rounded: Mapping[frozenset[object], tuple[int, Fraction]]) -> Choice:
    """Alternatives of a part; a single opaque one where it cannot be taken apart."""
    near, sign, unit = part, 0, Fraction(1)
    if isinstance(part, LinearPart) and part.tolerance:
        near = part.as_polynomial()
    if isinstance(near, PolynomialPart):
        sign, unit = rounded.get(frozenset((monomial, value) for value, monomial in near.terms), (sign, unit))
        near = near if sign else part
    elif isinstance(part, CheckedPart) and (found := _rounding(part.expression)) is not None:
        sign, unit = 1, found[1]
        near = PolynomialPart(tuple((value, monomial) for monomial, value in found[0].terms.items()), unit / 2)
    if isinstance(near, PolynomialPart):
        terms = tuple((-value if sign < 0 else value, monomial) for value, monomial in near.terms)
        atoms: Alternative = (Band(replace(near, terms=terms), is_open=sign != 0),)
        # What is rounded to decimals equals a number with no more of them.
        return ((*atoms, Opaque(source, expression_of(part))) if unit != 1 or near is not part else atoms,)
    choice = None if rounded and isinstance(part, GoverningPart) else _alternatives(source, part)
    opaque = choice is None or any(isinstance(atom, Opaque) for atoms in choice for atom in atoms)
    return ((Opaque(source, expression_of(part)),),) if choice is None or opaque else choice


def _alternatives(source: str, part: Part) -> Choice | None:
    match part:
        case LinearPart():
            return (tuple(linear_rows(source, part)),)
        case ProductPart() | PolynomialPart():
            return ((part if isinstance(part, ProductPart) else Band(part),),)
        case RangePart():
            return (_range(source, part),)
        case GoverningPart():
            return _governing(source, part)
        case CheckedPart(
            x.Comparison("!=", x.VariableReference(), x.Text() | x.Number())
            | x.Comparison("!=", x.Text() | x.Number(), x.VariableReference())
        ):
            return condition_choice(source, part.expression, True)
        case _:
            return None


def _range(source: str, part: RangePart) -> Alternative:
    if part.texts is not None:
        return (TextSet(part.variable, part.texts),)
    if part.numbers is not None:
        return (Member(part.variable, part.numbers),)
    rows = tuple(bound_rows(source, part))
    return (*rows, Integral(part.variable)) if part.integer else rows


def _governing(source: str, part: GoverningPart) -> Choice | None:
    refused = condition_choice(source, part.condition, False)
    then = conjunction_choice(source, part.consequent)
    if refused is None or then is None:
        return None
    if not part.otherwise:
        return refused + then
    agreed, other = condition_choice(source, part.condition, True), conjunction_choice(source, part.otherwise)
    if agreed is None or other is None:
        return None
    both, neither = _product([agreed, then]), _product([refused, other])
    return None if both is None or neither is None else both + neither


def conjunction_choice(source: str, parts: Sequence[Part]) -> Choice | None:
    """Alternatives of a conjunction of parts; None where algebra cannot say."""
    choices: list[Choice] = []
    for part in parts:
        one = _alternatives(source, part)
        if one is None:
            return None
        choices.append(one)
    return _product(choices)


def condition_choice(source: str, condition: x.Expression, wanted: bool) -> Choice | None:  # noqa: PLR0911 - one return for each kind of node
    """Alternatives under which a condition holds, or does not; None where algebra cannot say."""
    match condition:
        case x.Not(operand):
            return condition_choice(source, operand, not wanted)
        case x.And(operands) | x.Or(operands):
            found = [condition_choice(source, operand, wanted) for operand in operands]
            if any(one is None for one in found):
                return None
            known = [one for one in found if one is not None]
            if isinstance(condition, x.And) == wanted:
                return _product(known)
            joined = tuple(dict.fromkeys(itertools.chain(*known)))
            return joined if len(joined) <= MOST_ALTERNATIVES else None
        case x.Comparison("==" | "!=", x.VariableReference(name), x.Text(text)) | x.Comparison(
            "==" | "!=", x.Text(text), x.VariableReference(name)
        ):
            return ((TextSet(name, (text,), (condition.operator == "==") == wanted),),)
        case x.InSet(x.VariableReference(name), members) if all(isinstance(member, x.Text) for member in members):
            texts = tuple(member.value for member in members if isinstance(member, x.Text))
            return ((TextSet(name, texts, wanted),),)
        case _:
            split = cases(condition if wanted else negate(condition))
            if split is None:
                return None
            choices = [conjunction_choice(source, parts) for parts in split]
            return None if any(one is None for one in choices) else tuple(
                atoms for one in choices if one is not None for atoms in one
            )  # fmt: skip


def _product(choices: Sequence[Choice]) -> Choice | None:
    if math.prod(len(choice) for choice in choices) > MOST_ALTERNATIVES:
        return None
    return tuple(tuple(itertools.chain(*picks)) for picks in itertools.product(*choices))


def _refusal(source: str, part: Part) -> Choice | None:
    match part:
        case LinearPart():
            return _linear_refusal(source, part)
        case ProductPart():
            return tuple((replace(part, relation=relation),) for relation in _OPPOSITE[part.relation])
        case RangePart():
            return _range_refusal(source, part)
        case GoverningPart():
            return _governing_refusal(source, part)
        case DomainPart():
            return None
        case _:
            return condition_choice(source, expression_of(part), False)


def _linear_refusal(source: str, part: LinearPart) -> Choice:
    if part.tolerance:
        above = replace(part, relation=">", constant=part.constant + part.tolerance, tolerance=Fraction(0))
        below = replace(part, relation="<", constant=part.constant - part.tolerance, tolerance=Fraction(0))
        return tuple(tuple(linear_rows(source, each)) for each in (above, below))
    return tuple(tuple(linear_rows(source, replace(part, relation=relation))) for relation in _OPPOSITE[part.relation])


def _range_refusal(source: str, part: RangePart) -> Choice | None:
    if part.texts is not None:
        return ((TextSet(part.variable, part.texts, False),),)
    if part.integer:
        return None
    one = {part.variable: Fraction(1)}
    if part.numbers is None:
        return tuple((_beyond(source, row),) for each in bound_rows(source, part) for row in _inequalities(each))
    inner = tuple(
        (Row(source, negative(one), "<", -low), Row(source, one, "<", high))
        for low, high in itertools.pairwise(part.numbers)
    )
    first, last = part.numbers[0], part.numbers[-1]
    return ((Row(source, one, "<", first),), *inner, (Row(source, negative(one), "<", -last),))


def _inequalities(row: Row) -> list[Row]:
    if row.relation != "==":
        return [row]
    return [
        Row(row.source, row.coefficients, "<=", row.constant),
        Row(row.source, negative(row.coefficients), "<=", -row.constant),
    ]


def _beyond(source: str, row: Row) -> Row:
    return Row(source, negative(row.coefficients), "<=" if row.relation == "<" else "<", -row.constant)


def _governing_refusal(source: str, part: GoverningPart) -> Choice | None:
    broken = negation_of(source, part.consequent)
    agreed = condition_choice(source, part.condition, True)
    if broken is None or agreed is None:
        return None
    found = _product([agreed, broken.alternatives])
    if not part.otherwise or found is None:
        return found
    unmet, refused = negation_of(source, part.otherwise), condition_choice(source, part.condition, False)
    if unmet is None or refused is None:
        return None
    other = _product([refused, unmet.alternatives])
    return None if other is None else found + other
