"""A pipeline of one format that says how a file of another is read: what it declares holds, how texts are coded not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

N = 60
PIPELINE = """maskwright: 1
data:
  source: in.csv
  encoding: latin-1
  decimal: ","
  delimiter: ";"
  variables:
    town: {role: other}
    wage: {role: confidential, missing: {NA: not known, -9: refused}}
edits: [wage >= 0]
protect: [{method: additive_noise, variables: [wage]}]
output: {data: OUT}
seed: 1
"""


def released(folder: Path, output: str) -> tuple[str, str]:
    """The pipeline and what it wrote."""
    wages = ["NA" if row % 10 == 0 else "-9" if row % 10 == 1 else f"{1000 + 13 * (7 * row % N)},5" for row in range(N)]
    lines = [f"{('Münster', 'Köln', 'Trier')[row % 3]};{wage}" for row, wage in enumerate(wages)]
    (folder / "in.csv").write_text("\n".join(["town;wage", *lines, ""]), encoding="latin-1")
    (folder / "p.yaml").write_text(PIPELINE.replace("OUT", output), encoding="utf-8")
    assert main(["run", str(folder / "p.yaml"), "--quiet"]) == 0
    return str(folder / "p.yaml"), str(folder / output)


@pytest.mark.parametrize("output", ["out.sav", "out.dta", "out.xlsx", "out.csv", "out.parquet", "out.xml"])
def test_what_a_run_wrote_is_validated_with_its_pipeline(tmp_path: Path, output: str) -> None:
    pipeline, masked = released(tmp_path, output)
    rules = tmp_path / "rules.yaml"
    rules.write_text("edits: [wage >= 0]\n", encoding="utf-8")
    assert main(["validate", masked, "--edits", str(rules), "--pipeline", pipeline]) == 0


def test_an_option_on_the_command_line_holds_for_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline, masked = released(tmp_path, "out.xlsx")
    rules = tmp_path / "rules.yaml"
    rules.write_text("edits: [wage >= 0]\n", encoding="utf-8")
    told = ["--option", "mixed=refuse"]
    assert main(["validate", masked, "--edits", str(rules), "--pipeline", pipeline, *told]) == 2
    assert "numbers and" in capsys.readouterr().err
