"""A score of numbers never says that a categorical file is good; it says what to take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = pd.DataFrame({"a": list("xyxyxy"), "b": list("ppqqpp")})
AFTER = BEFORE.assign(a=list("yyxyxy"))
WHAT_TO_TAKE = "contingency_tables, cramers_v, entropy_based_loss; a weighted_score may join them"


@pytest.mark.parametrize("name", ["score", "mg"])
def test_without_numbers_it_is_refused_and_says_what_to_take(name: str) -> None:
    with pytest.raises(mw.InputError, match="there is no variable to measure") as refused:
        mw.measure(BEFORE, AFTER, [name])
    assert WHAT_TO_TAKE in str(refused.value.problems[0].hint)


@pytest.mark.parametrize("name", ["score", "mg"])
def test_beside_numbers_that_are_not_masked_it_is_not_defined(name: str) -> None:
    found = mw.measure(BEFORE.assign(n=range(6)), AFTER.assign(n=range(6)), [name])[name]
    assert math.isnan(found.value)
    assert found.leaves_out == ("a",)
    assert WHAT_TO_TAKE in found.notes[0]


def test_a_weighted_score_of_categories_is_one_number() -> None:
    components = [
        {"measure": "entropy_based_loss", "weight": 0.5},
        {"measure": "uniqueness", "weight": 0.5, "params": {"keys": ["a", "b"]}},
    ]
    found = mw.measure(BEFORE, AFTER, [{"weighted_score": {"components": components}}])["weighted_score"]
    assert math.isfinite(found.value)
    assert found.leaves_out == ()


def test_a_pipeline_that_publishes_no_number_is_refused_it(tmp_path: Path) -> None:
    BEFORE.to_csv(tmp_path / "d.csv", index=False)
    settings = {
        "maskwright": 1,
        "data": {"source": str(tmp_path / "d.csv"), "variables": {"a": {"role": "quasi_identifier"}}},
        "protect": [{"method": "pram", "variables": ["a"], "params": {"retain": 0.2}}],
        "measure": ["score"],
        "output": {"data": str(tmp_path / "m.csv")},
        "seed": 1,
    }
    with pytest.raises(mw.InputError, match="no numeric variable is published") as refused:
        mw.run(settings)
    assert WHAT_TO_TAKE in str(refused.value)


def test_it_links_on_the_declared_keys_where_any_is_a_category_and_on_numbers_where_that_is_asked() -> None:
    rng = pd.Series(range(40))
    before = pd.DataFrame({"sex": ["f", "m"] * 20, "age": rng, "income": rng * 7 % 40})
    after = before.assign(age=before.age[::-1].to_numpy(), income=(rng * 11 % 40))
    declared = {"sex": {"role": "quasi_identifier"}, "age": {"role": "quasi_identifier"}}
    score = mw.measure(before, after, ["score"], declared=declared)["score"]
    alone = mw.measure(before, after, [{"mixed_record_linkage": {"keys": ["sex", "age"]}}], declared=declared)
    assert score.parts["mixed_record_linkage"] == alone["mixed_record_linkage"].value
    assert score.leaves_out == ()
    numeric = mw.measure(before, after, [{"score": {"linkage": "numeric"}}], declared=declared)["score"]
    plain = mw.measure(before, after, ["distance_record_linkage"], declared=declared)["distance_record_linkage"]
    assert numeric.parts["distance_record_linkage"] == plain.value
    assert numeric.leaves_out == ("sex",)
