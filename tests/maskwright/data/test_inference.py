"""What a column of cells is taken for, and what a person is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright.data.dataset import Column, Dataset, Layout
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.inference import read_dataset
from maskwright.data.published import published_batches
from maskwright.data.record_chunk import RecordChunk
from maskwright.data.variable import Variable
from maskwright.foundation.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = Layout("csv")


def read(
    *columns: list[str | None], declared: dict[str, dict[str, object]] | None = None, chunk: int = 1000
) -> Dataset:
    """Columns V1, V2, ... as a text format would give them."""
    names = [f"V{number}" for number in range(1, len(columns) + 1)]
    table = pa.table([pa.array(cells, pa.string()) for cells in columns], names=names)
    declarations = {name: VariableDeclaration.model_validate(facts) for name, facts in (declared or {}).items()}
    return read_dataset(table.to_batches(max_chunksize=chunk), lambda: TEXT, declarations)


def only(cells: list[str | None], **declared: object) -> Column:
    return read(cells, declared={"V1": declared})["V1"]


@pytest.mark.parametrize(
    ("cells", "kind", "decimals"),
    [
        (["1", "-2", " 3 ", ""], "integer", 0),
        (["1.50", "2.25", "3"], "continuous", 2),
        (["1.0", "2.00"], "integer", 0),
        (["0.5", ".25", "7."], "continuous", 2),
        (["9007199254740992", "1"], "integer", 0),
        (["0.1234567890123456", "12.5"], "continuous", None),
        (["45.12345678901234", "0"], "continuous", 14),
        (["945.12345678901234", "0"], "continuous", None),
        (["a", "b"], "nominal", None),
        (["nan", "inf"], "nominal", None),
        (["1e3", "2"], "nominal", None),
        (["+5", "1_000"], "nominal", None),
        (["１２", "٣"], "nominal", None),
        (["012", "345"], "nominal", None),
        (["-01", "5"], "nominal", None),
        (["0", "0.5"], "continuous", 1),
        (["12345678901234567890", "1"], "nominal", None),
        (["9" * 400, "1"], "nominal", None),
        ([None, "", "  "], "continuous", 0),
    ],
)
def test_type_and_grid_are_those_of_the_text(cells: list[str | None], kind: str, decimals: int | None) -> None:
    variable = only(cells).variable
    assert (variable.type, variable.decimals) == (kind, decimals)
    assert variable.role == ("other" if kind == "nominal" else "confidential")


def test_codes_are_said_to_be_codes() -> None:
    notes = read(["012", "345"], ["99999999999999999", "1"]).notes
    assert "V1: read as nominal codes, since 1 cell has leading zeros" in notes[0]
    assert "V2: read as nominal codes, since some have more digits" in notes[1]
    assert only(["012", "345"], type="integer").values.tolist() == [12, 345]
    assert only(["012", "345"], min=0).variable.type == "integer"


def test_nearly_all_numbers_is_an_error_that_names_records_and_no_values() -> None:
    cells: list[str | None] = [str(number) for number in range(100)]
    for position in (3, 17, 18, 40, 60, 99):
        cells[position] = "secret"
    cells[50] = None
    with pytest.raises(DataError) as caught:
        read(cells, ["1"] * 99 + ["x"], chunk=10)
    assert len(caught.value.problems) == 2
    text = str(caught.value)
    assert "variable 'V1': 6 of 100 cells are not a number" in text
    assert "(records 4, 18, 19, 41, 61, ...)" in text
    assert "variable 'V2': 1 of 100 cells is not a number" in text
    assert "(record 100)" in text
    assert "type: nominal" in text
    assert "missing: [...]" in text
    assert "secret" not in text
    assert read(cells, declared={"V1": {"missing": ["secret"]}})["V1"].missing.sum() == 7
    assert read(cells, declared={"V1": {"type": "nominal"}})["V1"].variable.type == "nominal"


def test_the_line_between_numbers_and_text_is_nine_in_ten_of_the_cells_present() -> None:
    blanks: list[str | None] = [""] * 100
    with pytest.raises(DataError, match="not a number"):
        only(["1"] * 9 + ["x"] + blanks)
    assert only(["1"] * 8 + ["x"] + blanks).variable.type == "nominal"


def test_missing_codes_are_missing_and_undeclared_ones_are_values() -> None:
    cells: list[str | None] = ["-999", " -999 ", "5.25", "-9.125", None]
    assert only(cells).missing.tolist() == [False, False, False, False, True]
    column = only(cells, missing=[-999, -9.125])
    assert column.missing.tolist() == [True, True, False, True, True]
    assert np.isnan(column.values).tolist() == column.missing.tolist()
    assert column.variable.decimals == 2
    data = read(cells, declared={"V1": {"missing": [-999, -9.125]}})
    assert data.notes == ("missing cells, of 5 records: V1 4 ('-999' 2, '-9.125' 1)",)
    written = pa.Table.from_batches(list(published_batches(data, True)))
    assert written.column(0).to_pylist() == cells


def test_missing_codes_mean_the_same_to_edits_and_to_the_dataset() -> None:
    batch = pa.record_batch([pa.array(["-9", " -9 ", "1", "", None]), pa.array([-9, 1, None, 2, 3])], names=["a", "b"])
    variables = {name: Variable(name, missing_codes=("-9",)) for name in ("a", "b")}
    columns = RecordChunk.from_batch(batch, variables)
    assert columns["a"].missing.tolist() == [True, True, False, True, True]
    assert columns["b"].missing.tolist() == [True, False, True, False, False]
    assert columns["a"].absent.tolist() == [False, False, False, False, True]


def test_ordinal_categories_keep_their_declared_order() -> None:
    column = only(["high", "low", "", "mid"], type="ordinal", categories=["low", "mid", "high"])
    assert column.variable.type == "ordinal"
    assert column.values.tolist() == [2, 0, -1, 1]
    assert only(["10", "9", "9"], type="ordinal").variable.categories == ("9", "10")
    with pytest.raises(DataError, match="order of its categories is not known"):
        only(["low", "high"], type="ordinal")
    with pytest.raises(DataError, match=r"2 of 3 cells are none of the declared categories \(records 2, 3\)") as caught:
        only(["low", "secret", "LOW"], type="ordinal", categories=["low"])
    assert "secret" not in str(caught.value)


def test_declarations_win_over_what_the_cells_say() -> None:
    column = only(["1", "2"], type="nominal", role="quasi_identifier")
    assert (column.variable.type, column.variable.role, column.variable.categories) == (
        "nominal",
        "quasi_identifier",
        ("1", "2"),
    )
    variable = only(["1.5", "2"], decimals=4, min=0, max=9.5, unit="EUR", role="weight").variable
    assert variable == Variable("V1", "continuous", "weight", "EUR", 4, 0.0, 9.5)
    assert only(["1", "2"], type="continuous").variable.decimals == 0
    assert only(["1", "2"], decimals=2).variable.type == "continuous"
    assert only(["1.5", "2"], decimals=0).values.tolist() == [1.5, 2.0]
    assert "rounded to the 0 declared" in read(["1.5"], declared={"V1": {"decimals": 0}}).notes[0]


@pytest.mark.parametrize(
    ("cells", "declared", "message"),
    [
        (["1.5", "2"], {"type": "integer"}, r"declared integer, and 1 of 2 cells are not \(record 1\)"),
        (["1", "2"], {"type": "integer", "decimals": 2}, "declared integer and to have 2 decimals"),
        (["a", "b"], {"type": "continuous"}, r"2 of 2 cells are not a number, and the variable is declared"),
        (["a", "b"], {"decimals": 2}, r"declared a number \(records 1, 2\)"),
        (["9" * 400], {"type": "continuous"}, "infinite or too large"),
    ],
)
def test_cells_that_contradict_the_declaration(
    cells: list[str | None], declared: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        only(cells, **declared)


def test_a_declared_variable_must_be_there() -> None:
    with pytest.raises(DataError, match="no variable called 'v1'; did you mean 'V1'") as caught:
        read(["1"], declared={"v1": {}, "weight": {}})
    assert len(caught.value.problems) == 2


def test_no_records() -> None:
    with pytest.raises(DataError, match="no records"):
        read([])
    with pytest.raises(DataError, match=re.escape("in.csv: the file has no records")):
        read_dataset([], TEXT, file="in.csv")


def test_columns_of_commas_are_pointed_out() -> None:
    assert "decimal comma" in read(["1,5", "2,25"]).notes[0]


def test_notes_of_the_layout_are_kept_and_progress_ends_at_one() -> None:
    batch = pa.record_batch([pa.array(["1"]), pa.array(["2"])], names=["a", "b"])
    shares: list[float] = []
    data = read_dataset([batch], Layout("xml", {"notes": ("left out",)}), progress=shares.append)
    assert data.notes == ("left out",)
    assert shares == [0.5, 1.0]


def test_typed_columns() -> None:
    table = pa.table(
        {
            "n": pa.array([1, None, -9], pa.int8()),
            "cents": [0.25, 1.5, float("nan")],
            "third": [1 / 3, 1.0, 2.0],
            "big": [2**60, 1, 2],
            "text": ["1", "2", ""],
            "none": pa.nulls(3),
            "size": pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), ["small", "large"], ordered=True),
        }
    )
    declared = {"n": VariableDeclaration(missing=("-9",))}
    data = read_dataset(table.to_batches(), Layout("parquet"), declared)
    found = {variable.name: (variable.type, variable.decimals) for variable in data.variables}
    assert found == {
        "n": ("integer", 0), "cents": ("continuous", 2), "third": ("continuous", None), "big": ("nominal", None),
        "text": ("nominal", None), "none": ("continuous", 0), "size": ("ordinal", None),
    }  # fmt: skip
    assert data["n"].missing.tolist() == [False, True, True]
    assert data["cents"].missing.tolist() == [False, False, True]
    assert data["size"].variable.categories == ("small", "large")
    assert data["size"].values.tolist() == [1, 0, -1]
    assert any("cents: 1 cells are NaN" in note for note in data.notes)
    with pytest.raises(DataError, match=r"1 of 2 cells are infinite or too large \(record 2\)"):
        read_dataset(pa.table({"a": [1.0, float("inf")]}).to_batches(), Layout("parquet"))
    with pytest.raises(DataError, match="one flat value"):
        read_dataset(pa.table({"a": [[1]]}).to_batches(), Layout("parquet"))


NUMBERS = st.decimals(-(10**9), 10**9, places=3).map(lambda value: f"{value:f}")


@settings(max_examples=80)
@given(cells=st.lists(st.none() | st.just("") | NUMBERS, min_size=1, max_size=30), chunk=st.integers(1, 7))
def test_number_text_survives_reading_and_writing(cells: list[str | None], chunk: int) -> None:
    """Published text says the same numbers, whatever the chunks, and reading it again gives the same columns."""
    data = read(cells, chunk=chunk)
    batches = published_batches(data, True, rows=4, canonical=True)
    texts = pa.Table.from_batches(list(batches)).column(0).to_pylist()
    for before, after in zip(cells, texts, strict=True):
        if not before:
            assert after == before
        else:
            assert float(after) == float(before)
            assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", after)
    again = read(texts)
    assert np.array_equal(again["V1"].values, data["V1"].values, equal_nan=True)
    assert again["V1"].variable == data["V1"].variable


@settings(max_examples=60)
@given(cells=st.lists(st.none() | st.text(max_size=3), min_size=1, max_size=20), chunk=st.integers(1, 5))
def test_texts_survive_reading_and_writing(cells: list[str | None], chunk: int) -> None:
    data = read(cells, declared={"V1": {"type": "nominal"}}, chunk=chunk)
    texts = pa.Table.from_batches(list(published_batches(data, True, rows=3))).column(0).to_pylist()
    assert texts == cells
    assert list(data["V1"].variable.categories) == sorted({text for text in texts if text and text.strip(" \t\r\n")})


def test_published_batches_of_typed_formats() -> None:
    data = read(["1", "", "3"], ["1.5", "2", ""], ["a", "", "b"])
    table = pa.Table.from_batches(list(published_batches(data, False, rows=2)))
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string()]
    assert table.to_pydict() == {"V1": [1, None, 3], "V2": [1.5, 2.0, None], "V3": ["a", None, "b"]}


@pytest.mark.parametrize(("name", "nominal"), [("census.csv", 0), ("tarragona.csv", 0), ("eia.csv", 2)])
def test_reference_files(reference_file: Callable[[str], Path], name: str, nominal: int) -> None:
    """Census and Tarragona are integers throughout; EIA has two names (a utility and a state)."""
    import pyarrow.csv

    table = pyarrow.csv.read_csv(reference_file(name))
    texts = table.cast(pa.schema([(column, pa.string()) for column in table.schema.names]))
    data = read_dataset(texts.to_batches(), TEXT)
    kinds = [variable.type for variable in data.variables]
    assert kinds.count("nominal") == nominal
    assert kinds.count("integer") == len(kinds) - nominal
    for column in data:
        if column.variable.is_numeric:
            assert np.array_equal(column.values, table.column(column.name).to_numpy())


def test_columns_typed_on_threads_are_those_typed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 120_000
    cells = {
        "number": [f"{place / 8}" for place in range(n)],
        "day": [f"20{place % 90 + 10}-01-0{place % 9 + 1}" for place in range(n)],
        "text": [f"a, {place % 11}" for place in range(n)],
        "gaps": ["" if place % 5 == 0 else str(place) for place in range(n)],
        "late": ["x" if place > n // 2 else "7" for place in range(n)],
    }
    table = pa.table({name: pa.array(texts, pa.string()) for name, texts in cells.items()})
    found = []
    for threads in (1, 4):
        monkeypatch.setattr("maskwright.data.inference.MOST_THREADS", threads)
        monkeypatch.setattr("maskwright.data.inference.processors", lambda: 4)
        found.append(read_dataset(table.to_batches(max_chunksize=10_000), Layout("csv")))
    one, four = found
    assert [column.variable.type for column in one] == ["continuous", "date", "nominal", "integer", "nominal"]
    assert (one.notes, one.doubts) == (four.notes, four.doubts)
    for before, after in zip(one, four, strict=True):
        assert before.variable == after.variable
        np.testing.assert_array_equal(before.values, after.values)
