"""How many records of the other file are nearer than a record's own counterpart, and which is the nearest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress

QUERIES_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Nearness:
    """What was found for each query.

    Attributes
    ----------
    nearer : ndarray of shape (q,), int64
        Records strictly nearer than the limit; counting stops at `enough`.
    ties : ndarray of shape (q,), int64
        Records exactly at the limit; 0 where enough records are nearer.
    first : ndarray of shape (q,), int64
        The lowest position among the records at the limit; -1 where enough records are nearer.
    """

    nearer: NDArray[np.int64]
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


def count_nearer(
    queries: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    limits: NDArray[np.float64],
    near: NDArray[np.int64],
    enough: int,
    progress: Progress,
) -> Nearness:
    """Count the targets nearer than a limit to each query, and those exactly at it. Memory is O(n d).

    Parameters
    ----------
    queries, targets : ndarray of shape (q, d) and (t, d), float64
        Without missing values.
    weight : ndarray of shape (d,)
        Factor of each difference, usually 1 / standard deviation; 0 leaves the variable out.
    limits : ndarray of shape (q,), float64
        `squared_distances` to compare with, usually that to the query's own counterpart.
    near : ndarray of shape (q,), int64
        A target near the query; decides only the order of work.
    enough : int
        At least 1: a search ends when this many targets are nearer.
    progress : callable
    """
    return _searched(queries, targets, weight, limits, near, enough, progress)


def find_nearest(
    queries: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    guess: NDArray[np.int64],
    progress: Progress,
) -> NDArray[np.int64]:
    """Position of the target nearest to each query, the lowest of those exactly as near; shape (q,).

    Parameters as `count_nearer`; `guess` is a target that may be the nearest, which makes the search short.
    """
    limits = squared_distances(queries, targets[guess], weight)
    return _searched(queries, targets, weight, limits, guess, 0, progress).first


def _searched(
    queries: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    limits: NDArray[np.float64],
    near: NDArray[np.int64],
    enough: int,
    progress: Progress,
) -> Nearness:
    from maskwright_builtin.measures.record_linkage.kd_tree import search

    used = weight != 0.0
    if not used.any():
        return _all_tied(len(queries), len(targets), progress)
    queries, weight = queries[:, used], weight[used]
    tree, row_of = _build(targets[:, used], weight)
    # Queries whose near targets are neighbours walk the same branches, which are then still in the cache.
    work = np.argsort(tree.place[row_of[near]], kind="stable")
    nearer, ties, first = (np.empty(len(queries), dtype=np.int64) for _ in range(3))

    def answer(chunk: slice) -> None:
        chosen = work[chunk]
        found = np.empty((3, len(chosen)), dtype=np.int64)
        search(
            np.ascontiguousarray(queries[chosen]), limits[chosen], enough, weight, tree.leaves, tree.bounds,
            tree.copies, tree.lowest, tree.low, tree.high, tree.levels, found[0], found[1], found[2],
        )  # fmt: skip
        nearer[chosen], ties[chosen], first[chosen] = found

    chunks = [slice(begin, begin + QUERIES_AT_ONCE) for begin in range(0, len(work), QUERIES_AT_ONCE)]
    for done, _ in enumerate(in_order(answer, chunks), start=1):
        progress(done / len(chunks))
    return Nearness(nearer, ties, first)


@dataclass(frozen=True, eq=False)
class _Tree:
    """Distinct rows in a k-d tree; fields as `kd_tree.search` takes them, `place` of each row in leaf order."""

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
    from maskwright_builtin.measures.record_linkage.kd_tree import WIDTH, order_by_leaf

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
    none = np.zeros(queries, dtype=np.int64)
    return Nearness(none, np.full(queries, targets, dtype=np.int64), none)


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
