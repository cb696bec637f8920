"""Aggregations of plugins: used where they keep the edits, measured, guarded, and named when wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.testing import run_pipeline_in

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.testing import RanPipeline

EDITS = ["net + tax == gross", "age <= until", "age in [0, 120]"]


def people(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    found = pd.DataFrame({"net": rng.integers(500, 9000, n), "tax": rng.integers(50, 900, n)})
    found["gross"], found["age"] = found.net + found.tax, rng.integers(18, 90, n)
    found["until"] = found.age + rng.integers(0, 10, n)
    return found


def ran(folder: Path, params: dict[str, Any], *plugins: object, method: str = "microaggregation") -> RanPipeline:
    people().to_csv(folder / "people.csv", index=False)
    pipeline = {
        "data": {"source": "people.csv"},
        "edits": EDITS,
        "protect": [{"method": method, "params": params}],
        "output": {"data": "masked.csv", "record": "run.json"},
    }
    return run_pipeline_in(folder, pipeline, plugins=plugins)


def operators(record: dict[str, Any]) -> dict[str, str]:
    return {name: how for group in record["plan"]["steps"][0]["groups"] for name, how in group["operators"].items()}


@pytest.mark.parametrize(
    "aggregation", ["median", {"trimmed_mean": {"share": 0.2}}, {"order_statistic": {"share": 0.75}}]
)
def test_variables_take_an_aggregation_where_it_keeps_their_edits(tmp_path: Path, aggregation: Any) -> None:
    found = ran(tmp_path, {"k": 5, "aggregation": aggregation})
    assert found.exit_code == 0, found.messages
    name = aggregation if isinstance(aggregation, str) else next(iter(aggregation))
    assert operators(found.record) == {
        "net": "mean", "tax": "mean", "gross": "mean", "age": name, "until": name,
    }  # fmt: skip
    words = str(name).replace("_", " ")
    assert f"step 1: net, tax, gross keep the operator of the plan: {words} does not keep edit-1" in [
        each["message"] for each in found.record["notices"]
    ]
    assert {edit["kept_by"] for edit in found.record["edits"]} == {"construction"}


def test_categories_are_told_apart_from_what_edits_bind(tmp_path: Path) -> None:
    data = people().assign(region=["north", "south", "west"] * 40)
    data.to_csv(tmp_path / "people.csv", index=False)
    pipeline = {
        "data": {"source": "people.csv"},
        "edits": EDITS,
        "protect": [
            {"method": "microaggregation", "variables": list(data.columns), "params": {"k": 5, "aggregation": "median"}}
        ],
    }
    found = run_pipeline_in(tmp_path, pipeline)
    left = [each for each in found.messages.splitlines() if "keep" in each and "operator of the plan" in each]
    assert sorted(each.partition("step 1: ")[2] for each in left) == [
        "net, tax, gross keep the operator of the plan: median does not keep edit-1",
        "region keeps the operator of the plan: categories have no median",
    ]


def test_medians_are_medians_of_the_clusters() -> None:
    data = pd.DataFrame({"age": [1, 2, 30, 4, 5, 100, 101, 102, 103, 500]})
    masked = mw.protect(data, "microaggregation", params={"k": 5, "aggregation": "median"})
    assert sorted(masked["age"]) == [4] * 5 + [102] * 5


@pytest.mark.parametrize(("share", "ranks"), [(0, 1), (0.2, 1), (0.25, 2), (0.5, 3), (0.8, 4), (1, 5)])
def test_order_statistics_are_values_of_the_clusters_by_their_rank(share: float, ranks: int) -> None:
    ages = [1, 2, 30, 4, 5, 100, 101, 102, 103, 500]
    params = {"k": 5, "aggregation": {"order_statistic": {"share": share}}}
    masked = mw.protect(pd.DataFrame({"age": ages}), "microaggregation", params=params, edits=["age in original"])
    clusters = sorted(ages)[:5], sorted(ages)[5:]
    assert sorted(masked["age"]) == sorted([clusters[0][ranks - 1]] * 5 + [clusters[1][ranks - 1]] * 5)


def test_an_aggregation_needs_a_method_that_makes_clusters_with_it(tmp_path: Path) -> None:
    found = ran(tmp_path, {"aggregation": "median"}, method="additive_noise")
    assert found.exit_code == 2
    assert "additive_noise makes no representatives of clusters" in str(found.error)
    found = ran(tmp_path, {"aggregation": "median", "clusters": 3}, method="fuzzy_microaggregation")
    assert found.exit_code == 2
    assert "makes its representatives in its own way" in str(found.error) or "no parameter" in str(found.error)


@pytest.mark.parametrize(
    ("aggregation", "said"),
    [
        ("medain", "did you mean 'median'"),
        ({"trimmed_mean": {"share": 0.7}}, "share"),
        ({"median": {}, "trimmed_mean": {}}, "expected one name"),
    ],
)
def test_wrong_names_and_parameters_are_told_at_the_step(tmp_path: Path, aggregation: Any, said: str) -> None:
    found = ran(tmp_path, {"k": 5, "aggregation": aggregation})
    assert found.exit_code == 2
    assert said in str(found.error)


def test_weights_are_refused_by_what_does_not_weigh(tmp_path: Path) -> None:
    people().assign(w=1.5).to_csv(tmp_path / "people.csv", index=False)
    pipeline = {
        "data": {"source": "people.csv", "variables": {"w": {"role": "weight"}}},
        "protect": [{"method": "microaggregation", "params": {"k": 5, "weighted": True, "aggregation": "median"}}],
        "output": {"data": "masked.csv"},
    }
    found = run_pipeline_in(tmp_path, pipeline)
    assert found.exit_code == 2
    assert "'median' does not weigh records" in str(found.error)
