"""A step over keys of several levels: k is kept, and counted, on all of them together; pandas recounts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["region", "tenure", "age", "sex"]


class Survey:
    """Households with their persons, below districts where there are three levels."""

    def __init__(self, folder: Path, seed: int, *, districts: bool = False, codes: bool = False) -> None:
        self.folder, self.seed = folder, seed
        rng = np.random.default_rng(seed)
        count = int(rng.integers(120, 260))
        place = np.sort(rng.integers(1, 30, count)) if districts else np.arange(count)
        regions = rng.choice(["N", "S", "W"], count, p=[0.5, 0.4, 0.1])
        self.tables = {
            "household": pd.DataFrame(
                {
                    "hid": np.arange(count) + 1,
                    "tenure": rng.choice(["own", "rent", "free"], count, p=[0.6, 0.36, 0.04]),
                }
            )
        }
        if districts:
            self.tables["household"]["did"] = place
            names = np.unique(place)
            self.tables = {"district": pd.DataFrame({"did": names, "region": regions[: len(names)]}), **self.tables}
        else:
            self.tables["household"]["region"] = regions
        hid = np.repeat(np.arange(count) + 1, rng.integers(1, 5, count))
        persons = pd.DataFrame({"pid": np.arange(len(hid)) + 1, "hid": hid})
        persons["age"] = rng.choice(["child", "adult", "old"], len(hid), p=[0.3, 0.5, 0.2])
        persons["sex"] = rng.choice(["F", "M"], len(hid))
        persons["hours"] = 38
        if codes:
            persons.loc[rng.random(len(hid)) < 0.06, "age"] = "?"
            self.tables["household"].loc[rng.random(count) < 0.03, "tenure"] = "?"
        self.tables["person"] = persons

    def pipeline(self, *steps: dict[str, Any]) -> dict[str, Any]:
        """Mask with these steps; each level in a file of its own."""
        names = list(self.tables)
        keys = {"district": "did", "household": "hid", "person": "pid"}
        levels = {}
        for place, name in enumerate(names):
            self.tables[name].sample(frac=1, random_state=self.seed).to_csv(self.folder / f"{name}.csv", index=False)
            above = {"in": names[place - 1]} if place else {}
            levels[name] = {"source": str(self.folder / f"{name}.csv"), "key": keys[name], **above}
        variables: dict[str, Any] = {name: {"role": "quasi_identifier", "type": "nominal"} for name in KEYS}
        variables["hours"] = {"role": "confidential", "release": "as is"}
        variables["age"]["missing"] = variables["tenure"]["missing"] = ["?"]
        return {
            "maskwright": 1,
            "data": {"levels": levels, "variables": variables},
            "protect": list(steps),
            "output": {"data": {name: str(self.folder / f"{name}_out.csv") for name in names}},
            "seed": self.seed,
        }

    def released(self) -> pd.DataFrame:
        """Published persons with what is published of their groups."""
        read = [
            pd.read_csv(self.folder / f"{name}_out.csv", keep_default_na=False, dtype=str)
            for name in reversed(self.tables)
        ]
        joined = read[0].merge(read[1], on="hid", validate="m:1")
        return joined.merge(read[2], on="did", validate="m:1") if len(read) > 2 else joined

    def smallest(self) -> int:
        """Households in the smallest class of the keys of all levels."""
        return int(self.released().groupby(KEYS)["hid"].nunique().min())


SUPPRESS: dict[str, Any] = {"method": "local_suppression", "params": {"k": 3}}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("named", [True, False])
def test_k_holds_on_the_keys_of_households_and_persons_together(tmp_path: Path, seed: int, *, named: bool) -> None:
    survey = Survey(tmp_path, seed, codes=seed == 3)
    record = mw.run(survey.pipeline({**SUPPRESS, **({"variables": KEYS} if named else {})})).record
    assert survey.smallest() >= 3
    groups = [set(each["variables"]) for each in record["k"]["groups"]]
    assert set(KEYS) in groups


@pytest.mark.parametrize("seed", range(3))
def test_k_holds_on_keys_of_three_levels(tmp_path: Path, seed: int) -> None:
    survey = Survey(tmp_path, seed, districts=True)
    mw.run(survey.pipeline({**SUPPRESS, "variables": KEYS}))
    assert survey.smallest() >= 3
    of_district = survey.released().groupby("did")["region"].nunique()
    assert of_district.max() == 1


@pytest.mark.waived("not-masked")
@pytest.mark.parametrize("districts", [False, True])
def test_whole_records_have_what_is_published_of_their_groups(tmp_path: Path, *, districts: bool) -> None:
    survey = Survey(tmp_path, 5, districts=districts)
    ages = {"method": "local_suppression", "variables": ["age", "sex"], "params": {"k": 3}}
    record = mw.run(survey.pipeline(ages)).record
    released = survey.released()
    homes = released.groupby([*KEYS, "hours"])["hid"].transform("nunique")
    found = record["k"]["records"]
    assert (found["smallest"], found["below"]) == (homes.min(), (homes < found["expected"]).sum())
    assert set(record["k"]["quasi_identifiers"]["variables"]) == set(KEYS)


def test_keys_and_importance_name_variables_of_both_levels(tmp_path: Path) -> None:
    survey = Survey(tmp_path, 1)
    empty = {}
    for worth in (0.02, 50):
        params = {"k": 3, "keys": KEYS, "importance": {"region": worth, "tenure": worth}}
        mw.run(survey.pipeline({"method": "local_suppression", "params": params}))
        assert survey.smallest() >= 3
        empty[worth] = int((survey.released()[["region", "tenure"]] == "").sum().sum())
    assert empty[50] < empty[0.02]


def test_an_unknown_key_is_named_once(tmp_path: Path) -> None:
    params = {"k": 3, "importance": {"regoin": 2}}
    with pytest.raises(mw.InputError, match="no variable called 'regoin'; did you mean 'region'"):
        mw.run(Survey(tmp_path, 1).pipeline({**SUPPRESS, "variables": KEYS, "params": params}))


def test_levels_that_are_recoded_apart_are_doubted_and_the_advice_works(tmp_path: Path) -> None:
    survey = Survey(tmp_path, 2)
    recode = {"method": "generalisation", "variables": KEYS, "params": {"k": 3, "suppression_limit": 0.3}}
    with pytest.raises(mw.OpenDoubts, match="k = 3 is promised of tenure, region, age, sex") as stopped:
        mw.run(survey.pipeline(recode))
    assert "add a step of local_suppression" in str(stopped.value)
    mw.run(survey.pipeline(recode, {**SUPPRESS, "variables": KEYS}))
    assert survey.smallest() >= 3


@pytest.mark.parametrize("params", [{"subsets": 2}, {"key_sets": {"a": ["region", "age"]}}, {"count": "wildcard"}])
@pytest.mark.parametrize("named", [True, False])
def test_a_k_that_is_of_one_level_is_not_promised_of_several(
    tmp_path: Path, params: dict[str, Any], *, named: bool
) -> None:
    step = {"method": "local_suppression", "params": {"k": 3, **params}, **({"variables": KEYS} if named else {})}
    with pytest.raises(mw.InputError, match="are variables of different levels"):
        mw.run(Survey(tmp_path, 1).pipeline(step))


def test_a_numeric_key_and_a_sensitive_variable_of_the_household(tmp_path: Path) -> None:
    survey = Survey(tmp_path, 2)
    rng = np.random.default_rng(1)
    count = len(survey.tables["household"])
    survey.tables["household"]["kids"] = rng.choice([0, 1, 2], count, p=[0.5, 0.4, 0.1])
    survey.tables["household"]["ill"] = rng.choice(["yes", "no"], count)
    pipeline = survey.pipeline({**SUPPRESS, "params": {"k": 3, "l": {"ill": 2}}})
    pipeline["data"]["variables"] |= {"kids": {"role": "quasi_identifier"}, "ill": {"role": "other", "type": "nominal"}}
    mw.run(pipeline)
    found = survey.released().groupby([*KEYS, "kids"])
    assert found["hid"].nunique().min() >= 3
    assert found["ill"].nunique().min() >= 2
