"""One comparison as parts: affine is linear or a range, monomial against monomial is a product."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from maskwright.edits.algebra.polynomial import Monomial, Polynomial, polynomial_of
from maskwright.edits.edit import CheckedPart, LinearPart, Part, ProductPart, RangePart, Relation
from maskwright.edits.expression import (
    MIRRORED,
    Arithmetic,
    Comparison,
    ComparisonOperator,
    Expression,
    Function,
    Negative,
    Number,
    Text,
    VariableReference,
    variable_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.edits.algebra.conjunctions import Conjunction

_TRUE_SIGNS: dict[ComparisonOperator, tuple[int, ...]] = {
    "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1),
}  # fmt: skip


def comparison_parts(comparison: Comparison) -> Conjunction:  # noqa: PLR0911 - one return for each form
    """Parts that a comparison stands for.

    Returns ``()`` when it always holds, None when it never does; a `CheckedPart` when algebra does not help.
    """
    texts = _text_parts(comparison)
    if texts is not None:
        return texts
    whole = _whole_number_parts(comparison)
    if whole is not None:
        return whole
    left, right = polynomial_of(comparison.left), polynomial_of(comparison.right)
    if left is None or right is None:
        return (CheckedPart(comparison),)
    difference = left - right
    if not difference.keeps_its_divisors:
        return (CheckedPart(comparison),)
    if difference.is_constant:
        sign = (difference.constant > 0) - (difference.constant < 0)
        return () if sign in _TRUE_SIGNS[comparison.operator] else None
    if comparison.operator == "!=":
        return (CheckedPart(comparison),)
    relation: Relation = comparison.operator
    if difference.is_affine:
        return (_affine_part(comparison, left, right, difference, relation),)
    product = _product_part(comparison, left, difference, relation)
    return (product if product is not None else CheckedPart(comparison),)


def distances(comparison: Comparison) -> list[Comparison] | None:
    """Comparisons without ``abs``, ``max`` or ``min`` that mean the same, where such a conjunction exists.

    ``abs(f) <= g`` is ``f <= g and f >= -g``; ``max(a, b) <= c`` is ``a <= c and b <= c``; ``c <= min(a, b)`` alike.
    """
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if operator in (">", ">="):
        left, operator, right = right, MIRRORED[operator], left
    match left, operator, right:
        case Function("abs", (argument,)), "<=" | "<", _:
            # The second keeps its own side, so that the pair is seen to be opposite bounds of one sum.
            return [Comparison(operator, argument, right), Comparison(MIRRORED[operator], argument, Negative(right))]
        case Function("max", arguments), "<=" | "<", _:
            return [Comparison(operator, argument, right) for argument in arguments]
        case _, "<=" | "<", Function("min", arguments):
            return [Comparison(operator, left, argument) for argument in arguments]
        case (Function("abs", (argument,)), "==", Number(value)) | (
            Number(value),
            "==",
            Function("abs", (argument,)),
        ) if value == 0:
            return [Comparison("==", argument, Number(Fraction(0)))]
        case _:
            return None


def whole_number_part(operand: Expression) -> Part | None:
    """Range of the whole numbers, when the operand is one variable."""
    found = polynomial_of(operand)
    name = found.bare_variable if found is not None else None
    return RangePart(name, integer=True) if name is not None else None


def variable_of(expression: Expression) -> str | None:
    """Name of the variable whose value or text an expression is, or None."""
    match expression:
        case VariableReference(name):
            return name
        case Function("number" | "string", (VariableReference(name),)):
            return name
        case _:
            return None


def _text_parts(comparison: Comparison) -> Conjunction:
    """Parts of a comparison with a text; None when it is not one."""
    sides = (comparison.left, comparison.right)
    if not any(isinstance(side, Text) for side in sides):
        return None
    for text, other in (sides, sides[::-1]):
        if isinstance(text, Text) and comparison.operator == "==":
            match other:
                case VariableReference(name) | Function("string", (VariableReference(name),)):
                    return (RangePart(name, texts=(text.value,)),)
                case _:
                    pass
    return (CheckedPart(comparison),)


def _whole_number_parts(comparison: Comparison) -> Conjunction:
    """Ways to say "whole number" without the word: ``floor(x) == x``, ``x mod 1 == 0``."""
    if comparison.operator != "==":
        return None
    for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        part: Part | None = None
        match side, other:
            case Function("floor" | "ceiling" | "round", (argument,)), _ if argument == other:
                part = whole_number_part(argument)
            case Arithmetic("mod", argument, Number(divisor)), Number(rest) if divisor == 1 and rest == 0:
                part = whole_number_part(argument)
            case _:
                pass
        if part is not None:
            return (part,)
    return None


def _affine_part(
    comparison: Comparison, left: Polynomial, right: Polynomial, difference: Polynomial, relation: Relation
) -> Part:
    terms = difference.linear_terms
    names = [name for name in variable_names(comparison) if name in terms]
    if len(names) == 1:
        return _range_part(names[0], terms[names[0]], relation, -difference.constant)
    return LinearPart(
        coefficients=tuple((name, terms[name]) for name in names),
        relation=relation,
        constant=-difference.constant,
        total=_total(left, right, terms) if relation == "==" else None,
    )


def _range_part(name: str, coefficient: Fraction, relation: Relation, constant: Fraction) -> RangePart:
    bound = constant / coefficient
    if coefficient < 0:
        relation = cast("Relation", MIRRORED[relation])
    match relation:
        case "==":
            return RangePart(name, numbers=(bound,))
        case "<=" | "<":
            return RangePart(name, high=bound, high_closed=relation == "<=")
        case _:
            return RangePart(name, low=bound, low_closed=relation == ">=")


def _total(left: Polynomial, right: Polynomial, terms: dict[str, Fraction]) -> str | None:
    """Variable alone on one side; when both sides are one variable, the right one (``parts == total``)."""
    for side in (right, left):
        name = side.bare_variable
        if name is not None and abs(terms.get(name, Fraction(0))) == 1:
            return name
    return None


def _product_part(
    comparison: Comparison, left: Polynomial, difference: Polynomial, relation: Relation
) -> ProductPart | None:
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
        coefficient, value, relation = -coefficient, -value, cast("Relation", MIRRORED[relation])
    names = variable_names(comparison)
    return ProductPart(
        coefficient=coefficient,
        left=_in_order(product, names),
        relation=relation,
        right=_in_order(right, names),
        constant=value,
        total=_product_total(product, right) if relation == "==" else None,
    )


def _in_order(monomial: Monomial, names: Sequence[str]) -> Monomial:
    return tuple(sorted(monomial, key=lambda factor: names.index(factor[0])))


def _product_total(product: Monomial, right: Monomial) -> str | None:
    if len(right) == 1 and right[0][1] == 1 and right[0][0] not in dict(product):
        return right[0][0]
    return None
