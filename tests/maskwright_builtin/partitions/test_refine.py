"""Refinement: sizes, losses no one else reaches, reproducibility, brute force at small n, refusals."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maskwright import Block, InputError, Partition, PluginError, Variable, find_partition
from maskwright_builtin.partitions.refine import partition as refine
from maskwright_builtin.partitions.refine import search

REFINE = find_partition("refine")


def block_of(values, **more):
    values = np.asarray(values, dtype=float)
    n, p = values.shape
    scale = (values - values.mean(axis=0)).std(axis=0, ddof=1)
    scale[scale <= 1e-12 * np.abs(values).max(axis=0)] = 1.0
    variables = tuple(Variable(f"x{j}") for j in range(p))
    return Block(values, np.zeros((n, p), bool), variables, center=values.mean(axis=0), scale=scale, **more)


def cluster(block, k, **params):
    return REFINE.cluster(block, k, REFINE.params(**params), np.random.default_rng(1))


def loss(block, labels):
    """100 times the within-cluster over the total sum of squares."""
    z = block.standardised()
    within = sum(((z[labels == label] - z[labels == label].mean(axis=0)) ** 2).sum() for label in np.unique(labels))
    return 100 * within / max(((z - z.mean(axis=0)) ** 2).sum(), 1e-300)


KINDS = {
    "gaussian": lambda rng, n, p: rng.standard_normal((n, p)),
    "grid": lambda rng, n, p: rng.integers(0, 3, (n, p)).astype(float),
    "duplicated": lambda rng, n, p: rng.standard_normal((n // 6 + 1, p))[rng.integers(0, n // 6 + 1, n)],
    "heavy tails": lambda rng, n, p: rng.standard_cauchy((n, p)) ** 3,
    "constant column": lambda rng, n, p: np.column_stack([rng.standard_normal((n, p)), np.full(n, 0.1)]),
    "constant": lambda rng, n, p: np.full((n, p), 0.1),
    "far offset": lambda rng, n, p: rng.standard_normal((n, p)) + 1e8,
    "large": lambda rng, n, p: rng.standard_normal((n, p)) * 1e12,
}


@settings(max_examples=80)
@given(
    kind=st.sampled_from(sorted(KINDS)), n=st.integers(2, 120), p=st.integers(1, 5), k=st.integers(1, 12),
    seed=st.integers(0, 99), kicks=st.sampled_from([0, 3]), annealing=st.booleans(),
)  # fmt: skip
def test_sizes_and_loss_for_every_kind_of_data(kind, n, p, k, seed, kicks, annealing):
    block = block_of(KINDS[kind](np.random.default_rng(seed), n, p))
    labels = cluster(block, k, kicks_per_group=kicks, annealing=annealing)
    sizes = np.bincount(labels)
    assert labels.dtype == np.int64
    _, first = np.unique(labels, return_index=True)
    assert np.all(np.diff(first) > 0)
    if n < 2 * k:
        assert sizes.tolist() == [n]
        return
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    if k > 1:
        mdav = find_partition("mdav")
        start = mdav.cluster(block, k, mdav.params(), np.random.default_rng(0))
        assert loss(block, labels) <= loss(block, start) * (1 + 1e-12) + 1e-20


def partitions(items, k):
    """Every partition of the items into sets of k to 2k - 1."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(1 << len(rest)):
        if k - 1 <= mask.bit_count() <= 2 * k - 2:
            group = [first] + [item for bit, item in enumerate(rest) if mask >> bit & 1]
            for others in partitions([item for bit, item in enumerate(rest) if not mask >> bit & 1], k):
                yield [group, *others]


@pytest.mark.parametrize(("n", "k"), [(9, 2), (10, 3), (11, 3), (11, 4)])
@pytest.mark.parametrize("kind", ["gaussian", "grid", "heavy tails"])
def test_the_best_of_all_partitions_at_small_n(n, k, kind):
    block = block_of(KINDS[kind](np.random.default_rng(n * k), n, 2))
    z = block.standardised()
    squares = (z**2).sum()
    best = max(sum((z[g].sum(axis=0) ** 2).sum() / len(g) for g in each) for each in partitions(list(range(n)), k))
    z_total = ((z - z.mean(axis=0)) ** 2).sum()
    assert loss(block, cluster(block, k, effort="thorough")) == pytest.approx(100 * (squares - best) / z_total)


def test_no_move_and_no_swap_is_left_after_the_descent():
    block = block_of(np.random.default_rng(3).standard_normal((60, 2)))
    labels = cluster(block, 3, effort="fast", neighbours=59)
    sizes, least = np.bincount(labels), loss(block, labels)
    for one in range(60):
        for group in range(len(sizes)):
            if sizes[labels[one]] > 3 and sizes[group] < 5 and group != labels[one]:
                tried = labels.copy()
                tried[one] = group
                assert loss(block, tried) >= least * (1 - 1e-9)
        for other in range(one):
            tried = labels.copy()
            tried[[one, other]] = labels[[other, one]]
            assert loss(block, tried) >= least * (1 - 1e-9)


# Descent alone from an independent prototype: `spec/refinement.md`, column "descent only".
DESCENTS = [("census", 3, 5.240), ("census", 5, 8.208), ("census", 10, 12.408), ("tarragona", 3, 14.913)]


@pytest.mark.parametrize(("name", "k", "expected"), DESCENTS)
def test_descent_on_the_reference_files(reference_file, name, k, expected):
    block = block_of(np.loadtxt(reference_file(f"{name}.csv"), delimiter=",", skiprows=1))
    assert loss(block, cluster(block, k, effort="fast")) == pytest.approx(expected, abs=6e-4)


# MDAV: 5.69, 9.09, 14.16; 16.93, 22.46, 33.19. Proven for Census: no partition is below 4.646 (k = 3), 7.209 (k = 5).
# Kicks per group such that each takes a second or two.
REACHED = [
    ("census", 3, 360, 4.72, 4.646), ("tarragona", 10, 90, 30.20, 0.0),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in (
        ("census", 5, 300, 7.32, 7.209), ("census", 10, 130, 11.48, 0.0), ("tarragona", 3, 320, 14.50, 13.857),
        ("tarragona", 5, 220, 20.20, 0.0),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "k", "kicks", "reached", "bound"), REACHED)
def test_loss_on_the_reference_files(reference_file, name, k, kicks, reached, bound):
    block = block_of(np.loadtxt(reference_file(f"{name}.csv"), delimiter=",", skiprows=1))
    assert bound < loss(block, cluster(block, k, kicks_per_group=kicks)) <= reached


# Mean loss that seeds 0 to 7 stay below with the usual effort; kicks at records drawn alike lost 4.772, 7.415, 11.530;
# 14.590, 20.263, 30.213.
USUAL = [
    ("census", 5, 7.40), ("tarragona", 3, 14.57),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in (
        ("census", 3, 4.77), ("census", 10, 11.52), ("tarragona", 5, 20.21), ("tarragona", 10, 30.18),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "k", "usual"), USUAL)
def test_kicks_where_most_can_be_gained_lose_less_on_average(reference_file, name, k, usual):
    block = block_of(np.loadtxt(reference_file(f"{name}.csv"), delimiter=",", skiprows=1))
    assert np.mean([loss(block, cluster(block, k, seed=seed)) for seed in range(8)]) < usual


def test_same_seed_same_labels_and_more_effort_less_loss():
    block = block_of(np.random.default_rng(5).standard_normal((400, 6)))
    fast, normal, again = (cluster(block, 4, effort=effort) for effort in ("fast", "normal", "normal"))
    np.testing.assert_array_equal(normal, again)
    np.testing.assert_array_equal(normal, cluster(block, 4, kicks_per_group=20))
    assert loss(block, normal) < loss(block, fast)
    np.testing.assert_array_equal(fast, cluster(block, 4, seed=2, effort="fast"))
    assert not np.array_equal(normal, cluster(block, 4, seed=2))


def test_a_second_release_has_the_same_groups_whatever_the_seed_of_the_run():
    block = block_of(np.random.default_rng(6).standard_normal((300, 4)))
    one, other = (REFINE.cluster(block, 3, REFINE.params(), np.random.default_rng(seed)) for seed in (1, 2))
    np.testing.assert_array_equal(one, other)


def test_effort_is_bounded_where_records_are_many():
    """Twenty kicks per group of a small file, fewer of a large one; a start that is quadratic only where it is fast."""
    values = np.random.default_rng(7).standard_normal((10_001, 2))
    for n, kicks, asked in ((10_000, 20, 15), (10_001, 5, 8)):
        block = block_of(values[:n])
        named = cluster(block, 5, start="mdav", kicks_per_group=kicks, neighbours=asked)
        np.testing.assert_array_equal(cluster(block, 5), named)


def test_without_compiler_the_labels_are_the_same():
    program = """
        import numpy as np
        from maskwright import Block, Variable, find_partition
        refine = find_partition("refine")
        rng = np.random.default_rng(4)
        for table in (rng.standard_normal((60, 3)), rng.integers(0, 4, (45, 2)) * 1.0, rng.standard_cauchy((50, 2))):
            names = tuple(Variable(f"x{j}") for j in range(table.shape[1]))
            block = Block(table, np.zeros(table.shape, bool), names, center=table.mean(0), scale=table.std(0, ddof=1))
            for start in ("mdav", "kd_cut"):
                params = refine.params(start=start, kicks_per_group=4, annealing=start == "mdav")
                print(refine.cluster(block, 3, params, rng).tolist())
    """
    said = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            env={**os.environ, "NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True,
        ).stdout
        for off in ("0", "1")
    ]  # fmt: skip
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("n", [6_000, 21_000])
@pytest.mark.parametrize("crowded", [False, True])
def test_renumbered_records_and_a_start_that_is_cut(n, crowded):
    rng = np.random.default_rng(n)
    values = rng.standard_normal((n, 3))
    if crowded:
        values[rng.random(n) < 0.7] = 0.0
    block = block_of(values)
    labels = cluster(block, 3, kicks_per_group=1, neighbours=6)
    sizes = np.bincount(labels)
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert loss(block, labels) < 0.9 * loss(block, cluster(block, 3, start="kd_cut", effort="fast", neighbours=1))


def test_the_labels_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(11)
    block = block_of(np.concatenate([rng.standard_normal((5_000, 4)), rng.integers(0, 3, (2_000, 4))]))
    labels = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(search, "processors", lambda threads=threads: threads)
        labels.append(cluster(block, 3, kicks_per_group=1))
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])


def test_a_long_search_is_the_better_of_two_on_any_number_of_processors(monkeypatch):
    block = block_of(np.random.default_rng(13).standard_normal((300, 4)))
    kicks, seeds = search.LONG_FROM, range(6)
    pairs = [cluster(block, 4, kicks_per_group=kicks, seed=seed) for seed in seeds]
    monkeypatch.setattr(search, "processors", lambda: 1)
    for seed in seeds:
        np.testing.assert_array_equal(pairs[seed], cluster(block, 4, kicks_per_group=kicks, seed=seed))
    monkeypatch.setattr(refine, "PAIR", 1)
    single = [loss(block, cluster(block, 4, kicks_per_group=kicks, seed=seed)) for seed in seeds]
    gains = np.array(single) - [loss(block, labels) for labels in pairs]
    assert gains.min() >= -1e-9
    assert gains.max() > 0


@pytest.mark.parametrize("kicks", [search.LONG_FROM, 2])
def test_a_search_that_is_interrupted_ends(kicks):
    told = []

    def stop(share):
        told.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    block = block_of(np.random.default_rng(14).standard_normal((2_000, 4)), progress=stop)
    with pytest.raises(KeyboardInterrupt):
        cluster(block, 4, kicks_per_group=kicks, runs=1 if kicks > 2 else 3)
    assert told == sorted(told)
    assert max(told) < 1.0


def test_kicks_sweep_through_many_records_in_order(monkeypatch):
    monkeypatch.setattr(search, "SWEPT_FROM", 100)
    block = block_of(np.random.default_rng(7).standard_normal((500, 3)))
    assert loss(block, cluster(block, 3, kicks_per_group=5)) < loss(block, cluster(block, 3, effort="fast"))


@pytest.mark.parametrize("start", ["auto", "mdav", "kd_cut", "maximum_distance", "variable_size_mdav"])
def test_every_start(start):
    block = block_of(np.random.default_rng(8).standard_normal((150, 3)))
    sizes = np.bincount(cluster(block, 5, start=start))
    assert sizes.min() >= 5
    assert sizes.max() <= 9


def one_large(block, k, params, rng):
    labels = np.zeros(block.n, dtype=np.int64)
    labels[:k] = 1
    return labels


def too_small(block, k, params, rng):
    return np.arange(block.n) // (k - 1)


def test_a_start_with_large_clusters_is_cut_and_one_with_small_ones_refused(monkeypatch):
    block = block_of(np.random.default_rng(9).standard_normal((100, 3)))
    offered = {"large": Partition(name="large", cluster=one_large), "small": Partition(name="small", cluster=too_small)}
    monkeypatch.setattr(refine, "find_partition", offered.__getitem__)
    assert np.bincount(cluster(block, 4, start="large", effort="fast")).max() <= 7
    with pytest.raises(PluginError, match="'small' broke its promise"):
        cluster(block, 4, start="small")


@pytest.mark.parametrize(
    ("start", "error", "said"),
    [
        ("mdaw", PluginError, "did you mean 'mdav'"),
        ("refine", InputError, "cannot start from itself"),
        ("univariate", InputError, "cuts along one variable"),
    ],
)
def test_a_wrong_start_is_named(start, error, said):
    with pytest.raises(error, match=said):
        cluster(block_of(np.random.default_rng(1).standard_normal((30, 2))), 3, start=start)


@pytest.mark.parametrize(
    "params",
    [{"effort": "more"}, {"kicks_per_group": -1}, {"kicks_per_group": 2.5}, {"neighbours": 0}, {"neighbours": "all"},
     {"annealing": "yes?"}, {"seed": -1}, {"k": 3}],
)  # fmt: skip
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        REFINE.params(**params)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_numbers_that_have_no_distance_are_refused(wrong):
    values = np.ones((9, 2))
    values[4, 1] = wrong
    block = Block(values, np.zeros((9, 2), bool), (Variable("a"), Variable("b")), center=np.zeros(2), scale=np.ones(2))
    with pytest.raises(InputError, match="'b'"):
        cluster(block, 2)


def test_k_below_one_is_refused():
    with pytest.raises(InputError, match="k must be at least 1"):
        cluster(block_of(np.random.default_rng(1).standard_normal((9, 2))), 0)


@pytest.mark.parametrize("effort", ["fast", "normal"])
def test_progress_rises_to_one_and_the_block_is_left_alone(effort):
    shares = []
    block = block_of(np.random.default_rng(2).standard_normal((3000, 3)), progress=shares.append)
    block.values.setflags(write=False)
    cluster(block, 3, effort=effort)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(0.0 <= share <= 1.0 for share in shares)
