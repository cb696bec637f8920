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


Place = Literal["group", "member", "cell", "elsewhere"]
"""Where a rule's nodes are: records of the upper level, of the lower, elements in these, or unknown."""

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
    group: str
    member: str


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
    if last == names.group:
        return "group"
    if last == names.member:
        return "member"
    is_name = last.replace("-", "").replace(".", "").replace("_", "").isalnum()
    return "cell" if is_name and last not in names.above and "(" not in steps else "elsewhere"


def context_stays(context: str, names: Names) -> bool:
    """Whether a context matches a node independently of other groups."""
    if "elsewhere" in places_of(context, names):
        return False
    tokens = tokens_of(context)
    for position, (_, text) in enumerate(tokens):
        is_of_group = text == "[" and position and local(tokens[position - 1][1]) == names.group
        if is_of_group and (tokens[position + 1][0] == "number" or _counts(tokens[position + 1 :])):
            return False
    return _stays(context.lstrip("/ "), "cell", names, is_context=True)


def stays_in_group(text: str, place: Place, names: Names) -> bool:
    """Whether an expression, evaluated on a node at `place`, looks at nothing outside the node's group."""
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
    inside = [place != "group"]
    for position, word in enumerate(words):
        before, after = _word(words, position - 1), _word(words, position + 1)
        if word == "[":
            inside.append(before not in ("..", ".", ")", "]") and local(before) != names.group)
        elif word == "]":
            inside.pop()
        elif word == ".." and not _parent_stays(words, position, inside):
            return False
        starts_at_top = word in ("/", "//") and before in _BEFORE_PATH and not (is_context and before == "|")
        leaves_by_axis = after == "::" and not _axis_stays(word, _word(words, position + 2), names)
        is_place = word in ("position", "last") and after == "(" and len(inside) == 1 and place == "group"
        if starts_at_top or leaves_by_axis or is_place:
            return False
    return True


def _word(words: list[str], position: int) -> str:
    return words[position] if 0 <= position < len(words) else ""


def _parent_stays(words: list[str], position: int, inside: list[bool]) -> bool:
    """Whether a ``..`` goes to nothing above the group: it starts a path on a node that is below it."""
    before, after = _word(words, position - 1), _word(words, position + 1)
    of_current = before == "/" and words[max(position - 4, 0) : position - 1] == ["current", "(", ")"]
    below = inside[0] if of_current else inside[-1]
    goes_on = after == "[" or (after == "/" and _word(words, position + 2) == "..")
    return below and (of_current or before in _BEFORE_PATH) and not goes_on


def _axis_stays(axis: str, test: str, names: Names) -> bool:
    tested = local(test)
    if axis in _SIBLINGS:
        return tested == names.member
    if axis in _UP:
        return tested == names.group
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
    return Names(above, local(elements.group), local(elements.member))


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
    """XSLT that applies a pattern to a document of whole groups and prints what happened."""
    names = names_of(elements)
    visit: _Visit | _VisitOfRecords = _Visit(names, len(elements.path))
    if is_about_records(pattern, names):
        to_members = any("member" in places_of(rule.context, names) for rule in pattern.rules)
        visit = _VisitOfRecords(names, len(elements.path), to_members=to_members)
    out = [*opening_of(pattern), visit.start(), visit.template("*", "-1", "")]
    place = f"<xsl:value-of select=\"concat(${OURS}:group, ' ', ${OURS}:member)\"/>"
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
    return places <= {"group", "member"} and not any(uses_position(text) for text in tests)


class _Visit:
    """Templates that go through a whole document and know in which group and member they are."""

    def __init__(self, names: Names, above: int) -> None:
        self._names, self._above = names, above

    def start(self) -> str:
        return _start("/*", 0)

    def template(self, match: str, priority: str, body: str) -> str:
        counted = "count(preceding-sibling::*[local-name() = '{}']) + 1"
        numbers = self._number("group", self._above, counted.format(self._names.group), "above")
        numbers += self._number("member", self._above + 1, counted.format(self._names.member), "within")
        return _template(match, priority, f"{numbers}{body}{_down('*')}")

    def _number(self, name: str, depth: int, counted: str, otherwise: str) -> str:
        element = self._names.group if name == "group" else self._names.member
        is_one = quoteattr(f"${OURS}:depth = {depth} and local-name() = '{element}'")
        return (
            f'<xsl:variable name="{OURS}:{name}"><xsl:choose><xsl:when test={is_one}>'
            f"<xsl:value-of select={quoteattr(counted)}/></xsl:when><xsl:otherwise>"
            f'<xsl:value-of select="${OURS}:{otherwise}"/></xsl:otherwise></xsl:choose></xsl:variable>'
        )


class _VisitOfRecords:
    """Templates that go to the records only, of both levels or of the upper one."""

    def __init__(self, names: Names, above: int, *, to_members: bool) -> None:
        self._names, self._above, self._to_members = names, above, to_members

    def start(self) -> str:
        return _start(f"/*{'/*' * (self._above - 1)}/*[local-name() = '{self._names.group}']", self._above)

    def template(self, match: str, priority: str, body: str) -> str:
        of_group = f"${OURS}:depth = {self._above}"
        # A truth value is 1 or 0 here: numbers that are put together from text are much slower.
        group = f"number({of_group}) * position() + ${OURS}:above"
        member = f"number(not({of_group})) * position()"
        numbers = (
            f'<xsl:variable name="{OURS}:group" select="{group}"/>'
            f'<xsl:variable name="{OURS}:member" select="{member}"/>'
        )
        members = f"*[local-name() = '{self._names.member}']"
        down = f'<xsl:if test="{of_group}">{_down(members)}</xsl:if>' if self._to_members else ""
        return _template(match, priority, f"{numbers}{body}{down}")


def _start(select: str, depth: int) -> str:
    return (
        f'<xsl:template match="/"><xsl:apply-templates select="{select}" mode="{OURS}:visit">'
        f'<xsl:with-param name="{OURS}:depth" select="{depth}"/></xsl:apply-templates></xsl:template>'
    )


def _template(match: str, priority: str, content: str) -> str:
    return (
        f'<xsl:template match={quoteattr(match)} priority="{priority}" mode="{OURS}:visit">'
        f'<xsl:param name="{OURS}:depth"/><xsl:param name="{OURS}:above" select="0"/>'
        f'<xsl:param name="{OURS}:within" select="0"/>{content}</xsl:template>'
    )


def _down(select: str) -> str:
    return (
        f'<xsl:apply-templates select="{select}" mode="{OURS}:visit">'
        f'<xsl:with-param name="{OURS}:depth" select="${OURS}:depth + 1"/>'
        f'<xsl:with-param name="{OURS}:above" select="${OURS}:group"/>'
        f'<xsl:with-param name="{OURS}:within" select="${OURS}:member"/></xsl:apply-templates>'
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
