"""Record linkage: a brute-force oracle with ties, reference values, scenarios, and files of every awkward kind."""

from __future__ import annotations

from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.spatial import cKDTree

from maskwright import InputError
from maskwright_builtin.measures.record_linkage.distance_record_linkage import (
    DistanceRecordLinkageParams,
    distance_record_linkage,
)

GOLDEN = Path(__file__).parents[3] / "golden"
IPSO = pd.read_csv(GOLDEN / "ipso_reference.csv", comment="#").set_index("scenario")
DIRECTIONS = ("original_to_masked", "masked_to_original")


@pytest.fixture(scope="module")
def linkage(compare, rng):
    def measure(original, masked, decimals=None, origin=None, progress=None, households=None, **params):
        more = {} if progress is None else {"progress": progress}
        comparison = compare(original, masked, decimals, origin=origin, households=households, **more)
        return distance_record_linkage(comparison, DistanceRecordLinkageParams(**params), rng)

    return measure


@pytest.mark.parametrize("scenario", ["S1", "S2"])
def test_reference_values_link_masked_records_to_the_nearest_original(scenario, ipso_a, linkage):
    """The specification's ERD goes from masked to original; the other direction gives another number."""
    original, masked = ipso_a(scenario)
    erd = IPSO.loc[scenario, "erd"]
    assert linkage(original, masked, direction="masked_to_original").value == pytest.approx(erd, abs=1e-6)
    assert abs(linkage(original, masked).value - erd) > 0.1


def standardised(original, masked, standardise):
    """Both files without missing cells, and the factor of each difference."""
    mean = np.array([np.nanmean(c) if np.isfinite(c).any() else 0.0 for c in original.T])
    sd = np.array([np.std(c[~np.isnan(c)], ddof=1) if np.isfinite(c).sum() > 1 else 0.0 for c in original.T])
    weight = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 1e-9)
    if standardise == "original":
        old, new = (np.where(np.isnan(file), mean, file) for file in (original, masked))
    else:
        files = []
        for file in (original, masked):
            own = np.zeros_like(file)
            for j, column in enumerate(file.T):
                present = column[~np.isnan(column)]
                if weight[j] and present.size:
                    scale = np.std(present, ddof=1) if present.size > 1 and np.ptp(present) > 0 else 1.0
                    own[:, j] = np.where(np.isnan(column), 0.0, (column - present.mean()) / scale)
            files.append(own)
        (old, new), weight = files, np.ones(len(weight))
    return old, new, weight


def brute_force(original, masked, origin, direction, standardise, ties, places=1, households=None, pairing="identity"):
    """Credit of each masked record over all variables, by looking at every pair of records."""
    old, new, weight = standardised(original, masked, standardise)

    def squared(query, candidates):
        total = np.zeros(len(candidates))
        for j in range(len(weight)):  # summed in column order: equal distances must be equal to the last bit
            total += ((query[j] - candidates[:, j]) * weight[j]) ** 2
        return total

    if pairing == "nearest":
        origin = np.array([int(np.argmin(squared(row, old))) for row in new])
    household = np.arange(len(old)) if households is None else households
    chances = []
    for i, source in enumerate(origin):
        query, candidates = (new[i], old) if direction == "masked_to_original" else (old[source], new)
        owner = household if direction == "masked_to_original" else household[origin]
        distances = squared(query, candidates)
        own = distances[owner == household[source]].min()
        before, tied = int((distances < own).sum()), np.flatnonzero(distances == own)
        right = owner[tied] == household[source]
        drawn = min(max(places - before, 0), len(tied))
        if ties == "share":
            chances.append(1 - comb(int((~right).sum()), drawn) / comb(len(tied), drawn))
        else:
            chances.append(float(drawn > 0 and right[0]))
    each = np.array(chances)
    if households is None:
        return 100 * each, 100 * each.mean()
    reached = [1 - np.prod(1 - each[households[origin] == one]) for one in set(households[origin])]
    return 100 * each, 100 * float(np.mean(reached))


FILES = st.builds(
    lambda seed, n, p, levels: (np.random.default_rng(seed), n, p, levels),
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(1, 6),
)


@given(
    file=FILES,
    kind=st.sampled_from(["unchanged", "whole numbers", "microaggregated", "noise", "swapped", "unrelated"]),
    missing=st.sampled_from([0.0, 0.1]),
    sampled=st.sampled_from(["no", "without replacement", "with replacement"]),
    direction=st.sampled_from(DIRECTIONS),
    standardise=st.sampled_from(["original", "own"]),
    ties=st.sampled_from([("share", 1), ("share", 2), ("share", 5), ("lowest_index", 1)]),
    households=st.booleans(),
    pairing=st.sampled_from(["identity", "nearest"]),
)
def test_equals_looking_at_every_pair(
    linkage, file, kind, missing, sampled, direction, standardise, ties, households, pairing
):
    generator, n, p, levels = file
    original = generator.integers(0, levels, (n, p)).astype(float)
    origin = np.arange(n)
    if sampled != "no":
        origin = generator.choice(n, size=max(1, n // 2), replace=sampled == "with replacement")
    masked = original[origin]
    if kind == "whole numbers":
        masked = masked + generator.integers(-1, 2, masked.shape)
    elif kind == "microaggregated":
        masked = np.array([original[k // 3 * 3 : k // 3 * 3 + 3].mean(axis=0) for k in origin])
    elif kind == "noise":
        masked = masked + generator.normal(size=masked.shape)
    elif kind == "swapped":
        masked = np.column_stack([generator.permutation(column) for column in masked.T])
    elif kind == "unrelated":
        masked = 100.0 + generator.integers(0, 3, masked.shape)
    for cells in (original, masked):
        cells[generator.random(cells.shape) < missing] = np.nan
    households = generator.integers(0, max(1, n // 3), n) if households else None
    pairing = "identity" if standardise == "own" else pairing  # the oracle pairs by the original's scale only
    choice = {"direction": direction, "standardise": standardise, "ties": ties[0], "nearest": ties[1]}
    found = linkage(
        original,
        masked,
        origin=None if sampled == "no" else origin,
        households=households,
        known=p,
        pairing=pairing,
        **choice,
    )
    each, value = brute_force(original, masked, origin, direction, standardise, ties[0], ties[1], households, pairing)
    np.testing.assert_allclose(found.per_record, each, atol=1e-9)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("noise", [0.05, 0.4, 3.0])
def test_a_tree_of_several_levels_finds_what_scipy_finds(linkage, direction, noise):
    generator = np.random.default_rng(8)
    original = generator.normal(size=(6000, 5))
    masked = original + noise * generator.normal(size=original.shape)
    z, other = (file / original.std(axis=0, ddof=1) for file in (original, masked))
    if direction == "masked_to_original":
        z, other = other, z
    _, nearest = cKDTree(other).query(z)
    found = linkage(original, masked, known=5, direction=direction)
    np.testing.assert_array_equal(found.per_record == 100, nearest == np.arange(6000))


def test_microaggregated_records_share_the_link_with_their_cluster(linkage):
    """Distinct originals nearest to their own centroid: 1 / k each, or one of each cluster by lowest index."""
    generator = np.random.default_rng(2)
    centers = np.repeat(generator.permutation(400).reshape(-1, 1) * 10.0, 5, axis=0)
    original = centers + np.tile(np.arange(-2.0, 3.0), 400).reshape(-1, 1)
    assert linkage(original, centers).value == pytest.approx(20.0)
    assert linkage(original, centers, ties="lowest_index").value == pytest.approx(20.0)
    assert linkage(original, centers, ties="lowest_index").per_record[:5].tolist() == [100, 0, 0, 0, 0]
    # Each centroid is itself an original record: the other four are never nearest to it.
    assert linkage(original, centers, direction="masked_to_original").value == pytest.approx(20.0)


def test_different_rows_exactly_as_near_share_the_credit(linkage):
    original = np.array([[0.0], [5.0], [10.0]])
    masked = np.array([[-1.0], [1.0], [11.0]])
    np.testing.assert_allclose(linkage(original, masked).per_record, [50, 100, 100])


def test_ties_on_the_published_grid_are_ties(linkage):
    """In binary64 ``0.3 - 0.2`` differs from ``0.4 - 0.3``; as tenths they are equal."""
    original = np.array([[0.3], [0.9], [1.5]])
    masked = np.array([[0.2], [0.4], [1.5]])
    assert linkage(original, masked, decimals=1).per_record[0] == 50
    # Values that are not on the declared grid are compared as they are, not rounded into a tie.
    assert linkage(original, masked + 0.04, decimals=1).per_record[0] == 100


def test_the_original_file_links_every_unique_record(linkage, census):
    found = linkage(census, census)
    assert found.parts["known_7"] == 100
    counts = census["AFNLWGT"].value_counts()
    assert found.parts["known_1"] == pytest.approx(100 * len(counts) / len(census))


@pytest.mark.parametrize("rows", [0, 1])
def test_all_records_alike_give_everyone_the_same_small_chance(linkage, rows):
    original = np.random.default_rng(1).normal(size=(500, 2))
    assert linkage(original, np.tile(original[rows], (500, 1))).value == pytest.approx(0.2)


def test_default_scenarios_are_cumulative_over_the_first_seven(linkage):
    original = np.random.default_rng(4).normal(size=(150, 9))
    masked = original + np.random.default_rng(5).normal(size=original.shape)
    found = linkage(original, masked)
    single = [linkage(original, masked, known=size).value for size in range(1, 8)]
    assert list(found.parts) == [f"known_{size}" for size in range(1, 8)]
    assert list(found.parts.values()) == pytest.approx(single)
    assert found.value == pytest.approx(np.mean(single))
    few = linkage(original[:, :3], masked[:, :3])
    assert list(few.parts) == ["known_1", "known_2", "known_3"]


def test_scenarios_can_be_named(linkage):
    original = np.random.default_rng(4).normal(size=(80, 4))
    masked = original + np.random.default_rng(5).normal(size=original.shape)
    subsets = [[f"v{j + 1}" for j in chosen] for size in (1, 2, 3) for chosen in combinations(range(3), size)]
    listed = linkage(original, masked, scenarios=subsets)
    assert list(listed.parts) == ["v1", "v2", "v3", "v1+v2", "v1+v3", "v2+v3", "v1+v2+v3"]
    everything = linkage(original, masked, scenarios="all_subsets", known=["v1", "v2", "v3"])
    assert everything.value == pytest.approx(listed.value)
    assert everything.parts["known_2"] == pytest.approx(
        np.mean([listed.parts[f"v{a}"] for a in ("1+v2", "1+v3", "2+v3")])
    )
    assert linkage(original, masked, known=["v3", "v1"]).parts == pytest.approx(
        {"known_2": linkage(original, masked, scenarios=[["v3", "v1"]]).value}
    )
    assert list(linkage(original, masked, scenarios="cumulative", known=2).parts) == ["known_1", "known_2"]


def test_constant_variables_are_left_out_with_a_note(linkage):
    generator = np.random.default_rng(6)
    original = generator.normal(size=(60, 2))
    masked = original + 0.1 * generator.normal(size=original.shape)
    alone = linkage(original[:, 1:], masked[:, 1:]).value
    original[:, 0] = 0.1
    found = linkage(original, masked, known=2)
    assert found.value == pytest.approx(alone)
    assert any("v1" in note and "constant" in note for note in found.notes)
    assert linkage(original, masked, known=1).value == pytest.approx(100 / 60)


def test_missing_cells_are_counted_and_never_make_the_value_undefined(linkage):
    original = np.random.default_rng(7).normal(size=(50, 3))
    masked = original.copy()
    masked[:4, 0] = np.nan
    original[:, 2] = np.nan
    found = linkage(original, masked)
    assert np.isfinite(found.value)
    assert any("50 in the original file, 4 in the masked file" in note for note in found.notes)
    assert any("v3" in note for note in found.notes)


def test_one_record_is_always_linked(linkage):
    for direction in DIRECTIONS:
        assert linkage([[1.0, 2.0]], [[3.0, 4.0]], direction=direction).value == 100


def test_scale_and_order_of_records_change_nothing(linkage):
    generator = np.random.default_rng(9)
    original = generator.integers(0, 12, (120, 4)).astype(float)
    masked = original + generator.integers(-2, 3, (120, 4))
    expected = linkage(original, masked).parts
    order = generator.permutation(120)
    assert linkage(original[order], masked[order]).parts == pytest.approx(expected)
    factor, offset = np.array([4.0, 1024.0, 0.5, 3.0]), np.array([1e6, -7.0, 0.0, 1.0])
    assert linkage(original * factor + offset, masked * factor + offset).parts == pytest.approx(expected)


def test_progress_rises_to_one_and_inputs_stay_as_they_are(linkage):
    original = np.random.default_rng(10).normal(size=(9000, 2))
    masked = original[::-1].copy()
    before = original.copy(), masked.copy()
    shares = []
    linkage(original, masked, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    np.testing.assert_array_equal(original, before[0])
    np.testing.assert_array_equal(masked, before[1])


def test_distances_that_overflow_do_not_break_the_search(linkage):
    original = np.random.default_rng(11).normal(size=(40, 2)) * 1e-60
    masked = original.copy()
    masked[3] = 1e99
    found = linkage(original, masked, known=2)
    assert found.per_record[3] == 0
    assert found.per_record[4] == 100


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"known": 4}, r"known is 4, but only 3 variables"),
        ({"known": ["v1", "V2"]}, r"no variable called 'V2'; did you mean 'v2'"),
        ({"scenarios": [["nothing like it"]]}, r"there are: v1, v2, v3"),
        ({"scenarios": [["v1"]], "known": 2}, "not both"),
    ],
)
def test_wrong_scenarios_are_refused_by_name(linkage, params, message):
    with pytest.raises(InputError, match=message):
        linkage(np.eye(3), np.eye(3), **params)


def test_too_many_subsets_are_refused(linkage):
    with pytest.raises(InputError, match="all subsets of 14 variables"):
        linkage(np.eye(14), np.eye(14), known=14, scenarios="all_subsets")


@pytest.mark.parametrize(
    "bad",
    [
        {"known": 0},
        {"known": []},
        {"known": ["v1", "v1"]},
        {"scenarios": []},
        {"scenarios": [[]]},
        {"scenarios": [["v1", "v1"]]},
        {"scenarios": [["v1", "v2"], ["v2", "v1"]]},
        {"scenarios": "everything"},
        {"direction": "both"},
        {"standardise": "none"},
        {"ties": "first"},
        {"tie": "share"},
        {"nearest": 0},
        {"nearest": 2, "ties": "lowest_index"},
        {"pairing": "best"},
    ],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValidationError):
        DistanceRecordLinkageParams(**bad)


def test_what_a_variable_adds_is_its_rise_or_its_shapley_value(linkage):
    generator = np.random.default_rng(11)
    original = generator.normal(size=(300, 4))
    masked = original + 0.4 * generator.normal(size=original.shape)
    found = linkage(original, masked, known=4, scenarios="cumulative")
    parts = list(found.parts.values())
    assert list(found.per_variable.values()) == pytest.approx(np.diff([0.0, *parts]))
    found = linkage(original, masked, known=3, scenarios="all_subsets")
    assert sum(found.per_variable.values()) == pytest.approx(found.parts["known_3"])
    risk = {
        subset: linkage(original, masked, known=list(subset)).value
        for size in (1, 2, 3)
        for subset in combinations(("v1", "v2", "v3"), size)
    }
    first = (
        risk["v1",] / 3
        + (risk["v1", "v2"] - risk["v2",]) / 6
        + (risk["v1", "v3"] - risk["v3",]) / 6
        + (risk["v1", "v2", "v3"] - risk["v2", "v3"]) / 3
    )
    assert found.per_variable["v1"] == pytest.approx(first)
    assert linkage(original, masked, known=3).per_variable == {}


def test_the_same_whatever_the_number_of_threads(linkage, monkeypatch):
    generator = np.random.default_rng(12)
    original = generator.integers(0, 40, (9000, 3)).astype(float)
    masked = original + generator.integers(-3, 4, original.shape)
    several = linkage(original, masked, known=3)
    monkeypatch.setattr("maskwright_builtin.numerics.threads.processors", lambda: 1)
    one = linkage(original, masked, known=3)
    np.testing.assert_array_equal(several.per_record, one.per_record)
