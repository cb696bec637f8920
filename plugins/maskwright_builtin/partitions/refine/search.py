"""Local search for a smaller sum of squares from one partition, and the neighbours it moves between."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING

import numpy as np

from maskwright import processors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32
    from maskwright_builtin.partitions.refine.groups import Groups


LONG_FROM = 50
"""Kicks per group of a long search, in which more kicks gain more, in the same time, than more neighbours."""

KICKED_NEIGHBOURS, KICKED_NEIGHBOURS_OF_SMALL, SMALL_UP_TO = 8, 10, 4
"""Its kicks deal with the groups of so many nearest records, or of half of them all if that is more; and so many for
such a small k, for which a kick costs little."""

SWEPT_FROM = 100_000
"""Records from which kicks go through them in order, and not at random: near ones are near in memory."""

VISITS = 200_000
"""Records visited by the descent between two signs of progress."""

HOTTEST, COLDEST = 0.1, 0.002
"""Temperatures of annealing, as shares of the geometric mean of two sums of squares: that of a group on average, and
that of the groups of a kick."""

EVENNESS = 0.1
"""Kicks go to records with probabilities as the roots of their groups' sums of squares, where most is to be gained, and
this share of the root of the mean one is added: no group is left out."""

KICKS_AT_ONCE = 1024
"""After so many, probabilities are made anew."""


def searched_labels(
    points: Floats,
    near: Integers32,
    labels: Integers,
    k: int,
    kicks_per_group: int,
    annealed: bool,
    generators: Sequence[np.random.Generator],
    progress: Progress,
) -> list[tuple[float, Integers]]:
    """Refine a partition, once with the kicks of each generator.

    `points`: finite, about their mean, of size 1 or so; near ones near in order when there are many. n >= 2k; shape (n,
    p). `near`: nearest records of each one, the nearest first; shape (n, q). `labels`: clusters 0..c-1 of k to 2k - 1
    records; shape (n,). Returns how much larger the sum of squares is than after the descent, at most 0, and cluster
    numbers, maybe with gaps, of each search; shape (n,).
    """
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.partitions.refine.descent_kernel import descend, fill
    from maskwright_builtin.partitions.refine.groups import WAITING, empty_groups

    n, p = points.shape
    state = empty_groups(n, p, k)
    fill(points, labels, state)
    scratch = np.zeros(2 * p)
    visit = 0
    share = 0.95 if kicks_per_group == 0 else 0.1
    while state.counts[WAITING] > 0:
        visit = descend(points, near, scratch, state, k, -1, visit, VISITS)
        # Nearly all records wait once, and many of them once more.
        progress(share * min(visit / (3 * n), 1.0))
    if kicks_per_group == 0:
        return [(0.0, state.of.astype(np.int64)) for _ in generators]
    scale = float(state.errors[state.sizes > 0].sum()) * k / n
    wider = _neighbours_of_long_search(near, k) if kicks_per_group >= LONG_FROM else near
    groups = int(np.count_nonzero(state.sizes))
    kicks = _Kicks(points, wider, k, groups, kicks_per_group * groups, scale, annealed, visit)
    return _side_by_side(kicks, state, generators, span(progress, share, 1.0))


@dataclass(frozen=True, eq=False)
class _Kicks:
    """What all searches have in common: `total` kicks each, of `groups` groups with a mean sum of squares `scale`."""

    points: Floats
    near: Integers32
    k: int
    groups: int
    total: int
    scale: float
    annealed: bool
    visits: int

    def change(self, state: Groups, rng: np.random.Generator, progress: Progress) -> tuple[float, Integers]:
        """Change of the sum of squares to the lowest found, and the groups there; `state` is changed."""
        from maskwright_builtin.partitions.refine.kicks_kernel import NUMBERS, empty_pool, kick_groups

        points, visit = self.points, self.visits
        n, unit = len(points), math.sqrt(self.scale)
        pool, changes = empty_pool(state, points.shape[1]), np.zeros(3)
        for first in range(0, self.total, KICKS_AT_ONCE):
            turns = np.arange(first, min(first + KICKS_AT_ONCE, self.total))
            numbers = rng.random((len(turns), NUMBERS))
            if n >= SWEPT_FROM:
                starts = ((turns % self.groups + numbers[:, 0]) / self.groups * n).astype(np.int64)
            else:
                sums = np.cumsum(np.sqrt(state.errors[state.of]) + EVENNESS * unit)
                starts = np.searchsorted(sums, numbers[:, 0] * sums[-1], side="right")
            starts = np.minimum(starts, n - 1)
            heat = np.zeros(len(turns))
            if self.annealed:
                heat = unit * HOTTEST * (COLDEST / HOTTEST) ** (turns / self.total)
            visit = kick_groups(points, self.near, self.k, numbers, heat, starts, first, visit, pool, state, changes)
            progress(float(turns[-1] + 1) / self.total)
        return float(changes[1]), pool.best.astype(np.int64)


def _neighbours_of_long_search(near: Integers32, k: int) -> Integers32:
    usual = KICKED_NEIGHBOURS_OF_SMALL if k <= SMALL_UP_TO else KICKED_NEIGHBOURS
    return np.ascontiguousarray(near[:, : max(min(near.shape[1], usual), near.shape[1] // 2)])


def _side_by_side(
    kicks: _Kicks, state: Groups, generators: Sequence[np.random.Generator], progress: Progress
) -> list[tuple[float, Integers]]:
    """What the kicks of each generator lead to from the same groups."""
    if len(generators) == 1:
        return [kicks.change(state, generators[0], progress)]
    done, telling, stopped = [0.0] * len(generators), Lock(), Event()

    def run(number: int) -> tuple[float, Integers]:
        def notify(share: float) -> None:
            if stopped.is_set():
                raise _StoppedError
            done[number] = share
            with telling:
                progress(sum(done) / len(done))

        return kicks.change(deepcopy(state), generators[number], notify)

    with ThreadPoolExecutor(min(processors(), len(generators))) as threads:
        running = [threads.submit(run, number) for number in range(len(generators))]
        try:
            return [each.result() for each in running]
        except BaseException:
            stopped.set()
            raise


class _StoppedError(Exception):
    """Another search failed, or the run was interrupted."""


def span(progress: Progress, start: float, stop: float) -> Progress:
    """Progress of a part of the work, as that of the whole."""

    def report(share: float) -> None:
        progress(start + (stop - start) * share)

    return report


FEW = 5_000
"""So many records are searched exactly."""

MANY = 100_000
"""From so many on, the search is coarser still."""

CROWD = 64
"""So many equal records may fill a leaf of the tree, all of which is looked at."""

SLICE = 50_000
"""Records asked about between two signs of progress."""


def nearest_records(points: Floats, count: int, progress: Progress) -> Integers32:
    """Find the nearest other records of every record.

    `points`: Finite; equal ones near each other in order when there are many; shape (n, p). Returns nearest first.
    Exact up to `FEW` records; beyond, each is at most 3 (5 from `MANY` on) times as far away as the true one, in
    practice a few per cent; shape (n, count).
    """
    from scipy.spatial import KDTree

    n = len(points)
    eps = 0.0 if n <= FEW else 2.0 if n < MANY else 4.0
    if _crowded(points):
        # Many equal records make one leaf that each of them has to search: a last column, too narrow to matter, tells
        # them apart.
        spread = float(np.sqrt(np.square(points).sum() / n)) or 1.0
        apart = np.arange(n, dtype=np.float64) * (1e-9 * spread / n)
        points = np.concatenate([points, apart[:, None]], axis=1)
    tree = KDTree(points)
    threads = 1 if n <= FEW else processors()
    nearest = np.empty((n, count), dtype=np.int32)
    for start in range(0, n, SLICE):
        stop = min(start + SLICE, n)
        found = np.asarray(tree.query(points[start:stop], count + 1, eps=eps, workers=threads)[1])
        itself = found == np.arange(start, stop)[:, None]
        # Among equal records it may be missing: then the last one is left out.
        itself[~itself.any(axis=1), -1] = True
        nearest[start:stop] = found[~itself].reshape(stop - start, count)
        progress(stop / n)
    return nearest


def _crowded(points: Floats) -> bool:
    """Whether more than `CROWD` records are equal (or, hardly ever, look so)."""
    weights = np.sqrt(np.arange(2.0, points.shape[1] + 2.0))
    # Column by column: equal records then give equal sums.
    keys = np.zeros(len(points))
    for column, weight in zip(points.T, weights, strict=True):
        keys += weight * column
    keys.sort()
    return bool(np.any(keys[CROWD:] == keys[:-CROWD]))
