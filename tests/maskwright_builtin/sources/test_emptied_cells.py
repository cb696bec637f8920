"""Cells that a step empties, in formats with types: null as others would write it, and the column keeps its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

N = 300
PIPELINE = """maskwright: 1
data:
  source: {source}
  variables:
    occupation: {{type: nominal, role: quasi_identifier{more}}}
    region: {{role: quasi_identifier}}
    sex: {{type: nominal, role: quasi_identifier}}
protect: [{{method: local_suppression, variables: [occupation, region, sex], params: {{k: 4}}}}]
output: {{data: {output}}}
seed: 1
"""
CODES = [(row * row) % 23 for row in range(N)]
COLUMNS = {
    "double": pa.array([float(code) for code in CODES]),
    "half": pa.array([code / 2 for code in CODES], pa.float32()),
    "int64": pa.array(CODES),
    "uint8": pa.array(CODES, pa.uint8()),
    "decimal": pa.array(CODES).cast(pa.decimal128(19, 0)).cast(pa.decimal128(9, 2)),
    "date": pa.array(CODES, pa.int32()).cast(pa.date32()),
    "text": pa.array([f"o{code}" for code in CODES], pa.large_string()),
    "coded": pa.array([-9 if code == 4 else code for code in CODES]),
}


def table(kind: str) -> pa.Table:
    sex = pa.array([float(1 + row % 2) for row in range(N)])
    regions = pa.array([f"r{row % 5}" for row in range(N)])
    return pa.table({"occupation": COLUMNS[kind], "region": regions, "sex": sex})


def masked(folder: Path, kind: str, ending: str, more: str = "") -> Path:
    """The masked file of a run from the command line."""
    source, output = folder / f"in.{ending}", folder / f"out.{ending}"
    if ending == "parquet":
        pq.write_table(table(kind), source)
    else:
        duckdb: Any = pytest.importorskip("duckdb")
        with duckdb.connect(source) as connection:
            connection.register("persons", table(kind))
            connection.execute("CREATE TABLE office AS SELECT * FROM persons")
    path = folder / "p.yaml"
    path.write_text(PIPELINE.format(source=source.name, output=output.name, more=more), encoding="utf-8")
    assert main(["run", str(path), "--quiet"]) == 0
    return output


@pytest.mark.parametrize("kind", COLUMNS)
def test_parquet_has_null_and_the_type_of_the_original(tmp_path: Path, kind: str) -> None:
    before = table(kind)
    after = pq.read_table(masked(tmp_path, kind, "parquet", ", missing: [-9]" if kind == "coded" else ""))
    assert after.schema.types == before.schema.types
    occupations = after["occupation"].to_pylist()
    assert 0 < occupations.count(None) < N
    assert all(now in (None, was) for now, was in zip(occupations, before["occupation"].to_pylist(), strict=True))
    assert after["sex"].null_count or after["sex"] == before["sex"]


@pytest.mark.parametrize(
    "kind",
    [each if each in ("coded", "half", "text") else pytest.param(each, marks=pytest.mark.slow) for each in COLUMNS],
)
def test_duckdb_has_null_and_the_type_of_the_original(tmp_path: Path, kind: str) -> None:
    path = masked(tmp_path, kind, "duckdb", ", missing: [-9]" if kind == "coded" else "")
    duckdb: Any = pytest.importorskip("duckdb")
    kinds, columns = [], []
    for each in (path.with_name("in.duckdb"), path):
        with duckdb.connect(each, read_only=True) as connection:
            kinds.append(connection.execute("SELECT column_name, data_type FROM duckdb_columns()").fetchall())
            columns.append([row[0] for row in connection.execute("SELECT occupation FROM office").fetchall()])
    assert kinds[0] == kinds[1]
    assert 0 < columns[1].count(None) < N
    assert all(now in (None, was) for was, now in zip(*columns, strict=True))


@pytest.mark.parametrize("ending", ["parquet", "duckdb"])
def test_a_mark_of_emptied_cells_that_is_no_number_makes_the_column_text(tmp_path: Path, ending: str) -> None:
    path = masked(tmp_path, "int64", ending, ', suppressed_as: "s"')
    if ending == "parquet":
        occupations = pq.read_table(path)["occupation"].to_pylist()
    else:
        with pytest.importorskip("duckdb").connect(path, read_only=True) as connection:
            occupations = [row[0] for row in connection.execute("SELECT occupation FROM office").fetchall()]
    assert "s" in occupations
    assert set(occupations) <= {*map(str, CODES), "s"}


def test_most_missing_cells_say_how_an_emptied_one_is_written(tmp_path: Path) -> None:
    texts = ["" if code == 4 else f"o{code}" for code in CODES]
    source = tmp_path / "in.parquet"
    pq.write_table(table("text").set_column(0, "occupation", pa.array(texts)), source)
    path = tmp_path / "p.yaml"
    path.write_text(PIPELINE.format(source=source.name, output="out.parquet", more=""), encoding="utf-8")
    assert main(["run", str(path), "--quiet"]) == 0
    after = pq.read_table(tmp_path / "out.parquet")["occupation"]
    assert after.null_count == 0
    assert after.to_pylist().count("") > texts.count("")
