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
from maskwright.commands.levels.arriving import outcomes
from maskwright.commands.levels.file_of_levels import linked_sources
from maskwright.commands.options import ReadingOptions, pipeline_levels
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.levels.as_schematron import nested_schematron_file
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import Structure
from maskwright.foundation.progress import silent

sys.path.insert(0, str(Path(__file__).parents[2] / "levels"))
from schematron_counts import schematron_counts

LEVELS = {
    "household": mw.LevelDeclaration.model_validate({"record": "Household", "key": "hhid"}),
    "person": mw.LevelDeclaration.model_validate(
        {"record": "Person", "key": "pno", "in": "household", "pointers": {"spouse": "pno", "mother": "pno"}}
    ),
}
PIPELINE = """
data:
  levels:
    household: {source: household.csv, key: hhid}
    person: {source: person.csv, key: pno, in: household, pointers: {spouse: pno, mother: pno}}
  variables: {region: {type: nominal}, sex: {type: nominal}}
"""
RULES = (
    "count(person) == size",
    "count(person) in {1, 3}",
    "count(person) + count(person where age < 18) <= size + 1",
    "count(person where age >= 18 and sex == 'F') >= 1",
    "count(person where age < 18) == 1",
    "count(person where age < 18) != 1",
    "count(person where age < 18) < size",
    "size > count(person where sex != 'M')",
    "sum(person.income) + extra == total",
    "sum(person.income where age >= 18) <= total",
    "sum(person.income) in [0.1, 3]",
    "abs(sum(person.income) - total) <= 0.2",
    "sum(person.income where sex == 'M') / 2 >= extra",
    "one(person where rel == 1)",
    "any(person where age >= 18)",
    "not any(person where age >= 60)",
    "no(person where income > household.total)",
    "all(person where age < 70 or sex == 'F')",
    "all(person where household.region == 'N' or rel in {1, 2})",
    "if extra > 0 then any(person where age < 18)",
    "if region == 'N' then all(person where income is not missing) else size > 1",
    "max(person.age) <= 60",
    "max(person.age) >= 30",
    "min(person.age where sex == 'F') <= 20",
    "min(person.age) > 10",
    "max(person.income) == total",
    "max(person.income) != extra",
    "max(person.age where rel == 1) >= 2 * size",
    "unique(person.rel)",
    "unique(person.sex)",
    "first(person.age) >= 18",
    "total >= extra",
    "income <= household.total",
    "income <= total and age >= 0",
    "if region == 'N' then income > 0.3",
    "income <= sum(person.income) / 2",
    "age >= 18 or any(person where age >= 18)",
    "mother.age - age >= 14",
    "mother.sex == 'F'",
    "spouse.spouse == pno",
    "abs(spouse.age - age) <= 20",
    "if mother.sex == 'F' then age < 50 else rel == 2",
    "mother.income is not missing",
    "previous.age >= age",
    "following.rel != rel",
    "all(person where previous.age >= age)",
)
WRITTEN_ONLY = (
    "first(person.sex) == 'F'",
    "first(person.age where rel == 1) >= 18",
    "max(person.age) <= age + 30",
    "max(person.age) >= 2 * age",
    "mother.mother.age > age",
)


def cell(chosen: random.Random, value: object) -> str:
    """Value of a cell; sometimes it has none."""
    return "" if chosen.random() < 0.12 else str(value)


def survey(chosen: random.Random, folder: Path) -> mw.LinkedData:
    """Write random households as two CSV files and as nested XML; the two as linked data."""
    households, persons, text = [], [], []
    for number in range(1, chosen.randint(10, 14)):
        count = chosen.randint(1, 4)
        amounts = [chosen.choice([0, 0.1, 0.2, 0.3, 0.7, 1.1]) for _ in range(count)]
        extra = chosen.choice([0, 0.1, 0.7])
        total = round(sum(amounts) + extra, 1) if chosen.random() < 0.6 else chosen.choice([0.2, 1.1, 3])
        own = {
            "hhid": str(number), "size": cell(chosen, chosen.choice([count, 2])),
            "region": cell(chosen, chosen.choice("NS")),
            "extra": cell(chosen, extra), "total": cell(chosen, total),
        }  # fmt: skip
        households.append(own)
        members = []
        for each in range(1, count + 1):
            pointers = {name: chosen.choice([0, 0, chosen.randint(1, 4)]) for name in ("spouse", "mother")}
            members.append({
                "pno": str(each), "age": cell(chosen, chosen.choice([5, 17, 18, 40, 64])),
                "sex": cell(chosen, chosen.choice("FM")), "rel": cell(chosen, chosen.randint(1, 3)),
                "income": cell(chosen, amounts[each - 1]),
                **{name: cell(chosen, one) for name, one in pointers.items()},
            })  # fmt: skip
        persons += [{"hhid": str(number), **each} for each in members]
        inside = "".join(f"<Person>{elements(chosen, each)}</Person>" for each in members)
        text.append(f"<Household>{elements(chosen, own)}{inside}</Household>")
    (folder / "survey.xml").write_text(f"<Survey>{''.join(text)}</Survey>", encoding="utf-8")
    for name, rows in (("household", households), ("person", persons)):
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "linked.yaml").write_text(PIPELINE, encoding="utf-8")
    levels = pipeline_levels(ReadingOptions(pipeline=folder / "linked.yaml"), ())
    assert levels is not None
    return linked_sources(levels, silent)


def elements(chosen: random.Random, cells: dict[str, str]) -> str:
    """Cells as elements; one without a value is empty, or not there."""
    return "".join(f"<{name}>{value}</{name}>" for name, value in cells.items() if value or chosen.random() < 0.5)


def violations(linked: mw.LinkedData, edits: mw.EditSet) -> dict[str, int]:
    found = outcomes(linked, bind(edits, Structure.of(linked)))
    return {each.name: each.violations for level in found.values() for each in level.edits}


def parsed(rules: tuple[str, ...]) -> mw.EditSet:
    return mw.EditSet.parse([{"rule": rule, "name": f"r{number}"} for number, rule in enumerate(rules)])


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
    assert "name a pipeline with `data: levels:` by --pipeline" in capsys.readouterr().err
