"""Whether a record of the other file is nearer than a record's own counterpart, and how many are exactly as near."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress

QUERIES_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Nearness:
    """What `compare_with_own` found.

    Attributes
    ----------
    ties : ndarray of shape (q,), int64
        Records exactly as near as the own one, itself included; 0 if some record is strictly nearer.
    first : ndarray of shape (q,), int64
        The lowest position among the tied records; -1 if some record is strictly nearer.
    """

    ties: NDArray[np.int64]
    first: NDArray[np.int64]


def squared_distances(
    queries: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared weighted distances between matching rows, ``sum(((query - target) * weight) ** 2)``; shape (q,).

    Summed in column order, the same operations as the search, so that equal distances are equal to the last bit.
    """
    total = np.zeros(len(queries))
    for j in range(queries.shape[1]):
        term = (queries[:, j] - targets[:, j]) * weight[j]
        with np.errstate(over="ignore"):  # an infinite distance is farther than any other, which is right
            total += term * term
    return total


def compare_with_own(
    queries: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    own: NDArray[np.int64],
    own_distance: NDArray[np.float64],
    progress: Progress,
) -> Nearness:
    """Compare the distance of every query to its own target with its distances to all targets. Memory is O(n d).

    Parameters
    ----------
    queries, targets : ndarray of shape (q, d) and (t, d), float64
        Without missing values.
    weight : ndarray of shape (d,)
        Factor of each difference, usually 1 / standard deviation.
    own : ndarray of shape (q,), int64
        A target that is the query's own; decides only the order of work.
    own_distance : ndarray of shape (q,)
        `squared_distances` to it.
    progress : callable
    """
    from maskwright_builtin.measures.kd_tree import count_ties

    used = weight != 0.0
    if not used.any():
        return _all_tied(len(queries), len(targets), progress)
    queries, weight = queries[:, used], weight[used]
    tree, row_of = _build(targets[:, used], weight)
    # Queries whose own targets are neighbours walk the same branches, which are then still in the cache.
    work = np.argsort(tree.place[row_of[own]], kind="stable")
    ties, first = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.int64)
    for begin in range(0, len(queries), QUERIES_AT_ONCE):
        chunk = work[begin : begin + QUERIES_AT_ONCE]
        found_ties, found_first = np.empty(len(chunk), dtype=np.int64), np.empty(len(chunk), dtype=np.int64)
        count_ties(
            np.ascontiguousarray(queries[chunk]), own_distance[chunk], weight, tree.leaves, tree.bounds, tree.copies,
            tree.lowest, tree.low, tree.high, tree.levels, found_ties, found_first,
        )  # fmt: skip
        ties[chunk], first[chunk] = found_ties, found_first
        progress(min(1.0, (begin + QUERIES_AT_ONCE) / len(queries)))
    return Nearness(ties, first)


@dataclass(frozen=True, eq=False)
class _Tree:
    """Distinct rows in a k-d tree; fields as `kd_tree.count_ties` takes them, `place` of each row in leaf order."""

    leaves: NDArray[np.float64]
    bounds: NDArray[np.int64]
    copies: NDArray[np.int64]
    lowest: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    levels: NDArray[np.int64]
    place: NDArray[np.int64]


def _build(targets: NDArray[np.float64], weight: NDArray[np.float64]) -> tuple[_Tree, NDArray[np.int64]]:
    """Tree of the distinct rows, and the row of each target."""
    from maskwright_builtin.measures.kd_tree import WIDTH, order_by_leaf

    rows, copies, lowest, row_of = _distinct_rows(targets)
    depth = max(0, math.ceil(math.log2(len(rows) / WIDTH)))
    order, bounds = order_by_leaf(rows, weight, depth)
    points = rows[order]
    leaf = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    leaves = np.full((len(bounds) - 1, rows.shape[1], WIDTH), np.nan)
    leaves[leaf, :, np.arange(len(rows)) - bounds[leaf]] = points
    low, high = np.minimum.reduceat(points, bounds[:-1]), np.maximum.reduceat(points, bounds[:-1])
    lows, highs, levels = [], [], [0]
    while len(low) > 1:
        grouped_low, grouped_high = _grouped(low, np.inf, WIDTH), _grouped(high, -np.inf, WIDTH)
        lows.append(grouped_low)
        highs.append(grouped_high)
        levels.append(levels[-1] + len(grouped_low))
        low, high = grouped_low.min(axis=2), grouped_high.max(axis=2)
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows))
    nothing = np.empty((0, rows.shape[1], WIDTH))
    tree = _Tree(
        leaves,
        bounds,
        copies[order],
        lowest[order],
        np.concatenate([nothing, *lows]),
        np.concatenate([nothing, *highs]),
        np.array(levels, dtype=np.int64),
        place,
    )
    return tree, row_of


def _grouped(boxes: NDArray[np.float64], beyond: float, width: int) -> NDArray[np.float64]:
    """Sides of boxes (b, d) by group of consecutive ones: shape (groups, d, width), `beyond` where there is no box."""
    groups = -(-len(boxes) // width)
    padded = np.full((groups * width, boxes.shape[1]), beyond)
    padded[: len(boxes)] = boxes
    return np.ascontiguousarray(padded.reshape(groups, width, -1).transpose(0, 2, 1))


def _all_tied(queries: int, targets: int, progress: Progress) -> Nearness:
    """No variable tells records apart: every target is at distance 0."""
    progress(1.0)
    return Nearness(np.full(queries, targets, dtype=np.int64), np.zeros(queries, dtype=np.int64))


def _distinct_rows(
    targets: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows, how many records have each, the lowest of their positions, and the row of each record."""
    order = np.lexsort(targets.T)
    ordered = np.ascontiguousarray(targets[order])
    begins = np.ones(len(ordered), dtype=np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    copies = np.diff(np.append(starts, len(ordered)))
    row_of = np.empty(len(ordered), dtype=np.int64)
    row_of[order] = np.cumsum(begins) - 1
    # lexsort is stable, so the first record of a run is the lowest.
    return ordered[starts], copies, order[starts], row_of
