"""Information loss of the Mateo-Sanz thesis: PI1 to PI5 and their mean PI, also of a file in partitions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import Comparison, Further, Measure, MeasureClaims, Measurement, Merging
from maskwright_builtin.measures.information_loss.moments import file_statistics, terms
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.partition_moments import StandardUnits, pair_sums, statistics_of_sums
from maskwright_builtin.measures.pairing import (
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
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.information_loss.moments import FileStatistics
    from maskwright_builtin.measures.pairing import Pairs
    from maskwright_builtin.measures.partition_statistics import Facts, Request
    from maskwright_builtin.numerics.arrays import Floats


MISSING_RULE = "PI1 uses the pairs with both values, the other parts the records of their own file that have the values"
NATURES = (("PI1",), ("PI2", "PI4"), ("PI3", "PI5"))
"""Parts about values, about single variables, and about pairs of variables: each nature weighs one third."""


def mean_of_natures(
    per_variable: Mapping[str, float],
    old: FileStatistics,
    new: FileStatistics,
    names: Sequence[str],
    about: Sequence[str],
) -> Measurement:
    """The measure `pi`."""
    notes = list(about)
    without = [name for name in names if name not in per_variable]
    if without:
        notes.append(f"left out of PI1, no record has a value in both files: {listed(without)}")
    found = {"PI1": float(np.mean(list(per_variable.values()))) if per_variable else float("nan")}
    found |= _statistics(old, new)
    parts = {name: value for name, value in found.items() if not np.isnan(value)}
    absent = [name for name in found if name not in parts]
    if absent:
        notes.append(f"not defined for these variables and left out of the mean: {listed(absent)}")
    undefined = int(np.isnan(old.correlation - new.correlation)[np.triu_indices(len(names), 1)].sum())
    if undefined and len(names) > 1:
        notes.append(f"correlations left out because they are not defined in one of the files: {undefined} pairs")
    natures = [
        np.mean([parts[name] for name in names if name in parts]) for names in NATURES if set(names) & set(parts)
    ]
    if not natures:
        return Measurement(float("nan"), notes=(*notes, "not defined: no variable can be compared"))
    return Measurement(float(np.mean(natures)), parts, per_variable, notes=tuple(notes))


def _statistics(old: FileStatistics, new: FileStatistics) -> dict[str, float]:
    """PI2 to PI5; NaN for what does not exist."""
    above = np.triu_indices(len(old.mean), 1)
    cells = {
        "PI2": terms(old.mean, new.mean, "mean_variation"),
        "PI3": terms(old.covariance[above], new.covariance[above], "mean_variation"),
        "PI4": terms(np.diag(old.covariance), np.diag(new.covariance), "mean_variation"),
        "PI5": terms(old.correlation[above], new.correlation[above], "mean_absolute"),
    }
    return {
        name: float(100.0 * np.nanmean(each)) if not np.isnan(each).all() and each.size else float("nan")
        for name, each in cells.items()
    }


def changes_of_part(comparison: Comparison, params: ThesisInformationLossParams, request: Request) -> Facts:
    """Moments of one part in the first round, then relative changes and products of its variables."""
    if request is None:
        return moments_of_part(comparison, params, None)
    pairs, units = pair_records(comparison, MISSING_RULE), StandardUnits.from_json(request["units"])
    changes = {}
    for j, name in enumerate(pairs.names):
        moved = 100.0 * terms(pairs.originals(j), pairs.masked[:, j], "mean_variation")
        there = moved[~np.isnan(moved)]
        changes[name] = [len(there), float(there.sum())]
    files = pairs.original, pairs.masked
    return {
        "changes": changes, "sums": [pair_sums(each, units.center, units.scale, to_fourth=False) for each in files]
    }  # fmt: skip


def information_loss_of_parts(
    facts: Sequence[Facts],
    params: ThesisInformationLossParams,  # noqa: ARG001
    request: Request,
) -> Measurement | Further:
    """The measure `pi` of a file in parts."""
    if request is None:
        return Further({"units": StandardUnits.of(facts).to_json(), "notes": missing_notes(facts, MISSING_RULE)})
    units, per_variable = StandardUnits.from_json(request["units"]), {}
    for name in units.names:
        cells = sum(each["changes"][name][0] for each in facts)
        if cells:
            per_variable[name] = math.fsum(each["changes"][name][1] for each in facts) / cells
    old, new = (
        statistics_of_sums([each["sums"][file] for each in facts], units.center, units.scale) for file in (0, 1)
    )
    return mean_of_natures(per_variable, old, new, units.names, request["notes"])


def _refused(params: ThesisInformationLossParams) -> str | None:
    if params.pairing == "nearest":
        return "the nearest original record may be in another part: leave out `pairing: nearest`"
    return weighted_over_parts(params)


PI_OVER_PARTS = Merging(partial=changes_of_part, merged=information_loss_of_parts, refused=_refused)


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


def _values(pairs: Pairs, weights: Weights | None, comparison: Comparison) -> tuple[dict[str, float], Floats]:
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
    claims=MeasureClaims(invariant_to={"records", "columns"}),
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapters 5 and 6, as its published tables compute it",
    summary="Mean relative change of values, means, variances, covariances, and change of correlations (PI1 to PI5).",
)
