"""Compiled pass of fuzzy c-regression over some records: residuals, memberships, weighted cross products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SMALLEST = 1e-100
"""Squared residuals below this count as this, so that a record on a model's line belongs to it, and not to 0 / 0."""


@njit(cache=True, nogil=True)
def regress_records(
    design: Floats,
    targets: Floats,
    models: Floats,
    m: float,
    memberships: Floats,
    gram: Floats,
    cross: Floats,
) -> tuple[float, float]:
    """Memberships of records in models, and the sums that the next models come from.

    Parameters
    ----------
    design : ndarray of shape (n, q)
    targets : ndarray of shape (n, L)
    models : ndarray of shape (c, q, L)
    m : float
        Fuzziness, above 1.
    memberships : ndarray of shape (n, c)
        Overwritten.
    gram : ndarray of shape (c, q, q)
        The lower triangles receive the sums of ``u ** m z z'``.
    cross : ndarray of shape (c, q, L)
        Receives the sums of ``u ** m z y'``.

    Returns
    -------
    objective : float
        Sum of ``u ** m`` times squared residuals.
    change : float
        Largest change of a membership.
    """
    n, q = design.shape
    c, outputs = models.shape[0], targets.shape[1]
    errors = np.empty(c)
    power = 1.0 / (m - 1.0)
    half = m == 1.5
    objective = change = 0.0
    for row in range(n):
        smallest = np.inf
        for i in range(c):
            total = 0.0
            for output in range(outputs):
                value = targets[row, output]
                for a in range(q):
                    value -= design[row, a] * models[i, a, output]
                total += value * value
            errors[i] = max(total, SMALLEST)
            smallest = min(smallest, errors[i])
        total = 0.0
        for i in range(c):
            ratio = smallest / errors[i]
            total += ratio * ratio if half else math.pow(ratio, power)
        for i in range(c):
            ratio = smallest / errors[i]
            u = (ratio * ratio if half else math.pow(ratio, power)) / total
            change = max(change, abs(u - memberships[row, i]))
            memberships[row, i] = u
            weight = u * math.sqrt(u) if half else math.pow(u, m)
            objective += weight * errors[i]
            for a in range(q):
                share = weight * design[row, a]
                for b in range(a + 1):
                    gram[i, a, b] += share * design[row, b]
                for output in range(outputs):
                    cross[i, a, output] += share * targets[row, output]
    return objective, change
