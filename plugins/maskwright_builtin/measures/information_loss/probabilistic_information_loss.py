"""Probabilistic information loss (PIL): whether statistics moved more than sampling would move them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement, Progress
from maskwright_builtin.measures.common.pairing import Pairs, listed, pair_records, present_values
from maskwright_builtin.measures.common.weighting import WeightedParams, Weights, chosen, effective_number, weights_of
from maskwright_builtin.measures.information_loss.moments import Moments, center_and_scale, moments
from maskwright_builtin.measures.information_loss.quantiles import quantiles, quantiles_with_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

PARTS = ("quantiles", "means", "variances", "covariances", "correlations")
MISSING_RULE = "each statistic uses the records of its own file that have all the values it needs"
ROUNDING = 1e-12
"""Moments of columns scaled to order 1 that differ by less are the same number, computed in another order."""


class ProbabilisticInformationLossParams(WeightedParams, extra="forbid", frozen=True):
    """Details on which published programs differ, and whether records count by their weights."""

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
    ``erf(abs(masked - original) / sqrt(2 Var))``. Five parts, each a mean over variables, pairs of variables, or
    quantiles of the orders q = 5, 10, ..., 95 percent:

        means          m = sum w x / W                                 Var = mu_20 / n_e
        variances      mu_20                                           Var = (mu_40 - mu_20^2) / n_e
        covariances    mu_11                                           Var = (mu_22 - mu_11^2) / n_e
        correlations   r = mu_11 / sqrt(mu_20 mu_02)                   Var = (a + r^2 (b + 2 a) / 4 - r c) / n_e
        quantiles      x_l,  S_l <= (1 - 1 / n_e) W q < S_l + w_l      Var = q (1 - q) / (n_e f^2)

        mu_rs = sum w (x_i - m_i)^r (x_j - m_j)^s / W,   a = mu_22 / (mu_20 mu_02),
        b = mu_40 / mu_20^2 + mu_04 / mu_02^2,   c = (mu_31 / mu_20 + mu_13 / mu_02) / sqrt(mu_20 mu_02),
        f = (weight of the values nearer than h to the quantile) / (2 h W),   h = range / 1000

    with w the weights, all 1 unless `weighted`, W their sum over the records that have the values, S_l that of the
    values sorted before x_l, and ``n_e = W^2 / sum w^2``; without weights W and n_e are n, the number of records. 0 for
    the original data, at most 100; a part saturates quickly (two standard errors are already 95).

    The two files are compared as files: records need not be paired, and a sampled masked file is compared with the
    whole original.

    Weighted: n_e is Kish's effective number of records, because unequal weights make statistics less certain; that
    takes weights as unrelated to the values. Standard errors have that of the original file, the rank of a quantile
    that of its own file. Whole weights are as so many copies of each record, but for n_e, which copies do not raise; a
    record of weight 0 counts for nothing, and the scale of the weights does not matter.

    Missing cells: each statistic uses the records of its own file that have all the values it needs.

    Corner rules: no variance and no difference is no loss, no variance and a difference is full loss; a pair with a
    constant variable has no correlation and is left out; with one variable the parts of pairs do not exist and the
    others are averaged; a variable without any value in one file is left out. All are said in the notes.

    Parameters
    ----------
    comparison : Comparison
    params : ProbabilisticInformationLossParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has the parts that exist; `per_variable` averages the same parts over what concerns the variable.

    References
    ----------
    Mateo-Sanz, Domingo-Ferrer, Sebé (2005), Probabilistic information loss measures in confidentiality protection of
    continuous microdata, Data Mining and Knowledge Discovery 11(2), 181-193.
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    notes = list(pairs.notes)
    weights = weights_of(comparison, "pil", weighted=params.weighted)
    if weights is not None:
        pairs, weights = _with_weight(pairs, weights)
        number = effective_number(weights.original)
        notes.append(f"weighted: the {len(pairs.original)} original records with weight are as certain as {number:.0f}")
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
    losses = _moment_losses(pairs, weights, comparison.progress)
    losses["quantiles"] = _quantile_losses(pairs, weights, params, comparison.progress)
    comparison.progress(1.0)
    parts = {part: 100.0 * float(np.nanmean(losses[part])) for part in PARTS if not np.isnan(losses[part]).all()}
    notes += _notes_on_parts(parts, pairs, losses["correlations"])
    return Measurement(
        float(np.mean(list(parts.values()))),
        parts=parts,
        per_variable=_per_variable(losses, pairs.names),
        notes=tuple(notes),
    )


def _with_weight(pairs: Pairs, weights: Weights) -> tuple[Pairs, Weights]:
    """Both files without the records of weight 0; they are no longer paired."""
    first, other = weights.original > 0.0, weights.masked > 0.0
    there = Pairs(pairs.names, pairs.original[first], pairs.masked[other], None, pairs.notes)
    return there, Weights(weights.original[first], weights.masked[other])


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


def _moment_losses(pairs: Pairs, weights: Weights | None, progress: Progress) -> dict[str, NDArray[np.float64]]:
    """Losses of means and variances, shape (p,), and of the pairs, shape (p, p) with NaN on the diagonal."""
    center, scale = center_and_scale(pairs.original, pairs.masked)

    def first_half(share: float) -> None:
        progress(0.4 * share)

    def second_half(share: float) -> None:
        progress(0.4 + 0.2 * share)

    one, other = (None, None) if weights is None else (weights.original, weights.masked)
    old = moments(pairs.original, center, scale, first_half, to_fourth=True, weights=one)
    new = moments(pairs.masked, center, scale, second_half, to_fourth=False, weights=other)
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


def _quantile_losses(
    pairs: Pairs, weights: Weights | None, params: ProbabilisticInformationLossParams, progress: Progress
) -> NDArray[np.float64]:
    """Losses of the quantiles of each variable; shape (p, q)."""
    last = present_values(pairs.original[:, -1])
    window = float(last.max() - last.min()) / 1000.0 if params.bandwidth == "last-column" else None
    losses = []
    for j in range(pairs.p):
        before, after = present_values(pairs.original[:, j]), present_values(pairs.masked[:, j])
        if weights is None:
            old, new = quantiles_with_error(before, params.step, window), quantiles(np.sort(after), params.step)
        else:
            own = chosen(weights.original, ~np.isnan(pairs.original[:, j]))
            old = quantiles_with_error(before, params.step, window, own)
            new = quantiles(after, params.step, chosen(weights.masked, ~np.isnan(pairs.masked[:, j])))
        moved = np.abs(new - old.values)
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
    compares_unpaired=True,
    invariant_to={"affine", "records", "columns"},
    reference="Mateo-Sanz, Domingo-Ferrer, Sebé (2005), Probabilistic information loss measures in confidentiality "
    "protection of continuous microdata, Data Mining and Knowledge Discovery 11(2), 181-193",
    summary="Whether quantiles, means, variances, covariances and correlations moved more than sampling error.",
)
