"""Fixed width: columns stay at their places and widths, metadata of µ-Argus are understood, wrong lines are refused."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

RDA = """
ID 1 4
   <HOUSE_ID>
SEX 5 1 9
   <RECODEABLE>
   <CODELIST> "sex.cdl"
   <IDLEVEL> 1
AGE 6 3 999 998
   <RECODABLE>
INCOME 9 8 99999999
   <NUMERIC>
   <DECIMALS> 0
WEIGHT 17 7
   <NUMERIC>
   <DECIMALS> 2
   <WEIGHT>
NAME 24 6
   <TRUNCABLE>
DEBT 32 5 99999
   <NUMERIC>
   <SUPPRESSWEIGHT> 40
"""
PLACES = [
    ("ID", 0, 4),
    ("SEX", 4, 5),
    ("AGE", 5, 8),
    ("INCOME", 8, 16),
    ("WEIGHT", 16, 23),
    ("NAME", 23, 29),
    ("DEBT", 31, 36),
]
PIPELINE = """
maskwright: 1
data:
  source: {source}
{options}
  variables:
    ID: {{role: identifier}}
    NAME: {{role: other, release: as is}}
    AGE: {{role: other, release: as is}}
    SEX: {{release: as is}}
    WEIGHT: {{release: as is}}
    DEBT: {{release: as is}}
protect: [{{method: microaggregation, variables: [INCOME], params: {{k: 3}}}}]
output: {{data: {output}}}
seed: 1
"""
METADATA = "  metadata: p.rda\n  encoding: cp1252"


def line(i: int) -> str:
    income = "99999999" if i % 20 == 7 else f"{1000 + (7919 * i) % 977:>8}"
    debt = "" if i % 5 else f"{i * 3}"
    age, name = [" 9", "23", "45"][i % 3], ["Anna", "Bø"][i % 2]
    return f"{i:04d}{(i % 2) + 1}{age:>3}{income}{i % 7 + 0.5:07.2f}{name:<6}  {debt:>5}"


def folder(path: Path, end: str = "\r\n") -> Path:
    (path / "p.asc").write_bytes((end.join(map(line, range(60))) + end).encode("cp1252"))
    (path / "p.rda").write_text(RDA)
    (path / "sex.cdl").write_text('1,"Male"\n2,Female\n')
    return path


def run(path: Path, source: str = "p.asc", output: str = "out.asc", options: str = METADATA) -> Path:
    (path / "p.yaml").write_text(PIPELINE.format(source=source, output=output, options=options), encoding="utf-8")
    assert mw.run(path / "p.yaml").ok
    return path / output


def test_one_column_is_masked_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    masked = run(folder(tmp_path)).read_bytes()
    before, after = (raw.decode("cp1252").split("\r\n") for raw in ((tmp_path / "p.asc").read_bytes(), masked))
    assert [text[4:8] + text[16:] for text in before] == [text[4:8] + text[16:] for text in after]
    assert {text[:4] for text in after[:-1]} == {"    "}
    assert [text[8:16] == "99999999" for text in before] == [text[8:16] == "99999999" for text in after]
    assert all(re.fullmatch(" *[0-9]+", text[8:16]) for text in after[:-1])
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 60
    spans = {name: (start, stop) for name, start, stop in PLACES[1:]}
    frame = pd.read_fwf(
        tmp_path / "out.asc", colspecs=list(spans.values()), names=list(spans), encoding="cp1252", dtype=str
    )
    assert len(frame) == 60
    assert frame["WEIGHT"][0] == "0000.50"
    assert run(tmp_path).read_bytes() == masked


def test_metadata_say_roles_missing_codes_and_labels(tmp_path: Path) -> None:
    data = mw.read(folder(tmp_path) / "p.asc", metadata=str(tmp_path / "p.rda"), encoding="cp1252")
    sex, age, income, weight = (data[name].variable for name in ("SEX", "AGE", "INCOME", "WEIGHT"))
    assert (sex.type, sex.role, dict(sex.labels)) == ("nominal", "quasi_identifier", {"1": "Male", "2": "Female"})
    assert (age.type, age.missing_codes) == ("nominal", ("999", "998"))
    assert (income.type, income.decimals, data["INCOME"].missing.sum()) == ("continuous", 0, 3)
    assert (weight.role, weight.decimals) == ("weight", 1)
    assert any("declare `cluster: ID`" in note for note in data.notes)
    # Codes that only the metadata list need not occur; those that the pipeline declares do.
    assert not [doubt for doubt in data.doubts if doubt.kind == "missing-code-never-occurs"]


def test_columns_may_be_declared_in_the_pipeline_and_the_file_be_compressed(tmp_path: Path) -> None:
    folder(tmp_path)
    columns = ", ".join(f"{name}: {{start: {start + 1}, width: {stop - start}}}" for name, start, stop in PLACES)
    (tmp_path / "p.asc.gz").write_bytes(gzip.compress((tmp_path / "p.asc").read_bytes()))
    options = f"  encoding: cp1252\n  columns: {{{columns}}}"
    text = PIPELINE.format(source="p.asc.gz", output="out.asc.gz", options=options)
    text = text.replace("    WEIGHT:", "    INCOME: {missing: [99999999]}\n    WEIGHT:")
    text = text.replace("SEX: {rel", "SEX: {role: other, rel").replace("WEIGHT: {rel", "WEIGHT: {role: weight, rel")
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert mw.run(tmp_path / "p.yaml").ok
    before, after = (tmp_path / "p.asc").read_bytes(), gzip.decompress((tmp_path / "out.asc.gz").read_bytes())
    assert [each[16:] for each in before.split(b"\r\n")] == [each[16:] for each in after.split(b"\r\n")]


@pytest.mark.parametrize(
    ("cells", "masked"),
    [
        ([f"{i * 13 % 97:05d}" for i in range(30)], r"[0-9]{5}"),
        ([f"{i * 13 % 97 - 50:05d}" for i in range(30)], r"-?[0-9]+"),
        ([f"{i * 13 % 97:<5}" for i in range(30)], r"[0-9]+ *"),
        ([f"{i * 13 % 97:>5}" for i in range(30)], r" *[0-9]+"),
        ([f"{i * 13 % 97},5".rjust(5) for i in range(30)], r" *[0-9]+,[0-9]"),
    ],
)
def test_a_masked_column_is_padded_as_it_was(cells: list[str], masked: str, tmp_path: Path) -> None:
    (tmp_path / "p.asc").write_text("\n".join(f"x{cell}y" for cell in cells))
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: p.asc, decimal: '%s', columns: {a: {start: 2, width: 5}}, "
        "variables: {a: {type: continuous}}}\n"
        "protect: [{method: microaggregation, variables: [a], params: {k: 3}}]\noutput: {data: out.asc}\nseed: 1"
        % ("," if "," in cells[0] else ".")
    )
    assert mw.run(tmp_path / "p.yaml").ok
    lines = (tmp_path / "out.asc").read_text().split("\n")
    assert len(lines) == 30
    assert all(each[0] == " " and each[6] == " " and len(each) == 7 for each in lines)
    assert all(re.fullmatch(masked, each[1:6]) for each in lines)
    assert any("30 lines have text where no column is declared" in note for note in _notes(tmp_path))


def _notes(path: Path) -> tuple[str, ...]:
    decimal = "," if b"," in (path / "p.asc").read_bytes() else "."
    return mw.read(path / "p.asc", columns={"a": {"start": 2, "width": 5}}, decimal=decimal).notes


def test_a_masked_number_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "p.asc").write_text("\n".join(f"{(17 * i) % 10}" for i in range(30)))
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: p.asc, columns: {a: {start: 1, width: 1}}, variables: {a: {decimals: 2}}}\n"
        "protect: [{method: microaggregation, variables: [a], params: {k: 7}}]\noutput: {data: out.asc}\nseed: 1"
    )
    with pytest.raises(mw.InputError, match=r"'a' has \d+ cells that do not fit into its 1 characters"):
        mw.run(tmp_path / "p.yaml")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.asc", "p.yaml"]


def test_files_with_separators(tmp_path: Path) -> None:
    rows = [f"{(17 * i) % 31};{'NA' if i % 9 == 0 else i % 4};x" for i in range(30)]
    (tmp_path / "p.asc").write_text("\n".join(rows) + "\n")
    (tmp_path / "p.rda").write_text('<SEPARATOR> ";"\nWAGE 8\n <NUMERIC>\nSEX 2 NA\n <RECODEABLE>\nTOWN 9\n')
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: p.asc, metadata: p.rda, variables: {SEX: {role: other, release: as is}, "
        "TOWN: {role: other, release: as is}}}\n"
        "protect: [{method: microaggregation, variables: [WAGE], params: {k: 3}}]\noutput: {data: out.asc}\nseed: 1"
    )
    assert mw.run(tmp_path / "p.yaml").ok
    after = (tmp_path / "out.asc").read_text().splitlines()
    assert [row.split(";")[1:] for row in rows] == [row.split(";")[1:] for row in after]
    (tmp_path / "p.rda").write_text('<SEPARATOR> ";"\nWAGE 8\n')
    assert "3 columns, and the metadata describe 1" in refused(tmp_path, metadata=str(tmp_path / "p.rda"))


def refused(path: Path, **options: object) -> str:
    with pytest.raises(mw.MaskwrightError) as caught:
        mw.read(path / "p.asc", **options)
    assert "Geheim" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abcde\nabcd\nabcde\n", r"p.asc:2: the line has 4 characters, and the columns need 5"),
        ("abcde\n\nabcde\n", r"p.asc:2: the line has 0 characters"),
        ("abcde\nGeh\tim\n", r"p.asc:2: the line has a tab"),
        ("abcde\nGe\0im\n", r"p.asc:2: the line has NUL characters"),
        ("abcde\nGeh\udcffm\n", r"p.asc:2: the line has bytes that are not utf-8 text"),
        ("", r"the file is empty"),
    ],
)
def test_wrong_lines_are_refused_with_their_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.asc").write_bytes(text.encode("utf-8", "surrogateescape"))
    columns = {"a": {"start": 1, "width": 2}, "b": {"start": 3, "width": 3}}
    assert re.search(message, refused(tmp_path, columns=columns))


def test_short_lines_are_padded_where_that_is_declared(tmp_path: Path) -> None:
    (tmp_path / "p.asc").write_bytes(b"ab\nabc\na\n\x1a")
    columns = {"a": {"start": 1, "width": 1}, "b": {"start": 2, "width": 2}}
    data = mw.read(tmp_path / "p.asc", columns=columns, short_lines="pad")
    assert (len(data), data["b"].missing.tolist()) == (3, [False, False, True])


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("A 1 3\nB 3 2\n", r"the columns 'A' and 'B' overlap: 'A' ends at 3, and 'B' starts at 3"),
        ("A one 3\n", r"p.rda:1: the variable 'A' has no place"),
        ("A 1 3\n  <RECODABLES>\n", r"p.rda:2: unknown keyword <RECODABLES>"),
        ("  <NUMERIC>\nA 1 3\n", r"p.rda:1: <NUMERIC> stands before any variable"),
        ("A 1 1\nA 2 1\n", r"describe variables twice: A"),
        ("<SPSS>\nA 1\n", r"describe an SPSS file"),
        ("", r"describe no variable"),
        ("A 1 2\n <CODELIST> none.cdl\n", r"none.cdl: the metadata cannot be read"),
    ],
)
def test_wrong_metadata_are_refused_with_their_place(metadata: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.asc").write_text("12345\n")
    (tmp_path / "p.rda").write_text(metadata)
    assert re.search(message, refused(tmp_path, metadata=str(tmp_path / "p.rda")))


def test_places_are_needed_to_read_and_to_write(tmp_path: Path) -> None:
    (tmp_path / "p.asc").write_text("12345\n")
    assert "needs either metadata or the places of its columns" in refused(tmp_path)
    assert "p.rda" in refused(tmp_path, metadata=str(tmp_path / "p.rda"))
    (tmp_path / "in.csv").write_text("a,b\n" + "".join(f"{(17 * i) % 31},{i}\n" for i in range(30)))
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {b: {release: as is}}}\n"
        "protect: [{method: microaggregation, variables: [a], params: {k: 3}}]\noutput: {data: out.asc}\nseed: 1"
    )
    with pytest.raises(mw.InputError, match="no places of the columns are known"):
        mw.run(tmp_path / "p.yaml")
    assert not (tmp_path / "out.asc").exists()
