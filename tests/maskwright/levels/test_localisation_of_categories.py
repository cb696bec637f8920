"""Located fields where members are counted by a category, and where rules ask for a missing code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def located(folder: Path, capsys: pytest.CaptureFixture[str], rule: str, kind: str) -> dict[int, list[str]]:
    """Fields to change of each violating household; the second has no reference person, the child of the third NA."""
    (folder / "h.csv").write_text("hid\na\nb\nc\n", encoding="utf-8")
    persons = ["hid,pno,rel,age,educ", "a,1,1,40,2", "a,2,2,12,-8", "b,1,2,50,1", "c,1,1,60,2", "c,2,2,9,NA"]
    (folder / "p.csv").write_text("\n".join(persons) + "\n", encoding="utf-8")
    stated = {
        "maskwright": 1,
        "data": {
            "levels": {
                "household": {"source": "h.csv", "key": "hid"},
                "person": {"source": "p.csv", "key": "pno", "in": "household"},
            },
            "variables": {"rel": {"type": kind}, "educ": {"type": "nominal", "missing": ["NA", "-8"]}},
        },
        "protect": [{"method": "microaggregation", "variables": ["age"], "params": {"k": 2}}],
        "output": {"data": {"household": "x.csv", "person": "y.csv"}},
    }
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    (folder / "edits.yaml").write_text(yaml.safe_dump([rule]), encoding="utf-8")
    files = [str(folder / name) for name in ("h.csv", "p.csv")]
    rules = ["--pipeline", str(folder / "pipeline.yaml"), "--edits", str(folder / "edits.yaml")]
    main(["localize", *files, *rules, "--json"])
    said = json.loads(capsys.readouterr().out)
    left = (record for each in said["not_localised"] for record in each["first_records"])
    return {each["record"]: each["variables"] for each in said["fields"]} | {record: [] for record in left}


@pytest.mark.parametrize("kind", ["nominal", "integer"])
@pytest.mark.parametrize("rule", ["one(person where rel == 1)", "count(person where rel == 1) == 1"])
def test_members_are_counted_by_a_category_as_by_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str, kind: str
) -> None:
    assert located(tmp_path, capsys, rule, kind) == {2: ["rel[1]"]}


def test_a_rule_on_a_missing_code_is_asked_of_each_member(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = located(tmp_path, capsys, 'if age < 15 then educ is "-8"', "integer")
    assert list(found) == [3]


def test_a_rule_that_asks_for_a_number_is_asked_of_each_member(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(located(tmp_path, capsys, "if age > 15 then educ is number", "integer")) == []
