"""Data of levels that are declared otherwise than they are: a level without variables, a wrong key, rules at odds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

INCOME = {"method": "microaggregation", "variables": ["income"], "params": {"k": 3}}
SAMPLING = {"method": "sampling", "params": {"fraction": 0.5}}


def pipeline(folder: Path, levels: dict[str, Any], protect: list[dict[str, Any]], **stated: Any) -> Path:
    rows = [
        {"hid": household, "pno": place, "income": 100 * household + 7 * place}
        for household in range(1, 41) for place in range(1, 2 + household % 3)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "flat.csv", index=False)
    pd.DataFrame({"hid": range(1, 41), "port": [number % 4 for number in range(40)]}).to_csv(
        folder / "upper.csv", index=False
    )
    data: dict[str, Any] = {"levels": levels}
    if "source" not in levels["household"]:
        data["source"] = "flat.csv"
    text = {
        "maskwright": 1, "data": data, "edits": ["count(person) >= 1"], "protect": protect,
        "measure": ["pil"], "output": {"data": "f.csv"}, "seed": 1,
    } | stated  # fmt: skip
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(text), encoding="utf-8")
    return path


@pytest.mark.parametrize(("protect", "left"), [([INCOME], 40), ([SAMPLING, INCOME], 20)])
def test_households_with_nothing_but_their_key(protect: list[dict[str, Any]], left: int, tmp_path: Path) -> None:
    levels = {"household": {"key": "hid", "variables": []}, "person": {"key": "pno", "in": "household"}}
    reported = [
        step | {"params": step["params"] | {"k_guarantee": "report"}} if step is INCOME else step for step in protect
    ]
    assert main(["run", str(pipeline(tmp_path, levels, reported))]) == 0
    assert pd.read_csv(tmp_path / "f.csv")["hid"].nunique() == left


def test_a_wrong_key_is_named_beside_the_right_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = {
        "household": {"key": "port", "source": "upper.csv"},
        "person": {"key": "pno", "in": "household", "source": "flat.csv"},
    }
    output = {"data": {"household": "h.csv", "person": "p.csv"}}
    path = pipeline(tmp_path, levels, [INCOME], output=output, edits=[])
    frame = pd.read_csv(tmp_path / "flat.csv").assign(port=1)
    frame.to_csv(tmp_path / "flat.csv", index=False)
    assert main(["plan", str(path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "several of its records have the same 'port'" in said
    assert "say `key: hid`" in said


def test_rules_that_exclude_each_other_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = {"household": {"key": "hid", "variables": []}, "person": {"key": "pno", "in": "household"}}
    edits = [{"name": "low", "rule": "sum(person.income) <= 5"}, {"name": "high", "rule": "sum(person.income) >= 10"}]
    path = pipeline(tmp_path, levels, [INCOME], edits=edits, on_input_violation="drop")
    assert main(["run", str(path)]) == 2
    assert "no record can keep these rules together: 'low' and 'high'" in " ".join(capsys.readouterr().err.split())


def test_groups_without_a_key_of_their_own_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    household = "<H><hid>1</hid><P><pno>1</pno><income>5</income></P></H>"
    (tmp_path / "nested.xml").write_text(f"<S>{household}{household}</S>", encoding="utf-8")
    assert main(["init", str(tmp_path / "nested.xml"), "--to", str(tmp_path / "start.yaml")]) == 2
    assert "no variable of <H> identifies its records" in capsys.readouterr().err
