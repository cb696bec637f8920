"""Distance-based record linkage: how often the nearest record of the other file is a record's own counterpart."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.known_variables import added_by_variable, parts_of, scenarios_of
from maskwright_builtin.measures.linkage import LinkageParams, chance_of_link, share_reached
from maskwright_builtin.measures.nearest_pairing import pairs_of
from maskwright_builtin.measures.pairing import households_of, listed
from maskwright_builtin.measures.standardising import MISSING_RULE, comparable_values


class DistanceRecordLinkageParams(LinkageParams, extra="forbid", frozen=True):
    """What the intruder knows and how records are linked."""

    standardise: Literal["original", "own"] = Field(
        "original",
        description="'original': both files by the mean and standard deviation (divisor n - 1) of the original. "
        "'own': each file by its own.",
    )


def distance_record_linkage(
    comparison: Comparison,
    params: DistanceRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose nearest record of the other file, in the variables known, is their own counterpart.

    A record i is linked when its counterpart i' is nearest to it: ``d(i, i') <= d(i, u)`` for every record u of the
    other file, with ``d(x, y) ** 2 = sum_j ((x_j - y_j) / sd_j) ** 2`` over the known variables j; the value is
    ``100 * linked / n``, mean over scenarios. The result is exact: only "how many records are strictly nearer than my
    own, and how many are exactly as near" is asked of a k-d tree, in O(n) memory.

    Ties: exact equality of distances, also between different rows; each record earns 1 / (number tied). Variables
    with declared decimals are compared as whole numbers of grid units, so that ties on the grid are exact. With
    `nearest` = L, of s records strictly nearer and t tied, the record earns ``min(1, (L - s) / t)``, 0 from s = L on.

    Missing cells stand at the mean of the original file (0 after standardising), as in clustering. A variable that is
    constant in the original file tells no records apart and is left out of the distances. Weights are not used: the
    risk is that of the records released.

    Households: where record clusters are declared a link is correct when it reaches any record of the same household,
    and the value is the percent of households of which at least one record is linked.

    Sampled masked files: from original to masked, the originals of the masked records are linked; from masked to
    original, the candidates are all records of the original file.

    ERD of Mateo-Sanz's thesis: ``{pairing: nearest, direction: masked_to_original, ties: lowest_index}``.

    Returns
    -------
    Measurement
        `parts` has ``known_1``, ``known_2``, ...: the mean over the scenarios with that many variables; for listed
        scenarios one part each, names joined by ``+``. `per_variable`: how many percentage points each variable adds
        as it becomes known (Shapley value over all subsets). `per_record` has the percent earned by each masked
        record, averaged over the scenarios.

    Raises
    ------
    InputError
        Unknown variables, more known variables than there are, too many subsets.
    """
    pairs = pairs_of(comparison, MISSING_RULE, params.pairing)
    scenarios = scenarios_of(params, comparison, "distance_record_linkage")
    used = sorted({j for scenario in scenarios for j in scenario.columns})
    values = comparable_values(comparison, pairs, used, own=params.standardise == "own")
    notes = list(pairs.notes)
    origin = np.arange(len(pairs.masked)) if pairs.origin is None else pairs.origin
    households = households_of(comparison, pairs)
    del pairs  # both files once more, with variables that no scenario knows
    if values.constant:
        notes.append(f"constant in the original file and left out of the distances: {listed(values.constant)}")
    family = np.arange(len(values.original)) if comparison.clusters is None else comparison.clusters
    percents: list[float] = []
    per_record = np.zeros(len(origin))
    for done, scenario in enumerate(scenarios):

        def progress(share: float, done: int = done) -> None:
            comparison.progress((done + share) / len(scenarios))

        columns = [used.index(j) for j in scenario.columns]
        files = values.original[:, columns], values.masked[:, columns]
        chance = chance_of_link(*files, values.weight[columns], origin, family, params, progress)
        percents.append(share_reached(chance, households))
        per_record += 100.0 * chance / len(scenarios)
    return Measurement(
        float(np.mean(percents)),
        parts=parts_of(scenarios, percents),
        per_variable=added_by_variable(scenarios, percents, comparison.variables),
        per_record=per_record,
        notes=tuple(notes),
    )


DISTANCE_RECORD_LINKAGE = Measure(
    name="distance_record_linkage",
    compute=distance_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=DistanceRecordLinkageParams,
    counts_clusters=True,
    invariant_to=frozenset({"affine", "records"}),
    reference="Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier, chapter 6; scenarios of Mateo-Sanz, doctoral thesis (in "
    "Catalan), chapter 6",
    summary="Percent of records whose nearest record of the other file is their own, over what an intruder may know.",
)
