"""Totals over members that no rule declares: masking one side of them hides nothing, and that is a doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.waived("spike-lost")  # a fifth of the wages are 0: these tests are about totals

PERSON_STEP = {"method": "microaggregation", "variables": ["wages", "age"], "params": {"k": 5}}
HOUSEHOLD_STEP = {"method": "microaggregation", "variables": ["together", "space"], "params": {"k": 5}}


def survey(folder: Path, function: str, exceptions: int = 0, count: int = 300) -> None:
    random = np.random.default_rng(8)
    size = random.integers(1, 5, count)
    persons = pd.DataFrame({"hid": np.repeat(np.arange(count), size)})
    persons["pno"] = persons.groupby("hid").cumcount() + 1
    persons["wages"] = random.integers(1, 90_000, len(persons)) * (random.random(len(persons)) < 0.8)
    persons["age"] = random.integers(0, 90, len(persons))
    grouped = persons.groupby("hid")["wages"]
    together = (grouped.size() if function == "count" else getattr(grouped, function)()).to_numpy().copy()
    together[random.choice(count, exceptions, replace=False)] += 1
    space = random.integers(20, 200, count)
    pd.DataFrame({"hid": range(count), "together": together, "space": space}).to_csv(folder / "h.csv", index=False)
    persons.to_csv(folder / "p.csv", index=False)


def run(folder: Path, protect: list[dict[str, Any]], edits: list[str], **more: Any) -> int:
    as_is = {name: {"release": "as is"} for name in ("wages", "age", "together", "space")}
    masked = {name: {} for step in protect for name in step["variables"]}
    stated = {
        "maskwright": 1, "edits": edits, "protect": protect, "measure": [], "seed": 5, **more,
        "data": {
            "levels": {
                "household": {"source": "h.csv", "key": "hid"},
                "person": {"source": "p.csv", "key": "pno", "in": "household"},
            },
            "variables": {**as_is, **masked},
        },
        "output": {"data": {"household": "hm.csv", "person": "pm.csv"}},
    }  # fmt: skip
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    return main(["run", str(folder / "pipeline.yaml")])


@pytest.mark.parametrize("function", ["sum", "max", "min"])
@pytest.mark.parametrize(("step", "subject"), [(HOUSEHOLD_STEP, "together"), (PERSON_STEP, "wages")])
def test_a_total_beside_its_members_is_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], function: str, step: dict[str, Any], subject: str
) -> None:
    survey(tmp_path, function)
    assert run(tmp_path, [step], []) == 1
    said = " ".join("".join(capsys.readouterr()).split())
    assert f"follows-from-published: {subject}:" in said
    assert f"{function}(person.wages) == together" in said
    waiver = {"doubt": "follows-from-published", "variable": subject, "because": "known outside"}
    assert run(tmp_path, [step], [], waive=[waiver]) == 0


def test_a_number_of_members_is_doubted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey(tmp_path, "count")
    assert run(tmp_path, [HOUSEHOLD_STEP], []) == 1
    assert "count(person) == together" in " ".join("".join(capsys.readouterr()).split())


def test_few_exceptions_change_nothing_and_many_do(tmp_path: Path) -> None:
    survey(tmp_path, "sum", exceptions=1)
    assert run(tmp_path, [HOUSEHOLD_STEP], []) == 1
    survey(tmp_path, "sum", exceptions=30)
    assert run(tmp_path, [HOUSEHOLD_STEP], []) == 0


def test_what_is_masked_on_both_sides_is_no_doubt(tmp_path: Path) -> None:
    survey(tmp_path, "sum")
    assert run(tmp_path, [HOUSEHOLD_STEP, PERSON_STEP], []) == 0


def test_a_declared_rule_is_kept_instead(tmp_path: Path) -> None:
    survey(tmp_path, "sum")
    assert run(tmp_path, [HOUSEHOLD_STEP, PERSON_STEP], ["sum(person.wages) == together"]) == 0
    households, persons = pd.read_csv(tmp_path / "hm.csv"), pd.read_csv(tmp_path / "pm.csv")
    sums = persons.groupby("hid")["wages"].sum()
    assert households.set_index("hid")["together"].to_dict() == sums.to_dict()


def test_a_total_of_totals_that_edits_give_is_masked_too(tmp_path: Path) -> None:
    """Two edits, from persons to households and from these to the town; a town's total that none gives is doubted."""
    survey(tmp_path, "sum")
    homes = pd.read_csv(tmp_path / "h.csv").assign(town=lambda own: own["hid"] // 6)
    towns = homes.groupby("town")["together"].sum().reset_index(name="whole")
    towns.to_csv(tmp_path / "t.csv", index=False)
    homes.to_csv(tmp_path / "h.csv", index=False)
    levels = {
        "town": {"source": "t.csv", "key": "town"},
        "household": {"source": "h.csv", "key": "hid", "in": "town"},
        "person": {"source": "p.csv", "key": "pno", "in": "household"},
    }
    others = {name: {"role": "other"} for name in ("age", "space")}
    pipeline = {
        "maskwright": 1, "data": {"levels": levels, "variables": others},
        "edits": ["sum(person.wages) == together", "sum(household.together) == whole"], "measure": [], "seed": 5,
        "protect": [{"method": "microaggregation", "variables": ["wages", "together", "whole"], "params": {"k": 3}}],
        "output": {"data": {"town": "tm.csv", "household": "hm.csv", "person": "pm.csv"}},
    }  # fmt: skip
    path = tmp_path / "pipeline.yaml"
    for edits, code in (pipeline["edits"], 0), ([], 1):
        steps = pipeline["protect"] if edits else [{**pipeline["protect"][0], "variables": ["wages", "together"]}]
        text = yaml.safe_dump(pipeline | {"edits": edits, "protect": steps}, sort_keys=False)
        path.write_text(text, encoding="utf-8")
        assert main(["run", str(path), "--quiet"]) == code
    masked = {name: pd.read_csv(tmp_path / f"{name}m.csv") for name in "thp"}
    per_town = masked["h"].groupby("town")["together"].sum()
    assert (masked["t"].set_index("town")["whole"] - per_town).abs().max() < 0.5


def test_edits_that_share_a_variable_hide_no_total_that_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Edits tie wages to income, income to a total, and the total to the sum of wages, which stands in the file."""
    survey(tmp_path, "sum")
    persons, homes = pd.read_csv(tmp_path / "p.csv"), pd.read_csv(tmp_path / "h.csv")
    persons = persons.assign(other=persons["age"] * 3, income=persons["wages"] + persons["age"] * 3)
    incomes = persons.groupby("hid")["income"].sum().to_numpy()
    homes = homes.assign(total=incomes + homes["space"], rest=incomes + homes["space"] - homes["together"])
    persons.to_csv(tmp_path / "p.csv", index=False)
    homes.to_csv(tmp_path / "h.csv", index=False)
    edits = ["wages + other == income", "sum(person.income) + space == total", "together + rest == total"]
    step = {
        "method": "microaggregation",
        "variables": ["wages", "other", "income"],
        "params": {"k": 3, "k_guarantee": "report"},
    }
    more = {"on_input_violation": "mask"}
    run(tmp_path, [step], edits, **more)
    said = " ".join("".join(capsys.readouterr()).split())
    assert "wages: together of household, published as it is, tells sum(person.wages)" in said
