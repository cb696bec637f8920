"""SQLite files: cells there and back as Python's library sees them, and what is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Pipeline = Callable[..., Path]

KEPT = ("id", "name", "price", "ratio", "day", "flag", "untyped", "code", "gaps", "empty", "big")


@pytest.fixture
def office(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "office.sqlite")) as connection, connection:
        connection.execute(
            "CREATE TABLE persons (id INTEGER PRIMARY KEY, name TEXT, price NUMERIC(10,2), ratio REAL, day DATE, "
            "flag BOOLEAN, untyped, code VARCHAR(3), gaps INT, empty TEXT, big BIGINT, income INTEGER)"
        )
        connection.executemany(
            "INSERT INTO persons VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (i, f"n'ä\"{i % 5}", i * 1.25, i / 7, f"2020-01-{i % 28 + 1:02}", i % 2, i if i % 2 else i / 2,
                 f"0{i % 10}", None if i % 3 == 0 else i, (None, "", "x")[i % 3], 2**53 + i, i * 7919 % 5000)
                for i in range(1, 201)
            ],
        )  # fmt: skip
        connection.execute("CREATE TABLE others AS SELECT 'never_published' AS secret")
        connection.execute("CREATE INDEX covering ON persons (income, id)")
    return tmp_path / "office.sqlite"


def rows(path: Path, columns: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {columns} FROM persons ORDER BY rowid").fetchall()


def test_every_cell_comes_back_and_one_column_is_masked(office: Path, pipeline: Pipeline) -> None:
    mw.run(pipeline({"source": office.name, "table": "persons"}, KEPT, "masked.sqlite"))
    masked = office.with_name("masked.sqlite")
    for name in KEPT:
        wanted = f"{name}, typeof({name})"
        assert rows(masked, wanted) == rows(office, wanted), name
    assert rows(masked, "income, typeof(income)") != rows(office, "income, typeof(income)")
    with closing(sqlite3.connect(masked)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("persons",)]
        declared = [row[2] for row in connection.execute("PRAGMA table_info(persons)")]
    assert declared == [
        "INTEGER", "TEXT", "NUMERIC(10,2)", "REAL", "DATE", "BOOLEAN", "", "VARCHAR(3)", "INT", "TEXT", "BIGINT",
        "INTEGER",
    ]  # fmt: skip
    assert b"never_published" not in masked.read_bytes()


def test_the_same_seed_gives_the_same_bytes(office: Path, pipeline: Pipeline) -> None:
    path = pipeline({"source": office.name, "table": "persons"}, KEPT, "masked.sqlite")
    files = []
    for _ in range(2):
        mw.run(path)
        files.append(office.with_name("masked.sqlite").read_bytes())
    assert files[0] == files[1]


def test_a_database_is_told_by_its_content(office: Path, pipeline: Pipeline) -> None:
    office.rename(office.with_suffix(".db"))
    mw.run(
        pipeline({"source": "office.db", "query": "SELECT id, income FROM persons ORDER BY id"}, ("id",), "masked.db")
    )
    assert office.with_name("masked.db").read_bytes().startswith(b"SQLite format 3")
    with closing(sqlite3.connect(office.with_name("masked.db"))) as connection:
        assert connection.execute("SELECT count(*) FROM microdata").fetchone() == (200,)


@pytest.mark.parametrize("last", ["n/a 4711", b"4711", ""])
def test_a_column_that_changes_its_type_in_the_last_record_is_refused(office: Path, last: object) -> None:
    with closing(sqlite3.connect(office)) as connection, connection:
        connection.execute("INSERT INTO persons (income) VALUES (?)", (last,))
    with pytest.raises(mw.DataError, match=r"'income' changes its type: record 201|bytes: income") as caught:
        mw.read(office, table="persons")
    assert "4711" not in str(caught.value)


def test_bytes_among_texts_are_refused(office: Path) -> None:
    with closing(sqlite3.connect(office)) as connection, connection:
        connection.execute("INSERT INTO persons (name) VALUES (?)", (b"4711",))
    with pytest.raises(mw.DataError, match=r"'name' changes its type: record 201 holds bytes"):
        mw.read(office, table="persons")


def test_texts_that_are_no_utf_8_are_refused(office: Path) -> None:
    with closing(sqlite3.connect(office)) as connection, connection:
        connection.execute("INSERT INTO persons (name) VALUES (CAST(x'4711ff' AS TEXT))")
    with pytest.raises(mw.DataError, match="UTF-8") as caught:
        mw.read(office, table="persons")
    assert "G\x11" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "has 2 tables"),
        ({"table": "person"}, "Did you mean 'persons'?"),
        ({"query": "SELECT 1 AS a; SELECT 2 AS b"}, "not one SELECT|does not understand"),
        ({"query": "DELETE FROM persons"}, "not one SELECT"),
        ({"query": "SELECT 1 AS a) AS x; DROP TABLE persons; --"}, "not one SELECT|does not understand"),
        ({"query": "SELECT * FROM pragma_database_list"}, "not one SELECT"),
        ({"query": "SELECT load_extension('x.so') AS a"}, "not one SELECT|does not understand"),
        ({"query": "SELECT nosuch FROM persons"}, "nosuch"),
        ({"query": "SELECT id AS a, income AS A FROM persons"}, "same name"),
    ],
)
def test_what_cannot_be_read_is_refused(office: Path, options: dict[str, Any], said: str) -> None:
    before = office.read_bytes()
    with pytest.raises(mw.InputError, match=said):
        mw.read(office, **options)
    assert office.read_bytes() == before
    assert [each.name for each in office.parent.iterdir()] == [office.name]


def test_a_database_that_is_being_written_is_refused(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskwright_builtin.sources.sql.sqlite.SECONDS", 0.1)
    with closing(sqlite3.connect(office, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(mw.DataError, match="in use by another program"):
            mw.read(office, table="persons")


def test_changes_that_are_not_yet_in_the_file_are_refused(office: Path) -> None:
    with closing(sqlite3.connect(office)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("DELETE FROM persons WHERE id = 1")
        with pytest.raises(mw.DataError, match=r"still in office.sqlite-wal"):
            mw.read(office, table="persons")
    assert len(mw.read(office, table="persons")) == 199
    assert [each.name for each in office.parent.iterdir()] == [office.name]


def test_a_damaged_database_is_refused(office: Path) -> None:
    whole = bytearray(office.read_bytes())
    whole[4096:] = b"\x55" * (len(whole) - 4096)
    office.write_bytes(whole)
    with pytest.raises(mw.DataError, match=r"cannot read|does not understand"):
        mw.read(office, table="persons")
