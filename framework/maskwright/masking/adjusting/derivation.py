"""Which variables are computed from which, so that equalities hold exactly after rounding.

Each equality gives one variable away: a *dependent* one, computed from the others with integer arithmetic on the
published grid. The natural dependents are the totals: the variable that stands alone on one side of its rule.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.polynomial import eliminate
from maskwright.edits.algebra.products import solvable_for, solved_parts
from maskwright.edits.edit import LinearPart, PolynomialPart, ProductPart
from maskwright.masking.adjusting.constraints import PolynomialConstraint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.algebra.polynomial import Monomial
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.adjusting.constraints import LinearConstraint

_MOST_CHOICES = 3000


@dataclass(frozen=True)
class LinearDerivation:
    """``variable = constant + sum(coefficient * other)``."""

    variable: str
    coefficients: tuple[tuple[str, Fraction], ...]
    constant: Fraction


@dataclass(frozen=True)
class ProductDerivation:
    """``variable = coefficient * prod(other ** exponent)``, exponents >= 1.

    `coarsen` is True when the grid of `variable` is too coarse for the product of the factors' grids, so that rounding
    has to look for factors whose product lies on it.
    """

    variable: str
    coefficient: Fraction
    factors: tuple[tuple[str, int], ...]
    coarsen: bool


@dataclass(frozen=True)
class PolynomialDerivation:
    """``sum(coefficient * monomial) == 0`` within a tolerance, solved for `variable`.

    What rounding `variable` leaves beyond the tolerance goes into `total`.
    """

    variable: str
    terms: tuple[tuple[Fraction, Monomial], ...]
    tolerance: Fraction
    total: str | None

    def about(self, name: str) -> tuple[PolynomialConstraint, PolynomialConstraint, int]:
        """Factor of a variable, what is left without it, and its exponent, 1 or -1."""
        *sums, exponent = solved_parts(self.terms, name)
        factor, rest = (
            PolynomialConstraint(tuple((float(value), monomial) for value, monomial in each), "==") for each in sums
        )
        return factor, rest, exponent


Derivation = LinearDerivation | ProductDerivation | PolynomialDerivation


@dataclass(frozen=True)
class Derivations:
    """How rounding computes a record.

    `free`: rounded to their grid first. `steps`: computed then, in this order. `searched`: names of equalities that no
    derivation covers; met by search on the grid.
    """

    free: tuple[str, ...]
    steps: tuple[Derivation, ...]
    searched: tuple[str, ...]

    @property
    def dependents(self) -> tuple[str, ...]:
        """Variables computed from others."""
        return tuple(dict.fromkeys(step.variable for step in self.steps))


@dataclass(frozen=True)
class Equality:
    """An equality between variables of one adjustment unit, with the name of its edit."""

    name: str
    part: LinearPart | ProductPart | PolynomialPart | LinearConstraint


def equalities_of(edits: EditSet) -> tuple[Equality, ...]:
    """Equalities that hold unconditionally, by edit; with products, those that are rounded count too."""
    has_products = any(isinstance(part, ProductPart | PolynomialPart) for edit in edits for part in edit.parts)
    found: list[Equality] = []
    for edit in edits:
        for part in edit.parts:
            if isinstance(part, LinearPart) and part.tolerance and part.total is not None and has_products:
                found.append(Equality(edit.name, part.as_polynomial()))
            elif isinstance(part, PolynomialPart) or (isinstance(part, LinearPart | ProductPart) and is_equality(part)):
                found.append(Equality(edit.name, part))
    return tuple(found)


def is_equality(part: LinearPart | ProductPart) -> bool:
    """Whether a part is an equality without tolerance."""
    return part.relation == "==" and not (isinstance(part, LinearPart) and part.tolerance)


def derivations(
    variables: Sequence[str],
    equalities: Sequence[Equality],
    decimals: Mapping[str, int | None],
    fixed: frozenset[str] = frozenset(),
    listed: frozenset[str] = frozenset(),
    computed: frozenset[str] = frozenset(),
) -> Derivations:
    """Choose dependents for all equalities and an order in which to compute them.

    `variables`: variables of the unit, in file order. `computed`: those that the plan chose.
    """
    products: list[ProductDerivation | PolynomialDerivation] = []
    searched: list[str] = []
    taken: set[str] = set(fixed)
    sums = [equality for equality in equalities if not isinstance(equality.part, ProductPart | PolynomialPart)]
    rows = [_row(equality.part) for equality in sums]
    in_linear = {name for coefficients, _ in rows for name in coefficients}
    for equality in equalities:
        found: ProductDerivation | PolynomialDerivation | None
        match equality.part:
            case ProductPart():
                found = _product_derivation(equality.part, decimals, taken, in_linear, listed)
            case PolynomialPart():
                found = _polynomial_derivation(equality.part, taken, listed, computed)
            case _:
                continue
        if found is None:
            searched.append(equality.name)
        else:
            products.append(found)
            taken.update(outputs_of(found))
    totals = [equality.part.total if isinstance(equality.part, LinearPart) else None for equality in sums]
    names = [equality.name for equality in sums]
    linear, missed = _linear_derivations(variables, rows, totals, names, decimals, frozenset(taken), listed)
    searched.extend(missed)
    steps, stuck = _order([*linear, *products], {*fixed})
    for derivation in stuck:
        searched.extend(
            equality.name
            for equality in equalities
            if isinstance(equality.part, ProductPart | PolynomialPart)
            and derivation.variable in equality.part.variables
        )
    known = {step.variable for step in steps}
    free = tuple(name for name in variables if name not in known and name not in fixed)
    return Derivations(free, tuple(steps), tuple(dict.fromkeys(searched)))


def _polynomial_derivation(
    part: PolynomialPart, taken: set[str], listed: frozenset[str], computed: frozenset[str]
) -> PolynomialDerivation | None:
    """Derivation of the variable that the plan chose, else of one that is listed nowhere, the total last."""
    choices = [name for name in part.variables if name not in taken and solvable_for(part.terms, name)]
    if not choices:
        return None
    by_total = part.tolerance == 0
    chosen = min(choices, key=lambda name: (name in listed, name not in computed, (name == part.total) != by_total))
    amounts = [*([part.total] if part.total is not None else []), *_dividends(part)]
    total = next((name for name in amounts if name not in taken and name != chosen), None)
    return PolynomialDerivation(chosen, part.terms, part.tolerance, total)


def _dividends(part: PolynomialPart) -> list[str]:
    """Variables that the rule divides by others."""
    quotients = [monomial for _, monomial in part.terms if any(exponent < 0 for _, exponent in monomial)]
    return [
        name
        for monomial in quotients
        for name, exponent in monomial
        if exponent == 1 and solvable_for(part.terms, name)
    ]


def _row(part: LinearPart | LinearConstraint | ProductPart | PolynomialPart) -> tuple[dict[str, Fraction], Fraction]:
    assert not isinstance(part, ProductPart | PolynomialPart)
    constant = part.constant if isinstance(part, LinearPart) else part.bound
    return dict(part.coefficients), constant


def _product_derivation(
    part: ProductPart,
    decimals: Mapping[str, int | None],
    taken: set[str],
    in_linear: set[str],
    listed: frozenset[str],
) -> ProductDerivation | None:
    """Form ``dependent = coefficient * product`` of a monomial equality, when it has one."""
    if part.constant == 0 or part.coefficient == 0:
        return None
    exponents: dict[str, int] = {}
    for name, exponent in part.left:
        exponents[name] = exponents.get(name, 0) + exponent
    for name, exponent in part.right:
        exponents[name] = exponents.get(name, 0) - exponent
    ratio = part.constant / part.coefficient
    choices: list[ProductDerivation] = []
    for name, exponent in exponents.items():
        others = {other: power for other, power in exponents.items() if other != name and power != 0}
        if name in taken or abs(exponent) != 1 or any(power * exponent > 0 for power in others.values()):
            continue
        coefficient = ratio if exponent == 1 else 1 / ratio
        factors = tuple((other, abs(power)) for other, power in others.items())
        choices.append(ProductDerivation(name, coefficient, factors, _too_coarse(name, coefficient, factors, decimals)))
    if not choices:
        return None
    return min(
        choices,
        key=lambda choice: (
            choice.variable in listed,
            choice.variable != part.total,
            choice.coarsen,
            choice.variable in in_linear,
        ),
    )


def _too_coarse(
    name: str, coefficient: Fraction, factors: Sequence[tuple[str, int]], decimals: Mapping[str, int | None]
) -> bool:
    places = decimals.get(name)
    if places is None:
        return False
    grid = coefficient * Fraction(10) ** places
    for factor, power in factors:
        digits = decimals.get(factor)
        if digits is None:
            return True
        grid /= Fraction(10) ** (digits * power)
    return grid.denominator != 1


def _linear_derivations(
    variables: Sequence[str],
    rows: Sequence[tuple[dict[str, Fraction], Fraction]],
    totals: Sequence[str | None],
    names: Sequence[str],
    decimals: Mapping[str, int | None],
    taken: frozenset[str],
    listed: frozenset[str],
) -> tuple[list[LinearDerivation], list[str]]:
    """Solve the linear equalities for dependents whose values always lie on their grid."""
    if not rows:
        return [], []
    candidates = [name for name in variables if name not in taken and any(name in row for row, _ in rows)]
    rank = len(eliminate(rows, candidates))
    wanted = [total for total in totals if total in candidates]
    position = {name: place for place, name in enumerate(variables)}
    order = sorted(candidates, key=lambda name: (name in listed, name not in wanted, -position[name]))
    first: list[LinearDerivation] | None = None
    for chosen in itertools.islice(itertools.combinations(order, rank), _MOST_CHOICES):
        solved = eliminate(rows, chosen)
        if len(solved) < rank:
            continue
        found = [
            LinearDerivation(
                name,
                tuple((other, -value) for other, value in row.items() if other != name),
                constant,
            )
            for name, (row, constant) in solved.items()
        ]
        if all(_on_grid(derivation, decimals) for derivation in found):
            return found, []
        first = first or found
    if first is None:
        return [], list(names)
    usable = [derivation for derivation in first if _on_grid(derivation, decimals)]
    rest = {derivation.variable for derivation in first} - {derivation.variable for derivation in usable}
    return usable, [name for name, (row, _) in zip(names, rows, strict=True) if rest & row.keys()]


def _on_grid(derivation: LinearDerivation, decimals: Mapping[str, int | None]) -> bool:
    places = decimals.get(derivation.variable)
    if places is None:
        return True
    scale = Fraction(10) ** places
    if (derivation.constant * scale).denominator != 1:
        return False
    for name, coefficient in derivation.coefficients:
        digits = decimals.get(name)
        if digits is None or (coefficient * scale / 10**digits).denominator != 1:
            return False
    return True


def _order(steps: Sequence[Derivation], known: set[str]) -> tuple[list[Derivation], list[Derivation]]:
    """Order in which every step's inputs are known; the second list holds what is left in a circle."""
    pending = list(steps)
    dependents = {name for step in pending for name in outputs_of(step)}
    done = set(known)
    ordered: list[Derivation] = []
    while pending:
        ready = [step for step in pending if all(name in done or name not in dependents for name in inputs_of(step))]
        if not ready:
            # A circle: give up a product's dependent, the search on the grid meets that edit instead.
            products = [step for step in pending if not isinstance(step, LinearDerivation)]
            if not products:
                return ordered, pending
            pending.remove(products[0])
            rest_ordered, stuck = _order(pending, done)
            return ordered + rest_ordered, [products[0], *stuck]
        for step in ready:
            ordered.append(step)
            done.update(outputs_of(step))
            pending.remove(step)
    return ordered, []


def inputs_of(step: Derivation) -> tuple[str, ...]:
    """Variables that a derivation reads and does not write."""
    match step:
        case LinearDerivation(_, coefficients):
            return tuple(name for name, _ in coefficients)
        case ProductDerivation(_, _, factors):
            return tuple(name for name, _ in factors)
        case PolynomialDerivation():
            names = dict.fromkeys(name for _, monomial in step.terms for name, _ in monomial)
            return tuple(name for name in names if name not in outputs_of(step))


def outputs_of(step: Derivation) -> tuple[str, ...]:
    """Variables that a derivation writes."""
    total = step.total if isinstance(step, PolynomialDerivation) else None
    return (step.variable,) if total is None else (step.variable, total)
