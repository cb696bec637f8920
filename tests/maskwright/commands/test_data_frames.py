"""Data frames of every library: what comes in goes out in the same type, and what nothing touched is as it was."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw

N = 12
CELLS = {
    "int16": pa.array([1, 2, None] * 4, pa.int16()),
    "uint64": pa.array([1, 2**63, None] * 4, pa.uint64()),
    "single": pa.array([1.5, 2.25, None] * 4, pa.float32()),
    "double": pa.array([0.1, -0.0, None] * 4, pa.float64()),
    "decimal": pa.array([Decimal("1.10"), Decimal("2.00"), None] * 4, pa.decimal128(9, 2)),
    "truth": pa.array([True, False, None] * 4),
    "text": pa.array(["a", " ", None] * 4),
    "digits": pa.array(["01", "2.50", "-9"] * 4),
    "day": pa.array([dt.date(2020, 1, 1), dt.date(1899, 12, 31), None] * 4),
    "moment": pa.array([dt.datetime(2020, 1, 1), None, None] * 4, pa.timestamp("ms", "Europe/Berlin")),
    "time": pa.array([dt.time(1, 2), None, None] * 4, pa.time64("us")),
    "span": pa.array([dt.timedelta(1), None, None] * 4, pa.duration("us")),
    "codes": pa.array(["b", "a", None] * 4).dictionary_encode(),
    "nothing": pa.array([None] * N, pa.null()),
}
TABLE = pa.table({"text": CELLS["text"], "income": pa.array(range(N), pa.int32()), **CELLS})
AS_IS = {name: {"release": "as is"} for name in CELLS}
CALL = {"params": {"k": 3}, "seed": 1, "variables": ["income"], "declared": AS_IS}


class Stream:
    """A table of a library that nobody knows: it has Arrow's PyCapsule interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def protected(frame, **more):
    return mw.protect(frame, "microaggregation", **(CALL | more))


def assert_only_income_differs(after: pa.Table, before: pa.Table) -> None:
    assert after.schema.equals(before.schema), (after.schema, before.schema)
    for name in before.column_names:
        if name == "income":
            assert min(after[name].value_counts().field("counts").to_pylist()) >= 3
        elif name == "codes":
            assert after[name].to_pylist() == before[name].to_pylist()
        else:
            assert after[name].equals(before[name]), name


def test_a_table_of_arrow_comes_back_as_a_table() -> None:
    assert_only_income_differs(protected(TABLE), TABLE)


def test_a_batch_and_a_stream_come_back_as_such() -> None:
    batch = TABLE.combine_chunks().to_batches()[0]
    masked = protected(batch)
    assert isinstance(masked, pa.RecordBatch)
    assert_only_income_differs(pa.Table.from_batches([masked]), TABLE)
    streamed = protected(TABLE.to_reader())
    assert isinstance(streamed, pa.RecordBatchReader)
    assert_only_income_differs(streamed.read_all(), TABLE)


def test_what_is_known_by_its_arrow_stream_alone_comes_back_as_a_table_of_arrow() -> None:
    assert_only_income_differs(protected(Stream(TABLE)), TABLE)


def polars_frame() -> pl.DataFrame:
    frame = pl.from_arrow(TABLE.drop_columns(["codes"]))
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(
        codes=pl.Series(["b", "a", None] * 4, dtype=pl.Categorical),
        grades=pl.Series(["low", "high", None] * 4, dtype=pl.Enum(["low", "mid", "high"])),
    )


def test_polars_comes_back_as_polars() -> None:
    frame = polars_frame()
    masked = protected(frame, declared=AS_IS | {"grades": {"release": "as is"}})
    assert isinstance(masked, pl.DataFrame)
    assert masked.schema == frame.schema
    polars.testing.assert_frame_equal(masked.drop("income"), frame.drop("income"))
    assert masked["income"].to_list() != frame["income"].to_list()


def test_a_lazy_frame_is_collected_knowingly_and_comes_back_lazy() -> None:
    class Listener:
        said: list[str] = []  # noqa: RUF012

        def stage(self, title):
            return lambda share: None

        def notice(self, text):
            self.said.append(text)

    frame = polars_frame().drop("grades")
    masked = protected(frame.lazy(), reporter=Listener())
    assert isinstance(masked, pl.LazyFrame)
    polars.testing.assert_frame_equal(masked.collect().drop("income"), frame.drop("income"))
    assert "data is lazy (polars): all of its records are collected in memory" in Listener.said


def test_a_frame_of_narwhals_comes_back_as_one() -> None:
    masked = protected(nw.from_native(polars_frame().drop("grades")))
    assert isinstance(masked, nw.DataFrame)
    assert isinstance(masked.to_native(), pl.DataFrame)


DUCK = """
    select range::integer income, ['b', 'a', null][1 + range % 3]::enum('a', 'b', 'c') codes, uuid() id, 'x' text,
    (range % 3)::hugeint huge, (range % 3)::tinyint tiny, 1.5::decimal(5, 2) amount,
    date '2020-01-01' "a ""day"" it is", true truth from range(12)
"""


def test_a_relation_of_duckdb_comes_back_as_a_relation() -> None:
    connection = duckdb.connect()
    connection.execute(f"create table persons as {DUCK}")
    relation = connection.table("persons")
    masked = protected(relation, declared={name: {"release": "as is"} for name in relation.columns[1:]})
    assert isinstance(masked, duckdb.DuckDBPyRelation)
    assert masked.columns == relation.columns
    assert [str(kind) for kind in masked.types] == [str(kind) for kind in relation.types]
    assert [row[1:] for row in masked.fetchall()] == [row[1:] for row in relation.fetchall()]


def test_codes_that_are_gone_are_not_in_the_type() -> None:
    """Categories are values of records: what suppression took from the cells must not stay in the column's type."""
    codes = ["a"] * 6 + ["b"] * 6 + ["bishop"]
    plain = pl.DataFrame({"job": pl.Series(codes, dtype=pl.Categorical)})
    listed = pl.DataFrame({"job": pl.Series(codes, dtype=pl.Enum(["bishop", "b", "a"]))})
    connection = duckdb.connect()
    connection.register("jobs", pa.table({"job": codes}))
    relation = connection.sql("select job::enum('bishop', 'b', 'a') job from jobs")

    def masked(frame):
        declared = {"job": {"role": "quasi_identifier"}}
        return mw.protect(frame, "local_suppression", params={"k": 3}, seed=1, declared=declared)

    assert masked(plain).schema == {"job": pl.Categorical()}
    assert masked(listed).schema == {"job": pl.Enum(["b", "a"])}
    assert all(cell in (None, code) for cell, code in zip(masked(listed)["job"].to_list(), codes, strict=True))
    assert [str(kind) for kind in masked(relation).types] == ["ENUM('b', 'a')"]
    for frame in (plain, listed):
        table = frame.to_arrow()
        dictionaries = masked(table)
        assert sorted(dictionaries["job"].chunk(0).dictionary.to_pylist()) == ["a", "b"]
        assert dictionaries["job"].type == table["job"].type
        assert dictionaries.schema.field("job").metadata is None


def test_masked_columns_keep_their_types_where_these_can_hold_the_values() -> None:
    row = np.arange(60) * 7 % 60
    table = pa.table(
        {
            "small": pa.array(row, pa.int16()),
            "single": pa.array(row / 2, pa.float32()),
            "money": pa.array([Decimal(i) / 4 for i in row.tolist()], pa.decimal128(9, 2)),
            "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=i * i) for i in row.tolist()]),
            "truth": pa.array([i % 3 == 0 for i in range(60)]),
            "size": pa.array([f"{i % 2}" for i in range(60)], pa.large_string()),
        }
    )
    declared = {name: {"role": "quasi_identifier"} for name in ("day", "truth", "size")}
    steps = [
        {"method": "pram", "variables": ["truth", "size"]},
        {"method": "microaggregation", "variables": ["day"], "params": {"k": 3}},
        {"method": "microaggregation", "variables": ["small", "single", "money"], "params": {"k": 3}},
    ]
    masked = mw.protect(table, steps=steps, seed=2, declared=declared)
    assert masked.schema.equals(table.schema)
    assert not masked["day"].equals(table["day"])


def test_dropped_records() -> None:
    frame = polars_frame().drop("grades")
    masked = mw.protect(
        frame, "sampling", params={"fraction": 0.5}, seed=1, declared=AS_IS | {"income": {"role": "other"}}
    )
    assert masked.schema == frame.schema
    assert 0 < len(masked) < len(frame)
    rows = frame.filter(pl.col("income").is_in(masked["income"].to_list()))
    polars.testing.assert_frame_equal(masked, rows)


def test_every_function_takes_every_frame() -> None:
    a = np.arange(20) * 7 % 20
    plain = pd.DataFrame({"a": a, "b": 2 * a})
    arrow = pa.Table.from_pandas(plain)
    connection = duckdb.connect()
    connection.register("plain", arrow)
    others = (pl.from_arrow(arrow), pl.from_arrow(arrow).lazy(), arrow, connection.table("plain"), Stream(arrow))
    rules = ["a + a == b", "a <= 18"]
    expected = mw.protect(plain, "microaggregation", params={"k": 4}, edits=rules[:1], seed=3)
    loss = mw.measure(plain, expected, ["sse"])["sse"].value
    for frame in others:
        masked = mw.protect(frame, "microaggregation", params={"k": 4}, edits=rules[:1], seed=3)
        assert pa.table(
            masked.collect() if isinstance(masked, pl.LazyFrame) else masked
        ).to_pydict() == expected.to_dict("list")
        assert mw.measure(frame, masked, ["sse"])["sse"].value == loss
        assert mw.validate(frame, rules).counts == {"edit-1": 0, "edit-2": 1}
        assert mw.validate(masked, rules[:1], original=frame).ok
        assert mw.localize(frame, rules).counts == mw.localize(plain, rules).counts
        assert [each.rule for each in mw.suggest(frame).found] == [each.rule for each in mw.suggest(plain).found]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "not a list"),
        ({"a": [1]}, "not a dict"),
        (np.ones((3, 2)), "not a ndarray"),
        ((row for row in ()), "not a generator"),
        (pl.Series("a", [1]), r"not a Series\n.*to_frame\(\)"),
        (pd.Series([1]), r"not a Series\n.*to_frame\(\)"),
        (pa.chunked_array([[1]]), "not a ChunkedArray"),
        (pa.array([{"a": 1}]), "not a StructArray"),
        (pl.DataFrame, "not a type"),
        ("persons.csv", r"not a str\n.*mw\.read"),
        (None, "not nothing"),
    ],
)
def test_what_is_no_data_frame_is_refused_and_what_is_one_is_said(data, message: str) -> None:
    with pytest.raises(
        mw.InputError, match="(?s)argument data: expected a Dataset or a data frame: of pandas, polars, .*" + message
    ):
        mw.protect(data, "microaggregation")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.table({"a": [1], "b": [[1]], "c": [{"d": 1}]}), r"(?s)'b' holds list<.*'c' holds struct<"),
        (pl.DataFrame({"a": [1], "b": [[1]]}), "'b' holds .*list<"),
        (pd.DataFrame({"a": [1], "b": pd.array([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}), "'b' holds list<"),
        (pd.DataFrame({"a": [1], "b": [[1]]}), "'b': 1 of 1 cells hold several values"),
        (pa.table({"a": [b"x"]}), "'a' holds binary"),
        (pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}), r"types that Arrow does not have: a \(Int128\)"),
        (pa.table([[1], [2]], names=["a", "a"]), "columns of one name: a"),
        (
            duckdb.sql("select 1 a, '12:00:00+02'::timetz b"),
            r"types that Arrow does not have: b \(TIME WITH TIME ZONE\)",
        ),
        (duckdb.sql("select 1 a, interval 1 day b"), "'b' holds month_day_nano_interval"),
        (pl.DataFrame({"a": []}), "no records"),
        (pl.DataFrame(), "no records"),
    ],
)
def test_frames_that_are_no_microdata_are_refused(data, message: str) -> None:
    with pytest.raises(mw.InputError, match=message):
        mw.protect(data, "microaggregation")


KINDS = st.sampled_from(
    [
        (st.integers(-100, 100), pa.int8()),
        (st.integers(0, 2**64 - 1), pa.uint64()),
        (st.integers(-(2**63), 2**63 - 1), pa.int64()),
        (st.floats(allow_nan=False, allow_infinity=False), pa.float64()),
        (st.floats(allow_nan=False, allow_infinity=False, width=32), pa.float32()),
        (st.decimals(-999, 999, places=3), pa.decimal128(12, 3)),
        (st.booleans(), pa.bool_()),
        (st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5), pa.large_string()),
        (st.dates(dt.date(1700, 1, 1), dt.date(2250, 1, 1)), pa.date32()),
        (st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)), pa.timestamp("us")),
        (st.times(), pa.time64("ns")),
        (st.timedeltas(dt.timedelta(-999), dt.timedelta(999)), pa.duration("us")),
        (st.sampled_from(["x", "y", "z"]), pa.dictionary(pa.uint32(), pa.large_string())),
    ]
)


@st.composite
def tables(draw) -> pa.Table:
    """A column `income`, and others of any type with gaps, in any order."""
    rows = draw(st.integers(6, 12))
    columns = {"income": pa.array(range(rows), pa.int64())}
    for name in draw(st.lists(st.sampled_from("abcdefg"), unique=True, min_size=1, max_size=4)):
        cells, kind = draw(KINDS)
        held = draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        array = pa.array(held, plain)
        columns[name] = array.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else array
    order = draw(st.permutations(list(columns)))
    return pa.table({name: columns[name] for name in order})


@settings(max_examples=60 if os.environ.get("SLOW") else 12, deadline=None)
@given(table=tables())
def test_untouched_columns_of_any_frame_are_equal_in_value_type_and_order(table: pa.Table) -> None:
    others = [name for name in table.column_names if name != "income"]
    step = {"params": {"k": 3}, "seed": 1, "variables": ["income"]}
    declared = {name: {"release": "as is"} for name in others}

    def masked(frame):
        return mw.protect(frame, "microaggregation", declared=declared, keep_index=True, **step)

    arrow = masked(table)
    assert arrow.schema.equals(table.schema)
    assert arrow.select(others).to_pydict() == table.select(others).to_pydict()
    frame = pl.from_arrow(table)
    again = masked(frame)
    assert again.schema == frame.schema
    polars.testing.assert_frame_equal(again.select(others), frame.select(others))
    for mapper in (None, pd.ArrowDtype):
        known = table.to_pandas(types_mapper=mapper).set_axis(range(5, 5 + len(table)), axis=0)
        back = masked(known)
        pd.testing.assert_frame_equal(back[others], known[others])
        assert list(back.columns) == list(known.columns)


def test_each_missing_cell_keeps_its_code() -> None:
    """Also in columns that a step masked, whose type stays what it was."""
    income = [-1, -2, *(1000 + 1000 * (7 * place % 20) for place in range(20))]
    region = ["refused", None, *(["north", "south"] * 10)]
    plain = pd.DataFrame({"income": income, "region": region})
    declared = {
        "income": {"missing": {-1: "does not apply", -2: "refused"}},
        "region": {"missing": ["refused"], "role": "quasi_identifier"},
    }
    steps = [{"method": "pram", "variables": ["region"]}, {"method": "additive_noise", "variables": ["income"]}]
    table = pa.Table.from_pandas(plain, preserve_index=False)
    for frame in (plain, table, pl.from_arrow(table)):
        masked = mw.protect(frame, steps=steps, seed=2, declared=declared)
        after: Any = nw.from_native(masked)
        rows = after.rows(named=True)
        assert [row["income"] for row in rows[:2]] == [-1, -2]
        assert rows[0]["region"] == "refused"
        assert not isinstance(rows[1]["region"], str)
        before: Any = nw.from_native(frame)
        assert after.schema == before.schema
        assert [row["income"] for row in rows] != income
        assert [row["region"] for row in rows] != region
