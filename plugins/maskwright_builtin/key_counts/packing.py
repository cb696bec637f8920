"""Codes of several keys packed into the bits of 64-bit words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WORD = 62
"""Bits used of a word: it stays positive, so that shifts mean the same everywhere."""


@dataclass(frozen=True, eq=False)
class PackedKeys:
    """The keys of records, each key in bits of its own.

    `words`: c order. In the bits of a key stand its code + 1, or 0 where it is missing; shape (n, w). `masks`: the bits
    of each key, at least one; shape (q, w). `bits`: all bits together; `words` has one column when there are at most
    62.
    """

    words: NDArray[np.int64]
    masks: NDArray[np.int64]
    bits: int


def pack_keys(codes: Sequence[NDArray[np.int64]]) -> PackedKeys:
    """Pack the codes of all keys.

    `codes`: one for each key: 0, 1, ..., the fewer the better; -1 where missing; shape (n,).
    """
    widths = [max(int(code.max(initial=-1) + 1).bit_length(), 1) for code in codes]
    places: list[tuple[int, int]] = []
    word, shift = 0, 0
    for width in widths:
        if shift + width > WORD:
            word, shift = word + 1, 0
        places.append((word, shift))
        shift += width
    words = np.zeros((len(codes[0]) if codes else 0, word + 1), dtype=np.int64)
    masks = np.zeros((len(codes), word + 1), dtype=np.int64)
    for j, (code, width, (word, shift)) in enumerate(zip(codes, widths, places, strict=True)):
        words[:, word] |= (code + 1) << shift
        masks[j, word] = ((1 << width) - 1) << shift
    return PackedKeys(words, masks, sum(widths))
