"""Decimals up to rounding of binary arithmetic are recognised, doubles left alone; parts decide as the whole."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.data.binary_decimals import GridFacts, on_grid
from maskwright.data.dataset import Layout
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.inference import read_dataset
from maskwright.data.number_text import write_numbers

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(5)


def read_text(*cells: str, **declared: object):
    table = pa.table({"v": [*cells]})
    known = {"v": VariableDeclaration.model_validate(declared)} if declared else {}
    data = read_dataset(table.to_batches(), Layout("csv"), known)
    return data["v"], [note for note in data.notes if "binary" in note]


def test_sums_of_a_computer_are_the_decimals_that_they_stand_for() -> None:
    column, notes = read_text("1.1", "3.3000000000000003", "0.7999999999999999", "")
    assert column.values[:3].tolist() == [1.1, 3.3, 0.8]
    assert column.stored is not None
    assert column.stored[:3].tolist() == [1.1, 3.3000000000000003, 0.7999999999999999]
    assert (column.variable.decimals, column.variable.type) == (1, "continuous")
    said = "v: 2 of 4 cells are decimals with 1 place up to rounding of binary arithmetic, and are read as these"
    assert notes == [said]


def test_fifteen_digits_as_r_writes_them_and_whole_numbers() -> None:
    column, _ = read_text("1234.56000000001", "99.2", "1000.01", "2345.67")
    assert (column.variable.decimals, column.values[0]) == (2, 1234.56)
    column, notes = read_text("2.9999999999999996", "4", "7.000000000000001")
    assert (column.variable.decimals, column.variable.type, column.values.tolist()) == (0, "integer", [3.0, 4.0, 7.0])
    assert "are whole numbers up to rounding" in notes[0]


@pytest.mark.parametrize(
    "cells",
    [
        ("1.1", "3.30000000001"),  # digits that a person writes
        ("1.1", "3.3000000000123456"),  # far from a multiple
        ("1000000000.25", "0.0000003"),  # near 0 for its column, but written with one digit
        ("0.12345678901234567", "0.98765432109876543"),
        ("1e3", "x"),
    ],
)
def test_other_numbers_stay_what_they_are(cells: tuple[str, ...]) -> None:
    column, notes = read_text(*cells)
    assert column.stored is None
    assert not notes


def test_declared_decimals_need_no_evidence() -> None:
    column, notes = read_text("12345678901234.049", "3", decimals=1)
    assert not notes
    column, notes = read_text("123456789.05000001", "3", decimals=2)
    assert column.values.tolist() == [123456789.05, 3.0]
    assert len(notes) == 1
    column, notes = read_text("2.9999999999999996", "4", type="integer")
    assert column.values.tolist() == [3.0, 4.0]


def genuine(kind: int, size: float, n: int) -> np.ndarray:
    match kind:
        case 0:
            return RNG.uniform(0, size, n)
        case 1:
            return RNG.lognormal(np.log(size), 2, n)
        case 2:
            return RNG.integers(1, 1000, n) / RNG.integers(1, 1000, n)
        case _:
            return RNG.integers(0, 1000, (n, 7)).mean(axis=1)


def test_columns_of_doubles_are_not_touched() -> None:
    touched = 0
    for kind in range(4):
        for _ in range(100):
            numbers = genuine(kind, float(10.0 ** RNG.uniform(-3, 9)), 100)
            facts = GridFacts.of(numbers, 17)
            touched += facts.places() is not None
            assert GridFacts.of(numbers, None).places() is None
    assert touched == 0


@pytest.mark.parametrize("places", range(7))
def test_sums_differences_and_products_of_decimals_are_recognised(places: int) -> None:
    recognised = 0
    for _ in range(40):
        terms = np.round(RNG.uniform(0, 10.0 ** RNG.uniform(1, 6), (100, 12)), places)
        for made in (terms @ np.ones(12), terms[:, 0] - terms[:, 1], terms[:, 0] * RNG.integers(1, 50, 100)):
            found = GridFacts.of(made, 17).places()
            assert found in (None, places)
            recognised += found == places
    assert recognised >= 118


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_parts_decide_as_the_whole(data: st.DataObject) -> None:
    places = data.draw(st.integers(0, 4))
    units = data.draw(st.lists(st.tuples(*2 * [st.integers(-(10**7), 10**7)]), min_size=1, max_size=30))
    odd = data.draw(st.lists(st.floats(-1e6, 1e6, width=64), max_size=2))
    numbers = np.array([a / 10**places + b / 10**places for a, b in units] + odd)
    cut = data.draw(st.integers(0, len(numbers)))

    def facts(part: np.ndarray) -> GridFacts:
        texts = write_numbers(part, np.zeros(len(part), dtype=bool), None).to_pylist()
        return GridFacts.of(part, max([-Decimal(text).normalize().as_tuple().exponent for text in texts], default=0))

    whole, together = facts(numbers), facts(numbers[:cut]) + facts(numbers[cut:])
    assert together.places() == whole.places()
    found = whole.places()
    if found is None:
        return
    read = on_grid(numbers, found)
    exact = [Fraction(round(Fraction(number) * 10**found), 10**found) for number in numbers.tolist()]
    assert read.tolist() == [float(each) for each in exact]


SUMS = (
    "a + b == c", "a + b <= c", "a + b >= c", "c - a <= b", "c - a >= b", "r in {0.3, 0.7}", "r == 0.3", "c <= 3.3",
    "c < 3.3", "c >= 3.3", "abs(a + b - c) < 0.1", "c * 10 is integer", "if c <= 3.3 then a < 2",
)  # fmt: skip


def test_a_frame_of_floats_has_the_verdicts_of_its_file(tmp_path: Path) -> None:
    """Totals with the error of binary sums: the counts are those of exact arithmetic, whatever the numbers came in."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 30, 300), rng.integers(0, 30, 300)
    frame = pd.DataFrame({"a": a / 10, "b": b / 10, "r": rng.choice([0.1 + 0.2, 0.7], 300)})
    frame["c"] = frame["a"] + frame["b"]
    frame.loc[:3, "c"] += 0.1
    frame.to_csv(tmp_path / "c.csv", index=False)
    frame.to_parquet(tmp_path / "c.parquet")
    counts = [
        mw.validate(data, list(SUMS)).counts
        for data in (frame, mw.read(tmp_path / "c.csv"), mw.read(tmp_path / "c.parquet"))
    ]
    assert (frame["c"] != frame["c"].round(1)).any()
    assert counts[0] == counts[1] == counts[2]
    total = np.where(np.arange(300) <= 3, a + b + 1, a + b)
    expected = {
        "a + b == c": (a + b != total).sum(), "c - a <= b": (total - a > b).sum(), "c <= 3.3": (total > 33).sum(),
        "c < 3.3": (total >= 33).sum(), "abs(a + b - c) < 0.1": (abs(a + b - total) >= 1).sum(),
        "r in {0.3, 0.7}": 0, "c * 10 is integer": 0,
    }  # fmt: skip
    assert {
        SUMS[number]: count for number, count in enumerate(counts[0].values()) if SUMS[number] in expected
    } == expected
