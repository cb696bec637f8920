"""Functions of members: the same answer for every completion of missing cells, or unknown."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import Structure

LEVELS = {"household": {"key": "hhid", "variables": ["size", "total"]}, "person": {"key": "pno", "in": "household"}}
GROUPS = [cells for count in (1, 2, 3) for cells in itertools.product((1.0, 0.0, None), repeat=count)]
RULES = {
    **{
        f"count(person where x == 1) {sign} {number}": (lambda xs, s=sign, n=number: _compare(sum(xs), s, n))
        for sign in ("==", "!=", "<", "<=", ">", ">=") for number in (0, 1, 2, 3)
    },
    **{
        f"{number} {sign} count(person where x == 1)": (lambda xs, s=sign, n=number: _compare(n, s, sum(xs)))
        for sign in ("==", "<", ">=") for number in (1, 2)
    },
    "any(person where x == 1)": any,
    "no(person where x == 1)": lambda xs: not any(xs),
    "all(person where x == 1)": all,
    "one(person where x == 1)": lambda xs: sum(xs) == 1,
    "not one(person where x == 1)": lambda xs: sum(xs) != 1,
    "max(person.x) >= 1": lambda xs: max(xs) >= 1,
    "min(person.x) < 1": lambda xs: min(xs) < 1,
}  # fmt: skip


def _compare(left: float, sign: str, right: float) -> bool:
    return bool(eval(f"{left} {sign} {right}"))


def _verdicts(rows: pd.DataFrame, rule: str, level: str = "household") -> tuple[list[bool], list[bool]]:
    linked = mw.linked_data(rows, LEVELS)
    bound = bind(mw.EditSet.parse([rule]), Structure.of(linked))
    (edit,) = bound.edits[level]
    chunk = mw.RecordChunk.from_dataset(with_linked_columns(linked, bound, level))
    verdict = mw.evaluate(edit, chunk)
    return verdict.holds.tolist(), verdict.unknown.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_each_function_agrees_with_every_completion(rule: str) -> None:
    rows = pd.DataFrame(
        [(group, member, 1, 2.0, x) for group, cells in enumerate(GROUPS) for member, x in enumerate(cells)],
        columns=["hhid", "pno", "size", "total", "x"],
    )
    holds, unknown = _verdicts(rows, rule)
    open_ends = rule.startswith(("max", "min"))
    for group, cells in enumerate(GROUPS):
        values = (-9.0, 0.0, 1.0, 9.0) if open_ends else (0.0, 1.0)
        completions = itertools.product(*(values if x is None else (x,) for x in cells))
        answers = {bool(RULES[rule](list(filled))) for filled in completions}
        assert unknown[group] == (len(answers) == 2), (rule, cells)
        assert holds[group] == (True in answers), (rule, cells)


def test_sums_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(3)
    cents = rng.integers(0, 10**7, 600)
    groups = np.repeat(np.arange(100), 6)
    totals = np.bincount(groups, cents)
    rows = pd.DataFrame({"hhid": groups, "pno": np.tile(range(6), 100), "size": 6, "total": totals[groups] / 100})
    rows["x"] = cents / 100
    levels = {**LEVELS}
    linked = mw.linked_data(rows, levels, declared={"x": {"decimals": 2}, "total": {"decimals": 2}})
    bound = bind(mw.EditSet.parse(["sum(person.x) == total"]), Structure.of(linked))
    chunk = mw.RecordChunk.from_dataset(with_linked_columns(linked, bound, "household"))
    assert mw.evaluate(bound.edits["household"]["edit-1"], chunk).holds.all()


def test_names_say_whose_record_a_rule_is_about() -> None:
    rows = pd.DataFrame({"hhid": [1, 1, 2], "pno": [1, 2, 1], "size": [2, 2, 1], "total": [5, 5, 1], "x": [9, 1, 1]})
    structure = Structure.of(mw.linked_data(rows, LEVELS))
    rules = {
        "x <= total": "person", "total >= 0": "household", "count(person) == size": "household",
        "household.total >= x": "person", "if count(person) > 1 then x > 0": "person", "1 == 1": "household",
        "sum(person.x where x < household.total) >= 0": "household", "previous.x <= x": "person",
    }  # fmt: skip
    found = bind(mw.EditSet.parse(list(rules)), structure).edits
    levels = {edit.text: edit.level for edits in found.values() for edit in edits}
    assert levels == rules
    assert _verdicts(rows, "x <= total", "person")[0] == [False, True, True]
    assert _verdicts(rows, "previous.x <= x", "person")[0] == [True, False, True]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("sum(persn.x) == total", "did you mean 'person'"),
        ("sum(person.y) == total", "y"),
        ("sum(household.total) == 1", "top level"),
        ("mother.age > 3", "mother"),
        ("household.x > 3", "variable of the level household"),
        ("y > 3", "no variable called 'y'"),
    ],
)
def test_wrong_names_are_refused(rule: str, said: str) -> None:
    rows = pd.DataFrame({"hhid": [1], "pno": [1], "size": [1], "total": [5], "x": [9]})
    with pytest.raises(mw.EditError, match=said):
        bind(mw.EditSet.parse([rule]), Structure.of(mw.linked_data(rows, LEVELS)))


def test_pointers() -> None:
    rows = pd.DataFrame({
        "hhid": [1, 1, 1, 2, 2], "pno": [1, 2, 3, 1, 2], "size": [3, 3, 3, 2, 2], "total": 1,
        "age": [40, 38, 30, 50, 51], "mother": [0, 0, 2, 0, 7], "spouse": [2, 1, 0, 2, 0],
    })  # fmt: skip
    levels = {**LEVELS, "person": {**LEVELS["person"], "pointers": {"mother": "pno", "spouse": "pno"}}}
    linked = mw.linked_data(rows, levels)
    rules = ["mother.age - age >= 14", "spouse.spouse == pno", "unique(person.pno)"]
    bound = bind(mw.EditSet.parse(rules), Structure.of(linked))
    verdicts = {}
    for level in ("household", "person"):
        chunk = mw.RecordChunk.from_dataset(with_linked_columns(linked, bound, level))
        for edit in bound.edits[level]:
            verdicts[edit.text] = mw.evaluate(edit, chunk)
    assert verdicts["mother.age - age >= 14"].holds.tolist() == [True, True, False, True, True]
    assert verdicts["spouse.spouse == pno"].holds.tolist() == [True, True, True, False, True]
    assert verdicts["unique(person.pno)"].holds.tolist() == [True, True]
    assert Counter(linked["person"].pointers["mother"].tolist()) == Counter([-1, -1, 1, -1, -2])
