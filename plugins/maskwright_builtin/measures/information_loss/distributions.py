"""Distances between the distributions of single variables: Kolmogorov-Smirnov and Hellinger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field, field_validator

from maskwright import Comparison, InputError, Measure, MeasureClaims, Measurement, NamesVariables
from maskwright_builtin.measures.information_loss.distribution_distances import (
    HELLINGER_OVER_PARTS,
    KOLMOGOROV_SMIRNOV_OVER_PARTS,
    MISSING_RULE,
    hellinger_distance,
    mean_distance,
    ranks_of_edges,
)
from maskwright_builtin.measures.pairing import WeightedParams, Weights, chosen, pair_records, weights_of
from maskwright_builtin.numerics.ordering import stable_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskwright import Measurable
    from maskwright_builtin.numerics.arrays import Floats, Integers

Column = tuple["Floats", "Floats | None"]
"""Present values of a variable, and their weights."""


class HellingerParams(WeightedParams, extra="forbid", frozen=True):
    """Cells of the distributions, and categorical variables to compare as well."""

    bins: int = Field(
        20, ge=2, le=1000, description="Cells of a numeric variable: intervals that hold equal shares of the original."
    )
    categorical: Annotated[list[Annotated[str, Field(min_length=1)]], NamesVariables()] = Field(
        default_factory=list, description="Categorical variables to compare as well, category by category."
    )

    @field_validator("categorical")
    @classmethod
    def _names_once(cls, categorical: list[str]) -> list[str]:
        if len(set(categorical)) < len(categorical):
            raise ValueError("a variable is named twice")
        return categorical


def kolmogorov_smirnov(comparison: Comparison, params: WeightedParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Largest difference between the distribution functions of both files, mean over variables, in percent.

        KS = 100 max_t abs(F(t) - F'(t))

    with F the share of records at or below t. 0 for the original data, 100 when all values lie beyond the original's.
    No significance is given: masked and original records are not independent samples.

    Weighted: F is the share of the weights. Missing cells: each file uses its present values.

    Returns
    -------
    Measurement
        `per_variable` holds KS of each variable, `parts` their ``mean`` and ``largest``; `value` is the mean.
    """
    return _by_variable(comparison, params, "kolmogorov_smirnov", _largest_difference)


def hellinger(comparison: Comparison, params: HellingerParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Hellinger distance between the distributions of a variable in both files, mean over variables, in percent.

        H = 100 sqrt(1 - sum_c sqrt(p_c p'_c))

    with p_c the share of the records in cell c. Cells of a numeric variable are intervals between quantiles of the
    original, the outer ones open; values that occur often share an interval. 0 when all shares agree, 100 when no cell
    is used by both files.

    Weighted: shares of the weights. Missing cells: each file uses its present values; in a categorical variable missing
    is a category of its own.

    Returns
    -------
    Measurement
        `per_variable` holds H of each variable (of `categorical` ones in `parts`), `parts` also their ``mean`` and
        ``largest``; `value` is the mean over all.

    Raises
    ------
    InputError
        A variable in `categorical` is numeric, or not in a file.
    """

    def distance(old: Column, new: Column) -> float:
        ranks = ranks_of_edges(len(old[0]), params.bins)
        edges = np.unique(np.partition(old[0], ranks)[ranks])
        cells = len(edges) + 1
        return hellinger_distance(
            *(_shares(np.searchsorted(edges, values, side="left"), w, cells) for values, w in (old, new))
        )

    others = {}
    weights = weights_of(comparison, "hellinger", weighted=params.weighted)
    for name in params.categorical:
        if name in comparison.variables:
            raise InputError(f"hellinger: {_compared_already(name)}")
        old, new = comparison.keys(name)
        cells = int(max(old.max(initial=-1), new.max(initial=-1))) + 2
        files = (old, None if weights is None else weights.original), (new, None if weights is None else weights.masked)
        others[name] = 100.0 * hellinger_distance(*(_shares(codes + 1, counts, cells) for codes, counts in files))
    return _by_variable(comparison, params, "hellinger", distance, others)


def _compared_already(name: str) -> str:
    return f"{name!r} is numeric and compared already; `categorical` is for categories"


def _hellinger_uses(params: HellingerParams, given: Measurable) -> tuple[str, ...]:
    return (*given.compared, *params.categorical)


def _hellinger_mistakes(params: HellingerParams, given: Measurable) -> Iterator[tuple[str, str]]:
    yield from (("categorical", _compared_already(name)) for name in params.categorical if name in given.compared)


def _by_variable(
    comparison: Comparison,
    params: WeightedParams,
    measure: str,
    distance: Callable[[Column, Column], float],
    others: dict[str, float] | None = None,
) -> Measurement:
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, measure, weighted=params.weighted)
    notes = list(pairs.notes)
    per_variable: dict[str, float] = {}
    for j, name in enumerate(pairs.names):
        old, new = _present(pairs.original[:, j], weights, "original"), _present(pairs.masked[:, j], weights, "masked")
        if all(values.size and (counts is None or counts.any()) for values, counts in (old, new)):
            per_variable[name] = 100.0 * distance(old, new)
        comparison.progress((j + 1) / pairs.p)
    return mean_distance(pairs.names, per_variable, others or {}, notes)


def _present(column: Floats, weights: Weights | None, file: str) -> Column:
    there = ~np.isnan(column)
    return column[there], None if weights is None else chosen(getattr(weights, file), there)


def _largest_difference(old: Column, new: Column) -> float:
    if old[1] is None or new[1] is None:
        first, other = np.sort(old[0]), np.sort(new[0])
        return max(
            _above(first, other, np.arange(1, len(first) + 1) / len(first)),
            _above(other, first, np.arange(1, len(other) + 1) / len(other)),
        )
    (first, of_first), (other, of_other) = _cumulated(*old), _cumulated(*new)
    points = np.union1d(first, other)
    shares = [
        np.append(0.0, share)[np.searchsorted(values, points, side="right")]
        for values, share in ((first, of_first), (other, of_other))
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def _above(first: Floats, other: Floats, share: Floats) -> float:
    """How far the distribution function of `first` rises above that of `other`: at a value of `first`, if anywhere."""
    beyond = np.searchsorted(other, first, side="right") / len(other)
    # Of equal values the last has the share of all of them, which is the largest.
    return float(max(0.0, (share - beyond).max()))


def _cumulated(values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    order = stable_order(values)
    assert weights is not None
    total = np.cumsum(weights[order])
    return values[order], total / total[-1]


def _shares(cells: Integers, weights: Floats | None, count: int) -> Floats:
    counted = np.bincount(cells, weights=weights, minlength=count)
    shares: Floats = counted / counted.sum()
    return shares


KOLMOGOROV_SMIRNOV = Measure(
    name="kolmogorov_smirnov",
    compute=kolmogorov_smirnov,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=WeightedParams,
    claims=MeasureClaims(compares_unpaired=True, invariant_to={"affine", "records", "columns"}),
    merging=KOLMOGOROV_SMIRNOV_OVER_PARTS,
    reference="Kolmogorov (1933), Smirnov (1948); as a utility measure: Woo, Reiter, Oganian, Karr (2009), Global "
    "measures of data utility for microdata masked for disclosure limitation, J. Privacy and Confidentiality 1(1)",
    summary="Largest difference between the distribution functions of each variable.",
)
HELLINGER = Measure(
    name="hellinger",
    compute=hellinger,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=HellingerParams,
    claims=MeasureClaims(
        uses=_hellinger_uses,
        check=_hellinger_mistakes,
        compares_unpaired=True,
        invariant_to={"affine", "records", "columns"},
    ),
    merging=HELLINGER_OVER_PARTS,
    reference="Hellinger (1909); as a utility measure: Gomatam, Karr, Sanil (2005), Data swapping as a decision "
    "problem, Journal of Official Statistics 21(4)",
    summary="Hellinger distance between the distributions of each variable.",
)
