"""Numbers that texts say, and truth that may be unknown: what the parts of the second evaluation share among them."""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from maskwright.edits import expression as x

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, str | None]
"""Cells of a record by variable name: text as it stands in the file, None where there is no cell."""
Truth = tuple[Any, Any]
"""Whether it is true, and whether it is false; neither: unknown. Both are bool, or arrays of bool for many records."""

NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*\Z")
BLANK = " \t\r\n"
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class CannotTell(Exception):  # noqa: N818 - no error: the second evaluation has no opinion
    """The rule is outside what is evaluated here, or rests on the last digits of binary64 arithmetic."""


@lru_cache(maxsize=65_536)
def exact(text: str | None) -> Fraction | None:
    """Number that a text says by the XPath rule; None: it says none."""
    found = None if text is None else NUMBER.match(text)
    if found is None:
        return None
    whole, _, fraction = found[1].partition(".")
    return Fraction(int(whole + fraction), 10 ** len(fraction))


def truth(node: x.Expression, judge: Callable[[x.Expression], Truth]) -> Truth:
    """Truth of a rule by Kleene's logic; `judge` tells that of what is no connective."""
    match node:
        case x.Not(operand):
            true, false = truth(operand, judge)
            return false, true
        case x.And(operands):
            all_true, any_false = True, False
            for true, false in (truth(operand, judge) for operand in operands):
                all_true, any_false = all_true & true, any_false | false
            return all_true, any_false
        case x.Or(operands):
            return truth(x.Not(x.And(tuple(map(x.Not, operands)))), judge)
        case x.IfThen(condition, consequent, otherwise):
            then = x.Or((x.Not(condition), consequent))
            return truth(then if otherwise is None else x.And((then, x.Or((condition, otherwise)))), judge)
        case x.InInterval(operand, low, high, low_closed, high_closed) if low is not None or high is not None:
            above = () if low is None else (x.Comparison(">=" if low_closed else ">", operand, low),)
            below = () if high is None else (x.Comparison("<=" if high_closed else "<", operand, high),)
            return truth(x.And((*above, *below)), judge)
        case _:
            return judge(node)
