"""Parquet files of other libraries: one column is masked, and everything else is as it was, in type and value."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

N = 24
INCOME = [1000.5 * (number**3 % 101) for number in range(N)]
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=17 * number) for number in range(N)]
TIMES = [dt.datetime(2020, 1, 1, 12, 0, number) for number in range(N)]


def masked(path: Path, names: list[str], target: str = "income", **variables: object) -> Path:
    """Run a pipeline that masks one column of a file and publishes the others as they are."""
    out = path.with_name("masked" + path.suffix)
    declared = {name: {"release": "as is"} for name in names if name != target} | variables
    mw.run(
        {
            "maskwright": 1,
            "data": {"source": str(path), "variables": declared},
            "protect": [{"method": "microaggregation", "variables": [target], "params": {"k": 3}}],
            "output": {"data": str(out)},
            "seed": 1,
        }
    )
    return out


def some_null(values: list[Any]) -> list[Any]:
    return [None if number % 5 == 2 else value for number, value in enumerate(values)]


def every_type() -> dict[str, pa.Array]:
    """A column of each type that Arrow stores in Parquet as flat values."""
    numbers = [number * 3 % 100 for number in range(N)]
    texts = some_null([" a", "é", "", "x\n", " ", "NA", "012", '"'] * 3)
    codes = [number % 3 for number in range(N)]
    area = pa.array(["low", "mid", "high"])
    columns = {f"{sign}int{width}": pa.array(some_null(numbers), f"{sign}int{width}")
               for sign in ("", "u") for width in (8, 16, 32, 64)}  # fmt: skip
    columns |= {
        "beyond 2**53": pa.array([2**60 + number for number in range(N)], pa.int64()),
        "unsigned beyond 2**63": pa.array([2**64 - 1 - number for number in range(N)], pa.uint64()),
        "half": pa.array([np.float16(number / 2) for number in range(N)], pa.float16()),
        "single": pa.array(some_null([number * 0.1 for number in range(N)]), pa.float32()),
        "NaN and null": pa.array([float("nan") if number == 3 else None if number == 4 else number * 0.375
                                  for number in range(N)]),
        "negative zero": pa.array([-0.0, *(number * 1e-12 for number in range(1, N))]),
        "wide decimal": pa.array([Decimal(number).scaleb(-3) for number in range(N)], pa.decimal256(50, 3)),
        "truth": pa.array(some_null([number % 2 == 0 for number in range(N)])),
        "date32": pa.array(some_null(DAYS), pa.date32()),
        "date64": pa.array(some_null(DAYS), pa.date64()),
        "odd nanoseconds": pa.array([1577880000123456789 + number for number in range(N)], pa.timestamp("ns")),
        "category": pa.array(some_null(["low", "mid", "high"] * 8)).dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(pa.array(some_null(codes), pa.int8()), area, ordered=True),
        "whole number category": pa.array(codes, pa.int64()).dictionary_encode(),
        "day category": pa.array([DAYS[code] for code in codes]).dictionary_encode(),
        "string": pa.array(texts),
        "large string": pa.array(texts, pa.large_string()),
        "string view": pa.array(texts, pa.string_view()),
        "nothing": pa.nulls(N),
    }  # fmt: skip
    for precision, scale in ((10, 2), (38, 10), (5, 0)):
        exact = [Decimal(7 * number).scaleb(-scale) for number in range(N)]
        columns[f"decimal {precision}, {scale}"] = pa.array(some_null(exact), pa.decimal128(precision, scale))
    for unit in ("s", "ms", "us", "ns"):
        columns[f"duration {unit}"] = pa.array([dt.timedelta(seconds=number) for number in range(N)], pa.duration(unit))
        kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        columns[f"time {unit}"] = pa.array(some_null([dt.time(1, 2, number) for number in range(N)]), kind)
        for zone in (None, "UTC", "Europe/Madrid", "+02:00"):
            moments = pa.array(some_null(TIMES), pa.timestamp(unit))
            columns[f"timestamp {unit} {zone}"] = moments.cast(pa.timestamp(unit, zone))
    return columns


def assert_same_columns(before: pa.Table, after: pa.Table, names: list[str]) -> None:
    for name in names:
        one, other = before[name].combine_chunks(), after[name].combine_chunks()
        assert one.type == other.type, name
        assert one.null_count == other.null_count, name
        # Text, so that NaN is like NaN and -0.0 unlike 0.0.
        assert repr(one.to_pylist()) == repr(other.to_pylist()), name


@pytest.mark.parametrize("options", [{}, {"compression": "zstd", "row_group_size": 7, "use_dictionary": False}])
def test_every_type_of_arrow_is_kept(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "every.parquet"
    pq.write_table(pa.table({"income": INCOME} | every_type()), path, **options)
    stored = pq.read_table(path)
    again = pq.read_table(masked(path, stored.schema.names))
    assert again.schema.names == stored.schema.names
    assert_same_columns(stored, again, stored.schema.names[1:])
    assert again["income"].type == pa.float64()
    assert again["income"].to_pylist() != stored["income"].to_pylist()


SHUFFLED = [number * 7 % N for number in range(N)]
MASKED = {
    "int8": pa.array([number * 5 for number in SHUFFLED], pa.int8()),
    "uint16": pa.array([number * 50 for number in SHUFFLED], pa.uint16()),
    "int32": pa.array([number * 997 for number in SHUFFLED], pa.int32()),
    "float32": pa.array([number * 1.25 for number in SHUFFLED], pa.float32()),
    "decimal128(10, 2)": pa.array([Decimal(12345 * number).scaleb(-2) for number in SHUFFLED], pa.decimal128(10, 2)),
    "decimal128(5, 0)": pa.array([Decimal(number * 11) for number in SHUFFLED], pa.decimal128(5, 0)),
    "decimal256(50, 3)": pa.array([Decimal(number * 11).scaleb(-3) for number in SHUFFLED], pa.decimal256(50, 3)),
}


@pytest.mark.parametrize("kind", MASKED)
def test_a_masked_column_keeps_its_type(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"x": MASKED[kind], "town": ["a", "b", "c"] * 8}), path)
    again = pq.read_table(masked(path, ["x", "town"], "x"))
    assert str(again["x"].type) == str(MASKED[kind].type)
    assert len(set(again["x"].to_pylist())) == N // 3


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "income": pd.array([*INCOME[:-1], 7.25], dtype="Float64"),
            "whole": pd.array(some_null(list(range(N))), dtype="Int64"),
            "truth": pd.array(some_null([True, False] * 12), dtype="boolean"),
            "single": pd.array(some_null([number / 4 for number in range(N)]), dtype="Float32"),
            "text": pd.array(some_null([f"s{number}" for number in range(N)]), dtype="string"),
            "of arrow": pd.array(list(range(N)), dtype=pd.ArrowDtype(pa.int16())),
            "size": pd.Categorical(["low", "high"] * 12, categories=["low", "high"], ordered=True),
            "moment": pd.date_range("2020-01-01", periods=N, tz="Europe/Madrid"),
            "lasted": pd.to_timedelta(range(N), unit="s"),
            "object": pd.Series(some_null([f"x{number}" for number in range(N)]), dtype=object),
        }
    )


def test_types_of_pandas_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    frame().to_parquet(path)
    again = pd.read_parquet(masked(path, list(frame().columns)))
    pd.testing.assert_frame_equal(again.drop(columns="income"), pd.read_parquet(path).drop(columns="income"))
    assert again["income"].dtype == "Float64"


def test_an_index_without_a_name_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    persons = frame().set_index(pd.Index([f"Geheim {number}" for number in range(N)]))
    persons.to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    out = masked(path, list(persons.columns))
    assert pq.read_schema(out).names == list(persons.columns)
    assert b"Geheim" not in out.read_bytes()
    pd.testing.assert_index_equal(pd.read_parquet(out).index, pd.RangeIndex(N), exact=True)


def test_an_index_that_somebody_declares_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    rows = frame().sample(frac=1, random_state=1)
    rows.to_parquet(path)
    out = masked(path, list(rows.columns), __index_level_0__={"role": "other"})
    pd.testing.assert_index_equal(pd.read_parquet(out).index, rows.index, exact=True)
    rows.rename_axis("place").to_parquet(path)
    assert list(pd.read_parquet(masked(path, [*rows.columns, "place"])).index) == list(rows.index)


def test_nothing_else_of_the_metadata_of_pandas_travels(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    frame().to_parquet(path)
    table = pq.read_table(path)
    said = json.loads(table.schema.metadata[b"pandas"])
    said["attributes"] = {"note": "Geheim"}
    said["columns"][1] |= {"metadata": {"note": "Geheim"}, "pandas_type": "Geheim"}
    said["columns"][2]["numpy_type"] = "Geheim"
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(said), "owner": "Geheim"}), path)
    out = masked(path, list(frame().columns))
    assert b"Geheim" not in out.read_bytes()
    assert pd.read_parquet(out)["whole"].dtype == "Int64"


def test_files_of_polars_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "polars.parquet"
    rows = pl.DataFrame(
        {
            "income": INCOME,
            "category": pl.Series(["a", "b"] * 12, dtype=pl.Categorical),
            "exact": pl.Series(list(range(N))).cast(pl.Decimal(10, 2)),
            "lasted": [dt.timedelta(seconds=number) for number in range(N)],
            "clock": [dt.time(1, 2, number) for number in range(N)],
            "small": pl.Series(list(range(N)), dtype=pl.UInt8),
            "text": some_null(["é"] * N),
            "nothing": pl.Series([None] * N, dtype=pl.Null),
            "moment": pl.Series(TIMES).dt.replace_time_zone("UTC"),
            "day": DAYS,
        }
    )
    rows.write_parquet(path)
    again = pl.read_parquet(masked(path, rows.columns))
    assert again.schema == rows.schema
    assert again.drop("income").equals(pl.read_parquet(path).drop("income"))


def test_a_type_that_arrow_lacks_is_named_as_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "polars.parquet"
    pl.DataFrame({"income": INCOME, "huge": pl.Series([1] * N, dtype=pl.Int128)}).write_parquet(path)
    with pytest.raises(mw.InputError, match="columns of a type that is not read"):
        masked(path, ["income", "huge"])
