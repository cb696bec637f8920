"""Edits that count members by a condition hold of published bands, where each lies on one side of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

ADULT = "count(person where age >= 18) > 0"
ADULTS = "count(person where age >= 18 and age < 65) == adults"
ADULT_BANDS = {"18 to below 40", "40 to below 65", "65 and above"}


def survey(seed: int = 1) -> pd.DataFrame:
    """Households whose first member is grown up; one in ten of the others has no age."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 50)
    homes = np.repeat(np.arange(50), sizes)
    first = np.r_[True, homes[1:] != homes[:-1]]
    age = np.where(first, rng.integers(18, 80, len(homes)), rng.integers(0, 80, len(homes)))
    frame = pd.DataFrame({
        "hid": homes + 1, "pno": np.concatenate([np.arange(n) + 1 for n in sizes]), "age": age,
        "rent": rng.integers(300, 900, 50)[homes], "income": rng.integers(0, 4000, len(homes)),
    })  # fmt: skip
    working = frame["age"].between(18, 64)
    return frame.assign(adults=working.groupby(homes).transform("sum"))


def pipeline(folder: Path, edits: list[str], borders: list[int], frame: pd.DataFrame, **more: Any) -> Path:
    frame.to_csv(folder / "d.csv", index=False)
    described = {
        "maskwright": 1,
        "data": {
            "source": "d.csv",
            "levels": {
                "household": {"key": "hid", "variables": ["rent", "adults"]},
                "person": {"key": "pno", "in": "household"},
            },
            "variables": {"age": {"role": "quasi_identifier"}, "adults": {"release": "as is"}},
        },
        "edits": edits,
        "protect": [
            {"method": "recoding", "variables": ["age"], "params": {"recode": {"age": borders}, **more}},
            {"method": "microaggregation", "variables": ["rent"], "params": {"k": 3}},
            {"method": "microaggregation", "variables": ["income"], "params": {"k": 3}},
        ],
        "output": {"data": "m.csv", "edits": "m.edits.yaml"},
        "seed": 1,
    }
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("gaps", [False, True])
def test_counts_by_a_border_of_the_bands_are_kept(tmp_path: Path, gaps: bool) -> None:
    frame = survey().astype({"age": "Int64"})
    edits = [ADULT] if gaps else [ADULT, ADULTS]
    if gaps:
        frame.loc[(frame["pno"] > 1) & (frame.index % 10 == 0), "age"] = pd.NA
    done = mw.run(pipeline(tmp_path, edits, [18, 40, 65], frame))
    assert done.ok
    masked = pd.read_csv(tmp_path / "m.csv")
    grown = masked["age"].isin(ADULT_BANDS).groupby(masked["hid"]).sum()
    assert (grown > 0).all()
    working = masked["age"].isin(ADULT_BANDS - {"65 and above"}).groupby(masked["hid"]).sum()
    if not gaps:
        assert (working == masked.groupby("hid")["adults"].first()).all()
    kept = {each["name"]: each["kept_by"] for each in done.record["edits"]}
    assert {kept[f"edit-{number}"] for number in range(1, len(edits) + 1)} == {"construction"}
    rules = yaml.safe_load((tmp_path / "m.edits.yaml").read_text(encoding="utf-8"))
    assert rules[0] == "count(person where age in {'18 to below 40', '40 to below 65', '65 and above'}) > 0"
    checked = ["validate", str(tmp_path / "m.csv"), "--edits", str(tmp_path / "m.edits.yaml"), "--pipeline",
               str(tmp_path / "p.yaml")]  # fmt: skip
    assert main(checked) == 0
    alone = masked["hid"] == masked["hid"].iloc[0]
    masked.loc[alone, "age"] = "below 18"
    masked.to_csv(tmp_path / "m.csv", index=False)
    assert main(checked) == 1


def test_a_band_on_both_sides_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(mw.InputError, match="cannot be said of the categories with the same meaning") as refused:
        mw.run(pipeline(tmp_path, [ADULT], [20, 40], survey()))
    assert "border" in str(refused.value.problems[0].hint)
    done = mw.run(pipeline(tmp_path, [ADULT], [20, 40], survey(), release_edits={"drop": ["age"]}))
    assert done.ok


def household_pipeline(
    folder: Path, frame: pd.DataFrame, edits: list[str], banded: dict[str, Any], masked: list[str], of_group: list[str],
    **params: Any,
) -> Path:  # fmt: skip
    """Bands of one variable; persons' and households' amounts in clusters of three."""
    frame.to_csv(folder / "d.csv", index=False)
    (name,) = banded["recode"]
    as_is = [each for each in frame.columns if each not in ("hid", "pno", name, *masked, *of_group)]
    described = {
        "maskwright": 1,
        "data": {
            "source": "d.csv",
            "levels": {
                "household": {
                    "key": "hid",
                    "variables": [*of_group, *(each for each in ("hage", "adults") if each in frame)],
                },
                "person": {"key": "pno", "in": "household"},
            },
            "variables": {name: {"role": "quasi_identifier"}, **{each: {"release": "as is"} for each in as_is}},
        },
        "edits": edits,
        "protect": [
            {"method": "recoding", "variables": [name], "params": banded},
            {"method": "microaggregation", "variables": of_group, "params": {"k": 3, **params}},
            {"method": "microaggregation", "variables": masked, "params": {"k": 3, **params}},
        ],
        "output": {"data": "m.csv", "edits": "m.edits.yaml"},
        "seed": 1,
    }
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    return path


def is_checked(folder: Path) -> int:
    """Whether whoever has the masked file and its edits finds that they hold."""
    names = ["m.csv", "m.edits.yaml", "p.yaml"]
    data, edits, described = (str(folder / name) for name in names)
    return main(["validate", data, "--edits", edits, "--pipeline", described])


def amounts(seed: int = 1) -> pd.DataFrame:
    """Persons who have smoked for fewer years than the first of their household is old; incomes of adults."""
    rng = np.random.default_rng(seed)
    frame = survey(seed)
    frame["hage"] = frame.groupby("hid")["age"].transform("first")
    frame["smoked"] = (frame["hage"] * rng.uniform(0, 1, len(frame))).astype(int)
    frame["earned"] = (frame["income"] * (frame["age"] >= 18)).groupby(frame["hid"]).transform("sum")
    return frame


@pytest.mark.parametrize("seed", range(3))
def test_a_number_of_members_beside_bands_of_the_household(tmp_path: Path, seed: int) -> None:
    """Some age of the published band obeys the edit in every record, and k of the clusters is kept."""
    banded = {"recode": {"hage": [18, 35, 50, 65]}, "release_edits": {"weaken": ["hage"]}}
    edits = ["smoked <= household.hage"]
    done = mw.run(household_pipeline(tmp_path, amounts(seed), edits, banded, ["smoked", "income"], ["rent", "earned"]))
    assert done.ok
    masked = pd.read_csv(tmp_path / "m.csv")
    highest = masked["hage"].str.extract(r"below (\d+)")[0].astype(float).fillna(np.inf)
    assert (masked["smoked"] < highest).all()
    assert masked.groupby(["smoked", "income"]).size().min() >= 3
    assert "edit-weakened" in {each["kind"] for each in done.record["notices"]}
    assert is_checked(tmp_path) == 0
    worst = highest.idxmin()
    masked.loc[worst, "smoked"] = int(highest[worst])
    masked.to_csv(tmp_path / "m.csv", index=False)
    assert is_checked(tmp_path) == 1


@pytest.mark.parametrize(
    ("edit", "kept_by"),
    [
        ("sum(person.income where age >= 18) == earned", "derivation"),
        ("sum(person.income where age >= 18) <= 20000", "checked"),
        ("all(person where age >= 18 or income <= 4000)", "construction"),
        ("max(person.income where age < 65) <= 4000", "construction"),
    ],
)
def test_sums_and_conditions_of_members_by_a_border_of_the_bands(tmp_path: Path, edit: str, kept_by: str) -> None:
    """Beside what steps mask; pandas recounts them from the published bands."""
    banded = {"recode": {"age": [18, 40, 65]}}
    done = mw.run(household_pipeline(tmp_path, amounts(), [edit], banded, ["income", "smoked"], ["rent", "earned"]))
    assert done.ok
    masked = pd.read_csv(tmp_path / "m.csv")
    grown = masked["age"].isin(ADULT_BANDS)
    sums = (masked["income"] * grown).groupby(masked["hid"]).sum()
    if "earned" in edit:
        assert (sums == masked.groupby("hid")["earned"].first()).all()
    assert sums.max() <= 20000
    assert masked["income"].max() <= 4000
    assert {each["name"]: each["kept_by"] for each in done.record["edits"]}["edit-1"] == kept_by
    assert masked.groupby(["income", "smoked"]).size().min() >= 3
    assert is_checked(tmp_path) == 0


def test_households_are_moved_onto_sums_by_bands_where_k_may_go(tmp_path: Path) -> None:
    frame = amounts()
    banded, edit = {"recode": {"age": [18, 40, 65]}}, "sum(person.income where age >= 18) <= earned + 300"
    done = mw.run(
        household_pipeline(
            tmp_path, frame, [edit], banded, ["income", "smoked"], ["rent", "earned"], k_guarantee="report"
        )
    )
    assert done.ok
    masked = pd.read_csv(tmp_path / "m.csv")
    sums = (masked["income"] * masked["age"].isin(ADULT_BANDS)).groupby(masked["hid"]).sum()
    assert (sums <= masked.groupby("hid")["earned"].first() + 300).all()
    (found,) = (each for each in done.record["edits"] if each["name"] == "edit-1")
    assert found["adjusted"] > 0


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ("max(person.age) >= 18", r"max\(person.age\) takes the values of age, and a category has none"),
        ("sum(person.age) >= 18", r"sum\(person.age\) takes the values of age, and a category has none"),
        ("sum(person.income where age >= 20) <= 20000", "a category lies on both sides of a condition on members"),
    ],
)
def test_what_categories_cannot_say_is_refused_for_that(tmp_path: Path, edit: str, reason: str) -> None:
    banded = {"recode": {"age": [18, 40, 65]}}
    with pytest.raises(mw.InputError, match=reason):
        mw.run(household_pipeline(tmp_path, amounts(), [edit], banded, ["income", "smoked"], ["rent", "earned"]))
