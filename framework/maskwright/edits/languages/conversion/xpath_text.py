"""Expression trees as text of XPath 1.0, and dates as whole numbers there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.date_texts import ISO
from maskwright.data.dates import CALENDAR, FUNCTIONS_OF_DATES, calendar, year_month_day
from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import interval_comparisons
from maskwright.edits.element_names import WrittenNames
from maskwright.edits.languages.conversion.converted import Inexpressible, PathReference
from maskwright.edits.languages.conversion.yaml_text import decimal_text
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


LONGEST_TEST = 10_000
ORIGINAL_FILE = "original.xml"

_NAME = rf"(?:{NCNAME}:)?{NCNAME}"
_PATH = re.compile(rf"{_NAME}(?:/@{_NAME})?|@{_NAME}")
_OR, _AND, _EQUAL, _LESS, _SUM, _PRODUCT, _SIGNED, _ATOM = range(8)
_COMPARISONS = {"==": ("=", _EQUAL), "!=": ("!=", _EQUAL)}
_ARITHMETIC = {
    "+": ("+", _SUM),
    "-": ("-", _SUM),
    "*": ("*", _PRODUCT),
    "/": ("div", _PRODUCT),
    "mod": ("mod", _PRODUCT),
}


def xpath_text(expression: x.Expression, names: WrittenNames | None = None) -> str:
    """Text of a test in XPath 1.0; `parse_xpath` reads the same meaning from it."""
    text = _text(x.rewritten(expression, partial(_placed, names=names or WrittenNames())), _OR)
    if len(text) > LONGEST_TEST:
        raise Inexpressible(f"its test has {len(text):,} characters in XPath; at most {LONGEST_TEST:,} are read")
    return text


def path_text(name: str, names: WrittenNames) -> str:
    """Path to the element or attribute of a variable."""
    path = names.path(name)
    if not _PATH.fullmatch(path) or (":" in path and name not in names.elements):
        raise Inexpressible(f"{name!r} cannot be the name of an XML element")
    return path


def _placed(node: x.Expression, names: WrittenNames) -> x.Expression:
    """Node with paths in place of names."""
    match node:
        case PathReference():
            return node
        case x.VariableReference(name):
            return PathReference(path_text(name, names))
        case x.InOriginal((name,)):
            path = path_text(name, names)
            if path.startswith("@"):
                raise Inexpressible(
                    f"the original file is searched for elements, and {name} is an attribute of records"
                )
            return x.Comparison("==", PathReference(path), PathReference(f"document('{ORIGINAL_FILE}')//{path}"))
        case _:
            return node


def _text(node: x.Expression, level: int) -> str:
    text, own = _with_level(node)
    return text if own >= level else f"({text})"


def _with_level(node: x.Expression) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    match node:
        case x.Number(value):
            text = decimal_text(value)
            if text is None:
                return f"{value.numerator} div {value.denominator}", _PRODUCT
            return text, _SIGNED if value < 0 else _ATOM
        case x.Text(value):
            quote = "'" if "'" not in value else '"'
            if quote in value:
                raise Inexpressible("a text holds both kinds of quotes, which XPath 1.0 cannot write")
            return f"{quote}{value}{quote}", _ATOM
        case x.Truth(value):
            return ("true()" if value else "false()"), _ATOM
        case PathReference(path):
            return path, _ATOM
        case x.Negative(operand):
            return f"-{_text(operand, _SIGNED)}", _SIGNED
        case x.Not(operand):
            return f"not({_text(operand, _OR)})", _ATOM
        case x.And(operands):
            return " and ".join(_text(operand, _EQUAL) for operand in operands), _AND
        case x.Or(operands):
            return " or ".join(_text(operand, _AND) for operand in operands), _OR
        case x.IfThen(condition, consequent, None):
            return _with_level(x.Or((x.Not(condition), consequent)))
        case x.IfThen(condition, consequent, otherwise) if otherwise is not None:
            branches = x.And((condition, consequent)), x.And((x.Not(condition), otherwise))
            return _with_level(x.Or(branches))
        case x.Comparison(operator, left, right):
            sign, own = _COMPARISONS.get(operator, (operator, _LESS))
            return f"{_text(left, own)} {sign} {_text(right, own + 1)}", own
        case x.Arithmetic(operator, left, right) if operator in _ARITHMETIC:
            sign, own = _ARITHMETIC[operator]
            return f"{_text(left, own)} {sign} {_text(right, own + 1)}", own
        case x.Function("number", (PathReference(path, is_number=True),)):
            return path, _ATOM
        case x.Function(name, arguments):
            return f"{name}({', '.join(_text(argument, _OR) for argument in arguments)})", _ATOM
        case x.InOriginal():
            raise Inexpressible("XPath 1.0 cannot look up a combination of variables in the original file")
        case _:
            raise Inexpressible("the test is outside XPath 1.0")


DIGITS, SHAPE, LENGTH = x.Text("0123456789"), x.Text("0000-00-00"), 10
ZERO = x.Number(Fraction(0))


@dataclass
class DateNumbers:
    """Puts whole numbers, under names of their own, in the place of what a rule says of dates, and writes them at last.

    `dates`: variables that are dates, and how they are written.
    """

    dates: Mapping[str, str]
    _made: dict[str, x.Expression] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names that stand for whole numbers, after `__call__`."""
        return tuple(self._made)

    @property
    def cells(self) -> dict[str, tuple[str, ...]]:
        """Variables of whose cells each of the whole numbers is made."""
        return {
            name: tuple(dict.fromkeys(each.name for each in x.nodes(made) if isinstance(each, x.VariableReference)))
            for name, made in self._made.items()
        }

    def __call__(self, node: x.Expression) -> x.Expression:  # noqa: C901, PLR0911 - one case for each kind of node
        """Condition or number without dates."""
        if not any(self._is_date(each) or _is_function(each) for each in x.nodes(node)):
            return node
        match node:
            case x.Comparison(operator, left, right) if self._is_date(left) or self._is_date(right):
                simple = all(isinstance(each, x.VariableReference | x.Date) for each in (left, right))
                if simple:
                    return x.Comparison(operator, self._dated(left), self._dated(right))
                return x.Comparison(operator, x.Arithmetic("-", self._days(left), self._days(right)), ZERO)
            case x.InInterval() if bounds := interval_comparisons(node):
                return self(bounds[0]) if len(bounds) == 1 else self(x.And(bounds))
            case x.InSet(x.VariableReference() as operand, members) if all(
                isinstance(each, x.Date) for each in members
            ):
                # A text that is no date is none of them, as a text is none of some numbers.
                return x.InSet(
                    self._dated(operand), tuple(_ymd_of(each) for each in members if isinstance(each, x.Date))
                )
            case x.InSet(operand, members):
                found: tuple[x.Expression, ...] = tuple(self(x.Comparison("==", operand, each)) for each in members)
                return found[0] if len(found) == 1 else x.Or(found)
            case x.Arithmetic("-", left, right) if self._is_date(left):
                return x.Arithmetic("-", self._days(left), self._days(right))
            case x.Function(name, arguments) if name in CALENDAR:
                return self._function(name, arguments)
            case x.Function(name, arguments) if name not in FUNCTIONS_OF_DATES and not any(
                map(self._is_date, arguments)
            ):
                return x.mapped(node, self)
            case x.VariableReference() | x.Function() | x.Date():
                raise Inexpressible("XPath 1.0 cannot say this of dates")
            case _:
                return x.mapped(node, self)

    def written(self, test: x.Expression) -> x.Expression:
        """Test in which the numbers are what XPath makes of the cells."""

        def changed(node: x.Expression) -> x.Expression:
            match node:
                case x.Function("number", (x.VariableReference(name),)) if name in self._made:
                    return self._made[name]
                case _:
                    return node

        return x.rewritten(test, changed)

    def _is_date(self, node: x.Expression) -> bool:
        match node:
            case x.VariableReference(name):
                return name in self.dates
            case x.Arithmetic("+" | "-", left, right):
                return self._is_date(left) != self._is_date(right)
            case _:
                return isinstance(node, x.Date)

    def _dated(self, node: x.Expression) -> x.Expression:
        """Number yyyymmdd of a variable or a literal."""
        if isinstance(node, x.Date):
            return _ymd_of(node)
        variable = self._variable(node)
        return self._named(f"date of {variable}", _ymd(variable))

    def _days(self, node: x.Expression) -> x.Expression:
        match node:
            case x.Date(value):
                return x.Number(value)
            case x.VariableReference():
                variable = self._variable(node)
                return self._named(f"days of {variable}", _day_number(_ymd(variable)))
            case x.Arithmetic("+" | "-" as sign, left, right):
                return x.Arithmetic(sign, *(self._days(each) if self._is_date(each) else self(each)
                                          for each in (left, right)))  # fmt: skip
            case _:
                raise Inexpressible("XPath 1.0 cannot say this of dates")

    def _function(self, name: str, arguments: tuple[x.Expression, ...]) -> x.Expression:
        if all(isinstance(each, x.Date) for each in arguments):
            days = [np.array([float(each.value)]) for each in arguments if isinstance(each, x.Date)]
            return x.Number(Fraction(int(calendar(name, days)[0])))
        if name == "age_at":
            born, then = (
                _ymd_of(each) if isinstance(each, x.Date) else _ymd(self._variable(each)) for each in arguments
            )
            # Completed years: of two numbers yyyymmdd the difference rounds down to them.
            return self._named(f"age {len(self._made)}", _floor(x.Arithmetic("-", then, born), 10_000))
        (argument,) = arguments
        variable = self._variable(argument)
        return self._named(f"{name} of {variable}", _PARTS[name](_ymd(variable)))

    def _variable(self, node: x.Expression) -> str:
        if not isinstance(node, x.VariableReference):
            raise Inexpressible("XPath 1.0 cannot calculate with a date in the argument of a function")
        form = self.dates.get(node.name)
        if form is None:
            raise Inexpressible(f"{node.name} is not known to be a date: give the data (--data)")
        if form != ISO:
            raise Inexpressible(
                f"{node.name} is written as {form}, and only dates as 2005-12-31 are numbers to XPath 1.0"
            )
        return node.name

    def _named(self, name: str, written: x.Expression) -> x.Expression:
        self._made[name] = written
        return x.VariableReference(name)


def _is_function(node: x.Expression) -> bool:
    return isinstance(node, x.Date) or (isinstance(node, x.Function) and node.name in FUNCTIONS_OF_DATES)


def _ymd(variable: str) -> x.Expression:
    """Number yyyymmdd of a cell; NaN where it is empty or of another form: nothing is left of its text then."""
    text = x.Function("normalize-space", (x.VariableReference(variable),))
    fits = x.Function("number", (x.Comparison("==", x.Function("translate", (text, DIGITS, x.Text("0" * 10))), SHAPE),))
    whole = x.Function("substring", (text, x.Number(Fraction(1)), x.Arithmetic("*", x.Number(Fraction(LENGTH)), fits)))
    return x.Function("number", (x.Function("translate", (whole, x.Text("-"), x.Text(""))),))


def _ymd_of(day: x.Date) -> x.Number:
    if day.value.denominator != 1:
        raise Inexpressible("XPath 1.0 cannot compare a date with a time of day")
    year, month, of_month = (int(each[0]) for each in year_month_day(np.array([int(day.value)])))
    return x.Number(Fraction(10_000 * year + 100 * month + of_month))


def _floor(node: x.Expression, divisor: int) -> x.Expression:
    return x.Function("floor", (x.Arithmetic("/", node, x.Number(Fraction(divisor))),))


def _mod(node: x.Expression, divisor: int) -> x.Expression:
    return x.Arithmetic("mod", node, x.Number(Fraction(divisor)))


def _plus(node: x.Expression, number: int) -> x.Expression:
    return x.Arithmetic("+" if number >= 0 else "-", node, x.Number(Fraction(abs(number))))


def _times(number: int, node: x.Expression) -> x.Expression:
    return x.Arithmetic("*", x.Number(Fraction(number)), node)


def _month(ymd: x.Expression) -> x.Expression:
    return _mod(_floor(ymd, 100), 100)


def _day_number(ymd: x.Expression) -> x.Expression:
    """Days since 1970-01-01."""
    year = _floor(_plus(_floor(ymd, 100), -3), 100)
    month = _mod(_plus(_month(ymd), 9), 12)
    days = x.Arithmetic("+", _times(365, year), _floor(year, 4))
    days = x.Arithmetic("+", x.Arithmetic("-", days, _floor(year, 100)), _floor(year, 400))
    days = x.Arithmetic("+", days, _floor(_plus(_times(153, month), 2), 5))
    return _plus(x.Arithmetic("+", days, _mod(ymd, 100)), -719_469)


_PARTS: dict[str, Callable[[x.Expression], x.Expression]] = {
    "year": lambda ymd: _floor(ymd, 10_000),
    "quarter": lambda ymd: _floor(_plus(_month(ymd), 2), 3),
    "month": _month,
    "day": lambda ymd: _mod(ymd, 100),
}
