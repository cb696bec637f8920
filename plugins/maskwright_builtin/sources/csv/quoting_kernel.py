"""Quotes of CSV, byte by byte: they open at the start of a cell only, and are doubled inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled
from maskwright_builtin.sources.csv.quote_marks import (
    BARE,
    CARRIAGE_RETURN_MARK,
    CLOSED,
    DELIMITER_MARK,
    IS_BARE,
    IS_QUOTED,
    LINE_FEED_MARK,
    NEEDS_QUOTES,
    QUOTED,
    START,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE_FEED, CARRIAGE_RETURN, SPACE, TAB = 10, 13, 32, 9


@compiled
def mark_quoted(data: NDArray[np.uint8], quote: int, delimiter: int, place: int) -> tuple[int, int]:
    """Put marks for the delimiters and line ends inside quotes; in place.

    `data`: UTF-8 text, a piece of a file; shape (n,). Returns where this piece ends; position of the first byte that
    stands between a closing quote and the end of its cell, -1 where there is none.
    """
    for i in range(len(data)):
        byte = data[i]
        if place == QUOTED:
            if byte == quote:
                place = CLOSED
            elif byte == delimiter:
                data[i] = DELIMITER_MARK
            elif byte == LINE_FEED:
                data[i] = LINE_FEED_MARK
            elif byte == CARRIAGE_RETURN:
                data[i] = CARRIAGE_RETURN_MARK
        elif place == CLOSED and byte == quote:
            place = QUOTED
        elif byte in (delimiter, LINE_FEED, CARRIAGE_RETURN):
            place = START
        elif place == CLOSED:
            return place, i
        elif place == START and byte == quote:
            place = QUOTED
        else:
            place = BARE
    return place, -1


@compiled
def unquote(
    data: NDArray[np.uint8], offsets: NDArray[np.int32], quote: int, delimiter: int,
    text: NDArray[np.uint8], new_offsets: NDArray[np.int32], forms: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Texts of marked cells without their quotes, doubled quotes inside written once, and marks as what they stand for.

    `data`: shape (m,). `offsets`: of the cells in `data`; shape (n + 1,). `text`: filled with their texts; shape (at
    least the bytes of the cells,). `new_offsets`: filled with the offsets of the cells in `text`; shape (n + 1,).
    `forms`: filled with how each cell is written: `IS_BARE`; `IS_QUOTED` although no reader would need it;
    `NEEDS_QUOTES`; shape (n,).
    """
    end = 0
    new_offsets[0] = 0
    for cell in range(len(forms)):
        start, stop = offsets[cell], offsets[cell + 1]
        forms[cell] = IS_BARE
        if stop - start < 2 or data[start] != quote:
            for i in range(start, stop):
                text[end] = data[i]
                end += 1
        else:
            forms[cell] = IS_QUOTED
            i, stop = start + 1, stop - 1
            if i < stop and (data[i] in (SPACE, TAB) or data[stop - 1] in (SPACE, TAB)):
                forms[cell] = NEEDS_QUOTES
            while i < stop:
                byte = data[i]
                if byte == quote:
                    i += 1
                    forms[cell] = NEEDS_QUOTES
                elif byte >= DELIMITER_MARK:
                    forms[cell] = NEEDS_QUOTES
                    if byte == DELIMITER_MARK:
                        byte = np.uint8(delimiter)
                    elif byte == LINE_FEED_MARK:
                        byte = np.uint8(LINE_FEED)
                    else:
                        byte = np.uint8(CARRIAGE_RETURN)
                text[end] = byte
                end += 1
                i += 1
        new_offsets[cell + 1] = end
