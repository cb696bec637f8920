"""On data of levels, rules on one line are kept as the same rules on lines of their own: pandas recounts k."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

TOTALS = ["sum(person.wage) == wages", "wages + goods == spent"]
BOUNDS = ["goods >= 0", "stock >= 0"]
OF_MEMBERS = ["max(person.wage) <= 900", "min(person.hours) >= 1"]
ABOVE_MEMBERS = ["wages >= 0", "stock <= 800"]


def firms(folder: Path, count: int = 80) -> None:
    random = np.random.default_rng(4)
    size = random.integers(1, 5, count)
    persons = pd.DataFrame({"fid": np.repeat(np.arange(count), size)})
    persons["no"] = persons.groupby("fid").cumcount() + 1
    persons["wage"] = random.integers(1, 900, len(persons))
    persons["hours"] = random.integers(1, 50, len(persons))
    wages = persons.groupby("fid")["wage"].sum().to_numpy()
    goods = random.integers(0, 5000, count)
    stock = random.integers(0, 800, count)
    pd.DataFrame({"fid": range(count), "wages": wages, "goods": goods, "spent": wages + goods, "stock": stock}).to_csv(
        folder / "f.csv", index=False
    )
    persons.to_csv(folder / "p.csv", index=False)


def step(*names: str, **params: Any) -> dict[str, Any]:
    return {"method": "microaggregation", "variables": list(names), "params": {"k": 4, **params}}


STEPS = [step("wage", "hours"), step("wages", "goods", "spent"), step("stock")]


def run(folder: Path, edits: list[str], protect: list[dict[str, Any]]) -> dict[str, Any]:
    """What is released, as bytes, and the record."""
    folder.mkdir()
    firms(folder)
    stated = {
        "maskwright": 1, "edits": edits, "protect": protect, "measure": [], "seed": 5,
        "data": {"levels": {
            "firm": {"source": "f.csv", "key": "fid"}, "person": {"source": "p.csv", "key": "no", "in": "firm"},
        }},
        "output": {"data": {"firm": "fm.csv", "person": "pm.csv"}, "record": "run.json"},
    }  # fmt: skip
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    assert main(["run", str(folder / "pipeline.yaml")]) == 0
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return {"firm": (folder / "fm.csv").read_bytes(), "person": (folder / "pm.csv").read_bytes(), "record": record}


def test_bounds_on_one_line_keep_a_promised_k(tmp_path: Path) -> None:
    """They are of variables that different steps mask; k is promised of all of these."""
    found = run(tmp_path / "one", [*TOTALS, " and ".join(BOUNDS)], STEPS)
    masked = pd.read_csv(tmp_path / "one" / "fm.csv")
    for name in ("goods", "stock"):
        assert masked[name].value_counts().min() >= 4
    (bounds,) = (each for each in found["record"]["edits"] if each["name"] == "edit-3")
    assert (bounds["violations"], bounds["kept_by"], bounds["adjusted"]) == (0, "construction", 0)
    assert len(found["record"]["edits"]) == 3


@pytest.mark.parametrize(
    "lines",
    [
        [TOTALS, BOUNDS, OF_MEMBERS, ABOVE_MEMBERS],
        [[*TOTALS, *BOUNDS, *OF_MEMBERS, *ABOVE_MEMBERS]],
        [[TOTALS[0], BOUNDS[1]], [OF_MEMBERS[0], TOTALS[1], BOUNDS[0]], [ABOVE_MEMBERS[0], OF_MEMBERS[1]]],
    ],
    ids=["alike", "all", "mixed"],
)
def test_what_is_released_does_not_depend_on_how_rules_stand_on_lines(tmp_path: Path, lines: list[list[str]]) -> None:
    apart = run(tmp_path / "apart", [rule for line in lines for rule in line], STEPS)
    together = run(tmp_path / "together", [" and ".join(line) for line in lines], STEPS)
    assert together["firm"] == apart["firm"]
    assert together["person"] == apart["person"]
    told = [each["name"] for each in together["record"]["edits"]]
    assert sorted(told) == [f"edit-{number}" for number in range(1, len(lines) + 1)]
    assert not any(each["violations"] for each in together["record"]["edits"])


def test_a_total_on_one_line_with_a_bound_is_derived(tmp_path: Path) -> None:
    """It was refused where k is promised: the members of each firm would have had to move onto it."""
    found = run(tmp_path / "one", [f"{TOTALS[0]} and goods >= 0", TOTALS[1]], STEPS)
    firm, person = (pd.read_csv(tmp_path / "one" / name) for name in ("fm.csv", "pm.csv"))
    sums = person.groupby("fid")["wage"].sum()
    assert firm.set_index("fid")["wages"].sort_index().tolist() == sums.sort_index().tolist()
    assert {each["name"]: each["kept_by"] for each in found["record"]["edits"]}["edit-1"] == "derivation"


def test_members_are_asked_for_the_operand_that_is_about_them(tmp_path: Path) -> None:
    """A rule of which one operand is about the members and another is the firm's own is told once, and holds."""
    rule = "sum(person.hours) <= 60 * count(person) and stock >= 0"
    found = run(
        tmp_path / "one", [*TOTALS, rule], [{**each, "params": {"k": 4, "k_guarantee": "report"}} for each in STEPS]
    )
    told = [each for each in found["record"]["edits"] if each["name"] == "edit-3"]
    assert [each["violations"] for each in told] == [0]
