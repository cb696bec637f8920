"""Original records in the leaves of a tree, from which values are drawn: of a leaf, or of any node above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.numerics.trees.predictors import Predictors
    from maskwright_builtin.numerics.trees.tree import Tree

LEAST_DONORS = 3
"""Records of a node that must have a value for it to be copied from there."""
MOST_CATEGORIES = 256
"""Categories of a variable up to which rare ones are drawn again from all at once."""
PAIRS_AT_ONCE = 2_000_000
"""Records times values that are looked at together; bounds memory."""


class LeafDonors:
    """The records of a tree's nodes, and one variable's values of theirs.

    Records stand in the order of the leaves from left to right, so that those of any node are neighbours; in a leaf
    they stand by value. A category is copied from a node where enough records have it. A number is copied where enough
    records of its leaf have it; any other is drawn evenly between the numbers next to it in the leaf.

    `predictors`: of n records, all that may be donors. `values`: none missing; shape (n,). `places`: digits after the
    point of numbers that are drawn; None: as they come.
    """

    def __init__(
        self, tree: Tree, predictors: Predictors, values: NDArray[np.float64], *, is_category: bool, places: int | None
    ) -> None:
        self.tree, self.is_category, self.places = tree, is_category, places
        leaf = tree.leaves(predictors)
        position, size = _depth_first(tree)
        order = np.lexsort((values, position[leaf]))
        self.values = values[order]
        own = position[leaf][order]
        counted = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(size)))])
        self.start = counted[position]
        self.stop = counted[position + size]
        starts = np.flatnonzero(np.concatenate([[True], (own[1:] != own[:-1]) | (self.values[1:] != self.values[:-1])]))
        self.run_start = starts
        self.run_size = np.diff(np.append(starts, len(own)))
        self.run_of = np.repeat(np.arange(len(starts)), self.run_size)
        self.low, self.high = self._reach(own)
        # Of a category, the places of its records in this order are found by bisection.
        self._by_category = (
            np.sort(self.values.astype(np.int64) * len(own) + np.arange(len(own))) if is_category else None
        )
        self.smallest_is_met = is_category and int(np.bincount(self.values.astype(np.int64)).max()) >= LEAST_DONORS

    def _reach(self, own: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which numbers the value of each run of equal ones is drawn."""
        values, leaf = self.values[self.run_start], own[self.run_start]
        if self.is_category:
            return values, values
        below = np.concatenate([values[:1], np.where(leaf[1:] == leaf[:-1], values[:-1], values[1:])])
        above = np.concatenate([np.where(leaf[1:] == leaf[:-1], values[1:], values[:-1]), values[-1:]])
        copied = self.run_size >= LEAST_DONORS
        return np.where(copied, values, below), np.where(copied, values, above)

    def drawn(self, nodes: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.float64]:
        """A value for each record from its node; shape (m,)."""
        start = self.start[nodes]
        place = start + (rng.random(len(nodes)) * (self.stop[nodes] - start)).astype(np.int64)
        return self.of_runs(self.run_of[place], rng)

    def of_runs(self, runs: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Values drawn for runs of equal ones, one for each."""
        low, high = self.low[runs], self.high[runs]
        if self.is_category:
            return low
        return self.rounded(low + rng.random(len(runs)) * (high - low))

    def rounded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers with the digits that the variable has."""
        return values if self.places is None else np.round(values, self.places)

    def is_common(self, nodes: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether enough records of the node have the value, where it would be copied; shape (m,)."""
        if self._by_category is None or not self.smallest_is_met:
            return np.ones(len(values), dtype=np.bool_)
        return np.asarray(self._count(nodes, values) >= LEAST_DONORS)

    def _count(self, nodes: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Records of each node that have a category; shape (m,)."""
        assert self._by_category is not None
        code = values.astype(np.int64) * len(self.values)
        first = np.searchsorted(self._by_category, code + self.start[nodes])
        return np.asarray(np.searchsorted(self._by_category, code + self.stop[nodes]) - first, dtype=np.int64)

    def backed_off(
        self, leaves: NDArray[np.int32], values: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Drawn categories; those that too few records of the leaf have, drawn again among all such ones.

        As often as nodes above the leaf have them, the nearest in which enough records have one: so categories that are
        common in a leaf get no more than their share (back-off).
        """
        values = values.copy()
        if self._by_category is None or not self.smallest_is_met:
            return values
        categories = np.unique(self.values)
        rows = np.flatnonzero(~self.is_common(leaves, values))
        if len(categories) > MOST_CATEGORIES:
            return values
        nodes = leaves
        while len(rows) and (nodes[rows] > 0).any():
            nodes = np.maximum(self.tree.parent[nodes], 0)
            left = [rows[:0]]
            step = max(PAIRS_AT_ONCE // len(categories), 1)
            for begin in range(0, len(rows), step):
                part = rows[begin : begin + step]
                every = np.tile(categories, len(part))
                shape = (len(part), len(categories))
                counts = self._count(np.repeat(nodes[part], len(categories)), every).reshape(shape)
                counts[counts < LEAST_DONORS] = 0
                counts[self.is_common(np.repeat(leaves[part], len(categories)), every).reshape(shape)] = 0
                sums = np.cumsum(counts, axis=1)
                found = sums[:, -1] > 0
                wanted = rng.random(len(part)) * sums[:, -1]
                values[part[found]] = categories[np.argmax(sums[found] > wanted[found, None], axis=1)]
                left.append(part[~found])
            rows = np.concatenate(left)
        return values

    def of_one_value(self, nodes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether all records of the node have one value; nodes are leaves."""
        return np.asarray(self.run_of[self.start[nodes]] == self.run_of[self.stop[nodes] - 1])


def _depth_first(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Place of each node when every node is followed by all below it, and how many nodes that are, itself included."""
    many = len(tree.feature)
    size = np.ones(many, dtype=np.int64)
    for node in range(many - 1, 0, -1):
        size[tree.parent[node]] += size[node]
    position = np.zeros(many, dtype=np.int64)
    for split in np.flatnonzero(~tree.is_leaf):
        child = tree.first_child[split]
        position[child] = position[split] + 1
        position[child + 1] = position[child] + size[child]
    return position, size
