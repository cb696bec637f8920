"""Classification and regression trees (CART) on coded predictors, pruned by complexity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


LEAST_GAIN = 1e-12
"""Share of the root's impurity that rounding alone may give."""

LEAF = -1
"""In the place of what a node without children does not have."""


@dataclass(frozen=True)
class TreeLimits:
    """How far a tree grows.

    `min_leaf`: least number of records of a leaf. `complexity`: of all prunings of the grown tree the one with least
    ``impurity + complexity x (impurity of the root) x splits`` is taken; 0 keeps every split that gains anything.
    `depth`: most splits from the root to a leaf.
    """

    min_leaf: int = 5
    complexity: float = 1e-3
    depth: int = 30

    def __post_init__(self) -> None:
        if self.min_leaf < 1 or self.complexity < 0.0 or self.depth < 0:
            raise InputError(
                "a tree needs min_leaf of at least 1, and complexity and depth of at least 0, not "
                f"{self.min_leaf}, {self.complexity:g} and {self.depth}"
            )


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree. Nodes are numbered from the root, 0; children come after their parents.

    Attributes
    ----------
    feature : ndarray of shape (nodes,), int32
        Predictor that a node splits by; -1 for a leaf.
    first_child : ndarray of shape (nodes,), int32
        The second child is the node after it; -1 for a leaf.
    parent : ndarray of shape (nodes,), int32
        -1 for the root.
    first_side : ndarray of shape (nodes,), int64
        Where in `sides` the codes of a node's predictor begin.
    sides : ndarray of uint8
        0 for a code that goes to the first child, 1 for the second.
    records : ndarray of shape (nodes,), int64
        Records that it was grown on, in each node.
    impurity : ndarray of shape (nodes,), float64
        Weight times Gini impurity, or sum of squared distances from the mean, of the records of each node.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright_builtin.numerics.trees.tree import Predictors, categorical_predictor
    >>> sex = np.repeat([0, 1], 10)
    >>> by_sex = Predictors.of([categorical_predictor(sex, 2)])
    >>> tree = classification_tree(by_sex, classes=sex, number=2)
    >>> tree.leaves(by_sex)[[0, -1]]
    array([1, 2], dtype=int32)
    """

    feature: Integers32
    first_child: Integers32
    parent: Integers32
    first_side: Integers
    sides: NDArray[np.uint8]
    records: Integers
    impurity: Floats

    @property
    def is_leaf(self) -> Booleans:
        """Whether each node is a leaf; shape (nodes,)."""
        return np.equal(self.feature, LEAF)

    def leaves(self, predictors: Predictors) -> Integers32:
        """Leaf that each record falls into; shape (n,).

        A code that no record of a node had when the tree was grown goes with the nearest one in order, or with the most
        records.
        """
        from maskwright_builtin.numerics.trees.growing_kernel import apply  # Numba: plugins are listed without it

        return apply(predictors.codes, self.feature, self.first_child, self.first_side, self.sides)


def classification_tree(
    predictors: Predictors,
    classes: Integers,
    number: int,
    weights: Floats | None = None,
    limits: TreeLimits | None = None,
) -> Tree:
    """Tree that distinguishes classes, by Gini impurity.

    `classes`: 0..number-1; shape (n,). `weights`: not negative. `min_leaf` counts records; shape (n,).

    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, Wadsworth.
    """
    weight = np.ones(len(classes)) if weights is None else np.array(weights, dtype=np.float64)
    return _tree(predictors, np.array(classes, dtype=np.int64), weight.copy(), weight, weight.copy(), number, limits)


def regression_tree(
    predictors: Predictors, values: Floats, weights: Floats | None = None, limits: TreeLimits | None = None
) -> Tree:
    """Tree that predicts numbers, by their variance.

    `values`: none missing; shape (n,). `weights`: not negative. `min_leaf` counts records; shape (n,).

    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, Wadsworth.
    """
    weight = np.ones(len(values)) if weights is None else np.array(weights, dtype=np.float64)
    # Sums of squares of numbers far from 0 would lose what distinguishes them.
    total = float(weight.sum())
    centred = values - (float(np.dot(weight, values)) / total if total > 0.0 else 0.0)
    channel = np.zeros(len(values), dtype=np.int64)
    return _tree(predictors, channel, weight * centred, weight, weight * centred**2, 1, limits)


def _tree(
    predictors: Predictors,
    classes: Integers,
    amounts: Floats,
    weights: Floats,
    squares: Floats,
    channels: int,
    limits: TreeLimits | None,
) -> Tree:
    if not len(predictors.codes) or predictors.codes.shape[1] != len(classes) or not len(classes):
        raise InputError(
            f"a tree needs predictors and records: {plural(len(predictors.codes), 'predictor')} of "
            f"{predictors.codes.shape[1]} records, {len(classes)} to be predicted"
        )
    # Numba: plugins are listed without it.
    from maskwright_builtin.numerics.trees.growing_kernel import grow

    limits = limits or TreeLimits()
    share = max(limits.complexity, LEAST_GAIN)
    grown = Tree(
        *grow(
            np.ascontiguousarray(predictors.codes.T),
            predictors.sizes,
            predictors.nominal,
            classes,
            amounts,
            weights,
            squares,
            channels,
            limits.min_leaf,
            share,
            limits.depth,
        )
    )
    return _pruned(grown, share * float(grown.impurity[0]))


def _pruned(tree: Tree, price: float) -> Tree:
    """Take the pruning with least ``impurity + price x splits``; nodes keep their order."""
    cost = tree.impurity.copy()
    kept = ~tree.is_leaf
    for node in np.flatnonzero(kept)[::-1]:
        child = tree.first_child[node]
        split = cost[child] + cost[child + 1] + price
        kept[node] = split < cost[node]
        cost[node] = min(cost[node], split)
    there = np.zeros(len(cost), dtype=np.bool_)
    there[0] = True
    for node in np.flatnonzero(kept):
        if there[node]:
            there[tree.first_child[node] : tree.first_child[node] + 2] = True
    number = np.cumsum(there) - 1
    stays = kept & there
    old = np.flatnonzero(there)
    split = stays[old]
    return Tree(
        np.where(split, tree.feature[old], LEAF).astype(np.int32),
        np.where(split, number[tree.first_child[old]], LEAF).astype(np.int32),
        np.where(old > 0, number[tree.parent[old]], LEAF).astype(np.int32),
        tree.first_side[old],
        tree.sides,
        tree.records[old],
        tree.impurity[old],
    )


MOST_CODES = 2**16
"""Different codes of a predictor, missing included."""
ENOUGH_INTERVALS = 255
"""Intervals that a number is split by: more change what a tree finds by less than another sample would."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """One predictor of n records.

    `codes`: 0..size-1; the last one is that of a missing cell, whether one is missing or not; shape (n,). `nominal`:
    whether any set of codes may go to one side; otherwise codes go by their order, the missing ones to either side.
    """

    codes: NDArray[np.uint16]
    size: int
    nominal: bool


@dataclass(frozen=True, eq=False)
class Predictors:
    """All predictors of n records.

    `codes`: shape (p, n). `sizes`: shape (p,). `nominal`: shape (p,).
    """

    codes: NDArray[np.uint16]
    sizes: Integers
    nominal: Booleans

    @classmethod
    def of(cls, predictors: Sequence[Predictor]) -> Predictors:
        """Put predictors of the same records together."""
        return cls(
            np.stack([each.codes for each in predictors]),
            np.array([each.size for each in predictors], dtype=np.int64),
            np.array([each.nominal for each in predictors], dtype=np.bool_),
        )

    def chosen(self, records: Integers | Booleans) -> Predictors:
        """Those of some records."""
        return Predictors(np.ascontiguousarray(self.codes[:, records]), self.sizes, self.nominal)


def categorical_predictor(codes: Integers, categories: int, *, nominal: bool = True) -> Predictor:
    """Categories as a predictor.

    `codes`: 0..categories-1; -1 where missing; shape (n,).
    """
    if categories >= MOST_CODES:
        raise InputError(f"a tree splits by at most {MOST_CODES - 1} categories, not {categories}")
    return Predictor(np.where(codes < 0, categories, codes).astype(np.uint16), categories + 1, nominal)


def numeric_cuts(values: Floats, intervals: int = ENOUGH_INTERVALS) -> Floats:
    """Where to cut numbers: between different values, or at quantiles where there are more values than intervals.

    `values`: NaN where missing; shape (n,). Returns ascending, c below `intervals`; interval i holds what is above cut
    i - 1 and at most cut i; shape (c,).
    """
    present = np.sort(values[~np.isnan(values)])
    different = present[np.concatenate([[True], present[1:] != present[:-1]])] if present.size else present
    if different.size <= intervals:
        # Half of each and not half of the sum, which could overflow.
        return np.asarray(different[:-1] / 2.0 + different[1:] / 2.0)
    places = np.arange(1, intervals) * present.size // intervals
    return np.unique(present[places - 1])


def numeric_predictor(values: Floats, cuts: Floats) -> Predictor:
    """Numbers as a predictor: the interval that each is in.

    `values`: NaN where missing; shape (n,). `cuts`: of `numeric_cuts`, of these values or of others; shape (c,).
    """
    if len(cuts) + 2 > MOST_CODES:
        raise InputError(f"a tree splits numbers by at most {MOST_CODES - 2} intervals, not {len(cuts) + 1}")
    codes = np.searchsorted(cuts, values, side="left")
    codes[np.isnan(values)] = len(cuts) + 1
    return Predictor(codes.astype(np.uint16), len(cuts) + 2, nominal=False)
