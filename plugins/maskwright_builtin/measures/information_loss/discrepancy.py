"""Discrepancies between matrices of the two files: values, covariances, correlations and principal components."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.pairing import Pairs, listed, pair_records
from maskwright_builtin.measures.common.weighting import WeightedParams, Weights, chosen, mean, weights_of
from maskwright_builtin.measures.information_loss.discrepancy_cells import MISSING_RULE, Matrix, discrepancy_of
from maskwright_builtin.measures.information_loss.discrepancy_over_parts import DISCREPANCY_OVER_PARTS
from maskwright_builtin.measures.information_loss.file_statistics import file_statistics
from maskwright_builtin.measures.information_loss.variation import ERRORS, Error, terms
from maskwright_builtin.measures.record_linkage.nearest_pairing import PAIRING_DESCRIPTION, Pairing, pairs_of


class DiscrepancyParams(WeightedParams, extra="forbid", frozen=True):
    """Which matrix, and how its cells are compared."""

    of: Matrix = Field(
        "V",
        description="'X': the values. 'mean': the means. 'V': the covariance matrix with its diagonal. 'variance': its "
        "diagonal. 'R': the correlation matrix. 'RF': correlations of the variables with the principal components. "
        "'C': communalities, the share of each variable's variance that the first components explain. 'F': factor "
        "score coefficients, by which standardised variables are multiplied to project records on the components.",
    )
    error: Error = Field(
        "mean_variation",
        description="Which of the three is the value: 'mean_square' (d squared), 'mean_absolute' (abs d) or "
        "'mean_variation' (abs d / abs of the original cell); all three are parts.",
    )
    components: int = Field(1, ge=1, description="Number of first components in 'C'.")
    pairing: Pairing = Field("identity", description=f"{PAIRING_DESCRIPTION} Only 'X' needs pairs.")


def discrepancy(
    comparison: Comparison,
    params: DiscrepancyParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Mean square error, mean absolute error and mean variation between a matrix of both files.

        mean square error    sum d^2 / N            d = a - a', N the number of cells
        mean absolute error  sum abs(d) / N
        mean variation       sum (abs(d) / abs(a)) / N

    In the mean variation a = 0 changed to something else counts 1, and unchanged 0. Cells: all values (X), all means,
    the upper triangle with its diagonal (V) or without (R), p variances or communalities; in RF and F all p^2 cells,
    each column weighted by the share of inertia that its component explains in the original data, w_j:
    ``sum_j w_j sum_i term_ij / p^2``. Covariances have divisor n.

    Principal components are those of the correlation matrix, by falling eigenvalue, each masked one with the sign that
    agrees better with the original. A component of negligible inertia (an exact dependence between variables) has no
    loadings and no coefficients: its columns are 0, which is said in the notes.

    Weighted: values and statistics are weighted by the records' weights.

    Missing cells: X uses the pairs that have both values, the statistics the records of their own file. Cells that do
    not exist (correlations of a constant) are left out; components need all correlations.

    Parameters
    ----------
    comparison : Comparison
    params : DiscrepancyParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has the three errors; `per_variable` the chosen one over the cells that concern the variable;
        `per_record` for X only.
    """
    if params.of == "X":
        pairs = pairs_of(comparison, MISSING_RULE, params.pairing)
    else:
        pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "discrepancy", weighted=params.weighted)
    if params.of == "X":
        return _of_values(pairs, weights, params.error, comparison)
    old = file_statistics(pairs.original, None if weights is None else weights.original)
    comparison.progress(0.5)
    new = file_statistics(pairs.masked, None if weights is None else weights.masked)
    comparison.progress(1.0)
    notes = list(pairs.notes)
    return discrepancy_of(old, new, params, pairs.names, notes)


def _of_values(pairs: Pairs, weights: Weights | None, error: Error, comparison: Comparison) -> Measurement:
    counts = None if weights is None else weights.masked
    sums: dict[str, float] = dict.fromkeys(ERRORS, 0.0)
    cells = 0.0
    per_variable: dict[str, float] = {}
    total, compared = np.zeros(len(pairs.masked)), np.zeros(len(pairs.masked))
    for j, name in enumerate(pairs.names):
        for each in ERRORS:
            term = terms(pairs.originals(j), pairs.masked[:, j], each)
            there = ~np.isnan(term)
            here = chosen(counts, there)
            share = float(there.sum()) if here is None else float(here.sum())
            value = mean(term[there], here)
            if not share > 0.0:
                break
            sums[each] += value * share
            if each == error:
                per_variable[name] = value
                cells += share
                total += np.where(there, term, 0.0)
                compared += there
        comparison.progress((j + 1) / pairs.p)
    notes = list(pairs.notes)
    without = [name for name in pairs.names if name not in per_variable]
    if without:
        notes.append(f"left out, no record has a value in both files: {listed(without)}")
    if not cells:
        return Measurement(float("nan"), notes=(*notes, "not defined: no variable can be compared"))
    parts = {each: value / cells for each, value in sums.items()}
    with np.errstate(invalid="ignore"):
        per_record = total / compared
    return Measurement(parts[error], parts, per_variable, per_record, notes=tuple(notes))


DISCREPANCY = Measure(
    name="discrepancy",
    compute=discrepancy,
    kind="loss",
    unit="unit of the chosen error",
    direction="lower",
    range=(0.0, None),
    params=DiscrepancyParams,
    compares_unpaired=True,
    merging=DISCREPANCY_OVER_PARTS,
    invariant_to={"records", "columns"},
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapter 5: discrepancies X, V, R, RF, C, F; Domingo-Ferrer "
    "and Torra (2001), Disclosure control methods and information loss for microdata, table 5.1",
    summary="Error of a matrix of the file: values, means, covariances, correlations, principal components.",
)
