"""Representatives of clusters: one row for each, by the operator that keeps its edits, resting on enough values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.cluster_aggregation import ChosenAggregation, ClusterCells
from maskwright.data.dataset import many_groups
from maskwright.foundation.arrays import Booleans, Floats, Integers
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.masking.protecting.variable_group import GroupSource, GroupWork


def aggregate(
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    labels: NDArray[np.int64],
    operators: Sequence[str | ChosenAggregation],
    weights: NDArray[np.float64] | None = None,
    clusters: int | None = None,
) -> NDArray[np.float64]:
    """Aggregate the records of each cluster, column by column.

    Parameters
    ----------
    values : ndarray of shape (n, p), float64
        Numbers, or category codes. Finite where not missing.
    missing : ndarray of shape (n, p), bool
        Cells without a value: they are left out.
    labels : ndarray of shape (n,), integer
        Cluster of each record, 0..c-1; clusters may be empty.
    operators : sequence of p str or ChosenAggregation
        ``mean``; ``geometric_mean``, of the sizes with the sign of the cluster: 0 when all are 0, and the arithmetic
        mean when signs are mixed; ``lower_median``, the element at the middle of the sorted cluster, the lower of two;
        ``mode``, the most frequent value, the lowest of several. An aggregation that a step asks for makes them itself.
    weights : ndarray of shape (n,), float64, optional
        Weights of the records in means of both kinds, finite and >= 0. In a cluster whose weights sum to 0 all
        records count alike. Medians and modes are not weighted. Default: all alike.
    clusters : int, optional
        Number of clusters c. Default: the largest label + 1.

    Returns
    -------
    ndarray of shape (c, p), float64
        NaN where a cluster has no value. A mean lies between the smallest and the largest value of its cluster, and
        keeps full precision however far the values are from 0.

    Raises
    ------
    InputError
        When shapes do not fit, a label is not in 0..c-1, a value is not finite though not missing, a weight is
        negative or not finite, or an operator is unknown.

    Notes
    -----
    O(n p log n) operations.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import aggregate
    >>> table = np.array([[1.0, 2.0], [3.0, 8.0], [5.0, 5.0]])
    >>> aggregate(table, np.isnan(table), np.array([0, 0, 1]), ["mean", "geometric_mean"])
    array([[2., 4.],
           [5., 5.]])
    """
    values = np.asarray(values, dtype=np.float64)
    missing = np.asarray(missing, dtype=np.bool_)
    labels = np.asarray(labels)
    count = _checked(values, missing, labels, operators, weights, clusters)
    representatives = np.full((count, values.shape[1]), np.nan)
    if not len(values):
        return representatives
    # One stable sort by cluster serves all columns: sums are then taken in record order, whatever the labels are.
    order = _stable_order(labels, count)
    for column, operator in enumerate(operators):
        present = order[~missing[order, column]]
        if not len(present):
            continue
        runs = _runs(labels[present])
        column_weights = None if weights is None else _positive_weights(np.asarray(weights)[present], runs)
        cells = values[present, column]
        if isinstance(operator, ChosenAggregation):
            own = ClusterCells(cells, runs.starts)
            representatives[runs.labels, column] = operator.aggregation.represent(own, operator.params)
        else:
            representatives[runs.labels, column] = _OPERATORS[operator](cells, runs, column_weights)
    return representatives


def _stable_order(labels: NDArray[Any], count: int) -> Integers:
    """Records in ascending order of their labels 0..count - 1, those of one label in their own order."""
    if count > 2**32:
        return np.argsort(labels, kind="stable")
    # Numbers of 16 bits are sorted by their digits: two such sorts are several times faster than one of longer numbers.
    order = np.argsort((labels & 0xFFFF).astype(np.uint16), kind="stable")
    if count > 2**16:
        order = order[np.argsort((labels >> 16).astype(np.uint16)[order], kind="stable")]
    return order


@dataclass(frozen=True, eq=False)
class _Runs:
    """Cells sorted by cluster: label, first cell and length of each run, and the run of each cell."""

    labels: NDArray[Any]
    starts: Integers
    lengths: Integers
    of_cell: Integers


def _runs(sorted_labels: NDArray[Any]) -> _Runs:
    new = np.ones(len(sorted_labels), dtype=np.bool_)
    new[1:] = sorted_labels[1:] != sorted_labels[:-1]
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(sorted_labels)))
    return _Runs(sorted_labels[starts], starts, lengths, np.cumsum(new) - 1)


def _positive_weights(weights: Floats, runs: _Runs) -> Floats:
    # Relative to the largest of the run: neither the sum of weights nor its products can overflow or vanish.
    largest = np.maximum.reduceat(weights, runs.starts)[runs.of_cell]
    return np.where(largest > 0.0, weights, 1.0) / np.where(largest > 0.0, largest, 1.0)


def _average(cells: Floats, runs: _Runs, weights: Floats | None) -> Floats:
    """Mean of each run, around its first cell and then corrected by the mean of what is left."""
    total = runs.lengths if weights is None else np.add.reduceat(weights, runs.starts)
    result = cells[runs.starts]
    for _ in range(2):
        left = cells - result[runs.of_cell]
        if weights is not None:
            left *= weights
        result = result + np.add.reduceat(left, runs.starts) / total
    return result


def _sums_are_exact(cells: Floats, runs: _Runs) -> bool:
    """Whether all cells are whole numbers so small that no sum of a run is rounded."""
    largest = float(np.max(np.abs(cells))) * float(runs.lengths.max())
    return largest <= 2.0**53 and bool(np.all(cells == np.rint(cells)))


def _mean(cells: Floats, runs: _Runs, weights: Floats | None) -> Floats:
    if weights is None and _sums_are_exact(cells, runs):
        # The nearest number to the mean: clusters with equal means get equal numbers, whatever their cells.
        return np.asarray(np.add.reduceat(cells, runs.starts) / runs.lengths)
    # Differences and sums of huge cells may leave the range of numbers: those clusters are averaged scaled down.
    with np.errstate(over="ignore", invalid="ignore"):
        means = _average(cells, runs, weights)
    wrong = ~np.isfinite(means)
    if wrong.any():
        scale = float(len(cells)) * 4.0
        means = np.where(wrong, _average(cells / scale, runs, weights) * scale, means)
    # Rounding may leave the cluster's interval by a unit in the last place, which would break a range.
    return np.clip(means, np.minimum.reduceat(cells, runs.starts), np.maximum.reduceat(cells, runs.starts))


def _geometric_mean(cells: Floats, runs: _Runs, weights: Floats | None) -> Floats:
    signs = np.sign(cells)
    sign = signs[runs.starts]
    mixed = np.minimum.reduceat(signs, runs.starts) != np.maximum.reduceat(signs, runs.starts)
    sizes = np.where(signs == 0.0, 1.0, np.abs(cells))
    # Logarithms of ratios to the first cell are small, and small logarithms lose little when raised again.
    first = sizes[runs.starts]
    with np.errstate(over="ignore", under="ignore"):
        ratios = sizes / first[runs.of_cell]
    tame = np.isfinite(ratios) & (ratios > np.finfo(np.float64).tiny)
    logs = np.log(np.where(tame, ratios, 1.0))
    if not tame.all():
        logs[~tame] = np.log(sizes[~tame]) - np.log(first[runs.of_cell[~tame]])
    exponents = _average(logs, runs, weights)
    # In two halves: one factor alone may leave the range of numbers.
    half = np.exp(exponents / 2.0)
    result = np.clip(
        half * first * half, np.minimum.reduceat(sizes, runs.starts), np.maximum.reduceat(sizes, runs.starts)
    )
    result = sign * result
    return np.where(mixed, _mean(cells, runs, weights), result) if mixed.any() else result


def _lower_median(cells: Floats, runs: _Runs, _: Floats | None) -> Floats:
    middle = runs.starts + (runs.lengths - 1) // 2
    medians: Floats = cells[np.lexsort((cells, runs.of_cell))][middle]
    return medians


def _mode(cells: Floats, runs: _Runs, _: Floats | None) -> Floats:
    ordered = cells[np.lexsort((cells, runs.of_cell))]
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]) | (runs.of_cell[1:] != runs.of_cell[:-1])
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(ordered)))
    # By run, then most frequent, then lowest value: the first of each run is its mode.
    best = np.lexsort((ordered[starts], -counts, runs.of_cell[starts]))
    run = runs.of_cell[starts][best]
    first = np.searchsorted(run, np.arange(len(runs.starts)))
    return ordered[starts][best][first]


_Operator = Callable[[Floats, _Runs, Floats | None], Floats]

_OPERATORS: dict[str, _Operator] = {
    "mean": _mean,
    "geometric_mean": _geometric_mean,
    "lower_median": _lower_median,
    "mode": _mode,
}


def _checked(
    values: Floats,
    missing: Booleans,
    labels: NDArray[Any],
    operators: Sequence[str | ChosenAggregation],
    weights: Floats | None,
    clusters: int | None,
) -> int:
    """Return the number of clusters, or raise InputError."""
    if values.ndim != 2 or missing.shape != values.shape:
        raise InputError(f"values and missing must be matrices of one shape; they have {values.shape}, {missing.shape}")
    n, p = values.shape
    if labels.shape != (n,) or not (np.issubdtype(labels.dtype, np.integer) or n == 0):
        raise InputError(f"labels must be {n} integers, one for each record; they are {labels.dtype} of {labels.shape}")
    if isinstance(operators, str) or len(operators) != p:
        raise InputError(f"there must be one operator for each of the {p} columns")
    for operator in operators:
        if not isinstance(operator, ChosenAggregation) and operator not in _OPERATORS:
            raise InputError(unknown_name("operator", operator, _OPERATORS))
    lowest, highest = (int(labels.min()), int(labels.max())) if n else (0, -1)
    count = highest + 1 if clusters is None else int(clusters)
    if lowest < 0 or highest >= count:
        raise InputError(f"labels must lie in 0..{count - 1}; they lie in {lowest}..{highest}")
    wrong = ~(np.isfinite(values) | missing)
    if wrong.any():
        record, column = (int(place[0]) for place in np.nonzero(wrong))
        raise InputError(
            f"{plural(int(wrong.sum()), 'cell is', 'cells are')} not finite though not marked missing; "
            f"the first is record {record + 1}, column {column + 1}"
        )
    if weights is not None:
        weights = np.asarray(weights)
        if weights.shape != (n,) or not np.all(np.isfinite(weights) & (weights >= 0.0)):
            raise InputError(f"weights must be {n} finite numbers >= 0, one for each record")
    return count


def with_enough_values(result: GroupResult, work: GroupWork, source: GroupSource, k: int) -> GroupResult:
    """Representatives that rest on at least k values each, of different households where these are declared.

    A cluster in which fewer than k records have a value would publish an average of those few, in the end the true
    value of one. For that variable it is joined with the nearest cluster, one of its stratum if there is any, until k
    records have a value; all clusters so joined publish the average of all their values, so that means stay. Where
    fewer than k records have a value at all, all publish one average.
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
    notes["warnings"] = [*notes.get("warnings", ()), *_join_notices(joined, scarce, k, source)]
    values = np.where(result.missing, np.nan, representatives[labels])
    return replace(result, values=values, representatives=representatives, notes=notes)


def _join_notices(joined: dict[str, int], scarce: Sequence[str], k: int, source: GroupSource) -> list[str]:
    what = "records" if source.households is None else many_groups(source.group_name)
    few = f"fewer than k = {k} {what} have a value"
    met = {name: count for name, count in joined.items() if name not in scarce}
    notices = []
    if met:
        counted = ", ".join(f"{name}: {count}" for name, count in met.items())
        notices.append(
            f"clusters in which {few} of a variable publish the average of theirs and the nearest clusters' values "
            f"({counted} clusters)"
        )
    if scarce:
        notices.append(f"{few} of {', '.join(scarce)} where they are masked together: k does not hold there")
    return notices


def _owners(labels: Integers, households: Integers | None, count: int) -> Integers:
    """Number of records, or of different households, with each label; shape (count,)."""
    if households is not None:
        labels = Classes.of([labels, households]).keys[0]
    return np.bincount(labels, minlength=count)


def _groups(labels: Integers, households: Integers | None, points: Floats, homes: Integers, k: int) -> Integers:
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


def _nearest(points: Floats, queried: Integers) -> Integers:
    """Another point that is nearest to each given one; shape (m,). There are at least two points."""
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
    alone = equals[place[queried]] == 1
    other = following[queried]
    if alone.any():
        found = np.asarray(cKDTree(distinct).query(points[queried[alone]], k=2)[1])
        other[alone] = first[np.where(found[:, 0] == place[queried[alone]], found[:, 1], found[:, 0])]
    return other


def _paired(small: Integers, other: Integers, counts: Integers) -> list[int]:
    """Group that each group becomes part of when small ones are joined with others, the smallest first."""
    target = list(range(len(counts)))
    joined = bytearray(len(counts))
    order = np.argsort(counts[small], kind="stable")
    for one, into in zip(small[order].tolist(), other[order].tolist(), strict=True):
        if not joined[one]:
            target[one] = target[into]
            joined[one] = joined[into] = 1
    return target
