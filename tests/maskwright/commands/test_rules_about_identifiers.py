"""Rules that read identifiers check what arrives; nobody could check them in a release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PIPELINE = """maskwright: 1
data:
  source: persons.csv
  variables:
    born: {role: identifier, type: date, format: "%d.%m.%Y"}
    name: {role: identifier}
    age: {role: other, type: integer}
    income: {role: confidential}
on_input_violation: ACTION
edits:
  - {rule: 'age_at(born, 2024-12-31) == age', name: born}
  - {rule: 'age >= 0', name: whole}
protect: [{method: rounding, variables: [income], params: {base: 10}}]
output: {data: masked.csv, record: run.json}
seed: 1
"""


def pipeline(folder: Path, action: str = "mask", wrong: int = 0) -> Path:
    """A pipeline, and persons of whom some are not as old as they say."""
    ages = [20 + 7 * each % 50 for each in range(200)]
    born = [f"01.03.{2024 - age}" for age in ages]
    frame = pd.DataFrame({"born": born, "name": [f"n{each}" for each in range(200)], "age": ages,
                          "income": [1000 + 7 * (11 * each % 200) for each in range(200)]})  # fmt: skip
    frame.loc[: wrong - 1, "age"] += 3
    frame.to_csv(folder / "persons.csv", index=False)
    (folder / "p.yaml").write_text(PIPELINE.replace("ACTION", action))
    return folder / "p.yaml"


def test_a_rule_about_an_identifier_checks_the_original_and_is_not_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(pipeline(tmp_path, wrong=4))]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert "edit 'born' reads born, which is not published: it checks the original only" in said
    assert "4 of 200 records violate it" in said
    assert "born" not in pd.read_csv(tmp_path / "masked.csv").columns
    assert not any("age_at" in path.read_text() for path in tmp_path.glob("masked*"))
    edits = json.loads((tmp_path / "run.json").read_text())["edits"]
    assert "whole" in json.dumps(edits)
    assert '"born"' not in json.dumps(edits)


def test_records_that_violate_it_stop_the_run_or_are_left_out(tmp_path: Path) -> None:
    assert main(["run", str(pipeline(tmp_path, "fail", wrong=4))]) == 1
    assert main(["run", str(pipeline(tmp_path, "fail"))]) == 0
    assert len(pd.read_csv(tmp_path / "masked.csv")) == 200
    assert main(["run", str(pipeline(tmp_path, "drop", wrong=4))]) == 0
    assert len(pd.read_csv(tmp_path / "masked.csv")) == 196


def test_advice_on_keys_is_given_beside_such_a_rule(tmp_path: Path) -> None:
    path = pipeline(tmp_path)
    assert main(["advise", "keys", str(tmp_path / "persons.csv"), "--pipeline", str(path)]) == 0
