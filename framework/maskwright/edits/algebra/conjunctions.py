"""Conjunctions of parts: comparisons as linear, product or range parts, merged where they can be."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from maskwright.edits import expression as x
from maskwright.edits.algebra.polynomial import Polynomial, polynomial_of
from maskwright.edits.algebra.products import polynomial_part, product_part, with_joined_bounds
from maskwright.edits.edit import CheckedPart, LinearPart, Part, RangePart, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence


# A conjunction of parts; None: it never holds.
Conjunction = tuple[Part, ...] | None


def merge(parts: list[Part]) -> Conjunction:
    """Put a conjunction into its shortest form."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, RangePart):
            partner = _range_of(found, part)
            if partner is not None:
                both = _intersection(_as_range(found[partner]), part)
                if both is None:
                    return None
                found[partner] = both
                continue
            if is_empty(part):
                return None
        elif part in found:
            continue
        found.append(part)
    return with_tolerances(with_joined_bounds(found))


def _as_range(part: Part) -> RangePart:
    assert isinstance(part, RangePart)
    return part


def _range_of(found: list[Part], part: RangePart) -> int | None:
    for position, other in enumerate(found):
        # A text may be a number to one rule and a word to another; such ranges stay apart.
        if isinstance(other, RangePart) and (other.variable, other.texts is None) == (
            part.variable,
            part.texts is None,
        ):
            return position
    return None


def _intersection(a: RangePart, b: RangePart) -> RangePart | None:
    if a.texts is not None and b.texts is not None:
        texts = tuple(text for text in a.texts if text in b.texts)
        return replace(a, texts=texts) if texts else None
    low, low_closed = _tighter((a.low, a.low_closed), (b.low, b.low_closed), 1)
    high, high_closed = _tighter((a.high, a.high_closed), (b.high, b.high_closed), -1)
    numbers = a.numbers
    if b.numbers is not None:
        numbers = b.numbers if numbers is None else tuple(value for value in numbers if value in b.numbers)
    merged = RangePart(a.variable, low, high, low_closed, high_closed, numbers, None, a.integer or b.integer)
    if numbers is not None:
        merged = RangePart(a.variable, numbers=tuple(value for value in numbers if allows(merged, value)))
    return None if is_empty(merged) else merged


def _tighter(
    a: tuple[Fraction | None, bool], b: tuple[Fraction | None, bool], direction: int
) -> tuple[Fraction | None, bool]:
    if a[0] is None or b[0] is None:
        return b if a[0] is None else a
    if a[0] == b[0]:
        return a[0], a[1] and b[1]
    return a if (a[0] - b[0]) * direction > 0 else b


def allows(part: RangePart, value: Fraction) -> bool:
    """Whether a number lies in the range."""
    if part.low is not None and (value < part.low or (value == part.low and not part.low_closed)):
        return False
    if part.high is not None and (value > part.high or (value == part.high and not part.high_closed)):
        return False
    if part.integer and value.denominator != 1:
        return False
    return part.numbers is None or value in part.numbers


def is_empty(part: RangePart) -> bool:
    """Whether no value at all lies in the range."""
    if part.numbers is not None:
        return not part.numbers
    if part.texts is not None:
        return not part.texts
    if part.low is None or part.high is None:
        return False
    if part.low > part.high or (part.low == part.high and not (part.low_closed and part.high_closed)):
        return True
    if not part.integer:
        return False
    first = math.ceil(part.low) if part.low_closed else math.floor(part.low) + 1
    last = math.floor(part.high) if part.high_closed else math.ceil(part.high) - 1
    return first > last


def with_tolerances(parts: Sequence[Part], any_centre: bool = False) -> Conjunction:
    """Join opposite bounds of one sum: ``-eps <= f and f <= eps`` is ``f == 0`` with tolerance eps.

    Other bands, ``0 <= f <= 100``, are bounds and no equality that is nearly met; they stay two inequalities unless
    `any_centre`, for ``abs(f - c) <= eps``.
    """
    found: list[Part] = []
    for part in parts:
        partner = None
        if isinstance(part, LinearPart) and part.relation in ("<=", ">="):
            partner = next((i for i, other in enumerate(found) if _opposite(other, part)), None)
        if partner is None:
            found.append(part)
            continue
        first = found[partner]
        assert isinstance(first, LinearPart)
        assert isinstance(part, LinearPart)
        low, high = _band(first, part)
        if low > high:
            return None
        if low == high:
            found[partner] = replace(first, relation="==", constant=low)
        elif any_centre or low == -high:
            middle = (low + high) / 2
            found[partner] = replace(first, relation="==", constant=middle, tolerance=high - middle)
        else:
            found.append(part)
    return tuple(found)


def _opposite(first: Part, second: LinearPart) -> bool:
    if not isinstance(first, LinearPart) or first.relation not in ("<=", ">="):
        return False
    mine, other = dict(first.coefficients), dict(second.coefficients)
    if mine == other:
        return first.relation != second.relation
    return first.relation == second.relation and mine == {name: -value for name, value in other.items()}


def _band(first: LinearPart, second: LinearPart) -> tuple[Fraction, Fraction]:
    """Bounds of the first part's sum."""
    same = dict(first.coefficients) == dict(second.coefficients)
    other = second.constant if same else -second.constant
    return (other, first.constant) if first.relation == "<=" else (first.constant, other)


def comparison_parts(comparison: x.Comparison) -> Conjunction:  # noqa: PLR0911 - one return for each form
    """Parts that a comparison stands for."""
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
        return () if sign in x.SIGNS[comparison.operator] else None
    if comparison.operator == "!=":
        return (CheckedPart(comparison),)
    relation: Relation = comparison.operator
    if difference.is_affine:
        return (_affine_part(comparison, left, right, difference, relation),)
    product: Part | None = product_part(comparison, left, difference, relation)
    if product is None and relation == "==":
        product = polynomial_part(difference, x.variable_names(comparison), Fraction(0), (right, left))
    return (product if product is not None else CheckedPart(comparison),)


def equality_within(comparison: x.Comparison) -> Conjunction:
    """Product with a tolerance, ``abs(f) <= t``, or rounded, ``round(f) == g``; None where it is neither."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if operator in (">", ">="):
        left, operator, right = right, x.MIRRORED[operator], left
    match left, operator, right:
        case x.Function("abs", (argument,)), "<=", x.Number(tolerance) if tolerance >= 0:
            return _nearly_zero(argument, tolerance)
    rounding = rounding_of(comparison)
    return None if rounding is None else _rounded_parts(*rounding)


def within_half_a_unit(node: x.Expression) -> x.Expression:
    """``round(f) == g`` without saying where halves go, ``abs(f - g) <= 1/2``; any other node as it is."""
    rounding = rounding_of(node)
    if rounding is None:
        return node
    argument, unit, other = rounding
    return x.Comparison("<=", x.Function("abs", (x.Arithmetic("-", argument, other),)), x.Number(unit / 2))


def rounding_of(node: x.Expression) -> tuple[x.Expression, Fraction, x.Expression] | None:
    """Of ``round(f) == g``: f, the unit, and g."""
    match node:
        case x.Comparison("==", left, right):
            for rounded, other in ((left, right), (right, left)):
                unit = _unit_of_rounding(rounded)
                if unit is not None:
                    return *unit, other
    return None


def _nearly_zero(argument: x.Expression, tolerance: Fraction) -> Conjunction:
    found = polynomial_of(argument)
    if found is None or found.is_affine or not found.keeps_its_divisors:
        return None
    sides = (argument.right, argument.left) if isinstance(argument, x.Arithmetic) else ()
    bare = [side for side in map(polynomial_of, sides) if side is not None]
    part = polynomial_part(found, x.variable_names(argument), tolerance, bare)
    return None if part is None else (part,)


def _unit_of_rounding(operand: x.Expression) -> tuple[x.Expression, Fraction] | None:
    """What is rounded, and to multiples of what: ``round(f)``, ``round(f * 100) / 100``."""
    match operand:
        case x.Function("round", (argument,)):
            return argument, Fraction(1)
        case x.Arithmetic("/", x.Function("round", (argument,)), x.Number(parts)) if parts > 0:
            return x.Arithmetic("/", argument, x.Number(parts)), 1 / parts
        case _:
            return None


def rounded_to(expression: x.Expression) -> tuple[str, Fraction] | None:
    """Variable that an equality says is rounded, and to multiples of what: ``round(f * 100) / 100 == g``."""
    rounding = rounding_of(expression)
    name = None if rounding is None else variable_of(rounding[2])
    return None if rounding is None or name is None else (name, rounding[1])


def _rounded_parts(argument: x.Expression, unit: Fraction, other: x.Expression) -> Conjunction:
    """``round(f) == g``: they are half a unit apart at most, and g is whole where the unit is 1."""
    distance = x.Arithmetic("-", argument, other)
    found = polynomial_of(distance)
    name = variable_of(other)
    if found is None or name is None or found.is_constant or not found.keeps_its_divisors:
        return None
    whole: tuple[Part, ...] = (RangePart(name, integer=True),) if unit == 1 else ()
    if not found.is_affine:
        near = _nearly_zero(distance, unit / 2)
        return None if near is None else (*near, *whole)
    if unit != 1:
        equal = comparison_parts(x.Comparison("==", distance, x.Number(Fraction(0)))) or ()
        rounded = (replace(each, tolerance=unit / 2, total=name) for each in equal if isinstance(each, LinearPart))
        return tuple(rounded) or None
    # Halves are rounded up: f - g is at least -1/2 and less than 1/2.
    half = x.Number(unit / 2)
    bounds = (x.Comparison(">=", distance, x.Number(-unit / 2)), x.Comparison("<", distance, half))
    parts = [part for bound in bounds for part in comparison_parts(bound) or ()]
    return merge([*parts, *whole])


def distances(comparison: x.Comparison) -> list[x.Comparison] | None:
    """Comparisons without ``abs``, ``max`` or ``min`` that mean the same, where such a conjunction exists.

    ``abs(f) <= g`` is ``f <= g and f >= -g``; ``max(a, b) <= c`` is ``a <= c and b <= c``; ``c <= min(a, b)`` alike.
    """
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if operator in (">", ">="):
        left, operator, right = right, x.MIRRORED[operator], left
    match left, operator, right:
        case x.Function("abs", (argument,)), "<=" | "<", _:
            # The second keeps its own side, so that the pair is seen to be opposite bounds of one sum.
            return [
                x.Comparison(operator, argument, right),
                x.Comparison(x.MIRRORED[operator], argument, x.Negative(right)),
            ]
        case x.Function("max", arguments), "<=" | "<", _:
            return [x.Comparison(operator, argument, right) for argument in arguments]
        case _, "<=" | "<", x.Function("min", arguments):
            return [x.Comparison(operator, left, argument) for argument in arguments]
        case (x.Function("abs", (argument,)), "==", x.Number(value)) | (
            x.Number(value),
            "==",
            x.Function("abs", (argument,)),
        ) if value == 0:
            return [x.Comparison("==", argument, x.Number(Fraction(0)))]
        case _:
            return None


def whole_number_part(operand: x.Expression) -> Part | None:
    """Range of the whole numbers, when the operand is one variable."""
    found = polynomial_of(operand)
    name = found.bare_variable if found is not None else None
    return RangePart(name, integer=True) if name is not None else None


def variable_of(expression: x.Expression) -> str | None:
    """Name of the variable whose value or text an expression is, or None."""
    match expression:
        case x.VariableReference(name):
            return name
        case x.Function("number" | "string", (x.VariableReference(name),)):
            return name
        case _:
            return None


def _text_parts(comparison: x.Comparison) -> Conjunction:
    """Parts of a comparison with a text; None when it is not one."""
    sides = (comparison.left, comparison.right)
    if not any(isinstance(side, x.Text) for side in sides):
        return None
    for text, other in (sides, sides[::-1]):
        if isinstance(text, x.Text) and comparison.operator == "==":
            match other:
                case x.VariableReference(name) | x.Function("string", (x.VariableReference(name),)):
                    return (RangePart(name, texts=(text.value,)),)
                case _:
                    pass
    return (CheckedPart(comparison),)


def _whole_number_parts(comparison: x.Comparison) -> Conjunction:
    """Ways to say "whole number" without the word: ``floor(x) == x``, ``x mod 1 == 0``."""
    if comparison.operator != "==":
        return None
    for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        part: Part | None = None
        match side, other:
            case x.Function("floor" | "ceiling" | "round", (argument,)), _ if argument == other:
                part = whole_number_part(argument)
            case x.Arithmetic("mod", argument, x.Number(divisor)), x.Number(rest) if divisor == 1 and rest == 0:
                part = whole_number_part(argument)
            case _:
                pass
        if part is not None:
            return (part,)
    return None


def _affine_part(
    comparison: x.Comparison, left: Polynomial, right: Polynomial, difference: Polynomial, relation: Relation
) -> Part:
    terms = difference.linear_terms
    names = [name for name in x.variable_names(comparison) if name in terms]
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
        relation = cast("Relation", x.MIRRORED[relation])
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
