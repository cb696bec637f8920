"""The order of the records shows suppressed values: the neighbours in a sorted file have the same value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.dependencies import BY_CHANCE
from maskwright.data.record_order import blocks_in_order_of_numbers, is_in_blocks, is_in_order
from maskwright.disclosure.attacks.record_order import Neighbours

if TYPE_CHECKING:
    from maskwright.foundation.arrays import Booleans

DECLARED = {name: {"role": "quasi_identifier", "type": "nominal"} for name in ("town", "sex", "edu")}


def people(*, is_sorted: bool) -> pd.DataFrame:
    """Persons, sorted by town or in any order."""
    rng = np.random.default_rng(3)
    town = rng.choice(list("abcdefghij"), 900)
    frame = pd.DataFrame({"town": np.sort(town) if is_sorted else town})
    frame["sex"], frame["edu"] = rng.choice(["m", "f"], len(frame)), rng.choice(list("12345678"), len(frame))
    return frame


def members(*, stand_together: bool) -> pd.DataFrame:
    """Members of households, whose key is not in the file: town and tenure are those of the household."""
    rng = np.random.default_rng(6)
    homes = np.repeat(np.arange(330), rng.integers(1, 6, 330))
    town, tenure = rng.choice(list("abcd"), 330, p=[0.45, 0.25, 0.2, 0.1]), rng.choice(["owner", "tenant"], 330)
    frame = pd.DataFrame({"town": town[homes], "tenure": tenure[homes]})
    frame["sex"], frame["edu"] = rng.choice(["m", "f"], len(frame)), rng.choice(list("12345678"), len(frame))
    return frame if stand_together else frame.sample(frac=1, random_state=1, ignore_index=True)


def implied_by_neighbours(data: mw.Dataset, name: str, hidden: Booleans) -> Booleans:
    """Hidden cells that the records before and after imply."""
    found = [cells for _, cells in Neighbours(data, name).certain_records({name: hidden})]
    return np.any([np.zeros_like(hidden), *found], axis=0)


def suppressed(frame: pd.DataFrame, **more: Any) -> pd.DataFrame:
    """With towns emptied rather than other keys."""
    params = {"k": 6, "importance": {"sex": 5, "edu": 5}, "keys": list(DECLARED)}
    declared = {**DECLARED, "tenure": {"role": "other"}} if "tenure" in frame else DECLARED
    return mw.protect(
        frame, "local_suppression", params=params, variables=list(DECLARED), declared=declared, seed=1, **more
    )


def test_a_sorted_file_tells_suppressed_cells() -> None:
    """A town that is emptied between two records of the same town is that town."""
    with pytest.raises(mw.OpenDoubts, match=r"W302 suppressed-cells-follow: town: \d+ of \d+ .*the file is sorted"):
        suppressed(people(is_sorted=True))


def test_random_order_tells_nothing() -> None:
    """Neither where the file was in no order, nor where it is released in none."""
    assert suppressed(people(is_sorted=False))["town"].isna().any()
    assert suppressed(people(is_sorted=True), release={"order": "random"})["town"].isna().any()


@pytest.mark.parametrize("is_sorted", [True, False])
def test_housemates_in_a_row_are_one(is_sorted: bool) -> None:
    """All of them are emptied, so their neighbours are other households, which tell something in a sorted file only."""
    homes, towns = np.repeat(np.arange(300), 5), np.random.default_rng(5).integers(0, 6, 300)
    codes = (np.sort(towns) if is_sorted else towns)[homes].astype(np.int32)
    column = mw.Column(
        mw.Variable("town", "nominal", categories=tuple("abcdef")), codes, np.zeros(1500, dtype=np.bool_)
    )
    hidden = np.isin(homes, np.arange(7, 300, 20))
    told = implied_by_neighbours(mw.Dataset((column,), households=homes), "town", hidden)
    assert told.sum() >= 60 if is_sorted else not told.any()


def test_members_that_stand_together_tell_suppressed_cells() -> None:
    """No household is declared, and the file is sorted by nothing: the member before and the one after live there."""
    message = r"(?s)W302 .*: town: \d+ of \d+ .*the file is sorted, or what belongs together.*order: random"
    with pytest.raises(mw.OpenDoubts, match=message):
        suppressed(members(stand_together=True))
    assert suppressed(members(stand_together=True), release={"order": "random"})["town"].isna().any()
    assert suppressed(members(stand_together=False))["town"].isna().any()


def test_neighbours_with_another_variable_in_common_tell_more() -> None:
    """Where the neighbours are of one town by chance, they are not of one tenure as well."""
    frame = members(stand_together=True).iloc[::2].reset_index(drop=True)
    kinds = {name: mw.Variable(name, "nominal", categories=tuple(sorted(set(frame[name])))) for name in frame}
    whole = np.zeros(len(frame), dtype=np.bool_)
    data = mw.Dataset(
        tuple(mw.Column(kind, frame[name].map(kind.categories.index).to_numpy(np.int32), whole)
              for name, kind in kinds.items())
    )  # fmt: skip
    hidden = {"town": np.random.default_rng(7).random(len(frame)) < 0.2}
    alone, both = (dict(Neighbours(data, "town", common).certain_records(hidden)) for common in ((), ("tenure",)))
    assert not any(cells.any() for cells in alone.values())
    assert both["tenure"].sum() >= 10


def test_a_frequent_value_alone_is_no_order() -> None:
    """Nearly all records between two alike are like them, as by chance."""
    frame = people(is_sorted=False)
    frame["town"] = np.where(np.random.default_rng(4).random(len(frame)) < 0.97, "a", frame["town"])
    assert suppressed(frame)["town"].isna().any()


@pytest.mark.parametrize("method", ["pram", "targeted_swapping"])
def test_a_sorted_file_tells_what_was_changed_at_random(method: str) -> None:
    """A town among others is seen to be drawn, and what it was."""
    params: dict[str, object] = (
        {"retain": 0.8} if method == "pram" else {"geography": ["town"], "risk_variables": ["edu"]}
    )
    declared = {name: {"role": "other"} for name in ("sex", "edu")} | {"town": DECLARED["town"]}

    def masked(*, is_sorted: bool, **more: Any) -> pd.DataFrame:
        return mw.protect(
            people(is_sorted=is_sorted), method, params=params, variables=["town"], declared=declared, seed=1, **more
        )

    masked(is_sorted=False)
    masked(is_sorted=True, release={"order": "random"})
    with pytest.raises(mw.OpenDoubts, match=r"W206 follows-from-published: town: .*the order of the records"):
        masked(is_sorted=True)


def test_members_that_stand_together_tell_what_was_changed_at_random() -> None:
    """A town between two others of one town was drawn."""
    declared = {name: {"role": "other"} for name in ("sex", "edu", "tenure")} | {"town": DECLARED["town"]}

    def masked(*, stand_together: bool, **more: Any) -> pd.DataFrame:
        return mw.protect(
            members(stand_together=stand_together), "pram", params={"retain": 0.9}, variables=["town"],
            declared=declared, seed=1, **more,
        )  # fmt: skip

    masked(stand_together=False)
    masked(stand_together=True, release={"order": "random"})
    with pytest.raises(mw.OpenDoubts, match=r"W206 follows-from-published: town: .*members of a household"):
        masked(stand_together=True)


def test_random_files_are_in_no_order() -> None:
    """Whatever their size, ties and shares are: of 1,000 files each check finds an order in one at most, by chance."""
    rng = np.random.default_rng(8)
    found = np.zeros(4, dtype=np.int64)
    for _ in range(BY_CHANCE):
        n, k = int(rng.choice([8, 20, 50, 300])), int(rng.choice([2, 3, 12]))
        codes = rng.choice(k, n, p=rng.dirichlet(np.full(k, rng.choice([0.1, 1.0])))).astype(np.int32)
        numbers = np.where(rng.random(n) < rng.choice([0.0, 0.6, 0.95]), 0.0, np.round(rng.lognormal(7, 1, n), -1))
        whole, category = np.zeros(n, dtype=np.bool_), mw.Variable("c", "nominal", categories=tuple("abcdefghijkl"[:k]))
        data = mw.Dataset((mw.Column(category, codes, whole), mw.Column(mw.Variable("x"), numbers, whole)))
        found += [
            is_in_blocks(data, "c"), is_in_order(data, "x"),
            implied_by_neighbours(data, "c", rng.random(n) < 0.1).any(),
            bool(list(blocks_in_order_of_numbers(data, ["c"], {"x": numbers}))),
        ]  # fmt: skip
    assert (found <= 1).all()
