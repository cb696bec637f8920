"""Trees split as an exhaustive search does, and keep to their limits."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from maskwright import InputError
from maskwright_builtin.numerics.trees.tree import (
    Predictors,
    Tree,
    TreeLimits,
    categorical_predictor,
    classification_tree,
    numeric_cuts,
    numeric_predictor,
    regression_tree,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(20261122)
STUMP = TreeLimits(min_leaf=3, complexity=0.0, depth=1)


def gini(classes: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    total = weights.sum()
    return float(total - (np.bincount(classes, weights) ** 2).sum() / total)


def variance(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(np.dot(weights, (values - np.average(values, weights=weights)) ** 2))


def left_impurity(tree: Tree) -> float:
    return float(tree.impurity[tree.is_leaf].sum())


@pytest.mark.covering(4)
@pytest.mark.parametrize("seed", range(20))
def test_a_nominal_split_into_two_classes_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes, classes = rng.integers(-1, 5, 60), rng.integers(0, 2, 60)
    weights = rng.uniform(0.5, 2.0, 60)
    best = gini(classes, weights)
    for size in range(1, 6):
        for chosen in combinations(range(-1, 5), size):
            left = np.isin(codes, chosen)
            if min(left.sum(), (~left).sum()) >= 3:
                best = min(best, gini(classes[left], weights[left]) + gini(classes[~left], weights[~left]))
    tree = classification_tree(Predictors.of([categorical_predictor(codes, 5)]), classes, 2, weights, STUMP)
    assert left_impurity(tree) == pytest.approx(best, rel=1e-12)


@pytest.mark.covering(4)
@pytest.mark.parametrize("seed", range(20))
def test_a_split_of_numbers_is_the_best_of_all_with_the_missing_on_either_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(80) < 0.2, np.nan, rng.normal(size=80).round(1))
    target = np.where(np.isnan(values), rng.choice([-3.0, 3.0]), values**2) + 1e6
    weights = np.ones(80)
    best = variance(target, weights)
    for cut in np.unique(values[~np.isnan(values)]):
        for with_missing in (False, True):
            left = np.where(np.isnan(values), with_missing, values <= cut)
            if min(left.sum(), (~left).sum()) >= 3:
                best = min(best, variance(target[left], weights[left]) + variance(target[~left], weights[~left]))
    predictors = Predictors.of([numeric_predictor(values, numeric_cuts(values))])
    assert left_impurity(regression_tree(predictors, target, limits=STUMP)) == pytest.approx(best, rel=1e-9)


def test_many_classes_of_nominal_groups_are_told_apart_exactly() -> None:
    codes = np.repeat(np.arange(12), 20)
    tree = classification_tree(Predictors.of([categorical_predictor(codes, 12)]), codes % 4, 4)
    assert left_impurity(tree) == 0.0
    assert tree.is_leaf.sum() == 4


def test_leaves_hold_the_records_that_the_tree_counted() -> None:
    predictors = Predictors.of(
        [
            categorical_predictor(RNG.integers(-1, 7, 500), 7),
            numeric_predictor(values := RNG.normal(size=500), numeric_cuts(values)),
            categorical_predictor(RNG.integers(0, 4, 500), 4, nominal=False),
        ]
    )
    tree = classification_tree(predictors, RNG.integers(0, 3, 500), 3, limits=TreeLimits(min_leaf=7, complexity=0.0))
    leaves = tree.leaves(predictors)
    counted = np.bincount(leaves, minlength=len(tree.records))
    assert (counted[tree.is_leaf] == tree.records[tree.is_leaf]).all()
    assert counted[~tree.is_leaf].sum() == 0
    assert tree.records[tree.is_leaf].min() >= 7
    inner = np.flatnonzero(~tree.is_leaf)
    first = tree.first_child[inner]
    assert (tree.records[first] + tree.records[first + 1] == tree.records[inner]).all()
    assert (tree.parent[first] == inner).all()
    assert tree.parent[0] == -1


def test_complexity_prunes_what_gains_too_little_and_keeps_what_leads_on() -> None:
    a, b = RNG.integers(0, 2, 4000), RNG.integers(0, 2, 4000)
    noise = RNG.integers(0, 5, 4000)
    # Neither a nor b says much alone: the first split pays only through the second.
    classes = np.where(RNG.random(4000) < 0.05, 1 - (a ^ b), a ^ b)
    predictors = Predictors.of([categorical_predictor(each, 5) for each in (a, b, noise)])
    tree = classification_tree(predictors, classes, 2, limits=TreeLimits(complexity=0.05))
    assert tree.is_leaf.sum() == 4
    assert set(tree.feature[~tree.is_leaf]) == {0, 1}
    whole = classification_tree(predictors, classes, 2, limits=TreeLimits(complexity=0.0))
    assert whole.is_leaf.sum() > 4
    assert len(classification_tree(predictors, classes, 2, limits=TreeLimits(complexity=2.0)).records) == 1


def test_order_of_records_and_names_of_categories_do_not_matter() -> None:
    codes, classes = RNG.integers(0, 6, (2, 300)), RNG.integers(0, 2, 300)
    tree = classification_tree(Predictors.of([categorical_predictor(row, 6) for row in codes]), classes, 2)
    order, names = RNG.permutation(300), RNG.permutation(6)
    other = Predictors.of([categorical_predictor(names[row[order]], 6) for row in codes])
    assert left_impurity(classification_tree(other, classes[order], 2)) == left_impurity(tree)


def test_records_with_new_codes_fall_into_a_leaf() -> None:
    grown = Predictors.of([categorical_predictor(np.repeat([0, 3], [30, 10]), 5)])
    tree = classification_tree(grown, np.repeat([0, 1], [30, 10]), 2)
    new = Predictors.of([categorical_predictor(np.array([0, 3, 1, 2, 4, -1]), 5)])
    leaves = tree.leaves(new)
    assert leaves[0] != leaves[1]
    assert (leaves[2:] == leaves[0]).all(), "unknown categories go with the most records"
    grown = Predictors.of([categorical_predictor(np.repeat([1, 3], [30, 10]), 5, nominal=False)])
    tree = classification_tree(grown, np.repeat([0, 1], [30, 10]), 2)
    leaves = tree.leaves(Predictors.of([categorical_predictor(np.array([0, 1, 2, 3, 4]), 5, nominal=False)]))
    assert (leaves == leaves[[1, 1, 1, 3, 3]]).all(), "ordered ones with their neighbour"


def test_numbers_beyond_the_intervals_are_cut_at_quantiles() -> None:
    values = RNG.normal(size=10_000)
    cuts = numeric_cuts(values, 10)
    assert len(cuts) == 9
    assert np.bincount(numeric_predictor(values, cuts).codes).tolist() == [1000] * 10
    assert numeric_cuts(np.array([np.nan])).size == 0
    assert numeric_predictor(np.array([np.nan, 4.0]), np.array([])).codes.tolist() == [1, 0]


def test_what_cannot_be_grown_is_refused() -> None:
    none = Predictors(np.zeros((0, 3), dtype=np.uint16), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    with pytest.raises(InputError, match="needs predictors"):
        regression_tree(none, np.arange(3.0))
    with pytest.raises(InputError, match="min_leaf"):
        TreeLimits(min_leaf=0)
