"""Regression coefficients of a file in parts: sums of squares and products of the variables of each model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, Measurement, Merging
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.over_parts import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.regression_models import (
    MISSING_RULE,
    ModelMoments,
    mean_overlap,
    models_of,
    normal_quantile,
    overlaps_of,
)
from maskwright_builtin.measures.information_loss.standard_units import StandardUnits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.regression_overlap import RegressionOverlapParams

Facts = dict[str, Any]


def models_of_part(comparison: Comparison, params: RegressionOverlapParams, asked: Mapping[str, Any] | None) -> Facts:
    """Moments of one part in the first round, then products of the variables of each model."""
    if asked is None:
        return moments_of_part(comparison, params, None)
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    units = StandardUnits.from_json(asked["units"])
    scaled = [(each - units.center) / units.scale for each in (pairs.original, pairs.masked)]
    return {"sets": [[_sums(file[:, columns]) for file in scaled] for columns in asked["sets"]]}


def _sums(values: NDArray[np.float64]) -> Facts:
    """Records with all these variables, sums of values and of products, and extremes."""
    rows = values[~np.isnan(values).any(axis=1)]
    ends = [rows.min(axis=0).tolist(), rows.max(axis=0).tolist()] if len(rows) else None
    return {
        "records": len(rows), "first": rows.sum(axis=0).tolist(), "ends": ends,
        "products": np.einsum("ni,nj->ij", rows, rows).tolist(),
    }  # fmt: skip


def overlap_of_parts(
    facts: Sequence[Mapping[str, Any]], params: RegressionOverlapParams, asked: Mapping[str, Any] | None
) -> Measurement | Further:
    """The measure `regression_overlap` of a file in parts."""
    if asked is None:
        units, notes = StandardUnits.of(facts), missing_notes(facts, MISSING_RULE)
        models = models_of(params.models, units.names, units.empty, notes)
        if not models:
            return Measurement(math.nan, notes=(*notes, "not defined: a model needs two variables"))
        # Models of the same variables share their sums, whichever of these is the outcome.
        sets = list(dict.fromkeys(tuple(sorted((outcome, *others))) for outcome, others in models))
        return Further({"units": units.to_json(), "notes": notes, "sets": [list(each) for each in sets]})
    units = StandardUnits.from_json(asked["units"])
    models = models_of(params.models, units.names, units.empty, [])
    sets = [tuple(each) for each in asked["sets"]]
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
    return mean_overlap(found, units.names, asked["notes"])


def _moments(parts: Sequence[Mapping[str, Any]], scale: NDArray[np.float64]) -> ModelMoments:
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
