"""Tokens of XPath 1.0 (section 3.7 of the recommendation)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, cast

from maskwright.foundation.xml_names import NCNAME

if TYPE_CHECKING:
    from collections.abc import Callable

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

    `fail`: raises, given what is wrong.
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
