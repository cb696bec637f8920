"""Products among comparisons: a monomial against a monomial, and polynomials that some variable solves."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from maskwright.edits import expression as x
from maskwright.edits.algebra.polynomial import Polynomial, polynomial_of
from maskwright.edits.edit import CheckedPart, Part, PolynomialPart, ProductPart, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.edits.algebra.polynomial import Monomial


def product_part(
    comparison: x.Comparison, left: Polynomial, difference: Polynomial, relation: Relation
) -> ProductPart | None:
    """Equality or inequality of two monomials; None where there are more."""
    monomials = [monomial for monomial in difference.terms if monomial]
    constant = difference.constant
    if len(monomials) > 2 or (len(monomials) == 2 and constant):
        return None
    # The longer monomial is the product, the other one its value; equally long ones stay as written.
    monomials.sort(key=lambda monomial: (-sum(abs(exponent) for _, exponent in monomial), monomial not in left.terms))
    product, *rest = monomials
    coefficient = difference.terms[product]
    right = rest[0] if rest else ()
    value = -difference.terms[right] if rest else -constant
    if coefficient < 0:
        coefficient, value, relation = -coefficient, -value, cast("Relation", x.MIRRORED[relation])
    names = x.variable_names(comparison)
    return ProductPart(
        coefficient=coefficient,
        left=_in_order(product, names),
        relation=relation,
        right=_in_order(right, names),
        constant=value,
        total=_product_total(product, right) if relation == "==" else None,
    )


def _product_total(product: Monomial, right: Monomial) -> str | None:
    if len(right) == 1 and right[0][1] == 1 and right[0][0] not in dict(product):
        return right[0][0]
    return None


def polynomial_part(
    difference: Polynomial, names: Sequence[str], tolerance: Fraction, sides: Sequence[Polynomial]
) -> PolynomialPart | None:
    """Part of a polynomial that some variable makes zero; None where none does."""
    terms = tuple((coefficient, _in_order(monomial, names)) for monomial, coefficient in difference.terms.items())
    uses: dict[str, list[Monomial]] = {}
    for _, monomial in terms:
        for name, _ in monomial:
            uses.setdefault(name, []).append(monomial)
    if not any(solvable_for(terms, name) for name in uses):
        return None
    alone = [name for name in names if uses.get(name) == [((name, 1),)]]
    bare = [side.bare_variable for side in sides]
    total = next((name for name in (*bare, *reversed(alone)) if name in alone), None)
    return PolynomialPart(terms, tolerance, total)


def with_joined_bounds(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Join opposite bounds of one product, as XPath 1 writes them: ``a * b - t <= e and t - a * b <= e``."""
    found: list[Part] = []
    for part in parts:
        upper = _upper_bound(part)
        partner = None
        if upper is not None:
            others = ((place, _upper_bound(other)) for place, other in enumerate(found))
            partner = next((place for place, other in others if other is not None and _opposite(upper, other)), None)
        if upper is None or partner is None:
            found.append(part)
            continue
        other = _upper_bound(found[partner])
        assert other is not None
        middle = (upper - other).scaled(Fraction(1, 2))
        joined = polynomial_part(middle, part.variables, -(upper.constant + other.constant) / 2, ())
        if joined is None:
            found.append(part)
        else:
            found[partner] = joined
    return tuple(found)


def _upper_bound(part: Part) -> Polynomial | None:
    """Polynomial that a condition wants to be 0 at most; None of other conditions."""
    if not isinstance(part, CheckedPart) or not isinstance(part.expression, x.Comparison):
        return None
    comparison = part.expression
    if comparison.operator not in ("<=", ">="):
        return None
    left, right = polynomial_of(comparison.left), polynomial_of(comparison.right)
    if left is None or right is None:
        return None
    difference = left - right if comparison.operator == "<=" else right - left
    return difference if difference.keeps_its_divisors and not difference.is_affine else None


def _opposite(one: Polynomial, other: Polynomial) -> bool:
    """Whether both together bound one polynomial on both sides."""
    both = one + other
    return both.is_constant and both.constant <= 0


def solvable_for(terms: Sequence[tuple[Fraction, Monomial]], name: str) -> bool:
    """Whether a sum of monomials is of the first degree in a variable, or in its reciprocal."""
    exponents = {exponent for _, monomial in terms for each, exponent in monomial if each == name}
    return exponents in ({1}, {-1})


def solved_parts(
    terms: Sequence[tuple[Fraction, Monomial]], name: str
) -> tuple[tuple[tuple[Fraction, Monomial], ...], tuple[tuple[Fraction, Monomial], ...], int]:
    """Factor of a variable that a sum can be solved for, the other terms, and the variable's exponent, 1 or -1."""
    inside = [(value, monomial) for value, monomial in terms if name in dict(monomial)]
    factor = tuple((value, tuple(each for each in monomial if each[0] != name)) for value, monomial in inside)
    rest = tuple((value, monomial) for value, monomial in terms if name not in dict(monomial))
    return factor, rest, dict(inside[0][1])[name]


def _in_order(monomial: Monomial, names: Sequence[str]) -> Monomial:
    return tuple(sorted(monomial, key=lambda factor: names.index(factor[0])))
