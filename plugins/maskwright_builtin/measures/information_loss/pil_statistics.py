"""Statistics of the probabilistic information loss: quantiles, and the loss of changed statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Measurement
from maskwright_builtin.measures.pairing import Pairs, Weights, effective_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.information_loss.moments import Moments
    from maskwright_builtin.numerics.arrays import Floats, Integers


ROUNDING_OF_QUANTILES = 1e-12
"""Relative error of sums of weights: ranks that differ by less are the same rank."""


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of one column and how far sampling moves them.

    `values`: shape (q,). `half_window`: the h of the density estimate: range / 1000. `sd`: asymptotic standard
    deviation of each quantile; shape (q,).
    """

    values: Floats
    half_window: float
    sd: Floats


def quantiles_with_error(
    column: Floats, step: int = 5, window: float | None = None, weights: Floats | None = None
) -> Quantiles:
    """Quantiles ``step, 2 step, ... < 100`` percent of a column with their asymptotic standard deviations.

    The quantile of order j percent is element ``floor((n - 1) j / 100)`` of the sorted values (0-based). Its variance
    is ``q (1 - q) n (2 h)**2 / count**2`` with `count` the values in the open interval of half width h = range / 1000
    around it.

    Weighted, with W the sum of the weights and n_e their effective number, it is the element whose weight covers the
    rank ``(1 - 1 / n_e) W j / 100``, and its variance ``q (1 - q) / n_e (2 h W / weight)**2`` with `weight` that of
    the values in the open interval. With equal weights both are the figures without.

    `column`: without missing values, in any order; shape (n,). `weights`: all above 0; shape (n,).
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


def quantiles(ordered: Floats, step: int, weights: Floats | None = None) -> Floats:
    """Quantiles as `quantiles_with_error` defines them; without weights of values that are sorted already.

    `ordered`: without missing values; sorted, unless there are weights; shape (n,). `weights`: all above 0; shape (n,).
    """
    if weights is None:
        return ordered[ranks_of_quantiles(ordered.size, step)]
    ordered, cumulative = _ordered(ordered, weights)
    return ordered[_places(cumulative, weights, step)]


def ranks_of_quantiles(n: int, step: int) -> Integers:
    """Place, 0-based, of each quantile among n sorted values."""
    return np.asarray((n - 1) * np.arange(step, 100, step) // 100, dtype=np.int64)


def relative_spread(n: int, inside: Integers, step: int) -> Floats:
    """Asymptotic standard deviation of each quantile of n values, in widths of its window.

    `inside`: values in the window; shape (q,).
    """
    shares = np.arange(step, 100, step) / 100.0
    # A window narrower than the spacing of binary64 at the quantile would hold nothing, not even the quantile.
    spread: Floats = np.sqrt(shares * (1.0 - shares) * n) / np.maximum(inside, 1)
    return spread


def _ordered(column: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Sorted values, and the weight of those before each and of all."""
    order = np.argsort(column, kind="stable")
    return column[order], np.append(0.0, np.cumsum(weights[order]))


def _places(cumulative: Floats, weights: Floats, step: int) -> Integers:
    ranks = (1.0 - 1.0 / effective_number(weights)) * cumulative[-1] * np.arange(step, 100, step) / 100.0
    slack = ROUNDING_OF_QUANTILES * cumulative[-1]
    return np.asarray(np.searchsorted(cumulative[:-1], ranks + slack, side="right") - 1, dtype=np.int64)


def _inside(ordered: Floats, values: Floats) -> tuple[tuple[Integers, Integers], float]:
    """Where the open interval around each value begins and ends, and its half width."""
    half = float(ordered[-1] - ordered[0]) / 1000.0
    begin = np.searchsorted(ordered, values - half, side="right")
    end = np.searchsorted(ordered, values + half, side="left")
    return (begin, end), half


PARTS = ("quantiles", "means", "variances", "covariances", "correlations")
MISSING_RULE = "each statistic uses the records of its own file that have all the values it needs"
ROUNDING_OF_MOMENTS = 1e-12
"""Moments of columns scaled to order 1 that differ by less are the same number, computed in another order."""


def averaged(losses: Mapping[str, Floats], names: tuple[str, ...], notes: Sequence[str]) -> Measurement:
    """The measure, from the losses of all its statistics.

    `losses`: quantiles of shape (p, q), means and variances (p,), covariances and correlations (p, p).
    """
    parts = {part: 100.0 * float(np.nanmean(losses[part])) for part in PARTS if not np.isnan(losses[part]).all()}
    return Measurement(
        float(np.mean(list(parts.values()))),
        parts=parts,
        per_variable=_per_variable(losses, names),
        notes=(*notes, *_notes_on_parts(parts, len(names), losses["correlations"])),
    )


def _notes_on_parts(parts: Mapping[str, float], p: int, correlations: Floats) -> list[str]:
    notes = []
    absent = [part for part in PARTS if part not in parts]
    if absent:
        why = "there is one variable" if p == 1 else "no pair of variables has one"
        notes.append(f"{why}: {' and '.join(absent)} do not exist, the mean is over the other parts")
    undefined = int(np.isnan(correlations[np.triu_indices(p, 1)]).sum())
    if undefined and p > 1:
        notes.append(f"correlations left out because they are not defined in one of the files: {undefined} pairs")
    return notes


def _per_variable(losses: Mapping[str, Floats], names: tuple[str, ...]) -> dict[str, float]:
    result = {}
    for j, name in enumerate(names):
        own = [losses[part][j] for part in PARTS]
        result[name] = 100.0 * float(np.mean([np.nanmean(loss) for loss in own if not np.isnan(loss).all()]))
    return result


_erf_of_each = np.frompyfunc(math.erf, 1, 1)


def _erf(values: Floats) -> Floats:
    return np.asarray(_erf_of_each(values), dtype=np.float64)


def _loss(difference: Floats, variance: Floats, terms: Floats) -> Floats:
    """``erf(abs(difference) / sqrt(2 variance))``, with the rules for no variance; NaN where undefined.

    `terms` bounds the terms that `variance` was summed from: a variance that is only their rounding is none.
    """
    none = variance <= ROUNDING_OF_MOMENTS * terms
    with np.errstate(over="ignore"):
        ratio = np.abs(difference) / np.sqrt(2.0 * np.where(none, 1.0, variance))
    regular = _erf(ratio)
    irregular = np.where(np.abs(difference) <= ROUNDING_OF_MOMENTS, 0.0, 1.0)
    result = np.where(none, irregular, regular)
    return np.where(np.isnan(difference) | np.isnan(variance), np.nan, result)


def moment_losses(old: Moments, new: Moments) -> dict[str, Floats]:
    """Losses of means and variances, shape (p,), and of the pairs, shape (p, p) with NaN on the diagonal."""
    n = np.diag(old.n)
    second, fourth = np.diag(old.product), np.diag(old.squares)
    off_diagonal = np.where(np.eye(len(n), dtype=np.bool_), np.nan, 0.0)
    return {
        "means": _loss(new.mean - old.mean, second / n, 0.0 * second),
        "variances": _loss(np.diag(new.product) - second, (fourth - second**2) / n, fourth / n),
        "covariances": _covariance_losses(old, new) + off_diagonal,
        "correlations": _correlation_losses(old, new) + off_diagonal,
    }


def _covariance_losses(old: Moments, new: Moments) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return _loss(new.product - old.product, (old.squares - old.product**2) / old.n, old.squares / old.n)


def _correlation_losses(old: Moments, new: Moments) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        r = _correlations(old)
        both = old.squares / (old.second_first * old.second_other)
        kurtosis = old.fourth_first / old.second_first**2 + old.fourth_other / old.second_other**2
        deviation = np.sqrt(old.second_first * old.second_other)
        skew = old.cubes / (old.second_first * deviation) + old.cubes.T / (old.second_other * deviation)
        # Cramér's variance of r, multiplied out by r**2 so that nothing is divided by the covariance.
        variance = (both + r**2 / 4.0 * (kurtosis + 2.0 * both) - r * skew) / old.n
        return _loss(_correlations(new) - r, variance, (both + kurtosis) / old.n)


def _correlations(found: Moments) -> Floats:
    """Pearson's r; NaN where a variable is constant among the records that have both values."""
    varies = (found.second_first > 0.0) & (found.second_other > 0.0)
    return np.where(varies, found.product / np.sqrt(found.second_first * found.second_other), np.nan)


def quantile_losses(old: Floats, deviation: Floats, new: Floats) -> Floats:
    """Losses of the quantiles of one variable; shape (q,).

    `old`, `new`: of the original and of the masked file; shape (q,). `deviation`: asymptotic standard deviations of the
    original ones; shape (q,).
    """
    moved = np.abs(new - old)
    full = np.where(moved > 0.0, np.inf, 0.0)
    return _erf(np.divide(moved, math.sqrt(2.0) * deviation, out=full, where=deviation > 0.0))


def with_weight(pairs: Pairs, weights: Weights) -> tuple[Pairs, Weights]:
    """Both files without the records of weight 0; they are no longer paired."""
    first, other = weights.original > 0.0, weights.masked > 0.0
    there = Pairs(pairs.names, pairs.original[first], pairs.masked[other], None, pairs.notes)
    return there, Weights(weights.original[first], weights.masked[other])
