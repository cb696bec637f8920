"""Syntax, settings, rules, rule files and names: what can be found is told in one pass, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

MANY = """\
maskwright: 1
data: {source: d.csv, variables: {hh: {role: weight}, a: {roles: weight}}}
edits:
  - a + bb = t
  - c in [0.5, 300.3
  - yaml: rules.yaml
protect:
  - {method: microaggregation, params: {kk: 3, structural_zeros: [q], adjustment_weights: {z: 2}}, variables: [a, tt]}
  - {method: ipso, params: {dependent: [c], independent: [hours]}}
measure: [pill]
output: {data: masked.csv}
sed: 3
seed: 1
seed: 2
"""

RULES = "edits:\n  - h in {0, 1\n  - c >= 0\n  - cc <= 5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pd.DataFrame({name: range(30) for name in "abcht"}).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    (tmp_path / "p.yaml").write_text(MANY, encoding="utf-8")
    return tmp_path


def _told(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["run", str(folder / "p.yaml")]) == 2
    said = capsys.readouterr().err.splitlines()
    return [line.removeprefix(f"{folder}/") for line in said if line.startswith(str(folder))]


def test_all_kinds_of_mistakes_are_told_at_once_with_line_and_column(folder, capsys) -> None:
    reporter = _told(folder, capsys)
    assert [line.split(": ")[0] for line in reporter] == [
        "p.yaml:2:35", "p.yaml:2:59", "p.yaml:4:9", "p.yaml:5:21", "p.yaml:8:41", "p.yaml:8:67", "p.yaml:8:92",
        "p.yaml:8:115", "p.yaml:9:59", "p.yaml:10:11", "p.yaml:12:1", "p.yaml:14:1", "rules.yaml:2:15",
        "rules.yaml:4:5",
    ]  # fmt: skip
    assert "no variable called 'hh'; did you mean 'h'?" in reporter[0]
    assert "edit edit-1: no variable called 'bb'; did you mean 'b'?" in reporter[2]
    assert "step 1: no variable called 'q'" in reporter[5]
    assert "step 2: no variable called 'hours'" in reporter[8]
    assert "the key 'seed' is already in line 13" in reporter[11]


def test_names_in_data_rules_rule_files_and_steps_are_told_together(folder, capsys) -> None:
    """When they are the only mistakes; the declared one has its place too."""
    (folder / "rules.yaml").write_text("- cc <= 5\n", encoding="utf-8")
    (folder / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv, variables: {hh: {role: weight}}}\nedits: [a <= bb, yaml: rules.yaml]\n"
        "protect: [{method: microaggregation, groups: [[a, tt]]}]\noutput: {data: masked.csv}\n",
        encoding="utf-8",
    )
    assert [line.split(": ")[0] for line in _told(folder, capsys)] == [
        "p.yaml:2:35", "p.yaml:3:14", "p.yaml:4:51", "rules.yaml:1:3"
    ]  # fmt: skip
    text = (folder / "p.yaml").read_text(encoding="utf-8").replace("hh", "h")
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    assert len(_told(folder, capsys)) == 3


def test_rules_of_a_file_without_names_do_not_clash_with_rules_of_the_pipeline(folder) -> None:
    (folder / "rules.yaml").write_text("- a >= 0\n- {rule: b >= 0, name: least}\n", encoding="utf-8")
    text = (
        "maskwright: 1\ndata: {source: d.csv}\nedits: [yaml: rules.yaml, c >= 0]\n"
        "protect: [{method: microaggregation}]\noutput: {data: masked.csv}\n"
    )
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    plan = plan_pipeline(folder / "p.yaml")
    assert [(edit["name"], edit["text"]) for edit in plan["edits"]] == [
        ("edit-1.2", "a >= 0"), ("least", "b >= 0"), ("edit-1", "c >= 0")
    ]  # fmt: skip
    (folder / "p.yaml").write_text(text.replace("c >= 0", "{rule: c >= 0, name: least}"), encoding="utf-8")
    with pytest.raises(mw.InputError, match=r"rules\.yaml:2:\d+: the name 'least' is taken by another"):
        plan_pipeline(folder / "p.yaml")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{method: pram, variables: [a]}", "step 1: method 'pram' cannot mask 'a'"),
        ("{method: microaggregation, params: {k: 31}}", "step 1: k = 31 is larger than the number of records, 30"),
        ("{method: ipso, params: {dependent: [a], independent: [b]}}", "step 1 (ipso): the independent variables"),
        ("{method: local_suppression, params: {k: 31, keys: [a]}}", "step 1"),
        ("{method: individual_ranking, params: {k: 3}}", "step 1 promises k = 3, but edit 'edit-1' reads"),
    ],
)
def test_what_a_step_cannot_do_is_told_at_the_step(folder, capsys, step, said) -> None:
    """Also where only the plan, or the masking itself, finds it out."""
    (folder / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv}\nedits: [a <= t]\nprotect:\n"
        f"  - {step}\noutput: {{data: masked.csv}}\n"
        "waive: [{doubt: not-masked, variable: [a, b, c, h, t], because: the step is what is tested},"
        " {doubt: follows-from-published, variable: [a, b, c, h, t], because: all columns are alike}]\n",
        encoding="utf-8",
    )
    (reporter,) = _told(folder, capsys)
    assert reporter.startswith(f"p.yaml:5:5: {said}")


def test_syntax_and_names_of_a_rule_file_are_told_together_when_data_are_validated(folder, capsys) -> None:
    (folder / "rules.yaml").write_text("- a <= \n- {rule: bb <= 3, nme: x}\n- cc <= 5\n- a >= 0\n", encoding="utf-8")
    assert main(["validate", str(folder / "d.csv"), "--edits", str(folder / "rules.yaml")]) == 2
    said = capsys.readouterr().err
    reporter = [line.removeprefix(f"{folder}/") for line in said.splitlines() if line.startswith(str(folder))]
    assert [line.split(": ")[0].split(":")[1] for line in reporter] == ["1", "2", "3"]
    assert "no variable called 'cc'; did you mean 'c'?" in reporter[2]


def test_an_empty_mapping_is_one_mistake_that_says_what_is_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"plz": ["a", "b"] * 9}).to_csv(tmp_path / "d.csv", index=False)
    text = "maskwright: 1\ndata: {source: d.csv}\noutput: {data: m.csv}\n"
    text += "protect: [{method: recoding, params: {recode: {plz: {}}}}]\n"
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml")]) == 2
    said = capsys.readouterr().err
    assert said.count("p.yaml:") == 1
    assert "recode.plz: expected " in said
    assert "a mapping with 'age_at' and 'bands'" in said
    assert "not an empty mapping" in said
