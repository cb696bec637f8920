"""DataFrames in and out: same index, order and types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from maskwright.data.dataset import Column, Dataset
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame, frame_from_dataset
from maskwright.foundation.errors import DataError, InputError

FRAME = pd.DataFrame(
    {
        "int": pd.Series([1, 2, 3], dtype="int16"),
        "uint": pd.Series([1, 2, 3], dtype="uint64"),
        "float": [0.1, np.nan, 2.5],
        "single": pd.Series([0.1, 2.0, np.nan], dtype="float32"),
        "Int": pd.Series([1, None, 3], dtype="Int64"),
        "Float": pd.Series([1.5, None, 3], dtype="Float64"),
        "bool": [True, False, True],
        "Bool": pd.Series([True, None, False], dtype="boolean"),
        "text": ["b", "a", None],
        "object": pd.Series(["b", None, "a"], dtype=object),
        "mixed": pd.Series(["b", 1, None], dtype=object),
        "area": pd.Categorical(["s", None, "n"], categories=["s", "n", "w"]),
        "size": pd.Categorical(["low", "high", None], categories=["low", "mid", "high"], ordered=True),
        "codes": pd.Categorical([3, 1, 3]),
        "day": pd.to_datetime(["2020-01-01", None, "2021-05-06"]),
        "id": [2**60, 2**60 + 1, 5],
    }
).set_index(pd.Index(["x", "z", "y"], name="household"))


def test_a_frame_comes_back_as_it_was() -> None:
    before = FRAME.copy(deep=True)
    assert_frame_equal(frame_from_dataset(dataset_from_frame(FRAME), FRAME), before)
    assert_frame_equal(FRAME, before)


def test_types_roles_and_missing_cells() -> None:
    data = dataset_from_frame(FRAME)
    kinds = {variable.name: variable.type for variable in data.variables}
    numeric = {
        "int": "integer",
        "uint": "integer",
        "Int": "integer",
        "float": "continuous",
        "single": "continuous",
        "Float": "continuous",
        "day": "date",
    }
    assert kinds == {name: numeric.get(name, "ordinal" if name == "size" else "nominal") for name in FRAME.columns}
    for column in data:
        assert column.missing.tolist() == FRAME[column.name].isna().tolist()
        assert column.variable.role == ("confidential" if column.name in numeric and column.name != "day" else "other")
    assert data["float"].variable.decimals is None
    assert data["int"].variable.decimals == 0
    assert data["size"].variable.categories == ("low", "mid", "high")
    assert any(note.startswith("id: read as nominal codes") for note in data.notes)
    assert any(note.startswith("missing cells, of 3 records: float 1") for note in data.notes)


def test_declarations() -> None:
    declared = {
        "float": VariableDeclaration(decimals=2, role="weight"),
        "int": VariableDeclaration(type="nominal"),
        "uint": VariableDeclaration(missing=("2",)),
        "text": VariableDeclaration(type="ordinal", categories=("b", "a")),
        "size": VariableDeclaration(type="nominal"),
    }
    data = dataset_from_frame(FRAME, declared)
    assert (data["float"].variable.decimals, data["float"].variable.role) == (2, "weight")
    assert data["int"].variable.categories == ("1", "2", "3")
    assert data["uint"].missing.tolist() == [False, True, False]
    assert data["text"].values.tolist() == [0, 1, -1]
    assert data["size"].variable.type == "nominal"
    with pytest.raises(DataError, match="did you mean 'float'"):
        dataset_from_frame(FRAME, {"flaot": VariableDeclaration()})
    with pytest.raises(DataError, match="none of the declared categories"):
        dataset_from_frame(FRAME, {"text": VariableDeclaration(type="ordinal", categories=("b",))})


def changed(data: Dataset, name: str, values: list[float], missing: list[bool] | None = None) -> Dataset:
    column = data[name]
    gone = np.array(missing or [False] * len(values))
    return data.with_columns({name: Column(column.variable, np.array(values, dtype=column.values.dtype), gone)})


def test_masked_numbers_take_the_original_type_when_it_can_hold_them() -> None:
    data = dataset_from_frame(FRAME)
    assert frame_from_dataset(changed(data, "int", [7, 8, 9]), FRAME)["int"].dtype == np.int16
    assert frame_from_dataset(changed(data, "int", [7, 8, 70000]), FRAME)["int"].tolist() == [7, 8, 70000]
    assert frame_from_dataset(changed(data, "int", [7, 8.5, 9]), FRAME)["int"].tolist() == [7, 8.5, 9]
    assert frame_from_dataset(changed(data, "Int", [7, 8.5, 9]), FRAME)["Int"].dtype == pd.Float64Dtype()
    holed = changed(data, "int", [7, np.nan, 9], [False, True, False])
    assert frame_from_dataset(holed, FRAME)["int"].isna().tolist() == [False, True, False]
    recoded = replace(data["area"].variable, categories=("s", "n", "n or w"))
    column = Column(recoded, np.array([0, 1, 2], dtype=np.int32), np.zeros(3, dtype=bool))
    assert frame_from_dataset(data.with_columns({"area": column}), FRAME)["area"].tolist() == ["s", "n", "n or w"]
    flags = Column(data["bool"].variable, np.array([0, -1, 1], dtype=np.int32), np.array([False, True, False]))
    assert frame_from_dataset(data.with_columns({"bool": flags}), FRAME)["bool"].tolist() == [False, None, True]


def test_dropped_records_and_columns() -> None:
    data = dataset_from_frame(FRAME)
    kept = Dataset(
        tuple(Column(column.variable, column.values[[0, 2]], column.missing[[0, 2]]) for column in data),
        origin=np.array([0, 2]),
    ).without(["id"])
    assert_frame_equal(frame_from_dataset(kept, FRAME), FRAME.loc[["x", "y"]].drop(columns="id"))
    with pytest.raises(InputError, match="2 records, and the DataFrame it came from has 3"):
        frame_from_dataset(replace(kept, origin=None), FRAME)


def test_without_a_model_frame() -> None:
    frame = frame_from_dataset(dataset_from_frame(FRAME[["int", "float", "text"]]))
    assert frame["int"].tolist() == [1, 2, 3]
    assert frame["float"].isna().tolist() == [False, True, False]
    assert frame["text"].tolist()[:2] == ["b", "a"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({0: [1]}), "must be strings"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "must be strings"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns of one name: a"),
        (pd.DataFrame({"a": []}), "no records"),
        (pd.DataFrame(index=[1, 2]), "no records"),
        (pd.DataFrame({"a": [1.0, np.inf]}), r"infinite or too large \(record 2\)"),
    ],
)
def test_frames_that_are_no_microdata(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        dataset_from_frame(frame)


def test_frame_with_an_index_that_repeats() -> None:
    frame = pd.DataFrame({"b": [1.5, 2.5], "a": ["x", "y"]}, index=[7, 7])
    assert_frame_equal(frame_from_dataset(dataset_from_frame(frame), frame), frame)


@settings(max_examples=60)
@given(
    numbers=st.lists(st.floats(allow_infinity=False), min_size=1, max_size=10),
    dtype=st.sampled_from(["float64", "Float64", "object", "float64[pyarrow]"]),
)
def test_any_floats_come_back(numbers: list[float], dtype: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(numbers, dtype="float64").astype(dtype)})
    back = frame_from_dataset(dataset_from_frame(frame), frame)
    if dtype == "object":
        back = back.astype(object)
    assert_frame_equal(back.isna(), frame.isna())
    # Not fillna: it would change the type of a column of objects.
    assert_frame_equal(back.where(back.notna(), 0.0), frame.where(frame.notna(), 0.0))
