"""The second evaluation for all records of a block at once: whole numbers over a power of ten, and three truth values.

Exact in int64 for the records whose cells are plain numbers or missing; the others are told apart, to be evaluated one
by one. It shares the expression tree with the first evaluation, and nothing else.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskwright.edits import expression as x
from maskwright.edits.evaluation.plain_numbers import CannotTell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Booleans = NDArray[np.bool_]
LONGEST = 17
MOST = 2**62
MOST_DECIMALS = 22
"""Ten to this power is a binary64 number, so that the quotient of two such numbers is the nearest to the decimal."""
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Scaled:
    """Numbers of n records: ``values / 10 ** decimals``.

    Attributes
    ----------
    values : ndarray of shape (n,), int64
        0 where there is none.
    decimals : int
    missing : ndarray of shape (n,), bool
        Cells without a character.
    odd : ndarray of shape (n,), bool
        Cells that are neither missing nor a plain number: to be looked at one by one.
    """

    values: NDArray[np.int64]
    decimals: int
    missing: Booleans
    odd: Booleans


def scaled_bytes(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], point: int) -> Scaled:
    """Numbers that cells of bytes say, digit by digit.

    Parameters
    ----------
    data : ndarray of uint8
    starts, ends : ndarray of shape (n,), int64
        Of the cells; a start of -1 is no cell.
    point : int
        Byte of the decimal sign.
    """
    lengths = np.where(starts < 0, 0, ends - starts)
    missing = lengths == 0
    width = int(np.clip(lengths.max(initial=1), 1, LONGEST))
    # The last bytes of every cell, one row of the matrix for each place.
    padded = np.concatenate([np.zeros(width, dtype=np.uint8), data])
    window = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(padded, width)[ends].T)
    from_end = np.arange(width - 1, -1, -1, dtype=np.int8)[:, None]
    short = np.minimum(lengths, LONGEST).astype(np.int8)
    outside = from_end >= short
    digit = window - np.uint8(ord("0"))
    is_digit = (digit < 10) & ~outside
    is_point = (window == point) & ~outside
    is_sign = (window == ord("-")) & (from_end == short - 1)
    negative = is_sign.any(axis=0)
    points = np.add.reduce(is_point, axis=0, dtype=np.int8)
    odd = (lengths > LONGEST) | ~(is_digit | is_point | is_sign | outside).all(axis=0)
    odd |= ~missing & (~is_digit.any(axis=0) | (points > 1))
    # A point counts as a digit 0 first, and is taken out below.
    digit *= is_digit
    values = np.zeros(len(starts), dtype=np.int64)
    for own in digit:
        values = values * 10 + own
    pointed = points > 0
    fraction = np.where(pointed, width - 1 - is_point.argmax(axis=0), 0)
    unit = 10**fraction
    values = np.where(pointed, values // (unit * 10) * unit + values % unit, values)
    # A negative zero is the same decimal, and another number to XPath.
    odd |= negative & (values == 0)
    decimals = int(fraction[~odd].max(initial=0))
    odd |= ~missing & (lengths + decimals - fraction > LONGEST)
    values = np.where(
        odd | missing, 0, np.where(negative, -values, values) * 10 ** np.where(odd, 0, decimals - fraction)
    )
    return Scaled(values, decimals, missing, odd)


def scaled_floats(values: NDArray[Any], missing: Booleans, decimals: int) -> Scaled:
    """Numbers of binary columns that mean decimals: those nearest to one are that decimal, the others are odd."""
    units = np.rint(np.where(missing, 0.0, values).astype(np.float64) * 10.0**decimals)
    meant = (units / 10.0**decimals).astype(values.dtype) == values
    odd = ~missing & ~(meant & (np.abs(units) < 2**53))
    return Scaled(np.where(odd, 0, units).astype(np.int64), decimals, missing, odd)


def scaled_objects(texts: Sequence[str | None]) -> Scaled:
    """Numbers that texts say; None is a missing cell."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    lengths = np.array([len(text) for text in encoded], dtype=np.int64)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    return scaled_bytes(np.frombuffer(b"".join(encoded) + b"\0", dtype=np.uint8), starts, ends, ord("."))


@dataclass(frozen=True, eq=False)
class Three:
    """Truth of n records: true, and unknown; false elsewhere."""

    true: Booleans
    unknown: Booleans

    @property
    def negated(self) -> Three:
        """Not."""
        return Three(~(self.true | self.unknown), self.unknown)


Polynomial = dict[tuple[str, ...], Fraction]
"""Coefficients by the names that are multiplied; none for the constant."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """Rules that are built of comparisons of sums and products, intervals and sets of numbers, in exact arithmetic.

    Attributes
    ----------
    numbers : callable
        Numbers of a variable by name.
    n : int
        Records.
    """

    numbers: Callable[[str], Scaled]
    n: int

    def truth(self, node: x.Expression) -> Three:  # noqa: C901, PLR0911 - one case for each kind of node
        """Truth of a rule.

        Raises
        ------
        CannotTell
            The rule is of another kind, or its numbers do not fit.
        """
        match node:
            case x.Not(operand):
                return self.truth(operand).negated
            case x.And(operands):
                return _all([self.truth(operand) for operand in operands])
            case x.Or(operands):
                return _all([self.truth(operand).negated for operand in operands]).negated
            case x.IfThen(condition, consequent, otherwise):
                given = self.truth(condition)
                then = _all([given, self.truth(consequent).negated]).negated
                if otherwise is None:
                    return then
                return _all([then, _all([given.negated, self.truth(otherwise).negated]).negated])
            case x.Comparison(sign, left, right):
                return self.compared(sign, left, right)
            case x.InInterval(operand, low, high, low_closed, high_closed):
                # Without bounds, it is true of what is known.
                bounds = [self.compared("==", operand, operand)]
                if low is not None:
                    bounds.append(self.compared(">=" if low_closed else ">", operand, low))
                if high is not None:
                    bounds.append(self.compared("<=" if high_closed else "<", operand, high))
                return _all(bounds)
            case x.InSet(operand, members):
                return _all([self.compared("==", operand, member).negated for member in members]).negated
            case x.IsMissing(operand):
                return Three(self.numbers(operand.name).missing, np.zeros(self.n, dtype=np.bool_))
            case _:
                raise CannotTell

    def compared(self, sign: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> Three:
        """Compare two sums of products exactly, as integers over a common denominator."""
        terms = _minus(_polynomial(left), _polynomial(right))
        columns = {name: self.numbers(name) for monomial in terms for name in monomial}
        scaled = {
            monomial: coefficient / 10 ** sum(columns[name].decimals for name in monomial)
            for monomial, coefficient in terms.items()
        }
        common = lcm(*(each.denominator for each in scaled.values()))
        result, reach = np.zeros(self.n, dtype=np.int64), 0
        for monomial, coefficient in scaled.items():
            factor = int(coefficient * common)
            sizes = [max(1, int(np.abs(columns[name].values).max(initial=0))) for name in monomial]
            reach += abs(factor) * prod(sizes)
            if max(reach, prod(sizes)) >= MOST:
                raise CannotTell
            product = np.full(self.n, factor, dtype=np.int64)
            for name in monomial:
                product *= columns[name].values
            result += product
        unknown = np.logical_or.reduce([np.zeros(self.n, dtype=np.bool_), *(each.missing for each in columns.values())])
        compared = np.asarray(COMPARE[sign](result, 0), dtype=np.bool_)
        return Three(compared & ~unknown, unknown)


class BinaryVectors(Vectors):
    """Tests in XPath, in binary64 and written order; records with a missing cell are to be looked at one by one."""

    def compared(self, sign: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> Three:
        """Compare as XPath compares numbers; two elements are compared as texts, which is not done here."""
        if isinstance(left, x.VariableReference) and isinstance(right, x.VariableReference) and sign in ("==", "!="):
            raise CannotTell
        with np.errstate(all="ignore"):
            holds = COMPARE[sign](self._value(left), self._value(right))
        nowhere = np.zeros(self.n, dtype=np.bool_)
        return Three(np.array(np.broadcast_to(np.asarray(holds, dtype=np.bool_), (self.n,))), nowhere)

    def _value(self, node: x.Expression) -> NDArray[np.float64]:
        match node:
            case x.Number(value):
                return np.array(float(value))
            case x.VariableReference(name):
                column = self.numbers(name)
                if column.decimals > MOST_DECIMALS or np.any(np.abs(column.values) >= 2**53):
                    raise CannotTell
                return column.values / 10.0**column.decimals
            case x.Negative(operand):
                return np.asarray(-self._value(operand))
            case x.Function("number", (argument,)):
                return self._value(argument)
            case x.Arithmetic("+" | "-" | "*" | "/" as sign, left, right):
                one, other = self._value(left), self._value(right)
                return np.asarray(ARITHMETIC[sign](one, other))
            case _:
                raise CannotTell


def _polynomial(node: x.Expression) -> Polynomial:  # noqa: PLR0911 - one case for each kind of node
    match node:
        case x.Number(value):
            return {(): value}
        case x.VariableReference(name):
            return {(name,): Fraction(1)}
        case x.Negative(operand):
            return _minus({}, _polynomial(operand))
        case x.Arithmetic("+", left, right):
            return _minus(_polynomial(left), _minus({}, _polynomial(right)))
        case x.Arithmetic("-", left, right):
            return _minus(_polynomial(left), _polynomial(right))
        case x.Arithmetic("*", left, right):
            return _product(_polynomial(left), _polynomial(right))
        case x.Arithmetic("/", left, x.Number(value)) if value:
            return _product(_polynomial(left), {(): 1 / value})
        case _:
            raise CannotTell


def _minus(one: Polynomial, other: Polynomial) -> Polynomial:
    zero = Fraction(0)
    return {each: one.get(each, zero) - other.get(each, zero) for each in dict.fromkeys((*one, *other))}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for left, right in itertools.product(one, other):
        monomial = tuple(sorted((*left, *right)))
        found[monomial] = found.get(monomial, Fraction(0)) + one[left] * other[right]
    return found


def _all(values: Sequence[Three]) -> Three:
    true = np.logical_and.reduce([each.true for each in values])
    false = np.logical_or.reduce([each.negated.true for each in values])
    return Three(true, ~(true | false))
