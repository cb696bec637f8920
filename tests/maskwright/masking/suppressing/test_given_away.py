"""Suppressed cells that a missing code or one value of another variable gives away: an intruder counts records."""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.dataset import Column, Dataset
from maskwright.data.variable import Variable
from maskwright.disclosure.attacks.dependency import Reader

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """maskwright: 1
data:
  source: persons.csv
  variables:
    region: {role: quasi_identifier}
    age: {role: quasi_identifier}
    sex: {role: quasi_identifier}
    OTHER
EDITS
protect: [{method: local_suppression, params: {k: 5, importance: {sex: 5, region: 5}}}]
output: {data: masked.csv, record: run.json}
release: {order: kept}
seed: 1
"""
LEAST = 10


def persons(n: int = 1000, in_region: int = 3) -> pd.DataFrame:
    """Children are rare: in one region, so few live that their age is suppressed."""
    rng = np.random.default_rng(7)
    age = np.array(["young", "mid", "old"])[rng.choice(3, n)]
    region = rng.choice(["r1", "r2"], n)
    age[:14], region[:14] = "child", "r1"
    region[:in_region] = "r2"
    return pd.DataFrame({"region": region, "age": age, "sex": ["f"] * n})


def run(folder: Path, frame: pd.DataFrame, other: str, edits: str = "") -> tuple[int, pd.DataFrame]:
    """Exit code, and the masked file as it is written."""
    frame.to_csv(folder / "persons.csv", index=False)
    text = PIPELINE.replace("OTHER", other).replace("EDITS", f"edits: [{edits!r}]" if edits else "")
    (folder / "p.yaml").write_text(text)
    code = main(["run", str(folder / "p.yaml")])
    path = folder / "masked.csv"
    return code, pd.read_csv(path, dtype=str, keep_default_na=False) if code == 0 else frame


@pytest.mark.parametrize(
    ("condition", "code"),
    [('inc is "-1"', "-1"), ('inc is "does not apply"', "-1"), ("inc is missing", "-1"), ("not inc is number", "-1")],
)
def test_a_published_missing_code_and_a_published_rule_give_no_cell_away(
    tmp_path: Path, condition: str, code: str
) -> None:
    frame = persons()
    # Few children, so that no count of records could tell: the rule alone does.
    frame.loc[3:13, "age"] = "mid"
    frame["inc"] = np.random.default_rng(1).integers(100, 999, len(frame)).astype(str)
    frame.loc[:2, "inc"] = code
    other = "inc: {role: other, missing: {-1: does not apply}}"
    exit_code, masked = run(tmp_path, frame, other, f'if {condition} then age == "child"')
    assert exit_code == 0
    assert (masked["age"][:3] == "").all()
    assert not (masked["inc"][:3] == code).any()
    assert (masked["inc"][:3] == "").all()


def test_the_published_rule_still_says_what_holds_of_a_code(tmp_path: Path) -> None:
    frame = persons()
    frame["inc"] = "137"
    frame.loc[:13, "inc"] = "-1"
    code, masked = run(tmp_path, frame, "inc: {role: other, missing: {-1: does not apply}}",
                       'if inc is "-1" then age == "child"')  # fmt: skip
    assert code == 0
    assert (masked["inc"] == "-1").sum() == 11
    assert "inc is '-1'" in (tmp_path / "masked.edits.yaml").read_text().partition("when")[2]
    assert main(["validate", str(tmp_path / "masked.csv"), "--edits", str(tmp_path / "masked.edits.yaml"),
                 "--variable", "inc={missing: ['-1']}"]) == 0  # fmt: skip


def test_an_empty_cell_that_looks_suppressed_is_a_doubt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = persons()
    frame.loc[3:13, "age"] = "mid"
    frame["inc"] = "137"
    frame.loc[:2, "inc"] = ""
    code, _ = run(tmp_path, frame, "inc: {role: other, type: integer}", 'if inc is missing then age == "child"')
    assert code == 1
    assert "suppressed-cells-follow" in "".join(capsys.readouterr())
    code, masked = run(tmp_path, frame, "inc: {role: other, type: integer, suppressed_as: '-8'}",
                       'if inc is missing then age == "child"')  # fmt: skip
    assert code == 0
    assert (masked["inc"][:3] == "-8").all()


def test_one_value_of_another_variable_gives_no_cell_away(tmp_path: Path) -> None:
    frame = persons()
    frame["status"] = np.random.default_rng(2).choice(["1", "2", "3"], len(frame))
    frame.loc[:13, "status"] = "0"
    code, masked = run(tmp_path, frame, "status: {role: other, type: nominal}")
    assert code == 0
    assert (masked["age"][:3] == "").all()
    assert not (masked["status"][:3] == "0").any()
    # It goes beside each suppressed age, or it would say which of these are children; other records are left alone.
    assert (masked["status"] == "").equals(masked["age"] == "")
    assert (masked["status"] == "").sum() == 5


@pytest.mark.parametrize(("alike", "gone"), [(9, True), (5, False)])
def test_a_value_that_few_records_have_gives_a_cell_away_where_three_others_show_it(
    tmp_path: Path, alike: int, gone: bool
) -> None:
    frame = persons()
    names = np.random.default_rng(3).permutation(1000)
    frame["status"] = [str(names[each // alike]) for each in range(len(frame))]
    order = np.random.default_rng(4).permutation(len(frame))
    code, masked = run(tmp_path, frame.iloc[order], "status: {role: other, type: nominal}")
    assert code == 0
    # Of the first nine, all children, three are suppressed; of the first five two are left.
    first = order < 3
    assert (masked["age"][first] == "").all()
    assert (masked["status"][first] == "").all() == gone
    assert (masked["status"] == "").any() == gone


def test_a_variable_that_loses_more_than_half_of_its_cells_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    frame = persons(60, 0)
    frame["age"] = rng.choice([f"{each}" for each in range(40)], len(frame))
    run(tmp_path, frame, "")
    said = " ".join("".join(capsys.readouterr()).split())
    assert "age: " in said
    assert "cells are suppressed (" in said


def by_brute_force(published: list[dict[str, object]], names: list[str]) -> dict[tuple[int, str], list[str]]:
    """Suppressed cells, and the variables of which one value shows them: every record is counted for every cell."""
    tests = sum(sum(count >= LEAST for count in Counter(row[name] for row in published).values()) for name in names)
    found: dict[tuple[int, str], list[str]] = {}
    for place, row in enumerate(published):
        for name in names:
            if row[name] is not None:
                continue
            shares = Counter(each[name] for each in published if each[name] is not None)
            for other in names:
                if other == name or row[other] is None:
                    continue
                alike = [each[name] for each in published if each[other] == row[other] and each[name] is not None]
                if len(alike) < LEAST or len(set(alike)) > 1:
                    continue
                share = shares[alike[0]] / shares.total()
                if share < 1 and share ** (len(alike) - 1) * 1000 * tests < 1:
                    found.setdefault((place, name), []).append(other)
    return found


@given(st.integers(0, 2**32 - 1), st.integers(120, 300), st.floats(0.02, 0.2))
@settings(max_examples=40 if os.environ.get("SLOW") else 15, deadline=None)
def test_no_suppressed_cell_is_shown_by_the_records_with_one_value(seed: int, n: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    age = rng.choice(4, n, p=[0.2, 0.3, 0.3, 0.2])
    columns = {
        "age": age,
        "status": np.where(age == 0, 0, rng.integers(1, 4, n)),
        "work": np.where(age <= 1, rng.integers(0, 2, n), rng.integers(1, 4, n)),
        "region": rng.integers(0, 5, n),
    }  # fmt: skip
    data = Dataset(tuple(
        Column(Variable(name, "nominal", categories=("a", "b", "c", "d", "e")), values.astype(np.int32),
               np.zeros(n, dtype=np.bool_))
        for name, values in columns.items()
    ))  # fmt: skip
    hidden = {"age": rng.random(n) < share}
    truth = {name: values.tolist() for name, values in columns.items()}
    found = Reader(data, data.names, ["age"]).complement(hidden)
    assert not found.left
    gone = {name: hidden.get(name, False) | found.cells.get(name, np.zeros(n, dtype=np.bool_)) for name in columns}
    published = [
        {name: None if gone[name][place] else truth[name][place] for name in columns} for place in range(n)
    ]  # fmt: skip
    shown = by_brute_force(published, list(columns))
    wrong = [(place, name) for (place, name), by in shown.items()
             if any(truth[name][place] == next(each[name] for each in published
                    if each[other] == published[place][other] and each[name] is not None) for other in by)]  # fmt: skip
    assert not wrong
    # Cells of records whose age is published are left alone.
    assert all(math.isclose(0, np.sum(cells & ~hidden["age"])) for name, cells in found.cells.items() if name != "age")


def test_independent_keys_lose_no_cell_to_one_another(tmp_path: Path) -> None:
    """What is left after suppression agrees more than the original did: rules that are not true."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        skewed = {"sex": (2, 0), "age": (6, 0.5), "race": (2, 2.5), "marital": (6, 2), "edu": (5, 0.8)}
        skewed |= {"preg": (7, 1.5), "region": (4, 0)}
        weights = {name: 1 / np.arange(1, values + 1) ** steep for name, (values, steep) in skewed.items()}
        columns = {name: rng.choice(len(own), 1600, p=own / own.sum()) for name, own in weights.items()}
        pd.DataFrame(columns).to_csv(tmp_path / "d.csv", index=False)
        keys = {name: {"role": "quasi_identifier", "type": "nominal"} for name in columns}
        record = mw.run({
            "maskwright": 1, "data": {"source": str(tmp_path / "d.csv"), "variables": keys}, "seed": 1,
            "protect": [{"method": "local_suppression", "params": {"k": 3}}],
            "output": {"data": str(tmp_path / "m.csv")},
        }).record  # fmt: skip
        assert sum(each["cells"] for each in record["suppressed"]) > 50
        assert all(each["complementary"] == 0 for each in record["suppressed"]), seed


def test_the_search_ends_where_a_suppressed_cell_reads_as_the_empty_ones_do() -> None:
    """Of stratum 1, all without a job are `a`: so is who lost both, and the stratum is not suppressed."""
    rng = np.random.default_rng(3)
    n = 600
    stratum = rng.integers(0, 2, n)
    job = rng.integers(0, 2, n)
    jobless = rng.random(n) < 0.5
    kind = np.where((stratum == 1) & jobless, 0, rng.integers(0, 2, n))
    lost = np.arange(n) < 20
    stratum[lost], job[lost], jobless[lost], kind[lost] = 1, 0, False, 0
    none = np.zeros(n, dtype=np.bool_)
    columns = {"stratum": (stratum, none), "job": (job, jobless), "kind": (kind, none)}
    data = Dataset(tuple(
        Column(Variable(name, "nominal", categories=("a", "b")),
               np.where(missing, -1, values).astype(np.int32), missing)
        for name, (values, missing) in columns.items()
    ))  # fmt: skip
    found = Reader(data, data.names, never=["stratum"]).complement({"job": lost, "kind": lost})
    np.testing.assert_array_equal(found.left["kind"] & lost, lost)
