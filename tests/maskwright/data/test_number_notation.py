"""Notations of numbers: plain digits come out exactly, and what is no number stays as it is."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright import Layout, NumberNotation
from maskwright.data.inference import read_dataset

if TYPE_CHECKING:
    from pathlib import Path

ENGLISH = NumberNotation(".", ",", signs=True)
GERMAN = NumberNotation(",", ".", signs=True)
SAID = [
    (ENGLISH, "1,234,567.50", "1234567.50"),
    (ENGLISH, "-1,234", "-1234"),
    (ENGLISH, "12,34", "12,34"),
    (ENGLISH, "0,234", "0,234"),
    (ENGLISH, "+5", "5"),
    (ENGLISH, " +.5 ", " .5 "),
    (ENGLISH, "1e+05", "100000"),
    (ENGLISH, "-1.2345E-3", "-0.0012345"),
    (ENGLISH, "1.2345e2", "123.45"),
    (ENGLISH, "0.5e1", "5"),
    (ENGLISH, "1,234.5e0", "1,234.5e0"),
    (ENGLISH, "123456789012345678901e2", "12345678901234567890100"),
    (ENGLISH, "01e5", "01e5"),
    (ENGLISH, "1e999", "1e999"),
    (ENGLISH, "NaN", "NaN"),
    (ENGLISH, "Inf", "Inf"),
    (ENGLISH, "+4912345678", "+4912345678"),
    (ENGLISH, "\u22125", "\u22125"),
    (GERMAN, "1.234.567,50", "1234567.50"),
    (GERMAN, "1,5", "1.5"),
    (GERMAN, "-,5", "-.5"),
    (NumberNotation(",", "\u00a0"), "1\u00a0234,5", "1234.5"),
    (NumberNotation(","), "+1,5", "+1,5"),
    (NumberNotation(), "+1", "+1"),
]


@pytest.mark.parametrize(("notation", "text", "plain"), SAID)
def test_numbers_become_plain_digit_by_digit(notation: NumberNotation, text: str, plain: str) -> None:
    assert notation.plain(pa.array([text, None, "", "x"]))[0].to_pylist() == [plain, None, "", "x"]


def test_numbers_of_another_notation_are_told() -> None:
    cells, foreign = GERMAN.plain(pa.array(["1.5", "1.500", "7", "1,5"]))
    assert cells.to_pylist() == ["1.5", "1500", "7", "1.5"]
    assert foreign is not None
    assert foreign.tolist() == [True, False, False, False]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "-", "+"]),
            st.integers(0, 10**12),
            st.text("0123456789", max_size=9),
            st.integers(-30, 30),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_exponents_are_exact(numbers: list[tuple[str, int, str, int]]) -> None:
    texts = [f"{sign}{whole}{'.' * bool(part)}{part}e{power:+03d}" for sign, whole, part, power in numbers]
    plain = ENGLISH.plain(pa.array(texts))[0].to_pylist()
    assert [Decimal(each) for each in plain] == [Decimal(each) for each in texts]
    assert all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", each) for each in plain)


def read(cells: list[str], notation: NumberNotation, **declared: object) -> mw.Dataset:
    stated = {"V": mw.VariableDeclaration(**declared)} if declared else None
    return read_dataset(pa.table({"V": cells}).to_batches(), Layout("csv"), stated, notation=notation)


def test_columns_are_numbers_or_codes_as_a_whole() -> None:
    np.testing.assert_array_equal(read(["+5", "1e+05", "7"], ENGLISH)["V"].values, [5, 100_000, 7])
    assert read(["+5", "5", "plenty"], ENGLISH)["V"].variable.categories == ("+5", "5", "plenty")
    assert read(["1E1", "2E3"], ENGLISH)["V"].variable.categories == ("1E1", "2E3")
    coded = read(["1,5", "-9,00", "2,5"], GERMAN, missing=(("-9", ""),))["V"]
    assert coded.missing.tolist() == [False, True, False]
    assert read(["01.11", "x", "02.2"], GERMAN)["V"].variable.categories == ("01.11", "02.2", "x")


@pytest.mark.parametrize(
    ("cells", "declared", "asked"),
    [
        (["1.234", "2.500", "980", "12.345"], {}, True),
        (["1.234", "2.500", "980", "12.345"], {"decimals": 3}, False),
        (["1.234", "2.500", "9800", "12.345"], {}, False),
        (["1.234", "2.5", "980", "12.345"], {}, False),
        (["0.234", "2.500", "980", "12.345"], {}, False),
        (["1.234", "2.500", "980.000", "12.345"], {}, False),
    ],
)
def test_a_point_that_may_stand_between_thousands_is_asked_about(
    cells: list[str], declared: dict[str, int], asked: bool
) -> None:
    doubts = read(cells, ENGLISH, **declared).doubts
    assert [each.kind for each in doubts] == ["column-not-understood"] * asked
    assert all('`thousands: "."`' in each.remedy for each in doubts)


AMOUNTS = ["1.234", "2.500", "980.000", "12.345"]


@pytest.mark.parametrize(
    ("others", "options", "delimiter", "asked"),
    [
        (["x", "y", "x", "y"], {}, ";", True),
        (["x", "y", "x", "y"], {}, "\t", True),
        (["2.345", "3.456", "4.567", "5.678"], {}, ";", True),
        (["1,5", "2,5", "3,25", "4,5"], {}, ";", True),
        (["x", "y", "x", "y"], {}, ",", False),
        (["x", "y", "x", "y"], {"decimal": "."}, ";", False),
        (["x", "y", "x", "y"], {"thousands": "."}, ";", False),
        (["1.5", "2.5", "3.25", "4.5"], {}, ";", False),
        (["0.125", "0.250", "0.375", "0.500"], {}, ";", False),
        (["1234.125", "1.250", "2.375", "3.500"], {}, ";", False),
    ],
)
def test_a_column_of_thousands_or_of_thousandths_is_settled_by_others_or_asked_about(
    others: list[str], options: dict[str, str], delimiter: str, asked: bool, tmp_path: Path
) -> None:
    """Where decimals are often written with a comma, and unless the marks are declared."""
    rows = [delimiter.join(pair) for pair in zip(AMOUNTS, others, strict=True)]
    (tmp_path / "d.csv").write_text("\n".join([delimiter.join(("wage", "other")), *rows, ""]), encoding="utf-8")
    data = mw.read(tmp_path / "d.csv", variables={"other": {"role": "other"}}, **options)
    doubts = [each for each in data.doubts if each.subject == "wage"]
    assert [each.kind for each in doubts] == ["column-not-understood"] * asked
    assert all('`decimal: "."`, or `thousands: "."`' in each.remedy for each in doubts)
    read_again = mw.read(tmp_path / "d.csv", variables={"wage": {"decimals": 3}}, **{**options, "delimiter": delimiter})
    if "thousands" not in options:
        assert not [each for each in read_again.doubts if each.subject == "wage"]
