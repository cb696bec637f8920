"""Sets of keys that may be emptied together, the cheapest first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright_builtin.key_counts.packing import PackedKeys

MOST_PATTERNS = 400
"""Sets of keys that are tried in each record: all of up to 8 keys, of more keys those of few."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Sets of keys, ordered by worth.

    `keeps`: bits of the keys that stay; shape (p, w). `worth`: sum of the worth of the keys that are emptied; shape
    (p,).
    """

    keys: tuple[tuple[int, ...], ...]
    keeps: NDArray[np.int64]
    worth: NDArray[np.float64]

    def levels(self) -> Iterator[NDArray[np.int64]]:
        """Positions of the sets that are worth about the same, in whole multiples of the cheapest key."""
        level = np.ceil(self.worth / self.worth.min() - 1e-9)
        for each in np.unique(level):
            yield np.flatnonzero(level == each)


def patterns_of(packed: PackedKeys, worth: NDArray[np.float64]) -> Patterns:
    """Make the sets of one key, of two, and so on, while they are not too many.

    `worth`: of each key; shape (q,).
    """
    q = len(worth)
    sets: list[tuple[int, ...]] = []
    for size in range(1, q + 1):
        more = list(combinations(range(q), size))
        if sets and len(sets) + len(more) > MOST_PATTERNS:
            break
        sets += more
    costs = np.array([sum(worth[j] for j in each) for each in sets])
    order = np.argsort(costs, kind="stable")
    keeps = np.empty((len(sets), packed.words.shape[1]), dtype=np.int64)
    for place, each in enumerate(order):
        keeps[place] = ~np.bitwise_or.reduce(packed.masks[list(sets[each])], axis=0)
    return Patterns(tuple(sets[each] for each in order), keeps, costs[order])
