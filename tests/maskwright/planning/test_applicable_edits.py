"""Rules that are true of no original record, or about none, are checked on the masked file all the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

SCHEMATRON = """<schema xmlns="http://purl.oclc.org/dsdl/schematron">
<pattern><rule context="Record[inc &gt; 900]"><assert id="rich" test="age &gt; 95">m</assert></rule></pattern>
<pattern><rule context="Household"><assert id="elsewhere" test="members &gt; 0">m</assert></rule></pattern>
<pattern><rule context="Record"><assert id="pos" test="inc &gt;= 0">m</assert></rule>
<rule context="Record"><assert id="behind" test="inc &gt; 10000">m</assert></rule></pattern></schema>"""


def write(folder: Path, output: str, method: str) -> Path:
    rows = "".join(
        f"<Record><age>{20 + 7 * n % 60}</age><inc>{100 + 13 * (11 * n % 60)}</inc></Record>\n" for n in range(60)
    )
    (folder / "d.xml").write_text(f"<Data>\n{rows}</Data>\n")
    (folder / "d.sch").write_text(SCHEMATRON)
    pipeline = folder / "p.yaml"
    pipeline.write_text(
        "maskwright: 1\ndata: {source: d.xml, variables: {age: {release: as is}}}\nedits: [{schematron: d.sch}]\n"
        f"protect: [{{{method}}}]\noutput: {{data: {output}, record: r.json}}\nseed: 1\n"
    )
    return pipeline


@pytest.mark.parametrize("output", ["m.xml", "m.csv"])
def test_a_rule_that_never_fired_stops_the_release_where_masked_records_violate_it(tmp_path: Path, output: str) -> None:
    pipeline = write(tmp_path, output, "method: additive_noise, variables: [inc], params: {p: 2}")
    with pytest.raises(mw.EditViolation, match="'rich' does not hold"):
        mw.run(pipeline)
    assert not (tmp_path / output).exists()


@pytest.mark.parametrize("output", ["m.xml", "m.csv"])
def test_the_ledger_shows_rules_that_never_fired(tmp_path: Path, output: str) -> None:
    mw.run(write(tmp_path, output, "method: microaggregation, variables: [inc]"))
    record = json.loads((tmp_path / "r.json").read_text())
    rows = {edit["name"]: (edit["fired"], edit["violations"], edit["how"]) for edit in record["edits"]}
    assert rows == {
        "rich": (0, 0, "only an engine understands it"),
        "elsewhere": (0, 0, "it is about no record of this file"),
        "pos": (60, 0, "averages stay inside the interval"),
        "behind": (0, 0, "it is about no record of this file"),
    }


def test_the_plan_says_why_a_rule_never_fired(tmp_path: Path) -> None:
    notices = [
        each["message"]
        for each in plan_pipeline(write(tmp_path, "m.xml", "method: microaggregation, variables: [inc]"))["notices"]
    ]
    said = [notice.partition(": ")[2] for notice in notices if "never fired" in notice]
    assert [text.partition(" true")[0] for text in said] == [
        "its context, 'when' or 'if' is",
        "it is about no record of this file",
        "an earlier rule of its pattern takes the same records",
    ]
