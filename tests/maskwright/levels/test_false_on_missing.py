"""Schematron of others that is false where a cell is missing: `validate`, arrival and the end say so alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

REFUSED = 4
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt">
  <pattern id="total"><rule context="Household">
    <assert test="sum(Person/wage) - number(total) &lt;= 0.5 and sum(Person/wage) - number(total) >= -0.5">sum</assert>
  </rule></pattern>
</schema>
"""
PIPELINE = """maskwright: 1
data:
  source: survey.xml
  levels:
    household: {record: Household, key: number}
    person: {record: Person, key: line, in: household}
  variables:
    number: {role: identifier}
    total: {missing: {-9: refused}}
    line: {role: other, type: integer}
edits: [{schematron: rules.sch}]
on_input_violation: WHAT
protect:
  - {method: microaggregation, variables: [wage], params: {k: 3}}
  - {method: microaggregation, variables: [total], params: {k: 3}}
output: {data: masked.xml, record: masked.json}
seed: 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    homes = []
    for number in range(40):
        wages = [number * 37 % 90 + line for line in (1, 2)]
        total = -9 if number < REFUSED else sum(wages)
        persons = "".join(f"<Person><line>{line}</line><wage>{wage}</wage></Person>" for line, wage in enumerate(wages))
        homes.append(f"<Household><number>Q{number}</number><total>{total}</total>{persons}</Household>")
    (tmp_path / "survey.xml").write_text(f"<Survey>{''.join(homes)}</Survey>", encoding="utf-8")
    (tmp_path / "rules.sch").write_text(RULES, encoding="utf-8")
    return tmp_path


def pipeline(folder: Path, what: str) -> Path:
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("WHAT", what), encoding="utf-8")
    return folder / "pipeline.yaml"


def test_arrival_counts_what_validate_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pipeline(folder, "fail")
    assert main(["validate", str(folder / "survey.xml"), "--edits", str(folder / "rules.sch"), "--json"]) == 1
    assert f'"violations": {REFUSED}' in capsys.readouterr().out
    with pytest.raises(mw.EditViolation, match=f"total: {REFUSED}"):
        mw.run(path)
    record = mw.run(pipeline(folder, "drop")).record
    assert record["levels"]["household"]["records"] == 40 - REFUSED
    assert any("false where cells are missing (total: 4 records)" in each["message"] for each in record["notices"])


def test_the_last_word_says_that_cells_are_missing(folder: Path) -> None:
    with pytest.raises(mw.EditViolation) as refused:
        mw.run(pipeline(folder, "mask"))
    said = str(refused.value)
    assert f"finds it broken in {REFUSED} of 40 masked household records: in {REFUSED} cells that it reads" in said
    assert "let the test say what holds then" in said
    assert "tolerance" not in said
