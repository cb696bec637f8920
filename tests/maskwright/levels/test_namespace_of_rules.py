"""Schematron whose tests name elements of a declared namespace, on nested XML in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt">
  <ns prefix="s" uri="urn:survey"/>
  <pattern id="total"><rule context="s:Household">
    <assert test="sum(s:Person/s:wage) = number(s:total)">sum</assert>
  </rule></pattern>
  <pattern id="size"><rule context="//s:Person">
    <assert test="number(s:line) &lt;= count(../s:Person)">size</assert>
  </rule></pattern>
</schema>
"""
PIPELINE = """maskwright: 1
data:
  source: survey.xml
  levels:
    household: {record: Household, key: number}
    person: {record: Person, key: line, in: household}
  variables: {number: {role: identifier}, line: {role: other, type: integer}}
edits: [{schematron: rules.sch}]
protect:
  - {method: microaggregation, variables: [wage], params: {k: 3}}
  - {method: microaggregation, variables: [total], params: {k: 3}}
output: {data: masked.xml}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    homes = []
    for number in range(30):
        wages = [number * 37 % 90 + line for line in (1, 2)]
        said = "".join(f"<Person><line>{line}</line><wage>{w}</wage></Person>" for line, w in enumerate(wages, 1))
        homes.append(f"<Household><number>Q{number}</number><total>{sum(wages)}</total>{said}</Household>")
    text = f'<Survey xmlns="urn:survey">{"".join(homes)}</Survey>'
    (tmp_path / "survey.xml").write_text(text, encoding="utf-8")
    (tmp_path / "rules.sch").write_text(RULES, encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path / "pipeline.yaml"


def test_a_run_keeps_them_and_an_engine_agrees(tmp_path: Path, pipeline: Path) -> None:
    record = mw.run(pipeline).record
    assert {each["name"]: each["kept_by"] for each in record["edits"]}["total"] == "derivation"
    assert main(["validate", str(tmp_path / "masked.xml"), "--edits", str(tmp_path / "rules.sch")]) == 0


def test_a_prefix_that_nothing_declares(tmp_path: Path, pipeline: Path) -> None:
    (tmp_path / "rules.sch").write_text(RULES.replace("s:", "t:"), encoding="utf-8")
    with pytest.raises(mw.InputError, match="the context 't:Household' names neither <Household> nor <Person>"):
        mw.run(pipeline)
