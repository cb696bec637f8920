"""The table of docs/reference/levels.md that says which form of data takes what: each cell is tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "levels.md"
FORMS = ("flat", "linked", "nested")
ROWS = ["child_benefit", "capital", "tax", "total", "disp"]
INCOMES = ["wages", "selfe", "pens", "bene", "income"]
REPORT = {"k_guarantee": "report"}


def masks(variables: list[str], **params: Any) -> dict[str, Any]:
    return {"method": "microaggregation", "variables": variables, "params": {"k": 3, **params}}


BOTH = [masks(ROWS), masks(INCOMES)]
RECODED = {"recode": {"age": [16, 30, 45, 60, 75]}, "release_edits": {"drop": ["age"]}}
PIPELINES: dict[str, dict[str, Any]] = {
    "rules in YAML": {"protect": BOTH},
    "rules in Schematron": {"protect": BOTH, "edits": [{"schematron": "survey.sch"}]},
    "masks on each level, totals derived": {"protect": BOTH},
    "members moved onto a total (`totals`)": {
        "protect": [masks(ROWS, totals={"total": "adjust"}, **REPORT), masks(INCOMES, **REPORT)]
    },
    "whole households (`unit`)": {"protect": [{**masks([*ROWS, *INCOMES], rare="drop"), "unit": "household"}]},
    "`totals` with `unit`: a household is masked with its members": {
        "protect": [{**masks([*ROWS, *INCOMES], totals={"total": "adjust"}, **REPORT), "unit": "household"}]
    },
    "suppression": {
        "protect": [*BOTH, {"method": "local_suppression", "variables": ["region"], "params": {"k": 3}}]
    },
    "recoding": {"protect": [*BOTH, {"method": "recoding", "params": RECODED}]},
    "sampling": {
        "protect": [
            {"method": "sampling", "params": {"fraction": 0.5}},
            masks(ROWS, **REPORT),
            masks(INCOMES, **REPORT),
        ]
    },
    "`on_input_violation: localize`": {"protect": BOTH, "on_input_violation": "localize"},
}  # fmt: skip


def table() -> dict[str, dict[str, bool]]:
    """Rows of the table, and which form takes what they are about."""
    part = PAGE.read_text(encoding="utf-8").partition("| what | flat | linked | nested |\n|---|---|---|---|\n")[2]
    rows = [line.strip("|\n ").split(" | ") for line in part.partition("\n\n")[0].splitlines()]
    return {what: dict(zip(FORMS, (cell == "yes" for cell in cells), strict=True)) for what, *cells in rows}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_levels_demo(tmp_path_factory.mktemp("levels"), 60).edits.parent


def test_every_row_is_tried() -> None:
    commands = {"`maskwright advise levels`", "`maskwright validate --original`"}
    assert table().keys() == PIPELINES.keys() | commands


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", PIPELINES)
def test_what_a_form_takes(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, form: str) -> None:
    monkeypatch.chdir(folder)
    stated = yaml.safe_load(Path(f"{form}.yaml").read_text(encoding="utf-8"))
    stated["data"]["variables"] = yaml.safe_load(Path("flat.yaml").read_text(encoding="utf-8"))["data"]["variables"]
    linked = {"household": "households_out.csv", "person": "persons_out.csv"}
    data = linked if form == "linked" else f"out.{'xml' if form == 'nested' else 'csv'}"
    stated |= {"edits": [{"yaml": "edits.yaml"}], "measure": [], "output": {"data": data}} | PIPELINES[what]
    stated.pop("thresholds", None)
    stated.pop("waive", None)
    Path("tried.yaml").write_text(yaml.safe_dump(stated, sort_keys=False), encoding="utf-8")
    assert (main(["plan", "tried.yaml"]) == 0) == table()[what][form]


@pytest.mark.parametrize("form", FORMS)
def test_what_a_command_takes(folder: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(folder)
    assert (main(["advise", "levels", f"{form}.yaml"]) == 0) == table()["`maskwright advise levels`"][form]
    data = {"flat": ["survey.csv"], "linked": ["households.csv", "persons.csv"], "nested": ["survey.xml"]}[form]
    asked = ["--edits", "edits.yaml", "--pipeline", f"{form}.yaml", "--original", data[0]]
    assert (main(["validate", *data, *asked]) < 2) == table()["`maskwright validate --original`"][form]
