"""Danger said early: names and counts, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import maskwright as mw
from maskwright.api import step_request
from maskwright.demo import write_demo
from maskwright.planning.plan import make_plan
from maskwright.preparing import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path


def _warnings(rules: list[str], masked: list[str], **params: object) -> str:
    rng = np.random.default_rng(0)
    columns = [
        mw.Column(mw.Variable(name, "continuous", decimals=0), rng.integers(0, 9, 40).astype(float), np.zeros(40, bool))
        for name in "abcd"
    ]
    data = mw.Dataset(tuple(columns))
    step = step_request("microaggregation", {"k": 3, "k_guarantee": "report", **params}, masked)
    return " | ".join(make_plan([step], data.variables, mw.EditSet.parse(rules), data).warnings)


def test_an_equality_with_one_masked_variable_determines_it() -> None:
    """A + b = c with a and b published as they are."""
    assert "determine c " in _warnings(["a + b == c"], ["c"])
    assert _warnings(["a + b == c"], ["b", "c"]) == ""


def test_two_equalities_together_determine_two_masked_variables() -> None:
    """Neither does alone: b + c = a and b - c = d with a and d published."""
    said = _warnings(["b + c == a", "b - c == d"], ["b", "c"])
    assert "determine b " in said
    assert "determine c " in said


def test_a_product_determines_too() -> None:
    """A * b = c with a and b published."""
    assert "product edit determines c" in _warnings(["a * b == c"], ["c"])


def test_true_values_that_are_republished_are_named() -> None:
    """Only with the user's leave."""
    assert "republishes true values of a" in _warnings(["a in original"], ["a"], allow_original_values=True)


@pytest.mark.parametrize(
    ("method", "seed", "expected"),
    [("fuzzy_microaggregation", 43, True), ("fuzzy_microaggregation", 42, False), ("microaggregation", 43, False)],
)
def test_a_second_random_release_of_the_same_data_is_noticed(
    tmp_path: Path, method: str, seed: int, expected: bool
) -> None:
    """Two releases with different random numbers can be averaged; the same seed gives the same release."""
    pipeline = write_demo(tmp_path, 60).pipeline
    pipeline.write_text(pipeline.read_text().replace("partition: refine, ", "").replace("microaggregation", method))
    mw.run(pipeline)
    plan = plan_pipeline(pipeline, {"seed": seed})
    assert any("average" in notice for notice in plan["notices"]) is expected
