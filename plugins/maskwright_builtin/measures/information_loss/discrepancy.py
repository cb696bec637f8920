"""Discrepancies between matrices of both files: values, covariances, correlations, principal components."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Further, Measure, MeasureClaims, Measurement, Merging
from maskwright_builtin.measures.information_loss.moments import ERRORS, Error, file_statistics, terms
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.partition_moments import StandardUnits, pair_sums, statistics_of_sums
from maskwright_builtin.measures.pairing import (
    Pairs,
    WeightedParams,
    Weights,
    chosen,
    listed,
    mean,
    pair_records,
    weighted_over_parts,
    weights_of,
)
from maskwright_builtin.measures.record_linkage.nearest_records import PAIRING_DESCRIPTION, Pairing, pairs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.measures.information_loss.moments import FileStatistics
    from maskwright_builtin.measures.partition_statistics import Facts, Request
    from maskwright_builtin.numerics.arrays import Floats, Integers


MISSING_RULE = "X uses the pairs with both values, each statistic the records of its own file that have the values"
NEGLIGIBLE = 1e-10
"""Components that explain a smaller share of the inertia are rounding, or exact dependences between variables."""

Matrix = Literal["X", "mean", "V", "variance", "R", "RF", "C", "F"]


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix of each file, as the cells that are compared.

    `rows` and `columns` are the variables that a cell concerns, `weight` what its term is multiplied by before the sum
    is divided by the number of cells.
    """

    original: Floats
    masked: Floats
    rows: Integers
    columns: Integers
    weight: Floats


def discrepancy_of(
    old: FileStatistics, new: FileStatistics, params: DiscrepancyParams, names: tuple[str, ...], notes: list[str]
) -> Measurement:
    """The measure, of the statistics of both files."""
    cells = compared_cells(old, new, params, notes)
    if cells is None:
        notes.append("not defined: components need the correlation of every pair of variables, and a variable has none")
        return Measurement(float("nan"), notes=tuple(notes))
    return error_of_cells(cells, params.error, names, notes)


def compared_cells(
    old: FileStatistics, new: FileStatistics, params: DiscrepancyParams, notes: list[str]
) -> Cells | None:
    """Cells of the matrix that is requested, of both files; None where components are not defined."""
    p = len(old.mean)
    if params.of in ("mean", "variance"):
        own = np.arange(p)
        files = (old.mean, new.mean) if params.of == "mean" else (np.diag(old.covariance), np.diag(new.covariance))
        return Cells(*files, own, own, np.ones(p))
    if params.of in ("V", "R"):
        rows, columns = np.triu_indices(p, 0 if params.of == "V" else 1)
        first, other = (old.covariance, new.covariance) if params.of == "V" else (old.correlation, new.correlation)
        return Cells(first[rows, columns], other[rows, columns], rows, columns, np.ones(len(rows)))
    if np.isnan(old.correlation).any() or np.isnan(new.correlation).any():
        return None
    first_file, other_file = _components(old.correlation), _components(new.correlation)
    empty = [int((each.share <= NEGLIGIBLE).sum()) for each in (first_file, other_file)]
    if any(empty):
        notes.append(
            f"components without inertia, from exact dependences: {empty[0]} in the original file, {empty[1]} in the "
            "masked file; their columns are 0"
        )
    if params.of == "C":
        own = np.arange(p)
        communality = [(each.loadings[:, : params.components] ** 2).sum(axis=1) for each in (first_file, other_file)]
        return Cells(communality[0], communality[1], own, own, np.ones(p))
    sign = np.where((first_file.loadings * other_file.loadings).sum(axis=0) < 0.0, -1.0, 1.0)
    matrices = [each.loadings if params.of == "RF" else each.coefficients for each in (first_file, other_file)]
    rows = np.repeat(np.arange(p), p)
    return Cells(matrices[0].ravel(), (matrices[1] * sign).ravel(), rows, rows, np.tile(first_file.share, p))


@dataclass(frozen=True, eq=False)
class _Components:
    """Principal components of a correlation matrix: loadings and score coefficients (p, p), share of inertia (p,)."""

    loadings: Floats
    coefficients: Floats
    share: Floats


def _components(correlation: Floats) -> _Components:
    values, vectors = np.linalg.eigh(correlation)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > NEGLIGIBLE * len(values)
    root = np.sqrt(np.where(kept, values, 1.0))
    return _Components(
        np.where(kept, vectors * root, 0.0),
        np.where(kept, vectors / root, 0.0),
        np.where(kept, values, 0.0) / len(values),
    )


def error_of_cells(cells: Cells, error: Error, names: tuple[str, ...], notes: list[str]) -> Measurement:
    """Errors over the cells that exist in both files."""
    found = {each: terms(cells.original, cells.masked, each) * cells.weight for each in ERRORS}
    there = ~np.isnan(found[error])
    if not there.any():
        return Measurement(float("nan"), notes=(*notes, "not defined: no cell of this matrix exists in both files"))
    if not there.all():
        notes.append(f"cells left out because they are not defined in one of the files: {int((~there).sum())}")
    parts: dict[str, float] = {each: float(term[there].mean()) for each, term in found.items()}
    per_variable = {}
    for j, name in enumerate(names):
        own = there & ((cells.rows == j) | (cells.columns == j))
        if own.any():
            per_variable[name] = float(found[error][own].mean())
    return Measurement(parts[error], parts, per_variable, notes=tuple(notes))


def matrices_of_part(comparison: Comparison, params: DiscrepancyParams, request: Request) -> Facts:
    """Errors of the values of one part, or moments in the first round and products of variables in the second."""
    if params.of != "X" and request is None:
        return moments_of_part(comparison, params, None)
    pairs = pair_records(comparison, MISSING_RULE, required=params.of == "X")
    if params.of != "X":
        assert request is not None
        units = StandardUnits.from_json(request["units"])
        files = pairs.original, pairs.masked
        return {"sums": [pair_sums(each, units.center, units.scale, to_fourth=False) for each in files]}
    found: dict[str, Any] = {
        "missing": [int(np.isnan(each).sum()) for each in (pairs.original, pairs.masked)], "variables": {}
    }  # fmt: skip
    for j, name in enumerate(pairs.names):
        cells = [terms(pairs.originals(j), pairs.masked[:, j], each) for each in ERRORS]
        sums = [float(each[~np.isnan(each)].sum()) for each in cells]
        found["variables"][name] = [int((~np.isnan(cells[0])).sum()), *sums]
    return found


def discrepancy_of_parts(facts: Sequence[Facts], params: DiscrepancyParams, request: Request) -> Measurement | Further:
    """The measure `discrepancy` of a file in parts."""
    if params.of == "X":
        return _merged_values_discrepancy(facts, params)
    if request is None:
        units = StandardUnits.of(facts)
        return Further({"units": units.to_json(), "notes": missing_notes(facts, MISSING_RULE)})
    units = StandardUnits.from_json(request["units"])
    old, new = (
        statistics_of_sums([each["sums"][file] for each in facts], units.center, units.scale) for file in (0, 1)
    )
    return discrepancy_of(old, new, params, units.names, list(request["notes"]))


def _merged_values_discrepancy(facts: Sequence[Facts], params: DiscrepancyParams) -> Measurement:
    notes = missing_notes(facts, MISSING_RULE)
    chosen = ERRORS.index(params.error)
    total, sums, per_variable, without = 0, [0.0] * len(ERRORS), dict[str, float](), list[str]()
    for name in facts[0]["variables"]:
        own = [each["variables"][name] for each in facts]
        cells = sum(each[0] for each in own)
        if not cells:
            without.append(name)
            continue
        errors = [math.fsum(each[1 + at] for each in own) for at in range(len(ERRORS))]
        total += cells
        sums = [one + other for one, other in zip(sums, errors, strict=True)]
        per_variable[name] = errors[chosen] / cells
    if without:
        notes.append(f"left out, no record has a value in both files: {listed(without)}")
    if not total:
        return Measurement(math.nan, notes=(*notes, "not defined: no variable can be compared"))
    parts: dict[str, float] = {name: value / total for name, value in zip(ERRORS, sums, strict=True)}
    return Measurement(parts[params.error], parts, per_variable, notes=tuple(notes))


def _refused(params: DiscrepancyParams) -> str | None:
    if params.of == "X" and params.pairing == "nearest":
        return "the nearest original record may be in another part: leave out `pairing: nearest`"
    return weighted_over_parts(params)


DISCREPANCY_OVER_PARTS = Merging(partial=matrices_of_part, merged=discrepancy_of_parts, refused=_refused)


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


def discrepancy(comparison: Comparison, params: DiscrepancyParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
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
        return _values_discrepancy(pairs, weights, params.error, comparison)
    old = file_statistics(pairs.original, None if weights is None else weights.original)
    comparison.progress(0.5)
    new = file_statistics(pairs.masked, None if weights is None else weights.masked)
    comparison.progress(1.0)
    notes = list(pairs.notes)
    return discrepancy_of(old, new, params, pairs.names, notes)


def _values_discrepancy(pairs: Pairs, weights: Weights | None, error: Error, comparison: Comparison) -> Measurement:
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
    claims=MeasureClaims(compares_unpaired=True, invariant_to={"records", "columns"}),
    merging=DISCREPANCY_OVER_PARTS,
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapter 5: discrepancies X, V, R, RF, C, F; Domingo-Ferrer "
    "and Torra (2001), Disclosure control methods and information loss for microdata, table 5.1",
    summary="Error of a matrix of the file: values, means, covariances, correlations, principal components.",
)
