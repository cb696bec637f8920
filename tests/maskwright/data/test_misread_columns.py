"""Columns that were read as text although most of their cells are numbers, and missing codes that never occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import maskwright as mw
from maskwright.data.dataset import Layout
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright.data.inference import read_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Dataset

N = 60
NUMBERS = [str(number) for number in np.random.default_rng(1).integers(1000, 90000, N)]


def read(cells: Sequence[str | None], **declared: object) -> Dataset:
    table = pa.table({"V": pa.array(list(cells), pa.string())})
    stated = {"V": VariableDeclaration.model_validate(declared)} if declared else {}
    return read_dataset(table.to_batches(max_chunksize=7), Layout("csv"), stated)


def framed(values: Sequence[object], **declared: object) -> Dataset:
    stated = {"V": VariableDeclaration.model_validate(declared)} if declared else {}
    return dataset_from_frame(pd.DataFrame({"V": pd.Series(list(values), dtype=object)}), stated)


def with_every_fifth(text: str) -> list[str]:
    return [text if position % 5 == 0 else number for position, number in enumerate(NUMBERS)]


@pytest.mark.parametrize(
    ("cells", "seen", "remedy"),
    [
        (with_every_fifth("NA"), "48 of 60 cells look like numbers, and it was read as text (12 say 'NA')",
         "`V: {missing: [NA]}`"),
        (with_every_fifth(" n/a "), "12 say 'n/a'", '`V: {missing: ["n/a"]}`'),
        (with_every_fifth("."), "12 say '.'", '`V: {missing: ["."]}`'),
        ([f"{each},5" for each in NUMBERS], "60 with a decimal comma", '`decimal: ","`'),
        ([f"{int(each):,}" for each in NUMBERS], "60 with separators between thousands", '`thousands: ","` in'),
        ([f"{int(each):,}".replace(",", "\u202f") for each in NUMBERS], "60 with separators between",
         r'`thousands: "\u202f"` in'),
        ([f"{each} €" for each in NUMBERS], "60 with a sign, unit or exponent", "write plain numbers"),
        ([f"${each}" for each in NUMBERS], "60 with a sign, unit or exponent", "write plain numbers"),
        ([f"{each}%" for each in NUMBERS], "60 with a sign, unit or exponent", "write plain numbers"),
        ([f"\u2212{each}" for each in NUMBERS], "60 with a sign, unit or exponent", "write plain numbers"),
        ([f"{each}\u00a0" for each in NUMBERS], "60 with a sign, unit or exponent", "write plain numbers"),
        ([f"{each}e+05" for each in NUMBERS], "60 with a sign, unit or exponent", "write plain numbers"),
        ([*NUMBERS[:-1], "0712345"], "1 has leading zeros: record 60", "correct these cells"),
        ([*NUMBERS[:-1], "9" * 20], "1 has too many digits for a number: record 60", "correct these cells"),
        ([*NUMBERS[:40], *["Geheimrat"] * 20], "20 are no numbers: records 41, 42, 43, 44, 45, ...", "correct these"),
        ([*NUMBERS[:20], *["Geheimrat"] * 40], "20 of 60 cells look like numbers", "correct these cells"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("role", [None, "other", "confidential", "quasi_identifier"])
def test_numbers_that_were_read_as_text_are_a_doubt_with_a_remedy(
    cells: list[str], seen: str, remedy: str, role: str | None
) -> None:
    for data in (read(cells, role=role), framed(cells, role=role)):
        (doubt,) = data.doubts
        assert (doubt.kind, doubt.subject) == ("column-not-understood", "V")
        assert seen in doubt.message
        assert remedy in doubt.remedy
        assert "`V: {type: nominal}`" in doubt.remedy
        assert "Geheim" not in f"{doubt} {doubt.remedy}"


@pytest.mark.parametrize(
    "cells",
    [
        ["01.11", "01.12", "10.20", "47.11", "96.09"] * 12,
        ["01", "01.1", "01.11", "47", "47.1", "47.11"] * 10,
        ["04109", "10115", "20095", "80331", "01067"] * 12,
        ["2A", "2B", "01", "75", "13", "69"] * 10,
        ["A234", "1234", "7812", "9921"] * 15,
        ["2020-01-01", "1999-12-31"] * 30,
        ["01.02.1990", "24.12.2001"] * 30,
        ["+4930123456", "+49891234567"] * 30,
        ["030/123456", "089/1234567"] * 30,
        ["0301234", "089123456"] * 30,
        ["12:30", "07:15"] * 30,
        ["20-29", "30-39", "90+"] * 20,
        ["192.168.0.1", "10.0.0.12"] * 30,
        [f"{number:020d}1" for number in range(10**18, 10**18 + 60)],
        ["NA", "north", "south"] * 20,
        ["Main Street 1", "High Street 22"] * 30,
        ["", ""] * 30,
    ],
)
def test_codes_dates_and_telephone_numbers_are_no_doubt(cells: list[str]) -> None:
    assert read(cells).doubts == ()
    assert framed(cells).doubts == ()


def test_a_declared_type_or_release_settles_it() -> None:
    cells = with_every_fifth("NA")
    for declared in ({"type": "nominal"}, {"release": "as is"}, {"role": "identifier"}):
        assert read(cells, **declared).doubts == ()
        assert framed(cells, **declared).doubts == ()
    assert read(cells, missing=["NA"]).doubts == ()
    assert read(cells, categories=list(dict.fromkeys(cells))).doubts == ()


def test_text_in_a_typed_format_is_a_doubt_unless_it_is_short_codes() -> None:
    assert framed(["1", "2", "12"] * 20).doubts == ()
    assert framed(["101", "102", "999"] * 20).doubts == ()
    (doubt,) = framed(["7", "1500", "23000"] * 20).doubts
    assert "60 of 60 cells look like numbers, and it was read as text" in doubt.message
    assert "`V: {type: continuous}`" in doubt.remedy
    assert framed(["7", "1500", "23000"] * 20, type="nominal").doubts == ()
    assert dataset_from_frame(pd.DataFrame({"V": pd.Categorical(["7", "1500"] * 9)})).doubts == ()
    table = pa.table({"V": pa.array(["7.5", "1500", "23000"] * 20, pa.large_string()), "w": [1] * 60})
    assert len(read_dataset(table.to_batches(), Layout("parquet")).doubts) == 1


def test_objects_of_a_frame_are_a_doubt_too() -> None:
    (doubt,) = framed([*map(int, NUMBERS[:-1]), "n/a"], role="confidential").doubts
    assert "59 of 60 cells look like numbers" in doubt.message
    frame = pd.DataFrame({"V": pd.Series([*map(int, NUMBERS[:-1]), "n/a"], dtype=object), "age": range(N)})
    with pytest.raises(mw.OpenDoubts, match="W101 column-not-understood: V: 59 of 60"):
        mw.protect(frame, "microaggregation", params={"k": 3}, declared={"V": {"role": "other"}})


def test_nearly_all_numbers_names_the_missing_codes_that_are_well_known() -> None:
    with pytest.raises(mw.DataError, match=r'`V: \{missing: \["n/a"\]\}`'):
        read([*NUMBERS[:-1], "n/a"])
    with pytest.raises(mw.DataError, match=r"`V: \{missing: \[\.\.\.\]\}`") as caught:
        read([*NUMBERS[:-1], "Geheim"])
    assert "Geheim" not in str(caught.value)


def test_a_declared_missing_code_that_no_cell_holds_is_told() -> None:
    told = "declared missing codes that no cell holds: 'NA' (V)"
    assert told in read([*NUMBERS[:-1], " -9 "], missing=[-9, "NA", ""]).notes
    assert not any("that no cell holds" in note for note in read([*NUMBERS[:-1], "-9.0"], missing=[-9]).notes)
    assert read(["a", "b", "none"], type="nominal", missing=["none"]).notes == (
        "missing cells, of 3 records: V 1 ('none' 1)",
    )
    told = "declared missing codes that no cell holds: 'nothing' (V), 'never' (V)"
    assert told in read(["a", "b", "none"], type="nominal", missing=["nothing", "never"]).notes
    assert framed([1, 2, -9], missing=[-9]).notes == ("missing cells, of 3 records: V 1 ('-9' 1)",)
    assert framed([1, 2, -9], missing=[-99]).notes == ("declared missing codes that no cell holds: '-99' (V)",)


def test_columns_named_by_numbers_are_a_doubt_that_names_none() -> None:
    frame = pd.DataFrame({"Geheim": ["north", "south"] * 10, "34": range(20), "52000": range(20)})
    with pytest.raises(mw.OpenDoubts) as caught:
        mw.protect(frame, "microaggregation", params={"k": 3})
    assert "W103 header-may-be-a-record: 2 of 3 names of columns are numbers or dates" in str(caught.value)
    assert "Geheim" not in str(caught.value)
    assert "52000" not in str(caught.value)
    assert dataset_from_frame(pd.DataFrame(np.ones((5, 3))).rename(columns=str)).doubts == ()
    table = pa.table({"2019": [1.5, 2.5], "t": ["a", "b"]})
    assert [each.kind for each in read_dataset(table.to_batches(), Layout("parquet")).doubts] == [
        "header-may-be-a-record"
    ]


@pytest.mark.parametrize(
    ("ages", "codes"),
    [
        ([*range(20, 91), *[99] * 20], "99"),
        ([*range(20, 91), *[97] * 9, *[98] * 9, *[99] * 9], "97, 98, 99"),
        ([*range(100, 800, 7), *[998] * 40, *[999] * 60], "998, 999"),
        ([*range(20, 98), *[99] * 20], "99"),
    ],
)
def test_codes_above_all_others_are_asked_for(ages: list[int], codes: str) -> None:
    (doubt,) = read([str(age) for age in ages]).doubts
    assert (doubt.kind, doubt.message.split(",")[0].split("hold ")[1]) == (
        "may-be-a-missing-code",
        codes.split(",", maxsplit=1)[0],
    )
    assert f"`V: {{missing: [{codes}]}}`" in (doubt.hint or "")


@pytest.mark.parametrize(
    "ages", [[*range(20, 100)] * 3, [*range(20, 99), *[99] * 4], [*range(100, 1000)], [1, 99] * 30]
)
def test_numbers_that_end_in_nines_are_numbers(ages: list[int]) -> None:
    assert read([str(age) for age in ages]).doubts == ()


def test_weights_below_zero_are_a_doubt() -> None:
    cells = ["1.5", "2.25", "-37.25", "0"] * 20
    (doubt,) = read(cells, role="weight").doubts
    assert (doubt.kind, doubt.message, doubt.count) == ("may-be-a-missing-code", "20 records have a weight below 0", 20)
    assert read(["1.5", "2.25", "0"] * 20, role="weight").doubts == ()
