"""Plain scalars of a YAML file: which texts are numbers, true, false or nothing; every other is text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DIGITS = 300

Scalar = str | int | float | bool | None

_INTEGER = re.compile(r"[-+]?[0-9]+")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, Scalar] = {
    word: meaning
    for meaning, words in ((None, ("", "~", "null")), (True, ("true",)), (False, ("false",)))
    for text in words
    for word in (text, text.capitalize(), text.upper())
}


def plain_value(text: str, place: Place, error: type[InputError]) -> Scalar:
    """What a text without quotes means.

    `place`: of the text, for the error. `error`: family of the error raised.
    """
    if text in _WORDS:
        return _WORDS[text]
    if not _DECIMAL.fullmatch(text):
        return text
    if len(text) > MAX_DIGITS:
        raise error(Problem(f"a number with more than {MAX_DIGITS} digits", place, "If it is text, put it in quotes."))
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise error(Problem("this number is too large for binary64", place, "If it is text, put it in quotes."))
    return number
