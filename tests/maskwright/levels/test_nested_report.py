"""What is said of nested XML beside an engine's verdicts: edits on pointers in SVRL, and another encoding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maskwright.cli.main import main

SCHEMA = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Household">
<assert test="sum(Person/income) = number(total)">sum</assert></rule></pattern></schema>"""
PIPELINE = """maskwright: 1
data:
  source: survey.xml
  levels:
    household: {record: Household, key: hhid}
    person: {record: Person, key: pno, in: household, pointers: {mother: pno}}
edits: [{schematron: survey.sch}]
on_input_violation: drop
protect:
  - {method: microaggregation, variables: [total, income], params: {k: 2}}
waive:
  - {doubt: published-undeclared, variable: town, because: a test}
  - {doubt: values-unchanged, variable: income, because: a test}
output: {data: masked.xml, svrl: masked.svrl, record: run.json}
seed: 1
"""


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight households in Latin-1; the second person of the third names a mother who is not there."""
    monkeypatch.chdir(tmp_path)
    person = "<Person><pno>{}</pno><mother>{}</mother><income>{}</income></Person>"
    homes = "".join(
        f"<Household><hhid>{home}</hhid><town>K\u00f8ge</town><total>{2 * home + 3}</total>"
        + "".join(person.format(pno, 5 if (home, pno) == (3, 2) else 0, home + pno) for pno in (1, 2))
        + "</Household>\n"
        for home in range(1, 9)
    )
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<Survey>{homes}</Survey>\n'
    Path("survey.xml").write_bytes(text.encode("latin-1"))
    Path("survey.sch").write_text(SCHEMA, encoding="utf-8")
    Path("pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("fired", ["summary", "all"])
def test_a_pointer_to_nobody_stands_in_svrl(survey: Path, fired: str) -> None:
    asked = ["--edits", "survey.sch", "--pipeline", "pipeline.yaml", "--svrl", "found.svrl", "--fired", fired]
    assert main(["validate", "survey.xml", *asked]) == 1
    report = Path("found.svrl").read_text(encoding="utf-8")
    assert report.count("<svrl:failed-assert") == 1
    assert 'id="pointer: mother within hhid" location="/Survey/Household[3]/Person[2]"' in report
    assert "failures: 1</svrl:text>" in report


def test_a_run_keeps_the_encoding(survey: Path) -> None:
    assert main(["run", "pipeline.yaml"]) == 0
    notices = [each["message"] for each in json.loads(Path("run.json").read_text(encoding="utf-8"))["notices"]]
    assert not any("UTF-8" in each for each in notices)
    assert Path("masked.xml").read_bytes().startswith(b'<?xml version="1.0" encoding="ISO-8859-1"?>')
    assert "K\u00f8ge" in Path("masked.xml").read_text(encoding="latin-1")
    assert "pointer: mother within hhid" in Path("masked.svrl").read_text(encoding="utf-8")
