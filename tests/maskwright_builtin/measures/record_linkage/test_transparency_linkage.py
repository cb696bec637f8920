"""An intruder who knows the method: brute force over all pairs, and what the methods leave by construction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright import InputError, find_measure

RNG = np.random.default_rng(0)


def measured(name, comparison, **params):
    measure = find_measure(name)
    return measure.compute(comparison, measure.params(**params), RNG)


def same(one, other):
    return one == other or (np.isnan(one) and np.isnan(other))


def swapped_links(original, masked, p):
    """Every pair of records and every pair of ranks: chance that each is linked, and its candidates."""
    n, d = original.shape
    fits = np.ones((n, n), bool)
    for j in range(d):
        values = sorted(v for v in masked[:, j] if not np.isnan(v))
        reach = int(p * len(values) / 100 * (1 + 1e-12))
        for i in range(n):
            x = original[i, j]
            ranks = [r for r, v in enumerate(values) if v == x]
            ranks = ranks or [max(sum(v < x for v in values) - 1, 0), min(sum(v < x for v in values), len(values) - 1)]
            for u in range(n):
                if np.isnan(x) or np.isnan(masked[u, j]):
                    fits[i, u] &= same(x, masked[u, j])
                else:
                    others = [r for r, v in enumerate(values) if v == masked[u, j]]
                    fits[i, u] &= min(abs(r - o) for r in ranks for o in others) <= reach
    deviations = np.nanstd(original, axis=0, ddof=1)
    chance = np.zeros(n)
    for i in range(n):
        near = {}
        for u in np.flatnonzero(fits[i]):
            terms = [((original[i, j] - masked[u, j]) / deviations[j]) for j in range(d) if deviations[j] > 0]
            near[u] = sum(t * t for t in terms if not np.isnan(t))
        nearest = [u for u, distance in near.items() if distance <= min(near.values()) * (1 + 1e-12)]
        chance[i] = (i in nearest) / max(len(nearest), 1)
    return chance, fits


@given(
    seed=st.integers(0, 10**6), n=st.integers(3, 20), d=st.integers(1, 3), p=st.sampled_from([5, 10, 20, 35, 100]),
    missing=st.booleans(),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_rank_swapping_equals_brute_force(seed, n, d, p, missing, compare):
    rng = np.random.default_rng(seed)
    # On a grid with a spread that is a power of two sums of squares tie exactly.
    original = rng.integers(0, 8, (n, d)).astype(float) + rng.random((n, d)) * rng.integers(0, 2)
    masked = original + rng.integers(-1, 2, (n, d))
    if missing:
        original[rng.random((n, d)) < 0.2] = np.nan
        masked[np.isnan(original)] = np.nan
        original[0] = masked[0] = 3.0
        original[1] = masked[1] = 4.0
    found = measured("rank_swapping_record_linkage", compare(original, masked), p=p)
    chance, fits = swapped_links(original, masked, p)
    assert found.parts["own_among_candidates"] == pytest.approx(100 * fits.diagonal().mean())
    assert found.parts["candidates"] == pytest.approx(100 * fits.mean())
    assert found.parts["without_candidates"] == pytest.approx(100 * (~fits.any(axis=1)).mean())
    assert found.parts["single"] == pytest.approx(100 * (fits.diagonal() & (fits.sum(axis=1) == 1)).mean())
    differ = np.abs(found.per_record / 100 - chance) > 1e-9
    # Distances that differ by rounding alone are ties to the one and not to the other.
    assert not differ.any() or (chance[differ] < 1).all()


@pytest.mark.parametrize("p", [2.0, 7.0, 20.0])
def test_after_rank_swapping_everybody_is_among_the_candidates(census, p):
    masked = mw.protect(census, "rank_swapping", params={"p": p}, seed=3)
    names = ["rank_swapping_record_linkage", "distance_record_linkage"]
    known = list(census.columns)
    attack = mw.measure(census, masked, [{names[0]: {"p": p}}, {names[1]: {"known": known}}])
    assert attack[names[0]].parts["own_among_candidates"] == 100.0
    # Who knows p finds more than who does not.
    assert attack[names[0]].value > attack[names[1]].value
    fewer = mw.measure(census, masked, [{names[0]: {"p": p, "known": known[:3]}}])[names[0]]
    assert fewer.value < attack[names[0]].value


def test_another_method_is_noted(compare):
    original = np.arange(40.0).reshape(20, 2)
    found = measured("rank_swapping_record_linkage", compare(original, original[::-1].copy()), p=10)
    assert found.value == 0.0
    assert any("not rank swapping with p = 10" in note for note in found.notes)


def microaggregated_links(original, masked, groups):
    """Every record, every group, every cluster."""
    deviations = original.std(axis=0, ddof=1)
    candidates = np.ones((len(original), len(original)), bool)
    for group in groups:
        rows = np.unique(masked[:, group], axis=0)
        for i, record in enumerate(original[:, group]):
            distance = (((record - rows) / deviations[group]) ** 2).sum(axis=1)
            candidates[i] &= (masked[:, group] == rows[np.argmin(distance)]).all(axis=1)
    return candidates.diagonal() / np.maximum(candidates.sum(axis=1), 1), candidates


@given(seed=st.integers(0, 10**6), n=st.integers(4, 60), k=st.integers(1, 5))
def test_microaggregation_equals_brute_force(seed, n, k, compare):
    rng = np.random.default_rng(seed)
    original, masked = rng.normal(size=(n, 5)), np.empty((n, 5))
    groups = [[0, 3], [1], [2, 4]]
    for group in groups:
        order = np.argsort(original[:, group[0]])
        for cluster in np.array_split(order, max(n // k, 1)):
            masked[np.ix_(cluster, group)] = original[np.ix_(cluster, group)].mean(axis=0)
    chance, candidates = microaggregated_links(original, masked, groups)
    comparison = compare(original, masked)
    named = [[f"v{j + 1}" for j in group] for group in groups]
    found = measured("microaggregation_record_linkage", comparison, groups=named)
    np.testing.assert_allclose(found.per_record / 100, chance)
    assert found.value == pytest.approx(100 * chance.mean())
    assert found.parts["candidates"] == pytest.approx(100 * candidates.mean())


def test_groups_are_seen_in_the_masked_file_and_several_give_more_away(census):
    name = "microaggregation_record_linkage"
    found = {
        size: mw.measure(
            census, mw.protect(census, "microaggregation", params={"k": 5, "group_size": size}, seed=1), [name]
        )[name]
        for size in ("all", 4)
    }
    assert found["all"].value <= 20.0  # one group: one in k at the best
    assert found["all"].parts["single"] == 0.0
    assert found[4].value > 2 * found["all"].value
    assert any(
        note.endswith("shows them: AFNLWGT, AGI, EMCONTRB, FEDTAX, PTOTVAL, STATETAX, TAXINC, POTHVAL and 5 more")
        for note in found["all"].notes
    )
    named = [list(census.columns[first : first + 4]) for first in (0, 4, 8)]
    named[-1].append("ERNVAL")
    masked = mw.protect(census, "microaggregation", params={"k": 5}, groups=named, seed=1)
    shown, declared = (mw.measure(census, masked, [{name: params}])[name] for params in ({}, {"groups": named}))
    assert shown.value == declared.value


def test_missing_cells_and_households(compare):
    original = np.array([[1.0, 2.0], [np.nan, 2.5], [9.0, 8.0], [8.0, np.nan]])
    masked = np.array([[1.0, 2.25], [np.nan, 2.25], [8.5, 8.0], [8.5, np.nan]])
    comparison = compare(original, masked, households=np.array([0, 0, 1, 1]))
    for name in ("microaggregation_record_linkage", "rank_swapping_record_linkage"):
        params = {"groups": [["v1", "v2"]]} if name.startswith("micro") else {}
        found = measured(name, comparison, **params)
        units = 1 - np.prod(1 - found.per_record.reshape(2, 2) / 100, axis=1)
        assert found.value == pytest.approx(100 * units.mean())
        assert found.value > 0


@pytest.mark.parametrize(
    ("name", "params"),
    [("rank_swapping_record_linkage", {"known": ["v9"]}), ("microaggregation_record_linkage", {"groups": [["v9"]]})],
)
def test_a_variable_that_is_not_there_is_refused(compare, name, params):
    with pytest.raises(InputError, match="'v9' is not among"):
        measured(name, compare(np.ones((3, 2)), np.ones((3, 2))), **params)
