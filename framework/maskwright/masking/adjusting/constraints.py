"""Edits as numeric constraints: linear, polynomial and finite, each edit a choice of alternatives."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright.edits.algebra.polynomial import Monomial, polynomial_of
from maskwright.edits.edit import (
    Binding,
    CheckedPart,
    DomainPart,
    Edit,
    GoverningPart,
    LinearPart,
    Part,
    PolynomialPart,
    ProductPart,
    RangePart,
)
from maskwright.edits.expression import Comparison, Expression
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.foundation.arrays import Booleans, Floats

    Fetch = Callable[[str], Floats]
    from collections.abc import Sequence


@dataclass(frozen=True)
class PolynomialConstraint:
    """``sum(coefficient * prod(variable ** exponent)) relation 0``, an equality within a tolerance."""

    terms: tuple[tuple[float, Monomial], ...]
    relation: Literal["==", "<=", "<"]
    tolerance: float = 0.0

    def evaluate(self, fetch: Fetch) -> tuple[Floats, Floats]:
        """Value of the sum and the size of its largest term, each of shape (r,); `fetch` gives a variable's numbers."""
        total: Floats = np.zeros(())
        size: Floats = np.zeros(())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for coefficient, monomial in self.terms:
                term = np.asarray(coefficient)
                for name, exponent in monomial:
                    term = term * _power(fetch(name), exponent)
                total = total + term
                size = np.maximum(size, np.abs(term))
        return total, size

    def broken(self, value: Floats, allowed: Floats) -> Booleans:
        """Rows in which `value` is on the wrong side by more than `allowed`; a strict relation allows nothing."""
        if self.relation == "==":
            return np.abs(value) > allowed + self.tolerance
        return value > allowed if self.relation == "<=" else value >= 0

    def gradient(self, fetch: Fetch, position: Mapping[str, int], result: Floats) -> None:
        """Write the gradient of the sum.

        `fetch`: gives a variable's numbers, shape (r,). `result`: written; shape (r, q).
        """
        result[:] = 0.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for coefficient, monomial in self.terms:
                for name, exponent in monomial:
                    if name not in position:
                        continue
                    slope = np.full(len(result), coefficient * exponent)
                    for other, power in monomial:
                        slope = slope * _power(fetch(other), power - 1 if other == name else power)
                    result[:, position[name]] += slope


def _power(base: Floats, exponent: int) -> Floats:
    return base if exponent == 1 else base ** float(exponent)


def product_constraint(part: ProductPart) -> PolynomialConstraint:
    """A product edit as ``left - right relation 0``."""
    left = (float(part.coefficient), tuple(part.left))
    right = (-float(part.constant), tuple(part.right))
    return _oriented((left, right), part.relation)


def polynomial_constraint(part: PolynomialPart) -> PolynomialConstraint:
    """An equality of polynomials; rows are projected onto its centre, which leaves the tolerance to rounding."""
    terms = tuple((float(coefficient), monomial) for coefficient, monomial in part.terms)
    return PolynomialConstraint(terms, "==", float(part.tolerance))


@lru_cache(maxsize=1024)
def comparison_constraint(expression: Expression) -> PolynomialConstraint | None:
    """A comparison of two polynomials; None for any other condition."""
    if not isinstance(expression, Comparison) or expression.operator == "!=":
        return None
    left, right = polynomial_of(expression.left), polynomial_of(expression.right)
    if left is None or right is None:
        return None
    difference = left - right
    if difference.is_constant or not difference.keeps_its_divisors:
        return None
    terms = tuple((float(coefficient), monomial) for monomial, coefficient in difference.terms.items())
    return _oriented(terms, expression.operator)


def _oriented(terms: tuple[tuple[float, Monomial], ...], relation: str) -> PolynomialConstraint:
    if relation in (">", ">="):
        terms = tuple((-coefficient, monomial) for coefficient, monomial in terms)
        return PolynomialConstraint(terms, "<" if relation == ">" else "<=")
    return PolynomialConstraint(terms, relation)  # type: ignore[arg-type]


MOST_ALTERNATIVES = 64
"""Ways to meet one edit; of more, projecting onto each takes too long."""


@dataclass(frozen=True)
class LinearConstraint:
    """``sum(coefficient * variable) relation bound``; strict relations are kept apart by `strict`.

    `tolerance`: what both sides of an equality may differ by.
    """

    coefficients: tuple[tuple[str, Fraction], ...]
    relation: Literal["==", "<="]
    bound: Fraction
    strict: bool = False
    tolerance: Fraction = Fraction(0)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used, each once, in order of first use."""
        return tuple(name for name, _ in self.coefficients)


@dataclass(frozen=True)
class Membership:
    """The combination of these variables is one of a finite set: listed numbers, or the original file's (None)."""

    variables: tuple[str, ...]
    numbers: tuple[Fraction, ...] | None


@dataclass(frozen=True)
class Requirement:
    """A condition that adjustment cannot work towards; it has to hold for the row as it stands."""

    expression: Expression
    wanted: bool
    binding: Binding


@dataclass(frozen=True)
class Alternative:
    """A conjunction of constraints, one way to satisfy an edit."""

    linear: tuple[LinearConstraint, ...] = ()
    polynomials: tuple[PolynomialConstraint, ...] = ()
    memberships: tuple[Membership, ...] = ()
    requirements: tuple[Requirement, ...] = ()

    def __and__(self, other: Alternative) -> Alternative:
        return Alternative(
            self.linear + other.linear,
            self.polynomials + other.polynomials,
            self.memberships + other.memberships,
            self.requirements + other.requirements,
        )


@dataclass(frozen=True)
class Constraint:
    """An edit as a choice of alternatives."""

    name: str
    alternatives: tuple[Alternative, ...]

    @property
    def has_tolerance(self) -> bool:
        """Whether a linear equality of it has one."""
        return any(linear.tolerance for alternative in self.alternatives for linear in alternative.linear)


def constraint_of(edit: Edit, movable: frozenset[str]) -> Constraint:
    """Alternatives of an edit."""
    alternatives = _conjunction(edit.parts, edit, movable)
    if len(alternatives) > MOST_ALTERNATIVES:
        raise _too_many(edit)
    return Constraint(edit.name, alternatives)


def _conjunction(parts: Sequence[Part], edit: Edit, movable: frozenset[str]) -> tuple[Alternative, ...]:
    result: tuple[Alternative, ...] = (Alternative(),)
    for part in parts:
        ways = _alternatives(part, edit, movable)
        # Counted before they are made: a conjunction of disjunctions has exponentially many.
        if len(result) * len(ways) > MOST_ALTERNATIVES:
            raise _too_many(edit)
        result = tuple(one & other for one, other in itertools.product(result, ways))
    return result


def _too_many(edit: Edit) -> EditError:
    return EditError(
        Problem(
            f"edit {edit.name!r} can be met in more than {MOST_ALTERNATIVES} different ways",
            edit.place,
            "split it into several edits",
        )
    )


def _alternatives(  # noqa: PLR0911 - one case for each kind
    part: Part, edit: Edit, movable: frozenset[str]
) -> tuple[Alternative, ...]:
    match part:
        case LinearPart():
            return (Alternative(linear=linear_constraints(part)),)
        case ProductPart():
            return (Alternative(polynomials=(product_constraint(part),)),)
        case PolynomialPart():
            return (Alternative(polynomials=(polynomial_constraint(part),)),)
        case RangePart():
            return (_range(part, edit, movable),)
        case DomainPart(variables):
            if set(variables) <= movable:
                return (Alternative(memberships=(Membership(variables, None),)),)
            return (Alternative(requirements=(Requirement(edit.expression, True, edit.binding),)),)
        case CheckedPart(expression):
            curved = comparison_constraint(expression)
            if curved is not None and set(part.variables) <= movable:
                return (Alternative(polynomials=(curved,)),)
            return (Alternative(requirements=(Requirement(expression, True, edit.binding),)),)
        case GoverningPart():
            return _governing(part, edit, movable)


def _governing(part: GoverningPart, edit: Edit, movable: frozenset[str]) -> tuple[Alternative, ...]:
    refusal = _refusals(part, edit, movable)
    consequent = _conjunction(part.consequent, edit, movable)
    if not part.otherwise:
        return refusal + consequent
    otherwise = _conjunction(part.otherwise, edit, movable)
    if part.condition_parts is not None and _numeric(part.condition_parts, movable):
        agreement = _conjunction(part.condition_parts, edit, movable)
    else:
        agreement = (Alternative(requirements=(Requirement(part.condition, True, edit.binding),)),)
    branches = itertools.chain(itertools.product(agreement, consequent), itertools.product(refusal, otherwise))
    return tuple(one & other for one, other in branches)


def _refusals(part: GoverningPart, edit: Edit, movable: frozenset[str]) -> tuple[Alternative, ...]:
    """Ways in which the condition does not hold: by moving values, or as the row stands where they cannot move."""
    conjunctions = part.refusal_parts or ()
    found = [way for each in conjunctions if _numeric(each, movable) for way in _conjunction(each, edit, movable)]
    if not conjunctions or not all(_numeric(each, movable) for each in conjunctions):
        found.append(Alternative(requirements=(Requirement(part.condition, False, edit.binding),)))
    return tuple(found)


def _numeric(parts: Sequence[Part] | None, movable: frozenset[str]) -> bool:
    return parts is not None and all(
        isinstance(part, LinearPart | RangePart)
        and set(part.variables) <= movable
        and not (isinstance(part, RangePart) and part.texts is not None)
        for part in parts
    )


def _range(part: RangePart, edit: Edit, movable: frozenset[str]) -> Alternative:
    if part.texts is not None or part.variable not in movable:
        return Alternative(requirements=(Requirement(edit.expression, True, edit.binding),))
    one = Fraction(1)
    linear: list[LinearConstraint] = []
    if part.low is not None and part.low == part.high:
        linear.append(LinearConstraint(((part.variable, one),), "==", part.low))
    else:
        if part.high is not None:
            linear.append(LinearConstraint(((part.variable, one),), "<=", part.high, not part.high_closed))
        if part.low is not None:
            linear.append(LinearConstraint(((part.variable, -one),), "<=", -part.low, not part.low_closed))
    memberships = () if part.numbers is None else (Membership((part.variable,), part.numbers),)
    return Alternative(linear=tuple(linear), memberships=memberships)


def linear_constraints(part: LinearPart) -> tuple[LinearConstraint, ...]:
    """``==`` or ``<=`` form of a linear part."""
    if part.relation == "==":
        return (LinearConstraint(part.coefficients, "==", part.constant, tolerance=part.tolerance),)
    strict = part.relation in ("<", ">")
    if part.relation in ("<=", "<"):
        return (LinearConstraint(part.coefficients, "<=", part.constant, strict),)
    return (LinearConstraint(_negative(part.coefficients), "<=", -part.constant, strict),)


def _negative(coefficients: tuple[tuple[str, Fraction], ...]) -> tuple[tuple[str, Fraction], ...]:
    return tuple((name, -coefficient) for name, coefficient in coefficients)


def within_tolerance(constraint: LinearConstraint) -> tuple[LinearConstraint, LinearConstraint]:
    """Equality with a tolerance as two inequalities."""
    return (
        LinearConstraint(constraint.coefficients, "<=", constraint.bound + constraint.tolerance),
        LinearConstraint(_negative(constraint.coefficients), "<=", constraint.tolerance - constraint.bound),
    )


def closed_on_grid(constraint: LinearConstraint, decimals: Mapping[str, int | None]) -> LinearConstraint:
    """Closed form of a strict inequality: the bound lowered to the largest value below it that the grid allows.

    Without a grid the bound is lowered by one part in 10 ** 9, so that rounding in binary64 cannot reach it.
    """
    if not constraint.strict:
        return constraint
    step = _step(constraint, decimals)
    if step is None:
        lowered = constraint.bound - max(abs(constraint.bound), Fraction(1)) / 10**9
    else:
        lowered = (-((-constraint.bound) // step) - 1) * step
    return replace(constraint, bound=lowered, strict=False)


def _step(constraint: LinearConstraint, decimals: Mapping[str, int | None]) -> Fraction | None:
    steps: list[Fraction] = []
    for name, coefficient in constraint.coefficients:
        places = decimals.get(name)
        if places is None:
            return None
        steps.append(abs(coefficient) / 10**places)
    return fraction_gcd(steps)


def fraction_gcd(values: Sequence[Fraction]) -> Fraction:
    """Largest rational of which all `values` are multiples."""
    denominator = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * denominator) for value in values)), denominator)
