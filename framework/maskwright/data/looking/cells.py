"""The cells of a column before it has a type: words that say 'no value', decimal commas, cells that fit nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.misread_columns import DATE, DECIMAL_COMMA, THREE_AFTER_COMMA, is_word
from maskwright.data.number_text import read_many_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAY_BE_CATEGORIES = frozenset({"none", "unknown", "nil", "x", "*", "missing", "nan", "null", "not available"})
"""Words that say 'no value' among numbers, and may be a category among texts."""


@dataclass(frozen=True)
class CellKinds:
    """What the cells of a text column look like, counted.

    `numbers`: numbers with a decimal point or without decimals. `commas`: numbers with a decimal comma; grouped
    thousands are counted in `grouped`. `grouped`: ``1,234``: thousands, or three decimals. `words`: words that say 'no
    value', as they are written, and in how many cells.
    """

    numbers: int = 0
    commas: int = 0
    grouped: int = 0
    dates: int = 0
    others: int = 0
    words: Mapping[str, int] = field(default_factory=dict)

    @property
    def are_numbers(self) -> bool:
        """Whether every cell that says something is a number."""
        return self.numbers > 0 and not self.commas + self.grouped + self.dates + self.others

    @property
    def is_mixed(self) -> bool:
        """Whether some cells are numbers and some are not, whatever the decimal mark."""
        return bool(self.numbers and self.commas + self.grouped + self.dates + self.others)

    @property
    def missing(self) -> dict[str, int]:
        """Words that probably mean 'no value' in this column; a column of words alone has none."""
        if self.numbers or self.commas or self.grouped or self.dates:
            return dict(self.words)
        plain = {word: count for word, count in self.words.items() if word.lower() not in MAY_BE_CATEGORIES}
        return plain if self.others else {}


def cell_kinds(cells: Any) -> CellKinds:
    """Count what the cells of a text column look like.

    `cells`: shape (n,).
    """
    numbers, left = 0, []
    for chunk in cells.chunks:
        spoken = read_many_numbers(chunk)
        numbers += int(np.count_nonzero(spoken.is_number))
        other = ~spoken.is_blank & ~spoken.is_number
        if np.any(other):
            left.append(chunk if np.all(other) else chunk.filter(pa.array(other)))
    # What is no number is mostly little, or repeats: each different text is looked at closely once.
    counted = pc.value_counts(pa.chunked_array(left, cells.type))
    texts, counts = pc.cast(counted.field("values"), pa.string()), np.array(counted.field("counts"))
    words = is_word(texts)
    three = ~words & _having(texts, THREE_AFTER_COMMA)
    commas = ~words & ~three & _having(texts, DECIMAL_COMMA)
    dates = ~words & ~three & ~commas & _having(texts, DATE)
    others = ~words & ~three & ~commas & ~dates
    found: dict[str, int] = {}
    for position in np.flatnonzero(words).tolist():
        word = texts[position].as_py().strip()
        found[word] = found.get(word, 0) + int(counts[position])
    return CellKinds(
        numbers=numbers,
        commas=int(counts[commas].sum()),
        grouped=int(counts[three].sum()),
        dates=int(counts[dates].sum()),
        others=int(counts[others].sum()),
        words=found,
    )


def uses_decimal_comma(columns: Iterable[CellKinds]) -> bool:
    """Whether a column of numbers writes decimals with a comma.

    `columns`: of the text columns of a file.
    """
    return any(each.commas and not each.others + each.dates for each in columns)


def _having(texts: Any, pattern: str) -> Any:
    return np.array(pc.fill_null(pc.match_substring_regex(texts, pattern), False), dtype=np.bool_)
