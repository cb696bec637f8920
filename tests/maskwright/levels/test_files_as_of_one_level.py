"""What is done with the files of one level is done with those of several: formats, formulas, records, onlookers."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.maskwright.plugins.installing import installed, package

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

NOTES = ["=1+1", "plain", "@x", "'=q"]
HOUSEHOLDS = 60


def survey(folder: Path) -> pd.DataFrame:
    """Households with one to three persons, in linked files and in a flat one; every seventh income is refused."""
    random = np.random.default_rng(4)
    above = pd.DataFrame({"hid": range(1, HOUSEHOLDS + 1), "rent": random.integers(100, 900, HOUSEHOLDS)})
    above["remark"] = [NOTES[place % 4] for place in range(HOUSEHOLDS)]
    below = pd.DataFrame({"hid": np.repeat(above["hid"], 1 + above["hid"] % 3)}).reset_index(drop=True)
    below["pno"] = below.groupby("hid").cumcount() + 1
    below["income"] = random.integers(0, 3000, len(below)).astype(str)
    below.loc[::7, "income"] = "REF"
    below["note"] = [NOTES[place % 4] for place in range(len(below))]
    above.to_csv(folder / "households.csv", index=False)
    below.to_csv(folder / "persons.csv", index=False)
    below.merge(above).to_csv(folder / "flat.csv", index=False)
    return below


def run(folder: Path, form: str, ending: str = "csv", **changed: Any) -> dict[str, Any]:
    kept = {"keep_key": True, "keep_order": True}
    household, person = {"key": "hid", **kept}, {"key": "pno", "in": "household", **kept}
    data: dict[str, Any] = {
        "levels": {"household": household, "person": person},
        "variables": {
            "income": {"missing": {"REF": "refused"}}, "note": {"role": "other"}, "remark": {"role": "other"},
        },
    }  # fmt: skip
    output: dict[str, Any] = {"record": "run.json"}
    if form == "linked":
        household["source"], person["source"] = "households.csv", "persons.csv"
        output["data"] = {"household": f"h.{ending}", "person": f"p.{ending}"}
    else:
        data["source"], household["variables"], output["data"] = "flat.csv", ["rent", "remark"], f"p.{ending}"
    stated = {
        "maskwright": 1, "data": data, "edits": ["income is 'refused' or income >= 0"], "seed": 1,
        "protect": [{"method": "microaggregation", "variables": ["rent", "income"], "params": {"k": 3}}],
    }  # fmt: skip
    stated |= {"output": output | changed.pop("output", {})} | changed
    (folder / "run.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    assert main(["run", str(folder / "run.yaml"), "--quiet"]) == 0
    return dict(json.loads((folder / "run.json").read_text(encoding="utf-8")))


def kinds(record: dict[str, Any]) -> set[tuple[str, str | None, str | None]]:
    return {(each["kind"], each.get("level"), each.get("variable")) for each in record["notices"]}


def escaped(cells: list[str]) -> list[str]:
    return [f"'{cell}" if cell in NOTES[::2] else cell for cell in cells]


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_formulas_are_counted_and_escaped_on_each_level(form: str, tmp_path: Path) -> None:
    below = survey(tmp_path)
    record = run(tmp_path, form, output={"formulas": "escape"})
    assert {("like-a-formula", "household", "remark"), ("like-a-formula", "person", "note")} <= kinds(record)
    released = pd.read_csv(tmp_path / "p.csv", keep_default_na=False)
    assert released["note"].tolist() == escaped(below["note"].tolist())
    above = released if form == "flat" else pd.read_csv(tmp_path / "h.csv", keep_default_na=False)
    before = pd.read_csv(tmp_path / ("flat.csv" if form == "flat" else "households.csv"))["remark"].tolist()
    assert above["remark"].tolist() == escaped(before)
    unchanged = {each["name"]: each["unchanged"] for each in record["variables"]}
    assert (unchanged["note"], unchanged["remark"]) == (100, 100)


def test_a_text_that_members_are_asked_for_is_not_escaped(tmp_path: Path) -> None:
    """It is read within a function of members alone."""
    below = survey(tmp_path)
    rule = {"rule": "count(person where note == '=1+1') <= 9", "name": "few"}
    record = run(tmp_path, "linked", output={"formulas": "escape"}, edits=[rule])
    assert pd.read_csv(tmp_path / "p.csv", keep_default_na=False)["note"].tolist() == below["note"].tolist()
    said = [each["message"] for each in record["notices"] if each.get("variable") == "note"]
    assert any("since edits read them (few)" in each for each in said)


@pytest.mark.parametrize("form", ["flat", "linked"])
@pytest.mark.parametrize("ending", ["parquet", "sav"])
def test_a_missing_code_that_the_format_has_not_is_told_and_the_edit_on_it_holds(
    ending: str, form: str, tmp_path: Path
) -> None:
    below = survey(tmp_path)
    record = run(tmp_path, form, ending)
    assert ("missing-codes-emptied", "person") in {each[:2] for each in kinds(record)}
    read = pd.read_parquet if ending == "parquet" else pd.read_spss
    assert read(tmp_path / f"p.{ending}")["income"].isna().tolist() == (below["income"] == "REF").tolist()


def test_the_record_names_each_file_that_was_read(tmp_path: Path) -> None:
    survey(tmp_path)
    inputs = [each for each in run(tmp_path, "linked")["inputs"] if each["role"] == "data"]
    hashes = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in
              ("households.csv", "persons.csv")}  # fmt: skip
    assert {each["file"]: each["sha256"] for each in inputs} == hashes


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_a_second_release_with_another_seed_is_told(form: str, tmp_path: Path) -> None:
    survey(tmp_path)
    noise = {"protect": [{"method": "additive_noise", "variables": ["rent", "income"], "params": {"p": 0.2}}]}
    assert "released-before" not in {each[0] for each in kinds(run(tmp_path, form, **noise))}
    assert "released-before" not in {each[0] for each in kinds(run(tmp_path, form, **noise))}
    assert "released-before" in {each[0] for each in kinds(run(tmp_path, form, **noise, seed=2))}


def test_plugins_that_observe_steps_observe_those_of_each_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey(tmp_path)
    seen: list[tuple[int, str, int]] = []

    def after_step(step: int, method: str, block: Any, masked: Any) -> None:
        seen.append((step, method, len(masked.values)))

    with installed(monkeypatch, package("onlooker", after_step=after_step)):
        run(tmp_path, "linked")
    assert {(step, method) for step, method, _ in seen} == {(1, "microaggregation")}
    assert sum(records for _, _, records in seen) > HOUSEHOLDS


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_an_edit_on_what_is_masked_may_read_the_key_of_its_record(form: str, tmp_path: Path) -> None:
    """Records that violate it are mended, and the key is masked by no step and doubted by no one."""
    survey(tmp_path)
    steps = [{"method": "microaggregation", "params": {"k": 3, "k_guarantee": "report"}}]
    waived = [{"doubt": "edit-may-be-wrong", "edit": "edit-1", "because": "incomes are drawn"}]
    record = run(tmp_path, form, edits=["if pno <= 1 then income >= 500"], protect=steps, waive=waived)
    released = pd.read_csv(tmp_path / "p.csv")
    income = pd.to_numeric(released["income"], errors="coerce")
    assert ((released["pno"] > 1) | (income >= 500) | income.isna()).all()
    (edit,) = (each for each in record["edits"] if "pno" in each["text"])
    assert edit["violations_on_arrival"] > 0
    assert edit["violations"] == 0
    assert {each["name"]: each["masked_by"] for each in record["variables"]}["pno"] is None
