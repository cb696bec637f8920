"""Fuzzy microaggregation: centroids that were drawn, their notes, the floor, edits, parameters, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright import Block, EditSet, InputError, Variable
from maskwright.plugins.registry import find_method

METHOD = find_method("fuzzy_microaggregation")


def block_of(values, rules=()):
    values = np.array(values, dtype=float)
    missing = np.zeros(values.shape, dtype=bool)
    scale = values.std(axis=0, ddof=1) if len(values) > 1 else np.ones(values.shape[1])
    for array in (values, missing):
        array.setflags(write=False)
    variables = tuple(Variable(f"x{j}") for j in range(1, values.shape[1] + 1))
    scale = np.where(scale > 1e-9, scale, 1.0)
    return Block(values, missing, variables, EditSet.parse(rules), center=values.mean(axis=0), scale=scale)


def protect(block, seed=0, **params):
    return METHOD.protect(block, METHOD.params(**params), np.random.default_rng(seed))


def cloud(n=200, p=4, seed=0):
    return np.random.default_rng(seed).normal(10, 2, (n, p))


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 60), p=st.integers(1, 4), k=st.integers(2, 9), seed=st.integers(0, 50),
    fuzziness=st.sampled_from([{}, {"m1": 1.3, "m2": 2.0}, {"clustering": "efcm"}, {"m2": 1.01, "starts": 2}]),
    floor=st.none() | st.integers(2, 5),
)  # fmt: skip
def test_records_are_the_centroid_they_drew(n, p, k, seed, fuzziness, floor):
    values = np.random.default_rng(seed).integers(0, 9, (n, p))
    block = block_of(values)
    if floor is not None and floor > n:
        with pytest.raises(InputError, match=f"floor = {floor}"):
            protect(block, seed, k=k, floor=floor, **fuzziness)
        return
    masked = protect(block, seed, k=k, floor=floor, **fuzziness)
    sizes = np.bincount(masked.labels)
    assert sizes.min() >= (floor or 1)
    np.testing.assert_array_equal(masked.values, masked.representatives[masked.labels])
    assert len(masked.representatives) == len(sizes) <= max(1, n // k)
    assert np.all(masked.values >= values.min(axis=0) - 1e-9)
    assert np.all(masked.values <= values.max(axis=0) + 1e-9)
    notes = masked.notes
    assert notes["centroids"] == max(1, n // k)
    assert (notes["groups"], notes["smallest_group"], notes["largest_group"]) == (len(sizes), sizes.min(), sizes.max())
    assert notes["records_in_groups_below_k"] == sizes[sizes < (floor or k)].sum()
    assert 0 <= notes["smallest_expected_group"] <= n / notes["centroids"] + 1e-9
    assert notes["centroids_off_the_edits"] == 0
    assert (notes["moved_to_reach_floor"] == 0) or floor is not None


def test_c_is_the_number_of_centroids_and_k_the_mean_size():
    block = block_of(cloud())
    assert protect(block, c=7).notes["centroids"] == 7
    assert protect(block, k=3).notes["centroids"] == 66
    assert protect(block).notes["centroids"] == 40
    assert protect(block, c=1).representatives == pytest.approx(block.values.mean(axis=0)[None])
    with pytest.raises(InputError, match="c = 201 centroids are more than the 200 records"):
        protect(block, c=201)


def test_as_many_centroids_as_records_and_no_fuzziness_lose_nothing():
    values = cloud(30)
    np.testing.assert_allclose(protect(block_of(values), c=30, m1=1.01).values, values, atol=1e-9)


def test_the_draw_takes_any_centroid_for_large_m2_and_the_nearest_near_one():
    block = block_of(cloud(1000))
    loose, tight = protect(block, c=20, m2=1000.0), protect(block, c=20, m2=1.001)
    assert loose.notes["smallest_expected_group"] == pytest.approx(50, rel=0.01)
    # Multinomial sizes of mean 50 and deviation 7: not k-anonymous, and the notes say so.
    assert 20 < loose.notes["smallest_group"] < 50
    assert loose.notes["records_in_groups_below_k"] > 0
    moved = [((masked.values - block.values) ** 2).sum(axis=1) for masked in (tight, loose)]
    gaps = ((block.values[:, None] - tight.representatives[None]) / block.scale) ** 2
    np.testing.assert_array_equal(tight.labels, gaps.sum(axis=2).argmin(axis=1))
    assert moved[0].mean() < 0.5 * moved[1].mean()


def test_the_floor_moves_only_what_it_must():
    block = block_of(cloud(300))
    free, floored = protect(block, k=4), protect(block, k=4, floor=4)
    assert free.notes["smallest_group"] < 4 <= floored.notes["smallest_group"]
    assert floored.notes["moved_to_reach_floor"] > 0
    stayed = (floored.values == free.values).all(axis=1)
    assert stayed.sum() == 300 - floored.notes["moved_to_reach_floor"]
    assert floored.notes["records_in_groups_below_k"] == 0


def test_the_result_depends_on_the_seed_alone():
    block = block_of(cloud())
    np.testing.assert_array_equal(protect(block, 1, starts=2).values, protect(block, 1, starts=2).values)
    assert not np.array_equal(protect(block, 1).values, protect(block, 2).values)


def test_more_starts_never_have_a_higher_objective():
    block = block_of(cloud())
    # The first start of each is the same.
    costs = np.array(
        [[protect(block, seed, starts=starts, c=12).notes["objective"] for starts in (1, 2, 4)] for seed in range(4)]
    )
    assert np.all(np.diff(costs, axis=1) <= 0)
    assert np.any(np.diff(costs, axis=1) < 0)


def test_convergence_is_reported():
    block = block_of(cloud())
    stopped = protect(block, max_iterations=2).notes
    assert (stopped["largest_iterations"], stopped["not_converged"]) == (2, 1)
    done = protect(block, c=3, max_iterations=1000).notes
    assert done["not_converged"] == 0
    assert done["largest_iterations"] < 1000


def test_centroids_that_merge_are_warned_about():
    block = block_of(cloud(400, 8))
    merged = protect(block, m1=3.0, k=5, max_iterations=300).notes
    assert merged["distinct_centroids"] < 40
    assert "lower m1" in merged["warning"]
    entropy = protect(block, clustering="efcm", lambda1=0.01, k=5, max_iterations=300).notes
    assert "raise lambda1" in entropy["warning"]
    usual = protect(block, k=5).notes
    assert usual["distinct_centroids"] == usual["centroids"] == 80
    assert "warning" not in usual


def test_single_precision_is_a_choice():
    block = block_of(cloud())
    single, double = protect(block, float32=True).notes, protect(block).notes
    assert single["objective"] == pytest.approx(double["objective"], rel=0.05)


def test_progress_grows_to_one():
    told = []
    protect(replace(block_of(cloud()), progress=told.append), starts=3)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("clustering", ["fcm", "efcm"])
def test_representatives_satisfy_edits_that_the_records_violate(clustering):
    rng = np.random.default_rng(2)
    parts = rng.uniform(0, 100, (150, 2))
    noise = rng.normal(0, 3, 150)
    values = np.column_stack([parts, parts.sum(axis=1) + noise, rng.uniform(0, 10, 150)])
    rules = ["x1 + x2 == x3", "x4 in [2, 8]", "x4 <= x1"]
    masked = protect(block_of(values, rules), clustering=clustering, k=5).representatives.T
    np.testing.assert_allclose(masked[0] + masked[1], masked[2], rtol=1e-8)
    assert np.all((masked[3] >= 2 - 1e-9) & (masked[3] <= 8 + 1e-9))
    assert np.all(masked[3] <= masked[0] + 1e-7)


@pytest.mark.parametrize(
    "values",
    [
        np.ones((12, 2)),
        np.repeat(cloud(4), 5, axis=0),
        np.column_stack([np.full(40, 7.0), cloud(40, 1)]),
        cloud(50) + 1e8,
        cloud(50) * 1e12,
        cloud(1),
    ],
    ids=["all equal", "duplicates", "constant column", "offset", "large", "one record"],
)
@pytest.mark.parametrize("clustering", ["fcm", "efcm"])
def test_degenerate_records_are_masked(values, clustering):
    masked = protect(block_of(values), clustering=clustering, k=3)
    span = np.abs(values).max()
    assert np.all(np.isfinite(masked.values))
    assert np.all(masked.values >= values.min(axis=0) - 1e-12 * span)
    assert np.all(masked.values <= values.max(axis=0) + 1e-12 * span)


@pytest.mark.parametrize("wrong", [np.inf, 1e200])
def test_values_without_distances_are_refused(wrong):
    values = cloud(20)
    values[3, 1] = wrong
    with pytest.raises(InputError, match="no distances") as caught:
        protect(replace(block_of(cloud(20)), values=values))
    assert "inf" not in str(caught.value)


@pytest.mark.parametrize(
    "params",
    [
        {"m1": 1.0}, {"m1": 0.5}, {"m1": np.inf}, {"m2": 1.0}, {"m1": np.nan},
        {"clustering": "efcm", "lambda1": 0.0}, {"clustering": "efcm", "lambda2": -1.0}, {"clustering": "kmeans"},
        {"k": 3, "c": 5}, {"k": 1}, {"c": 0}, {"k": "3"}, {"c": 2.5}, {"floor": 1}, {"starts": 0}, {"tolerance": -1.0},
        {"max_iterations": 0}, {"m": 2.0}, {"lambda1": 2.0}, {"clustering": "efcm", "m2": 1.2},
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ValidationError):
        METHOD.params(**params)


def test_every_parameter_is_described():
    assert all(field.description for field in METHOD.params.model_fields.values())


# The whole run.


def household_survey(n=400, seed=5):
    """Incomes that add up for most records, in whole cents; a few records break each rule."""
    rng = np.random.default_rng(seed)
    wages, other = np.round(rng.gamma(2, 900, n), 2), np.round(rng.gamma(1, 200, n), 2)
    total = np.round(wages + other, 2)
    total[rng.random(n) < 0.05] += 10
    tax = np.round(total * rng.uniform(0, 0.4, n), 2)
    hours = rng.integers(0, 60, n).astype(float)
    return pd.DataFrame({"wages": wages, "other": other, "total": total, "tax": tax, "hours": hours})


SURVEY_RULES = [
    "wages + other == total", "tax <= total", "wages >= 0", "other >= 0", "tax >= 0", "hours in [0, 60]",
    "if hours < 5 then tax <= wages",
]  # fmt: skip


@pytest.mark.parametrize(
    "params",
    [
        {"k": 5}, {"k": 8, "m1": 1.3, "m2": 1.5, "floor": 4}, {"clustering": "efcm", "k": 4, "starts": 2},
        {"c": 10, "float32": True}, {"k": 5, "group_size": "all"},
    ],
)  # fmt: skip
def test_every_edit_holds_in_the_masked_file(params):
    data, edits = household_survey(), EditSet.parse(SURVEY_RULES)
    assert not mw.validate(data, edits).ok
    masked = mw.protect(data, "fuzzy_microaggregation", edits=edits, seed=3, params=params)
    found = mw.validate(masked, edits, original=data)
    assert found.ok
    assert not len(found.violations)
    assert len(masked) == len(data)


def test_missing_cells_are_refused_with_their_variable():
    data = household_survey(50)
    data.loc[3, "other"] = np.nan
    with pytest.raises(InputError, match="takes no missing cells; there are some in"):
        mw.protect(data, "fuzzy_microaggregation", seed=1)


@pytest.mark.parametrize(("name", "k", "mdav"), [("census", 5, 9.0884), ("tarragona", 5, 22.4619)])
def test_loses_less_than_mdav_at_equal_mean_size_because_it_promises_less(shared, name, k, mdav):
    values = np.loadtxt(shared / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    masked = protect(block_of(values), k=k)
    moved = (masked.values - values) / values.std(axis=0, ddof=1)
    assert 0 < 100 * (moved**2).sum() / (values.shape[1] * (len(values) - 1)) < mdav
    assert masked.notes["smallest_group"] < k


CENSUS_RULES = [
    "PTOTVAL == POTHVAL + PEARNVAL", "TAXINC <= AGI", "FEDTAX <= TAXINC", "FICA <= PEARNVAL", "PEARNVAL <= PTOTVAL",
    "POTHVAL <= PTOTVAL", "INTVAL <= PTOTVAL", "INTVAL <= AGI", "EMCONTRB <= AGI", "EMCONTRB <= PTOTVAL",
    "FEDTAX <= AGI", "FICA <= AGI", "STATETAX <= AGI",
]  # fmt: skip


@pytest.mark.parametrize("params", [{"k": 5}, {"k": 10, "m2": 1.3, "floor": 5}, {"k": 5, "clustering": "efcm"}])
def test_census_satisfies_its_exact_edits(shared, params):
    """Source of the rules: specification "Definitions and reference values", section 6.1."""
    data = mw.read(shared / "data" / "census.csv")
    edits = EditSet.parse([*CENSUS_RULES, *(f"{name} >= 0" for name in data.names)])
    masked = mw.protect(data, "fuzzy_microaggregation", edits=edits, seed=1, params=params | {"group_size": "all"})
    assert mw.validate(masked, edits).ok
    # The edits hold in every record, so that averages keep them: no adjustment adds to the loss.
    assert mw.measure(data, masked, ["sse"])["sse"].value < 20
