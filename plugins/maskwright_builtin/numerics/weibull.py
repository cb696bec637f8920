"""The Weibull distribution that fits positive values best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats

STEPS = 100


def weibull_shape(logarithms: Floats, mean: float, sd: float, weight: Floats | float) -> float:
    """Shape of greatest likelihood, by Newton's steps from the one that matches the spread of the logarithms.

    `logarithms`: of the values; at least two different ones; shape (m,). `weight`: of each value; 1 is as good as any
    other number where all weigh the same; shape (m,).
    """
    offsets = logarithms - logarithms.max()
    shape = float(np.pi / (np.sqrt(6.0) * sd))
    for _ in range(STEPS):
        # Powers of values relative to the largest: they underflow harmlessly instead of overflowing.
        power = weight * np.exp(shape * offsets)
        ratio = float(power @ logarithms / power.sum())
        slope = float(power @ logarithms**2 / power.sum()) - ratio**2 + 1.0 / shape**2
        change = (ratio - 1.0 / shape - mean) / slope
        shape = max(shape - change, shape / 10.0)
        if abs(change) <= 1e-12 * shape:
            break
    return shape
