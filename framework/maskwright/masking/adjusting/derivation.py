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
from maskwright.edits.edit import LinearPart, ProductPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


Derivation = LinearDerivation | ProductDerivation


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
        return tuple(step.variable for step in self.steps)


@dataclass(frozen=True)
class Equality:
    """An equality between variables of one adjustment unit, with the name of its edit."""

    name: str
    part: LinearPart | ProductPart | LinearConstraint


def equalities_of(edits: EditSet) -> tuple[Equality, ...]:
    """Equalities that hold unconditionally, by edit."""
    found: list[Equality] = []
    for edit in edits:
        found.extend(
            Equality(edit.name, part)
            for part in edit.parts
            if isinstance(part, LinearPart | ProductPart) and is_equality(part)
        )
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
) -> Derivations:
    """Choose dependents for all equalities and an order in which to compute them.

    `variables`: variables of the unit, in file order.
    """
    products: list[ProductDerivation] = []
    searched: list[str] = []
    taken: set[str] = set(fixed)
    rows = [_row(equality.part) for equality in equalities if not isinstance(equality.part, ProductPart)]
    in_linear = {name for coefficients, _ in rows for name in coefficients}
    for equality in equalities:
        if isinstance(equality.part, ProductPart):
            found = _product_derivation(equality.part, decimals, taken, in_linear, listed)
            if found is None:
                searched.append(equality.name)
            else:
                products.append(found)
                taken.add(found.variable)
    totals = [
        equality.part.total if isinstance(equality.part, LinearPart) else None
        for equality in equalities
        if not isinstance(equality.part, ProductPart)
    ]
    names = [equality.name for equality in equalities if not isinstance(equality.part, ProductPart)]
    linear, missed = _linear_derivations(variables, rows, totals, names, decimals, frozenset(taken), listed)
    searched.extend(missed)
    steps, stuck = _order([*linear, *products], {*fixed})
    for derivation in stuck:
        searched.extend(
            equality.name
            for equality in equalities
            if isinstance(equality.part, ProductPart) and derivation.variable in equality.part.variables
        )
    known = {step.variable for step in steps}
    free = tuple(name for name in variables if name not in known and name not in fixed)
    return Derivations(free, tuple(steps), tuple(dict.fromkeys(searched)))


def _row(part: LinearPart | LinearConstraint) -> tuple[dict[str, Fraction], Fraction]:
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
    dependents = {step.variable for step in pending}
    done = set(known)
    ordered: list[Derivation] = []
    while pending:
        ready = [step for step in pending if all(name in done or name not in dependents for name in inputs_of(step))]
        if not ready:
            # A circle: give up a product's dependent, the search on the grid meets that edit instead.
            products = [step for step in pending if isinstance(step, ProductDerivation)]
            if not products:
                return ordered, pending
            pending.remove(products[0])
            dependents.discard(products[0].variable)
            rest_ordered, stuck = _order(pending, done)
            return ordered + rest_ordered, [products[0], *stuck]
        for step in ready:
            ordered.append(step)
            done.add(step.variable)
            pending.remove(step)
    return ordered, []


def inputs_of(step: Derivation) -> tuple[str, ...]:
    """Variables that a derivation reads."""
    if isinstance(step, LinearDerivation):
        return tuple(name for name, _ in step.coefficients)
    return tuple(name for name, _ in step.factors)
