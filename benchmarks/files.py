"""How fast files are read and written, beside the plain libraries: seconds, peak memory, and the ratio to each peer.

    python benchmarks/files.py [--records 1000000] [--xml 200000] [--xlsx 20000] [--fwf 200000] [--only csv]

Twenty columns: whole numbers, amounts with two decimals, measurements, categories, codes with leading zeros, names that
are all different, dates, and numbers with gaps. Each line is a process of its own, which first reads a small file, so
that nothing is compiled or imported in the measured time. Maskwright reads with `mw.read`: types are inferred and
doubts looked for; it writes with two columns changed and the others as they were. Peers hold what they read in memory,
too; lxml's in lists. All of them really read: pandas 3.1 parses CSV with its C engine on all processors, pyarrow too.

The last columns are the overhead: our processor seconds, elapsed seconds and peak memory by those of the peer that the
line names. The line of Maskwright has instead the power of the number of records with which its seconds grow.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SEED = 20261121
GROWTH = 10
PEERS = {
    "csv": ("pandas", "pyarrow"), "csv.gz": ("pandas", "pyarrow"), "parquet": ("pyarrow", "pandas"), "xml": ("lxml",),
    "xlsx": ("openpyxl",), "sav": ("pyreadstat",), "dta": ("pandas", "pyreadstat"), "duckdb": ("duckdb",),
    "sqlite": ("pandas",), "fwf": ("pandas",),
}  # fmt: skip
SOURCES = {"xlsx": "excel", "sav": "spss", "dta": "stata", "duckdb": "sql", "sqlite": "sql", "fwf": "fixed_width"}
TABLE = "persons"


def frame(n):
    """Mixed columns, in pandas."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    columns = {f"whole{i}": rng.integers(0, 10 ** (2 + i), n) for i in range(4)}
    columns |= {f"amount{i}": np.round(rng.lognormal(8, 1, n), 2) for i in range(4)}
    columns |= {f"measured{i}": np.round(50 + rng.normal(size=n), 6) for i in range(2)}
    columns |= {f"area{i}": rng.choice(["north", "south", "east", "west"], n) for i in range(4)}
    columns["branch"] = np.array([f"{code:04d}" for code in range(600)])[rng.integers(0, 600, n)]
    columns["name"] = [f"person {number}" for number in range(n)]
    columns["day"] = np.array(pd.date_range("1950-01-01", periods=20_000).strftime("%Y-%m-%d"))[
        rng.integers(0, 20_000, n)
    ]
    columns["children"] = pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(0, 9, n)), dtype="Int64")
    columns["rent"] = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.lognormal(6, 1, n), 2))
    columns["employed"] = rng.integers(0, 2, n)
    return pd.DataFrame(columns)


def make(kind, n, path):
    """Write the file that all read, with a library."""
    rows = frame(n)
    if kind == "parquet":
        rows.to_parquet(path, index=False)
    elif kind == "xml":
        write_by_lxml((list(rows.columns), rows.astype(object).where(rows.notna(), None).to_numpy().tolist()), path)
    elif kind == "xlsx":
        rows.to_excel(path, index=False)
    elif kind in ("sav", "dta", "duckdb", "sqlite"):
        plain = rows.astype({"children": float}) if kind in ("sav", "dta") else rows
        by = {"sav": by_pyreadstat, "duckdb": by_duckdb}.get(kind, by_pandas)
        by(kind)[1](plain, path)
    elif kind == "fwf":
        texts = rows.astype(str).fillna("").replace({"<NA>": "", "nan": ""})
        widths = [int(texts[name].str.len().max()) + 1 for name in texts]
        starts = np.cumsum([1, *widths[:-1]]).tolist()
        places = {
            name: {"start": start, "width": width} for name, start, width in zip(texts, starts, widths, strict=True)
        }
        places_of(path).write_text(json.dumps(places))
        write_fixed_width(texts, path, widths)
    else:
        rows.to_csv(path, index=False)


def read_by_lxml(path):
    """Names, and the texts of each record."""
    from lxml import etree

    names, rows = [], []
    for _, element in etree.iterparse(path, tag="Record"):
        names = names or [child.tag for child in element]
        rows.append([child.text for child in element])
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    return names, rows


def write_by_lxml(held, path):
    """Write records as flat XML."""
    from lxml import etree

    names, rows = held
    with etree.xmlfile(str(path), encoding="utf-8") as file, file.element("Microdata"):
        for row in rows:
            record = etree.Element("Record")
            for name, cell in zip(names, row, strict=True):
                etree.SubElement(record, name).text = None if cell is None else str(cell)
            file.write(record)


def read_by_openpyxl(path):
    """Cells of the one sheet."""
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True)
    return [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]


def write_by_openpyxl(rows, path):
    """Write rows of cells."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Data")
    for row in rows:
        sheet.append(row)
    book.save(path)


def places_of(path):
    """File that says where the columns of a fixed-width file are."""
    return path.with_suffix(".json")


def write_fixed_width(texts, path, widths):
    """Write texts, filled up to the widths of their columns."""
    cells = [texts[name].str.ljust(width) for name, width in zip(texts, widths, strict=True)]
    path.write_text("".join("".join(row) + "\n" for row in zip(*cells, strict=True)))


def by_pyreadstat(kind):
    """Read and write with pyreadstat."""
    import pyreadstat

    read, write = {
        "sav": (pyreadstat.read_sav, pyreadstat.write_sav), "dta": (pyreadstat.read_dta, pyreadstat.write_dta)
    }[kind]  # fmt: skip
    return lambda path: read(str(path))[0], lambda held, path: write(held, str(path))


def by_duckdb(kind):
    """Read and write a table with DuckDB, as Arrow."""
    import duckdb

    def read(path):
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.sql(f"SELECT * FROM {TABLE}").to_arrow_table()

    def write(held, path):
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as connection:
            connection.register("incoming", held)
            connection.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM incoming")

    return read, write


def sqlite_by_pandas():
    """Read and write a table with pandas and the standard library."""
    import sqlite3

    import pandas as pd

    def read(path):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return pd.read_sql(f"SELECT * FROM {TABLE}", connection)

    def write(held, path):
        path.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            held.to_sql(TABLE, connection, index=False)

    return read, write


def fixed_width_by_pandas():
    """Read with pandas, which has no writer: lines of texts filled up."""
    import pandas as pd

    widths = []

    def read(path):
        places = json.loads(places_of(path).read_text())
        widths[:] = [place["width"] for place in places.values()]
        return pd.read_fwf(path, widths=widths, names=list(places), header=None)

    return read, lambda held, path: write_fixed_width(held.astype(str).fillna(""), path, widths)


def write_by_maskwright(data, path, kind):
    """Write a dataset of which two columns are changed."""
    from maskwright.plugins.registry import find_source
    from maskwright.release.data_file import write_dataset

    changed = {}
    for name in ("whole1", "amount0"):
        column = data[name]
        changed[name] = column.changed(np.round(column.values * 1.01, 2 if name == "amount0" else 0), column.missing)
    write_dataset(data.with_columns(changed), path, find_source(kind), data)


def by_pandas(kind):
    """Read and write with pandas."""
    import pandas as pd

    if kind == "sqlite":
        return sqlite_by_pandas()
    if kind == "fwf":
        return fixed_width_by_pandas()
    if kind == "dta":
        return pd.read_stata, lambda held, path: held.to_stata(path, write_index=False, version=118)
    if kind == "parquet":
        return pd.read_parquet, lambda held, path: held.to_parquet(path, index=False)
    return pd.read_csv, lambda held, path: held.to_csv(path, index=False)


def by_pyarrow(kind):
    """Read and write with pyarrow."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if kind == "parquet":
        return pa.parquet.read_table, pa.parquet.write_table

    def write(held, path):
        with pa.CompressedOutputStream(str(path), "gzip") if kind == "csv.gz" else path.open("wb") as file:
            pa.csv.write_csv(held, file)

    return pa.csv.read_csv, write


def by_maskwright(kind):
    """Read and write with Maskwright."""
    import maskwright as mw

    def read(path):
        options = {"columns": json.loads(places_of(path).read_text())} if kind == "fwf" else {}
        return mw.read(path, **options)

    def write(held, path):
        path.unlink(missing_ok=True)
        write_by_maskwright(held, path, SOURCES.get(kind, kind.removesuffix(".gz")))

    return read, write


PROGRAMS = {
    "maskwright": by_maskwright,
    "pandas": by_pandas,
    "pyarrow": by_pyarrow,
    "lxml": lambda kind: (read_by_lxml, write_by_lxml),
    "openpyxl": lambda kind: (read_by_openpyxl, write_by_openpyxl),
    "pyreadstat": by_pyreadstat,
    "duckdb": by_duckdb,
}


def child(kind, who, small, path, out):
    """Read and write one file, and print what it took, with what processes of its own took."""
    read, write = PROGRAMS[who](kind)
    write(read(small), out)
    took = {}
    for what in ("read", "write"):
        wall, cpu = time.perf_counter(), sum(os.times()[:4])
        if what == "read":
            held = read(path)
        else:
            write(held, out)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        took[what] = (time.perf_counter() - wall, sum(os.times()[:4]) - cpu, peak)
    print(json.dumps(took))


def measured(kind, who, small, path, repeat):
    """Least seconds, and the peak memory, of some runs in fresh processes."""
    runs = []
    for _ in range(repeat):
        command = [sys.executable, __file__, "--child", kind, who, str(small), str(path), f"{path.parent}/out.{kind}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout))
    return {what: [min(run[what][i] for run in runs) for i in range(3)] for what in ("read", "write")}


def main():
    """Print a table for each format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--xml", type=int, default=200_000)
    parser.add_argument("--xlsx", type=int, default=20_000)
    parser.add_argument("--fwf", type=int, default=200_000)
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("                                                   overhead: ours by this one's")
    print("format    records  what   program     wall s   CPU s  peak MB     CPU   wall   memory  growth")
    for kind in options.only:
        n = {"xml": options.xml, "xlsx": options.xlsx, "fwf": options.fwf}.get(kind, options.records)
        with tempfile.TemporaryDirectory() as folder:
            small, tenth, path = (Path(folder) / f"{name}.{kind}" for name in ("small", "tenth", "data"))
            for file, records in ((small, 2_000 if kind == "xlsx" else 20_000), (tenth, n // GROWTH), (path, n)):
                # In a process of its own too: its memory would be counted as that of those that come after it.
                subprocess.run([sys.executable, __file__, "--make", kind, str(records), str(file)], check=True)
            before = measured(kind, "maskwright", small, tenth, options.repeat)
            ours = measured(kind, "maskwright", small, path, options.repeat)
            peers = {who: measured(kind, who, small, path, options.repeat) for who in PEERS[kind]}
        for what in ("read", "write"):
            growth = math.log(ours[what][1] / max(before[what][1], 1e-3)) / math.log(GROWTH)
            for who, found in {"maskwright": ours, **peers}.items():
                wall, cpu, peak = found[what]
                by_wall, by_cpu, by_peak = (mine / its for mine, its in zip(ours[what], found[what], strict=True))
                ratio = f"{growth:31.2f}" if who == "maskwright" else f"{by_cpu:6.2f} {by_wall:6.2f} {by_peak:8.2f}"
                print(
                    f"{kind:<8} {n:>8}  {what:<5}  {who:<10} {wall:>7.2f} {cpu:>7.2f} {peak:>8.0f}   {ratio}",
                    flush=True,
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:4], *map(Path, sys.argv[4:]))
    elif sys.argv[1:2] == ["--make"]:
        make(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main()
