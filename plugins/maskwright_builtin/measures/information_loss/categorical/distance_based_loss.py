"""Distance-based information loss of categories (DBIL): how far each value was moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.weighting import mean
from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
    NOTHING,
    CategoricalParams,
    categorical_files,
    variable_mistakes,
    variables_used,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
        CategoricalFiles,
        Categories,
    )


class DistanceBasedLossParams(CategoricalParams, extra="forbid", frozen=True):
    """The variables, and how far apart categories of an ordinal one are."""

    ordered: Literal["steps", "mid_ranks"] = Field(
        "steps",
        description="Distance of categories of an ordinal variable, from 0 to 1. steps: their places in the order, "
        "over the number of categories less one. mid_ranks: their mean ranks among the original records, over n - 1: "
        "a step over a frequent category is longer.",
    )


def distance_based_loss(
    comparison: Comparison,
    params: DistanceBasedLossParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Mean distance of masked categories from the original ones, in percent of the largest one (DBIL).

        DBIL = 100 / (n q) sum over records and the q variables of d(x, x')

    with d = 0 for equal and 1 for different categories of a nominal variable, and ``|step| / (c - 1)`` for the c
    categories of an ordinal one (or by mid-ranks, see the parameter). A missing cell is at distance 0 from a missing
    one and 1 from any other.

    A recoded variable is nominal here: its original values are taken as the published categories they were recoded to.
    Weighted: records count by their weights.

    Parameters
    ----------
    comparison : Comparison
    params : DistanceBasedLossParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has the ``sum`` over records and variables; `per_variable` the mean of each variable in percent;
        `per_record` the mean over variables in percent. There is no interval: it compares these two files.

    Raises
    ------
    UnpairedRecords
    """
    comparison.require_pairs("distance_based_loss compares each masked record with its own original")
    files = categorical_files(comparison, params, "distance_based_loss")
    if not files.variables or not all(files.records):
        return Measurement(float("nan"), notes=(*files.notes, NOTHING))
    weights = None if files.weights is None else files.weights.masked
    per_variable: dict[str, float] = {}
    per_record = np.zeros(files.records[1])
    for position, variable in enumerate(files.variables):
        places = _places(comparison, variable, params.ordered)
        distance = _distances(files, variable, places)
        per_variable[variable.name] = 100.0 * mean(distance, weights)
        per_record += distance
        comparison.progress((position + 1) / len(files.variables))
    total = float(per_record.sum() if weights is None else np.dot(per_record, weights))
    per_record *= 100.0 / len(files.variables)
    notes = list(files.notes)
    if params.ordered == "mid_ranks" and all(_order(comparison, each.name) is None for each in files.variables):
        notes.append("mid-ranks are for ordinal variables, and there is none: declare them as `type: ordinal`")
    return Measurement(float(np.mean(list(per_variable.values()))), {"sum": total}, per_variable, per_record,
                       notes=tuple(notes))  # fmt: skip


def _order(comparison: Comparison, name: str) -> tuple[str, ...] | None:
    """Categories of an ordinal variable, in order; None for others, recoded ones among them."""
    before, after = comparison.original[name].variable, comparison.masked[name].variable
    known = before.type == "ordinal" and not after.is_numeric and set(after.categories) <= set(before.categories)
    return before.categories if known else None


def _places(
    comparison: Comparison, variable: Categories, ordered: Literal["steps", "mid_ranks"]
) -> NDArray[np.float64] | None:
    """Place between 0 and 1 of each code of an ordinal variable, NaN for missing cells; None for a nominal one."""
    order = _order(comparison, variable.name)
    if order is None:
        return None
    places = np.full(variable.size, np.nan)
    before, after = comparison.original[variable.name], comparison.masked[variable.name]
    position = {category: place for place, category in enumerate(after.variable.categories)}
    after_place = np.full(len(order), -1)
    for place, category in enumerate(order):
        after_place[place] = position.get(category, -1)
    scale = np.arange(len(order), dtype=np.float64) / max(1, len(order) - 1)
    if ordered == "mid_ranks":
        counts = np.bincount(before.values[~before.missing].astype(np.int64), minlength=len(order))
        ranks = np.cumsum(counts) - counts + (counts + 1) / 2.0
        scale = ranks / max(1, int(counts.sum()) - 1)
    for column, codes, known in (
        (before, variable.original, np.arange(len(order))),
        (after, variable.masked, after_place),
    ):
        there = ~column.missing
        of_code = np.full(len(column.variable.categories), -1)
        values = column.values[there].astype(np.int64)
        of_code[values] = codes[there]
        for place, code in enumerate(known):
            if code >= 0 and of_code[code] >= 0:
                places[of_code[code]] = scale[place]
    return places


def _distances(
    files: CategoricalFiles, variable: Categories, places: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Distance of each masked record from its original; shape (m,)."""
    old, new = files.originals(variable), variable.masked
    differs: NDArray[np.float64] = np.not_equal(old, new).astype(np.float64)
    if places is None:
        return differs
    apart = np.abs(places[old] - places[new])
    return np.asarray(np.where(np.isnan(apart), differs, apart), dtype=np.float64)


DISTANCE_BASED_LOSS = Measure(
    name="distance_based_loss",
    compute=distance_based_loss,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=DistanceBasedLossParams,
    uses=variables_used,
    check=variable_mistakes,
    invariant_to={"affine", "records", "columns"},
    reference="Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata, in "
    "Doyle et al. (eds.), Confidentiality, Disclosure and Data Access, Elsevier, 91-110 (direct comparison); Podani "
    "(1999), Extending Gower's general coefficient of similarity to ordinal characters, Taxon 48(2), 331-340",
    summary="Mean distance of masked categories from the original ones, nominal or ordinal (DBIL).",
)
