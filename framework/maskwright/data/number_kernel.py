"""Compiled reading of cell texts as numbers: what `number_text` says of a column, in one pass over its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLANK, NUMBER, OTHER = 0, 1, 2
MOST_EXACT = 2**53
"""Up to here, digits and a power of ten are binary64 numbers, and so is their quotient the nearest one to the text."""
MOST_FRACTION = 22
POWERS = np.array([10.0**power for power in range(MOST_FRACTION + 1)])
SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, MINUS, POINT, ZERO, NINE = 32, 9, 10, 13, 45, 46, 48, 57


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
