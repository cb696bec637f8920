"""Intervals of risks: the published formula, coverage, what they are intervals of, and where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from maskwright_builtin.measures import MEASURES as OFFERED
from maskwright_builtin.measures.uncertainty import MeanOverVariables, interval_of_mean

MEASURES = tuple(each.record() for each in OFFERED)

RISKS = {measure.name: measure for measure in MEASURES if measure.kind == "risk" and not measure.claims.of_levels}
SHARES = [
    "distance_record_linkage",
    "mahalanobis_record_linkage",
    "probabilistic_record_linkage",
    "interval_disclosure",
    "order_statistics_attack",
    "rank_swapping_record_linkage",
    "microaggregation_record_linkage",
]
"""Risks that are means of what records contribute, and need nothing but two files."""
OTHERS = ["edit_knowledge_disclosure", "mixed_record_linkage", "mixed_probabilistic_record_linkage"]
"""Risks with an interval that need edits, or keys."""
Z = 1.959963984540054


def agresti_coull(hits, n):
    """Agresti and Coull (1998), section 4."""
    number = n + Z**2
    p = (hits + Z**2 / 2) / number
    reach = Z * math.sqrt(p * (1 - p) / number)
    return 100 * max(0.0, p - reach), 100 * min(1.0, p + reach)


def files(seed=3, n=90, p=3, noise=0.4):
    generator = np.random.default_rng(seed)
    original = generator.normal(size=(n, p))
    return original, original + noise * generator.normal(size=(n, p))


@given(n=st.integers(1, 400), share=st.floats(0, 1))
def test_hits_and_misses_have_the_interval_of_agresti_and_coull(n, share):
    """It has Wilson's centre and is never shorter."""
    hits = round(share * n)
    found = interval_of_mean(np.repeat([1.0, 0.0], [hits, n - hits]))
    assert found == pytest.approx(agresti_coull(hits, n))
    wilson = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert found[0] <= 100 * wilson.low + 1e-9
    assert found[1] >= 100 * wilson.high - 1e-9


@pytest.mark.parametrize("n", [10, 40, 200])
def test_it_covers_rare_events_and_small_files(n):
    """Exact probability that the interval holds p, over all numbers of hits."""
    bounds = np.array([interval_of_mean(np.repeat([1.0, 0.0], [hits, n - hits])) for hits in range(n + 1)]) / 100
    for p in np.arange(0.005, 1, 0.005):
        covered = (bounds[:, 0] <= p) & (p <= bounds[:, 1])
        assert binom.pmf(np.flatnonzero(covered), n, p).sum() > 0.925


@given(credit=st.lists(st.floats(0, 1), min_size=1, max_size=60))
@settings(max_examples=200)
def test_the_interval_of_shared_credits_holds_their_mean_and_is_no_longer(credit):
    found = interval_of_mean(np.array(credit))
    assert 0.0 <= found[0] <= 100 * np.mean(credit) + 1e-9
    assert 100 * np.mean(credit) - 1e-9 <= found[1] <= 100.0
    plain = agresti_coull(sum(credit), len(credit))
    assert plain[0] - 1e-9 <= found[0] <= found[1] <= plain[1] + 1e-9


@pytest.mark.parametrize("name", ["distance_record_linkage", "interval_disclosure"])
def test_files_of_one_population_have_risks_within_the_interval(name, compare, rng):
    """Many files drawn alike and masked alike: about 95 of 100 intervals hold the mean of all."""
    params = RISKS[name].params(**({"known": 2, "scenarios": "cumulative"} if name.startswith("distance") else {}))
    found = [RISKS[name].compute(compare(*files(seed, n=80, p=2)), params, rng) for seed in range(300)]
    expected = np.mean([one.value for one in found])
    covered = np.mean([one.interval[0] <= expected <= one.interval[1] for one in found])
    assert 0.92 <= covered <= 1.0
    assert np.mean([one.interval[1] - one.interval[0] for one in found]) < 16.0


@pytest.mark.parametrize("name", SHARES)
def test_it_is_of_what_the_records_contribute(name, compare, rng):
    """Complete files without households: the contributions of records are reported, and make the interval."""
    found = RISKS[name].compute(compare(*files()), RISKS[name].params(), rng)
    assert found.interval == pytest.approx(interval_of_mean(found.per_record / 100))
    assert found.interval[0] <= found.value <= found.interval[1]


@pytest.mark.parametrize("name", SHARES)
def test_households_are_the_units_where_they_are_declared(name, compare, rng):
    """One household: one unit, and next to nothing is known. As many as records: as without."""
    original, masked = files()
    plain = RISKS[name].compute(compare(original, masked), RISKS[name].params(), rng)
    alone = RISKS[name].compute(compare(original, masked, households=np.arange(90)), RISKS[name].params(), rng)
    assert alone.interval == pytest.approx(plain.interval)
    one = RISKS[name].compute(compare(original, masked, households=np.zeros(90, int)), RISKS[name].params(), rng)
    assert one.interval == pytest.approx(interval_of_mean(np.array([one.value / 100])))
    thirty = RISKS[name].compute(compare(original, masked, households=np.arange(90) // 3), RISKS[name].params(), rng)
    assert thirty.interval[0] <= thirty.value <= thirty.interval[1]
    assert thirty.interval[1] - thirty.interval[0] < one.interval[1] - one.interval[0]


@given(seed=st.integers(0, 10**6), households=st.booleans())
@settings(max_examples=40)
def test_a_mean_over_variables_with_missing_cells(seed, households):
    """Its contributions have the mean of the means, however few records have a variable."""
    generator = np.random.default_rng(seed)
    homes = generator.integers(0, 5, 12) if households else None
    contributions, means = MeanOverVariables(12, homes), []
    for _ in range(3):
        there = generator.random(12) < 0.6
        there[generator.integers(12)] = True
        units = there.sum() if homes is None else len(np.unique(homes[there]))
        share = generator.random(units)
        contributions.add(share, there)
        means.append(share.mean())
    low, high = contributions.interval()
    assert low <= 100 * np.mean(means) + 1e-9
    assert high >= 100 * np.mean(means) - 1e-9


@pytest.mark.parametrize("direction", ["original_to_masked", "masked_to_original"])
@pytest.mark.parametrize("name", ["distance_record_linkage", "mahalanobis_record_linkage"])
def test_a_household_is_linked_with_any_or_all_of_its_records(name, direction, compare, rng):
    """Without ties a record is linked or not, so that a household can be looked at."""
    original, masked = files(n=60)
    homes = np.random.default_rng(7).integers(0, 20, 60)
    params = {"known": 3, "direction": direction}
    each = RISKS[name].compute(compare(original, masked, households=homes), RISKS[name].params(**params), rng)
    linked = each.per_record == 100
    assert set(each.per_record) == {0.0, 100.0}
    expected = {"any": [linked[homes == one].any() for one in np.unique(homes)]}
    expected["all"] = [linked[homes == one].all() for one in np.unique(homes)]
    for household, hits in expected.items():
        found = RISKS[name].compute(
            compare(original, masked, households=homes), RISKS[name].params(**params, household=household), rng
        )
        assert found.value == pytest.approx(100 * np.mean(hits))
        assert found.interval == pytest.approx(agresti_coull(np.sum(hits), len(hits)))
        assert found.per_record == pytest.approx(each.per_record)
    assert 0 < np.mean(expected["all"]) < np.mean(expected["any"])


def test_probabilistic_links_of_all_records_of_a_household(compare, rng):
    original, masked = files(n=60)
    homes = np.random.default_rng(7).integers(0, 20, 60)
    measure = RISKS["probabilistic_record_linkage"]
    for household, combine in (("any", lambda chance: 1 - np.prod(1 - chance)), ("all", np.prod)):
        found = measure.compute(compare(original, masked, households=homes), measure.params(household=household), rng)
        chance = found.per_record / 100
        expected = [combine(chance[homes == one]) for one in np.unique(homes)]
        assert found.value == pytest.approx(100 * np.mean(expected))
        assert found.interval == pytest.approx(interval_of_mean(np.array(expected)))


@pytest.mark.parametrize("direction", ["original_to_masked", "masked_to_original"])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("distance_record_linkage", {"nearest": 2}),
        ("distance_record_linkage", {"ties": "lowest_index"}),
        ("mahalanobis_record_linkage", {}),
        ("probabilistic_record_linkage", {}),
        ("probabilistic_record_linkage", {"agree": "within", "tau": 0.5}),
    ],
)
def test_large_households_are_searched_with_the_same_result(name, params, direction, compare, rng, monkeypatch):
    """A household of many records is searched like a file; whole numbers tie, and some records are missing."""
    generator = np.random.default_rng(12)
    original = generator.integers(0, 6, (150, 3)).astype(float)
    masked = original + generator.integers(-1, 2, (150, 3))
    masked[generator.random((150, 3)) < 0.05] = np.nan
    origin = np.sort(generator.choice(150, 110, replace=False))
    homes = np.minimum(generator.integers(0, 40, 150), 20)  # the last has half of the records
    comparison = compare(original, masked[origin], origin=origin, households=homes)
    chosen = RISKS[name].params(**params, direction=direction)
    expected = RISKS[name].compute(comparison, chosen, rng)
    for largest in (0, 3, 10):
        monkeypatch.setattr("maskwright_builtin.measures.record_linkage.linkage.LARGEST_VISITED", largest)
        found = RISKS[name].compute(comparison, chosen, rng)
        assert found.per_record == pytest.approx(expected.per_record)
        assert found.parts == pytest.approx(expected.parts)


@pytest.mark.parametrize("name", sorted(set(RISKS) - set(SHARES) - set(OTHERS)))
def test_counts_of_the_released_file_have_none_and_say_so(name, compare, rng):
    asked = {"keys": ["v1"], "sensitive": ["v2"]} | ({"tables": [["v1"]]} if name == "dominance" else {})
    params = {key: value for key, value in asked.items() if key in RISKS[name].params.model_fields}
    found = RISKS[name].compute(compare(*files()), RISKS[name].params(**params), rng)
    assert found.interval is None
    assert "There is no interval" in RISKS[name].compute.__doc__


@pytest.mark.parametrize("name", [*SHARES, *OTHERS])
def test_what_the_interval_is_of_is_documented(name):
    said = " ".join(RISKS[name].compute.__doc__.split())
    assert "Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)``" in said or "interval, weights" in said
