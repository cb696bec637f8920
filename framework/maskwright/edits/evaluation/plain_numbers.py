"""Numbers that texts say, read once more for the second evaluation; it shares no reader with the first."""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, str | None]
"""Cells of a record by variable name: text as it stands in the file, None where there is no cell."""

NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*\Z")
BLANK = " \t\r\n"

Comparable = Fraction | float | str | bool
COMPARE: dict[str, Callable[[Comparable, Comparable], bool]] = {
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
