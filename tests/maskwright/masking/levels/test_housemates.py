"""Suppressed cells of households: whoever knows the edits and every published cell cannot tell them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.foundation.errors import InputError
from maskwright.masking.levels.complementary_suppression import complement_across
from maskwright.planning.levels.bound_edits import edits_of_levels

if TYPE_CHECKING:
    from maskwright.masking.suppressing.complementary_suppression import Complement

LEVELS = {
    "household": {"key": "hhid", "variables": ["total", "capital", "men", "oldest"]},
    "person": {"key": "pno", "in": "household", "pointers": {"mother": "pno"}},
}
RULES = [
    "sum(person.income) + capital == total",
    "count(person where sex == 1) == men",
    "max(person.age) <= oldest",
    "any(person where age >= 3)",
    "mother.age - age >= 2",
    "income <= total",
    "0 <= income and income <= 3",
    "1 <= sex and sex <= 2",
    "0 <= age and age <= 4",
    "0 <= capital and capital <= 2",
    "0 <= men and men <= 3",
    "0 <= total and total <= 11",
    "0 <= oldest and oldest <= 4",
]
VALUES = {
    "income": range(4), "sex": range(1, 3), "age": range(5), "capital": range(3), "men": range(4), "total": range(12),
    "oldest": range(5),
}  # fmt: skip
HOUSEHOLD = ("total", "capital", "men", "oldest")

Person = dict[str, int]


def holds(household: Person, persons: list[Person]) -> bool:
    """The rules in plain Python."""
    by_number = {person["pno"]: person for person in persons}
    return (
        sum(person["income"] for person in persons) + household["capital"] == household["total"]
        and sum(person["sex"] == 1 for person in persons) == household["men"]
        and max(person["age"] for person in persons) <= household["oldest"]
        and any(person["age"] >= 3 for person in persons)
        and all(not p["mother"] or by_number[p["mother"]]["age"] - p["age"] >= 2 for p in persons)
        and all(person["income"] <= household["total"] for person in persons)
    )


def drawn(rng: np.random.Generator, households: int) -> pd.DataFrame:
    """Households of one to three members that obey the rules."""
    rows: list[dict[str, Any]] = []
    for hhid in range(1, households + 1):
        persons: list[Person] = []
        for pno in range(1, int(rng.integers(1, 4)) + 1):
            child = pno > 1 and persons[0]["age"] >= 2 and rng.random() < 0.6
            age = int(rng.integers(0, persons[0]["age"] - 1)) if child else int(rng.integers(3, 5))
            income = int(rng.integers(0, 4))
            sex = int(rng.integers(1, 3))
            persons.append({"pno": pno, "income": income, "sex": sex, "age": age, "mother": int(child)})
        capital = int(rng.integers(0, 3))
        household = {
            "hhid": hhid,
            "capital": capital,
            "total": sum(person["income"] for person in persons) + capital,
            "men": sum(person["sex"] == 1 for person in persons),
            "oldest": min(4, max(person["age"] for person in persons) + int(rng.integers(0, 2))),
        }
        assert holds(household, persons)
        rows += [household | person for person in persons]
    return pd.DataFrame(rows)


def bound_levels(data: pd.DataFrame) -> tuple[mw.LinkedData, Any]:
    linked = mw.linked_data(data, LEVELS)
    return linked, edits_of_levels(mw.EditSet.parse(RULES), linked)


def possible(data: pd.DataFrame, linked: mw.LinkedData, hidden: dict[tuple[str, str], Any]) -> dict[Any, set[int]]:
    """Values that each emptied cell can have, by trying all completions of its household."""
    found: dict[Any, set[int]] = {}
    starts = linked.starts("person")
    for group, (_, rows) in enumerate(data.groupby("hhid", sort=False)):
        members = rows.to_dict("records")
        household = {name: int(members[0][name]) for name in HOUSEHOLD}
        cells = [("household", name, None) for name in HOUSEHOLD if hidden.get(("household", name), {group: 0})[group]]
        cells += [
            ("person", name, place)
            for place in range(len(members)) for name in ("income", "sex", "age")
            if ("person", name) in hidden and hidden["person", name][starts[group] + place]
        ]  # fmt: skip
        for values in product(*(VALUES[name] for _, name, _ in cells)):
            own, persons = dict(household), [{k: int(v) for k, v in member.items()} for member in members]
            for (_, name, place), value in zip(cells, values, strict=True):
                (own if place is None else persons[place])[name] = value
            if holds(own, persons):
                for (level, name, place), value in zip(cells, values, strict=True):
                    at = group if place is None else int(starts[group]) + place
                    found.setdefault((level, name, at), set()).add(value)
    return found


def everything(cells: dict[Any, Any], more: Complement) -> dict[Any, Any]:
    return {
        source: cells.get(source, False) | more.cells.get(source, False)
        for source in dict.fromkeys((*cells, *more.cells))
    }


@pytest.mark.covering(12)
@pytest.mark.parametrize("seed", range(200))
def test_no_emptied_cell_follows_from_housemates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = drawn(rng, 5)
    linked, bound = bound_levels(data)
    hidden = {}
    for level, name in [("person", "income"), ("person", "sex"), ("person", "age"), ("household", "total"),
                        ("household", "men")]:  # fmt: skip
        gone = rng.random(len(linked[level])) < rng.choice([0.0, 0.15])
        if gone.any():
            hidden[level, name] = gone
    found = complement_across(linked, hidden, bound)
    while found.cells:
        hidden = everything(hidden, found)
        found = complement_across(linked, hidden, bound)
    values = possible(data, linked, hidden)
    told = {cell for cell, each in values.items() if len(each) == 1}
    # What the edits alone say is a doubt, by variable; nothing else is told.
    assert not found.undecided
    assert len(told) == sum(found.known.values()), (told, found.known)
    assert {cell[:2] for cell in told} == set(found.known)


def test_without_a_second_cell_every_income_follows() -> None:
    data = drawn(np.random.default_rng(1), 12)
    linked, bound = bound_levels(data)
    gone = np.zeros(len(data), dtype=np.bool_)
    gone[linked.starts("person")[:-1]] = True
    before = possible(data, linked, {("person", "income"): gone})
    assert all(len(values) == 1 for values in before.values())
    found = complement_across(linked, {("person", "income"): gone}, bound)
    assert sum(int(cells.sum()) for cells in found.cells.values()) >= 12
    after = possible(data, linked, everything({("person", "income"): gone}, found))
    assert all(len(values) > 1 for values in after.values())


def test_keys_are_taken_last_and_weights_never() -> None:
    data = drawn(np.random.default_rng(2), 8)
    linked, bound = bound_levels(data)
    gone = np.zeros(len(data), dtype=np.bool_)
    gone[linked.starts("person")[:-1]] = True
    hidden = {("person", "income"): gone}
    found = complement_across(linked, hidden, bound, last={("household", "capital")})
    assert ("household", "capital") not in found.cells
    with pytest.raises(InputError, match="follows from"):
        complement_across(
            linked, hidden, bound,
            never={("household", "capital"), ("household", "total"), ("person", "income"), ("person", "sex")},
        )  # fmt: skip
