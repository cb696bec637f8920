"""Noise: its size, what correction keeps exactly, correlations, equalities, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

import maskwright as mw
from maskwright.foundation.progress import Quiet
from maskwright.plugins.registry import find_method

METHODS = ["additive_noise", "correlated_noise", "multiplicative_noise"]


@pytest.fixture(scope="module")
def table():
    """20 000 records: two correlated variables and their sum."""
    rng = np.random.default_rng(5)
    one = rng.gamma(2.0, 300.0, 20_000)
    two = 0.5 * one + rng.gamma(3.0, 40.0, 20_000)
    return np.column_stack([one, two, one + two])


def test_additive_noise_has_the_stated_size_and_is_independent(table, make_block, protect):
    noise = protect("additive_noise", make_block(table), p=0.3).values - table
    # Standard errors: 0.5 % of a standard deviation, 0.7 % of a correlation, at 20 000 records.
    np.testing.assert_allclose(noise.std(axis=0, ddof=1) / table.std(axis=0, ddof=1), 0.3, rtol=0.02)
    np.testing.assert_allclose(noise.mean(axis=0) / table.std(axis=0), 0.0, atol=0.3 * 4 / np.sqrt(20_000))
    among = np.corrcoef(noise.T)[np.triu_indices(3, 1)]
    with_original = [np.corrcoef(noise[:, j], table[:, j])[0, 1] for j in range(3)]
    np.testing.assert_allclose([*among, *with_original], 0.0, atol=0.03)


def test_additive_noise_in_the_unit_of_the_variables(table, make_block, protect):
    noise = protect("additive_noise", make_block(table), sd=7.5).values - table
    np.testing.assert_allclose(noise.std(axis=0, ddof=1), 7.5, rtol=0.02)
    constant = make_block(np.full((1000, 1), 3.0))
    assert protect("additive_noise", constant, sd=2.0).values.std() == pytest.approx(2.0, rel=0.1)
    kept = protect("additive_noise", constant, sd=2.0, correction="mean_and_variance")
    assert np.all(kept.values == 3.0)
    assert len(kept.without_spread) == 1


def test_additive_noise_has_one_size(protect, make_block, table):
    with pytest.raises(ValidationError, match="p and sd both say"):
        protect("additive_noise", make_block(table), p=0.1, sd=1.0)
    for sd in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValidationError):
            protect("additive_noise", make_block(table), sd=sd)


def test_correlated_noise_has_the_covariances_of_the_variables(table, make_block, protect):
    noise = protect("correlated_noise", make_block(table), p=0.3).values - table
    size = np.outer(table.std(axis=0), table.std(axis=0))
    np.testing.assert_allclose(np.cov(noise.T) / size, 0.09 * np.cov(table.T) / size, atol=0.004)
    np.testing.assert_allclose(np.corrcoef((table + noise).T), np.corrcoef(table.T), atol=0.01)


@pytest.mark.parametrize("correction", ["none", "mean", "mean_and_variance"])
def test_correlated_noise_keeps_linear_equalities(table, make_block, protect, correction):
    values = protect("correlated_noise", make_block(table), p=0.5, correction=correction).values
    np.testing.assert_allclose(values[:, 0] + values[:, 1], values[:, 2], rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("method", ["additive_noise", "correlated_noise"])
def test_correction_makes_moments_exact(table, make_block, protect, method):
    block = make_block(table[:50])
    sd = table[:50].std(axis=0)
    mean = protect(method, block, p=0.5, correction="mean").values
    np.testing.assert_allclose((mean.mean(axis=0) - table[:50].mean(axis=0)) / sd, 0.0, atol=1e-12)
    assert np.all(np.abs(mean.std(axis=0) / sd - 1) > 1e-3)
    both = protect(method, block, p=0.5, correction="mean_and_variance").values
    np.testing.assert_allclose((both.mean(axis=0) - table[:50].mean(axis=0)) / sd, 0.0, atol=1e-12)
    np.testing.assert_allclose(both.std(axis=0) / sd, 1.0, atol=1e-12)
    if method == "correlated_noise":
        np.testing.assert_allclose(
            np.cov(both.T) / np.outer(sd, sd), np.cov(table[:50].T) / np.outer(sd, sd), atol=1e-9
        )


def test_with_few_records_covariances_are_exact_too(make_block, protect):
    values = np.random.default_rng(1).standard_normal((4, 6))
    masked = protect("correlated_noise", make_block(values), correction="mean_and_variance").values
    np.testing.assert_allclose(np.cov(masked.T), np.cov(values.T), atol=1e-12)


@pytest.mark.parametrize(
    ("distribution", "p", "tolerance"), [("lognormal", 0.4, 0.02), ("truncated_normal", 0.3, 0.03)]
)
def test_multiplicative_factors_are_around_one(make_block, protect, distribution, p, tolerance):
    factors = protect("multiplicative_noise", make_block(np.ones(40_000)), p=p, distribution=distribution).values
    assert factors.mean() == pytest.approx(1.0, abs=4 * p / 200)
    assert factors.std() == pytest.approx(p, rel=tolerance)
    assert factors.min() > 0
    if distribution == "truncated_normal":
        assert factors.max() < 2


def test_factors_keep_zeros_and_signs(make_block, protect):
    values = np.array([0.0, -3.0, 5.0, 0.0, 2.0])
    masked = protect("multiplicative_noise", make_block(values), p=0.5).values[:, 0]
    np.testing.assert_array_equal(np.sign(masked), np.sign(values))


@pytest.mark.parametrize("method", ["additive_noise", "multiplicative_noise"])
def test_missing_cells_stay_missing_and_do_not_count(make_block, protect, method):
    values = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, np.nan], [4.0, 7.0]])
    masked = protect(method, make_block(values))
    np.testing.assert_array_equal(np.isnan(masked.values), np.isnan(values))
    np.testing.assert_array_equal(masked.missing, np.isnan(values))


def test_a_variable_without_spread_stays_and_is_told(make_block, protect):
    for method in ("additive_noise", "correlated_noise"):
        block = make_block([[1e9, 1.0], [1e9, 2.0], [1e9, 3.0]])
        masked = protect(method, block, correction="mean_and_variance")
        assert masked.values[:, 0].tolist() == [1e9] * 3
        assert masked.notes["changed_cells"] == 3
        assert masked.without_spread == block.names[:1]
    zeros = protect("multiplicative_noise", make_block([0.0, 0.0]))
    assert "all 0" in zeros.notes["warnings"][0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "params", [{"p": 0}, {"p": -0.1}, {"p": 11}, {"p": float("nan")}, {"p": "much"}, {"sigma": 1}], ids=str
)
def test_wrong_parameters_are_refused(method, params):
    with pytest.raises(ValidationError):
        find_method(method).params(**params)


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("additive_noise", {"correction": "median"}, "mean_and_variance"),
        ("multiplicative_noise", {"distribution": "cauchy"}, "lognormal"),
        ("multiplicative_noise", {"distribution": "truncated_normal", "p": 0.6}, "at most 0.5"),
    ],
)
def test_refusals_say_what_is_possible(method, params, said):
    with pytest.raises(ValidationError, match=said):
        find_method(method).params(**params)


def test_where_cells_are_missing_covariances_are_those_of_the_records_that_have_them():
    frame = pd.DataFrame({"a": [1.0, 2.0, None, 4.0], "b": [1.0, 5.0, 2.0, 2.0]})
    masked = mw.protect(frame, "correlated_noise", seed=1)
    assert (masked.isna() == frame.isna()).all().all()
    assert (masked != frame).all().all()


def test_the_notice_names_the_variables_that_stay() -> None:
    """Not the first ones of the step: those that have no spread, and are published as they are."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50), "c": 4.0, "d": 5.0})
    with pytest.raises(mw.OpenDoubts, match=r"W305 .*: c, d: true values are published unchanged"):
        mw.protect(frame, "correlated_noise", seed=1)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("additive_noise", {}), ("additive_noise", {"correction": "mean_and_variance"}), ("correlated_noise", {}),
        ("probability_distribution", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("equal", "stops"), [(1, False), (3, False), (4, True)])
def test_what_is_equal_in_a_stratum_stays_and_stops_only_where_it_is_most_of_them(
    method: str, params: dict[str, str], equal: int, stops: bool
) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"region": np.repeat(list("abcdef"), 60), "income": rng.normal(900, 90, 360)})
    frame["wages"] = np.where(np.arange(360) < 60 * equal, 1200.0, rng.normal(800, 90, 360))
    steps = [{"method": method, "variables": ["income", "wages"], "within": ["region"], "params": params}]
    declared = {"region": {"role": "other"}, "wages": {"unchanged": 100}}
    heard: list[str] = []

    class Heard(Quiet):
        def notice(self, text: str) -> None:
            if isinstance(text, mw.Caution):
                heard.append(text)

    said = f"wages: in {equal} of 6 strata true values are published unchanged, because those that are masked together"
    if stops:
        with pytest.raises(mw.OpenDoubts, match=f"W305 .*{said}"):
            mw.protect(frame, steps=steps, seed=1, declared=declared, reporter=Heard())
        assert not any("true values" in each for each in heard)
        return
    masked = mw.protect(frame, steps=steps, seed=1, declared=declared, reporter=Heard())
    assert [each for each in heard if said in each]
    assert (masked["wages"][: 60 * equal] == 1200).all()
    assert (masked["wages"] != frame["wages"])[60 * equal :].all()


def test_the_only_value_of_a_stratum_stops_a_release() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"region": np.repeat(list("abcdef"), 60), "income": rng.normal(900, 90, 360)})
    frame.loc[1:59, "income"] = None
    alone = {"small_strata": "keep"}
    steps = [{"method": "additive_noise", "variables": ["income"], "within": ["region"], "params": alone}]
    with pytest.raises(mw.OpenDoubts, match=r"W305 .*income: a true value is published unchanged"):
        mw.protect(frame, steps=steps, seed=1, declared={"region": {"role": "other"}})
