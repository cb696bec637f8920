"""Controlled rounding: parts of a sum that stands, rounded so that they add up to it.

Each part is rounded down, and what is then missing is given, one unit each, to the parts that lost most. The exact
parts add up to the sum and the sum lies on the grid, so that this always comes out even, and no part moves a full unit.
Parts on a coarser grid than others, or with a factor, are rounded plainly first; what that takes off the sum goes to
the largest of the others.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.adjusting.derivation import LinearDerivation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.masking.adjusting.constraint_system import ConstraintSystem
    from maskwright.masking.adjusting.rounding import Grid

_NEARLY = 1e-6
"""Share of a unit that binary64 may be off a grid point."""


def rounded_onto_sums(system: ConstraintSystem, grid: Grid, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows on the grid, parts of sums that do not move rounded so that they add up; dependents computed.

    `points`: all rows, on every edit; shape (r, q). Returns a row for which a sum does not come out even is rounded
    plainly; shape (r, q).
    """
    index = np.arange(len(points))
    units = grid.to_units(points)
    exact = dict(zip(grid.names, points.T, strict=True))
    done: set[str] = set()
    for terms, constant, beside in _sums(system, grid):
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
        for name, factor in beside.items():
            wanted = wanted - float(factor) * system.targets.companion_numbers(name, index) * unit
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


def _with_gap(cells: NDArray[np.float64], wanted: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """Cells of which the largest takes up what is missing to `wanted`, up to `most` units."""
    rows, largest = np.arange(len(cells)), np.argmax(np.nan_to_num(np.abs(cells)), axis=1)
    gap = wanted - cells.sum(axis=1)
    fits = (np.abs(gap) <= most + _NEARLY) & (np.abs(gap) <= np.abs(cells[rows, largest]))
    changed = cells.copy()
    changed[rows, largest] += np.where(fits, gap, 0.0)
    return changed


def _distributed(cells: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
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
            beside = {name: value for name, value in linear.coefficients if name not in system.position}
            if linear.relation != "==" or not beside:
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
                yield terms, constant, beside
