"""Variables that are computed from what members and other variables of their level say, exactly on the grid."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.planning.levels.across import DerivedVariable

MOST_UNITS = 2**53
"""Whole units of a grid up to which a binary64 number holds each."""


def with_derived(data: Dataset, derived: Sequence[DerivedVariable]) -> Dataset:
    """Copy in which derived variables are computed from the others.

    `data`: of the upper level, with the computed columns that they read. `derived`: in the order in which they are
    computed. Returns a derived cell is missing where one that it is computed from is, and where it was.
    """
    for each in derived:
        data = data.with_columns({each.variable: _computed(data, each)})
    return data


def _computed(data: Dataset, derived: DerivedVariable) -> Column:
    column = data[derived.variable]
    missing = column.missing.copy()
    for name, _ in derived.terms:
        missing |= data[name].missing
    values = _in_units(data, derived, column.variable.decimals)
    if values is None:
        values = np.full(len(data), float(derived.constant))
        for name, factor in derived.terms:
            values = values + float(factor) * data[name].values
    return column.changed(np.where(missing, np.nan, values), missing)


def _in_units(data: Dataset, derived: DerivedVariable, decimals: int | None) -> NDArray[np.float64] | None:
    """Values from whole units of the grids; None where a variable has no grid, or the factors leave that of the sum."""
    if decimals is None:
        return None
    scale = Fraction(10) ** decimals
    if (derived.constant * scale).denominator != 1:
        return None
    units = np.full(len(data), int(derived.constant * scale), dtype=np.int64)
    for name, factor in derived.terms:
        places = data[name].variable.decimals
        if places is None:
            return None
        step = factor * scale / Fraction(10) ** places
        if step.denominator != 1:
            return None
        whole = np.rint(np.nan_to_num(data[name].values) * 10.0**places)
        units += int(step) * whole.astype(np.int64)
    return np.asarray(units / float(scale))
