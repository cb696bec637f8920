"""What an original carries besides its cells: a mark in each such place, and no output with a mark in it."""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG_AGO = 10**9
RECORDS = 60
PIPELINE = """
maskwright: 1
data: {{source: {name}, variables: {{town: {{role: other}}, person: {{role: identifier}}}}}}
protect: [{{method: additive_noise, params: {{p: 0.3}}}}]
measure: [sse]
output: {{data: out{ending}, record: run.json, public_record: about.json, report: report.html, svrl: out.svrl}}
edits: [wage > -9999]
seed: 1
{more}
"""


def _wages() -> list[int]:
    return np.random.default_rng(1).integers(1, 900, RECORDS).tolist()


def _xml(path: Path) -> None:
    records = "".join(
        f"<!-- MARK1 --><Record><!-- MARK2 --><?pi MARK3?><wage>{wage}<!-- MARK4 --></wage><town>a</town>"
        f"<person>MARK5 {number}</person></Record><?pi MARK6?>\n"
        for number, wage in enumerate(_wages())
    )
    path.write_text(
        '<?xml version="1.0"?><?xml-stylesheet href="MARK7.xsl"?><!-- MARK8 -->\n'
        '<Survey xmlns:q="http://MARK9" made="MARK10" q:by="MARK11"><!-- MARK12 -->\n'
        f"{records}<!-- MARK13 --></Survey><!-- MARK14 --><?end MARK15?>\n"
    )


def _csv(path: Path) -> None:
    rows = [f"{wage},a,MARK {number}" for number, wage in enumerate(_wages())]
    path.write_text("\n".join(["wage,town,person", *rows, ""]))


def _parquet(path: Path) -> None:
    towns = pa.DictionaryArray.from_arrays(pa.array(np.zeros(RECORDS, dtype="int8")), ["a", "MARK1"])
    fields = [
        pa.field("wage", pa.int64(), metadata={"MARK2": "MARK3"}),
        pa.field("town", towns.type, metadata={"note": "MARK4"}),
        pa.field("person", pa.string()),
    ]
    people = pa.array([f"MARK{number}" for number in range(RECORDS)])
    schema = pa.schema(fields, metadata={"MARK5": "MARK6", "pandas": '{"MARK7": 8}'})
    table = pa.table([pa.array(_wages()), towns, people], schema=schema)
    with pq.ParquetWriter(path, schema, write_statistics=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"late": "MARK9"})


def _pandas_parquet(path: Path) -> None:
    people = pd.Index([f"MARK{number}" for number in range(RECORDS)], name="person")
    frame = pd.DataFrame({"wage": _wages(), "town": "a"}, index=people)
    frame.attrs["source"] = "MARK"
    frame.to_parquet(path)


@pytest.mark.parametrize("more", ["", "release: {order: random}"])
@pytest.mark.parametrize(
    ("name", "write"),
    [("in.xml", _xml), ("in.csv", _csv), ("in.parquet", _parquet), ("in.pq", _pandas_parquet)],
)
def test_no_mark_is_in_any_output(tmp_path: Path, name: str, write: Callable[[Path], None], more: str) -> None:
    """Comments, instructions, attributes, namespaces, metadata, values of nobody, what was dropped."""
    original, outputs = tmp_path / name, tmp_path
    write(original)
    if hasattr(os, "setxattr"):
        with contextlib.suppress(OSError):  # a file system without them
            os.setxattr(original, "user.note", b"MARK")
    os.utime(original, (LONG_AGO, LONG_AGO))
    before = time.time() - 60
    ending = original.suffix
    (outputs / "pipeline.yaml").write_text(PIPELINE.format(name=name, ending=ending, more=more), encoding="utf-8")
    assert main(["run", str(outputs / "pipeline.yaml"), "--quiet"]) == 0
    for path in outputs.iterdir():
        if path.name not in (name, "pipeline.yaml"):
            assert re.findall(rb"MARK", path.read_bytes()) == [], path.name
            assert path.stat().st_mtime > before
            if hasattr(os, "listxattr"):
                assert "user.note" not in os.listxattr(path)
    assert len(mw.read(outputs / f"out{ending}")) == RECORDS


def test_parquet_statistics_are_those_of_the_masked_values(tmp_path: Path) -> None:
    """The largest wage of the original is in the original's statistics only."""
    wages = [*_wages()[1:], 10_000_000]
    pq.write_table(pa.table({"wage": wages}), tmp_path / "in.parquet")
    text = "maskwright: 1\ndata: {source: in.parquet}\nprotect: [{method: microaggregation, params: {k: 5}}]\n"
    (tmp_path / "pipeline.yaml").write_text(text + "output: {data: out.parquet}\nseed: 1\n", encoding="utf-8")
    assert main(["run", str(tmp_path / "pipeline.yaml"), "--quiet"]) == 0
    column = pq.read_metadata(tmp_path / "out.parquet").row_group(0).column(0).statistics
    masked = pq.read_table(tmp_path / "out.parquet")["wage"].to_pylist()
    assert (column.min, column.max) == (min(masked), max(masked))
    assert column.max < 10_000_000


@pytest.mark.parametrize(
    ("name", "output", "said"),
    [
        ("household_income", "out.xpt", "a name has 16 bytes, and 8 fit"),
        ("größe", "out.xpt", "SAS does not take its name"),
        ("with", "out.dta", "a word of Stata's language"),
        ("net-income", "out.dta", "Stata does not take its name"),
        ("all", "out.sav", "a word of SPSS's language"),
        ("income", "out.fwf", "no places of the columns are known"),
    ],
)
def test_names_that_a_format_cannot_hold_are_refused_by_the_plan(
    name: str, output: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("\n".join([name, *map(str, range(30)), ""]), encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv}\n"
        f"protect: [{{method: microaggregation, params: {{k: 3}}}}]\noutput: {{data: {output}}}\n"
    )
    assert main(["plan", str(tmp_path / "p.yaml")]) == 2
    told = capfd.readouterr().err
    assert f"{output}: " in told
    assert said in told


def test_what_the_masked_values_cannot_be_written_in_names_no_private_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{row * 11 % 30},{'long ' * 50}{row % 2}" for row in range(30)]
    (tmp_path / "in.csv").write_text("\n".join(["income,remark", *lines, ""]))
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {remark: {role: other}}}\n"
        "protect: [{method: microaggregation, params: {k: 3}}]\noutput: {data: out.xpt}\n"
    )
    assert main(["run", str(tmp_path / "p.yaml"), "--quiet"]) == 2
    told = capfd.readouterr().err
    assert told.startswith("out.xpt: variable 'remark': a text has 251 bytes, and 200 fit")
    assert ".maskwright-" not in told
