"""``let`` variables of Schematron: what they stand for, in the subset and as text for an engine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.edits.expression import variable_names
from maskwright.edits.languages.xpath.parser import OriginalNodes, parse_value
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.xml_names import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.languages.schematron.state import Reading


# Variables made of variables double with every step.
LONGEST_WRITTEN_OUT = 1000


@dataclass(frozen=True)
class Let:
    """A variable.

    `text`: the same with the variables in it written out. `tree`: None: outside the subset, for `problem`. `in_rule`:
    computed on the rule's node; otherwise at the document.
    """

    value: str
    text: str
    tree: Expression | OriginalNodes | None
    problem: Problem | None
    in_rule: bool


Scope = dict[str, Let]


def lets_of(reading: Reading, element: Element, outer: Mapping[str, Let], *, in_rule: bool) -> Scope:
    """Variables visible inside an element: its own ones hide those of the elements around it.

    `outer`: variables of the elements around it. `in_rule`: whether the element is a rule: its variables are computed
    at the record.
    """
    scope = dict(outer)
    own: set[str] = set()
    for let in element:
        if let.name != "let" or let.namespace != element.namespace:
            continue
        name, value = let.attributes.get("name", "").strip(), let.attributes.get("value")
        if re.fullmatch(NCNAME, name) is None or value is None or any(True for _ in let):
            reading.refuse(let, "<let> needs a name and a value; a value written as elements is not read")
            continue
        if name in own:
            reading.refuse(let, f"the variable {name!r} is defined twice in one <{element.name}>")
            continue
        own.add(name)
        tree, problem = _parsed(reading, let, value, scope)
        if not in_rule and tree is not None and not isinstance(tree, OriginalNodes) and variable_names(tree):
            hint = "move the <let> into the rule"
            message = f"the variable {name!r} outside a rule is computed at the top of the document, not on a record"
            tree, problem = None, Problem(message, reading.place(let, value), hint)
        scope[name] = Let(value, with_lets(value, scope), tree, problem, in_rule)
    return scope


def _parsed(
    reading: Reading, let: Element, value: str, scope: Mapping[str, Let]
) -> tuple[Expression | OriginalNodes | None, Problem | None]:
    try:
        return parse_value(value, reading.place(let), trees(scope), reading.options), None
    except EditError as error:
        return None, error.problems[0]


def trees(scope: Mapping[str, Let]) -> dict[str, Expression | OriginalNodes]:
    """What the variables of the subset stand for."""
    return {name: let.tree for name, let in scope.items() if let.tree is not None}


def with_lets(text: str, scope: Mapping[str, Let]) -> str:
    """XPath text with its variables written out, for ``value-of``."""

    def written_out(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None or name not in scope or len(scope[name].text) > LONGEST_WRITTEN_OUT:
            return match.group()
        return f"({scope[name].text})"

    return re.sub(rf"\"[^\"]*\"|'[^']*'|\$\s*(?P<name>{NCNAME})", written_out, text)
