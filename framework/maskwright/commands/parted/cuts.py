"""Where each record of a variable group is masked: stratum by stratum, in the leaves of a k-d cut from a sample."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.strata import distinct_rows
from maskwright.data.sketches.kd_tree import KdTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.parted.strata import Conditions
    from maskwright.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class GroupCut:
    """The cut of one variable group.

    `group`: its position in the plan. `stratum_of`: stratum of each combination of conditions. `center`, `scale`: of
    the group's variables over the whole file; shape (g,).
    """

    group: int
    conditions: Conditions
    stratum_of: Mapping[tuple[int, ...], int]
    trees: tuple[KdTree, ...]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @cached_property
    def first_leaf(self) -> tuple[int, ...]:
        """Number of the first leaf of each stratum, and behind them the number of leaves."""
        return (0, *np.cumsum([tree.leaves for tree in self.trees]).tolist())

    @property
    def leaves(self) -> int:
        """Of all strata."""
        return self.first_leaf[-1]

    @property
    def stratum_of_leaf(self) -> NDArray[np.int64]:
        """Shape (leaves,)."""
        return np.repeat(np.arange(len(self.trees)), [tree.leaves for tree in self.trees])

    def points(self, data: Dataset) -> NDArray[np.float64]:
        """Records in standard deviations, a missing cell at the mean; shape (n, g)."""
        points: NDArray[np.float64] = np.nan_to_num((data.matrix(self.conditions.variables) - self.center) / self.scale)
        return points

    def leaf_of(self, data: Dataset, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Leaf of each record of a part; shape (n,).

        `hashes`: shape (n,).
        """
        strata, points = strata_of(self.conditions, self.stratum_of, data), self.points(data)
        found = np.zeros(len(data), dtype=np.int64)
        for number, tree in enumerate(self.trees):
            own = np.flatnonzero(strata == number)
            found[own] = self.first_leaf[number] + tree.leaf_of(points[own], hashes[own])
        return found

    def fingerprint(self) -> str:
        """SHA-256 of its strata and cuts."""
        said = repr(sorted(self.stratum_of.items())) + "".join(tree.fingerprint() for tree in self.trees)
        return hashlib.sha256(said.encode()).hexdigest()


def strata_of(conditions: Conditions, stratum_of: Mapping[tuple[int, ...], int], data: Dataset) -> NDArray[np.int64]:
    """Stratum of each record; shape (n,)."""
    if len(set(stratum_of.values())) == 1:
        return np.zeros(len(data), dtype=np.int64)
    found, places = distinct_rows(conditions.combinations(data))
    numbers = np.array([stratum_of[tuple(codes)] for codes in found.tolist()], dtype=np.int64)
    return numbers[places] if len(numbers) else np.zeros(len(data), dtype=np.int64)


def cut_of_group(
    group: int,
    conditions: Conditions,
    stratum_of: Mapping[tuple[int, ...], int],
    records: Sequence[int],
    sample: Dataset,
    hashes: NDArray[np.uint64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    block_size: int,
) -> GroupCut:
    """Cut each stratum into as many leaves as it needs blocks.

    `records`: of each stratum in the whole file. `hashes`: of the sampled records; shape (m,). `center`, `scale`: shape
    (g,).
    """
    whole = GroupCut(group, conditions, stratum_of, (), center, scale)
    strata, points = strata_of(conditions, stratum_of, sample), whole.points(sample)
    trees = []
    for number, n in enumerate(records):
        own = np.flatnonzero(strata == number)
        trees.append(KdTree.of(points[own], hashes[own], -(-n // block_size)))
    return GroupCut(group, conditions, stratum_of, tuple(trees), center, scale)


def blocks_of(sizes: NDArray[np.int64], strata: NDArray[np.int64], least: int) -> list[tuple[int, int]]:
    """Join neighbouring leaves of a stratum until each block has `least` records: first leaf, and that behind the last.

    Leaves are quantiles of a sample, and a small one may hold fewer records than a cluster needs.

    `sizes`, `strata`: records and stratum of each leaf; shape (leaves,).
    """
    blocks: list[tuple[int, int]] = []
    for stratum in range(int(strata.max(initial=-1)) + 1):
        own = np.flatnonzero(strata == stratum).tolist()
        open_from, held = own[0], 0
        done: list[tuple[int, int]] = []
        for leaf in own:
            held += int(sizes[leaf])
            if held >= least:
                done.append((open_from, leaf + 1))
                open_from, held = leaf + 1, 0
        if open_from <= own[-1]:
            # What is left over goes to its neighbour.
            start = done.pop()[0] if done else open_from
            done.append((start, own[-1] + 1))
        blocks += [block for block in done if int(sizes[block[0] : block[1]].sum())]
    return blocks
