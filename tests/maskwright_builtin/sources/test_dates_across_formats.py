"""Dates that are read from one format and written in another."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pyreadstat
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

DAYS = [dt.date(2001, 1, 1) + dt.timedelta(days=37 * row % 900) for row in range(60)]


def pipeline(folder: Path, source: str, target: str, form: str = "") -> Path:
    """A pipeline that masks a wage and keeps two dates in order."""
    dates = f"{{role: other, type: date{form}}}" if form else "{role: other}"
    path = folder / "pipeline.yaml"
    path.write_text(
        f"maskwright: 1\ndata: {{source: {source}, variables: {{entry: {dates}, leave: {dates}}}}}\n"
        "edits: [entry <= leave, wage >= 0]\n"
        "protect: [{method: microaggregation, variables: [wage], params: {k: 3}}]\n"
        f"output: {{data: {target}}}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_S"])
def test_edits_on_moments_of_a_database(tmp_path: Path, kind: str) -> None:
    with duckdb.connect(str(tmp_path / "in.duckdb")) as base:
        base.execute(
            "CREATE TABLE t AS SELECT (DATE '2001-01-01' + (i * 37 % 900)::INT)::" + kind + " AS entry, "
            "(DATE '2004-01-01' + (i * 11 % 900)::INT)::" + kind + " AS leave, (i * 73 % 997) + 0.5 AS wage "
            "FROM range(60) r(i)"
        )
    assert mw.run(pipeline(tmp_path, "in.duckdb", "out.duckdb")).ok
    with duckdb.connect(str(tmp_path / "out.duckdb")) as base:
        ((found, entry),) = base.execute(
            "SELECT DISTINCT typeof(entry), min(entry) FROM t GROUP BY ALL LIMIT 1"
        ).fetchall()
    assert found == kind
    assert entry is not None


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_dates_of_a_text_file_are_dates_of_a_statistical_package(tmp_path: Path, ending: str) -> None:
    rows = [
        f"{day:%d.%m.%Y},{day + dt.timedelta(days=5):%d.%m.%Y},{100 + 7 * (row * row % 61)}"
        for row, day in enumerate(DAYS)
    ]
    (tmp_path / "in.csv").write_text("entry,leave,wage\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert mw.run(pipeline(tmp_path, "in.csv", f"out.{ending}", ', format: "%d.%m.%Y"')).ok
    read = pyreadstat.read_dta if ending == "dta" else pyreadstat.read_sav
    frame, metadata = read(str(tmp_path / f"out.{ending}"))
    assert pd.to_datetime(frame["entry"]).dt.date.tolist() == DAYS
    assert ending != "dta" or metadata.original_variable_types["entry"] == "%td"
