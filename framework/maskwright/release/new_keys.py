"""New keys: random values that take the place of identifiers, equal ones for equal ones.

They are drawn apart from each other and from the old ones, so that no old key names a record of the release, and are of
the same kind: whole numbers stay whole numbers, digits stay digits, other texts become letters and digits, each as
wide as the old ones or as much wider as it takes to be rare among what could have been drawn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import write_numbers
from maskwright.data.variable import Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.dataset import Column

LETTERS, MORE = "BCDFGHJKLMNPQRSTVWXZ", "BCDFGHJKLMNPQRSTVWXZ0123456789"
"""Of a text: its first character, and the others. Without vowels there are no words, no NA, no exponents."""
WHOLE_NUMBER, DIGITS = r"^-?(0|[1-9][0-9]*)$", r"^[0-9]+$"
RARE = 100
"""So many times as many keys are possible as there are."""
MOST_DIGITS, MOST_CHARACTERS = 15, 12
"""A number of so many digits is exact in binary64; so many characters are told apart by 63 bits."""


class KeyKind(NamedTuple):
    """What the keys of a column are made of.

    `characters`: that may stand in each place; the places together are read as a number. `is_number`: whether the
    column holds numbers.
    """

    characters: tuple[str, ...]
    is_number: bool

    @property
    def possible(self) -> int:
        """How many different keys there are."""
        count = 1
        for each in self.characters:
            count *= len(each)
        return count

    def texts(self, drawn: NDArray[np.int64]) -> pa.Array:
        """Texts of keys.

        `drawn`: each less than `possible`; shape (m,).
        """
        cells = np.empty((len(drawn), len(self.characters)), dtype=np.uint8)
        rest = drawn
        for place in range(len(self.characters) - 1, -1, -1):
            alphabet = np.frombuffer(self.characters[place].encode("ascii"), dtype=np.uint8)
            rest, digit = np.divmod(rest, len(alphabet))
            cells[:, place] = alphabet[digit]
        return pa.array(cells.view(f"S{cells.shape[1]}")[:, 0].astype(str), pa.string())


def renewed(column: Column, rng: np.random.Generator) -> Column:
    """Column of new keys: equal for equal old ones, different for different ones, missing where they are missing."""
    codes, old = old_keys(column)
    kind = key_kind(old)
    # Those that are old keys or missing codes are left out, and there are enough for that.
    taken = pa.concat_arrays([old, pa.array(column.variable.empty_texts, pa.string())])
    texts = kind.texts(rng.choice(kind.possible, size=len(old) + len(taken), replace=False))
    new = texts.filter(pc.invert(pc.is_in(texts, value_set=taken)))[: len(old)]
    variable = Variable(
        column.name,
        "integer" if kind.is_number else "nominal",
        "identifier",
        decimals=0 if kind.is_number else None,
        missing_codes=column.variable.missing_codes,
        missing_meanings=column.variable.missing_meanings,
        suppressed_as=column.variable.suppressed_as,
        renewed=True,
    )
    if kind.is_number:
        numbers = np.append(np.asarray(pc.cast(new, pa.float64())), np.nan)
        return column.changed(numbers[codes], variable=variable)
    order = np.asarray(pc.array_sort_indices(new))
    places = np.full(len(new) + 1, -1, dtype=np.int32)
    places[order] = np.arange(len(new), dtype=np.int32)
    categories = tuple(new.take(pa.array(order)).to_pylist())
    return column.changed(places[codes], variable=replace(variable, categories=categories))


def old_keys(column: Column) -> tuple[NDArray[np.int64], pa.Array]:
    """For each record the position of its key among the different ones, -1 where missing; and these, as texts."""
    used, positions = np.unique(column.values[~column.missing], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[~column.missing] = positions
    if column.variable.is_numeric:
        return codes, write_numbers(used, np.zeros(len(used), dtype=bool), column.variable.decimals)
    return codes, pa.array(column.variable.categories, pa.string()).take(pa.array(used))


def key_kind(old: pa.Array) -> KeyKind:
    """Kind of the keys that can take the place of others.

    `old`: different texts; shape (m,).
    """
    width, wanted = int(pc.max(pc.utf8_length(old)).as_py() or 1), RARE * (len(old) + 10)
    if _all(old, WHOLE_NUMBER):
        return _wide_enough("123456789", "0123456789", min(width, MOST_DIGITS), wanted, is_number=True)
    if _all(old, DIGITS):
        return _wide_enough("0123456789", "0123456789", min(width, MOST_DIGITS), wanted, is_number=False)
    return _wide_enough(LETTERS, MORE, min(width, MOST_CHARACTERS), wanted, is_number=False)


def _all(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def _wide_enough(first: str, more: str, width: int, wanted: int, *, is_number: bool) -> KeyKind:
    kind = KeyKind((first, *[more] * (width - 1)), is_number)
    return kind if kind.possible >= wanted else _wide_enough(first, more, width + 1, wanted, is_number=is_number)
