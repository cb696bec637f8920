"""Limits, bands, suppression and clusters of the same variables compose: k, limits and edits hold in the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

CODING = {"method": "top_and_bottom_coding", "variables": ["sales"], "params": {"top": 900}}
CLUSTERS = {"method": "microaggregation", "variables": ["sales", "assets"], "params": {"k": 5}}
ROUNDING = {"method": "rounding", "variables": ["assets"], "params": {"base": 20}}
NOISE = {"method": "correlated_noise", "variables": ["sales", "assets"], "params": {"p": 0.1}}


def firms(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sales = rng.integers(100, 1100, 60)
    return pd.DataFrame({"sales": sales, "assets": sales + rng.integers(0, 5000, 60)})


def people(seed: int = 3, n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 90, n)
    return pd.DataFrame({
        "age": age, "smoked": (age * rng.uniform(0, 1, n)).astype(int), "weight": rng.integers(40, 120, n),
        "tax": rng.integers(0, 10_000, n), "wage": np.where(age < 18, 0, rng.integers(500, 900, n)),
        "sex": rng.choice(["f", "m"], n),
    })  # fmt: skip


def written(folder: Path, frame: pd.DataFrame, steps: list[Any], edits: list[str], **more: Any) -> Path:
    """Pipeline with its data; variables that no step masks are published as they are."""
    frame.to_csv(folder / "d.csv", index=False)
    touched = {name for step in steps for name in (*step.get("variables", ()), *step["params"].get("recode", ()))}
    declared = {name: {"release": "as is"} for name in frame.columns if name not in touched}
    declared |= {name: {"role": "quasi_identifier"} for name in ("age", "sex") if name in touched}
    pipeline = {
        "maskwright": 1, "data": {"source": "d.csv", "variables": declared}, "edits": edits, "protect": steps,
        "output": {"data": "m.csv", "edits": "m.edits.yaml"}, "seed": 1, **more,
    }  # fmt: skip
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    return path


def released(folder: Path, frame: pd.DataFrame, steps: list[Any], edits: list[str]) -> tuple[pd.DataFrame, Any]:
    done = mw.run(written(folder, frame, steps, edits))
    assert done.ok
    return pd.read_csv(folder / "m.csv"), done.record


@pytest.mark.parametrize("edits", [["sales >= 0"], ["sales <= assets", "assets <= 9000"]])
@pytest.mark.parametrize("steps", [[CODING, CLUSTERS], [CLUSTERS, CODING], [CLUSTERS, ROUNDING, CODING]])
def test_limits_and_clusters_of_one_variable(tmp_path: Path, steps: list[Any], edits: list[str]) -> None:
    masked, record = released(tmp_path, firms(), steps, edits)
    assert masked.groupby(["sales", "assets"]).size().min() >= 5
    assert masked["sales"].max() <= 900
    assert (masked["sales"] <= masked["assets"]).all()
    assert all(each["acting_on"] == "representatives" for each in record["adjustment"])
    if ROUNDING in steps:
        assert (masked["assets"] % 20 == 0).all()


def test_each_order_is_the_steps_one_after_the_other(tmp_path: Path) -> None:
    """Coded first: the clusters of the coded file. Coded last: the coded values of the clusters."""
    frame, edits = firms(), ["sales >= 0"]
    first, _ = released(tmp_path, frame, [CODING, CLUSTERS], edits)
    last, _ = released(tmp_path, frame, [CLUSTERS, CODING], edits)
    clusters, _ = released(tmp_path, frame, [CLUSTERS], edits)
    pd.testing.assert_frame_equal(last, clusters.assign(sales=clusters["sales"].clip(upper=900)))
    labels = first.groupby(["sales", "assets"]).ngroup()
    means = frame["sales"].clip(upper=900).groupby(labels).transform("mean")
    assert (first["sales"] - means).abs().max() <= 0.5


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations([CODING, CLUSTERS, ROUNDING]), seed=st.integers(0, 50), gaps=st.booleans())
def test_any_order_keeps_k_and_edits(tmp_path: Path, order: list[Any], seed: int, gaps: bool) -> None:
    frame = firms(seed).astype({"assets": "Int64"})
    if gaps:
        frame.loc[:9, "assets"] = pd.NA
    masked, _ = released(tmp_path, frame, order, ["sales <= assets", "sales >= 0"])
    assert masked.groupby(["sales", "assets"], dropna=False).size().min() >= 5
    assert not (masked["sales"] > masked["assets"]).any()
    assert masked["sales"].max() <= 900


@pytest.mark.parametrize("edits", [["sales <= assets"], []])
def test_an_order_that_undoes_k_is_refused_with_one_that_does_not(tmp_path: Path, edits: list[str]) -> None:
    path = written(tmp_path, firms(), [CLUSTERS, NOISE], edits)
    hint = None
    if edits:
        with pytest.raises(mw.InputError) as refused:
            plan_pipeline(path)
        (problem,) = refused.value.problems
        assert "step 2 (correlated_noise) changes sales, assets besides" in problem.message
        assert "masked again" not in problem.message
        hint = problem.hint
    else:
        (doubt,) = (each for each in plan_pipeline(path)["doubts"] if each["doubt"] == "promise-undone-by-a-later-step")
        hint = doubt["remedy"]
    assert hint is not None
    lines = hint.splitlines()
    assert lines[0] == "this order works: step 2 (correlated_noise), step 1 (microaggregation); write"
    advised = yaml.safe_load("\n".join(lines[1:]))
    assert advised == [NOISE, CLUSTERS]
    masked, _ = released(tmp_path, firms(), advised, ["sales <= assets", "sales >= 0"])
    assert masked.groupby(["sales", "assets"]).size().min() >= 5


def highest_ages(band: str) -> float:
    """Highest whole age of a published band."""
    found = re.search(r"below (\d+)", band)
    return np.inf if found is None else int(found[1]) - 1


@pytest.mark.parametrize("borders", [[18, 35, 50, 65], list(range(20, 86, 5))])
@pytest.mark.parametrize("bands_first", [True, False])
def test_an_edit_between_bands_and_clusters(tmp_path: Path, borders: list[int], bands_first: bool) -> None:
    """Of each published record some age of its band obeys the edit, as whoever has the file and its edits can check."""
    together = ["smoked", "weight", "tax"]
    clusters = {"method": "microaggregation", "variables": together, "params": {"k": 5}}
    bands = {"method": "recoding", "params": {"recode": {"age": borders}, "release_edits": {"weaken": ["age"]}}}
    steps = [bands, clusters] if bands_first else [clusters, bands]
    masked, record = released(tmp_path, people(), steps, ["smoked <= age"])
    assert (masked["smoked"] <= masked["age"].map(highest_ages)).all()
    assert masked.groupby(together).size().min() >= 5
    assert [(each["kept_by"], each["adjusted"] > 0) for each in record["edits"]] == [("adjustment", True)]
    checked = ["validate", str(tmp_path / "m.csv"), "--edits", str(tmp_path / "m.edits.yaml")]
    assert main(checked) == 0
    worst = masked["age"].map(highest_ages).idxmin()
    masked.loc[worst, "smoked"] = int(highest_ages(masked.loc[worst, "age"])) + 1
    masked.to_csv(tmp_path / "m.csv", index=False)
    assert main(checked) == 1


def test_conditions_on_bands_cut_the_clusters(tmp_path: Path) -> None:
    """Nobody's wage becomes 0 for the sake of a minor in the same cluster."""
    bands = {"method": "recoding", "params": {"recode": {"age": [18, 40, 65]}}}
    clusters = {"method": "microaggregation", "variables": ["wage", "weight"], "params": {"k": 5}}
    frame = people()
    masked, record = released(tmp_path, frame, [bands, clusters], ["if age < 18 then wage <= 0"])
    assert ((masked["wage"] == 0) == (frame["age"] < 18)).all()
    assert masked.groupby(["wage", "weight"]).size().min() >= 5
    assert record["edits"][0]["kept_by"] == "construction"


def test_conditions_on_suppressed_cells_cut_the_clusters(tmp_path: Path) -> None:
    frame = people().drop(columns="wage")
    frame["pension"] = np.where(frame["sex"] == "m", 0, np.arange(len(frame)) + 500)
    clusters = {"method": "microaggregation", "variables": ["pension", "weight"], "params": {"k": 5}}
    rare = {"method": "local_suppression", "variables": ["age", "sex"], "params": {"k": 2}}
    masked, _ = released(tmp_path, frame, [clusters, rare], ["if sex == 'm' then pension == 0"])
    assert masked.groupby(["pension", "weight"]).size().min() >= 5
    assert masked.loc[masked["sex"] == "m", "pension"].eq(0).all()
    assert masked[["age", "sex"]].isna().any(axis=None)
    kept = frame.loc[frame["sex"] == "f", "pension"].sum()
    assert abs(masked.loc[frame["sex"] == "f", "pension"].sum() - kept) <= len(frame)


def test_sizes_of_classes_stand_beside_the_k_of_their_variables(tmp_path: Path) -> None:
    clusters = {"method": "microaggregation", "variables": ["wage", "weight", "smoked"], "params": {"k": 7}}
    rare = {"method": "local_suppression", "variables": ["age", "sex"], "params": {"k": 2}}
    masked, record = released(tmp_path, people(), [clusters, rare], [])
    keys = masked.groupby(["age", "sex"], dropna=False).size()
    found = record["k"]["quasi_identifiers"]
    assert (found["expected"], found["smallest"], found["below"]) == (2, keys.min(), 0)
    rows = {each.about: each for each in mw.wording.classes_of_equal_records(mw.RunRecord.model_validate(record))}
    assert [(about, each.sizes.expected, each.is_promised) for about, each in rows.items()] == [
        ("on any one variable group of k 7", 7, True),
        ("on any one variable group of k 2", 2, True),
        ("on all quasi-identifiers (age, sex)", 2, True),
        ("on whole records (no method promises this)", 7, False),
    ]


def test_whole_records_of_one_group_are_promised(tmp_path: Path) -> None:
    _, record = released(tmp_path, firms(), [CLUSTERS], [])
    rows = mw.wording.classes_of_equal_records(mw.RunRecord.model_validate(record))
    assert (rows[-1].about, rows[-1].sizes.expected, rows[-1].is_promised) == ("on whole records", 5, True)
