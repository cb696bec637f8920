"""Standardised sum of squared errors: how far records moved, as a share of the variance of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.pairing import Pairs, listed, pair_records, spread
from maskwright_builtin.measures.common.weighting import WeightedParams, weights_of
from maskwright_builtin.measures.information_loss.over_parts import SQUARED_ERROR_OVER_PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING_RULE = "a cell missing in either file is left out, and the divisor of its variable shrinks with it"


def squared_error(
    comparison: Comparison,
    params: WeightedParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Sum of squared standardised differences, in percent of that of replacing every value by the mean.

        100 sum ((x - x') / s)^2 / (p (n - 1))

    with s the standard deviation of the whole original file
    (divisor n - 1). 0 for the original data, 100 when every variable is replaced by its mean.

    Missing cells: a pair with a missing cell is left out; n is then the number of pairs of that variable.
    Weighted: each square counts by its record's weight, scaled to mean 1 over the records compared; s stays that of the
    file.

    A constant variable contributes 0 when no value changed, else it has no scale and is left out with a note.

    Parameters
    ----------
    comparison : Comparison
    params : WeightedParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `per_variable` holds the same figure of each variable and `value` is their mean; `per_record` sums to `value`.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    notes = list(pairs.notes)
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
    if without_pairs:
        notes.append(f"left out, no record has a value in both files: {listed(without_pairs)}")
    if without_scale:
        notes.append(f"left out, changed although constant in the original file (no scale): {listed(without_scale)}")
    if not per_variable:
        notes.append("not defined: no variable can be compared")
        return Measurement(float("nan"), notes=tuple(notes))
    value = float(np.mean(list(per_variable.values())))
    return Measurement(value, per_variable=per_variable, per_record=per_record / len(per_variable), notes=tuple(notes))


def _squared_differences(pairs: Pairs, j: int) -> tuple[NDArray[np.float64], float, int]:
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
    invariant_to={"affine", "records", "columns"},
    reference="Domingo-Ferrer and Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical "
    "disclosure control, IEEE TKDE 14(1), section 2 (SSE/SST)",
    summary="Squared change of the standardised values, in percent of replacing every value by the mean.",
)
