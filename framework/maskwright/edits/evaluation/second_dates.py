"""Dates for the second evaluation, by Python's and NumPy's calendars: nothing here is shared with the first."""

from __future__ import annotations

import re
from datetime import date, time
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.evaluation.plain_numbers import BLANK, CannotTell

if TYPE_CHECKING:
    from collections.abc import Sequence

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
def day_said(text: str, date_format: str = ISO) -> Fraction | None:
    """Days since 1970-01-01 of a cell, or seconds where the format has an hour; None: it is no date."""
    found = _pattern(date_format).fullmatch(text.strip(BLANK))
    if found is None:
        return None
    digits = found.groupdict()
    part = digits.pop("part", "0")
    said = {name: int(each) for name, each in digits.items()}
    month = 3 * said["quarter"] - 2 if "quarter" in said else said.get("month", 1)
    try:
        days = date(said["year"], month, said.get("day", 1)).toordinal() - EPOCH
        if "hour" not in said:
            return Fraction(days)
        clock = time(said["hour"], said.get("minute", 0), said.get("second", 0))
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
            raise CannotTell


def functions_of_dates(name: str, days: Sequence[Any]) -> Any:
    """Values of a function of dates for all records: int64 arrays of days from year 1 to 9999."""
    if any(((each < 1 - EPOCH) | (each > date.max.toordinal() - EPOCH)).any() for each in days):
        raise CannotTell
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
            raise CannotTell
