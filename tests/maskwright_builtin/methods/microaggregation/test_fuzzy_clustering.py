"""Fuzzy c-means with constraints: published and recomputed figures, oracles, properties, bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skfuzzy
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import EditSet, InputError, Variable, project
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import draw_centroids, enlarge_groups, fuzzy_c_means

GOLDEN = Path(__file__).resolve().parents[3] / "golden"


def golden(name):
    return pd.read_csv(GOLDEN / f"cfcm_{name}.csv", comment="#")


PRINTED = golden("table1").to_numpy(dtype=float)[:, 1:]
NOISY = golden("table2").to_numpy(dtype=float)[:, 1:]
CORRECTED = PRINTED.copy()
CORRECTED[11, 0] = 16
DATA = {"table1-printed": PRINTED, "table1-corrected": CORRECTED, "table2": NOISY}
START = np.stack([CORRECTED[rows].mean(axis=0) for rows in ([0, 1, 3], [2, 8, 10], [4, 6, 9], [5, 7, 11])])
NORMAL = np.array([1.16, 1.07, -1.0])
RULE = (NORMAL[None], np.zeros(1))
REFERENCE = dict(tuple(golden("reference").groupby("case")))
TABLE3 = {
    (data, algorithm): rows[["v1", "v2", "v3"]].to_numpy()
    for (data, algorithm), rows in golden("table3").groupby(["data", "algorithm"])
}


def memberships(x, v, m=None, lambda_=None, scale=1.0):
    """Plain numpy, with the whole matrix: the definitions of the specification, section 2.1."""
    d = (((x[:, None] - v[None]) / scale) ** 2).sum(axis=2)
    with np.errstate(divide="ignore"):
        power = -np.log(d) / (m - 1) if m else -lambda_ * d
    with np.errstate(invalid="ignore"):
        u = np.exp(power - power.max(axis=1, keepdims=True))
    coincide = np.isinf(power).any(axis=1)
    u[coincide] = d[coincide] == 0
    return u / u.sum(axis=1, keepdims=True), d


def objective(u, d, m=None, lambda_=None):
    if m:
        return (u**m * d).sum()
    return (u * d).sum() + (u * np.log(np.where(u > 0, u, 1))).sum() / lambda_


def projected(v, normal=NORMAL):
    return v - np.outer(v @ normal / (normal @ normal), normal)


# Published figures.


def test_half_step_reproduces_table_3():
    for name, data, kwargs in (
        (("N(0,1.5)", "unconstrained"), NOISY, {}),
        (("N(0,1.5)", "constrained"), NOISY, {"equalities": RULE}),
        (("original", "as printed"), PRINTED, {"equalities": RULE}),
    ):
        found = fuzzy_c_means(data, START, m=1.5, max_iterations=1, **kwargs)
        np.testing.assert_allclose(found.centroids, TABLE3[name], rtol=0, atol=2e-4)


def test_table_4_is_the_distance_between_rows_of_table_3():
    for _, row in golden("table4").iterrows():
        distance = np.sqrt(((TABLE3[row.noise, row.algorithm] - TABLE3["original", "as printed"]) ** 2).sum(axis=1))
        np.testing.assert_allclose(distance, row[["d1", "d2", "d3", "d4"]].astype(float), rtol=0, atol=2e-5)


def test_constrained_rows_of_table_3_are_projections_of_the_others():
    """At all three noise levels, to the rounding of the print; the constraint is the library's projection."""
    for noise in ("N(0,0.5)", "N(0,1.0)", "N(0,1.5)"):
        free, tied = TABLE3[noise, "unconstrained"], TABLE3[noise, "constrained"]
        found = fuzzy_c_means(free, free, m=1 + 1e-9, max_iterations=1, equalities=RULE).centroids
        np.testing.assert_allclose(found, tied, rtol=0, atol=1e-5)


def test_constraining_the_half_step_brings_centroids_nearer_by_pythagoras():
    free = fuzzy_c_means(NOISY, START, m=1.5, max_iterations=1).centroids
    tied = fuzzy_c_means(NOISY, START, m=1.5, max_iterations=1, equalities=RULE).centroids
    origin = projected(TABLE3["original", "as printed"])
    expected = ((free - origin) ** 2).sum(axis=1) - (free @ NORMAL) ** 2 / (NORMAL @ NORMAL)
    np.testing.assert_allclose(((tied - origin) ** 2).sum(axis=1), expected, rtol=1e-9)


@pytest.mark.parametrize("case", sorted(REFERENCE))
def test_recomputed_references(case):
    rows = REFERENCE[case]
    words = case.split()
    if words[0] == "halfstep":
        _, fuzziness, data, constraint = words
        stop = {"max_iterations": 1}
    else:
        _, _, fuzziness, data, constraint = words
        stop = {"tolerance": 1e-14, "max_iterations": 1000}
    name, value = fuzziness.split("=")
    tied = {"equalities": RULE} if constraint in ("constrained", "projected") else {}
    found = fuzzy_c_means(DATA[data], START, **{"m" if name == "m" else "lambda_": float(value)}, **tied, **stop)
    # Ten digits are given.
    np.testing.assert_allclose(found.centroids, rows[["v1", "v2", "v3"]], rtol=6e-10, atol=1.5e-7)
    if words[0] == "converged":
        assert found.converged
        assert found.objective[-1] == pytest.approx(rows["objective"].iloc[0], rel=1e-13)


# Oracles.


@pytest.mark.parametrize(("m", "c", "p"), [(2.0, 5, 3), (1.5, 4, 2), (1.37, 6, 4), (3.0, 3, 1)])
def test_without_constraints_it_is_scikit_fuzzy(m, c, p):
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(shift, 1.0, (60, p)) for shift in (-4, 0, 5)])
    start = x[rng.choice(len(x), c, replace=False)] + 0.01
    u, _ = memberships(x, start, m=m)
    centroids, *_ = skfuzzy.cluster.cmeans(x.T, c, m, error=1e-12, maxiter=5000, init=u.T)
    found = fuzzy_c_means(x, start, m=m, tolerance=1e-13, max_iterations=5000)
    assert found.converged
    np.testing.assert_allclose(found.centroids, centroids, rtol=0, atol=1e-6)


FUZZINESS = st.one_of(
    st.sampled_from([1.1, 1.25, 1.5, 2.0]).map(lambda m: {"m": m}),
    st.floats(1.05, 4).map(lambda m: {"m": m}),
    st.floats(0.05, 30).map(lambda rate: {"lambda_": rate}),
)


@settings(max_examples=60)
@given(
    n=st.integers(2, 40), p=st.integers(1, 9), share=st.floats(0, 1), seed=st.integers(0, 99), fuzziness=FUZZINESS,
    rules=st.integers(0, 3),
)  # fmt: skip
def test_every_half_step_is_the_best_one_and_the_objective_never_rises(n, p, share, seed, fuzziness, rules):
    rng = np.random.default_rng(seed)
    x, scale = rng.normal(0, 3, (n, p)), rng.uniform(0.5, 2, p)
    c = 1 + int(share * (n - 1))
    matrix = rng.normal(0, 1, (min(rules, p), p)) * (rng.random(p) < 0.8)
    equalities = (matrix, matrix @ rng.normal(0, 1, p)) if len(matrix) else None
    v = x[rng.choice(n, c, replace=False)] + rng.normal(0, 0.1, (c, p))
    tied = {"scale": scale, "equalities": equalities, **fuzziness}
    # Where it starts: the projection of the start, as one iteration over a file without pull shows.
    metric = np.diag(scale**2)
    if equalities:
        lift = metric @ matrix.T @ np.linalg.pinv(matrix @ metric @ matrix.T)
        onto = lambda points: points - (points @ matrix.T - equalities[1]) @ lift.T  # noqa: E731
    else:
        onto = lambda points: points  # noqa: E731
    current = onto(v)
    costs = []
    for steps in range(1, 4):
        u, d = memberships(x, current, scale=scale, **fuzziness)
        weights = u ** fuzziness.get("m", 1.0)
        costs += [objective(u, d, **fuzziness)]
        found = fuzzy_c_means(x, v, **tied, tolerance=0, max_iterations=steps)
        assert found.objective[-1] == pytest.approx(costs[-1], rel=1e-9, abs=1e-9)
        if weights.sum(axis=0).min() < 1e-12:  # the oracle has no digits left
            return
        expected = onto(weights.T @ x / weights.sum(axis=0)[:, None])
        np.testing.assert_allclose(found.centroids, expected, rtol=1e-6, atol=1e-7)
        if equalities:
            size = np.abs(matrix) @ np.abs(found.centroids).max(axis=0) + np.abs(equalities[1])
            assert np.all(np.abs(found.centroids @ matrix.T - equalities[1]) <= 1e-10 * size)
        after = (((x[:, None] - found.centroids[None]) / scale) ** 2).sum(axis=2)
        costs += [objective(u, after, **fuzziness)]
        current = found.centroids
    steps = np.diff(costs)
    assert np.all(steps <= 1e-9 * np.maximum(np.abs(costs[:-1]), 1))
    history = fuzzy_c_means(x, v, **tied, tolerance=0, max_iterations=40).objective
    assert np.all(np.diff(history) <= 1e-12 * np.abs(history[:-1]))


def test_the_gradient_is_in_the_row_space_of_the_constraints():
    rng = np.random.default_rng(3)
    x, scale = rng.normal(0, 1, (50, 5)), np.array([1.0, 2, 0.5, 3, 1])
    matrix = np.array([[1.0, 1, -1, 0, 0], [0, 1, 0, 2, 0]])
    before, found = (
        fuzzy_c_means(x, x[:4], m=2, scale=scale, equalities=(matrix, np.ones(2)), tolerance=0, max_iterations=steps)
        for steps in (5, 6)
    )
    weights = memberships(x, before.centroids, m=2, scale=scale)[0] ** 2
    gradient = (weights.sum(axis=0)[:, None] * found.centroids - weights.T @ x) / scale**2
    rest = gradient - gradient @ np.linalg.pinv(matrix) @ matrix
    assert np.abs(rest).max() <= 1e-12
    assert np.abs(gradient).max() > 0.1


def test_variables_outside_the_constraints_are_as_without_them():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (40, 4))
    start = x[:3].copy()
    start[:, 0] = 5.0 - start[:, 2]
    matrix = np.array([[1.0, 0, 1, 0]])
    free = fuzzy_c_means(x, start, m=1.7, max_iterations=1)
    tied = fuzzy_c_means(x, start, m=1.7, max_iterations=1, equalities=(matrix, np.array([5.0])))
    np.testing.assert_allclose(tied.centroids[:, [1, 3]], free.centroids[:, [1, 3]], rtol=0, atol=1e-15)
    assert np.abs(tied.centroids[:, [0, 2]] - free.centroids[:, [0, 2]]).min() > 0.1


@pytest.mark.parametrize("fuzziness", [{"m": 1.3}, {"m": 2}, {"lambda_": 0.7}])
def test_records_on_the_constraints_are_clustered_as_without_them(fuzziness):
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (60, 3))
    x = np.column_stack([x, x.sum(axis=1), x[:, 0] - x[:, 1]])
    # The third rule is the sum of the first two.
    matrix = np.array([[1.0, 1, 1, -1, 0], [1, -1, 0, 0, -1], [2, 0, 1, -1, -1]])
    free = fuzzy_c_means(x, x[:6], **fuzziness, max_iterations=50)
    tied = fuzzy_c_means(x, x[:6], **fuzziness, max_iterations=50, equalities=(matrix, np.zeros(3)))
    np.testing.assert_allclose(tied.centroids, free.centroids, rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("fuzziness", [{"m": 50.0}, {"lambda_": 1e-9}])
def test_very_fuzzy_clusters_are_all_the_mean(fuzziness, tied):
    # A large m ends there only where records spread in several directions: no eigenvalue of the mean outer product of
    # the unit vectors from the mean to the records above 1/2 (on Table 2 it is 0.97: centroids end on records).
    x = np.random.default_rng(0).normal(2, 1, (300, 6))
    equalities = (np.array([[1.0, 1, -1, 0, 0, 0]]), np.zeros(1)) if tied else None
    start = (x[:5] + x[5:10]) / 2  # a record that a centroid coincides with would hold it
    found = fuzzy_c_means(x, start, **fuzziness, equalities=equalities, tolerance=1e-13)
    mean = x.mean(axis=0)[None]
    expected = projected(mean, np.array([1.0, 1, -1, 0, 0, 0])) if tied else mean
    np.testing.assert_allclose(found.centroids, np.repeat(expected, 5, axis=0), rtol=0, atol=1e-7)
    _, sizes = draw_centroids(x, found.centroids, np.full(300, 0.5), **fuzziness)
    np.testing.assert_allclose(sizes, 60, rtol=1e-6)


@pytest.mark.parametrize("tied", [True, False])
def test_entropy_without_weight_on_distance_is_the_mean_of_table_2(tied):
    found = fuzzy_c_means(NOISY, START, lambda_=1e-9, equalities=RULE if tied else None, tolerance=1e-13)
    mean = NOISY.mean(axis=0)[None]
    np.testing.assert_allclose(found.centroids, np.repeat(projected(mean) if tied else mean, 4, axis=0), atol=1e-4)
    u, _ = memberships(NOISY, found.centroids, lambda_=1e-9)
    np.testing.assert_allclose(u, 0.25, rtol=1e-9)


@pytest.mark.parametrize("fuzziness", [{"m": 1.01}, {"m": 2}, {"m": 80}, {"lambda_": 1e-5}, {"lambda_": 1e5}])
def test_one_centroid_is_the_projected_mean(fuzziness):
    found = fuzzy_c_means(NOISY, NOISY[:1], **fuzziness, equalities=RULE)
    np.testing.assert_allclose(found.centroids, projected(NOISY.mean(axis=0)[None]), rtol=1e-12)
    assert found.converged


RULES = ["x1 + x2 == x3", "x1 <= x2", "x4 in [0, 2]", "if x4 < 1 then x5 <= x4"]


def test_centroids_are_projected_on_all_edits_in_standardised_distance():
    rng = np.random.default_rng(4)
    x, scale = rng.normal(1, 1, (200, 5)), np.array([1.0, 2, 1, 0.3, 1])
    variables, edits = [Variable(f"x{j}") for j in range(1, 6)], EditSet.parse(RULES)

    def onto(points):
        return project(points, variables, edits, scale)

    found = fuzzy_c_means(x, x[:30], m=1.2, scale=scale, projector=onto, max_iterations=60, tolerance=0)
    v = found.centroids.T
    assert found.feasible.all()
    np.testing.assert_allclose(v[0] + v[1], v[2], atol=1e-8)
    assert np.all(v[0] <= v[1] + 1e-8)
    assert np.all((v[3] >= -1e-9) & (v[3] <= 2 + 1e-9))
    assert np.all((v[3] >= 1 - 1e-9) | (v[4] <= v[3] + 1e-8))
    assert np.all(np.diff(found.objective) <= 1e-12 * np.abs(found.objective[:-1]))
    # Equalities alone: the projector and the closed form agree.
    only = EditSet.parse(RULES[:1])
    by_set = fuzzy_c_means(
        x, x[:30], m=1.2, scale=scale, projector=lambda points: project(points, variables, only, scale)
    )
    closed = fuzzy_c_means(x, x[:30], m=1.2, scale=scale, equalities=(np.array([[1.0, 1, -1, 0, 0]]), np.zeros(1)))
    np.testing.assert_allclose(by_set.centroids, closed.centroids, atol=1e-7)


def test_a_centroid_stays_where_no_nearest_point_is_found():
    x = np.arange(20.0)[:, None]

    def refuse(points):
        return points, np.zeros(len(points), dtype=bool)

    found = fuzzy_c_means(x, x[[3, 15]], m=2, projector=refuse)
    free = fuzzy_c_means(x, x[[3, 15]], m=2)
    # Never on the constraints: it moves as without them, and says so.
    assert not found.feasible.any()
    np.testing.assert_allclose(found.centroids, free.centroids)
    calls = []

    def once(points):
        calls.append(points)
        return points, np.full(len(points), len(calls) == 1)

    found = fuzzy_c_means(x, x[[3, 15]], m=2, projector=once)
    np.testing.assert_array_equal(found.centroids, x[[3, 15]])
    assert found.feasible.all()


# Numerics.


@pytest.mark.parametrize("m", [2.0, 1.5])
@pytest.mark.parametrize(
    ("p", "c"), [(1, 64), (2, 600), (3, 513), (4, 1100), (5, 1), (6, 65), (7, 512), (8, 30), (10, 1030), (11, 40)]
)
def test_any_number_of_columns_and_centroids_is_the_plain_half_step(p, c, m):
    """Loops are written out for some columns and centroids at once; some records coincide with centroids."""
    rng = np.random.default_rng(p)
    x = rng.normal(0, 1, (1155, p))
    start = x[:c] + np.where(np.arange(c)[:, None] % 7 == 0, 0, rng.normal(0, 0.5, (c, p)))
    u, d = memberships(x, start, m=m)
    weights = u**m
    expected = weights.T @ x / weights.sum(axis=0)[:, None]
    found = fuzzy_c_means(x, start, m=m, max_iterations=1)
    np.testing.assert_allclose(found.centroids, expected, rtol=0, atol=1e-10)
    assert found.objective[0] == pytest.approx(objective(u, d, m=m), rel=1e-12)
    single = fuzzy_c_means(x, start, m=m, max_iterations=2, tolerance=0, float32=True)
    assert single.objective[0] == pytest.approx(found.objective[0], rel=1e-5)


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1, (3000, 4))
    for float32 in (False, True):
        one, *others = (
            fuzzy_c_means(x, x[:70], m=1.3, max_iterations=5, float32=float32, threads=threads) for threads in (1, 2, 5)
        )
        for other in others:
            np.testing.assert_array_equal(other.centroids, one.centroids)
            np.testing.assert_array_equal(other.objective, one.objective)
    draws = [draw_centroids(x, x[:70], rng.random(3000) * 0 + 0.4, m=1.3, threads=threads) for threads in (1, 3)]
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    np.testing.assert_array_equal(draws[0][1], draws[1][1])


@pytest.mark.parametrize("fuzziness", [{"m": 1.1}, {"m": 1.37}, {"m": 2.0}, {"lambda_": 3.0}])
def test_single_precision_is_near_and_its_means_stay_among_the_records(fuzziness):
    rng = np.random.default_rng(6)
    x = rng.gamma(1.0, 1e6, (1500, 6))
    scale = x.std(axis=0)
    double, single = (
        fuzzy_c_means(x, x[:40], **fuzziness, scale=scale, max_iterations=3, tolerance=0, float32=float32)
        for float32 in (False, True)
    )
    np.testing.assert_allclose(single.centroids, double.centroids, rtol=0, atol=1e-4 * scale.max())
    assert np.abs(single.centroids - double.centroids).max() > 0
    assert single.iterations == double.iterations == 3
    assert np.all((single.centroids >= x.min(axis=0)) & (single.centroids <= x.max(axis=0)))


@pytest.mark.parametrize(("shift", "factor"), [(1e8, 1.0), (0.0, 1e12), (1e12, 1e3), (0.0, 1e-200), (-3.0, 1e130)])
def test_offsets_and_units_change_nothing_else(shift, factor):
    rng = np.random.default_rng(8)
    x = rng.integers(0, 1000, (80, 3)).astype(float)
    matrix = np.array([[1.0, 1, -1]])
    base = fuzzy_c_means(x, x[:7], m=1.4, equalities=(matrix, np.array([3.0])), max_iterations=20)
    moved = x * factor + shift
    bound = np.array([3.0 * factor + shift])
    found = fuzzy_c_means(moved, moved[:7], m=1.4, equalities=(matrix, bound), max_iterations=20)
    assert np.abs((found.centroids - shift) / factor - base.centroids).max() <= 1e-6 + 1e-11 * abs(shift) / factor


def test_coinciding_records_and_centroids_share_equally():
    x = np.array([[0.0, 1], [0, 1], [0, 1], [4, 1], [4, 1], [9, 1]])
    start = x[[0, 1, 3, 5]]
    for fuzziness in ({"m": 2}, {"m": 1.1}, {"m": 1.37}):
        found = fuzzy_c_means(x, start, **fuzziness)
        np.testing.assert_allclose(found.centroids, start, rtol=0, atol=1e-14)
        assert found.objective[0] == 0
        _, expected = draw_centroids(x, start, np.zeros(6), **fuzziness)
        np.testing.assert_allclose(expected, [1.5, 1.5, 2, 1])
    same = fuzzy_c_means(np.full((5, 2), 0.1), np.full((3, 2), 0.1), lambda_=2)
    np.testing.assert_allclose(same.centroids, 0.1)
    assert same.converged


def test_a_centroid_without_weight_stays():
    x = np.random.default_rng(9).random((30, 2))
    start = np.array([[0.2, 0.2], [0.8, 0.8], [1e30, 1e30]])
    for fuzziness in ({"m": 1.1}, {"lambda_": 5.0}):
        found = fuzzy_c_means(x, start, **fuzziness)
        np.testing.assert_allclose(found.centroids[2], [1e30, 1e30])
        np.testing.assert_allclose(found.centroids[:2], fuzzy_c_means(x, start[:2], **fuzziness).centroids, atol=1e-5)


@pytest.mark.parametrize("m", [1.0001, 1.000000001, 1 + 1e-14])
def test_m_near_one_is_k_means(m):
    x = np.array([[0.0], [1], [2], [10], [11], [12]])
    found = fuzzy_c_means(x, x[[0, 3]], m=m)
    np.testing.assert_allclose(found.centroids[:, 0], [1, 11], atol=1e-9)
    assert found.objective[-1] == pytest.approx(4, rel=1e-6)


def test_without_compilation_a_small_file_gives_the_same_bytes():
    code = (
        "import numpy as np\n"
        "from maskwright_builtin.methods.microaggregation.fuzzy_clustering import "
        "fuzzy_c_means, draw_centroids, enlarge_groups\n"
        "x = np.random.default_rng(0).normal(0, 1, (12, 3))\n"
        "for w in ({'m': 1.1}, {'m': 1.37}, {'lambda_': 2.0}):\n"
        "    f = fuzzy_c_means(x, x[:3], **w, max_iterations=2, threads=1)\n"
        "    labels, expected = draw_centroids(x, f.centroids, np.linspace(0, 0.9, 12), **w)\n"
        "    print(f.centroids.tobytes().hex(), labels.tolist(), expected.tobytes().hex())\n"
        "    print(enlarge_groups(x, f.centroids, labels, 5)[0].tolist())\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": off}, capture_output=True, text=True,
            check=True, timeout=100,
        ).stdout
        for off in ("0", "1")
    ]  # fmt: skip
    assert said[0] == said[1]


# The draw and the floor.


@settings(max_examples=40)
@given(n=st.integers(1, 60), share=st.floats(0, 1), seed=st.integers(0, 99), fuzziness=FUZZINESS)
def test_records_draw_their_centroids_with_their_memberships(n, share, seed, fuzziness):
    rng = np.random.default_rng(seed)
    x, scale = rng.normal(0, 1, (n, 3)), np.array([1, 2, 0.5])
    v = rng.normal(0, 1, (1 + int(share * (n - 1)), 3))
    uniforms = rng.random(n)
    labels, expected = draw_centroids(x, v, uniforms, **fuzziness, scale=scale)
    u, _ = memberships(x, v, **fuzziness, scale=scale)
    np.testing.assert_allclose(expected, u.sum(axis=0), rtol=1e-9, atol=1e-12)
    cumulated = np.cumsum(u, axis=1)
    upper = cumulated[np.arange(n), labels]
    lower = upper - u[np.arange(n), labels]
    assert np.all((uniforms >= lower - 1e-9) & (uniforms <= upper + 1e-9))


@settings(max_examples=60)
@given(n=st.integers(1, 60), c=st.integers(1, 30), floor=st.integers(1, 9), seed=st.integers(0, 99))
def test_small_groups_are_dissolved_smallest_first_into_the_nearest(n, c, floor, seed):
    rng = np.random.default_rng(seed)
    c, floor = min(c, n), min(floor, n)
    x, v, labels = rng.normal(0, 1, (n, 2)), rng.normal(0, 1, (c, 2)), rng.integers(0, c, n)
    given_labels = labels.copy()
    found, moved = enlarge_groups(x, v, labels, floor)
    np.testing.assert_array_equal(labels, given_labels)
    expected = labels.copy()
    while True:
        sizes = np.bincount(expected, minlength=c)
        small = [(sizes[g], g) for g in range(c) if 0 < sizes[g] < floor]
        if not small:
            break
        _, group = min(small)
        left = [g for g in range(c) if sizes[g] > 0 and g != group]
        for row in np.flatnonzero(expected == group):
            expected[row] = min(left, key=lambda g: (((x[row] - v[g]) ** 2).sum(), g))
    np.testing.assert_array_equal(found, expected)
    assert moved == np.count_nonzero(found != labels)


# Bad input.

X = np.random.default_rng(0).random((10, 2))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"m": 1.0}, "m must be greater than 1, not 1.0"),
        ({"m": 0.5}, "m must be greater than 1"),
        ({"m": np.nan}, "m must be greater than 1"),
        ({"m": np.inf}, "out of range"),
        ({"m": 2000.0}, "too large for 3 centroids"),
        ({"m": None}, "give m"),
        ({"m": 2.0, "lambda_": 1.0}, "not both"),
        ({"m": None, "lambda_": 0.0}, "lambda must be greater than 0"),
        ({"m": None, "lambda_": -1.0}, "lambda must be greater than 0"),
        ({"m": None, "lambda_": np.nan}, "lambda must be greater than 0"),
        ({"m": None, "lambda_": np.inf}, "out of range"),
        ({"m": None, "lambda_": 1e-305}, "out of range"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"threads": 0}, "threads"),
        ({"scale": np.array([1.0, 0.0])}, "scale"),
        ({"scale": np.ones(3)}, "scale"),
        ({"equalities": (np.ones((1, 3)), np.zeros(1))}, "matrix of shape"),
        ({"equalities": (np.ones((2, 2)), np.array([0.0, 1.0]))}, "contradict each other"),
        ({"equalities": (np.zeros((1, 2)), np.ones(1))}, "contradict each other"),
        ({"equalities": (np.full((1, 2), np.nan), np.ones(1))}, "finite"),
        ({"equalities": (np.ones((1, 2)), np.ones(1)), "projector": lambda v: (v, v[:, 0] == v[:, 0])}, "not both"),
        ({"values": X[:2]}, "c = 3 centroids are more than the 2 records"),
        ({"values": X[:0]}, "at least one record"),
        ({"values": X[:, 0]}, "matrix"),
        ({"values": np.where(X[4, 1] == X, np.nan, X)}, "not finite"),
        ({"values": np.where(X[4, 1] == X, np.inf, X)}, "not finite"),
        ({"values": X * 1e200}, "too far apart"),
        ({"centroids": X[:3, :1]}, "2 columns"),
        ({"centroids": X[:0]}, "at least one row"),
        ({"centroids": X[:3] * np.nan}, "centroids must be finite"),
    ],
)
def test_bad_input_is_named(change, said):
    call = {"values": X, "centroids": X[:3], "m": 2.0} | change
    with pytest.raises(InputError, match=said):
        fuzzy_c_means(call.pop("values"), call.pop("centroids"), **call)


@pytest.mark.parametrize("uniforms", [np.zeros(9), np.ones(10), np.full(10, np.nan), np.full(10, -0.1)])
def test_a_draw_needs_a_number_for_each_record(uniforms):
    with pytest.raises(InputError, match=r"in \[0, 1\)"):
        draw_centroids(X, X[:3], uniforms, m=2)


def test_a_floor_above_the_number_of_records_is_refused():
    with pytest.raises(InputError, match="floor = 11"):
        enlarge_groups(X, X[:3], np.zeros(10, dtype=np.int64), 11)
