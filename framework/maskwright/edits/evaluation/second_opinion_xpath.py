"""Tests in XPath in the second evaluation: Python's floats and the conversions of XPath 1.0 (3.4, 3.5, 4.2 to 4.4)."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.evaluation.plain_numbers import BLANK, COMPARE, NUMBER, CannotTell, Record

if TYPE_CHECKING:
    from collections.abc import Callable


def xpath_verdict(expression: x.Expression, record: Record) -> bool:
    """Whether a test is true of a record.

    Raises
    ------
    CannotTell
    """
    return boolean(XPath(record).value(expression))


class XPath:
    """Values of a test in one record: float, str, bool, or a node (`Node`)."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def value(self, node: x.Expression) -> float | str | bool | Node:  # noqa: C901, PLR0911, PLR0912 - a case for each
        """Value of a subtree."""
        match node:
            case x.Number(value):
                return float(value)
            case x.Text(value) | x.Truth(value):
                return value
            case x.VariableReference(name):
                return Node(self._record.get(name))
            case x.Negative(operand):
                return -number(self.value(operand))
            case x.Arithmetic(sign, left, right):
                return _ieee(sign, number(self.value(left)), number(self.value(right)))
            case x.Comparison(sign, left, right):
                return _xpath_compared(sign, self.value(left), self.value(right))
            case x.Not(operand):
                return not boolean(self.value(operand))
            case x.And(operands):
                return all(boolean(self.value(operand)) for operand in operands)
            case x.Or(operands):
                return any(boolean(self.value(operand)) for operand in operands)
            case x.IfThen(condition, consequent, None):
                return not boolean(self.value(condition)) or boolean(self.value(consequent))
            case x.Function("boolean", (argument,)):
                return boolean(self.value(argument))
            case x.Function("number", (argument,)):
                return number(self.value(argument))
            case x.Function("string", (argument,)):
                return string(self.value(argument))
            case x.Function("normalize-space", (argument,)):
                return " ".join(re.split(f"[{BLANK}]+", string(self.value(argument)).strip(BLANK)))
            case x.Function("floor" | "ceiling" | "round" as name, (argument,)):
                return _whole(name, number(self.value(argument)))
            case _:
                raise CannotTell


@dataclass(frozen=True)
class Node:
    """A variable's element, or none."""

    text: str | None


def number(value: float | str | bool | Node) -> float:
    """Convert as ``number()`` does."""
    if isinstance(value, Node):
        value = value.text or ""
    if isinstance(value, str):
        found = NUMBER.match(value)
        return float(found[1]) if found else math.nan
    return float(value)


def string(value: float | str | bool | Node) -> str:
    """Convert as ``string()`` does; numbers only where they are whole."""
    if isinstance(value, Node):
        return value.text or ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    raise CannotTell


def boolean(value: float | str | bool | Node) -> bool:
    """Convert as ``boolean()`` does."""
    if isinstance(value, Node):
        return value.text is not None
    return value == value and bool(value)  # noqa: PLR0124 - NaN is false


def _ieee(sign: str, left: float, right: float) -> float:
    if sign == "/" and right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    if sign == "mod":
        if right == 0 or math.isinf(left):
            return math.nan
        return math.fmod(left, right)
    operations: dict[str, Callable[[float, float], float]] = {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    }  # fmt: skip
    if sign not in operations:
        raise CannotTell
    return operations[sign](left, right)


def _whole(name: str, value: float) -> float:
    if not math.isfinite(value):
        return value
    below = math.floor(value)
    nearest = below + 1 if value - below >= 0.5 else below
    whole = float({"floor": below, "ceiling": math.ceil(value), "round": nearest}[name])
    return whole if whole else math.copysign(0.0, value)


def _xpath_compared(sign: str, left: float | str | bool | Node, right: float | str | bool | Node) -> bool:
    sides = [left, right]
    if any(isinstance(side, bool) for side in sides):
        if sign in ("==", "!="):
            return COMPARE[sign](boolean(left), boolean(right))
        sides = [boolean(side) if isinstance(side, Node) else side for side in sides]
    if any(isinstance(side, Node) and side.text is None for side in sides):
        return False
    if sign in ("==", "!=") and all(isinstance(side, Node | str) for side in sides):
        return COMPARE[sign](string(sides[0]), string(sides[1]))
    return COMPARE[sign](number(sides[0]), number(sides[1]))
