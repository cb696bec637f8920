"""Awkward CSV files, released through the public API: right to the byte in what no step touches, or refused."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """maskwright: 1
data: {{source: in.csv{options}, variables: {variables}}}
edits: [{masked} > 0]
protect: [{{method: additive_noise, variables: [{masked}]}}]
output: {{data: out.csv, report: report.html, record: run.json}}
seed: 1
"""
N = 30
AMOUNTS = [f"{1000 + 37 * (7 * row % N)}.50" for row in range(N)]


@dataclass(frozen=True)
class Awkward:
    """A file: its bytes, options of the data section, and what becomes of it.

    `kept` are columns that no step touches, as they stand in the file; `refused` is part of the message, `code` the
    exit code. `masks` says what the masked cells look like, as a regular expression.
    """

    raw: bytes
    options: str = ""
    variables: str = ""
    masked: str = "amount"
    delimiter: str = ","
    encoding: str = "utf-8"
    refused: str = ""
    code: int = 2
    line: int | None = None
    masks: str = r"[0-9]+\.[0-9]0"
    line_end: str = "\n"
    same: tuple[str, ...] = field(default=("code",))


def rows(
    code: Any = "{row:04d}", *, amount: Any = "{amount}", header: str = "code,amount", end: str = "\n", cut: str = ",",
    last: str | None = None,
) -> str:  # fmt: skip
    """Text of a file of two columns."""
    lines = [header.replace(",", cut)]
    for row, value in enumerate(AMOUNTS):
        cell = code(row) if callable(code) else code.format(row=row)
        number = amount(row) if callable(amount) else amount.format(amount=value)
        lines.append(f"{cell}{cut}{number}")
    return end.join(lines) + (end if last is None else last)


def file(text: str, encoding: str = "utf-8", mark: bytes = b"", **facts: Any) -> Awkward:
    return Awkward(mark + text.encode(encoding), encoding=encoding, **facts)


def cells(*texts: str) -> Any:
    return lambda row: texts[row % len(texts)]


def grouped(mark: str, decimal: str) -> Any:
    return lambda row: f"{1000 + 37 * (7 * row % N):,}.50".replace(",", "T").replace(".", decimal).replace("T", mark)


LONG = "x" * 200_000
WIDE = [f"x{place}" for place in range(498)]
FILES: dict[str, Awkward] = {
    # Encodings and byte order marks
    "UTF-8": file(rows(cells("Zürich", "łódź", "日本"))),
    "UTF-8 with a mark": file(rows("é{row}"), mark=codecs.BOM_UTF8),
    "Latin-1, declared": file(rows(cells("Zürich", "Køge")), "latin-1", options=", encoding: latin-1"),
    "Latin-1, undeclared": file(rows(cells("Zürich")), "latin-1", refused="is not utf-8 text", line=2),
    "Windows-1252, declared": file(rows(cells("€uro", "Zürich")), "cp1252", options=", encoding: cp1252"),
    "UTF-8, declared Latin-1": file(rows(cells("Zürich", "Bonn")), options=", encoding: latin-1"),
    "UTF-8, declared ASCII": file(rows(cells("Zürich")), options=", encoding: ascii", refused="is not ascii", line=2),
    "UTF-16 LE with a mark": file(rows("é{row}"), "utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16 BE with a mark": file(rows("é{row}"), "utf-16-be", codecs.BOM_UTF16_BE),
    "UTF-16 without a mark": file(rows("e{row}"), "utf-16-le", refused="NUL characters", line=1),
    "UTF-16 LE, declared": file(rows("é{row}"), "utf-16-le", options=", encoding: utf-16-le"),
    "UTF-32 with a mark": file(rows("é{row}"), "utf-32-le", codecs.BOM_UTF32_LE),
    # Quotes
    "everything quoted": file(
        rows('"{row:04d}"', amount='"{amount}"', header='"code","amount"'), masks=r'"[0-9]+\.[0-9]0"'
    ),
    "text quoted, as R writes it": file(rows('"c {row}"', header='"code","amount"')),
    "text quoted but NA": file(rows(lambda row: '"a"' if row % 3 else "NA", header='"code","amount"')),
    "empty quoted and empty bare": file(rows(cells('""', "", '"a"', "b"))),
    "quotes where needed": file(rows(cells('"a,b"', "c", '"d""e"'))),
    "quote in the middle of a cell": file(rows(cells('5" pipe', "b"))),
    "quote never closed": file(rows(lambda row: '"b' if row == 7 else "a"), refused="row that starts here", line=9),
    "text behind a quote": file(rows(cells('"a"b')), refused="row that starts here", line=2),
    "single quotes, declared": file(rows("'a,{row}'"), options=""", quote: "'" """),
    "single quotes, undeclared": file(rows("'a,{row}'"), refused="3 cells, and 2 were expected", line=2),
    "line ends in quotes": file(rows(cells('"a\nb"', '"c\r\nd"', '"e\rf"'))),
    "no quotes declared": file(rows(cells('"a', 'b"')), options=", quote: null"),
    # Line ends
    "CR LF": file(rows(end="\r\n"), line_end="\r\n"),
    "CR": file(rows(end="\r"), line_end="\r"),
    "mixed line ends": file(rows().replace("0003,", "0003,", 1).replace("\n", "\r\n", 5)),
    "no line end at last": file(rows(last="")),
    "empty lines at last": file(rows(last="\n\n\n")),
    "empty lines between": file(rows().replace("0004", "\n\n0004")),
    # Delimiters
    "semicolons": file(rows(cut=";"), delimiter=";"),
    "tabs": file(rows(cut="\t"), delimiter="\t"),
    "bars": file(rows(cut="|"), delimiter="|"),
    "spaces, declared": file(rows(cut=" "), delimiter=" ", options=", delimiter: ' '"),
    "two characters": file(rows(cut="||"), options=", delimiter: '||'", refused="at most 1 character"),
    "trailing delimiters": file(rows(amount="{amount},"), refused="3 cells, and 2 were expected", line=2),
    "trailing delimiters everywhere": file(
        rows(amount="{amount},", header="code,amount,"), refused="no name", line=1
    ),
    "ragged line": file(rows().replace("0010,", "0010,,"), refused="record 11 has 3 cells", line=12),
    # Numbers
    "decimal comma, declared": file(
        rows(amount=lambda row: AMOUNTS[row].replace(".", ","), cut=";"), delimiter=";", options=', decimal: ","',
        masks="[0-9]+,[0-9]0",
    ),
    "decimal comma, undeclared": file(
        rows(amount=lambda row: AMOUNTS[row].replace(".", ","), cut=";"), refused="with a decimal comma"
    ),
    "thousands, declared": file(
        rows(amount=grouped(".", ","), cut=";"), delimiter=";", options=', thousands: "."',
        masks=r"[0-9]{1,3}(\.[0-9]{3})*,[0-9]0",
    ),
    "thousands, undeclared": file(rows(amount=grouped(".", ","), cut=";"), refused='`thousands: "."`'),
    "thousands in quotes": file(
        rows(amount=lambda row: f'"{grouped(",", ".")(row)}"'), options=', thousands: ","',
        masks=r'"[0-9]{1,3}(,[0-9]{3})+\.[0-9]0"|[0-9]{1,3}\.[0-9]0',  # quoted where the delimiter is in it
    ),
    "thousands apart by no-break spaces": file(
        rows(amount=grouped("\u202f", ","), cut=";"), delimiter=";", options=', thousands: "\\u202f", decimal: ","',
        masks="[0-9]{1,3}(\u202f[0-9]{3})*,[0-9]0",
    ),
    "comma of decimals and comma of thousands": file(
        rows(lambda row: f"{row},5", amount=lambda row: f"{1000 + row:,}" if row % 3 else f"{900 + row}", cut=";"),
        options=', decimal: ","', refused="three digits after ','", code=1,
    ),
    "points of thousands taken for decimals": file(
        rows(amount=lambda row: f"{1000 + 31 * row:,}".replace(",", ".") if row % 3 else f"{900 + row}"),
        refused="three digits after '.'", code=1,
    ),
    "plus signs": file(rows("+{row}.0", amount="+{amount}")),
    "exponents": file(rows("{row}e+05", amount=lambda row: "1e+03" if row == 4 else AMOUNTS[row])),
    "codes with an E": file(rows("1E{row}"), refused="look like numbers", code=1),
    "codes with an E, declared": file(rows("1E{row}"), variables="code: {type: nominal, role: other}"),
    "signs and points of all kinds": file(rows(cells("-0", ".5", "5.", "+.5", "7.50", "1e-3"))),
    "leading zeros": file(rows("{row:05d}")),
    "Unicode minus": file(rows(amount=lambda row: "\u2212" + AMOUNTS[row]), refused="sign, unit or exponent"),
    "no-break space behind a number": file(rows(amount="{amount}\u00a0"), refused="sign, unit or exponent"),
    "percent": file(rows(amount="{amount}%"), refused="sign, unit or exponent"),
    "currency": file(rows(amount="€ {amount}"), refused="sign, unit or exponent"),
    # Cells
    "blanks around": file(rows(cells(" a", "b ", "  ", "", "\t"))),
    "NA of many kinds": file(
        rows(cells("NA", "1", "-9", "n/a", ".", "7")), variables="code: {missing: [NA, -9, n/a, .], role: other}"
    ),
    "NA undeclared": file(rows(amount=lambda row: "NA" if row == 4 else AMOUNTS[row]), refused="not a number"),
    "dates and truth values": file(rows(cells("2024-01-31", "31.12.1990", "TRUE", "false"))),
    "very long cells": file(rows(cells(LONG, f'"{LONG},{LONG}"'))),
    "NUL": file(rows(lambda row: "a\0" if row == 5 else "a"), refused="NUL characters", line=7),
    "control characters": file(rows(cells("a\x1fb", "\x1e", "c\x1d", "\x1a", '"\x1c,"'))),
    "type changes in the last row": file(
        "code,amount\n" + "a,1.50\nb,2.50\n" * 50_000 + "c,unknown\n", refused="1 of 100001 cells is not a number"
    ),
    # Headers and sizes
    "header in quotes": file(rows(header='"code",amount')),
    "line end in a name": file(rows(header='"co\nde",amount'), variables='"co\\nde": {role: other}', same=("co\nde",)),
    "names twice": file(rows(header="code,code"), masked="code", refused="names columns twice: code", line=1),
    "names in capitals": file(rows(header="Amount,amount"), refused="'Amount' and 'amount'", line=1),
    "names with blanks": file(rows(header=" amount,amount"), refused="' amount' and 'amount'", line=1),
    "names composed and not": file(rows(header="\u00e9,e\u0301"), refused="easily taken for one", line=1),
    "name empty": file(rows(header=",amount"), refused="column 1 has no name", line=1),
    "no header": file(rows(header="1,2.5"), refused="may be a record", line=1),
    "no header, declared": file(
        rows(header="0099,1000.50"), options=", header: false", masked="V2", same=("V1",), variables="V1: {role: other}"
    ),
    "comment first": file("# made by hand\n" + rows(), refused="record 1 has 2 cells", line=2),
    "empty": Awkward(b"", refused="the file is empty"),
    "header only": file("code,amount\n", refused="has no records"),
    "one column": file("amount\n" + "\n".join(AMOUNTS) + "\n", same=()),
    "one column, cells empty": file(
        "amount\n" + "\n".join(AMOUNTS) + "\n\n1.50\n\n", same=(), masks=r'[0-9]+\.[0-9]0|""'
    ),
    "one record": file("code,amount\na,5.50\n", refused="true values are published unchanged", code=1),
    "500 columns": file(
        "\n".join(
            ",".join(["code", "amount", *WIDE] if row < 0 else [f"{row:03d}", AMOUNTS[row], *["7.0"] * 498])
            for row in range(-1, N)
        ),
        variables=", ".join(f"{name}: {{role: other}}" for name in WIDE),
    ),
}  # fmt: skip


def raw_columns(raw: bytes, given: Awkward) -> list[list[str]]:
    """Cells exactly as they are written, by a plain state machine; no code of the package."""
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if given.encoding.startswith("utf") and raw.startswith(mark):
            raw = raw[len(mark) :]
            break
    quote = "'" if 'quote: "\'"' in given.options else "" if "quote: null" in given.options else '"'
    text = raw.decode(given.encoding).replace("\r\n" if given.line_end == "\n" else "\0", "\n")
    found: list[list[str]] = [[]]
    inside, start = False, 0
    for place, character in enumerate(text + "\n"):
        if character == quote and (inside or place == start or text[start] == quote):
            inside = not inside
        if not inside and character in ("\r", "\n", given.delimiter):
            found[-1].append(text[start:place])
            start = place + 1
            if character != given.delimiter:
                found.append([])
    del found[-1]
    if found[-1] == [""]:
        del found[-1]
    return [list(column) for column in zip(*(row for row in found if row != [""] or len(found[0]) == 1), strict=True)]


def released(folder: Path, given: Awkward) -> mw.RunResult:
    (folder / "in.csv").write_bytes(given.raw)
    variables = given.variables or ", ".join(f"{name}: {{role: other}}" for name in given.same)
    if given.variables and "code" in given.same and "code:" not in given.variables:
        variables += ", code: {role: other}"
    text = PIPELINE.format(options=given.options, variables=f"{{{variables}}}", masked=given.masked)
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    return mw.run(folder / "p.yaml")


@pytest.mark.parametrize("name", FILES)
def test_awkward_files_are_released_right_or_refused(name: str, tmp_path: Path) -> None:
    given = FILES[name]
    if given.refused:
        with pytest.raises(mw.MaskwrightError) as caught:
            released(tmp_path, given)
        assert given.refused in str(caught.value)
        assert caught.value.exit_code == given.code
        if given.line is not None:
            (problem,) = caught.value.problems
            assert problem.place is not None
            assert (problem.place.file, problem.place.line) == (str(tmp_path / "in.csv"), given.line)
        assert {path.name for path in tmp_path.iterdir()} <= {"in.csv", "p.yaml"}
        return
    assert released(tmp_path, given).ok
    raw = (tmp_path / "out.csv").read_bytes()
    before, after = raw_columns(given.raw, given), raw_columns(raw, given)
    place = 1 if len(before) > 1 else 0
    assert after[:place] + after[place + 1 :] == before[:place] + before[place + 1 :]
    assert after[place] != before[place]
    header = "header: false" not in given.options
    assert [cell for cell in after[place][header:] if not re.fullmatch(given.masks, cell)] == []
    if name not in CHANGED_ENDS:
        assert ends(raw) == ends(given.raw)


CHANGED_ENDS = ("mixed line ends", "empty lines between", "one column, cells empty")
"""Line ends are as those of the header, and empty lines between records are left out: both is said. Empty cells of a
masked column that is the only one are quoted, since an empty line is no row for many readers."""


def ends(raw: bytes) -> tuple[int, int, bytes, bytes]:
    """What lines end with, and how the file begins and ends."""
    last = raw[len(raw.rstrip(b"\r\n\0")) :]
    return raw.count(b"\n"), raw.count(b"\r"), raw[:4], last


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("mixed line ends", "all of the masked file end with CR LF"),
        ("empty lines between", "2 empty lines between records"),
    ],
)
def test_line_ends_that_change_are_told(name: str, note: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(FILES[name].raw)
    assert any(note in said for said in mw.read(tmp_path / "in.csv").notes)


QUOTINGS = [csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_NONE]
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=("Cs",))
    | st.sampled_from(",;\"\n\t|' 0+e"),
    max_size=6,
)
PLAIN_TEXTS = st.text(st.sampled_from("ab01+- .é"), max_size=6)


@given(
    data=st.data(),
    quoting=st.sampled_from(QUOTINGS),
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    width=st.integers(1, 3),
)
def test_untouched_text_of_any_table_is_byte_equal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, quoting: int, delimiter: str, line_end: str,
    encoding: str, width: int,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("any")
    texts = PLAIN_TEXTS if quoting == csv.QUOTE_NONE else TEXTS
    drawn = data.draw(st.lists(st.lists(texts, min_size=width, max_size=width), min_size=8, max_size=8))
    amounts = [10.5, 11.25, 13, 17.5, 19, 23.75, 29, 31]
    names = [f"text {place}" for place in range(width)]
    text = io.StringIO()
    # The dialects of the csv module have no type that tells their constants from other numbers.
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["amount", *names])
    writer.writerows([amount, *row] for amount, row in zip(amounts, drawn, strict=True))
    variables = ", ".join(f"{name}: {{type: nominal, role: other}}" for name in names)
    shown = {"\t": '"\\t"'}.get(delimiter, f"'{delimiter}'")
    given_file = Awkward(
        text.getvalue().encode(encoding), f", delimiter: {shown}, header: true", variables, same=(),
        delimiter=delimiter, encoding="utf-16-le" if encoding == "utf-16" else "utf-8",
    )  # fmt: skip
    assert released(folder, given_file).ok
    before = raw_columns(given_file.raw, given_file)
    after = raw_columns((folder / "out.csv").read_bytes(), given_file)
    assert after[1:] == before[1:]
    assert after[0][0] == before[0][0]
    assert after[0] != before[0]
    assert {cell[:1] == '"' for cell in after[0][1:]} == {cell[:1] == '"' for cell in before[0][1:]}


@pytest.mark.parametrize("order", ["", "release: {order: random}\n"])
def test_empty_cells_of_a_masked_column_are_written_as_they_were_read(order: str, tmp_path: Path) -> None:
    """Each in its own record: bare, in quotes, with a blank in quotes, and a missing code in both ways."""
    gone = ["", '""', '" "', "-9", '"-9"']
    wages = [gone[row % 5] if row % 10 < 5 else f'"{1000 + 777 * row % 1009}"' for row in range(200)]
    ages = [gone[row % 5] if row % 10 < 5 else str(20 + 7 * row % 61) for row in range(200)]
    groups = [gone[row % 5] if row % 10 < 5 else f'"{"abc"[row % 3]}"' for row in range(200)]
    rows = [f"{row};{wages[row]};{ages[row]};{groups[row]}" for row in range(200)]
    (tmp_path / "in.csv").write_text("\n".join(["id;wage;age;group", *rows, ""]), encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\nseed: 1\noutput: {data: out.csv}\n" + order + "data:\n  source: in.csv\n  missing: ['-9']\n"
        "  variables: {id: {role: other}, wage: {role: confidential}, age: {role: quasi_identifier}, group: {}}\n"
        "protect:\n  - {method: additive_noise, variables: [wage]}\n"
        "  - {method: microaggregation, variables: [age], params: {k: 10}}\n"
        "  - {method: pram, variables: [group], params: {retain: 0.5}}\n",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    written = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1:]
    for line in written:
        row, *cells = line.split(";")
        for cell, column in zip(cells, (wages, ages, groups), strict=True):
            before = column[int(row)]
            assert (cell == before) if before in gone else (cell not in gone)
