"""Cutting records into blocks."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import InputError
from maskwright.masking.protecting.variable_group import kd_blocks


@settings(max_examples=60 if os.environ.get("SLOW") else 25)
@given(
    n=st.integers(0, 200), p=st.integers(0, 4), size=st.integers(1, 60), levels=st.sampled_from([1, 3, 10**6]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_blocks_differ_by_at_most_one_record_and_are_numbered_without_gaps(n, p, size, levels, seed):
    table = np.random.default_rng(seed).integers(0, levels, (n, p)).astype(float)
    labels = kd_blocks(table, size)
    count = -(-n // size)
    assert labels.shape == (n,)
    sizes = np.bincount(labels, minlength=count)
    assert len(sizes) == count
    if n:
        assert sizes.max() <= size
        assert sizes.max() - sizes.min() <= 1


def test_two_far_groups_are_two_blocks():
    rng = np.random.default_rng(2)
    group = np.repeat([0, 1], 50)[rng.permutation(100)]
    table = rng.standard_normal((100, 3)) + 100.0 * group[:, None]
    labels = kd_blocks(table, 50)
    assert len(set(zip(labels.tolist(), group.tolist(), strict=True))) == 2


def test_the_first_cut_is_across_the_column_of_largest_variance():
    table = np.array([[0.0, 5.0], [1.0, -5.0], [2.0, 6.0], [3.0, -6.0]])
    assert kd_blocks(table, 2).tolist() == [1, 0, 1, 0]


def test_equal_records_are_cut_in_record_order():
    assert kd_blocks(np.ones((7, 2)), 3).tolist() == [0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("table", "size", "said"),
    [
        (np.ones((3, 1)), 0, "at least 1"),
        (np.ones(3), 2, "1 dimension"),
        (np.array([[np.nan]]), 2, "finite"),
    ],
)
def test_bad_input_is_named(table, size, said):
    with pytest.raises(InputError, match=said):
        kd_blocks(table, size)
