"""Compiled pass of fuzzy c-regression over some records: residuals, memberships, weighted cross products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats


SMALLEST = 1e-100
"""Squared residuals below this count as this, so that a record on a model's line belongs to it, and not to 0 / 0."""


@compiled
def regress_records(
    design: Floats, targets: Floats, models: Floats, m: float, memberships: Floats, sums: Floats
) -> tuple[float, float]:
    """Memberships of records in models, and the sums that the next models come from.

    `design`: shape (n, q). `targets`: shape (n, L). `models`: the last axis runs over models, so that the residuals of
    a record in all of them are one vector; shape (L, q, c). `memberships`: overwritten; shape (n, c). `sums`: receives
    the sums of ``u ** m z_a z_b`` for b <= a, then those of ``u ** m z_a y_l``; shape (c, q (q + 1).
    """
    n, q = design.shape
    outputs, c = models.shape[0], models.shape[2]
    width = sums.shape[1]
    errors, residuals, products = np.empty(c), np.empty(c), np.empty(width)
    power = 1.0 / (m - 1.0)
    half = m == 1.5
    objective = change = 0.0
    for row in range(n):
        for i in range(c):
            errors[i] = 0.0
        for output in range(outputs):
            for i in range(c):
                residuals[i] = targets[row, output]
            for a in range(q):
                z = design[row, a]
                for i in range(c):
                    residuals[i] -= z * models[output, a, i]
            for i in range(c):
                errors[i] += residuals[i] * residuals[i]
        smallest = np.inf
        for i in range(c):
            errors[i] = max(errors[i], SMALLEST)
            smallest = min(smallest, errors[i])
        total = 0.0
        for i in range(c):
            ratio = smallest / errors[i]
            residuals[i] = ratio * ratio if half else math.pow(ratio, power)
            total += residuals[i]
        place = 0
        for a in range(q):
            for b in range(a + 1):
                products[place] = design[row, a] * design[row, b]
                place += 1
        for output in range(outputs):
            for a in range(q):
                products[place] = design[row, a] * targets[row, output]
                place += 1
        for i in range(c):
            u = residuals[i] / total
            change = max(change, abs(u - memberships[row, i]))
            memberships[row, i] = u
            weight = u * math.sqrt(u) if half else math.pow(u, m)
            objective += weight * errors[i]
            for place in range(width):
                sums[i, place] += weight * products[place]
    return objective, change
