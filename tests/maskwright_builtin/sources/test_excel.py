"""Excel workbooks: cells keep their kinds and formats, nothing else travels, and what is no plain value is refused."""

from __future__ import annotations

import datetime as dt
import gc
import io
import re
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import openpyxl
import pandas as pd
import pytest
from openpyxl.comments import Comment
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.workbook.defined_name import DefinedName

import maskwright as mw
from maskwright_builtin.sources import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ["income", "share", "name", "flag", "born", "seen", "at", "code", "note", "empty", "hours"]
PIPELINE = """
maskwright: 1
data:
  source: {source}
{options}
  variables:
    share: {{release: as is}}
    hours: {{type: continuous, missing: [NA], release: as is}}
{kept}
protect: [{{method: microaggregation, variables: [{masked}], params: {{k: 3}}}}]
output: {{data: {output}}}
seed: 1
"""
KEPT = "\n".join(f"    {name}: {{role: other, release: as is}}" for name in NAMES[2:10])


def workbook() -> openpyxl.Workbook:
    """Every kind of cell, as openpyxl writes them."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Persons"
    sheet.append(NAMES)
    for i in range(60):
        name = ["Anna", "=1+1", "#N/A", " x ", "ä<&>\n'"][i % 5]
        hours = "NA" if i % 7 == 0 else (i * 37) % 11 + 0.3
        born, seen = dt.date(1990, 1, 1) + dt.timedelta(days=i), dt.datetime(2020, 1, 1, 3, 4, i)
        note = None if i % 3 else "t"
        row = [
            1000 + (7919 * i) % 977,
            (i + 1) / 7,
            name,
            i % 2 == 0,
            born,
            seen,
            dt.time(8, i),
            f"00{i % 4}",
            note,
            None,
            hours,
        ]
        sheet.append(row)
        sheet.cell(i + 2, 3).data_type = "s"
        sheet.cell(i + 2, 2).number_format = "0.00%"
        sheet.cell(i + 2, 5).number_format = "dd/mm/yyyy"
    return book


def run(folder: Path, source: str, output: str, masked: str = "income", options: str = "  mixed: text") -> Path:
    text = PIPELINE.format(source=source, output=output, masked=masked, options=options, kept=KEPT)
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    assert mw.run(folder / "p.yaml").ok
    return folder / output


def cells(path: Path) -> list[list[tuple[object, str, str]]]:
    """Values, kinds and formats by column."""
    sheet = openpyxl.load_workbook(path).worksheets[0]
    return [[(cell.value, cell.data_type, cell.number_format) for cell in column] for column in sheet.iter_cols()]


def test_one_column_is_masked_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    workbook().save(tmp_path / "in.xlsx")
    masked = run(tmp_path, "in.xlsx", "out.xlsx")
    before, after = cells(tmp_path / "in.xlsx"), cells(masked)
    assert [name for name, one, other in zip(NAMES, before, after, strict=True) if one != other] == ["income"]
    assert {cell[1:] for cell in after[0][1:]} == {("n", "General")}
    by_pandas = [
        pd.read_excel(path, engine="openpyxl").drop(columns="income") for path in (tmp_path / "in.xlsx", masked)
    ]
    pd.testing.assert_frame_equal(*by_pandas)
    first = masked.read_bytes()
    assert run(tmp_path, "in.xlsx", "out.xlsx").read_bytes() == first


def test_a_masked_column_keeps_its_format_and_its_missing_codes(tmp_path: Path) -> None:
    book = workbook()
    for i in range(60):
        book.active.cell(i + 2, 11).number_format = "0.000"
    book.save(tmp_path / "in.xlsx")
    before = cells(tmp_path / "in.xlsx")
    text = PIPELINE.format(source="in.xlsx", output="out.xlsx", masked="hours", options="  mixed: text", kept=KEPT)
    text = text.replace("[NA], release: as is}", "[NA], decimals: 1, unchanged: 100}").replace(
        "    share:", "    income: {release: as is}\n    share:"
    )
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert mw.run(tmp_path / "p.yaml").ok
    after = cells(tmp_path / "out.xlsx")
    assert before[:10] == after[:10]
    assert [cell == ("NA", "s", "General") for cell in after[10][1:]] == [i % 7 == 0 for i in range(60)]
    assert {cell[1:] for cell in after[10][1:] if cell[0] != "NA"} == {("n", "0.000")}


def test_nothing_of_the_original_travels_beside_the_cells(tmp_path: Path) -> None:
    book = workbook()
    book.properties.creator = book.properties.lastModifiedBy = book.properties.title = "Geheim"
    book.active["A2"].comment = Comment("Geheim", "Geheim")
    book.active["C2"].hyperlink = "https://geheim.example"
    book.defined_names["Geheim"] = DefinedName("Geheim", attr_text="Persons!$A$2")
    book.create_sheet("Geheim").sheet_state = "hidden"
    book["Geheim"]["A1"] = "Geheim"
    book.custom_doc_props.append(openpyxl.packaging.custom.StringProperty(name="Geheim", value="Geheim"))
    book.save(tmp_path / "in.xlsx")
    masked = run(tmp_path, "in.xlsx", "out.xlsx", options="  mixed: text\n  sheet: Persons")
    with zipfile.ZipFile(masked) as archive:
        for member in archive.infolist():
            assert b"geheim" not in archive.read(member).lower()
            assert member.date_time == (1980, 1, 1, 0, 0, 0)
        assert b"2026" not in archive.read("docProps/core.xml")


def test_formats_into_each_other(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b,c\n" + "".join(f"{(17 * i) % 31},{i}.5,=x{i % 2}\n" for i in range(30)))
    text = "maskwright: 1\ndata: {source: %s, variables: {b: {release: as is}, c: {release: as is}}}\n"
    text += "protect: [{method: microaggregation, variables: [a]}]\noutput: {data: %s}\nseed: 1"
    for source, output in (("in.csv", "out.xlsx"), ("out.xlsx", "again.csv")):
        (tmp_path / "p.yaml").write_text(text % (source, output))
        assert mw.run(tmp_path / "p.yaml", {"protect.0.params.k": 3 if output == "out.xlsx" else 5}).ok
    assert cells(tmp_path / "out.xlsx")[1][1] == (0.5, "n", "General")
    assert cells(tmp_path / "out.xlsx")[2][1] == ("=x0", "s", "General")
    assert (tmp_path / "again.csv").read_text().splitlines()[1].endswith(",0.5,=x0")


def test_numbers_of_seventeen_digits_stay(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, 4 / 3, 1e-7, 123456789.123456789, -2 / 7]
    (tmp_path / "in.csv").write_text("a,b\n" + "".join(f"{(17 * i) % 31},{numbers[i % 5]:.20f}\n" for i in range(30)))
    declared = "{b: {release: as is, type: continuous}}"
    (tmp_path / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: in.csv, variables: {declared}}}\n"
        "protect: [{method: microaggregation, variables: [a], params: {k: 3}}]\noutput: {data: out.xlsx}\nseed: 1"
    )
    expected = mw.read(tmp_path / "in.csv", variables={"b": {"type": "continuous"}})["b"].values.tolist()
    assert mw.run(tmp_path / "p.yaml").ok
    assert [cell[0] for cell in cells(tmp_path / "out.xlsx")[1][1:]] == expected
    assert mw.read(tmp_path / "out.xlsx")["b"].values.tolist() == expected


def test_sheets_headers_and_the_calendar_of_1904(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    sheet = book.create_sheet("Data")
    sheet["B3"], sheet["C3"], sheet["D3"] = "a", "day", 2019
    for i in range(5):
        sheet.cell(i + 4, 2, i)
        sheet.cell(i + 4, 3, dt.date(1904, 2, 27) + dt.timedelta(days=i))
        sheet.cell(i + 4, 4, i / 3)
    sheet["B1"] = "=TODAY()"
    sheet["G40"].number_format = "0.00"
    book.save(tmp_path / "in.xlsx")
    for chosen in ("Data", 2, "2"):
        data = mw.read(tmp_path / "in.xlsx", sheet=chosen, header_row=3)
        assert (len(data), data.names) == (5, ("a", "day", "2019"))
        assert str(data.to_pandas()["day"][0].date()) == "1904-02-27"
        assert data["2019"].values.tolist() == [float(f"{i / 3:.16g}") for i in range(5)]


def refused(path: Path, **options: object) -> str:
    with pytest.raises(mw.MaskwrightError) as caught:
        mw.read(path, **options)
    text = str(caught.value)
    assert path.name in text
    assert "Geheim" not in text.replace("'Geheim'", "")
    return text


def plain(rows: int = 20) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "c"])
    for i in range(rows):
        book.active.append([i, f"Geheim {i}", dt.date(2020, 1, 1)])
    return book


def _formula(sheet: Any) -> None:
    sheet["A3"] = sheet["A9"] = "=1+1"


def _error(sheet: Any) -> None:
    sheet["A7"] = "#DIV/0!"


def _blank_row(sheet: Any) -> None:
    sheet["A30"] = 1


def _put(cell: str, value: object, number_format: str = "General") -> Callable[[Any], None]:
    def put(sheet: Any) -> None:
        sheet[cell] = value
        sheet[cell].number_format = number_format

    return put


BAD: dict[str, tuple[Callable[[Any], object], str]] = {
    "formulas": (_formula, r"2 cells are formulas, the first in A3"),
    "errors": (_error, r"1 cells hold errors .*the first in A7"),
    "merged cells": (lambda sheet: sheet.merge_cells("B4:C5"), r"merged cells in 1 places, the first in B4:C5"),
    "another type in the last row": (_put("A21", "Geheim"), r"'a' holds 19 numbers and 1 texts: .*texts is in A21"),
    "a number among texts": (_put("B21", 7), r"'b' holds 1 numbers and 19 texts: .*numbers is in B21"),
    "a text among dates": (_put("C9", "Geheim"), r"'c' holds 19 dates and 1 texts: .*texts is in C9"),
    "the 29 February 1900": (_put("C9", 60, "yyyy-mm-dd"), r"dates before March 1900, or none at all, the first in C9"),
    "durations": (_put("C9", dt.timedelta(hours=30), "[hh]:mm:ss"), r"'c' holds durations, the first in C9"),
    "an empty row": (_blank_row, r"row 22 is empty, and there are more below it"),
    "names twice": (_put("B1", "a"), r"the header names columns twice: a"),
    "no name": (_put("B1", None), r"first row may be a record|column B has values and no name"),
    "values beside": (_put("E5", 1), r"no name|may be a record"),
    "no header": (lambda sheet: sheet.delete_rows(1), r"the first row may be a record, not names"),
    "an empty header": (lambda sheet: sheet.insert_rows(1), r"the row of the names is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_plain_value_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    change, message = BAD[name]
    book = plain()
    change(book.active)
    book.save(tmp_path / "in.xlsx")
    assert re.search(message, refused(tmp_path / "in.xlsx")), refused(tmp_path / "in.xlsx")


def test_what_is_to_be_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain().save(tmp_path / "in.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "pip install 'maskwright[excel]'" in refused(tmp_path / "in.xlsx")


def test_several_sheets_need_a_name(tmp_path: Path) -> None:
    book = plain()
    book.create_sheet("Codes")
    book.save(tmp_path / "in.xlsx")
    assert "the workbook has 2 sheets: 'Sheet', 'Codes'" in refused(tmp_path / "in.xlsx")
    assert "no sheet 'Persons' in the workbook" in refused(tmp_path / "in.xlsx", sheet="Persons")
    assert "no sheet 3 in the workbook" in refused(tmp_path / "in.xlsx", sheet=3)
    assert len(mw.read(tmp_path / "in.xlsx", sheet="Sheet")) == 20


def test_results_of_formulas_are_read_where_that_is_declared(tmp_path: Path) -> None:
    book = plain()
    _formula(book.active)
    book.save(tmp_path / "in.xlsx")
    assert "2 formulas have no stored result, the first in A3" in refused(tmp_path / "in.xlsx", formulas="values")
    with zipfile.ZipFile(tmp_path / "in.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>2</v>", sheet)
    with zipfile.ZipFile(tmp_path / "in.xlsx", "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    data = mw.read(tmp_path / "in.xlsx", formulas="values")
    assert data["a"].values[[1, 7]].tolist() == [2, 2]


def test_texts_that_look_like_numbers_beside_numbers_are_refused(tmp_path: Path) -> None:
    book = plain()
    book.active["A5"], book.active["A6"] = "012", "NA"
    book.save(tmp_path / "in.xlsx")
    assert "texts that look like numbers, the first in A5" in refused(tmp_path / "in.xlsx", mixed="text")
    book.active["A5"] = 12
    book.save(tmp_path / "in.xlsx")
    declared = {"a": {"type": "integer", "missing": ["NA"]}}
    assert mw.read(tmp_path / "in.xlsx", mixed="text", variables=declared)["a"].missing.sum() == 1


def test_encrypted_old_damaged_and_hostile_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.xlsx"
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    path.write_bytes(compound + "EncryptedPackage".encode("utf-16-le"))
    assert "the workbook is encrypted" in refused(path)
    path.write_bytes(compound)
    assert "Excel 97-2003" in refused(path)
    book = plain()
    book.save(path)
    whole = path.read_bytes()
    spoiled = bytearray(whole)
    spoiled[len(whole) // 2 : len(whole) // 2 + 60] = b"\0" * 60
    for content in (whole[: len(whole) // 2], whole[:-5], bytes(spoiled), b"a,b\n1,2\n"):
        path.write_bytes(content)
        assert re.search("damaged|no workbook", refused(path))
    path.write_bytes(b"")
    assert "empty" in refused(path)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    doctype = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]>'
    for change, message in (
        (lambda part: doctype + part, "document types"),
        (lambda part: part.replace(b"</sheetData>", b" " * 6_000_000 + b"</sheetData>"), "unpacks to more than"),
    ):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, part in parts.items():
                archive.writestr(name, change(part) if name.endswith("sheet1.xml") else part)
        with monkeypatch.context() as patched:
            patched.setattr(files, "UNSUSPICIOUS", 5_000_000)
            assert message in refused(path)


def test_what_a_workbook_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for text, message in (("x" * 33_000, "33000 characters"), ("a\x02b", "control characters")):
        lines = "".join(f"{(17 * i) % 31},{text if i == 9 else 'n'}\n" for i in range(30))
        (tmp_path / "in.csv").write_text(f"a,b\n{lines}")
        (tmp_path / "p.yaml").write_text(
            "maskwright: 1\ndata: {source: in.csv, variables: {b: {role: other, release: as is}}}\n"
            "protect: [{method: microaggregation, variables: [a], params: {k: 3}}]\noutput: {data: out.xlsx}\nseed: 1"
        )
        with pytest.raises(mw.InputError, match=message):
            mw.run(tmp_path / "p.yaml")
        assert sorted(each.name for each in tmp_path.iterdir()) == ["in.csv", "p.yaml"]
        gc.collect()  # nothing is left open that would complain
