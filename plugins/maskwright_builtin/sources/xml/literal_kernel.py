"""The compiled pass over a block of records that are all written alike: texts between markup that is known by heart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOT_SO = -1
"""A byte of the block is neither such markup nor what a text may hold."""
TEXT, ABOVE_ASCII, OTHER = 0, 1, 2
"""Kinds of bytes: what stands in texts, alone or as a part of a character; and what no text of this form has."""
_KINDS = np.full(256, OTHER, dtype=np.uint8)
_KINDS[[ord("\t"), ord("\n"), *range(0x20, 0x80)]] = TEXT
_KINDS[[ord("<"), ord(">"), ord("&")]] = OTHER
_KINDS[0x80:] = ABOVE_ASCII
_KINDS.setflags(write=False)


def text_bounds(block: bytes, first: int, markup: list[bytes]) -> tuple[NDArray[np.int32], bool] | None:
    """Where the texts of a block begin and end.

    Returns 0, begin and end of each of the `m` texts, and the length of the block. What follows the last text is not
    looked at; whether there are bytes above ASCII in the texts; something else than this markup and these texts stands
    in the block; shape (2 * m + 2,).
    """
    known = np.frombuffer(b"".join(markup), dtype=np.uint8)
    ends = np.cumsum([0, *map(len, markup)]).astype(np.int32)
    shortest = max(1, len(known))
    places = np.empty((len(block) // shortest + 1) * 2 * len(markup) + 2, dtype=np.int32)
    places[0] = 0
    found, has_more = _passed(np.frombuffer(block, dtype=np.uint8), first, known, ends, _KINDS, places)
    if found == NOT_SO:
        return None
    places[found] = len(block)
    return places[: found + 1], bool(has_more)


@compiled
def _passed(
    data: NDArray[np.uint8],
    at: int,
    known: NDArray[np.uint8],
    ends: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    places: NDArray[np.int32],
) -> tuple[int, int]:
    """Fill in `places` from 1 on; how many are filled, and whether any byte is above ASCII."""
    n, p = len(data), len(ends) - 1
    found, more = 1, 0
    while True:
        for cell in range(p):
            if found + 2 > len(places) - 1:
                return NOT_SO, more
            places[found] = at
            while at < n and kinds[data[at]] != OTHER:
                more |= int(kinds[data[at]])
                at += 1
            places[found + 1] = at
            found += 2
            if at == n or data[at] != 60:  # <
                return NOT_SO, more
            expected = cell + 1 if cell + 1 < p else 0
            begin, length = ends[expected], ends[expected + 1] - ends[expected]
            same = at + length <= n
            for i in range(length if same else 0):
                if data[at + i] != known[begin + i]:
                    same = False
                    break
            if not same:
                # After the last text of a record the block may end; the caller looks at how.
                return (found, more) if expected == 0 else (NOT_SO, more)
            at += length
