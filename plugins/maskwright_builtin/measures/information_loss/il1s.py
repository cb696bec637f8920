"""IL1s: mean absolute change of the values, in standard deviations of their variable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.pairing import listed, pair_records, spread
from maskwright_builtin.measures.common.weighting import WeightedParams, weights_of
from maskwright_builtin.measures.information_loss.over_parts import IL1S_OVER_PARTS

MISSING_RULE = "a cell missing in either file is left out, and the divisor of its variable shrinks with it"

if TYPE_CHECKING:
    from numpy.typing import NDArray


def il1s(comparison: Comparison, params: WeightedParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Mean absolute difference between original and masked values, standardised.

        IL1s = sum abs(x_ij - x'_ij) / (sqrt(2) s_j) / (n p)

    with s_j the standard deviation of the original variable (divisor n - 1). 0 for the original data; about
    0.8 / sqrt(2) when every value is replaced by the mean of a normal variable. Not bounded.

    Weighted: each record counts by its weight, also in n; s_j stays that of the file.

    Missing cells are left out. A constant variable counts 0 when no value changed, else it has no scale and is left
    out with a note.

    Parameters
    ----------
    comparison : Comparison
    params : WeightedParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `per_variable` holds the same figure of each variable and `value` is their mean; the mean of `per_record` (the
        weighted one) is `value` when no cell is missing.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    weights = weights_of(comparison, "il1s", weighted=params.weighted)
    notes = list(pairs.notes)
    per_variable: dict[str, float] = {}
    left_out: dict[str, list[str]] = {"no record has a value in both files": [], "changed although constant": []}
    per_record = np.zeros(len(pairs.masked))
    for j, name in enumerate(pairs.names):
        moved = np.abs(pairs.originals(j) - pairs.masked[:, j])
        comparison.progress((j + 1) / pairs.p)
        scale = spread(pairs.original[:, j], ddof=1)
        share = _divisor(moved, None if weights is None else weights.masked)
        if share == 0.0:
            left_out["no record has a value in both files"].append(name)
            continue
        np.nan_to_num(moved, copy=False, nan=0.0)
        if scale == 0.0 and moved.any():
            left_out["changed although constant"].append(name)
            continue
        moved /= math.sqrt(2.0) * (scale or 1.0)
        total = float(moved.sum()) if weights is None else float(np.dot(moved, weights.masked))
        per_variable[name] = total / share
        per_record += moved * (len(moved) / share)
    notes += [f"left out, {why}: {listed(names)}" for why, names in left_out.items() if names]
    if not per_variable:
        return Measurement(float("nan"), notes=(*notes, "not defined: no variable can be compared"))
    return Measurement(
        float(np.mean(list(per_variable.values()))),
        per_variable=per_variable,
        per_record=per_record / len(per_variable),
        notes=tuple(notes),
    )


def _divisor(moved: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Number of pairs that can be compared, or their weight."""
    absent = np.isnan(moved)
    if weights is None:
        return float(len(moved) - np.count_nonzero(absent))
    return float(weights[~absent].sum())


IL1S = Measure(
    name="il1s",
    compute=il1s,
    kind="loss",
    unit="sqrt(2) standard deviations",
    direction="lower",
    range=(0.0, None),
    params=WeightedParams,
    merging=IL1S_OVER_PARTS,
    invariant_to={"affine", "records", "columns"},
    reference="Yancey, Winkler, Creecy (2002), Disclosure risk assessment in perturbative microdata protection; "
    "Mateo-Sanz, Sebé, Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, LNCS 3050",
    summary="Mean absolute change of the values, in standard deviations times the square root of 2.",
)
