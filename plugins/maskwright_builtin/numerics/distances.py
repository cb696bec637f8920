"""Squared Euclidean distance, compiled into the kernels that compare records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.numerics.compilation import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inlined
def squared_distance(points: NDArray[np.float64], record: int, point: NDArray[np.float64]) -> float:
    """Squared distance of a record from a point, summed in column order, without fused multiply-add.

    `points`: shape (n, p). `point`: shape (p,).
    """
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[record, j] - point[j]
        total += difference * difference
    return total
