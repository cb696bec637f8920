"""Expression trees as text of the YAML language, without double negations."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.data.date_texts import iso_text
from maskwright.data.dates import FUNCTIONS_OF_DATES
from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import all_of, any_of
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.rule_language.typed_tree import FUNCTIONS, KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


_PLAIN_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")
_RULE, _OR, _AND, _NOT, _CONDITION, _SUM, _PRODUCT, _SIGNED, _POWER, _ATOM = range(10)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}


def rule_text(expression: x.Expression) -> str:
    """Text of a rule; reading it gives the same tree again.

    Chains come out as conjunctions (``0 <= x and x <= y``); very long sums may come back grouped differently.
    """
    return _text(expression, _RULE)


def decimal_text(value: Fraction) -> str | None:
    """Decimal digits of a number, exactly; None where they never end (1/3)."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return None
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def name_text(name: str) -> str:
    """Name of a variable, in back quotes where it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name not in KEYWORDS and (name not in FUNCTIONS or name in FUNCTIONS_OF_DATES):
        return name
    if not name or re.search(r"[`\r\n]", name):
        raise Inexpressible("the name of a variable holds a back quote or a line break")
    return f"`{name}`"


def _text(node: x.Expression, level: int) -> str:
    text, own = _with_level(node)
    return text if own >= level else f"({text})"


def _with_level(node: x.Expression) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    match node:
        case x.Date(value):
            return iso_text(value), _ATOM
        case x.Number(value):
            return _number(value)
        case x.Text(value):
            return quoted_text(value), _ATOM
        case x.Truth(value):
            return ("0 == 0" if value else "0 == 1"), _CONDITION
        case x.VariableReference(name):
            return name_text(name), _ATOM
        case x.VariableRange(first, last):
            return f"{name_text(first)}..{name_text(last)}", _ATOM
        case x.Arithmetic("^", left, right):
            return f"{_text(left, _ATOM)} ^ {_text(right, _SIGNED)}", _POWER
        case x.Arithmetic("mod", left, right):
            return f"mod({_text(left, _RULE)}, {_text(right, _RULE)})", _ATOM
        case x.Arithmetic(operator, left, right):
            own = _LEVELS[operator]
            return f"{_text(left, own)} {operator} {_text(right, own + 1)}", own
        case x.Negative(operand):
            return f"-{_text(operand, _SIGNED)}", _SIGNED
        case x.Function(name, arguments) if name in FUNCTIONS:
            return f"{name}({', '.join(_text(argument, _RULE) for argument in arguments)})", _ATOM
        case x.KindCondition(name, numbers, columns):
            arguments = (*map(x.Number, numbers), *columns)
            return f"{name}({', '.join(_text(argument, _RULE) for argument in arguments)})", _ATOM
        case x.GroupFunction(function, level, operand, condition):
            about = level if operand is None else f"{level}.{operand.name}"
            where = "" if condition is None else f" where {_text(condition, _RULE)}"
            return f"{function}({about}{where})", _ATOM
        case x.Comparison(operator, left, right):
            return f"{_text(left, _SUM)} {operator} {_text(right, _SUM)}", _CONDITION
        case x.And(operands):
            return " and ".join(_text(operand, _NOT) for operand in operands), _AND
        case x.Or(operands):
            return " or ".join(_text(operand, _AND) for operand in operands), _OR
        case x.Not(
            x.InInterval()
            | x.InSet()
            | x.InOriginal()
            | x.IsMissing()
            | x.MissingAs()
            | x.IsNumber()
            | x.Matches()
            | x.IsInteger() as inner
        ):
            return _membership(inner, "not "), _CONDITION
        case x.Not(operand):
            return f"not {_text(operand, _NOT)}", _NOT
        case x.IfThen(condition, consequent, otherwise):
            text = f"if {_text(condition, _OR)} then {_text(consequent, _OR)}"
            return (text if otherwise is None else f"{text} else {_text(otherwise, _OR)}"), _RULE
        case x.Unique(names):
            return f"unique({', '.join(map(name_text, names))})", _ATOM
        case x.Aggregate(function, operand, by, condition):
            where = "" if condition is None else f" where {_text(condition, _RULE)}"
            return f"{function}({name_text(operand.name)} by {', '.join(map(name_text, by))}{where})", _ATOM
        case (
            x.InInterval()
            | x.InSet()
            | x.InOriginal()
            | x.IsMissing()
            | x.MissingAs()
            | x.IsNumber()
            | x.Matches()
            | x.IsInteger()
        ):
            return _membership(node, ""), _CONDITION
        case x.Function(name):
            raise Inexpressible(f"{name}() is no function of the YAML language")
        case _:
            raise Inexpressible("the test is outside the language of rules")


def _membership(node: x.Expression, negated: str) -> str:  # noqa: PLR0911 - one for each kind
    match node:
        case x.InInterval(operand, low, high, low_closed, high_closed):
            lower = "-inf" if low is None else _text(low, _SUM)
            upper = "inf" if high is None else _text(high, _SUM)
            opening, closing = "[" if low_closed else "(", "]" if high_closed else ")"
            return f"{_text(operand, _SUM)} {negated}in {opening}{lower}, {upper}{closing}"
        case x.InSet(operand, members):
            return f"{_text(operand, _SUM)} {negated}in {{{', '.join(_with_level(one)[0] for one in members)}}}"
        case x.InOriginal(names):
            quoted = [name_text(name) for name in names]
            listed = quoted[0] if len(quoted) == 1 else f"({', '.join(quoted)})"
            return f"{listed} {negated}in original"
        case x.IsMissing(x.VariableReference(name)):
            return f"{name_text(name)} is {negated}missing"
        case x.MissingAs(x.VariableReference(name), meaning):
            return f"{name_text(name)} is {negated}{quoted_text(meaning)}"
        case x.IsNumber(x.VariableReference(name)):
            return f"{name_text(name)} is {negated}number"
        case x.Matches(x.VariableReference(name), pattern):
            return f"{name_text(name)} {negated}matches {quoted_text(pattern)}"
        case x.IsInteger(operand):
            return f"{_text(operand, _SUM)} is {negated}integer"
    raise AssertionError(f"no text for {type(node).__name__}")


def _number(value: Fraction) -> tuple[str, int]:
    text = decimal_text(value)
    if text is not None:
        return text, _SIGNED if value < 0 else _ATOM
    return f"{value.numerator} / {value.denominator}", _PRODUCT


def quoted_text(text: str) -> str:
    """A text of the data as the rule language writes it."""
    if "\n" in text or "\r" in text:
        raise Inexpressible("a text holds a line break")
    for quote in ("'", '"'):
        if quote not in text:
            return f"{quote}{text}{quote}"
    raise Inexpressible("a text holds both kinds of quotes")


def simplified_rule(rule: x.Expression, *, holds: bool = True) -> x.Expression:  # noqa: PLR0911 - one case for each kind of node
    """Rule, or its negation, that is violated by the same records."""
    match rule:
        case x.Not(operand):
            return simplified_rule(operand, holds=not holds)
        case x.And(operands) if holds:
            return _all([simplified_rule(each) for each in operands])
        case x.Or(operands) if not holds:
            return _all([simplified_rule(each, holds=False) for each in operands])
        case x.And(operands) | x.Or(operands):
            return _any([simplified_rule(each, holds=holds) for each in operands])
        case x.IfThen(condition, consequent, None) if not holds:
            return _all([simplified_rule(condition), simplified_rule(consequent, holds=False)])
        case x.IfThen(condition, consequent, None):
            return x.IfThen(simplified_rule(condition), simplified_rule(consequent))
        case x.Comparison(operator) if not holds:
            return replace(rule, operator=x.NEGATED[operator])
        case x.GroupFunction("any" | "no" as function, condition=wanted) if wanted is not None:
            inner = simplified_rule(wanted)
            return replace(rule, function="any" if (function == "any") == holds else "no", condition=inner)
        case x.GroupFunction("all", condition=wanted) if wanted is not None:
            inner = simplified_rule(wanted, holds=holds)
            return replace(rule, function="all" if holds else "any", condition=inner)
        case _:
            return rule if holds else x.Not(rule)


def _all(operands: Sequence[x.Expression]) -> x.Expression:
    """Conjunction, in which `a <= b and a >= b` is `a == b`."""
    flat = [one for each in operands for one in (each.operands if isinstance(each, x.And) else (each,))]
    found: list[x.Expression] = []
    for each in dict.fromkeys(flat):
        last = found[-1] if found else None
        match last, each:
            case x.Comparison("<=" | ">=" as one), x.Comparison("<=" | ">=" as other) if one != other and (
                (last.left, last.right) == (each.left, each.right)
            ):
                found[-1] = x.Comparison("==", each.left, each.right)
            case _:
                found.append(each)
    return all_of(found)


def _any(operands: Sequence[x.Expression]) -> x.Expression:
    """Disjunction without the guards of the sums in its comparisons."""
    flat = [one for each in operands for one in (each.operands if isinstance(each, x.Or) else (each,))]
    guards = {guard for each in flat if isinstance(each, x.Comparison) for guard in _guards(each)}
    kept = [each for each in dict.fromkeys(flat) if each not in guards]
    return any_of(kept)


def _guards(node: x.Comparison) -> list[x.Expression]:
    """What holds of members where a sum of a comparison is not known."""
    found: list[x.Expression] = []
    for each in x.nodes(node):
        if isinstance(each, x.GroupFunction) and each.function == "sum" and each.operand is not None:
            lost: x.Expression = x.Not(x.IsNumber(each.operand))
            if each.condition is not None:
                meant, other = simplified_rule(each.condition), simplified_rule(each.condition, holds=False)
                lost = _all([meant, _any([other, lost])])
            found.append(x.GroupFunction("any", each.level, None, lost))
    return found
