"""µ-Approx: sizes, the proven bound against the optimum by brute force, the forest, refusals."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import Block, InputError, Variable, find_partition

CENSUS = Path(__file__).parents[2] / "reference" / "census.csv"
KINDS = ["gaussian", "grid", "clustered", "duplicated", "heavy tails", "constant"]


def sample(kind, n, p, seed):
    rng = np.random.default_rng(seed)
    return {
        "gaussian": lambda: rng.standard_normal((n, p)),
        "grid": lambda: rng.integers(0, 3, (n, p)).astype(float),
        "clustered": lambda: rng.standard_normal((5, p))[rng.integers(0, 5, n)] + 0.1 * rng.standard_normal((n, p)),
        "duplicated": lambda: rng.standard_normal((n // 4 + 1, p))[rng.integers(0, n // 4 + 1, n)],
        "heavy tails": lambda: rng.standard_cauchy((n, p)),
        "constant": lambda: np.zeros((n, p)),
    }[kind]()  # fmt: skip


def cluster(values, k):
    n, p = values.shape
    variables = tuple(Variable(f"x{j}") for j in range(p))
    block = Block(values, np.zeros((n, p), bool), variables, center=np.zeros(p), scale=np.ones(p))
    partition = find_partition("mu_approx")
    return partition.cluster(block, k, partition.params(), np.random.default_rng(0))


def loss(values, labels):
    return sum(((values[labels == one] - values[labels == one].mean(axis=0)) ** 2).sum() for one in set(labels))


def optimum(values, k):
    """Smallest loss of all partitions into clusters of k and more, over subsets of records as bits."""
    n = len(values)

    @cache
    def of(left):
        if not left:
            return 0.0
        first = left & -left
        rest, best = left ^ first, np.inf
        some = rest
        while True:
            members = first | some
            rows = [i for i in range(n) if members >> i & 1]
            if k <= len(rows) < 2 * k:
                own = ((values[rows] - values[rows].mean(axis=0)) ** 2).sum()
                best = min(best, own + of(left ^ members))
            if not some:
                return best
            some = (some - 1) & rest

    return of((1 << n) - 1)


@given(
    kind=st.sampled_from(KINDS), n=st.integers(1, 80), p=st.integers(1, 4), k=st.integers(1, 8), seed=st.integers(0, 99)
)
@settings(max_examples=200, deadline=None)
def test_clusters_have_k_to_three_k_minus_three_records(kind, n, p, k, seed):
    labels = cluster(sample(kind, n, p, seed), k)
    sizes = np.bincount(labels)
    assert len(labels) == n
    assert sizes.min() >= min(k, n)
    assert sizes.max() <= max(2 * k - 1, 3 * k - 3)
    # Labels count on in the order of first records.
    assert np.all(np.diff(np.unique(labels, return_index=True)[1]) > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(9, 2), (9, 3), (10, 3), (10, 4)])
def test_loss_is_within_the_bound_of_the_optimum(kind, n, k):
    bound = (2 * k - 1) * max(2 * k - 1, 3 * k - 3) ** 2 / 2
    for seed in range(5):
        values = sample(kind, n, 2, seed)
        best = optimum(values, k)
        found = loss(values, cluster(values, k))
        assert best * (1 - 1e-9) - 1e-12 <= found <= bound * best + 1e-12


def test_groups_that_lie_apart_are_found():
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(12), 4)
    values = 100.0 * group[:, None] + rng.random((48, 2))
    order = rng.permutation(48)
    labels = cluster(values[order], 4)
    assert len({*zip(group[order].tolist(), labels.tolist(), strict=True)}) == 12


def test_a_long_edge_is_cut():
    # 0-1-2 and 10-11-12: record 2 is at the end of the first tree, whose root it is not.
    labels = cluster(np.array([[0.0], [1.0], [2.1], [10.0], [11.0], [12.1]]), 2)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_star_is_taken_apart_at_its_centre():
    # Each point on the circle has the centre as its nearest record: no edge leaves three records on either side.
    angles = 2 * np.pi * np.arange(5) / 5
    values = np.vstack([[0.0, 0.0], np.column_stack([np.cos(angles), np.sin(angles)])])
    sizes = np.bincount(cluster(values, 3))
    assert sorted(sizes.tolist()) == [3, 3]


@pytest.mark.parametrize(("k", "expected"), [(3, 6.398), (5, 10.616), (10, 17.680)])
def test_loss_on_census(k, expected):
    """Percent of the total sum of squares, as the documentation says; MDAV: 5.692, 9.088, 14.156."""
    values = np.loadtxt(CENSUS, delimiter=",", skiprows=1)
    values = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    assert 100 * loss(values, cluster(values, k)) / loss(values, np.zeros(len(values))) == pytest.approx(
        expected, abs=0.001
    )


def test_bad_numbers_and_too_many_records():
    assert cluster(np.ones((0, 2)), 3).tolist() == []
    assert sorted(np.bincount(cluster(np.ones((6, 0)), 3)).tolist()) == [3, 3]
    with pytest.raises(InputError, match="k must be at least 1"):
        cluster(np.ones((6, 1)), 0)
    with pytest.raises(InputError, match="'x1'"):
        cluster(np.array([[1.0, 2.0], [3.0, np.nan]] * 3), 2)
    with pytest.raises(InputError, match="at most 100,000, not 100,001"):
        cluster(np.zeros((100_001, 1)), 3)
