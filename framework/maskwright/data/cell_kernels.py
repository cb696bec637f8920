"""Compiled passes over the bytes of many cells: numbers and ISO dates read by one rule, numbers on a grid written.

They say what `number_text` and `date_texts` say of fewer cells, which do without the compiler: it takes as long to
import as some hundred thousand cells to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import njit

from maskwright.data.dates import DAYS_OF_CYCLE, DAYS_TO_1970, MONTH_LENGTHS
from maskwright.data.number_text import LARGEST_STRINGS
from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, MINUS, POINT, ZERO, NINE = 32, 9, 10, 13, 45, 46, 48, 57

BLANK, NUMBER, OTHER = 0, 1, 2
"""Kinds of cells."""
MOST_EXACT = 2**53
"""Up to here, digits and a power of ten are binary64 numbers, and so is their quotient the nearest one to the text."""
MOST_FRACTION = 22
"""Largest power of ten that is a binary64 number and divides without an error of its own."""
POWERS = np.array([10.0**power for power in range(MOST_FRACTION + 1)])


@kernel_cache
@njit(nogil=True, error_model="numpy")
def scan_numbers(
    data: NDArray[np.uint8], offsets: NDArray[np.int32], absent: NDArray[np.bool_],
    values: NDArray[np.float64], kinds: NDArray[np.uint8], seen: NDArray[np.int64],
) -> bool:  # fmt: skip
    """Read cells by the XPath rule.

    `data`: UTF-8 text of all cells; shape (m,). `offsets`: where each cell begins in `data`, and the end; shape (n +
    1,). `absent`: whether a cell is null; empty: none is; shape (n,). `values`: filled with the numbers; NaN where
    there is none; shape (n,). `kinds`: filled with `BLANK`, `NUMBER` or `OTHER`; shape (n,). `seen`: Updated: decimals
    needed, fewest and most digits after the point, cells with leading zeros, and whether there is anything but digits;
    shape (5,).
    """
    for cell in range(len(kinds)):
        values[cell], kinds[cell] = np.nan, BLANK
        if len(absent) and absent[cell]:
            continue
        i, end = offsets[cell], offsets[cell + 1]
        first, last = i, end
        while i < end and (data[i] in (SPACE, TAB, LINE_FEED, CARRIAGE_RETURN)):
            i += 1
        while end > i and (data[end - 1] in (SPACE, TAB, LINE_FEED, CARRIAGE_RETURN)):
            end -= 1
        if i != first or end != last:
            seen[4] = 1
        if i == end:
            continue
        negative = data[i] == MINUS
        if negative:
            seen[4] = 1
            i += 1
        if i + 1 < end and data[i] == ZERO and ZERO <= data[i + 1] <= NINE:
            seen[3] += 1
        mantissa, whole, fraction, zeros, point, exact = 0, 0, 0, 0, False, True
        while i < end:
            byte = data[i]
            if ZERO <= byte <= NINE:
                exact = exact and mantissa <= MOST_EXACT
                mantissa = mantissa * 10 + (byte - ZERO)
                if point:
                    fraction += 1
                    zeros = zeros + 1 if byte == ZERO else 0
                else:
                    whole += 1
            elif byte == POINT and not point:
                point = True
                seen[4] = 1
            else:
                break
            i += 1
        if i < end or whole + fraction == 0:
            seen[4] = 1
            kinds[cell] = OTHER
            continue
        if not exact or mantissa > MOST_EXACT or fraction > MOST_FRACTION:
            return False
        number = mantissa / POWERS[fraction]
        values[cell] = -number if negative else number
        kinds[cell] = NUMBER
        seen[0] = max(seen[0], fraction - zeros)
        seen[1] = min(seen[1], fraction)
        seen[2] = max(seen[2], fraction)
    return True


DATE_WIDTH = 10


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
        if end - i != DATE_WIDTH:
            continue
        fits, number, year, month = True, 0, 0, 0
        for place in range(DATE_WIDTH):
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
        if not (fits and year >= 1 and 1 <= month <= 12 and 1 <= number <= MONTH_LENGTHS[month]):
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


LONGEST_WHOLE = 16
"""Digits of the largest number."""
TOO_LARGE = -1


def spelled(values: NDArray[np.float64], missing: NDArray[np.bool_], decimals: int, digits: int) -> Any:
    """Canonical text of many numbers; None where one of them, or their text, is too large for this way."""
    n = len(values)
    longest = 2 + max(LONGEST_WHOLE, decimals + 1) + max(digits - decimals, 0)
    if n * longest > LARGEST_STRINGS:
        return None
    text, ends = np.empty(n * longest, dtype=np.uint8), np.empty(n + 1, dtype=np.int32)
    length = spell_numbers(_read_only(values), _read_only(missing), 10.0**decimals, decimals, digits, text, ends)
    if length == TOO_LARGE:
        return None
    present = pa.array(~missing).buffers()[1] if missing.any() else None
    written = pa.py_buffer(text[:length].tobytes())  # of its own: there was room for the longest numbers
    return pa.Array.from_buffers(pa.string(), n, [present, pa.py_buffer(ends), written])


def _read_only(cells: NDArray[Any]) -> NDArray[Any]:
    """Cells that cannot be written, as those of columns: others would be compiled for once more."""
    view = np.ascontiguousarray(cells).view()
    view.setflags(write=False)
    return view


@kernel_cache
@njit(nogil=True, error_model="numpy")
def _length(number: int) -> int:
    """Digits of a whole number that is not negative."""
    length, beyond = 1, 10
    while beyond <= number:
        length += 1
        beyond *= 10
    return length


@kernel_cache
@njit(nogil=True, error_model="numpy")
def spell_numbers(
    values: NDArray[np.float64], missing: NDArray[np.bool_], scale: float, decimals: int, digits: int,
    text: NDArray[np.uint8], ends: NDArray[np.int32],
) -> int:  # fmt: skip
    """Fill in the text of all cells, and where in it each begins and the last ends; the length, or `TOO_LARGE`."""
    at = 0
    ends[0] = 0
    for cell in range(len(values)):
        if not missing[cell]:
            scaled = values[cell] * scale
            if not abs(scaled) < MOST_EXACT:
                return TOO_LARGE
            signed = np.int64(np.rint(scaled))
            if signed < 0:
                text[at] = MINUS
                at += 1
            left, fraction = abs(signed), decimals
            while fraction > digits and left % 10 == 0:
                left //= 10
                fraction -= 1
            shown = max(fraction, digits)
            end = at + max(_length(int(left)) - fraction, 1) + (shown + 1 if shown else 0)
            place = end - 1
            for _ in range(shown - fraction):
                text[place] = ZERO
                place -= 1
            if shown:
                for _ in range(fraction):
                    text[place] = ZERO + left % 10
                    left //= 10
                    place -= 1
                text[place] = POINT
                place -= 1
            while place >= at:
                text[place] = ZERO + left % 10
                left //= 10
                place -= 1
            at = end
        ends[cell + 1] = at
    return at
