"""Limits, bands, suppression and clusters of the same variables compose: k, limits and edits hold in the file."""

from __future__ import annotations

import re
from itertools import permutations
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
BANDS = {"method": "recoding", "params": {"recode": {"sales": [300, 600]}, "release_edits": {"weaken": ["sales"]}}}
RARE = {"method": "local_suppression", "params": {"k": 2, "keys": ["size", "sales"]}}
EACH_ORDER = [order for count in (2, 3) for order in permutations([CLUSTERS, CODING, BANDS, RARE, NOISE], count)]


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
    touched = {
        name for step in steps
        for name in (*step.get("variables", ()), *step["params"].get("recode", ()), *step["params"].get("keys", ()))
    }  # fmt: skip
    declared = {name: {"release": "as is"} for name in frame.columns if name not in touched}
    declared |= {name: {"role": "quasi_identifier"} for name in ("age", "sex", "size") if name in touched}
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


@pytest.mark.covering(2)
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


def sized_firms(seed: int, n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sales = rng.integers(100, 1100, n)
    size = rng.choice(["large", "medium", "small"], n, p=[0.1, 0.3, 0.6])
    return pd.DataFrame({"sales": sales, "assets": sales + rng.integers(0, 5000, n), "size": size})


def class_of(masked: pd.DataFrame, step: dict[str, Any]) -> int:
    """Records of the smallest class of what a step promises k of; an empty cell is a value."""
    names = step["params"].get("keys") or step["variables"]
    return int(masked.groupby(names, dropna=False).size().min())


def holds(masked: pd.DataFrame, steps: list[dict[str, Any]]) -> bool:
    """Every promise of the steps, and both edits, counted in what was published."""
    sales, assets = masked["sales"], masked["assets"]
    if any(step["method"] == "recoding" for step in steps):
        lowest = sales.map({"below 300": 0, "300 to below 600": 300, "600 and above": 600})
        assert (lowest.isna() == sales.isna()).all()
    else:
        lowest = sales
        assert not (sales < 0).any()
        # What is coded stays so where no step changes it after.
        changed_after = any(step["method"] == "correlated_noise" for step in steps[steps.index(CODING) :]
                            ) if CODING in steps else True  # fmt: skip
        assert changed_after or not (sales > 900).any()
    assert not (lowest > assets).any()
    return all(class_of(masked, step) >= step["params"]["k"] for step in steps if "k" in step["params"])


@pytest.mark.covering(3)
@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("steps", EACH_ORDER, ids=lambda each: "-".join(step["method"] for step in each))
def test_each_order_keeps_what_it_promises_or_is_refused_for_what_is_so(tmp_path: Path, steps: tuple[Any, ...]) -> None:
    frame, edits, stated = sized_firms(len(steps)), ["sales >= 0", "sales <= assets"], list(steps)
    try:
        masked, _ = released(tmp_path, frame, stated, edits)
    except (mw.InputError, mw.ReleaseRefused) as refused:
        reasons = [problem for problem in refused.problems if problem.message != "nothing was released"]
        assert reasons
        for problem in reasons:
            assert_true(problem.sentence, stated, tmp_path, frame, edits)
            if "this order works" in (problem.hint or ""):
                advised = yaml.safe_load("\n".join(problem.hint.splitlines()[1:]))
                assert sorted(each["method"] for each in advised) == sorted(each["method"] for each in stated)
                masked, _ = released(tmp_path, frame, advised, edits)
                assert holds(masked, advised)
    else:
        assert holds(masked, stated)


def assert_true(reason: str, steps: list[Any], folder: Path, frame: pd.DataFrame, edits: list[str]) -> None:
    """Refute the reason of a refusal by what the steps do, or by the file that comes out without the promise."""
    numbers = [int(number) - 1 for number in re.findall(r"step (\d)", reason)]
    first, last = steps[numbers[0]], steps[numbers[-1]]
    if "works on the values that are published" in reason:
        assert first is RARE
        assert last is not RARE
        assert numbers[1] > numbers[0]
    elif "cannot mask 'sales': it is ordinal" in reason or "sales: step" in reason:
        assert ("left it as it was" in reason) == (first is CODING)
        assert BANDS in steps[: numbers[0]]
        assert "sales" in first["variables"]
    else:
        assert f"promises k = {first['params']['k']}" in reason
        assert last is NOISE
        reported = {**first, "params": {**first["params"], "k_guarantee": "report"}}
        masked, _ = released(folder, frame, [reported if each is first else each for each in steps], edits)
        assert class_of(masked, first) < first["params"]["k"]


@pytest.mark.covering(2)
@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("importance", [{}, {"sales": 100}])
def test_cells_of_a_cluster_go_with_the_rest_of_it(tmp_path: Path, seed: int, importance: dict[str, int]) -> None:
    """Of each cluster all cells stay, or at least five, or none."""
    frame = sized_firms(seed, 300)
    rare = {"method": "local_suppression", "params": {"k": 3, "keys": ["size", "sales"], "importance": importance}}
    alone, _ = released(tmp_path, frame, [CLUSTERS], ["sales >= 0"])
    masked, record = released(tmp_path, frame, [CLUSTERS, rare], ["sales >= 0"])
    assert holds(masked, [CLUSTERS, rare])
    gone = masked["sales"].isna()
    assert 0 < gone.sum() < len(frame)
    both = ["sales", "assets"]
    pd.testing.assert_frame_equal(masked.loc[~gone, both], alone.loc[~gone, both], check_dtype=False)
    left = gone.groupby([alone["sales"], alone["assets"]]).agg(["size", "sum"])
    assert ((left["size"] - left["sum"] == 0) | (left["size"] - left["sum"] >= 5)).all()
    counted = {each["variable"]: each for each in record["suppressed"]}
    assert counted["sales"]["cells"] == gone.sum() > counted["sales"]["complementary"]
    said = " ".join(each["message"] for each in record["notices"])
    assert "because their cluster would show suppressed cells, or fewer than k records of it would be left" in said


@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("k", [30, 60])
@pytest.mark.parametrize("first", [True, False])
def test_clusters_are_formed_of_the_records_that_stay(tmp_path: Path, k: int, first: bool) -> None:
    """Who is rare in the keys leaves, and nobody else: means are those of the others."""
    frame = sized_firms(1, 300)
    keys = {"method": "record_suppression", "params": {"k": k, "keys": ["size"]}}
    steps = [keys, CLUSTERS] if first else [CLUSTERS, keys]
    masked, record = released(tmp_path, frame, steps, [])
    assert holds(masked, steps)
    left = frame[frame["size"].map(frame["size"].value_counts()) >= k].reset_index(drop=True)
    assert masked["size"].tolist() == left["size"].tolist()
    for name in ("sales", "assets"):
        assert masked[name].mean() == pytest.approx(left[name].mean(), abs=0.5)
    assert (len(left) < 300) == (k == 60)
    assert not any(each["kind"] in ("rare-groups-left-out", "cells-suppressed") for each in record["notices"])


def persons(seed: int, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    drawn = {
        name: rng.integers(0, top, n) for name, top in (("inc", 90_000), ("tax", 900), ("rent", 500), ("heat", 99))
    }
    return pd.DataFrame({
        "region": rng.choice([*"abcde"], n, p=[0.4, 0.3, 0.2, 0.08, 0.02]), "sex": rng.choice(["f", "m"], n),
        "job": rng.choice([*"uvwxyz"], n, p=[0.4, 0.3, 0.15, 0.1, 0.03, 0.02]), "age": rng.integers(15, 90, n), **drawn,
    })  # fmt: skip


def by_keys(method: str, k: int, *keys: str) -> dict[str, Any]:
    return {"method": method, "variables": list(keys), "params": {"k": k, "keys": list(keys)}}


def clusters_of(k: int, *names: str) -> dict[str, Any]:
    return {"method": "microaggregation", "variables": list(names), "params": {"k": k}}


CELLS = by_keys("local_suppression", 3, "region", "sex", "job")
RECORDS = by_keys("record_suppression", 4, "region", "sex")
OTHER_RECORDS = by_keys("record_suppression", 3, "job", "region")
TWO_CLUSTERS = [clusters_of(5, "inc", "tax"), clusters_of(4, "rent", "heat")]
AGE_BANDS = {"method": "recoding", "params": {"recode": {"age": [30, 50, 70]}}}


def assert_promises(masked: pd.DataFrame, steps: list[dict[str, Any]]) -> None:
    for step in steps:
        assert "k" not in step["params"] or class_of(masked, step) >= step["params"]["k"], step


@pytest.mark.covering(4)
@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "steps",
    [[CELLS, RECORDS], [RECORDS, CELLS], [CELLS, OTHER_RECORDS, RECORDS], [OTHER_RECORDS, CELLS, RECORDS]],
)
def test_cells_and_records_are_taken_away_by_keys_in_one_run(tmp_path: Path, steps: list[Any], seed: int) -> None:
    masked, record = released(tmp_path, persons(seed), steps, [])
    assert_promises(masked, steps)
    assert len(masked) > 250
    direct = sum(each.get("records_left_out", 0) for each in record["methods"])
    said = [each["count"] for each in record["notices"] if each["kind"] == "rare-groups-left-out"]
    assert 300 - len(masked) == direct + sum(said)


@pytest.mark.covering(2)
@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "steps",
    [[*TWO_CLUSTERS, OTHER_RECORDS], [AGE_BANDS, *TWO_CLUSTERS, by_keys("record_suppression", 3, "age", "region")]],
)
def test_a_few_rare_records_leave_two_clusterings_whole(tmp_path: Path, steps: list[Any], seed: int) -> None:
    frame = persons(seed)
    masked, _ = released(tmp_path, frame, steps, [])
    assert_promises(masked, steps)
    keys = steps[-1]["params"]["keys"]
    before = frame.assign(age=pd.cut(frame["age"], [0, 29, 49, 69, 200])) if "age" in keys else frame
    stays = before.groupby(keys, observed=True)["inc"].transform("size") >= 3
    assert 0 < (~stays).sum() == 300 - len(masked)
    assert not masked.isna().any().any()


@pytest.mark.covering(3)
@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "steps",
    [[*TWO_CLUSTERS, by_keys("record_suppression", 2, "sex", "inc")], [*TWO_CLUSTERS, CELLS, RECORDS],
     [TWO_CLUSTERS[0], by_keys("record_suppression", 2, "sex", "inc"), TWO_CLUSTERS[1]]],
)  # fmt: skip
def test_what_is_left_of_a_cluster_loses_its_cells(tmp_path: Path, steps: list[Any], seed: int) -> None:
    """Whom the published values single out leaves after clusters are formed, and takes no cluster along."""
    masked, _ = released(tmp_path, persons(seed), steps, [])
    assert_promises(masked, steps)
    assert 200 < len(masked) <= 300
    for step in (step for step in steps if step["method"] == "microaggregation"):
        gone = masked[step["variables"]].isna()
        assert gone.all(axis=1).sum() == gone.any(axis=1).sum() < 150


@pytest.mark.parametrize("within", [["region"], ["region", "sex"]])
@pytest.mark.parametrize("last", ["local_suppression", "generalisation"])
def test_mates_in_the_stratum_show_no_suppressed_value(tmp_path: Path, within: list[str], last: str) -> None:
    """Clusters lie within one region: who is in a cluster is of the region of the others."""
    limited = {"suppression_limit": 0.5, "levels": {"region": 0, "sex": 0}}
    rng = np.random.default_rng(5)
    regions = [*"abcdefgh"] * 38 + ["small"] * 12
    frame = pd.DataFrame({
        "region": regions, "sex": rng.choice(["f", "m"], len(regions), p=[0.9, 0.1]),
        "hours": rng.integers(1, 60, len(regions)), "rooms": rng.integers(1, 9, len(regions)),
    })  # fmt: skip
    clusters = {**CLUSTERS, "variables": ["hours", "rooms"], "within": within}
    params: dict[str, Any] = {"k": 8, "keys": ["region", "sex"], **(limited if last == "generalisation" else {})}
    step = {"method": last, "variables": ["region", "sex"], "params": params}
    frame = frame.sample(frac=1, random_state=1, ignore_index=True)
    masked, _ = released(tmp_path, frame, [clusters, step], [])
    gone = masked["region"].isna()
    assert gone.any()
    shown = masked[~gone].groupby(["hours", "rooms"])["region"].agg(["nunique", "first"])
    inferred = masked.loc[gone, ["hours", "rooms"]].join(shown, on=["hours", "rooms"]).query("nunique == 1")
    # Small strata were joined: what their clusters show is of others.
    assert (inferred["first"] == frame["region"][inferred.index]).sum() <= len(inferred) / 4
    assert within != ["region"] or not len(inferred)
