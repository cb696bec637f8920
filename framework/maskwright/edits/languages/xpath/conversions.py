"""XPath's implicit conversions written out, so that algebra sees conditions where a test only has values.

The verdict of a test is computed on the tree as written. Classification and adjustment work in the language of
conditions and numbers that YAML has too, which knows no truth value of a variable or of a text.
"""

from __future__ import annotations

import re
from fractions import Fraction

from maskwright.data.number_text import WHITE_SPACE, XPATH_NUMBER
from maskwright.edits.expression import (
    And,
    Comparison,
    Expression,
    Function,
    GroupFunction,
    InOriginal,
    IsMissing,
    IsNumber,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
)
from maskwright.edits.languages.xpath.parser import LONGEST_NUMBER

_ZERO = Number(Fraction(0))


def as_condition(node: Expression) -> Expression:  # noqa: PLR0911 - one case for each kind of node
    """Write ``boolean(node)`` as a condition."""
    match node:
        case Truth() | InOriginal() | IsMissing() | IsNumber() | GroupFunction("any" | "all" | "no" | "unique"):
            return node
        case VariableReference():
            return Not(IsMissing(node))
        case Text(value):
            return Truth(bool(value))
        case Function("boolean", (argument,)):
            return as_condition(argument)
        case Function("string"):
            return Comparison("!=", node, Text(""))
        case Not(operand):
            return Not(as_condition(operand))
        case And(operands):
            return And(tuple(as_condition(operand) for operand in operands))
        case Or(operands):
            return Or(tuple(as_condition(operand) for operand in operands))
        case Comparison():
            return _comparison(node)
        case _:
            # Not `!=`: NaN differs from zero, and its truth value is false.
            return Or((Comparison("<", node, _ZERO), Comparison(">", node, _ZERO)))


def _comparison(node: Comparison) -> Expression:
    left, right = node.left, node.right
    equality = node.operator in ("==", "!=")
    for one, other in ((left, right), (right, left)):
        if equality and other == Text("") and isinstance(one, Function) and one.name == "normalize-space":
            (variable,) = one.arguments
            if isinstance(variable, VariableReference):
                return IsMissing(variable) if node.operator == "==" else Not(IsMissing(variable))
    match left:
        case Function("number", (VariableReference() as variable,)) if equality and right == left:
            # Only NaN differs from itself.
            return IsNumber(variable) if node.operator == "==" else Not(IsNumber(variable))
        case _:
            pass
    if equality and (_is_truth(left) or _is_truth(right)):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Truth):
                holds = as_condition(other)
                return holds if one.value == (node.operator == "==") else Not(holds)
        # Two conditions compared: writing that out would double the tree at every level.
        return node
    if equality and (_is_text(left) or _is_text(right)) and (_is_words(left) and _is_words(right)):
        return node
    return Comparison(node.operator, _as_number(left), _as_number(right))


def _is_truth(node: Expression) -> bool:
    return isinstance(node, (Truth, Comparison, InOriginal, Not, And, Or)) or (
        (isinstance(node, Function) and node.name == "boolean")
        or (isinstance(node, GroupFunction) and node.function in ("any", "all", "no", "unique"))
    )


def _is_text(node: Expression) -> bool:
    return isinstance(node, Text) or (isinstance(node, Function) and node.name == "string")


def _is_words(node: Expression) -> bool:
    """Whether ``=`` compares this as a string when the other side is one."""
    return _is_text(node) or isinstance(node, VariableReference)


def number_of_text(text: Text) -> Number | None:
    """Return the number that a literal says, or None."""
    if len(text.value) > LONGEST_NUMBER or re.match(XPATH_NUMBER, text.value) is None:
        return None
    return Number(Fraction(text.value.strip(WHITE_SPACE).removesuffix(".")))


def _as_number(node: Expression) -> Expression:
    match node:
        case Function("number", (Text() as text,)) | (Text() as text):
            return number_of_text(text) or node
        case _:
            return node
