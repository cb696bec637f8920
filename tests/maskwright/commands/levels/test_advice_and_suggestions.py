"""Advice on the levels of a pipeline's file, and rules across levels that hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_levels_demo(tmp_path, 500)
    return tmp_path


def test_advice_takes_data_and_key_from_a_pipeline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "levels", str(folder / "survey.csv"), "--key", "hhid", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main(["advise", "levels", str(folder / "flat.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert main(["advise", "levels", str(folder / "linked.yaml")]) == 2
    assert "linked.yaml: each level has its own file" in capsys.readouterr().err
    assert main(["advise", "levels", str(folder / "survey.csv")]) == 2
    assert "--key NAME: the variable that names the household is wanted" in capsys.readouterr().err


def test_a_few_cells_that_do_not_point_hide_no_pointer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = pd.read_csv(folder / "survey.csv", dtype=str)
    wives = survey.index[survey["spouse"] == "2"][:3]
    survey.loc[wives, "spouse"] = ["9", "1", "77"]
    survey.to_csv(folder / "survey.csv", index=False)
    assert main(["advise", "levels", str(folder / "survey.csv"), "--key", "hhid", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pointers"], found["not_pointing"]) == (["spouse", "mother"], {"spouse": 3})
    assert found["levels"]["person"]["pointers"] == {"spouse": "pno", "mother": "pno"}
    assert main(["advise", "levels", str(folder / "survey.csv"), "--key", "hhid"]) == 0
    said = capsys.readouterr().out
    assert "Names another record of the group: spouse, but for 3 cells\n" in said
    assert "Names another record of the group: mother\n" in said


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_sums_and_counts_across_levels_are_found(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    asked = [
        "edits",
        "--suggest",
        "--share",
        "0.97",
        "--limit",
        "60",
        "--json",
        "--pipeline",
        str(folder / f"{form}.yaml"),
    ]
    assert main(asked) == 0
    found = {each["rule"]: each["violations"] for each in json.loads(capsys.readouterr().out)["suggestions"]}
    assert any({"count(person)", "size"} == set(rule.split(" == ")) for rule in found)
    total = next(rule for rule in found if "sum(person.income)" in rule and "total" in rule and "==" in rule)
    assert all(name in total for name in ("child_benefit", "capital"))
    assert found["income <= household.total"] == 0
    rules = folder / "found.yaml"
    rules.write_text("".join(f"- {json.dumps(rule)}\n" for rule in found), encoding="utf-8")
    files = ["survey"] if form == "flat" else ["households", "persons"]
    data = [str(folder / f"{name}.csv") for name in files]
    assert main(["validate", *data, "--edits", str(rules), "--json", "--pipeline", str(folder / f"{form}.yaml")]) == 1
    edits = json.loads(capsys.readouterr().out)["edits"]
    counted = [each["violations"] for each in edits if each["name"].startswith("edit-")]
    assert sorted(counted) == sorted(found.values())
