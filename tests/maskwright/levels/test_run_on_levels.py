"""Runs on households and their persons: edits judged by pandas, k recounted, keys new, forms alike."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import LevelsDemoFiles, write_levels_demo

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import flat_of_linked, read_flat, violations

HOUSEHOLDS = 400
INCOMES = ["wages", "selfe", "pens", "bene", "income"]
ROWS = ["child_benefit", "capital", "tax", "total", "disp"]
STEPS = [
    {"method": "microaggregation", "variables": ROWS, "params": {"k": 5, "structural_zeros": ["capital"]}},
    {"method": "microaggregation", "variables": INCOMES, "params": {"k": 5}},
]
OUTPUTS = {"flat": "masked.csv", "linked": {"household": "h.csv", "person": "p.csv"}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    return write_levels_demo(tmp_path_factory.mktemp("levels"), HOUSEHOLDS)


@pytest.fixture(scope="module")
def folder(files: LevelsDemoFiles) -> Path:
    return files.edits.parent


def pipeline(folder: Path, form: str, **changes: Any) -> Path:
    """Pipeline of the example with the steps of this module, as a file beside the data."""
    settings = yaml.safe_load((folder / f"{form}.yaml").read_text(encoding="utf-8"))
    settings |= {"protect": STEPS, "measure": ["pil"], "seed": 7}
    settings.pop("thresholds", None)
    settings.pop("waive", None)
    settings["output"] = {"data": OUTPUTS[form], "key_map": f"keys_{form}.csv", "record": f"run_{form}.json"}
    settings |= changes
    path = folder / f"own_{form}.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def released(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    record = mw.run(pipeline(folder, "flat")).record
    return read_flat(folder / "masked.csv"), dict(record)


def test_every_edit_holds_by_pandas(folder: Path, released: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    flat, record = released
    assert sum(violations(read_flat(folder / "survey.csv")).values()) > 0
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    assert {each["name"] for each in record["edits"]} >= set(found)
    assert all(each["violations"] == 0 and each["level"] in ("household", "person") for each in record["edits"])


def test_k_holds_in_households_on_both_levels(released: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    flat, record = released
    assert flat.groupby(INCOMES)["hhid"].nunique().min() >= 5
    rows = flat.drop_duplicates("hhid")
    own = ["child_benefit", "capital", "tax"]
    assert rows.groupby(own).size().min() >= 5
    counted = {each["about"]: each for each in record["k_of_groups"]}
    together = rows.groupby(ROWS)["hhid"].transform("size")
    derived = next(each for about, each in counted.items() if about.endswith("total, disp"))
    assert (derived["smallest"], derived["below"]) == (together.min(), (together < 5).sum())
    members = flat.sort_values(INCOMES).groupby("hhid")[INCOMES].apply(lambda each: tuple(map(tuple, each.to_numpy())))
    whole = pd.DataFrame({"row": rows.set_index("hhid")[ROWS].apply(tuple, axis=1), "members": members})
    alike = whole.groupby(["row", "members"])["row"].transform("size")
    assert record["k_of_groups"][-1]["below"] == (alike < 5).sum()
    assert any("are unlike k - 1 others" in text["message"] for text in record["notices"])


def test_flat_and_linked_release_the_same(folder: Path, released: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    mw.run(pipeline(folder, "linked"))
    flat, _ = released
    joined = flat_of_linked(folder / "h.csv", folder / "p.csv")[flat.columns]
    pd.testing.assert_frame_equal(flat, joined)


def test_keys_are_new_and_pointers_follow(folder: Path, released: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    flat, _ = released
    original = read_flat(folder / "survey.csv")
    assert not set(original["hhid"]) & set(flat["hhid"])
    keys = pd.read_csv(folder / "keys_flat.csv", dtype=str)
    assert (keys["new hhid"] == flat["hhid"]).all()
    before = original.iloc[keys["original_person"].astype(int) - 1].reset_index(drop=True)
    assert (before["hhid"] == keys["hhid"]).all()
    for name in ("age", "sex", "rel", "region"):
        assert (before[name] == flat[name]).all()
    number = flat.set_index(["hhid", "pno"])["age"]
    old = original.set_index(["hhid", "pno"])["age"]
    for pointer in ("spouse", "mother"):
        points = flat[pointer] != "0"
        assert (points == (before[pointer] != "0")).all()
        now = number.loc[list(zip(flat["hhid"][points], flat[pointer][points], strict=True))].to_numpy()
        then = old.loc[list(zip(before["hhid"][points], before[pointer][points], strict=True))].to_numpy()
        assert (now == then).all()
    homes = flat["hhid"].drop_duplicates().map(dict(zip(keys["new hhid"], keys["hhid"], strict=True)))
    place = original["hhid"].drop_duplicates().reset_index(drop=True)
    order = homes.map(dict(zip(place, range(len(place)), strict=True)))
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.1


def test_the_same_seed_gives_the_same_bytes(folder: Path, released: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    before = (folder / "masked.csv").read_bytes()
    mw.run(pipeline(folder, "flat", execution={"workers": 4}))
    assert (folder / "masked.csv").read_bytes() == before


def test_measures_and_variables_say_their_level(released: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    _, record = released
    assert {"household.pil", "person.pil"} <= set(record["measures"])
    levels = {each["name"]: each["level"] for each in record["variables"]}
    assert (levels["region"], levels["age"], levels["total"]) == ("household", "person", "household")
    assert record["levels"]["household"]["original_records"] == HOUSEHOLDS


def test_what_breaks_structure_is_refused_unless_dropped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pipeline(folder, "flat", on_input_violation="mask", output={"data": "never.csv"})
    assert main(["run", str(path)]) == 1
    said = capsys.readouterr().err
    assert "one-reference" in said
    assert "on_input_violation: drop" in said
    assert not (folder / "never.csv").exists()


def test_the_plan_says_who_keeps_what(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(pipeline(folder, "flat")), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    kept = {each["name"]: (each["kept_by"], each["how"]) for each in plan["edits"]}
    assert kept["total-sum"][0] == "derivation"
    assert kept["disposable"] == ("derivation", "disp is computed from total and tax")
    assert kept["tax-at-most-half"][0] == "adjustment"
    assert plan["levels"]["household"] < HOUSEHOLDS


def test_a_size_that_is_masked_is_counted(folder: Path) -> None:
    """A household's size that a step masks is what counting its members gives."""
    steps = [{**STEPS[0], "variables": ["size", *ROWS]}, STEPS[1]]
    wrong = pd.read_csv(folder / "survey.csv", dtype=str)
    wrong.loc[wrong["hhid"] == wrong["hhid"][0], "size"] = "9"
    wrong.to_csv(folder / "wrong_size.csv", index=False)
    path = pipeline(folder, "flat", protect=steps, output={"data": "sized.csv"})
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["data"]["source"] = "wrong_size.csv"
    settings["edits"] = ["count(person) == size"]
    settings["on_input_violation"] = "mask"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    mw.run(path)
    sized = pd.read_csv(folder / "sized.csv")
    assert (sized.groupby("hhid")["pno"].transform("size") == sized["size"]).all()


def test_codebook_and_contributions(folder: Path) -> None:
    output = {"data": "c.csv", "codebook": "book.csv", "record": "c.json"}
    measure = [{"sse": {"as": "loss"}}, {"distance_record_linkage": {"per_record": True}}]
    mw.run(pipeline(folder, "flat", output=output, measure=measure))
    book = pd.read_csv(folder / "book.csv", dtype=str)
    assert {"region", "total", "income", "pno"} <= set(book["variable"])
    record = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    rows = len(read_flat(folder / "c.csv"))
    assert len(record["per_record"]["person.distance_record_linkage"]) == rows


@pytest.mark.parametrize(
    ("variables", "rules", "said"),
    [
        (["region", "size"], [], "the number of its person records tells it"),
        (["region", "size"], ["count(person) == size"], "is counted in what is published"),
    ],
)
def test_what_other_records_give_back_is_not_suppressed(
    folder: Path, capsys: pytest.CaptureFixture[str], variables: list[str], rules: list[str], said: str
) -> None:
    steps = [{"method": "local_suppression", "variables": variables, "params": {"k": 3}}]
    path = pipeline(folder, "flat", protect=steps, edits=rules, output={"data": "never.csv"})
    assert main(["run", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "never.csv").exists()


def test_a_doubt_about_a_step_has_its_number_in_the_pipeline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A waiver for the step on persons waives nothing of the step on households, though each is the first there."""
    data = pd.read_csv(folder / "survey.csv", dtype=str)
    data.loc[data["hhid"] == data["hhid"][0], "capital"] = ""
    data.loc[len(data) - 1, "pens"] = ""
    data.to_csv(folder / "with_holes.csv", index=False)
    steps = [
        {"method": "microaggregation", "variables": ["capital"], "params": {"k": 5}},
        {"method": "microaggregation", "variables": ["pens"], "params": {"k": 5}},
    ]
    waive = [{"doubt": "promise-not-kept", "step": 2, "because": "one person"}]
    path = pipeline(folder, "flat", protect=steps, edits=[], waive=waive, output={"data": "never.csv"})
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["data"]["source"] = "with_holes.csv"
    settings["data"]["variables"] |= {
        name: {"role": "other"} for name in ROWS + INCOMES if name not in ("capital", "pens")
    }
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["run", str(path)]) == 1
    said = capsys.readouterr().err
    assert "promise-not-kept: step 1:" in said
    assert "promise-not-kept: step 2:" not in said
    assert not (folder / "never.csv").exists()


def test_a_suppressed_household_value_stands_in_no_row(folder: Path) -> None:
    """A region is emptied once for the household, and so in the rows of all its members."""
    steps = [{"method": "local_suppression", "variables": ["region", "tenure"], "params": {"k": 40}}]
    path = pipeline(folder, "flat", protect=steps, edits=[], measure=[], output={"data": "emptied.csv"})
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["data"]["variables"] |= {name: {"role": "other"} for name in [*ROWS, *INCOMES]}
    settings["data"]["variables"] |= {"region": {"role": "quasi_identifier"}, "tenure": {"role": "quasi_identifier"}}
    tenure = pd.read_csv(folder / "survey.csv", dtype=str).drop(columns="rent")
    tenure.to_csv(folder / "without_rent.csv", index=False)
    settings["data"]["source"] = "without_rent.csv"
    settings["data"]["levels"]["household"]["variables"].remove("rent")
    settings["data"]["variables"].pop("rent")
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(path).record
    emptied = read_flat(folder / "emptied.csv").fillna("")
    assert (emptied.groupby("hhid")[["region", "tenure"]].nunique() == 1).all(axis=None)
    assert record["ok"]


def test_totals_that_are_lost_with_a_missing_income_are_counted(folder: Path) -> None:
    """A total that is derived is missing where a member's income is: the run says of how many."""
    holes = pd.read_csv(folder / "survey.csv", dtype=str)
    holes.loc[range(0, 120, 6), "income"] = ""
    holes.to_csv(folder / "holes.csv", index=False)
    path = pipeline(folder, "flat", edits=["sum(person.income) + child_benefit + capital == total"])
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["data"]["source"] = "holes.csv"
    settings["output"] = {"data": "with_holes.csv"}
    settings["on_input_violation"] = "mask"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(path).record
    rows = read_flat(folder / "with_holes.csv").drop_duplicates("hhid")
    lost = int(rows["total"].isna().sum())
    assert lost > 0
    assert [
        text
        for text in [each["message"] for each in record["notices"]]
        if text.startswith(f"total: {lost} cells that had a value are missing")
    ]


def noise(variables: list[str], p: float = 0.2) -> dict[str, Any]:
    return {"method": "multiplicative_noise", "variables": variables, "params": {"p": p}}


@pytest.mark.waived("edit-may-be-wrong")
def test_a_least_of_members_is_asked_of_masked_ones(folder: Path) -> None:
    """What known members decide is computed wherever the rule is evaluated."""
    rule = "min(person.income) <= 30000"
    path = pipeline(
        folder, "flat", protect=[noise(INCOMES, 0.5)], edits=[rule], measure=[], output={"data": "least.csv"}
    )
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["on_input_violation"] = "drop"
    settings["data"]["variables"] |= {name: {"release": "as is"} for name in ROWS}
    settings["waive"] = [{"doubt": "many-records-dropped", "because": "a least income is rare"}]
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    mw.run(path)
    least = read_flat(folder / "least.csv").astype({"income": float}).groupby("hhid")["income"].min()
    assert (least <= 30000).all()


def test_a_step_on_two_levels_drops_edits_of_both(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of the other level are no mistake, names of none are."""
    rules = ["if area > 90 then rent >= 0", "if age > 47 then income >= 0"]
    drop = {"drop": ["area", "age"]}
    steps = [{"method": "recoding", "variables": ["area", "age"], "params": {"bands": 4, "release_edits": drop}}]
    path = pipeline(folder, "flat", protect=steps, edits=rules, measure=[], output={"data": "bands.csv"})
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name in ("area", "age"):
        settings["data"]["variables"][name] = {"role": "quasi_identifier"}
    settings["data"]["variables"] |= {name: {"role": "other"} for name in [*ROWS, *INCOMES]}
    settings["on_input_violation"] = "drop"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["run", str(path)]) != 2
    assert "edit 'edit-1' is dropped, as `release_edits` in the step's params allows" in capsys.readouterr().err
    settings["protect"][0]["params"]["release_edits"] = {"drop": ["area", "agge"]}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["run", str(path)]) == 2
    assert "'agge'" in capsys.readouterr().err


def test_bounds_are_met_beside_combinations_of_the_original(folder: Path) -> None:
    """Clusters are moved onto a bound that reads members where categories of their level have to occur together."""
    rules = ["(region, tenure) in original", "tax <= sum(person.income) + capital + child_benefit"]
    swap = {"method": "data_swapping", "variables": ["region", "tenure"], "params": {"rate": 0.2}}
    steps = [swap, noise(["tax"], 0.9), noise(["income"], 0.9)]
    path = pipeline(folder, "flat", protect=steps, edits=rules, measure=[], output={"data": "bounds.csv"})
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    roles = {name: {"type": "nominal", "role": "quasi_identifier"} for name in ("region", "tenure")}
    settings["data"]["variables"] |= roles | {name: {"role": "other"} for name in [*ROWS, *INCOMES]}
    settings["data"]["variables"] |= {name: {"role": "confidential"} for name in ("tax", "income")}
    settings["on_input_violation"] = "drop"
    settings["waive"] = [{"doubt": "follows-from-published", "variable": name, "because": "a test"}
                         for name in ("tenure", "tax", "income", "region")]  # fmt: skip
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(path).record
    assert all(each["violations"] == 0 for each in record["edits"])


def test_parts_with_a_factor_add_up_to_a_total_that_stands(tmp_path: Path) -> None:
    """What rounding a part with a factor takes off the sum goes to the others."""
    rng = np.random.default_rng(3)
    pay, grant = rng.integers(10_000, 90_000, 40), rng.integers(20, 90, 40)
    rows = pd.DataFrame({"home": [f"H{each}" for each in range(40)], "no": 1, "grant": grant, "pay": pay})
    rows.assign(total=pay + 1000 * grant).to_csv(tmp_path / "a.csv", index=False)
    levels = {"household": {"key": "home", "variables": ["grant", "total"]}, "person": {"key": "no", "in": "household"}}
    names = ["grant", "pay"]
    mw.run(
        {
            "maskwright": 1, "seed": 4,
            "data": {"source": str(tmp_path / "a.csv"), "levels": levels, "variables": {"total": {"role": "other"}}},
            "edits": ["sum(person.pay) + 1000 * grant == total"],
            "protect": [noise(["grant"]), noise(["pay"])],
            "output": {"data": str(tmp_path / "m.csv")},
            "waive": [{"doubt": "follows-from-published", "variable": names, "because": "a test"}],
        }
    )  # fmt: skip
    masked = pd.read_csv(tmp_path / "m.csv")
    assert (masked["pay"] + 1000 * masked["grant"] == masked["total"]).all()
