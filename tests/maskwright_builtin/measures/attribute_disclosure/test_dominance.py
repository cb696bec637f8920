"""Sensitive cells by hand and against a count cell by cell: weights, holdings, zeros, negative and missing amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
from maskwright_builtin.measures.attribute_disclosure.dominance import DominanceParams

if TYPE_CHECKING:
    from pathlib import Path

BY_BRANCH: dict[str, Any] = {"tables": [["branch"]], "amounts": ["turnover"]}


def measured(frame: pd.DataFrame, params: dict[str, Any], **more: Any) -> mw.Measurement:
    return mw.measure(frame, frame, [{"dominance": params}], **more)["dominance"]


def firms(**cells: list[float]) -> pd.DataFrame:
    """Turnovers of the firms of each branch."""
    rows = [(branch, amount) for branch, amounts in cells.items() for amount in amounts]
    return pd.DataFrame(rows, columns=["branch", "turnover"])


def parts(frame: pd.DataFrame, **params: Any) -> dict[str, float]:
    return dict(measured(frame, BY_BRANCH | params).parts)


def test_cells_by_hand() -> None:
    """With p = 10: what the third and smaller ones have, 9 and 10, is compared with a tenth of 100."""
    frame = firms(steel=[100, 60, 9], glass=[100, 60, 10], paper=[5, 5], none=[0, 0, 0], wood=[40, 30, 20, 10])
    found = measured(frame, BY_BRANCH)
    assert found.value == pytest.approx(40.0)
    assert found.parts == pytest.approx(
        {
            "sensitive": 2, "cells": 5, "few_contributors": 20.0, "p_percent": 40.0, "n_k": 0.0, "zero_cells": 20.0,
            "share_of_total": 100 * (169 + 10) / (169 + 170 + 10 + 100),
        }
    )  # fmt: skip
    assert found.per_record is not None
    assert found.per_record.tolist() == [1.0] * 3 + [0.0] * 3 + [1.0] * 2 + [0.0] * 7
    assert found.per_variable == {"turnover": pytest.approx(40.0)}
    assert found.interval is None


def test_two_largest_with_more_than_k_percent() -> None:
    """Of 100, the two largest have 85 in steel, 84 in glass."""
    frame = firms(steel=[45, 40, 15], glass=[44, 40, 16])
    assert parts(frame, n=2, k=84.5, p=None)["n_k"] == 50.0
    assert parts(frame, n=2, k=85.0, p=None)["n_k"] == 0.0, "more than k percent, not as much"
    assert parts(frame, n=1, k=44.5, p=None)["n_k"] == 50.0
    assert parts(frame, n=2, k=84.5, p=None)["p_percent"] == 0.0, "a rule that is not used finds nothing"


def test_zeros_are_no_contributors_and_missing_amounts_are_left_out() -> None:
    zeros = firms(steel=[50, 50, 50, 0], glass=[50, 50, 0, 0], none=[0.0])
    assert parts(zeros, p=None)["few_contributors"] == pytest.approx(100 / 3)
    assert parts(zeros, p=None)["zero_cells"] == pytest.approx(100 / 3)
    missing = firms(steel=[50, 50, np.nan], glass=[np.nan], wood=[1, 1, 1])
    found = measured(missing, BY_BRANCH | {"p": None})
    assert found.parts["cells"] == 2, "a cell without any amount is none"
    assert found.parts["few_contributors"] == 50.0
    assert "left out: 2 missing amounts" in found.notes
    nothing = measured(missing.assign(turnover=np.nan), BY_BRANCH)
    assert np.isnan(nothing.value)
    assert "not defined: no cell has an amount" in nothing.notes


def test_a_missing_category_is_a_cell() -> None:
    frame = firms(steel=[5, 5, 5], wood=[7, 7])
    frame.loc[frame.branch == "wood", "branch"] = None
    assert measured(frame, BY_BRANCH).parts["cells"] == 2
    assert measured(frame, BY_BRANCH).parts["few_contributors"] == 50.0


def test_negative_amounts_contribute_with_their_absolute_values() -> None:
    frame = firms(steel=[100, -60, 9], glass=[-100, 60, 10])
    assert measured(frame, BY_BRANCH).parts == measured(frame.assign(turnover=frame.turnover.abs()), BY_BRANCH).parts
    assert "taken as their absolute values: 2 negative amounts" in measured(frame, BY_BRANCH).notes


def test_a_record_of_weight_three_counts_as_three_contributors() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"branch": rng.choice(list("abcdefgh"), 50), "turnover": rng.lognormal(3, 2, 50).round()})
    weight = rng.integers(1, 4, 50)
    params = BY_BRANCH | {"n": 3, "k": 60, "minimum_contributors": 1}
    found = measured(frame.assign(w=weight), params, declared={"w": {"role": "weight"}})
    expected = measured(frame.iloc[np.repeat(np.arange(50), weight)], params)
    assert found.parts == pytest.approx(expected.parts)
    assert 0 < found.value < measured(frame, params).value
    assert "totals are weighted" in found.notes


def test_a_weight_counts_in_part_and_one_below_one_as_one() -> None:
    """Of 1.5 firms of 100 and one of 20, the two largest have 150 / 1.5 + 50 = 150: 10 are left of the second."""
    frame = pd.DataFrame({"branch": ["a", "a"], "turnover": [100.0, 20.0], "w": [1.5, 1.0]})
    declared = {"w": {"role": "weight"}}
    params = BY_BRANCH | {"minimum_contributors": 1}
    assert measured(frame, params | {"p": 10}, declared=declared).value == 0.0
    assert measured(frame, params | {"p": 10.5}, declared=declared).value == 100.0
    light = frame.assign(w=[0.0, 0.5])
    found = measured(light, params, declared=declared)
    assert found.parts == measured(frame.drop(columns="w"), params).parts
    assert "totals are weighted; in 2 records a weight below 1 counts as 1" in found.notes


def test_records_of_one_holding_are_one_contributor() -> None:
    frame = firms(steel=[30, 30, 30, 20], glass=[30, 30, 30, 20]).assign(holding=[1, 1, 2, 3, 4, 5, 6, 1])
    found = measured(frame, BY_BRANCH, cluster="holding")
    merged = frame.groupby(["branch", "holding"], as_index=False).turnover.sum().drop(columns="holding")
    expected = measured(merged, BY_BRANCH)
    assert found.parts == expected.parts
    assert parts(frame.drop(columns="holding"), minimum_contributors=4)["few_contributors"] == 0.0
    few = measured(frame, BY_BRANCH | {"minimum_contributors": 4}, cluster="holding")
    assert few.parts["few_contributors"] == 50.0
    assert "records of one household are one contributor" in few.notes


def cell_by_cell(frame: pd.DataFrame, tables: list[list[str]], amounts: list[str], p: float, n: int, k: float) -> tuple:
    """Sensitive cells and cells, one at a time and by the words of the book."""
    sensitive = cells = 0
    for names in tables:
        for _, cell in frame.groupby(names, dropna=False):
            for name in amounts:
                x = sorted(cell[name].dropna().abs(), reverse=True)
                if not x:
                    continue
                cells += 1
                total = sum(x)
                by_p = total > 0 and total - sum(x[:2]) < p / 100 * x[0]
                by_n = total > 0 and sum(x[:n]) > k / 100 * total
                few = 0 < sum(each > 0 for each in x) < 3
                sensitive += by_p or by_n or few
    return sensitive, cells


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4), st.sampled_from([5.0, 10.0, 50.0]))
def test_the_count_cell_by_cell_is_the_same(seed: int, records: int, n: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "west"], records),
            "branch": rng.choice(["a", "b", "c", "d"], records),
            "turnover": rng.lognormal(2, 1.5, records).round() * rng.choice([0, 1, -1], records, p=[0.2, 0.7, 0.1]),
            "wages": np.where(rng.random(records) < 0.2, np.nan, rng.integers(0, 50, records)),
        }
    )
    tables, amounts = [["region", "branch"], ["branch"]], ["turnover", "wages"]
    expected = cell_by_cell(frame, tables, amounts, p, n, 80.0)
    found = measured(frame, {"tables": tables, "amounts": amounts, "p": p, "n": n, "k": 80})
    assert (found.parts.get("sensitive", 0), found.parts.get("cells", 0)) == expected
    shuffled = measured(frame.sample(frac=1, random_state=seed), {"tables": tables, "amounts": amounts, "p": p})
    assert shuffled.parts == measured(frame, {"tables": tables, "amounts": amounts, "p": p}).parts


def test_before_and_after_and_a_threshold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters of three within a branch have no cell that is dominated."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"branch": np.repeat(list("abcd"), 8), "turnover": rng.lognormal(3, 1, 32).round() + 1})
    frame.loc[::8, "turnover"] = 10_000
    frame.to_csv("firms.csv", index=False)
    pipeline: dict[str, Any] = {
        "maskwright": 1,
        "data": {"source": "firms.csv", "variables": {"branch": {"role": "other"}}},
        "protect": [{"method": "microaggregation", "within": ["branch"], "params": {"k": 3}}],
        "measure": [{"dominance": {"tables": [["branch"]]}}],
        "thresholds": {"dominance": 0, "dominance.zero_cells": 0},
        "output": {"data": "masked.csv"},
        "seed": 1,
    }
    found = mw.run(pipeline).record["measures"]["dominance"]
    assert found["value"] == 0.0
    assert found["before"]["value"] == 100.0


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"tables": [["branhc"]]}, "branhc.*branch"),
        ({"tables": [["branch", "branch"]]}, "a table names a variable twice"),
        ({"tables": [["branch"], ["branch"]]}, "a table is named twice"),
        ({"tables": [["branch"]], "amounts": ["branch"]}, "branch defines a table"),
        ({"tables": [["branch"]], "amounts": ["size"]}, "size is not numeric"),
        ({"tables": [["branch"]], "amounts": ["turnover", "turnover"]}, "an amount is named twice"),
        ({"tables": [["turnover"]]}, "no amounts"),
    ],
)
def test_mistakes_are_found_before_anything_is_masked(tmp_path: Path, params: dict[str, Any], said: str) -> None:
    firms(steel=[1, 2, 3]).assign(size=["small", "large", "large"]).to_csv(tmp_path / "firms.csv", index=False)
    variables = {"branch": {"role": "other"}, "size": {"role": "other"}}
    pipeline = {
        "maskwright": 1,
        "data": {"source": str(tmp_path / "firms.csv"), "variables": variables},
        "protect": [{"method": "rounding", "params": {"base": 2}}],
        "measure": [{"dominance": params}],
        "output": {"data": str(tmp_path / "masked.csv")},
    }
    with pytest.raises(mw.InputError, match=said):
        mw.plan_pipeline(pipeline)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n": 2}, "needs both n and k"),
        ({"p": None, "minimum_contributors": 1}, "no rule is left"),
        ({"tables": []}, "at least 1 item"),
    ],
)
def test_rules_that_are_none(params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        DominanceParams(**{"tables": [["branch"]], **params})


def test_two_files_need_the_variables_and_numbers() -> None:
    frame = firms(steel=[1, 2, 3])
    with pytest.raises(mw.InputError, match="no variable called 'turnover'"):
        mw.measure(frame.assign(x=1), frame[["branch"]].assign(x=1), [{"dominance": BY_BRANCH}])
    with pytest.raises(mw.InputError, match="branch is not numeric"):
        measured(frame, {"tables": [["turnover"]], "amounts": ["branch"]})
