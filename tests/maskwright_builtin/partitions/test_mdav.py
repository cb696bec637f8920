"""Exact MDAV: the same labels as a plain computation, the published losses, and the worked example of the thesis."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import Block, InputError, Variable, find_partition
from maskwright_builtin.partitions.mdav import lookahead
from maskwright_builtin.partitions.mdav.ahead_nearest_kernel import list_nearest

RNG = np.random.default_rng(0)


def block_of(values, *, standardise=True, missing=None, **more):
    values = np.asarray(values, dtype=float)
    n, p = values.shape
    gone = np.zeros((n, p), dtype=bool) if missing is None else missing
    center, scale = np.zeros(p), np.ones(p)
    if standardise and n > 1:
        center = values.mean(axis=0)
        scale = (values - center).std(axis=0, ddof=1)
        # A constant column has scale 1, as in `Block`; rounding noise is no spread.
        scale[scale <= 1e-12 * np.abs(values).max(axis=0)] = 1.0
    variables = tuple(Variable(f"x{j}") for j in range(p))
    return Block(values, gone, variables, center=center, scale=scale, **more)


def cluster(block, k):
    return find_partition("mdav").cluster(block, k, find_partition("mdav").params(), RNG)


def plain_mdav(z, k):
    """MDAV as it is defined: every distance in full, column by column, centroids exactly summed."""
    labels = np.full(len(z), -1)
    rest = np.arange(len(z))
    label = 0

    def distances(point):
        total = np.zeros(len(rest))
        for j in range(z.shape[1]):
            total += (z[rest, j] - point[j]) ** 2
        return total

    def farthest(point):
        return rest[np.argmax(distances(point))]

    def take(record):
        nonlocal rest, label
        rest = rest[rest != record]
        near = np.argsort(distances(z[record]), kind="stable")[: k - 1]
        labels[record] = labels[rest[near]] = label
        rest = np.delete(rest, near)
        label += 1

    def centroid():
        return [math.fsum(z[rest, j]) / len(rest) for j in range(z.shape[1])]

    while len(rest) >= 3 * k:
        first = farthest(centroid())
        take(first)
        take(farthest(z[first]))
    if len(rest) >= 2 * k:
        take(farthest(centroid()))
    labels[rest] = label
    return labels


def around(rng, centres, noise):
    return centres + noise * rng.standard_normal(centres.shape)


def circle(n, p):
    return np.stack([np.cos(np.arange(n) % 12 * np.pi / 6 + j * np.pi / 2) for j in range(p)], axis=1)


KINDS = {
    "gaussian": lambda rng, n, p: rng.standard_normal((n, p)),
    "clustered": lambda rng, n, p: around(rng, 6 * rng.standard_normal((9, p))[rng.integers(0, 9, n)], 1.0),
    "tight clusters": lambda rng, n, p: around(rng, rng.standard_normal((9, p))[rng.integers(0, 9, n)], 1e-6),
    "heavy tails": lambda rng, n, p: rng.standard_cauchy((n, p)),
    "orders of magnitude": lambda rng, n, p: rng.standard_normal((n, p)) * 10.0 ** rng.integers(-12, 12, (n, 1)),
    "grid": lambda rng, n, p: rng.integers(0, 3, (n, p)).astype(float),
    "fine grid": lambda rng, n, p: rng.integers(0, 30, (n, p)).astype(float),
    "duplicated": lambda rng, n, p: rng.standard_normal((n // 6 + 1, p))[rng.integers(0, n // 6 + 1, n)],
    "mostly zero": lambda rng, n, p: rng.standard_normal((n, p)) * (rng.random((n, 1)) < 0.2),
    "circle": lambda rng, n, p: circle(n, p),
    "constant": lambda rng, n, p: np.full((n, p), 0.1),
}


def sample(kind, n, p, seed):
    return KINDS[kind](np.random.default_rng(seed), n, p)


@pytest.mark.parametrize("k", [2, 3, 10, 70])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_equal_those_of_a_plain_computation(kind, k):
    for n, p in ((700, 3), (301, 10), (1200, 2)):
        block = block_of(sample(kind, n, p, seed=k))
        np.testing.assert_array_equal(cluster(block, k), plain_mdav(block.standardised(), k))


@settings(max_examples=150)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(1, 150),
    p=st.integers(1, 7),
    k=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_labels_equal_those_of_a_plain_computation_on_small_files_of_every_size(kind, n, p, k, seed):
    block = block_of(sample(kind, n, p, seed))
    np.testing.assert_array_equal(cluster(block, k), plain_mdav(block.standardised(), k))


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 2), min_size=6, max_size=60), power=st.integers(-160, 140))
def test_labels_equal_those_of_a_plain_computation_at_every_magnitude(rows, power):
    block = block_of(np.array(rows) * 10.0**power, standardise=False)
    np.testing.assert_array_equal(cluster(block, 2), plain_mdav(block.standardised(), 2))


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("turned", [0.0, 0.5])
def test_records_that_mirror_each_other_are_told_apart_by_their_number_alone(turned, k):
    """One column that is symmetric: both ends are equally far from the centroid, time and again."""
    n = 1200
    block = block_of(np.cos(2 * np.pi * (np.arange(n) + turned) / n)[:, None])
    np.testing.assert_array_equal(cluster(block, k), plain_mdav(block.standardised(), k))


def test_distances_below_the_normal_numbers():
    points = 1e-160 * np.random.default_rng(3).standard_normal((2000, 10))
    np.testing.assert_array_equal(cluster(block_of(points, standardise=False), 1), plain_mdav(points, 1))


@pytest.fixture
def always_ahead(monkeypatch):
    """Searches are made ahead on small and cheap data too, where that never pays."""
    monkeypatch.setattr(lookahead, "FEW_LEAVES", 0)
    monkeypatch.setattr(lookahead, "CALL", -(10**9))


@pytest.mark.covering(2)
@pytest.mark.usefixtures("always_ahead")
@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_searches_made_ahead_change_no_label(kind, k):
    for n, p in ((1250, 10), (800, 2)):
        block = block_of(sample(kind, n, p, seed=5))
        np.testing.assert_array_equal(cluster(block, k), plain_mdav(block.standardised(), k))


def lists_asked_for(monkeypatch, values, k):
    """How often lists of nearest records were asked for ahead."""
    calls = []

    def counted(*arguments):
        calls.append(1)
        return list_nearest(*arguments)

    monkeypatch.setenv("MASKWRIGHT_THREADS", "1")
    monkeypatch.setattr(lookahead, "list_nearest", counted)
    cluster(block_of(values), k)
    return len(calls)


def test_searches_are_made_ahead_where_that_costs_less(monkeypatch):
    assert lists_asked_for(monkeypatch, sample("gaussian", 40_000, 10, seed=1), 3) > 10


@pytest.mark.parametrize(("kind", "p"), [("gaussian", 1), ("duplicated", 10), ("clustered", 2), ("constant", 10)])
def test_searches_are_hardly_made_ahead_where_each_alone_is_cheap(kind, p, monkeypatch):
    assert lists_asked_for(monkeypatch, sample(kind, 40_000, p, seed=1), 10) <= 4


def test_few_records_are_not_asked_about_ahead(monkeypatch):
    assert lists_asked_for(monkeypatch, sample("gaussian", 10_000, 10, seed=1), 3) == 0


@pytest.mark.usefixtures("always_ahead")
@pytest.mark.parametrize("kind", ["gaussian", "fine grid"])
def test_any_number_of_threads_gives_the_same_labels(kind, monkeypatch):
    block = block_of(sample(kind, 13_000, 8, seed=2))
    labels = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MASKWRIGHT_THREADS", threads)
        labels.append(cluster(block, 3))
    np.testing.assert_array_equal(*labels)


def test_many_records_many_leaves():
    block = block_of(sample("gaussian", 9000, 4, seed=7))
    labels = cluster(block, 60)
    np.testing.assert_array_equal(labels, plain_mdav(block.standardised(), 60))


@settings(max_examples=40)
@given(kind=st.sampled_from(sorted(KINDS)), n=st.integers(1, 120), k=st.integers(1, 30), seed=st.integers(0, 99))
def test_sizes_and_numbers(kind, n, k, seed):
    labels = cluster(block_of(sample(kind, n, 3, seed)), k)
    sizes = np.bincount(labels)
    assert labels.dtype == np.int64
    if n < 2 * k:
        assert sizes.tolist() == [n]
    else:
        assert sizes.min() >= k
        assert sizes.max() < 2 * k
        assert set(sizes[:-1].tolist()) == {k}


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(*[st.integers(-50, 50)] * 3), min_size=2, max_size=64),
    k=st.integers(2, 5),
    offset=st.sampled_from([1e8, -1e8, 2.0**40]),
)
def test_an_offset_changes_no_partition(rows, k, offset):
    # 64 records, a power of two: the mean of integers is exact, hence the standardised values are the same.
    values = np.array((rows * 64)[:64], dtype=float)
    np.testing.assert_array_equal(cluster(block_of(values + offset), k), cluster(block_of(values), k))


def test_an_offset_changes_no_partition_of_real_numbers():
    values = np.round(np.random.default_rng(3).standard_normal((1024, 5)) * 2**10)
    np.testing.assert_array_equal(cluster(block_of(values + 1e8), 3), cluster(block_of(values), 3))


THESIS = [(0, 3), (-2.1, 0), (2, 0), (-0.5, -0.6), (-0.4, -0.5), (-0.25, -0.5), (0.25, -0.6), (0.4, -0.6), (0.6, -0.2)]


def test_worked_example_of_the_thesis():
    """Mateo-Sanz, section 4.4, not standardised: {1, 6, 9}, {2, 4, 5}, {3, 7, 8}."""
    assert cluster(block_of(THESIS, standardise=False), 3).tolist() == [0, 1, 2, 1, 1, 0, 2, 2, 0]


# Recomputed with independent implementations; sdcMicro prints the same figures.
LOSSES = [
    ("census", 3, 5.6922), ("census", 5, 9.0884), ("census", 10, 14.1559),
    ("tarragona", 3, 16.9326), ("tarragona", 5, 22.4619), ("tarragona", 10, 33.1929),
]  # fmt: skip


@pytest.mark.parametrize(("name", "k", "expected"), LOSSES)
def test_loss_on_the_reference_files(reference_file, name, k, expected):
    values = np.loadtxt(reference_file(f"{name}.csv"), delimiter=",", skiprows=1)
    block = block_of(values)
    labels = cluster(block, k)
    z = block.standardised()
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in z.T], axis=1)
    loss = 100 * ((z - means[labels]) ** 2).sum() / (z.shape[1] * (len(z) - 1))
    assert loss == pytest.approx(expected, abs=5.1e-5)


def test_missing_cells_count_as_the_mean_of_the_file():
    values = np.random.default_rng(1).standard_normal((60, 2))
    gone = np.random.default_rng(2).random((60, 2)) < 0.2
    holes = np.where(gone, np.nan, values)
    plain = Block(
        np.where(gone, 0.5, values), np.zeros((60, 2), bool), (Variable("a"), Variable("b")),
        center=np.full(2, 0.5), scale=np.ones(2),
    )  # fmt: skip
    with_holes = Block(holes, gone, plain.variables, center=plain.center, scale=plain.scale)
    np.testing.assert_array_equal(cluster(with_holes, 4), cluster(plain, 4))


def test_progress_rises_to_one_and_the_block_is_left_alone():
    shares = []
    block = block_of(sample("gaussian", 3000, 3, 1), progress=shares.append)
    block.values.setflags(write=False)
    cluster(block, 3)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(0.0 <= share <= 1.0 for share in shares)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_numbers_that_have_no_distance_are_refused(wrong):
    values = np.ones((9, 2))
    values[4, 1] = wrong
    with pytest.raises(InputError, match="'x1'"):
        cluster(block_of(values, standardise=False), 2)


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k):
    with pytest.raises(InputError, match="k must be at least 1"):
        cluster(block_of(np.ones((9, 2))), k)


def test_without_records_or_variables():
    assert cluster(block_of(np.ones((0, 2)), standardise=False), 3).tolist() == []
    assert cluster(block_of(np.ones((5, 0)), standardise=False), 2).tolist() == [0, 0, 1, 1, 1]


def test_without_compiler_the_labels_are_the_same():
    program = """
        import warnings
        warnings.simplefilter("error")
        import numpy as np
        from maskwright_builtin.partitions.mdav.partition import mdav_labels
        rng = np.random.default_rng(4)
        for table in (rng.standard_normal((200, 5)), rng.integers(0, 3, (120, 2)) * 1e-200, np.ones((90, 1))):
            print(mdav_labels(table, 3, lambda share: None).tolist())
    """
    program = textwrap.dedent(program)
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]  # fmt: skip
    assert said[0] == said[1] != ""


def test_offering_the_partition_does_not_load_the_compiler():
    program = "import sys, maskwright_builtin.partitions; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_last_step_around_the_opposite_record():
    """Seven points of a line, k = 3: the cluster of three is at one end or at the other."""
    line = np.array([0.0, 1.0, 2.0, 3.0, 5.5, 6.0, 6.5])[:, None]
    block = Block(line, np.zeros(line.shape, bool), (Variable("x"),), center=np.zeros(1), scale=np.ones(1))
    mdav = find_partition("mdav")
    farthest, opposite = (mdav.cluster(block, 3, mdav.params(last=last), RNG) for last in ("farthest", "opposite"))
    # The mean is 3.4: 0 is the farthest from it, and 6.5 the farthest from 0.
    assert farthest.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert opposite.tolist() == [1, 1, 1, 1, 0, 0, 0]
