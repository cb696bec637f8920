"""Tests that only a real engine can answer: the patterns they stand in, as one stylesheet for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import quoteattr

from maskwright.edits.engines.screening import STANDARD_NAMESPACES, Version

Engine = Literal["lxml", "saxon"]
ENGINE_OF: dict[Version, Engine] = {"1.0": "lxml", "3.0": "saxon"}

# A prefix that no schema would choose: our names must not meet those of the rules.
_OURS = "maskwright.engine"
_XSL = "http://www.w3.org/1999/XSL/Transform"


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
    """XSLT that applies a pattern to a document of records and prints what happened.

    `depth`: steps from the document down to a record: 2 for ``/Records/Record``. Returns the stylesheet prints a line
    ``f RULE RECORD`` for every node a rule fires on, ``v RULE TEST RECORD`` where a test does not hold, and, in version
    3.0, ``e RULE TEST RECORD CODE`` where it cannot be evaluated. Rules and tests are counted from 0, records from 1;
    the record of a node above the records is 0.
    """
    spaces = {**dict(pattern.namespaces)}
    if pattern.version != "1.0":
        spaces = {**STANDARD_NAMESPACES, **spaces, "maskwright.error": "http://www.w3.org/2005/xqt-errors"}
    declared = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in spaces.items())
    start = (
        f'<xsl:template match="/"><xsl:apply-templates select="." mode="{_OURS}:visit">'
        f'<xsl:with-param name="{_OURS}:depth" select="0"/></xsl:apply-templates></xsl:template>'
    )
    declared = f'xmlns:xsl="{_XSL}" xmlns:{_OURS}="urn:maskwright:engine"{declared}'
    out = [
        f'<xsl:stylesheet version="{pattern.version}" {declared}>',
        '<xsl:output method="text" encoding="UTF-8"/>',
        *(f"<xsl:variable name={quoteattr(name)} select={quoteattr(value)}/>" for name, value in pattern.lets),
        start,
        _template("/|*", "-1", depth, ""),
    ]
    for number, rule in enumerate(pattern.rules):
        out.append(_template(rule.context, str(len(pattern.rules) - number), depth, _body(pattern, number, rule)))
    return "\n".join([*out, "</xsl:stylesheet>"])


def _template(match: str, priority: str, depth: int, body: str) -> str:
    # Templates are applied to all children of an element at once: a record's position among them is its number.
    return (
        f'<xsl:template match={quoteattr(match)} priority="{priority}" mode="{_OURS}:visit">'
        f'<xsl:param name="{_OURS}:depth"/><xsl:param name="{_OURS}:above" select="0"/>'
        f'<xsl:variable name="{_OURS}:record"><xsl:choose><xsl:when test="${_OURS}:depth = {depth}">'
        f'<xsl:value-of select="position()"/></xsl:when><xsl:otherwise><xsl:value-of select="${_OURS}:above"/>'
        f"</xsl:otherwise></xsl:choose></xsl:variable>{body}"
        f'<xsl:apply-templates select="*" mode="{_OURS}:visit">'
        f'<xsl:with-param name="{_OURS}:depth" select="${_OURS}:depth + 1"/>'
        f'<xsl:with-param name="{_OURS}:above" select="${_OURS}:record"/></xsl:apply-templates></xsl:template>'
    )


def _body(pattern: EnginePattern, number: int, rule: EngineRule) -> str:
    record = f'<xsl:value-of select="${_OURS}:record"/>'
    end = "<xsl:text>&#10;</xsl:text>"
    out = [f"<xsl:text>f {number} </xsl:text>{record}{end}"]
    lets = [f"<xsl:variable name={quoteattr(name)} select={quoteattr(value)}/>" for name, value in rule.lets]
    if pattern.version == "1.0":
        out += lets
    for position, (test, is_report) in enumerate(zip(rule.tests, rule.reports, strict=True)):
        where = f"{number} {position} </xsl:text>{record}"
        condition = quoteattr(f"({test})" if is_report else f"not({test})")
        check = f"<xsl:if test={condition}><xsl:text>v {where}{end}</xsl:if>"
        if pattern.version != "1.0":
            # Variables are computed lazily: their errors belong to the test that uses them.
            check = (
                f"<xsl:try>{''.join(lets)}{check}<xsl:catch><xsl:text>e {where}<xsl:text> </xsl:text>"
                f'<xsl:value-of select="local-name-from-QName($maskwright.error:code)"/>{end}</xsl:catch></xsl:try>'
            )
        out.append(check)
    return "".join(out)
