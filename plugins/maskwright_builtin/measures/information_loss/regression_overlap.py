"""Linear models of both files, and the overlap of the confidence intervals of their coefficients."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, field_validator

from maskwright import Comparison, Further, InputError, Measure, MeasureClaims, Measurement, Merging
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.partition_moments import StandardUnits
from maskwright_builtin.measures.pairing import WeightedParams, listed, pair_records, weighted_over_parts, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable
    from maskwright_builtin.measures.partition_statistics import Facts, Request
    from maskwright_builtin.numerics.arrays import Floats


MISSING_RULE = "each model uses the records of its own file that have all its variables"
DEPENDENT = 1e-9
"""A predictor of which others leave a smaller share of its variance depends on them exactly."""
_MODEL = re.compile(r"\s*(?P<outcome>[^~]+?)\s*~\s*(?P<predictors>[^~]+?)\s*")


def parsed(model: str) -> tuple[str, tuple[str, ...]]:
    """Outcome and predictors of a model as it is written."""
    found = _MODEL.fullmatch(model)
    if found is None:
        raise ValueError(f"{model!r} is no model: expected `outcome ~ predictor + predictor`")
    predictors = tuple(name.strip() for name in found["predictors"].split("+"))
    if not all(predictors):
        raise ValueError(f"{model!r} is no model: a predictor is missing beside '+'")
    if len({found["outcome"], *predictors}) <= len(predictors):
        raise ValueError(f"{model!r} names a variable twice")
    return found["outcome"], predictors


def not_compared(unknown: list[str], names: Sequence[str]) -> str:
    """Message on variables of a model that are not compared."""
    return f"{listed(unknown)} not among the numeric variables compared: {listed(list(names))}"


def _positions(outcome: str, predictors: tuple[str, ...], names: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    unknown = [name for name in (outcome, *predictors) if name not in names]
    if unknown:
        raise InputError(f"regression_overlap: {not_compared(unknown, names)}")
    return names.index(outcome), tuple(names.index(name) for name in predictors)


def models_of(
    models: Sequence[str], names: tuple[str, ...], empty: Sequence[int], notes: list[str]
) -> list[tuple[int, tuple[int, ...]]]:
    """Outcome and predictors of each model, by position: the models given, or each variable on all the others."""
    if models:
        return [_positions(*parsed(model), names) for model in models]
    if empty:
        notes.append(f"left out of the models, no value in one of the files: {listed([names[j] for j in empty])}")
    used = [j for j in range(len(names)) if j not in empty]
    return [(j, tuple(i for i in used if i != j)) for j in used] if len(used) > 1 else []


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Overlap of each predictor's coefficient, by position, and predictors left out as dependent."""

    overlaps: dict[int, float]
    dependent: list[int]


@dataclass(frozen=True, eq=False)
class ModelMoments:
    """Sums of squares and products of a model's variables about their means, outcome last, and the records used."""

    products: Floats
    records: int


def overlaps_of(original: ModelMoments, masked: ModelMoments, predictors: tuple[int, ...], reach: float) -> Overlaps:
    """Overlap of the intervals of the coefficients of one model."""
    files = original, masked
    kept = _independent(files[0].products[:-1, :-1])
    dependent = [predictors[j] for j in range(len(predictors)) if j not in kept and files[0].products[j, j] > 0.0]
    chosen = [*kept, len(predictors)]
    estimates = [_least_squares(each.products[np.ix_(chosen, chosen)], each.records) for each in files]
    if estimates[0] is None:
        return Overlaps({}, dependent)
    overlaps = {}
    for place, j in enumerate(kept):
        if estimates[1] is None:
            overlaps[predictors[j]] = 0.0
            continue
        (b, se), (other_b, other_se) = ((each[0][place], each[1][place]) for each in (estimates[0], estimates[1]))
        overlaps[predictors[j]] = _overlap(b, reach * se, other_b, reach * other_se)
    return Overlaps(overlaps, dependent)


def model_moments(values: Floats, columns: list[int], weights: Floats | None) -> ModelMoments:
    """Moments of the records that have all variables of a model.

    `values`: shape (n, p). `weights`: shape (n,).
    """
    block = values[:, columns]
    there = ~np.isnan(block).any(axis=1)
    if not there.all():
        block = block[there]
        weights = None if weights is None else weights[there]
    if len(block) < 2 or (weights is not None and not weights.any()):
        return ModelMoments(np.zeros((len(columns), len(columns))), len(block))
    if weights is None:
        centered = block - block.mean(axis=0)
        weighted = centered
    else:
        scaled = weights * (len(block) / weights.sum())
        centered = block - scaled @ block / len(block)
        weighted = centered * scaled[:, None]
    constant = block.min(axis=0) == block.max(axis=0)
    centered[:, constant] = 0.0
    return ModelMoments(weighted.T @ centered, len(block))


def _independent(products: Floats) -> list[int]:
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


def _least_squares(products: Floats, records: int) -> tuple[Floats, Floats] | None:
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


def normal_quantile(share: float) -> float:
    """Quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def mean_overlap(
    of_models: Sequence[tuple[int, Overlaps]], names: tuple[str, ...], notes: Sequence[str]
) -> Measurement:
    """The measure, from the overlaps of all models."""
    notes_of_all = list(notes)
    parts: dict[str, float] = {}
    values: list[float] = []
    of_predictors: dict[str, list[float]] = {}
    dropped: set[str] = set()
    undefined: list[str] = []
    for number, (outcome, found) in enumerate(of_models, 1):
        dropped.update(names[j] for j in found.dependent)
        if not found.overlaps:
            undefined.append(names[outcome])
            continue
        values.append(float(np.mean(list(found.overlaps.values()))))
        for j, overlap in found.overlaps.items():
            label = f"{names[outcome]} ~ {names[j]}"
            parts[label if label not in parts else f"{label} ({number})"] = overlap
            of_predictors.setdefault(names[j], []).append(overlap)
    if dropped:
        notes_of_all.append(
            f"predictors that depend exactly on others were left out of a model: {listed(sorted(dropped))}"
        )
    if undefined:
        notes_of_all.append(f"models without a coefficient (constant or too few records) for: {listed(undefined)}")
    if not values:
        return Measurement(float("nan"), notes=(*notes_of_all, "not defined: no model has a coefficient"))
    per_variable = {name: float(np.mean(each)) for name, each in of_predictors.items()}
    return Measurement(float(np.mean(values)), parts, per_variable, notes=tuple(notes_of_all))


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
    claims=MeasureClaims(uses=_names_used, check=_mistakes, compares_unpaired=True, invariant_to={"affine", "records"}),
    merging=REGRESSION_OVER_PARTS,
    reference="Karr, Kohnen, Oganian, Reiter, Sanil (2006), A framework for evaluating the utility of data altered to "
    "protect confidentiality, The American Statistician 60(3)",
    summary="Overlap of the confidence intervals of regression coefficients fitted on both files.",
)
