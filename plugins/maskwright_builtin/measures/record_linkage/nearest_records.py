"""Nearest records: standardised records, their distances, and the pairing of nearest records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright_builtin.measures.pairing import pair_records, present_values, spread
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Comparison, Progress
    from maskwright_builtin.measures.pairing import Pairs
    from maskwright_builtin.numerics.arrays import Floats, Integers


QUERIES_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Nearness:
    """What was found for each query.

    `nearer`: records strictly nearer than the limit; counting stops at `enough`; shape (q,). `ties`: records exactly at
    the limit; 0 where enough records are nearer; shape (q,). `first`: the lowest position among the records at the
    limit; -1 where enough records are nearer; shape (q,).
    """

    nearer: Integers
    ties: Integers
    first: Integers


def squared_distances(queries: Floats, targets: Floats, weight: Floats) -> Floats:
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
    queries: Floats, targets: Floats, weight: Floats, limits: Floats, near: Integers, enough: int, progress: Progress
) -> Nearness:
    """Count the targets nearer than a limit to each query, and those exactly at it. Memory is O(n d).

    `queries`, `targets`: without missing values; shape (q, d) and (t, d). `weight`: factor of each difference, usually
    1 / standard deviation; 0 leaves the variable out; shape (d,). `limits`: `squared_distances` to compare with,
    usually that to the query's own counterpart; shape (q,). `near`: a target near the query; decides only the order of
    work; shape (q,).
    """
    return _searched(queries, targets, weight, limits, near, enough, progress)


def find_nearest(queries: Floats, targets: Floats, weight: Floats, guess: Integers, progress: Progress) -> Integers:
    """Position of the target nearest to each query, the lowest of those exactly as near; shape (q,).

    `queries`, `targets`: shape (q, d) and (t, d). `weight`: of each coordinate, before squaring; shape (d,). `guess`:
    position of a target that may be the nearest, which makes the search short; shape (q,).
    """
    limits = squared_distances(queries, targets[guess], weight)
    return _searched(queries, targets, weight, limits, guess, 0, progress).first


def _searched(
    queries: Floats, targets: Floats, weight: Floats, limits: Floats, near: Integers, enough: int, progress: Progress
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
    """No variable distinguishes records: every target is at distance 0."""
    progress(1.0)
    none = np.zeros(queries, dtype=np.int64)
    return Nearness(none, np.full(queries, targets, dtype=np.int64), none)


MISSING_RULE = "for distances a missing cell stands at the original file's mean of its variable"


@dataclass(frozen=True, eq=False)
class Comparable:
    """Columns of both files to take distances on.

    `original`, `masked`: without missing cells; Fortran order; shape (n, d) and (m, d). `weight`: factor of each
    difference; 0 for a variable that is constant in the original file; shape (d,).
    """

    original: Floats
    masked: Floats
    weight: Floats
    constant: list[str]


def comparable_values(comparison: Comparison, pairs: Pairs, used: Sequence[int], *, own: bool = False) -> Comparable:
    """The `used` variables of both files, to be compared by the original's standard deviation (divisor n - 1).

    With `own`, each file is standardised by its own mean and standard deviation. A missing cell stands at the mean of
    its variable in the original file. A variable that is constant in the original file distinguishes no records.
    """
    original = np.empty((len(pairs.original), len(used)), order="F")
    masked = np.empty((len(pairs.masked), len(used)), order="F")
    weight = np.zeros(len(used))
    for j, position in enumerate(used):
        name = pairs.names[position]
        decimals = [file[name].variable.decimals for file in (comparison.original, comparison.masked)]
        old, new = _in_grid_units(pairs.original[:, position], pairs.masked[:, position], decimals)
        deviation = spread(old, ddof=1)
        center = float(present_values(old).mean()) if deviation else 0.0
        if deviation and own:
            new_values = present_values(new)
            new_center = float(new_values.mean()) if new_values.size else 0.0
            old, new = (old - center) / deviation, (new - new_center) / (spread(new, ddof=1) or 1.0)
            deviation, center = 1.0, 0.0
        original[:, j] = np.where(np.isnan(old), center, old)
        masked[:, j] = np.where(np.isnan(new), center, new)
        weight[j] = 1.0 / deviation if deviation else 0.0
    constant = [pairs.names[j] for j, factor in zip(used, weight, strict=True) if factor == 0.0]
    return Comparable(original, masked, weight, constant)


def _in_grid_units(old: Floats, new: Floats, decimals: list[int | None]) -> tuple[Floats, Floats]:
    """Both columns as whole numbers of the finer declared grid, if they lie on it; else as they are.

    Differences of whole numbers are exact: in binary64 0.3 - 0.2 is not 0.4 - 0.3, and a tie would be lost.
    """
    factor = grid_units(old, new, decimals)
    return (old, new) if factor is None or factor == 1.0 else (np.rint(old * factor), np.rint(new * factor))


def grid_units(old: Floats, new: Floats, decimals: list[int | None]) -> float | None:
    """What makes both columns whole numbers of the finer declared grid; None where they do not lie on it.

    `old`, `new`: NaN where missing; shape (n,) and (m,).
    """
    places = [number for number in decimals if number is not None]
    if len(places) < len(decimals):
        return None
    factor = 10.0 ** max(places)
    if factor == 1.0:
        return factor
    for near in (old * factor, new * factor):
        exact = np.rint(near)
        if ((np.abs(exact - near) > 1e-6) | (np.abs(exact) >= 2.0**53)).any():
            return None
    return factor


Pairing = Literal["identity", "nearest"]

PAIRING_DESCRIPTION = (
    "Which original record a masked record is compared with. 'identity': its own. 'nearest': the original record "
    "nearest to it over all variables compared (standardised, the lowest position of ties), as the published tables "
    "of Mateo-Sanz's thesis do; it understates losses and overstates risks, never compare figures across the two."
)


def pairs_of(comparison: Comparison, rule: str, pairing: Pairing, wanted: Sequence[str] | None = None) -> Pairs:
    """Pair records as `pair_records`, or each masked record with its nearest original."""
    pairs = pair_records(comparison, rule, wanted=wanted)
    if pairing == "identity":
        return pairs
    every = pairs if wanted is None else pair_records(comparison, rule)
    note = (
        "paired with the nearest original record over all variables, not with their own: not the true losses or risks"
    )
    return replace(pairs, origin=nearest_originals(comparison, every), notes=(*pairs.notes, note))


def nearest_originals(comparison: Comparison, pairs: Pairs) -> Integers:
    """Position of the original record nearest to each masked record over all variables; shape (m,).

    Squared differences over the variance of the original variable are summed; of equally near records the first
    counts. A missing cell stands at the mean of its variable in the original file.

    Mateo-Sanz, doctoral thesis (in Catalan), Appendix A: found by recomputing its tables; the text does not say it.
    """
    values = comparable_values(comparison, pairs, range(pairs.p))
    guess = np.arange(len(values.masked)) if pairs.origin is None else pairs.origin
    return find_nearest(values.masked, values.original, values.weight, guess, comparison.progress)
