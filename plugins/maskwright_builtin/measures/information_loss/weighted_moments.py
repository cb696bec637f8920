"""Central moments of a weighted file, accurate under large offsets; pair by pair where cells are missing."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.information_loss.moments import RECORDS_AT_ONCE, Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress


def effective_number(weights: NDArray[np.float64]) -> float:
    """Kish's effective number of records, ``sum(w)**2 / sum(w**2)``: at most n, and n for equal weights.

    The variance of a weighted mean is that of a plain mean of so many records, when weights and values are unrelated.
    0 for no weight at all.

    References
    ----------
    Kish (1965), Survey Sampling, Wiley, section 11.7; Kish (1992), Weighting for unequal P_i, Journal of Official
    Statistics 8(2), 183-200.
    """
    squares = float(np.dot(weights, weights))
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def weighted_moments(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    progress: Progress,
    *,
    to_fourth: bool,
) -> Moments:
    """Moments of ``(values - center) / scale`` in which each record counts by its weight: the divisor is their sum.

    Parameters
    ----------
    values : ndarray of shape (n, p), float64
        NaN where missing; pairs of variables use the records where both are present.
    weights : ndarray of shape (n,), float64
        All above 0; their scale does not matter.
    center, scale : ndarray of shape (p,)
        As `moments`.
    progress : callable
    to_fourth : bool
        Whether moments above the second are wanted.

    Returns
    -------
    Moments
        With ``n`` the effective number of records that have both values.
    """
    p = values.shape[1]
    absent: NDArray[np.bool_] = np.isnan(values)
    complete = np.array([not absent[:, j].any() for j in range(p)])
    mean = np.zeros(p)
    for j in range(p):
        there = ~absent[:, j]
        mean[j] = _mean((values[there, j] - center[j]) / scale[j], weights[there])
    product, squares, cubes = (np.zeros((p, p)) for _ in range(3))
    for start in range(0, len(values), RECORDS_AT_ONCE):
        records = slice(start, start + RECORDS_AT_ONCE)
        # Two subtractions: the mean added to the center would lose the digits that a large offset takes.
        block = (values[records] - center) / scale - mean
        block[:, ~complete] = 0.0
        counted = block * weights[records, None]
        product += counted.T @ block
        if to_fourth:
            square = block * block
            squares += (counted * block).T @ square
            cubes += (counted * square).T @ block
        progress(min(1.0, (start + RECORDS_AT_ONCE) / len(values)))
    product, squares, cubes = (each / weights.sum() for each in (product, squares, cubes))
    empty = np.full((p, p), np.nan)
    second, fourth = (np.repeat(np.diag(each)[:, None], p, axis=1) for each in (product, squares))
    number = np.full((p, p), effective_number(weights))
    result = Moments(
        number, mean, second, second.T.copy(), product,
        squares if to_fourth else empty, cubes if to_fourth else empty, fourth, fourth.T.copy(),
    )  # fmt: skip
    for i, j in combinations_with_replacement(range(p), 2):
        if not (complete[i] and complete[j]):
            both = ~(absent[:, i] | absent[:, j])
            number[i, j] = number[j, i] = effective_number(weights[both])
            columns = [(values[both, k] - center[k]) / scale[k] for k in (i, j)]
            _one_pair(result, columns, weights[both], i, j)
    progress(1.0)
    return result


def _mean(scaled: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Weighted mean, exactly the value when all are equal, so that a constant has no variance at all.

    Summed as numpy sums a mean, so that weights of 1 give the plain mean to the last bit.
    """
    if not scaled.size:
        return float("nan")
    first = float(scaled[0])
    return first if np.all(scaled == first) else float((scaled * weights).sum() / weights.sum())


def _one_pair(
    result: Moments, columns: list[NDArray[np.float64]], weights: NDArray[np.float64], i: int, j: int
) -> None:
    """Fill in the moments of one pair of variables from the records that have both."""
    first, other = (column - _mean(column, weights) for column in columns)

    def average(terms: NDArray[np.float64]) -> float:
        return float((terms * weights).sum() / weights.sum()) if terms.size else float("nan")

    result.product[i, j] = result.product[j, i] = average(first * other)
    result.second_first[i, j] = result.second_other[j, i] = average(first**2)
    result.second_other[i, j] = result.second_first[j, i] = average(other**2)
    result.squares[i, j] = result.squares[j, i] = average(first**2 * other**2)
    result.cubes[i, j], result.cubes[j, i] = average(first**3 * other), average(first * other**3)
    result.fourth_first[i, j] = result.fourth_other[j, i] = average(first**4)
    result.fourth_other[i, j] = result.fourth_first[j, i] = average(other**4)
