"""The optimal univariate partition: against exact dynamic programming, brute force, and refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import Block, InputError, NoParams, Variable, find_partition

RNG = np.random.default_rng(0)


def cluster(values, k):
    values = np.array(values, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    n, p = values.shape
    variables = tuple(Variable(f"x{j}") for j in range(p))
    block = Block(values, np.zeros((n, p), bool), variables, center=np.zeros(p), scale=np.ones(p))
    return find_partition("univariate").cluster(block, k, NoParams(), RNG)


def squares(values):
    """Exact sum of squares about the mean."""
    exact = [Fraction(float(value)) for value in values]
    return sum(value * value for value in exact) - sum(exact) ** 2 / len(exact)


def loss(values, labels):
    return sum(squares(np.asarray(values)[labels == label]) for label in range(labels.max() + 1))


def least_loss(values, k, longest=10**9):
    """Smallest loss of all cuts of the sorted values, exactly, with clusters of k to `longest`."""
    ordered = [Fraction(float(value)) for value in sorted(values)]
    sums = list(accumulate(ordered, initial=Fraction(0)))
    squared = list(accumulate((value * value for value in ordered), initial=Fraction(0)))
    best = [Fraction(0)]
    for stop in range(1, len(ordered) + 1):
        found = [
            best[start] + squared[stop] - squared[start] - (sums[stop] - sums[start]) ** 2 / (stop - start)
            for start in range(max(0, stop - longest), stop - k + 1)
            if start == 0 or start >= k
        ]
        best.append(min(found, default=Fraction(0)))
    return best[-1]


def all_partitions(items, k):
    """Every partition of the items into sets of at least k."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(1 << len(rest)):
        group = [first] + [item for bit, item in enumerate(rest) if mask >> bit & 1]
        if len(group) >= k:
            left = [item for bit, item in enumerate(rest) if not mask >> bit & 1]
            for others in all_partitions(left, k):
                yield [group, *others]


numbers = st.one_of(st.integers(-20, 20).map(float), st.floats(-1e6, 1e6).map(lambda value: round(value, 3)))


@settings(max_examples=60)
@given(values=st.lists(numbers, min_size=2, max_size=36), k=st.integers(1, 6))
def test_the_loss_is_the_smallest_of_all_cuts(values, k):
    labels = cluster(values, k)
    if len(values) < 2 * k:
        assert labels.tolist() == [0] * len(values)
        return
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    spread = max(squares(values), Fraction(1, 10**9))
    assert loss(values, labels) - least_loss(values, k) <= Fraction(1, 10**13) * spread


@settings(max_examples=25)
@given(values=st.lists(st.integers(-9, 9), min_size=4, max_size=8), k=st.integers(2, 3))
def test_no_partition_at_all_has_a_smaller_loss(values, k):
    values = [float(value) for value in values]
    least = min(
        sum(squares(np.array(values)[group]) for group in partition)
        for partition in all_partitions(list(range(len(values))), k)
    ) if len(values) >= k else 0  # fmt: skip
    if len(values) >= 2 * k:
        assert float(loss(values, cluster(values, k)) - least) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
@pytest.mark.parametrize("k", [3, 10])
def test_a_far_offset_loses_no_digits(offset, k):
    values = np.round(np.random.default_rng(k).standard_normal(200) * 1024) + offset
    assert loss(values, cluster(values, k)) == pytest.approx(
        float(least_loss(values.tolist(), k, 2 * k - 1)), rel=1e-12
    )


@pytest.mark.parametrize("power", [-200, -150, 140])
def test_every_magnitude(power):
    values = np.random.default_rng(1).integers(0, 1000, 60).astype(float)
    assert loss(values, cluster(values * 10.0**power, 4)) == pytest.approx(float(least_loss(values.tolist(), 4)))


def test_labels_ascend_with_the_values_and_equal_values_with_the_records():
    assert cluster([5, 1, 5, 1, 5, 1, 5, 1], 2).tolist() == [2, 0, 2, 0, 3, 1, 3, 1]
    assert cluster(np.full(9, 7.0), 4).tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_several_variables_are_refused_with_a_way_out():
    with pytest.raises(InputError, match=r"this group has 2 \('x0', 'x1'\).*individual_ranking"):
        cluster(np.ones((9, 2)), 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_numbers_that_have_no_distance_are_refused(wrong):
    with pytest.raises(InputError, match="'x0'"):
        cluster([1.0, 2.0, wrong, 4.0], 2)


def test_k_below_one_is_refused():
    with pytest.raises(InputError, match="k must be at least 1"):
        cluster([1.0, 2.0], 0)
