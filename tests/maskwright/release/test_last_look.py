"""Of every variable of the written file it is said how many cells are as they were; too many are a doubt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.frames import dataset_from_frame
from maskwright.release.protection_checks import unchanged_cells

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def _frame(n: int = 90) -> pd.DataFrame:
    """Of every three wages two are multiples of ten."""
    rng = np.random.default_rng(4)
    place = rng.permutation(n)
    return pd.DataFrame({"wage": 100 + 10 * (place // 3) + (place % 3 == 2), "rent": rng.integers(1, 9000, n)})


def test_a_masked_variable_that_is_mostly_as_it_was_stops_the_run() -> None:
    with pytest.raises(mw.OpenDoubts) as caught:
        mw.protect(_frame(), "rounding", params={"base": 10}, seed=1)
    said = str(caught.value)
    assert "wage" in said
    assert "cells with a value are as they were" in said
    assert "rent: " not in said


def test_zeros_that_are_not_counted_are_said() -> None:
    frame = _frame().assign(wage=lambda each: each["wage"].where(each.index > 8, 0))
    with pytest.raises(mw.OpenDoubts, match="cells with a value other than 0 are as they were"):
        mw.protect(frame, "rounding", params={"base": 10}, seed=1)


def test_drawn_records_have_no_loss_by_step_and_suppression_no_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _frame().assign(region=["north", "south"] * 45).to_csv(tmp_path / "data.csv", index=False)
    text = "maskwright: 1\ndata: {source: data.csv, variables: {region: {role: quasi_identifier}}}\nseed: 1\n"
    text += "protect: [{method: METHOD, variables: [wage, rent]}, {method: local_suppression, variables: [region], "
    text += "params: {k: 3}}]\noutput: {data: masked.csv, record: run.json}\n"
    for method, shown in (("cart_synthesis", False), ("microaggregation", True)):
        (tmp_path / "p.yaml").write_text(text.replace("METHOD", method))
        assert main(["run", str(tmp_path / "p.yaml")]) == 0
        assert ("loss by step" in capsys.readouterr().out) is shown
        record = json.loads((tmp_path / "run.json").read_text())
        assert (record["loss_by_step"] is not None) is shown
        assert record["plan"]["steps"][1]["groups"][0]["operators"] == {"region": ""}


def test_the_share_that_may_stay_is_declared() -> None:
    masked = mw.protect(_frame(), "rounding", params={"base": 10}, seed=1, declared={"wage": {"unchanged": 100}})
    assert (masked["wage"] == _frame()["wage"]).mean() > 0.6


def test_the_record_has_the_share_of_every_variable(tmp_path: Path) -> None:
    frame = _frame().assign(region=["north", "south"] * 45, zero=0)
    frame.to_csv(tmp_path / "data.csv", index=False)
    variables = "wage: {unchanged: 100}, region: {role: other}, zero: {role: other}"
    (tmp_path / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: data.csv, variables: {{{variables}}}}}\nseed: 1\n"
        "protect: [{method: rounding, params: {base: 10}}]\noutput: {data: masked.csv, record: run.json}\n"
    )
    mw.run(tmp_path / "p.yaml")
    shares = {each["name"]: each["unchanged"] for each in json.loads((tmp_path / "run.json").read_text())["variables"]}
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert shares["region"] == 100
    assert shares["zero"] is None
    for name in ("wage", "rent"):
        assert shares[name] == pytest.approx(100 * (masked[name] == frame[name]).mean())


def test_cells_are_compared_whatever_they_became() -> None:
    """Numbers that were read as text, texts as numbers, categories in another order; a suppressed cell has changed."""
    original = pd.DataFrame({"a": [1.0, 2.0, 0.0, 4.0], "b": ["x", "y", "x", "z"], "c": ["1", "2", "3", "3"]})
    released = pd.DataFrame({"a": ["1.00", "7", "0", "4"], "b": ["x", None, "z", "x"], "c": [1.0, 2.0, 3.0, 4.0]})
    found = {
        each.variable.name: (each.cells, each.unchanged)
        for each in unchanged_cells(dataset_from_frame(original), dataset_from_frame(released))
    }
    assert found == {"a": (3, 2), "b": (4, 1), "c": (4, 3)}


def test_records_that_were_left_out_are_paired() -> None:

    original = dataset_from_frame(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}))
    first = original.taken(np.array([1, 2, 3]))
    assert [each.unchanged for each in unchanged_cells(original, first)] == [3]
    assert [each.unchanged for each in unchanged_cells(first, first.taken(np.array([0, 2])))] == [2]


def test_codes_that_nobody_declared_are_judged_where_k_is_promised_too() -> None:
    """Amounts may stay among their like; a number of few values may be a code that is published nearly in clear."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"status": rng.choice([1, 2, 3], 300), "rent": rng.integers(1, 90, 300)})
    with pytest.raises(mw.OpenDoubts, match="W402 values-unchanged: status"):
        mw.protect(frame, "microaggregation", params={"k": 3}, seed=1)
    declared = {"status": {"unchanged": 100}}
    assert len(mw.protect(frame, "microaggregation", params={"k": 3}, seed=1, declared=declared)) == 300


def _heaped(n: int, oldest: int, seed: int = 3) -> pd.DataFrame:
    """Heaped amounts, which means of five equal ones leave as they are; the older, the more records are unique."""
    rng = np.random.default_rng(seed)
    keys = {"sex": rng.choice(["f", "m"], n), "age": rng.integers(18, oldest, n)}
    return pd.DataFrame(keys).assign(cigs=rng.choice([0, 5, 10, 15, 20, 40], n, p=[0.4, 0.1, 0.2, 0.1, 0.15, 0.05]))


def _released(frame: pd.DataFrame, folder: Path, **age: str) -> Mapping[str, Any]:
    frame.to_csv(folder / "data.csv", index=False)
    known = {"role": "quasi_identifier", "release": "as is"}
    return mw.run({
        "maskwright": 1, "seed": 1, "measure": [],
        "data": {"source": str(folder / "data.csv"), "variables": {
            "sex": known, "age": known | age, "cigs": {"role": "confidential"},
        }},
        "protect": [{"method": "microaggregation", "variables": ["cigs"], "params": {"k": 3}}],
        "output": {"data": str(folder / "masked.csv"), "record": str(folder / "run.json")},
    }).record  # fmt: skip


def test_equal_amounts_are_a_doubt_where_who_knows_the_keys_is_right(tmp_path: Path) -> None:
    """Records that are found, by pandas; the same amounts are none among many like records."""
    frame = _heaped(400, 90)
    with pytest.raises(mw.OpenDoubts, match=r"W402 values-unchanged: cigs.*whoever knows sex, age finds") as caught:
        _released(frame, tmp_path)
    like = frame.groupby(["sex", "age"])["cigs"]
    found = (like.transform("size") < 3) & (like.transform("nunique") == 1) & (frame["cigs"] != 0)
    assert f"finds {found.sum()} records among fewer than 3" in str(caught.value)
    record = _released(_heaped(400, 20), tmp_path)
    share = {each["name"]: each["unchanged"] for each in record["variables"]}["cigs"]
    assert share > 95


def test_what_equal_values_give_by_chance_is_not_counted() -> None:
    """In any order most cells show what they showed: more than half, and not beyond chance."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 2000, p=[0.9, 0.1]), "b": rng.normal(0, 1, 2000).round(3)})
    shuffled = frame.assign(a=rng.permutation(frame["a"]))
    (found, _) = unchanged_cells(dataset_from_frame(frame), dataset_from_frame(shuffled))
    assert found.percent is not None
    assert found.percent > 80
    assert found.by_chance == pytest.approx(sum(2000 * p**2 for p in frame["a"].value_counts(normalize=True)))
    assert found.percent_beyond_chance < 5
