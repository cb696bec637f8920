"""Folders of Parquet files: one data file in a stable order, keys from names of folders, unlike files refused."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

N = 60
TABLE = pa.table(
    {
        "income": pa.array([1000 + (7919 * i) % 977 for i in range(N)], pa.int32()),
        "share": pa.array([(i + 1) / 7 for i in range(N)], pa.float64()),
        "exact": pa.array([decimal.Decimal(f"{i}.50") for i in range(N)], pa.decimal128(9, 2)),
        "flag": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(N)]),
        "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(N)]),
        "seen": pa.array([dt.datetime(2020, 1, 1, 3, 4, i) for i in range(N)], pa.timestamp("us")),
        "code": pa.array([f"00{i % 4}" for i in range(N)]),
        "area": pa.array([["n", "s", None][i % 3] for i in range(N)]).dictionary_encode(),
        "region": pa.array([["north", "söuth / east"][i % 2] for i in range(N)]),
        "year": pa.array([[2019, 2020, 2021][i % 3] for i in range(N)], pa.int32()),
    }
)
PIPELINE = """
maskwright: 1
data:
  source: {source}
  variables:
{kept}
protect: [{{method: microaggregation, variables: [income], params: {{k: 3}}}}]
output: {{data: {output}}}
seed: 1
"""


def run(folder: Path, source: str = "people", output: str = "out.parquet") -> pa.Table:
    kept = "\n".join(f"    {name}: {{role: other, release: as is}}" for name in TABLE.column_names[1:])
    (folder / "p.yaml").write_text(PIPELINE.format(source=source, output=output, kept=kept), encoding="utf-8")
    assert mw.run(folder / "p.yaml").ok
    return pq.read_table(folder / output)


def test_one_column_is_masked_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    partitioning = pads.partitioning(pa.schema([("region", pa.string()), ("year", pa.int32())]), flavor="hive")
    pads.write_dataset(TABLE, tmp_path / "people", format="parquet", partitioning=partitioning)
    (tmp_path / "people" / "_SUCCESS").touch()
    before = pads.dataset(tmp_path / "people", format="parquet", partitioning=partitioning).to_table()
    after = run(tmp_path)
    key = [("day", "ascending")]
    assert after.drop_columns(["income"]).sort_by(key).equals(before.drop_columns(["income"]).sort_by(key))
    assert not after.sort_by(key)["income"].equals(before.sort_by(key)["income"])
    assert after["year"].to_pylist()[:10] == [2019] * 10
    first = (tmp_path / "out.parquet").read_bytes()
    run(tmp_path)
    assert (tmp_path / "out.parquet").read_bytes() == first
    notes = mw.read(tmp_path / "people").notes
    assert any(note.startswith("read from 6 files, region=north/") for note in notes)
    assert any(note.endswith("; region, year from the names of folders") for note in notes)


def test_plain_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").mkdir()
    for name, start in (("b.parquet", 40), ("a.parquet", 0), ("c.pq", 50)):
        stop = {0: 40, 40: 50, 50: N}[start]
        pq.write_table(TABLE.slice(start, stop - start), tmp_path / "people.parquet" / name)
    after = run(tmp_path, "people.parquet")
    assert after.drop_columns(["income", "area"]).equals(TABLE.drop_columns(["income", "area"]))
    assert after["area"].to_pylist() == TABLE["area"].to_pylist()


def test_values_of_keys_are_codes_unless_they_are_written_as_numbers(tmp_path: Path) -> None:
    for area, year in (("01", "2019"), ("02", "2020"), ("__HIVE_DEFAULT_PARTITION__", "2020")):
        place = tmp_path / "people" / f"area={area}" / f"year={year}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"a": [1, 2]}), place / "part.parquet")
    data = mw.read(tmp_path / "people")
    assert data["area"].variable.categories == ("01", "02")
    assert data["area"].missing.tolist() == [False] * 4 + [True] * 2
    assert data["year"].values.tolist() == [2019] * 2 + [2020] * 4


def refused(folder: Path) -> str:
    with pytest.raises(mw.MaskwrightError) as caught:
        mw.read(folder / "people")
    return str(caught.value)


def test_unlike_and_other_files_are_refused_by_name(tmp_path: Path) -> None:
    people = tmp_path / "people"
    people.mkdir()
    assert "holds no data files" in refused(tmp_path)
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), people / "1.parquet")
    for table, message in (
        (pa.table({"a": [1.5], "b": ["x"]}), "2.parquet: column 'a' is double in this file, and int64 in 1.parquet"),
        (pa.table({"a": [1], "c": ["x"]}), "2.parquet: the file has other columns than 1.parquet: b, c"),
        (pa.table({"b": ["x"], "a": [1]}), "2.parquet: the file has its columns in another order"),
        (pa.table({"a": [[1]], "b": ["x"]}), "2.parquet: columns that are lists, structures or bytes: a"),
    ):
        pq.write_table(table, people / "2.parquet")
        assert message in refused(tmp_path)
    (people / "2.parquet").write_bytes(b"PAR1")
    assert "2.parquet: the file is not a Parquet file" in refused(tmp_path)
    (people / "2.parquet").unlink()
    (people / "notes.csv").write_text("a")
    assert "notes.csv: a csv file among parquet files, as 1.parquet is one" in refused(tmp_path)
    (people / "notes.csv").unlink()
    (people / "b=1").mkdir()
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), people / "b=1" / "3.parquet")
    assert "the folders of this file say b, and those of others nothing" in refused(tmp_path)
    (people / "1.parquet").unlink()
    assert "row 1 has another value in column 'b' than its folder, b=..., says" in refused(tmp_path)


def test_nothing_is_written_into_the_folder_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    pq.write_table(TABLE, tmp_path / "people" / "1.parquet")
    with pytest.raises(mw.InputError, match="would be written into the folder of the data"):
        run(tmp_path, output="people/out.parquet")
    (tmp_path / "notes").mkdir()
    with pytest.raises(mw.InputError, match=r"holds no data files"):
        run(tmp_path, source="notes")
    assert sorted(each.name for each in tmp_path.rglob("*.parquet")) == ["1.parquet"]
