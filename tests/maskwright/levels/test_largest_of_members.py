"""Rules that hold a member against the largest or smallest of all members: records of a group are moved onto them."""

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

MOST = ["if rel == 1 then income >= max(person.income)", "max(person.income where rel == 1) >= max(person.income)"]
LEAST = ["if rel == 1 then income <= min(person.income)", "min(person.income) >= max(person.income where rel == 1)"]
NOISE = {"method": "additive_noise", "variables": ["income"], "params": {"p": 0.5}}


def survey(folder: Path, sign: int) -> None:
    """Households whose reference person, rel 1, has the largest income, or the smallest; with the total of all."""
    random = np.random.default_rng(4)
    rows = []
    for household in range(1, 61):
        incomes = np.sort(random.integers(1000, 9000, 1 + household % 4))[::-sign]
        rows += [
            {"hid": household, "pno": place, "rel": min(place, 2), "income": income,
             "age": 20 + (7 * household + 3 * place) % 50, "total": incomes.sum()}
            for place, income in enumerate(incomes, 1)
        ]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "flat.csv", index=False)


def pipeline(folder: Path, rule: str, protect: list[dict[str, Any]], sign: int = 1) -> Path:
    survey(folder, sign)
    stated = {
        "maskwright": 1,
        "data": {
            "source": "flat.csv",
            "levels": {
                "household": {"key": "hid", "variables": ["total"]}, "person": {"key": "pno", "in": "household"},
            },
            "variables": {"rel": {"role": "other", "type": "integer"}, "age": {"role": "other"}},
        },
        "edits": ["sum(person.income) == total", {"name": "reference", "rule": rule}],
        "protect": [{"method": "microaggregation", "variables": ["total"], "params": {"k": 3}}, *protect],
        "measure": [], "output": {"data": "f.csv", "record": "run.json"}, "seed": 1,
    }  # fmt: skip
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    return path


@pytest.mark.parametrize(("rule", "sign"), [*((rule, 1) for rule in MOST), *((rule, -1) for rule in LEAST)])
def test_the_reference_person_keeps_the_largest_or_smallest_income(rule: str, sign: int, tmp_path: Path) -> None:
    assert main(["run", str(pipeline(tmp_path, rule, [NOISE], sign))]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert next(each["adjusted"] for each in record["edits"] if each["name"] == "reference") > 0
    frame = pd.read_csv(tmp_path / "f.csv")
    groups = frame.groupby("hid")
    own = frame[frame["rel"] == 1].set_index("hid")["income"].sort_index()
    others = groups["income"].max() if sign == 1 else groups["income"].min()
    assert (own == others.sort_index()).all()
    assert (groups["income"].sum() == groups["total"].first()).all()


def test_what_another_step_promises_stays(tmp_path: Path) -> None:
    ages = {"method": "microaggregation", "variables": ["age"], "params": {"k": 5}}
    assert main(["run", str(pipeline(tmp_path, MOST[0], [NOISE, ages]))]) == 0
    frame = pd.read_csv(tmp_path / "f.csv")
    assert frame.groupby("age")["hid"].nunique().min() >= 5
    own = frame[frame["rel"] == 1].set_index("hid")["income"].sort_index()
    assert (own == frame.groupby("hid")["income"].max().sort_index()).all()


def test_the_plan_says_that_a_promise_of_k_leaves_it_unkept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    incomes = {"method": "microaggregation", "variables": ["income"], "params": {"k": 25}}
    path = str(pipeline(tmp_path, MOST[0], [incomes]))
    main(["plan", path, "--json"])
    edit = next(each for each in json.loads(capsys.readouterr().out)["edits"] if each["name"] == "reference")
    assert edit["kept_by"] == "checked"
    assert "step 2 promises k" in edit["how"]
