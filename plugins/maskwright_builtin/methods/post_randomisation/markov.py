"""Markov matrices of post-randomisation, and the correction of counts with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class MarkovMatrix:
    """A matrix of probabilities.

    `probabilities`: rows sum to 1; shape (c, c).
    """

    probabilities: Floats

    def draw(self, codes: Integers, uniforms: Floats) -> Integers:
        """New code of each record, by its number in [0, 1); codes are 0..c-1."""
        from maskwright_builtin.methods.post_randomisation.drawing_kernel import draw_along_rows  # heavy

        last = self.probabilities.shape[1] - 1 - np.argmax(self.probabilities[:, ::-1] > 0.0, axis=1)
        return draw_along_rows(codes, np.cumsum(self.probabilities, axis=1), last, uniforms)


@dataclass(frozen=True, eq=False)
class Retaining:
    """Matrix ``retain I + (1 - retain) 1 f'``: a value stays, or is drawn anew from the frequencies f.

    Expected frequencies are f, because f' of it is f'; a category k stays with probability
    ``retain + (1 - retain) f_k``.

    `frequencies`: sum 1, all positive; shape (c,). `retain`: in [0, 1).
    """

    frequencies: Floats
    retain: float

    @property
    def probabilities(self) -> Floats:
        """The matrix; shape (c, c)."""
        return mixed(np.tile(self.frequencies, (len(self.frequencies), 1)), self.retain)

    def draw(self, codes: Integers, uniforms: Floats) -> Integers:
        """New code of each record, by its number in [0, 1); codes are 0..c-1."""
        from maskwright_builtin.methods.post_randomisation.drawing_kernel import draw_retaining  # heavy

        return draw_retaining(codes, np.cumsum(self.frequencies), self.retain, uniforms)


def mixed(matrix: Floats, retain: float) -> Floats:
    """Matrix ``retain I + (1 - retain) M``: invariant where M is."""
    return np.asarray(retain * np.eye(len(matrix)) + (1.0 - retain) * matrix)


def uniform_retaining(c: int, retain: float) -> Floats:
    """Matrix in which a category stays with probability `retain`, and becomes each other one with the same; c >= 2."""
    matrix = np.full((c, c), (1.0 - retain) / (c - 1))
    np.fill_diagonal(matrix, retain)
    return matrix


def made_invariant(matrix: Floats, frequencies: Floats) -> Floats:
    """Two-stage matrix PQ that keeps expected frequencies f, with q_lk = p_kl f_k / sum_m p_ml f_m.

    Gouweleeuw, J. M., Kooiman, P., Willenborg, L. C. R. J. and de Wolf, P.-P. (1998): Post randomisation for
    statistical disclosure control: theory and implementation. Journal of Official Statistics 14(4), 463-478, section 4.

    `matrix`: p, rows sum to 1; shape (c, c). `frequencies`: f, all positive, sum 1; shape (c,).
    """
    joint = matrix * frequencies[:, None]
    reached = joint.sum(axis=0)
    # A category that nothing becomes has no way back, and needs none.
    back = np.divide(joint.T, reached[:, None], out=np.zeros_like(joint), where=reached[:, None] > 0.0)
    return np.asarray(matrix @ back)


def direct(frequencies: Floats, theta: float) -> Floats:
    """Invariant matrix with ``theta f_min / ((c - 1) f_k)`` beside the diagonal: the rarest category moves most.

    Kooiman, P., Willenborg, L. and Gouweleeuw, J. (1997): PRAM: a method for disclosure limitation of microdata.
    Report, Statistics Netherlands.

    `frequencies`: f, all positive; c >= 2; shape (c,).
    """
    leaving = theta * frequencies.min() / frequencies
    matrix = np.repeat(leaving[:, None] / (len(frequencies) - 1), len(frequencies), axis=1)
    np.fill_diagonal(matrix, 1.0 - leaving)
    return matrix


def neighbours(places: Integers, reach: int, frequencies: Floats | None) -> Floats:
    """Matrix that moves a category by at most `reach` places, invariant where frequencies are given.

    Every category at most `reach` places away is proposed with the same probability. An invariant move from k to l is
    accepted with probability ``min(1, f_l / f_k)`` (Metropolis et al. 1953, Journal of Chemical Physics 21(6),
    1087-1092); two-stage matrices would move by twice the reach.

    `places`: of the categories in their order; shape (c,). `frequencies`: all positive; shape (c,).
    """
    apart = np.abs(places[:, None] - places[None, :])
    near = (apart <= reach) & (apart > 0)
    if frequencies is None:
        moves = near / np.maximum(near.sum(axis=1), 1)[:, None]
    else:
        moves = near / (2.0 * reach) * np.minimum(1.0, frequencies[None, :] / frequencies[:, None])
    return np.asarray(moves + np.diag(1.0 - moves.sum(axis=1)))


def lifted(matrix: Floats, classes: Integers, frequencies: Floats) -> Floats:
    """Matrix over cells from one over classes of cells: within a class, the cell is drawn from the frequencies.

    `matrix`: invariant for the frequencies of the classes; then so is the result for those of the cells; shape (d, d).
    `classes`: class of each cell, 0..d-1; shape (c,). `frequencies`: shape (c,).
    """
    share = frequencies / np.bincount(classes, weights=frequencies)[classes]
    return np.asarray(matrix[np.ix_(classes, classes)] * share[None, :])


def corrected_counts(counts: Floats, probabilities: Floats) -> tuple[Floats, Floats]:
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
