"""The first factor of a table after varimax rotation, as common statistical packages compute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROTATIONS = 500
"""Steps of the varimax rotation at most; some twenty are usual."""


def first_rotated_factor(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores on the first rotated factor.

    Principal-component factors of the correlation matrix with eigenvalue above 1 (at least one), varimax rotation with
    Kaiser's normalisation of the rows, regression scores ``Z R^-1 A`` with the rotated loadings A; the factor with the
    largest sum of squared loadings, pointing towards larger values of the variables in the sum.

    `points`: constant columns do not take part; shape (n, q). Returns shape (n,).

    Kaiser, H. F. (1958): The varimax criterion for analytic rotation in factor analysis. Psychometrika 23(3), 187-200.
    """
    deviations = points - points.mean(axis=0)
    sizes = np.sqrt(np.einsum("ij,ij->j", deviations, deviations))
    deviations = deviations[:, sizes > 0.0] / sizes[sizes > 0.0]
    if deviations.shape[1] == 0:
        return np.zeros(len(points))
    correlation = deviations.T @ deviations
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > 1.0 + 1e-12
    kept[-1] = True
    loadings = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    communalities = np.sqrt((loadings**2).sum(axis=1))[:, None]
    rotated = _varimax(loadings / communalities) * communalities
    factor = rotated[:, np.argmax((rotated**2).sum(axis=0))]
    weights = np.linalg.pinv(correlation, rcond=1e-10, hermitian=True) @ factor
    return np.asarray(deviations @ weights) * (-1.0 if factor.sum() < 0.0 else 1.0)


def _varimax(loadings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate to the largest variance of squared loadings, by singular value decompositions."""
    rotation = np.eye(loadings.shape[1])
    reached = 0.0
    for _ in range(ROTATIONS):
        turned = loadings @ rotation
        left, singular, right = np.linalg.svd(loadings.T @ (turned**3 - turned * (turned**2).mean(axis=0)))
        rotation = left @ right
        if singular.sum() <= reached * (1.0 + 1e-14):
            break
        reached = float(singular.sum())
    return np.asarray(loadings @ rotation)
