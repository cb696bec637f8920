"""Memberships of all records in all clusters at once, for whoever looks at them; the clustering never keeps any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def memberships_in(
    values: NDArray[np.float64],
    centroids: NDArray[np.float64],
    *,
    m: float | None = None,
    lambda_: float | None = None,
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return how far each record belongs to each centroid.

    `values`: shape (n, p). `centroids`: shape (c, p). Returns rows sum to 1; shape (n, c).
    """
    away = (values[:, None, :] - centroids) / scale
    distances = np.einsum("ncp,ncp->nc", away, away)
    if m is not None:
        powers = -np.log(np.maximum(distances, 1e-300)) / (m - 1.0)
    else:
        assert lambda_ is not None
        powers = -lambda_ * distances
    shares = np.exp(powers - powers.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
