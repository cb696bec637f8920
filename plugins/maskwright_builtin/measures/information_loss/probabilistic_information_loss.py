"""Probabilistic information loss (PIL): whether statistics moved more than sampling would move them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement, Progress
from maskwright_builtin.measures.common.pairing import Pairs, listed, pair_records, present_values
from maskwright_builtin.measures.common.weighting import WeightedParams, Weights, chosen, effective_number, weights_of
from maskwright_builtin.measures.information_loss.moments import center_and_scale, moments
from maskwright_builtin.measures.information_loss.pil_losses import (
    MISSING_RULE,
    averaged,
    moment_losses,
    quantile_losses,
)
from maskwright_builtin.measures.information_loss.pil_over_parts import PIL_OVER_PARTS
from maskwright_builtin.measures.information_loss.quantiles import quantiles, quantiles_with_error

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    return averaged(losses, pairs.names, notes)


def _with_weight(pairs: Pairs, weights: Weights) -> tuple[Pairs, Weights]:
    """Both files without the records of weight 0; they are no longer paired."""
    first, other = weights.original > 0.0, weights.masked > 0.0
    there = Pairs(pairs.names, pairs.original[first], pairs.masked[other], None, pairs.notes)
    return there, Weights(weights.original[first], weights.masked[other])


def _moment_losses(pairs: Pairs, weights: Weights | None, progress: Progress) -> dict[str, NDArray[np.float64]]:
    center, scale = center_and_scale(pairs.original, pairs.masked)

    def first_half(share: float) -> None:
        progress(0.4 * share)

    def second_half(share: float) -> None:
        progress(0.4 + 0.2 * share)

    one, other = (None, None) if weights is None else (weights.original, weights.masked)
    old = moments(pairs.original, center, scale, first_half, to_fourth=True, weights=one)
    new = moments(pairs.masked, center, scale, second_half, to_fourth=False, weights=other)
    return moment_losses(old, new)


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
        losses.append(quantile_losses(old.values, old.sd, new))
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
    merging=PIL_OVER_PARTS,
    invariant_to={"affine", "records", "columns"},
    reference="Mateo-Sanz, Domingo-Ferrer, Sebé (2005), Probabilistic information loss measures in confidentiality "
    "protection of continuous microdata, Data Mining and Knowledge Discovery 11(2), 181-193",
    summary="Whether quantiles, means, variances, covariances and correlations moved more than sampling error.",
)
