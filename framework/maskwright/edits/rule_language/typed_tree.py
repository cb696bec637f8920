"""Building an expression tree while the YAML language is parsed, checking that each operand is of the right kind."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from lark import Token, Transformer, v_args

from maskwright.data.date_texts import iso_day
from maskwright.data.dates import FUNCTIONS_OF_DATES
from maskwright.edits.expression import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    ComparisonOperator,
    Date,
    Expression,
    Function,
    GroupFunction,
    IfThen,
    InInterval,
    InOriginal,
    InSet,
    IsInteger,
    IsMissing,
    IsNumber,
    MissingAs,
    Negative,
    Not,
    Number,
    Or,
    Text,
    VariableRange,
    VariableReference,
)
from maskwright.edits.rule_language.group_functions import GROUP_FUNCTIONS, HINT, group_function
from maskwright.edits.rule_language.typed_term import Kind, Mistake, Typed
from maskwright.foundation.errors import unknown_name

DEEPEST_NESTING = 200
MOST_DIGITS = 400
LONGEST_LEFT_SUM = 16
EQUAL_SIGN = "="

KEYWORDS = frozenset(
    {"if", "then", "else", "and", "or", "not", "in", "is", "missing", "integer", "number", "original", "inf"}
)

# Smallest and largest number of arguments; None is any number.
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1), "ceiling": (1, 1), "floor": (1, 1), "max": (2, None), "min": (2, None), "mod": (2, 2),
    "round": (1, 1), "sum": (1, None), **{name: (count, count) for name, count in FUNCTIONS_OF_DATES.items()},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """What follows ``in``: bounds, None where unbounded."""

    low: Typed | None
    high: Typed | None
    low_closed: bool
    high_closed: bool


def checked_condition(whole: Typed) -> Expression:
    """Return the expression of a whole rule, which must be a condition."""
    if whole.kind == "truth":
        return whole.expression
    raise Mistake(whole.start, f"expected a condition, found {whole.described}", "A rule compares: write 'V1 <= V2'.")


def checked_value(whole: Typed) -> Expression:
    """Return the expression of an alias: a variable or a number computed from variables."""
    return _numeric(whole, "an alias").expression


@v_args(inline=True)
class TreeBuilder(Transformer[Token, Typed]):
    """One method for each rule of the grammar."""

    def number(self, token: Token) -> Typed:
        """Exact decimal literal."""
        return Typed(Number(_exact(token)), "number", 1, _start(token))

    def date(self, token: Token) -> Typed:
        """Date literal."""
        day = iso_day(str(token))
        if day is None:
            hint = (
                "A year, a month and a day with '-' between them are a date, and T14:05:00 behind them a time of day; "
                "a difference has spaces: 2005 - 12 - 31."
            )
            raise Mistake(_start(token), "the calendar has no such date", hint)
        return Typed(Date(day), "number", 1, _start(token))

    def negative_number(self, token: Token) -> Typed:
        """Member of a set."""
        return Typed(Number(-_exact(token)), "number", 1, _start(token))

    def text(self, token: Token) -> Typed:
        """Quoted text."""
        return Typed(Text(str(token)[1:-1]), "text", 1, _start(token))

    def word(self, token: Token) -> Typed:
        """Bare word in a set."""
        return Typed(Text(str(token)), "text", 1, _start(token))

    def variable(self, token: Token) -> Typed:
        """Plain name."""
        return Typed(VariableReference(str(token)), "value", 1, _start(token))

    def quoted_variable(self, token: Token) -> Typed:
        """Name in back quotes."""
        return Typed(VariableReference(str(token)[1:-1]), "value", 1, _start(token))

    def call(self, name: Token, *arguments: Typed | None) -> Typed:
        """Call of a function."""
        known = str(name)
        of_group = group_function(name, [argument for argument in arguments if argument is not None])
        if of_group is not None:
            return of_group
        if known not in FUNCTIONS:
            raise Mistake(_start(name), unknown_name("function", known, {*FUNCTIONS, *GROUP_FUNCTIONS}))
        fewest, most = FUNCTIONS[known]
        given = [
            argument if argument.kind == "range" and most is None else _numeric(argument, f"{known}()")
            for argument in arguments
            if argument is not None
        ]
        ranged = any(argument.kind == "range" for argument in given)
        if ranged:
            fewest = 1
        if len(given) < fewest or (most is not None and len(given) > most):
            wanted = f"{fewest} argument{'s' if fewest > 1 else ''}" + (" or more" if most is None else "")
            raise Mistake(_start(name), f"{known}() takes {wanted}, not {len(given)}")
        if known == "sum" and not ranged:
            return _sum([(argument, 1) for argument in given], _start(name))
        if known == "mod":
            return _made(Arithmetic("mod", given[0].expression, given[1].expression), "number", given, _start(name))
        return _made(Function(known, tuple(one.expression for one in given)), "number", given, _start(name))

    def members_where(self, members: Typed, condition: Typed) -> Typed:
        """``person.income where age < 16``."""
        inner = _condition(condition, "'where'").expression
        if not isinstance(members.expression, VariableReference):
            raise Mistake(members.start, "expected a level, or a variable of one, before 'where'", HINT)
        node = GroupFunction("", "", members.expression, inner)
        return Typed(node, "members", 1 + condition.depth, members.start)

    def variable_range(self, first: Typed, dots: Token, last: Typed) -> Typed:  # noqa: ARG002 - it says itself
        """``V3..V7``, in the order of the data."""
        ends = (cast("VariableReference", first.expression).name, cast("VariableReference", last.expression).name)
        return Typed(VariableRange(*ends), "range", 1, first.start)

    def negative(self, operand: Typed) -> Typed:
        """Unary minus; of a literal it is a negative literal."""
        number = _numeric(operand, "'-'").expression
        if isinstance(number, Number):
            return Typed(Number(-number.value), "number", 1, operand.start)
        return _made(Negative(number), "number", [operand])

    def raised(self, base: Typed, exponent: Typed) -> Typed:
        """Power."""
        return self._arithmetic("^", base, exponent)

    def multiplication(self, first: Typed, *rest: Typed | Token) -> Typed:
        """Products and quotients, from the left."""
        result = first
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            result = self._arithmetic(cast("ArithmeticOperator", str(operator)), result, cast("Typed", operand))
        return result

    def addition(self, first: Typed, *rest: Typed | Token) -> Typed:
        """Addition and subtraction."""
        terms = [(_numeric(first, "arithmetic"), 1)]
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            terms.append((_numeric(cast("Typed", operand), "arithmetic"), 1 if operator == "+" else -1))
        return _sum(terms, first.start)

    def _arithmetic(self, operator: ArithmeticOperator, left: Typed, right: Typed) -> Typed:
        operands = [_numeric(left, "arithmetic"), _numeric(right, "arithmetic")]
        return _made(Arithmetic(operator, left.expression, right.expression), "number", operands)

    def comparison(self, first: Typed, *rest: Typed | Token) -> Typed:
        """One comparison, or a chain: ``0 <= x <= y`` compares each neighbouring pair."""
        found: list[Typed] = []
        left = first
        for token, operand in zip(rest[::2], rest[1::2], strict=True):
            right = cast("Typed", operand)
            found.append(_compared(cast("Token", token), left, right))
            left = right
        return found[0] if len(found) == 1 else _joined(And, found)

    def infinity(self, token: Token) -> Typed:  # noqa: ARG002 - the word says it all
        """No bound above."""
        return _ABOVE

    def negative_infinity(self, token: Token) -> Typed:  # noqa: ARG002
        """No bound below."""
        return _BELOW

    def interval(self, opening: Token, low: Typed, high: Typed, closing: Token) -> Interval:
        """``[low, high)``."""
        for bound, wrong, name in ((low, _ABOVE, "lower"), (high, _BELOW, "upper")):
            if bound is wrong:
                raise Mistake(_start(opening), f"the {name} bound of an interval cannot be on its other end")
        lower = None if low is _BELOW else _numeric(low, "an interval")
        upper = None if high is _ABOVE else _numeric(high, "an interval")
        return Interval(lower, upper, opening == "[", closing == "]")

    def set(self, *members: Typed) -> list[Typed]:
        """``{1, 2}``."""
        return list(members)

    def combination(self, *names: Typed) -> list[Typed]:
        """``(region, town)``."""
        return list(names)

    def in_interval(self, operand: Typed, negated: Token | None, interval: Interval) -> Typed:
        """Interval membership."""
        _numeric(operand, "an interval")
        low = interval.low.expression if interval.low is not None else None
        high = interval.high.expression if interval.high is not None else None
        bounds = [bound for bound in (interval.low, interval.high) if bound is not None]
        node = InInterval(operand.expression, low, high, interval.low_closed, interval.high_closed)
        return _perhaps_not(negated, _made(node, "truth", [operand, *bounds]))

    def in_set(self, operand: Typed, negated: Token | None, members: list[Typed]) -> Typed:
        """Set membership."""
        if operand.kind == "truth":
            raise Mistake(operand.start, "a set holds numbers or texts; found a condition before 'in'")
        for member in members:
            if operand.kind == "number" and member.kind == "text":
                raise Mistake(member.start, "a computed number is never a text", "List numbers in this set.")
        values = tuple(cast("Number | Text", member.expression) for member in members)
        return _perhaps_not(negated, _made(InSet(operand.expression, values), "truth", [operand]))

    def in_original(self, operand: Typed, negated: Token | None) -> Typed:
        """Domain of one variable."""
        return self.combination_in_original([operand], negated)

    def combination_in_original(self, names: list[Typed], negated: Token | None) -> Typed:
        """Domain of a combination."""
        variables: list[str] = []
        for name in names:
            if not isinstance(name.expression, VariableReference):
                raise Mistake(name.start, "expected a variable before 'in original'", "Write 'town in original'.")
            if name.expression.name in variables:
                raise Mistake(name.start, f"the variable {name.expression.name} is listed twice")
            variables.append(name.expression.name)
        return _perhaps_not(negated, Typed(InOriginal(tuple(variables)), "truth", 1, names[0].start))

    def is_missing(self, operand: Typed, negated: Token | None, word: Token) -> Typed:  # noqa: ARG002
        """Missing cell."""
        if not isinstance(operand.expression, VariableReference):
            raise Mistake(operand.start, "expected a variable before 'is missing'")
        return _perhaps_not(negated, _made(IsMissing(operand.expression), "truth", [operand]))

    def is_missing_as(self, operand: Typed, negated: Token | None, meaning: Token) -> Typed:
        """Missing cell of one kind."""
        if not isinstance(operand.expression, VariableReference):
            raise Mistake(operand.start, f"expected a variable before 'is {meaning}'")
        return _perhaps_not(negated, _made(MissingAs(operand.expression, str(meaning)[1:-1]), "truth", [operand]))

    def is_number(self, operand: Typed, negated: Token | None, word: Token) -> Typed:  # noqa: ARG002
        """Cell that holds a number."""
        if not isinstance(operand.expression, VariableReference):
            raise Mistake(operand.start, "expected a variable before 'is number'")
        return _perhaps_not(negated, _made(IsNumber(operand.expression), "truth", [operand]))

    def is_integer(self, operand: Typed, negated: Token | None, word: Token) -> Typed:  # noqa: ARG002
        """Whole number."""
        _numeric(operand, "'is integer'")
        return _perhaps_not(negated, _made(IsInteger(operand.expression), "truth", [operand]))

    def negated(self, operand: Typed) -> Typed:
        """``not``."""
        return _made(Not(_condition(operand, "'not'").expression), "truth", [operand])

    def all_of(self, *operands: Typed) -> Typed:
        """``and``."""
        return _joined(And, [_condition(operand, "'and'") for operand in operands])

    def any_of(self, *operands: Typed) -> Typed:
        """``or``."""
        return _joined(Or, [_condition(operand, "'or'") for operand in operands])

    def conditional(self, condition: Typed, consequent: Typed, otherwise: Typed | None) -> Typed:
        """``if ... then ... else``."""
        operands = [_condition(condition, "'if'"), _condition(consequent, "'then'")]
        if otherwise is not None:
            operands.append(_condition(otherwise, "'else'"))
        node = IfThen(condition.expression, consequent.expression, otherwise.expression if otherwise else None)
        return _made(node, "truth", operands)


_ABOVE = Typed(Text("inf"), "text", 1, 0)
_BELOW = Typed(Text("-inf"), "text", 1, 0)


def _start(token: Token) -> int:
    return int(token.start_pos or 0)


def _exact(token: Token) -> Fraction:
    mantissa, _, exponent = str(token).lower().partition("e")
    # A short text must not become a number of a billion digits.
    if len(mantissa) > MOST_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MOST_DIGITS:
        raise Mistake(_start(token), f"numbers have at most {MOST_DIGITS} digits")
    return Fraction(str(token))


def _made(node: Expression, kind: Kind, operands: list[Typed], start: int | None = None) -> Typed:
    depth = 1 + max(operand.depth for operand in operands)
    first = operands[0].start if start is None else start
    if depth > DEEPEST_NESTING:
        raise Mistake(first, f"the rule is nested more than {DEEPEST_NESTING} deep", "Split it into several rules.")
    return Typed(node, kind, depth, first)


def _numeric(operand: Typed, taker: str) -> Typed:
    if operand.kind in ("number", "value"):
        return operand
    raise Mistake(operand.start, f"{taker} needs numbers; found {operand.described}")


def _condition(operand: Typed, taker: str) -> Typed:
    if operand.kind == "truth":
        return operand
    raise Mistake(
        operand.start, f"{taker} needs a condition; found {operand.described}", "A condition compares: 'V1 <= V2'."
    )


def _compared(token: Token, left: Typed, right: Typed) -> Typed:
    operator = cast("ComparisonOperator", "==" if token == EQUAL_SIGN else str(token))
    kinds = {left.kind, right.kind}
    for operand in (left, right):
        if operand.kind == "truth":
            raise Mistake(operand.start, "a condition cannot be compared", "Join conditions with 'and' and 'or'.")
    if "text" in kinds and operator not in ("==", "!="):
        dates = [side for side in (left, right) if isinstance(side.expression, Text) and _says_a_date(side.expression)]
        hint = "Write dates without quotes." if dates else "Use '==' or '!=', or a set."
        raise Mistake(_start(token), f"texts have no order: {operator!r} needs numbers", hint)
    if kinds == {"text", "number"}:
        raise Mistake(_start(token), "a number is never equal to a text", "Write the number without quotes.")
    return _made(Comparison(operator, left.expression, right.expression), "truth", [left, right])


def _says_a_date(text: Text) -> bool:
    return iso_day(text.value) is not None


def _perhaps_not(negated: Token | None, operand: Typed) -> Typed:
    return operand if negated is None else _made(Not(operand.expression), "truth", [operand])


def _joined(node: type[And | Or], operands: list[Typed]) -> Typed:
    return _made(node(tuple(operand.expression for operand in operands)), "truth", operands)


def _sum(terms: list[tuple[Typed, int]], start: int) -> Typed:
    """Left to right while short; balanced when long, so that thousands of terms are a dozen levels deep."""
    if len(terms) > LONGEST_LEFT_SUM:
        middle = len(terms) // 2
        sign = terms[middle][1]
        left = _sum(terms[:middle], start)
        right = _sum([(term, sign * own) for term, own in terms[middle:]], terms[middle][0].start)
        return _made(Arithmetic(_operator(sign), left.expression, right.expression), "number", [left, right], start)
    result, _ = terms[0]
    for term, sign in terms[1:]:
        node = Arithmetic(_operator(sign), result.expression, term.expression)
        result = _made(node, "number", [result, term], start)
    return result


def _operator(sign: int) -> ArithmeticOperator:
    return "+" if sign > 0 else "-"
