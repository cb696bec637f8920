"""Linear fits that most records obey exactly, or up to rounding: sparse least absolute deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


SINGLE = 2**18
"""Multiplications up to which BLAS takes one thread: of small matrices, several cost far more than they gain."""


def gram(one: NDArray[np.float64], other: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """``one.T @ other`` of two tall matrices, by parts that are small enough for one thread."""
    other = one if other is None else other
    rows = max(SINGLE // max(one.shape[1] * other.shape[1], 1), 8)
    found = np.zeros((one.shape[1], other.shape[1]))
    for start in range(0, len(one), rows):
        found += one[start : start + rows].T @ other[start : start + rows]
    return found


ROUNDS = 60
PATIENCE = 8
"""Rounds in which the residuals that fit best have to become half as large; else there is nothing to find."""

SMALLEST = 1e-9
"""Below it a residual, in units of its record's largest term, counts as none."""

PENALTIES = (1e-4, 1e-8)
"""Weight of the size of the coefficients against the residuals: of many exact fits the sparsest one wins. The small one
prefers an exact fit to a sparser one that misses by a rounding."""


def sparse_fit(
    terms: NDArray[np.float64], target: NDArray[np.float64], penalty: float = PENALTIES[0]
) -> NDArray[np.float64]:
    """Coefficients with which most records fit exactly, few of them not zero.

    The sum of absolute residuals plus a small concave penalty on the coefficients, minimised by reweighted least
    squares (Daubechies, DeVore, Fornasier, Güntürk 2010). A sum of absolute residuals is minimal where most residuals
    are zero, and records that do not fit have no pull. Every record is divided by its largest term first, so that
    none of them has leverage.

    `terms`: columns of comparable size; shape (m, q). `target`: shape (m,). Returns shape (q,).
    """
    size = np.maximum(np.abs(terms).max(axis=1), np.abs(target))
    some = size > 0
    rows, aim = terms[some] / size[some, None], target[some] / size[some]
    width = rows.shape[1]
    found = np.zeros(width)
    if not len(rows):
        return found
    # Equal penalties would leave ties, and a tie ends in a mixture of both relations.
    uneven = penalty * len(rows) * (1 + 0.01 * np.arange(width) / width)
    weights, ridge = np.ones(len(rows)), uneven.copy()
    floors: list[float] = []
    for _ in range(ROUNDS):
        weighted = rows * weights[:, None]
        products = gram(weighted, rows)
        products[np.diag_indices(width)] += ridge
        before = found
        found = _solved(products, weighted.T @ aim)
        residuals = np.abs(aim - rows @ found)
        floor = max(SMALLEST, 0.1 * float(np.quantile(residuals, 0.4)))
        floors.append(floor)
        if len(floors) > PATIENCE and floor > 0.5 * floors[-PATIENCE]:
            break
        weights = 1 / np.maximum(residuals, floor)
        ridge = uneven / np.maximum(np.abs(found), 1e-6) ** 1.5
        if floor <= SMALLEST and np.abs(found - before).max() <= 1e-9:
            break
    return np.asarray(found, dtype=np.float64)


def _solved(products: NDArray[np.float64], aim: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solution of the weighted equations; the shortest one where two terms are the same but for rounding."""
    try:
        return np.asarray(np.linalg.solve(products, aim), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(products, aim, rcond=None)[0], dtype=np.float64)
