"""Syntax of YAML: plain scalars, and the parser's messages in words that help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


QUOTE_IT = "If this is meant as one piece of text, such as a rule, put it in quotes: 'like this'."
_INDENTATION = f"Check the indentation: keys and items of one list start in the same column. {QUOTE_IT}"
_CLOSE = "Close it; inside [ ] and { } a text with brackets, braces, commas or ': ' must be in quotes."
_EXPLANATIONS: tuple[tuple[str, str, str, str], ...] = (
    # part of PyYAML's context, part of its problem, what to say, what to do
    (
        "quoted scalar",
        "end of stream",
        "the quotation mark opened here is never closed",
        "Inside '...' write it twice: ''.",
    ),
    (
        "",
        "escape",
        "this backslash means nothing inside double quotes",
        "Use single quotes: in them it is just a backslash.",
    ),
    (
        "",
        "mapping values are not allowed",
        "a ':' stands where no key can be",
        "Text that holds ': ' must be in quotes; or this line, or the one above, is indented wrongly.",
    ),
    ("", "expected the node content", "a value is missing here, or a [ or { is not closed", _CLOSE),
    ("flow sequence", "", "the list opened with [ is not read on here: expected ',' or ']'", _CLOSE),
    ("flow mapping", "", "the mapping opened with { is not read on here: expected ',' or '}'", _CLOSE),
    ("", "could not find expected ':'", "this is not a 'key: value'", f"Add the ':' with a space after it. {QUOTE_IT}"),
    ("", "cannot start any token", "nothing can start with this character", QUOTE_IT),
    ("block", "", "this does not continue what the lines above began", _INDENTATION),
    ("", "<block end>", "this does not continue what the lines above began", _INDENTATION),
    ("", "document start", "this does not continue what the lines above began", _INDENTATION),
)


def explained(problem: str, context: str, character: str) -> tuple[str, str]:
    """Say a message of PyYAML's scanner or parser in words that help."""
    if character == "\t":
        return "a tab stands where YAML expects spaces or text", "Indent with spaces, and put spaces after ':' and '-'."
    for where, what, message, hint in _EXPLANATIONS:
        if where in context and what in problem:
            return message, hint
    return " ".join(part for part in (context, problem) if part), QUOTE_IT


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
    """What a text without quotes means."""
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
