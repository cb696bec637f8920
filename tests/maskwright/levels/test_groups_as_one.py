"""Groups moved or masked with their members: edits judged by pandas, k recounted, promises refused."""

from __future__ import annotations

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
from pandas_evaluator import flat_of_linked, violations

HOUSEHOLDS = 500
INCOMES = ["wages", "selfe", "pens", "bene", "income"]
ROWS = ["child_benefit", "capital", "tax", "total", "disp"]
EVERY = [*ROWS, *INCOMES]
REPORT = {"k": 5, "k_guarantee": "report"}


def by_level(rows: list[str] | None = None, own: dict[str, Any] | None = None, **members: Any) -> list[dict[str, Any]]:
    return [
        {"method": "microaggregation", "variables": rows or ROWS, "params": {"k": 5, **(own or {})}},
        {"method": "microaggregation", "variables": INCOMES, "params": {"k": 5, **members}},
    ]


def whole(**params: Any) -> list[dict[str, Any]]:
    return [{"method": "microaggregation", "variables": EVERY, "unit": "household", "params": {"k": 5, **params}}]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    return write_levels_demo(tmp_path_factory.mktemp("levels"), HOUSEHOLDS)


@pytest.fixture(scope="module")
def folder(files: LevelsDemoFiles) -> Path:
    return files.edits.parent


def pipeline(folder: Path, steps: list[dict[str, Any]], name: str, **changes: Any) -> Path:
    settings = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))
    settings |= {"protect": steps, "measure": ["sse"], "seed": 7}
    settings.pop("thresholds", None)
    settings["waive"] = [{"doubt": "spike-lost", "variable": "capital", "because": "these tests are about k and edits"}]
    data = {"household": f"{name}_h.csv", "person": f"{name}_p.csv"}
    settings["output"] = {"data": data, "record": f"{name}.json", "key_map": f"{name}_keys.csv"}
    settings |= changes
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return path


def released(folder: Path, name: str) -> pd.DataFrame:
    return flat_of_linked(folder / f"{name}_h.csv", folder / f"{name}_p.csv")


def class_sizes(flat: pd.DataFrame) -> pd.Series:
    """Size of the class of each household, by its row and the set of its members."""
    rows = flat.drop_duplicates("hhid").set_index("hhid")[ROWS].agg("|".join, axis=1)
    members = flat[INCOMES].agg("|".join, axis=1).groupby(flat["hhid"]).agg(lambda each: "#".join(sorted(each)))
    together = rows + "@" + members
    return together.groupby(together).transform("size")


def lost(folder: Path, name: str) -> tuple[float, float]:
    """Share of the squares lost of persons and of households, percent; by pandas."""
    keys = pd.read_csv(folder / f"{name}_keys.csv", dtype=str)
    masked = (
        released(folder, name).set_index(["hhid", "pno"]).loc[list(zip(keys["new hhid"], keys["new pno"], strict=True))]
    )
    before = flat_of_linked(folder / "households.csv", folder / "persons.csv")
    before = before.iloc[keys["original_person"].astype(int) - 1]
    first = (~keys["new hhid"].duplicated()).to_numpy()

    def share(names: list[str], rows: Any) -> float:
        old, new = before[names].astype(float).to_numpy()[rows], masked[names].astype(float).to_numpy()[rows]
        return float((100 * ((old - new) ** 2).sum(axis=0) / ((old - old.mean(axis=0)) ** 2).sum(axis=0)).mean())

    return share(INCOMES, slice(None)), share(ROWS, first)


@pytest.fixture(scope="module")
def moved(folder: Path) -> dict[str, Any]:
    steps = by_level(own=REPORT | {"totals": {"total": "adjust"}}, k_guarantee="report")
    return dict(mw.run(pipeline(folder, steps, "moved")).record)


@pytest.fixture(scope="module")
def alike(folder: Path) -> dict[str, Any]:
    return dict(mw.run(pipeline(folder, whole(rare="drop"), "alike")).record)


def test_members_are_moved_onto_a_masked_total(folder: Path, moved: dict[str, Any]) -> None:
    flat = released(folder, "moved")
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    adjusted = {each["name"]: each["adjusted"] for each in moved["edits"]}
    assert adjusted["total-sum"] > 0.9 * HOUSEHOLDS
    assert any("k does not hold for what was moved" in text["message"] for text in moved["notices"])
    # The total keeps its k; the record tells what is left of that of the members.
    rows = flat.drop_duplicates("hhid")
    assert rows.groupby("total").size().min() >= 5
    smallest = {tuple(each["variables"]): each for each in moved["k"]["groups"]}
    recounted = flat.groupby(INCOMES)["hhid"].nunique().min()
    assert recounted < 5
    assert smallest[tuple(INCOMES)]["smallest"] == recounted


def test_what_is_dear_moves_less(folder: Path, moved: dict[str, Any]) -> None:
    own = REPORT | {"totals": {"total": "adjust"}, "adjustment_weights": {"capital": 1e6}}
    mw.run(pipeline(folder, by_level(own=own, k_guarantee="report"), "dear"))

    def moved_capital(name: str) -> float:
        capital = released(folder, name).drop_duplicates("hhid")["capital"]
        return float((capital.groupby(capital).transform("size") < 5).mean())

    assert moved_capital("dear") < 0.5 * moved_capital("moved")


def test_a_total_that_stands_needs_k_to_be_reported(folder: Path) -> None:
    for own, members in (({}, {}), (REPORT, {})):
        steps = by_level(own=own | {"totals": {"total": "adjust"}}, **members)
        with pytest.raises(
            mw.InputError, match=r"(?s)promises k = 5, but to keep edit 'total-sum'.*k_guarantee: report"
        ):
            mw.run(pipeline(folder, steps, "refused"))
    assert not (folder / "refused_h.csv").exists()


def test_members_are_moved_onto_a_total_that_no_step_masks(folder: Path) -> None:
    parts = ["child_benefit", "capital"]
    with pytest.raises(mw.InputError, match="to keep edit 'total-sum'"):
        mw.run(pipeline(folder, by_level(parts), "register"))
    declared = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))["data"]
    declared["variables"] |= {name: {"role": "other"} for name in ("total", "tax", "disp")}
    steps = by_level(parts, REPORT, k_guarantee="report")
    mw.run(pipeline(folder, steps, "register", data=declared))
    flat = released(folder, "register")
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    keys = pd.read_csv(folder / "register_keys.csv", dtype=str).drop_duplicates("new hhid")
    old = pd.read_csv(folder / "households.csv", dtype=str).set_index("hhid")["total"]
    new = flat.drop_duplicates("hhid").set_index("hhid")["total"]
    assert (old[keys["hhid"]].to_numpy() == new[keys["new hhid"]].to_numpy()).all()


def test_totals_of_large_groups_are_derived_instead(folder: Path) -> None:
    declared = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))["data"]
    declared["levels"]["household"]["largest_group"] = 2
    steps = by_level(own=REPORT | {"totals": {"total": "adjust"}}, k_guarantee="report")
    record = mw.run(pipeline(folder, steps, "large", data=declared)).record
    flat = released(folder, "large")
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    size = flat.groupby("hhid")["pno"].transform("size")
    # Members of large households keep what masking made of them: only others were moved.
    assert flat[size > 2].groupby(INCOMES).size().median() > flat[size <= 2].groupby(INCOMES).size().median()
    assert any(
        "more members than largest_group, their totals are derived" in text["message"] for text in record["notices"]
    )
    left = {each["name"]: each["infeasible"] for each in record["edits"]}["total-sum"]
    assert 0 < left <= (size.groupby(flat["hhid"]).first() > 2).sum()


NOBODY = """maskwright: 1
data:
  levels:
    household: {source: h.csv, key: hhid}
    person: {source: p.csv, key: pno, in: household}
edits: [{name: total, rule: sum(person.income) == total}, income >= 0]
on_input_violation: mask
protect:
  - method: microaggregation
    variables: [income]
    params: {k: 3, k_guarantee: report, structural_zeros: [income]}
output: {data: {household: out_h.csv, person: out_p.csv}, record: run.json}
seed: 1
"""
TOTAL_TOO = """  - method: microaggregation
    variables: [total]
    params: {k: 3, k_guarantee: report, totals: {total: adjust}}
"""


def with_four_who_have_nothing(folder: Path, text: str) -> Path:
    """Thirty households with incomes, and four with a total and nobody who has any."""
    incomes = [(home, pno, 10.0 * home * pno) for home in range(1, 31) for pno in (1, 2)]
    incomes += [(home, 1, 0.0) for home in range(31, 35)]
    persons = pd.DataFrame(incomes, columns=["hhid", "pno", "income"])
    totals = persons.groupby("hhid")["income"].sum()
    totals.loc[31:34] = 7.0
    persons.to_csv(folder / "p.csv", index=False)
    totals.rename("total").reset_index().to_csv(folder / "h.csv", index=False)
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    return folder / "run.yaml"


def test_groups_that_cannot_be_moved_stand_in_the_record_edit_by_edit(tmp_path: Path) -> None:
    """Money to distribute, and nobody in the household has any: the total is derived, and the edit holds."""
    path = with_four_who_have_nothing(tmp_path, NOBODY.replace("output:", TOTAL_TOO + "output:"))
    record = mw.run(path).record
    told = {each["name"]: (each["infeasible"], each["violations"]) for each in record["edits"]}
    assert told == {"total": (4, 0), "edit-2": (0, 0)}
    assert any("no values were found for 4 household records" in text["message"] for text in record["notices"])
    sums = pd.read_csv(tmp_path / "out_p.csv").groupby("hhid")["income"].sum()
    assert (pd.read_csv(tmp_path / "out_h.csv").set_index("hhid")["total"].sort_index() == sums).all()
    assert (sums == 0).sum() == 4


def test_a_run_with_groups_that_cannot_be_moved_is_not_released(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The total stands, and nothing may be derived instead."""
    declared = "in: household}\n  variables: {total: {role: other}}"
    path = with_four_who_have_nothing(tmp_path, NOBODY.replace("in: household}", declared))
    before = sorted(tmp_path.iterdir())
    assert main(["run", str(path)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "edit 'total' does not hold in 4 of 34 masked household records" in said
    assert "no values were found for 4 records" in said
    assert sorted(tmp_path.iterdir()) == before


def test_a_total_to_adjust_is_one_that_is_masked(folder: Path) -> None:
    with pytest.raises(mw.InputError, match=r"totals: .*'totl'.*'total'"):
        mw.run(pipeline(folder, by_level(own={"totals": {"totl": "adjust"}}), "refused"))


def test_whole_households_are_alike(folder: Path, alike: dict[str, Any]) -> None:
    flat = released(folder, "alike")
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    sizes = class_sizes(flat)
    assert sizes.min() >= 5
    assert alike["k_of_groups"][-1]["smallest"] == sizes.min()
    assert alike["k_of_groups"][-1]["below"] == 0
    left_out = next(text for text in [each["message"] for each in alike["notices"]] if text.startswith("left out"))
    assert "household" in left_out
    assert alike["levels"]["household"]["records"] == len(sizes)


def test_loss_of_each_way(folder: Path, moved: dict[str, Any], alike: dict[str, Any]) -> None:
    mw.run(pipeline(folder, by_level(), "derived"))
    persons, households = lost(folder, "derived")
    assert lost(folder, "moved")[1] > households
    assert persons < lost(folder, "alike")[0]
    assert households < lost(folder, "alike")[1]


def test_rare_compositions_stop_the_run_unless_they_are_dropped(folder: Path) -> None:
    with pytest.raises(mw.InputError, match=r"(?s)fewer than k = 5 have.*rare: drop"):
        mw.run(pipeline(folder, whole(), "refused"))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (whole()[:1] + by_level()[1:], "Say `unit: household` in each step, or in none"),
        ([whole()[0] | {"unit": "houshold"}], "'houshold'.*'household'"),
        ([{"method": "local_suppression", "variables": ["region"], "unit": "household", "params": {"k": 3}}],
         "cannot mask a household with its members"),
        ([{"method": "correlated_noise", "variables": EVERY, "unit": "household", "params": {"p": 0.1}}],
         "needs all records at once, and a household is masked with those of its composition"),
    ],
)  # fmt: skip
def test_units_that_cannot_be(folder: Path, steps: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(mw.InputError, match=said):
        mw.run(pipeline(folder, steps, "refused"))


def test_categories_are_masked_with_amounts_of_whole_households(folder: Path) -> None:
    """Zeros part who has an amount and who has none; a category has no zeros."""
    steps = [whole(rare="drop")[0] | {"variables": ["region", "sex", *EVERY], "params": {**REPORT, "rare": "drop"}}]
    path = pipeline(folder, steps, "mixed", edits=["sum(person.income) + child_benefit + capital == total"])
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["data"]["variables"]["region"] = {"type": "nominal", "role": "quasi_identifier"}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert mw.run(path).record["ok"]
    assert (released(folder, "mixed").groupby("hhid")["region"].nunique() == 1).all()


def test_unit_needs_levels(tmp_path: Path) -> None:
    pd.DataFrame({"age": range(20)}).to_csv(tmp_path / "a.csv", index=False)
    step = {"method": "microaggregation", "unit": "household", "params": {"k": 3}}
    settings = {"maskwright": 1, "data": {"source": str(tmp_path / "a.csv")}, "protect": [step]}
    with pytest.raises(mw.InputError, match="unit: 'household' is a level, and the data have none"):
        mw.run(settings | {"output": {"data": str(tmp_path / "m.csv")}})


def test_a_total_onto_which_nothing_can_move_is_refused(folder: Path) -> None:
    params = {**REPORT, "totals": {"total": "adjust"}}
    steps = [{"method": "microaggregation", "variables": ["total", "tax"], "params": params}]
    path = pipeline(folder, steps, "refused", edits=["sum(person.income) + child_benefit + capital == total"])
    with pytest.raises(mw.InputError, match=r"(?s)adjust\}: no step masks anything else.*leave total to be derived"):
        mw.run(path)


@pytest.mark.parametrize("name", ["moved", "alike"])
def test_the_record_tells_the_loss_of_all_levels(folder: Path, name: str, request: pytest.FixtureRequest) -> None:
    """Of each level the mean over its masked variables; groups of rare compositions are no longer there to lose."""
    record = request.getfixturevalue(name)
    found = record["loss_by_step"]
    total = found["method"] + found["adjustment"] + found["rounding"]
    masked = {each["name"]: each["level"] for each in record["variables"] if each["masked_by"] is not None}
    persons, households = lost(folder, name)
    assert total > 0.5
    if name == "alike":
        assert set(masked) == set(EVERY)
        assert total == pytest.approx((len(INCOMES) * persons + len(ROWS) * households) / len(EVERY), rel=0.02)


@pytest.fixture(scope="module")
def with_missing(files: LevelsDemoFiles, folder: Path) -> str:
    """Persons of whom one in thirty says nothing of income."""
    persons = pd.read_csv(folder / "persons.csv", dtype=str)
    persons.loc[np.random.default_rng(1).random(len(persons)) < 1 / 30, INCOMES] = ""
    persons.to_csv(folder / "gaps.csv", index=False)
    return "gaps.csv"


def gaps(folder: Path, source: str) -> dict[str, Any]:
    data = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))["data"]
    data["levels"]["person"]["source"] = source
    return data


def test_structural_zeros_of_whole_households_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Households with zeros that fewer than k of their composition have are left out, not joined with others."""
    path = pipeline(folder, whole(rare="drop", structural_zeros=["capital"]), "zeros")
    assert main(["run", str(path), "--quiet"]) == 0
    keys = pd.read_csv(folder / "zeros_keys.csv", dtype=str).drop_duplicates("hhid").set_index("new hhid")["hhid"]
    capital = pd.read_csv(folder / "households.csv", dtype={"hhid": str}).set_index("hhid")["capital"]
    masked = pd.read_csv(folder / "zeros_h.csv", dtype={"hhid": str}).set_index("hhid")["capital"]
    assert ((masked == 0).to_numpy() == (capital[keys[masked.index]] == 0).to_numpy()).all()
    assert 0 < (masked == 0).sum() < len(masked)
    assert class_sizes(released(folder, "zeros")).min() >= 5

    path = pipeline(folder, whole(rare="fail", structural_zeros=["capital"]), "zeros_fail")
    capsys.readouterr()
    assert main(["plan", str(path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "what edits ask of them, and which cells are 0) that fewer than k = 5 have" in said


def test_whole_households_with_missing_cells_keep_k(
    folder: Path, with_missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pipeline(folder, whole(rare="fail"), "gaps_fail", data=gaps(folder, with_missing))
    assert main(["plan", str(path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "what edits ask of them, and which cells are missing) that fewer than k = 5 have" in said
    assert "`params: {rare: drop}` leaves them out; impute missing cells before" in said

    path = pipeline(folder, whole(rare="drop"), "gaps", data=gaps(folder, with_missing))
    assert main(["run", str(path), "--quiet"]) == 0
    flat = released(folder, "gaps").fillna("")
    assert (flat[INCOMES] == "").any(axis=None)
    assert class_sizes(flat).min() >= 5


@pytest.mark.slow
@pytest.mark.waived("edit-may-be-wrong")
def test_whole_households_with_missing_cells_where_k_is_reported_or_a_rule_asks_for_answers(
    folder: Path, with_missing: str
) -> None:
    path = pipeline(folder, whole(rare="drop", k_guarantee="report"), "gaps_report", data=gaps(folder, with_missing))
    assert main(["run", str(path), "--quiet"]) == 0
    assert class_sizes(released(folder, "gaps_report").fillna("")).min() < 5

    rule = {"name": "answered", "rule": "no(person where income is missing)"}
    path = pipeline(folder, whole(rare="drop"), "answered", data=gaps(folder, with_missing),
                    edits=[rule, {"yaml": "edits.yaml"}])  # fmt: skip
    assert main(["run", str(path), "--quiet"]) == 0
    assert (released(folder, "answered")[INCOMES].fillna("") != "").all(axis=None)


def test_suppression_goes_with_no_unit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [*whole(), {"method": "local_suppression", "variables": ["region"], "params": {"k": 3}}]
    assert main(["plan", str(pipeline(folder, steps, "both"))]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "local_suppression goes with no step with `unit`: run it on what a run with these steps released" in said
