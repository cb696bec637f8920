"""Models of population uniques: published and recomputed figures, the truth of a known population, plain loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import maskwright as mw
from maskwright import Column, Comparison, Dataset, InputError, Variable, find_measure
from maskwright_builtin.measures.key_variables import population_uniques as module
from maskwright_builtin.measures.key_variables.population_models import (
    KeyTable,
    fit,
    matching_risk,
    pitman,
    underfitting,
    zayatz,
)

KEYS = ["region", "sex", "age10", "edu", "occ", "marital"]
REFERENCE = Path(__file__).parents[3] / "reference"
TAU1, TAU2 = 199, 463.1542
"""Truth of the simple random sample of 3,000: sample uniques that are population uniques; sum of 1 / F over uniques."""


@pytest.fixture(scope="module")
def cells():
    return pd.read_csv(REFERENCE / "categorical_srs_cells.csv", dtype=dict.fromkeys(KEYS, str))


@pytest.fixture(scope="module")
def sample(cells):
    return cells.loc[cells.index.repeat(cells["f"]), [*KEYS, "F"]].reset_index(drop=True)


def measured(frame, model, **params):
    request = {"population_uniques": {"keys": KEYS, "model": model, **params}}
    (found,) = mw.measure(frame, frame, [request]).values()
    return found


def test_the_truth_of_the_sample(cells):
    alone = cells["f"] == 1
    assert int((alone & (cells["F"] == 1)).sum()) == TAU1
    assert float((1 / cells["F"][alone]).sum()) == pytest.approx(TAU2, abs=1e-4)


def test_main_effects_equal_another_program(sample):
    """Equal to glm of R in all printed digits; B as recomputed."""
    found = measured(sample, "main_effects", sampling_fraction=0.05)
    assert found.parts["tau1"] == pytest.approx(366.1509, abs=1e-4)
    assert found.parts["tau2"] == pytest.approx(670.1709, abs=1e-4)
    assert found.parts["b"] == pytest.approx(633.652, abs=1e-3)
    assert found.parts["sample_uniques"] == pytest.approx(100 * 1568 / 3000)
    assert found.value == pytest.approx(100 * 366.1509 / 3000, abs=1e-5)
    assert found.parts["in_population"] == pytest.approx(20 * 366.1509, abs=1e-2)


def test_all_pairs(sample):
    found = measured(sample, "all_pairs", sampling_fraction=0.05)
    assert found.parts["tau1"] == pytest.approx(179.9, abs=0.3)
    assert found.parts["tau2"] == pytest.approx(445.1, abs=0.3)
    assert found.parts["b"] == pytest.approx(-37.4, abs=0.3)
    assert found.parts["interactions"] == 15


def test_the_searched_model_is_nearer_the_truth_than_both(sample):
    found = measured(sample, "auto", sampling_fraction=0.05)
    assert found.parts["tau1"] == pytest.approx(TAU1, rel=0.05)
    assert found.parts["tau2"] == pytest.approx(TAU2, rel=0.05)
    assert abs(found.parts["b_standard_errors"]) < 0.5


def test_a_weighted_sample_of_households():
    survey = pd.read_csv(REFERENCE / "categorical_survey.csv", dtype=dict.fromkeys(KEYS, str))
    alone = ~survey.duplicated(KEYS, keep=False)
    truth = int((survey["pop_count"][alone] == 1).sum())
    request = {"population_uniques": {"keys": KEYS}}
    (found,) = mw.measure(survey, survey, [request], declared={"weight": {"role": "weight"}}).values()
    assert truth == 195
    assert found.parts["tau1"] == pytest.approx(truth, rel=0.1)
    assert found.parts["tau2"] == pytest.approx(float((1 / survey["pop_count"][alone]).sum()), rel=0.05)


def test_equal_weights_are_a_sampling_fraction(sample):
    weighted = sample.assign(w=20.0)
    request = {"population_uniques": {"keys": KEYS, "model": "main_effects"}}
    (found,) = mw.measure(weighted, weighted, [request], declared={"w": {"role": "weight"}}).values()
    other = measured(sample, "main_effects", sampling_fraction=0.05)
    assert found.parts == pytest.approx(other.parts)
    assert found.per_record == pytest.approx(other.per_record)


def test_models_of_class_sizes(sample, cells):
    sizes = np.bincount(cells["f"])
    assert zayatz(sizes, 60_000) == pytest.approx(0.638371, abs=1e-6)
    theta, alpha, uniques = pitman(sizes, 60_000)
    assert theta == pytest.approx(188.981, rel=1e-3)
    assert alpha == pytest.approx(0.776306, rel=1e-3)
    assert uniques == pytest.approx(16_547, rel=1e-3)
    found = measured(sample, "zayatz", sampling_fraction=0.05)
    assert found.parts["in_population"] == pytest.approx(20_019.33, abs=1e-1)
    assert measured(sample, "pitman", sampling_fraction=0.05).parts["in_population"] == pytest.approx(16_547, rel=1e-3)


def test_zayatz_by_the_hypergeometric_distribution():
    sizes = np.array([0, 5, 2, 0, 1])
    drawn = {j: stats.hypergeom(40, j, 13).pmf(1) for j in (1, 2, 4)}
    expected = 5 * drawn[1] / sum(sizes[j] * drawn[j] for j in drawn)
    assert zayatz(sizes, 40.0) == pytest.approx(expected)
    assert zayatz(sizes, 13.0) == 1.0


@pytest.mark.parametrize("f", [1, 2, 7, 300])
@pytest.mark.parametrize("v", [0.0, 1e-9, 0.4, 6.0, 250.0, 1e5])
def test_the_risk_of_a_cell_is_its_integral(f, v):
    def density(t):
        return math.exp(-v * t + (f - 1) * math.log1p(-t))

    expected, _ = integrate.quad(density, 0, min(1.0, 60 / (v + f)), epsabs=0, epsrel=1e-12, limit=300)
    (found,) = matching_risk(np.array([f]), np.array([v]))
    assert found == pytest.approx(expected, rel=1e-9)


def table(seed=3, levels=(3, 4, 2), fraction=0.2):
    generator = np.random.default_rng(seed)
    whole = generator.poisson(generator.gamma(0.4, 3.0, size=levels))
    codes = np.stack(np.nonzero(whole))
    count = whole[whole > 0]
    return KeyTable(levels, codes, count, count / fraction, np.full(len(count), fraction)), whole


def test_a_fit_has_the_totals_of_its_pairs():
    given, whole = table()
    pairs = [(0, 1), (1, 2), (0, 2)]
    expected = fit(given, pairs)[1].reshape(given.levels)
    for first, second in pairs:
        (other,) = {0, 1, 2} - {first, second}
        assert expected.sum(axis=other) == pytest.approx(5 * whole.sum(axis=other), abs=1e-3)


def test_independent_keys_are_fitted_in_closed_form():
    given, whole = table()
    n = whole.sum()
    margins = [whole.sum(axis=tuple({0, 1, 2} - {key})) / n for key in range(3)]
    expected = 5 * n * np.einsum("i,j,k->ijk", *margins)
    assert fit(given, ())[1].reshape(given.levels) == pytest.approx(expected)


def test_b_by_a_plain_loop_over_all_cells():
    given, whole = table()
    expected = fit(given, [(0, 1)])[1]
    b = variance = 0.0
    pi = 0.2
    for f, people in zip(whole.ravel(), expected, strict=True):
        mu = pi * people
        own = people * math.exp(-people) * (1 - pi)
        b += own * ((f - mu) + (1 - pi) * ((f - mu) ** 2 - f) / (2 * pi))
        counts = np.arange(200)
        chance = stats.poisson(mu).pmf(counts)
        variance += own**2 * chance @ ((counts - mu) + (1 - pi) * ((counts - mu) ** 2 - counts) / (2 * pi)) ** 2
    found, error = underfitting(given, expected, given.places())
    assert found == pytest.approx(b)
    assert error == pytest.approx(math.sqrt(variance))


def columns(**values):
    made = []
    for name, cells in values.items():
        numbers = np.array(cells, dtype=np.float64)
        made.append(Column(Variable(name), numbers, np.isnan(numbers)))
    return Dataset(tuple(made))


def computed(data, weights=None, **params):
    measure = find_measure("population_uniques")
    return measure.compute(Comparison(data, data, (), weights=weights), measure.params(**params), None)


def test_a_file_of_the_whole_population_needs_no_model():
    found = computed(columns(a=[1, 2, 2, 3], b=[1, 1, 1, 1]), keys=["a", "b"])
    assert found.value == 50
    assert found.parts["tau1"] == found.parts["in_population"] == 2
    assert found.per_record.tolist() == [100, 50, 50, 100]


def test_large_tables_get_main_effects_or_are_refused_by_name(monkeypatch):
    generator = np.random.default_rng(1)
    data = columns(**{name: generator.integers(0, 9, 200) for name in "abc"})
    asked = {"keys": ["a", "b", "c"], "sampling_fraction": 0.1}
    whole = computed(data, **asked, model="main_effects")
    monkeypatch.setattr(module, "LARGEST_SEARCHED", 10)
    assert computed(data, **asked).parts["interactions"] == 3
    monkeypatch.setattr(module, "LARGEST_TABLE", 10)
    with pytest.raises(InputError, match=r"all_pairs is fitted on up to 10 cells, and the keys have 729"):
        computed(data, **asked, model="all_pairs")
    found = computed(data, **asked)
    assert "b" not in found.parts
    assert found.parts["tau2"] == pytest.approx(whole.parts["tau2"])
    assert any("main effects only" in note for note in found.notes)


def test_a_missing_cell_is_a_value_of_its_own():
    with_holes = columns(a=[1, np.nan, 2, 2, np.nan, 1], b=[1, 1, 2, np.nan, 1, 1])
    coded = columns(a=[1, 9, 2, 2, 9, 1], b=[1, 1, 2, 9, 1, 1])
    asked = {"keys": ["a", "b"], "sampling_fraction": 0.3}
    assert computed(with_holes, **asked).parts == pytest.approx(computed(coded, **asked).parts)


def test_order_of_records_and_keys_is_irrelevant(sample):
    shuffled = sample.sample(frac=1, random_state=4)
    found, other = (
        measured(frame, "auto", sampling_fraction=0.05, keys=keys)
        for frame, keys in ((sample, KEYS), (shuffled, KEYS[::-1]))
    )
    assert other.parts == pytest.approx(found.parts, rel=1e-4, abs=1e-2)
    assert other.per_record == pytest.approx(found.per_record[shuffled.index], rel=1e-3)


@pytest.mark.parametrize("model", ["auto", "main_effects", "all_pairs", "zayatz", "pitman"])
@pytest.mark.parametrize("kind", ["all alone", "nobody alone", "one record", "one key"])
def test_files_at_the_edge(model, kind):
    cells = {
        "all alone": {"a": list(range(20)), "b": list(range(20))},
        "nobody alone": {"a": [1, 1, 2, 2], "b": [1, 1, 2, 2]},
        "one record": {"a": [1], "b": [1]},
        "one key": {"a": [1, 2, 2, 3]},
    }[kind]
    found = computed(columns(**cells), keys=list(cells), model=model, sampling_fraction=0.25)
    assert 0 <= found.value <= 100
    assert all(math.isfinite(part) for part in found.parts.values())
    assert ((found.per_record >= 0) & (found.per_record <= 100)).all()


def test_weights_below_one_count_as_one():
    data = columns(a=[1, 2, 3, 3], b=[1, 1, 1, 2])
    few, one = (computed(data, np.array([low, 5.0, 5.0, 5.0]), keys=["a", "b"]) for low in (0.2, 1.0))
    assert few.value <= 100
    assert few.parts["tau2"] == pytest.approx(one.parts["tau2"], rel=0.1)
    assert list(few.parts) == list(one.parts)
