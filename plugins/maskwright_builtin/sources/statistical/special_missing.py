"""Special missing values of SAS transport files, which pyreadstat reads as if nothing were there: counted.

After SAS Institute, "The Record Layout of a Data Set in SAS Transport (XPORT) Format", TS-140 and its version 8.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.sources.files import reading

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

CARD = 80
NAMES = re.compile(rb"HEADER RECORD\*{7}(?:NAMESTR|NAMSTV8) HEADER RECORD!{7}(\d{10})")
RECORDS = (b"HEADER RECORD*******OBS     HEADER RECORD", b"HEADER RECORD*******OBSV8   HEADER RECORD")
DESCRIPTION = 140
"""Bytes of the description of a variable."""
LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_", dtype=np.uint8)
ROWS = 65_536


def special_missing_values(path: Path) -> int:
    """How many numbers of a transport file are special missing values: ``.A`` to ``.Z``, or ``._``.

    `path`: of a file that pyreadstat has read.
    """
    found = 0
    with reading(path) as file:
        start = file.read(CARD * 8)
        named = NAMES.search(start)
        if named is None:
            return 0
        count = int(named[1])
        file.seek(named.start() + CARD)
        described = file.read(-(-count * DESCRIPTION // CARD) * CARD)
        numbers, length = [], 0
        for position in range(0, count * DESCRIPTION, DESCRIPTION):
            kind, _, width = struct.unpack_from(">hhh", described, position)
            (at,) = struct.unpack_from(">i", described, position + 84)
            length = max(length, at + width)
            if kind == 1:
                numbers.append((at, width))
        while (card := file.read(CARD)) and not card.startswith(RECORDS):
            pass
        while len(block := file.read(length * ROWS)) >= length > 0:
            cells = np.frombuffer(block, dtype=np.uint8, count=len(block) // length * length).reshape(-1, length)
            found += sum(_specials(cells[:, at : at + width]) for at, width in numbers)
    return found


def _specials(cells: NDArray[np.uint8]) -> int:
    """Cells of a number whose first byte is a letter, and all others nothing."""
    return int(np.count_nonzero(np.isin(cells[:, 0], LETTERS) & ~cells[:, 1:].any(axis=1)))
