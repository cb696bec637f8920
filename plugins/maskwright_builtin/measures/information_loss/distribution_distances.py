"""Kolmogorov-Smirnov and Hellinger distances, computed from the distributions of a file in partitions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, InputError, Measurement, Merging, PartOfFile, Problem
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes
from maskwright_builtin.measures.pairing import listed, pair_records, weighted_over_parts
from maskwright_builtin.measures.partition_statistics import (
    FIRST_POINTS,
    RankSearch,
    condensed,
    counted,
    counts_of_values,
    distinct_rows,
    interval_counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright_builtin.measures.information_loss.distributions import HellingerParams
    from maskwright_builtin.measures.pairing import WeightedParams
    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Floats, Integers


MISSING_RULE = "each file uses its present values"


def ranks_of_edges(n: int, bins: int) -> Integers:
    """Place, 0-based, among n sorted values, of those that cells of equal shares end with; shape (bins - 1,)."""
    return np.floor((n - 1) * (np.arange(1, bins) / bins)).astype(np.int64)


def hellinger_distance(first: Floats, other: Floats) -> float:
    """Hellinger distance between the shares of cells in both files; shape (c,) each."""
    # The sum of squared differences of the roots is 2 (1 - sum sqrt(p p')), and exactly 0 for equal shares.
    return float(np.sqrt(0.5 * np.sum((np.sqrt(first) - np.sqrt(other)) ** 2)))


def mean_distance(
    names: Sequence[str], per_variable: Mapping[str, float], others: Mapping[str, float], notes: Sequence[str]
) -> Measurement:
    """A measure, from the distances of all variables."""
    lines = list(notes)
    without = [name for name in names if name not in per_variable]
    if without:
        lines.append(f"left out, no value (with weight) in one of the files: {listed(without)}")
    found = [*per_variable.values(), *others.values()]
    if not found:
        return Measurement(float("nan"), notes=(*lines, "not defined: no variable can be compared"))
    parts = {"mean": float(np.mean(found)), "largest": max(found), **others}
    return Measurement(parts["mean"], parts, per_variable, notes=tuple(lines))


MOST_VALUES = 10_000
"""Different values of a categorical variable, at most: each part counts the records of each of them."""


def cells_of_part(comparison: Comparison, params: HellingerParams, request: Request) -> Facts:
    """Some original values and counts of categories of one part, then other values, then counts in cells."""
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    files = pairs.original, pairs.masked
    if request is None:
        return {
            "missing": [int(np.isnan(file).sum()) for file in files],
            "numbers": {
                name: [int((~np.isnan(file[:, j])).sum()) for file in files] for j, name in enumerate(pairs.names)
            },
            "interval_counts": {
                name: interval_counts_of(files[0][:, j], None, FIRST_POINTS) for j, name in enumerate(pairs.names)
            },
            "categories": {name: _categories(comparison, name) for name in params.categorical},
        }
    place = pairs.names.index
    return {
        "interval_counts": {
            name: interval_counts_of(files[0][:, place(name)], each) for name, each in request["intervals"].items()
        },
        "counts": {
            name: [counted(file[:, place(name)], edges)[1] for file in files]
            for name, edges in request["edges"].items()
        },
    }


def _categories(comparison: Comparison, name: str) -> list[dict[str, int]]:
    if name in comparison.variables:
        raise InputError(f"hellinger: {name!r} is numeric and compared already; `categorical` is for categories")
    found = [counts_of_values(data[name]) for data in (comparison.original, comparison.masked)]
    if max(map(len, found)) > MOST_VALUES:
        raise InputError(
            Problem(f"hellinger: {name} has more than {MOST_VALUES} different values, which is too many over parts",
                    hint="leave it out of `categorical`, or leave out `execution: engine`")
        )  # fmt: skip
    return found


def condensed_cells(facts: Sequence[Facts], params: HellingerParams, request: Request) -> list[Facts]:
    """Values and counts of some neighbouring parts as those of one."""
    counts = {
        name: condensed([each["interval_counts"][name] for each in facts]) for name in facts[0]["interval_counts"]
    }
    if request is not None:
        names = facts[0]["counts"]
        return [
            {
                "interval_counts": counts,
                "counts": {name: _added(each["counts"][name] for each in facts) for name in names},
            }
        ]
    return [
        {
            "missing": _added(each["missing"] for each in facts),
            "numbers": {name: _added(each["numbers"][name] for each in facts) for name in facts[0]["numbers"]},
            "interval_counts": counts,
            "categories": {
                name: [dict(sum((Counter(each["categories"][name][file]) for each in facts), Counter())) for file in
                       (0, 1)]
                for name in params.categorical
            },
        }
    ]  # fmt: skip


def _added(counts: Iterable[Sequence[Any]]) -> list[Any]:
    """Counts of several parts, place by place."""
    total: list[Any] = np.sum(list(counts), axis=0).tolist()
    return total


def hellinger_of_parts(facts: Sequence[Facts], params: HellingerParams, request: Request) -> Measurement | Further:
    """The measure `hellinger` of a file in parts."""
    if request is None:
        known: dict[str, Any] = {
            "notes": missing_notes(facts, MISSING_RULE), "names": list(facts[0]["numbers"]),
            "categories": {name: _distance_of_categories(name, facts) for name in params.categorical},
            "numbers": {}, "counts": {},
        }  # fmt: skip
        searches = {}
        for name in known["names"]:
            numbers = [sum(each["numbers"][name][file] for each in facts) for file in (0, 1)]
            if all(numbers):
                known["numbers"][name] = numbers
                ranks = ranks_of_edges(numbers[0], params.bins).tolist()
                searches[name] = RankSearch.begun(ranks, [each["interval_counts"][name] for each in facts])
        return _next(known, searches, params) if searches else _distances(known)
    known = dict(request)
    searches = {name: RankSearch.from_json(each) for name, each in known["searches"].items()}
    for name in request["intervals"]:
        searches[name] = searches[name].closer([each["interval_counts"][name] for each in facts])
    for name, edges in request["edges"].items():
        known["counts"][name] = [
            [sum(each["counts"][name][file][at] for each in facts) for at in range(len(edges))] for file in (0, 1)
        ]
    return _next(known, searches, params) if len(known["counts"]) < len(known["numbers"]) else _distances(known)


def _distance_of_categories(name: str, facts: Sequence[Facts]) -> float:
    values = sorted({value for each in facts for file in each["categories"][name] for value in file})
    counts = [
        np.array([sum(each["categories"][name][file].get(value, 0) for each in facts) for value in values], dtype=float)
        for file in (0, 1)
    ]
    return 100.0 * hellinger_distance(*(each / each.sum() for each in counts))


def _next(known: dict[str, Any], searches: Mapping[str, RankSearch], params: HellingerParams) -> Further:
    edges = {
        name: np.unique(each.values(ranks_of_edges(known["numbers"][name][0], params.bins).tolist())).tolist()
        for name, each in searches.items()
        if not each.open and name not in known["counts"]
    }
    intervals = {name: each.intervals for name, each in searches.items() if each.open}
    lines = {name: each.to_json() for name, each in searches.items()}
    return Further({**known, "searches": lines, "intervals": intervals, "edges": edges})


def _distances(known: Mapping[str, Any]) -> Measurement:
    per_variable = {}
    for name, numbers in known["numbers"].items():
        shares = [
            np.diff([0, *no_larger, n]) / n for no_larger, n in zip(known["counts"][name], numbers, strict=True)
        ]  # fmt: skip
        per_variable[name] = 100.0 * hellinger_distance(*shares)
    return mean_distance(known["names"], per_variable, known["categories"], known["notes"])


HELLINGER_OVER_PARTS = Merging(
    partial=cells_of_part, merged=hellinger_of_parts, condensed=condensed_cells, refused=weighted_over_parts
)


RANGES = 256
"""Of each variable, at most; a task gets some of them, of about equally many values."""


def values_of_partition(comparison: Comparison, params: WeightedParams, request: object) -> Facts:  # noqa: ARG001
    """Some values of one part, from which the ranges are made, and how many there are."""
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    files = pairs.original, pairs.masked
    return {
        "missing": [int(np.isnan(file).sum()) for file in files],
        "numbers": {name: [int((~np.isnan(file[:, j])).sum()) for file in files] for j, name in enumerate(pairs.names)},
        "values": {name: interval_counts_of(files[0][:, j], None)[0][2] for j, name in enumerate(pairs.names)},
    }


def condensed_values(facts: Sequence[Facts], params: WeightedParams, request: Request) -> list[Mapping[str, Any]]:  # noqa: ARG001
    """Values of some neighbouring parts as those of one: 8 bytes each; facts on ranges are few."""
    if request is not None:
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
    request: Request,
    part: PartOfFile,
) -> tuple[Columns, Integers]:
    """Different values of one part, how often each file has them, and the task that gets their range."""
    assert request is not None
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    pieces = []
    for number, (name, edges) in enumerate(request["edges"].items()):
        j = pairs.names.index(name)
        present = [file[~np.isnan(file[:, j]), j] + 0.0 for file in (pairs.original, pairs.masked)]
        values = np.concatenate(present)
        counts = [np.repeat(np.array(in_files, dtype=np.int64), [len(each) for each in present]) for in_files in
                  ((1, 0), (0, 1))]  # fmt: skip
        found, _ = distinct_rows({"value": values, "old": counts[0], "new": counts[1]}, ("value",))
        ranges = np.searchsorted(np.array(edges), found["value"], side="left").astype(np.int64)
        pieces.append({"variable": np.full(len(ranges), number, dtype=np.int64), "range": ranges, **found})
    columns = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    return columns, columns["range"].astype(np.int64) % part.tasks


def rises_of_ranges(columns: Columns, params: WeightedParams, request: Request) -> Facts:  # noqa: ARG001
    """How far the original's distribution function gets above and below the masked one's within each range."""
    assert request is not None
    found, _ = distinct_rows(columns, ("variable", "range", "value"))
    facts: dict[str, Any] = {}
    for number, name in enumerate(request["edges"]):
        numbers = request["numbers"][name]
        own = np.flatnonzero(found["variable"] == number)
        ranges = found["range"][own].astype(np.int64)
        facts[name] = []
        for place in np.unique(ranges).tolist():
            rows = own[ranges == place]
            old, new = (np.cumsum(found[file][rows].astype(np.int64)) for file in ("old", "new"))
            apart = old / numbers[0] - new / numbers[1]
            facts[name].append([place, int(old[-1]), int(new[-1]), float(apart.max()), float(apart.min())])
    return facts


def ranges_of_values(facts: Sequence[Facts]) -> Further:
    """Ask for the values of each variable by ranges, a task for some of them; of variables that both files have."""
    names, notes = list(facts[0]["numbers"]), missing_notes(facts, MISSING_RULE)
    numbers = {name: [sum(each["numbers"][name][file] for each in facts) for file in (0, 1)] for name in names}
    edges = {name: _edges([each["values"][name] for each in facts]) for name in names if all(numbers[name])}
    return Further({"names": names, "notes": notes, "numbers": numbers, "edges": edges}, rows_to="tasks")


def distance_of_parts(facts: Sequence[Facts], params: WeightedParams, request: Request) -> Measurement | Further:  # noqa: ARG001
    """The measure `kolmogorov_smirnov` of a file in parts."""
    if request is None:
        ranges = ranges_of_values(facts)
        return (
            ranges if ranges.asked["edges"] else mean_distance(list(facts[0]["numbers"]), {}, {}, ranges.asked["notes"])
        )
    per_variable = {}
    for name in request["edges"]:
        numbers = request["numbers"][name]
        largest, old, new = 0.0, 0, 0
        for _, more_old, more_new, high, low in sorted(row for each in facts for row in each[name]):
            before = old / numbers[0] - new / numbers[1]
            largest = max(largest, abs(before + high), abs(before + low))
            old, new = old + more_old, new + more_new
        per_variable[name] = 100.0 * largest
    return mean_distance(request["names"], per_variable, {}, request["notes"])


def _edges(counts: Sequence[Sequence[float]]) -> list[float]:
    """Values between ranges of about equally many of these values."""
    values = np.sort(np.concatenate([np.array(each, dtype=np.float64) for each in counts]))
    places = np.arange(1, RANGES) * len(values) // RANGES
    return [float(each) for each in np.unique(values[places])]


KOLMOGOROV_SMIRNOV_OVER_PARTS = Merging(
    partial=values_of_partition, merged=distance_of_parts, condensed=condensed_values, rows=values_by_range,
    counted=rises_of_ranges, refused=weighted_over_parts,
)  # fmt: skip
