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
from maskwright.commands.requests import masking_request
from maskwright.foundation.progress import Quiet
from maskwright.planning.make_plan import make_plan
from maskwright.plugins.registry import find_method
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means

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


@settings(max_examples=30)
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
    assert 0 <= notes["smallest_mean_cluster_size"] <= n / notes["centroids"] + 1e-9
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
    assert loose.notes["smallest_mean_cluster_size"] == pytest.approx(50, rel=0.01)
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
    assert any("lower m1" in warning for warning in merged["warnings"])
    entropy = protect(block, clustering="efcm", lambda1=0.01, k=5, max_iterations=300).notes
    assert any("raise lambda1" in warning for warning in entropy["warnings"])
    usual = protect(block, k=5).notes
    assert usual["distinct_centroids"] == usual["centroids"] == 80
    assert all("distinct" not in warning for warning in usual["warnings"])


def test_single_precision_is_a_choice():
    block = block_of(cloud())
    single, double = protect(block, float32=True).notes, protect(block).notes
    assert single["objective"] == pytest.approx(double["objective"], rel=0.05)


def test_progress_grows_to_one():
    reporter = []
    protect(replace(block_of(cloud()), progress=reporter.append), starts=3)
    assert reporter == sorted(reporter)
    assert reporter[-1] == 1.0


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


def survey_with_holes(n=400, share=0.1):
    data = household_survey(n)
    holes = np.random.default_rng(8).random((n, 3)) < share
    data[["wages", "other", "tax"]] = data[["wages", "other", "tax"]].mask(holes)
    return data


@pytest.mark.parametrize("policy", ["own_pattern", "available_cases"])
@pytest.mark.parametrize("params", [{"k": 5}, {"k": 8, "floor": 4}, {"clustering": "efcm", "k": 5}])
def test_missing_cells_stay_missing_and_edits_hold(policy, params):
    data, edits = survey_with_holes(), EditSet.parse(SURVEY_RULES)
    # Three records of one stratum have cells missing as no fourth one has.
    rare = [{"doubt": "promise-not-kept", "step": 1, "because": "who has no value is not secret"}]
    masked = mw.protect(
        data, "fuzzy_microaggregation", edits=edits, seed=2, params=params | {"missing": policy},
        waive=rare if "floor" in params else [],
    )  # fmt: skip
    pd.testing.assert_frame_equal(masked.isna(), data.isna())
    assert mw.validate(masked, edits).ok
    if "floor" in params:
        assert masked["total"].value_counts().min() >= 4


def test_missing_cells_are_refused_when_asked():
    with pytest.raises(InputError, match="'missing: refuse' is set"):
        mw.protect(survey_with_holes(60), "fuzzy_microaggregation", seed=1, params={"missing": "refuse"})


def test_centroids_are_made_of_the_cells_present():
    """Against plain numpy: memberships of the filled records, averages of those that have a value."""
    values = cloud(60, 2)
    values[::3, 1] = np.nan
    block = holey(values)
    masked = protect(block, c=1)
    np.testing.assert_allclose(masked.representatives, np.nanmean(values, axis=0)[None])
    masked = protect(block, c=4, m1=1.5, max_iterations=500, tolerance=1e-12)
    filled = np.where(np.isnan(values), block.center, values)
    # The filled variable moved after the last update; the other one is as it was in the last memberships.
    found = fuzzy_c_means(
        filled, masked.representatives, m=1.5, scale=block.scale, tolerance=1e-12, max_iterations=500
    ).centroids
    d = (((filled[:, None] - found[None]) / block.scale) ** 2).sum(axis=2)
    weights = (d**-2 / (d**-2).sum(axis=1, keepdims=True)) ** 1.5
    here = ~np.isnan(values[:, 1])
    expected = weights[here].T @ values[here, 1] / weights[here].sum(axis=0)[:]
    np.testing.assert_allclose(masked.representatives[:, 1], expected, rtol=1e-7)


def holey(values):
    missing = np.isnan(values)
    variables = tuple(Variable(f"x{j}") for j in range(1, values.shape[1] + 1))
    return Block(
        values, missing, variables, center=np.nan_to_num(np.nanmean(values, axis=0)),
        scale=np.nan_to_num(np.nanstd(values, axis=0, ddof=1), nan=1.0),
    )  # fmt: skip


def test_a_variable_without_any_cell_takes_no_part():
    values = cloud(40, 3)
    whole = protect(block_of(values[:, :2]), k=4)
    with_empty = np.column_stack([values[:, :2], np.full(40, np.nan)])
    block = block_of(values[:, :2])
    missing = np.isnan(with_empty)
    holed = Block(
        with_empty, missing, (*block.variables, Variable("x3")), center=np.append(block.center, 0.0),
        scale=np.append(block.scale, 1.0),
    )  # fmt: skip
    masked = protect(holed, k=4)
    np.testing.assert_array_equal(masked.values[:, :2], whole.values)
    assert np.isnan(masked.representatives[:, 2]).all()
    empty = replace(holed, values=np.full((40, 3), np.nan), missing=np.ones((40, 3), dtype=bool))
    masked = protect(empty, k=4)
    assert masked.missing.all()
    assert masked.labels.tolist() == [0] * 40


# Strata, and what the plan and the record say.


def planned(rules, data, **params):
    steps = masking_request(data, "fuzzy_microaggregation", params=params).steps
    return make_plan(steps, data.variables, EditSet.parse(rules), data)


def dataset(**columns):
    made = [mw.Column(Variable(name, decimals=0), np.array(each, float), np.isnan(each)) for name, each in
            columns.items()]  # fmt: skip
    return mw.Dataset(tuple(made))


def test_strata_below_the_mean_size_are_merged_and_named():
    rng = np.random.default_rng(0)
    data = dataset(a=[1.0, 2, 3, *rng.integers(10, 99, 60)], b=rng.integers(0, 9, 63).astype(float))
    plan = planned(["if a < 5 then b <= 3"], data, k=5)
    assert plan.groups[0].strata.count == 1
    said = " | ".join(map(str, plan.warnings))
    assert "1 stratum has fewer than 5 records" in said
    assert "(a < 5: 3)" in said
    assert planned(["if a < 5 then b <= 3"], data, k=3).groups[0].strata.count == 2
    assert planned(["if a < 5 then b <= 3"], data, k=3, floor=4).groups[0].strata.count == 1
    assert planned(["if a < 5 then b <= 3"], data, c=3).groups[0].strata.count == 1
    assert planned(["if a < 5 then b <= 3"], data, c=30).groups[0].strata.count == 2


def test_the_plan_speaks_of_representatives():
    rng = np.random.default_rng(0)
    data = dataset(a=rng.integers(0, 9, 40).astype(float), b=rng.integers(0, 9, 40).astype(float))
    plan = planned(["a <= b"], data)
    assert "representatives are moved" in planned(["a * b == 12"], data).keepers[0].how
    assert plan.to_json()["adjustment"][0]["acting_on"] == "representatives"


def test_a_governing_edit_holds_with_centroids_for_each_stratum():
    rng = np.random.default_rng(6)
    hours = rng.integers(0, 40, 300).astype(float)
    wage = np.where(hours == 0, 0.0, np.round(hours * rng.uniform(8, 30, 300)))
    hours[:60], wage[:60] = 0.0, 0.0
    data = pd.DataFrame({"hours": hours, "wage": wage, "age": rng.integers(16, 70, 300)})
    edits = EditSet.parse(["if hours == 0 then wage == 0 else wage >= 1", "hours >= 0"])
    reporter = Told()
    masked = mw.protect(
        data, "fuzzy_microaggregation", edits=edits, seed=1, params={"c": 30, "group_size": "all"}, reporter=reporter
    )
    assert mw.validate(masked, edits).ok
    # Whoever does not work is clustered apart, and centroids are shared by numbers of records.
    np.testing.assert_array_equal(masked["hours"] == 0, data["hours"] == 0)
    idle = len(masked.loc[masked["hours"] == 0].drop_duplicates())
    assert idle <= 1 + round(30 * (hours == 0).mean())
    assert len(masked.drop_duplicates()) <= 31


class Told(Quiet):
    """Keeps the notices."""

    def __init__(self):
        self.said = []

    def notice(self, text):
        self.said.append(text)


def test_small_groups_are_warned_about_and_the_floor_ends_it():
    data = household_survey(300)
    free, floored = Told(), Told()
    mw.protect(data, "fuzzy_microaggregation", seed=1, params={"k": 5}, reporter=free)
    assert any("some have fewer records than k" in said for said in free.said)
    masked = mw.protect(data, "fuzzy_microaggregation", seed=1, params={"k": 5, "floor": 5}, reporter=floored)
    assert not any("fewer records than" in said for said in floored.said)
    assert masked.groupby(["wages", "other", "total"]).size().min() >= 5


def test_a_floor_is_a_promise_that_edits_across_groups_would_break():
    data = household_survey(60)
    edits, groups = EditSet.parse(["wages + other == total"]), [["wages", "tax"], ["other", "total"]]
    with pytest.raises(InputError, match="promises k = 4"):
        mw.protect(data, "fuzzy_microaggregation", edits=edits, seed=1, params={"floor": 4}, groups=groups)
    masked = mw.protect(data, "fuzzy_microaggregation", edits=edits, seed=1, params={"k": 4}, groups=groups)
    assert mw.validate(masked, edits).ok


def test_more_centroids_than_records_of_the_file_are_refused():
    with pytest.raises(InputError, match="c = 61 centroids are more than the 60 records"):
        mw.protect(household_survey(60), "fuzzy_microaggregation", seed=1, params={"c": 61})


def test_the_run_record_shows_the_smallest_group_that_came_out(tmp_path):
    household_survey(200).to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: survey.csv}\nedits: [tax <= total]\n"
        "protect: [{method: fuzzy_microaggregation, params: {k: 5}}]\n"
        "output: {data: masked.csv, report: report.html, record: run.json}\nseed: 1\n"
    )
    record = mw.run(tmp_path / "p.yaml").record
    masked = pd.read_csv(tmp_path / "masked.csv")
    for group in record["k"]["groups"]:
        sizes = masked.groupby(group["variables"]).size()
        assert (group["requested"], group["expected"], group["smallest"]) == (None, 5, sizes.min())
        assert group["below"] == sizes[sizes < 5].sum()
    assert (record["k"]["requested"], record["k"]["expected"]) == (None, 5)
    assert all({"largest_iterations", "not_converged", "smallest_group"} <= set(notes) for notes in record["methods"])
    assert "promises no smallest size" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("offset", "factor"), [(1e8, 1.0), (0.0, 1e12), (1e12, 1.0)])
def test_offsets_and_huge_values_are_masked_with_their_edits(offset, factor):
    rng = np.random.default_rng(2)
    a, b = offset + factor * rng.integers(1, 99, 120), factor * rng.integers(0, 9, 120)
    data = pd.DataFrame({"a": a, "b": b, "total": a + b, "constant": np.full(120, 7.0), "twin": a})
    edits = EditSet.parse(["a + b == total", "a <= total", "constant == 7"])
    masked = mw.protect(data, "fuzzy_microaggregation", edits=edits, seed=1, params={"group_size": "all"})
    assert (masked["a"] + masked["b"] == masked["total"]).all()
    assert (masked["constant"] == 7).all()
    assert not masked["a"].equals(data["a"])


def test_edits_without_a_solution_are_refused_and_named():
    data = household_survey(60)
    with pytest.raises(mw.MaskwrightError, match="no record can satisfy edit-1 and edit-2 together"):
        mw.protect(data, "fuzzy_microaggregation", edits=["wages >= 10", "wages <= 5"], seed=1)


def loss(values, masked):
    moved = (masked - values) / values.std(axis=0, ddof=1)
    return 100 * (moved**2).sum() / (values.shape[1] * (len(values) - 1))


@pytest.mark.parametrize(
    ("name", "columns", "mdav"),
    [("census", None, 9.0884), ("tarragona", None, 22.4619), ("eia", range(5, 15), None)],
)
def test_loses_less_than_mdav_at_equal_mean_size_because_it_promises_less(reference_file, name, columns, mdav):
    """MDAV's loss as the reference tables have it; ours within bounds, because starts are random."""
    values = np.loadtxt(reference_file(f"{name}.csv"), delimiter=",", skiprows=1, usecols=columns)
    block = block_of(values)
    crisp = find_method("microaggregation")
    promised = loss(values, crisp.protect(block, crisp.params(k=5, partition="mdav"), np.random.default_rng(0)).values)
    if mdav is not None:
        assert promised == pytest.approx(mdav, abs=1e-3)
    masked = protect(block, k=5)
    free = loss(values, masked.values)
    assert 0.25 * promised < free < 0.9 * promised
    assert masked.notes["smallest_group"] < 5
    floored = protect(block, k=5, floor=5)
    assert floored.notes["smallest_group"] >= 5
    assert free < loss(values, floored.values) < 3 * promised


CENSUS_RULES = [
    "PTOTVAL == POTHVAL + PEARNVAL", "TAXINC <= AGI", "FEDTAX <= TAXINC", "FICA <= PEARNVAL", "PEARNVAL <= PTOTVAL",
    "POTHVAL <= PTOTVAL", "INTVAL <= PTOTVAL", "INTVAL <= AGI", "EMCONTRB <= AGI", "EMCONTRB <= PTOTVAL",
    "FEDTAX <= AGI", "FICA <= AGI", "STATETAX <= AGI",
]  # fmt: skip


@pytest.mark.parametrize("params", [{"k": 5}, {"k": 10, "m2": 1.3, "floor": 5}, {"k": 5, "clustering": "efcm"}])
def test_census_satisfies_its_exact_edits(reference, params):
    """Source of the rules: specification "Definitions and reference values", section 6.1."""
    data = mw.read(reference / "census.csv")
    edits = EditSet.parse([*CENSUS_RULES, *(f"{name} >= 0" for name in data.names)])
    masked = mw.protect(data, "fuzzy_microaggregation", edits=edits, seed=1, params=params | {"group_size": "all"})
    assert mw.validate(masked, edits).ok
    # The edits hold in every record, so that averages keep them: no adjustment adds to the loss.
    assert mw.measure(data, masked, ["sse"])["sse"].value < 20
