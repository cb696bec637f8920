"""Compiled writing of numbers on a grid as text: what `write_numbers` gives, in one pass over many cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numba import njit

from maskwright.foundation.kernel_cache import kernel_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_WHOLE = 2.0**53
LONGEST_WHOLE = 16
"""Digits of the largest number."""
MOST_BYTES = 2**31 - 1
TOO_LARGE = -1
MINUS, POINT, ZERO = 45, 46, 48


def spelled(values: NDArray[np.float64], missing: NDArray[np.bool_], decimals: int, digits: int) -> Any:
    """Canonical text of many numbers; None where one of them, or their text, is too large for this way."""
    n = len(values)
    longest = 2 + max(LONGEST_WHOLE, decimals + 1) + max(digits - decimals, 0)
    if n * longest > MOST_BYTES:
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
            if not abs(scaled) < MOST_WHOLE:
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
