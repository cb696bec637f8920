"""Reading and writing a table of a database beside the plain library: ``python benchmarks/databases.py [--records N]``.

20 columns of mixed types (integers, decimals, doubles, texts, dates, truth values). Each measurement is a process of
its own, the least of three: processor seconds, with those of the process that writes DuckDB files, elapsed seconds, and
peak memory above that of a process that has imported the same modules. Plain reading hands on Arrow batches of DuckDB,
or data frames that pandas makes of sqlite3's rows; plain writing makes the same table of the same batches (DuckDB) or
rows. The records are counted and let go, by both alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

COLUMNS = {
    "INTEGER": "hash(i + {j}) % 100000", "BIGINT": "hash(i + {j})::UBIGINT % 1000000007",
    "DECIMAL(10,2)": "(hash(i + {j}) % 1000000) / 100", "DOUBLE": "(hash(i + {j}) % 1000003) / 7",
    "VARCHAR": "'c' || hash(i + {j}) % 500", "DATE": "DATE '2000-01-01' + (hash(i + {j}) % 9000)::INTEGER",
    "BOOLEAN": "hash(i + {j}) % 2 = 0", "SMALLINT": "hash(i + {j}) % 1000",
}  # fmt: skip

PRELUDE = """
import json, os, sqlite3, sys, time
from pathlib import Path
import duckdb, numpy, pandas as pd, pyarrow as pa
import maskwright as mw
from maskwright_builtin.sources.sql.source import SQL
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
path, out = Path(sys.argv[1]), Path(sys.argv[2])
def source():
    reading = SQL.open(path, SQL.params(), lambda _: None)
    return reading.batches(), reading
"""
READ = {
    "Maskwright": "for batch in source()[0]: n += batch.num_rows",
    "plain": """
if path.suffix == ".duckdb":
    connection = duckdb.connect(str(path), read_only=True)
    connection.execute("SET enable_progress_bar = false")
    for batch in connection.sql("SELECT * FROM t").to_arrow_reader(65536): n += batch.num_rows
else:
    for frame in pd.read_sql("SELECT * FROM t", sqlite3.connect(path), chunksize=65536): n += len(frame)
""",
}
WRITE = {
    "Maskwright": """
batches, reading = source()
first = next(batches)
variables = tuple(
    mw.Variable(name, "integer", decimals=0) if pa.types.is_integer(kind)
    else mw.Variable(name) if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else mw.Variable(name, "nominal")
    for name, kind in zip(first.schema.names, first.schema.types)
)
layout = mw.Layout("sql", reading.layout.details, as_written=frozenset(first.schema.names))
def all_batches():
    global n
    yield first
    n += first.num_rows
    for batch in batches:
        n += batch.num_rows
        yield batch
SQL.write(out, all_batches(), variables, layout)
""",
    "plain": """
if path.suffix == ".duckdb":
    connection = duckdb.connect(str(out))
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"ATTACH '{path}' AS original (READ_ONLY); BEGIN")
    kinds = connection.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'original'")
    connection.execute("CREATE TABLE t (" + ", ".join(f'"{a}" {b}' for a, b in kinds.fetchall()) + ")")
    other = connection.cursor()
    other.execute("SET enable_progress_bar = false")
    reader = other.sql("SELECT * FROM original.t").to_arrow_reader(65536)
    for batch in reader:
        n += batch.num_rows
        connection.register("incoming", batch)
        connection.execute("INSERT INTO t SELECT * FROM incoming")
    connection.execute("COMMIT")
    connection.close()
else:
    connection = sqlite3.connect(out, isolation_level=None)
    old = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    connection.execute(old.execute("SELECT sql FROM sqlite_master").fetchone()[0])
    cursor = old.execute("SELECT * FROM t")
    while rows := cursor.fetchmany(65536):
        n += len(rows)
        connection.executemany("INSERT INTO t VALUES (" + ", ".join("?" * len(rows[0])) + ")", rows)
    connection.execute("COMMIT")
""",
}
RUN = """
n, before, start, busy = 0, peak(), time.perf_counter(), sum(os.times()[:4])
{code}
print(json.dumps([sum(os.times()[:4]) - busy, time.perf_counter() - start, peak() - before, n]))
"""


def make(path: Path, records: int) -> None:
    """Make a DuckDB file of 20 columns."""
    kinds = list(COLUMNS.items())
    columns = [
        f"CAST({kinds[j % len(kinds)][1].format(j=j * 1_000_003)} AS {kinds[j % len(kinds)][0]}) AS v{j}"
        for j in range(20)
    ]
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {', '.join(columns)} FROM range({records}) AS r(i)")


def to_sqlite(path: Path, out: Path) -> None:
    """Write the same records as SQLite."""
    code = PRELUDE + WRITE["Maskwright"].replace("layout = ", "layout = mw.Layout('sql', {'table': 't'}) or ")
    subprocess.run([sys.executable, "-c", "n = 0\n" + code, path, out], check=True)


def measure(code: str, path: Path, out: Path) -> list[float]:
    """Least seconds of three processes, with their memory."""
    runs = []
    for _ in range(3):
        out.unlink(missing_ok=True)
        whole = PRELUDE + RUN.replace("{code}", code)
        done = subprocess.run([sys.executable, "-c", whole, path, out], capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "office.duckdb"
        make(path, options.records)
        to_sqlite(path, path.with_suffix(".sqlite"))
        for file in (path, path.with_suffix(".sqlite")):
            print(f"{file.suffix[1:]}: {options.records} records x 20, {file.stat().st_size / 1e6:.0f} MB")
            for what, codes in (("read", READ), ("write (and read)", WRITE)):
                found = {who: measure(code, file, Path(folder) / f"out{file.suffix}") for who, code in codes.items()}
                for who, (busy, seconds, memory, n) in found.items():
                    print(
                        f"  {what:17s} {who:11s} CPU {busy:6.2f} s  elapsed {seconds:6.2f} s  {memory:5.0f} MB  {n:.0f}"
                    )
                print(f"  {what:17s} ratio           {found['Maskwright'][0] / found['plain'][0]:7.2f}", flush=True)


if __name__ == "__main__":
    main()
