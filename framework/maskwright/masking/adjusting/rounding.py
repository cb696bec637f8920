"""Rounding to the published grid so that equalities hold exactly, controlled where a sum is fixed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.adjusting.derivation import (
    Derivations,
    LinearDerivation,
    PolynomialDerivation,
    ProductDerivation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.masking.adjusting.constraint_system import ConstraintSystem


_SAFE = 2.0**62
_COARSENING_REACH = 60
"""Units of its grid by which a second factor is moved at most, so that a product lies on its own grid."""


class Grid:
    """Rows held as whole numbers where variables have a grid, as float64 where they have none.

    `scale`: standard deviations, to weigh moves of one variable against another; shape (q,). `strides`: units of the
    grid that rounded values lie apart; by default 1.
    """

    def __init__(
        self,
        names: Sequence[str],
        decimals: Mapping[str, int | None],
        scale: Floats,
        plan: Derivations,
        strides: Mapping[str, int] | None = None,
    ) -> None:
        self.names = tuple(names)
        self.decimals = dict(decimals)
        self.plan = plan
        self.strides = strides or {}
        self._scale = dict(zip(names, scale, strict=True))

    def round(self, values: Floats) -> Floats:
        """Rows on the grid, dependents computed; NaN stays NaN; `values`: shape (r, q)."""
        return self.compute(self.to_units(values))

    def to_units(self, values: Floats) -> dict[str, Floats]:
        """Values in grid units, rounded; as they are for variables without a grid. Whole numbers held as float64."""
        units: dict[str, Floats] = {}
        for column, name in enumerate(self.names):
            places = self.decimals.get(name)
            stride = self.strides.get(name, 1)
            units[name] = (
                values[:, column].copy() if places is None
                else np.rint(values[:, column] * 10.0**places / stride) * stride
            )  # fmt: skip
        return units

    def compute(self, units: dict[str, Floats], nudges: Mapping[str, Integers] | None = None) -> Floats:
        """Dependents from free variables, then back to values of shape (r, q).

        `nudges` are moves that a search has made in `units`, for each row: a factor that has to be coarse moves by as
        many strides.
        """
        for step in self.plan.steps:
            own = units[step.variable]
            if isinstance(step, ProductDerivation) and step.coarsen:
                self._coarsen(step, units, nudges)
            if isinstance(step, PolynomialDerivation):
                self._solve(step, units)
                continue
            computed = self._linear(step, units) if isinstance(step, LinearDerivation) else self._product(step, units)
            # A row that lacks an input keeps its own value, and one that lacks the dependent gets none: the equality
            # does not apply to it.
            units[step.variable] = np.where(np.isnan(computed) | np.isnan(own), own, computed)
        columns = [self._value(name, units[name]) for name in self.names]
        return np.stack(columns, axis=1) if columns else np.zeros((0, 0))

    def _value(self, name: str, units: Floats) -> Floats:
        places = self.decimals.get(name)
        # + 0.0 turns a negative zero into zero; dividing whole numbers below 2 ** 53 rounds correctly, so the result is
        # the double that reading the decimal text gives.
        return units if places is None else units / 10.0**places + 0.0

    def _linear(self, step: LinearDerivation, units: Mapping[str, Floats]) -> Floats:
        places = self.decimals.get(step.variable)
        if places is None:
            total = np.zeros(len(next(iter(units.values()))))
            for name, coefficient in step.coefficients:
                total = total + float(coefficient) * self._value(name, units[name])
            return total + float(step.constant)
        total = np.full(len(units[step.variable]), float(step.constant * 10**places))
        exact = np.abs(total)
        for name, coefficient in step.coefficients:
            # Whole by the choice of dependents: `maskwright.masking.adjusting.derivation` refuses others.
            factor = coefficient * 10**places / 10 ** (self.decimals[name] or 0)
            term = float(factor) * units[name]
            total = total + term
            exact = exact + np.abs(term)
        if np.any(exact >= 2.0**53):
            return self._linear_exactly(step, units, places)
        return total

    def _linear_exactly(self, step: LinearDerivation, units: Mapping[str, Floats], places: int) -> Floats:
        total = np.full(len(units[step.variable]), int(step.constant * 10**places), dtype=object)
        absent = np.zeros(len(total), dtype=np.bool_)
        for name, coefficient in step.coefficients:
            factor = int(coefficient * 10**places / 10 ** (self.decimals[name] or 0))
            absent |= np.isnan(units[name])
            total = total + factor * _whole(units[name])
        return np.where(absent, np.nan, total.astype(np.float64))

    def _product(self, step: ProductDerivation, units: Mapping[str, Floats]) -> Floats:
        places = self.decimals.get(step.variable)
        if places is None:
            result = np.full(len(units[step.variable]), float(step.coefficient))
            for name, exponent in step.factors:
                result = result * self._value(name, units[name]) ** float(exponent)
            return result
        up, down = self._ratio(step)
        estimate = np.full(len(units[step.variable]), float(up))
        for name, exponent in step.factors:
            estimate = estimate * units[name] ** float(exponent)
        if not np.any(np.abs(estimate) >= 2.0**53):
            return estimate / down
        absent = np.isnan(estimate)
        whole = np.full(len(estimate), up, dtype=object)
        for name, exponent in step.factors:
            whole = whole * _whole(units[name]) ** exponent
        return np.where(absent, np.nan, (whole / down).astype(np.float64))

    def _ratio(self, step: ProductDerivation) -> tuple[int, int]:
        """Whole numbers with ``units of dependent = up * prod(units of factors ** exponent) / down``."""
        ratio = step.coefficient * 10 ** (self.decimals.get(step.variable) or 0)
        for name, exponent in step.factors:
            ratio /= 10 ** ((self.decimals.get(name) or 0) * exponent)
        return ratio.numerator, ratio.denominator

    def _solve(self, step: PolynomialDerivation, units: dict[str, Floats]) -> None:
        """Put rows onto an equality with a tolerance: by its variable, and what rounding leaves by its total.

        Where the variable would go farther than a standard deviation, the total goes alone if that is nearer.
        """
        by_variable = self._solved(step, step.variable, units)
        if step.total is None:
            units[step.variable] = by_variable
            return
        by_total = self._solved(step, step.total, units)
        moves = self._moved(step.variable, units, by_variable), self._moved(step.total, units, by_total)
        units[step.variable] = np.where((moves[0] > 1.0) & (moves[1] < moves[0]), units[step.variable], by_variable)
        units[step.total] = self._solved(step, step.total, units)

    def _moved(self, name: str, units: Mapping[str, Floats], to: Floats) -> Floats:
        """Standard deviations from where a variable is to other units of its grid."""
        away: Floats = np.abs(self._value(name, to) - self._value(name, units[name])) / self._scale[name]
        return away

    def _solved(self, step: PolynomialDerivation, name: str, units: Mapping[str, Floats]) -> Floats:
        """Units of a variable where the equality holds; its own where that holds as it is, or cannot."""

        def fetch(other: str) -> Floats:
            return self._value(other, units[other])

        factor, rest, exponent = step.about(name)
        own = units[name]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope, left = factor.evaluate(fetch)[0], rest.evaluate(fetch)[0]
            gap = np.abs(slope * fetch(name) ** float(exponent) + left)
            solved = -left / slope if exponent == 1 else -slope / left
            places, stride = self.decimals.get(name), self.strides.get(name, 1)
            within, found = float(step.tolerance), solved
            if places is not None:
                found = _halves_up(solved * 10.0**places / stride) * stride
                if 2 * within <= stride / 10.0**places:
                    # The rule rounds: a value exactly half a unit away holds on one side only, the one `found` is on.
                    within *= 1 - _NEARLY
        return np.where((gap > within) & np.isfinite(found), found, own)

    def _coarsen(
        self, step: ProductDerivation, units: dict[str, Floats], nudges: Mapping[str, Integers] | None
    ) -> None:
        """Move two free factors to the nearest grid points whose product lies on the dependent's grid."""
        simple = [name for name, exponent in step.factors if exponent == 1 and name in self.plan.free]
        if not simple:
            return
        up, down = self._ratio(step)
        last = simple[-1]
        other = next((name for name, _ in step.factors if name != last and name in self.plan.free), None)
        start, best_last, best_other = units[last], units[last].copy(), None if other is None else units[other].copy()
        best = np.full(len(start), np.inf)
        alone = other is None or nudges is not None
        reach = [0] if alone else sorted(range(-_COARSENING_REACH, _COARSENING_REACH + 1), key=abs)
        nudge = 0 if nudges is None else nudges.get(last, 0)
        for move in reach:
            rest = np.full(len(start), float(up))
            for name, exponent in step.factors:
                if name != last:
                    rest = rest * (units[name] + (move if name == other else 0)) ** float(exponent)
            usable = np.isfinite(rest) & np.isfinite(start) & (np.abs(rest) < _SAFE)
            stride = down / np.gcd(np.where(usable, rest, 0).astype(np.int64), down)
            moved = (np.rint((start - nudge) / stride) + nudge) * stride
            cost = (np.abs(moved - start) * self._unit(last)) ** 2
            if other is not None:
                cost = cost + (move * self._unit(other)) ** 2
            better = usable & (cost < best)
            best[better] = cost[better]
            best_last[better] = moved[better]
            if other is not None and best_other is not None:
                best_other[better] = units[other][better] + move
        units[last] = best_last
        if other is not None and best_other is not None:
            units[other] = best_other

    def _unit(self, name: str) -> float:
        return float(10.0 ** -(self.decimals.get(name) or 0) / self._scale[name])


def _halves_up(units: Floats) -> Floats:
    """Nearest whole numbers, halves up as `round` in a rule; what binary64 puts just below a half is one."""
    rounded: Floats = np.floor(units + 0.5 + 4 * np.spacing(np.abs(units)))
    return rounded


def _whole(units: Floats) -> NDArray[np.object_]:
    return np.array([0 if np.isnan(value) else int(value) for value in units], dtype=object)


_NEARLY = 1e-6
"""Share of a unit that binary64 may be off a grid point."""


def rounded_onto_sums(system: ConstraintSystem, grid: Grid, points: Floats) -> Floats:
    """Rows on the grid, parts of sums that do not move rounded so that they add up; dependents computed.

    `points`: all rows, on every edit; shape (r, q). Returns a row for which a sum does not come out even is rounded
    plainly; shape (r, q).
    """
    index = np.arange(len(points))
    units = grid.to_units(points)
    exact = dict(zip(grid.names, points.T, strict=True))
    done: set[str] = set()
    for terms, constant, fixed_factors in _sums(system, grid):
        strides = {grid.strides.get(name, 1) for name in terms}
        if len(strides) != 1 or any(grid.decimals.get(name) is None for name in terms):
            continue
        widths = {name: Fraction(grid.strides.get(name, 1), 10 ** (grid.decimals[name] or 0)) for name in terms}
        width = min(widths.values())
        names = [name for name in terms if name not in done and widths[name] == width and abs(terms[name]) == 1]
        if not names:
            continue
        unit = float(1 / width)
        wanted = np.full(len(index), float(constant) * unit)
        for name, factor in fixed_factors.items():
            wanted = wanted - float(factor) * system.targets.fixed_numbers(name, index) * unit
        off = 0.0
        for name in terms.keys() - set(names):
            wanted = wanted - float(terms[name] / width / 10 ** (grid.decimals[name] or 0)) * units[name]
            off += 0.0 if name in done else float(abs(terms[name]) * widths[name] / width) / 2
        signs = np.array([float(terms[name]) for name in names])
        cells = np.stack([exact[name] for name in names], axis=1) * unit * signs
        given = _distributed(_with_gap(cells, wanted, off) if off else cells, wanted)
        good = ~np.isnan(given).any(axis=1)
        for place, name in enumerate(names):
            units[name] = np.where(good, given[:, place] * signs[place] * grid.strides.get(name, 1), units[name])
        done |= set(names)
    return grid.compute(units)


def _with_gap(cells: Floats, wanted: Floats, most: float) -> Floats:
    """Cells of which the largest takes up what is missing to `wanted`, up to `most` units."""
    rows, largest = np.arange(len(cells)), np.argmax(np.nan_to_num(np.abs(cells)), axis=1)
    gap = wanted - cells.sum(axis=1)
    fits = (np.abs(gap) <= most + _NEARLY) & (np.abs(gap) <= np.abs(cells[rows, largest]))
    changed = cells.copy()
    changed[rows, largest] += np.where(fits, gap, 0.0)
    return changed


def _distributed(cells: Floats, wanted: Floats) -> Floats:
    """Whole units next to the cells that add up to `wanted`; NaN in rows where that cannot be."""
    nearest = np.rint(cells)
    cells = np.where(np.abs(cells - nearest) < _NEARLY, nearest, cells)
    down = np.floor(cells)
    lost = cells - down
    more = np.rint(wanted - down.sum(axis=1))
    even = (np.abs(wanted - down.sum(axis=1) - more) < _NEARLY * 10) & (more >= 0) & (more <= (lost > 0).sum(axis=1))
    rank = np.argsort(np.argsort(-lost, axis=1, kind="stable"), axis=1, kind="stable")
    return np.where(even[:, None], down + (rank < np.where(even, more, 0)[:, None]), np.nan)


def _sums(system: ConstraintSystem, grid: Grid) -> Iterator[tuple[dict[str, Fraction], Fraction, dict[str, Fraction]]]:
    """Equalities with what does not move: factors of free variables, constant, and factors of the others."""
    derived = {step.variable: step for step in grid.plan.steps if isinstance(step, LinearDerivation)}
    for constraint in system.constraints:
        if len(constraint.alternatives) != 1:
            continue
        for linear in constraint.alternatives[0].linear:
            fixed_factors = {name: value for name, value in linear.coefficients if name not in system.position}
            if linear.relation != "==" or linear.tolerance or not fixed_factors:
                continue
            terms = {name: value for name, value in linear.coefficients if name in system.position}
            constant = linear.bound
            for step in reversed(grid.plan.steps):
                factor = terms.pop(step.variable, None)
                if not factor:
                    continue
                if step.variable not in derived:
                    terms = {}
                    break
                constant -= factor * derived[step.variable].constant
                for name, value in derived[step.variable].coefficients:
                    terms[name] = terms.get(name, 0) + factor * value
            terms = {name: value for name, value in terms.items() if value}
            if len(terms) > 1:
                yield terms, constant, fixed_factors
