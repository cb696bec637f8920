"""Median lines through groups of points, which single points do not move (Theil 1950)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maskwright.foundation.arrays import Floats, Integers


def median_lines(x: Floats, y: Floats, groups: Integers) -> tuple[Floats, Floats, Integers]:
    """Slopes and constants of median lines through the columns of tables in each group (Theil), and their number.

    `x`: NaN where missing; shape (m, k). `y`: shape (m, 1). Returns arrays of shape (m, k) twice, and (k,).
    """
    column, row = np.nonzero((np.isfinite(x) & np.isfinite(y)).T)
    found, codes = np.unique(groups, return_inverse=True)
    key, counted = column * len(found) + codes[row], x.shape[1] * len(found)
    order = np.lexsort((x[row, column], key))
    key, across, up = key[order], x[row, column][order], y[row, 0][order]
    sizes = np.bincount(key, minlength=counted)
    half = sizes[key] // 2
    first = np.flatnonzero(np.arange(len(key)) - (np.cumsum(sizes) - sizes)[key] < half)
    run, rise = (each[first + half[first]] - each[first] for each in (across, up))
    slope = np.nan_to_num(_medians(rise[run > 0] / run[run > 0], key[first][run > 0], counted))
    constant = _medians(up - slope[key] * across, key, counted)
    lines = np.count_nonzero(sizes.reshape(x.shape[1], len(found)), axis=1)
    of_rows = (np.arange(x.shape[1]) * len(found))[None, :] + codes[:, None]
    return slope[of_rows], constant[of_rows], lines


def _medians(values: Floats, groups: Integers, counted: int) -> Floats:
    """The lower median of each group; NaN of none; shape (counted,)."""
    sizes, ordered = np.bincount(groups, minlength=counted), values[np.lexsort((values, groups))]
    found = np.full(counted, np.nan)
    found[sizes > 0] = ordered[(np.cumsum(sizes) - sizes + (sizes - 1) // 2)[sizes > 0]]
    return found
