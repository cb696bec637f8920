"""Evaluation of edits in exact decimal arithmetic with Kleene's three truth values: the binding of YAML rules.

Cells of variables with decimals are exactly the decimals they say: ``0.1 + 0.2 == 0.3`` holds. Cells without a grid
(binary64 columns of a DataFrame or of Parquet) have no exact decimal: such numbers are equal when they differ by no
more than 1e-12 of the sum of the absolute values of the terms compared.

A missing cell, a division by zero, and a cell of other text compared with a number are unknown; ``unknown or true`` is
true, ``unknown and false`` is false (S. C. Kleene, Introduction to Metamathematics, 1952, section 64).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskwright.data.dates import CALENDAR
from maskwright.edits import expression as x
from maskwright.edits.constraint_kinds import verdicts_of
from maskwright.edits.evaluation import across_records
from maskwright.edits.evaluation import exact_numbers as numbers
from maskwright.edits.evaluation.domain import original_file_hint
from maskwright.edits.evaluation.exact_vectors import approximate, constant, from_cells
from maskwright.edits.evaluation.outcomes import Verdict
from maskwright.edits.text_patterns import pattern_of, pattern_text
from maskwright.foundation.arrays import arrow_texts, scalar, truths_of
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.evaluation.exact_vectors import Numbers

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Three:
    """Three truth values: `true`, `unknown`, and false where neither; shape (n,) or (1,)."""

    true: Booleans
    unknown: Booleans

    @property
    def false(self) -> Booleans:
        return np.logical_not(self.true | self.unknown)


def evaluate_exact(expression: x.Expression, columns: RecordChunk, domain: Domain | None = None) -> Verdict:
    """Verdict of a condition in exact decimal arithmetic and Kleene's logic."""
    with np.errstate(all="ignore"):
        found = _Evaluation(columns, domain).truth(expression)
    unknown = np.array(np.broadcast_to(found.unknown, (columns.n,)))
    return Verdict(np.array(np.broadcast_to(found.true, (columns.n,))) | unknown, unknown)


class _Evaluation:
    def __init__(self, columns: RecordChunk, domain: Domain | None) -> None:
        self.columns, self.domain = columns, domain
        self._numbers: dict[str, Numbers] = {}

    def truth(self, node: x.Expression) -> _Three:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
        match node:
            case x.Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case x.And(operands):
                return _all(self.truth(operand) for operand in operands)
            case x.Or(operands):
                return _any(self.truth(operand) for operand in operands)
            case x.Not(operand):
                return _not(self.truth(operand))
            case x.IfThen(condition, consequent, otherwise):
                return self._conditional(condition, consequent, otherwise)
            case x.InInterval():
                return self._in_interval(node)
            case x.InSet(operand, members):
                return self._in_set(operand, members)
            case x.IsMissing(x.VariableReference(name)):
                return _certain(self.columns[name].missing)
            case x.MissingAs(x.VariableReference(name), meaning):
                return _certain(self.columns[name].says(meaning))
            case x.IsNumber(x.VariableReference(name)):
                cells = self.columns[name]
                return _certain(np.logical_not(cells.missing | np.isnan(cells.xpath_numbers)))
            case x.Matches(x.VariableReference(name), pattern):
                cells = self.columns[name]
                matched = pc.match_substring_regex(_text_array(cells.text()), _whole_text(pattern))
                return _known(truths_of(matched), cells.missing)
            case x.Unique(names):
                return _known(*across_records.unique(self.columns, names))
            case x.KindCondition():
                return self._of_kind(node)
            case x.IsInteger(operand):
                return _known(*numbers.is_whole(self.number(operand)))
            case x.InOriginal(names, document):
                return self._in_original(names, document)
            case x.Truth(value):
                return _certain(np.array([value]))
            case x.Function("boolean", (argument,)):
                return self.truth(argument)
            case _:
                raise EditError("this rule is no condition: it yields a number or a text")

    def number(self, node: x.Expression) -> Numbers:
        match node:
            case x.Number(value):
                return constant(value)
            case x.VariableReference(name):
                if name not in self._numbers:
                    self._numbers[name] = from_cells(self.columns[name])
                return self._numbers[name]
            case x.Negative(operand):
                return numbers.negate(self.number(operand))
            case x.Arithmetic(operator, left, right):
                return self._arithmetic(operator, self.number(left), self.number(right))
            case x.Function(name, arguments):
                return self._function(name, arguments)
            case x.Aggregate(function, operand, by, condition):
                counted = None if condition is None else self.truth(condition)
                groups = across_records.groups_of(self.columns, by)
                terms = (None, None) if counted is None else (counted.true, counted.unknown)
                return across_records.aggregated(function, self.number(operand), groups, *terms)
            case _:
                raise EditError("this rule computes with something that is no number")

    def _of_kind(self, node: x.KindCondition) -> _Three:
        """The kind's own verdicts, of the numbers nearest to the exact ones."""
        columns = [approximate(self.number(column)) for column in node.columns]
        cells = [np.where(column.unknown, np.nan, column.values) for column in columns]
        verdicts = verdicts_of(node, np.stack([np.broadcast_to(each, (self.columns.n,)) for each in cells], axis=1))
        return _Three(verdicts == 1, verdicts == -1)

    @staticmethod
    def _arithmetic(operator: str, left: Numbers, right: Numbers) -> Numbers:
        match operator:
            case "+":
                return numbers.add(left, right)
            case "-":
                return numbers.add(left, right, -1)
            case "*":
                return numbers.multiply(left, right)
            case "/":
                return numbers.divide(left, right)
            case "mod":
                return numbers.modulo(left, right)
            case _:
                return numbers.power(left, right)

    def _function(self, name: str, arguments: tuple[x.Expression, ...]) -> Numbers:
        values = [self.number(argument) for argument in arguments]
        match name:
            case "abs":
                return numbers.absolute(values[0])
            case "floor" | "ceiling" | "round":
                return numbers.rounded(values[0], name)
            case "min" | "max":
                sign = 1 if name == "max" else -1
                return functools.reduce(lambda a, b: numbers.extreme(a, b, sign), values)
            case "number":
                return values[0]
            case _ if name in CALENDAR:
                return numbers.calendar_number(name, values)
            case _:
                raise EditError(f"the function {name}() has no meaning in decimal arithmetic")

    def _comparison(self, operator: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> _Three:
        sides = [_as_text(left), _as_text(right)]
        if operator in ("==", "!="):
            if any(isinstance(side, (x.Text, x.Function)) for side in sides):
                equal = self._equal_texts(sides[0], sides[1])
                return equal if operator == "==" else _not(equal)
            if isinstance(left, x.VariableReference) and isinstance(right, x.VariableReference):
                equal = self._equal_cells(left.name, right.name)
                return equal if operator == "==" else _not(equal)
        return self._ordered(operator, self.number(left), self.number(right))

    @staticmethod
    def _ordered(operator: x.ComparisonOperator, left: Numbers, right: Numbers) -> _Three:
        direction, unknown = numbers.order(left, right)
        signs = x.SIGNS[operator]
        holds = direction == signs[0]
        if len(signs) > 1:
            holds |= direction == signs[1]
        return _known(holds, unknown)

    def _equal_texts(self, left: x.Expression, right: x.Expression) -> _Three:
        if isinstance(left, x.Text) and isinstance(right, x.Text):
            return _certain(np.array([left.value == right.value]))
        (first, missing), (second, also_missing) = self._texts(left), self._texts(right)
        return _known(truths_of(pc.equal(first, second)), missing | also_missing)

    def _texts(self, node: x.Expression) -> tuple[Any, Booleans]:
        if isinstance(node, x.Text):
            return scalar(node.value), np.array([False])
        if isinstance(node, x.Function):
            (node,) = node.arguments
        if not isinstance(node, x.VariableReference):
            raise EditError("this rule compares a text with something computed; only a variable can equal a text")
        cells = self.columns[node.name]
        return _text_array(cells.text()), cells.missing

    def _equal_cells(self, left: str, right: str) -> _Three:
        """Cells are equal as numbers where both are numbers, as texts where one is not."""
        by_number = self._ordered("==", self.number(x.VariableReference(left)), self.number(x.VariableReference(right)))
        missing = self.columns[left].missing | self.columns[right].missing
        wordy = by_number.unknown & np.logical_not(missing)
        if not wordy.any():
            return by_number
        by_text = self._equal_texts(x.VariableReference(left), x.VariableReference(right))
        return _Three(np.where(wordy, by_text.true, by_number.true), by_number.unknown & missing)

    def _conditional(self, condition: x.Expression, consequent: x.Expression, otherwise: x.Expression | None) -> _Three:
        given = self.truth(condition)
        result = _any((_not(given), self.truth(consequent)))
        if otherwise is None:
            return result
        return _all((result, _any((given, self.truth(otherwise)))))

    def _in_interval(self, node: x.InInterval) -> _Three:
        operand = self.number(node.operand)
        unknown = operand.unknown
        held = [_known(np.logical_not(unknown), unknown)]
        if node.low is not None:
            held.append(self._ordered(">=" if node.low_closed else ">", operand, self.number(node.low)))
        if node.high is not None:
            held.append(self._ordered("<=" if node.high_closed else "<", operand, self.number(node.high)))
        return _all(held)

    def _in_set(self, operand: x.Expression, members: tuple[x.Number | x.Text, ...]) -> _Three:
        """Membership; a cell of other text is in no set of numbers, and nothing is in an empty set."""
        listed = sorted({member.value for member in members if isinstance(member, x.Number)})
        texts = sorted({member.value for member in members if isinstance(member, x.Text)})
        found: list[_Three] = []
        if listed:
            among = _known(*numbers.among(self.number(operand), listed))
            if isinstance(operand, x.VariableReference):
                missing = self.columns[operand.name].missing
                among = _known(among.true, missing)
            found.append(among)
        if texts or not listed:
            cells, missing = self._texts(operand)
            inside = pc.is_in(cells, value_set=arrow_texts(texts))
            found.append(_known(truths_of(inside), missing))
        return _any(found)

    def _in_original(self, names: tuple[str, ...], document: str | None) -> _Three:
        if self.domain is None:
            hint = original_file_hint(document)
            raise EditError(Problem("a rule with 'in original' needs the original file", hint=hint))
        missing = functools.reduce(np.logical_or, (self.columns[name].missing for name in names))
        return _known(self.domain.contains(names, self.columns), missing)


def _whole_text(pattern: str) -> str:
    """Pattern for RE2, whose time is linear in the text."""
    return f"(?s)^(?:{pattern_text(pattern_of(pattern))})$"


def _as_text(node: x.Expression) -> x.Expression:
    """Leave texts and calls of string() as they are; other functions are numbers."""
    return x.Truth(False) if isinstance(node, x.Function) and node.name != "string" else node


def _text_array(texts: Any) -> Any:
    flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return flat if pa.types.is_string(flat.type) else flat.cast(pa.string())


def _certain(holds: Booleans) -> _Three:
    return _Three(holds, np.zeros(len(holds), dtype=np.bool_))


def _known(holds: Booleans, unknown: Booleans) -> _Three:
    return _Three(
        holds & np.logical_not(unknown), np.broadcast_to(unknown, np.broadcast_shapes(holds.shape, unknown.shape))
    )


def _not(value: _Three) -> _Three:
    return _Three(value.false, value.unknown)


def _all(values: Iterable[_Three]) -> _Three:
    first, *rest = values
    true, false = first.true, first.false
    for value in rest:
        true = true & value.true
        false = false | value.false
    return _Three(true, np.logical_not(true | false))


def _any(values: Iterable[_Three]) -> _Three:
    return _not(_all(_not(value) for value in values))
