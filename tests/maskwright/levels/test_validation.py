"""maskwright validate on flat and linked files of two levels, and the same from Python; levels that are advised."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import evaluate, read_flat


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("levels")
    write_levels_demo(folder, 1500)
    return folder


def validated(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main(["validate", *map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else {"error": printed.err}


def levels_of(pipeline: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["data"]["levels"]
    return found


def test_every_edit_is_judged_on_its_level(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits = ("--edits", demo / "edits.yaml")
    code, flat = validated(capsys, demo / "survey.csv", *edits, "--pipeline", demo / "flat.yaml")
    assert code == 1
    expected = evaluate(read_flat(demo / "survey.csv"))
    assert {each["name"] for each in flat["edits"]} == set(expected)
    for each in flat["edits"]:
        verdict = expected[each["name"]]
        assert each["level"] == verdict.level
        assert each["violations"] == int(verdict.violated.sum()), each["name"]
        numbers = [place for place, broken in enumerate(verdict.violated, 1) if broken]
        assert each["first_records"] == numbers[:10]
    assert flat["levels"]["household"] == 1500
    files = (demo / "households.csv", demo / "persons.csv")
    code, linked = validated(capsys, *files, *edits, "--pipeline", demo / "linked.yaml")
    assert code == 1
    assert linked["levels"] == flat["levels"]
    same = {each["name"]: each for each in flat["edits"]}
    assert all(same[each["name"]] == each for each in linked["edits"])
    assert len(linked["edits"]) == 20


def test_a_file_that_holds_all_edits_is_fine(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("- max(person.age) <= 110\n- unique(person.pno)\n", encoding="utf-8")
    code, found = validated(capsys, demo / "survey.csv", "--edits", rules, "--pipeline", demo / "flat.yaml")
    assert (code, found["ok"]) == (0, True)
    assert (
        main(["validate", str(demo / "survey.csv"), "--edits", str(rules), "--pipeline", str(demo / "flat.yaml")]) == 0
    )
    assert "1,500 household" in " ".join(capsys.readouterr().out.split())


def test_edits_about_values_that_the_original_has(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, masked = tmp_path / "rules.yaml", tmp_path / "masked.csv"
    rules.write_text("- (region, tenure) in original\n", encoding="utf-8")
    flat = pd.read_csv(demo / "survey.csv", dtype=str)
    flat.loc[flat["hhid"] == flat["hhid"].iloc[-1], "region"] = "Nowhere"
    flat.to_csv(masked, index=False)
    files = (masked, "--edits", rules, "--pipeline", demo / "flat.yaml", "--original", demo / "survey.csv")
    code, found = validated(capsys, *files)
    assert code == 1
    assert [(each["violations"], each["first_records"]) for each in found["edits"][:1]] == [(1, [1500])]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["survey.csv"], "--pipeline FILE names it"),
        (["survey.csv", "persons.csv"], "more than one data file, and nothing says how they are linked"),
        (["households.csv", "--pipeline", "linked.yaml"], "in a file of each level, in this order: HOUSEHOLD PERSON"),
        (["survey.csv", "persons.csv", "--pipeline", "flat.yaml"], "the levels of flat.yaml are in one file"),
        (["persons.csv", "households.csv", "--pipeline", "linked.yaml"], "no variable called"),
    ],
)
def test_files_that_are_not_the_levels(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(demo)
    code, found = validated(capsys, *arguments, "--edits", "edits.yaml")
    assert code == 2
    assert said in found["error"]


def test_the_same_from_python(demo: Path) -> None:
    levels = levels_of(demo / "flat.yaml")
    flat = pd.read_csv(demo / "survey.csv")
    linked = mw.linked_data(flat, levels)
    edits = mw.read_edits(demo / "edits.yaml")
    outcome = mw.validate(linked, edits)
    assert not outcome.ok
    assert dict(outcome.levels) == {"household": 1500, "person": len(flat)}
    assert outcome.counts["total-sum"] == 2
    assert {each.level for each in outcome.edits} == {"household", "person"}
    assert mw.validate(linked, ["region in original"], original=linked).ok
    with pytest.raises(mw.InputError, match="the original is not"):
        mw.validate(linked, edits, original=flat)
    with pytest.raises(mw.InputError, match="the data are not"):
        mw.validate(flat, ["age >= 0"], original=linked)  # type: ignore[call-overload]
    with pytest.raises(mw.InputError, match="a call masks one table"):
        mw.protect(linked, "rounding")  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"household": {"kee": "hhid"}, "person": {"key": "pno", "in": "household"}}, "did you mean 'key'"),
        ({"household": {"key": "hhid", "variables": ["total"]}}, "levels are two or more"),
        ({"household": {"key": "hhid"}, "person": {"key": "pno", "in": "house"}}, "no level called 'house'"),
    ],
)
def test_levels_of_a_call_that_are_none(levels: dict[str, dict[str, object]], said: str) -> None:
    data = pd.DataFrame({"hhid": [1, 1], "pno": [1, 2], "total": [3, 3]})
    with pytest.raises(mw.InputError, match=said):
        mw.linked_data(data, levels)
    fine = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}
    with pytest.raises(mw.InputError, match="a table for each level"):
        mw.linked_data({"person": data}, fine)


def test_levels_are_advised(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "levels", str(demo / "survey.csv"), "--key", "hhid", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    declared = levels_of(demo / "flat.yaml")
    assert set(found["constant"]) == {*declared["household"]["variables"], "weight"}  # type: ignore[misc]
    assert (found["groups"], found["member_key"], found["pointers"]) == (1500, "pno", ["spouse", "mother"])
    assert main(["advise", "levels", str(demo / "survey.csv"), "--key", "hhid", "--exclude", "weight"]) == 0
    text = capsys.readouterr().out
    section = yaml.safe_load(text[text.index("data:") :])
    assert section["data"]["levels"] == declared


def test_what_is_nearly_the_same_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(group, place, group % 3, "" if (group, place) == (4, 2) else group % 5, place * group)
            for group in range(1, 41) for place in (1, 2)]  # fmt: skip
    path = tmp_path / "flat.csv"
    pd.DataFrame(rows, columns=["hhid", "pno", "region", "rent", "income"]).to_csv(path, index=False)
    assert main(["advise", "levels", str(path), "--key", "hhid", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["constant"] == ["region"]
    assert found["nearly_constant"] == {"rent": 0.975}
    assert found["varying"] == ["pno", "income"]
    assert main(["advise", "levels", str(path), "--key", "hid"]) == 2
    assert "did you mean 'hhid'" in capsys.readouterr().err
    pd.DataFrame(rows, columns=["hhid", "pno", "region", "rent", "income"]).iloc[::2].to_csv(path, index=False)
    assert main(["advise", "levels", str(path), "--key", "hhid"]) == 2
    assert "there are no groups to compare" in capsys.readouterr().err
