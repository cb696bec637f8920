"""What "adjusted" counts in data of levels is said beside the counts: records, and of which level."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLDS, SIZE = 40, 2
SAID = (
    "records, not cells, of the level that the edit is about; household records where an edit across levels moved "
    "these with their person records"
)
NOISE = "{method: additive_noise, params: {p: 0.5}, variables: "
APART = f"""
  - {NOISE}[rent, heating, costs]}}
  - {NOISE}[wage, other, income]}}
"""
TOGETHER = """
  - method: microaggregation
    unit: household
    variables: [rent, heating, costs, wage, other, income]
    params: {k: 3, k_guarantee: report}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(3)
    rows = ["hid,pno,rent,heating,costs,wage,other,income"]
    for home in range(HOUSEHOLDS):
        rent, heating = draw.integers(300, 900, 2)
        for person in range(1, SIZE + 1):
            wage, other = draw.integers(100, 4000, 2)
            rows.append(f"{home},{person},{rent},{heating},{rent + heating},{wage},{other},{wage + other}")
    (tmp_path / "in.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    return tmp_path


def run(folder: Path, capsys: pytest.CaptureFixture[str], steps: str) -> tuple[dict[str, Any], str, str]:
    """The record, and what the terminal and the report say."""
    (folder / "p.yaml").write_text(
        "maskwright: 1\ndata:\n  source: in.csv\n  levels:\n"
        "    household: {key: hid, variables: [rent, heating, costs]}\n    person: {key: pno, in: household}\n"
        "edits:\n  - {name: costs, rule: rent + heating == costs}\n"
        "  - {name: income, rule: wage + other == income}\n"
        f"protect:{steps}output: {{data: out.csv, record: run.json, report: run.html}}\nseed: 1\n",
        encoding="utf-8",
    )
    assert main(["run", str(folder / "p.yaml")]) == 0
    record: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    report = " ".join((folder / "run.html").read_text(encoding="utf-8").split())
    return record, " ".join(capsys.readouterr().out.split()), report


def test_records_of_each_level_are_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    persons = HOUSEHOLDS * SIZE
    record, said, report = run(folder, capsys, APART)
    adjusted = {each["name"]: (each["level"], each["adjusted"]) for each in record["edits"]}
    assert adjusted["costs"] == ("household", HOUSEHOLDS)
    assert adjusted["income"] == ("person", persons)
    assert f"counted as adjusted: {SAID}" in said
    assert f"Counted as adjusted: {SAID}." in report
    moved = (
        f"household: {HOUSEHOLDS} of {HOUSEHOLDS} records; person: {HOUSEHOLDS * SIZE} of {HOUSEHOLDS * SIZE} records"
    )
    assert f"moved onto edits: {moved}" in said
    assert f"Moved: {moved}." in report
    assert "records of household" in report
    assert "records of person" in report


def test_nothing_is_said_where_nothing_was_adjusted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, said, report = run(folder, capsys, TOGETHER)
    assert all(each["adjusted"] == 0 for each in record["edits"])
    assert "counted as adjusted" not in said
    assert "Counted as adjusted" not in report
