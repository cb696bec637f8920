"""``on_input_violation: localize`` on levels: the fewest fields of a group and its members are mended first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLD = ["region", "total", "size"]
RULES = [
    "sum(person.income) == total",
    "count(person) == size",
    "one(person where rel == 1)",
    "if spouse > 0 then spouse.spouse == pno",
    "income >= 0",
]


def survey(*, wrong: bool) -> pd.DataFrame:
    """Twelve households of a couple each; with `wrong`, four with an error and a large one with two."""
    rows = [
        {"hhid": home, "pno": number, "rel": number, "spouse": 3 - number, "income": 10 * home + number,
         "region": "north" if home % 2 else "south", "total": 20 * home + 3, "size": 2}
        for home in range(1, 13) for number in (1, 2)
    ]  # fmt: skip
    if wrong:
        rows[0]["total"] = rows[1]["total"] = 99
        rows[3]["rel"] = 1
        rows[5]["spouse"] = 0
        rows[6]["region"] = ""
        large = [{"hhid": 13, "pno": number, "rel": min(number, 2), "spouse": 0, "income": 5 if number > 1 else -3,
                  "region": "east", "total": 43, "size": 9} for number in range(1, 10)]  # fmt: skip
        rows += large
    return pd.DataFrame(rows)


def run(folder: Path, data: pd.DataFrame, form: str, **settings: object) -> tuple[int, dict[str, Any]]:
    levels: dict[str, dict[str, object]] = {
        "household": {"key": "hhid"},
        "person": {"key": "pno", "in": "household", "pointers": {"spouse": "pno"}},
    }
    section: dict[str, object] = {
        "levels": levels, "variables": {name: {"role": "other"} for name in ("rel", "size", "region")},
    }  # fmt: skip
    if form == "flat":
        data.to_csv(folder / "data.csv", index=False)
        section["source"] = "data.csv"
        levels["household"]["variables"] = HOUSEHOLD
        output: object = "masked.csv"
    else:
        data.drop_duplicates("hhid")[["hhid", *HOUSEHOLD]].to_csv(folder / "above.csv", index=False)
        data.drop(columns=HOUSEHOLD).to_csv(folder / "below.csv", index=False)
        levels["household"]["source"], levels["person"]["source"] = "above.csv", "below.csv"
        output = {"household": "masked.csv", "person": "persons.csv"}
    pipeline = {
        "maskwright": 1, "data": section, "edits": RULES, "on_input_violation": "localize",
        "protect": [{"method": "microaggregation", "variables": ["total", "income"], "params": {"k": 2}}],
        "output": {"data": output, "record": "run.json"}, "seed": 3, **settings,
    }  # fmt: skip
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(pipeline, sort_keys=False))
    code = main(["run", str(path), "--quiet"])
    return code, json.loads((folder / "run.json").read_text()) if code == 0 else {}


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_the_fewest_fields_are_mended_and_nobody_is_dropped(tmp_path: Path, form: str) -> None:
    data = survey(wrong=True)
    data = data[data["hhid"] != 13]
    code, record = run(tmp_path, data, form)
    assert code == 0
    found = record["localisation"]
    assert (found["level"], found["violating"], found["mended"], found["left"]) == ("household", 3, 3, 0)
    assert found["adjusted"] == {"total": 1, "rel": 1, "spouse": 1}
    assert {entry["record"]: entry["variables"] for entry in found["fields"]} == {
        1: ["total"], 2: ["rel[1]"], 3: ["spouse[1]"],
    }  # fmt: skip
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert masked["hhid"].nunique() == 12
    if form == "flat":
        # The region of one row, which the other row of the household has, came back before anything else was done.
        assert masked["region"].notna().all()
        assert any("most frequent value" in each["message"] for each in record["notices"])
        sums = masked.groupby("hhid").agg(income=("income", "sum"), total=("total", "first"), ones=("rel", "min"))
        assert (sums["income"] == sums["total"]).all()
        named = masked.set_index(["hhid", "pno"])["spouse"]
        assert (named == 0).sum() == 2
        assert all(named[home, named[home, number]] == number for home, number in named.index if named[home, number])


def test_records_of_large_groups_are_looked_at_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, record = run(tmp_path, survey(wrong=True), "flat")
    # That the nine incomes add up to the total is no edit of one person: the sum is masked onto it, as with `mask`.
    assert code == 0
    found = record["localisation"]
    assert {"record": 13, "variables": ["income[1]"], "proven": False} in found["fields"]
    assert any("1 household record may need fewer fields" in each["message"] for each in record["notices"])
    # What is wrong between nine members is left as it is, and stops the run where no step masks it.
    wrong = survey(wrong=True)
    wrong.loc[wrong["hhid"] == 13, "rel"] = 2
    code, _ = run(tmp_path, wrong, "flat")
    said = capsys.readouterr().err
    assert code == 1
    assert "(edit-3: 1)" in said
    assert "more than 8 members" in said


def test_a_key_is_not_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = survey(wrong=False)
    data.loc[23, "pno"], data.loc[22, "spouse"] = 7, 7
    code, _ = run(tmp_path, data, "linked", edits=[*RULES, "max(person.pno) <= 6"])
    assert code == 1
    assert "a key would have to change" in capsys.readouterr().err


def test_columns_with_brackets_in_their_names_are_localised() -> None:
    levels = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}
    above = pd.DataFrame({"hhid": [1], "total [EUR]": [5], "total": [6]})
    below = pd.DataFrame({"hhid": [1], "pno": [1], "income": [5]})
    linked = mw.linked_data({"household": above, "person": below}, levels)
    assert mw.localize(linked, ["sum(person.income) == total"]).located == 1
