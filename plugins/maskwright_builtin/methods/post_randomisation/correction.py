"""Counts of the original estimated from counts after PRAM with a known matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def corrected_counts(
    counts: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unbiased estimate ``(P')^-1 T*`` of the counts before PRAM, and its covariance given the original.

    Where the matrix is invariant for all records that are counted, the counts themselves are unbiased too.

    Parameters
    ----------
    counts : ndarray of shape (c,)
        T*, records of each category after PRAM, in the order of the matrix.
    probabilities : ndarray of shape (c, c), float64
        P, as published: row k holds what category k becomes.

    Returns
    -------
    ndarray of shape (c,), float64
        Estimated counts; some may be negative.
    ndarray of shape (c, c), float64
        ``(P')^-1 [sum_k T_k (diag p_k - p_k p_k')] P^-1`` with the estimated counts T, negative ones as 0.

    Raises
    ------
    InputError
        When P has no inverse: what was published then says nothing of some counts.

    References
    ----------
    van den Hout, A. and van der Heijden, P. G. M. (2002): Randomized response, statistical disclosure control and
    misclassification: a review. International Statistical Review 70(2), 269-288.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright_builtin.methods.post_randomisation import corrected_counts
    >>> estimate, covariance = corrected_counts(np.array([62.0, 38.0]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> estimate.round(6).tolist(), np.sqrt(np.diag(covariance)).round(2).tolist()
    ([60.0, 40.0], [4.9, 4.9])
    """
    try:
        inverse = np.linalg.inv(probabilities)
    except np.linalg.LinAlgError as error:
        raise InputError("the matrix has no inverse: counts after PRAM do not determine those before") from error
    estimate = np.asarray(inverse.T @ np.asarray(counts, dtype=np.float64), dtype=np.float64)
    weights = np.maximum(estimate, 0.0)
    drawn = np.diag(weights @ probabilities) - probabilities.T @ (weights[:, None] * probabilities)
    return estimate, np.asarray(inverse.T @ drawn @ inverse, dtype=np.float64)
