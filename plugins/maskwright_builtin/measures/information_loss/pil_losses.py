"""What moved statistics cost in the probabilistic information loss, however the statistics were found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.moments import Moments

PARTS = ("quantiles", "means", "variances", "covariances", "correlations")
MISSING_RULE = "each statistic uses the records of its own file that have all the values it needs"
ROUNDING = 1e-12
"""Moments of columns scaled to order 1 that differ by less are the same number, computed in another order."""


def averaged(losses: Mapping[str, NDArray[np.float64]], names: tuple[str, ...], notes: Sequence[str]) -> Measurement:
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


def _notes_on_parts(parts: Mapping[str, float], p: int, correlations: NDArray[np.float64]) -> list[str]:
    notes = []
    absent = [part for part in PARTS if part not in parts]
    if absent:
        why = "there is one variable" if p == 1 else "no pair of variables has one"
        notes.append(f"{why}: {' and '.join(absent)} do not exist, the mean is over the other parts")
    undefined = int(np.isnan(correlations[np.triu_indices(p, 1)]).sum())
    if undefined and p > 1:
        notes.append(f"correlations left out because they are not defined in one of the files: {undefined} pairs")
    return notes


def _per_variable(losses: Mapping[str, NDArray[np.float64]], names: tuple[str, ...]) -> dict[str, float]:
    result = {}
    for j, name in enumerate(names):
        own = [losses[part][j] for part in PARTS]
        result[name] = 100.0 * float(np.mean([np.nanmean(loss) for loss in own if not np.isnan(loss).all()]))
    return result


_erf_of_each = np.frompyfunc(math.erf, 1, 1)


def _erf(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_erf_of_each(values), dtype=np.float64)


def _loss(
    difference: NDArray[np.float64], variance: NDArray[np.float64], terms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``erf(abs(difference) / sqrt(2 variance))``, with the rules for no variance; NaN where undefined.

    `terms` bounds the terms that `variance` was summed from: a variance that is only their rounding is none.
    """
    none = variance <= ROUNDING * terms
    with np.errstate(over="ignore"):
        ratio = np.abs(difference) / np.sqrt(2.0 * np.where(none, 1.0, variance))
    regular = _erf(ratio)
    irregular = np.where(np.abs(difference) <= ROUNDING, 0.0, 1.0)
    result = np.where(none, irregular, regular)
    return np.where(np.isnan(difference) | np.isnan(variance), np.nan, result)


def moment_losses(old: Moments, new: Moments) -> dict[str, NDArray[np.float64]]:
    """Losses of means and variances, shape (p,), and of the pairs, shape (p, p) with NaN on the diagonal.

    `old`: of the original file, to the fourth. `new`: of the masked file, to the second.
    """
    n = np.diag(old.n)
    second, fourth = np.diag(old.product), np.diag(old.squares)
    off_diagonal = np.where(np.eye(len(n), dtype=np.bool_), np.nan, 0.0)
    return {
        "means": _loss(new.mean - old.mean, second / n, 0.0 * second),
        "variances": _loss(np.diag(new.product) - second, (fourth - second**2) / n, fourth / n),
        "covariances": _covariance_losses(old, new) + off_diagonal,
        "correlations": _correlation_losses(old, new) + off_diagonal,
    }


def _covariance_losses(old: Moments, new: Moments) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return _loss(new.product - old.product, (old.squares - old.product**2) / old.n, old.squares / old.n)


def _correlation_losses(old: Moments, new: Moments) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        r = _correlations(old)
        both = old.squares / (old.second_first * old.second_other)
        kurtosis = old.fourth_first / old.second_first**2 + old.fourth_other / old.second_other**2
        deviation = np.sqrt(old.second_first * old.second_other)
        skew = old.cubes / (old.second_first * deviation) + old.cubes.T / (old.second_other * deviation)
        # Cramér's variance of r, multiplied out by r**2 so that nothing is divided by the covariance.
        variance = (both + r**2 / 4.0 * (kurtosis + 2.0 * both) - r * skew) / old.n
        return _loss(_correlations(new) - r, variance, (both + kurtosis) / old.n)


def _correlations(found: Moments) -> NDArray[np.float64]:
    """Pearson's r; NaN where a variable is constant among the records that have both values."""
    varies = (found.second_first > 0.0) & (found.second_other > 0.0)
    return np.where(varies, found.product / np.sqrt(found.second_first * found.second_other), np.nan)


def quantile_losses(
    old: NDArray[np.float64], deviation: NDArray[np.float64], new: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Losses of the quantiles of one variable; shape (q,).

    `old`, `new`: of the original and of the masked file; shape (q,). `deviation`: asymptotic standard deviations of the
    original ones; shape (q,).
    """
    moved = np.abs(new - old)
    full = np.where(moved > 0.0, np.inf, 0.0)
    return _erf(np.divide(moved, math.sqrt(2.0) * deviation, out=full, where=deviation > 0.0))
