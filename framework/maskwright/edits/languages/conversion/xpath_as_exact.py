"""Tests of XPath 1.0 as rules in three truth values that give the same verdict on every record.

XPath has two truth values: a comparison with something that is no number is false (``!=``: true). The rule says so:
``number(a) < 5`` becomes ``a is number and a < 5``, which is never unknown. What remains different is said in a note:
XPath rounds to binary64 where a rule of the YAML language calculates with decimals exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.conditions import all_of, any_of
from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    ComparisonOperator,
    Expression,
    Function,
    InOriginal,
    IsMissing,
    IsNumber,
    Negative,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
    children,
    variable_names,
)
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.xpath.conversions import number_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_ZERO = Number(Fraction(0))
_SIGN_AT_ZERO: dict[ComparisonOperator, ComparisonOperator] = {"<": "<", "<=": "<", ">": ">", ">=": ">"}


def exact_rule(test: Expression) -> Expression:
    """Rule of the YAML language with the verdict of a test in XPath 1.0, on every record; never unknown."""
    return _truth(test)


def calculates(test: Expression) -> bool:
    """Whether a test calculates with cells, so that binary64 may round."""
    stack = [test]
    while stack:
        node = stack.pop()
        if isinstance(node, Arithmetic) and variable_names(node):
            return True
        stack.extend(children(node))
    return False


def _truth(node: Expression) -> Expression:  # noqa: C901, PLR0911 - one case for each kind of node
    """Effective boolean value."""
    match node:
        case Truth():
            return node
        case Function("boolean", (argument,)):
            return _truth(argument)
        case Not(operand):
            return _not(_truth(operand))
        case And(operands):
            pairs = [pair for operand in operands if (pair := _some_no_number(operand)) is not None]
            return _joined(And, [_same_texts(operand, pairs) or _truth(operand) for operand in operands])
        case Or(operands):
            return _joined(Or, [_truth(operand) for operand in operands])
        case Comparison(operator, left, right):
            return _comparison(operator, left, right)
        case InOriginal((name,)):
            return all_of([_not(IsMissing(VariableReference(name))), node])
        case Text(value):
            return Truth(bool(value))
        case VariableReference(name):
            raise Inexpressible(f"{name} alone asks whether the element is there, empty or not")
        case Function("normalize-space", (VariableReference() as variable,)):
            return _not(IsMissing(variable))
        case Function("string" | "normalize-space", _):
            raise Inexpressible("it asks whether a text is empty")
        case _:
            return _joined(Or, [_comparison("<", node, _ZERO), _comparison(">", node, _ZERO)])


def _some_no_number(node: Expression) -> frozenset[str] | None:
    """Names of ``number(a) != number(a) or number(b) != number(b)``: one of the two is no number."""
    if not isinstance(node, Or):
        return None
    names: set[str] = set()
    for operand in node.operands:
        match operand:
            case Comparison("!=", Function("number", (VariableReference(name),)), other) if other == operand.left:
                names.add(name)
            case _:
                return None
    return frozenset(names)


def _same_texts(node: Expression, pairs: Sequence[frozenset[str]]) -> Expression | None:
    """``a = b`` where one of them is no number: then the YAML language compares texts, too."""
    match node:
        case Not(operand):
            inner = _same_texts(operand, pairs)
            return None if inner is None else _not(inner)
        case Comparison("==", VariableReference(first) as one, VariableReference(second) as other) if {
            first,
            second,
        } in pairs:
            return all_of([_not(IsMissing(one)), _not(IsMissing(other)), Comparison("==", one, other)])
        case _:
            return None


def _comparison(operator: ComparisonOperator, left: Expression, right: Expression) -> Expression:
    if _is_truth(left) or _is_truth(right):
        return _of_truths(operator, left, right)
    if operator in ("==", "!="):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Text) and (_is_word(other) or isinstance(other, Text)):
                return _of_texts(operator, other, one)
        if _is_word(left) and _is_word(right):
            raise Inexpressible("it compares two texts: write number() around both sides")
        for one in (left, right):
            if operator == "!=" and isinstance(one, VariableReference):
                raise Inexpressible(
                    f"'{one.name} != ...' tells an absent element from an empty one: write number({one.name}) != ..."
                )
    return _of_numbers(operator, left, right)


def _of_truths(operator: ComparisonOperator, left: Expression, right: Expression) -> Expression:
    if operator not in ("==", "!="):
        raise Inexpressible("it orders truth values")
    for one in (left, right):
        if isinstance(one, VariableReference):
            raise Inexpressible(f"{one.name} is compared with a truth value: that asks whether the element is there")
    first, second = _truth(left), _truth(right)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Truth):
            return other if one.value == (operator == "==") else _not(other)
    both = Or((And((first, second)), And((_not(first), _not(second)))))
    return both if operator == "==" else _not(both)


def _of_texts(operator: ComparisonOperator, word: Expression, text: Text) -> Expression:
    """``V = 'M'``: a node-set equals a text where the element is there and says it."""
    if isinstance(word, Text):
        return Truth((word.value == text.value) == (operator == "=="))
    if isinstance(word, Function) and word.name == "normalize-space":
        if text.value == "" and isinstance(word.arguments[0], VariableReference):
            missing = IsMissing(word.arguments[0])
            return missing if operator == "==" else _not(missing)
        raise Inexpressible("it compares a text without its spaces")
    variable = (
        word if isinstance(word, VariableReference) else word.arguments[0] if isinstance(word, Function) else None
    )
    if not isinstance(variable, VariableReference):
        raise Inexpressible("it compares a text with something computed")
    if not text.value.strip(" \t\r\n"):
        raise Inexpressible(f"it asks whether the text of {variable.name} is empty: write normalize-space() = ''")
    same = all_of([_not(IsMissing(variable)), Comparison("==", variable, text)])
    if operator == "==":
        return same
    if isinstance(word, VariableReference):
        raise Inexpressible(
            f"'{variable.name} != ...' tells an absent element from an empty one: write not({variable.name} = ...)"
        )
    return _not(same)


def _of_numbers(operator: ComparisonOperator, left: Expression, right: Expression) -> Expression:
    first, second = _number(left), _number(right)
    names = variable_names(Comparison("==", first, second))
    known = [IsNumber(VariableReference(name)) for name in names]
    divisors = [*_divisors(first), *_divisors(second)]
    if any(isinstance(divisor, Number) and divisor.value == 0 for divisor in divisors):
        raise Inexpressible("it divides by zero, and XPath goes on with infinity")
    unsteady = [divisor for divisor in divisors if not isinstance(divisor, Number)]
    if operator == "!=":
        # True where there is no number.
        return _not(_of_numbers("==", left, right))
    plain = _same_or(operator, first, second, names)
    if not unsteady:
        return plain if isinstance(plain, Truth) else all_of([*known, plain])
    return _of_quotient(operator, first, second, known, unsteady)


def _same_or(operator: ComparisonOperator, first: Expression, second: Expression, names: Sequence[str]) -> Expression:
    if operator == "==" and first == second and len(names) == 1 and isinstance(first, VariableReference):
        return Truth(True) if not names else IsNumber(first)
    return Comparison(operator, first, second)


def _of_quotient(
    operator: ComparisonOperator, first: Expression, second: Expression, known: Sequence[Expression],
    unsteady: Sequence[Expression],
) -> Expression:  # fmt: skip
    """Where the divisor is 0, a quotient is infinity of the sign of what is divided; 0 / 0 compares as false."""
    (divisor, *more) = unsteady
    side = first if _divisors(first) else second
    if more or not isinstance(side, Arithmetic) or side.right != divisor or side.operator not in ("/", "mod"):
        raise Inexpressible("it divides by something that may be zero, and XPath goes on with infinity")
    usual = all_of([*known, Comparison("!=", divisor, _ZERO), Comparison(operator, first, second)])
    if operator == "==" or side.operator == "mod":
        return usual
    sign = _SIGN_AT_ZERO[operator]
    if side is second:
        sign = "<" if sign == ">" else ">"
    # x <= infinity where x is a number: only the sign of what is divided counts.
    at_zero = all_of([*known, Comparison("==", divisor, _ZERO), Comparison(sign, side.left, _ZERO)])
    return any_of([usual, at_zero])


def _number(node: Expression) -> Expression:
    """Number that XPath makes of an operand, without its conversions."""
    match node:
        case Number() | VariableReference():
            return node
        case Function("number", (argument,)):
            return _number(argument)
        case Text():
            spoken = number_of_text(node)
            if spoken is None:
                raise Inexpressible("it calculates with a text that is no number")
            return spoken
        case Arithmetic(operator, left, right):
            return Arithmetic(operator, _number(left), _number(right))
        case Negative(operand):
            inner = _number(operand)
            return Number(-inner.value) if isinstance(inner, Number) else Negative(inner)
        case Function("floor" | "ceiling" | "round" | "abs" | "min" | "max" as name, arguments):
            return Function(name, tuple(_number(argument) for argument in arguments))
        case Function(name):
            raise Inexpressible(f"it uses {name}()")
        case _:
            raise Inexpressible("it calculates with truth values")


def _divisors(node: Expression) -> list[Expression]:
    found: list[Expression] = []
    stack = [node]
    while stack:
        inner = stack.pop()
        if isinstance(inner, Arithmetic) and inner.operator in ("/", "mod"):
            found.append(inner.right)
        stack.extend(children(inner))
    return found


def _is_truth(node: Expression) -> bool:
    return isinstance(node, (Truth, Comparison, Not, And, Or, InOriginal)) or (
        isinstance(node, Function) and node.name == "boolean"
    )


def _is_word(node: Expression) -> bool:
    return isinstance(node, VariableReference) or (
        isinstance(node, Function) and node.name in ("string", "normalize-space")
    )


def _not(node: Expression) -> Expression:
    match node:
        case Not(operand):
            return operand
        case Truth(value):
            return Truth(not value)
        case _:
            return Not(node)


def _joined(kind: type[And | Or], operands: Sequence[Expression]) -> Expression:
    neutral = kind is And
    kept: dict[Expression, None] = {}
    for operand in operands:
        if operand == Truth(not neutral):
            return operand
        if operand != Truth(neutral):
            kept.update(dict.fromkeys(operand.operands if isinstance(operand, kind) else (operand,)))
    listed = list(kept)
    return all_of(listed) if neutral else any_of(listed)
