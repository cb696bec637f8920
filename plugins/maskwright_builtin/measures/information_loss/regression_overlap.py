"""Regression coefficients: how much of their confidence intervals in both files overlaps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, field_validator

from maskwright import Comparison, InputError, Measure, Measurement
from maskwright_builtin.measures.common.pairing import Pairs, listed, pair_records
from maskwright_builtin.measures.common.weighting import WeightedParams, Weights, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright import Measurable

MISSING_RULE = "each model uses the records of its own file that have all its variables"
DEPENDENT = 1e-9
"""A predictor of which others leave a smaller share of its variance depends on them exactly."""
_MODEL = re.compile(r"\s*(?P<outcome>[^~]+?)\s*~\s*(?P<predictors>[^~]+?)\s*")


class RegressionOverlapParams(WeightedParams, extra="forbid", frozen=True):
    """Which models an analyst would fit."""

    models: list[str] = Field(
        default_factory=list,
        description="Linear models as `outcome ~ predictor + predictor`, with an intercept. Left out: every compared "
        "variable on all the others.",
    )
    confidence: float = Field(0.95, gt=0, lt=1, description="Of the confidence intervals.")

    @field_validator("models")
    @classmethod
    def _are_models(cls, models: list[str]) -> list[str]:
        for model in models:
            _parsed(model)
        if len({_parsed(model) for model in models}) < len(models):
            raise ValueError("a model is listed twice")
        return models


def regression_overlap(
    comparison: Comparison,
    params: RegressionOverlapParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Mean overlap of the confidence intervals of regression coefficients in both files, in percent.

    For a coefficient with intervals (l, u) in the original and (l', u') in the masked file

        J = 50 [ o / (u - l) + o / (u' - l') ],   o = max(0, min(u, u') - max(l, l'))

    100 when both intervals are the same, 0 when they are apart. An analyst of the masked file then comes to the same
    conclusions where J is high. Intervals are those of ordinary least squares with normal quantiles; the intercept is
    fitted and not counted. The value is the mean over the coefficients of a model, then over models.

    Exactly dependent predictors (a total and its items) have no coefficient of their own: the later ones, as the model
    names them, are left out with a note, and likewise a model whose outcome the predictors determine exactly counts by
    its coefficients: the same ones are 100, others 0.

    Weighted: weighted least squares, with weights scaled to the number of records; the errors are those of the model,
    not of a complex design.

    Missing cells: each model uses the records of each file that have all its variables.

    Parameters
    ----------
    comparison : Comparison
    params : RegressionOverlapParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has J of each coefficient as ``outcome ~ predictor``, with the number of the model when it is not
        unique; `per_variable` the mean over the coefficients of a predictor.
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "regression_overlap", weighted=params.weighted)
    notes = list(pairs.notes)
    models = [_positions(*_parsed(model), pairs) for model in params.models] or _every_variable(pairs, notes)
    if not models:
        return Measurement(float("nan"), notes=(*notes, "not defined: a model needs two variables"))
    reach = _normal_quantile(0.5 + params.confidence / 2.0)
    parts: dict[str, float] = {}
    of_models: list[float] = []
    of_predictors: dict[str, list[float]] = {}
    dropped: set[str] = set()
    undefined: list[str] = []
    for number, (outcome, predictors) in enumerate(models, 1):
        comparison.progress((number - 1) / len(models))
        found = _compare(pairs, weights, outcome, predictors, reach)
        dropped.update(pairs.names[j] for j in found.dependent)
        if not found.overlaps:
            undefined.append(pairs.names[outcome])
            continue
        of_models.append(float(np.mean(list(found.overlaps.values()))))
        for j, overlap in found.overlaps.items():
            label = f"{pairs.names[outcome]} ~ {pairs.names[j]}"
            parts[label if label not in parts else f"{label} ({number})"] = overlap
            of_predictors.setdefault(pairs.names[j], []).append(overlap)
    comparison.progress(1.0)
    if dropped:
        notes.append(f"predictors that depend exactly on others were left out of a model: {listed(sorted(dropped))}")
    if undefined:
        notes.append(f"models without a coefficient (constant or too few records) for: {listed(undefined)}")
    if not of_models:
        return Measurement(float("nan"), notes=(*notes, "not defined: no model has a coefficient"))
    per_variable = {name: float(np.mean(values)) for name, values in of_predictors.items()}
    return Measurement(float(np.mean(of_models)), parts, per_variable, notes=tuple(notes))


def _parsed(model: str) -> tuple[str, tuple[str, ...]]:
    found = _MODEL.fullmatch(model)
    if found is None:
        raise ValueError(f"{model!r} is no model: expected `outcome ~ predictor + predictor`")
    predictors = tuple(name.strip() for name in found["predictors"].split("+"))
    if not all(predictors):
        raise ValueError(f"{model!r} is no model: a predictor is missing beside '+'")
    if len({found["outcome"], *predictors}) <= len(predictors):
        raise ValueError(f"{model!r} names a variable twice")
    return found["outcome"], predictors


def _names_used(params: RegressionOverlapParams, given: Measurable) -> Sequence[str]:
    named = [name for model in params.models for name in (_parsed(model)[0], *_parsed(model)[1])]
    return list(dict.fromkeys(named)) or given.compared


def _mistakes(params: RegressionOverlapParams, given: Measurable) -> Iterator[tuple[str, str]]:
    unknown = [name for name in _names_used(params, given) if name not in given.compared]
    if unknown:
        yield "models", _not_compared(unknown, given.compared)


def _not_compared(unknown: list[str], names: Sequence[str]) -> str:
    return f"{listed(unknown)} not among the numeric variables compared: {listed(list(names))}"


def _positions(outcome: str, predictors: tuple[str, ...], pairs: Pairs) -> tuple[int, tuple[int, ...]]:
    unknown = [name for name in (outcome, *predictors) if name not in pairs.names]
    if unknown:
        raise InputError(f"regression_overlap: {_not_compared(unknown, pairs.names)}")
    return pairs.names.index(outcome), tuple(pairs.names.index(name) for name in predictors)


def _every_variable(pairs: Pairs, notes: list[str]) -> list[tuple[int, tuple[int, ...]]]:
    """Each variable on all the others, of those that have values in both files."""
    empty = [j for j in range(pairs.p) if any(np.isnan(file[:, j]).all() for file in (pairs.original, pairs.masked))]
    if empty:
        notes.append(f"left out of the models, no value in one of the files: {listed([pairs.names[j] for j in empty])}")
    used = [j for j in range(pairs.p) if j not in empty]
    return [(j, tuple(i for i in used if i != j)) for j in used] if len(used) > 1 else []


@dataclass(frozen=True, eq=False)
class _Overlaps:
    """Overlap of each predictor's coefficient, by position, and predictors left out as dependent."""

    overlaps: dict[int, float]
    dependent: list[int]


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums of squares and products of a model's variables about their means, outcome last, and the records used."""

    products: NDArray[np.float64]
    records: int


def _compare(
    pairs: Pairs, weights: Weights | None, outcome: int, predictors: tuple[int, ...], reach: float
) -> _Overlaps:
    columns = [*predictors, outcome]
    files = (
        _moments(pairs.original, columns, None if weights is None else weights.original),
        _moments(pairs.masked, columns, None if weights is None else weights.masked),
    )
    kept = _independent(files[0].products[:-1, :-1])
    dependent = [predictors[j] for j in range(len(predictors)) if j not in kept and files[0].products[j, j] > 0.0]
    chosen = [*kept, len(columns) - 1]
    estimates = [_least_squares(each.products[np.ix_(chosen, chosen)], each.records) for each in files]
    if estimates[0] is None:
        return _Overlaps({}, dependent)
    overlaps = {}
    for place, j in enumerate(kept):
        if estimates[1] is None:
            overlaps[predictors[j]] = 0.0
            continue
        (b, se), (other_b, other_se) = ((each[0][place], each[1][place]) for each in (estimates[0], estimates[1]))
        overlaps[predictors[j]] = _overlap(b, reach * se, other_b, reach * other_se)
    return _Overlaps(overlaps, dependent)


def _moments(values: NDArray[np.float64], columns: list[int], weights: NDArray[np.float64] | None) -> _Moments:
    block = values[:, columns]
    there = ~np.isnan(block).any(axis=1)
    if not there.all():
        block = block[there]
        weights = None if weights is None else weights[there]
    if len(block) < 2 or (weights is not None and not weights.any()):
        return _Moments(np.zeros((len(columns), len(columns))), len(block))
    if weights is None:
        centered = block - block.mean(axis=0)
        weighted = centered
    else:
        scaled = weights * (len(block) / weights.sum())
        centered = block - scaled @ block / len(block)
        weighted = centered * scaled[:, None]
    constant = block.min(axis=0) == block.max(axis=0)
    centered[:, constant] = 0.0
    return _Moments(weighted.T @ centered, len(block))


def _independent(products: NDArray[np.float64]) -> list[int]:
    """Predictors in their order, without constant ones and those that earlier ones determine."""
    scale = np.sqrt(np.diag(products))
    kept: list[int] = []
    for j in range(len(scale)):
        if scale[j] == 0.0:
            continue
        own = products[np.ix_([*kept, j], [*kept, j])] / np.outer(scale[[*kept, j]], scale[[*kept, j]])
        left = 1.0 - (own[-1, :-1] @ np.linalg.solve(own[:-1, :-1], own[:-1, -1]) if kept else 0.0)
        if left > DEPENDENT:
            kept.append(j)
    return kept


def _least_squares(
    products: NDArray[np.float64], records: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Coefficients and standard errors; None when they are not determined."""
    p = len(products) - 1
    freedom = records - p - 1
    scale = np.sqrt(np.diag(products))
    if p == 0 or freedom < 1 or not scale[:-1].all():
        return None
    matrix = products[:-1, :-1] / np.outer(scale[:-1], scale[:-1])
    if np.linalg.eigvalsh(matrix)[0] <= DEPENDENT**2:
        return None
    inverse = np.linalg.inv(matrix)
    own = inverse @ (products[:-1, -1] / scale[:-1])
    left = max(0.0, float(products[-1, -1] - products[:-1, -1] / scale[:-1] @ own))
    if left <= DEPENDENT * products[-1, -1]:
        left = 0.0
    errors = np.sqrt(left / freedom * np.diag(inverse))
    return own / scale[:-1], errors / scale[:-1]


def _overlap(b: float, half: float, other_b: float, other_half: float) -> float:
    if half == 0.0 and other_half == 0.0:
        return 100.0 if abs(b - other_b) <= 1e-6 * max(abs(b), abs(other_b)) else 0.0
    common = max(0.0, min(b + half, other_b + other_half) - max(b - half, other_b - other_half))
    inside = 1.0 if abs(b - other_b) <= max(half, other_half) else 0.0
    # An interval of no width overlaps the other by all of itself when it lies inside.
    shares = [common / (2.0 * each) if each > 0.0 else inside for each in (half, other_half)]
    return 100.0 * min(1.0, sum(shares) / 2.0)


def _normal_quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


REGRESSION_OVERLAP = Measure(
    name="regression_overlap",
    compute=regression_overlap,
    kind="loss",
    unit="percent",
    direction="higher",
    range=(0.0, 100.0),
    params=RegressionOverlapParams,
    uses=_names_used,
    check=_mistakes,
    compares_unpaired=True,
    invariant_to={"affine", "records"},
    reference="Karr, Kohnen, Oganian, Reiter, Sanil (2006), A framework for evaluating the utility of data altered to "
    "protect confidentiality, The American Statistician 60(3)",
    summary="Overlap of the confidence intervals of regression coefficients fitted on both files.",
)
