"""Round numbers near values of records, to be published instead of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats


FEWEST = 3
"""Records that have a value where it may be published as the end of something."""

FINEST = 5
"""Powers of ten below the coarsest step that are tried."""


def rounded_outwards(ends: Floats, values: Floats, decimals: int | None, *, up: bool) -> Floats:
    """Ends moved to the roundest number before the next value, where fewer than `FEWEST` records have them.

    Whoever lay inside an end still does, and so does whoever lay outside. An end next to which the grid has no free
    number stays.

    `ends`: values of records; shape (e,). `values`: of all records; shape (n,). `decimals`: of the published grid;
    None: there is none. Returns shape (e,).
    """
    if not up:
        return -rounded_outwards(-ends, -values, decimals, up=True)
    distinct, counts = np.unique(values, return_counts=True)
    spread = float(distinct[-1] - distinct[0]) if len(distinct) else 0.0
    if spread <= 0.0:
        return ends
    coarsest = math.floor(math.log10(spread)) - 1
    finest = coarsest - FINEST if decimals is None else max(coarsest - FINEST, -decimals)
    is_rare = counts[np.searchsorted(distinct, ends)] < FEWEST
    following = np.append(distinct, np.inf)[np.searchsorted(distinct, ends, side="right")]
    found = ends.copy()
    for power in range(finest, max(coarsest, finest) + 1):
        for step in (10**power, 2 * 10**power, 5 * 10**power):
            moved = np.round((np.floor(ends / step) + 1) * step, max(-power, 0))
            found = np.where(is_rare & (ends < moved) & (moved < following), moved, found)
    return np.asarray(found, dtype=np.float64)
