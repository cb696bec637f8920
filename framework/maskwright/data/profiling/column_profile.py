"""The profile of one column: counts, guesses, kinds of its cells, and what its name probably means."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from maskwright.data.column_doubts import DATE, DECIMAL_COMMA, THREE_AFTER_COMMA, is_missing_text
from maskwright.data.number_text import read_many_numbers
from maskwright.foundation.arrays import arrow_array, numbers_of, truths_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.variable import Role, VariableType


LikelyType = Literal["number", "code", "category", "identifier", "date", "free text", "constant", "empty"]


@dataclass(frozen=True)
class Unsure:
    """What a person should decide of a variable; never holds a value.

    `text`: a sentence about this one. `without_counts`: the same of several; empty: the text, which has no counts.
    `asks_role`: it says no more than that nothing says what the variable is.
    """

    text: str
    without_counts: str = ""
    asks_role: bool = False

    @property
    def of_several(self) -> str:
        """The sentence about this variable and others like it."""
        return self.without_counts or self.text


@dataclass(frozen=True)
class ColumnProfile:
    """One variable as it looks; `type`, `role` and `release` as they would be declared.

    `why`: what the role was seen by. `missing_codes`: texts and numbers that (probably) mean 'no value'; counted in
    `missing`. `unsure`: what a person should decide; never holds a value. `lowest`, `highest`, `categories`: only where
    values are shown.
    """

    name: str
    type: VariableType
    looks_like: LikelyType
    role: Role | None
    why: str
    meaning: Meaning | None
    cells: int
    missing: int
    distinct: int
    missing_codes: Mapping[str, int] = field(default_factory=dict)
    decimals: int | None = None
    date_format: str | None = None
    unsure: tuple[Unsure, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    release: Literal["new"] | None = None
    categories: Mapping[str, int] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether it is to be declared a number."""
        return self.type in ("continuous", "integer")

    def to_json(self) -> dict[str, Any]:
        """Plain data; without values of records unless they were requested."""
        values: dict[str, Any] = {}
        if self.lowest is not None:
            values = {"lowest": self.lowest, "highest": self.highest}
        if self.categories is not None:
            values = {"categories": dict(self.categories)}
        listed = {"missing_codes": dict(self.missing_codes), "unsure": [each.text for each in self.unsure]}
        return {name: listed.get(name, getattr(self, name)) for name in _IN_JSON} | values


_IN_JSON = (
    "name", "type", "looks_like", "role", "why", "meaning", "cells", "missing", "missing_codes", "distinct", "decimals",
    "date_format", "unsure",
)  # fmt: skip
"""Fields of a profile that are written, in order; values of records come after them."""


@dataclass(frozen=True)
class Facts:
    """Counts of one column. `values`: those that mean something; shape (cells,)."""

    column: Column
    looks_like: LikelyType
    cells: int
    missing: int
    distinct: int
    missing_codes: Mapping[str, int]
    values: NDArray[np.float64]
    unsure: tuple[Unsure, ...] = ()


MAY_BE_CATEGORIES = frozenset({"none", "unknown", "nil", "x", "*", "missing", "nan", "null", "not available"})
"""Words that say 'no value' among numbers, and may be a category among texts."""


@dataclass(frozen=True)
class CellKinds:
    """What the cells of a text column look like, counted; `words` mean 'no value'.

    `grouped`: ``1,234``: thousands, or three decimals; they are no `commas`, decimal ones.
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
    def odd(self) -> int:
        """Cells that say something and are no number as it is read, among others that are: of mixed columns."""
        return self.commas + self.grouped + self.dates + self.others if self.numbers else 0

    @property
    def mixture(self) -> str:
        """How many cells of a mixed column are numbers, and how many are not."""
        other = "1 is not" if self.odd == 1 else f"{self.odd:,} are not"
        return f"{self.numbers:,} of its {self.numbers + self.odd:,} cells are numbers and {other}"

    @property
    def missing(self) -> dict[str, int]:
        """Words that probably mean 'no value' in this column; a column of words alone has none."""
        if self.numbers or self.commas or self.grouped or self.dates:
            return dict(self.words)
        plain = {word: count for word, count in self.words.items() if word.lower() not in MAY_BE_CATEGORIES}
        return plain if self.others else {}


def cell_kinds(cells: Any) -> CellKinds:
    """Count what the cells of a text column look like. `cells`: shape (n,)."""
    numbers, left = 0, []
    for chunk in cells.chunks:
        parsed = read_many_numbers(chunk)
        numbers += int(np.count_nonzero(parsed.is_number))
        other = ~parsed.is_blank & ~parsed.is_number
        if np.any(other):
            left.append(chunk if np.all(other) else chunk.filter(arrow_array(other)))
    # What is no number is mostly little, or repeats: each different text is looked at closely once.
    counted = pc.value_counts(pa.chunked_array(left, cells.type))
    texts, counts = pc.cast(counted.field("values"), pa.string()), numbers_of(counted.field("counts"), np.int64)
    words = is_missing_text(texts)
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
    """Whether a column of numbers writes decimals with a comma."""
    return any(each.commas and not each.others + each.dates for each in columns)


def _having(texts: Any, pattern: str) -> Any:
    return truths_of(pc.match_substring_regex(texts, pattern))


Meaning = Literal[
    "household size", "birth", "weight", "identifier", "money", "age", "sex", "region", "occupation", "education",
    "nationality", "marital status", "industry", "household", "a person's name",
]  # fmt: skip

KEYS: tuple[Meaning, ...] = (
    "household size", "birth", "age", "sex", "region", "occupation", "education", "nationality", "marital status",
    "industry",
)  # fmt: skip
"""What others may know of a person or a firm: quasi-identifiers."""

NO_IDENTIFIER = ("paid", "valid", "covid", "grid", "bid", "void", "raid", "mid", "lid", "acid", "fluid", "rapid")
"""Endings of words that end with the letters of an identifier and are none."""

SIZES = frozenset({"size", "tamano", "taille", "grosse", "groesse", "dimensione"})


@dataclass(frozen=True)
class _Words:
    """Words of one meaning: as whole words, and as parts of words."""

    whole: frozenset[str]
    parts: tuple[str, ...]

    def are_in(self, words: tuple[str, ...]) -> bool:
        """Whether a name of these words has the meaning."""
        joined = "".join(words)
        return not self.whole.isdisjoint((*words, joined)) or any(part in joined for part in self.parts)


@functools.cache
def _listed() -> dict[Meaning, _Words]:
    text = files("maskwright.data.profiling").joinpath("name_meanings.yaml").read_text(encoding="utf-8")
    return {
        meaning: _Words(frozenset(each["words"].split()), tuple(each["parts"].split()))
        for meaning, each in yaml.safe_load(text).items()
    }


def meaning_of(name: str) -> Meaning | None:
    """Return what a variable's name means; None where it says nothing."""
    words = _cut(name)
    found: list[Meaning] = [meaning for meaning, listed in _listed().items() if listed.are_in(words)]
    if "identifier" not in found and words and words[-1].endswith("id") and not words[-1].endswith(NO_IDENTIFIER):
        found.insert(0, "identifier")
    if "household" in found and not SIZES.isdisjoint(words):
        return "household size"
    if {"household", "identifier"} <= set(found):
        return "household"
    if {"birth", "region"} <= set(found):  # the country of birth
        return "nationality"
    if found[:1] == ["identifier"]:
        # The code of a region is a region.
        keys: list[Meaning] = [each for each in found if each in KEYS]
        return keys[0] if keys else "identifier"
    return found[0] if found else None


def _cut(name: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    bare = "".join(character for character in plain if not unicodedata.combining(character))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", bare)
    return tuple(re.findall(r"[a-z]+[0-9]*[a-z]?|[0-9]+", spaced.lower()))
