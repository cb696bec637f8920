"""Moments of a file (means, covariances, correlations, central moments) and distances between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from maskwright_builtin.measures.pairing import chosen, effective_number, present_values, spread

if TYPE_CHECKING:
    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Booleans, Floats


RECORDS_PER_BLOCK = 4096
"""Records per block: the block and its powers and products stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments ``mu_rs(i, j)`` of pairs of variables; on the diagonal those of one variable.

    `n`: records with both values; where they are weighted, their effective number; shape (p, p). `mean`: shape (p,).
    `second_first`, `second_other`: ``mu_20`` and ``mu_02`` over the records with both values; shape (p, p). `product`:
    ``mu_11``; the variance on the diagonal; shape (p, p). `squares`: ``mu_22``; ``mu_4`` on the diagonal. NaN unless
    requested, as the next three; shape (p, p). `cubes`: ``mu_31(i, j)``; its transpose is ``mu_13``; shape (p, p).
    `fourth_first`, `fourth_other`: ``mu_40`` and ``mu_04`` over the records with both values; shape (p, p).
    """

    n: Floats
    mean: Floats
    second_first: Floats
    second_other: Floats
    product: Floats
    squares: Floats
    cubes: Floats
    fourth_first: Floats
    fourth_other: Floats


def center_and_scale(original: Floats, masked: Floats) -> tuple[Floats, Floats]:
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
    values: Floats, center: Floats, scale: Floats, progress: Progress, *, to_fourth: bool, weights: Floats | None = None
) -> Moments:
    """Moments of ``(values - center) / scale``, in which each record counts once or by its weight.

    `values`: NaN where missing; pairs of variables use the records where both are present; shape (n, p). `center`,
    `scale`: near the mean and the standard deviation of `values`. The exact mean is removed in a second step, so
    `center` only decides how accurate the moments are; shape (p,). `weights`: all above 0; their scale does not matter;
    shape (n,).
    """
    p = values.shape[1]
    present = [~np.isnan(column) for column in values.T]
    complete = np.array([there.all() for there in present])
    mean = np.array([_mean(_scaled(values[:, j], center[j], scale[j]), chosen(weights, present[j])) for j in range(p)])
    # Columns with missing cells run through the pass as zeros; their pairs are computed one by one below.
    products, squares, cubes = _blocked(values, weights, center, scale, mean, complete, progress, to_fourth=to_fourth)
    empty = np.full((p, p), np.nan)
    second, fourth = np.diag(products), np.diag(squares)
    result = Moments(
        np.full((p, p), _number(len(values), weights)),
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
                _one_pair(result, values, weights, center, scale, i, j)
    progress(1.0)
    return result


def _scaled(column: Floats, center: float, scale: float) -> Floats:
    scaled: Floats = present_values(column) - center
    scaled /= scale
    return scaled


def _number(n: int, weights: Floats | None) -> float:
    return float(n) if weights is None else effective_number(weights)


def _average(terms: Floats, weights: Floats | None) -> float:
    """(Weighted) mean, NaN of nothing; summed as numpy sums, so that weights of 1 give it to the last bit."""
    if not terms.size:
        return float("nan")
    return float(terms.mean() if weights is None else (terms * weights).sum() / weights.sum())


def _mean(scaled: Floats, weights: Floats | None) -> float:
    """Mean of the values, exactly their value when all are equal, so that a constant has no variance at all."""
    if scaled.size and np.all(scaled == scaled[0]):
        return float(scaled[0])
    return _average(scaled, weights)


def _blocked(
    values: Floats,
    weights: Floats | None,
    center: Floats,
    scale: Floats,
    mean: Floats,
    complete: Booleans,
    progress: Progress,
    *,
    to_fourth: bool,
) -> tuple[Floats, Floats, Floats]:
    n, p = values.shape
    products, squares, cubes = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p))
    for start in range(0, n, RECORDS_PER_BLOCK):
        # Two subtractions: the mean added to the center would lose the digits that a large offset takes.
        block = (values[start : start + RECORDS_PER_BLOCK] - center) / scale - mean
        block[:, ~complete] = 0.0
        counted = block if weights is None else block * weights[start : start + RECORDS_PER_BLOCK, None]
        products += counted.T @ block
        if to_fourth:
            square = block * block
            squares += (counted * block).T @ square
            cubes += (counted * square).T @ block
        progress(min(1.0, (start + RECORDS_PER_BLOCK) / n))
    divisor = float(n) if weights is None else float(weights.sum())
    return products / divisor, squares / divisor, cubes / divisor


def _one_pair(
    result: Moments, values: Floats, weights: Floats | None, center: Floats, scale: Floats, i: int, j: int
) -> None:
    """Fill in the moments of one pair of variables from the records that have both."""
    both = ~(np.isnan(values[:, i]) | np.isnan(values[:, j]))
    weights = chosen(weights, both)
    result.n[i, j] = result.n[j, i] = _number(int(both.sum()), weights)
    first, other = _scaled(values[both, i], center[i], scale[i]), _scaled(values[both, j], center[j], scale[j])
    first -= _mean(first, weights)
    other -= _mean(other, weights)

    def average(terms: Floats) -> float:
        return _average(terms, weights)

    result.product[i, j] = result.product[j, i] = average(first * other)
    result.second_first[i, j] = result.second_other[j, i] = average(first**2)
    result.second_other[i, j] = result.second_first[j, i] = average(other**2)
    result.squares[i, j] = result.squares[j, i] = average(first**2 * other**2)
    result.cubes[i, j], result.cubes[j, i] = average(first**3 * other), average(first * other**3)
    result.fourth_first[i, j] = result.fourth_other[j, i] = average(first**4)
    result.fourth_other[i, j] = result.fourth_first[j, i] = average(other**4)


@dataclass(frozen=True, eq=False)
class FileStatistics:
    """First and second moments of the variables of a file.

    `mean`: over the records that have the variable; NaN when there is none; shape (p,). `covariance`: divisor n (or the
    sum of the weights), over the records that have both variables; variances on the diagonal; shape (p, p).
    `correlation`: NaN where a variable is constant among the records that have both; shape (p, p).
    """

    mean: Floats
    covariance: Floats
    correlation: Floats


def file_statistics(values: Floats, weights: Floats | None = None) -> FileStatistics:
    """First and second moments of the columns, accurate under large offsets.

    `values`: NaN where missing; shape (n, p). `weights`: not negative; their scale does not matter; shape (n,).
    """
    p = values.shape[1]
    center, scale = np.zeros(p), np.ones(p)
    constant = np.zeros(p, dtype=np.bool_)
    complete = True
    for j in range(p):
        column = values[:, j]
        total = float(column.sum())
        if np.isnan(total):
            column = column[~np.isnan(column)]
            complete = False
            total = float(column.sum())
        if not column.size:
            center[j] = np.nan
            continue
        # The extremes decide what is constant: rounding gives equal numbers a variance that is not exactly 0.
        low, high = float(column.min()), float(column.max())
        constant[j] = low == high
        center[j] = low if constant[j] else total / column.size
        scale[j] = (high - low) or 1.0
    weight, first, second, squares = _sums(values, np.nan_to_num(center), scale, weights, complete=complete)
    with np.errstate(invalid="ignore", divide="ignore"):
        near = first / weight
        covariance = second / weight - near * near.T
        own_second = squares / weight - near * near
        # Of a variable that hardly varies where both are present, the difference is rounding.
        own_second[own_second <= 1e-15 * squares / weight] = 0.0
        spreads = np.sqrt(own_second * own_second.T)
        correlation = np.where(spreads > 0.0, np.clip(covariance / spreads, -1.0, 1.0), np.nan)
        mean = center + scale * np.diag(near)
    covariance[constant, :] = np.where(np.isnan(covariance[constant, :]), np.nan, 0.0)
    covariance[:, constant] = np.where(np.isnan(covariance[:, constant]), np.nan, 0.0)
    correlation[constant, :] = correlation[:, constant] = np.nan
    varies = ~constant & ~np.isnan(np.diag(covariance))
    correlation[varies, varies] = 1.0
    return FileStatistics(mean, covariance * np.outer(scale, scale), correlation)


def _sums(
    values: Floats, center: Floats, scale: Floats, weights: Floats | None, *, complete: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """Sums over the records that have both variables: weights, first variable, products, squares of the first."""
    n, p = values.shape
    weight, first, second, squares = (np.zeros((p, p)) for _ in range(4))
    for start in range(0, n, RECORDS_PER_BLOCK):
        block = (values[start : start + RECORDS_PER_BLOCK] - center) / scale
        counts = np.ones(len(block)) if weights is None else weights[start : start + RECORDS_PER_BLOCK]
        if complete:
            weighted = block if weights is None else block * counts[:, None]
            weight += counts.sum()
            first += weighted.sum(axis=0)[:, None]
            second += weighted.T @ block
            continue
        present = ~np.isnan(block)
        block[~present] = 0.0
        here = present.astype(np.float64)
        weighted = block * counts[:, None]
        weight += (here * counts[:, None]).T @ here
        first += weighted.T @ here
        second += weighted.T @ block
        squares += (weighted * block).T @ here
    if complete:
        squares = np.repeat(np.diag(second)[:, None], p, axis=1)
    return weight, first, second, squares


Error = Literal["mean_square", "mean_absolute", "mean_variation"]
ERRORS: tuple[Error, ...] = get_args(Error)


def terms(original: Floats, masked: Floats, error: Error) -> Floats:
    """Term of each cell, whose mean is the error; NaN where a cell is missing.

    ``(a - a')**2``, ``abs(a - a')``, or ``abs(a - a') / abs(a)``. For the last, a = 0 changed to something else counts
    1, and unchanged 0.
    """
    result = original - masked
    if error == "mean_square":
        result *= result
        return result
    np.abs(result, out=result)
    if error == "mean_absolute":
        return result
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        result /= np.abs(original)
    zero = original == 0.0
    if zero.any():
        at = np.flatnonzero(zero) if original.ndim == 1 else np.nonzero(zero)
        others = masked[at]
        result[at] = np.where(np.isnan(others), np.nan, others != 0.0)
    return result
