"""Tests of XPath 1.0 as rules in three truth values that give the same verdict on every record.

XPath has two truth values: a comparison with something that is no number is false (``!=``: true). The rule says so:
``number(a) < 5`` becomes ``a is number and a < 5``, which is never unknown. What remains different is stated in a note:
XPath rounds to binary64 where a rule of the YAML language calculates with decimals exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import all_of, any_of, conjunction, disjunction, negation
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.xpath.conversions import number_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.edits.edit_set import EditSet

_ZERO = x.Number(Fraction(0))
_SIGN_AT_ZERO: dict[x.ComparisonOperator, x.ComparisonOperator] = {"<": "<", "<=": "<", ">": ">", ">=": ">"}


def calculates(test: x.Expression) -> bool:
    """Whether a test calculates with cells, so that binary64 may round."""
    return any(isinstance(node, x.Arithmetic) and x.variable_names(node) for node in x.nodes(test))


def rounded_in_xpath(edits: EditSet) -> list[str]:
    """Names of the tests in XPath that binary64 may round, of those that can fire."""
    tests = (edit for edit in edits if edit.binding == "xpath1" and not edit.shadowed)
    return [edit.name for edit in tests if calculates(edit.expression)]


def exact_rule(node: x.Expression) -> x.Expression:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    """Rule of the YAML language with the verdict of a test in XPath 1.0, on every record; never unknown."""
    match node:
        case x.Truth():
            return node
        case x.Function("boolean", (argument,)):
            return exact_rule(argument)
        case x.Not(operand):
            return negation(exact_rule(operand))
        case x.And(operands):
            pairs = [pair for operand in operands if (pair := _some_no_number(operand)) is not None]
            return conjunction([_same_texts(operand, pairs) or exact_rule(operand) for operand in operands])
        case x.Or(operands):
            return disjunction([exact_rule(operand) for operand in operands])
        case x.IfThen():
            return x.mapped(node, exact_rule)
        case x.Comparison(operator, left, right):
            return _comparison(operator, left, right)
        case x.InOriginal((name,)):
            return all_of([negation(x.IsMissing(x.VariableReference(name))), node])
        case x.Text(value):
            return x.Truth(bool(value))
        case x.VariableReference(name):
            raise Inexpressible(f"{name} alone asks whether the element is there, empty or not")
        case x.Function("normalize-space", (x.VariableReference() as variable,)):
            return negation(x.IsMissing(variable))
        case x.Function("string" | "normalize-space", _):
            raise Inexpressible("it asks whether a text is empty")
        case _:
            return disjunction([_comparison("<", node, _ZERO), _comparison(">", node, _ZERO)])


def _some_no_number(node: x.Expression) -> frozenset[str] | None:
    """Names of ``number(a) != number(a) or number(b) != number(b)``: one of the two is no number."""
    if not isinstance(node, x.Or):
        return None
    names: set[str] = set()
    for operand in node.operands:
        match operand:
            case x.Comparison("!=", x.Function("number", (x.VariableReference(name),)), other) if other == operand.left:
                names.add(name)
            case _:
                return None
    return frozenset(names)


def _same_texts(node: x.Expression, pairs: Sequence[frozenset[str]]) -> x.Expression | None:
    """``a = b`` where one of them is no number: then the YAML language compares texts, too."""
    match node:
        case x.Not(operand):
            inner = _same_texts(operand, pairs)
            return None if inner is None else negation(inner)
        case x.Comparison("==", x.VariableReference(first) as one, x.VariableReference(second) as other) if {
            first,
            second,
        } in pairs:
            return all_of([negation(x.IsMissing(one)), negation(x.IsMissing(other)), x.Comparison("==", one, other)])
        case _:
            return None


def _comparison(operator: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> x.Expression:
    if _is_truth(left) or _is_truth(right):
        return _of_truths(operator, left, right)
    if operator in ("==", "!="):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, x.Text) and (_is_word(other) or isinstance(other, x.Text)):
                return _of_texts(operator, other, one)
        if _is_word(left) and _is_word(right):
            raise Inexpressible("it compares two texts: write number() around both sides")
        for one in (left, right):
            if operator == "!=" and isinstance(one, x.VariableReference):
                raise Inexpressible(
                    f"'{one.name} != ...' tells an absent element from an empty one: write number({one.name}) != ..."
                )
    return _of_numbers(operator, left, right)


def _of_truths(operator: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> x.Expression:
    if operator not in ("==", "!="):
        raise Inexpressible("it orders truth values")
    for one in (left, right):
        if isinstance(one, x.VariableReference):
            raise Inexpressible(f"{one.name} is compared with a truth value: that asks whether the element is there")
    first, second = exact_rule(left), exact_rule(right)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, x.Truth):
            return other if one.value == (operator == "==") else negation(other)
    both = x.Or((x.And((first, second)), x.And((negation(first), negation(second)))))
    return both if operator == "==" else negation(both)


def _of_texts(operator: x.ComparisonOperator, word: x.Expression, text: x.Text) -> x.Expression:
    """``V = 'M'``: a node-set equals a text where the element is there and says it."""
    if isinstance(word, x.Text):
        return x.Truth((word.value == text.value) == (operator == "=="))
    if isinstance(word, x.Function) and word.name == "normalize-space":
        if text.value == "" and isinstance(word.arguments[0], x.VariableReference):
            missing = x.IsMissing(word.arguments[0])
            return missing if operator == "==" else negation(missing)
        raise Inexpressible("it compares a text without its spaces")
    variable = (
        word if isinstance(word, x.VariableReference) else word.arguments[0] if isinstance(word, x.Function) else None
    )
    if not isinstance(variable, x.VariableReference):
        raise Inexpressible("it compares a text with something computed")
    if not text.value.strip(" \t\r\n"):
        raise Inexpressible(f"it asks whether the text of {variable.name} is empty: write normalize-space() = ''")
    same = all_of([negation(x.IsMissing(variable)), x.Comparison("==", variable, text)])
    if operator == "==":
        return same
    if isinstance(word, x.VariableReference):
        raise Inexpressible(
            f"'{variable.name} != ...' tells an absent element from an empty one: write not({variable.name} = ...)"
        )
    return negation(same)


def _of_numbers(operator: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> x.Expression:
    first, second = _number(left), _number(right)
    names = x.variable_names(x.Comparison("==", first, second))
    known = [x.IsNumber(x.VariableReference(name)) for name in names]
    divisors = [*_divisors(first), *_divisors(second)]
    if any(isinstance(divisor, x.Number) and divisor.value == 0 for divisor in divisors):
        raise Inexpressible("it divides by zero, and XPath goes on with infinity")
    unsteady = [divisor for divisor in divisors if not isinstance(divisor, x.Number)]
    if operator == "!=":
        # True where there is no number.
        return negation(_of_numbers("==", left, right))
    plain = _same_or(operator, first, second, names)
    if not unsteady:
        return plain if isinstance(plain, x.Truth) else all_of([*known, plain])
    return _of_quotient(operator, first, second, known, unsteady)


def _same_or(
    operator: x.ComparisonOperator, first: x.Expression, second: x.Expression, names: Sequence[str]
) -> x.Expression:
    if operator == "==" and first == second and len(names) == 1 and isinstance(first, x.VariableReference):
        return x.Truth(True) if not names else x.IsNumber(first)
    return x.Comparison(operator, first, second)


def _of_quotient(
    operator: x.ComparisonOperator, first: x.Expression, second: x.Expression, known: Sequence[x.Expression],
    unsteady: Sequence[x.Expression],
) -> x.Expression:  # fmt: skip
    """Where the divisor is 0, a quotient is infinity of the sign of what is divided; 0 / 0 compares as false."""
    (divisor, *more) = unsteady
    side = first if _divisors(first) else second
    if more or not isinstance(side, x.Arithmetic) or side.right != divisor or side.operator not in ("/", "mod"):
        raise Inexpressible("it divides by something that may be zero, and XPath goes on with infinity")
    usual = all_of([*known, x.Comparison("!=", divisor, _ZERO), x.Comparison(operator, first, second)])
    if operator == "==" or side.operator == "mod":
        return usual
    sign = _SIGN_AT_ZERO[operator]
    if side is second:
        sign = "<" if sign == ">" else ">"
    # x <= infinity where x is a number: only the sign of what is divided counts.
    at_zero = all_of([*known, x.Comparison("==", divisor, _ZERO), x.Comparison(sign, side.left, _ZERO)])
    return any_of([usual, at_zero])


def _number(node: x.Expression) -> x.Expression:
    """Number that XPath makes of an operand, without its conversions."""
    match node:
        case x.Number() | x.VariableReference():
            return node
        case x.Function("number", (argument,)):
            return _number(argument)
        case x.Text():
            spoken = number_of_text(node)
            if spoken is None:
                raise Inexpressible("it calculates with a text that is no number")
            return spoken
        case x.Arithmetic():
            return x.mapped(node, _number)
        case x.Negative(operand):
            inner = _number(operand)
            return x.Number(-inner.value) if isinstance(inner, x.Number) else x.Negative(inner)
        case x.Function("floor" | "ceiling" | "round" | "abs" | "min" | "max"):
            return x.mapped(node, _number)
        case x.Function(name):
            raise Inexpressible(f"it uses {name}()")
        case _:
            raise Inexpressible("it calculates with truth values")


def _divisors(node: x.Expression) -> list[x.Expression]:
    return [each.right for each in x.nodes(node) if isinstance(each, x.Arithmetic) and each.operator in ("/", "mod")]


def _is_truth(node: x.Expression) -> bool:
    return isinstance(node, (x.Truth, x.Comparison, x.Not, x.And, x.Or, x.IfThen, x.InOriginal)) or (
        isinstance(node, x.Function) and node.name == "boolean"
    )


def _is_word(node: x.Expression) -> bool:
    return isinstance(node, x.VariableReference) or (
        isinstance(node, x.Function) and node.name in ("string", "normalize-space")
    )
