"""The tree that tells masked records from original ones, and what it finds where there is nothing to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.trees.predictors import (
    Predictor,
    Predictors,
    categorical_predictor,
    numeric_cuts,
    numeric_predictor,
)
from maskwright_builtin.numerics.trees.tree import TreeLimits, classification_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Progress
    from maskwright_builtin.measures.information_loss.propensity_logistic import Files

LIMITS = TreeLimits(min_leaf=5, complexity=1e-3)
"""Those of the R package synthpop."""


@dataclass(frozen=True, eq=False)
class TreeFit:
    """What a tree finds.

    `per_record`: of the masked records; shape (m,). `null`: the same where files were exchanged at random; shape
    (permutations,).
    """

    pmse: float
    leaves: int
    per_record: NDArray[np.float64]
    null: NDArray[np.float64]


def tree_fit(
    files: Files,
    sizes: Sequence[int],
    paired: NDArray[np.int64] | None,
    permutations: int,
    rng: np.random.Generator,
    progress: Progress,
) -> TreeFit:
    """Grow a tree on both files together, and one on each of some permutations.

    `files`: n original and m masked records. `sizes`: categories of each categorical variable. `paired`: original of
    each masked record, each once; None where pairs are not known. A permutation exchanges the two records of a pair
    with probability 1/2, or all records of both files; shape (m,).
    """
    n, m = len(files.values[0]), len(files.values[1])
    weights = None if files.weights is None else np.concatenate(files.weights)
    predictors = _predictors(files, sizes)
    classes = np.repeat([0, 1], [n, m])
    pmse, leaves, squares = _grown(predictors, classes, weights)
    progress(1.0 / (permutations + 1))
    null = np.empty(permutations)
    for permutation in range(permutations):
        if paired is None:
            exchanged = rng.permutation(classes)
        else:
            exchanged = classes.copy()
            swapped = rng.random(m) < 0.5
            exchanged[n:][swapped] = 0
            exchanged[paired[swapped]] = 1
        null[permutation] = _grown(predictors, exchanged, weights)[0]
        progress((permutation + 2) / (permutations + 1))
    return TreeFit(pmse, leaves, squares[n:], null)


def _predictors(files: Files, sizes: Sequence[int]) -> Predictors:
    numbers, codes = np.concatenate(files.values), np.concatenate(files.codes)
    found: list[Predictor] = [numeric_predictor(column, numeric_cuts(column)) for column in numbers.T]
    found += [categorical_predictor(column.astype(np.int64), size) for column, size in zip(codes.T, sizes, strict=True)]
    return Predictors.of(found)


def _grown(
    predictors: Predictors, classes: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> tuple[float, int, NDArray[np.float64]]:
    """Mean squared distance of the leaves' shares from the overall one, leaves, and the distance of each record."""
    tree = classification_tree(predictors, classes, 2, weights, LIMITS)
    leaf = tree.leaves(predictors)
    own = np.ones(len(classes)) if weights is None else weights
    total, masked = np.bincount(leaf, own), np.bincount(leaf, own * classes)
    share = np.divide(masked, total, out=np.zeros_like(total), where=total > 0.0)
    squares = (share[leaf] - masked.sum() / total.sum()) ** 2
    return float(np.dot(squares, own) / own.sum()), int(tree.is_leaf.sum()), squares
