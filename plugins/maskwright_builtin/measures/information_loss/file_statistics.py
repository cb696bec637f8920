"""Means, covariances and correlations of one file, weighted or not, with or without missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORDS_AT_ONCE = 4096
"""Records per block: the block and its products stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class FileStatistics:
    """First and second moments of the variables of a file.

    `mean`: over the records that have the variable; NaN when there is none; shape (p,). `covariance`: divisor n (or the
    sum of the weights), over the records that have both variables; variances on the diagonal; shape (p, p).
    `correlation`: NaN where a variable is constant among the records that have both; shape (p, p).
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    correlation: NDArray[np.float64]


def file_statistics(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> FileStatistics:
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
    values: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    *,
    complete: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the records that have both variables: weights, first variable, products, squares of the first."""
    n, p = values.shape
    weight, first, second, squares = (np.zeros((p, p)) for _ in range(4))
    for start in range(0, n, RECORDS_AT_ONCE):
        block = (values[start : start + RECORDS_AT_ONCE] - center) / scale
        counts = np.ones(len(block)) if weights is None else weights[start : start + RECORDS_AT_ONCE]
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
