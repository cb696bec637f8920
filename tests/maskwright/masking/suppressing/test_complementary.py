"""No suppressed cell follows from published cells and edits: tried by listing every record that is possible."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("a", "b", "c", "d")
TOP = 3
BOX = [f"{name} in [0, {TOP}]" for name in NAMES]
POSSIBLE = np.array(list(itertools.product(range(TOP + 1), repeat=len(NAMES))), dtype=np.float64)
RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a + b == c": lambda x: x[:, 0] + x[:, 1] == x[:, 2],
    "a + b + c == d": lambda x: x[:, 0] + x[:, 1] + x[:, 2] == x[:, 3],
    "a <= d": lambda x: x[:, 0] <= x[:, 3],
    "b + c <= d + 1": lambda x: x[:, 1] + x[:, 2] <= x[:, 3] + 1,
    "if a < 1 then b == 0": lambda x: ~(x[:, 0] < 1) | (x[:, 1] == 0),
    "if d >= 2 then c >= 2": lambda x: ~(x[:, 3] >= 2) | (x[:, 2] >= 2),
    "a * b == c": lambda x: x[:, 0] * x[:, 1] == x[:, 2],
    "c in {0, 2}": lambda x: np.isin(x[:, 2], [0, 2]),
}
DECLARED = {name: {"role": "quasi_identifier", "type": "integer"} for name in NAMES}


def follows(published: np.ndarray, allowed: np.ndarray) -> list[tuple[int, int]]:
    """Cells that are empty and have one possible value only, by trying every record."""
    found = []
    for row, record in enumerate(published):
        shown = ~np.isnan(record)
        left = allowed[(allowed[:, shown] == record[shown]).all(axis=1)]
        assert len(left), "the published cells contradict the edits"
        found += [(row, int(j)) for j in np.flatnonzero(~shown) if len(np.unique(left[:, j])) == 1]
    return found


@pytest.mark.waived("adjustment-distorts")  # What is suppressed of few records differs from the rest.
@settings(max_examples=40 if os.environ.get("SLOW") else 15)
@given(
    rules=st.lists(st.sampled_from(sorted(RULES)), min_size=1, max_size=3, unique=True),
    keys=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    k=st.integers(2, 4),
    seed=st.integers(0, 10**6),
)
def test_no_suppressed_cell_follows(rules: list[str], keys: list[str], k: int, seed: int) -> None:
    """Neither from the others of its record nor from the edits, and k holds on the keys as they are published."""
    holds = np.logical_and.reduce([RULES[rule](POSSIBLE) for rule in rules])
    allowed = POSSIBLE[holds]
    fixed_by_edits = [len(np.unique(allowed[:, j])) == 1 for j in range(len(NAMES))]
    data = pd.DataFrame(allowed[np.random.default_rng(seed).integers(0, len(allowed), 12)].astype(int), columns=NAMES)
    done = mask_request(
        masking_request(
            data, "local_suppression", edits=[*rules, *BOX], params={"k": k, "keys": keys}, declared=DECLARED, seed=1
        )
    )
    published = done.masked.matrix(NAMES)
    kept = ~np.isnan(published)
    assert (published[kept] == data.to_numpy()[kept]).all()
    known = [(row, j) for row, j in follows(published, allowed) if not fixed_by_edits[j]]
    assert known == []
    _, sizes = np.unique(np.nan_to_num(done.masked.matrix(keys), nan=-1), axis=0, return_counts=True)
    assert sizes.min() >= k
    assert done.k["groups"][0]["smallest"] == sizes.min()


@pytest.mark.waived("adjustment-distorts")  # What is suppressed of few records differs from the rest.
def test_a_superfluous_cell_is_not_suppressed() -> None:
    """One complementary cell for each suppressed one in a sum, none where an inequality leaves room."""
    data = pd.DataFrame({"a": [1, 1, 1, 2], "b": [4, 5, 6, 7], "c": [5, 6, 7, 9]})
    declared = {"a": {"role": "quasi_identifier"}, "b": {"role": "other"}, "c": {"role": "other"}}
    sums = mask_request(
        masking_request(
            data, "local_suppression", edits=["a + b == c"], params={"k": 2}, declared=declared, variables=["a"]
        )
    )
    assert sums.removal is not None
    cells = {each["variable"]: (each["cells"], each["complementary"]) for each in sums.removal.suppressed}
    assert cells == {"a": (2, 0), "b": (2, 2)}
    assert sums.removal.not_applicable == {"edit-1": 2}
    room = mask_request(
        masking_request(
            data, "local_suppression", edits=["a <= b"], params={"k": 2}, declared=declared, variables=["a"]
        )
    )
    assert room.removal is not None
    assert [each["variable"] for each in room.removal.suppressed] == ["a"]


def test_a_category_that_a_rule_gives_away_is_protected() -> None:
    """`if sex == 'm' then pregnant == 'no'`: an empty answer of a man would tell it."""
    data = pd.DataFrame(
        {"sex": ["m"] * 4 + ["f"] * 4, "pregnant": ["no"] * 7 + ["yes"], "town": list("AAABAAAB"), "x": range(8)}
    )
    declared = {name: {"role": "quasi_identifier"} for name in ("town", "pregnant")}
    declared |= {name: {"role": "other"} for name in ("sex", "x")}
    done = mask_request(masking_request(
        data, "local_suppression", edits=["if sex == 'm' then pregnant == 'no'"], params={"k": 3}, declared=declared,
        variables=["town", "pregnant"],
    ))  # fmt: skip
    gone = done.masked["pregnant"].missing
    assert gone.any()
    assert not (gone & ~done.masked["sex"].missing & (data["sex"] == "m").to_numpy()).any()


def test_a_cell_that_only_a_weight_gives_away_stops_the_run() -> None:
    """Weights are never suppressed."""
    data = pd.DataFrame({"a": [1, 1, 1, 2], "w": [2.0, 2.0, 2.0, 3.0]})
    declared = {"a": {"role": "quasi_identifier"}, "w": {"role": "weight"}}
    with pytest.raises(mw.InputError, match="a suppressed cell of a follows from w"):
        mw.protect(data, "local_suppression", edits=["a + 1 == w"], params={"k": 2}, declared=declared, variables=["a"])


@pytest.mark.waived("adjustment-distorts")
def test_numbers_without_a_grid_are_protected_too() -> None:
    """Sums of binary fractions that hold only nearly."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"a": np.round(rng.random(9), 1) / 3, "b": rng.random(9)})
    data["c"] = data["a"] + data["b"]
    declared = {"a": {"role": "quasi_identifier"}, "b": {"role": "other"}, "c": {"role": "other"}}
    done = mask_request(masking_request(
        data, "local_suppression", edits=["abs(a + b - c) <= 0.000001"], params={"k": 3}, declared=declared,
        variables=["a"],
    ))  # fmt: skip
    a, b, c = (done.masked[name].missing for name in "abc")
    assert a.any()
    assert (b | c)[a].all()


@pytest.mark.waived("adjustment-distorts")
def test_edits_that_cannot_be_taken_apart_are_decided_by_trying_records() -> None:
    """A sum of products, and a domain edit inside a condition: enough goes for another record to be possible."""
    rng = np.random.default_rng(6)
    data = pd.DataFrame(rng.integers(0, 4, (40, 3)), columns=list("abc"))
    data["d"] = data["a"] * data["b"] + data["c"]
    data["kind"] = np.where(data["a"] > 1, "high", "low")
    declared = {name: {"role": "other"} for name in ("b", "c", "d", "kind")} | {"a": {"role": "quasi_identifier"}}
    edits = ["a * b + c == d", "if d >= 0 then (a, kind) in original"]
    done = mask_request(masking_request(
        data, "local_suppression", edits=edits, params={"k": 12, "keys": ["a"]}, declared=declared, variables=["a"]
    ))  # fmt: skip
    published = done.masked.matrix(["a", "b", "c", "d"])
    box = np.array(list(itertools.product(range(4), range(4), range(4), range(13))), dtype=np.float64)
    allowed = box[box[:, 0] * box[:, 1] + box[:, 2] == box[:, 3]]
    assert np.isnan(published[:, 0]).any()
    assert follows(published, allowed) == []
    assert not [doubt for doubt in done.doubts if doubt.kind != "adjustment-distorts"]
