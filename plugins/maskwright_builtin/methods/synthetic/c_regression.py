"""Fuzzy c-regression: c linear models at once, each record belonging to each of them to some degree."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.synthetic.c_regression_kernel import regress_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats


RECORDS_AT_ONCE = 32768
"""Fixed, so that sums do not depend on the number of threads."""

THREADS = 2

NEGLIGIBLE = 1e-12
"""Directions with less than this share of a model's largest weight have no slope."""


@dataclass(frozen=True, eq=False)
class CRegression:
    """Models of a fuzzy c-regression.

    `models`: coefficients on the design's columns; shape (c, q, L). `memberships`: of each record in each model; rows
    sum to 1; shape (n, c). `objective`: before each update; never rises but for rounding; shape (iterations,).
    `change`: largest change of a membership in the last iteration.
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
    """Fit c linear models and memberships in turn, to the end."""
    states = regression_iterations(
        design, targets, memberships, m=m, tolerance=tolerance, max_iterations=max_iterations
    )
    found = next(states)
    for found in states:
        if progress is not None:
            progress(len(found.objective) / max_iterations)
    return found


def regression_iterations(
    design: Floats,
    targets: Floats,
    memberships: Floats,
    *,
    m: float = 1.5,
    tolerance: float = 1e-4,
    max_iterations: int = 30,
) -> Iterator[CRegression]:
    """Fit c linear models and memberships in turn.

    `design`: columns of about equal lengths, orthogonal if possible: normal equations are solved, by eigenvalues; shape
    (n, q). `targets`: one squared residual of a record is the sum over the L targets; shape (n, L). `memberships`: to
    start from; overwritten; shape (n, c). `m`: fuzziness, above 1. Memberships are ``1 / sum_j (E_i / E_j) ** (1 / (m -
    1))`` for squared residuals E of at least 1e-100; models are least squares weighted by memberships to the power m.
    `tolerance`: stop when no membership changes by more. `max_iterations`: at least 1. Returns models, and the
    memberships in them, which the next iteration overwrites.

    Hathaway, R. J. and Bezdek, J. C. (1993): Switching regression models and fuzzy clustering. IEEE Transactions on
    Fuzzy Systems 1(3), 195-204.
    """
    c, q, outputs = memberships.shape[1], design.shape[1], targets.shape[1]
    both = np.concatenate([design, targets], axis=1)
    first = np.stack([(design * (column**m)[:, None]).T @ both for column in memberships.T])
    del both
    models = _solve(first[:, :, :q], first[:, :, q:])
    lower = np.tril_indices(q)
    pieces = [slice(start, start + RECORDS_AT_ONCE) for start in range(0, len(design), RECORDS_AT_ONCE)]
    objective: list[float] = []

    def run(piece: slice, fixed: Floats) -> tuple[float, float, Floats]:
        sums = np.zeros((c, len(lower[0]) + q * outputs))
        return (*regress_records(design[piece], targets[piece], fixed, m, memberships[piece], sums), sums)

    with ThreadPoolExecutor(min(THREADS, len(pieces))) as pool:
        for iteration in range(max_iterations):
            fixed = np.ascontiguousarray(models.transpose(2, 1, 0))
            parts = list(pool.map(partial(run, fixed=fixed), pieces))
            objective.append(float(sum(part[0] for part in parts)))
            change = max(part[1] for part in parts)
            yield CRegression(models, memberships, np.array(objective), float(change))
            if change < tolerance or iteration + 1 == max_iterations:
                break
            sums = np.sum([part[2] for part in parts], axis=0)
            gram = np.empty((c, q, q))
            gram[:, lower[0], lower[1]] = gram[:, lower[1], lower[0]] = sums[:, : len(lower[0])]
            models = _solve(gram, sums[:, len(lower[0]) :].reshape(c, outputs, q).transpose(0, 2, 1))


def _solve(gram: Floats, cross: Floats) -> Floats:
    """Least squares of smallest norm; directions that a model has no weight in get no slope."""
    return np.asarray(np.linalg.pinv(gram, rcond=NEGLIGIBLE, hermitian=True) @ cross)
