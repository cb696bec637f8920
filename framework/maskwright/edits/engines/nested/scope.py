"""Whether an expression looks at nothing but one group: a household with its persons.

What is not seen to stay there is taken to leave: the file is then given to the engine as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from maskwright.edits.engines.screening import tokens_of

Place = Literal["group", "member", "cell", "elsewhere"]
"""Where a rule's nodes are: records of the upper level, of the lower, elements in these, or nobody knows."""

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
    """Where the nodes of a rule are.

    `context`: its pattern, which may be several with ``|`` between them.
    """
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
    """Whether it can be said of a node without other groups whether a context matches it."""
    if "elsewhere" in places_of(context, names):
        return False
    tokens = tokens_of(context)
    for position, (_, text) in enumerate(tokens):
        is_of_group = text == "[" and position and local(tokens[position - 1][1]) == names.group
        if is_of_group and (_is_number(tokens[position + 1]) or _counts(tokens[position + 1 :])):
            return False
    return _stays(context.lstrip("/ "), "cell", names, is_context=True)


def stays_in_group(text: str, place: Place, names: Names) -> bool:
    """Whether an expression, evaluated on a node at `place`, looks at nothing outside the node's group."""
    return place != "elsewhere" and _stays(text, place, names)


def _is_number(token: tuple[str, str]) -> bool:
    return token[0] == "number"


def _counts(tokens: list[tuple[str, str]]) -> bool:
    """Whether a predicate asks for the position of its node."""
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


def asks_for_position(text: str) -> bool:
    """Whether an expression uses the position of the node that it is evaluated on."""
    words = [word for _, word in tokens_of(text)]
    depth = 0
    for position, word in enumerate(words):
        depth += (word == "[") - (word == "]")
        if not depth and word in ("position", "last") and _word(words, position + 1) == "(":
            return True
    return False
