"""DuckDB files: every type there and back, queries that only read, and what is refused."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Pipeline = Callable[..., Path]

duckdb = pytest.importorskip("duckdb")

TYPES = {
    "tiny": "(i % 100)::TINYINT", "small": "i::SMALLINT", "whole": "i::INTEGER", "big": "i::BIGINT",
    "huge": "(i * 12345678901234567890123)::HUGEINT", "huge_small": "i::HUGEINT", "uhuge": "i::UHUGEINT",
    "utiny": "(i % 200)::UTINYINT", "ubig": "(18446744073709551615 - i)::UBIGINT", "exact_big": "9007199254740993 + i",
    "price": "(i * 1.5)::DECIMAL(10,2)", "single": "(i / 7)::FLOAT", "double": "i / 7", "odd_text": "'q\"u,' || i",
    "empty": "CASE WHEN i % 3 = 0 THEN '' WHEN i % 3 = 1 THEN NULL ELSE 'x' || i % 5 END", "code": "'0' || i % 10",
    "day": "DATE '2020-01-01' + i::INTEGER", "far_day": "CASE WHEN i = 5 THEN 'infinity' ELSE '2021-01-01' END::DATE",
    "moment": "TIMESTAMP '2020-01-01 10:00:00.5' + INTERVAL (i) SECOND",
    "nanoseconds": "TIMESTAMP_NS '2020-01-01 10:00:00.123456789'", "seconds": "TIMESTAMP_S '2020-01-01 10:00:00'",
    "zoned": "TIMESTAMPTZ '2020-01-01 10:00:00+02' + INTERVAL (i) SECOND", "clock": "TIME '10:00:00.25'",
    "zoned_clock": "'10:00:00+01'::TIMETZ", "yes": "i % 2 = 0", "maybe": "CASE WHEN i % 3 > 0 THEN i % 2 = 0 END",
    "level": "(['lo', 'hi'])[1 + i % 2]::ENUM('lo', 'mid', 'hi', 'unheard_of')", "key": "uuid()",
    "span": "INTERVAL (i) DAY", "bits": "'101'::BIT", "json": "'{\"a\": 1}'::JSON",
    "gaps": "CASE WHEN i % 9 = 0 THEN NULL ELSE i END::INTEGER", "nothing": "NULL::VARCHAR",
}  # fmt: skip


@pytest.fixture
def office(tmp_path: Path) -> Path:
    columns = ", ".join(f'{sql} AS "{name}"' for name, sql in TYPES.items())
    with duckdb.connect(tmp_path / "office.duckdb") as connection:
        connection.execute(
            f"CREATE TABLE persons AS SELECT {columns}, (i * 7919 % 5000)::INTEGER AS income FROM range(200) AS t(i)"
        )
        connection.execute("CREATE TABLE others AS SELECT 'never_published' AS secret")
    return tmp_path / "office.duckdb"


def cells(path: Path, table: str, name: str) -> list[Any]:
    with duckdb.connect(path, read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return [row[0] for row in connection.execute(f'SELECT "{name}"::VARCHAR FROM {table}').fetchall()]


def test_every_type_comes_back_and_one_column_is_masked_alike_by_one_seed(office: Path, pipeline: Pipeline) -> None:
    path = pipeline({"source": office.name, "table": "persons"}, TYPES, "masked.duckdb")
    mw.run(path)
    masked = office.with_name("masked.duckdb")
    for name in TYPES:
        assert cells(masked, "persons", name) == cells(office, "persons", name), name
    assert cells(masked, "persons", "income") != cells(office, "persons", "income")
    with duckdb.connect(office, read_only=True) as one, duckdb.connect(masked, read_only=True) as other:
        before, after = (dict(each.execute("DESCRIBE persons").df()[["column_name", "column_type"]].to_numpy())
                         for each in (one, other))  # fmt: skip
        assert [row[0] for row in other.execute("SHOW TABLES").fetchall()] == ["persons"]
    assert before.pop("level") == "ENUM('lo', 'mid', 'hi', 'unheard_of')"
    assert after.pop("level") == "ENUM('lo', 'hi')"
    assert before == after
    # No other table, no category that nobody has, and no leftover of DuckDB's.
    assert not any(word in masked.read_bytes() for word in (b"never_published", b"unheard_of"))
    assert sorted(each.name for each in office.parent.iterdir()) == [
        "about.json", "masked.duckdb", "office.duckdb", "pipeline.yaml", "run.json",
    ]  # fmt: skip
    with duckdb.connect(masked, read_only=True) as first:
        rows = first.execute("SELECT * FROM persons").fetchall()
    mw.run(path)
    with duckdb.connect(masked, read_only=True) as again:
        assert again.execute("SELECT * FROM persons").fetchall() == rows


@pytest.mark.parametrize("output", ["masked.sqlite", "masked.csv", "masked.parquet"])
def test_a_table_is_written_in_another_format(office: Path, pipeline: Pipeline, output: str) -> None:
    path = pipeline({"source": office.name, "table": "persons"}, TYPES, output)
    mw.run(path)
    again = mw.read(office.with_name(output)).to_pandas()
    assert again["day"].astype(str).tolist() == cells(office, "persons", "day")
    assert again["key"].tolist() == cells(office, "persons", "key")


def test_a_query_is_read_in_its_order(office: Path) -> None:
    query = "SELECT whole AS n, income FROM persons WHERE whole < 50 ORDER BY income DESC; -- the richest first"
    data = mw.read(office, query=query).to_pandas()
    assert len(data) == 50
    assert data["income"].is_monotonic_decreasing
    assert mw.read(office, query=query, order_by=["n"]).to_pandas()["n"].tolist() == list(range(50))


def test_a_grouping_gives_the_same_records_each_time(office: Path) -> None:
    query = "SELECT hash(whole) % 97 AS g, count(*) AS n, sum(income) AS total, random() AS r FROM persons GROUP BY g"
    first, second = (mw.read(office, query=query).to_pandas() for _ in range(2))
    assert first.equals(second)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "has 2 tables"),
        ({"table": "person"}, "Did you mean 'persons'?"),
        ({"table": "persons", "order_by": ["incom"]}, "Did you mean 'income'?"),
        ({"table": "persons", "query": "SELECT 1"}, "only one can be read"),
        ({"query": "SELECT 1; SELECT 2"}, "not one SELECT"),
        ({"query": "DELETE FROM persons"}, "not one SELECT"),
        ({"query": "COPY persons TO 'stolen.csv'"}, "not one SELECT"),
        ({"query": "ATTACH 'other.duckdb'"}, "not one SELECT"),
        ({"query": "SET threads = 4"}, "not one SELECT"),
        ({"query": "SELECT * FROM read_csv('/etc/passwd')"}, "something else than the database"),
        ({"query": "SELECT * FROM read_text('pipeline.yaml')"}, "something else than the database"),
        ({"query": "SELECT * FROM 'pipeline.yaml'"}, "does not understand"),
        ({"query": "SELECT * FROM read_parquet('http://localhost/x.parquet')"}, "something else than the database"),
        ({"query": "SELECT nosuch FROM persons"}, "nosuch"),
        ({"query": "SELECT whole AS a, big AS A FROM persons"}, "same name"),
        ({"query": "SELECT [whole] AS list, {'a': 1} AS struct, whole FROM persons"}, "list, struct"),
        ({"query": "SELECT ('4711' || odd_text)::INTEGER AS n FROM persons"}, "cannot read the records"),
    ],
)
def test_what_cannot_be_read_is_refused(
    office: Path, options: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(mw.InputError) as caught:
        mw.read(office, **options)
    assert said in str(caught.value)
    assert not any("4711" in each for each in (str(caught.value), caplog.text))
    assert [each.name for each in office.parent.iterdir()] == [office.name]


def test_no_variable_of_the_program_is_taken_for_a_table(office: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1]})
    assert len(frame) == 1
    with pytest.raises(mw.DataError, match="frame"):
        mw.read(office, query="SELECT * FROM frame")


def test_files_that_are_no_database_are_refused(office: Path, tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("id;income\n1;2\n")
    with pytest.raises(mw.DataError, match="no DuckDB and no SQLite"):
        mw.read(tmp_path / "text.duckdb")
    whole = office.read_bytes()
    (tmp_path / "short.db").write_bytes(whole[:9000])
    with pytest.raises(mw.DataError, match="cannot open"):
        mw.read(tmp_path / "short.db", table="persons")


def test_an_encrypted_database_is_refused(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET force_mbedtls_unsafe = 'true'")
        connection.execute(f"ATTACH '{tmp_path / 'closed.duckdb'}' AS closed (ENCRYPTION_KEY 'Geheim')")
        connection.execute("CREATE TABLE closed.t AS SELECT 1 AS a")
        connection.execute("DETACH closed")
    with pytest.raises(mw.DataError, match="encrypted"):
        mw.read(tmp_path / "closed.duckdb")


def test_a_database_that_is_being_written_is_refused(tmp_path: Path) -> None:
    program = (
        "import duckdb, sys\nc = duckdb.connect(sys.argv[1])\nc.execute('CREATE TABLE t AS SELECT 1 AS a')\n"
        "c.execute('CHECKPOINT')\nprint('ready', flush=True)\nsys.stdin.read()"
    )
    path = tmp_path / "busy.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(mw.DataError, match="in use by another program"):
            mw.read(path)
        other.communicate("")
    assert len(mw.read(path)) == 1


def test_other_tables_are_not_overwritten(office: Path, pipeline: Pipeline) -> None:
    with duckdb.connect(office.with_name("results.duckdb")) as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS x; CREATE TABLE b AS SELECT 1 AS x")
    path = pipeline({"source": office.name, "table": "persons"}, TYPES, "results.duckdb")
    with pytest.raises(mw.InputError, match="2 tables"):
        mw.run(path)
    assert cells(office.with_name("results.duckdb"), "b", "x") == ["1"]


def test_the_original_is_not_overwritten(office: Path, pipeline: Pipeline) -> None:
    path = pipeline({"source": office.name, "table": "persons"}, TYPES, office.name)
    with pytest.raises(mw.InputError, match="overwrite"):
        mw.run(path)


def test_values_that_do_not_fit_are_refused_without_them(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa

    from maskwright_builtin.sources.sql.source import SQL

    layout = mw.Layout("sql", {"engine": "duckdb", "table": "t", "types": {"n": "TINYINT"}})
    batches = [pa.record_batch({"n": np.array([1, 4711])})]
    with pytest.raises(mw.DataError, match=r"'n' has masked values that do not fit.*TINYINT") as caught:
        SQL.write(tmp_path / "out.duckdb", batches, (mw.Variable("n", "integer", decimals=0),), layout)
    assert "4711" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_recoded_column_becomes_text(tmp_path: Path) -> None:
    import pyarrow as pa

    from maskwright_builtin.sources.sql.source import SQL

    layout = mw.Layout("sql", {"engine": "duckdb", "table": "t", "types": {"d": "DATE", "e": "DATE", "b": "BOOLEAN"}})
    batches = [pa.record_batch({"d": ["2020", None], "e": ["2020-01-01", None], "b": ["yes", "no"]})]
    variables = (
        mw.Variable("d", "nominal", categories=("2020",)), mw.Variable("e", "nominal", categories=("2020-01-01",)),
        mw.Variable("b", "nominal", categories=("yes", "no")),
    )  # fmt: skip
    SQL.write(tmp_path / "out.duckdb", batches, variables, layout)
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as connection:
        described = connection.execute("DESCRIBE t").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == [("d", "VARCHAR"), ("e", "DATE"), ("b", "VARCHAR")]


def test_without_the_library_it_is_said_what_to_install(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(mw.DataError, match=r"maskwright\[sql\]"):
        mw.read(office, table="persons")
