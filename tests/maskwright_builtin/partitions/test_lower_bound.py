"""The certified lower bound: below every partition, close to the best, pricing against all groups."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import maskwright as mw
from maskwright_builtin.partitions.lower_bound.bound import sum_of_squares_bound
from maskwright_builtin.partitions.lower_bound.pricing_kernel import price_groups


def cost(points, group):
    rows = points[list(group)]
    return float(((rows - rows.mean(axis=0)) ** 2).sum())


def best_of_all_partitions(points, k):
    """Smallest sum of squares, by dynamic programming over sets of records."""
    n = len(points)
    full = (1 << n) - 1
    best = {0: 0.0}

    def solve(left):
        if left in best:
            return best[left]
        first = (left & -left).bit_length() - 1
        others = [at for at in range(first + 1, n) if left >> at & 1]
        found = np.inf
        for size in range(k, 2 * k):
            for rest in itertools.combinations(others, size - 1):
                taken = 1 << first | sum(1 << at for at in rest)
                remaining = left & ~taken
                if 0 < remaining.bit_count() < k:
                    continue
                found = min(found, cost(points, (first, *rest)) + solve(remaining))
        best[left] = found
        return found

    return solve(full)


def relaxation_over_all_groups(points, k):
    """Value of the linear programme with every group of k to 2k - 1 records."""
    n = len(points)
    groups = [group for size in range(k, min(2 * k, n + 1)) for group in itertools.combinations(range(n), size)]
    matrix = np.zeros((n, len(groups)))
    for column, group in enumerate(groups):
        matrix[list(group), column] = 1.0
    # HiGHS has absolute tolerances: costs are brought to about 1.
    unit = np.mean(points**2)
    solved = linprog([cost(points, group) / unit for group in groups], A_eq=matrix, b_eq=np.ones(n))
    return solved.fun * unit


@given(seed=st.integers(0, 10_000), n=st.integers(6, 11), k=st.integers(2, 3), equal=st.booleans())
def test_bounds_the_best_partition_closely(seed, n, k, equal):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-3, 4)
    if equal:
        points[: n // 2] = points[0]
    start = np.minimum(np.arange(n) // k, n // k - 1)
    found = sum_of_squares_bound(points, k, [start], precision=1e-9)
    assert found.value <= best_of_all_partitions(points, k) * (1 + 1e-12)
    assert found.value == pytest.approx(relaxation_over_all_groups(points, k), rel=1e-6, abs=1e-9 * np.sum(points**2))
    assert found.unfinished == 0


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 3))
def test_pricing_finds_the_cheapest_groups(seed, k):
    rng = np.random.default_rng(seed)
    n = 9
    points, prices = rng.normal(size=(n, 2)), rng.uniform(-0.2, 1.0, size=n)
    excess, costs = np.zeros(n), np.zeros((n, k))
    members = np.zeros((n, k, 2 * k - 1), dtype=np.int64)
    assert price_groups(points, prices, k, 0, n, 10**6, excess, costs, members) == 0
    for root in range(n):
        for extra in range(k):
            groups = [(root, *rest) for rest in itertools.combinations(range(root + 1, n), k + extra - 1)]
            lowest = min((cost(points, group) - prices[list(group)].sum() for group in groups), default=0.0)
            assert costs[root, extra] == pytest.approx(min(lowest, 0.0), abs=1e-9)
        assert excess[root] == pytest.approx(costs[root].min(), abs=1e-12)


def test_searches_that_are_cut_off_keep_the_bound_valid():
    rng = np.random.default_rng(1)
    points, prices = rng.normal(size=(30, 3)), np.full(30, 2.0)
    exact, cut = np.zeros(30), np.zeros(30)
    members = np.zeros((30, 3, 5), dtype=np.int64)
    assert price_groups(points, prices, 3, 0, 30, 10**7, exact, np.zeros((30, 3)), members) == 0
    assert price_groups(points, prices, 3, 0, 30, 3, cut, np.zeros((30, 3)), members) > 0
    assert (cut <= exact).all()


def test_census_is_within_one_percent_of_the_optimum(reference):
    """Lower bound 4.646 % by column generation. Source: refinement specification, bounds."""
    data = pd.read_csv(reference / "census.csv").astype(float)
    params = {"k": 3, "group_size": "all", "partition": {"refine": {"kicks_per_group": 360}}}
    masked = mw.protect(data, "microaggregation", seed=1, params=params)
    found = mw.measure(data, masked, [{"microaggregation_gap": {"k": 3, "precision": 0.002}}])["microaggregation_gap"]
    assert found.parts["loss"] <= 4.72
    assert 4.63 <= found.parts["lower_bound"] <= 4.6461
    assert 0 <= found.value <= 2.0
    assert found.notes == ()


def test_says_why_it_is_not_defined():
    data = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0], "b": [1.0, 2.0, 3.0, 5.0]})
    for columns, k in ((["a", "b"], 2), (["b"], 3)):
        found = mw.measure(data[columns], data[columns], [{"microaggregation_gap": {"k": k}}])["microaggregation_gap"]
        assert np.isnan(found.value)
        assert "without missing cells" in found.notes[0]
    with pytest.raises(mw.InputError, match="k: "):
        mw.measure(data, data, [{"microaggregation_gap": {"k": 1}}])
