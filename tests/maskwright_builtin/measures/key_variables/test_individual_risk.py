"""Individual, global and household risk against the published figures, SciPy, and what must not matter."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import maskwright as mw
from maskwright_builtin.key_counts.frequencies import approximate_risk, individual_risk
from maskwright_builtin.measures.key_variables.individual_risk import household_risk, outlying, risk_for_rate

REFERENCE = Path(__file__).parents[3] / "reference"
KEYS = ("region", "sex", "age10", "edu", "occ", "marital")


def table():
    with (REFERENCE / "categorical_individual_risk.csv").open() as file:
        rows = list(csv.DictReader(file))
    return rows, np.array([int(row["f"]) for row in rows]), np.array([float(row["pi"]) for row in rows])


def test_the_published_risks():
    rows, f, pi = table()
    np.testing.assert_allclose(individual_risk(f, pi), [float(row["exact"]) for row in rows], rtol=1e-12)
    approximate = [float(row["closed_f12_else_pi_over_f_minus_1_plus_pi"]) for row in rows]
    np.testing.assert_allclose(approximate_risk(f, pi), approximate, rtol=1e-12)


@given(f=st.integers(1, 300), pi=st.floats(1e-3, 1.0))
@settings(max_examples=200, deadline=None)
def test_equal_the_mean_over_the_negative_binomial_law(f, pi):
    (found,) = individual_risk(np.array([f]), np.array([pi]))
    more = np.arange(int(stats.nbinom.isf(1e-14, f, pi)) + 2)
    assert found == pytest.approx(float((stats.nbinom.pmf(more, f, pi) / (f + more)).sum()), rel=1e-9)
    assert 0.0 < found <= 1.0 / f
    (roughly,) = approximate_risk(np.array([f]), np.array([pi]))
    assert found * (1 - 1e-12) <= roughly <= found * 1.0404
    higher, lower = individual_risk(np.array([f + 1, f]), np.array([pi, 0.9 * pi]))
    assert higher < found
    assert lower < found


def survey(**more):
    declared = {
        "weight": {"role": "weight"},
        **{key: {"type": "nominal", "role": "quasi_identifier"} for key in KEYS},
        **{name: {"role": "other"} for name in ("id", "town", "age", "income", "disease", "pop_count")},
    }
    return mw.read(REFERENCE / "categorical_survey.csv", variables=declared, **more)


def measured(data, **params):
    (found,) = mw.measure(data, data, [{"individual_risk": params}]).values()
    return found


def test_the_survey():
    found = measured(survey(cluster="hid"), bound=(0.05, 0.1), target_rate=(0.05,))
    assert found.parts["expected_reidentifications"] == pytest.approx(254.902366, abs=1e-6)
    assert found.value == pytest.approx(100 * 254.902366 / 2622, abs=1e-6)
    assert found.parts["households_expected"] == pytest.approx(235.672306, abs=1e-6)
    assert found.parts["household_members_expected"] == pytest.approx(650.188220, abs=1e-6)
    assert found.parts["outlying_records"] == 0
    assert found.per_record.sum() == pytest.approx(254.902366, abs=1e-6)
    assert found.parts["share_above_0_1"] == pytest.approx(100 * np.mean(found.per_record > 0.1))
    assert "about 254.9 (9.7 %)" in found.sentence


def test_the_survey_by_the_approximation():
    found = measured(survey(cluster="hid"), formula="approximate", target_rate=(0.01, 0.02, 0.05))
    assert found.parts["expected_reidentifications"] == pytest.approx(254.979927, abs=1e-6)
    assert found.parts["household_members_expected"] == pytest.approx(650.353417, abs=1e-4)
    rates = [found.parts[f"risk_for_rate_0_0{digit}"] for digit in (1, 2, 5)]
    assert rates == pytest.approx([0.00990099, 0.02439024, 0.06785838], abs=1e-7)
    risk = found.per_record
    assert [outlying(risk, np.ones(len(risk), dtype=np.int64), deviations).sum() for deviations in (1, 2, 3)] == [
        569,
        0,
        0,
    ]
    for rate, cut in zip((0.01, 0.02, 0.05), rates, strict=True):
        assert np.minimum(risk, cut).sum() < rate * len(risk)
        assert np.minimum(risk, np.min(risk[risk > cut])).sum() >= rate * len(risk)


def frame(**columns):
    import pandas as pd

    return pd.DataFrame(columns)


NAMED = {"a": {"type": "nominal", "role": "quasi_identifier"}, "b": {"type": "nominal", "role": "quasi_identifier"}}


def of_frame(data, weights=False, **params):
    declared = {**NAMED, **({"w": {"role": "weight"}} if weights else {})}
    (found,) = mw.measure(data, data, [{"individual_risk": params}], declared=declared).values()
    return found


def test_without_weights_the_file_is_the_population():
    found = of_frame(frame(a=["x", "x", "y"], b=["1", "1", "1"]))
    assert found.per_record.tolist() == [0.5, 0.5, 1.0]
    assert any("taken to be the population" in note for note in found.notes)


def test_weights_below_one_are_cut_and_told():
    found = of_frame(frame(a=["x", "x", "y"], b=["1", "1", "1"], w=[0.5, 0.5, 4.0]), weights=True)
    assert found.per_record[:2].tolist() == [0.5, 0.5]
    assert any(note.startswith("in 2 records the weights are below 1") for note in found.notes)


def test_a_weight_of_zero_is_one_and_told():
    found = of_frame(frame(a=["x", "y"], b=["1", "1"], w=[0.0, 4.0]), weights=True)
    assert found.per_record[0] == 1.0
    assert any(note.startswith("1 record with a weight of zero") for note in found.notes)


def test_a_missing_weight_is_told():
    found = of_frame(frame(a=["x", "y"], b=["1", "1"], w=[np.nan, 4.0]), weights=True)
    assert any("no weights are used: w is missing" in note for note in found.notes)


def test_missing_keys_count_as_asked():
    data = frame(a=["x", "x", None, "y"], b=["1", "2", "1", None])
    found = {how: of_frame(data, count=how).per_record for how in ("own", "alpha0", "subset", "wildcard")}
    assert found["own"].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert found["alpha0"].tolist() == [1.0, 1.0, 0.5, 1.0]
    # (-, 1) and (y, -) may be the same person.
    assert found["wildcard"].tolist() == [0.5, 1.0, 1 / 3, 0.5]
    assert any("any value" in note for note in of_frame(data, count="wildcard").notes)


def test_each_key_has_its_share():
    found = of_frame(frame(a=["x", "y", "x", "y"], b=["1", "1", "1", "1"]), without_each_key=True)
    assert (found.value, found.parts["rate_without_a"], found.parts["rate_without_b"]) == (50.0, 25.0, 50.0)


def test_of_several_sets_of_keys_the_worst_counts():
    data = frame(a=["x", "x", "y", "y"], b=["1", "2", "3", "3"])
    for name, worst, other in (("individual_risk", 75.0, 50.0), ("uniqueness", 50.0, 0.0), ("k_anonymity", 1.0, 2.0)):
        asked = {name: {"key_sets": {"near": ["a"], "far": ["b"]}}}
        (found,) = mw.measure(data, data, [asked], declared=NAMED).values()
        assert (found.value, found.parts["keys_far"], found.parts["keys_near"]) == (worst, worst, other)
        assert found.notes[0] == "the worst of 2 sets of keys is far"


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_household_risk_is_that_of_any_member(seed):
    generator = np.random.default_rng(seed)
    households = np.unique(generator.integers(0, 8, 30), return_inverse=True)[1]
    risk = generator.choice([0.0, 0.01, 0.5, 1.0], 30)
    found = household_risk(risk, households)
    for home in range(households.max() + 1):
        assert found[home] == pytest.approx(1.0 - np.prod(1.0 - risk[households == home]))


def test_no_risk_is_low_enough_for_a_rate_below_all():
    assert risk_for_rate(np.array([0.5]), np.array([2]), 0.1) == 0.0
    assert risk_for_rate(np.array([0.01, 0.5]), np.array([1, 1]), 0.9) == 0.5


def test_k_map_by_weights_and_by_a_register(tmp_path):
    data = frame(a=["x", "x", None], b=["1", "2", "1"], w=[2.0, 8.0, 3.0])
    declared = {**NAMED, "w": {"role": "weight"}}
    (found,) = mw.measure(data, data, ["k_map"], declared=declared).values()
    assert found.value == 2.0
    register = frame(a=["x"] * 3 + ["y"] * 2 + [None], b=["1", "2", "2", "1", "1", "1"])
    register.to_csv(tmp_path / "register.csv", index=False)
    asked = {"k_map": {"population": str(tmp_path / "register.csv"), "k": 2}}
    (found,) = mw.measure(data, data, [asked], declared=declared).values()
    # (-, 1): one x and two y; whoever shows less himself is not counted.
    assert (100.0 / found.per_record).tolist() == pytest.approx([1.0, 2.0, 4.0])
    assert found.parts["below_k"] == pytest.approx(100 / 3)
