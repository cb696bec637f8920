"""A second evaluation of edits, one record at a time, that shares only the expression tree with the first.

Cells are texts as they stand in a file. Rules in YAML are evaluated with fractions and Kleene's three truth values;
tests in XPath by `maskwright.edits.evaluation.second_opinion_xpath`. Slow and plain on purpose: it is there to catch
mistakes of the fast evaluation, so it uses nothing of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.evaluation.plain_numbers import BLANK, COMPARE, CannotTell, Record, exact
from maskwright.edits.evaluation.second_opinion_xpath import xpath_verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit import Edit

Combination = tuple[Fraction | str, ...]

ALLOWANCE = Fraction(1, 10**12)
DOUBTFUL = ALLOWANCE / 1000
"""Binary64 arithmetic of the first evaluation is off by less than this share of the terms."""


@dataclass(frozen=True)
class Opinion:
    """What a record's cells are, beside their texts.

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
        if edit.engine is not None:
            raise CannotTell
        if edit.binding == "xpath1":
            return xpath_verdict(edit.expression, record)
        return self._truth(edit.expression, record)

    def _blank(self, name: str, record: Record) -> bool:
        text = record[name]
        bare = None if text is None else text.strip(BLANK)
        return not bare or bare in self.missing.get(name, ())

    def _number(self, node: x.Expression, record: Record) -> tuple[Fraction, Fraction | None] | None:
        """A number, with the size of its terms where it is binary64; None: unknown."""
        if isinstance(node, x.Number):
            return node.value, None
        if isinstance(node, x.VariableReference):
            said = None if self._blank(node.name, record) else exact(record[node.name])
            return None if said is None else (said, abs(said) if node.name in self.binary else None)
        found = [self._number(child, record) for child in x.children(node)]
        if any(each is None for each in found):
            return None
        known = [each for each in found if each is not None]
        values = [value for value, _ in known]
        sized = any(size is not None for _, size in known)
        sizes = [abs(value) if size is None else size for value, size in known]
        value = _computed(node, values, approximate=sized)
        if value is None:
            return None
        return value, _size(node, values, sizes) if sized else None

    def _compared(self, sign: str, left: x.Expression, right: x.Expression, record: Record) -> bool | None:
        first, second = self._number(left, record), self._number(right, record)
        if first is None or second is None:
            return None
        difference = first[0] - second[0]
        if first[1] is not None or second[1] is not None:
            terms = sum(abs(value) if size is None else size for value, size in (first, second))
            if abs(abs(difference) - ALLOWANCE * terms) <= DOUBTFUL * terms and terms:
                raise CannotTell
            difference = difference if abs(difference) > ALLOWANCE * terms else Fraction(0)
        return COMPARE[sign](difference, Fraction(0))

    def _text(self, node: x.Expression, record: Record) -> str | None:
        if isinstance(node, x.Text):
            return node.value
        inner = node.arguments[0] if isinstance(node, x.Function) else node
        if not isinstance(inner, x.VariableReference):
            raise CannotTell
        return None if self._blank(inner.name, record) else record[inner.name]

    def _truth(self, node: x.Expression, record: Record) -> bool | None:  # noqa: C901, PLR0911, PLR0912 - a case for each
        match node:
            case x.Truth(value):
                return value
            case x.Not(operand):
                return _not(self._truth(operand, record))
            case x.And(operands):
                return _all(*(self._truth(operand, record) for operand in operands))
            case x.Or(operands):
                return _not(_all(*(_not(self._truth(operand, record)) for operand in operands)))
            case x.IfThen(condition, consequent, otherwise):
                given = self._truth(condition, record)
                then = _not(_all(given, _not(self._truth(consequent, record))))
                if otherwise is None:
                    return then
                return _all(then, _not(_all(_not(given), _not(self._truth(otherwise, record)))))
            case x.Comparison(sign, left, right):
                return self._comparison(sign, left, right, record)
            case x.InInterval(operand, low, high, low_closed, high_closed):
                known = None if self._number(operand, record) is None else True
                above = True if low is None else self._compared(">=" if low_closed else ">", operand, low, record)
                below = True if high is None else self._compared("<=" if high_closed else "<", operand, high, record)
                return _all(known, above, below)
            case x.InSet(operand, members):
                return self._member(operand, members, record)
            case x.InOriginal(names):
                if any(self._blank(name, record) for name in names):
                    return None
                return combination(*(record[name] for name in names)) in self.domain[names]
            case x.IsMissing(operand):
                return self._blank(operand.name, record)
            case x.IsNumber(operand):
                return not self._blank(operand.name, record) and exact(record[operand.name]) is not None
            case x.IsInteger(operand):
                number = self._number(operand, record)
                if number is not None and number[1] is not None and number[0].denominator != 1:
                    raise CannotTell
                return None if number is None else number[0].denominator == 1
            case _:
                raise CannotTell

    def _comparison(self, sign: str, left: x.Expression, right: x.Expression, record: Record) -> bool | None:
        texts = any(isinstance(s, x.Text) or (isinstance(s, x.Function) and s.name == "string") for s in (left, right))
        if sign in ("==", "!=") and isinstance(left, x.VariableReference) and isinstance(right, x.VariableReference):
            here, there = self._text(left, record), self._text(right, record)
            if here is None or there is None:
                return None
            texts = exact(here) is None or exact(there) is None
        if sign in ("==", "!=") and texts:
            one, other = self._text(left, record), self._text(right, record)
            return None if one is None or other is None else COMPARE[sign](one, other)
        return self._compared(sign, left, right, record)

    def _member(self, operand: x.Expression, members: tuple[x.Number | x.Text, ...], record: Record) -> bool | None:
        if not isinstance(operand, x.VariableReference):
            equal = [self._compared("==", operand, member, record) for member in members]
            return _not(_all(*map(_not, equal)))
        text = self._text(operand, record)
        if text is None:
            return None
        numbers = [member for member in members if isinstance(member, x.Number)]
        return text in {member.value for member in members if isinstance(member, x.Text)} or any(
            self._compared("==", operand, member, record) for member in numbers
        )


def combination(*texts: str | None) -> Combination:
    """Cells in comparable form: numbers by value, others by text; binary64, as the original is held."""
    numbers = [exact(text) for text in texts]
    return tuple(
        str(text) if number is None else Fraction(float(number)) for text, number in zip(texts, numbers, strict=True)
    )


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(*values: bool | None) -> bool | None:
    return False if False in values else None if None in values else True


def _computed(node: x.Expression, values: list[Fraction], *, approximate: bool) -> Fraction | None:  # noqa: C901, PLR0911, PLR0912
    match node:
        case x.Negative():
            return -values[0]
        case x.Arithmetic("+"):
            return values[0] + values[1]
        case x.Arithmetic("-"):
            return values[0] - values[1]
        case x.Arithmetic("*"):
            return values[0] * values[1]
        case x.Arithmetic("/"):
            return None if values[1] == 0 else values[0] / values[1]
        case x.Function("abs"):
            return abs(values[0])
        case x.Function("min" | "max" as name):
            return min(values) if name == "min" else max(values)
        case x.Function("number"):
            return values[0]
    if approximate:
        raise CannotTell
    match node:
        case x.Arithmetic("mod"):
            return None if values[1] == 0 else values[0] - values[1] * math.trunc(values[0] / values[1])
        case x.Arithmetic("^") if values[1].denominator == 1 and abs(values[1]) <= 64:
            return None if values[0] == 0 and values[1] < 0 else values[0] ** int(values[1])
        case x.Function("ceiling"):
            return Fraction(math.ceil(values[0]))
        case x.Function("floor" | "round" as rounding):
            return Fraction(math.floor(values[0] + (Fraction(1, 2) if rounding == "round" else 0)))
        case _:
            raise CannotTell


def _size(node: x.Expression, values: list[Fraction], sizes: list[Fraction]) -> Fraction:
    match node:
        case x.Arithmetic("*"):
            return sizes[0] * sizes[1]
        case x.Arithmetic("/"):
            return sizes[0] * sizes[1] / values[1] ** 2
        case x.Arithmetic():
            return sizes[0] + sizes[1]
        case x.Function("min" | "max" as name):
            chosen = min(values) if name == "min" else max(values)
            return sizes[values.index(chosen)]
        case _:
            return sizes[0]
