"""XPath's implicit conversions written out, so that algebra sees conditions where a test only has values.

The verdict of a test is computed on the tree as written. Classification and adjustment work in the language of
conditions and numbers that YAML has too, which knows no truth value of a variable or of a text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.data.number_text import WHITE_SPACE, XPATH_NUMBER
from maskwright.edits import expression as x
from maskwright.edits.languages.xpath.parser import LONGEST_NUMBER

if TYPE_CHECKING:
    from maskwright.edits.languages.xpath.parser import Parsed

_ZERO = x.Number(Fraction(0))


def as_condition(node: x.Expression) -> x.Expression:  # noqa: PLR0911 - one case for each kind of node
    """Write ``boolean(node)`` as a condition."""
    match node:
        case (
            x.Truth() | x.InOriginal() | x.IsMissing() | x.IsNumber() | x.GroupFunction("any" | "all" | "no" | "unique")
        ):
            return node
        case x.VariableReference():
            return x.Not(x.IsMissing(node))
        case x.Text(value):
            return x.Truth(bool(value))
        case x.Function("boolean", (argument,)):
            return as_condition(argument)
        case x.Function("string"):
            return x.Comparison("!=", node, x.Text(""))
        case x.Not() | x.And() | x.Or() | x.IfThen():
            return x.mapped(node, as_condition)
        case x.Comparison():
            return _comparison(node)
        case _:
            # Not `!=`: NaN differs from zero, and its truth value is false.
            return x.Or((x.Comparison("<", node, _ZERO), x.Comparison(">", node, _ZERO)))


def _comparison(node: x.Comparison) -> x.Expression:
    left, right = node.left, node.right
    equality = node.operator in ("==", "!=")
    for one, other in ((left, right), (right, left)):
        if equality and other == x.Text("") and isinstance(one, x.Function) and one.name == "normalize-space":
            (variable,) = one.arguments
            if isinstance(variable, x.VariableReference):
                return x.IsMissing(variable) if node.operator == "==" else x.Not(x.IsMissing(variable))
    match left:
        case x.Function("number", (x.VariableReference() as variable,)) if equality and right == left:
            # Only NaN differs from itself.
            return x.IsNumber(variable) if node.operator == "==" else x.Not(x.IsNumber(variable))
        case _:
            pass
    if equality and (_is_truth(left) or _is_truth(right)):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, x.Truth):
                holds = as_condition(other)
                return holds if one.value == (node.operator == "==") else x.Not(holds)
        # Two conditions compared: writing that out would double the tree at every level.
        return node
    if equality and (_is_text(left) or _is_text(right)) and (_is_words(left) and _is_words(right)):
        return node
    return x.Comparison(node.operator, _as_number(left), _as_number(right))


def _is_truth(node: x.Expression) -> bool:
    return isinstance(node, (x.Truth, x.Comparison, x.InOriginal, x.Not, x.And, x.Or, x.IfThen)) or (
        (isinstance(node, x.Function) and node.name == "boolean")
        or (isinstance(node, x.GroupFunction) and node.function in ("any", "all", "no", "unique"))
    )


def _is_text(node: x.Expression) -> bool:
    return isinstance(node, x.Text) or (isinstance(node, x.Function) and node.name == "string")


def _is_words(node: x.Expression) -> bool:
    """Whether ``=`` compares this as a string when the other side is one."""
    return _is_text(node) or isinstance(node, x.VariableReference)


def number_of_text(text: x.Text) -> x.Number | None:
    """Return the number that a literal says, or None."""
    if len(text.value) > LONGEST_NUMBER or re.match(XPATH_NUMBER, text.value) is None:
        return None
    return x.Number(Fraction(text.value.strip(WHITE_SPACE).removesuffix(".")))


def _as_number(node: x.Expression) -> x.Expression:
    match node:
        case x.Function("number", (x.Text() as text,)) | (x.Text() as text):
            return number_of_text(text) or node
        case _:
            return node


def chooses_by_position(tree: Parsed) -> bool:
    """Whether a predicate would choose by position."""
    match tree:
        case x.Number() | x.Arithmetic() | x.Negative() | x.GroupFunction("sum" | "count"):
            return True
        case x.Function(name):
            return name in ("number", "floor", "ceiling", "round")
        case _:
            return False


def without_conversions(condition: x.Expression) -> x.Expression:
    """Condition without XPath's conversions: in the language of levels a variable is a number or a text by itself."""

    def change(node: x.Expression) -> x.Expression:  # noqa: PLR0911 - one for each kind of node
        match node:
            case x.Function("number" | "string", (x.VariableReference() | x.GroupFunction() as inner,)):
                return inner
            case x.Function("number", (x.Number() as inner,)):
                return inner
            case x.Negative(x.Number(value)):
                return x.Number(-value)
            case x.Not(x.Not(inner)):
                return inner
            case x.Not(x.GroupFunction("any", level, None, x.Comparison(operator) as condition)):
                return x.GroupFunction("all", level, None, replace(condition, operator=x.NEGATED[operator]))
            case x.Not(x.GroupFunction("any", level, None, condition)):
                return x.GroupFunction("no", level, None, condition)
            case _:
                return node

    return x.rewritten(condition, change)
