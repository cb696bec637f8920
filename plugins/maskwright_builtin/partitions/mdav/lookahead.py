"""Lookahead of MDAV: searches made ahead for many records, in batches and threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from maskwright import processors
from maskwright_builtin.partitions.mdav.ahead_kernel import empty_lists, expected_partners, list_farthest, measure_radii
from maskwright_builtin.partitions.mdav.ahead_nearest_kernel import list_nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwright_builtin.numerics.arrays import Floats
    from maskwright_builtin.partitions.mdav.ahead_kernel import Lists
    from maskwright_builtin.partitions.mdav.leaves import Leaves


MOST, FEWEST = 256, 4
"""Records asked about at once."""

FARTHEST = 8
"""Farthest records of each that are listed."""

SPARE = 1
"""Nearest records that are listed beyond those that a cluster needs, itself included."""

FIRST = 32
"""Records asked about at once in the first place, before it is known whether that pays."""

TRIAL = 8
"""Uses each leaf by which is measured what a pair of clusters costs without asking ahead."""

CALL = 1500
"""What asking costs beside the searches, in leaves looked at."""

FEW_LEAVES = 200
"""With so few leaves asking ahead never pays."""

WORTH_THREADS = 10_000
"""Remaining records from which threads save more than they cost."""


class Lookahead:
    """Asks about records ahead, where that costs less than searching for each when its turn comes.

    Both are counted in leaves looked at, not in seconds: what is asked does not depend on how busy the machine is.
    """

    def __init__(self, standardised: Floats, k: int, threads: int | None = None) -> None:
        """Room for the answers; nothing is asked yet."""
        self._standardised, self._k = standardised, k
        self._threads = processors() if threads is None else threads
        self._pool: ThreadPoolExecutor | None = None
        n = len(standardised)
        self._most = max(min(MOST, n // (8 * k)), 1)
        self._near = k - 1 + SPARE
        self._found = empty_lists(n, standardised.shape[1], self._most, FARTHEST, self._near)
        self._nothing = empty_lists(n, standardised.shape[1], 1, FARTHEST, self._near)
        self._listed = np.empty(0, dtype=np.int64)
        self._count = self._most
        self._asked_at = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def start(self, leaves: Leaves) -> None:
        """Work with leaves cut anew from now on."""
        self._leaves = leaves
        self._count, self._asked_at = min(FIRST, self._most), -1
        self._alone, self._spent, self._pairs = 0.0, 0, 0
        # Equal records are found at once, and lists would be full of them.
        equal = 4 * int(np.count_nonzero(leaves.uniform)) > len(leaves.uniform)
        self._pays = len(leaves.counts) > FEW_LEAVES and not equal

    @property
    def pays(self) -> bool:
        """Whether asking ahead pays, as far as is known."""
        return self._pays

    def lists(self, ahead: bool) -> Lists:
        """What was found ahead; nothing where each is to be searched for."""
        return self._found if ahead else self._nothing

    def note(self, spent: int, pairs: int, *, alone: bool) -> None:
        """Note what pairs of clusters have cost, alone or beside what was asked ahead for them."""
        if alone:
            self._alone = spent / max(pairs, 1)
        else:
            self._spent += spent
            self._pairs += pairs

    def decide(self, remaining: int) -> None:
        """Go on asking ahead only where it has cost less so far, the next call included, and enough records remain."""
        count = min(self._count, remaining // (8 * self._k))
        cheaper = self._spent + CALL <= self._alone * (self._pairs + count)
        self._pays = self._pays and cheaper and count >= FEWEST

    def ask(self, sums: Floats, remaining: int, label: int) -> None:
        """List the farthest and nearest records of those now farthest from the centroid, in place of earlier lists."""
        if self._asked_at >= 0:
            made = (label - self._asked_at) // 2
            if made < self._count // 4:
                self._count //= 2
            elif made > self._count // 2:
                self._count = min(2 * self._count, self._most)
        self._asked_at = label
        lists, standardised, leaves = self._found, self._standardised, self._leaves
        lists.places[self._listed] = -1
        count = max(min(self._count, remaining // (8 * self._k)), 1)
        lists.center[:] = sums[0] / remaining
        lists.outermost[:] = -1
        self._spent += CALL + list_farthest(standardised, lists.center[None, :], leaves, lists.outermost[None, :count])
        measure_radii(standardised, lists)
        first = lists.outermost[:count].copy()
        points = standardised[first]
        parts = self._parts(count, remaining)
        self._run(lambda at: list_farthest(standardised, points[parts[at]], leaves, lists.farthest[parts[at]]), parts)
        expected = np.empty(count, dtype=np.int64)
        found = expected_partners(lists.farthest[:count], expected)
        partners = expected[:found]
        partners = partners[~np.isin(partners, first)]
        lists.places[first] = np.arange(count, dtype=np.int32)
        lists.places[partners] = self._most + np.arange(len(partners), dtype=np.int32)
        asked = np.concatenate([first, partners])
        places = lists.places[asked]
        answers = np.empty((len(asked), self._near), dtype=np.int64)
        shares = self._parts(len(asked), remaining)
        self._run(
            lambda at: list_nearest(standardised, asked[shares[at]], leaves, answers[shares[at]]),
            shares,
        )
        lists.nearest[places] = answers
        self._listed = asked

    def _parts(self, count: int, remaining: int) -> list[slice]:
        threads = min(self._threads, count) if remaining >= WORTH_THREADS else 1
        ends = [count * part // threads for part in range(threads + 1)]
        return [slice(start, stop) for start, stop in pairwise(ends)]

    def _run(self, task: Callable[[int], int], parts: list[slice]) -> None:
        if len(parts) == 1:
            self._spent += task(0)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        self._spent += sum(self._pool.map(task, range(len(parts))))
