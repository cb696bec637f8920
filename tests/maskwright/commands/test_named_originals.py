"""``document('...')`` in a rule of a run: the original is read, and it is said which file that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="r">
<assert test="v = document('microdata.xml')//v">m</assert></rule></pattern></schema>"""
PIPELINE = """maskwright: 1
data:
  source: data.xml
  variables: {v: {type: integer}, w: {type: integer}}
edits: [{schematron: rules.sch}]
protect: [{method: rank_swapping, params: {p: 20}}]
output: {data: masked.xml}
"""


@pytest.mark.parametrize("is_named", [True, False])
def test_a_run_says_which_file_is_taken_for_the_one_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_named: bool
) -> None:
    records = "".join(f"<r><v>{n % 4 + 10}</v><w>{n * 7 % 50}</w></r>" for n in range(60))
    (tmp_path / "data.xml").write_text(f"<d>{records}</d>")
    (tmp_path / "rules.sch").write_text(RULES)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    if is_named:
        (tmp_path / "microdata.xml").write_bytes((tmp_path / "data.xml").read_bytes())
    assert main(["plan", str(tmp_path / "pipeline.yaml")]) == 0
    printed = capsys.readouterr()
    said = " ".join(f"{printed.out} {printed.err}".split())
    notice = "document('microdata.xml') stands for the original: data.xml is taken for it"
    assert said.count(notice) == (0 if is_named else 1)
