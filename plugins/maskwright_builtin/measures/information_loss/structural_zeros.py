"""Structural zeros: values that are zero because there is nothing to count, and should stay so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.weighting import WeightedParams, weights_of
from maskwright_builtin.measures.information_loss.counted_zeros import (
    MISSING_RULE,
    kinds_of_cells,
    measured_zeros,
)
from maskwright_builtin.measures.information_loss.over_parts import STRUCTURAL_ZEROS_OVER_PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def structural_zeros(
    comparison: Comparison,
    params: WeightedParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of the zeros of the two files that are not zeros in both: lost or made by masking.

        100 (lost + made) / (kept + lost + made)

    with `kept` the cells that are 0 in both files, `lost` those only in the original, `made` those only in the masked
    file. A zero often means "has none of it" (no wages, no farm), and a mean of zeros and others is no zero. 0 when
    every zero stays, or when there is none, which is said in a note.

    Weighted: cells count by the weight of their record. Missing cells are left out, with their counterparts.

    Parameters
    ----------
    comparison : Comparison
    params : WeightedParams
    rng : numpy.random.Generator
        Not used.

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


def _total(cells: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> float:
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
    invariant_to={"records", "columns"},
    reference="Hundepool et al. (2012), Statistical Disclosure Control, Wiley, section 3.5: zeros and other special "
    "values; the share is the Jaccard distance of the two sets of zero cells",
    summary="Percent of the zeros that masking lost or made.",
)
