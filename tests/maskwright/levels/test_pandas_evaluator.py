"""The evaluator in pandas, on households of which everybody can see the verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import HOUSEHOLD, evaluate, violations

PAIR = {
    "hhid": ["7", "7", "7"], "region": ["Hills"] * 3, "tenure": ["owner"] * 3, "size": ["3"] * 3,
    "child_benefit": ["100"] * 3, "capital": ["0.2"] * 3, "total": ["1000.3"] * 3, "tax": ["0"] * 3,
    "disp": ["1000.3"] * 3, "hweight": ["1.5"] * 3, "rent": ["0"] * 3, "area": ["50"] * 3,
    "pno": ["1", "2", "3"], "rel": ["1", "2", "3"], "sex": ["1", "2", "1"], "age": ["40", "38", "5"],
    "spouse": ["2", "1", "0"], "mother": ["0", "0", "2"], "wages": ["900.1", "0", "0"], "selfe": ["0"] * 3,
    "pens": ["0"] * 3, "bene": ["0"] * 3, "income": ["900.1", "0", "0"],
}  # fmt: skip
"""A couple and a child, all in order; its sum is 900.1 + 100 + 0.2, which is not 1000.3 in binary64."""


def changed(*changes: tuple[str, int | None, str | None]) -> pd.DataFrame:
    """The family with other cells: variable, member (None: all), text (None: missing)."""
    flat = pd.DataFrame(PAIR)
    for name, member, text in changes:
        flat.loc[slice(None) if member is None else member, name] = text
    return flat


def broken(flat: pd.DataFrame) -> set[str]:
    return {name for name, count in violations(flat).items() if count}


def test_the_family_is_in_order_and_its_sum_exact() -> None:
    assert 900.1 + 100 + 0.2 != 1000.3
    assert broken(changed()) == set()
    assert len(violations(changed())) == 18 + 2 + len(HOUSEHOLD)


@pytest.mark.parametrize(
    ("changes", "edits"),
    [
        ([("size", None, "4")], {"members-counted"}),
        ([("capital", None, "0.3")], {"total-sum"}),
        ([("rel", 0, "4")], {"one-reference"}),
        ([("rel", 1, "1")], {"one-reference"}),
        ([("age", 0, "17"), ("age", 1, "17.5"), ("age", 2, "3")], {"any-adult"}),
        ([("age", 2, "18")], {"benefit-for-children"}),
        ([("age", 0, "14"), ("mother", 2, "0")], {"no-income-under-16"}),
        ([("age", 0, "111")], {"oldest", "spouse-ages"}),
        ([("pno", 2, "1"), ("mother", 2, "0")], {"numbers-differ"}),
        ([("disp", None, "1000.4")], {"disposable"}),
        ([("tax", None, "500.16"), ("disp", None, "500.14")], {"tax-at-most-half"}),
        ([("rent", None, "1")], {"owner-no-rent"}),
        ([("tax", None, "-1"), ("disp", None, "1001.3")], {"household-signs"}),
        ([("bene", 0, "0.1")], {"income-sum"}),
        ([("bene", 1, "-1"), ("pens", 1, "1")], {"person-signs"}),
        ([("spouse", 1, "0")], {"spouse-of-spouse"}),
        ([("age", 1, "18"), ("age", 2, "5")], {"mother-older"}),
        ([("mother", 2, "9")], {"pointer: mother within hhid"}),
        ([("region", 1, "Coast")], {"constant: region within hhid"}),
        ([("area", 1, None)], {"constant: area within hhid"}),
    ],
)
def test_each_edit_sees_what_breaks_it(changes: list[tuple[str, int | None, str]], edits: set[str]) -> None:
    assert broken(changed(*changes)) == edits


def test_somebody_may_have_more_than_the_total_only_where_others_lose() -> None:
    flat = changed(("income", 1, "-200"), ("selfe", 1, "-200"), ("total", None, "800.3"), ("disp", None, "800.3"))
    assert broken(flat) == {"income-within-total", "person-signs"}


@pytest.mark.parametrize(
    ("changes", "edits"),
    [
        ([("income", 0, None)], set()),
        ([("total", None, None)], set()),
        ([("rel", 0, None)], set()),
        ([("rel", 1, "1"), ("rel", 2, None)], {"one-reference"}),
        ([("age", 0, None), ("age", 1, "17"), ("age", 2, "3")], set()),
        ([("age", 0, None), ("age", 1, "111"), ("age", 2, "17")], {"oldest"}),
        ([("spouse", 1, None)], set()),
    ],
)
def test_what_is_unknown_is_no_violation(changes: list[tuple[str, int | None, str | None]], edits: set[str]) -> None:
    assert broken(changed(*changes)) == edits


def test_verdicts_are_counted_in_records_of_their_level() -> None:
    found = evaluate(changed(("spouse", 0, "3"), ("spouse", 1, "3")))
    assert found["members-counted"].level == "household"
    assert len(found["members-counted"].violated) == 1
    assert found["spouse-of-spouse"].level == "person"
    assert found["spouse-of-spouse"].violated.tolist() == [True, True, False]
    assert found["mother-older"].fired.tolist() == [False, False, True]


def test_edits_on_what_was_not_published_are_left_out() -> None:
    found = violations(changed().drop(columns=["age", "rent"]))
    assert not {"any-adult", "mother-older", "owner-no-rent", "constant: rent within hhid"} & set(found)
    assert "total-sum" in found
