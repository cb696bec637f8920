"""Tokens of XPath 1.0 (section 3.7 of the recommendation)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, cast

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME_START = (
    r"A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F"
    r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
NCNAME = rf"[{_NAME_START}][{_NAME_START}\-.0-9\u00B7\u0300-\u036F\u203F\u2040]*"
# Compiled on first use by `re`, which keeps it: the classes of characters take a while.
_TOKEN = (
    rf"(?P<space>[ \t\r\n]+)"
    rf"|(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    rf"|(?P<string>\"[^\"]*\"|'[^']*')"
    rf"|(?P<reference>\$[ \t\r\n]*{NCNAME})"
    rf"|(?P<name>{NCNAME}(?::(?!:)(?:{NCNAME}|\*))?)"
    rf"|(?P<sign>//|::|\.\.|!=|<=|>=|[()\[\]@,./|+\-=<>*])"
)

TokenKind = Literal["number", "string", "reference", "name", "sign", "end"]


class Token(NamedTuple):
    """A token, and the character it starts at."""

    kind: TokenKind
    text: str
    start: int


def tokens_of(text: str, fail: Callable[[str], NoReturn]) -> list[Token]:
    """Cut a text into tokens, the last of which is the end.

    Parameters
    ----------
    text : str
    fail : callable
        Raises, given what is wrong.
    """
    tokens: list[Token] = []
    pattern = re.compile(_TOKEN)
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            character = text[position]
            if character in "\"'":
                fail(f"the string that starts at character {position + 1} is not closed")
            fail(f"XPath 1.0 has no {character!r} (U+{ord(character):04X}), at character {position + 1}")
        if match.lastgroup != "space":
            tokens.append(Token(cast("TokenKind", match.lastgroup), match.group(), position))
        position = match.end()
    tokens.append(Token("end", "", position))
    return tokens
