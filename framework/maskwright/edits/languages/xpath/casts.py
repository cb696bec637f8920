"""Casts of XPath 2 and counts of elements, as the conditions and numbers that XPath 1 has too."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from maskwright.edits import expression as x
from maskwright.edits.languages.xpath.conversions import number_of_text
from maskwright.edits.languages.xpath.kinds import DATE, INTEGER_TYPES, NUMERIC_TYPES, kind_of

_WHOLE = frozenset({"floor", "ceiling", "round"})
_DAY_0 = date(1970, 1, 1).toordinal()


def converted(type_name: str, node: x.Expression) -> x.Expression | None:
    """``xs:TYPE(node)``; None: not understood."""
    kind = kind_of(node)
    if isinstance(node, x.IfThen):
        return None
    if type_name in NUMERIC_TYPES:
        if kind == "untyped":
            return x.Function("number", (node,))
        if isinstance(node, x.Text):
            return number_of_text(node)
        is_whole = isinstance(node, x.Function) and node.name in _WHOLE
        is_whole |= type(node) is x.Number and node.value.denominator == 1
        return node if kind == "number" and (type_name not in INTEGER_TYPES or is_whole) else None
    if type_name == "string":
        return x.Function("string", (node,)) if kind == "untyped" else node if kind == "text" else None
    return date_of_text(node) if type_name == "date" else None


def date_of_text(node: x.Expression) -> x.Expression | None:
    """``xs:date(node)``; None: not understood."""
    if kind_of(node) == "date":
        return node
    if kind_of(node) == "untyped":
        return x.Function(DATE, (node,))
    if isinstance(node, x.Text) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", node.value.strip()):
        try:
            return x.Date(Fraction(date.fromisoformat(node.value.strip()).toordinal() - _DAY_0))
        except ValueError:
            return None
    return None


def castable(type_name: str, node: x.Expression) -> x.Expression | None:
    """``node castable as xs:TYPE``; None: not understood."""
    if kind_of(node) != "untyped" or type_name not in NUMERIC_TYPES:
        return None
    number = x.Function("number", (node,))
    # XPath's way to say that it is a number: only NaN differs from itself.
    is_number = x.Comparison("==", number, number)
    if type_name not in INTEGER_TYPES:
        return is_number
    return x.And((is_number, x.Comparison("==", number, x.Function("floor", (number,)))))


def count_compared(operator: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> x.Expression | None:
    """``count(a) >= 1``: whether one of the elements is there, or none; None: it says something else."""
    for count, other, relation in x.both_ways(x.Comparison(operator, left, right)):
        if isinstance(count, x.Function) and kind_of(count) == "count" and isinstance(other, x.Number):
            possible = range(len(count.arguments) + 1)
            wanted = [_holds(relation, Fraction(each), other.value) for each in possible]
            there = [x.Function("boolean", (each,)) for each in count.arguments]
            some: x.Expression = there[0] if len(there) == 1 else x.Or(tuple(there))
            every: x.Expression = there[0] if len(there) == 1 else x.And(tuple(there))
            if all(wanted) or not any(wanted):
                return x.Truth(all(wanted))
            # Of one element, both say the same.
            if all(wanted[1:]) or not any(wanted[1:]):
                return x.Not(some) if wanted[0] else some
            if not any(wanted[:-1]) or all(wanted[:-1]):
                return every if wanted[-1] else x.Not(every)
            return None
    return None


def _holds(operator: x.ComparisonOperator, one: Fraction, other: Fraction) -> bool:
    sign = (one > other) - (one < other)
    return sign in x.SIGNS[operator]
