"""Fuzzy c-regression: c linear models at once, each record belonging to each of them to some degree."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.synthetic.c_regression_kernel import regress_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress

    Floats = NDArray[np.float64]

RECORDS_AT_ONCE = 32768
"""Fixed, so that sums do not depend on the number of threads."""

THREADS = 2

NEGLIGIBLE = 1e-12
"""Directions with less than this share of a model's largest weight have no slope."""


@dataclass(frozen=True, eq=False)
class CRegression:
    """Models of a fuzzy c-regression.

    Attributes
    ----------
    models : ndarray of shape (c, q, L)
        Coefficients on the design's columns.
    memberships : ndarray of shape (n, c)
        Of each record in each model; rows sum to 1.
    objective : ndarray of shape (iterations,)
        Before each update; never rises but for rounding.
    change : float
        Largest change of a membership in the last iteration.
    """

    models: Floats
    memberships: Floats
    objective: Floats
    change: float


def fuzzy_c_regression(
    design: Floats,
    targets: Floats,
    memberships: Floats,
    *,
    m: float = 1.5,
    tolerance: float = 1e-4,
    max_iterations: int = 30,
    progress: Progress | None = None,
) -> CRegression:
    """Fit c linear models and memberships in turn.

    Parameters
    ----------
    design : ndarray of shape (n, q), float64
        Columns of about equal lengths, orthogonal if possible: normal equations are solved, by eigenvalues.
    targets : ndarray of shape (n, L), float64
        One squared residual of a record is the sum over the L targets.
    memberships : ndarray of shape (n, c), float64
        To start from; overwritten.
    m : float
        Fuzziness, above 1. Memberships are ``1 / sum_j (E_i / E_j) ** (1 / (m - 1))`` for squared residuals E of at
        least 1e-100; models are least squares weighted by memberships to the power m.
    tolerance : float
        Stop when no membership changes by more.
    max_iterations : int
    progress : callable, optional

    References
    ----------
    Hathaway, R. J. and Bezdek, J. C. (1993): Switching regression models and fuzzy clustering. IEEE Transactions on
    Fuzzy Systems 1(3), 195-204.
    """
    weights = memberships**m
    gram = np.einsum("nc,na,nb->cab", weights, design, design, optimize=True)
    models = _solve(gram, np.einsum("nc,na,nl->cal", weights, design, targets, optimize=True))
    pieces = [slice(start, start + RECORDS_AT_ONCE) for start in range(0, len(design), RECORDS_AT_ONCE)]
    objective: list[float] = []
    change = np.inf
    with ThreadPoolExecutor(THREADS) as pool:
        for iteration in range(max_iterations):
            fixed = models

            def run(piece: slice, fixed: Floats = fixed) -> tuple[float, float, Floats, Floats]:
                gram, cross = np.zeros((len(fixed), *gram_shape)), np.zeros_like(fixed)
                found = regress_records(design[piece], targets[piece], fixed, m, memberships[piece], gram, cross)
                return (*found, gram, cross)

            gram_shape = gram.shape[1:]
            parts = list(pool.map(run, pieces))
            objective.append(float(sum(part[0] for part in parts)))
            change = max(part[1] for part in parts)
            if progress is not None:
                progress((iteration + 1) / max_iterations)
            if change < tolerance:
                break
            triangle = np.sum([part[2] for part in parts], axis=0)
            whole = triangle + np.tril(triangle, -1).transpose(0, 2, 1)
            models = _solve(whole, np.sum([part[3] for part in parts], axis=0))
    return CRegression(fixed, memberships, np.array(objective), float(change))


def _solve(gram: Floats, cross: Floats) -> Floats:
    """Least squares of smallest norm; directions that a model has no weight in get no slope."""
    return np.asarray(np.linalg.pinv(gram, rcond=NEGLIGIBLE, hermitian=True) @ cross)
