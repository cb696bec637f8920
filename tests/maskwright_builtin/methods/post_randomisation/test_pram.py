"""PRAM: expected frequencies, given matrices, edits by category, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright import InputError, Variable
from maskwright.plugins.registry import find_method
from maskwright_builtin.methods.post_randomisation.markov import MarkovMatrix, made_invariant
from maskwright_builtin.methods.post_randomisation.pram import PramParams, transition
from maskwright_builtin.methods.post_randomisation.randomisation import Moves, Stratum

REGION = Variable("region", "nominal", categories=("north", "south", "east", "west"))
GIVEN = {
    "north": {"north": 0.7, "south": 0.2, "east": 0.1},
    "south": {"south": 0.5, "west": 0.5},
    "east": {"east": 0.9, "north": 0.1},
    "west": {"west": 0.6, "north": 0.4},
}


def matrix_of(counts, **params):
    codes = np.repeat(np.arange(len(counts)), counts)
    cells = np.arange(len(counts))[:, None]
    stratum = Stratum(np.arange(len(codes)), codes, (REGION,), cells, np.array(counts))
    return transition(PramParams(**params), stratum, Moves()).probabilities


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(1, 500), min_size=4, max_size=4),
    params=st.one_of(st.just({"matrix": GIVEN}), st.floats(0, 0.99).map(lambda share: {"retain": share})),
)
def test_expected_frequencies_are_those_of_the_original_when_invariant(counts, params):
    matrix = matrix_of(counts, **params)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert matrix.min() >= 0.0
    np.testing.assert_allclose(np.array(counts) @ matrix, counts, rtol=1e-12)
    if "retain" in params:
        assert np.diag(matrix).min() >= params["retain"] - 1e-12


def test_drawn_frequencies_are_the_expected_ones(make_block, protect):
    codes = np.repeat([0.0, 1.0, 2.0, 3.0], [10_000, 6000, 3000, 1000])
    masked = protect("pram", make_block(codes, variables=(REGION,)), retain=0.6).values[:, 0]
    found = np.bincount(masked.astype(int), minlength=4)
    # Four standard deviations at most: each count is a sum of independent draws.
    np.testing.assert_allclose(found, [10_000, 6000, 3000, 1000], atol=4 * np.sqrt(20_000 * 0.25))
    assert masked.tolist() != codes.tolist()
    stayed = (masked == codes)[:10_000].mean()
    assert stayed == pytest.approx(0.6 + 0.4 * 0.5, abs=4 * 0.4 / 100)


def test_a_given_matrix_is_taken_as_it_is_when_asked():
    expected = [[0.7, 0.2, 0.1, 0], [0, 0.5, 0, 0.5], [0.1, 0, 0.9, 0], [0.4, 0, 0, 0.6]]
    np.testing.assert_allclose(matrix_of([5, 6, 7, 8], matrix=GIVEN, invariant=False), expected)
    np.testing.assert_allclose(matrix_of([5, 6, 7, 8], retain=0.7, invariant=False), 0.1 + 0.6 * np.eye(4))


def test_the_second_stage_of_two_categories_by_hand():
    """P = [[.9, .1], [.2, .8]], f = (.6, .4): the first stage gives (.62, .38), the second goes back by Bayes' rule."""
    made = made_invariant(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.6, 0.4]))
    back = np.array([[0.54 / 0.62, 0.08 / 0.62], [0.06 / 0.38, 0.32 / 0.38]])
    np.testing.assert_allclose(made, np.array([[0.9, 0.1], [0.2, 0.8]]) @ back)


def test_draws_follow_the_rows():
    matrix = np.array([[0.25, 0.75, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    drawn = (
        MarkovMatrix(matrix).draw(np.repeat([0, 1, 2], 8000), np.random.default_rng(4).random(24_000)).reshape(3, -1)
    )
    shares = [np.bincount(row, minlength=3) / 8000 for row in drawn]
    np.testing.assert_allclose(shares, matrix, atol=4 * 0.5 / np.sqrt(8000))
    assert (np.array(shares)[matrix == 0.0] == 0.0).all()


def test_a_category_that_does_not_occur_is_not_reached(make_block, protect):
    matrix = {"north": {"north": 0.5, "west": 0.5}, "south": {"south": 0.1, "north": 0.9}}
    block = make_block([0.0, 1.0] * 200, variables=(REGION,))
    masked = protect("pram", block, matrix=matrix, invariant=False).values[:, 0]
    assert set(masked) == {0.0, 1.0}
    assert (masked[::2] == 0.0).all()


def test_a_single_category_stays_and_is_told(make_block, protect):
    masked = protect("pram", make_block([1.0, 1.0, np.nan], variables=(REGION,)))
    np.testing.assert_array_equal(masked.values[:, 0], [1.0, 1.0, np.nan])
    assert "share one category" in masked.notes["warnings"][0]


def frame():
    rng = np.random.default_rng(6)
    region = rng.choice(["north", "south", "east"], 600)
    level = pd.Categorical(rng.choice(["low", "high"], 600), ["low", "high"], ordered=True)
    return pd.DataFrame({"region": region, "level": level, "rent": np.where(region == "north", 10, 50)})


def test_edits_on_categories_hold_and_others_change():
    rules = ["if region == 'north' then rent <= 20"]
    masked = mw.protect(
        frame(),
        "pram",
        edits=rules,
        seed=1,
        params={"retain": 0.5},
        variables=["region", "level"],
        declared={"rent": {"role": "other"}},
    )
    assert mw.validate(masked, rules).ok
    assert (masked["region"] != frame()["region"]).any()
    assert (masked["level"] != frame()["level"]).any()
    # Categories cross the condition where the rule lets them.
    assert ((masked["region"] == "north") != (frame()["region"] == "north")).any()


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"retain": 1.0}, "less than 1"),
        ({"retain": -0.1}, "greater than or equal to 0"),
        ({"matrix": {}}, "a row for each"),
        ({"matrix": {"a": {"a": 0.5, "b": 0.4}}}, "sum to 0.9, not to 1"),
        ({"matrix": {"a": {"a": 1.5, "b": -0.5}}}, "between 0 and 1"),
        ({"matrix": {"a": {"a": 1.0}}, "retain": 0.5}, "give one"),
        ({"p": 0.1}, "Extra inputs"),
    ],
)
def test_wrong_parameters_are_refused(params, said):
    with pytest.raises(ValidationError, match=said):
        find_method("pram").params(**params)


def test_a_matrix_for_other_categories_is_refused(make_block, protect):
    block = make_block([0.0, 1.0, 2.0], variables=(REGION,))
    with pytest.raises(InputError, match="'centre' is not among the categories of 'region'"):
        protect("pram", block, matrix={**GIVEN, "centre": {"north": 1.0}})
    with pytest.raises(InputError, match="1 of the categories of 'region' that occur have no row"):
        protect("pram", block, matrix={name: GIVEN[name] for name in ("north", "south")})


def test_numbers_are_refused():
    with pytest.raises(InputError, match="method 'pram' cannot mask 'rent': it is integer"):
        mw.protect(frame(), "pram", seed=1, variables=["rent"])
