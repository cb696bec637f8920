"""Clusters joined, variable by variable, where cells are missing: every published average rests on k values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import many_groups
from maskwright.masking.aggregation import aggregate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.masking.protecting.variable_group import GroupSource, GroupWork


def with_enough_values(result: GroupResult, work: GroupWork, source: GroupSource, k: int) -> GroupResult:
    """Representatives that rest on at least k values each, of different households where these are declared.

    A cluster in which fewer than k records have a value would publish an average of those few, in the end the true
    value of one. For that variable it is joined with the nearest cluster, one of its stratum if there is any, until k
    records have a value; all clusters so joined publish the average of all their values, so that means stay. Where
    fewer than k records have a value at all, all publish one average.

    `source`: its weights are used in means, and its households counted, where they are given. Returns with a note of
    how many clusters had too few values, and a warning that counts them by variable.
    """
    if result.labels is None or result.representatives is None:
        return result
    labels, representatives = result.labels, result.representatives.copy()
    points = np.nan_to_num((representatives - source.center) / source.scale)
    homes = np.zeros(len(points), dtype=np.int64)
    homes[labels] = work.strata
    joined: dict[str, int] = {}
    scarce: list[str] = []
    for column, variable in enumerate(result.variables):
        rows = np.flatnonzero(~source.missing[:, column])
        households = None if source.households is None else source.households[rows]
        counts = _owners(labels[rows], households, len(points))
        few = int(np.sum((counts > 0) & (counts < k)))
        if not few:
            continue
        joined[variable.name] = few
        groups = _groups(labels[rows], households, points, homes, k)
        if _owners(groups[labels[rows]], households, len(points)).max() < k:
            scarce.append(variable.name)
        changed = (np.bincount(groups, minlength=len(points)) > 1)[groups] & (counts > 0)
        rows = rows[changed[labels[rows]]]
        if not len(rows):
            continue
        there, places = np.unique(groups[labels[rows]], return_inverse=True)
        averages = aggregate(
            source.values[rows, column, None], np.zeros((len(rows), 1), dtype=np.bool_), places.astype(np.int64),
            [work.operators[column]], None if source.weights is None else source.weights[rows],
        )[:, 0]  # fmt: skip
        representatives[changed, column] = averages[np.searchsorted(there, groups[changed])]
    if not joined:
        return result
    notes = dict(result.notes)
    notes["clusters_joined_for_missing_cells"] = sum(joined.values())
    notes["warnings"] = [*notes.get("warnings", ()), *_said(joined, scarce, k, source)]
    values = np.where(result.missing, np.nan, representatives[labels])
    return replace(result, values=values, representatives=representatives, notes=notes)


def _said(joined: dict[str, int], scarce: Sequence[str], k: int, source: GroupSource) -> list[str]:
    what = "records" if source.households is None else many_groups(source.group_name)
    few = f"fewer than k = {k} {what} have a value"
    met = {name: count for name, count in joined.items() if name not in scarce}
    said = []
    if met:
        counted = ", ".join(f"{name}: {count}" for name, count in met.items())
        said.append(
            f"clusters in which {few} of a variable publish the average of theirs and the nearest clusters' values "
            f"({counted} clusters)"
        )
    if scarce:
        said.append(f"{few} of {', '.join(scarce)} where they are masked together: k does not hold there")
    return said


def _owners(labels: NDArray[np.int64], households: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
    """Number of records, or of different households, with each label; shape (count,)."""
    if households is not None:
        labels = np.unique(np.stack([labels, households], axis=1), axis=0)[:, 0]
    return np.bincount(labels, minlength=count)


def _groups(
    labels: NDArray[np.int64],
    households: NDArray[np.int64] | None,
    points: NDArray[np.float64],
    homes: NDArray[np.int64],
    k: int,
) -> NDArray[np.int64]:
    """Group of each cluster, shape (c,), so that the records with a value in each group are enough.

    Round after round, each group with too few is joined with the one whose centroid is nearest, the smallest first,
    unless another was joined with it in the same round: there are O(log c) rounds. Groups of one stratum come first.
    """
    groups = np.arange(len(points))
    sizes = np.bincount(labels, minlength=len(points))
    clusters = np.flatnonzero(sizes)
    # Farther apart than any two clusters are: the nearest one is of the same stratum where there is one.
    far = 2.0 * (1.0 + float(np.linalg.norm(np.ptp(points, axis=0))))
    for within in (True, False):
        places = np.column_stack([points, homes * far]) if within else points
        while True:
            used, inverse = np.unique(groups[clusters], return_inverse=True)
            counts = _owners(groups[labels], households, len(points))[used]
            small = np.flatnonzero(counts < k)
            if not len(small) or len(used) == 1:
                break
            total = np.bincount(inverse, weights=sizes[clusters])
            centroids = np.stack(
                [np.bincount(inverse, weights=sizes[clusters] * axis[clusters]) / total for axis in places.T], axis=1
            )
            other = _nearest(centroids, small)
            if within:
                same = homes[used[small]] == homes[used[other]]
                small, other = small[same], other[same]
                if not len(small):
                    break
            into = np.arange(len(points))
            into[used] = used[_paired(small, other, counts)]
            groups = into[groups]
    return groups


def _nearest(points: NDArray[np.float64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Another point that is nearest to each one asked for; shape (m,). There are at least two points."""
    from scipy.spatial import cKDTree  # heavy: most runs do without it

    # A tree cannot part equal points, and would look through all of them for each: they are each other's nearest.
    distinct, first, place, equals = np.unique(
        points, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(place, kind="stable")
    following = np.empty(len(points), dtype=np.int64)
    following[order] = np.roll(order, -1)
    last = order[np.cumsum(equals) - 1]
    following[last] = first
    alone = equals[place[asked]] == 1
    other = following[asked]
    if alone.any():
        found = np.asarray(cKDTree(distinct).query(points[asked[alone]], k=2)[1])
        other[alone] = first[np.where(found[:, 0] == place[asked[alone]], found[:, 1], found[:, 0])]
    return other


def _paired(small: NDArray[np.int64], other: NDArray[np.int64], counts: NDArray[np.int64]) -> list[int]:
    """Group that each group becomes part of when small ones are joined with others, the smallest first."""
    target = list(range(len(counts)))
    joined = bytearray(len(counts))
    order = np.argsort(counts[small], kind="stable")
    for one, into in zip(small[order].tolist(), other[order].tolist(), strict=True):
        if not joined[one]:
            target[one] = target[into]
            joined[one] = joined[into] = 1
    return target
