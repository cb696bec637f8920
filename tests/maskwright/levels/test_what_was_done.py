"""What plan, record and report of levels say of each variable is what was done to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

COUNTRIES = {"AT": "Austria", "BE": "Belgium", "CH": "Switzerland", "DE": "Germany"}
NATIONS = {"FR": "French", "IT": "Italian", "PL": "Polish"}
OF_HOUSEHOLD = ["hid", "cc", "cname", "size", "total", "rent", "any_foreign"]
OTHERS = ["cc", "cname", "size", "any_foreign", "nat", "natname", "foreign", "overhead"]
BROKEN = (5, 65)
RULE = 'if any_foreign == 1 then any(person where nat != "FR")'


def survey(households: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 5, households)
    country = rng.choice(list(COUNTRIES), households, p=[0.5, 0.3, 0.14, 0.06])
    rent = rng.integers(100, 2000, households)
    home = np.repeat(np.arange(households), sizes)
    frame = pd.DataFrame({
        "hid": home + 1, "cc": country[home], "size": sizes[home], "rent": rent[home],
        "pno": np.concatenate([np.arange(size) + 1 for size in sizes]),
        "nat": rng.choice(list(NATIONS), len(home), p=[0.8, 0.17, 0.03]),
        "wage": rng.integers(0, 9000, len(home)), "benefit": rng.integers(0, 900, len(home)),
        "overhead": rng.integers(1, 9, len(home)),
    })  # fmt: skip
    frame["cname"], frame["natname"] = frame["cc"].map(COUNTRIES), frame["nat"].map(NATIONS)
    frame["foreign"] = (frame["nat"] != "FR").astype(int)
    frame["any_foreign"] = frame.groupby("hid")["foreign"].transform("max")
    frame["income"] = frame["wage"] + frame["benefit"]
    frame["ref"] = (frame["pno"] > 1).astype(int)
    frame["total"] = frame.groupby("hid")["income"].transform("sum") + 3 * frame["hid"].isin(BROKEN)
    return frame


def pipeline(folder: Path, form: str, steps: list[dict[str, Any]], **variables: dict[str, str]) -> Path:
    frame = survey()
    levels: dict[str, Any] = {
        "household": {"key": "hid"}, "person": {"key": "pno", "in": "household", "pointers": {"ref": "pno"}}
    }  # fmt: skip
    data: dict[str, Any] = {"levels": levels, "variables": {name: {"role": "other"} for name in OTHERS} | variables}
    if form == "linked":
        frame[OF_HOUSEHOLD].drop_duplicates().to_csv(folder / "h.csv", index=False)
        frame.drop(columns=OF_HOUSEHOLD[1:]).to_csv(folder / "p.csv", index=False)
        levels["household"]["source"], levels["person"]["source"] = "h.csv", "p.csv"
    else:
        frame.to_csv(folder / "f.csv", index=False)
        data["source"], levels["household"]["variables"] = "f.csv", OF_HOUSEHOLD[1:]
    out = {"household": "hm.csv", "person": "pm.csv"} if form == "linked" else "fm.csv"
    content = {
        "maskwright": 1, "data": data,
        "edits": ["sum(person.income) == total", "wage + benefit == income", "count(person) == size", RULE],
        "on_input_violation": "drop", "protect": steps,
        "output": {"data": out, "record": "run.json", "public_record": "about.json", "report": "report.html"},
        "seed": 42,
    }  # fmt: skip
    path = folder / f"{form}.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


MASKING: list[dict[str, Any]] = [
    {"method": "microaggregation", "variables": ["total", "rent"], "params": {"k": 3}},
    {"method": "microaggregation", "variables": ["wage", "benefit", "income"], "params": {"k": 3}},
]
EMPTYING: list[dict[str, Any]] = [
    {"method": "local_suppression", "variables": ["cc"], "params": {"k": 10, "keys": ["cc"]}},
    {"method": "local_suppression", "variables": ["nat"], "params": {"k": 15, "keys": ["nat"]}},
]


def emptied(folder: Path, form: str, name: str) -> int:
    """Cells of a variable that are empty in the released rows: of the household, one for each household."""
    file = {"flat": "fm.csv", "linked": "hm.csv" if name in OF_HOUSEHOLD else "pm.csv"}[form]
    rows = pd.read_csv(folder / file, dtype=str)
    return int((rows.drop_duplicates("hid") if name in OF_HOUSEHOLD else rows)[name].isna().sum())


@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("form", ["flat", "linked"])
def test_the_record_says_what_was_done_to_each_variable(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pipeline(tmp_path, form, MASKING + EMPTYING)
    assert main(["run", str(path)]) == 0, capsys.readouterr().err
    shown = " ".join(capsys.readouterr().out.split())
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    done = {each["name"]: each["done"] for each in about["variables"]}
    count = {
        name: emptied(tmp_path, form, name) for name in ("cc", "cname", "nat", "natname", "foreign", "any_foreign")
    }
    assert min(count.values()) > 0
    assert done == {
        "hid": "new random values", "pno": "renumbered in the new order", "ref": "renumbered with pno",
        "total": "computed by edit 'edit-1' from masked values (step 1)", "rent": "microaggregation (step 1)",
        "wage": "microaggregation (step 2)", "benefit": "microaggregation (step 2)",
        "income": "microaggregation (step 2)", "size": "unchanged", "overhead": "unchanged",
        "any_foreign": f"{count['any_foreign']} cells emptied as complementary suppression of nat",
        "cc": f"{count['cc']} cells emptied by local_suppression (step 3)",
        "cname": f"{count['cname']} cells emptied as complementary suppression of cc",
        "nat": f"{count['nat']} cells emptied by local_suppression (step 4)",
        "natname": f"{count['natname']} cells emptied as complementary suppression of nat",
        "foreign": f"{count['foreign']} cells emptied as complementary suppression of nat, cc",
    }  # fmt: skip
    unchanged = ["overhead", "size"]
    assert sorted(each["name"] for each in about["variables"] if not each["masked"]) == unchanged
    assert "published unmasked: size (other), overhead (other)" in shown
    assert f"foreign: {done['foreign']}" in shown
    assert done["cname"] in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_violations_are_counted_in_the_file_as_it_came(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(pipeline(tmp_path, form, MASKING))]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    before = {each["name"]: each["violations_on_arrival"] for each in record["edits"]}
    assert before == {**dict.fromkeys(before, 0), "edit-1": len(BROKEN)}
    assert record["levels"]["household"] == {"records": 118, "original_records": 120}
    assert "(2 violations in the original)" in " ".join(capsys.readouterr().out.split())


def test_a_label_of_a_suppressed_code_is_no_variable_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", str(pipeline(tmp_path, "flat", MASKING + EMPTYING)), "--json"])
    notices = [
        each
        for each in [each["message"] for each in json.loads(capsys.readouterr().out)["notices"]]
        if "unmasked" in each
    ]
    told = survey().loc[lambda frame: ~frame["hid"].isin(BROKEN), ["foreign", "overhead"]]
    alone = int((told.value_counts() == 1).sum())
    assert any("(foreign, overhead)" in each and each.startswith(f"{alone} ") for each in notices) or alone == 0
    assert not [each for each in notices if "cname" in each or "natname" in each]


def test_a_label_that_a_step_names_beside_its_keys_has_a_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = {
        "method": "local_suppression",
        "variables": ["cc", "cname", "any_foreign"],
        "params": {"k": 10, "keys": ["cc"]},
    }
    steps = [*MASKING, step]
    main(["plan", str(pipeline(tmp_path, "flat", steps, natname={"role": "quasi_identifier"})), "--json"])
    doubts = json.loads(capsys.readouterr().out)["doubts"]
    ways = {each["subject"]: each["remedy"] for each in doubts if each["doubt"] == "step-changed-nothing"}
    assert "`cname: {role: other}`" in ways["cname"]
    assert "the same as cc" in ways["cname"]
    assert "leave it out of the step" in ways["any_foreign"]
    # What the way out says works.
    assert main(["run", str(pipeline(tmp_path, "flat", [*MASKING, {**step, "variables": ["cc"]}]))]) == 0
    assert emptied(tmp_path, "flat", "cname") == emptied(tmp_path, "flat", "cc") > 0


def test_the_plan_names_derived_variables_and_what_a_sample_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sampling = {"method": "sampling", "variables": ["total", "overhead"], "params": {"fraction": 0.5}}
    letting = [{**step, "params": {"k": 3, "k_guarantee": "report"}} for step in MASKING]
    path = pipeline(tmp_path, "flat", [sampling, *letting])
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))
    stated["output"]["codebook"] = "book.csv"
    path.write_text(yaml.safe_dump(stated, sort_keys=False), encoding="utf-8")
    main(["plan", str(path), "--json"])
    plan = json.loads(capsys.readouterr().out)
    groups = {step["step"]: [group["variables"] for group in step["groups"]] for step in plan["steps"]}
    assert (groups[2], groups[3]) == ([["rent"], ["total"]], [["wage", "benefit", "income"]])
    assert plan["steps"][1]["groups"][1]["computed"] == ["total"]
    assert plan["grid"]["total"] == 0
    assert "overhead" in plan["untouched"]
    main(["plan", str(path)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "takes whole household records, with all their person records" in shown
    assert "total (computed)" in shown
    assert main(["run", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "· whole household records, with all their person records" in said
    assert "· total (computed)" in said
    assert said.partition("published unmasked: ")[2].endswith("and 2 more")
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    done = {each["name"]: each["done"] for each in about["variables"]}
    book = (tmp_path / "book.csv").read_text(encoding="utf-8")
    assert "Renumbered with pno." in book
    assert book.count("Published as it was.") == sum(each.startswith("unchanged") for each in done.values())
    assert (done["overhead"], done["rent"]) == ("unchanged", "microaggregation (step 2)")


def homes(seed: int = 1, n: int = 150) -> pd.DataFrame:
    """Persons of whom a third earn nothing, in households of one to three; totals are their sums."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n)
    of = np.repeat(np.arange(n), sizes)
    income = np.where(rng.random(len(of)) < 0.35, 0, rng.integers(800, 4000, len(of)))
    frame = pd.DataFrame({
        "hid": of + 1, "pno": np.concatenate([np.arange(each) + 1 for each in sizes]), "income": income,
        "rent": rng.integers(300, 900, n)[of],
    })  # fmt: skip
    return frame.assign(total=frame.groupby("hid")["income"].transform("sum"))


def masked_homes(folder: Path, frame: pd.DataFrame, edits: list[str], steps: list[dict[str, Any]]) -> Any:
    frame.to_csv(folder / "d.csv", index=False)
    top = [name for name in ("rent", "total") if name in frame]
    levels = {"household": {"key": "hid", "variables": top}, "person": {"key": "pno", "in": "household"}}
    described = {
        "maskwright": 1, "data": {"source": "d.csv", "levels": levels}, "edits": edits, "protect": steps,
        "output": {"data": "m.csv"}, "seed": 1,
    }  # fmt: skip
    (folder / "p.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    done = mw.run(folder / "p.yaml")
    assert done.ok
    return [each["message"] for each in (*done.record["notices"], *done.record["doubts"])]


def means(*names: str, **params: Any) -> dict[str, Any]:
    return {"method": "microaggregation", "variables": list(names), "params": {"k": 3, **params}}


REPORT = {"k_guarantee": "report"}
WHOLE = {**means("income", "rent", rare="drop"), "unit": "household"}


@pytest.mark.waived("spike-lost")
def test_lost_spikes_of_members_and_of_totals_computed_from_them_are_said(tmp_path: Path) -> None:
    noise = {"method": "additive_noise", "variables": ["income"], "params": {"sd": 60, "correction": "none"}}
    frame = homes()
    notices = masked_homes(tmp_path, frame, ["sum(person.income) == total"], [means("rent", "total"), noise])
    masked = pd.read_csv(tmp_path / "m.csv")
    for name, rows in (("income", frame.index), ("total", frame.drop_duplicates("hid").index)):
        before, after = (100 * (each.loc[rows, name] == 0).mean() for each in (frame, masked))
        said = f"{before:.1f} % of the values of {name} are 0, and {after:.1f} % masked"
        assert any(each.startswith(said) for each in notices)


def test_lost_spikes_of_whole_groups_are_said(tmp_path: Path) -> None:
    frame = homes().drop(columns="total").replace({"income": {0: 1200}})
    notices = masked_homes(tmp_path, frame, ["rent >= 0"], [WHOLE])
    after = 100 * (pd.read_csv(tmp_path / "m.csv")["income"] == 1200).mean()
    assert any(f"of the values of income are one value, and {after:.1f} % masked" in each for each in notices)


@pytest.mark.parametrize(
    ("edit", "steps", "error"),
    [
        ("rent <= total + 20000", [means("rent", "total", **REPORT), means("income", **REPORT)], 60_000),
        ("rent <= sum(person.income) + 21000", [means("rent", "total", **REPORT), means("income", **REPORT)], 60_000),
        ("rent <= 20000", [WHOLE], 900_000),
    ],
    ids=["in a level", "across levels", "of whole groups"],
)
def test_what_errors_of_the_original_move_is_said_and_no_doubt(
    tmp_path: Path, edit: str, steps: list[dict[str, Any]], error: int
) -> None:
    """Without the errors nothing of the kind is said."""
    frame = homes()
    frame = frame.drop(columns="total") if steps == [WHOLE] else frame
    wrong = frame["hid"].isin([5, 7, 9, 33, 60, 100] if steps == [WHOLE] else [5, 60, 100])
    notices = masked_homes(tmp_path, frame.assign(rent=frame["rent"].where(~wrong, error)), [edit], steps)
    (said,) = (each for each in notices if "% of that in records that violate an edit" in each)
    assert said.startswith("rent: adjusting and rounding moved its mean by -")
    assert not any("% of that in records" in each for each in masked_homes(tmp_path, frame, [edit], steps))


def test_an_edit_across_levels_that_distorts_and_is_violated_may_be_wrong(tmp_path: Path) -> None:
    frame = homes().drop(columns="total")
    frame["rent"] *= 1 + 8 * (frame["hid"] % 9 == 0)
    edit = "rent <= sum(person.income) + 900"
    broken = (frame["rent"] > frame.groupby("hid")["income"].transform("sum") + 900).groupby(frame["hid"]).first()
    with pytest.raises(mw.OpenDoubts) as refused:
        masked_homes(tmp_path, frame, [edit], [means("rent", **REPORT), means("income", **REPORT)])
    messages = [each.message for each in refused.value.problems]
    (wrong,) = (each for each in messages if each.startswith("W109"))
    assert f"{broken.sum()} of the 150 records to which it applies violate it" in wrong
    assert "and keeping it did 100 % of what moved a variable too far" in wrong
    (distorts,) = (each for each in messages if each.startswith("W309"))
    assert "rent" in distorts
    assert "to keep edit-1 (100 % of its moves)" in distorts


def test_no_column_of_the_structure_is_proposed_in_a_rule(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    firm = np.repeat(np.arange(80), 2)
    frame = pd.DataFrame({"firm": firm, "plant": np.tile([1, 2], 80), "staff": rng.integers(1, 90, 160)})
    frame["region"] = np.array(["north", "south"])[firm % 2]
    frame["other"], frame["total"] = 1 + firm, frame.groupby("firm")["staff"].transform("sum")
    frame.to_csv(tmp_path / "flat.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata:\n  source: flat.csv\n  levels:\n"
        "    firm: {key: firm, variables: [region, other, total]}\n    plant: {key: plant, in: firm}\n"
        "edits: [sum(plant.staff) - 3 * other == total]\nseed: 1\noutput: {data: m.csv}\n"
        "protect: [{method: microaggregation, params: {k: 3}}]\n"
    )
    with pytest.raises(mw.OpenDoubts, match="W109") as refused:
        mw.run(tmp_path / "p.yaml")
    assert "`sum(plant.staff) == total` holds in all records: did you mean that?" in str(refused.value)
    assert "rows that differ" not in str(refused.value)


@pytest.mark.parametrize(("edit", "level"), [("rent >= 2000", "household"), ("income >= 5000", "person")])
def test_an_edit_that_may_be_wrong_is_said_once_with_its_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: str, level: str
) -> None:
    with pytest.raises(mw.OpenDoubts):
        masked_homes(tmp_path, homes(), [edit], [means("rent", "total"), means("income")])
    for command in ("plan", "run"):
        assert main([command, str(tmp_path / "p.yaml"), "--json"]) == 1
        doubts = json.loads(capsys.readouterr().out)["doubts"]
        assert [(each["subject"], each["level"]) for each in doubts if each["id"] == "W109"] == [("edit-1", level)]
