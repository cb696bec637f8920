"""Edits over original values as edits over published categories: never false where the original one is not."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.data.dataset import Column, Dataset
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.translation.translate import Translation, translate
from maskwright.edits.translation.values import Recoded, ranges_of, recoded

AGE = mw.Variable("age", "integer", decimals=0)
INCOME = mw.Variable("income", "continuous", decimals=1)
WAGE = mw.Variable("wage", "continuous", decimals=1)
BIRTH = mw.Variable("birth", "date", decimals=0, date_format="%Y-%m-%d")
ENTRY = replace(BIRTH, name="entry")
REGION = mw.Variable("region", "nominal", categories=("A", "B", "C", "D"))
TOWN = mw.Variable("town", "nominal", categories=("A", "B", "1", "2"))
VARIABLES = (AGE, INCOME, WAGE, BIRTH, ENTRY, REGION, TOWN)
RECORDS = 120


def banded(variable: mw.Variable, *borders: float, last: float | None = None) -> mw.Variable:
    """Variable published as bands."""
    ends = (-math.inf, *borders, math.inf if last is None else last)
    bands = tuple(mw.Band(low, high, upper_inclusive=high == last) for low, high in pairwise(ends))
    names = tuple(f"{variable.name} {number}" for number in range(len(bands)))
    return replace(variable, type="ordinal", decimals=None, date_format=None, categories=names, bands=bands)


def grouped(variable: mw.Variable, *groups: tuple[str, ...]) -> mw.Variable:
    """Variable published as groups of its categories."""
    names = tuple("".join(group) + "*" for group in groups)
    return replace(variable, categories=names, bands=tuple(mw.Band(members=group) for group in groups))


def days(year: int) -> float:
    """First day of a year."""
    return float((date(year, 1, 1) - date(1970, 1, 1)).days)


def translated(rule: str, *published: mw.Variable) -> Translation:
    """What becomes of a rule."""
    (edit,) = mw.EditSet.parse([rule])
    known = {each.name: each for each in VARIABLES}
    return translate(edit, {each.name: recoded(known[each.name], each) for each in published}, lambda _: True)


@pytest.mark.parametrize(
    ("rule", "form", "text"),
    [
        ("if age < 16 then region == 'A'", "translated", "if age == 'age 0' then region == 'A'"),
        ("if age <= 15 then region == 'A'", "translated", "if age == 'age 0' then region == 'A'"),
        ("if age < 17 then region == 'A'", "weakened", "if age == 'age 0' then region == 'A'"),
        ("if age >= 17 then region == 'A'", "weakened", "if age == 'age 2' then region == 'A'"),
        ("if age in [16, 64] then income > 0 else income == 0", "translated",
         "if age == 'age 1' then income > 0 else income == 0"),
        ("not (age >= 16 and age < 65)", "translated", "age in {'age 0', 'age 2'}"),
        ("if age is missing then wage is missing", "translated", "if age is missing then wage is missing"),
        ("wage <= age", "weakened",
         "(if age == 'age 0' then wage <= 15) and (if age == 'age 1' then wage <= 64)"),
    ],
)  # fmt: skip
def test_conditions_on_bands_cut_at_16_and_65(rule: str, form: str, text: str) -> None:
    """Whole bands on either side: the same verdict; else what is true of every true record."""
    found = translated(rule, banded(AGE, 16, 65))
    assert found.edit is not None
    assert (found.form, found.edit.text) == (form, text)


def test_a_band_that_straddles_is_named_with_the_border_that_would_part_it() -> None:
    """The first value of the new band, by the grid of the variable."""
    for rule, border in (("age < 17", "17"), ("age <= 17", "18"), ("mod(age, 10) == 3 or age < 23", "24")):
        found = translated(f"if {rule} then region == 'A'", banded(AGE, 16, 20, 30))
        if border == "24":
            assert {each.category for each in found.straddling} >= {"age 2"}
        else:
            assert [(each.category, each.borders) for each in found.straddling] == [("age 1", (border,))]
    found = translated("if income <= 2.5 then region == 'A'", banded(INCOME, 2))
    assert [each.borders for each in found.straddling] == [("2.6",)]
    found = translated("if year(birth) < 2000 then region == 'A'", banded(BIRTH, days(1999), days(2001)))
    assert [each.borders for each in found.straddling] == [("2000-01-01",)]


def test_sums_and_orders_by_interval_arithmetic() -> None:
    """Ends of bands take the place of what is recoded; open ends ask for nothing."""
    found = translated("wage + age == income", banded(INCOME, 0, 100))
    assert found.edit is not None
    assert found.form == "weakened"
    assert found.edit.text == (
        "(if income == 'income 0' then wage + age < 0) and (if income == 'income 1' then wage + age < 100 and "
        "wage + age >= 0) and (if income == 'income 2' then wage + age >= 100)"
    )
    years = [banded(each, days(2000), days(2001)) for each in (BIRTH, ENTRY)]
    for rule in ("birth <= entry", "year(birth) <= year(entry)"):
        found = translated(rule, *years)
        assert found.edit is not None
        assert found.edit.text == (
            "(if birth == 'birth 1' then entry in {'entry 1', 'entry 2'}) and "
            "(if birth == 'birth 2' then entry == 'entry 2')"
        )


def test_open_bands_end_where_ranges_of_the_variable_end() -> None:
    """A range leaves nothing beyond: it becomes the set of all bands."""
    (edit,) = mw.EditSet.parse(["age in [0, 120]"])
    assert translated("age in [0, 120]", banded(AGE, 16)).edit is None
    found = translate(edit, {"age": recoded(AGE, banded(AGE, 16), ranges_of([edit])["age"])}, lambda _: True)
    assert found.edit is not None
    assert (found.form, found.edit.text) == ("translated", "age in {'age 0', 'age 1'}")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("income * income == wage", "not linear"),
        ("wage / income >= 2", "not linear"),
        ("income >= 3", "nothing is left"),
    ],
)
def test_what_cannot_be_said_has_a_reason(rule: str, reason: str) -> None:
    """And no edit."""
    found = translated(rule, banded(INCOME, 5))
    assert found.edit is None
    assert reason in found.reason


def _condition(draw: random.Random, depth: int) -> str:
    """Condition in the language of rules."""
    if depth and draw.random() < 0.5:
        one, other = _condition(draw, depth - 1), _condition(draw, depth - 1)
        return draw.choice([f"({one} and {other})", f"({one} or {other})", f"not ({one})"])
    number, operator = draw.randint(-2, 12), draw.choice(["<", "<=", "==", "!=", ">=", ">"])
    first, second = draw.sample(["age", "income", "wage"], 2)
    day, year = f"{draw.randint(1998, 2003)}-0{draw.randint(1, 9)}-15", draw.randint(1998, 2003)
    return draw.choice(
        [
            f"{first} {operator} {number}",
            f"{first} {operator} {second}",
            f"{first} + {second} {operator} {number}",
            f"2 * {first} - {second} {operator} 3 * wage",
            f"abs({first} - {second}) {operator} {number}",
            f"max({first}, {second}) {operator} {number}",
            f"{first} in [{number}, {number + 4})",
            f"{first} in {{{number}, {number + 1}, {number + 5}}}",
            f"{first} + {second} in {{{number}, {number + 3}}}",
            f"{first} * age {operator} {number}",
            f"mod(age, 3) {operator} 1",
            f"{first} is integer",
            f"{first} is missing",
            f"birth {operator} {day}",
            f"birth {operator} entry",
            f"entry - birth {operator} {number * 50}",
            f"year(birth) {operator} {year}",
            f"age {operator} {year} - year(entry)",
            f"year(birth) {operator} year(entry)",
            f"month(birth) {operator} {draw.randint(1, 12)}",
            f"region == '{draw.choice('ABCD')}'",
            f"region in {{'{draw.choice('AB')}', '{draw.choice('CD')}'}}",
            f"region {draw.choice(['==', '!='])} town",
            f"town {operator} {number}",
        ]
    )


def _rule(draw: random.Random) -> str:
    one, other, third = (_condition(draw, 1) for _ in range(3))
    return draw.choice([one, f"if {one} then {other}", f"if {one} then {other} else {third}"])


def _published(draw: random.Random) -> list[mw.Variable]:
    """Some of the variables, recoded at random."""
    borders = sorted(draw.sample(range(-1, 11), draw.randint(1, 4)))
    starts = sorted(days(2000) + each for each in draw.sample(range(-400, 800), draw.randint(1, 3)))
    letters = list("ABCD")
    draw.shuffle(letters)
    cut = draw.randint(1, 3)
    last = draw.choice([None, 20.0])
    years = [days(year) for year in range(1998, 2004)]
    every = [
        banded(AGE, *borders), banded(INCOME, *(each + 0.5 for each in borders), last=last),
        banded(WAGE, *borders, last=last),
        banded(BIRTH, *draw.choice([starts, years])), banded(ENTRY, *draw.choice([starts, years])),
        grouped(REGION, tuple(letters[:cut]), tuple(letters[cut:])),
        grouped(TOWN, ("A", "1"), draw.choice([("B", "2")]),),
    ]  # fmt: skip
    return draw.sample(every, draw.randint(1, 4))


def _records(seed: int) -> dict[str, Column]:
    random_numbers = np.random.default_rng(seed)
    found = {}
    for variable in VARIABLES:
        if variable.is_date:
            values: np.ndarray = days(2000) + random_numbers.integers(-500, 900, RECORDS).astype(np.float64)
        elif not variable.is_numeric:
            values = random_numbers.integers(0, 4, RECORDS).astype(np.int32)
        elif variable.type == "integer":
            values = random_numbers.integers(-2, 13, RECORDS).astype(np.float64)
        else:
            values = np.round(random_numbers.integers(-20, 140, RECORDS) / 10, 1)
            values = np.where(random_numbers.random(RECORDS) < 0.6, np.round(values), values)
        missing = random_numbers.random(RECORDS) < 0.1
        held = values if not variable.is_numeric else np.where(missing, np.nan, values)
        found[variable.name] = Column(variable, np.where(missing, -1, held).astype(np.int32) if held.dtype == np.int32
                                      else held, missing)  # fmt: skip
    return found


def _coded(column: Column, published: mw.Variable) -> Column:
    codes = np.full(len(column), -1, dtype=np.int32)
    for row in np.flatnonzero(~column.missing):
        value = column.values[row]
        said = float(value) if column.variable.is_numeric else column.variable.categories[int(value)]
        (codes[row],) = [code for code, band in enumerate(published.bands) if band.holds(said)]
    return Column(published, codes, column.missing.copy())


@given(st.integers(0, 2**32))
def test_no_true_record_breaks_a_translation_and_an_exact_one_is_true_of_no_other(seed: int) -> None:
    """Random rules, random bands, random records, some cells missing."""
    draw = random.Random(seed)
    rule, published = _rule(draw), _published(draw)
    try:
        (edit,) = mw.EditSet.parse([rule])
    except mw.EditError:
        return
    original = _records(seed)
    touched = [each for each in published if each.name in edit.variables]
    if not touched:
        return
    known: dict[str, Recoded] = {each.name: recoded(original[each.name].variable, each) for each in touched}
    found = translate(edit, known, lambda _: True)
    if found.edit is None:
        return
    after = original | {each.name: _coded(original[each.name], each) for each in touched}
    before = evaluate_exact(edit.expression, RecordChunk.from_dataset(Dataset(tuple(original.values()))))
    new = evaluate_exact(found.edit.expression, RecordChunk.from_dataset(Dataset(tuple(after.values()))))
    reread = mw.EditSet.parse([found.edit.text])["edit-1"]
    again = evaluate_exact(reread.expression, RecordChunk.from_dataset(Dataset(tuple(after.values()))))
    assert (again.holds == new.holds).all()
    assert not (before.holds & ~new.holds).any(), (rule, found.edit.text)
    if found.form == "translated":
        complete = ~np.logical_or.reduce([original[name].missing for name in edit.variables])
        assert not (complete & ~before.unknown & ~before.holds & new.holds).any(), (rule, found.edit.text)
