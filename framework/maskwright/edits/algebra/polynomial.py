"""Laurent polynomials and elimination, in exact rational arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from maskwright.edits.expression import Arithmetic, Expression, Function, Negative, Number, VariableReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


# (variable, exponent) pairs sorted by variable, exponents not zero; () is the constant monomial.
Monomial = tuple[tuple[str, int], ...]

MOST_TERMS = 5_000
HIGHEST_POWER = 64
# Limits on coefficients, so that no rule can make the algebra itself explode.
MOST_BITS = 8_192


@dataclass(frozen=True)
class Polynomial:
    """``sum(coefficient * prod(variable ** exponent))``; exponents may be negative.

    `divisors`: variables the expression divides by: where one is 0 the expression has no value, even if algebra cancels
    it.
    """

    terms: Mapping[Monomial, Fraction]
    divisors: frozenset[str] = frozenset()

    @property
    def constant(self) -> Fraction:
        """Coefficient of the constant monomial."""
        return self.terms.get((), Fraction(0))

    @property
    def is_constant(self) -> bool:
        """Whether no variable is left."""
        return not self.terms or set(self.terms) == {()}

    @property
    def is_affine(self) -> bool:
        """Whether every monomial is a constant or a single variable to the power 1."""
        return all(not monomial or (len(monomial) == 1 and monomial[0][1] == 1) for monomial in self.terms)

    @property
    def keeps_its_divisors(self) -> bool:
        """Whether every divisor is still a negative power: then no domain restriction was lost to cancelling."""
        left = {name for monomial in self.terms for name, exponent in monomial if exponent < 0}
        return self.divisors <= left

    @property
    def linear_terms(self) -> dict[str, Fraction]:
        """Coefficient of each variable, of an affine polynomial."""
        return {monomial[0][0]: coefficient for monomial, coefficient in self.terms.items() if monomial}

    @property
    def bare_variable(self) -> str | None:
        """The variable, if the polynomial is one variable and nothing else."""
        if len(self.terms) == 1 and self.is_affine:
            ((monomial, coefficient),) = self.terms.items()
            if monomial and coefficient == 1:
                return monomial[0][0]
        return None

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return Polynomial({key: value for key, value in terms.items() if value}, self.divisors | other.divisors)

    def __neg__(self) -> Polynomial:
        return self.scaled(Fraction(-1))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def scaled(self, factor: Fraction) -> Polynomial:
        """Product with a number."""
        if not factor:
            return Polynomial({}, self.divisors)
        return Polynomial({key: value * factor for key, value in self.terms.items()}, self.divisors)


def constant_polynomial(value: Fraction) -> Polynomial:
    """Polynomial without variables."""
    return Polynomial({(): value} if value else {})


def polynomial_of(expression: Expression) -> Polynomial | None:  # noqa: PLR0911 - one case for each kind of node
    """Expand an arithmetic expression."""
    match expression:
        case Number(value):
            return constant_polynomial(value)
        case VariableReference(name):
            return Polynomial({((name, 1),): Fraction(1)})
        case Function("number", (argument,)):
            return polynomial_of(argument)
        case Negative(operand):
            inner = polynomial_of(operand)
            return None if inner is None else -inner
        case Arithmetic(operator, left, right):
            first, second = polynomial_of(left), polynomial_of(right)
            if first is None or second is None:
                return None
            return _limited(_combined(operator, first, second))
        case _:
            return None


def _limited(found: Polynomial | None) -> Polynomial | None:
    if found is None or len(found.terms) > MOST_TERMS:
        return None
    parts = (part for value in found.terms.values() for part in value.as_integer_ratio())
    return None if any(part.bit_length() > MOST_BITS for part in parts) else found


def _combined(operator: str, first: Polynomial, second: Polynomial) -> Polynomial | None:
    match operator:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return _product(first, second)
        case "/":
            inverse = _inverse(second)
            return None if inverse is None else _product(first, inverse)
        case "^":
            return _power(first, second)
        case _:
            return None


def _product(first: Polynomial, second: Polynomial) -> Polynomial | None:
    if len(first.terms) * len(second.terms) > MOST_TERMS:
        return None
    terms: dict[Monomial, Fraction] = {}
    for one, coefficient in first.terms.items():
        for other, factor in second.terms.items():
            monomial = _joined(one, other)
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient * factor
    return Polynomial({key: value for key, value in terms.items() if value}, first.divisors | second.divisors)


def _joined(one: Monomial, other: Monomial) -> Monomial:
    exponents = dict(one)
    for name, exponent in other:
        exponents[name] = exponents.get(name, 0) + exponent
    return tuple(sorted((name, exponent) for name, exponent in exponents.items() if exponent))


def _inverse(divisor: Polynomial) -> Polynomial | None:
    """1 / divisor, for a divisor of one term."""
    if len(divisor.terms) != 1:
        return None
    ((monomial, coefficient),) = divisor.terms.items()
    inverted = tuple((name, -exponent) for name, exponent in monomial)
    return Polynomial({inverted: 1 / coefficient}, divisor.divisors | {name for name, _ in monomial})


def _power(base: Polynomial, exponent: Polynomial) -> Polynomial | None:
    if not exponent.is_constant or exponent.divisors or exponent.constant.denominator != 1:
        return None
    power = int(exponent.constant)
    if abs(power) > HIGHEST_POWER or (power == 0 and (base.divisors or not base.is_constant)):
        return None
    if power < 0:
        inverse = _inverse(base)
        if inverse is None:
            return None
        base, power = inverse, -power
    result: Polynomial | None = constant_polynomial(Fraction(1))
    for _ in range(power):
        result = _limited(_product(result, base)) if result is not None else None
    return result


def eliminate(
    rows: Sequence[tuple[dict[str, Fraction], Fraction]], pivots: Sequence[str]
) -> dict[str, tuple[dict[str, Fraction], Fraction]]:
    """Gauss-Jordan elimination over the rationals, pivoting on the named variables only."""
    left = [(dict(row), constant) for row, constant in rows]
    solved: dict[str, tuple[dict[str, Fraction], Fraction]] = {}
    for name in pivots:
        found = next((number for number, (row, _) in enumerate(left) if row.get(name)), None)
        if found is None:
            continue
        row, constant = left.pop(found)
        scale = row[name]
        row, constant = {other: value / scale for other, value in row.items()}, constant / scale
        left = [_subtract(other, row, constant, name) for other in left]
        solved = {key: _subtract(other, row, constant, name) for key, other in solved.items()}
        solved[name] = (row, constant)
    return solved


Unknown = TypeVar("Unknown", str, int)


class Elimination(Generic[Unknown]):
    """Gauss-Jordan elimination over the rationals, equation after equation.

    `solved`: of each pivot its equation, in which no other pivot occurs.
    """

    def __init__(self) -> None:
        self.solved: dict[Unknown, tuple[dict[Unknown, Fraction], Fraction]] = {}

    def reduced(
        self, terms: Mapping[Unknown, Fraction], constant: Fraction = Fraction(0)
    ) -> tuple[dict[Unknown, Fraction], Fraction]:
        """Equation without the pivots."""
        left = {name: value for name, value in terms.items() if value}, constant
        for name in terms:
            if name in self.solved:
                left = _subtract(left, *self.solved[name], name)
        return left

    def add(
        self,
        terms: Mapping[Unknown, Fraction],
        constant: Fraction = Fraction(0),
        pivot_of: Callable[[Iterable[Unknown]], Unknown] = lambda names: next(iter(names)),
    ) -> None:
        """Take in an equation; its pivot is one of the unknowns that are left in it."""
        left, right = self.reduced(terms, constant)
        if not left:
            return
        pivot = pivot_of(left)
        lead = left[pivot]
        row = {name: value / lead for name, value in left.items()}, right / lead
        self.solved = {name: _subtract(other, *row, pivot) for name, other in self.solved.items()}
        self.solved[pivot] = row


def _subtract(
    target: tuple[dict[Unknown, Fraction], Fraction], row: dict[Unknown, Fraction], constant: Fraction, name: Unknown
) -> tuple[dict[Unknown, Fraction], Fraction]:
    values, bound = target
    factor = values.get(name)
    if not factor:
        return target
    result = dict(values)
    for other, value in row.items():
        changed = result.get(other, 0) - factor * value
        if changed:
            result[other] = changed
        else:
            result.pop(other, None)
    return result, bound - factor * constant
