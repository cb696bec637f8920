"""The reference evaluator for all records of a block at once: sums, products, ranges and sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskwright.edits import expression as x
from maskwright.edits.constraint_kinds import verdicts_of
from maskwright.edits.evaluation.reference_values import (
    COMPARE,
    Truth,
    Undetermined,
    functions_of_dates,
    truth,
    xpath_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


DIGITS = 15
"""Decimals of so many digits differ in the binary64 numbers nearest to them."""
MOST = 2**62


class Ratio(NamedTuple):
    """Numbers ``over / under``: whole ones, none of `over` larger than `most`."""

    over: Any
    under: int
    most: int


@dataclass(frozen=True, eq=False)
class Cells:
    """Numbers of a variable in n records, of at most `DIGITS` digits.

    `values`: NaN where the cell says none; shape (n,). `missing`, `absent`: cells without a value, and no cell; shape
    (n,).
    """

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    absent: NDArray[np.bool_]

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Records whose number is known."""
        return ~(np.isnan(self.values) | self.missing)

    @cached_property
    def exact(self) -> Ratio:
        """The same numbers, exactly; 0 where there is none."""
        values = np.nan_to_num(self.values, nan=0.0)
        for power in range(DIGITS + 1):
            units = np.rint(values * 10.0**power)
            most = float(np.abs(units).max(initial=0))
            if most < 10.0**DIGITS and np.array_equal(units / 10.0**power, values):
                return Ratio(units.astype(np.int64), 10**power, int(most))
        raise Undetermined


@dataclass(frozen=True)
class ExactVectors:
    """Truth of what a rule in YAML says, its connectives apart, for all records of a block.

    `cells`: numbers of a variable by name.
    """

    cells: Callable[[str], Cells]

    def __call__(self, node: x.Expression) -> Truth:
        """Truth of a comparison, or of another part of a rule."""
        match node:
            case x.Comparison(sign, left, right):
                columns = [self.cells(side.name) for side in (left, right) if isinstance(side, x.VariableReference)]
                if len(columns) == 2 and sign in ("==", "!=") and not all((c.known | c.missing).all() for c in columns):
                    raise Undetermined  # texts are compared as texts
                return self._compared(sign, left, right)
            case x.InInterval(operand):
                return self._compared(">=", operand, operand)  # without bounds: true of what is known
            case x.InSet(operand, members):
                true, false = truth(x.Or(tuple(x.Comparison("==", operand, each) for each in members)), self)
                if isinstance(operand, x.VariableReference):
                    false = ~(true | self.cells(operand.name).missing)  # a text is none of the numbers
                return true, false
            case x.IsMissing(operand):
                missing = self.cells(operand.name).missing
                return missing, ~missing
            case x.KindCondition(_, _, columns):
                # The kind's evaluation has no second one; the numbers are read anew.
                verdicts = verdicts_of(node, np.stack([_plain(self.cells, column) for column in columns], axis=1))
                return verdicts == 1, verdicts == 0
            case _:
                raise Undetermined

    def _compared(self, sign: str, left: x.Expression, right: x.Expression) -> Truth:
        one, other = _common(self._number(left), self._number(right))
        holds = COMPARE[sign](one.over, other.over)
        known: Any = np.True_
        for name in {*x.variable_names(left), *x.variable_names(right)}:
            known = known & self.cells(name).known
        return known & holds, known & np.logical_not(holds)

    def _number(self, node: x.Expression) -> Ratio:  # noqa: PLR0911 - a case for each kind
        match node:
            case x.Number(value):
                return Ratio(value.numerator, value.denominator, abs(value.numerator))
            case x.VariableReference(name):
                return self.cells(name).exact
            case x.Negative(operand):
                return _product(self._number(operand), Ratio(-1, 1, 1))
            case x.Arithmetic("+" | "-" as sign, left, right):
                one, other = _common(self._number(left), self._number(right))
                total = one.over + other.over if sign == "+" else one.over - other.over
                return Ratio(total, one.under, one.most + other.most)
            case x.Arithmetic("*", left, right):
                return _product(self._number(left), self._number(right))
            case x.Arithmetic("/", left, x.Number(value)) if value:
                return _product(self._number(left), self._number(x.Number(1 / value)))
            case x.Function(name, arguments) if name in ("year", "quarter", "month", "day", "age_at"):
                days = [self._number(argument) for argument in arguments]
                values = functions_of_dates(name, [np.atleast_1d(each.over // each.under) for each in days])
                return Ratio(values, 1, 10_000)
            case _:
                raise Undetermined


def _plain(cells: Callable[[str], Cells], node: x.Expression) -> NDArray[np.float64]:
    """Numbers of a variable, NaN where there is none."""
    if not isinstance(node, x.VariableReference):
        raise Undetermined
    return cells(node.name).values


def _common(one: Ratio, other: Ratio) -> tuple[Ratio, Ratio]:
    """Two numbers over one denominator."""
    first, second = (lcm(one.under, other.under) // each.under for each in (one, other))
    return _product(one, Ratio(first, first, first)), _product(other, Ratio(second, second, second))


def _product(one: Ratio, other: Ratio) -> Ratio:
    """Product of two numbers, if int64 holds it and the sum of two such."""
    if max(one.most, 1) * max(other.most, 1) >= MOST:
        raise Undetermined
    return Ratio(one.over * other.over, one.under * other.under, one.most * other.most)


@dataclass(frozen=True)
class XPathVectors:
    """Truth of what a test in XPath says, its connectives apart, for all records of a block.

    `cells`: numbers of a variable by name.
    """

    cells: Callable[[str], Cells]

    def __call__(self, node: x.Expression) -> Truth:
        """Truth of a comparison."""
        match node:
            case x.Comparison("==" | "!=", x.VariableReference(), x.VariableReference()):
                raise Undetermined  # two elements are compared as texts
            case x.Comparison(sign, left, right):
                leaf = partial(_plain, self.cells)
                with np.errstate(all="ignore"):
                    holds = COMPARE[sign](xpath_number(left, leaf), xpath_number(right, leaf))
                for side in (left, right):
                    if isinstance(side, x.VariableReference):
                        holds = holds & ~self.cells(side.name).absent  # no element equals nothing
                return holds, np.logical_not(holds)
            case _:
                raise Undetermined
