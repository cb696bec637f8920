"""A second evaluation of edits, one record at a time, that shares only the expression tree with the first.

Cells are texts as they stand in a file. Rules in YAML are evaluated with fractions and three truth values, here; tests
in XPath by `maskwright.edits.evaluation.second_opinion_xpath`. Slow and plain on purpose: it is there to catch mistakes
of the fast evaluation, so it uses nothing of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.evaluation.plain_numbers import BLANK, COMPARE, CannotTell, Record, Truth, exact, truth
from maskwright.edits.evaluation.second_opinion_xpath import xpath_verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit import Edit

Combination = tuple[float | str, ...]
Sized = tuple[Fraction, Fraction | None]
"""A number, and the size of its terms where it rests on binary64."""

ALLOWANCE = Fraction(1, 10**12)
DOUBTFUL = ALLOWANCE / 1000
"""Binary64 arithmetic of the first evaluation is off by less than this share of the terms."""


@dataclass(frozen=True)
class Opinion:
    """What cells are, beside their texts.

    Attributes
    ----------
    binary : frozenset of str
        Variables that are stored as binary64 without declared decimals: equal up to 1e-12 of the terms compared.
    missing : mapping of name to set of str
        Texts that mean "no value".
    domain : mapping of names to set of combinations
        That occur in the original.
    """

    binary: frozenset[str]
    missing: Mapping[str, frozenset[str]]
    domain: Mapping[tuple[str, ...], frozenset[Combination]]

    def verdict(self, edit: Edit, record: Record) -> bool | None:
        """Whether a record obeys an edit; None where that is unknown.

        Raises
        ------
        CannotTell
        """
        if edit.binding == "xpath1":
            return xpath_verdict(edit.expression, record)
        true, false = truth(edit.expression, _Judge(self, record))
        return None if not true and not false else bool(true)

    def is_blank(self, name: str, text: str | None) -> bool:
        """Whether a cell has no value."""
        bare = (text or "").strip(BLANK)
        return not bare or bare in self.missing.get(name, ())


def combination(*texts: str) -> Combination:
    """Cells in comparable form: numbers by value, as the original holds them, others by text."""
    return tuple(text if number is None else float(number) for text, number in ((each, exact(each)) for each in texts))


@dataclass(frozen=True)
class _Judge:
    """Truth of what a rule says of one record."""

    opinion: Opinion
    record: Record

    def __call__(self, node: x.Expression) -> Truth:
        found = self._found(node)
        return found is True, found is False

    def _found(self, node: x.Expression) -> bool | None:  # noqa: C901, PLR0911 - a case for each kind
        match node:
            case x.Truth(value):
                return value
            case x.Comparison(sign, left, right):
                return self._comparison(sign, left, right)
            case x.InInterval(operand):
                return self._compared(">=", operand, operand)  # without bounds: true of what is known
            case x.InSet(x.VariableReference() as operand, members):
                text = self._text(operand)
                if text is None:
                    return None
                numbers = [member for member in members if isinstance(member, x.Number)]
                return x.Text(text) in members or any(self._compared("==", operand, each) for each in numbers)
            case x.InSet(operand, members):
                equal = [self._compared("==", operand, member) for member in members]
                return True if True in equal else None if None in equal else False
            case x.InOriginal(names):
                texts = [self._text(x.VariableReference(name)) for name in names]
                known = [text for text in texts if text is not None]
                return None if None in texts else combination(*known) in self.opinion.domain[names]
            case x.IsMissing(operand):
                return self._text(operand) is None
            case x.IsNumber(operand):
                return exact(self._text(operand)) is not None
            case x.IsInteger(operand):
                number = self._number(operand)
                if number is not None and number[1] is not None and number[0].denominator != 1:
                    raise CannotTell
                return None if number is None else number[0].denominator == 1
            case _:
                raise CannotTell

    def _text(self, node: x.Expression) -> str | None:
        """Text of a literal or a cell; None: the cell has no value."""
        if isinstance(node, x.Text):
            return node.value
        inner = node.arguments[0] if isinstance(node, x.Function) else node
        if not isinstance(inner, x.VariableReference):
            raise CannotTell
        text = self.record[inner.name]
        return None if self.opinion.is_blank(inner.name, text) else text

    def _comparison(self, sign: str, left: x.Expression, right: x.Expression) -> bool | None:
        sides = (left, right)
        as_text = any(isinstance(s, x.Text) or (isinstance(s, x.Function) and s.name == "string") for s in sides)
        if all(isinstance(side, x.VariableReference) for side in sides):
            # Two variables are compared as numbers where both say one.
            as_text = any(exact(self._text(side)) is None for side in sides)
        if as_text and sign in ("==", "!="):
            one, other = map(self._text, sides)
            return None if one is None or other is None else bool(COMPARE[sign](one, other))
        return self._compared(sign, left, right)

    def _compared(self, sign: str, left: x.Expression, right: x.Expression) -> bool | None:
        numbers = self._numbers((left, right))
        if numbers is None:
            return None
        difference = numbers[0][0] - numbers[1][0]
        if any(size is not None for _, size in numbers):
            terms = sum(_sizes(numbers))
            if terms and abs(abs(difference) - ALLOWANCE * terms) <= DOUBTFUL * terms:
                raise CannotTell
            difference = difference if abs(difference) > ALLOWANCE * terms else Fraction(0)
        return bool(COMPARE[sign](difference, 0))

    def _numbers(self, nodes: tuple[x.Expression, ...]) -> list[Sized] | None:
        """Numbers of several terms; None: one of them is unknown."""
        numbers = [self._number(node) for node in nodes]
        known = [number for number in numbers if number is not None]
        return known if len(known) == len(numbers) else None

    def _number(self, node: x.Expression) -> Sized | None:
        """Number of a term; None: unknown."""
        if isinstance(node, x.Number):
            return node.value, None
        if isinstance(node, x.VariableReference):
            said = exact(self._text(node))
            return None if said is None else (said, abs(said) if node.name in self.opinion.binary else None)
        numbers = self._numbers(x.children(node))
        if numbers is None:
            return None
        values = [value for value, _ in numbers]
        if any(size is not None for _, size in numbers):
            return _approximate(node, values, _sizes(numbers))
        value = _exact(node, values)
        return None if value is None else (value, None)


def _sizes(numbers: list[Sized]) -> list[Fraction]:
    return [abs(value) if size is None else size for value, size in numbers]


def _exact(node: x.Expression, values: list[Fraction]) -> Fraction | None:
    """Value of an operation; None: it has none."""
    match node:
        case x.Arithmetic("mod"):
            return values[0] - values[1] * math.trunc(values[0] / values[1]) if values[1] else None
        case x.Arithmetic("^") if values[1].denominator == 1 and abs(values[1]) <= 64:
            return values[0] ** int(values[1]) if values[0] or values[1] >= 0 else None
        case x.Function("ceiling"):
            return Fraction(math.ceil(values[0]))
        case x.Function("floor" | "round" as name):
            return Fraction(math.floor(values[0] + Fraction(name == "round", 2)))
        case _:
            found = _approximate(node, values, values)
            return None if found is None else found[0]


def _approximate(node: x.Expression, values: list[Fraction], sizes: list[Fraction]) -> Sized | None:  # noqa: PLR0911
    """Value of an operation that is continuous, and the size of its terms; None: it has none."""
    match node:
        case x.Negative() | x.Function("number"):
            return (-values[0] if isinstance(node, x.Negative) else values[0]), sizes[0]
        case x.Arithmetic("+"):
            return values[0] + values[1], sizes[0] + sizes[1]
        case x.Arithmetic("-"):
            return values[0] - values[1], sizes[0] + sizes[1]
        case x.Arithmetic("*"):
            return values[0] * values[1], sizes[0] * sizes[1]
        case x.Arithmetic("/"):
            return (values[0] / values[1], sizes[0] * sizes[1] / values[1] ** 2) if values[1] else None
        case x.Function("abs"):
            return abs(values[0]), sizes[0]
        case x.Function("min" | "max" as name):
            return max(zip(values, sizes, strict=True), key=lambda each: each[0] if name == "max" else -each[0])
        case _:
            raise CannotTell
