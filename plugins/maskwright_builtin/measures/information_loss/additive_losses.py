"""Losses that add up over records: IL1s, squared error, structural zeros, moments of order 3 and 4."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, MeasureClaims, Measurement
from maskwright_builtin.measures.information_loss.partition_losses import (
    HIGHER_MOMENTS_OVER_PARTS,
    IL1S_LEAVES_OUT,
    IL1S_OVER_PARTS,
    MISSING_RULE,
    MISSING_RULE_OF_MOMENTS,
    MISSING_RULE_OF_PAIRS,
    SQUARED_ERROR_OVER_PARTS,
    STRUCTURAL_ZEROS_OVER_PARTS,
    kinds_of_cells,
    left_out_notes,
    mean_of_moments,
    mean_of_variables,
    measured_zeros,
)
from maskwright_builtin.measures.pairing import (
    Pairs,
    WeightedParams,
    chosen,
    listed,
    mean,
    pair_records,
    spread,
    weights_of,
)

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats


def il1s(comparison: Comparison, params: WeightedParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Mean absolute difference between original and masked values, standardised.

        IL1s = sum abs(x_ij - x'_ij) / (sqrt(2) s_j) / (n p)

    with s_j the standard deviation of the original variable (divisor n - 1). 0 for the original data; about
    0.8 / sqrt(2) when every value is replaced by the mean of a normal variable. Not bounded.

    Weighted: each record counts by its weight, also in n; s_j stays that of the file.

    Missing cells are left out. A constant variable counts 0 when no value changed, else it has no scale and is left
    out with a note.

    Returns
    -------
    Measurement
        `per_variable` holds the same figure of each variable and `value` is their mean; the mean of `per_record` (the
        weighted one) is `value` when no cell is missing.
    """
    pairs = pair_records(comparison, MISSING_RULE_OF_PAIRS)
    weights = weights_of(comparison, "il1s", weighted=params.weighted)
    notes = list(pairs.notes)
    per_variable: dict[str, float] = {}
    left_out: dict[str, list[str]] = {reason: [] for reason in IL1S_LEAVES_OUT}
    per_record = np.zeros(len(pairs.masked))
    for j, name in enumerate(pairs.names):
        moved = np.abs(pairs.originals(j) - pairs.masked[:, j])
        comparison.progress((j + 1) / pairs.p)
        scale = spread(pairs.original[:, j], ddof=1)
        share = _divisor(moved, None if weights is None else weights.masked)
        if share == 0.0:
            left_out[IL1S_LEAVES_OUT[0]].append(name)
            continue
        np.nan_to_num(moved, copy=False, nan=0.0)
        if scale == 0.0 and moved.any():
            left_out[IL1S_LEAVES_OUT[1]].append(name)
            continue
        moved /= math.sqrt(2.0) * (scale or 1.0)
        total = float(moved.sum()) if weights is None else float(np.dot(moved, weights.masked))
        per_variable[name] = total / share
        per_record += moved * (len(moved) / share)
    notes += [f"left out, {why}: {listed(names)}" for why, names in left_out.items() if names]
    return mean_of_variables(per_variable, notes, per_record)


def _divisor(moved: Floats, weights: Floats | None) -> float:
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
    claims=MeasureClaims(invariant_to={"affine", "records", "columns"}),
    reference="Yancey, Winkler, Creecy (2002), Disclosure risk assessment in perturbative microdata protection; "
    "Mateo-Sanz, Sebé, Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, LNCS 3050",
    summary="Mean absolute change of the values, in standard deviations times the square root of 2.",
)


def squared_error(comparison: Comparison, params: WeightedParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Sum of squared standardised differences, in percent of that of replacing every value by the mean.

        100 sum ((x - x') / s)^2 / (p (n - 1))

    with s the standard deviation of the whole original file
    (divisor n - 1). 0 for the original data, 100 when every variable is replaced by its mean.

    Missing cells: a pair with a missing cell is left out; n is then the number of pairs of that variable.
    Weighted: each square counts by its record's weight, scaled to mean 1 over the records compared; s stays that of the
    file.

    A constant variable contributes 0 when no value changed, else it has no scale and is left out with a note.

    Returns
    -------
    Measurement
        `per_variable` holds the same figure of each variable and `value` is their mean; `per_record` sums to `value`.
    """
    pairs = pair_records(comparison, MISSING_RULE_OF_PAIRS)
    per_variable: dict[str, float] = {}
    without_scale: list[str] = []
    without_pairs: list[str] = []
    per_record = np.zeros(len(pairs.masked))
    weights = weights_of(comparison, "sse", weighted=params.weighted)
    for j, name in enumerate(pairs.names):
        squares, scale_squared, complete = _squared_differences(pairs, j)
        if weights is not None and complete:
            there = ~np.isnan(pairs.originals(j) - pairs.masked[:, j])
            share = float(weights.masked[there].sum()) / complete
            complete = complete if share > 0.0 else 0
            squares *= weights.masked / (share or 1.0)
        comparison.progress((j + 1) / pairs.p)
        if not complete:
            without_pairs.append(name)
        elif not squares.any():
            per_variable[name] = 0.0
        elif scale_squared == 0.0 or complete < 2:
            without_scale.append(name)
        else:
            percent = 100.0 * squares / (scale_squared * (complete - 1))
            per_variable[name] = float(percent.sum())
            per_record += percent
    return mean_of_variables(per_variable, [*pairs.notes, *left_out_notes(without_pairs, without_scale)], per_record)


def _squared_differences(pairs: Pairs, j: int) -> tuple[Floats, float, int]:
    """Squares (0 where not comparable), variance of the original, number of comparable pairs."""
    squares = (pairs.originals(j) - pairs.masked[:, j]) ** 2
    absent = np.isnan(squares)
    squares[absent] = 0.0
    return squares, spread(pairs.original[:, j], ddof=1) ** 2, len(squares) - int(absent.sum())


SQUARED_ERROR = Measure(
    name="sse",
    compute=squared_error,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, None),
    params=WeightedParams,
    merging=SQUARED_ERROR_OVER_PARTS,
    claims=MeasureClaims(invariant_to={"affine", "records", "columns"}),
    reference="Domingo-Ferrer and Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical "
    "disclosure control, IEEE TKDE 14(1), section 2 (SSE/SST)",
    summary="Squared change of the standardised values, in percent of replacing every value by the mean.",
)


def structural_zeros(comparison: Comparison, params: WeightedParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Percent of the zeros of the two files that are not zeros in both: lost or made by masking.

        100 (lost + made) / (kept + lost + made)

    with `kept` the cells that are 0 in both files, `lost` those only in the original, `made` those only in the masked
    file. A zero often means "has none of it" (no wages, no farm), and a mean of zeros and others is no zero. 0 when
    every zero stays, or when there is none, which is said in a note.

    Weighted: cells count by the weight of their record. Missing cells are left out, with their counterparts.

    Returns
    -------
    Measurement
        `parts` has the percent of all compared cells that are zero in the original (``share_original``) and in the
        masked file (``share_masked``), the percent of the original's zeros that were lost (``lost``) and of the masked
        file's that were made (``made``); `per_variable` the measure of each variable with zeros; `per_record` the
        number of zeros lost or made in each masked record.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    weights = weights_of(comparison, "structural_zeros", weighted=params.weighted)
    counts = None if weights is None else weights.masked
    zeros: dict[str, list[float]] = {}
    per_record = np.zeros(len(pairs.masked))
    empty: list[str] = []
    for j, name in enumerate(pairs.names):
        kept, lost, made, there = kinds_of_cells(pairs.originals(j), pairs.masked[:, j])
        zeros[name] = [_total(each, counts) for each in (kept, lost, made, there)]
        per_record += lost | made
        comparison.progress((j + 1) / pairs.p)
        if not there.any():
            empty.append(name)
    return measured_zeros(zeros, empty, pairs.notes, per_record)


def _total(cells: Booleans, weights: Floats | None) -> float:
    return float(np.count_nonzero(cells)) if weights is None else float(weights[cells].sum())


STRUCTURAL_ZEROS = Measure(
    name="structural_zeros",
    compute=structural_zeros,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=WeightedParams,
    merging=STRUCTURAL_ZEROS_OVER_PARTS,
    claims=MeasureClaims(invariant_to={"records", "columns"}),
    reference="Hundepool et al. (2012), Statistical Disclosure Control, Wiley, section 3.5: zeros and other special "
    "values; the share is the Jaccard distance of the two sets of zero cells",
    summary="Percent of the zeros that masking lost or made.",
)


ORDERS = (3, 4)


def higher_moments(comparison: Comparison, params: WeightedParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Change of the central moments of order 3 and 4, in powers of the original standard deviation.

        d_r = abs(mu'_r - mu_r) / s^r,   mu_r = mean (x - mean)^r,   r = 3, 4

    with s^2 = mu_2 of the original. So d_3 is a change of skewness and d_4 of kurtosis, both on the original's scale;
    a relative change would be undefined for a symmetric variable. The value is the mean of both orders over the
    variables. 0 for the original data; not bounded.

    Weighted: means and moments are weighted.

    Missing cells: each file uses its present values. A constant variable has no scale: it counts 0 when it is still
    constant, else it is left out with a note.

    Returns
    -------
    Measurement
        `parts` has ``order_3`` and ``order_4``; `per_variable` the mean of both.
    """
    pairs = pair_records(comparison, MISSING_RULE_OF_MOMENTS, required=False)
    weights = weights_of(comparison, "higher_moments", weighted=params.weighted)
    changes: dict[str, Floats] = {}
    without_scale, empty = [], []
    for j, name in enumerate(pairs.names):
        old, new = pairs.original[:, j], pairs.masked[:, j]
        comparison.progress((j + 1) / pairs.p)
        if np.isnan(old).all() or np.isnan(new).all():
            empty.append(name)
            continue
        scale = spread(old, ddof=0)
        if scale == 0.0 and spread(new, ddof=0) > 0.0:
            without_scale.append(name)
            continue
        first = _central_moments(old, None if weights is None else weights.original, scale or 1.0)
        other = _central_moments(new, None if weights is None else weights.masked, scale or 1.0)
        # Weights change the scale: moments of the file are brought to its weighted standard deviation.
        own = np.sqrt(first[0]) if first[0] > 0.0 else 1.0
        moved = np.abs(other - first)[1:] / np.array([own**order for order in ORDERS])
        if np.isnan(moved).any():
            empty.append(name)
        else:
            changes[name] = moved
    return mean_of_moments(changes, pairs.notes, empty, without_scale)


def _central_moments(column: Floats, weights: Floats | None, scale: float) -> Floats:
    """Central moments of order 2, 3, 4 of the present values over powers of `scale`; shape (3,)."""
    there = ~np.isnan(column)
    here = chosen(weights, there)
    values = column[there]
    first = values[0]
    if values.min() == values.max():
        return np.zeros(3)
    scaled = (values - first) / scale
    scaled -= mean(scaled, here)
    squares = scaled * scaled
    return np.array([mean(squares, here), mean(squares * scaled, here), mean(squares * squares, here)])


HIGHER_MOMENTS = Measure(
    name="higher_moments",
    compute=higher_moments,
    kind="loss",
    unit="powers of the standard deviation",
    direction="lower",
    range=(0.0, None),
    params=WeightedParams,
    merging=HIGHER_MOMENTS_OVER_PARTS,
    claims=MeasureClaims(compares_unpaired=True, invariant_to={"affine", "records", "columns"}),
    reference="Domingo-Ferrer and González-Nicolás (2010), Hybrid microdata using microaggregation, Information "
    "Sciences 180(15), section 4: third and fourth central moments",
    summary="Change of the central moments of order 3 and 4 (skewness and tails) of each variable.",
)
