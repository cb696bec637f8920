"""Tokens of XPath 1.0 (section 3.7), and refusals of what a test may not contain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, cast

from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.xml_syntax import NCNAME

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

_LATER_TOKEN = (
    rf"(?P<space>[ \t\r\n]+)"
    rf"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z_]))"
    rf"|(?P<string>\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*')"
    rf"|(?P<reference>\$[ \t\r\n]*{NCNAME}(?::{NCNAME})?)"
    rf"|(?P<name>{NCNAME}(?::(?!:)(?:{NCNAME}|\*))?)"
    rf"|(?P<sign>//|::|:=|\.\.|!=|<=|>=|<<|>>|=>|\|\||[()\[\]{{}}@,./|+\-=<>*!?])"
)

TokenKind = Literal["number", "string", "reference", "name", "sign", "end"]


class Token(NamedTuple):
    """A token, and the character it starts at."""

    kind: TokenKind
    text: str
    start: int


def tokens_of(text: str, fail: Callable[[str], NoReturn], *, later: bool = False) -> list[Token]:
    """Cut a text into tokens, the last of which is the end; `later`: as XPath 2 and 3 do."""
    tokens: list[Token] = []
    pattern = re.compile(_LATER_TOKEN if later else _TOKEN)
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            character = text[position]
            if character in "\"'":
                fail(f"the string that starts at character {position + 1} is not closed")
            version = "2.0" if later else "1.0"
            fail(f"XPath {version} has no {character!r} (U+{ord(character):04X}), at character {position + 1}")
        if match.lastgroup != "space":
            tokens.append(Token(cast("TokenKind", match.lastgroup), match.group(), position))
        position = match.end()
    tokens.append(Token("end", "", position))
    return tokens


LONGEST_SHOWN = 500

_OTHER_XPATH_1 = (
    "position last count id local-name namespace-uri name concat starts-with contains substring-before "
    "substring-after substring string-length translate lang sum document key current generate-id "
    "format-number unparsed-entity-uri system-property element-available function-available"
)
_NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction"})
_LATER_OPERATORS = (
    "eq ne lt le gt ge is to idiv union intersect except instance castable cast treat return then else satisfies"
)
_UNDERSTOOD = (
    "understood are child elements by name, numbers, strings, + - * div mod, comparisons, and, or, not(), true(), "
    "false(), number(), string(), normalize-space(), boolean(), floor(), ceiling(), round(), and let variables"
)
DOMAIN_HINT = "to require that a value occurs in the original file, write the edit in YAML: town in original"
_OTHER_NODES = {
    "@": "an attribute (@)",
    "..": "the parent element (..)",
    ".": "the record as a whole (.)",
    "/": "an absolute path",
    "//": "the descendant path //",
    "*": "the wildcard *",
}
_PATHS = {
    "/": "a path of more than one step",
    "//": "a path of more than one step",
    "[": "a predicate in square brackets",
    "|": "the union operator |",
}


class Refusals:
    """Errors about one expression: each says where, and shows the expression.

    `place`: file and line of it.
    """

    def __init__(self, text: str, place: Place | None, max_nesting: int) -> None:
        self._text = text
        self._place = place
        self._max_nesting = max_nesting

    def path(self, token: Token) -> None:
        """Refuse a token that makes a longer path of the operand before it."""
        if token.kind == "sign" and token.text in _PATHS:
            self.unsupported(_PATHS[token.text], token)

    def operand(self, token: Token) -> NoReturn:
        """Refuse a token that stands where an operand is expected."""
        if token.kind == "sign" and token.text in _OTHER_NODES:
            self.unsupported(_OTHER_NODES[token.text], token)
        self.fail(f"expected a variable, number, string or function, found {_shown(token)}")

    def operator(self, token: Token, expected: str = "expected an operator") -> NoReturn:
        """Refuse a token that stands where an operator, or what is `expected`, has to."""
        if token.kind == "name" and token.text in _LATER_OPERATORS.split():
            self.unsupported(f"the operator {token.text!r} of XPath 2.0", token)
        if token.kind == "sign" and token.text == ",":
            self.unsupported("a list of arguments or a sequence (,)", token)
        self.fail(f"{expected}, found {_shown(token)}")

    def function(self, token: Token) -> NoReturn:
        """Refuse the call of a function."""
        name = token.text
        if name in _NODE_TESTS:
            self.unsupported(f"the node test {name}()", token)
        hint = DOMAIN_HINT if name in ("document", "doc", "index-of") else _UNDERSTOOD
        if name in _OTHER_XPATH_1.split():
            self.unsupported(f"the function {name}()", token, hint)
        self.fail(f"XPath 1.0 has no function {name}(){_at(token)}", hint)

    def unsupported(self, construct: str, token: Token, hint: str = _UNDERSTOOD) -> NoReturn:
        """Refuse what XPath has and this subset has not."""
        self.fail(f"{construct} is outside the understood subset of XPath 1.0{_at(token)}", hint)

    def too_deep(self) -> NoReturn:
        """Refuse deep nesting."""
        self.fail(
            f"this expression is nested more than {self._max_nesting} levels deep",
            "split it into several asserts, or a long sum into bracketed sums",
        )

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise EditError with the place and the expression."""
        place = self._place or Place()
        text = " ".join(self._text[: 20 * LONGEST_SHOWN].split())
        if len(text) > LONGEST_SHOWN:
            text = f"{text[:LONGEST_SHOWN]} ..."
        raise EditError(Problem(message, Place(place.file, place.line, None, text), hint))


def _shown(token: Token) -> str:
    return f"{token.text!r}{_at(token)}" if token.text else "the end"


def _at(token: Token) -> str:
    return f" (at character {token.start + 1})" if token.text else ""
