"""Numbers as text: read by the XPath 1.0 rule, written in canonical form.

Python's and most libraries' number readers accept text that an XPath engine does not (``1e3``, ``+5``, ``inf``,
``1_000``, full-width digits), so a file would mean one thing here and another to whoever validates it. The rule of
XPath 1.0 section 4.4 is: optional white space, an optional minus sign, digits with at most one point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, scalar, truths_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

XPATH_NUMBER = r"^[ \t\r\n]*-?([0-9]+(\.[0-9]*)?|\.[0-9]+)[ \t\r\n]*$"
LEADING_ZERO = r"^[ \t\r\n]*-?0[0-9]"
WHITE_SPACE = " \t\r\n"

MOST_DECIMALS = 15
MOST_EXACT = 1e15
"""Decimals with at most 15 digits are different binary64 numbers."""
FEWEST_CELLS = 1024
"""Cells from which on each different text is read once, where these are few."""
MANY_CELLS = 8192
"""Cells from which on compiled code is worth the import of its compiler."""
LARGEST_STRINGS = 2**31 - 1
"""Bytes that one array of strings can hold."""
MOST_DIGITS = 1 << 20
"""More digits than any number has."""


@dataclass(frozen=True)
class NumberText:
    """What a column of cell texts is as numbers by the XPath rule; arrays of shape (n,).

    `decimals`: digits after the point that are needed, without zeros at the end. `digits`: fewest and most that are
    written; the fewest is `MOST_DIGITS` where there is no number.
    """

    values: NDArray[np.float64]
    is_number: NDArray[np.bool_]
    is_blank: NDArray[np.bool_]
    decimals: int
    digits: tuple[int, int]
    only_digits: bool
    leading_zeros: int


def read_numbers(text: Any) -> NumberText:
    """Read cell texts as numbers.

    Parameters
    ----------
    text : pyarrow.StringArray or ChunkedArray of shape (n,)
        Cell texts, of any of Arrow's types for text; null where the cell is absent.

    Returns
    -------
    NumberText
        ``values`` (NaN where the text is no number), ``is_number``, ``is_blank``, ``decimals``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from maskwright import read_numbers
    >>> spoken = read_numbers(pa.array(["12.50", "1e3", "", None]))
    >>> spoken.values.tolist(), spoken.decimals
    ([12.5, nan, nan, nan], 1)
    >>> spoken.is_blank.tolist()
    [False, False, True, True]
    """
    flat = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    if not pa.types.is_string(flat.type):
        flat = pc.cast(flat, pa.string())
    other = other_bytes(flat)
    parsed = _all_numbers(flat, other) if not other.strip(b".-") else _of_few_texts(flat)
    return _one_by_one(flat, other) if parsed is None else parsed


def read_many_numbers(text: Any) -> NumberText:
    """Read cell texts as numbers, as `read_numbers` does, in compiled code where they are many. `text`: shape (n,)."""
    flat = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    if len(flat) < MANY_CELLS or not pa.types.is_string(flat.type):
        return read_numbers(flat)
    # Numba is imported for long columns alone: it takes as long as some hundred thousand cells.
    from maskwright.data.cell_kernels import BLANK, NUMBER, scan_numbers

    raw, bounds, absent = scanned_parts(flat)
    values, kinds = np.empty(len(flat)), np.empty(len(flat), dtype=np.uint8)
    seen = np.array([0, MOST_DIGITS, 0, 0, 0])
    if not scan_numbers(raw, bounds, absent, values, kinds, seen):
        return read_numbers(flat)
    decimals, fewest, most, zeros, more_than_digits = seen.tolist()
    return NumberText(values, kinds == NUMBER, kinds == BLANK, decimals, (fewest, most), not more_than_digits, zeros)


def scanned_parts(flat: Any) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.bool_]]:
    """Bytes of all cells, bounds of each cell in them, and which cells are null (none: of shape (0,))."""
    _, offsets, data = flat.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[flat.offset : flat.offset + len(flat) + 1]
    raw = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return raw, bounds, truths_of(flat.is_null()) if flat.null_count else np.empty(0, dtype=np.bool_)


def _all_numbers(flat: Any, other: bytes) -> NumberText | None:
    """Numbers of cells that hold nothing but digits, points and minus signs; None where one of them is no number."""
    lengths = pc.binary_length(flat)
    empty = pc.equal(lengths, scalar(0))
    cells = pc.if_else(empty, scalar(None, pa.string()), flat) if pc.any(empty).as_py() else flat
    try:
        values = numbers_of(pc.cast(cells, pa.float64()), np.float64)
    except pa.ArrowInvalid:
        return None
    is_blank = truths_of(cells.is_null()) if cells.null_count else np.zeros(len(flat), dtype=np.bool_)
    decimals, digits = 0, (0 if len(flat) > cells.null_count else MOST_DIGITS, 0)
    if b"." in other:
        point = numbers_of(pc.find_substring(cells, "."), np.int64, -1)
        length = numbers_of(lengths, np.int64, 0)
        fractions = np.where(point < 0, 0, length - point - 1)[~is_blank]
        digits = int(fractions.min(initial=MOST_DIGITS)), int(fractions.max(initial=0))
        known = _needed_decimals(values[~is_blank], digits[1])
        decimals = _decimals(cells)[0] if known is None else known
    zeros = _leading_zeros(cells, other)
    return NumberText(values, ~is_blank, is_blank, decimals, digits, not other, zeros)


def _needed_decimals(values: NDArray[np.float64], most: int) -> int | None:
    """Digits after the point that numbers with at most so many need; None where they have too many digits to tell."""
    if most > MOST_DECIMALS or float(np.max(np.abs(values), initial=0.0)) * 10.0**most >= MOST_EXACT:
        return None
    for decimals in range(most - 1, -1, -1):
        scale = 10.0**decimals
        if not np.array_equal(np.rint(values * scale) / scale, values):
            return decimals + 1
    return 0


def _leading_zeros(cells: Any, other: bytes) -> int:
    """How many numbers without white space have leading zeros."""
    found = 0
    for sign in ("", "-") if b"-" in other else ("",):
        starts = pc.and_not(pc.starts_with(cells, f"{sign}0"), pc.starts_with(cells, f"{sign}0."))
        if pc.any(starts).as_py():
            longer = pc.greater(pc.binary_length(cells), scalar(len(sign) + 1))
            found += pc.sum(pc.and_(starts, longer)).as_py() or 0
    return int(found)


def _of_few_texts(flat: Any) -> NumberText | None:
    """Numbers of cells that have few different texts; None where they have many."""
    if len(flat) < FEWEST_CELLS or len(pc.unique(flat.slice(0, FEWEST_CELLS))) > FEWEST_CELLS // 4:
        return None
    encoded = flat.dictionary_encode()
    if len(encoded.dictionary) > len(flat) // 4:
        return None
    # One more than the texts: the last stands for an absent cell.
    parsed = _one_by_one(pa.concat_arrays([encoded.dictionary, pa.nulls(1, pa.string())]), b" ")
    places = numbers_of(encoded.indices, np.int64, len(encoded.dictionary))
    zeros = truths_of(pc.match_substring_regex(encoded.dictionary, LEADING_ZERO))
    return NumberText(
        parsed.values[places], parsed.is_number[places], parsed.is_blank[places], parsed.decimals, parsed.digits, False,
        int(np.append(zeros, False)[places].sum()),
    )  # fmt: skip


def _one_by_one(flat: Any, other: bytes) -> NumberText:
    is_number = pc.match_substring_regex(flat, XPATH_NUMBER)
    trimmed = flat
    blank = pc.equal(pc.binary_length(flat), scalar(0))
    if other.strip(b".-"):
        trimmed = pc.utf8_trim(flat, characters=WHITE_SPACE)
        blank = pc.equal(pc.binary_length(trimmed), scalar(0))
    numeric = pc.if_else(is_number, trimmed, scalar(None, flat.type))
    values = numbers_of(pc.cast(numeric, pa.float64()), np.float64)
    decimals, digits = _decimals(numeric)
    is_blank = truths_of(blank, absent=True)
    zeros = pc.sum(pc.match_substring_regex(flat, LEADING_ZERO)).as_py() or 0
    return NumberText(values, truths_of(is_number), is_blank, decimals, digits, not other, zeros)


def other_bytes(flat: Any) -> bytes:
    """Bytes of all cells that are no digits. `flat`: shape (n,)."""
    return cell_bytes(flat).translate(None, b"0123456789")


def cell_bytes(flat: Any) -> bytes:
    """Bytes of all cells, one after the other. `flat`: shape (n,)."""
    _, offsets, data = flat.buffers()
    if len(flat) == 0 or data is None:
        return b""
    bounds = np.frombuffer(offsets, dtype=np.int32)[flat.offset : flat.offset + len(flat) + 1]
    return memoryview(data)[bounds[0] : bounds[-1]].tobytes()


def has_white_space(text: Any) -> bool:
    """Whether any cell may have white space: a look at the bytes."""
    if not pa.types.is_string(text.type) or not isinstance(text, pa.Array):
        return True
    raw = cell_bytes(text)
    return any(character in raw for character in WHITE_SPACE.encode())


def is_blank_text(text: Any) -> NDArray[np.bool_]:
    """Whether cells are empty or white space only; shape (n,), False where there is no cell. `text`: shape (n,)."""
    trimmed = pc.utf8_trim(text, characters=WHITE_SPACE) if has_white_space(text) else text
    return truths_of(pc.equal(pc.binary_length(trimmed), scalar(0)))


def _decimals(numeric: Any) -> tuple[int, tuple[int, int]]:
    """Digits after the point that are needed, and the fewest and most that are written."""
    point = pc.find_substring(numeric, ".")
    numbers = len(numeric) - numeric.null_count
    has_point = pc.greater_equal(point, scalar(0))
    with_point = pc.filter(numeric, has_point)
    if len(with_point) == 0:
        return 0, (0 if numbers else MOST_DIGITS, 0)
    fractions = pc.min_max(
        pc.subtract(pc.subtract(pc.binary_length(with_point), pc.filter(point, has_point)), scalar(1))
    )
    fewest, most = (fractions[side].as_py() for side in ("min", "max"))
    stripped = pc.utf8_rtrim(with_point, characters="0")
    digits = _behind(stripped, pc.find_substring(stripped, "."))
    return int(pc.max(digits).as_py()), (fewest if len(with_point) == numbers else 0, most)


def _behind(texts: Any, point: Any) -> Any:
    """How many characters stand behind the point."""
    return pc.subtract(pc.subtract(pc.binary_length(texts), point), scalar(1))


def write_numbers(
    values: NDArray[np.float64], missing: NDArray[np.bool_], decimals: int | None, digits: int | None = None
) -> Any:
    """Canonical text of numbers: what XPath's ``string()`` gives, on the published grid.

    No exponent, no plus sign, no trailing zeros after the point, no negative zero.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
    missing : ndarray of shape (n,), bool
        Cells written as null.
    decimals : int or None
        The grid. None: the shortest text that reads back as the same binary64 number.
    digits : int, optional
        Digits after the point that every number is written with, as far as the grid has no more: zeros fill them up.

    Returns
    -------
    pyarrow.StringArray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import write_numbers
    >>> write_numbers(np.array([12.5, -0.0, 7.0]), np.array([False, False, True]), 2).to_pylist()
    ['12.5', '0', None]
    """
    if decimals is not None:
        if len(values) >= MANY_CELLS:
            # Numba is imported for long columns alone, as for reading them.
            from maskwright.data.cell_kernels import spelled

            text = spelled(values, missing, decimals, 0 if not digits or digits < decimals else digits)
            if text is not None:
                return text
        scaled = np.where(missing, 0.0, values) * 10.0**decimals
        if not np.any(np.abs(scaled) >= 2.0**53):
            text = _grid_text(np.rint(scaled).astype(np.int64), missing, decimals)
            return text if not digits or digits < decimals else _filled_up(text, digits)
        texts = [
            None if gone else plain_text(round(float(value), decimals))
            for value, gone in zip(values, missing, strict=True)
        ]
        return pa.array(texts, pa.string())
    texts = [None if gone else plain_text(float(value)) for value, gone in zip(values, missing, strict=True)]
    return pa.array(texts, pa.string())


def _grid_text(scaled: NDArray[np.int64], missing: NDArray[np.bool_], decimals: int) -> Any:
    null = arrow_array(missing)
    if decimals == 0:
        return pc.if_else(null, scalar(None, pa.string()), pc.cast(arrow_array(scaled), pa.string()))
    magnitude = np.abs(scaled)
    # All are below 2**53, and so below a unit of more decimals, which no int64 holds.
    unit = 10 ** min(decimals, 18)
    whole = pc.cast(arrow_array(magnitude // unit), pa.string())
    fraction = pc.utf8_lpad(pc.cast(arrow_array(magnitude % unit), pa.string()), decimals, "0")
    point = pc.binary_join_element_wise(whole, fraction, scalar("."))
    text = pc.utf8_rtrim(pc.utf8_rtrim(point, characters="0"), characters=".")
    signed = pc.if_else(arrow_array(scaled < 0), pc.binary_join_element_wise(scalar("-"), text, scalar("")), text)
    return pc.if_else(null, scalar(None, pa.string()), signed)


def _filled_up(text: Any, digits: int) -> Any:
    """Numbers of at most so many digits after the point, with exactly as many."""
    pointed = pc.if_else(pc.match_substring(text, "."), text, pc.binary_join_element_wise(text, "", "."))
    whole = pc.find_substring(pointed, ".")
    lacking = pc.subtract(digits, pc.subtract(pc.subtract(pc.binary_length(pointed), whole), 1))
    zeros = pa.array(["0" * count for count in range(digits + 1)]).take(lacking)
    return pc.binary_join_element_wise(pointed, zeros, "")


def libxml2_numbers(values: NDArray[np.float64], decimals: int | None) -> NDArray[np.float64]:
    """Numbers as libxml2 reads their text, on a grid of `decimals`; NaN stays.

    It adds the digits before and after the point, so 2.688 becomes the binary64 below; edits have to hold so too.
    """
    if not decimals:
        return values
    scaled = np.rint(np.abs(values) * 10.0**decimals)
    whole = np.floor(scaled / 10.0**decimals)
    fraction = (scaled - whole * 10.0**decimals) / 10.0**decimals
    return np.where(scaled < 2.0**53, np.copysign(whole + fraction, values), values)


def canonical_text(code: str) -> str:
    """A code that is a number as the shortest text of that number, any other as it is."""
    parsed = read_numbers(arrow_texts([code]))
    return plain_text(float(parsed.values[0])) if bool(parsed.is_number[0]) else code


def plain_text(value: float) -> str:
    """Shortest decimal text without exponent that reads back as `value`; ``0`` for negative zero."""
    if value == 0:
        return "0"
    return np.format_float_positional(value, trim="-")
