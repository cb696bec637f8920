"""Shares of categories before and after: the right figures, and no category that few records have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw


def tables(before: list[str | None], after: list[str | None]) -> dict[str, mw.MeasureTable]:
    found = mw.measure(pd.DataFrame({"work": before}), pd.DataFrame({"work": after}), measures=["contingency_tables"])[
        "contingency_tables"
    ]
    return {table.name: table for table in found.tables}


def test_shares_in_both_files_missing_cells_last() -> None:
    table = tables(["clerk"] * 20 + ["nurse"] * 30, ["clerk"] * 25 + ["nurse"] * 20 + [None] * 5)["categories_work"]
    assert table.rows == (("clerk", 40.0, 50.0), ("nurse", 60.0, 40.0), ("(missing)", 0.0, 10.0))
    assert table.columns == ("work", "original", "masked")


def test_rare_categories_are_joined_until_ten_records_are_together() -> None:
    before = ["clerk"] * 50 + ["nurse"] * 38 + ["bishop"] * 2 + ["judge"] * 10
    table = tables(before, before)["categories_work"]
    assert [label for label, *_ in table.rows] == ["clerk", "nurse", "2 others, joined"]
    assert table.rows[-1][1:] == (12.0, 12.0)


def test_of_many_categories_the_frequent_ones_are_named() -> None:
    before = [f"town {number:02}" for number in range(40) for _ in range(10 + number)]
    (table,) = tables(before, before).values()
    labels = [label for label, *_ in table.rows]
    assert labels == [*(f"town {number}" for number in range(20, 40)), "20 others, joined"]


@pytest.mark.covering(4)
@pytest.mark.parametrize("seed", range(20))
def test_no_row_stands_for_some_and_fewer_than_ten_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"category {number}" for number in range(rng.integers(2, 40))]
    before = rng.choice(names, 200, p=rng.dirichlet(np.full(len(names), 0.4))).tolist()
    for table in tables(before, rng.permutation(before).tolist()).values():
        assert sum(share for _, share, _ in table.rows) == pytest.approx(100.0)
        assert all(share == 0.0 or share >= 5.0 - 1e-9 for _, share, _ in table.rows)
        for label, share, _ in table.rows:
            if "joined" not in label:
                assert before.count(label) == pytest.approx(2 * share)
