"""Markov matrices: published values, invariance, reach, classes of rare cells, correction of counts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright import InputError, Variable
from maskwright_builtin.methods.post_randomisation import corrected_counts
from maskwright_builtin.methods.post_randomisation.markov import (
    MarkovMatrix,
    Retaining,
    direct,
    lifted,
    made_invariant,
    mixed,
    neighbours,
)
from maskwright_builtin.methods.post_randomisation.pram import PramParams, transition
from maskwright_builtin.methods.post_randomisation.randomisation import Moves, Stratum, joined

REFERENCE = Path(__file__).parents[3] / "reference" / "categorical_pram_matrices.csv"
EDUCATION = np.array([1079, 688, 510, 234, 72, 39])
"""Records of each level of education in the 2,622 records of the survey that the published values are of."""


def published(name):
    with REFERENCE.open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[0].rstrip("0123456789") == name]
    return np.array([[float(cell) for cell in row[1:]] for row in rows])


def stratum_of(counts, cells=None, variables=None):
    codes = np.repeat(np.arange(len(counts)), counts)
    cells = np.arange(len(counts))[:, None] if cells is None else np.array(cells)
    names = tuple("abcdefghij"[: max(2, len(counts))])
    variables = variables or (Variable("level", "ordinal", categories=names),)
    return Stratum(np.arange(len(codes)), codes, variables, cells, np.array(counts))


def test_published_matrices():
    frequencies = EDUCATION / EDUCATION.sum()
    np.testing.assert_allclose(frequencies, [0.41151793, 0.26239512, 0.19450801, 0.08924485, 0.02745995, 0.01487414],
                               atol=1e-8)  # fmt: skip
    given = published("P")
    invariant = made_invariant(given, frequencies)
    np.testing.assert_allclose(invariant, published("R"), atol=1e-11)
    np.testing.assert_allclose(direct(frequencies, 0.3), published("direct"), atol=1e-11)
    diagonal = [0.98915663, 0.98299419, 0.97705882, 0.95, 0.8375, 0.7]
    np.testing.assert_allclose(np.diag(direct(frequencies, 0.3)), diagonal, atol=1e-8)
    assert frequencies @ np.diag(invariant) == pytest.approx(0.70270507, abs=1e-8)
    assert frequencies @ np.diag(mixed(invariant, 0.5)) == pytest.approx(0.85135254, abs=1e-8)
    for matrix in (invariant, direct(frequencies, 0.3), mixed(invariant, 0.5)):
        assert np.abs(frequencies @ matrix - frequencies).max() <= 1e-15
    assert np.linalg.cond(given) == pytest.approx(1.315789, abs=1e-6)


def test_corrected_counts_are_unbiased_and_have_the_published_deviations():
    given = published("P")
    estimate, covariance = corrected_counts(EDUCATION @ given, given)
    np.testing.assert_allclose(estimate, EDUCATION, rtol=1e-12)
    deviations = [20.03681, 17.86499, 16.78345, 14.95256, 13.76494, 13.51023]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), deviations, atol=1e-4)
    with pytest.raises(InputError, match="no inverse"):
        corrected_counts(np.array([3.0, 4.0]), np.full((2, 2), 0.5))


def test_realised_counts_vary_around_the_expected_ones():
    codes = np.repeat(np.arange(6), EDUCATION)
    matrix = MarkovMatrix(published("R"))
    counts = np.array(
        [
            np.bincount(matrix.draw(codes, np.random.default_rng(seed).random(len(codes))), minlength=6)
            for seed in range(400)
        ]
    )
    deviations = counts.std(axis=0, ddof=1) / np.sqrt(len(counts))
    assert (np.abs(counts.mean(axis=0) - EDUCATION) <= 3.5 * deviations).all()


counts_of = st.lists(st.integers(1, 300), min_size=2, max_size=9)


@settings(max_examples=80, deadline=None)
@given(
    counts=counts_of,
    params=st.one_of(
        st.builds(lambda h, keep, least: {"nearness": h, "retain": keep, "join_below": least},
                  st.floats(0.05, 5), st.floats(0, 0.9), st.integers(1, 40)),
        st.builds(lambda theta, least: {"construction": "direct", "theta": theta, "join_below": least},
                  st.floats(0.01, 1), st.integers(1, 40)),
        st.just({}),
    ),
)  # fmt: skip
def test_every_invariant_construction_keeps_expected_frequencies(counts, params):
    stratum = stratum_of(counts)
    matrix = transition(PramParams(**params), stratum, Moves()).probabilities
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert matrix.min() >= 0.0
    np.testing.assert_allclose(stratum.frequencies @ matrix, stratum.frequencies, atol=1e-14)
    assert np.diag(matrix).min() >= params.get("retain", 0.0) - 1e-12


@settings(max_examples=60, deadline=None)
@given(counts=counts_of, reach=st.integers(1, 4), invariant=st.booleans())
def test_neighbours_stay_within_reach(counts, reach, invariant):
    frequencies = np.array(counts) / sum(counts)
    places = np.cumsum(np.arange(len(counts)) % 3 + 1)
    matrix = neighbours(places, reach, frequencies if invariant else None)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert matrix.min() >= -1e-15
    assert (matrix[np.abs(places[:, None] - places) > reach] == 0.0).all()
    if invariant:
        np.testing.assert_allclose(frequencies @ matrix, frequencies, atol=1e-14)


def test_nearer_categories_are_likelier():
    matrix = transition(PramParams(nearness=0.2), stratum_of([50, 50, 50, 50]), Moves()).probabilities
    assert matrix[0, 1] > matrix[0, 2] > matrix[0, 3] > 0.0


def test_without_nearness_a_matrix_is_that_of_an_endless_one():
    stratum = stratum_of([5, 60, 200, 17])
    plain = transition(PramParams(retain=0.3), stratum, Moves()).probabilities
    far = transition(PramParams(retain=0.3, nearness=1e9, join_below=1), stratum, Moves()).probabilities
    np.testing.assert_allclose(plain, far, atol=1e-8)


def test_draws_without_a_matrix_follow_its_rows():
    chances = Retaining(np.array([0.1, 0.6, 0.3]), 0.4)
    drawn = chances.draw(np.repeat([0, 1, 2], 20_000), np.random.default_rng(5).random(60_000)).reshape(3, -1)
    shares = [np.bincount(row, minlength=3) / 20_000 for row in drawn]
    np.testing.assert_allclose(shares, chances.probabilities, atol=4 * 0.5 / np.sqrt(20_000))


def test_the_smallest_cell_joins_the_nearest_until_none_is_small():
    places = np.array([0, 1, 5, 6, 20])
    distances = np.abs(places[:, None] - places).astype(float)
    assert joined(distances, np.array([1, 9, 9, 2, 9]), 5).tolist() == [0, 0, 1, 1, 2]
    assert joined(distances, np.array([1, 1, 1, 1, 1]), 2).tolist() in ([0, 0, 1, 1, 1], [0, 0, 1, 1, 0])
    assert joined(distances, np.array([1, 1, 1, 1, 1]), 9).tolist() == [0, 0, 0, 0, 0]
    assert joined(distances, np.array([1, 9, 9, 2, 9]), 1).tolist() == [0, 1, 2, 3, 4]


def test_a_joined_cell_is_drawn_from_the_frequencies_of_its_class():
    matrix = lifted(np.eye(2), np.array([0, 0, 1]), np.array([0.1, 0.3, 0.6]))
    np.testing.assert_allclose(matrix, [[0.25, 0.75, 0], [0.25, 0.75, 0], [0, 0, 1]])


def test_joined_cells_are_counted_and_many_cells_refused_by_name():
    moves = Moves()
    transition(PramParams(nearness=0.2), stratum_of([1, 50, 50, 2]), moves)
    assert moves.joined == 4
    several = 2001
    names = tuple(f"c{number}" for number in range(several))
    large = stratum_of([1] * several, variables=(Variable("commune", "nominal", categories=names),))
    with pytest.raises(InputError, match="commune: 2001 categories or combinations occur"):
        transition(PramParams(nearness=0.2), large, Moves())
    assert (
        transition(PramParams(), large, Moves())
        .draw(large.codes, np.random.default_rng(1).random(len(large.codes)))
        .max()
        < several
    )
