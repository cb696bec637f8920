"""Representatives of clusters: one row for each cluster, made with the operator that keeps the variable's edits.

Arithmetic means keep linear equalities and inequalities and ranges; geometric means keep products; a lower median and
a mode are values that occur.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskwright.foundation.errors import InputError
from maskwright.foundation.nearest_names import unknown_name
from maskwright.plugins.aggregation import ChosenAggregation, ClusterCells


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
        ``mode``, the most frequent value, the lowest of several. An aggregation of a plugin makes them itself.
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
            own = ClusterCells(cells, runs.starts, column_weights)
            representatives[runs.labels, column] = operator.aggregation.represent(own, operator.params)
        else:
            representatives[runs.labels, column] = _OPERATORS[operator](cells, runs, column_weights)
    return representatives


def _stable_order(labels: NDArray[Any], count: int) -> NDArray[np.int64]:
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
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    of_cell: NDArray[np.int64]


def _runs(sorted_labels: NDArray[Any]) -> _Runs:
    new = np.ones(len(sorted_labels), dtype=np.bool_)
    new[1:] = sorted_labels[1:] != sorted_labels[:-1]
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(sorted_labels)))
    return _Runs(sorted_labels[starts], starts, lengths, np.cumsum(new) - 1)


def _positive_weights(weights: NDArray[np.float64], runs: _Runs) -> NDArray[np.float64]:
    # Relative to the largest of the run: neither the sum of weights nor its products can overflow or vanish.
    largest = np.maximum.reduceat(weights, runs.starts)[runs.of_cell]
    return np.where(largest > 0.0, weights, 1.0) / np.where(largest > 0.0, largest, 1.0)


def _average(cells: NDArray[np.float64], runs: _Runs, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Mean of each run, around its first cell and then corrected by the mean of what is left."""
    total = runs.lengths if weights is None else np.add.reduceat(weights, runs.starts)
    result = cells[runs.starts]
    for _ in range(2):
        left = cells - result[runs.of_cell]
        if weights is not None:
            left *= weights
        result = result + np.add.reduceat(left, runs.starts) / total
    return result


def _sums_are_exact(cells: NDArray[np.float64], runs: _Runs) -> bool:
    """Whether all cells are whole numbers so small that no sum of a run is rounded."""
    largest = float(np.max(np.abs(cells))) * float(runs.lengths.max())
    return largest <= 2.0**53 and bool(np.all(cells == np.rint(cells)))


def _mean(cells: NDArray[np.float64], runs: _Runs, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
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


def _geometric_mean(
    cells: NDArray[np.float64], runs: _Runs, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
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


def _lower_median(cells: NDArray[np.float64], runs: _Runs, _: NDArray[np.float64] | None) -> NDArray[np.float64]:
    middle = runs.starts + (runs.lengths - 1) // 2
    medians: NDArray[np.float64] = cells[np.lexsort((cells, runs.of_cell))][middle]
    return medians


def _mode(cells: NDArray[np.float64], runs: _Runs, _: NDArray[np.float64] | None) -> NDArray[np.float64]:
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


_Operator = Callable[[NDArray[np.float64], _Runs, NDArray[np.float64] | None], NDArray[np.float64]]

_OPERATORS: dict[str, _Operator] = {
    "mean": _mean,
    "geometric_mean": _geometric_mean,
    "lower_median": _lower_median,
    "mode": _mode,
}


def _checked(
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    labels: NDArray[Any],
    operators: Sequence[str | ChosenAggregation],
    weights: NDArray[np.float64] | None,
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
            f"{int(wrong.sum())} cell(s) are not finite numbers though not marked missing; "
            f"the first is record {record + 1}, column {column + 1}"
        )
    if weights is not None:
        weights = np.asarray(weights)
        if weights.shape != (n,) or not np.all(np.isfinite(weights) & (weights >= 0.0)):
            raise InputError(f"weights must be {n} finite numbers >= 0, one for each record")
    return count
