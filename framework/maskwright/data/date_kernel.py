"""Compiled reading of cell texts as ISO dates: what `dates` says of a column, in one pass over its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH = 10
SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, MINUS, ZERO, NINE = 32, 9, 10, 13, 45, 48, 57
MONTH_LENGTHS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
DAYS_OF_CYCLE, DAYS_TO_1970 = 146_097, 719_468


@kernel_cache
@njit(nogil=True, error_model="numpy")
def scan_iso_dates(
    data: NDArray[np.uint8], offsets: NDArray[np.int32], absent: NDArray[np.bool_],
    days: NDArray[np.float64], blank: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Read cells as ISO dates, white space around them aside.

    `data`: UTF-8 text of all cells; shape (m,). `offsets`: where each cell begins in `data`, and the end; shape (n +
    1,). `absent`: whether a cell is null; empty: none is; shape (n,). `days`: filled with days since 1970-01-01; NaN
    where a cell is no date of the calendar; shape (n,). `blank`: filled with whether a cell is null, empty or white
    space only; shape (n,).
    """
    for cell in range(len(days)):
        days[cell], blank[cell] = np.nan, True
        if len(absent) and absent[cell]:
            continue
        i, end = offsets[cell], offsets[cell + 1]
        while i < end and (data[i] in (SPACE, TAB, LINE_FEED, CARRIAGE_RETURN)):
            i += 1
        while end > i and (data[end - 1] in (SPACE, TAB, LINE_FEED, CARRIAGE_RETURN)):
            end -= 1
        blank[cell] = i == end
        if end - i != WIDTH:
            continue
        fits, number, year, month = True, 0, 0, 0
        for place in range(WIDTH):
            byte = data[i + place]
            if place in (4, 7):
                fits = fits and byte == MINUS
                if place == 4:
                    year = number
                else:
                    month = number
                number = 0
            else:
                fits = fits and ZERO <= byte <= NINE
                number = number * 10 + (byte - ZERO)
        if not (fits and year >= 1 and 1 <= month <= 12 and 1 <= number <= MONTH_LENGTHS[month - 1]):
            continue
        if month == 2 and number == 29 and (year % 4 != 0 or (year % 100 == 0 and year % 400 != 0)):
            continue
        # Years begin in March here: see `dates.days_of`.
        from_march = year - 1 if month <= 2 else year
        cycle = from_march // 400
        of_cycle = from_march - cycle * 400
        of_year = (153 * ((month + 9) % 12) + 2) // 5 + number - 1
        day_of_cycle = of_cycle * 365 + of_cycle // 4 - of_cycle // 100 + of_year
        days[cell] = cycle * DAYS_OF_CYCLE + day_of_cycle - DAYS_TO_1970
