"""A reference evaluator of edits, record by record, that shares only the expression tree."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits import expression as x
from maskwright.edits.constraint_kinds import verdicts_of
from maskwright.edits.evaluation.reference_values import (
    BLANK,
    COMPARE,
    ISO,
    ISO_MOMENT,
    SECONDS,
    Record,
    Truth,
    Undetermined,
    day_number,
    exact,
    function_of_dates,
    truth,
    xpath_verdict,
)
from maskwright.edits.text_patterns import matches_whole, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from maskwright.edits.edit import Edit


Combination = tuple[float | str, ...]
STORED = tuple(f"{form}{part}" for form in (ISO_MOMENT, ISO_MOMENT.replace("T", " ")) for part in ("", ".%3f", ".%6f"))
ALLOWANCE = Fraction(1, 10**12)
LONGEST_MATCHED = 1_000
"""Characters of a text that is matched with a pattern a second time."""
DOUBT = Fraction(1, 1000)
"""Binary64 arithmetic of the first evaluation is off by less than this share of the allowance."""


LEADING_ZERO = re.compile(r"-?0[0-9]")


@dataclass(frozen=True)
class ReferenceEvaluator:
    """What the data declare of cells.

    `binary`: variables that are stored as binary64 without declared decimals: equal up to 1e-12 of the terms compared.
    `missing`: texts that mean "no value". `meant`: such texts, and what each of them means. `domain`: that occur in the
    original. `dates`: how the dates of a variable are written.
    """

    binary: frozenset[str]
    missing: Mapping[str, frozenset[str]]
    meant: Mapping[str, tuple[tuple[str, str], ...]]
    domain: Mapping[tuple[str, ...], frozenset[Combination]]
    dates: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, text: str | None) -> Fraction | None:
        """Number that a cell says, of a date its days since 1970-01-01; None: it says none."""
        value = exact(text)
        if text is None or (value is not None and name not in self.dates):
            return value
        form = self.dates.get(name, ISO)
        # Formats that store moments have no form of their own.
        forms = (form, *STORED) if "%H" in form else (form, ISO)
        day = next((day for each in forms if (day := day_number(text, each)) is not None), None)
        midnight = day_number(text, ISO) if day is None and "%H" in form else None
        return day if midnight is None else midnight * SECONDS

    def verdict(self, edit: Edit, record: Record) -> bool | None:
        """Whether a record obeys an edit; None where that is unknown."""
        if edit.binding == "xpath1":
            return xpath_verdict(edit.expression, record)
        return self.condition_verdict(edit.expression, record)

    def condition_verdict(self, condition: x.Expression, record: Record) -> bool | None:
        """Truth of a condition in YAML of a record; None where that is unknown."""
        true, false = truth(condition, _RecordEvaluation(self, record))
        return None if not true and not false else bool(true)

    def is_blank(self, name: str, text: str | None) -> bool:
        """Whether a cell has no value."""
        bare = (text or "").strip(BLANK)
        return not bare or any(_is_code(bare, code) for code in self.missing.get(name, ()))

    def says(self, name: str, text: str | None, meaning: str) -> bool:
        """Whether a cell holds a missing code that is called so, or means so."""
        bare = (text or "").strip(BLANK)
        wanted = {code for code, meant in self.meant.get(name, ()) if meaning in (code, meant)}
        return self.is_blank(name, text) and any(_is_code(bare, code) for code in wanted)


def _is_code(bare: str, code: str) -> bool:
    """Whether a cell's text is a missing code, or the same number with other zeros after its point."""
    if bare == code.strip(BLANK):
        return True
    if "." not in bare and "," in bare and not bare.endswith(",000"):
        bare = bare.replace(",", ".", 1)
    return "." in bare and not LEADING_ZERO.match(bare) and exact(bare) is not None and exact(bare) == exact(code)


def combination(texts: Iterable[str], numbers: Iterable[Fraction | None]) -> Combination:
    """Cells in comparable form: numbers by value, as the original holds them, others by text."""
    return tuple(text if number is None else float(number) for text, number in zip(texts, numbers, strict=True))


@dataclass(frozen=True)
class _RecordEvaluation:
    """Truth of what a rule says of one record."""

    opinion: ReferenceEvaluator
    record: Record

    def __call__(self, node: x.Expression) -> Truth:
        found = self._found(node)
        return found is True, found is False

    def _found(self, node: x.Expression) -> bool | None:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
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
                values = [self.opinion.number(name, text) for name, text in zip(names, texts, strict=True)]
                return None if None in texts else combination(known, values) in self.opinion.domain[names]
            case x.IsMissing(operand):
                return self._text(operand) is None
            case x.MissingAs(operand, meaning):
                return self.opinion.says(operand.name, self.record[operand.name], meaning)
            case x.IsNumber(operand):
                return exact(self._text(operand)) is not None
            case x.Matches(operand, pattern):
                text = self._text(operand)
                if text is not None and len(text) > LONGEST_MATCHED:
                    raise Undetermined
                return None if text is None else matches_whole(pattern_of(pattern), text)
            case x.KindCondition(_, _, columns):
                # The kind's evaluation has no second one; the numbers are read anew.
                cells = [self._number(column) for column in columns]
                row = np.array([[math.nan if cell is None else float(cell) for cell in cells]])
                (verdict,) = verdicts_of(node, row)
                return None if verdict == -1 else bool(verdict)
            case x.IsInteger(operand):
                number = self._number(operand)
                if number is not None and number.denominator != 1 and self._is_binary(operand):
                    raise Undetermined
                return None if number is None else number.denominator == 1
            case _:
                raise Undetermined

    def _text(self, node: x.Expression) -> str | None:
        """Text of a literal or a cell; None: the cell has no value."""
        if isinstance(node, x.Text):
            return node.value
        inner = node.arguments[0] if isinstance(node, x.Function) else node
        if not isinstance(inner, x.VariableReference):
            raise Undetermined
        text = self.record[inner.name]
        return None if self.opinion.is_blank(inner.name, text) else text

    def _comparison(self, sign: str, left: x.Expression, right: x.Expression) -> bool | None:
        sides = (left, right)
        as_text = any(isinstance(s, x.Text) or (isinstance(s, x.Function) and s.name == "string") for s in sides)
        if all(isinstance(side, x.VariableReference) for side in sides):
            # Two variables are compared as numbers where both say one.
            as_text = any(self._number(side) is None for side in sides)
        if as_text and sign in ("==", "!="):
            one, other = map(self._text, sides)
            return None if one is None or other is None else bool(COMPARE[sign](one, other))
        return self._compared(sign, left, right)

    def _compared(self, sign: str, left: x.Expression, right: x.Expression) -> bool | None:
        one, other = self._number(left), self._number(right)
        if one is None or other is None:
            return None
        difference = one - other
        if difference and (self._is_binary(left) or self._is_binary(right)):
            # The terms are at least as large as what is compared.
            if abs(difference) < ALLOWANCE * (1 - DOUBT) * (abs(one) + abs(other)):
                difference = Fraction(0)
            elif abs(difference) <= ALLOWANCE * (1 + DOUBT) * (self._size(left) + self._size(right)):
                raise Undetermined
        return bool(COMPARE[sign](difference, 0))

    def _is_binary(self, node: x.Expression) -> bool:
        return not self.opinion.binary.isdisjoint(x.variable_names(node))

    def _size(self, node: x.Expression) -> Fraction:
        """Size that the terms of a known number have at most."""
        match node:
            case x.Number() | x.VariableReference():
                return abs(self._number(node) or Fraction(0))
            case x.Arithmetic("*", left, right):
                return self._size(left) * self._size(right)
            case x.Arithmetic("/", left, x.Number() | x.VariableReference() as right):
                return self._size(left) / self._size(right)
            case x.Arithmetic("+" | "-") | x.Negative() | x.Function("abs" | "min" | "max" | "number"):
                return sum(map(self._size, x.children(node)), Fraction(0))
            case _:
                raise Undetermined

    def _number(self, node: x.Expression) -> Fraction | None:
        """Number of a term; None: unknown."""
        if isinstance(node, x.Number):
            return node.value
        if isinstance(node, x.VariableReference):
            return self.opinion.number(node.name, self._text(node))
        found = [self._number(child) for child in x.children(node)]
        values = [value for value in found if value is not None]
        return _computed(node, values) if len(values) == len(found) else None


def _computed(node: x.Expression, values: list[Fraction]) -> Fraction | None:  # noqa: C901, PLR0911 - a case for each
    """Value of an operation; None: it has none."""
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
            return values[0] / values[1] if values[1] else None
        case x.Arithmetic("mod"):
            return values[0] - values[1] * math.trunc(values[0] / values[1]) if values[1] else None
        case x.Arithmetic("^") if values[1].denominator == 1 and abs(values[1]) <= 64:
            return values[0] ** int(values[1]) if values[0] or values[1] >= 0 else None
        case x.Function("floor" | "ceiling" | "round" as name):
            shifted = values[0] + Fraction(name == "round", 2)
            return Fraction(math.ceil(shifted) if name == "ceiling" else math.floor(shifted))
        case x.Function(name) if name in ("year", "quarter", "month", "day", "age_at"):
            value = function_of_dates(name, [math.floor(each) for each in values])
            return None if value is None else Fraction(value)
        case x.Function("abs" | "number"):
            return abs(values[0]) if node.name == "abs" else values[0]
        case x.Function("min" | "max"):
            return min(values) if node.name == "min" else max(values)
        case _:
            raise Undetermined
