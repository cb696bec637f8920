"""Markov matrices of post-randomisation: row k holds the probabilities of what category k becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def invariant_retaining(frequencies: NDArray[np.float64], retain: float) -> NDArray[np.float64]:
    """Matrix ``retain I + (1 - retain) 1 f'``: a value stays, or is drawn anew from the frequencies f.

    Expected frequencies are f, because f' of it is f'; a category k stays with probability
    ``retain + (1 - retain) f_k``.

    Parameters
    ----------
    frequencies : ndarray of shape (c,), float64
        Sum 1.
    retain : float
        In [0, 1].
    """
    c = len(frequencies)
    return np.asarray(retain * np.eye(c) + (1.0 - retain) * np.ones((c, 1)) * frequencies)


def uniform_retaining(c: int, retain: float) -> NDArray[np.float64]:
    """Matrix in which a category stays with probability `retain`, and becomes each other one with the same; c >= 2."""
    matrix = np.full((c, c), (1.0 - retain) / (c - 1))
    np.fill_diagonal(matrix, retain)
    return matrix


def made_invariant(matrix: NDArray[np.float64], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two-stage matrix PQ that keeps expected frequencies f, with q_lk = p_kl f_k / sum_m p_ml f_m.

    Gouweleeuw, J. M., Kooiman, P., Willenborg, L. C. R. J. and de Wolf, P.-P. (1998): Post randomisation for
    statistical disclosure control: theory and implementation. Journal of Official Statistics 14(4), 463-478, section 4.

    Parameters
    ----------
    matrix : ndarray of shape (c, c), float64
        P, rows sum to 1.
    frequencies : ndarray of shape (c,), float64
        f, all positive, sum 1.
    """
    joint = matrix * frequencies[:, None]
    reached = joint.sum(axis=0)
    # A category that nothing becomes has no way back, and needs none.
    back = np.divide(joint.T, reached[:, None], out=np.zeros_like(joint), where=reached[:, None] > 0.0)
    return np.asarray(matrix @ back)


def draw(codes: NDArray[np.int64], matrix: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """New code of each record.

    Parameters
    ----------
    codes : ndarray of shape (m,), int64
        0..c-1.
    matrix : ndarray of shape (c, c), float64
    rng : numpy.random.Generator
    """
    uniforms = rng.random(len(codes))
    drawn = np.empty_like(codes)
    for code, row in enumerate(matrix):
        here = codes == code
        # The last probability that is not 0 takes what rounding leaves over.
        last = int(np.flatnonzero(row)[-1])
        drawn[here] = np.minimum(np.searchsorted(np.cumsum(row), uniforms[here], side="right"), last)
    return drawn
