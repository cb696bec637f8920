"""Counts on keys with missing cells: published tables, plain loops over pairs of records, and what must not matter."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import InputError
from maskwright_builtin.key_counts.frequencies import blended, count_keys

REFERENCE = Path(__file__).parents[2] / "reference"
RULES = ("own", "alpha0", "subset", "wildcard")


def read(name, keys):
    with (REFERENCE / name).open() as file:
        rows = list(csv.DictReader(file))
    codes = [np.array([-1 if row[key] == "" else int(row[key]) for row in rows]) for key in keys]
    return rows, codes, np.array([float(row["weight"]) for row in rows])


@pytest.mark.parametrize(("rule", "column"), list(zip(RULES, ("own", "alpha0", "subset", "wild"), strict=True)))
def test_the_toy_file_tells_all_rules_apart(rule, column):
    rows, codes, weights = read("categorical_counts_toy.csv", "abc")
    found = count_keys(codes, rule, weights)
    assert found.file.tolist() == [int(row[f"f_{column}"]) for row in rows]
    assert found.population.tolist() == [float(row[f"F_{column}"]) for row in rows]


def survey_with_holes():
    _, codes, weights = read("categorical_survey.csv", ("region", "sex", "age10", "edu", "occ", "marital"))
    record = np.arange(len(weights))
    return [np.where((record * (j + 3) + 11 * j) % 41 == 5, -1, code) for j, code in enumerate(codes)], weights


@pytest.mark.parametrize(
    ("rule", "total", "uniques", "pairs", "population"),
    [
        ("own", 14_490, 1_626, 376, 305_897.920),
        ("alpha0", 18_762, 1_406, 413, 401_353.876),
        ("subset", 18_762, 1_406, 413, 401_353.876),
        ("wildcard", 24_296, 1_085, 547, 520_420.585),
    ],
)
def test_the_survey_with_holes(rule, total, uniques, pairs, population):
    codes, weights = survey_with_holes()
    found = count_keys(codes, rule, weights)
    assert (found.file.sum(), (found.file == 1).sum(), (found.file == 2).sum()) == (total, uniques, pairs)
    assert found.population.sum() == pytest.approx(population, abs=1e-6)


def test_the_complete_survey_is_the_same_by_every_rule():
    _, codes, _ = read("categorical_survey.csv", ("region", "sex", "age10", "edu", "occ", "marital"))
    counts = [count_keys(codes, rule).file for rule in RULES]
    assert (counts[0] == 1).sum() == 1_426
    assert all(np.array_equal(counts[0], each) for each in counts)


def matches(codes, rule):
    """Who counts whom, pair by pair; shape (n, n)."""
    table = np.stack(codes, axis=1)
    gone = table < 0
    equal = table[:, None, :] == table[None, :, :]
    own = equal.all(axis=2)
    mine, others = gone[:, None, :], gone[None, :, :]
    if rule == "own":
        return own
    if rule == "subset":
        return (mine | equal).all(axis=2)
    if rule == "alpha0":
        complete = ~gone.any(axis=1)
        return own | (complete[None, :] & (mine | equal).all(axis=2))
    return (mine | others | equal).all(axis=2)


FILES = st.builds(
    lambda seed, n, levels, holes, q, stretch: (np.random.default_rng(seed), n, levels, holes, q, stretch),
    st.integers(0, 2**32 - 1),
    st.integers(1, 80),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(1, 5),
    # Codes so large that all keys together need more than one word.
    st.sampled_from([1, 2**20]),
)


def drawn(file):
    generator, n, levels, holes, q, stretch = file
    codes = [generator.integers(0, levels, n) * stretch for _ in range(q)]
    codes = [np.where(generator.random(n) < holes, -1, code) for code in codes]
    return codes, generator.choice([1.0, 2.5, 10.0], n), generator.integers(0, max(n // 3, 1), n)


@given(file=FILES)
def test_equal_loops_over_pairs_of_records(file):
    codes, weights, households = drawn(file)
    households = np.unique(households, return_inverse=True)[1]
    first = np.unique(households, return_index=True)[1]
    previous = None
    for rule in RULES:
        who = matches(codes, rule)
        found = count_keys(codes, rule, weights)
        assert found.file.tolist() == who.sum(axis=1).tolist()
        np.testing.assert_allclose(found.population, who @ weights, rtol=1e-12)
        lived_in = np.stack([who[:, households == home].any(axis=1) for home in range(len(first))], axis=1)
        homes = count_keys(codes, rule, weights, households)
        assert homes.file.tolist() == lived_in.sum(axis=1).tolist()
        np.testing.assert_allclose(homes.population, lived_in @ weights[first], rtol=1e-12)
        if previous is not None:
            assert (previous.file <= found.file).all()
            assert (previous.population <= found.population * (1 + 1e-12)).all()
        previous = found


@given(file=FILES, rule=st.sampled_from(RULES))
@settings(max_examples=100, deadline=None)
def test_neither_order_nor_names_matter(file, rule):
    codes, weights, _ = drawn(file)
    generator = file[0]
    found = count_keys(codes, rule, weights)
    order = generator.permutation(len(weights))
    shuffled = count_keys([code[order] for code in codes], rule, weights[order])
    assert np.array_equal(shuffled.file, found.file[order])
    np.testing.assert_allclose(shuffled.population, found.population[order])
    assert np.array_equal(count_keys(codes[::-1], rule, weights).file, found.file)
    renamed = [np.where(code < 0, -1, int(code.max()) - code) for code in codes]
    assert np.array_equal(count_keys(renamed, rule, weights).file, found.file)


@given(file=FILES, rule=st.sampled_from(RULES))
@settings(max_examples=100, deadline=None)
def test_a_file_twice_has_twice_the_counts_and_more_keys_never_more(file, rule):
    codes, weights, _ = drawn(file)
    found = count_keys(codes, rule, weights)
    twice = count_keys([np.tile(code, 2) for code in codes], rule, np.tile(weights, 2))
    assert np.array_equal(twice.file, np.tile(2 * found.file, 2))
    np.testing.assert_allclose(twice.population, np.tile(2 * found.population, 2))
    if rule in ("own", "wildcard"):
        more = count_keys([*codes, file[0].integers(-1, 3, len(weights))], rule)
        assert (more.file <= found.file).all()
    if rule == "own":
        merged = count_keys([*codes[:-1], np.where(codes[-1] == 0, codes[-1].max(), codes[-1])], rule)
        assert (merged.file >= found.file).all()


def test_a_blend_of_wildcard_and_own():
    _, codes, weights = read("categorical_counts_toy.csv", "abc")
    wildcard, alpha0 = count_keys(codes, "wildcard", weights), count_keys(codes, "alpha0", weights)
    file, population = blended(wildcard, alpha0, 0.5)
    assert file.tolist() == [3.5, 3.5, 4.0, 4.5, 2.0, 2.5, 3.0, 2.0, 7.0]
    assert population[0] == 110.0


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused_without_its_value(weight):
    with pytest.raises(InputError, match=r"in 1 record:"):
        count_keys([np.array([0, 1])], weights=np.array([1.0, weight]))
