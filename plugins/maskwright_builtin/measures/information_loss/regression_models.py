"""Linear models of both files, from sums of squares and products, however these were found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError, Measurement
from maskwright_builtin.measures.pairing import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Say which variables of a model are not compared."""
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
    said = list(notes)
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
        said.append(f"predictors that depend exactly on others were left out of a model: {listed(sorted(dropped))}")
    if undefined:
        said.append(f"models without a coefficient (constant or too few records) for: {listed(undefined)}")
    if not values:
        return Measurement(float("nan"), notes=(*said, "not defined: no model has a coefficient"))
    per_variable = {name: float(np.mean(each)) for name, each in of_predictors.items()}
    return Measurement(float(np.mean(values)), parts, per_variable, notes=tuple(said))
