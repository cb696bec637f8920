"""Moments of order 3 and 4: whether skewness and tails survived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.pairing import listed, pair_records, spread
from maskwright_builtin.measures.common.weighting import WeightedParams, chosen, mean, weights_of
from maskwright_builtin.measures.information_loss.over_parts import HIGHER_MOMENTS_OVER_PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING_RULE = "each moment uses the present values of its own file"
ORDERS = (3, 4)


def higher_moments(
    comparison: Comparison,
    params: WeightedParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Change of the central moments of order 3 and 4, in powers of the original standard deviation.

        d_r = abs(mu'_r - mu_r) / s^r,   mu_r = mean (x - mean)^r,   r = 3, 4

    with s^2 = mu_2 of the original. So d_3 is a change of skewness and d_4 of kurtosis, both on the original's scale;
    a relative change would be undefined for a symmetric variable. The value is the mean of both orders over the
    variables. 0 for the original data; not bounded.

    Weighted: means and moments are weighted.

    Missing cells: each file uses its present values. A constant variable has no scale: it counts 0 when it is still
    constant, else it is left out with a note.

    Parameters
    ----------
    comparison : Comparison
    params : WeightedParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has ``order_3`` and ``order_4``; `per_variable` the mean of both.
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "higher_moments", weighted=params.weighted)
    notes = list(pairs.notes)
    per_variable: dict[str, NDArray[np.float64]] = {}
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
            per_variable[name] = moved
    if empty:
        notes.append(f"left out, no value (with weight) in one of the files: {listed(empty)}")
    if without_scale:
        notes.append(f"left out, changed although constant in the original file (no scale): {listed(without_scale)}")
    if not per_variable:
        return Measurement(float("nan"), notes=(*notes, "not defined: no variable can be compared"))
    by_order = np.mean(list(per_variable.values()), axis=0)
    return Measurement(
        float(by_order.mean()),
        parts={f"order_{order}": float(value) for order, value in zip(ORDERS, by_order, strict=True)},
        per_variable={name: float(moved.mean()) for name, moved in per_variable.items()},
        notes=tuple(notes),
    )


def _central_moments(
    column: NDArray[np.float64], weights: NDArray[np.float64] | None, scale: float
) -> NDArray[np.float64]:
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
    compares_unpaired=True,
    invariant_to={"affine", "records", "columns"},
    reference="Domingo-Ferrer and González-Nicolás (2010), Hybrid microdata using microaggregation, Information "
    "Sciences 180(15), section 4: third and fourth central moments",
    summary="Change of the central moments of order 3 and 4 (skewness and tails) of each variable.",
)
