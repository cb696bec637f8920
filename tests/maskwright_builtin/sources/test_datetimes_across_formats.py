"""Datetimes that one format stores, masked and written in the same one and in another."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import pyreadstat
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

N = 60
FORMATS = ("csv", "xml", "parquet", "xlsx", "sav", "dta", "xpt", "duckdb", "sqlite")


def moments() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    entry = pd.Timestamp("2001-03-04 10:00:00") + pd.to_timedelta(rng.integers(0, 10**8, N), unit="s")
    leave = entry + pd.to_timedelta(rng.integers(10**5, 10**7, N), unit="s")
    frame = pd.DataFrame({"entry": entry, "leave": leave, "wage": rng.integers(100, 999, N).astype(float)})
    frame = frame.astype({"entry": "datetime64[us]", "leave": "datetime64[us]"})
    frame.loc[5, "leave"] = pd.NaT
    return frame


def write(frame: pd.DataFrame, path: Path) -> None:
    texts = frame.assign(**{name: frame[name].dt.strftime("%Y-%m-%d %H:%M:%S") for name in ("entry", "leave")})
    match path.suffix:
        case ".csv":
            texts.to_csv(path, index=False)
        case ".xml":
            texts.to_xml(path, index=False, root_name="Microdata", row_name="Record")
        case ".parquet":
            frame.to_parquet(path, index=False)
        case ".xlsx":
            frame.to_excel(path, index=False)
        case ".sav":
            pyreadstat.write_sav(frame, str(path))
        case ".dta":
            pyreadstat.write_dta(frame, str(path))
        case ".xpt":
            pyreadstat.write_xport(frame, str(path))
        case ".duckdb":
            with duckdb.connect(str(path)) as base:
                base.execute("CREATE TABLE t AS SELECT * FROM frame")
        case _:
            base_file = sqlite3.connect(path)
            texts.to_sql("t", base_file, index=False)
            base_file.close()


def foreign(path: Path) -> pd.DataFrame:  # noqa: PLR0911 - one return for each format
    """The file as the format's own library reads it."""
    match path.suffix:
        case ".csv":
            return pd.read_csv(path)
        case ".xml":
            return pd.read_xml(path)
        case ".parquet":
            return pd.read_parquet(path)
        case ".xlsx":
            return pd.read_excel(path, engine="openpyxl")
        case ".sav":
            return pyreadstat.read_sav(str(path))[0]
        case ".dta":
            return pyreadstat.read_dta(str(path))[0]
        case ".xpt":
            return pyreadstat.read_xport(str(path))[0]
        case ".duckdb":
            with duckdb.connect(str(path)) as base:
                ((table,),) = base.execute("SELECT table_name FROM duckdb_tables()").fetchall()
                return base.execute(f'SELECT * FROM "{table}"').df()
        case _:
            base_file = sqlite3.connect(path)
            ((table,),) = base_file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            found = pd.read_sql(f'SELECT * FROM "{table}"', base_file)
            base_file.close()
            return found


@pytest.mark.parametrize(
    ("source", "target"),
    [*((each, each) for each in FORMATS), *(("csv", each) for each in FORMATS[1:]),
     *(("parquet", each) for each in ("xml", "sav", "duckdb", "sqlite")), ("dta", "csv"), ("duckdb", "xml")],
)  # fmt: skip
def test_rules_hold_and_what_is_untouched_stays(tmp_path: Path, source: str, target: str) -> None:
    frame = moments()
    write(frame, tmp_path / f"in.{source}")
    (tmp_path / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: in.{source}, variables: {{entry: {{type: datetime, role: confidential, "
        "min: 1999-01-01T00:00:00}, leave: {type: datetime, role: other}, wage: {role: other}}}\n"
        "edits: [leave - entry >= 0.5, year(entry) >= 1999, hour(leave) <= 23, 'entry <= 2010-12-31T12:00']\n"
        "protect: [{method: additive_noise, variables: [entry], params: {sd: 1}}]\n"
        f"output: {{data: out.{target}}}\nseed: 1\n",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    found = foreign(tmp_path / f"out.{target}")
    entry, leave = pd.to_datetime(found["entry"]), pd.to_datetime(found["leave"])
    assert leave.astype("datetime64[us]").equals(frame["leave"])
    assert (entry != frame["entry"]).mean() > 0.9
    assert not ((leave - entry).dt.total_seconds() < 43_200).any()
    assert (entry - frame["entry"]).abs().max() < pd.Timedelta(days=6)
