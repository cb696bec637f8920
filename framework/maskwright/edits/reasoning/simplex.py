"""Whether linear constraints can hold together, in exact rational arithmetic.

The general simplex of B. Dutertre and L. de Moura, "A fast linear-arithmetic solver for DPLL(T)" (CAV 2006, section
3), with Bland's rule, so that it ends; strict bounds are numbers plus an infinitesimal.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# A number and its multiple of an infinitesimal; tuples compare in the right order.
_Value = tuple[Fraction, Fraction]
_NOTHING, _ONE = Fraction(0), Fraction(1)
_ZERO: _Value = (_NOTHING, _NOTHING)


@dataclass(frozen=True)
class Row:
    """``sum(coefficient * variable) relation constant``, stated by the source with this name."""

    source: str
    coefficients: Mapping[str, Fraction]
    relation: Literal["==", "<=", "<"]
    constant: Fraction

    def __hash__(self) -> int:
        return hash((self.source, frozenset(self.coefficients.items()), self.relation, self.constant))

    def holds_at(self, total: Fraction | int) -> bool:
        """Whether the relation is true where the sum has this value."""
        if self.relation == "==":
            return total == self.constant
        return total < self.constant or (self.relation == "<=" and total == self.constant)


@dataclass(frozen=True)
class Conflict:
    """Rows that contradict each other, and the proof.

    `multipliers`: for each row of the contradiction, by its position: the rows times these numbers add up to ``0 <= c``
    with c below 0 (or ``0 < 0``). Positive for inequalities (Farkas' lemma).
    """

    multipliers: Mapping[int, Fraction]


def solve(rows: Sequence[Row]) -> dict[str, Fraction] | Conflict:
    """Find a point that satisfies all rows, or the proof that there is none; exact."""
    for position, row in enumerate(rows):
        if not row.coefficients and not row.holds_at(0):
            sign = -1 if row.relation == "==" and row.constant > 0 else 1
            return Conflict({position: Fraction(sign)})
    kept = [position for position, row in enumerate(rows) if row.coefficients]
    simplex = _Simplex([rows[position] for position in kept])
    proof = simplex.proof()
    if proof is not None:
        return Conflict({kept[position]: multiplier for position, multiplier in proof.items()})
    return simplex.point()


class BoundedRows:
    """Rows that are solved many times, each time with further bounds of their variables; exact."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._simplex = _Simplex([row for row in rows if row.coefficients])

    def point(self, bounds: Iterable[Row]) -> dict[str, Fraction] | None:
        """Point that satisfies all rows and bounds, None if there is none; the one that `solve` finds."""
        simplex = self._simplex.bounded(bounds)
        return simplex.point() if simplex.proof() is None else None


def conflict(rows: Sequence[Row]) -> tuple[Row, ...] | None:
    """Rows that contradict each other."""
    found = solve(rows)
    return tuple(rows[position] for position in sorted(found.multipliers)) if isinstance(found, Conflict) else None


def smallest(names: Sequence[str], contradict: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """Drop every name without which the rest still contradicts (a deletion filter)."""
    kept = list(names)
    for name in names:
        rest = [other for other in kept if other != name]
        if contradict(rest):
            kept = rest
    return tuple(kept)


class _Simplex:
    """Tableau of the rows with several variables; rows with one are bounds of it."""

    def __init__(self, rows: Sequence[Row]) -> None:
        names = list(dict.fromkeys(name for row in rows for name in row.coefficients))
        self.columns = {name: position for position, name in enumerate(names)}
        self.upper: dict[int, _Value] = {}
        self.lower: dict[int, _Value] = {}
        # Of each bound: the row that states it, and the number that makes the row `variable <= bound` or `>=`.
        self.stated: dict[tuple[int, bool], tuple[int, Fraction]] = {}
        self.tableau: dict[int, dict[int, Fraction]] = {}
        self.values = [_ZERO] * len(names)
        several: list[tuple[int, int]] = []
        for number, row in enumerate(rows):
            if len(row.coefficients) == 1:
                ((name, coefficient),) = row.coefficients.items()
                self._bound(self.columns[name], number, row, coefficient)
            else:
                several.append((len(names) + len(several), number))
        for variable, number in several:
            row = rows[number]
            self.tableau[variable] = {self.columns[name]: value for name, value in row.coefficients.items() if value}
            self.values.append(_ZERO)
            self._bound(variable, number, row, _ONE)
        self._start_all()

    def bounded(self, rows: Iterable[Row]) -> _Simplex:
        """Copy with further bounds; of a tableau that is not solved yet."""
        found = copy(self)
        found.upper, found.lower, found.stated = dict(self.upper), dict(self.lower), dict(self.stated)
        found.tableau = {variable: dict(terms) for variable, terms in self.tableau.items()}
        found.values = [_ZERO] * len(self.values)
        for row in rows:
            ((name, coefficient),) = row.coefficients.items()
            found._bound(self.columns[name], -1, row, coefficient)
        found._start_all()
        return found

    def _start_all(self) -> None:
        self.crossed = next((j for j, low in self.lower.items() if j in self.upper and low > self.upper[j]), None)
        for variable in self.columns.values():
            self.values[variable] = self._start(variable)
        for variable, terms in self.tableau.items():
            for j, value in terms.items():
                if self.values[j] != _ZERO:
                    self.values[variable] = _moved(self.values[variable], self.values[j], value)

    def _bound(self, variable: int, number: int, row: Row, coefficient: Fraction) -> None:
        is_one = coefficient == 1
        constant, scale = (row.constant, _ONE) if is_one else (row.constant / coefficient, 1 / coefficient)
        small = _ONE if row.relation == "<" else _NOTHING
        if row.relation == "==" or coefficient > 0:
            bound = (constant, -small)
            if variable not in self.upper or bound < self.upper[variable]:
                self.upper[variable] = bound
                self.stated[variable, True] = (number, scale)
        if row.relation == "==" or coefficient < 0:
            bound = (constant, small)
            if variable not in self.lower or bound > self.lower[variable]:
                self.lower[variable] = bound
                self.stated[variable, False] = (number, scale)

    def _start(self, variable: int) -> _Value:
        if variable in self.lower and self.lower[variable] > _ZERO:
            return self.lower[variable]
        return self.upper[variable] if variable in self.upper and self.upper[variable] < _ZERO else _ZERO

    def proof(self) -> dict[int, Fraction] | None:
        """Multipliers of a contradiction by row, None once all bounds hold."""
        if self.crossed is not None:
            return self._multipliers({self.crossed: Fraction(1)}, {self.crossed: Fraction(-1)})
        while True:
            broken = min((basic for basic in self.tableau if self._side(basic)), default=None)
            if broken is None:
                return None
            side = self._side(broken)
            bound = self.lower[broken] if side < 0 else self.upper[broken]
            terms = self.tableau[broken]
            entering = min((j for j, value in terms.items() if self._can_move(j, -side * value)), default=None)
            if entering is None:
                # The left side of `broken` is this sum of others, all at the bounds that keep it from moving.
                involved = {broken: Fraction(side)} | {j: -side * value for j, value in terms.items()}
                return self._multipliers(involved, {})
            self._move(broken, entering, bound)
            self._pivot(broken, entering)

    def _multipliers(self, *involved: Mapping[int, Fraction]) -> dict[int, Fraction]:
        """Multipliers of rows from multipliers of bounds: above 0 of an upper, below 0 of a lower one."""
        found: dict[int, Fraction] = {}
        for one in involved:
            for variable, multiplier in one.items():
                number, scale = self.stated[variable, multiplier > 0]
                found[number] = found.get(number, Fraction(0)) + multiplier * scale
        return {number: value for number, value in found.items() if value}

    def point(self) -> dict[str, Fraction]:
        """Values of the variables, once all bounds hold."""
        small = Fraction(1)
        for variable, value in enumerate(self.values):
            for low, high in ((self.lower.get(variable), value), (value, self.upper.get(variable))):
                if low is not None and high is not None and low[1] > high[1]:
                    small = min(small, (high[0] - low[0]) / (low[1] - high[1]))
        return {name: self.values[j][0] + small * self.values[j][1] for name, j in self.columns.items()}

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
