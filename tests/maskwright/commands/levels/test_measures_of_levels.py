"""Measures of runs on several levels: of each level, of groups with their members, their thresholds and refusals."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = {
    "household": {"key": "hhid", "variables": ["region", "total", "rent"]},
    "person": {"key": "pno", "in": "household"},
}


def survey(seed: int = 5, households: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, households)
    home = np.repeat(np.arange(households), sizes)
    persons = pd.DataFrame({"hhid": [f"H{h}" for h in home], "pno": np.arange(len(home)) - np.searchsorted(home, home)})
    persons["region"] = rng.choice(["north", "south"], households)[home]
    persons["rent"] = rng.integers(300, 1500, households)[home]
    persons["sex"] = rng.choice(["man", "woman"], len(home))
    persons["age"] = rng.integers(1, 90, len(home))
    persons["income"] = rng.integers(0, 5000, len(home))
    persons["total"] = persons.groupby("hhid").income.transform("sum")
    return persons


@pytest.fixture
def pipeline(tmp_path: Path):
    survey().to_csv(tmp_path / "survey.csv", index=False)

    def write(measure: list[Any], **more: Any) -> Path:
        written = {
            "maskwright": 1,
            "data": {
                "source": "survey.csv", "levels": LEVELS,
                "variables": {
                    "region": {"role": "quasi_identifier", "release": "as is"},
                    "sex": {"role": "quasi_identifier", "release": "as is"},
                    "age": {"role": "quasi_identifier", "release": "as is"},
                },
            },
            "edits": ["sum(person.income) == total", "rent >= 0"],
            "protect": [
                {"method": "microaggregation", "variables": ["rent", "total"], "params": {"k": 3}},
                {"method": "microaggregation", "variables": ["income"], "params": {"k": 3}},
            ],
            "measure": measure,
            "output": {"data": "masked.csv", "record": "run.json"},
            "seed": 1,
        } | more  # fmt: skip
        path = tmp_path / "pipeline.yaml"
        path.write_text(yaml.safe_dump(written), encoding="utf-8")
        return path

    return write


def record_of(path: Path) -> dict[str, Any]:
    return json.loads((path.parent / "run.json").read_text("utf-8"))


def refused(path: Path, capsys, code: int) -> str:
    assert main(["run", str(path), "--quiet"]) == code
    assert not (path.parent / "masked.csv").exists()
    return " ".join(capsys.readouterr().err.split())


def test_groups_are_measured_once_and_other_measures_on_each_level(pipeline):
    asked = [
        "pil", {"household_linkage": {"per_record": True}}, {"household_risk": {}},
        {"household_uniqueness": {"row": ["region"], "members": ["sex"], "as": "unique"}}, "distance_record_linkage",
    ]  # fmt: skip
    path = pipeline(asked)
    assert main(["run", str(path), "--quiet"]) == 0
    record = record_of(path)
    measures = record["measures"]
    assert set(measures) == {
        "household_linkage", "household_risk", "unique", "household.pil", "person.pil",
        "household.distance_record_linkage", "person.distance_record_linkage",
    }  # fmt: skip
    households = survey().hhid.nunique()
    assert len(record["per_record"]["household_linkage"]) == households
    assert np.mean(record["per_record"]["household_linkage"]) == pytest.approx(measures["household_linkage"]["value"])
    assert measures["household_linkage"]["leaves_out"] == ["region", "sex", "age"]
    assert measures["unique"]["before"]["value"] == measures["unique"]["value"]  # sex and region are not masked
    rows = survey()
    sets = rows.groupby("hhid").agg(region=("region", "first"), sexes=("sex", lambda each: tuple(sorted(each))))
    alone = sets.groupby(["region", "sexes"]).region.transform("size") == 1
    assert measures["unique"]["value"] == pytest.approx(100 * alone.mean())
    assert record["plugins"]["measure household_risk"]
    assert "sex" not in record["not_measured"]
    notes = measures["person.distance_record_linkage"]["notes"]
    assert any("has all other records of the level person" in each for each in notes)
    figure = f"household_linkage: {measures['household_linkage']['value']:.3g} % of the level household"
    assert any(each.startswith(figure) for each in notes)
    assert not any("has all other" in each for each in measures["household.distance_record_linkage"]["notes"])


def test_the_released_files_give_the_same_figure_in_python(pipeline):
    path = pipeline(["household_linkage", {"household_risk": {}}], output={
        "data": "masked.csv", "record": "run.json", "key_map": "keys.csv"})  # fmt: skip
    assert main(["run", str(path), "--quiet"]) == 0
    original, masked = survey(), pd.read_csv(path.parent / "masked.csv")
    keys = pd.read_csv(path.parent / "keys.csv")
    back = masked.assign(hhid=keys.hhid, pno=keys.pno).iloc[np.argsort(keys.original_person)]
    found = mw.measure(mw.linked_data(original, LEVELS), mw.linked_data(back, LEVELS), ["household_linkage"])
    assert found["household_linkage"].value == pytest.approx(record_of(path)["measures"]["household_linkage"]["value"])


def test_thresholds_are_for_all_levels_for_one_or_for_groups(pipeline, capsys):
    path = pipeline(["pil"], thresholds={"pil": 100})
    assert main(["run", str(path), "--quiet"]) == 0
    assert {each["threshold"] for each in record_of(path)["measures"].values()} == {100}
    path = pipeline(["pil"], thresholds={"person.pil": 90, "pil": 99, "household.pil": 98})
    assert main(["run", str(path), "--quiet"]) == 0
    measures = record_of(path)["measures"]
    assert (measures["person.pil"]["threshold"], measures["household.pil"]["threshold"]) == (90, 98)
    (path.parent / "masked.csv").unlink()
    asked, bounds = ["pil", "household_linkage"], {"person.pil": 0, "household_linkage": 1}
    doubted = {"doubt": "risk-leaves-out-quasi-identifiers", "measure": "household_linkage", "because": "amounts only"}
    said = refused(pipeline(asked, thresholds=bounds, waive=[doubted]), capsys, 1)
    assert "person.pil is" in said
    assert "household_linkage is" in said
    assert "household.pil is" not in said
    said = refused(pipeline(["pil"], thresholds={"persons.pil": 10}), capsys, 2)
    assert "no measure in this pipeline called 'persons.pil'; did you mean 'person.pil'?" in said


@pytest.mark.parametrize(
    ("asked", "bound", "said"),
    [
        (
            ["household_linkage"],
            "household_linkage",
            "it has a threshold, and leaves out quasi-identifiers: region, sex",
        ),
        ([{"k_anonymity": {"keys": ["sex"]}}], "k_anonymity", "on the level person it has a threshold, and leaves out"),
        ([{"k_anonymity": {"keys": ["sex"]}}], "person.k_anonymity", "leaves out quasi-identifiers: age"),
    ],
)
def test_a_threshold_on_a_measure_that_leaves_something_out_is_doubted(asked, bound, said, pipeline, capsys):
    path = pipeline(asked, thresholds={bound: 1})
    assert said in refused(path, capsys, 1)
    assert main(["plan", str(path)]) == 1
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_threshold_of_a_level_on_which_the_measure_does_not_run(pipeline, capsys):
    asked = [{"contingency_tables": {"variables": ["sex"]}}]
    said = refused(pipeline(asked, thresholds={"household.contingency_tables": 0.5}), capsys, 2)
    assert "household.contingency_tables is not measured" in said


def test_a_measure_with_named_variables_runs_on_their_level(pipeline, capsys):
    path = pipeline([{"k_anonymity": {"keys": ["sex"]}}, {"k_anonymity": {"keys": ["region"], "as": "of_rows"}}])
    assert main(["run", str(path), "--quiet"]) == 0
    found = set(record_of(path)["measures"])
    assert {"person.k_anonymity", "household.of_rows"} <= found
    assert not {"household.k_anonymity", "person.of_rows"} & found
    (path.parent / "masked.csv").unlink()
    said = refused(pipeline([{"contingency_tables": {"variables": ["sex", "region"]}}]), capsys, 2)
    assert "contingency_tables: sex of person and region of household are variables of different levels" in said
    said = refused(pipeline([{"household_uniqueness": {"row": ["sex"], "members": ["age"]}}]), capsys, 2)
    assert "sex is a variable of the level person, and not of household" in said


def test_a_measure_that_one_level_has_nothing_for_runs_on_the_other(pipeline, capsys):
    declared = {name: {"role": "other"} for name in ("region", "rent")}
    declared |= {name: {"role": "quasi_identifier", "release": "as is"} for name in ("sex", "age")}
    path = pipeline(["k_anonymity"], data={"source": "survey.csv", "levels": LEVELS, "variables": declared})
    assert main(["run", str(path)]) == 0
    assert "person.k_anonymity" in record_of(path)["measures"]
    assert "household.k_anonymity" not in record_of(path)["measures"]
    said = " ".join(capsys.readouterr().err.split())
    assert "k_anonymity is not measured on the level household: no key variables" in said


@pytest.mark.parametrize("name", ["household_linkage", "household_risk", "household_uniqueness"])
def test_data_of_one_level_are_refused(pipeline, capsys, name, tmp_path):
    path = pipeline([name], data={"source": "survey.csv"}, edits=["rent >= 0"])
    said = refused(path, capsys, 2)
    assert f"{name} measures groups with all their members, and the data have one level: declare data: levels:" in said
    file = str(tmp_path / "survey.csv")
    assert main(["measure", file, file, "--measure", name]) == 2
    assert "declare data: levels:" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(mw.InputError, match="the data have one level"):
        mw.measure(survey(), survey(), [name])
    with pytest.raises(mw.InputError, match="it cannot be part of a score"):
        mw.measure(survey(), survey(), [{"weighted_score": {"components": [{"measure": name, "weight": 1}]}}])


def test_linked_data_are_measured_by_level_and_by_group():
    original = mw.linked_data(survey(), LEVELS)
    masked = mw.linked_data(survey().assign(income=survey().income.round(-2)), LEVELS)
    found = mw.measure(
        original, masked, ["pil", "household_linkage", {"household_risk": {"members": ["sex"], "row": []}}]
    )
    assert set(found) == {"household.pil", "person.pil", "household_linkage", "household_risk"}
    assert found["household_linkage"].value > 90
    assert found["household.pil"].value == 0
    with pytest.raises(mw.InputError, match="both"):
        mw.measure(original, survey(), ["pil"])


@pytest.mark.timeout(600)
def test_the_pipeline_of_the_demo_runs_as_it_stands(tmp_path, capsys):
    """Its threshold fails on purpose; the figures are those of the specification, section 1, within 3 points."""
    write_levels_demo(tmp_path)
    assert main(["run", str(tmp_path / "flat.yaml"), "--json"]) == 1
    told = capsys.readouterr()
    missed = re.search(r"household_linkage is ([\d.]+\d)", told.err)
    assert missed is not None, told.err
    assert float(missed[1]) == pytest.approx(87, abs=3)
    assert not (tmp_path / "masked.csv").exists()
    text = (tmp_path / "flat.yaml").read_text("utf-8")
    asked = "  - household_linkage: {as: by_totals, known: row}\n  - household_linkage "
    text = text.replace("  - household_linkage ", asked).replace("{household_linkage: 50}", "{household_linkage: 95}")
    (tmp_path / "flat.yaml").write_text(text, "utf-8")
    assert main(["run", str(tmp_path / "flat.yaml"), "--json"]) == 0
    measures = json.loads(capsys.readouterr().out)["measures"]
    assert measures["household_linkage"]["value"] == pytest.approx(87, abs=3)
    assert measures["by_totals"]["value"] == pytest.approx(86, abs=3)


def joined_classes(released: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Size of each person's class, counted in households, by pandas."""
    return released.groupby(keys)["hhid"].transform("nunique")


@pytest.mark.parametrize("keys", [["region", "sex"], ["sex", "rent", "region"], ["age", "rent"]])
def test_a_risk_of_members_takes_keys_of_their_group(pipeline, keys):
    asked = [
        {"k_anonymity": {"keys": keys, "k": 5}}, {"uniqueness": {"keys": keys}}, {"individual_risk": {"keys": keys}},
        {"k_anonymity": {"key_sets": {"joined": keys, "own": ["sex"]}, "as": "several"}},
        {"k_anonymity": {"keys": ["sex"], "as": "own"}},
    ]  # fmt: skip
    path = pipeline(asked)
    assert main(["run", str(path), "--quiet"]) == 0
    measures = record_of(path)["measures"]
    sizes = joined_classes(pd.read_csv(path.parent / "masked.csv"), keys)
    assert measures["person.k_anonymity"]["value"] == sizes.min()
    assert measures["person.k_anonymity"]["parts"]["below_k"] == pytest.approx(100 * (sizes < 5).mean())
    assert measures["person.uniqueness"]["value"] == pytest.approx(100 * (sizes == 1).mean())
    assert measures["person.several"]["value"] == sizes.min()
    assert "person.individual_risk" in measures
    assert measures["person.own"]["value"] > sizes.min()
    assert not {each for each in measures if each.startswith("household.") and "k_anonymity" in each}


def test_linked_data_are_measured_with_keys_of_both_levels():
    original = mw.linked_data(survey(), LEVELS)
    found = mw.measure(original, original, [{"k_anonymity": {"keys": ["region", "sex", "age"]}}, "pil"])
    assert found["person.k_anonymity"].value == joined_classes(survey(), ["region", "sex", "age"]).min()
    assert found["person.pil"].value == 0


def negative_binomial_risk(frequency: int, fraction: float) -> float:
    """Mean of 1 / F where F - f is negative binomial, term by term (Benedetti and Franconi 1998)."""
    size = np.arange(frequency, 20_000)
    ways = np.array([math.lgamma(each) - math.lgamma(frequency) - math.lgamma(each - frequency + 1) for each in size])
    return float(np.sum(np.exp(ways + frequency * np.log(fraction) + (size - frequency) * np.log1p(-fraction)) / size))


@pytest.mark.parametrize("keys", [["region", "sex"], ["sex", "age"]])
def test_a_risk_of_members_takes_the_weight_of_their_group_where_they_have_none(keys):
    frame = survey()
    frame["hweight"] = 5.0 + frame["rent"] % 7
    levels = {**LEVELS, "household": {**LEVELS["household"], "variables": ["region", "total", "rent", "hweight"]}}
    original = mw.linked_data(frame, levels, declared={"hweight": {"role": "weight"}})
    found = mw.measure(original, original, [{"individual_risk": {"keys": keys}}])["person.individual_risk"].value
    classes = frame.groupby(keys)["hweight"].agg(["size", "sum"])
    risks = [negative_binomial_risk(int(f), f / people) for f, people in classes.to_numpy()]
    assert found == pytest.approx(100 * np.sum(classes["size"] * risks) / len(frame), rel=1e-6)


def test_members_with_a_weight_keep_theirs():
    frame = survey()
    frame["hweight"], frame["weight"] = 50.0, 2.0
    levels = {**LEVELS, "household": {**LEVELS["household"], "variables": ["region", "total", "rent", "hweight"]}}
    declared = {"hweight": {"role": "weight"}, "weight": {"role": "weight"}}
    original = mw.linked_data(frame, levels, declared=declared)
    found = mw.measure(original, original, [{"individual_risk": {"keys": ["region", "sex"]}}])
    sizes = frame.groupby(["region", "sex"]).size()
    risks = [negative_binomial_risk(int(f), 0.5) for f in sizes]
    assert found["person.individual_risk"].value == pytest.approx(100 * np.sum(sizes * risks) / len(frame), rel=1e-6)


def test_a_run_estimates_risks_of_members_with_the_weight_of_their_group(pipeline):
    path = pipeline([{"individual_risk": {"keys": ["region", "sex", "age"]}}])
    frame = pd.read_csv(path.parent / "survey.csv")
    plain = path.read_text()
    assert main(["run", str(path), "--quiet"]) == 0
    counted = record_of(path)["measures"]["person.individual_risk"]
    frame.assign(hweight=10).to_csv(path.parent / "survey.csv", index=False)
    written = yaml.safe_load(plain)
    written["data"]["variables"]["hweight"] = {"role": "weight"}
    written["data"]["levels"]["household"]["variables"].append("hweight")
    path.write_text(yaml.safe_dump(written))
    assert main(["run", str(path), "--quiet"]) == 0
    weighted = record_of(path)["measures"]["person.individual_risk"]
    assert weighted["value"] < counted["value"] / 2


def test_a_plan_says_a_measure_with_keys_of_both_levels(pipeline, capsys):
    assert main(["plan", str(pipeline([{"k_anonymity": {"keys": ["region", "sex"]}}]))]) == 0
    said = refused(pipeline([{"k_anonymity": {"keys": ["region", "sexx"]}}]), capsys, 2)
    assert "did you mean 'sex'?" in said
