"""Probabilistic linkage: an oracle that visits every pair, EM checked by its own definition, awkward files."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from maskwright import InputError
from maskwright_builtin.measures.record_linkage.fellegi_sunter import fit_classes, same_cell_patterns, within_patterns
from maskwright_builtin.measures.record_linkage.probabilistic_record_linkage import (
    ProbabilisticRecordLinkageParams,
    probabilistic_record_linkage,
)


@pytest.fixture(scope="module")
def linkage(compare, rng):
    def measure(original, masked, origin=None, households=None, **params):
        comparison = compare(original, masked, origin=origin, households=households)
        return probabilistic_record_linkage(comparison, ProbabilisticRecordLinkageParams(**params), rng)

    return measure


def em(patterns, counts, prior):
    """Parameters by the textbook E and M steps from the same start."""
    g, c = np.array(patterns), np.array(counts, dtype=float)
    m, u = np.full(g.shape[1], 0.9), c @ g / c.sum()
    for _ in range(5_000):
        match = prior * np.where(g, m, 1 - m).prod(axis=1)
        posterior = match / (match + (1 - prior) * np.where(g, u, 1 - u).prod(axis=1))
        matched, rest = c * posterior, c * (1 - posterior)
        before = m, u
        m = np.clip(matched @ g / matched.sum(), 1e-12, 1 - 1e-12)
        u = np.clip(rest @ g / rest.sum(), 1e-12, 1 - 1e-12)
        if max(np.abs(m - before[0]).max(), np.abs(u - before[1]).max()) < 1e-10:
            break
    return m, u


def oracle(agree, origin, household, direction):
    """Percent linked, from a table of agreements of shape (n, m, d), and m and u."""
    if direction == "original_to_masked":
        agree = agree[origin]
    n, m, d = agree.shape
    flat = agree.reshape(-1, d)
    kept = [j for j in range(d) if 0 < flat[:, j].sum() < len(flat)]
    weight = np.zeros((n, m))
    classes = None
    if kept and (m if direction == "original_to_masked" else n) > 1:
        patterns = list(product([False, True], repeat=len(kept)))
        counts = [int((flat[:, kept] == g).all(axis=1).sum()) for g in patterns]
        prior = 1 / (m if direction == "original_to_masked" else n)
        classes = em(patterns, counts, prior)
        for place, j in enumerate(kept):
            p, q = classes[0][place], classes[1][place]
            bits = np.log2(p / q) - np.log2((1 - p) / (1 - q))
            weight += (bits if bits > 1e-6 else 0) * agree[:, :, j]
    chances = []
    for i, source in enumerate(origin):
        mine = weight[i] if direction == "original_to_masked" else weight[:, i]
        owner = household[origin] if direction == "original_to_masked" else household
        best = mine > mine.max() - 1e-7
        chances.append((best & (owner == household[source])).sum() / best.sum())
    return np.array(chances), classes, kept


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    d=st.integers(1, 4),
    cells=st.integers(2, 6),
    missing=st.sampled_from([0.0, 0.1]),
    agree=st.sampled_from(["same_cell", "within"]),
    direction=st.sampled_from(["original_to_masked", "masked_to_original"]),
    households=st.booleans(),
    sampled=st.booleans(),
)
def test_equals_an_oracle_that_visits_every_pair(
    linkage, seed, n, d, cells, missing, agree, direction, households, sampled
):
    generator = np.random.default_rng(seed)
    original = generator.integers(0, 12, (n, d)).astype(float)
    origin = generator.integers(0, n, max(1, n // 2)) if sampled else np.arange(n)
    masked = original[origin] + generator.integers(-1, 2, (len(origin), d))
    for file in (original, masked):
        file[generator.random(file.shape) < missing] = np.nan
    households = generator.integers(0, max(1, n // 3), n) if households else None
    table = np.zeros((n, len(origin), d), dtype=bool)
    cuts = np.unique(generator.integers(1, 12, cells)).astype(float)
    for j in range(d):
        x, y = original[:, j, None], masked[None, :, j]
        if agree == "same_cell":
            same = np.searchsorted(cuts, x, side="right") == np.searchsorted(cuts, y, side="right")
            table[:, :, j] = same & ~np.isnan(x) & ~np.isnan(y)
        else:
            present = original[~np.isnan(original[:, j]), j]
            constant = present.size < 2 or np.ptp(present) == 0
            table[:, :, j] = np.abs(x - y) <= (0.0 if constant else 0.5 * np.std(present, ddof=1))
    params = {"agree": agree, "known": d, "direction": direction}
    params |= {"cuts": {f"v{j + 1}": cuts.tolist() for j in range(d)}} if agree == "same_cell" else {"tau": 0.5}
    found = linkage(original, masked, origin=origin if sampled else None, households=households, **params)
    household = np.arange(n) if households is None else households
    chances, classes, kept = oracle(table, origin, household, direction)
    if classes is not None:
        np.testing.assert_allclose([found.parts[f"m_v{j + 1}"] for j in kept], classes[0], atol=1e-5)
        np.testing.assert_allclose([found.parts[f"u_v{j + 1}"] for j in kept], classes[1], atol=1e-5)
    np.testing.assert_allclose(found.per_record, 100 * chances, atol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), levels=st.integers(1, 500))
@settings(max_examples=40)
def test_pattern_counts_equal_looking_at_every_pair(seed, d, levels):
    generator = np.random.default_rng(seed)
    queries, targets = generator.integers(-1, levels, (70, d)), generator.integers(-1, levels, (50, d))
    agree = (queries[:, None, :] == targets[None]) & (queries[:, None, :] >= 0)
    expected = np.bincount((agree << np.arange(d)).sum(axis=2).ravel(), minlength=2**d)
    np.testing.assert_array_equal(same_cell_patterns(queries, targets, lambda _: None), expected)
    asked, held = (np.where(file < 0, np.nan, file.astype(float)) for file in (queries, targets))
    found = within_patterns(asked, held, np.zeros(d), lambda _: None)
    np.testing.assert_array_equal(found, expected)


def test_em_finds_the_classes_that_made_the_counts():
    """Counts that the model itself expects: EM has to give its parameters back."""
    m, u, prior = np.array([0.95, 0.8, 0.7, 0.9]), np.array([0.1, 0.2, 0.05, 0.3]), 1e-3
    agrees = np.arange(16)[:, None] >> np.arange(4) & 1
    match, other = (np.prod(np.where(agrees == 1, p, 1 - p), axis=1) for p in (m, u))
    counts = np.rint(1e15 * (prior * match + (1 - prior) * other)).astype(np.int64)
    found = fit_classes(counts, prior, estimate_prior=False)
    assert found.converged
    np.testing.assert_allclose(found.m, m, atol=1e-6)
    np.testing.assert_allclose(found.u, u, atol=1e-6)
    assert (found.error < 1e-3).all()
    free = fit_classes(counts, 0.1, estimate_prior=True)
    assert free.prior == pytest.approx(prior, rel=1e-3)


def test_noise_is_linked_and_the_classes_are_those_of_the_true_pairs(linkage):
    generator = np.random.default_rng(5)
    original = generator.normal(size=(1500, 6))
    masked = original + 0.1 * generator.normal(size=original.shape)
    found = linkage(original, masked, cells=12)
    assert found.value > 60
    for j in range(1, 7):
        assert found.parts[f"m_v{j}"] == pytest.approx(found.parts[f"true_m_v{j}"], abs=0.03)
        assert found.parts[f"u_v{j}"] == pytest.approx(1 / 12, abs=0.01)
    assert found.parts["prior"] == 1 / 1500
    assert found.notes == ()


def test_unrelated_files_are_not_identified_and_say_so(linkage):
    generator = np.random.default_rng(6)
    original = generator.normal(size=(400, 5))
    found = linkage(original, generator.normal(size=original.shape))
    assert any("identified" in note for note in found.notes)
    assert any("m and true_m are more than 0.3 apart" in note for note in found.notes)
    assert found.value < 2


@pytest.mark.parametrize("known", [1, 2])
def test_fewer_than_three_variables_are_not_identified(linkage, known):
    original = np.random.default_rng(7).normal(size=(100, 3))
    found = linkage(original, original, known=known)
    assert any("not identified" in note for note in found.notes)


def test_variables_that_tell_nothing_are_named(linkage):
    generator = np.random.default_rng(8)
    original = generator.normal(size=(80, 5))
    original[:, 1] = 3.0
    original[:, 2] = np.nan
    found = linkage(original, original)
    assert any("all pairs of records agree or none does: v2, v3" in note for note in found.notes)
    assert "m_v2" not in found.parts
    alike = linkage(np.ones((10, 2)), np.ones((10, 2)))
    assert alike.value == pytest.approx(10)
    assert linkage(np.ones((1, 2)), np.ones((1, 2))).value == 100


def test_dependent_columns_do_not_break_it(linkage, census):
    found = linkage(census, census, known=["PTOTVAL", "POTHVAL", "PEARNVAL"])
    assert np.isfinite([found.value, *found.parts.values()]).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"known": ["v1", "v9"]}, "no variable called 'v9'"),
        ({"cuts": {"v3": [1.0]}, "known": ["v1"]}, "cuts are declared for v3"),
        ({"cuts": {"w": [1.0]}}, "no variable called 'w'"),
    ],
)
def test_wrong_variables_are_refused_by_name(linkage, params, message):
    with pytest.raises(InputError, match=message):
        linkage(np.eye(3), np.eye(3), **params)


def test_pair_by_pair_is_refused_for_many_records(linkage):
    with pytest.raises(InputError, match="at most 20000"):
        linkage(np.zeros((20_001, 1)), np.zeros((20_001, 1)), agree="within")


@pytest.mark.parametrize(
    "bad",
    [{"known": 0}, {"known": 13}, {"cells": 1}, {"tau": 0}, {"prior": 1.0}, {"prior": "free"}, {"cuts": {"a": [2, 1]}}],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValidationError):
        ProbabilisticRecordLinkageParams(**bad)


def small_files(seed, n=40):
    draw = np.random.default_rng(seed)
    original = draw.normal(size=(n, 4))
    return original, original + draw.normal(scale=0.25, size=(n, 4))


def classes_of(found):
    return [(found.parts[f"m_v{j}"], found.parts[f"u_v{j}"]) for j in range(1, 5)]


def bits(m, u):
    return max(np.log2(m / u) - np.log2((1 - m) / (1 - u)), 0.0)


def pair_weights(found, original, masked, cells):
    """Weight of every pair, from the published m and u."""
    weight = np.zeros((len(original), len(masked)))
    for j, (m, u) in enumerate(classes_of(found)):
        cuts = np.unique(np.quantile(original[:, j], np.arange(1, cells) / cells, method="higher"))
        one, two = (np.searchsorted(cuts, file[:, j], side="right") for file in (original, masked))
        weight += np.where(one[:, None] == two[None], bits(m, u), 0.0)
    return weight


@pytest.mark.parametrize("seed", range(4))
def test_pairs_between_the_bounds_are_undecided_and_only_links_count(linkage, seed):
    original, masked = small_files(seed)
    bounds = {"largest_false_links": 0.02, "largest_missed_links": 0.1}
    plain = linkage(original, masked, cells=5)
    found = linkage(original, masked, cells=5, **bounds)
    weight = pair_weights(found, original, masked, 5)
    levels = {}
    for agree in product([False, True], repeat=4):
        classes = list(zip(agree, classes_of(found), strict=True))
        level = levels.setdefault(round(sum(bits(m, u) for g, (m, u) in classes if g), 8), [0.0, 0.0])
        level[0] += np.prod([m if g else 1 - m for g, (m, _) in classes])
        level[1] += np.prod([u if g else 1 - u for g, (_, u) in classes])
    linked = {w for w in levels if sum(o for v, (_, o) in levels.items() if v >= w) <= 0.02 + 1e-12}
    missed = {w for w in levels if sum(m for v, (m, _) in levels.items() if v <= w) <= 0.1} - linked
    best = weight.max(axis=1).round(8)
    assert found.parts["linked"] == pytest.approx(100 * np.mean([w in linked for w in best]))
    assert found.parts["not_linked"] == pytest.approx(100 * np.mean([w in missed for w in best]))
    assert found.parts["linked"] + found.parts["undecided"] + found.parts["not_linked"] == pytest.approx(100)
    counted = [w in linked for w in best]
    assert found.per_record == pytest.approx(np.where(counted, plain.per_record, 0.0))
    assert found.parts["right"] == pytest.approx(plain.per_record[counted].mean())


def test_bounds_that_overlap_are_noted(linkage):
    original, masked = small_files(1)
    found = linkage(original, masked, cells=5, largest_false_links=0.6, largest_missed_links=0.6)
    assert found.parts["undecided"] == 0
    assert any("the two bounds overlap" in note for note in found.notes)
    apart = linkage(original, masked, cells=5, largest_false_links=0.001, largest_missed_links=0.01)
    assert apart.parts["undecided"] > 0
    assert not any("overlap" in note for note in apart.notes)


@pytest.mark.parametrize("seed", range(4))
def test_one_to_one_links_have_the_greatest_sum_of_weights(linkage, seed):
    original, masked = small_files(seed, n=7)
    found = linkage(original, masked, cells=3, one_to_one=True)
    weight = pair_weights(found, original, masked, 3)
    sums = {order: sum(weight[i, j] for i, j in enumerate(order)) for order in permutations(range(7))}
    greatest = max(sums.values())
    right = {sum(i == j for i, j in enumerate(order)) for order, total in sums.items() if total > greatest - 1e-9}
    assert round(found.value * 7 / 100) in right


def test_one_to_one_is_refused_for_many_records(linkage):
    many = np.random.default_rng(1).normal(size=(5_001, 3))
    with pytest.raises(InputError, match="one_to_one needs the weight of every pair"):
        linkage(many, many, one_to_one=True)
