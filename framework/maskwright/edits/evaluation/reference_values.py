"""Values of the reference evaluator: numbers, dates and XPath 1.0, sharing nothing with the first."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from datetime import date, time
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits import expression as x

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Record = dict[str, str | None]
"""Cells of a record by variable name: text as it stands in the file, None where there is no cell."""
Truth = tuple[Any, Any]
"""Whether it is true, and whether it is false; neither: unknown. Both are bool, or arrays of bool for many records."""

NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*\Z")
BLANK = " \t\r\n"
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Undetermined(Exception):  # noqa: N818 - no error: the second evaluation has no opinion
    """The rule is outside what is evaluated here, or rests on the last digits of binary64 arithmetic."""


@lru_cache(maxsize=65_536)
def exact(text: str | None) -> Fraction | None:
    """Number that a text says by the XPath rule; None: it says none."""
    found = None if text is None else NUMBER.match(text)
    if found is None:
        return None
    whole, _, fraction = found[1].partition(".")
    return Fraction(int(whole + fraction), 10 ** len(fraction))


def truth(node: x.Expression, verdict: Callable[[x.Expression], Truth]) -> Truth:
    """Truth of a rule by Kleene's logic; `verdict` gives that of what is no connective."""
    match node:
        case x.Not(operand):
            true, false = truth(operand, verdict)
            return false, true
        case x.And(operands):
            all_true, any_false = True, False
            for true, false in (truth(operand, verdict) for operand in operands):
                all_true, any_false = all_true & true, any_false | false
            return all_true, any_false
        case x.Or(operands):
            return truth(x.Not(x.And(tuple(map(x.Not, operands)))), verdict)
        case x.IfThen(condition, consequent, otherwise):
            then = x.Or((x.Not(condition), consequent))
            return truth(then if otherwise is None else x.And((then, x.Or((condition, otherwise)))), verdict)
        case x.InInterval(operand, low, high, low_closed, high_closed) if low is not None or high is not None:
            above = () if low is None else (x.Comparison(">=" if low_closed else ">", operand, low),)
            below = () if high is None else (x.Comparison("<=" if high_closed else "<", operand, high),)
            return truth(x.And((*above, *below)), verdict)
        case _:
            return verdict(node)


ISO = "%Y-%m-%d"
ISO_MOMENT = "%Y-%m-%dT%H:%M:%S"
EPOCH = date(1970, 1, 1).toordinal()
SECONDS = 86_400
DIRECTIVE = "(%[YmdqHMS]|%[1-6]f)"
DIGITS = {
    "%Y": r"(?P<year>[0-9]{4})",
    "%m": "(?P<month>[0-9]{2})",
    "%d": "(?P<day>[0-9]{2})",
    "%q": "(?P<quarter>[1-4])",
    "%H": "(?P<hour>[0-9]{2})",
    "%M": "(?P<minute>[0-9]{2})",
    "%S": "(?P<second>[0-9]{2})",
    **{f"%{n}f": f"(?P<part>[0-9]{{{n}}})" for n in range(1, 7)},
}


@lru_cache(maxsize=64)
def _pattern(date_format: str) -> re.Pattern[str]:
    pieces = re.split(DIRECTIVE, date_format)
    return re.compile("".join(DIGITS.get(piece, re.escape(piece)) for piece in pieces), re.ASCII)


@lru_cache(maxsize=65_536)
def day_number(text: str, date_format: str = ISO) -> Fraction | None:
    """Days since 1970-01-01 of a cell, or seconds where the format has an hour; None: it is no date."""
    found = _pattern(date_format).fullmatch(text.strip(BLANK))
    if found is None:
        return None
    digits = found.groupdict()
    part = digits.pop("part", "0")
    fields = {name: int(each) for name, each in digits.items()}
    month = 3 * fields["quarter"] - 2 if "quarter" in fields else fields.get("month", 1)
    try:
        days = date(fields["year"], month, fields.get("day", 1)).toordinal() - EPOCH
        if "hour" not in fields:
            return Fraction(days)
        clock = time(fields["hour"], fields.get("minute", 0), fields.get("second", 0))
    except ValueError:
        return None
    return days * SECONDS + clock.hour * 3600 + clock.minute * 60 + clock.second + Fraction(int(part), 10 ** len(part))


def function_of_dates(name: str, days: Sequence[int]) -> int | None:
    """Value of a function of dates; None: a day is none of the years 1 to 9999."""
    try:
        dates = [date.fromordinal(day + EPOCH) for day in days]
    except (ValueError, OverflowError):
        return None
    first = dates[0]
    match name, dates[1:]:
        case "year" | "month" | "day", _:
            return int(getattr(first, name))
        case "quarter", _:
            return 1 + (first.month > 3) + (first.month > 6) + (first.month > 9)
        case "age_at", [then]:
            return then.year - first.year - ((then.month, then.day) < (first.month, first.day))
        case _:
            raise Undetermined


def functions_of_dates(name: str, days: Sequence[Any]) -> Any:
    """Values of a function of dates for all records: int64 arrays of days from year 1 to 9999."""
    if any(((each < 1 - EPOCH) | (each > date.max.toordinal() - EPOCH)).any() for each in days):
        raise Undetermined
    dates = [each.astype("datetime64[D]") for each in days]
    years = [each.astype("datetime64[Y]").astype(np.int64) + 1970 for each in dates]
    months = [each.astype("datetime64[M]").astype(np.int64) % 12 + 1 for each in dates]
    parts = [(each - each.astype("datetime64[M]")).astype(np.int64) + 1 for each in dates]
    match name:
        case "year":
            return years[0]
        case "quarter":
            return (months[0] - 1) // 3 + 1
        case "month":
            return months[0]
        case "day":
            return parts[0]
        case "age_at":
            born, then = (100 * months[each] + parts[each] for each in (0, 1))
            return years[1] - years[0] - (then < born)
        case _:
            raise Undetermined


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


def xpath_number(node: x.Expression, leaf: Callable[[x.Expression], Any]) -> Any:  # noqa: PLR0911 - one case for each kind of node
    """Number of a term, for one record or arrays of many; `leaf` gives that of what is no arithmetic."""
    match node:
        case x.Number(value):
            return float(value)
        case x.Negative(operand):
            return -xpath_number(operand, leaf)
        case x.Arithmetic(sign, left, right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](xpath_number(left, leaf), xpath_number(right, leaf))
        case x.Function("number", (argument,)):
            return xpath_number(argument, leaf)
        case x.Function("abs", (argument,)):
            return np.abs(xpath_number(argument, leaf))
        case x.Function("floor" | "ceiling" | "round" as name, (argument,)):
            value = xpath_number(argument, leaf)
            below = np.floor(value)
            nearest = np.copysign(below + (value - below >= 0.5), value)
            return {"floor": below, "ceiling": np.ceil(value), "round": nearest}[name]
        case x.Arithmetic() | x.Function():
            raise Undetermined
        case _:
            return leaf(node)


def _value(node: x.Expression, record: Record) -> Value:
    def verdict(inner: x.Expression) -> Truth:
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
            return bool(truth(node, verdict)[0])
        case x.Function("boolean", (argument,)):
            return _boolean(_value(argument, record))
        case x.Number() | x.Negative() | x.Arithmetic() | x.Function():
            return float(xpath_number(node, lambda inner: _number(_value(inner, record))))
        case _:
            raise Undetermined


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
