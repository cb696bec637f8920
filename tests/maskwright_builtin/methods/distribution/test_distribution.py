"""Distortion by distribution and resampling: the fits against scipy's, ranks, the choice of a family, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

import maskwright as mw
from maskwright import InputError
from maskwright.plugins.registry import find_method
from maskwright_builtin.methods.distribution.distortion import FAMILIES
from maskwright_builtin.methods.distribution.families import best_fit, fit

SAMPLES: dict[str, Any] = {
    "beta": stats.beta(2, 5, loc=3, scale=10),
    "chi_squared": stats.chi2(7),
    "exponential": stats.expon(scale=4),
    "extreme_value": stats.gumbel_r(10, 3),
    "gamma": stats.gamma(2.5, scale=8),
    "logistic": stats.logistic(5, 2),
    "lognormal": stats.lognorm(0.8, scale=100),
    "normal": stats.norm(-4, 3),
    "pareto": stats.pareto(2.5, scale=6),
    "poisson": stats.poisson(6.0),
    "uniform": stats.uniform(2, 9),
    "weibull": stats.weibull_min(1.7, scale=30),
}


def sample(family, m=3000):
    return SAMPLES[family].rvs(m, random_state=np.random.default_rng(3)).astype(float)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fit_comes_near_the_law_that_was_drawn_from(family):
    values = np.sort(sample(family))
    fitted = fit(family, values)
    # Under the true law the statistic has mean 0.87 / sqrt(3000) = 0.016.
    assert fitted.distance(values) < 0.03
    if family != "poisson":
        assert fitted.distance(values) == pytest.approx(stats.kstest(values, fitted.law.cdf).statistic)


@pytest.mark.parametrize("family", ["gamma", "weibull"])
def test_maximum_likelihood_is_that_of_scipy(family):
    values = sample(family, 400)
    law = {"gamma": stats.gamma, "weibull": stats.weibull_min}[family]
    best = law(*law.fit(values, floc=0)).logpdf(values).sum()
    assert fit(family, values).law.logpdf(values).sum() >= best - 1e-6


@pytest.mark.parametrize("family", ["lognormal", "pareto", "uniform", "beta"])
def test_the_family_drawn_from_is_chosen_among_far_ones(family):
    others = ("exponential", "extreme_value", "normal", family)
    found, _ = best_fit(others, sample(family))
    assert found.family == family


def test_masked_values_follow_the_fitted_law_and_keep_ranks(make_block, protect):
    values = sample("lognormal", 2000)
    masked = protect("probability_distribution", make_block(values))
    assert masked.notes["family_x1"] == "lognormal"
    np.testing.assert_array_equal(np.argsort(masked.values[:, 0]), np.argsort(values))
    assert stats.ks_2samp(masked.values[:, 0], values).statistic < 0.07
    assert not np.isin(masked.values, values).any()


def test_whole_numbers_may_be_poisson(make_block, protect):
    masked = protect("probability_distribution", make_block(sample("poisson")), families=["poisson", "normal"])
    assert masked.notes["family_x1"] == "poisson"
    np.testing.assert_array_equal(masked.values, np.rint(masked.values))


@settings(max_examples=60)
@given(values=st.lists(st.integers(-20, 20), min_size=1, max_size=40), t=st.integers(1, 5), seed=st.integers(0, 99))
def test_resampling_keeps_ranks_and_range(make_block, protect, values, t, seed):
    masked = protect("resampling", make_block(values), seed, t=t).values[:, 0]
    assert min(values) <= masked.min()
    assert masked.max() <= max(values)
    assert np.all(np.diff(masked[np.argsort(values, kind="stable")]) >= 0)


def test_one_sample_consists_of_original_values_and_more_samples_come_nearer(make_block, protect):
    values = sample("gamma", 1000)
    one, many = (protect("resampling", make_block(values), t=t).values[:, 0] for t in (1, 30))
    assert np.isin(one, values).all()
    assert np.abs(many - values).mean() < 0.4 * np.abs(one - values).mean()


@pytest.mark.parametrize("method", ["resampling", "probability_distribution"])
def test_missing_cells_and_columns(make_block, protect, method):
    values = np.array([[1.0, np.nan], [2.5, np.nan], [np.nan, np.nan], [4.0, np.nan], [7.5, np.nan]])
    masked = protect(method, make_block(values))
    np.testing.assert_array_equal(np.isnan(masked.values), np.isnan(values))


def test_equal_values_stay_and_are_told(make_block, protect):
    masked = protect("probability_distribution", make_block([3.0] * 5))
    assert masked.values[:, 0].tolist() == [3.0] * 5
    assert len(masked.without_spread) == 1


def test_no_family_applies(make_block, protect):
    with pytest.raises(InputError, match=r"none of the families gamma, pareto applies to 'x1'; normal, uniform"):
        protect("probability_distribution", make_block([-1.0, 0.0, 2.0]), families=["gamma", "pareto"])


def test_values_too_large_for_a_number_are_refused(make_block, protect):
    values = np.repeat(np.exp([0.0, 300.0, 500.0, 700.0]), 50)
    with pytest.raises(InputError, match="the pareto distribution fitted to 'x1' has values that are too large"):
        protect("probability_distribution", make_block(values), families=["pareto"])


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("probability_distribution", {"families": []}),
        ("probability_distribution", {"families": ["gauss"]}),
        ("probability_distribution", {"families": "normal"}),
        ("resampling", {"t": 0}),
        ("resampling", {"t": 1.5}),
        ("resampling", {"t": 10_000}),
        ("resampling", {"samples": 3}),
    ],
)
def test_wrong_parameters_are_refused(method, params):
    with pytest.raises(ValidationError):
        find_method(method).params(**params)


@given(n=st.integers(1, 60), p=st.integers(1, 3), t=st.integers(2, 6), seed=st.integers(0, 999))
@settings(max_examples=60)
def test_record_resampling_averages_whole_records_by_place(make_block, protect, n, p, t, seed):
    values = np.random.default_rng(seed).normal(size=(n, p)).round(2)
    masked = protect("record_resampling", make_block(values), seed, t=t)
    rng = np.random.default_rng(seed)
    order = sorted(range(n), key=lambda i: (values[i].sum(), i))
    samples = [sorted(rng.integers(0, n, n).tolist()) for _ in range(t)]
    places = [{sample[place] for sample in samples} for place in range(n)]
    for place, record in enumerate(order):
        drawn = values[[order[sample[place]] for sample in samples]]
        np.testing.assert_allclose(masked.values[record], drawn.mean(axis=0), atol=1e-12)
    single = sum(len(each) == 1 for each in places)
    assert masked.notes["original_records"] == single
    assert bool(masked.doubts) == (single > 0)


def test_record_resampling_keeps_edits_and_no_correlations_of_census(reference):
    census = pd.read_csv(reference / "census.csv").astype(float)
    edits = ["PTOTVAL == POTHVAL + PEARNVAL", "AGI >= 0"]
    masked = mw.protect(census, "record_resampling", edits=edits[:1], params={"t": 20}, seed=1, groups=[list(census)])
    assert mw.validate(masked, edits).ok
    away = np.abs(np.corrcoef(masked.to_numpy().T) - np.corrcoef(census.to_numpy().T))
    # As the documentation says: the thesis expects correlations to stay.
    assert away.max() == pytest.approx(0.60, abs=0.005)
    assert not (masked.to_numpy()[:, None, :3] == census.to_numpy()[None, :, :3]).all(axis=2).any()
