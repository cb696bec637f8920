"""Query bindings: which XPath a rule file's tests are written in, and where its versions give one answer."""

from __future__ import annotations

from typing import Literal, NoReturn

from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    Expression,
    Function,
    InOriginal,
    Negative,
    Not,
    Number,
    Or,
    Truth,
    VariableReference,
)

XPATH_1_BINDINGS = frozenset({"xslt", "xslt1", "xslt1.0", "xpath", "xpath1", "xpath1.0"})
LATER_BINDINGS = frozenset(
    {"xslt2", "xslt2.0", "xslt3", "xslt3.0", "xpath2", "xpath2.0", "xpath3", "xpath3.0", "xpath31", "xpath3.1"}
)

_LaterType = Literal["double", "decimal", "boolean"]


class _DifferentAnswerError(Exception):
    """The subtree on which the versions part; the message is the reason."""


def reason_to_refuse(expression: Expression) -> str | None:
    """Say why XPath 1.0 and XPath 2.0 or later may answer a test differently; None when they agree.

    They agree on calculations with doubles, that is where every variable is wrapped in ``number()``. They part on
    untyped text (``V1 < V2`` compares strings in 2.0), on literals calculated with each other (decimals in 2.0), and
    on conversions between booleans, strings and numbers, some of which are errors in 2.0.
    """
    try:
        _later_type(expression)
    except _DifferentAnswerError as difference:
        return str(difference)
    return None


def _later_type(node: Expression) -> _LaterType:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    match node:
        case Number():
            return "decimal"
        case Truth() | InOriginal():
            return "boolean"
        case Function() | VariableReference():
            return _later_call(node)
        case Negative(operand):
            kind = _later_number(operand)
            if kind == "decimal" and not (isinstance(operand, Number) and operand.value != 0):
                _differ("a negative zero is written with literals only")
            return kind
        case Arithmetic(_, left, right):
            if _later_number(left) == _later_number(right) == "decimal":
                _differ("literals are calculated with each other (in decimal arithmetic there): write the result")
            return "double"
        case Comparison(_, left, right):
            types = {_later_type(left), _later_type(right)}
            if types == {"decimal"}:
                _differ("literals are compared with each other")
            if "boolean" in types and len(types) > 1:
                _differ("a number is compared with a truth value")
            return "boolean"
        case Not(operand):
            _later_type(operand)
            return "boolean"
        case And(operands) | Or(operands):
            for operand in operands:
                _later_type(operand)
            return "boolean"
        case _:
            return _differ("a text is used")


def _later_call(node: Function | VariableReference) -> _LaterType:
    match node:
        case VariableReference(name):
            return _differ(f"the variable {name} is used without number(): write number({name})")
        case Function("number", (VariableReference(),)):
            return "double"
        case Function("number", (argument,)):
            _later_type(argument)
            return "double"
        case Function("boolean", (argument,)):
            _later_type(argument)
            return "boolean"
        case Function("floor" | "ceiling" | "round" as name, (argument,)):
            if _later_number(argument) == "decimal":
                _differ(f"{name}() of a literal")
            return "double"
        case Function(name):
            return _differ(f"{name}() is used")


def _later_number(node: Expression) -> _LaterType:
    kind = _later_type(node)
    if kind == "boolean":
        _differ("a truth value is calculated with")
    return kind


def _differ(reason: str) -> NoReturn:
    raise _DifferentAnswerError(reason)
