"""Parquet files: types kept, damage and nested columns refused."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskwright import DataError, Dataset, Layout, Variable
from maskwright.cli.main import main
from maskwright.data.inference import read_dataset
from maskwright.data.published import published_batches
from maskwright_builtin.sources.parquet import PARQUET

TABLE = pa.table(
    {
        "small": pa.array([1, None, 3], pa.int16()),
        "wide": pa.array([1, 2, 3], pa.uint64()),
        "single": pa.array([0.5, 1.25, None], pa.float32()),
        "money": pa.array([1.25, -3.5, 0.0], pa.float64()),
        "pi": pa.array([3.141592653589793, 1.0, 2.0], pa.float64()),
        "exact": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.00")], pa.decimal128(9, 2)),
        "town": pa.array(["b", "a", None], pa.string()),
        "zip": pa.array(["007", "010", "100"], pa.string()),
        "area": pa.array(["n", "s", "n"]).dictionary_encode(),
        "flag": pa.array([True, None, False]),
        "day": pa.array([dt.date(2020, 1, 2), None, dt.date(2021, 1, 2)]),
    }
)


def read(path: Path) -> Dataset:
    reading = PARQUET.open(path, PARQUET.params(), lambda _: None)
    return read_dataset(reading.batches(), lambda: reading.layout)


def write(data: Dataset, path: Path) -> pa.Table:
    PARQUET.write(path, published_batches(data, PARQUET.writes_text, rows=2), data.variables, data.layout)
    return pq.read_table(path)


def test_types_are_read_and_written_back(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet")
    data = read(tmp_path / "in.parquet")
    kinds = {variable.name: (variable.type, variable.decimals) for variable in data.variables}
    assert kinds == {
        "small": ("integer", 0), "wide": ("integer", 0), "single": ("continuous", 2), "money": ("continuous", 2),
        "pi": ("continuous", None), "exact": ("continuous", 2), "town": ("nominal", None), "zip": ("nominal", None),
        "area": ("nominal", None), "flag": ("nominal", None), "day": ("date", 0),
    }  # fmt: skip
    again = write(data, tmp_path / "out.parquet")
    same = ["small", "wide", "single", "money", "pi", "exact", "town", "zip"]
    assert again.select(same).equals(TABLE.select(same))
    assert again.column("area").to_pylist() == ["n", "s", "n"]
    assert again.column("day").equals(TABLE.column("day"))


def test_masked_values_that_the_type_cannot_hold_are_refused(tmp_path: Path) -> None:
    layout = Layout("parquet", {"types": {"a": pa.int8()}})
    batch = pa.record_batch([pa.array([1000], pa.int64())], names=["a"])
    with pytest.raises(DataError, match="do not fit the original column") as caught:
        PARQUET.write(tmp_path / "o.parquet", [batch], (Variable("a", "integer", decimals=0),), layout)
    assert "1000" not in str(caught.value)


def test_integers_masked_by_decimals_become_floats(tmp_path: Path) -> None:
    layout = Layout("parquet", {"types": {"a": pa.int8()}})
    batch = pa.record_batch([pa.array([1.5], pa.float64())], names=["a"])
    PARQUET.write(tmp_path / "o.parquet", [batch], (Variable("a", decimals=1),), layout)
    assert pq.read_table(tmp_path / "o.parquet").column("a").to_pylist() == [1.5]


def test_damaged_nested_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(TABLE, path)
    whole = path.read_bytes()
    for wrong in (whole[:-20], b"PAR1" + b"\0" * 40, b"a,b\n1,2\n"):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match="not a Parquet file"):
            read(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        read(path)
    pq.write_table(pa.table({"a": [[1], [2]], "b": [b"1", b"2"], "c": [1, 2]}), path)
    with pytest.raises(DataError, match="lists, structures or bytes: a, b"):
        read(path)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "no.parquet")
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(DataError, match="no records"):
        read(path)


def test_damaged_pages_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"a": [f"text {number}" for number in range(5000)]}), path, compression="snappy")
    raw = bytearray(path.read_bytes())
    raw[4:3000] = b"\xff" * 2996
    path.write_bytes(raw)
    with pytest.raises(DataError, match="Parquet"):
        read(path)


def test_full_disk_is_reported() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    batch = pa.record_batch([pa.array([1])], names=["a"])
    with pytest.raises(DataError, match="No space left"):
        PARQUET.write(full, [batch], (Variable("a"),), Layout("csv"))


def test_nothing_beside_the_columns_is_written(tmp_path: Path) -> None:
    """Neither metadata of the file and its columns, nor categories that no record has."""
    area = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["n", "s", "Geheim"]))
    schema = pa.schema(
        [
            pa.field("money", pa.float64(), metadata={"comment": "Geheim"}),
            pa.field("area", area.type, metadata={"comment": "Geheim"}),
            pa.field("town", pa.large_string()),
        ],
        metadata={"pandas": '{"index_columns": ["Geheim"]}', "owner": "Geheim"},
    )
    table = pa.table([pa.array([1.25, 2.5, 3.75]), area, pa.array(["a", "b", "a"], pa.large_string())], schema=schema)
    pq.write_table(table, tmp_path / "in.parquet")
    assert b"Geheim" in (tmp_path / "in.parquet").read_bytes()
    again = write(read(tmp_path / "in.parquet"), tmp_path / "out.parquet")
    assert again.schema.metadata is None
    assert not any(field.metadata for field in again.schema if field.metadata and b"comment" in field.metadata)
    assert b"Geheim" not in (tmp_path / "out.parquet").read_bytes()


def test_truth_values_that_are_masked_stay_truth_values(tmp_path: Path) -> None:
    """A masked column of truth values became text."""
    flags = pa.array([True, False, None] * 20)
    pq.write_table(pa.table({"flag": flags, "n": list(range(60))}), tmp_path / "in.parquet")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.parquet, variables: {flag: {role: confidential}, n: {role: other}}}\n"
        "protect: [{method: pram, variables: [flag], params: {retain: 0.2, invariant: false}}]\n"
        "output: {data: out.parquet, record: run.json}\nseed: 1\n",
        encoding="utf-8",
    )
    assert main(["run", str(tmp_path / "p.yaml")]) == 0
    masked = pq.read_table(tmp_path / "out.parquet")["flag"]
    assert masked.type == pa.bool_()
    assert masked.to_pylist() != flags.to_pylist()
    assert masked.is_null().to_pylist() == flags.is_null().to_pylist()


def test_row_groups_are_not_as_small_as_batches(tmp_path: Path) -> None:
    n = 150_000
    table = pa.table({"region": pa.array([f"r{place % 7}" for place in range(n)]), "count": pa.array(range(n))})
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    data = read_dataset(table.to_batches(), Layout("parquet", {"types": types}))
    PARQUET.write(tmp_path / "masked.parquet", published_batches(data, writes_text=False), data.variables, data.layout)
    assert pq.read_table(tmp_path / "masked.parquet").equals(table)
    assert pq.ParquetFile(tmp_path / "masked.parquet").metadata.num_row_groups == 1
