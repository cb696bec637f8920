"""Looking over an XPath expression before an engine gets it: what it may call, and whether it stays in one record.

The engines are shut off from files, network and environment by their own switches; this is the first of two locks. It
is a list of what is allowed: whatever a version of XPath adds is refused until somebody has thought about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from maskwright.foundation.xml_names import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.languages.schematron.options import SchematronOptions

Version = Literal["1.0", "3.0"]

MOST_TOKENS = 2_000

STANDARD_NAMESPACES = {
    "xs": "http://www.w3.org/2001/XMLSchema",
    "fn": "http://www.w3.org/2005/xpath-functions",
    "math": "http://www.w3.org/2005/xpath-functions/math",
    "map": "http://www.w3.org/2005/xpath-functions/map",
    "array": "http://www.w3.org/2005/xpath-functions/array",
}

_XPATH_1 = frozenset(
    "last position count local-name namespace-uri name string concat starts-with contains substring-before "  # noqa: SIM905
    "substring-after substring string-length normalize-space translate boolean not true false number sum floor ceiling "
    "round current generate-id format-number".split()
)
_XPATH_3 = _XPATH_1 | frozenset(
    "abs adjust-date-to-timezone adjust-dateTime-to-timezone adjust-time-to-timezone apply avg ceiling "  # noqa: SIM905
    "codepoint-equal codepoints-to-string compare contains-token current-date current-dateTime current-time data "
    "dateTime day-from-date day-from-dateTime days-from-duration deep-equal distinct-values empty ends-with "
    "exactly-one exists filter fold-left fold-right for-each for-each-pair format-date format-dateTime format-integer "
    "format-time has-children head hours-from-dateTime hours-from-duration hours-from-time implicit-timezone index-of "
    "innermost insert-before local-name-from-QName lower-case matches max min minutes-from-dateTime "
    "minutes-from-duration minutes-from-time month-from-date month-from-dateTime months-from-duration node-name "
    "normalize-unicode one-or-more outermost parse-ietf-date QName remove replace reverse round-half-to-even "
    "seconds-from-dateTime seconds-from-duration seconds-from-time sort string-join string-to-codepoints subsequence "
    "tail timezone-from-date timezone-from-dateTime timezone-from-time tokenize unordered upper-case year-from-date "
    "year-from-dateTime years-from-duration zero-or-one".split()
)
_KEYWORDS = frozenset(
    "and or div mod eq ne lt le gt ge is to idiv union intersect except instance of castable cast treat as return for "  # noqa: SIM905
    "let in if then else some every satisfies text node element item empty-sequence function map array".split()
)
_NODES_NOT_READ = {
    "comment": "comments are no data",
    "processing-instruction": "processing instructions are no data",
    "attribute": "records have no attributes",
    "namespace-node": "namespaces are no data",
    "document-node": "the document is not a record",
}
_OTHER_RECORDS = frozenset({"position", "last", "path", "root"})
_AWAY = frozenset(
    {"parent", "ancestor", "ancestor-or-self", "following", "following-sibling", "preceding", "preceding-sibling"}
)
_OPERATORS = frozenset("and or div mod eq ne lt le gt ge is to idiv union intersect except return then else in".split())  # noqa: SIM905
# Compiled on first use by `re`, which keeps it: the classes of characters take a while.
_TOKEN = (
    rf"(?P<space>[ \t\r\n]+)"
    rf"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<string>\"[^\"]*\"|'[^']*')"
    rf"|(?P<reference>\$[ \t\r\n]*{NCNAME}(?::{NCNAME})?)"
    rf"|(?P<braced>Q\{{[^{{}}]*\}}{NCNAME})"
    rf"|(?P<name>{NCNAME}(?::(?!:)(?:{NCNAME}|\*))?)"
    rf"|(?P<sign>//|::|:=|\.\.|!=|<=|>=|<<|>>|=>|\|\||[()\[\]{{}}@,./|+\-=<>*!?#:])"
)


@dataclass(frozen=True)
class Screening:
    """What is known of an expression without evaluating it.

    `reason`: why no engine gets it; None: an engine may. `stays_in_record`: it looks at nothing but the node it is
    evaluated on and what is inside: the answer does not depend on other records. `is_constant`: it looks at no node at
    all. `names`: names of elements it mentions, in order. `references`: names of variables it uses.
    """

    reason: str | None
    stays_in_record: bool = True
    is_constant: bool = False
    names: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def screen(text: str, version: Version, namespaces: Mapping[str, str], limits: SchematronOptions) -> Screening:
    """Look an expression over.

    `text`: an XPath expression, or the pattern of a rule's context. `namespaces`: those the schema declares with
    ``ns``. `limits`: longest expression and deepest nesting.
    """
    if len(text) > limits.max_expression:
        return Screening(f"it has {len(text):,} characters; at most {limits.max_expression:,} are read")
    if version == "3.0" and "(:" in text:
        return Screening("it holds a comment (: ... :)")
    try:
        tokens = tokens_of(text)
    except ValueError as error:
        return Screening(str(error))
    if len(tokens) > MOST_TOKENS:
        return Screening(f"it has more than {MOST_TOKENS:,} terms")
    return _Screener(tokens, version, namespaces, limits).screening()


def tokens_of(text: str) -> list[tuple[str, str]]:
    """Terms of an expression in order, each with its kind (``number``, ``string``, ``reference``, ``name``, ...)."""
    found = []
    pattern = re.compile(_TOKEN)
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise ValueError(f"XPath has no {text[position]!r}, at character {position + 1}")
        if match.lastgroup != "space":
            found.append((str(match.lastgroup), match.group()))
        position = match.end()
    return found


class _Screener:
    def __init__(
        self,
        tokens: list[tuple[str, str]],
        version: Version,
        namespaces: Mapping[str, str],
        limits: SchematronOptions,
    ) -> None:
        self._tokens = tokens
        self._allowed = _XPATH_1 if version == "1.0" else _XPATH_3
        self._version = version
        self._namespaces = namespaces
        self._limits = limits
        self._depth = 0
        self._local = self._constant = True
        self._names: dict[str, None] = {}
        self._references: dict[str, None] = {}

    def screening(self) -> Screening:
        for position, (kind, text) in enumerate(self._tokens):
            match kind:
                case "sign":
                    reason = self._sign(position, text)
                case "name":
                    reason = self._name(position, text)
                case "reference":
                    reason = None
                    self._references[text[1:].strip()] = None
                case "braced":
                    reason = f"it names {text}"
                case _:
                    reason = None
            if reason is not None:
                return Screening(reason)
        is_constant = self._constant and self._local
        return Screening(None, self._local, is_constant, tuple(self._names), tuple(self._references))

    def _sign(self, position: int, text: str) -> str | None:
        self._depth += (text in "([{") - (text in ")]}")
        if self._depth > self._limits.max_nesting:
            return f"it is nested more than {self._limits.max_nesting} levels deep"
        if text == "@":
            return "it looks at attributes, and records have none"
        if text == ".." or (text in ("/", "//") and self._starts_path(position)):
            self._local = False
        self._constant = self._constant and text not in ("/", "//", ".", "..", "*")
        return None

    def _name(self, position: int, text: str) -> str | None:
        after = self._text(position + 1)
        if after in ("(", "#") and (reason := self._reason_of_call(text, after)):
            return reason
        if after == "::":
            self._local = self._local and text not in _AWAY
            self._constant = False
            if text in ("attribute", "namespace"):
                return f"it uses the axis {text}::, and records have none of those"
        elif after == "(":
            self._local = self._local and text.rpartition(":")[2] not in _OTHER_RECORDS
            self._constant = self._constant and text in self._allowed and self._text(position + 2) != ")"
        elif after != "#" and not self._is_keyword(position):
            self._names[text] = None
            self._constant = False
        return None

    def _text(self, position: int) -> str:
        return self._tokens[position][1] if 0 <= position < len(self._tokens) else ""

    def _starts_path(self, position: int) -> bool:
        """Whether a slash has nothing on its left: the path then starts at the document."""
        if position == 0:
            return True
        kind, text = self._tokens[position - 1]
        if kind == "sign":
            return text not in (")", "]", ".", "..")
        return kind == "name" and text in _OPERATORS

    def _is_keyword(self, position: int) -> bool:
        text = self._text(position)
        if text not in _KEYWORDS or position == 0:
            return text in ("if", "for", "let", "some", "every") and self._text(position + 1)[:1] in ("(", "$")
        return self._text(position - 1) not in ("/", "//", "::", "(", "[", ",") or self._text(position + 1)[:1] == "$"

    def _reason_of_call(self, name: str, after: str) -> str | None:
        prefix, _, local = name.rpartition(":")
        if prefix:
            uri = self._namespaces.get(prefix) or (STANDARD_NAMESPACES.get(prefix) if self._version != "1.0" else None)
            if self._version == "1.0" or uri not in STANDARD_NAMESPACES.values():
                return f"it calls {name}(), a function that is no part of XPath"
            if uri != STANDARD_NAMESPACES["fn"] or local in self._allowed:
                return None
        elif local in self._allowed or (after == "(" and local in _KEYWORDS):
            return None
        if local in _NODES_NOT_READ:
            return f"it looks for {local}(): {_NODES_NOT_READ[local]}"
        version = "XPath 1.0" if self._version == "1.0" else "XPath 3.1"
        return f"{local}() is no function of {version}, or one that could reach outside the records"
