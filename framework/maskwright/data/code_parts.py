"""Parts of codes that say something of their own: a letter for the region, the last two digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.dependencies import ValueCodes


LONGEST = 20
"""Characters of a code, at most: a longer text is none."""

WIDEST = 3
"""Characters of a part, at most."""

FEWEST_EACH = 4
"""Records with the same part, on average: of fewer the others say nothing."""

MOST_EACH = 10
"""Records with the same code, on average: codes that more have in common say what their parts say."""

SAMPLED = 5_000
"""Records on which parts are found."""


@dataclass(frozen=True)
class CodePart:
    """Characters of a code from one to another, counted from the start, or, below 0, from its end as Python does."""

    first: int
    last: int

    def has(self, other: CodePart) -> bool:
        """Whether another part, counted from the same side, lies in this one."""
        return self.first <= other.first and other.last <= self.last and (self.first < 0) == (other.first < 0)

    def __str__(self) -> str:
        if self.first >= 0:
            places = (self.first + 1, self.last + 1)
            return f"character {places[0]}" if self.first == self.last else f"characters {places[0]} to {places[1]}"
        if self.last < -1:
            return f"{CodePart(-self.last - 1, -self.first - 1)} from the end"
        return "the last character" if self.first == -1 else f"the last {-self.first} characters"


class CodeParts:
    """Parts of the codes of a variable.

    Tried are up to three characters from each place on, and, where codes differ in length, before their end. Of
    numbers these are digits of whole ones that have as many. `tried`: those that several records have in common,
    the narrowest first.
    """

    def __init__(self, data: Dataset, name: str, codes: ValueCodes) -> None:
        self._own = codes.of(name)
        self.rows = np.linspace(0, max(len(data) - 1, 0), min(len(data), SAMPLED)).astype(np.int64)
        self._texts = _texts(data[name], self._own, codes.distinct(name))
        self.tried = tuple(self._found()) if codes.distinct(name) * MOST_EACH > len(data) else ()

    def of(self, part: CodePart, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Codes 0, 1, ... of what stands there, -1 where nothing; of all records, or of some."""
        own = self._own if rows is None else self._own[rows]
        texts = pc.take(self._texts, arrow_array(own, own < 0))
        sliced = pc.utf8_slice_codeunits(texts, part.first, part.last + 1 if part.last != -1 else None)
        return numbers_of(sliced.dictionary_encode().indices, np.int64, -1)

    def _found(self) -> Iterator[CodePart]:
        lengths = numbers_of(pc.utf8_length(self._texts), np.int64, 0)
        width = int(lengths.max(initial=0))
        if not 1 < width <= LONGEST:
            return
        for wide in range(WIDEST):
            for first in range(0 if lengths.min() == width else -width, width - wide):
                part = CodePart(first, first + wide)
                # A part before the end does not go on at the start.
                if (first < 0) == (part.last < 0) and self._may_be_shared(part):
                    yield part

    def _may_be_shared(self, part: CodePart) -> bool:
        return bool(0 < self.of(part, self.rows).max(initial=-1) < len(self.rows) // FEWEST_EACH)


def _texts(column: Column, own: NDArray[np.int64], count: int) -> Any:
    """Text of each code of a variable; none of numbers that are no codes."""
    values = np.zeros(count)
    values[own[own >= 0]] = column.values[own >= 0]
    whole = values.astype(np.int64) if np.all(np.abs(values) < 2**53) else np.zeros(0, dtype=np.int64)
    if not column.variable.is_numeric:
        return arrow_texts(column.variable.categories).take(arrow_array(whole))
    texts = pc.cast(arrow_array(whole), pa.string())
    is_code = np.array_equal(whole, values) and len(np.unique(numbers_of(pc.utf8_length(texts), np.int64, 0))) == 1
    return texts if is_code else texts[:0]
