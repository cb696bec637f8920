"""Kolmogorov-Smirnov distances of a file in parts: values are shuffled by ranges, and each range is looked at whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, Measurement, Merging, PartOfFile
from maskwright_builtin.measures.common.distinct_rows import distinct_rows
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.rank_search import told_of
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.distribution_distances import MISSING_RULE, mean_distance
from maskwright_builtin.measures.information_loss.over_parts import missing_notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.common.weighting import WeightedParams

Facts = dict[str, Any]

RANGES = 256
"""Of each variable, at most; a task gets some of them, of about equally many values."""


def values_told(comparison: Comparison, params: WeightedParams, asked: object) -> Facts:  # noqa: ARG001
    """Some values of one part, from which the ranges are made, and how many there are."""
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    files = pairs.original, pairs.masked
    return {
        "missing": [int(np.isnan(file).sum()) for file in files],
        "numbers": {name: [int((~np.isnan(file[:, j])).sum()) for file in files] for j, name in enumerate(pairs.names)},
        "values": {name: told_of(files[0][:, j], None)[0][2] for j, name in enumerate(pairs.names)},
    }


def condensed_values(
    facts: Sequence[Mapping[str, Any]],
    params: WeightedParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> list[Mapping[str, Any]]:
    """Values told by some neighbouring parts as those of one: 8 bytes each; what tasks say of ranges is little.

    `facts`: of `values_told`, of this function, or of `rises_of_ranges`.
    """
    if asked is not None:
        return list(facts)
    names = list(facts[0]["numbers"])
    return [
        {
            "missing": [sum(each["missing"][file] for each in facts) for file in (0, 1)],
            "numbers": {name: [sum(each["numbers"][name][file] for each in facts) for file in (0, 1)] for name in
                        names},
            "values": {name: np.concatenate([np.asarray(each["values"][name]) for each in facts]) for name in names},
        }
    ]  # fmt: skip


def values_by_range(
    comparison: Comparison,
    params: WeightedParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
    part: PartOfFile,
) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.int64]]:
    """Different values of one part, how often each file has them, and the task that gets their range."""
    assert asked is not None
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    pieces = []
    for number, (name, edges) in enumerate(asked["edges"].items()):
        j = pairs.names.index(name)
        present = [file[~np.isnan(file[:, j]), j] + 0.0 for file in (pairs.original, pairs.masked)]
        values = np.concatenate(present)
        counts = [np.repeat(np.array(said, dtype=np.int64), [len(each) for each in present]) for said in
                  ((1, 0), (0, 1))]  # fmt: skip
        found, _ = distinct_rows({"value": values, "old": counts[0], "new": counts[1]}, ("value",))
        ranges = np.searchsorted(np.array(edges), found["value"], side="left").astype(np.int64)
        pieces.append({"variable": np.full(len(ranges), number, dtype=np.int64), "range": ranges, **found})
    columns = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    return columns, columns["range"].astype(np.int64) % part.tasks


def rises_of_ranges(
    columns: Mapping[str, NDArray[np.generic]],
    params: WeightedParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Facts:
    """How far the original's distribution function gets above and below the masked one's within each range."""
    assert asked is not None
    found, _ = distinct_rows(columns, ("variable", "range", "value"))
    facts: Facts = {}
    for number, name in enumerate(asked["edges"]):
        numbers = asked["numbers"][name]
        own = np.flatnonzero(found["variable"] == number)
        ranges = found["range"][own].astype(np.int64)
        facts[name] = []
        for place in np.unique(ranges).tolist():
            rows = own[ranges == place]
            old, new = (np.cumsum(found[file][rows].astype(np.int64)) for file in ("old", "new"))
            apart = old / numbers[0] - new / numbers[1]
            facts[name].append([place, int(old[-1]), int(new[-1]), float(apart.max()), float(apart.min())])
    return facts


def distance_of_parts(
    facts: Sequence[Mapping[str, Any]],
    params: WeightedParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Measurement | Further:
    """The measure `kolmogorov_smirnov` of a file in parts.

    `facts`: of `values_told`, then of `rises_of_ranges`.
    """
    if asked is None:
        names, notes = list(facts[0]["numbers"]), missing_notes(facts, MISSING_RULE)
        numbers = {name: [sum(each["numbers"][name][file] for each in facts) for file in (0, 1)] for name in names}
        edges = {name: _edges([each["values"][name] for each in facts]) for name in names if all(numbers[name])}
        if not edges:
            return mean_distance(names, {}, {}, notes)
        return Further({"names": names, "notes": notes, "numbers": numbers, "edges": edges}, rows_to="tasks")
    per_variable = {}
    for name in asked["edges"]:
        numbers = asked["numbers"][name]
        largest, old, new = 0.0, 0, 0
        for _, more_old, more_new, high, low in sorted(row for each in facts for row in each[name]):
            before = old / numbers[0] - new / numbers[1]
            largest = max(largest, abs(before + high), abs(before + low))
            old, new = old + more_old, new + more_new
        per_variable[name] = 100.0 * largest
    return mean_distance(asked["names"], per_variable, {}, asked["notes"])


def _edges(told: Sequence[Sequence[float]]) -> list[float]:
    """Values between ranges of about equally many of the values told."""
    values = np.sort(np.concatenate([np.array(each, dtype=np.float64) for each in told]))
    places = np.arange(1, RANGES) * len(values) // RANGES
    return [float(each) for each in np.unique(values[places])]


KOLMOGOROV_SMIRNOV_OVER_PARTS = Merging(
    partial=values_told, merged=distance_of_parts, condensed=condensed_values, rows=values_by_range,
    counted=rises_of_ranges, refused=weighted_over_parts,
)  # fmt: skip
