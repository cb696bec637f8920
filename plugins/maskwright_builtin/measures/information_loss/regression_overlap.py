"""Overlap of the confidence intervals of regression coefficients, also of a file in partitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, field_validator

from maskwright import Comparison, Further, Measure, Measurement, Merging
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.partition_moments import StandardUnits
from maskwright_builtin.measures.information_loss.regression_models import (
    MISSING_RULE,
    ModelMoments,
    Overlaps,
    mean_overlap,
    model_moments,
    models_of,
    normal_quantile,
    not_compared,
    overlaps_of,
    parsed,
)
from maskwright_builtin.measures.pairing import WeightedParams, pair_records, weighted_over_parts, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable
    from maskwright_builtin.measures.partition_statistics import Facts, Request
    from maskwright_builtin.numerics.arrays import Floats


def models_of_part(comparison: Comparison, params: RegressionOverlapParams, request: Request) -> Facts:
    """Moments of one part in the first round, then products of the variables of each model."""
    if request is None:
        return moments_of_part(comparison, params, None)
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    units = StandardUnits.from_json(request["units"])
    scaled = [(each - units.center) / units.scale for each in (pairs.original, pairs.masked)]
    return {"sets": [[_sums(file[:, columns]) for file in scaled] for columns in request["sets"]]}


def _sums(values: Floats) -> Facts:
    """Records with all these variables, sums of values and of products, and extremes."""
    rows = values[~np.isnan(values).any(axis=1)]
    ends = [rows.min(axis=0).tolist(), rows.max(axis=0).tolist()] if len(rows) else None
    return {
        "records": len(rows), "first": rows.sum(axis=0).tolist(), "ends": ends,
        "products": np.einsum("ni,nj->ij", rows, rows).tolist(),
    }  # fmt: skip


def overlap_of_parts(
    facts: Sequence[Facts], params: RegressionOverlapParams, request: Request
) -> Measurement | Further:
    """The measure `regression_overlap` of a file in parts."""
    if request is None:
        units, notes = StandardUnits.of(facts), missing_notes(facts, MISSING_RULE)
        models = models_of(params.models, units.names, units.empty, notes)
        if not models:
            return Measurement(math.nan, notes=(*notes, "not defined: a model needs two variables"))
        # Models of the same variables share their sums, whichever of these is the outcome.
        sets = list(dict.fromkeys(tuple(sorted((outcome, *others))) for outcome, others in models))
        return Further({"units": units.to_json(), "notes": notes, "sets": [list(each) for each in sets]})
    units = StandardUnits.from_json(request["units"])
    models = models_of(params.models, units.names, units.empty, [])
    sets = [tuple(each) for each in request["sets"]]
    both = [
        [_moments([each["sets"][at][file] for each in facts], units.scale[list(columns)]) for file in (0, 1)]
        for at, columns in enumerate(sets)
    ]
    reach = normal_quantile(0.5 + params.confidence / 2.0)
    found = []
    for outcome, others in models:
        columns = tuple(sorted((outcome, *others)))
        places = [columns.index(j) for j in (*others, outcome)]
        old, new = (
            ModelMoments(each.products[np.ix_(places, places)], each.records) for each in both[sets.index(columns)]
        )
        found.append((outcome, overlaps_of(old, new, others, reach)))
    return mean_overlap(found, units.names, request["notes"])


def _moments(parts: Sequence[Facts], scale: Floats) -> ModelMoments:
    records = sum(each["records"] for each in parts)
    first = np.sum([each["first"] for each in parts], axis=0)
    products = np.sum([each["products"] for each in parts], axis=0)
    if records < 2:
        return ModelMoments(np.zeros_like(products), records)
    products = (products - np.outer(first, first) / records) * np.outer(scale, scale)
    ends = [each["ends"] for each in parts if each["ends"]]
    constant = np.min([each[0] for each in ends], axis=0) == np.max([each[1] for each in ends], axis=0)
    products[constant, :] = products[:, constant] = 0.0
    return ModelMoments(products, records)


REGRESSION_OVER_PARTS = Merging(partial=models_of_part, merged=overlap_of_parts, refused=weighted_over_parts)


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
            parsed(model)
        if len({parsed(model) for model in models}) < len(models):
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

    Returns
    -------
    Measurement
        `parts` has J of each coefficient as ``outcome ~ predictor``, with the number of the model when it is not
        unique; `per_variable` the mean over the coefficients of a predictor.
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "regression_overlap", weighted=params.weighted)
    notes = list(pairs.notes)
    empty = [j for j in range(pairs.p) if any(np.isnan(file[:, j]).all() for file in (pairs.original, pairs.masked))]
    models = models_of(params.models, pairs.names, empty, notes)
    if not models:
        return Measurement(float("nan"), notes=(*notes, "not defined: a model needs two variables"))
    of_models: list[tuple[int, Overlaps]] = []
    reach = normal_quantile(0.5 + params.confidence / 2.0)
    for number, (outcome, predictors) in enumerate(models, 1):
        comparison.progress((number - 1) / len(models))
        columns = [*predictors, outcome]
        files = (
            model_moments(pairs.original, columns, None if weights is None else weights.original),
            model_moments(pairs.masked, columns, None if weights is None else weights.masked),
        )
        of_models.append((outcome, overlaps_of(*files, predictors, reach)))
    comparison.progress(1.0)
    return mean_overlap(of_models, pairs.names, notes)


def _names_used(params: RegressionOverlapParams, given: Measurable) -> Sequence[str]:
    named = [name for model in params.models for name in (parsed(model)[0], *parsed(model)[1])]
    return list(dict.fromkeys(named)) or given.compared


def _mistakes(params: RegressionOverlapParams, given: Measurable) -> Iterator[tuple[str, str]]:
    unknown = [name for name in _names_used(params, given) if name not in given.compared]
    if unknown:
        yield "models", not_compared(unknown, given.compared)


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
    merging=REGRESSION_OVER_PARTS,
    invariant_to={"affine", "records"},
    reference="Karr, Kohnen, Oganian, Reiter, Sanil (2006), A framework for evaluating the utility of data altered to "
    "protect confidentiality, The American Statistician 60(3)",
    summary="Overlap of the confidence intervals of regression coefficients fitted on both files.",
)
