"""Both files as numbers whose differences are distances: on a grid where there is one, without missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.common.pairing import present_values, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Comparison
    from maskwright_builtin.measures.common.pairing import Pairs

MISSING_RULE = "for distances a missing cell stands at the original file's mean of its variable"


@dataclass(frozen=True, eq=False)
class Comparable:
    """Columns of both files to take distances on.

    `original`, `masked`: without missing cells; Fortran order; shape (n, d) and (m, d). `weight`: factor of each
    difference; 0 for a variable that is constant in the original file; shape (d,).
    """

    original: NDArray[np.float64]
    masked: NDArray[np.float64]
    weight: NDArray[np.float64]
    constant: list[str]


def comparable_values(comparison: Comparison, pairs: Pairs, used: Sequence[int], *, own: bool = False) -> Comparable:
    """The `used` variables of both files, to be compared by the original's standard deviation (divisor n - 1).

    With `own`, each file is standardised by its own mean and standard deviation. A missing cell stands at the mean of
    its variable in the original file. A variable that is constant in the original file tells no records apart.

    `pairs`: of n original and m masked records, with p variables. `used`: positions of variables among the p. `own`:
    whether each file is standardised by itself.
    """
    original = np.empty((len(pairs.original), len(used)), order="F")
    masked = np.empty((len(pairs.masked), len(used)), order="F")
    weight = np.zeros(len(used))
    for j, position in enumerate(used):
        name = pairs.names[position]
        decimals = [file[name].variable.decimals for file in (comparison.original, comparison.masked)]
        old, new = _in_grid_units(pairs.original[:, position], pairs.masked[:, position], decimals)
        deviation = spread(old, ddof=1)
        center = float(present_values(old).mean()) if deviation else 0.0
        if deviation and own:
            new_values = present_values(new)
            new_center = float(new_values.mean()) if new_values.size else 0.0
            old, new = (old - center) / deviation, (new - new_center) / (spread(new, ddof=1) or 1.0)
            deviation, center = 1.0, 0.0
        original[:, j] = np.where(np.isnan(old), center, old)
        masked[:, j] = np.where(np.isnan(new), center, new)
        weight[j] = 1.0 / deviation if deviation else 0.0
    constant = [pairs.names[j] for j, factor in zip(used, weight, strict=True) if factor == 0.0]
    return Comparable(original, masked, weight, constant)


def _in_grid_units(
    old: NDArray[np.float64], new: NDArray[np.float64], decimals: list[int | None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both columns as whole numbers of the finer declared grid, if they lie on it; else as they are.

    Differences of whole numbers are exact: in binary64 0.3 - 0.2 is not 0.4 - 0.3, and a tie would be lost.
    """
    factor = grid_units(old, new, decimals)
    return (old, new) if factor is None or factor == 1.0 else (np.rint(old * factor), np.rint(new * factor))


def grid_units(old: NDArray[np.float64], new: NDArray[np.float64], decimals: list[int | None]) -> float | None:
    """What makes both columns whole numbers of the finer declared grid; None where they do not lie on it.

    `old`, `new`: NaN where missing; shape (n,) and (m,).
    """
    places = [number for number in decimals if number is not None]
    if len(places) < len(decimals):
        return None
    factor = 10.0 ** max(places)
    if factor == 1.0:
        return factor
    for near in (old * factor, new * factor):
        exact = np.rint(near)
        if ((np.abs(exact - near) > 1e-6) | (np.abs(exact) >= 2.0**53)).any():
            return None
    return factor
