"""Rules across levels as Schematron: lxml.isoschematron and the model name as many records, and they come back."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.levels.as_schematron import nested_schematron_file
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import Structure
from maskwright.planning.levels.bound_edits import outcomes

sys.path.insert(0, str(Path(__file__).parents[2] / "levels"))
from random_survey import LEVELS, RULES, WRITTEN_ONLY, survey
from schematron_counts import schematron_counts


def violations(linked: mw.LinkedData, edits: mw.EditSet) -> dict[str, int]:
    found = outcomes(linked, bind(edits, Structure.of(linked)))
    return {each.name: each.violations for level in found.values() for each in level.edits}


def parsed(rules: tuple[str, ...]) -> mw.EditSet:
    return mw.EditSet.parse([{"rule": rule, "name": f"r{number}"} for number, rule in enumerate(rules)])


@pytest.mark.covering(4)
@pytest.mark.parametrize("seed", range(25))
def test_isoschematron_and_the_model_agree(tmp_path: Path, seed: int) -> None:
    linked = survey(random.Random(seed), tmp_path)
    edits = parsed(RULES + WRITTEN_ONLY) if seed else parsed(RULES)
    schema = tmp_path / "rules.sch"
    schema.write_text(nested_schematron_file(edits, linked).text, encoding="utf-8")
    expected = violations(linked, edits)
    found = {name: failed for name, (failed, _) in schematron_counts(schema, tmp_path / "survey.xml").items()}
    rules = {edit.name: edit.text for edit in edits}
    assert {rules[name]: found[name] for name in expected} == {rules[name]: expected[name] for name in expected}


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_comes_back_in_both_languages(tmp_path: Path, seed: int) -> None:
    linked = survey(random.Random(seed), tmp_path)
    edits = parsed(RULES)
    schema = tmp_path / "rules.sch"
    schema.write_text(nested_schematron_file(edits, linked).text, encoding="utf-8")
    again = read_schematron(schema, levels=LEVELS)
    expected = violations(linked, edits)
    assert violations(linked, again) == expected
    rules = tmp_path / "rules.yaml"
    rules.write_text(mw.convert_edits(again, "yaml").text, encoding="utf-8")
    assert violations(linked, mw.read_edits(rules)) == expected


def test_rules_come_back_as_a_person_writes_them(tmp_path: Path) -> None:
    linked = survey(random.Random(1), tmp_path)
    rules = (
        "count(person) == size",
        "sum(person.income where age >= 18) <= total",
        "any(person where age >= 18)",
        "all(person where age <= 70)",
        "unique(person.rel)",
        "income <= household.total",
        "mother.age - age >= 14",
        "spouse.spouse == pno",
    )
    schema = tmp_path / "rules.sch"
    schema.write_text(nested_schematron_file(parsed(rules), linked, 0).text, encoding="utf-8")
    found = yaml.safe_load(mw.convert_edits(read_schematron(schema, levels=LEVELS), "yaml").text)
    assert tuple(each["rule"] for each in found) == rules


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("max(person.age) - min(person.age) <= 60", r"no max\(\) but alone on a side of a comparison"),
        ("any(person where mother.age > 30)", "the pointers of each member"),
        ("unique(person.rel where age > 3)", "unique\\(\\) of some members only"),
    ],
)
def test_what_xpath_cannot_say_is_refused_by_name(tmp_path: Path, rule: str, said: str) -> None:
    with pytest.raises(mw.EditError, match=f"r0 cannot be written in XPath 1.0: .*{said}"):
        nested_schematron_file(parsed((rule,)), survey(random.Random(1), tmp_path))


def test_the_command_writes_and_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_levels_demo(tmp_path, 300)
    asked = ["edits", str(tmp_path / "edits.yaml"), "--to", "schematron", "--pipeline", str(tmp_path / "linked.yaml")]
    assert main(asked) == 0
    schema = tmp_path / "written.sch"
    schema.write_text(capsys.readouterr().out, encoding="utf-8")
    failed = {name: each for name, (each, _) in schematron_counts(schema, tmp_path / "survey.xml").items()}
    assert sum(failed.values()) > 0
    assert main(["edits", str(schema), "--to", "yaml", "--pipeline", str(tmp_path / "nested.yaml")]) == 0
    rules = tmp_path / "again.yaml"
    rules.write_text(capsys.readouterr().out, encoding="utf-8")
    pipeline = ["--pipeline", str(tmp_path / "flat.yaml"), "--json"]
    assert main(["validate", str(tmp_path / "survey.csv"), "--edits", str(rules), *pipeline]) == 1
    found = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    assert {name: found[name] for name in failed} == failed


def test_without_levels_the_command_says_what_to_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "edits.yaml"
    rules.write_text("- count(person) == size\n", encoding="utf-8")
    assert main(["edits", str(rules), "--to", "schematron"]) == 2
    assert "--pipeline PIPELINE` reads it from `data: levels:`" in capsys.readouterr().err
