"""Mean shift: how far the means of the variables have moved, in standard deviations."""

from __future__ import annotations

import numpy as np

from maskwright import Comparison, Measure, MeasureClaims, Measurement, NoParams


def mean_shift(comparison: Comparison, params: NoParams, rng: np.random.Generator) -> Measurement:
    """Average over the variables of ``100 * |mean' - mean| / standard deviation``.

    Parameters
    ----------
    comparison : Comparison
        Missing cells are left out, variable by variable.
    params : NoParams
    rng : numpy.random.Generator
        Left alone.

    Returns
    -------
    Measurement
        Percent; NaN with a note when no variable varies.
    """
    original, masked = comparison.original_values(), comparison.masked_values()
    shifts: dict[str, float] = {}
    for position, name in enumerate(comparison.variables):
        before = original[~np.isnan(original[:, position]), position]
        after = masked[~np.isnan(masked[:, position]), position]
        if len(before) > 1 and len(after) > 0 and before.std(ddof=1) > 0:
            shifts[name] = float(100.0 * abs(after.mean() - before.mean()) / before.std(ddof=1))
    if not shifts:
        return Measurement(float("nan"), notes=("no variable has two different values",))
    return Measurement(float(np.mean(list(shifts.values()))), per_variable=shifts)


EXAMPLE_MEAN_SHIFT = Measure(
    name="example_mean_shift",
    compute=mean_shift,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, None),
    claims=MeasureClaims(invariant_to={"affine", "records", "columns"}),
    summary="How far the means have moved, in percent of a standard deviation.",
    reference="none: an example.",
)
