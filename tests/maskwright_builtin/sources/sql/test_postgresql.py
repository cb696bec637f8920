"""Tables of a PostgreSQL server, where one can be started here; passwords, where none is needed."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Pipeline = Callable[..., Path]

PASSWORD, OTHER = "sUp3rGeheim", "G4nzFalsch"
KEPT = (
    "id", "small", "big", "price", "number", "double", "single", "town", "day", "far_day", "moment", "zoned", "clock",
    "yes", "key", "gaps", "odd",
)  # fmt: skip


def program(name: str) -> str | None:
    """Path of a program of PostgreSQL; Debian keeps them out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, Any]]:
    """A server on this machine, with the table `persons`; its address as options of the data section."""
    psycopg = pytest.importorskip("psycopg")
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None or sys.platform == "win32":
        pytest.skip("there is no PostgreSQL server here")
    # A short path, for its socket; others may be the user that it runs as.
    folder = Path(tempfile.mkdtemp(prefix="maskwright-"))
    (folder / "password").write_text(PASSWORD)
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # it does not run as root
        import pwd

        try:
            who = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user for it")
        user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        for each in (folder, folder / "password"):
            os.chown(each, who.pw_uid, who.pw_gid)
    options = ["-A", "scram-sha-256", "-U", "office", "-N", "-E", "UTF8", "--locale=C"]
    subprocess.run(
        [initdb, "-D", folder / "data", *options, "--pwfile", folder / "password"],
        check=True, capture_output=True, cwd=folder, **user,
    )  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [postgres, "-D", folder / "data", "-p", str(port), "-h", "127.0.0.1", "-k", folder, "-F"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **user)
    try:
        address = f"host=127.0.0.1 port={port} dbname=postgres user=office password={PASSWORD}"
        for _ in range(100):
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(address) as connection:
                connection.execute(
                    "CREATE TABLE persons AS SELECT g::int id, (g % 100)::smallint small, g::bigint big, "
                    '(g * 1.5)::numeric(10,2) price, (g * 1.25)::numeric number, (g / 7.0)::float8 "double", '
                    "(g / 7.0)::real single, 'a' || g % 5 town, date '2020-01-01' + g AS day, "
                    "CASE WHEN g = 5 THEN 'infinity' ELSE '2021-01-01' END::date far_day, "
                    "timestamp '2020-01-01 10:00:00.5' + g * interval '1 second' moment, "
                    "timestamptz '2020-01-01 10:00:00+02' + g * interval '1 second' zoned, time '10:00:00.25' clock, "
                    "g % 2 = 0 yes, gen_random_uuid() AS key, CASE WHEN g % 9 > 0 THEN g END gaps, "
                    "CASE WHEN g % 3 = 0 THEN '' WHEN g % 3 = 1 THEN E'q\"u,\\n' || g END odd, "
                    "g * 7919 % 5000 income FROM generate_series(1, 200) g"
                )
                connection.execute("CREATE TABLE nested AS SELECT 1 a, ARRAY[1, 2] b")
                break
            running.poll()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(0.2)
        yield {"source": "postgres", "format": "postgresql", "host": "127.0.0.1", "port": port}
    finally:
        running.terminate()
        running.wait(30)
        shutil.rmtree(folder)


@pytest.fixture
def office(server: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("PGUSER", "office")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return server | {"table": "persons"}


def connected(office: dict[str, Any]) -> Any:
    import psycopg

    return psycopg.connect(host="127.0.0.1", port=office["port"], dbname="postgres", options="-c TimeZone=UTC")


def read(office: dict[str, Any], **options: Any) -> mw.Dataset:
    said = {key: value for key, value in (office | options).items() if value is not None}
    return mw.read(said.pop("source"), file_format=said.pop("format"), **said)


def test_every_type_is_read_and_written_into_a_file(
    office: dict[str, Any], pipeline: Pipeline, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    duckdb = pytest.importorskip("duckdb")
    caplog.set_level(logging.DEBUG)
    mw.run(pipeline(office, KEPT, "masked.duckdb"))
    with connected(office) as one, duckdb.connect(tmp_path / "masked.duckdb", read_only=True) as other:
        other.execute("SET TimeZone = 'UTC'")
        for name in KEPT:
            # DuckDB writes 1.0 where PostgreSQL writes 1.
            kind = "::float8::numeric(20,6)" if name in ("double", "single") else ""
            before = one.execute(f'SELECT "{name}"{kind}::text FROM persons ORDER BY persons.id').fetchall()
            after = other.execute(f'SELECT "{name}"{kind}::VARCHAR FROM persons ORDER BY persons.id').fetchall()
            assert before == after, name
    written = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert PASSWORD.encode() not in written
    assert PASSWORD not in caplog.text


def test_a_query_is_read_in_its_order(office: dict[str, Any]) -> None:
    query = "SELECT id, income FROM persons WHERE id <= 50 ORDER BY income DESC"
    assert read(office, table=None, query=query).to_pandas()["income"].is_monotonic_decreasing
    ordered = read(office, table=None, query=query, order_by=["id"]).to_pandas()
    assert ordered["id"].tolist() == list(range(1, 51))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": None}, "has 2 tables"),
        ({"table": "person"}, "Did you mean 'persons'?"),
        ({"table": "nested"}, "bytes: b"),
        ({"order_by": ["incom"]}, "Did you mean 'income'?"),
        ({"table": None, "query": "SELECT 1 AS a; SELECT 2 AS a"}, "not one SELECT|does not understand"),
        ({"table": None, "query": "SELECT 1 AS a) AS x; DROP TABLE persons; --"}, "not one SELECT|does not understand"),
        ({"table": None, "query": "DELETE FROM persons RETURNING *"}, "does not understand"),
        ({"table": None, "query": "WITH x AS (DELETE FROM persons RETURNING *) SELECT * FROM x"}, "not one SELECT"),
        ({"table": None, "query": "SELECT nosuch FROM persons"}, "nosuch"),
        ({"table": None, "query": "SELECT (odd || '4711')::int AS n FROM persons"}, "cannot read the records"),
        ({"port": 1}, "cannot be reached"),
        ({"host": "no.such.host.invalid"}, "cannot be reached"),
        ({"source": "nosuchbase"}, "no such database"),
        ({"password_variable": "NO_SUCH_VARIABLE"}, "names an environment variable that is not set"),
    ],
)
def test_what_cannot_be_read_is_refused(office: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(mw.InputError, match=said) as caught:
        read(office, **options)
    told = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in told
    assert "4711" not in str(caught.value)
    with connected(office) as connection:
        assert connection.execute("SELECT count(*) FROM persons").fetchone() == (200,)


def test_a_locked_table_is_refused(office: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskwright_builtin.sources.sql.postgresql.SECONDS", 1)
    with connected(office) as connection:
        connection.execute("LOCK TABLE persons IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(mw.DataError, match="locked by another program"):
            read(office)


def test_a_wrong_password_is_not_repeated(
    office: dict[str, Any], pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OFFICE_PASSWORD", OTHER)
    path = pipeline(office | {"password_variable": "OFFICE_PASSWORD"}, KEPT, "masked.csv")
    assert main(["run", str(path)]) == 2
    told = "".join(capfd.readouterr()) + caplog.text
    assert "does not accept this user and password" in told
    assert OTHER not in told
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "data",
    [
        {"source": "office", "format": "postgresql", "password": OTHER},
        {"source": "office", "format": "postgresql", "passwd": OTHER, "nosuch": 1},
        {"source": "people.csv", "PGPASSWORD": OTHER},
        {"source": f"postgresql://office:{OTHER}@localhost/office"},
        {"source": f"postgresql://office:{OTHER}@localhost", "format": "postgresql"},
        {"source": f"host=localhost password={OTHER}", "format": "postgresql"},
    ],
)
def test_a_password_in_a_pipeline_is_refused_and_not_repeated(
    data: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # In one line, which messages about anything in it would show.
    inline = yaml.safe_dump(data, default_flow_style=True, width=10_000).strip()
    path = tmp_path / "pipeline.yaml"
    step = "protect: [{method: microaggregation, params: {k: 3}}]"
    path.write_text(f"maskwright: 1\ndata: {inline}\n{step}\noutput: {{data: masked.csv, record: run.json}}\n")
    for command in ("run", "plan"):
        assert main([command, str(path)]) == 2
    told = "".join(capfd.readouterr()) + caplog.text
    assert OTHER not in told
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_password_in_an_override_or_an_output_is_not_repeated(
    tmp_path: Path, pipeline: Pipeline, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.csv").write_text("income\n1\n2\n3\n")
    path = pipeline({"source": "people.csv"}, (), "masked.csv")
    assert main(["run", str(path), "--set", f"data.password={OTHER}"]) == 2
    assert main(["run", str(path), "--set", f"output.data=postgresql://office:{OTHER}@localhost/office"]) == 2
    told = "".join(capfd.readouterr())
    assert "a password does not belong in a pipeline" in told
    assert "not to a server" in told
    assert OTHER not in told


ADDRESS = f"postgresql://office:{OTHER}@localhost:59999/office"


@pytest.mark.parametrize(
    "words",
    [
        ["describe", ADDRESS],
        ["describe", ADDRESS, "--format", "postgresql"],
        ["init", ADDRESS, "--format", "postgresql"],
        ["measure", "masked.csv", ADDRESS],
        ["validate", ADDRESS, "--edits", "rules.yaml", "--format", "postgresql"],
        ["edits", "rules.yaml", "--data", ADDRESS],
        ["localize", "masked.csv", "--edits", ADDRESS],
        ["describe", f"host=localhost password={OTHER}", "--format", "postgresql"],
    ],
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text("rules: [{expr: income >= 0}]\n")
    assert main(words) == 2
    told = "".join(capfd.readouterr())
    assert "not an address" in told
    assert OTHER not in told


@pytest.mark.parametrize("address", [ADDRESS, Path(ADDRESS)])
def test_a_password_given_to_a_function_is_refused_and_not_repeated(address: str | Path) -> None:
    with pytest.raises(mw.MaskwrightError, match="not an address") as caught:
        mw.read(address, file_format="postgresql")
    assert OTHER not in str(caught.value)


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(mw.DataError, match=r"maskwright\[postgresql\]"):
        mw.read("office", file_format="postgresql")
