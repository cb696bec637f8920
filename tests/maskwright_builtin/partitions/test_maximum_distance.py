"""Maximum distance and variable-size MDAV: the same labels as plain computations, sizes, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maskwright import Block, InputError, Variable, find_partition
from maskwright_builtin.partitions.records import centred

RNG = np.random.default_rng(0)
KINDS = ["gaussian", "grid", "fine grid", "clustered", "duplicated", "heavy tails", "constant"]


def sample(kind, n, p, seed):
    rng = np.random.default_rng(seed)
    return {
        "gaussian": lambda: rng.standard_normal((n, p)),
        "grid": lambda: rng.integers(0, 3, (n, p)).astype(float),
        "fine grid": lambda: rng.integers(0, 30, (n, p)).astype(float),
        "clustered": lambda: rng.standard_normal((5, p))[rng.integers(0, 5, n)] + 0.1 * rng.standard_normal((n, p)),
        "duplicated": lambda: rng.standard_normal((n // 4 + 1, p))[rng.integers(0, n // 4 + 1, n)],
        "heavy tails": lambda: rng.standard_cauchy((n, p)),
        "constant": lambda: np.zeros((n, p)),
    }[kind]()  # fmt: skip


def cluster(name, values, k, **params):
    n, p = values.shape
    variables = tuple(Variable(f"x{j}") for j in range(p))
    block = Block(values, np.zeros((n, p), bool), variables, center=np.zeros(p), scale=np.ones(p))
    partition = find_partition(name)
    return partition.cluster(block, k, partition.params(**params), RNG)


def squared(z, rows, record):
    total = np.zeros(len(rows))
    for j in range(z.shape[1]):
        total += (z[rows, j] - z[record, j]) ** 2
    return total


def plain_maximum_distance(z, k):
    """The algorithm of the thesis with every distance in full."""
    labels = np.full(len(z), -1)
    rest = np.arange(len(z))
    label = 0
    if len(z) < 2 * k:
        return np.zeros(len(z))

    def take(record):
        nonlocal rest, label
        others = rest[rest != record]
        near = np.argsort(squared(z, others, record), kind="stable")[: k - 1]
        labels[record] = labels[others[near]] = label
        rest = np.delete(others, near)
        label += 1

    def pair():
        farthest = [squared(z, rest, record).max() for record in rest]
        return rest[int(np.argmax(farthest))]

    def partner(record):
        return rest[np.argmax(squared(z, rest, record))]

    while len(rest) >= 3 * k:
        first = pair()
        take(first)
        take(partner(first))
    if len(rest) >= 2 * k:
        take(pair())
    labels[rest] = label
    return labels


def plain_variable_size_mdav(z, k, gamma):
    """V-MDAV with every distance in full."""
    n = len(z)
    if n < 2 * k:
        return np.zeros(n)
    labels = np.full(n, -1)
    rest = list(range(n))
    groups = []
    norms = np.zeros(n)
    for column in z.T:
        norms += column * column
    while len(rest) >= k:
        seed = max(rest, key=lambda row: (norms[row], -row))
        rest.remove(seed)
        order = np.argsort(squared(z, rest, seed), kind="stable")[: k - 1]
        group = [seed, *[rest[at] for at in order]]
        rest = [row for row in rest if row not in group]
        while len(group) < 2 * k - 1 and len(rest) > 1:
            inside = [squared(z, group, row).min() for row in rest]
            nearest = rest[int(np.argmin(inside))]
            others = [row for row in rest if row != nearest]
            if not math.sqrt(min(inside)) < gamma * math.sqrt(squared(z, others, nearest).min()):
                break
            group.append(nearest)
            rest.remove(nearest)
        labels[group] = len(groups)
        groups.append(group)
    centroids = np.array([z[group].mean(axis=0) for group in groups])
    for row in rest:
        distances = ((centroids - z[row]) ** 2).sum(axis=1)
        # Means are rounded in one way or another: of equally near clusters either will do.
        near = np.flatnonzero(distances <= distances.min() + 1e-12)
        labels[row] = near[0] if len(near) == 1 else -1
    return labels


@settings(max_examples=60)
@given(
    kind=st.sampled_from(KINDS), n=st.integers(1, 70), p=st.integers(1, 4), k=st.integers(1, 9), seed=st.integers(0, 99)
)
def test_maximum_distance_equals_a_plain_computation(kind, n, p, k, seed):
    values = sample(kind, n, p, seed)
    np.testing.assert_array_equal(cluster("maximum_distance", values, k), plain_maximum_distance(centred(values), k))


@settings(max_examples=60)
@given(
    kind=st.sampled_from(KINDS), n=st.integers(1, 70), p=st.integers(1, 4), k=st.integers(1, 9),
    seed=st.integers(0, 99), gamma=st.sampled_from([0.0, 0.2, 1.1, 3.0]),
)  # fmt: skip
def test_variable_size_mdav_equals_a_plain_computation(kind, n, p, k, seed, gamma):
    values = sample(kind, n, p, seed)
    expected = plain_variable_size_mdav(centred(values), k, gamma)
    found = cluster("variable_size_mdav", values, k, gamma=gamma)
    np.testing.assert_array_equal(found[expected >= 0], expected[expected >= 0])
    sizes = np.bincount(found)
    assert sizes.min() >= min(k, n)
    assert sizes.max() <= max(3 * k - 2, 2 * k - 1)


def test_maximum_distance_at_a_size_where_bounds_matter():
    values = sample("gaussian", 900, 5, 3)
    np.testing.assert_array_equal(cluster("maximum_distance", values, 20), plain_maximum_distance(centred(values), 20))


def test_the_example_of_the_thesis_starts_with_the_two_farthest():
    """Mateo-Sanz, section 4.4, first eight points: X2 and X3 are farthest from each other, 4.1."""
    points = [(0, 3), (-2.1, 0), (2, 0), (-0.5, -0.6), (-0.4, -0.5), (-0.25, -0.5), (0.25, -0.6), (0.4, -0.6)]
    labels = cluster("maximum_distance", np.array(points), 2)
    assert labels[[1, 3]].tolist() == [0, 0]
    assert labels[[2, 7]].tolist() == [1, 1]


def test_more_gamma_makes_fewer_clusters_of_clustered_records():
    rng = np.random.default_rng(5)
    values = np.repeat(rng.standard_normal((20, 3)), 5, axis=0) + 0.01 * rng.standard_normal((100, 3))
    counts = [cluster("variable_size_mdav", values, 3, gamma=gamma).max() + 1 for gamma in (0.0, 1.1)]
    assert counts[0] == 33
    assert 20 <= counts[1] <= 22


@pytest.mark.parametrize("gamma", [-0.1, np.nan, np.inf, "much"])
def test_a_wrong_gamma_is_refused(gamma):
    with pytest.raises(ValidationError):
        find_partition("variable_size_mdav").params(gamma=gamma)


@pytest.mark.parametrize("name", ["maximum_distance", "variable_size_mdav"])
def test_bad_numbers_and_empty_blocks(name):
    assert cluster(name, np.ones((0, 2)), 3).tolist() == []
    assert sorted(np.bincount(cluster(name, np.ones((6, 0)), 3)).tolist()) == [3, 3]
    with pytest.raises(InputError, match="k must be at least 1"):
        cluster(name, np.ones((6, 1)), 0)
    for wrong in (np.nan, np.inf, 1e200):
        with pytest.raises(InputError, match="'x1'"):
            cluster(name, np.array([[1.0, 2.0], [3.0, wrong]] * 3), 2)
    with np.errstate(over="raise", invalid="raise"):
        labels = cluster(name, np.random.default_rng(1).standard_normal((20, 9)) * 1e149, 3)
    assert np.bincount(labels).min() >= 3
