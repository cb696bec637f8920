"""Information loss of the Mateo-Sanz thesis: PI1 to PI5 and their mean PI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.weighting import WeightedParams, Weights, chosen, mean, weights_of
from maskwright_builtin.measures.information_loss.file_statistics import file_statistics
from maskwright_builtin.measures.information_loss.pi_over_parts import PI_OVER_PARTS
from maskwright_builtin.measures.information_loss.thesis_natures import MISSING_RULE, mean_of_natures
from maskwright_builtin.measures.information_loss.variation import terms
from maskwright_builtin.measures.record_linkage.nearest_pairing import PAIRING_DESCRIPTION, Pairing, pairs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.measures.common.pairing import Pairs


class ThesisInformationLossParams(WeightedParams, extra="forbid", frozen=True):
    """How records are paired, and whether they are weighted."""

    pairing: Pairing = Field("identity", description=f"{PAIRING_DESCRIPTION} Only PI1 needs pairs.")


def thesis_information_loss(
    comparison: Comparison,
    params: ThesisInformationLossParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Mean relative change of values, means, covariances and variances, and mean change of correlations, in percent.

        PI1 = 100 mean abs(x - x') / abs(x)                 over all values
        PI2 = 100 mean abs(m - m') / abs(m)                 over the means
        PI3 = 100 mean abs(v_ij - v'_ij) / abs(v_ij)        over the covariances, i < j
        PI4 = 100 mean abs(v_ii - v'_ii) / abs(v_ii)        over the variances
        PI5 = 100 mean abs(r_ij - r'_ij)                    over the correlations, i < j
        PI  = PI1 / 3 + (PI2 + PI3 + PI4 + PI5) / 6

    A denominator of 0 counts 1 when the other number is not 0, and 0 when it is. Not bounded by 100: a small value
    that moves much counts a multiple. (In the thesis' table A.2 the columns PI3 and PI4 are exchanged.)

    Weighted: each value counts by its record's weight, and the statistics are weighted.

    Missing cells: PI1 uses the pairs that have both values; each statistic the records of its file that have what it
    needs. A pair with a constant variable has no correlation and is left out. With one variable PI3 and PI5 do not
    exist, and PI is the mean over the natures that do. All are said in the notes.

    Parameters
    ----------
    comparison : Comparison
    params : ThesisInformationLossParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has PI1 to PI5, those that exist; `per_variable` PI1 of each variable; `per_record` PI1 of each masked
        record (NaN where nothing can be compared).
    """
    pairs = pairs_of(comparison, MISSING_RULE, params.pairing)
    weights = weights_of(comparison, "pi", weighted=params.weighted)
    notes = list(pairs.notes)
    per_variable, per_record = _values(pairs, weights, comparison)
    old = file_statistics(pairs.original, None if weights is None else weights.original)
    comparison.progress(0.8)
    new = file_statistics(pairs.masked, None if weights is None else weights.masked)
    comparison.progress(1.0)
    return replace(mean_of_natures(per_variable, old, new, pairs.names, notes), per_record=per_record)


def _values(
    pairs: Pairs, weights: Weights | None, comparison: Comparison
) -> tuple[dict[str, float], NDArray[np.float64]]:
    """PI1 of each variable and of each record."""
    per_variable: dict[str, float] = {}
    total, compared = np.zeros(len(pairs.masked)), np.zeros(len(pairs.masked))
    for j, name in enumerate(pairs.names):
        moved = terms(pairs.originals(j), pairs.masked[:, j], "mean_variation")
        moved *= 100.0
        there = ~np.isnan(moved)
        value = (
            mean(moved, None if weights is None else weights.masked)
            if there.all()
            else mean(moved[there], chosen(None if weights is None else weights.masked, there))
        )
        if not np.isnan(value):
            per_variable[name] = value
            compared += there
            total += moved if there.all() else np.where(there, moved, 0.0)
        comparison.progress(0.6 * (j + 1) / pairs.p)
    with np.errstate(invalid="ignore"):
        return per_variable, total / compared


THESIS_INFORMATION_LOSS = Measure(
    name="pi",
    compute=thesis_information_loss,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, None),
    params=ThesisInformationLossParams,
    merging=PI_OVER_PARTS,
    invariant_to={"records", "columns"},
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapters 5 and 6, as its published tables compute it",
    summary="Mean relative change of values, means, variances, covariances, and change of correlations (PI1 to PI5).",
)
