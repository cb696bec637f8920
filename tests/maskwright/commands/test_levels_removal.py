"""Suppression, recoding, removal and swapping on data of households and persons, as a person runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLD = ["region", "tenure", "size", "child_benefit", "capital", "total", "tax", "disp", "hweight", "area"]
PERSON = ["rel", "sex", "age", "age_group", "status", "wages", "selfe", "pens", "bene", "income", "weight"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    files = write_levels_demo(tmp_path_factory.mktemp("survey"), households=400)
    data = pd.read_csv(files.flat, dtype={"hhid": str}).drop(columns="rent")
    rules = yaml.safe_load((files.flat.parent / "edits.yaml").read_text(encoding="utf-8"))
    return data, [rule for rule in rules if "rent" not in rule["rule"].replace("parent", "")]


class Runs:
    """Pipelines on one survey, in one folder."""

    def __init__(self, folder: Path, survey: tuple[pd.DataFrame, list[dict[str, str]]]) -> None:
        self.folder, (self.data, self.rules) = folder, survey
        self.data.to_csv(folder / "survey.csv", index=False)

    def run(
        self, *steps: dict[str, Any], without: tuple[str, ...] = (), identifiers: tuple[str, ...] = (),
        waive: tuple[dict[str, str], ...] = (),
    ) -> int:  # fmt: skip
        roles: dict[str, Any] = {name: {"role": "other"} for name in (*HOUSEHOLD, *PERSON)}
        roles |= {
            "hweight": {"role": "weight"},
            "weight": {"role": "weight"},
            "sex": {"type": "nominal", "role": "other"},
        }
        roles |= {name: {"role": "identifier"} for name in identifiers}
        pipeline = {
            "maskwright": 1,
            "data": {
                "source": "survey.csv",
                "levels": {
                    "household": {"key": "hhid", "variables": HOUSEHOLD},
                    "person": {"key": "pno", "in": "household", "pointers": {"spouse": "pno", "mother": "pno"}},
                },
                "variables": roles,
            },
            "edits": [rule for rule in self.rules if rule["name"] not in without],
            "on_input_violation": "drop",
            "protect": list(steps),
            "waive": list(waive),
            "output": {"data": "masked.csv", "record": "run.json", "edits": "published.yaml"},
            "seed": 42,
        }
        (self.folder / "run.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
        return main(["run", str(self.folder / "run.yaml")])

    @property
    def masked(self) -> pd.DataFrame:
        return pd.read_csv(self.folder / "masked.csv", dtype={"hhid": str})

    @property
    def record(self) -> Any:
        return json.loads((self.folder / "run.json").read_text(encoding="utf-8"))

    @property
    def published(self) -> dict[str, Any]:
        rules = yaml.safe_load((self.folder / "published.yaml").read_text(encoding="utf-8"))
        return {rule["name"]: rule for rule in rules}

    @property
    def wrote_nothing(self) -> bool:
        return not (self.folder / "masked.csv").exists()


@pytest.fixture
def runs(tmp_path: Path, survey: tuple[pd.DataFrame, list[dict[str, str]]]) -> Runs:
    return Runs(tmp_path, survey)


def suppress(*names: str, **params: Any) -> dict[str, Any]:
    return {"method": "local_suppression", "variables": list(names), "params": {"k": 3, **params}}


def is_constant(data: pd.DataFrame, name: str) -> bool:
    return bool((data.groupby("hhid")[name].nunique(dropna=False) == 1).all())


def is_whole(data: pd.DataFrame) -> bool:
    """Whether every household has as many rows as its size says."""
    return bool((data.groupby("hhid")["size"].transform("size") == data["size"]).all())


def test_keys_of_households_and_of_persons_are_suppressed_each_on_its_level(runs: Runs) -> None:
    about_age = tuple(rule["name"] for rule in runs.rules if "age " in f"{rule['rule']} " or "age)" in rule["rule"])
    steps = (suppress("region", "tenure", k=12), suppress("sex", "age_group", k=30))
    assert runs.run(*steps, without=about_age, identifiers=("age", "status")) == 0
    masked = runs.masked
    assert all(is_constant(masked, name) for name in HOUSEHOLD)
    assert masked[["sex", "age_group"]].isna().to_numpy().any()
    assert masked[["region", "tenure"]].isna().to_numpy().any()
    # Cells shown by a housemate: a group is either empty in all rows or in none.
    for name in ("region", "tenure"):
        assert (masked[name].isna().groupby(masked["hhid"]).nunique() == 1).all()


@pytest.mark.waived("adjustment-distorts")
def test_edits_across_persons_hold_where_their_cells_are_published(runs: Runs) -> None:
    assert runs.run(suppress("sex", "age")) == 0
    edits = {each["name"]: each for each in runs.record["edits"]}
    for name in ("any-adult", "mother-older", "benefit-for-children"):
        assert edits[name]["violations"] == edits[name]["unknown"] == 0
    assert edits["any-adult"]["not_applicable"] > 0
    assert runs.published["any-adult"]["when"] == "all(person where age is not missing)"
    assert runs.published["mother-older"]["when"] == "mother.age is not missing and age is not missing"
    assert runs.published["members-counted"]["rule"] == "count(person) == size"
    # The published rules hold in what is published.
    text = yaml.safe_load((runs.folder / "run.yaml").read_text(encoding="utf-8"))
    text["edits"] = [{"yaml": "published.yaml"}]
    text["data"]["source"] = "masked.csv"
    text["on_input_violation"] = "fail"
    text["output"] = {"data": "again.csv"}
    (runs.folder / "again.yaml").write_text(yaml.safe_dump(text), encoding="utf-8")
    assert main(["plan", str(runs.folder / "again.yaml")]) == 0


def test_a_recoded_variable_of_other_records_is_refused_or_its_edits_dropped(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    recode: dict[str, Any] = {"method": "recoding", "params": {"recode": {"age": [16, 25, 45, 65]}}}
    assert runs.run(recode) == 2
    said = capsys.readouterr().err
    assert "edit 'mother-older' reads it across records" in said
    assert "release_edits: {drop: [age]}" in said
    assert runs.wrote_nothing
    recode["params"]["release_edits"] = {"drop": ["age"]}
    assert runs.run(recode) == 0
    dropped = {each["name"] for each in runs.record["dropped_edits"]}
    assert {"mother-older", "any-adult", "spouse-ages", "oldest"} <= dropped
    assert dropped.isdisjoint(runs.published)
    assert "members-counted" in runs.published


@pytest.mark.parametrize("without", [(), ("members-counted",)])
def test_size_is_never_emptied_where_rows_can_be_counted(
    runs: Runs, without: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert runs.run(suppress("region", "size"), without=without) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "step 1: an empty cell of size would not be empty" in said
    assert "record_suppression" in said
    assert runs.wrote_nothing


@pytest.mark.waived("adjustment-distorts")
def test_an_emptied_income_takes_a_second_cell_along(runs: Runs) -> None:
    # Its parts tell it all the same.
    parts = {"doubt": "follows-from-published", "variable": "income", "because": "only totals are looked at"}
    assert runs.run(suppress("sex", "income"), without=("income-sum",), waive=(parts,)) == 0
    masked = runs.masked
    known = ["child_benefit", "capital", "total"]
    emptied = masked["income"].isna().groupby(masked["hhid"]).sum()
    rows = masked.groupby("hhid")[known].first().isna().sum(axis=1)
    assert (emptied > 0).any()
    # One unknown of sum(income) + child_benefit + capital == total would be its only solution.
    assert not ((emptied + rows) == 1).any()
    assert all(is_constant(masked, name) for name in known)
    assert any(each["complementary"] for each in runs.record["suppressed"])


@pytest.mark.waived("adjustment-distorts")
def test_households_that_are_rare_go_with_all_their_persons(runs: Runs) -> None:
    keys = ["region", "tenure", "size"]
    assert runs.run({"method": "record_suppression", "params": {"k": 5, "keys": keys}}) == 0
    masked = runs.masked
    households = masked.drop_duplicates("hhid")
    assert len(households) < 390
    assert households.groupby(keys).size().min() >= 5
    assert is_whole(masked)
    assert any("taken away in whole household groups" in each["message"] for each in runs.record["notices"])


def test_a_person_who_is_taken_away_takes_the_household_along(runs: Runs) -> None:
    keys = ["sex", "age_group"]
    assert runs.run({"method": "record_suppression", "params": {"k": 60, "keys": keys}}) == 0
    masked = runs.masked
    households = masked.drop_duplicates("hhid").set_index("hhid")
    assert 0 < len(households) < 390
    assert masked.groupby(keys)["hhid"].nunique().min() >= 60
    assert is_whole(masked)
    assert any("go along with" in each["message"] for each in runs.record["notices"])


def test_sampling_draws_households_and_divides_the_weights_of_both_levels(runs: Runs) -> None:
    assert runs.run({"method": "sampling", "params": {"fraction": 0.3, "strata": ["region"]}}) == 0
    masked, before = runs.masked, runs.data
    assert is_whole(masked)
    shares = masked.drop_duplicates("hhid").groupby("region").size()
    shares = shares / before.drop_duplicates("hhid").groupby("region").size()
    assert shares.between(0.25, 0.35).all()
    assert (masked["weight"] - masked["hweight"]).abs().max() < 1e-5
    assert masked["hweight"].min() > 3 * before["hweight"].min()


def test_a_sample_of_households_is_recoded(runs: Runs) -> None:
    sampling = {"method": "sampling", "params": {"fraction": 0.5}}
    recoding = {"method": "recoding", "variables": ["age"], "params": {"bands": 4, "release_edits": {"drop": ["age"]}}}
    for steps in ((sampling, recoding), (recoding, sampling)):
        assert runs.run(*steps) == 0
        masked = runs.masked
        assert is_whole(masked)
        assert masked["age"].nunique() == 4
        assert 0.4 * 400 < masked["hhid"].nunique() < 0.6 * 400


def test_households_are_swapped_with_others_of_their_composition(runs: Runs) -> None:
    composition = ["size", "count(person where age < 18)", "count(person where age >= 18)"]
    step = {
        "method": "targeted_swapping",
        "params": {
            "geography": ["region"], "risk_variables": ["tenure", "count(person where sex == 1)"],
            "profiles": [composition, ["size"]], "swap_rate": 0.2,
        },
    }  # fmt: skip
    assert runs.run(step) == 0
    masked = runs.masked
    assert is_constant(masked, "region")
    assert list(masked.columns) == list(runs.data.columns)
    before, after = (each.drop_duplicates("hhid") for each in (runs.data, masked))
    moved = after.groupby(["total", "region"]).size().index.difference(before.groupby(["total", "region"]).size().index)
    assert len(moved) >= 0.15 * len(after)
    # Each area keeps its households of every size.
    left = before[before["total"].isin(after["total"])]
    kept = after.groupby(["region", "size"]).size() - left.groupby(["region", "size"]).size()
    assert kept.abs().sum() <= 8  # households that were left out on arrival


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("names", [["cells", "whole"], ["whole", "cells"], ["of persons", "cells"]])
def test_cells_and_whole_households_are_taken_away_in_one_run(tmp_path: Path, names: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, 250)
    homes = {
        "zone": rng.choice([*"abcd"], 250, p=[0.5, 0.35, 0.12, 0.03]),
        "tenure": rng.choice([*"xyz"], 250, p=[0.6, 0.37, 0.03]),
        "members": size,
    }
    frame = pd.DataFrame({
        "hid": np.repeat(np.arange(250), size), "pno": np.concatenate([np.arange(each) for each in size]),
        **{name: np.repeat(values, size) for name, values in homes.items()},
        "job": rng.choice([*"uvw"], size.sum(), p=[0.6, 0.38, 0.02]),
    })  # fmt: skip
    frame.to_csv(tmp_path / "d.csv", index=False)
    steps: dict[str, dict[str, Any]] = {
        "cells": {"method": "local_suppression", "params": {"k": 5, "keys": ["zone", "tenure"]}},
        "whole": {"method": "record_suppression", "params": {"k": 9, "keys": ["zone"]}},
        "of persons": {"method": "record_suppression", "params": {"k": 25, "keys": ["job"]}},
    }
    chosen = [{**steps[name], "variables": steps[name]["params"]["keys"]} for name in names]
    touched = {name for step in chosen for name in step["variables"]}
    mw.run({
        "maskwright": 1, "protect": chosen, "seed": 1, "output": {"data": str(tmp_path / "m.csv")},
        "data": {
            "source": str(tmp_path / "d.csv"),
            "levels": {
                "household": {"key": "hid", "variables": [*homes]},
                "person": {"key": "pno", "in": "household"},
            },
            "variables": {"members": {"release": "as is"}} | {
                name: {"type": "nominal", **({"role": "quasi_identifier"} if name in touched else {"release": "as is"})}
                for name in ("zone", "tenure", "job")
            },
        },
    })  # fmt: skip
    masked = pd.read_csv(tmp_path / "m.csv")
    assert (masked.groupby("hid")["pno"].transform("size") == masked["members"]).all()
    for step in chosen:
        counted = masked if "job" in step["variables"] else masked.drop_duplicates("hid")
        assert counted.groupby(step["variables"], dropna=False).size().min() >= step["params"]["k"]
