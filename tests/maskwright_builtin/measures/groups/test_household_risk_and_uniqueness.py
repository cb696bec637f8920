"""Household risk and uniqueness: against plain Python, whatever the order, and on the model of the demo."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright import group_classes
from maskwright.commands.demo.levels.model import survey
from maskwright_builtin.measures.groups.household_risk import HOUSEHOLD_RISK, HOUSEHOLD_UNIQUENESS

sys.path.insert(0, str(Path(__file__).parent))
from random_levels import comparison, linked, random_survey, shuffled

KEYS = {"row": ["region"], "members": ["sex", "x0"]}


def same(tables):
    return comparison(linked(*tables), linked(*tables))


def sets(tables):
    """What is known of each household."""
    rows, persons = tables
    return [
        (region, tuple(sorted(map(tuple, persons[persons.hhid == h][["sex", "x0"]].to_numpy().tolist()))))
        for h, region in zip(rows.hhid, rows.region, strict=True)
    ]


@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_uniqueness_is_a_count_of_multisets(seed, k):
    tables, _ = random_survey(seed, households=20, largest=3, values=2)
    count = Counter(sets(tables))
    sizes = np.array([count[each] for each in sets(tables)])
    found = HOUSEHOLD_UNIQUENESS.compute(same(tables), HOUSEHOLD_UNIQUENESS.params(k=k, **KEYS), None)
    assert found.value == pytest.approx(100 * (sizes == 1).mean())
    assert found.parts["below_k"] == pytest.approx(100 * (sizes < k).mean())
    np.testing.assert_array_equal(found.per_record, np.where(sizes == 1, 100.0, 0.0))


@given(seed=st.integers(0, 10**6))
def test_risk_is_that_of_any_member(seed):
    tables, _ = random_survey(seed, households=20, largest=3, values=2)
    rows, persons = tables
    keys = list(zip(rows.region.to_numpy()[persons.hhid], persons.sex, persons.x0, strict=True))
    count = Counter(keys)
    expected = np.array([
        1 - np.prod([1 - 1 / count[key] for key, home in zip(keys, persons.hhid, strict=True) if home == h])
        for h in rows.hhid
    ])  # fmt: skip
    found = HOUSEHOLD_RISK.compute(same(tables), HOUSEHOLD_RISK.params(bound=0.3, **KEYS), None)
    np.testing.assert_allclose(found.per_record, expected, atol=1e-12)
    assert found.value == pytest.approx(100 * expected.mean())
    assert found.parts["share_above_bound"] == pytest.approx(100 * (expected > 0.3 + 1e-9).mean())
    members = persons.hhid.value_counts().sort_index().to_numpy()
    own = np.array([1 / count[key] for key in keys])
    assert found.parts["members_above_bound"] == pytest.approx(100 * (own > 0.3 / members[persons.hhid] + 1e-9).mean())
    assert found.parts["members_bound"] == pytest.approx(0.3 / members.max())
    assert found.parts["expected_members"] == pytest.approx((expected * members).sum())


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_persons_who_keep_to_the_bound_keep_their_household_below_it(seed):
    """The rule of mu-Argus."""
    risk = np.random.default_rng(seed).random(5) * 0.2 / 5
    assert 1 - np.prod(1 - risk) <= 0.2


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("measure", [HOUSEHOLD_RISK, HOUSEHOLD_UNIQUENESS], ids=lambda each: each.name)
def test_the_order_of_members_and_of_households_makes_no_difference(measure, seed):
    tables, _ = random_survey(seed, households=20, largest=4, values=3)
    params = measure.params(**KEYS)
    plain = measure.compute(same(tables), params, None)
    order = np.random.default_rng(seed).permutation(20)
    rows, persons = shuffled(tables, seed % 1000)
    moved = comparison(linked(*tables), linked(rows.iloc[order], persons), origin=order)
    found = measure.compute(moved, params, None)
    np.testing.assert_allclose(found.per_record, plain.per_record[order], atol=1e-12)


def test_classes_tell_sizes_and_empty_households_apart():
    members = np.array([0, 0, 1, 1, 0, 0])
    groups = np.array([0, 0, 1, 2, 3, 3])
    found = group_classes([], members, groups, 6)
    assert len(set(found.tolist())) == 3
    assert found[0] == found[3]
    assert found[1] == found[2]
    assert found[4] == found[5]


def test_weights_of_households_and_of_persons(measured):
    tables, _ = random_survey(2, households=20, largest=3, values=2)
    data = linked(*tables)
    rows = np.full(20, 10.0)
    alone = measured(HOUSEHOLD_UNIQUENESS, comparison(data, data, weights={"household": rows}), **KEYS)
    plain = measured(HOUSEHOLD_UNIQUENESS, comparison(data, data), **KEYS)
    assert alone.value == plain.value
    assert alone.parts["population_uniques"] == pytest.approx(plain.value / 10)
    one = measured(HOUSEHOLD_RISK, comparison(data, data, weights={"household": rows}), **KEYS)
    persons = np.full(len(data["person"]), 10.0)
    other = measured(HOUSEHOLD_RISK, comparison(data, data, weights={"person": persons}), **KEYS)
    np.testing.assert_array_equal(one.per_record, other.per_record)
    assert one.value < measured(HOUSEHOLD_RISK, comparison(data, data), **KEYS).value


def test_the_quasi_identifiers_of_both_levels_are_the_keys(measured):
    (rows, persons), _ = random_survey(2)
    declared = {name: {"role": "quasi_identifier"} for name in ("region", "sex")}
    levels = {
        "household": {"key": "hhid", "variables": ["region", "total"]},
        "person": {"key": "pno", "in": "household"},
    }
    data = mw.linked_data(persons.merge(rows, on="hhid"), levels, declared=declared)
    for measure in (HOUSEHOLD_RISK, HOUSEHOLD_UNIQUENESS):
        named = measured(measure, comparison(data, data), row=["region"], members=["sex"])
        assert measured(measure, comparison(data, data)).value == named.value
    bare = linked(rows, persons)
    with pytest.raises(mw.InputError, match="no key variables; name them as `row` and `members`"):
        measured(HOUSEHOLD_RISK, comparison(bare, bare), row=[], members=[])
    with pytest.raises(mw.InputError, match="members: region is no variable of the level person"):
        measured(HOUSEHOLD_RISK, comparison(bare, bare), members=["region"])


@pytest.mark.parametrize(("years", "published"), [(1, 63), (5, 31), (10, 18), (20, 8)])
def test_uniqueness_in_the_survey_of_the_demo_is_near_what_was_published(years, published, measured):
    """Section 9 of the specification, of a prototype of the same model: shares of unique households, percent."""
    drawn = next(survey(6_000, 20))
    home = np.repeat(np.arange(6_000), np.diff(drawn.starts))
    rows = pd.DataFrame({"hhid": np.arange(6_000), "region": drawn.household["region"]})
    persons = pd.DataFrame({"hhid": home, "pno": drawn.person["pno"], "sex": drawn.person["sex"],
                            "age": drawn.person["age"] // years})  # fmt: skip
    found = measured(HOUSEHOLD_UNIQUENESS, same((rows, persons)), row=["region"], members=["sex", "age"])
    assert found.value == pytest.approx(published, abs=4)
    risk = measured(HOUSEHOLD_RISK, same((rows, persons)), row=["region"], members=["sex", "age"])
    assert risk.value < found.value


def test_missing_codes_that_are_published_are_told_apart(tmp_path):
    """As by `individual_risk` and `k_anonymity`: whoever reads the file tells -8 from -9."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"hh": np.repeat(np.arange(60), 2), "size": "two", "no": np.tile([1, 2], 60)})
    frame["cash"] = rng.choice([100, 110], 120)
    frame.loc[[0, 11], "cash"], frame.loc[[24, 36, 48, 61, 73, 90], "cash"] = -8, -9
    frame.to_csv(tmp_path / "in.csv", index=False)
    codes = {-8: "does not apply", -9: "refused"}
    settings = {
        "maskwright": 1,
        "data": {
            "source": "in.csv",
            "levels": {
                "household": {"key": "hh", "variables": ["size"]},
                "person": {"key": "no", "in": "household"},
            },
            "variables": {
                "size": {"role": "other"},
                "cash": {"type": "integer", "role": "quasi_identifier", "missing": codes},
            },
        },
        "protect": [{"method": "recoding", "params": {"recode": {"cash": [105]}}}],
        "measure": [
            {"household_risk": {"members": ["cash"]}},
            {"household_uniqueness": {"members": ["cash"], "k": 3}},
            {"household_risk": {"members": ["cash"], "count": "subset", "as": "pooled"}},
        ],
        "output": {"data": "out.csv"},
        "seed": 1,
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    found = mw.run(tmp_path / "p.yaml").record["measures"]
    published = pd.read_csv(tmp_path / "out.csv", dtype=str)
    risk = 1 / published.groupby("cash").cash.transform("size")
    homes = published.hh.to_numpy()
    assert found["household_risk"]["parts"]["expected_households"] == pytest.approx(
        (1 - (1 - risk).groupby(homes).prod()).sum()
    )
    sets_of_homes = published.groupby(homes).cash.apply(lambda each: tuple(sorted(each)))
    sizes = sets_of_homes.map(sets_of_homes.value_counts())
    assert found["household_uniqueness"]["parts"]["below_k"] == pytest.approx(100 * (sizes < 3).mean())
    assert found["pooled"]["parts"]["expected_households"] < found["household_risk"]["parts"]["expected_households"]
