"""What centroids have to satisfy: linear equalities in closed form, or any set that points can be projected on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Projection = Callable[["NDArray[np.float64]"], "tuple[NDArray[np.float64], NDArray[np.bool_]]"]
"""Points of shape (c, p) to their nearest points in the set, and which of them were found, shape (c,)."""

CONSISTENT = 1e-9
"""Relative error up to which dependent equalities count as one."""


def onto_equalities(
    matrix: NDArray[np.float64], bound: NDArray[np.float64], center: NDArray[np.float64], scale: NDArray[np.float64]
) -> Projection:
    """Projection on ``matrix @ v == bound`` in units of `scale`, for points given as ``(v - center) / scale``.

    With S = diag(1 / scale ** 2) it is v - S^-1 A' (A S^-1 A')^+ (A v - b): all equalities at once, because projecting
    on one after the other leaves the first ones violated. The pseudo-inverse admits dependent ones.

    `matrix`: shape (q, p). `bound`: shape (q,). `center`, `scale`: shape (p,). Returns ``points -> (projected, all
    True)``. Variables that are in no equality keep their values exactly.
    """
    matrix, bound = np.atleast_2d(np.asarray(matrix, dtype=np.float64)), np.atleast_1d(np.asarray(bound, np.float64))
    if matrix.shape != (len(bound), len(center)) or bound.ndim != 1:
        raise InputError(
            f"equalities need a matrix of shape (q, {len(center)}) and q bounds, not {matrix.shape} and {bound.shape}"
        )
    if not (np.isfinite(matrix).all() and np.isfinite(bound).all()):
        raise InputError("equalities must have finite coefficients and bounds")
    normals = matrix * scale
    length = np.sqrt(np.sum(normals**2, axis=1))
    size = np.where(length > 0, length, 1.0)
    normals = normals / size[:, None]
    # What is left of the bound after the centre is taken out carries the rounding errors of both.
    noise = CONSISTENT * (1 + (np.abs(bound) + np.abs(matrix) @ np.abs(center)) / size)
    rest = (bound - matrix @ center) / size
    inverse = np.linalg.pinv(normals, rcond=1e-12)
    inverse[~np.any(matrix != 0, axis=0)] = 0.0
    if np.any(np.abs(normals @ (inverse @ rest) - rest) > noise):
        raise InputError("the equalities contradict each other: no centroid satisfies all of them")

    def onto(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        # The second round takes the rounding error of the first away.
        for _ in range(2):
            points = points - (points @ normals.T - rest) @ inverse.T
        return points, np.ones(len(points), dtype=np.bool_)

    return onto


def onto_set(projector: Projection, center: NDArray[np.float64], scale: NDArray[np.float64]) -> Projection:
    """Carry a projection over from original values to points given as ``(v - center) / scale``.

    `projector`: projection of original values, shape (n, p). `center`, `scale`: shape (p,).
    """

    def onto(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        values = center + points * scale
        projected, found = projector(values)
        # A point that stays has to stay to the last bit.
        moved = (projected - center) / scale
        return np.where(projected == values, points, moved), found

    return onto


def everywhere(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """No constraint."""
    return points, np.ones(len(points), dtype=np.bool_)
