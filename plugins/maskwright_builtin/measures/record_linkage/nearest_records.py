"""How many records of the other file are nearer than a record's own counterpart, and which is the nearest."""

from __future__ import annotations

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

    `nearer`: records strictly nearer than the limit; counting stops at `enough`; shape (q,). `ties`: records exactly at
    the limit; 0 where enough records are nearer; shape (q,). `first`: the lowest position among the records at the
    limit; -1 where enough records are nearer; shape (q,).
    """

    nearer: NDArray[np.int64]
    ties: NDArray[np.int64]
    first: NDArray[np.int64]


def squared_distances(
    queries: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared weighted distances between matching rows, ``sum(((query - target) * weight) ** 2)``; shape (q,).

    Summed in column order, the same operations as the search, so that equal distances are equal to the last bit.

    `queries`, `targets`: shape (q, d). `weight`: of each coordinate, before squaring; shape (d,).
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

    `queries`, `targets`: without missing values; shape (q, d) and (t, d). `weight`: factor of each difference, usually
    1 / standard deviation; 0 leaves the variable out; shape (d,). `limits`: `squared_distances` to compare with,
    usually that to the query's own counterpart; shape (q,). `near`: a target near the query; decides only the order of
    work; shape (q,). `enough`: at least 1: a search ends when this many targets are nearer.
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

    `queries`, `targets`: shape (q, d) and (t, d). `weight`: of each coordinate, before squaring; shape (d,). `guess`:
    position of a target that may be the nearest, which makes the search short; shape (q,).
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
    from maskwright_builtin.measures.record_linkage.kd_tree import build_tree, search

    used = weight != 0.0
    if not used.any():
        return _all_tied(len(queries), len(targets), progress)
    if not used.all():
        queries, targets, weight = queries[:, used], targets[:, used], weight[used]
    tree, places = build_tree(targets, weight)
    places = places[near]
    # Queries whose near targets are neighbours walk the same branches, which are then still in the cache.
    work = np.argsort(places, kind="stable")
    nearer, ties, first = (np.empty(len(queries), dtype=np.int64) for _ in range(3))

    def answer(chunk: slice) -> None:
        chosen = work[chunk]
        found = np.empty((3, len(chosen)), dtype=np.int64)
        leaf = np.searchsorted(tree.bounds, places[chosen], side="right") - 1
        search(np.ascontiguousarray(queries[chosen]), limits[chosen], leaf, enough, weight, tree, found)
        nearer[chosen], ties[chosen], first[chosen] = found

    chunks = [slice(begin, begin + QUERIES_AT_ONCE) for begin in range(0, len(work), QUERIES_AT_ONCE)]
    for done, _ in enumerate(in_order(answer, chunks), start=1):
        progress(done / len(chunks))
    return Nearness(nearer, ties, first)


def _all_tied(queries: int, targets: int, progress: Progress) -> Nearness:
    """No variable tells records apart: every target is at distance 0."""
    progress(1.0)
    none = np.zeros(queries, dtype=np.int64)
    return Nearness(none, np.full(queries, targets, dtype=np.int64), none)
