"""Dates as days since 1970-01-01 in the proleptic Gregorian calendar.

Days from years, months and days, and back, follow H. Hinnant, chrono-Compatible Low-Level Date Algorithms (2013), in
which years begin in March, so that the leap day is the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Grain = Literal["day", "month", "quarter", "year"]

DAY = 86_400
"""Seconds."""

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31."""

DAYS_OF_CYCLE, DAYS_TO_1970 = 146_097, 719_468
MONTH_LENGTHS = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


class YearMonthDay(NamedTuple):
    """Years, months (1..12) and days (1..31), int64 of shape (n,)."""

    year: NDArray[np.int64]
    month: NDArray[np.int64]
    day: NDArray[np.int64]


def days_of(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970-01-01 of years, months and days that the calendar has: int64 arrays, or integers."""
    from_march = year - (month <= 2)
    cycle = from_march // 400
    year_of_cycle = from_march - cycle * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    return cycle * DAYS_OF_CYCLE + day_of_cycle - DAYS_TO_1970


def year_month_day(days: NDArray[np.int64]) -> YearMonthDay:
    """Year, month and day of days since 1970-01-01.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import year_month_day
    >>> date = year_month_day(np.array([11016]))
    >>> date.year.tolist(), date.month.tolist(), date.day.tolist()
    ([2000], [2], [29])
    """
    shifted = days + DAYS_TO_1970
    cycle = shifted // DAYS_OF_CYCLE
    day_of_cycle = shifted - cycle * DAYS_OF_CYCLE
    year_of_cycle = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36_524 - day_of_cycle // 146_096) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = (month_from_march + 2) % 12 + 1
    return YearMonthDay(year_of_cycle + cycle * 400 + (month <= 2), month, day)


def days_in_month(year: NDArray[np.int64], month: NDArray[np.int64]) -> NDArray[np.int64]:
    """Length of months in days."""
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return np.asarray(MONTH_LENGTHS[month] - ((month == 2) & ~is_leap), dtype=np.int64)


def completed_years(birth: NDArray[np.int64], reference: NDArray[np.int64]) -> NDArray[np.int64]:
    """Years completed from one day to another: who was born on 29 February completes them on 1 March of other years.

    Parameters
    ----------
    birth, reference : ndarray of shape (n,) or (1,), int64
        Days since 1970-01-01. Negative where the reference is before the birth.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import completed_years
    >>> completed_years(np.array([11016]), np.array([17590, 17591])).tolist()  # 2000-02-29; 2018-02-28 and 2018-03-01
    [17, 18]
    """
    born, then = year_month_day(birth), year_month_day(reference)
    before = (then.month < born.month) | ((then.month == born.month) & (then.day < born.day))
    return np.asarray(then.year - born.year - before, dtype=np.int64)


def first_of(days: NDArray[np.float64], grain: Grain) -> NDArray[np.float64]:
    """First day of the period that each day is in; NaN stays.

    Parameters
    ----------
    days : ndarray of shape (n,), float64
        Whole days since 1970-01-01.
    grain : {"day", "month", "quarter", "year"}

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import first_of
    >>> first_of(np.array([18_300.0]), "month").tolist()  # 2020-02-08
    [18293.0]
    """
    if grain == "day":
        return days
    gone = np.isnan(days)
    date = year_month_day(np.where(gone, 0.0, days).astype(np.int64))
    month = {"month": date.month, "quarter": date.month - (date.month - 1) % 3, "year": np.ones_like(date.month)}[grain]
    return np.where(gone, np.nan, days_of(date.year, month, 1))


CALENDAR = {"year": 1, "quarter": 1, "month": 1, "day": 1, "age_at": 2}
"""Functions of days in rules, and how many arguments each takes."""

FUNCTIONS_OF_DATES = {**CALENDAR, "hour": 1}
"""The same, and those of the time of day: rules with these are written in days before they are evaluated."""


def calendar(function: str, days: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Value of a function of `CALENDAR` of days, one array for each argument; NaN where one is no calendar day."""
    known = [(each >= FIRST_DAY) & (each <= LAST_DAY) for each in days]
    whole = [np.where(good, np.floor(each), 0.0).astype(np.int64) for each, good in zip(days, known, strict=True)]
    if function == "age_at":
        found = completed_years(whole[0], whole[1])
    else:
        date = year_month_day(whole[0])
        found = (date.month + 2) // 3 if function == "quarter" else getattr(date, function)
    return np.where(np.logical_and.reduce(np.broadcast_arrays(*known)), found, np.nan)
