"""Danger said early: names and counts, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import maskwright as mw
from maskwright.commands.demo.files import write_demo
from maskwright.commands.plan import plan_pipeline
from maskwright.commands.requests import masking_request
from maskwright.planning.make_plan import make_plan

if TYPE_CHECKING:
    from pathlib import Path


def _warnings(rules: list[str], masked: list[str], **params: object) -> str:
    rng = np.random.default_rng(0)
    columns = [
        mw.Column(mw.Variable(name, "continuous", decimals=0), rng.integers(0, 9, 40).astype(float), np.zeros(40, bool))
        for name in "abcd"
    ]
    data = mw.Dataset(tuple(columns))
    stated = {"k": 3, "k_guarantee": "report", **params}
    steps = masking_request(data, "microaggregation", params=stated, variables=masked).steps
    return " | ".join(map(str, make_plan(steps, data.variables, mw.EditSet.parse(rules), data).warnings))


def test_an_equality_with_one_masked_variable_determines_it() -> None:
    """A + b = c with a and b published as they are."""
    assert "determine c from a, b, published unmasked" in _warnings(["a + b == c"], ["c"])
    assert _warnings(["a + b == c"], ["b", "c"]) == ""


def test_two_equalities_together_determine_two_masked_variables() -> None:
    """Neither does alone: b + c = a and b - c = d with a and d published."""
    said = _warnings(["b + c == a", "b - c == d"], ["b", "c"])
    assert "determine b from a, d, published unmasked" in said
    assert "determine c from a, d, published unmasked" in said


def test_edits_that_leave_one_value_need_no_published_variable() -> None:
    """Nothing is said of published variables where the edits read none."""
    said = _warnings(["a + b == c", "a - b == c"], ["a", "b", "c"])
    assert "determine b by themselves: it has one possible value" in said
    assert "published unmasked" not in said


def test_a_product_determines_too() -> None:
    """A * b = c with a and b published."""
    assert "product edit determines c from a, b, published unmasked" in _warnings(["a * b == c"], ["c"])


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
    assert any("average" in notice["message"] for notice in plan["notices"]) is expected


def _dataset(**columns: list[float]) -> mw.Dataset:
    return mw.Dataset(
        tuple(
            mw.Column(mw.Variable(name, "integer", decimals=0), np.array(values, float), np.zeros(len(values), bool))
            for name, values in columns.items()
        )
    )


def _said(data: mw.Dataset, rules: list[str], masked: list[str], **params: object) -> str:
    stated = {"k": 3, "k_guarantee": "report", **params}
    steps = masking_request(data, "microaggregation", params=stated, variables=masked).steps
    return " | ".join(map(str, make_plan(steps, data.variables, mw.EditSet.parse(rules), data).warnings))


def test_an_equality_with_a_published_total_makes_records_unique() -> None:
    """Seven records have a total of their own; the parts have to add up to it."""
    totals = [10.0, 10, 10, 21, 22, 23, 24, 25, 26, 27]
    data = _dataset(a=[5.0] * 10, b=[total - 5 for total in totals], total=totals)
    said = _said(data, ["a + b == total"], ["a", "b"])
    assert "edit 'edit-1' ties a, b to total, published unmasked: 7 of 10 records" in said
    assert "unique" in said
    # All masked together, or a published total that many share: nothing to say.
    assert "unique" not in _said(data, ["a + b == total"], ["a", "b", "total"])
    shared = _dataset(a=[5.0] * 10, b=[3.0] * 10, total=[8.0] * 10)
    assert "unique" not in _said(shared, ["a + b == total"], ["a", "b"])


def test_a_product_with_a_published_result_makes_records_unique_too() -> None:
    """Price times number is the published value."""
    data = _dataset(price=[2.0] * 6, number=[1.0, 2, 3, 4, 5, 6], value=[2.0, 4, 6, 8, 10, 12])
    assert "ties price, number to value" in _said(data, ["price * number == value"], ["price", "number"])


def test_whole_numbers_that_a_domain_edit_may_republish_are_counted() -> None:
    """Two values occur fewer than three times."""
    data = _dataset(a=[1.0, 1, 1, 2, 2, 3])
    assert "edit 'edit-1' may republish true values of a: 2 of them" in _said(data, ["a in original"], ["a"])
    frequent = _dataset(a=[1.0, 1, 1, 2, 2, 2])
    assert "republish" not in _said(frequent, ["a in original"], ["a"])


def test_small_strata_are_named_with_their_variables() -> None:
    """Two of ten records are on the other side."""
    data = _dataset(a=[1.0, 1, *range(10, 18)], b=[0.0] * 10)
    said = _said(data, ["if a < 5 then b == 0"], ["a", "b"])
    assert "1 stratum has fewer than 3 records, and joined the nearest one (a < 5: 2); masked together: a, b" in said
