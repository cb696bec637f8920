"""Whether linear constraints can hold together, in exact rational arithmetic.

The general simplex of B. Dutertre and L. de Moura, "A fast linear-arithmetic solver for DPLL(T)" (CAV 2006, section
3), with Bland's rule, so that it ends; strict bounds are numbers plus an infinitesimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A number and its multiple of an infinitesimal; tuples compare in the right order.
_Value = tuple[Fraction, Fraction]
_ZERO: _Value = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Row:
    """``sum(coefficient * variable) relation constant``, stated by the source with this name."""

    source: str
    coefficients: Mapping[str, Fraction]
    relation: Literal["==", "<=", "<"]
    constant: Fraction


def conflict(rows: Sequence[Row]) -> tuple[Row, ...] | None:
    """Rows that contradict each other.

    Parameters
    ----------
    rows : sequence of Row

    Returns
    -------
    tuple of Row or None
        A contradicting subset (the rows with a Farkas multiplier), None when all rows can hold together. Exact.
    """
    for row in rows:
        if not row.coefficients and not _constant_holds(row):
            return (row,)
    return _Simplex([row for row in rows if row.coefficients]).conflict()


def _constant_holds(row: Row) -> bool:
    if row.relation == "==":
        return row.constant == 0
    return row.constant >= 0 if row.relation == "<=" else row.constant > 0


class _Simplex:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        names = list(dict.fromkeys(name for row in rows for name in row.coefficients))
        columns = {name: position for position, name in enumerate(names)}
        first = len(names)
        # Variable first + i is the left side of row i; it is basic at the start.
        self.tableau = {
            first + i: {columns[name]: value for name, value in row.coefficients.items() if value}
            for i, row in enumerate(rows)
        }
        self.first = first
        self.values = [_ZERO] * (first + len(rows))
        self.upper: dict[int, _Value] = {}
        self.lower: dict[int, _Value] = {}
        for i, row in enumerate(rows):
            self.upper[first + i] = (row.constant, Fraction(-1 if row.relation == "<" else 0))
            if row.relation == "==":
                self.lower[first + i] = (row.constant, Fraction(0))

    def conflict(self) -> tuple[Row, ...] | None:
        while True:
            broken = min((basic for basic in self.tableau if self._side(basic)), default=None)
            if broken is None:
                return None
            side = self._side(broken)
            bound = self.lower[broken] if side < 0 else self.upper[broken]
            terms = self.tableau[broken]
            entering = min((j for j, value in terms.items() if self._can_move(j, -side * value)), default=None)
            if entering is None:
                involved = sorted({broken, *terms})
                return tuple(self.rows[j - self.first] for j in involved if j >= self.first)
            self._move(broken, entering, bound)
            self._pivot(broken, entering)

    def _side(self, variable: int) -> int:
        """-1 below its lower bound, 1 above its upper bound, 0 inside."""
        value = self.values[variable]
        if variable in self.lower and value < self.lower[variable]:
            return -1
        return 1 if variable in self.upper and value > self.upper[variable] else 0

    def _can_move(self, variable: int, direction: Fraction) -> bool:
        value = self.values[variable]
        if direction > 0:
            return variable not in self.upper or value < self.upper[variable]
        return variable not in self.lower or value > self.lower[variable]

    def _move(self, leaving: int, entering: int, bound: _Value) -> None:
        value, slope = self.values[leaving], self.tableau[leaving][entering]
        step = ((bound[0] - value[0]) / slope, (bound[1] - value[1]) / slope)
        self.values[leaving] = bound
        self.values[entering] = _moved(self.values[entering], step, Fraction(1))
        for basic, terms in self.tableau.items():
            if basic != leaving and entering in terms:
                self.values[basic] = _moved(self.values[basic], step, terms[entering])

    def _pivot(self, leaving: int, entering: int) -> None:
        terms = self.tableau.pop(leaving)
        slope = terms.pop(entering)
        solved = {j: -value / slope for j, value in terms.items()}
        solved[leaving] = 1 / slope
        for other in self.tableau.values():
            factor = other.pop(entering, None)
            if factor is None:
                continue
            for j, value in solved.items():
                total = other.get(j, Fraction(0)) + factor * value
                if total:
                    other[j] = total
                else:
                    other.pop(j, None)
        self.tableau[entering] = solved


def _moved(value: _Value, step: _Value, factor: Fraction) -> _Value:
    return value[0] + step[0] * factor, value[1] + step[1] * factor
