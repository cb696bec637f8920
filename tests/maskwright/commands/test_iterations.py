"""Iterations of a method: those of a run with the same seed, the last of them what it releases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

LINE = ["2 * x + 3 * y == 240"]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 100, 60)
    y = np.where(np.arange(60) % 2, 20 + 0.4 * x, 90 - 0.6 * x) + rng.normal(size=60)
    return pd.DataFrame({"x": x, "y": y})


def test_the_last_iteration_of_a_regression_is_what_a_run_releases(points):
    params = {"c": 2, "independent": ["x"]}
    states = list(mw.iterations(points, "fuzzy_c_regression", params=params, seed=4))
    masked = mw.protect(
        points, "fuzzy_c_regression", params=params, seed=4, declared={"x": {"release": "as is"}},
        waive=[{"doubt": "method-warned", "step": 1, "because": "two lines"}],
    )  # fmt: skip
    np.testing.assert_allclose(states[-1].values[:, 0], masked["y"], rtol=1e-12)
    assert [each.is_last for each in states] == [False] * (len(states) - 1) + [True]
    assert states[-1].objective < states[0].objective
    fitted = states[-1].models[:, 0, 0] + np.outer(points["x"], states[-1].models[:, 1, 0])
    nearest = states[-1].memberships[:, :, 0].argmax(axis=1)
    np.testing.assert_allclose(fitted[np.arange(60), nearest], masked["y"], rtol=1e-12)
    slopes = sorted(states[-1].models[:, 1, 0])
    assert slopes == pytest.approx([-0.6, 0.4], abs=0.05)


def test_fewer_iterations_end_in_the_same_states(points):
    params = {"c": 3, "independent": ["x"], "tolerance": 0}
    states = list(mw.iterations(points, "fuzzy_c_regression", params={**params, "max_iterations": 6}, seed=4))
    fewer = list(mw.iterations(points, "fuzzy_c_regression", params={**params, "max_iterations": 3}, seed=4))
    assert (len(states), len(fewer)) == (6, 3)
    np.testing.assert_array_equal(states[2].values, fewer[-1].values)


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_centroids_lie_on_the_constraint_in_every_iteration(points):
    params = {"c": 4, "m1": 1.5, "max_iterations": 30}
    states = list(
        mw.iterations(points, "fuzzy_microaggregation", variables=["x", "y"], params=params, edits=LINE, seed=4)
    )
    masked = mw.protect(points, "fuzzy_microaggregation", variables=["x", "y"], params=params, edits=LINE, seed=4)
    assert len(states) > 3
    for state in states:
        np.testing.assert_allclose(state.centroids @ [2, 3], 240, rtol=1e-12)
        np.testing.assert_allclose(state.memberships.sum(axis=1), 1)
    np.testing.assert_allclose(states[-1].values, masked, rtol=1e-9)


def test_what_has_no_iterations_is_refused(points):
    with pytest.raises(mw.InputError, match="does not offer its iterations"):
        mw.iterations(points, "microaggregation", params={"k": 3})
    with pytest.raises(mw.InputError, match="nothing is drawn"):
        list(mw.iterations(points, "fuzzy_c_regression", params={"c": 2, "independent": ["x"], "label": "draw"}))
