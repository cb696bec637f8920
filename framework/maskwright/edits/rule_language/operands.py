"""Operands of a rule: an expression with what it yields, its depth and its place, and how operands are joined."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from maskwright.data.date_texts import iso_day
from maskwright.edits.expression import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    ComparisonOperator,
    Expression,
    Not,
    Or,
    Text,
    VariableReference,
)

if TYPE_CHECKING:
    from lark import Token

DEEPEST_NESTING = 200
MOST_DIGITS = 400
LONGEST_LEFT_SUM = 16
EQUAL_SIGN = "="

Kind = Literal["number", "text", "value", "truth", "range", "members"]

_DESCRIBED: dict[Kind, str] = {
    "number": "a number", "text": "a text", "value": "a variable", "truth": "a condition",
    "range": "a range of variables", "members": "members of a group",
}  # fmt: skip


class Mistake(Exception):  # noqa: N818 - never leaves the parser
    """A rule that the grammar accepts and that means nothing.

    `start`: 0-based offset in the text of the rule.
    """

    def __init__(self, start: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.start, self.message, self.hint = start, message, hint


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression, what it yields (a variable is a number or a text), its depth and where it starts."""

    expression: Expression
    kind: Kind
    depth: int
    start: int

    @property
    def described(self) -> str:
        """What it is, for a message."""
        if isinstance(self.expression, VariableReference):
            return f"the variable {self.expression.name}"
        return _DESCRIBED[self.kind]


def start_of(token: Token) -> int:
    """0-based offset of a token in the text of the rule."""
    return int(token.start_pos or 0)


def exact_number(token: Token) -> Fraction:
    """Value of a decimal literal, without rounding; a `Mistake` when it has too many digits."""
    mantissa, _, exponent = str(token).lower().partition("e")
    # A short text must not become a number of a billion digits.
    if len(mantissa) > MOST_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MOST_DIGITS:
        raise Mistake(start_of(token), f"numbers have at most {MOST_DIGITS} digits")
    return Fraction(str(token))


def made_of(node: Expression, kind: Kind, operands: list[Typed], start: int | None = None) -> Typed:
    """Expression made of operands, one level deeper than the deepest; a `Mistake` when that is too deep."""
    depth = 1 + max(operand.depth for operand in operands)
    first = operands[0].start if start is None else start
    if depth > DEEPEST_NESTING:
        raise Mistake(first, f"the rule is nested more than {DEEPEST_NESTING} deep", "Split it into several rules.")
    return Typed(node, kind, depth, first)


def numeric_operand(operand: Typed, taker: str) -> Typed:
    """The operand, which must be a number or may be one; a `Mistake` names what takes it."""
    if operand.kind in ("number", "value"):
        return operand
    raise Mistake(operand.start, f"{taker} needs numbers; found {operand.described}")


def condition_operand(operand: Typed, taker: str) -> Typed:
    """The operand, which must be a condition; a `Mistake` names what takes it."""
    if operand.kind == "truth":
        return operand
    raise Mistake(
        operand.start, f"{taker} needs a condition; found {operand.described}", "A condition compares: 'V1 <= V2'."
    )


def compared(token: Token, left: Typed, right: Typed) -> Typed:
    """Comparison of two operands; a `Mistake` when their kinds cannot be compared."""
    operator = cast("ComparisonOperator", "==" if token == EQUAL_SIGN else str(token))
    kinds = {left.kind, right.kind}
    for operand in (left, right):
        if operand.kind == "truth":
            raise Mistake(operand.start, "a condition cannot be compared", "Join conditions with 'and' and 'or'.")
    if "text" in kinds and operator not in ("==", "!="):
        dates = [side for side in (left, right) if isinstance(side.expression, Text) and _says_a_date(side.expression)]
        hint = "Write dates without quotes." if dates else "Use '==' or '!=', or a set."
        raise Mistake(start_of(token), f"texts have no order: {operator!r} needs numbers", hint)
    if kinds == {"text", "number"}:
        raise Mistake(start_of(token), "a number is never equal to a text", "Write the number without quotes.")
    return made_of(Comparison(operator, left.expression, right.expression), "truth", [left, right])


def _says_a_date(text: Text) -> bool:
    return iso_day(text.value) is not None


def perhaps_not(negated: Token | None, operand: Typed) -> Typed:
    """The condition, or its opposite where the rule says ``not``."""
    return operand if negated is None else made_of(Not(operand.expression), "truth", [operand])


def joined(node: type[And | Or], operands: list[Typed]) -> Typed:
    """Conditions joined by ``and`` or ``or``."""
    return made_of(node(tuple(operand.expression for operand in operands)), "truth", operands)


def summed(terms: list[tuple[Typed, int]], start: int) -> Typed:
    """Left to right while short; balanced when long, so that thousands of terms are a dozen levels deep."""
    if len(terms) > LONGEST_LEFT_SUM:
        middle = len(terms) // 2
        sign = terms[middle][1]
        left = summed(terms[:middle], start)
        right = summed([(term, sign * own) for term, own in terms[middle:]], terms[middle][0].start)
        return made_of(Arithmetic(_operator(sign), left.expression, right.expression), "number", [left, right], start)
    result, _ = terms[0]
    for term, sign in terms[1:]:
        node = Arithmetic(_operator(sign), result.expression, term.expression)
        result = made_of(node, "number", [result, term], start)
    return result


def _operator(sign: int) -> ArithmeticOperator:
    return "+" if sign > 0 else "-"
