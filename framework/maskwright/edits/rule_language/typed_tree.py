"""Building an expression tree while the YAML language is parsed, checking that each operand is of the right kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from lark import Token, Transformer, v_args

from maskwright.data.date_texts import iso_day
from maskwright.data.dates import FUNCTIONS_OF_DATES
from maskwright.edits import expression as x
from maskwright.edits.constraint_kinds import CONSTRAINT_KINDS, wrong_numbers
from maskwright.edits.rule_language.operands import (
    BY_HINT,
    GROUP_FUNCTIONS,
    HINT,
    Mistake,
    Typed,
    compared,
    condition_operand,
    exact_number,
    group_function,
    joined,
    made_of,
    numeric_operand,
    perhaps_not,
    start_of,
    summed,
)
from maskwright.edits.text_patterns import WrongPattern, pattern_of
from maskwright.foundation.nearest_names import unknown_name

KEYWORDS = frozenset(
    "if then else and or not in is missing integer number original inf matches by".split()  # noqa: SIM905
)

# Smallest and largest number of arguments; None is any number.
MEANS = frozenset({"avg", "average", "mean"})
OF_MEANS = "A rule on a mean is one on a sum, as (a + b) / 2 <= 10, or sum(person.a) <= 10 * count(person)"
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1), "ceiling": (1, 1), "floor": (1, 1), "max": (2, None), "min": (2, None), "mod": (2, 2),
    "round": (1, 2), "sum": (1, None), **{name: (count, count) for name, count in FUNCTIONS_OF_DATES.items()},
}  # fmt: skip


MOST_DECIMALS = 15
"""Decimals to which a rule rounds at most: binary64 has no more."""


@dataclass(frozen=True, slots=True)
class Interval:
    """What follows ``in``: bounds, None where unbounded."""

    low: Typed | None
    high: Typed | None
    low_closed: bool
    high_closed: bool


def checked_condition(whole: Typed) -> x.Expression:
    """Return the expression of a whole rule, which must be a condition."""
    if whole.kind == "truth":
        return whole.expression
    raise Mistake(whole.start, f"expected a condition, found {whole.described}", "A rule compares: write 'V1 <= V2'.")


def checked_value(whole: Typed) -> x.Expression:
    """Return the expression of an alias: a variable or a number computed from variables."""
    return numeric_operand(whole, "an alias").expression


@v_args(inline=True)
class TreeBuilder(Transformer[Token, Typed]):
    """One method for each rule of the grammar."""

    def number(self, token: Token) -> Typed:
        """Exact decimal literal."""
        return Typed(x.Number(exact_number(token)), "number", 1, start_of(token))

    def date(self, token: Token) -> Typed:
        """Date literal."""
        day = iso_day(str(token))
        if day is None:
            hint = (
                "A year, a month and a day with '-' between them are a date, and T14:05:00 behind them a time of day; "
                "a difference has spaces: 2005 - 12 - 31."
            )
            raise Mistake(start_of(token), "the calendar has no such date", hint)
        return Typed(x.Date(day), "number", 1, start_of(token))

    def negative_number(self, token: Token) -> Typed:
        """Member of a set."""
        return Typed(x.Number(-exact_number(token)), "number", 1, start_of(token))

    def text(self, token: Token) -> Typed:
        """Quoted text."""
        return Typed(x.Text(str(token)[1:-1]), "text", 1, start_of(token))

    def word(self, token: Token) -> Typed:
        """Bare word in a set."""
        return Typed(x.Text(str(token)), "text", 1, start_of(token))

    def variable(self, token: Token) -> Typed:
        """Plain name."""
        return Typed(x.VariableReference(str(token)), "value", 1, start_of(token))

    def quoted_variable(self, token: Token) -> Typed:
        """Name in back quotes."""
        return Typed(x.VariableReference(str(token)[1:-1]), "value", 1, start_of(token))

    def call(self, name: Token, *arguments: Typed | None) -> Typed:
        """Call of a function."""
        known = str(name)
        of_group = group_function(name, [argument for argument in arguments if argument is not None])
        if of_group is not None:
            return of_group
        if known not in FUNCTIONS:
            return self._of_kind(name, [argument for argument in arguments if argument is not None])
        fewest, most = FUNCTIONS[known]
        given = [
            argument if argument.kind == "range" and most is None else numeric_operand(argument, f"{known}()")
            for argument in arguments
            if argument is not None
        ]
        ranged = any(argument.kind == "range" for argument in given)
        if ranged:
            fewest = 1
        if len(given) < fewest or (most is not None and len(given) > most):
            ending = " or more" if most is None else f" or {most}" if most > fewest else ""
            wanted = f"{fewest} argument{'s' if fewest > 1 else ''}{ending}"
            raise Mistake(start_of(name), f"{known}() takes {wanted}, not {len(given)}")
        if known == "sum" and not ranged:
            return summed([(argument, 1) for argument in given], start_of(name))
        if known == "round" and len(given) == 2:
            return _rounded_to_decimals(given[0], given[1], start_of(name))
        if known == "mod":
            return made_of(
                x.Arithmetic("mod", given[0].expression, given[1].expression), "number", given, start_of(name)
            )
        return made_of(x.Function(known, tuple(one.expression for one in given)), "number", given, start_of(name))

    @staticmethod
    def _of_kind(name: Token, given: list[Typed]) -> Typed:
        """Condition of a kind that a plugin brings: its numbers, then its columns."""
        kinds = CONSTRAINT_KINDS
        if str(name) not in kinds:
            hint = OF_MEANS if str(name).lower() in MEANS else None
            known = {*FUNCTIONS, *GROUP_FUNCTIONS, *kinds}
            raise Mistake(start_of(name), unknown_name("function", str(name), known), hint)
        kind = kinds[str(name)]
        wanted = tuple(kind.params.model_fields)
        numbers: list[Fraction] = []
        for field, argument in zip(wanted, given, strict=False):
            if not isinstance(argument.expression, x.Number):
                raise Mistake(argument.start, f"{name}() begins with a number, {field}; found {argument.described}")
            numbers.append(argument.expression.value)
        columns = [
            each if each.kind == "range" else numeric_operand(each, f"{name}()") for each in given[len(wanted) :]
        ]
        fewest = 1 if any(each.kind == "range" for each in columns) else kind.fewest
        if len(columns) < fewest or (kind.most is not None and len(columns) > kind.most):
            first = f"{', '.join(wanted)}, and then " if wanted else ""
            most = " or more" if kind.most is None else f" to {kind.most}" if kind.most > kind.fewest else ""
            message = f"{name}() takes {first}{kind.fewest}{most} variables, not {len(columns)}"
            raise Mistake(start_of(name), message, kind.example or None)
        wrong = wrong_numbers(kind, tuple(numbers))
        if wrong is not None:
            raise Mistake(start_of(name), f"{name}(): {wrong}")
        node = x.KindCondition(str(name), tuple(numbers), tuple(each.expression for each in columns))
        return made_of(node, "truth", columns, start_of(name))

    def members_where(self, members: Typed, condition: Typed) -> Typed:
        """``person.income where age < 16``."""
        inner = condition_operand(condition, "'where'").expression
        if not isinstance(members.expression, x.VariableReference):
            raise Mistake(members.start, "expected a level, or a variable of one, before 'where'", HINT)
        node = x.GroupFunction("", "", members.expression, inner)
        return Typed(node, "members", 1 + condition.depth, members.start)

    def variable_range(self, first: Typed, dots: Token, last: Typed) -> Typed:  # noqa: ARG002 - it says itself
        """``V3..V7``, in the order of the data."""
        ends = (cast("x.VariableReference", first.expression).name, cast("x.VariableReference", last.expression).name)
        return Typed(x.VariableRange(*ends), "range", 1, first.start)

    def negative(self, operand: Typed) -> Typed:
        """Unary minus; of a literal it is a negative literal."""
        number = numeric_operand(operand, "'-'").expression
        if isinstance(number, x.Number):
            return Typed(x.Number(-number.value), "number", 1, operand.start)
        return made_of(x.Negative(number), "number", [operand])

    def raised(self, base: Typed, exponent: Typed) -> Typed:
        """Power."""
        return self._arithmetic("^", base, exponent)

    def multiplication(self, first: Typed, *rest: Typed | Token) -> Typed:
        """Products and quotients, from the left."""
        result = first
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            result = self._arithmetic(cast("x.ArithmeticOperator", str(operator)), result, cast("Typed", operand))
        return result

    def addition(self, first: Typed, *rest: Typed | Token) -> Typed:
        """Addition and subtraction."""
        terms = [(numeric_operand(first, "arithmetic"), 1)]
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            terms.append((numeric_operand(cast("Typed", operand), "arithmetic"), 1 if operator == "+" else -1))
        return summed(terms, first.start)

    def _arithmetic(self, operator: x.ArithmeticOperator, left: Typed, right: Typed) -> Typed:
        operands = [numeric_operand(left, "arithmetic"), numeric_operand(right, "arithmetic")]
        return made_of(x.Arithmetic(operator, left.expression, right.expression), "number", operands)

    def comparison(self, first: Typed, *rest: Typed | Token) -> Typed:
        """One comparison, or a chain: ``0 <= x <= y`` compares each neighbouring pair."""
        found: list[Typed] = []
        left = first
        for token, operand in zip(rest[::2], rest[1::2], strict=True):
            right = cast("Typed", operand)
            found.append(compared(cast("Token", token), left, right))
            left = right
        return found[0] if len(found) == 1 else joined(x.And, found)

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
                raise Mistake(start_of(opening), f"the {name} bound of an interval cannot be on its other end")
        lower = None if low is _BELOW else numeric_operand(low, "an interval")
        upper = None if high is _ABOVE else numeric_operand(high, "an interval")
        return Interval(lower, upper, opening == "[", closing == "]")

    def set(self, *members: Typed) -> list[Typed]:
        """``{1, 2}``."""
        return list(members)

    def combination(self, *names: Typed) -> list[Typed]:
        """``(region, town)``."""
        return list(names)

    def in_interval(self, operand: Typed, negated: Token | None, interval: Interval) -> Typed:
        """Interval membership."""
        numeric_operand(operand, "an interval")
        low = interval.low.expression if interval.low is not None else None
        high = interval.high.expression if interval.high is not None else None
        bounds = [bound for bound in (interval.low, interval.high) if bound is not None]
        node = x.InInterval(operand.expression, low, high, interval.low_closed, interval.high_closed)
        return perhaps_not(negated, made_of(node, "truth", [operand, *bounds]))

    def in_set(self, operand: Typed, negated: Token | None, members: list[Typed]) -> Typed:
        """Set membership."""
        if operand.kind == "truth":
            raise Mistake(operand.start, "a set holds numbers or texts; found a condition before 'in'")
        for member in members:
            if operand.kind == "number" and member.kind == "text":
                raise Mistake(member.start, "a computed number is never a text", "List numbers in this set.")
        values = tuple(cast("x.Number | x.Text", member.expression) for member in members)
        return perhaps_not(negated, made_of(x.InSet(operand.expression, values), "truth", [operand]))

    def in_original(self, operand: Typed, negated: Token | None) -> Typed:
        """Domain of one variable."""
        return self.combination_in_original([operand], negated)

    def combination_in_original(self, names: list[Typed], negated: Token | None) -> Typed:
        """Domain of a combination."""
        variables: list[str] = []
        for name in names:
            if not isinstance(name.expression, x.VariableReference):
                raise Mistake(name.start, "expected a variable before 'in original'", "Write 'town in original'.")
            if name.expression.name in variables:
                raise Mistake(name.start, f"the variable {name.expression.name} is listed twice")
            variables.append(name.expression.name)
        return perhaps_not(negated, Typed(x.InOriginal(tuple(variables)), "truth", 1, names[0].start))

    def is_missing(self, operand: Typed, negated: Token | None, word: Token) -> Typed:
        """Missing cell."""
        return perhaps_not(negated, made_of(x.IsMissing(self._cell(operand, f"is {word}")), "truth", [operand]))

    @staticmethod
    def _cell(operand: Typed, word: str) -> x.VariableReference:
        if not isinstance(operand.expression, x.VariableReference):
            raise Mistake(operand.start, f"expected a variable before {word!r}")
        return operand.expression

    def is_missing_as(self, operand: Typed, negated: Token | None, meaning: Token) -> Typed:
        """Missing cell of one kind."""
        node = x.MissingAs(self._cell(operand, f"is {meaning}"), str(meaning)[1:-1])
        return perhaps_not(negated, made_of(node, "truth", [operand]))

    def matches(self, operand: Typed, negated: Token | None, pattern: Token) -> Typed:
        """Text that is as a pattern says."""
        cell = self._cell(operand, "matches")
        try:
            pattern_of(str(pattern)[1:-1])
        except WrongPattern as wrong:
            raise Mistake(start_of(pattern) + 1 + wrong.start, wrong.message, wrong.hint) from None
        return perhaps_not(negated, made_of(x.Matches(cell, str(pattern)[1:-1]), "truth", [operand]))

    def across_records(self, measured: Typed, key: Typed, condition: Typed | None) -> Typed:
        """``wages by household``: what comes after it belongs to the call."""
        if not isinstance(measured.expression, x.VariableReference):
            raise Mistake(measured.start, f"expected a variable before 'by', found {measured.described}", BY_HINT)
        inner = None if condition is None else condition_operand(condition, "'where'").expression
        keys = (cast("x.VariableReference", key.expression).name,)
        depth = 1 if condition is None else 1 + condition.depth
        return Typed(x.Aggregate("", measured.expression, keys, inner), "members", depth, measured.start)

    def is_number(self, operand: Typed, negated: Token | None, word: Token) -> Typed:
        """Cell that holds a number."""
        return perhaps_not(negated, made_of(x.IsNumber(self._cell(operand, f"is {word}")), "truth", [operand]))

    def is_integer(self, operand: Typed, negated: Token | None, word: Token) -> Typed:  # noqa: ARG002
        """Whole number."""
        numeric_operand(operand, "'is integer'")
        return perhaps_not(negated, made_of(x.IsInteger(operand.expression), "truth", [operand]))

    def negated(self, operand: Typed) -> Typed:
        """``not``."""
        return made_of(x.Not(condition_operand(operand, "'not'").expression), "truth", [operand])

    def all_of(self, *operands: Typed) -> Typed:
        """``and``."""
        return joined(x.And, [condition_operand(operand, "'and'") for operand in operands])

    def any_of(self, *operands: Typed) -> Typed:
        """``or``."""
        return joined(x.Or, [condition_operand(operand, "'or'") for operand in operands])

    def conditional(self, condition: Typed, consequent: Typed, otherwise: Typed | None) -> Typed:
        """``if ... then ... else``."""
        operands = [condition_operand(condition, "'if'"), condition_operand(consequent, "'then'")]
        if otherwise is not None:
            operands.append(condition_operand(otherwise, "'else'"))
        node = x.IfThen(condition.expression, consequent.expression, otherwise.expression if otherwise else None)
        return made_of(node, "truth", operands)


_ABOVE = Typed(x.Text("inf"), "text", 1, 0)
_BELOW = Typed(x.Text("-inf"), "text", 1, 0)


def _rounded_to_decimals(number: Typed, decimals: Typed, start: int) -> Typed:
    """``round(a * b, 2)`` as ``round(a * b * 100) / 100``."""
    match decimals.expression:
        case x.Number(value) if value.denominator == 1 and 0 <= value <= MOST_DECIMALS:
            parts = x.Number(Fraction(10) ** value.numerator)
        case _:
            wanted = f"the second argument of round() is a whole number from 0 to {MOST_DECIMALS}"
            raise Mistake(decimals.start, f"{wanted}; found {decimals.described}")
    whole = x.Function("round", (x.Arithmetic("*", number.expression, parts),))
    return made_of(x.Arithmetic("/", whole, parts), "number", [replace(number, depth=number.depth + 2)], start)
