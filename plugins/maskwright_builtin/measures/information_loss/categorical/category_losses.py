"""Losses in categories: distance-based (DBIL), entropy-based (EBIL), and change of Cramer's V."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, MeasureClaims, Measurement, MeasureTable
from maskwright_builtin.measures.information_loss.categorical.category_codes import (
    NOTHING,
    CategoricalParams,
    categorical_files,
    plain_codes,
    variable_mistakes,
    variables_used,
)
from maskwright_builtin.measures.information_loss.categorical.contingency_tables import tables
from maskwright_builtin.measures.pairing import listed, mean, weights_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright_builtin.measures.information_loss.categorical.category_codes import (
        CategoricalFiles,
        Categories,
    )
    from maskwright_builtin.numerics.arrays import Floats, Integers


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


def _places(comparison: Comparison, variable: Categories, ordered: Literal["steps", "mid_ranks"]) -> Floats | None:
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


def _distances(files: CategoricalFiles, variable: Categories, places: Floats | None) -> Floats:
    """Distance of each masked record from its original; shape (m,)."""
    old, new = files.originals(variable), variable.masked
    differs: Floats = np.not_equal(old, new).astype(np.float64)
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
    claims=MeasureClaims(uses=variables_used, check=variable_mistakes, invariant_to={"affine", "records", "columns"}),
    reference="Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata, in "
    "Doyle et al. (eds.), Confidentiality, Disclosure and Data Access, Elsevier, 91-110 (direct comparison); Podani "
    "(1999), Extending Gower's general coefficient of similarity to ordinal characters, Taxon 48(2), 331-340",
    summary="Mean distance of masked categories from the original ones, nominal or ordinal (DBIL).",
)


def entropy_based_loss(comparison: Comparison, params: CategoricalParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Uncertainty about the original categories that is left when the published ones are known (EBIL), in percent.

        EBIL of a variable = sum over records of H(V | V' = x'),   H = -sum_v p(v | x') log2 p(v | x')

    with p(v | x') the share of original value v among the records that publish x': the joint table of both files. In
    percent of ``n log2 c``, the most that c different original values allow; `value` is the mean over variables. 0
    where the published value tells the original one.

    It is the detail that recoding and suppression take away, too: the original values are not recoded, and a missing
    published cell is a category from which the original one is to be guessed. It knows which original value each
    published one came from, which a user does not: a variable whose categories were exchanged throughout loses nothing.
    A number that was recoded to bands is measured by its different values.

    Weighted: records count by their weights.

    Returns
    -------
    Measurement
        `parts` has ``bits``, the sum over records and variables, and ``bits_per_record``; `per_variable` the percent of
        each variable; `per_record` the bits of each masked record, over all variables. There is no interval: it
        compares these two files.

    Raises
    ------
    UnpairedRecords
    """
    comparison.require_pairs("entropy_based_loss compares each masked record with its own original")
    names = comparison.categorical if params.variables is None else tuple(dict.fromkeys(params.variables))
    m = len(comparison.masked)
    if not names or not m:
        return Measurement(float("nan"), notes=(NOTHING,))
    weights = weights_of(comparison, "entropy_based_loss", weighted=params.weighted)
    own = None if weights is None else weights.masked
    origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
    per_variable: dict[str, float] = {}
    per_record = np.zeros(m)
    for position, name in enumerate(names):
        old, new = plain_codes(comparison.original[name]) + 1, plain_codes(comparison.masked[name]) + 1
        different = len(np.unique(old))
        bits = conditional_entropy(old if origin is None else old[origin], new, own)
        total = float(bits.sum() if own is None else np.dot(bits, own))
        per_variable[name] = 100.0 * total / (m * math.log2(different)) if different > 1 else 0.0
        per_record += bits
        comparison.progress((position + 1) / len(names))
    everything = float(per_record.sum() if own is None else np.dot(per_record, own))
    never = [name for name in names if comparison.original[name].missing.all()]
    notes = ["a missing cell counts as a category"]
    if never:
        notes.append(f"no record of the original has a value, nothing can be lost: {listed(never)}")
    parts = {"bits": everything, "bits_per_record": everything / m}
    return Measurement(float(np.mean(list(per_variable.values()))), parts, per_variable, per_record, notes=tuple(notes))


def conditional_entropy(old: Integers, new: Integers, weights: Floats | None = None) -> Floats:
    """Bits of uncertainty about the old code of each record, given its new one; shape (m,).

    `old`, `new`: codes 0, 1, ; shape (m,). `weights`: shape (m,).
    """
    span = int(old.max()) + 1
    pairs, pair = np.unique(new * span + old, return_inverse=True)
    joint = np.bincount(pair, weights, len(pairs)).astype(np.float64)
    given = pairs // span
    total = np.bincount(given, joint)
    there = joint > 0.0
    share = joint[there] / total[given[there]]
    entropy = np.bincount(given[there], -share * np.log2(share), len(total))
    # Rounding may leave a certain value with less than nothing.
    return np.maximum(entropy, 0.0)[new]


ENTROPY_BASED_LOSS = Measure(
    name="entropy_based_loss",
    compute=entropy_based_loss,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=CategoricalParams,
    claims=MeasureClaims(uses=variables_used, check=variable_mistakes, invariant_to={"affine", "records", "columns"}),
    reference="Kooiman, Willenborg and Gouweleeuw (1998), PRAM: a method for disclosure limitation of microdata, "
    "Statistics Netherlands; Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for "
    "microdata, Elsevier, 91-110 (EBIL)",
    summary="What is no longer known of the original categories, given the published ones, in bits and percent (EBIL).",
)


MOST_DRAWN = 12
"""Pairs in the table, those that change most."""


def cramers_v(comparison: Comparison, params: CategoricalParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Mean absolute change of Cramer's V over the pairs of variables.

        V = sqrt(chi2 / (N (min(r, c) - 1)))

    of each pair in each file, r and c its categories that occur there: 0 for independent variables, 1 where one tells
    the other. A variable with one category has no association; its pairs are left out.

    A missing cell is a category. Recoded variables are compared on the published categories. Weighted: weighted counts,
    scaled to the number of records.

    Returns
    -------
    Measurement
        `parts`: ``largest`` change, ``mean_original`` and ``mean_masked`` V. `per_variable`: mean change over the pairs
        of each variable. `tables`: V of the pairs that change most, in both files. A note names the first. There
        is no interval: it compares these two files.
    """
    files = categorical_files(comparison, params, "cramers_v")
    if len(files.variables) < 2 or not all(files.records):
        few = "not defined: an association needs two categorical variables"
        return Measurement(float("nan"), notes=(*files.notes, few if files.variables else NOTHING))
    changes: list[float] = []
    found: dict[str, tuple[float, float]] = {}
    of_variable: dict[str, list[float]] = {each.name: [] for each in files.variables}
    largest, pair = -1.0, ""
    without: list[str] = []
    for table in tables(files, 2, comparison.progress, least=2):
        first, second = table.variables
        before = association(table.original, second.size, table.occurring)
        after = association(table.masked, second.size, table.occurring)
        if np.isnan(before) or np.isnan(after):
            without.append(f"{first.name} * {second.name}")
            continue
        change = abs(before - after)
        changes.append(change)
        found[f"{first.name} * {second.name}"] = (before, after)
        of_variable[first.name].append(change)
        of_variable[second.name].append(change)
        if change > largest:
            largest, pair = change, f"{first.name} * {second.name}, from {before:.3g} to {after:.3g}"
    notes = list(files.notes)
    if without:
        notes.append(f"left out, one of the two has a single category in a file: {listed(without)}")
    if not changes:
        return Measurement(float("nan"), notes=(*notes, "not defined: no pair has an association in both files"))
    notes.append(f"changes most: {pair}")
    means = np.mean(list(found.values()), axis=0)
    parts = {"largest": largest, "mean_original": float(means[0]), "mean_masked": float(means[1])}
    per_variable = {name: float(np.mean(own)) for name, own in of_variable.items() if own}
    return Measurement(float(np.mean(changes)), parts, per_variable, notes=tuple(notes), tables=(_most_changed(found),))


def _most_changed(found: Mapping[str, tuple[float, float]]) -> MeasureTable:
    """Pairs that change most, or all of few."""
    order = sorted(found, key=lambda pair: (-abs(found[pair][0] - found[pair][1]), pair))[:MOST_DRAWN]
    title = "Association of pairs (Cramer's V)" + (", those that change most" if len(found) > MOST_DRAWN else "")
    rows = tuple((pair, *found[pair]) for pair in order)
    return MeasureTable("pairs", title, ("pair", "original", "masked"), rows, "V")


def association(counts: Floats, columns: int, occurring: Integers | None = None) -> float:
    """Cramer's V of a table of counts; NaN when a variable has one category.

    `counts`: row by row; shape (c,). `occurring`: numbers of the cells, where empty ones are left out; shape (c,).
    """
    there = counts > 0.0
    cells = np.flatnonzero(there) if occurring is None else occurring[there]
    observed = counts[there]
    row, column = (
        np.unique(cells // columns, return_inverse=True)[1],
        np.unique(cells % columns, return_inverse=True)[1],
    )
    by_row, by_column = np.bincount(row, observed), np.bincount(column, observed)
    smaller = min(len(by_row), len(by_column))
    if smaller < 2:
        return float("nan")
    total = float(observed.sum())
    expected = by_row[row] * by_column[column] / total
    # An empty cell adds what was expected of it; together they expect what the others do not.
    empty = max(0.0, total - float(expected.sum())) if len(cells) < len(by_row) * len(by_column) else 0.0
    chi_square = float(((observed - expected) ** 2 / expected).sum()) + empty
    return float(np.sqrt(min(1.0, chi_square / (total * (smaller - 1)))))


CRAMERS_V = Measure(
    name="cramers_v",
    compute=cramers_v,
    kind="loss",
    unit="change of V",
    direction="lower",
    range=(0.0, 1.0),
    params=CategoricalParams,
    claims=MeasureClaims(
        uses=variables_used,
        check=variable_mistakes,
        compares_unpaired=True,
        invariant_to={"affine", "records", "columns"},
    ),
    reference="Cramer (1946), Mathematical Methods of Statistics, Princeton University Press, section 21.9",
    summary="Mean change of the association of two categorical variables (Cramer's V).",
)
