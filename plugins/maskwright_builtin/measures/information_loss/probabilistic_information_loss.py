"""Probabilistic information loss (PIL): whether statistics moved more than sampling would move them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Comparison, Measure, Measurement, Progress
from maskwright_builtin.measures.information_loss.moments import Moments, center_and_scale, moments
from maskwright_builtin.measures.pairing import Pairs, listed, pair_records, present_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

PARTS = ("quantiles", "means", "variances", "covariances", "correlations")
MISSING_RULE = "each statistic uses the records of its own file that have all the values it needs"
ROUNDING = 1e-12
"""Moments of columns scaled to order 1 that differ by less are the same number, computed in another order."""


class ProbabilisticInformationLossParams(BaseModel, extra="forbid", frozen=True):
    """Details on which published programs differ."""

    step: int = Field(5, ge=1, le=50, description="Step between the quantiles compared, in percent: 5, 10, ..., 95.")
    bandwidth: Literal["per-column", "last-column"] = Field(
        "per-column",
        description="Width of the interval in which the density at a quantile is estimated, a thousandth of the range: "
        "of each column, or of the last column for all ('last-column' repeats an error of older programs, to "
        "reproduce their figures; the result then depends on the order of the columns).",
    )


def probabilistic_information_loss(
    comparison: Comparison,
    params: ProbabilisticInformationLossParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Probability that a statistic moves less by sampling than it moved by masking, averaged, in percent.

    For a statistic with asymptotic variance Var estimated on the original file the loss is
    ``erf(abs(masked - original) / sqrt(2 Var))``. Five parts, each a mean over variables or pairs of variables:
    quantiles, means, variances, covariances and Pearson correlations. All moments are central with divisor n.
    0 for the original data, at most 100; a part saturates quickly (two standard errors are already 95).

    The two files are compared as files: records need not be paired, and a sampled masked file is compared with the
    whole original.

    Corner rules: no variance and no difference is no loss, no variance and a difference is full loss; a pair with a
    constant variable has no correlation and is left out; with one variable the parts of pairs do not exist and the
    others are averaged; a variable without any value in one file is left out. All are said in the notes.

    Returns
    -------
    Measurement
        `parts` has the parts that exist; `per_variable` averages the same parts over what concerns the variable.

    References
    ----------
    Mateo-Sanz, Domingo-Ferrer, Sebé (2005), Probabilistic information loss measures in confidentiality protection of
    continuous microdata, Data Mining and Knowledge Discovery 11(2), 181-193.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    notes = list(pairs.notes)
    files = pairs.original, pairs.masked
    gone = [name for j, name in enumerate(pairs.names) if any(np.isnan(file[:, j]).all() for file in files)]
    if gone:
        notes.append(f"left out, no value in one of the files: {listed(gone)}")
        kept = [j for j, name in enumerate(pairs.names) if name not in gone]
        names = tuple(pairs.names[j] for j in kept)
        pairs = Pairs(names, pairs.original[:, kept], pairs.masked[:, kept], pairs.origin, pairs.notes)
    if not pairs.names:
        notes.append("not defined: no variable can be compared")
        return Measurement(float("nan"), notes=tuple(notes))
    losses = _moment_losses(pairs, comparison.progress)
    losses["quantiles"] = _quantile_losses(pairs, params, comparison.progress)
    comparison.progress(1.0)
    parts = {part: 100.0 * float(np.nanmean(losses[part])) for part in PARTS if not np.isnan(losses[part]).all()}
    notes += _notes_on_parts(parts, pairs, losses["correlations"])
    return Measurement(
        float(np.mean(list(parts.values()))),
        parts=parts,
        per_variable=_per_variable(losses, pairs.names),
        notes=tuple(notes),
    )


def _notes_on_parts(parts: Mapping[str, float], pairs: Pairs, correlations: NDArray[np.float64]) -> list[str]:
    notes = []
    absent = [part for part in PARTS if part not in parts]
    if absent:
        why = "there is one variable" if pairs.p == 1 else "no pair of variables has one"
        notes.append(f"{why}: {' and '.join(absent)} do not exist, the mean is over the other parts")
    undefined = int(np.isnan(correlations[np.triu_indices(pairs.p, 1)]).sum())
    if undefined and pairs.p > 1:
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


def _moment_losses(pairs: Pairs, progress: Progress) -> dict[str, NDArray[np.float64]]:
    """Losses of means and variances, shape (p,), and of the pairs, shape (p, p) with NaN on the diagonal."""
    center, scale = center_and_scale(pairs.original, pairs.masked)

    def first_half(share: float) -> None:
        progress(0.4 * share)

    def second_half(share: float) -> None:
        progress(0.4 + 0.2 * share)

    old = moments(pairs.original, center, scale, first_half, to_fourth=True)
    new = moments(pairs.masked, center, scale, second_half, to_fourth=False)
    n = np.diag(old.n)
    second, fourth = np.diag(old.product), np.diag(old.squares)
    off_diagonal = np.where(np.eye(pairs.p, dtype=np.bool_), np.nan, 0.0)
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


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of one column and how far sampling moves them.

    Attributes
    ----------
    values : ndarray of shape (q,)
    half_window : float
        The h of the density estimate: range / 1000.
    sd : ndarray of shape (q,)
        Asymptotic standard deviation of each quantile.
    """

    values: NDArray[np.float64]
    half_window: float
    sd: NDArray[np.float64]


def quantiles_with_error(column: NDArray[np.float64], step: int = 5, window: float | None = None) -> Quantiles:
    """Quantiles ``step, 2 step, ... < 100`` percent of a column with their asymptotic standard deviations.

    The quantile of order j percent is element ``floor((n - 1) j / 100)`` of the sorted values (0-based). Its variance
    is ``q (1 - q) n (2 h)**2 / count**2`` with `count` the values in the open interval of half width h = range / 1000
    around it.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Without missing values, in any order.
    step : int
        Percent.
    window : float, optional
        The h in the variance, when it is not the column's own (see ``bandwidth: last-column``); the count always
        uses the column's own.
    """
    ordered = np.sort(column)
    percents = np.arange(step, 100, step)
    values = _quantiles(ordered, step)
    half = float(ordered[-1] - ordered[0]) / 1000.0
    inside = np.searchsorted(ordered, values + half, side="left") - np.searchsorted(
        ordered, values - half, side="right"
    )
    shares = percents / 100.0
    width = 2.0 * (half if window is None else window)
    # A window narrower than the spacing of binary64 at the quantile would hold nothing, not even the quantile.
    sd = np.sqrt(shares * (1.0 - shares) * ordered.size) * width / np.maximum(inside, 1)
    return Quantiles(values, half, sd)


def _quantiles(ordered: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    return ordered[(ordered.size - 1) * np.arange(step, 100, step) // 100]


def _quantile_losses(
    pairs: Pairs, params: ProbabilisticInformationLossParams, progress: Progress
) -> NDArray[np.float64]:
    """Losses of the quantiles of each variable; shape (p, q)."""
    last = present_values(pairs.original[:, -1])
    window = float(last.max() - last.min()) / 1000.0 if params.bandwidth == "last-column" else None
    losses = []
    for j in range(pairs.p):
        old = quantiles_with_error(present_values(pairs.original[:, j]), params.step, window)
        moved = np.abs(_quantiles(np.sort(present_values(pairs.masked[:, j])), params.step) - old.values)
        full = np.where(moved > 0.0, np.inf, 0.0)
        ratio = np.divide(moved, math.sqrt(2.0) * old.sd, out=full, where=old.sd > 0.0)
        losses.append(_erf(ratio))
        progress(0.6 + 0.4 * (j + 1) / pairs.p)
    return np.array(losses)


PROBABILISTIC_INFORMATION_LOSS = Measure(
    name="pil",
    compute=probabilistic_information_loss,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=ProbabilisticInformationLossParams,
    invariant_to=frozenset({"affine", "records", "columns"}),
    reference="Mateo-Sanz, Domingo-Ferrer, Sebé (2005), Probabilistic information loss measures in confidentiality "
    "protection of continuous microdata, Data Mining and Knowledge Discovery 11(2), 181-193",
    summary="Whether quantiles, means, variances, covariances and correlations moved more than sampling error.",
)
