"""Evaluation in binary64 with the values and conversions of XPath 1.0, as an engine answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskwright.data.dates import CALENDAR, calendar
from maskwright.data.number_text import WHITE_SPACE, read_numbers, write_numbers
from maskwright.data.record_chunk import Cells
from maskwright.edits import expression as x
from maskwright.edits.constraint_kinds import verdicts_of
from maskwright.edits.evaluation.domain import Domain, original_file_hint
from maskwright.edits.evaluation.outcomes import Verdict
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.data.record_chunk import RecordChunk


Numbers = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nodes:
    """A node-set of at most one child element in each record; XPath knows no dates, rules in YAML count their days."""

    cells: Cells
    has_days: bool = False

    @property
    def present(self) -> Booleans:
        """Whether a record has the element; shape (n,)."""
        return np.logical_not(self.cells.absent)


@dataclass(frozen=True, eq=False)
class Strings:
    """A string in each record, or one for all (`pyarrow.StringArray` or `pyarrow.StringScalar`, never null)."""

    texts: Any


# Numbers and booleans are arrays of shape (n,), or of shape () for constants.
Value = Numbers | Booleans | Nodes | Strings


def absent_cells(n: int) -> Cells:
    """Cells of a variable that no record has."""
    nothing = np.ones(n, dtype=np.bool_)
    return Cells(np.full(n, np.nan), nothing, nothing, None, lambda: pa.nulls(n, pa.string()))


def is_boolean(value: Value) -> bool:
    """Whether a value is of type boolean."""
    return isinstance(value, np.ndarray) and value.dtype == np.bool_


def _bools(mask: Any) -> Booleans:
    truth: Booleans = np.array(mask.as_py() if isinstance(mask, pa.Scalar) else mask, dtype=np.bool_)
    return truth


def same_text(left: Value, right: Value) -> Booleans:
    """Compare as strings."""
    return _bools(pc.equal(as_strings(left), as_strings(right)))


def as_numbers(value: Value) -> Numbers:
    """Convert to numbers, as ``number()`` does (XPath 1.0, section 4.4)."""
    match value:
        case Nodes(cells):
            return cells.numbers if value.has_days else cells.xpath_numbers
        case Strings(texts) if isinstance(texts, pa.Scalar):
            return read_numbers(pa.array([texts.as_py()], pa.string())).values[0:1].reshape(())
        case Strings(texts):
            return read_numbers(texts).values
        case _:
            return value.astype(np.float64, copy=False)


def as_booleans(value: Value) -> Booleans:
    """Convert to truth values, as ``boolean()`` does (XPath 1.0, section 4.3)."""
    match value:
        case Nodes():
            return value.present
        case Strings(texts):
            return _bools(pc.greater(pc.binary_length(texts), 0))
    if value.dtype == np.bool_:
        return value.astype(np.bool_, copy=False)
    return np.asarray(np.logical_and(value != 0, np.logical_not(np.isnan(value))))


def as_strings(value: Value) -> Any:
    """Convert to text, as ``string()`` does (XPath 1.0, section 4.2): StringArray, or StringScalar of a constant."""
    match value:
        case Nodes(cells):
            texts = cells.text()
            flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
            return pc.fill_null(pc.cast(flat, pa.string()), "")
        case Strings(texts):
            return texts
    if value.dtype == np.bool_:
        texts = pc.if_else(pa.array(np.atleast_1d(value)), "true", "false")
    else:
        texts = _number_strings(np.atleast_1d(value).astype(np.float64, copy=False))
    return texts if value.ndim else texts[0]


def single_spaced(texts: Any) -> Any:
    """Text without white space at its ends, and with one space for any inside (XPath 1.0, section 4.2)."""
    trimmed = pc.utf8_trim(texts, characters=WHITE_SPACE)
    return pc.replace_substring_regex(trimmed, pattern=f"[{WHITE_SPACE}]+", replacement=" ")


def _number_strings(numbers: Numbers) -> Any:
    finite = np.isfinite(numbers)
    texts = write_numbers(np.where(finite, numbers, 0.0), np.logical_not(finite), None)
    special = np.where(np.isnan(numbers), "NaN", np.where(numbers > 0, "Infinity", "-Infinity"))
    return pc.if_else(pa.array(finite), texts, pa.array(special.tolist(), pa.string()))


def rounded(numbers: Numbers) -> Numbers:
    """XPath 1.0 section 4.4: the nearest integer, a half goes up; -0.5 and what is above it give negative zero."""
    below = np.floor(numbers)
    # Not floor(x + 0.5): the sum itself rounds, so that 0.49999999999999994 would give 1.
    nearest = np.where(numbers - below >= 0.5, below + 1, below)
    return np.where((numbers >= -0.5) & (numbers < 0.5), np.copysign(0.0, numbers), nearest)


_COMPARE: dict[x.ComparisonOperator, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "mod": np.fmod,
    "^": np.power,
}


def evaluate_xpath(expression: x.Expression, columns: RecordChunk, domain: Domain | None = None) -> Verdict:
    """Verdict of a test as an XPath 1.0 engine gives it."""
    holds = _evaluate(_XPath(columns, domain), expression)
    return Verdict(holds, np.zeros(columns.n, dtype=np.bool_))


def evaluate_binary64(expression: x.Expression, columns: RecordChunk, domain: Domain | None = None) -> Booleans:
    """Whether a tree holds in plain binary64 arithmetic, every operation rounded in written order.

    Two-valued: a missing cell is NaN, of which only ``!=`` is true. Variables are numbers; they are texts where they
    are compared with a text.

    Returns shape (n,).
    """
    return _evaluate(_Plain(columns, domain), expression)


def xpath_strings(expression: x.Expression, columns: RecordChunk) -> Any:
    """Give ``string(expression)`` of each record, as ``value-of`` prints it.

    Returns never null: an absent cell gives the empty string; shape (n,).
    """
    with np.errstate(all="ignore"):
        texts = as_strings(_XPath(columns, None).value(expression))
    return pa.repeat(texts, columns.n) if isinstance(texts, pa.Scalar) else texts


def _evaluate(evaluator: _XPath, expression: x.Expression) -> Booleans:
    # Overflow, division by zero and NaN are answers in IEEE arithmetic, not accidents.
    with np.errstate(all="ignore"):
        truth = as_booleans(evaluator.value(expression))
    return np.array(np.broadcast_to(truth, evaluator.columns.n))


class _XPath:
    """Values of subtrees with the types and conversions of XPath 1.0."""

    def __init__(self, columns: RecordChunk, domain: Domain | None) -> None:
        self.columns = columns
        self._domain = domain

    def cells(self, name: str) -> Cells:
        return self.columns[name] if name in self.columns else absent_cells(self.columns.n)

    # numpy makes scalars of arrays of shape (), hence np.asarray throughout: a scalar's type is no array's. One frame
    # for each level of the tree, so that the deepest tree stays far from the interpreter's recursion limit.
    def value(self, node: x.Expression) -> Value:  # noqa: C901, PLR0911 - one case for each kind of node
        match node:
            case x.Number(value):
                return np.array(float(value))
            case x.Text(value):
                return Strings(pa.scalar(value, pa.string()))
            case x.Truth(value):
                return np.array(value)
            case x.VariableReference(name):
                return self.variable(name)
            case x.Arithmetic(operator, left, right):
                return np.asarray(_ARITHMETIC[operator](self.number(left), self.number(right)))
            case x.Negative(operand):
                return np.asarray(np.negative(self.number(operand)))
            case x.Comparison(operator, left, right):
                return self.compare(operator, self.value(left), self.value(right))
            case x.Not(operand):
                return np.asarray(np.logical_not(self.truth(operand)))
            case x.And(operands):
                return self._join(np.logical_and, operands)
            case x.Or(operands):
                return self._join(np.logical_or, operands)
            case x.Function(name, arguments):
                return self._call(name, arguments)
            case _:
                return self._rule(node)

    def number(self, node: x.Expression) -> Numbers:
        return as_numbers(self.value(node))

    def truth(self, node: x.Expression) -> Booleans:
        return as_booleans(self.value(node))

    def variable(self, name: str) -> Value:
        return Nodes(self.cells(name))

    def compare(self, operator: x.ComparisonOperator, left: Value, right: Value) -> Booleans:
        """Compare as XPath 1.0 section 3.4 says; a node-set compares as "there is a node such that"."""
        equality = operator in ("==", "!=")
        if is_boolean(left) or is_boolean(right):
            if equality:
                return np.asarray(_COMPARE[operator](as_booleans(left), as_booleans(right)))
            left, right = (as_booleans(side) if isinstance(side, Nodes) else side for side in (left, right))
        present: Booleans = np.array(True)
        for side in (left, right):
            if isinstance(side, Nodes):
                present = np.logical_and(present, side.present)
        if equality and all(isinstance(side, (Nodes, Strings)) for side in (left, right)):
            compared = same_text(left, right) if operator == "==" else np.logical_not(same_text(left, right))
        else:
            compared = np.asarray(_COMPARE[operator](as_numbers(left), as_numbers(right)))
        return np.asarray(np.logical_and(present, compared))

    def _join(self, junction: Callable[[Any, Any], Any], operands: Sequence[x.Expression]) -> Booleans:
        joined = self.truth(operands[0])
        for operand in operands[1:]:
            joined = np.asarray(junction(joined, self.truth(operand)))
        return joined

    def _call(self, name: str, arguments: Sequence[x.Expression]) -> Value:  # noqa: C901, PLR0911 - a case for each
        match name:
            case "boolean":
                return self.truth(arguments[0])
            case "string":
                return Strings(as_strings(self.value(arguments[0])))
            case "normalize-space":
                return Strings(single_spaced(as_strings(self.value(arguments[0]))))
            case "min" | "max":
                choose = np.minimum if name == "min" else np.maximum
                extreme = self.number(arguments[0])
                for argument in arguments[1:]:
                    extreme = np.asarray(choose(extreme, self.number(argument)))
                return extreme
        if name in CALENDAR:
            return calendar(name, [self.number(argument) for argument in arguments])
        operand = self.number(arguments[0])
        match name:
            case "number":
                return operand
            case "floor":
                return np.asarray(np.floor(operand))
            case "ceiling":
                return np.asarray(np.ceil(operand))
            case "round":
                return rounded(operand)
            case "abs":
                return np.asarray(np.abs(operand))
        raise AssertionError(f"no evaluation for the function {name}")

    def _rule(self, node: x.Expression) -> Value:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
        """Evaluate what only YAML writes."""
        match node:
            case x.IfThen(condition, consequent, None):
                return np.asarray(np.logical_or(np.logical_not(self.truth(condition)), self.truth(consequent)))
            case x.IfThen(condition, consequent, otherwise) if otherwise is not None:
                return np.where(self.truth(condition), self.truth(consequent), self.truth(otherwise))
            case x.InInterval(operand, low, high, low_closed, high_closed):
                inside: Booleans = np.array(True)
                if low is not None:
                    inside = self.compare("<=" if low_closed else "<", self.value(low), self.value(operand))
                if high is not None:
                    below = self.compare("<=" if high_closed else "<", self.value(operand), self.value(high))
                    inside = np.asarray(np.logical_and(inside, below))
                return inside
            case x.InSet(operand, members):
                member: Booleans = np.array(False)
                for possible in members:
                    same = self.compare("==", self.value(operand), self.value(possible))
                    member = np.asarray(np.logical_or(member, same))
                return member
            case x.IsMissing(x.VariableReference(name)):
                return self.cells(name).missing
            case x.MissingAs(x.VariableReference(name), meaning):
                return self.cells(name).says(meaning)
            case x.IsNumber(x.VariableReference(name)):
                cells = self.cells(name)
                return np.asarray(np.logical_not(cells.missing | np.isnan(cells.xpath_numbers)))
            case x.KindCondition(_, _, columns):
                numbers = [np.broadcast_to(self.number(column), (self.columns.n,)) for column in columns]
                return np.asarray(verdicts_of(node, np.stack(numbers, axis=1)) == 1)
            case x.IsInteger(operand):
                number = self.number(operand)
                return np.asarray(np.logical_and(np.isfinite(number), number == np.floor(number)))
            case x.InOriginal(names, document):
                if self._domain is None:
                    message = f"the edit on {', '.join(names)} needs the original file, and none was given"
                    raise EditError(Problem(message, hint=original_file_hint(document)))
                return self._domain.contains(names, self.columns)
        raise AssertionError(f"no evaluation for {type(node).__name__}")


class _Plain(_XPath):
    """The same arithmetic where a variable is its number, as in YAML, unless it is compared with a text."""

    def variable(self, name: str) -> Value:
        return Nodes(self.cells(name), has_days=True)

    def compare(self, operator: x.ComparisonOperator, left: Value, right: Value) -> Booleans:
        if operator in ("==", "!=") and isinstance(left, Nodes) and isinstance(right, Nodes):
            equal = self._equal_cells(left, right)
            return equal if operator == "==" else np.asarray(np.logical_not(equal))
        if not (isinstance(left, Strings) or isinstance(right, Strings)):
            left, right = (as_numbers(side) if isinstance(side, Nodes) else side for side in (left, right))
        return super().compare(operator, left, right)

    @staticmethod
    def _equal_cells(left: Nodes, right: Nodes) -> Booleans:
        """Compare cells as numbers where both are numbers, else as texts, as exact arithmetic does."""
        equal = np.asarray(np.equal(left.cells.numbers, right.cells.numbers))
        wordy = np.isnan(left.cells.numbers) | np.isnan(right.cells.numbers)
        wordy &= ~(left.cells.missing | right.cells.missing)
        return np.where(wordy, same_text(left, right), equal) if wordy.any() else equal
