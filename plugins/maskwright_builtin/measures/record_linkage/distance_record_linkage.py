"""Distance-based record linkage: standardised Euclidean and Mahalanobis distances, also of a file in partitions."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from maskwright import (
    Comparison,
    Cost,
    Further,
    Measure,
    MeasureClaims,
    Measurement,
    Merging,
    PartOfFile,
    record_hashes,
    sampled,
)
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes
from maskwright_builtin.measures.information_loss.partition_moments import PartMoments
from maskwright_builtin.measures.pairing import listed, pair_records
from maskwright_builtin.measures.partition_statistics import distinct_rows
from maskwright_builtin.measures.record_linkage.known_variables import (
    Scenario,
    added_by_variable,
    known_mistakes,
    known_names,
    parts_of,
    scenarios_of,
)
from maskwright_builtin.measures.record_linkage.linkage import LinkageParams, chance_of_own, measure_linkage
from maskwright_builtin.measures.record_linkage.nearest_records import (
    MISSING_RULE,
    count_nearer,
    grid_units,
    squared_distances,
)
from maskwright_builtin.measures.uncertainty import interval_of_sums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Floats, Integers


SAMPLE = 100_000
"""Records that are linked, those with the lowest hashes of their numbers: 95 percent of such samples are off by 0.31
percentage points at most. All records of a file that has no more."""


def units_of_part(comparison: Comparison, params: DistanceRecordLinkageParams, request: Request) -> Facts:  # noqa: ARG001
    """Moments of the known variables of one part, and whether they are on their grid."""
    pairs = pair_records(comparison, MISSING_RULE)
    scenarios = scenarios_of(params, comparison, "distance_record_linkage")
    variables: dict[str, Any] = {}
    for j in sorted({column for scenario in scenarios for column in scenario.columns}):
        name = pairs.names[j]
        decimals = [file[name].variable.decimals for file in (comparison.original, comparison.masked)]
        factor = grid_units(pairs.original[:, j], pairs.masked[:, j], decimals)
        moments = PartMoments.of(pairs.original[:, j]).to_json()
        variables[name] = {"column": j, "factor": factor, "moments": moments}
    return {
        "missing": [int(np.isnan(file).sum()) for file in (pairs.original, pairs.masked)],
        "names": list(pairs.names), "records": len(pairs.masked), "variables": variables,
        "scenarios": [[list(scenario.columns), scenario.part] for scenario in scenarios],
    }  # fmt: skip


def rows_of_part(
    comparison: Comparison, params: DistanceRecordLinkageParams, request: Request, part: PartOfFile
) -> tuple[Columns, Integers]:
    """The sampled records of one part; once all are known, how many of its records are as near to each as its own."""
    assert request is not None
    files = _standard(comparison, request)
    if "rows" not in request:
        rows = sampled(record_hashes(part.first, len(files[0])), part.records, request["wanted"])
        columns = {
            f"{which}{j}": file[rows, j] for which, file in zip("om", files, strict=True) for j in range(file.shape[1])
        }
        return {"number": rows + part.first, **columns}, np.zeros(len(rows), dtype=np.int64)
    both = [np.stack([request["rows"][f"{which}{j}"] for j in range(files[0].shape[1])], axis=1) for which in "om"]
    backward = params.direction == "masked_to_original"
    queries, own = both[::-1] if backward else both
    targets, weight = files[0] if backward else files[1], np.array(request["weight"])
    guess = np.zeros(len(queries), dtype=np.int64)
    pieces: list[Columns] = []
    for number, (known, _) in enumerate(request["scenarios"]):
        places = [request["used"].index(column) for column in known]
        limits = squared_distances(queries[:, places], own[:, places], weight[places])
        found = count_nearer(
            queries[:, places], targets[:, places], weight[places], limits, guess, params.nearest, comparison.progress
        )
        some = np.flatnonzero((found.nearer > 0) | (found.ties > 0))
        scenario = np.full(len(some), number, dtype=np.int64)
        pieces.append(
            {"query": some, "scenario": scenario, "nearer": found.nearer[some], "ties": found.ties[some]}
        )  # fmt: skip
    columns = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    return columns, columns["query"].astype(np.int64) % part.tasks


def _standard(comparison: Comparison, request: Mapping[str, Any]) -> list[Floats]:
    """Both files in grid units, a missing cell at the mean of its variable; shape (n, d) each."""
    pairs = pair_records(comparison, MISSING_RULE)
    found = []
    for values in (pairs.original, pairs.masked):
        columns = []
        for column, factor, center in zip(request["used"], request["factor"], request["center"], strict=True):
            own = values[:, column] if factor is None else np.rint(values[:, column] * factor)
            columns.append(np.where(np.isnan(own), center, own))
        found.append(np.stack(columns, axis=1))
    return found


def counted_links(columns: Columns, params: DistanceRecordLinkageParams, request: Request) -> Facts:
    """Chances that the sampled records of one task are linked, summed."""
    assert request is not None
    found, _ = distinct_rows(columns, ("query", "scenario"))
    chance = chance_of_own(found["nearer"].astype(np.int64), found["ties"].astype(np.int64), params.nearest)
    count = len(request["scenarios"])
    scenario = found["scenario"].astype(np.int64)
    _, query = np.unique(found["query"], return_inverse=True)
    credit = np.bincount(query, weights=chance, minlength=0) / count
    return {
        "linked": np.bincount(scenario, weights=chance, minlength=count).tolist(),
        "records": len(credit), "credit": float(credit.sum()), "squares": float((credit * credit).sum()),
    }  # fmt: skip


def linkage_of_parts(
    facts: Sequence[Facts], params: DistanceRecordLinkageParams, request: Request
) -> Measurement | Further:
    """The measure `distance_record_linkage` of a file in parts."""
    del params
    if request is None:
        return Further(_units(facts), rows_to="parts")
    if not facts:
        return Further(request, rows_to="tasks")
    scenarios = [Scenario(tuple(columns), part) for columns, part in request["scenarios"]]
    records, credit, squares = (math.fsum(each[name] for each in facts) for name in ("records", "credit", "squares"))
    percents = [
        100.0 * math.fsum(each["linked"][number] for each in facts) / records for number in range(len(scenarios))
    ]  # fmt: skip
    value, notes = float(np.mean(percents)), list(request["notes"])
    interval = interval_of_sums(credit, squares, records)
    if records < request["records"]:
        reach = 98.0 / math.sqrt(records)
        interval = (max(0.0, value - reach), min(100.0, value + reach))
        notes.append(
            f"sampled: {int(records)} of {request['records']} records were linked to all; the file's own figure is "
            f"within {reach:.2g} percentage points in 95 of 100 samples"
        )
    return Measurement(
        value, parts_of(scenarios, percents), added_by_variable(scenarios, percents, request["names"]),
        interval=interval, notes=tuple(notes),
    )  # fmt: skip


def _units(facts: Sequence[Facts]) -> Facts:
    notes, constant = missing_notes(facts, MISSING_RULE), []
    request: dict[str, Any] = {
        "used": [], "factor": [], "center": [], "weight": [], "wanted": SAMPLE, "names": facts[0]["names"],
        "scenarios": facts[0]["scenarios"], "records": sum(each["records"] for each in facts),
    }  # fmt: skip
    for name, variable in facts[0]["variables"].items():
        own = [each["variables"][name] for each in facts]
        factor = None if any(each["factor"] is None for each in own) else variable["factor"]
        moments = PartMoments.merged(each["moments"] for each in own)
        deviation = moments.spread(1) * (factor or 1.0)
        request["used"].append(variable["column"])
        request["factor"].append(factor)
        request["center"].append(moments.mean * (factor or 1.0) if deviation else 0.0)
        request["weight"].append(1.0 / deviation if deviation else 0.0)
        if not deviation:
            constant.append(name)
    if constant:
        notes.append(f"constant in the original file and left out of the distances: {listed(constant)}")
    return request | {"notes": notes}


def _refused(params: DistanceRecordLinkageParams) -> str | None:
    if params.pairing == "nearest":
        return "the nearest original record may be in another part: leave out `pairing: nearest`"
    if params.ties == "lowest_index":
        return "records are not numbered through while they are linked: leave out `ties: lowest_index`"
    if params.standardise == "own":
        return "records are standardised by the original file: leave out `standardise: own`"
    return None


LINKAGE_OVER_PARTS = Merging(
    partial=units_of_part, merged=linkage_of_parts, rows=rows_of_part, counted=counted_links, sampled=True,
    refused=_refused,
)  # fmt: skip


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

    Households: where they are declared a link is correct when it reaches any record of the same household,
    and the value is the percent of households of which at least one record is linked, or all are (`household`).

    Sampled masked files: from original to masked, the originals of the masked records are linked; from masked to
    original, the candidates are all records of the original file.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) earn and of z^2 more
    in thought, half of them 0 and half 100, with z = 1.96; for plain hits and misses that is Agresti and Coull's.
    It says where the figure may lie in another file of this kind and size, with records drawn independently from a
    large population.

    Over parts (``execution: engine``) up to 100,000 records are linked, those with the lowest hashes of their numbers,
    to all records of every part; of a larger file the interval is that of sampling, ``value +- 98 / sqrt(m)`` for m
    records, which is too wide rather than too narrow.

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
    return measure_linkage(comparison, params, "distance_record_linkage", own=params.standardise == "own")


DISTANCE_RECORD_LINKAGE = Measure(
    name="distance_record_linkage",
    compute=distance_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=DistanceRecordLinkageParams,
    claims=MeasureClaims(
        cost=Cost(cell=3.5),
        uses=known_names,
        check=known_mistakes,
        counts_households=True,
        invariant_to={"affine", "records"},
    ),
    merging=LINKAGE_OVER_PARTS,
    reference="Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier, chapter 6; scenarios of Mateo-Sanz, doctoral thesis (in "
    "Catalan), chapter 6",
    summary="Percent of records whose nearest record of the other file is their own, over what an intruder may know.",
)


RANK_TOLERANCE = 1e-10
"""Directions with a smaller share of the largest variance are rounding errors of exactly dependent variables."""


class MahalanobisRecordLinkageParams(LinkageParams, extra="forbid", frozen=True):
    """What the intruder knows and how records are linked."""

    covariance: Literal["independent", "paired"] = Field(
        "independent",
        description="Covariance matrix of the differences. 'independent': that of the original plus that of the masked "
        "file, which an intruder can estimate. 'paired': that of the differences of the true pairs, as if known.",
    )


def mahalanobis_record_linkage(
    comparison: Comparison,
    params: MahalanobisRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose nearest record of the other file, by Mahalanobis distance, is their own counterpart.

    ``d(x, y) ** 2 = (x - y)^T S^-1 (x - y)`` over the known variables, with ``S = V(X) + V(X')`` (`independent`) or
    ``S = V(X - X')`` of the true pairs (`paired`); divisor n - 1. Where variables depend on
    each other exactly, S^-1 is the inverse on the directions in which records differ; a direction in which true pairs
    do not differ at all, but other records do, gets the largest weight that rounding allows.

    Scenarios, direction, ties, `nearest`, households, interval, weights, missing cells (at the original's mean) and
    variables that are constant in the original are as in distance_record_linkage. Equal rows tie exactly; different
    rows at equal distances may not, for the coordinates are computed in binary64.

    Returns
    -------
    Measurement
        As `distance_record_linkage`.

    Raises
    ------
    InputError
        Unknown variables, more known variables than there are, too many subsets.
    """
    origin = comparison.masked.origin if comparison.origin is None else comparison.origin
    space = partial(_whitened, origin=origin, paired=params.covariance == "paired")
    return measure_linkage(comparison, params, "mahalanobis_record_linkage", space=space)


def _whitened(
    original: Floats, masked: Floats, weight: Floats, *, origin: Integers | None, paired: bool
) -> tuple[Floats, Floats, Floats]:
    """Coordinates of both files whose Euclidean distance is the Mahalanobis distance."""
    used = weight > 0.0
    if not used.any():
        return original, masked, weight
    center = original[:, used].mean(axis=0)
    files = [(file[:, used] - center) * weight[used] for file in (original, masked)]
    total = _covariance(files[0]) + _covariance(files[1])
    values, axes = np.linalg.eigh(total)
    axes = axes[:, values > RANK_TOLERANCE * values.max()]
    spread = total
    if paired:
        spread = _covariance((files[0] if origin is None else files[0][origin]) - files[1])
    values, turn = np.linalg.eigh(axes.T @ spread @ axes)
    axes = axes @ turn / np.sqrt(np.maximum(values, RANK_TOLERANCE * np.abs(np.linalg.eigvalsh(total)).max()))
    one, other = (_turned(file, axes) for file in files)
    return one, other, np.ones(axes.shape[1])


def _covariance(file: Floats) -> Floats:
    """Covariance matrix of the columns, divisor n - 1; zero for one record."""
    centred = file - file.mean(axis=0)
    return np.asarray(centred.T @ centred / max(len(file) - 1, 1))


def _turned(file: Floats, axes: Floats) -> Floats:
    """Matrix product in one order of operations for every row: equal rows have to stay equal."""
    result = np.zeros((len(file), axes.shape[1]), order="F")
    for k in range(axes.shape[1]):
        for j in range(file.shape[1]):
            result[:, k] += file[:, j] * axes[j, k]
    return result


MAHALANOBIS_RECORD_LINKAGE = Measure(
    name="mahalanobis_record_linkage",
    compute=mahalanobis_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=MahalanobisRecordLinkageParams,
    claims=MeasureClaims(
        cost=Cost(cell=3.5),
        uses=known_names,
        check=known_mistakes,
        counts_households=True,
        invariant_to={"affine", "records"},
    ),
    reference="Torra, Abowd and Domingo-Ferrer (2006), Using Mahalanobis distance-based record linkage for disclosure "
    "risk assessment, Privacy in Statistical Databases, LNCS 4302, 233-242",
    summary="Percent of records whose nearest record by Mahalanobis distance is their own, over what is known.",
)
