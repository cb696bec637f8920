"""Comparisons of years and ages with numbers, as bounds on the dates: ``year(x) >= 2000`` is ``x >= 2000-01-01``."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dates import DAY, days_in_month, days_of, year_month_day
from maskwright.edits.expression import (
    MIRRORED,
    Arithmetic,
    Comparison,
    Date,
    Expression,
    Function,
    Number,
    VariableReference,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def calendar_bounds(comparison: Comparison) -> list[Expression] | None:
    """Bounds on a date that hold together where a comparison of its year, or of its age on a day, with a number holds.

    Returns none when it is no such comparison, or has no such bounds (``!=``).
    """
    left, operator, right = comparison.left, comparison.operator, comparison.right
    if isinstance(left, Number):
        left, operator, right = right, MIRRORED[operator], left
    if not isinstance(right, Number) or operator == "!=":
        return None
    at_least, below = _first_and_next(operator, right.value)
    match left:
        case Function("year", (date,)) if _is_date(date):
            return _bounds(date, at_least, below, lambda year: days_of(year, 1, 1))
        case Function("age_at", (date, Number(reference))) if _is_date(date):
            # Who is older was born earlier: the negative of the age rises with the day of birth.
            day = floor(reference)
            first = None if below is None else 1 - below
            after = None if at_least is None else 1 - at_least
            return _bounds(date, first, after, lambda younger: _latest_birth(day, 1 - younger) + 1)
        case _:
            return None


def _first_and_next(operator: str, value: Fraction) -> tuple[int | None, int | None]:
    """Smallest whole number for which ``n operator value`` holds, and the smallest above those; None: unbounded."""
    at_least = {">=": ceil(value), ">": floor(value) + 1, "==": ceil(value)}.get(operator)
    below = {"<=": floor(value) + 1, "<": ceil(value), "==": floor(value) + 1}.get(operator)
    return at_least, below


def _is_date(term: Expression) -> bool:
    """Whether a term is a variable in days, or a datetime divided by the seconds of a day."""
    return isinstance(term, VariableReference) or (
        isinstance(term, Arithmetic)
        and isinstance(term.left, VariableReference)
        and (term.operator, term.right) == ("/", Number(Fraction(DAY)))
    )


def _bounds(
    date: Expression, at_least: int | None, below: int | None, first_day: Callable[[int], int]
) -> list[Expression]:
    found: list[Expression] = []
    if at_least is not None:
        found.append(Comparison(">=", date, Date(Fraction(first_day(at_least)))))
    if below is not None:
        # A datetime may be on the last day at any time of it.
        if isinstance(date, VariableReference):
            found.append(Comparison("<=", date, Date(Fraction(first_day(below) - 1))))
        else:
            found.append(Comparison("<", date, Date(Fraction(first_day(below)))))
    return found


def _latest_birth(reference: int, age: int) -> int:
    """Last day of birth of those who have completed so many years on a day."""
    then = year_month_day(np.array([reference]))
    year, month, day = int(then.year[0]) - age, then.month, int(then.day[0])
    last = int(days_in_month(np.array([year]), month)[0])
    return int(days_of(year, int(month[0]), min(day, last)))
