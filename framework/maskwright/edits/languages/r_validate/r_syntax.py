"""Text of rules in R as trees, and what a tree is.

Source: R's ``?Syntax`` for the binding of operators.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.rule_language.rules import LONGEST_RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

Node = Tree[Token]

DEEPEST = 100


class NotR(Exception):  # noqa: N818 - never leaves the import
    """Text that the grammar does not read; `start` is the 0-based offset."""

    def __init__(self, start: int, message: str) -> None:
        super().__init__(message)
        self.start = start


@functools.cache
def _parser() -> Lark:
    grammar = files("maskwright.edits.languages.r_validate").joinpath("r_rules.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="statement", parser="lalr", maybe_placeholders=True)


def parse_statement(text: str) -> Node:
    """Read one statement: a rule, or an assignment with ``:=``."""
    if len(text) > LONGEST_RULE:
        raise NotR(0, f"the rule has {len(text)} characters; at most {LONGEST_RULE} are read")
    try:
        tree = _parser().parse(text)
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise NotR(len(text.rstrip()), "the rule ends too early") from None
        raise NotR(
            int(error.token.start_pos or 0), f"found {str(error.token)!r}, which R does not allow here"
        ) from None
    except UnexpectedCharacters as error:
        offset = int(error.pos_in_stream or 0)
        raise NotR(offset, f"found {text[offset]!r}, which is not read here") from None
    except UnexpectedInput:
        raise NotR(0, "this is no rule in R") from None
    if _depth(tree) > DEEPEST:
        raise NotR(0, f"the rule is nested more than {DEEPEST} deep")
    return tree


def assignment(tree: Node) -> tuple[str, Node] | None:
    """Name and value of ``name := value``; None for a rule."""
    if tree.data != "assignment":
        return None
    name, value = tree.children
    return str(name), cast("Node", value)


def group_of(node: Node) -> list[Node] | None:
    """Variables of ``var_group(a, b)``; None for anything else."""
    if node.data != "call" or str(node.children[0]) != "var_group":
        return None
    return [cast("Node", child) for child in node.children[1:] if child is not None]


def arguments_of(
    name: str, arguments: Sequence[Node], order: Sequence[str], by_name: Sequence[str], needed: int | None = None
) -> dict[str, Node]:
    """Arguments of a call by their names: those of `order` may stand without one."""
    given: dict[str, Node] = {}
    for argument in arguments:
        if argument.data == "named":
            key, value = str(argument.children[0]), cast("Node", argument.children[1])
        else:
            key, value = next((each for each in order if each not in given), "?"), argument
        if key in given or key not in (*order, *by_name):
            raise Inexpressible(f"{name}() is understood with {', '.join((*order, *by_name))}")
        given[key] = value
    lacking = [each for each in order[: 2 if needed is None else needed] if each not in given]
    if lacking:
        raise Inexpressible(f"{name}() is understood with {', '.join(order)}")
    return given


def is_call(node: Node, name: str) -> bool:
    """Whether a tree calls a function."""
    return node.data == "call" and str(node.children[0]) == name


def is_name(node: Node, name: str) -> bool:
    """Whether a tree is a name."""
    return node.data == "name" and str(node.children[0]) == name


def subtrees(tree: Node) -> list[Node]:
    """All nodes of a tree, in written order."""
    found: list[Node] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(child for child in reversed(node.children) if isinstance(child, Tree))
    return found


def _depth(tree: Node) -> int:
    deepest = 0
    stack: list[tuple[Node, int]] = [(tree, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in node.children if isinstance(child, Tree))
    return deepest
