"""Partitions along one axis: the key, groups of the thesis, missing cells, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maskwright import Block, InputError, Variable, find_partition
from maskwright_builtin.partitions.projection import first_rotated_factor

PARTITION = find_partition("projection")
ONTO = ["z_scores", "principal_component", "rotated_factor"]


def cluster(values, k, **params):
    values = np.array(values, dtype=float)
    p = values.shape[1]
    block = Block(
        values, np.isnan(values), tuple(Variable(f"x{j + 1}") for j in range(p)),
        center=np.nanmean(values, axis=0), scale=np.nanstd(values, axis=0, ddof=1),
    )  # fmt: skip
    return PARTITION.cluster(block, k, PARTITION.params(**params), np.random.default_rng(0))


def table(n=300):
    rng = np.random.default_rng(7)
    factors = rng.normal(size=(n, 2))
    return factors @ np.array([[3, 2, 2, 0, 0], [0, 0, 0.3, 2, 3]]) + 0.4 * rng.normal(size=(n, 5))


def key_of(values, onto):
    standardised = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    if onto == "z_scores":
        return standardised.sum(axis=1)
    left, _, right = np.linalg.svd(standardised, full_matrices=False)
    return left[:, 0] * np.sign(right[0].sum())


@pytest.mark.parametrize("onto", ["z_scores", "principal_component"])
@pytest.mark.parametrize("k", [3, 7])
def test_groups_follow_each_other_along_the_key(onto, k):
    values = table(200)
    labels = cluster(values, k, onto=onto)
    sorted_labels = labels[np.argsort(key_of(values, onto))]
    assert np.all(np.diff(sorted_labels) >= 0)
    sizes = np.bincount(labels)
    count = 200 // k
    assert sizes[count // 2] == k + 200 % k
    assert (np.delete(sizes, count // 2) == k).all()


def test_the_rotated_factor_finds_the_variables_that_belong_together():
    """Two blocks of variables: varimax turns the component, which mixes them, onto the first block."""
    values = table()
    factor = first_rotated_factor((values - values.mean(axis=0)) / values.std(axis=0, ddof=1))
    with_variables = np.array([np.corrcoef(factor, column)[0, 1] for column in values.T])
    assert (with_variables[:3] > 0.8).all()
    assert (np.abs(with_variables[3:]) < 0.3).all()


def test_along_one_variable():
    values = table(60)
    labels = cluster(values, 5, onto="variable", variable="x3")
    assert np.all(np.diff(labels[np.argsort(values[:, 2])]) >= 0)
    optimal = cluster(values, 5, onto="variable", variable="x3", groups="optimal")

    def within(labels):
        return sum(
            ((values[labels == label, 2] - values[labels == label, 2].mean()) ** 2).sum() for label in set(labels)
        )

    assert within(optimal) < within(labels)


@settings(max_examples=40)
@given(n=st.integers(1, 40), k=st.integers(1, 8), onto=st.sampled_from(ONTO), seed=st.integers(0, 99))
def test_sizes(n, k, onto, seed):
    values = np.random.default_rng(seed).integers(0, 4, (n, 3)) + np.arange(3) * np.ones((n, 1))
    block = Block(
        values, np.zeros((n, 3), bool), tuple(Variable(f"x{j}") for j in range(3)), center=np.zeros(3), scale=np.ones(3)
    )
    labels = PARTITION.cluster(block, k, PARTITION.params(onto=onto), np.random.default_rng(0))
    assert np.bincount(labels).min() >= min(k, n)


def test_a_missing_cell_counts_as_the_mean():
    values = np.array([[0.0], [1.0], [np.nan], [3.0], [4.0], [10.0]])
    labels = cluster(values, 3, onto="variable", variable="x1")
    assert labels.tolist() == [0, 0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    "params", [{"onto": "second"}, {"onto": "variable"}, {"variable": "x1"}, {"groups": "some"}, {"by": "x1"}], ids=str
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        PARTITION.params(**params)


def test_a_variable_outside_the_group_is_refused():
    with pytest.raises(InputError, match=r"variable 'y' is not in the group x1, x2; set 'group_size: all'"):
        cluster([[1.0, 2.0], [3.0, 4.0]], 1, onto="variable", variable="y")
