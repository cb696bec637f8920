"""The lattice of generalisations: one level for each key, ordered level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_NODES = 100_000
"""Nodes up to which every one is looked at or ruled out."""


class Lattice:
    """Nodes of a lattice, numbered in lexicographic order.

    `sizes`: how many levels each key has.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes, dtype=np.int64)
        self.steps = np.append(np.cumprod(self.sizes[:0:-1])[::-1], 1).astype(np.int64)
        self.count = int(np.prod(self.sizes, dtype=object))

    def levels(self) -> NDArray[np.int64]:
        """Position of the level of each key in each node; shape (nodes, q)."""
        return np.asarray(np.arange(self.count)[:, None] // self.steps % self.sizes, dtype=np.int64)

    def number(self, node: Sequence[int]) -> int:
        """Number of a node."""
        return int(np.dot(np.array(node, dtype=np.int64), self.steps))

    def above(self, node: Sequence[int]) -> list[tuple[int, ...]]:
        """Nodes one level higher in one key."""
        return [(*node[:j], node[j] + 1, *node[j + 1 :]) for j in range(len(node)) if node[j] + 1 < int(self.sizes[j])]

    def below(self, node: Sequence[int]) -> list[tuple[int, ...]]:
        """Nodes one level lower in one key."""
        return [(*node[:j], node[j] - 1, *node[j + 1 :]) for j in range(len(node)) if node[j] > 0]

    @property
    def top(self) -> tuple[int, ...]:
        """The node of the highest levels."""
        return tuple((self.sizes - 1).tolist())
