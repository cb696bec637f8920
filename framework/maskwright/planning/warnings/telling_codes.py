"""Missing codes that tell a value: 'about 12' of a single record is published as it stands, and is no code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.data.dataset import Dataset

FEW = 3
"""A code that fewer records have is probably none: offices use a code for all cells without a value for one reason."""

WORDS_WITH_A_NUMBER = re.compile(r"(?=.*[0-9])(?=.*[^0-9\s.,'+-])")


def telling_code_doubts(names: Iterable[str], data: Dataset | None) -> Iterator[Doubt]:
    """Doubts about numbers within texts that are declared missing codes, and that fewer than three records have.

    `data`: None: no data are at hand, and nothing is said.
    """
    if data is None:
        return
    for name in names:
        column = data[name]
        if not column.variable.is_numeric or column.blank is None:
            continue
        texts, codes = column.blank.texts, column.blank.codes
        used = np.bincount(codes[column.missing & (codes >= 0)], minlength=len(texts))
        few = sum(count for count, text in zip(used.tolist(), texts, strict=True) if count < FEW and _tells(text))
        if few:
            message = (
                f"{few} missing {'cell holds a number' if few == 1 else 'cells hold numbers'} within a text that "
                "hardly any other record has: missing codes are published as they stand, and it may be the value itself"
            )
            yield Doubt("missing-code-tells", name, message, few, len(data))


def _tells(text: str) -> bool:
    return WORDS_WITH_A_NUMBER.match(text) is not None
