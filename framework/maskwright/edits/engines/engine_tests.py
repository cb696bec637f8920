"""Tests for a real XPath engine: expressions screened first, patterns as stylesheets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import quoteattr

from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    "attribute": "write @NAME",
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
    all. `names`: names of elements it mentions, and of attributes with ``@``, in order. `references`: names of
    variables it uses.
    """

    reason: str | None
    stays_in_record: bool = True
    is_constant: bool = False
    names: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def screen(text: str, version: Version, namespaces: Mapping[str, str], limits: SchematronOptions) -> Screening:
    """Look an expression over."""
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


def with_prefixes(text: str, prefixes: Mapping[str, str]) -> str:
    """Expression with other prefixes; names inside strings are left alone."""
    tokens_of(text)

    def written(match: re.Match[str]) -> str:
        prefix, colon, local = match["name"].partition(":") if match["name"] else ("", "", "")
        return f"{prefixes[prefix]}:{local}" if colon and prefix in prefixes else match.group()

    return re.sub(_TOKEN, written, text)


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
            if text == "namespace":
                return "it uses the axis namespace::, and namespaces are no data"
        elif after == "(":
            self._local = self._local and text.rpartition(":")[2] not in _OTHER_RECORDS
            self._constant = self._constant and text in self._allowed and self._text(position + 2) != ")"
        elif after != "#" and not self._is_keyword(position) and not self._is_type(position):
            is_attribute = self._text(position - 1) == "@" or (
                self._text(position - 1) == "::" and self._text(position - 2) == "attribute"
            )
            prefix = text.rpartition(":")[0]
            if prefix not in ("", "xml") and prefix not in {**STANDARD_NAMESPACES, **self._namespaces}:
                return f"no <ns> declares the prefix {prefix!r}"
            self._names[f"@{text}" if is_attribute else text] = None
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

    def _is_type(self, position: int) -> bool:
        """Whether a name is that of a type: ``a cast as xs:date``, ``a instance of xs:date``."""
        return self._text(position - 1) in ("as", "of") and self._is_keyword(position - 1)

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


Engine = Literal["lxml", "saxon"]
ENGINE_OF: dict[Version, Engine] = {"1.0": "lxml", "3.0": "saxon"}

# A prefix that no schema would choose: our names must not meet those of the rules.
OURS = "maskwright.engine"
XSL = "http://www.w3.org/1999/XSL/Transform"
EXTENSIONS = "https://maskwright.invalid/xslt"
"""Namespace of the functions that our stylesheets call and the process of libxslt has."""

SIBLING_NUMBER = "sibling-number"
OTHER_DOCUMENT, OTHER_PARAMETER = "document", "maskwright.document"
LINE_END = "<xsl:text>&#10;</xsl:text>"


CODES = {
    "FORG0001": "a value cannot be cast",
    "FORG0006": "a value has no truth value, or no total",
    "XPTY0004": "a value is of another type than the test needs",
    "FOAR0001": "a division by zero",
    "FOAR0002": "a number is too large",
    "FODT0001": "a date is out of range",
}
"""What an engine's codes of errors mean."""


def meaning_of(code: str) -> str:
    """Code of an error, with what it means where that is known."""
    return f"{code}: {CODES[code]}" if code in CODES else code


@dataclass(frozen=True)
class EngineRule:
    """One rule of a pattern: its context, its variables, its tests in order. A test holds where the edit does."""

    context: str
    lets: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    reports: tuple[bool, ...]


@dataclass(frozen=True)
class EnginePattern:
    """A pattern as an engine checks it.

    `version`: of XSLT and XPath; says which engine. `lets`: variables of schema, phase and pattern, computed at the
    document. `rules`: every rule of the pattern, in order: the first whose context matches a node fires.
    `stays_in_record`: nothing in it looks beyond a record, so that the file can be checked in pieces. `names`: names of
    the elements that contexts mention.
    """

    version: Version
    namespaces: tuple[tuple[str, str], ...]
    lets: tuple[tuple[str, str], ...]
    rules: tuple[EngineRule, ...]
    stays_in_record: bool
    names: tuple[str, ...]

    @property
    def engine(self) -> Engine:
        """Who checks it."""
        return ENGINE_OF[self.version]


@dataclass(frozen=True)
class EngineTest:
    """One test of a pattern.

    `rule`, `test`: 0-based places in `pattern.rules` and in the rule's tests. `names`: elements that the test and its
    variables mention.
    """

    pattern: EnginePattern
    rule: int
    test: int
    names: tuple[str, ...]


def stylesheet_of(pattern: EnginePattern, depth: int) -> str:
    """XSLT that applies a pattern to a document of records and prints what happened."""
    start = (
        f'<xsl:template match="/"><xsl:apply-templates select="." mode="{OURS}:visit">'
        f'<xsl:with-param name="{OURS}:depth" select="0"/></xsl:apply-templates></xsl:template>'
    )
    out = [*opening_of(pattern), start, _template("/|*", "-1", depth, "")]
    record = f'<xsl:value-of select="${OURS}:record"/>'
    for number, rule in enumerate(pattern.rules):
        fired = f"<xsl:text>f {number} </xsl:text>{record}{LINE_END}"
        body = body_of(pattern, number, fired, record)
        out.append(_template(rule.context, str(len(pattern.rules) - number), depth, body))
    return "\n".join([*out, "</xsl:stylesheet>"])


def opening_of(pattern: EnginePattern) -> list[str]:
    """Start tag of a pattern's stylesheet, its output and the variables that are computed at the document."""
    spaces = dict(pattern.namespaces)
    if pattern.version != "1.0":
        spaces = {**STANDARD_NAMESPACES, **spaces, "maskwright.error": "http://www.w3.org/2005/xqt-errors"}
    declared = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in spaces.items())
    declared = f'xmlns:xsl="{XSL}" xmlns:{OURS}="urn:maskwright:engine"{declared}'
    return [
        f'<xsl:stylesheet version="{pattern.version}" {declared}>',
        '<xsl:output method="text" encoding="UTF-8"/>',
        *_variables(pattern.lets),
    ]


def _variables(lets: Sequence[tuple[str, str]]) -> list[str]:
    return [f"<xsl:variable name={quoteattr(name)} select={quoteattr(value)}/>" for name, value in lets]


def body_of(
    pattern: EnginePattern,
    number: int,
    fired: str,
    record: str,
    *,
    start: str = "",
    message: Callable[[int], str] = lambda _: "",
) -> str:
    """Tests of a rule, each printing a line where it fails, or where it cannot be evaluated.

    `fired`: prints that the rule fired. `record`: prints the record. `start`: what each line begins with. `message`:
    prints what follows the record where the test at a place fails.
    """
    rule = pattern.rules[number]
    out = [fired]
    lets = _variables(rule.lets)
    if pattern.version == "1.0":
        out += lets
    for position, (test, is_report) in enumerate(zip(rule.tests, rule.reports, strict=True)):
        where = f"{number} {position} </xsl:text>{record}"
        condition = quoteattr(f"({test})" if is_report else f"not({test})")
        check = f"<xsl:if test={condition}><xsl:text>{start}v {where}{message(position)}{LINE_END}</xsl:if>"
        if pattern.version != "1.0":
            # Variables are computed lazily: their errors belong to the test that uses them.
            check = (
                f"<xsl:try>{''.join(lets)}{check}<xsl:catch><xsl:text>{start}e {where}<xsl:text> </xsl:text>"
                f'<xsl:value-of select="local-name-from-QName($maskwright.error:code)"/>{LINE_END}'
                "</xsl:catch></xsl:try>"
            )
        out.append(check)
    return "".join(out)


def _template(match: str, priority: str, depth: int, body: str) -> str:
    # Templates are applied to all children of an element at once: a record's position among them is its number.
    return (
        f'<xsl:template match={quoteattr(match)} priority="{priority}" mode="{OURS}:visit">'
        f'<xsl:param name="{OURS}:depth"/><xsl:param name="{OURS}:above" select="0"/>'
        f'<xsl:variable name="{OURS}:record"><xsl:choose><xsl:when test="${OURS}:depth = {depth}">'
        f'<xsl:value-of select="position()"/></xsl:when><xsl:otherwise><xsl:value-of select="${OURS}:above"/>'
        f"</xsl:otherwise></xsl:choose></xsl:variable>{body}"
        f'<xsl:apply-templates select="*" mode="{OURS}:visit">'
        f'<xsl:with-param name="{OURS}:depth" select="${OURS}:depth + 1"/>'
        f'<xsl:with-param name="{OURS}:above" select="${OURS}:record"/></xsl:apply-templates></xsl:template>'
    )
