"""Targeted swapping: what is kept exactly, who is swapped and at which level, refusals."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright import InputError, Variable
from maskwright.plugins.registry import find_method

PLACES = (Variable("region"), Variable("town"))


def world(seed, homes=300, persons=True):
    """Towns inside regions, with a household of each record and two variables."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, homes) if persons else np.ones(homes, dtype=int)
    household = np.repeat(rng.permutation(homes), sizes)
    town = rng.integers(0, 12, homes)[household]
    n = len(household)
    return {
        "household": household, "region": town // 4, "town": town,
        "sex": rng.integers(0, 2, n), "age": rng.integers(0, 5, n), "trade": rng.integers(0, 30, n),
    }  # fmt: skip


def swapped(protect, make_block, data, seed=0, **params):
    names = ("sex", "age", "trade")
    companions = {name: data[name].astype(float) for name in names}
    places = np.stack([data["region"], data["town"]], axis=1)
    households = data["household"] if len(set(data["household"])) < len(data["household"]) else None
    block = make_block(places, variables=PLACES, companions=companions, households=households)
    default = {"geography": ["region", "town"], "risk_variables": ["sex", "age", "trade"], "profiles": [["sex"]]}
    masked = protect("targeted_swapping", block, seed, **(default | params))
    return masked, masked.values.astype(int)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), k=st.integers(0, 6), rate=st.floats(0, 0.6), persons=st.booleans(),
    profiles=st.sampled_from([[[]], [["sex"]], [["sex", "age"], ["sex"]], [["trade", "sex"], ["age", "sex"], ["sex"]]]),
)  # fmt: skip
def test_counts_by_area_and_profile_stay_and_households_stay_together(
    protect, make_block, seed, k, rate, persons, profiles
):
    data = world(seed, 120, persons)
    _, after = swapped(protect, make_block, data, seed, k=k, swap_rate=rate, profiles=profiles)
    before = np.stack([data["region"], data["town"]], axis=1)
    shared = set.intersection(*map(set, profiles))
    size = np.bincount(data["household"])[data["household"]]
    own = np.stack([size, *(data[name] for name in sorted(shared))], axis=1)

    def counted(places):
        return Counter(map(tuple, np.hstack([places, own]).tolist()))

    assert counted(before) == counted(after)
    homes = pd.DataFrame({"home": data["household"], "region": after[:, 0], "town": after[:, 1]})
    assert (homes.groupby("home").nunique() == 1).all().all()
    # Nobody is swapped twice: places change in pairs.
    moved = (before != after).any(axis=1)
    if not persons:
        pairs = Counter(tuple(sorted(map(tuple, pair))) for pair in zip(before[moved].tolist(), after[moved].tolist(),
                                                                       strict=True))  # fmt: skip
        assert all(count % 2 == 0 for count in pairs.values())


def test_who_is_rare_in_an_area_leaves_it(protect, make_block):
    """Of forty equal records in each of two regions one of a trade of its own: it must leave its region."""
    data = {
        "household": np.arange(80), "region": np.repeat([0, 1], 40), "town": np.repeat([0, 1, 2, 3], 20),
        "sex": np.zeros(80, int), "age": np.zeros(80, int), "trade": np.zeros(80, int),
    }  # fmt: skip
    data["trade"][7] = 5
    masked, after = swapped(protect, make_block, data, k=3, swap_rate=0.0)
    assert after[7].tolist()[0] == 1
    assert masked.notes["households_at_risk"] == 1
    assert masked.notes["households_swapped"] == 2
    assert masked.doubts == ()


def test_who_is_rare_in_a_town_only_stays_in_the_region_if_need_be(protect, make_block):
    """Three of a trade in region 0, of which one is alone in its town: it leaves the town, not the region first."""
    data = {
        "household": np.arange(80), "region": np.repeat([0, 1], 40), "town": np.repeat([0, 1, 2, 3], 20),
        "sex": np.repeat([0, 1], 40), "age": np.zeros(80, int), "trade": np.zeros(80, int),
    }  # fmt: skip
    data["trade"][[0, 1, 2, 25]] = 5
    masked, after = swapped(protect, make_block, data, k=3, swap_rate=0.0, risk_variables=["trade"])
    # Nobody in region 1 has this sex, so the partner is in the region.
    assert after[25].tolist() == [0, 0]
    assert masked.notes["households_at_risk"] == 1


def test_who_finds_nobody_is_a_doubt(protect, make_block):
    data = world(3, 60, persons=False)
    data["sex"][:] = 0
    data["sex"][5] = 1
    masked, after = swapped(protect, make_block, data, k=2, swap_rate=0.0, risk_variables=["sex"])
    assert masked.notes["households_at_risk_left"] == 1
    assert "are not swapped" in masked.doubts[0]
    assert after[5].tolist() == [data["region"][5], data["town"][5]]


def test_nothing_asked_is_nothing_done(protect, make_block):
    data = world(1)
    masked, after = swapped(protect, make_block, data, k=0, swap_rate=0.0)
    assert (after == np.stack([data["region"], data["town"]], axis=1)).all()
    assert masked.notes["households_swapped"] == 0
    assert masked.doubts == ()


def test_areas_share_the_rate_and_the_risky_are_swapped_more_often(protect, make_block):
    shares, chosen = [], np.zeros(2)
    for seed in range(30):
        data = world(seed, 600, persons=False)
        masked, after = swapped(protect, make_block, data, seed, k=0, swap_rate=0.2, risk_variables=["trade"],
                                profiles=[[]])  # fmt: skip
        moved = after[:, 1] != data["town"]
        assert masked.notes["households_swapped"] == masked.notes["households_asked"] == 120
        shares.append(np.bincount(data["town"][moved], minlength=12) / np.bincount(data["town"], minlength=12))
        pair = data["town"] * 30 + data["trade"]
        rare = np.bincount(pair)[pair] == 1
        chosen += [moved[rare].mean(), moved[~rare].mean()]
    assert np.abs(np.mean(shares, axis=0) - 0.2).max() < 0.05
    assert chosen[0] > 1.3 * chosen[1]


def test_the_nearest_to_a_simple_search(protect, make_block):
    """Every household at risk that stays has no free partner left: checked without the product's buckets."""
    for seed in range(8):
        data = world(seed, 80, persons=False)
        masked, after = swapped(protect, make_block, data, seed, k=4, swap_rate=0.0, profiles=[["sex", "age"]])
        before = np.stack([data["region"], data["town"]], axis=1)
        key = data["sex"] * 100 + data["age"] * 1000 + data["trade"]
        town = before[:, 1]
        count = np.array([np.sum((key == one) & (town == place)) for one, place in zip(key, town, strict=True)])
        free = (before == after).all(axis=1)
        left = np.flatnonzero((count < 4) & free)
        assert masked.notes["households_at_risk_left"] == len(left)
        alike = data["sex"] * 10 + data["age"]
        for one in left:
            assert not np.any(free & (alike == alike[one]) & (town != town[one]))


def frame():
    rng = np.random.default_rng(8)
    town = rng.integers(0, 6, 400)
    region = np.array(["north", "south"])[town // 3]
    return pd.DataFrame(
        {
            "region": region, "town": [f"t{each}" for each in town], "port": np.isin(town, [0, 4]).astype(int),
            "coast": np.where(np.isin(town, [0, 4, 5]), "yes", "no"), "sex": rng.choice(["f", "m"], 400),
            "trade": rng.integers(0, 9, 400), "fisher": np.where(rng.random(400) < 0.2, "yes", "no"),
        }
    )  # fmt: skip


DECLARED = {name: {"role": "other"} for name in ("coast", "sex", "trade", "fisher")} | {"trade": {"type": "nominal"}}
DECLARED = {name: {"role": "other", **facts} for name, facts in DECLARED.items()}
RULES = ["(region, town) in original", "(town, coast) in original", "if port == 1 then coast == 'yes'"]


def protected_frame(rules=RULES, seed=2, **params):
    given = {
        "geography": ["region", "town"], "carry_along": ["port"], "risk_variables": ["sex", "trade"],
        "profiles": [["sex"]], "k": 2, "swap_rate": 0.2,
    }  # fmt: skip
    return mw.protect(frame(), "targeted_swapping", edits=rules, seed=seed, declared=DECLARED, params=given | params)


def test_edits_hold_by_construction_and_the_plan_says_so():
    plan = mw.plan(
        frame(), "targeted_swapping", edits=RULES, declared=DECLARED,
        params={"geography": ["region", "town"], "carry_along": ["port"], "risk_variables": ["sex", "trade"]},
    )  # fmt: skip
    assert {each.kept_by for each in plan.keepers} == {"construction"}
    masked = protected_frame()
    assert mw.validate(masked, RULES, original=frame()).ok
    assert (masked["town"] != frame()["town"]).any()
    # What an edit ties to the place is equal in every pair.
    assert Counter(zip(masked["town"], masked["coast"], strict=True)) == Counter(
        zip(frame()["town"], frame()["coast"], strict=True)
    )


def test_the_same_bytes_for_any_number_of_threads():
    one, four = (
        mw.protect(
            frame(), "targeted_swapping", seed=4, declared=DECLARED, workers=workers,
            params={"geography": ["region", "town"], "carry_along": ["port"], "risk_variables": ["sex"], "k": 9},
        )
        for workers in (1, 4)
    )  # fmt: skip
    pd.testing.assert_frame_equal(one, four)


def test_households_in_two_areas_are_refused(protect, make_block):
    data = world(2)
    data["town"] = data["town"].copy()
    data["town"][np.flatnonzero(data["household"] == 0)[0]] = 99
    data["household"][np.flatnonzero(data["household"] == 1)] = 0
    with pytest.raises(InputError, match=r"(town|region) differs among the members of 1 household"):
        swapped(protect, make_block, data)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"risk_variables": ["sex"]}, "geography"),
        ({"geography": ["town"]}, "risk_variables"),
        ({"geography": ["town"], "risk_variables": ["sex"], "swap_rate": 1.5}, "less than or equal to 1"),
        ({"geography": ["town"], "risk_variables": ["sex"], "k": -1}, "greater than or equal to 0"),
        ({"geography": ["town"], "risk_variables": ["sex"], "profiles": []}, "at least 1"),
    ],
)
def test_wrong_parameters_are_refused(params, said):
    with pytest.raises(ValidationError, match=said):
        find_method("targeted_swapping").params(**params)


def test_unknown_variables_are_named_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'trade'"):
        protected_frame(risk_variables=["trad"])
    with pytest.raises(InputError, match="both masked and"):
        protected_frame(profiles=[["town"]])
