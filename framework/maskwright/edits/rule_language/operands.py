"""Operands of a rule while it is parsed: what they yield, functions of groups, and aliases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from maskwright.data.date_texts import iso_day
from maskwright.edits import expression as x
from maskwright.foundation.errors import EditError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lark import Token


DEEPEST_NESTING = 200
MOST_DIGITS = 400
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

    expression: x.Expression
    kind: Kind
    depth: int
    start: int

    @property
    def described(self) -> str:
        """What it is, for a message."""
        if isinstance(self.expression, x.VariableReference):
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


def made_of(node: x.Expression, kind: Kind, operands: list[Typed], start: int | None = None) -> Typed:
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
    operator = cast("x.ComparisonOperator", "==" if token == EQUAL_SIGN else str(token))
    kinds = {left.kind, right.kind}
    for operand in (left, right):
        if operand.kind == "truth":
            raise Mistake(operand.start, "a condition cannot be compared", "Join conditions with 'and' and 'or'.")
    if "text" in kinds and operator not in ("==", "!="):
        texts = [side.expression.value for side in (left, right) if isinstance(side.expression, x.Text)]
        hint = (
            "Write dates without quotes."
            if any(iso_day(text) is not None for text in texts)
            else "Use '==' or '!=', or a set."
        )
        raise Mistake(start_of(token), f"texts have no order: {operator!r} needs numbers", hint)
    if kinds == {"text", "number"}:
        raise Mistake(start_of(token), "a number is never equal to a text", "Write the number without quotes.")
    return made_of(x.Comparison(operator, left.expression, right.expression), "truth", [left, right])


def perhaps_not(negated: Token | None, operand: Typed) -> Typed:
    """The condition, or its opposite where the rule says ``not``."""
    return operand if negated is None else made_of(x.Not(operand.expression), "truth", [operand])


def joined(node: type[x.And | x.Or], operands: list[Typed]) -> Typed:
    """Conditions joined by ``and`` or ``or``."""
    return made_of(node(tuple(operand.expression for operand in operands)), "truth", operands)


def summed(terms: list[tuple[Typed, int]], start: int) -> Typed:
    """Left to right while short; balanced when long, so that thousands of terms are a dozen levels deep."""
    if len(terms) > x.LONGEST_LEFT_SUM:
        middle = len(terms) // 2
        sign = terms[middle][1]
        left = summed(terms[:middle], start)
        right = summed([(term, sign * own) for term, own in terms[middle:]], terms[middle][0].start)
        return made_of(x.Arithmetic(_operator(sign), left.expression, right.expression), "number", [left, right], start)
    result, _ = terms[0]
    for term, sign in terms[1:]:
        node = x.Arithmetic(_operator(sign), result.expression, term.expression)
        result = made_of(node, "number", [result, term], start)
    return result


def _operator(sign: int) -> x.ArithmeticOperator:
    return "+" if sign > 0 else "-"


OF_RECORDS: dict[str, Kind] = {"count": "number", "any": "truth", "all": "truth", "one": "truth", "no": "truth"}
"""They count members that satisfy a condition."""
OF_VARIABLES: dict[str, Kind] = {"first": "value", "unique": "truth"}
"""They read a variable of the members."""
OF_BOTH: dict[str, Kind] = {"sum": "number", "min": "number", "max": "number"}
"""They do so with one argument that names a level; with others they are about variables of one record."""
GROUP_FUNCTIONS: dict[str, Kind] = {**OF_RECORDS, **OF_VARIABLES, **OF_BOTH}
HINT = "Write 'count(person where age < 16)' or 'sum(person.income where age < 16)': `maskwright explain edits`."


def group_function(name: Token, arguments: Sequence[Typed]) -> Typed | None:
    """Call that is about the members of a group; None where it is about variables of one record."""
    function, start = str(name), int(name.start_pos or 0)
    across = _across_records(function, start, arguments)
    if across is not None:
        return across
    if function in OF_BOTH and len(arguments) == 1 and _levels_in(arguments[0]):
        return _of_calculation(function, start, arguments[0])
    if function not in GROUP_FUNCTIONS or (function in OF_BOTH and not _is_of_group(arguments)):
        return None
    if len(arguments) != 1:
        raise Mistake(start, f"{function}() takes one argument, not {len(arguments)}", HINT)
    (argument,) = arguments
    node = argument.expression
    measured, condition = (node.operand, node.condition) if isinstance(node, x.GroupFunction) else (node, None)
    if not isinstance(measured, x.VariableReference):
        raise Mistake(argument.start, f"{function}() needs the name of a level; found {argument.described}", HINT)
    level, _, variable = measured.name.partition(".")
    if function in OF_RECORDS:
        if variable:
            raise Mistake(argument.start, f"{function}() is about records, and {measured.name} is a variable", HINT)
        if condition is None and function != "count":
            raise Mistake(argument.start, f"{function}() needs a condition of the members", HINT)
        found = x.GroupFunction(function, level, None, condition)
    else:
        if not variable:
            raise Mistake(argument.start, f"{function}() needs a variable of a level, as person.income", HINT)
        found = x.GroupFunction(function, level, x.VariableReference(variable), condition)
    return Typed(found, GROUP_FUNCTIONS[function], argument.depth + 1, start)


def _levels_in(argument: Typed) -> set[str]:
    """Levels whose variables a calculation reads; none of a variable alone, or where something else is read."""
    node = argument.expression
    if not isinstance(node, x.Arithmetic | x.Negative):
        return set()
    names = x.variable_names(node)
    return {name.partition(".")[0] for name in names} if all("." in name for name in names) else set()


OF_SUMS = "Write 'sum(person.wage + 2 * person.bonus)'; declare what is computed otherwise as a variable of its own."


def _of_calculation(function: str, start: int, argument: Typed) -> Typed:
    """Sum over members of sums, differences and multiples of their variables: the same of the sums of each."""
    levels = _levels_in(argument)
    if function != "sum" or len(levels) > 1:
        what = "members of one level" if len(levels) > 1 else "one variable of members"
        raise Mistake(argument.start, f"{function}() is about {what}; found a calculation", OF_SUMS)
    (level,) = levels

    def total(node: x.Expression) -> x.Expression:
        match node:
            case x.VariableReference(name):
                return x.GroupFunction("sum", level, x.VariableReference(name.partition(".")[2]))
            case x.Negative(inner):
                return x.Negative(total(inner))
            case x.Arithmetic("+" | "-" as operator, left, right):
                return x.Arithmetic(operator, total(left), total(right))
            case x.Arithmetic("*", x.Number() as factor, inner) | x.Arithmetic("*", inner, x.Number() as factor):
                return x.Arithmetic("*", factor, total(inner))
            case x.Arithmetic("/", inner, x.Number() as divisor):
                return x.Arithmetic("/", total(inner), divisor)
            case x.Number():
                return x.Arithmetic("*", node, x.GroupFunction("count", level))
            case _:
                raise Mistake(argument.start, "sum() of members takes no products of variables", OF_SUMS)

    return Typed(total(argument.expression), "number", argument.depth + 1, start)


AGGREGATES = ("sum", "mean", "min", "max")
BY_HINT = "Write 'sum(wages by household) == total', 'mean(x by g, h)' or 'sum(x by g where x is not missing)'."


def _across_records(function: str, start: int, arguments: Sequence[Typed]) -> Typed | None:
    """Call about records of the same file, without levels: ``unique(id, year)``, ``sum(x by g, h)``."""
    node = arguments[0].expression if arguments else None
    is_plain = isinstance(node, x.VariableReference) and "." not in node.name
    if function == "unique" and (len(arguments) > 1 or is_plain):
        return Typed(x.Unique(_names(arguments, "unique()", "Write 'unique(id, year)'.")), "truth", 2, start)
    if not isinstance(node, x.Aggregate):
        later = next((each for each in arguments if isinstance(each.expression, x.Aggregate)), None)
        if later is not None and later.kind == "members":
            raise Mistake(later.start, "'by' follows the first variable", BY_HINT)
        return None
    if arguments[0].kind != "members":
        return None
    if function not in AGGREGATES:
        raise Mistake(start, f"{function}() has no 'by'; {', '.join(AGGREGATES)} have it", BY_HINT)
    *keys, last = arguments[1:] or [arguments[0]]
    condition = node.condition
    if isinstance(last.expression, x.GroupFunction) and last.expression.operand is not None:
        condition = last.expression.condition
        last = replace(last, expression=last.expression.operand)
    more = [*keys, last] if len(arguments) > 1 else []
    found = x.Aggregate(function, node.operand, (*node.by, *_names(more, "'by'", BY_HINT)), condition)
    return Typed(found, "number", 1 + max(each.depth for each in arguments), start)


def _names(arguments: Sequence[Typed], taker: str, hint: str) -> tuple[str, ...]:
    found: list[str] = []
    for each in arguments:
        if not isinstance(each.expression, x.VariableReference):
            raise Mistake(each.start, f"{taker} needs variables; found {each.described}", hint)
        if each.expression.name in found:
            raise Mistake(each.start, f"the variable {each.expression.name} is listed twice")
        found.append(each.expression.name)
    return tuple(found)


def _is_of_group(arguments: Sequence[Typed]) -> bool:
    if len(arguments) != 1:
        return False
    node = arguments[0].expression
    return isinstance(node, x.GroupFunction) or (isinstance(node, x.VariableReference) and "." in node.name)


LARGEST_TREE = 20_000


def without_aliases(  # noqa: C901 - one case for each kind of node
    expression: x.Expression, aliases: Mapping[str, x.Expression], place: Place | None
) -> x.Expression:
    """Tree in which every alias is what it stands for."""
    if not aliases:
        return expression
    size = 0

    def variable(name: str) -> str:
        meant = aliases.get(name, x.VariableReference(name))
        if isinstance(meant, x.VariableReference):
            return meant.name
        raise EditError(
            Problem(
                f"the alias {name!r} stands for a calculation; here only a variable can stand", place,
                "'is missing', 'is number', 'matches', 'in original', unique(), 'by' and ranges are about variables of "
                "the file.",
            )
        )  # fmt: skip

    def change(node: x.Expression) -> x.Expression:  # noqa: PLR0911 - one for each kind of node
        nonlocal size
        match node:
            case x.VariableReference(name) if name in aliases:
                size += x.size_and_depth(aliases[name])[0]
                if size > LARGEST_TREE:
                    raise EditError(Problem("the rule grows too large when its aliases are written out", place))
                return aliases[name]
            case x.GroupFunction(_, _, _, condition) if condition is not None:
                return replace(node, condition=x.rewritten(condition, change))
            case x.Aggregate(_, operand, by, condition):
                inner = None if condition is None else x.rewritten(condition, change)
                own = x.VariableReference(variable(operand.name))
                return replace(node, operand=own, by=tuple(map(variable, by)), condition=inner)
            case x.IsMissing(operand) | x.MissingAs(operand) | x.IsNumber(operand) | x.Matches(operand):
                return replace(node, operand=x.VariableReference(variable(operand.name)))
            case x.InOriginal(names) | x.Unique(names):
                return replace(node, names=tuple(map(variable, names)))
            case x.VariableRange(first, last):
                return x.VariableRange(variable(first), variable(last))
            case _:
                return node

    found = x.rewritten(expression, change)
    if x.size_and_depth(found)[1] > DEEPEST_NESTING:
        raise EditError(
            Problem(f"with its aliases written out the rule is nested more than {DEEPEST_NESTING} deep", place)
        )
    return found
