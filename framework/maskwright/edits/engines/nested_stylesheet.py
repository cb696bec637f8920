"""Patterns as stylesheets for files with nested records, and whether an expression stays in one group."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape, quoteattr

from maskwright.edits.engines.engine_tests import LINE_END, OURS, body_of, opening_of, screen, tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.levels.linked_data import NestedElements
    from maskwright.edits.engines.engine_tests import EnginePattern, Version
    from maskwright.edits.languages.schematron.options import SchematronOptions


Place = int | Literal["cell", "elsewhere"]
"""Where a rule's nodes are: records of a level, by its number from 0 at the top, elements in these, or unknown."""

_BEFORE_PATH = frozenset(
    {
        *("", "(", "[", ",", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "|", ":="),
        *("and", "or", "div", "mod", "in", "return", "satisfies", "then", "else"),
    }
)
_SIBLINGS = frozenset({"preceding-sibling", "following-sibling"})
_UP = frozenset({"parent", "ancestor", "ancestor-or-self"})
_AWAY = frozenset({"preceding", "following"})


@dataclass(frozen=True)
class Names:
    """Local names of the elements of a nested file."""

    above: frozenset[str]
    records: tuple[str, ...]


def local(tag: str) -> str:
    """Name without its prefix."""
    return tag.rpartition(":")[2]


def places_of(context: str, names: Names) -> set[Place]:
    """Where the nodes of a rule are."""
    return {_place(steps, names) for steps in _alternatives(context)}


def _alternatives(context: str) -> list[list[str]]:
    """Names of the steps of each pattern of a context, without their predicates."""
    found: list[list[str]] = [[]]
    depth = 0
    try:
        tokens = tokens_of(context)
    except ValueError:
        return [[]]
    for _, text in tokens:
        depth += (text == "[") - (text == "]")
        if depth or text in ("]", "/", "//"):
            continue
        if text == "|":
            found.append([])
        else:
            found[-1].append(text)
    return found


def _place(steps: list[str], names: Names) -> Place:
    last = local(steps[-1]) if steps else ""
    if last in names.records:
        return names.records.index(last)
    is_name = last.replace("-", "").replace(".", "").replace("_", "").isalnum()
    return "cell" if is_name and last not in names.above and "(" not in steps else "elsewhere"


def context_stays(context: str, names: Names) -> bool:
    """Whether a context matches a node independently of other records of the top level."""
    if "elsewhere" in places_of(context, names):
        return False
    tokens = tokens_of(context)
    for position, (_, text) in enumerate(tokens):
        is_of_group = text == "[" and position and local(tokens[position - 1][1]) == names.records[0]
        if is_of_group and (tokens[position + 1][0] == "number" or _counts(tokens[position + 1 :])):
            return False
    return _stays(context.lstrip("/ "), "cell", names, is_context=True)


def stays_in_group(text: str, place: Place, names: Names) -> bool:
    """Whether an expression, evaluated on a node at `place`, stays in the record of the top level around the node."""
    return place != "elsewhere" and _stays(text, place, names)


def _counts(tokens: list[tuple[str, str]]) -> bool:
    """Whether a predicate uses the position of its node."""
    depth = 1
    for _, text in tokens:
        depth += (text == "[") - (text == "]")
        if not depth:
            return False
        if depth == 1 and text in ("position", "last"):
            return True
    return False


def _stays(text: str, place: Place, names: Names, *, is_context: bool = False) -> bool:
    words = [word for _, word in tokens_of(text)]
    heights = [_height(place)]
    for position, word in enumerate(words):
        before, after = _word(words, position - 1), _word(words, position + 1)
        if word == "[":
            heights.append(0 if before in ("..", ".", ")", "]") else _height(_place([before], names)))
        elif word == "]":
            heights.pop()
        elif word == ".." and not _parent_stays(words, position, heights):
            return False
        starts_at_top = word in ("/", "//") and before in _BEFORE_PATH and not (is_context and before == "|")
        leaves_by_axis = after == "::" and not _axis_stays(word, _word(words, position + 2), names)
        is_place = word in ("position", "last") and after == "(" and len(heights) == 1 and place == 0
        if starts_at_top or leaves_by_axis or is_place:
            return False
    return True


def _word(words: list[str], position: int) -> str:
    return words[position] if 0 <= position < len(words) else ""


def _height(place: Place) -> int:
    """Steps up that surely lead to nothing above the record of the top level."""
    return place if isinstance(place, int) else 1


def _parent_stays(words: list[str], position: int, heights: list[int]) -> bool:
    """Whether a ``..`` leads to nothing above the top level: it is among the first steps of a path from below."""
    steps = 1
    while words[max(position - 2, 0) : position] == ["..", "/"]:
        position, steps = position - 2, steps + 1
    before, after = _word(words, position - 1), _word(words, position + 2 * steps - 1)
    of_current = before == "/" and words[max(position - 4, 0) : position - 1] == ["current", "(", ")"]
    below = heights[0] if of_current else heights[-1]
    return steps <= below and (of_current or before in _BEFORE_PATH) and after != "["


def _axis_stays(axis: str, test: str, names: Names) -> bool:
    tested = local(test)
    if axis in _SIBLINGS:
        return tested in names.records[1:]
    if axis in _UP:
        return tested in names.records[:-1]
    return axis not in _AWAY


def uses_position(text: str) -> bool:
    """Whether an expression uses the position of the node that it is evaluated on."""
    words = [word for _, word in tokens_of(text)]
    depth = 0
    for position, word in enumerate(words):
        depth += (word == "[") - (word == "]")
        if not depth and word in ("position", "last") and _word(words, position + 1) == "(":
            return True
    return False


BETWEEN = "\ue000"
"""Stands before each message of a failure."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def names_of(elements: NestedElements) -> Names:
    """Local names of a file's elements."""
    above = frozenset(local(tag) for tag in elements.path)
    return Names(above, tuple(local(tag) for tag in elements.records))


def fired_mark(rule: int) -> str:
    """Character that stands for a rule which fired."""
    return chr(ord("A") + rule) if rule < 26 else chr(0xE100 + rule)


def nested_stylesheet(
    pattern: EnginePattern,
    elements: NestedElements,
    fired: Literal["counted", "placed"],
    messages: Mapping[tuple[int, int], Sequence[str]],
    limits: SchematronOptions,
) -> str:
    """XSLT that applies a pattern to a document of whole records of the top level and prints what happened."""
    names = names_of(elements)
    visit: _Visit | _VisitOfRecords = _Visit(names, len(elements.path))
    if is_about_records(pattern, names):
        places = [place for rule in pattern.rules for place in places_of(rule.context, names)]
        deepest = max((place for place in places if isinstance(place, int)), default=0)
        visit = _VisitOfRecords(names, len(elements.path), deepest)
    out = [*opening_of(pattern), visit.start(), visit.template("*", "-1", "")]
    numbers = ", ' ', ".join(f"${OURS}:number{depth}" for depth in range(len(names.records)))
    place = f'<xsl:value-of select="concat({numbers})"/>'
    for number, rule in enumerate(pattern.rules):
        mark = f"<xsl:text>{fired_mark(number)}</xsl:text>"
        if fired == "placed":
            mark = f"<xsl:text>&#10;f {number} </xsl:text>{place}{LINE_END}"

        def message(position: int, number: int = number) -> str:
            return "".join(
                f"<xsl:text>{BETWEEN}</xsl:text>{_filled_in(text, pattern.version, dict(pattern.namespaces), limits)}"
                for text in messages.get((number, position), ())
            )

        body = body_of(pattern, number, mark, place, start="&#10;", message=message)
        out.append(visit.template(rule.context, str(len(pattern.rules) - number), body))
    return "\n".join([*out, "</xsl:stylesheet>"])


def is_about_records(pattern: EnginePattern, names: Names) -> bool:
    """Whether only records need to be visited, not the elements in them nor those around."""
    places = {place for rule in pattern.rules for place in places_of(rule.context, names)}
    tests = [text for rule in pattern.rules for text in (*rule.tests, *(value for _, value in rule.lets))]
    return places.isdisjoint({"cell", "elsewhere"}) and not any(uses_position(text) for text in tests)


class _Visit:
    """Templates that go through a whole document and know in which record of each level they are."""

    def __init__(self, names: Names, above: int) -> None:
        self._names, self._above = names, above

    def start(self) -> str:
        return _start("/*", 0)

    def template(self, match: str, priority: str, body: str) -> str:
        levels = len(self._names.records)
        numbers = "".join(self._number(level, element) for level, element in enumerate(self._names.records))
        return _template(match, priority, f"{numbers}{body}{_down('*', levels)}", levels)

    def _number(self, level: int, element: str) -> str:
        is_one = quoteattr(f"${OURS}:depth = {self._above + level} and local-name() = '{element}'")
        counted = quoteattr(f"count(preceding-sibling::*[local-name() = '{element}']) + 1")
        return (
            f'<xsl:variable name="{OURS}:number{level}"><xsl:choose><xsl:when test={is_one}>'
            f"<xsl:value-of select={counted}/></xsl:when><xsl:otherwise>"
            f'<xsl:value-of select="${OURS}:above{level}"/></xsl:otherwise></xsl:choose></xsl:variable>'
        )


class _VisitOfRecords:
    """Templates that go to the records only, of all levels down to the `deepest`."""

    def __init__(self, names: Names, above: int, deepest: int) -> None:
        self._names, self._above, self._deepest = names, above, deepest

    def start(self) -> str:
        return _start(f"/*{'/*' * (self._above - 1)}/*[local-name() = '{self._names.records[0]}']", self._above)

    def template(self, match: str, priority: str, body: str) -> str:
        levels = range(len(self._names.records))
        # A truth value is 1 or 0 here: numbers that are put together from text are much slower.
        numbers = "".join(
            f'<xsl:variable name="{OURS}:number{level}" '
            f'select="number(${OURS}:depth = {self._above + level}) * position() + ${OURS}:above{level}"/>'
            for level in levels
        )
        members = [f"*[local-name() = '{element}']" for element in self._names.records[1 : self._deepest + 1]]
        down = "".join(
            f'<xsl:if test="${OURS}:depth = {self._above + level}">{_down(select, len(levels))}</xsl:if>'
            for level, select in enumerate(members)
        )
        return _template(match, priority, f"{numbers}{body}{down}", len(levels))


def _start(select: str, depth: int) -> str:
    return (
        f'<xsl:template match="/"><xsl:apply-templates select="{select}" mode="{OURS}:visit">'
        f'<xsl:with-param name="{OURS}:depth" select="{depth}"/></xsl:apply-templates></xsl:template>'
    )


def _template(match: str, priority: str, content: str, levels: int) -> str:
    above = "".join(f'<xsl:param name="{OURS}:above{level}" select="0"/>' for level in range(levels))
    return (
        f'<xsl:template match={quoteattr(match)} priority="{priority}" mode="{OURS}:visit">'
        f'<xsl:param name="{OURS}:depth"/>{above}{content}</xsl:template>'
    )


def _down(select: str, levels: int) -> str:
    above = "".join(
        f'<xsl:with-param name="{OURS}:above{level}" select="${OURS}:number{level}"/>' for level in range(levels)
    )
    return (
        f'<xsl:apply-templates select="{select}" mode="{OURS}:visit">'
        f'<xsl:with-param name="{OURS}:depth" select="${OURS}:depth + 1"/>{above}</xsl:apply-templates>'
    )


def _filled_in(message: str, version: Version, namespaces: Mapping[str, str], limits: SchematronOptions) -> str:
    """Message with its expressions computed; ``{...}`` that is none that an engine may get stays as it is."""
    pieces: list[str] = []
    position = 0
    for match in _PLACEHOLDER.finditer(message):
        if screen(match[1], version, namespaces, limits).reason is not None:
            continue
        pieces.append(f"<xsl:text>{escape(message[position : match.start()])}</xsl:text>")
        value = (
            f"translate(string(({match[1]})[1]), '&#10;{BETWEEN}', '  ')"
            if version != "1.0"
            else (f"translate(string({match[1]}), '&#10;{BETWEEN}', '  ')")
        )
        # The line feed has to reach the engine as a reference: attribute values are normalised.
        pieces.append(f"<xsl:value-of select={quoteattr(value).replace('&amp;#10;', '&#10;')}/>")
        position = match.end()
    pieces.append(f"<xsl:text>{escape(message[position:])}</xsl:text>")
    return "".join(pieces)
