"""Rounding: how far a published number may be from the true one, and the tolerance that a relation of them needs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.edits.suggestions.model import Sample

NOISE = 5e-7
"""Relative error of numbers that are on no grid: those of single precision, or of programs that write seven digits."""

BINARY = 1e-12
"""Relative error of sums and products in binary64, with something to spare."""

MOST_DECIMALS = 6
"""Decimals beyond which a grid is none that people round to."""

ON_GRID = 0.95
"""Share of the numbers of a variable that are on its grid but for noise; others may be broken."""

COVERED = 0.99
"""Share of the records that obey a relation up to rounding that its tolerance covers, at least."""

DIGITS = 15
"""Digits that binary64 keeps of a number."""


class Numbers:
    """Numeric variables of the searched records with the rounding error that their cells may have.

    `values`: NaN where missing; shape (n, p). `halves`: half a unit of each variable's last decimal; shape (p,).
    `noise`: relative error of each variable, 0 where all numbers are on its grid; shape (p,).
    """

    def __init__(self, sample: Sample, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.values = sample.cells(names)
        found = [_grid(sample.data[name]) for name in names]
        self.halves = np.array([half for half, _ in found])
        self.noise = np.array([noise for _, noise in found])

    def errors(self, place: int, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """How far the numbers of one variable may be from the true ones."""
        values = self.values[:, place] if values is None else values
        return np.asarray(self.halves[place] + (self.noise[place] + BINARY) * np.abs(values))

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        """Some of the records."""
        taken = object.__new__(Numbers)
        taken.names, taken.values, taken.halves, taken.noise = self.names, self.values[rows], self.halves, self.noise
        return taken


def _grid(column: Column) -> tuple[float, float]:
    """Half a unit of the last decimal, and the relative noise beyond it."""
    present = column.values[~column.missing]
    places = column.variable.decimals
    largest = float(np.abs(present).max(initial=0.0))
    if places is not None and (places <= 1 or (places <= MOST_DECIMALS and largest * 10.0**places < 10.0**DIGITS)):
        return 0.5 * 10.0**-places, 0.0
    for fewer in range(MOST_DECIMALS + 1):
        off = np.abs(present - np.round(present, fewer))
        if np.mean(off <= NOISE * np.abs(present)) >= ON_GRID:
            return 0.5 * 10.0**-fewer, NOISE
    return 0.0, NOISE


def nice(value: float) -> Fraction:
    """The smallest of 1, 2, 5 times a power of ten that is not below a positive number."""
    power = Fraction(10) ** math.floor(math.log10(value))
    least = value * (1 - 1e-9)
    return next(step * power for step in (Fraction(1, 2), 1, 2, 5, 10, 20) if step * power >= least)


def tolerance_for(
    misses: NDArray[np.float64], bounds: NDArray[np.float64], sizes: NDArray[np.float64], least: float, share: float
) -> Fraction:
    """Nice tolerance that covers nearly all records that obey a relation up to rounding; 0 where it holds exactly.

    `misses`: by how much records miss it. `bounds`: by how much rounding can make them. `sizes`: the numbers compared,
    of which binary64 loses the last bits. `least`: half a unit of the coarsest grid. `share`: of the records that have
    to hold in the end, where so many obey.
    """
    lost = BINARY * np.abs(sizes)
    obey = misses <= bounds + lost
    within = np.sort(np.where(misses <= lost, 0.0, misses)[obey])
    if not len(within):
        return Fraction(0)
    needed = max(math.ceil(COVERED * len(within)), math.ceil(share * len(misses)))
    last = float(within[min(needed, len(within)) - 1])
    return nice(max(last, least)) if last else Fraction(0)
