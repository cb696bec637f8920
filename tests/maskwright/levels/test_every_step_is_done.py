"""No step is lost where the variables it masks are computed across levels: it is planned, told and done, or refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main
from maskwright.commands.levels import planning, running
from maskwright.planning.levels.level_steps import LevelSteps, without_derived
from maskwright.release.levels.record import record_of_levels

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLDS = 40
SAMPLING = {"method": "sampling", "params": {"fraction": 0.5}}
TOTAL = {"method": "microaggregation", "variables": ["total"], "params": {"k": 3, "k_guarantee": "report"}}
INCOME = {"method": "microaggregation", "variables": ["income"], "params": {"k": 3, "k_guarantee": "report"}}


def survey(folder: Path) -> None:
    """Households with the sum of their members' incomes in three forms; zone z9 occurs once."""
    random = np.random.default_rng(3)
    upper, lower, nested = [], [], []
    for household in range(1, HOUSEHOLDS + 1):
        incomes = random.integers(100, 3000, 1 + household % 4)
        zone = "z9" if household == 7 else f"z{household % 3}"
        upper.append({"hid": household, "zone": zone, "total": incomes.sum()})
        persons = list(enumerate(incomes, 1))
        lower += [{"hid": household, "pno": place, "income": income} for place, income in persons]
        below = "".join(f"<P><pno>{place}</pno><income>{income}</income></P>" for place, income in persons)
        nested.append(f"<H><hid>{household}</hid><zone>{zone}</zone><total>{incomes.sum()}</total>{below}</H>")
    pd.DataFrame(upper).to_csv(folder / "households.csv", index=False)
    pd.DataFrame(lower).to_csv(folder / "persons.csv", index=False)
    pd.DataFrame(lower).merge(pd.DataFrame(upper)).to_csv(folder / "flat.csv", index=False)
    (folder / "nested.xml").write_text(f"<S>{''.join(nested)}</S>", encoding="utf-8")


def pipeline(folder: Path, form: str, protect: list[dict[str, Any]]) -> Path:
    survey(folder)
    household: dict[str, Any] = {"key": "hid"}
    person: dict[str, Any] = {"key": "pno", "in": "household"}
    data: dict[str, Any] = {
        "levels": {"household": household, "person": person},
        "variables": {"zone": {"role": "quasi_identifier", "type": "nominal", "release": "as is"}},
    }
    output: dict[str, Any] = {"data": {"household": "h.csv", "person": "p.csv"}}
    if form == "linked":
        household["source"], person["source"] = "households.csv", "persons.csv"
    elif form == "flat":
        data["source"], household["variables"], output = "flat.csv", ["zone", "total"], {"data": "f.csv"}
    else:
        data["source"], household["record"], person["record"] = "nested.xml", "H", "P"
        output = {"data": "n.xml"}
    stated = {
        "maskwright": 1, "data": data, "edits": ["sum(person.income) == total"], "protect": protect,
        "measure": ["pil"], "output": output | {"public_record": "about.json"}, "seed": 1,
    }  # fmt: skip
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    return path


def released(folder: Path, form: str) -> pd.DataFrame:
    """Persons with the variables of their households, as they stand in the written files."""
    if form == "linked":
        return pd.read_csv(folder / "p.csv").merge(pd.read_csv(folder / "h.csv"))
    if form == "flat":
        return pd.read_csv(folder / "f.csv")
    above = pd.read_xml(folder / "n.xml", xpath="//H")[["hid", "total"]]
    below = pd.read_xml(folder / "n.xml", xpath="//P")
    counts = pd.read_xml(folder / "n.xml", xpath="//H", elems_only=True)
    assert len(counts) == len(above)
    sizes = [each.count("<P>") for each in (folder / "n.xml").read_text(encoding="utf-8").split("<H>")[1:]]
    return pd.concat(
        [below.reset_index(drop=True), above.loc[above.index.repeat(sizes)].reset_index(drop=True)], axis=1
    )


def assert_totals(frame: pd.DataFrame) -> None:
    groups = frame.groupby("hid")
    assert (groups["total"].nunique() == 1).all()
    assert (groups["income"].sum() == groups["total"].first()).all()


NAMED = [SAMPLING | {"variables": [name]} for name in ("total", "income", "zone")]
DRAWN = [
    [SAMPLING, TOTAL, INCOME], [TOTAL, INCOME, SAMPLING], *([each, TOTAL, INCOME] for each in NAMED),
    *([TOTAL, INCOME, each] for each in NAMED),
]  # fmt: skip


@pytest.mark.parametrize("form", ["flat", "linked", "nested"])
@pytest.mark.parametrize("protect", DRAWN, ids=lambda steps: "-".join(str(step.get("variables")) for step in steps))
def test_half_of_the_households_is_drawn_where_their_total_is_computed(
    protect: list[dict[str, Any]], form: str, tmp_path: Path
) -> None:
    assert main(["run", str(pipeline(tmp_path, form, protect))]) == 0
    frame = released(tmp_path, form)
    assert frame["hid"].nunique() == HOUSEHOLDS // 2
    assert_totals(frame)
    told = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    assert [step["method"] for step in told["steps"]] == [step["method"] for step in protect]
    assert {each["name"] for each in told["variables"]} == {"hid", "zone", "total", "pno", "income"}


@pytest.mark.parametrize("form", ["flat", "linked", "nested"])
def test_rare_households_are_left_out_where_a_total_is_computed(form: str, tmp_path: Path) -> None:
    rare = {"method": "record_suppression", "variables": ["zone"], "params": {"k": 5}}
    assert main(["run", str(pipeline(tmp_path, form, [TOTAL, INCOME, rare]))]) == 0
    frame = released(tmp_path, form)
    assert frame["hid"].nunique() == HOUSEHOLDS - 1
    assert_totals(frame)


def test_the_plan_has_every_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(pipeline(tmp_path, "flat", [SAMPLING, TOTAL, INCOME])), "--json"])
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [(step["step"], step["method"]) for step in steps] == [
        (1, "sampling"), (2, "microaggregation"), (3, "microaggregation"),
    ]  # fmt: skip
    assert steps[1]["groups"][0]["computed"] == ["total"]


@pytest.mark.parametrize(
    "step",
    [
        {"method": "record_suppression", "variables": ["total"], "params": {"k": 5}},
        {"method": "local_suppression", "variables": ["zone", "total"], "params": {"k": 5, "keys": ["zone", "total"]}},
    ],
    ids=lambda step: str(step["method"]),
)
def test_what_takes_away_by_a_computed_total_is_refused(
    step: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(pipeline(tmp_path, "flat", [TOTAL, INCOME, step]))]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"step 3 ({step['method']}) needs the values of total" in said
    assert not (tmp_path / "f.csv").exists()


def test_a_step_that_is_lost_stops_the_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lossy(*given: Any) -> Any:
        found = without_derived(*given)
        kept = tuple(step for step in found.steps if step.method.name != "sampling")
        return LevelSteps(kept, found.computed)

    monkeypatch.setattr(planning, "without_derived", lossy)
    path = str(pipeline(tmp_path, "flat", [SAMPLING, TOTAL, INCOME]))
    for command in ("plan", "run"):
        assert main([command, path]) == 3
        assert "step 1 (sampling) is not in the plan" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "f.csv").exists()


def test_a_step_that_was_not_run_stops_the_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lossy(*given: Any) -> Any:
        record = record_of_levels(*given)
        return record.model_copy(update={"methods": tuple(each for each in record.methods if each.step != 3)})

    monkeypatch.setattr(running, "record_of_levels", lossy)
    assert main(["run", str(pipeline(tmp_path, "flat", [SAMPLING, TOTAL, INCOME]))]) == 3
    assert "step 3 (microaggregation) was not run on income" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "f.csv").exists()
