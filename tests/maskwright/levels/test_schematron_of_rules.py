"""Schematron that was written from rules on levels is these rules again: same kinds, same plan, same masked values."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

sys.path.insert(0, str(Path(__file__).parent))
from schematron_counts import schematron_counts

RULES = [
    {"rule": "sum(person.total) == income", "name": "income"},
    {"rule": "count(person) == size", "name": "size"},
    {"rule": "one(person where relation == 'ref')", "name": "reference"},
    {"rule": "spouse.spouse == line", "name": "spouses"},
    {"rule": "wage + other == total", "name": "parts"},
    {"rule": "wage == 0", "when": "age < 15", "name": "child"},
    {"rule": "rent <= income", "name": "rent"},
    {"rule": "all(person where wage >= 0)", "name": "wages"},
    {"rule": "max(person.age) <= 120", "name": "oldest"},
    {"rule": "sum(person.other where age >= 15) >= 0", "name": "of-adults"},
]
PIPELINE = """maskwright: 1
data:
  source: survey.xml
  levels:
    household: {record: Household, key: number}
    person: {record: Person, key: line, in: household, pointers: {spouse: line}}
  variables:
    number: {role: identifier}
    size: {role: other, type: integer}
    income: {missing: {-9: refused}}
    rent: {missing: {-9: refused}}
    line: {role: other, type: integer}
    age: {role: other}
    relation: {role: other, type: nominal}
    spouse: {role: other, type: integer}
    wage: {missing: {-9: refused}}
    total: {missing: {-9: refused}}
edits: [EDITS]
protect:
  - {method: microaggregation, variables: [income, rent], params: {k: 3, k_guarantee: report}}
  - {method: microaggregation, variables: [wage, other, total], params: {k: 3, k_guarantee: report}}
output: {data: NAME.xml, record: NAME.json}
seed: 5
"""


def survey(households: int = 120) -> str:
    """A survey of whole cents, in which some did not say what they earn, or left it empty."""
    random = np.random.default_rng(3)
    said = []
    for number in range(households):
        persons, totals = [], []
        count = int(random.integers(1, 4))
        for line in range(1, count + 1):
            age = int(random.integers(20, 80)) if line < 3 else int(random.integers(0, 15))
            wage, other = (int(random.integers(1, 900_000)) if age >= 15 else 0), int(random.integers(0, 9000))
            refused, empty = random.random() < 0.05, random.random() < 0.04
            totals.append(None if refused else wage + other)
            cells = {
                "line": line, "age": age, "relation": "ref" if line == 1 else "other",
                "spouse": 3 - line if count > 1 and line < 3 else "",
                "wage": -9 if refused else f"{wage / 100:.2f}", "other": "" if empty else f"{other / 100:.2f}",
                "total": -9 if refused else f"{(wage + other) / 100:.2f}",
            }  # fmt: skip
            persons.append(f"<Person>{_cells(cells)}</Person>")
        whole = None if None in totals else sum(each for each in totals if each is not None)
        rent = -9 if random.random() < 0.05 or whole is None else f"{whole // 4 / 100:.2f}"
        income = -9 if whole is None else f"{whole / 100:.2f}"
        own = {"number": f"Q{number}", "size": count, "income": income, "rent": rent}
        said.append(f"<Household>{_cells(own)}{''.join(persons)}</Household>\n")
    return f"<Survey>\n{''.join(said)}</Survey>\n"


def _cells(cells: dict[str, object]) -> str:
    return "".join(f"<{name}>{cell}</{name}>" for name, cell in cells.items())


@pytest.fixture
def schematron(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Rules as `maskwright edits --to schematron` writes them for the survey, beside the survey and its pipelines."""
    (tmp_path / "survey.xml").write_text(survey(), encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(RULES), encoding="utf-8")
    for name, edits in (("by_yaml", "yaml: rules.yaml"), ("by_schematron", "schematron: rules.sch")):
        text = PIPELINE.replace("EDITS", f"{{{edits}}}").replace("NAME", name)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    pipeline = str(tmp_path / "by_yaml.yaml")
    assert main(["edits", str(tmp_path / "rules.yaml"), "--to", "schematron", "--pipeline", pipeline]) == 0
    written = capsys.readouterr().out
    (tmp_path / "rules.sch").write_text(written, encoding="utf-8")
    return written


def test_the_same_kinds_and_the_same_masked_values(tmp_path: Path, schematron: str) -> None:
    assert "not(number(income) = -9)" in schematron
    records = {name: mw.run(tmp_path / f"{name}.yaml").record for name in ("by_yaml", "by_schematron")}
    kinds, kept = (
        {name: {each["name"]: each[said] for each in record["edits"]} for name, record in records.items()}
        for said in ("kind", "kept_by")
    )
    assert kinds["by_schematron"] == kinds["by_yaml"]
    assert kept["by_schematron"] == kept["by_yaml"]
    assert kept["by_yaml"]["income"] == "derivation"
    assert (tmp_path / "by_schematron.xml").read_bytes() == (tmp_path / "by_yaml.xml").read_bytes()
    assert not any("give it a tolerance" in each["message"] for each in records["by_schematron"]["notices"])


def test_back_to_yaml(tmp_path: Path, schematron: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert schematron
    files = [str(tmp_path / "rules.sch"), "--to", "yaml", "--pipeline", str(tmp_path / "by_yaml.yaml")]
    assert main(["edits", *files]) == 0
    back = yaml.safe_load(capsys.readouterr().out)
    assert [{key: each[key] for key in each if key in ("rule", "when", "name")} for each in back] == RULES


def test_a_test_that_was_changed_is_what_counts(
    tmp_path: Path, schematron: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for years, code in ((30, 1), (125, 0)):
        changed = schematron.replace("number(age) &gt; 120", f"number(age) &gt; {years}")
        assert changed != schematron
        (tmp_path / "rules.sch").write_text(changed, encoding="utf-8")
        assert main(["plan", "--json", str(tmp_path / "by_schematron.yaml")]) == code
        said = " ".join("".join(capsys.readouterr()).split())
        assert ("(oldest: " if code else "oldest: for the levels, decimals and missing codes of these data") in said


def test_a_missing_code_by_name_is_written_where_the_declarations_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "survey.xml").write_text(survey(), encoding="utf-8")
    rules = [
        {"name": "own", "rule": 'if wage is "-9" then age < 30'},
        {"name": "of-members", "rule": 'any(person where wage is "-9") or income >= 5000'},
        {"name": "of-spouse", "rule": 'if spouse.wage is "-9" then age < 50'},
        {"name": "of-household", "rule": 'not household.rent is "-9"', "when": "age < 15"},
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PIPELINE.replace("EDITS", "{yaml: rules.yaml}").replace("NAME", "out"), encoding="utf-8")
    asked = ["edits", str(tmp_path / "rules.yaml"), "--to", "schematron"]
    assert main([*asked, "--pipeline", str(pipeline)]) == 0
    (tmp_path / "rules.sch").write_text(capsys.readouterr().out, encoding="utf-8")
    counted = schematron_counts(tmp_path / "rules.sch", tmp_path / "survey.xml")
    arguments = [str(tmp_path / "survey.xml"), "--edits", str(tmp_path / "rules.yaml"), "--pipeline", str(pipeline)]
    assert main(["validate", *arguments, "--json"]) == 1
    said = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    assert {name: said[name] for name in counted} == {name: failed for name, (failed, _) in counted.items()}
    assert all(failed > 0 for failed, _ in counted.values())
    assert main(asked) == 2
    assert "give them (`--pipeline`)" in capsys.readouterr().err
