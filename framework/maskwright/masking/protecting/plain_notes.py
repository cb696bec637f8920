"""Notes of methods: plain data, finite, and nothing of a single record as far as that can be seen."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.plugins.block import Block

TELLING_DIGITS = 5
"""A number of so many digits in a sentence that is a value of the data is there by no chance."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


FEW = 10
"""A list shorter than this is not taken for one of records, however few records there are."""


def wrong_notes(block: Block, masked: Any) -> Iterator[str]:
    """What is wrong with the notes of a result, each as the rest of a sentence after the name of the method."""
    if not isinstance(masked.notes, Mapping):
        yield f"gave notes that are a {type(masked.notes).__name__}, not a mapping"
        return
    for name, note in masked.notes.items():
        if not isinstance(name, str):
            yield "gave a note whose name is no text"
        elif not _is_plain(note):
            yield f"gave a note {name!r} that is no plain data: texts, whole numbers, finite numbers, lists, mappings"
        elif name != "published" and _longest(note) >= max(block.n, block.p + 1, FEW):
            yield f"gave a note {name!r} with something for each record"
    if not isinstance(masked.notes.get("published", {}), Mapping):
        yield "gave a note 'published' that is no mapping of lists"
    sentences = [*_sentences(masked.notes.get("warnings", ())), *masked.doubts]
    if not all(isinstance(each, str) for each in sentences):
        yield "gave warnings that are not a list of sentences"
        return
    if any(_tells_a_value(sentence, block) for sentence in sentences):
        yield "said a value of a record in a warning"


def _sentences(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [None]


def _is_plain(note: object) -> bool:
    if isinstance(note, (np.floating, float)):
        return math.isfinite(note)
    if note is None or isinstance(note, (str, bool, int, np.integer, np.bool_)):
        return True
    if isinstance(note, Mapping):
        return all(isinstance(name, str) and _is_plain(each) for name, each in note.items())
    return isinstance(note, (list, tuple)) and all(_is_plain(each) for each in note)


def _longest(note: object) -> int:
    """Entries of the longest list inside."""
    if isinstance(note, Mapping):
        return max((_longest(each) for each in note.values()), default=0)
    if isinstance(note, (list, tuple)):
        return max(len(note), max((_longest(each) for each in note), default=0))
    return 0


def _tells_a_value(sentence: str, block: Block) -> bool:
    """Whether a sentence has a number of many digits that is the value of a cell."""
    told = [float(each) for each in _NUMBER.findall(sentence) if sum(map(str.isdigit, each)) >= TELLING_DIGITS]
    return bool(told) and bool(np.isin(block.values, told).any())
