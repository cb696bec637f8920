"""Central moments of a file, accurate under large offsets, in one blocked pass; or pair by pair when cells are missing.

All moments have divisor n and are those of columns that the caller has scaled to order 1, so that fourth moments
neither overflow nor vanish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.pairing import present_values, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress

RECORDS_AT_ONCE = 4096
"""Records per block: the block and its powers stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments ``mu_rs(i, j)`` of pairs of variables; on the diagonal those of one variable.

    Attributes
    ----------
    n : ndarray of shape (p, p), float64
        Records with both values; where they are weighted, their effective number.
    mean : ndarray of shape (p,)
    second_first, second_other : ndarray of shape (p, p)
        ``mu_20`` and ``mu_02`` over the records with both values.
    product : ndarray of shape (p, p)
        ``mu_11``; the variance on the diagonal.
    squares : ndarray of shape (p, p)
        ``mu_22``; ``mu_4`` on the diagonal. NaN unless asked for, as the next three.
    cubes : ndarray of shape (p, p)
        ``mu_31(i, j)``; its transpose is ``mu_13``.
    fourth_first, fourth_other : ndarray of shape (p, p)
        ``mu_40`` and ``mu_04`` over the records with both values.
    """

    n: NDArray[np.float64]
    mean: NDArray[np.float64]
    second_first: NDArray[np.float64]
    second_other: NDArray[np.float64]
    product: NDArray[np.float64]
    squares: NDArray[np.float64]
    cubes: NDArray[np.float64]
    fourth_first: NDArray[np.float64]
    fourth_other: NDArray[np.float64]


def center_and_scale(
    original: NDArray[np.float64], masked: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each original variable; of a constant, its value and how far masking moved it."""
    center, scale = np.zeros(original.shape[1]), np.ones(original.shape[1])
    for j in range(original.shape[1]):
        present = present_values(original[:, j])
        scale[j] = spread(present, ddof=0)
        center[j] = present.mean()
        if scale[j] == 0.0:
            center[j] = present[0]
            scale[j] = np.abs(present_values(masked[:, j]) - center[j]).max() or 1.0
    return center, scale


def moments(
    values: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    progress: Progress,
    *,
    to_fourth: bool,
) -> Moments:
    """Moments of ``(values - center) / scale``.

    Parameters
    ----------
    values : ndarray of shape (n, p), float64
        NaN where missing; pairs of variables use the records where both are present.
    center, scale : ndarray of shape (p,)
        Near the mean and the standard deviation of `values`. The exact mean is removed in a second step, so `center`
        only decides how accurate the moments are.
    progress : callable
    to_fourth : bool
        Whether moments above the second are wanted.
    """
    p = values.shape[1]
    complete = ~np.array([np.isnan(values[:, j]).any() for j in range(p)])
    mean = np.array([_mean(_scaled(values[:, j], center[j], scale[j])) for j in range(p)])
    # Columns with missing cells run through the pass as zeros; their pairs are computed one by one below.
    products, squares, cubes = _blocked(values, center, scale, mean, complete, progress, to_fourth=to_fourth)
    empty = np.full((p, p), np.nan)
    second, fourth = np.diag(products), np.diag(squares)
    result = Moments(
        np.full((p, p), float(len(values))),
        mean,
        np.broadcast_to(second[:, None], (p, p)).copy(),
        np.broadcast_to(second[None, :], (p, p)).copy(),
        products,
        squares if to_fourth else empty,
        cubes if to_fourth else empty,
        np.broadcast_to(fourth[:, None], (p, p)).copy(),
        np.broadcast_to(fourth[None, :], (p, p)).copy(),
    )
    for i in range(p):
        for j in range(i, p):
            if not (complete[i] and complete[j]):
                _one_pair(result, values, center, scale, i, j)
    progress(1.0)
    return result


def _scaled(column: NDArray[np.float64], center: float, scale: float) -> NDArray[np.float64]:
    scaled: NDArray[np.float64] = present_values(column) - center
    scaled /= scale
    return scaled


def _mean(scaled: NDArray[np.float64]) -> float:
    """Mean of the values, exactly their value when all are equal, so that a constant has no variance at all."""
    if not scaled.size:
        return float("nan")
    first = float(scaled[0])
    return first if np.all(scaled == first) else float(scaled.mean())


def _blocked(
    values: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    mean: NDArray[np.float64],
    complete: NDArray[np.bool_],
    progress: Progress,
    *,
    to_fourth: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    n, p = values.shape
    products, squares, cubes = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p))
    for start in range(0, n, RECORDS_AT_ONCE):
        # Two subtractions: the mean added to the center would lose the digits that a large offset takes.
        block = (values[start : start + RECORDS_AT_ONCE] - center) / scale - mean
        block[:, ~complete] = 0.0
        products += block.T @ block
        if to_fourth:
            square = block * block
            squares += square.T @ square
            cubes += (square * block).T @ block
        progress(min(1.0, (start + RECORDS_AT_ONCE) / n))
    return products / n, squares / n, cubes / n


def _one_pair(
    result: Moments,
    values: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    i: int,
    j: int,
) -> None:
    """Fill in the moments of one pair of variables from the records that have both."""
    both = ~(np.isnan(values[:, i]) | np.isnan(values[:, j]))
    n = int(both.sum())
    result.n[i, j] = result.n[j, i] = n
    first, other = _scaled(values[both, i], center[i], scale[i]), _scaled(values[both, j], center[j], scale[j])
    first -= _mean(first)
    other -= _mean(other)

    def average(terms: NDArray[np.float64]) -> float:
        return float(terms.mean()) if n else float("nan")

    result.product[i, j] = result.product[j, i] = average(first * other)
    result.second_first[i, j] = result.second_other[j, i] = average(first**2)
    result.second_other[i, j] = result.second_first[j, i] = average(other**2)
    result.squares[i, j] = result.squares[j, i] = average(first**2 * other**2)
    result.cubes[i, j], result.cubes[j, i] = average(first**3 * other), average(first * other**3)
    result.fourth_first[i, j] = result.fourth_other[j, i] = average(first**4)
    result.fourth_other[i, j] = result.fourth_first[j, i] = average(other**4)
