"""Tests in XPath in the second evaluation: binary64 and the conversions of XPath 1.0 (3.4, 3.5, 4.3 and 4.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits import expression as x
from maskwright.edits.evaluation.plain_numbers import COMPARE, NUMBER, CannotTell, Record, Truth, truth

if TYPE_CHECKING:
    from collections.abc import Callable

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "mod": np.fmod,
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A variable's element, or none."""

    text: str | None


Value = float | str | bool | Node


def xpath_verdict(expression: x.Expression, record: Record) -> bool:
    """Whether a test is true of a record."""
    with np.errstate(all="ignore"):
        return _boolean(_value(expression, record))


def xpath_number(node: x.Expression, leaf: Callable[[x.Expression], Any]) -> Any:
    """Number of a term, for one record or arrays of many; `leaf` tells that of what is no arithmetic."""
    match node:
        case x.Number(value):
            return float(value)
        case x.Negative(operand):
            return -xpath_number(operand, leaf)
        case x.Arithmetic(sign, left, right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](xpath_number(left, leaf), xpath_number(right, leaf))
        case x.Function("number", (argument,)):
            return xpath_number(argument, leaf)
        case x.Function("floor" | "ceiling" | "round" as name, (argument,)):
            value = xpath_number(argument, leaf)
            below = np.floor(value)
            nearest = np.copysign(below + (value - below >= 0.5), value)
            return {"floor": below, "ceiling": np.ceil(value), "round": nearest}[name]
        case x.Arithmetic() | x.Function():
            raise CannotTell
        case _:
            return leaf(node)


def _value(node: x.Expression, record: Record) -> Value:
    def judge(inner: x.Expression) -> Truth:
        found = _boolean(_value(inner, record))
        return found, not found

    match node:
        case x.Text(value) | x.Truth(value):
            return value
        case x.VariableReference(name):
            return Node(record.get(name))
        case x.Comparison(sign, left, right):
            return _compared(sign, _value(left, record), _value(right, record))
        case x.Not() | x.And() | x.Or() | x.IfThen():
            return bool(truth(node, judge)[0])
        case x.Function("boolean", (argument,)):
            return _boolean(_value(argument, record))
        case x.Number() | x.Negative() | x.Arithmetic() | x.Function():
            return float(xpath_number(node, lambda inner: _number(_value(inner, record))))
        case _:
            raise CannotTell


def _compared(sign: str, left: Value, right: Value) -> bool:
    sides, is_equality = [left, right], sign in ("==", "!=")
    if any(isinstance(side, bool) for side in sides):
        sides = [_boolean(side) if is_equality or isinstance(side, Node) else side for side in sides]
    if any(isinstance(side, Node) and side.text is None for side in sides):
        return False
    if is_equality and all(isinstance(side, Node | str) for side in sides):
        sides = [side.text or "" if isinstance(side, Node) else side for side in sides]
        return bool(COMPARE[sign](*sides))
    return bool(COMPARE[sign](*map(_number, sides)))


def _number(value: Value) -> float:
    """Convert as ``number()`` does."""
    if isinstance(value, Node):
        value = value.text or ""
    if isinstance(value, str):
        found = NUMBER.match(value)
        return float(found[1]) if found else math.nan
    return float(value)


def _boolean(value: Value) -> bool:
    """Convert as ``boolean()`` does."""
    if isinstance(value, Node):
        return value.text is not None
    return value == value and bool(value)  # noqa: PLR0124 - NaN is false
