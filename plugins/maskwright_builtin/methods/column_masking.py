"""Masking of one column at a time, over its present cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Block, Masked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright import ExactMoments, Limit
    from maskwright_builtin.numerics.arrays import Floats


def mask_columns(
    block: Block,
    change: Callable[[Floats, int], Floats],
    notes: Mapping[str, Any] | None = None,
    *,
    without_spread: Sequence[str] = (),
    limits: Sequence[Limit] = (),
) -> Masked:
    """Replace the values of each column; missing cells stay missing.

    `change`: ``(values, position) -> values``: gets the m >= 1 values present in the column at a position, shape (m,),
    which it may write to, and returns as many.
    """
    values = block.values.copy()
    changed = 0
    for position in range(block.p):
        present = ~block.missing[:, position]
        if present.any():
            old = values[present, position]
            new = change(old.copy(), position)
            changed += int(np.count_nonzero(new != old))
            values[present, position] = new
        block.progress((position + 1) / block.p)
    return Masked(
        values, block.missing.copy(), notes={"changed_cells": changed, **(notes or {})}, limits=tuple(limits),
        without_spread=tuple(without_spread),
    )  # fmt: skip


def spread(values: Floats) -> float:
    """Standard deviation (ddof = 1); 0 for one value, and where it is nothing but rounding noise."""
    if len(values) < 2:
        return 0.0
    deviations = values - values[0]
    # Squares of shares of the largest neither overflow nor vanish.
    largest = float(np.max(np.abs(deviations)))
    deviation = largest * float(np.std(deviations / largest, ddof=1)) if largest > 0.0 else 0.0
    return deviation if deviation > 1e-12 * float(np.max(np.abs(values))) else 0.0


def spread_of(moments: ExactMoments) -> float:
    """The same of all values of a file."""
    return float(spreads_of(moments)[0])


def spreads_of(moments: ExactMoments) -> Floats:
    """Standard deviations of several variables; shape (p,)."""
    if moments.n < 2:
        return np.zeros(moments.p)
    deviations = np.sqrt(np.maximum(np.diag(moments.covariance), 0.0))
    largest = np.maximum(np.abs(moments.low), np.abs(moments.high))
    return np.where(deviations > 1e-12 * largest, deviations, 0.0)
