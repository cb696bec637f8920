"""Hellinger distances of a file in parts: edges of the cells searched as order statistics, then counts that add up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, InputError, Measurement, Merging, Problem
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.rank_search import FIRST_POINTS, RankSearch, condensed, counted, told_of
from maskwright_builtin.measures.common.shares_of_values import counts_of_values
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.distribution_distances import (
    MISSING_RULE,
    hellinger_distance,
    mean_distance,
    ranks_of_edges,
)
from maskwright_builtin.measures.information_loss.over_parts import missing_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright_builtin.measures.information_loss.distributions import HellingerParams

Facts = dict[str, Any]

MOST_VALUES = 10_000
"""Different values of a categorical variable: a part tells how many records have each of them."""


def cells_of_part(comparison: Comparison, params: HellingerParams, asked: Mapping[str, Any] | None) -> Facts:
    """Some original values and counts of categories of one part, then other values, then counts in cells."""
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    files = pairs.original, pairs.masked
    if asked is None:
        return {
            "missing": [int(np.isnan(file).sum()) for file in files],
            "numbers": {
                name: [int((~np.isnan(file[:, j])).sum()) for file in files] for j, name in enumerate(pairs.names)
            },
            "told": {name: told_of(files[0][:, j], None, FIRST_POINTS) for j, name in enumerate(pairs.names)},
            "categories": {name: _categories(comparison, name) for name in params.categorical},
        }
    place = pairs.names.index
    return {
        "told": {name: told_of(files[0][:, place(name)], each) for name, each in asked["intervals"].items()},
        "counts": {
            name: [counted(file[:, place(name)], edges)[1] for file in files] for name, edges in asked["edges"].items()
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


def condensed_cells(
    facts: Sequence[Mapping[str, Any]],
    params: HellingerParams,
    asked: Mapping[str, Any] | None,
) -> list[Facts]:
    """Values and counts of some neighbouring parts as those of one.

    `facts`: of `cells_of_part`, or of this function.
    """
    told = {name: condensed([each["told"][name] for each in facts]) for name in facts[0]["told"]}
    if asked is not None:
        names = facts[0]["counts"]
        return [{"told": told, "counts": {name: _added(each["counts"][name] for each in facts) for name in names}}]
    return [
        {
            "missing": _added(each["missing"] for each in facts),
            "numbers": {name: _added(each["numbers"][name] for each in facts) for name in facts[0]["numbers"]},
            "told": told,
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


def hellinger_of_parts(
    facts: Sequence[Mapping[str, Any]], params: HellingerParams, asked: Mapping[str, Any] | None
) -> Measurement | Further:
    """The measure `hellinger` of a file in parts."""
    if asked is None:
        known: Facts = {
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
                searches[name] = RankSearch.begun(ranks, [each["told"][name] for each in facts])
        return _next(known, searches, params) if searches else _distances(known)
    known = dict(asked)
    searches = {name: RankSearch.from_json(each) for name, each in known["searches"].items()}
    for name in asked["intervals"]:
        searches[name] = searches[name].closer([each["told"][name] for each in facts])
    for name, edges in asked["edges"].items():
        known["counts"][name] = [
            [sum(each["counts"][name][file][at] for each in facts) for at in range(len(edges))] for file in (0, 1)
        ]
    return _next(known, searches, params) if len(known["counts"]) < len(known["numbers"]) else _distances(known)


def _distance_of_categories(name: str, facts: Sequence[Mapping[str, Any]]) -> float:
    values = sorted({value for each in facts for file in each["categories"][name] for value in file})
    counts = [
        np.array([sum(each["categories"][name][file].get(value, 0) for each in facts) for value in values], dtype=float)
        for file in (0, 1)
    ]
    return 100.0 * hellinger_distance(*(each / each.sum() for each in counts))


def _next(known: Facts, searches: Mapping[str, RankSearch], params: HellingerParams) -> Further:
    edges = {
        name: np.unique(each.values(ranks_of_edges(known["numbers"][name][0], params.bins).tolist())).tolist()
        for name, each in searches.items()
        if not each.open and name not in known["counts"]
    }
    intervals = {name: each.intervals for name, each in searches.items() if each.open}
    said = {name: each.to_json() for name, each in searches.items()}
    return Further({**known, "searches": said, "intervals": intervals, "edges": edges})


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
