"""Conjunctions of parts: ranges of one variable merged, opposite bounds of one sum joined into a tolerance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit import LinearPart, Part, RangePart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

# A conjunction of parts; None: it never holds.
Conjunction = tuple[Part, ...] | None


def merge(parts: list[Part]) -> Conjunction:
    """Put a conjunction into its shortest form.

    Returns none when the ranges of some variable have no value in common, or the bounds of some sum cross.
    """
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
    return with_tolerances(found)


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
