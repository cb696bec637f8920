"""Quantiles of a file and how far sampling moves them, weighted or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.measures.common.weighting import effective_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING = 1e-12
"""Relative error of sums of weights: ranks that differ by less are the same rank."""


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of one column and how far sampling moves them.

    `values`: shape (q,). `half_window`: the h of the density estimate: range / 1000. `sd`: asymptotic standard
    deviation of each quantile; shape (q,).
    """

    values: NDArray[np.float64]
    half_window: float
    sd: NDArray[np.float64]


def quantiles_with_error(
    column: NDArray[np.float64],
    step: int = 5,
    window: float | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Quantiles:
    """Quantiles ``step, 2 step, ... < 100`` percent of a column with their asymptotic standard deviations.

    The quantile of order j percent is element ``floor((n - 1) j / 100)`` of the sorted values (0-based). Its variance
    is ``q (1 - q) n (2 h)**2 / count**2`` with `count` the values in the open interval of half width h = range / 1000
    around it.

    Weighted, with W the sum of the weights and n_e their effective number, it is the element whose weight covers the
    rank ``(1 - 1 / n_e) W j / 100``, and its variance ``q (1 - q) / n_e (2 h W / weight)**2`` with `weight` that of
    the values in the open interval. With equal weights both are the figures without.

    `column`: without missing values, in any order; shape (n,). `window`: the h in the variance, when it is not the
    column's own (see ``bandwidth: last-column`` of pil); the count always uses the column's own. `weights`: all above
    0; shape (n,).
    """
    shares = np.arange(step, 100, step) / 100.0
    if weights is None:
        ordered = np.sort(column)
        values = quantiles(ordered, step)
        inside, half = _inside(ordered, values)
        spread = relative_spread(ordered.size, inside[1] - inside[0], step)
    else:
        ordered, cumulative = _ordered(column, weights)
        place = _places(cumulative, weights, step)
        values = ordered[place]
        inside, half = _inside(ordered, values)
        least = cumulative[place + 1] - cumulative[place]
        share = np.maximum(cumulative[inside[1]] - cumulative[inside[0]], least) / cumulative[-1]
        spread = np.sqrt(shares * (1.0 - shares) / effective_number(weights)) / share
    return Quantiles(values, half, 2.0 * (half if window is None else window) * spread)


def quantiles(
    ordered: NDArray[np.float64], step: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Quantiles as `quantiles_with_error` defines them; without weights of values that are sorted already.

    `ordered`: without missing values; sorted, unless there are weights; shape (n,). `weights`: all above 0; shape (n,).
    """
    if weights is None:
        return ordered[ranks_of_quantiles(ordered.size, step)]
    ordered, cumulative = _ordered(ordered, weights)
    return ordered[_places(cumulative, weights, step)]


def ranks_of_quantiles(n: int, step: int) -> NDArray[np.int64]:
    """Place, 0-based, of each quantile among n sorted values."""
    return np.asarray((n - 1) * np.arange(step, 100, step) // 100, dtype=np.int64)


def relative_spread(n: int, inside: NDArray[np.int64], step: int) -> NDArray[np.float64]:
    """Asymptotic standard deviation of each quantile of n values, in widths of its window.

    `inside`: values in the window; shape (q,).
    """
    shares = np.arange(step, 100, step) / 100.0
    # A window narrower than the spacing of binary64 at the quantile would hold nothing, not even the quantile.
    spread: NDArray[np.float64] = np.sqrt(shares * (1.0 - shares) * n) / np.maximum(inside, 1)
    return spread


def _ordered(
    column: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sorted values, and the weight of those before each and of all."""
    order = np.argsort(column, kind="stable")
    return column[order], np.append(0.0, np.cumsum(weights[order]))


def _places(cumulative: NDArray[np.float64], weights: NDArray[np.float64], step: int) -> NDArray[np.int64]:
    ranks = (1.0 - 1.0 / effective_number(weights)) * cumulative[-1] * np.arange(step, 100, step) / 100.0
    slack = ROUNDING * cumulative[-1]
    return np.asarray(np.searchsorted(cumulative[:-1], ranks + slack, side="right") - 1, dtype=np.int64)


def _inside(
    ordered: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], float]:
    """Where the open interval around each value begins and ends, and its half width."""
    half = float(ordered[-1] - ordered[0]) / 1000.0
    begin = np.searchsorted(ordered, values - half, side="right")
    end = np.searchsorted(ordered, values + half, side="left")
    return (begin, end), half
