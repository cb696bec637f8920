"""CSV files: dialects found and written back, wrong rows and texts refused with a line."""

from __future__ import annotations

import csv
import gc
import io
import re
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import maskwright as mw
import maskwright_builtin.sources.csv.source
from maskwright import DataError, Layout, Variable
from maskwright.data.published import published_batches
from maskwright_builtin.sources.csv.source import CSV, CsvReading
from maskwright_builtin.sources.csv.text import Utf8Text
from maskwright_builtin.sources.fixed_width.source import FIXED_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable


def opened(path: Path, **params: object) -> CsvReading:
    reading = CSV.open(path, CSV.params(**params), lambda _: None)
    assert isinstance(reading, CsvReading)
    return reading


def table(path: Path, **params: object) -> pa.Table:
    reading = opened(path, **params)
    return pa.Table.from_batches(list(reading.batches()))


def saved(folder: Path, text: str | bytes) -> Path:
    path = folder / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rewritten(path: Path, target: Path, numeric: tuple[str, ...] = (), **params: object) -> bytes:
    reading = opened(path, **params)
    batches = list(reading.batches())
    names = batches[0].schema.names
    variables = tuple(Variable(name, "continuous" if name in numeric else "nominal") for name in names)
    CSV.write(target, batches, variables, reading.layout)
    return target.read_bytes()


@pytest.mark.parametrize("name", ["census.csv", "eia.csv", "tarragona.csv"])
def test_reference_files_are_written_as_they_were_read(
    name: str, reference_file: Callable[[str], Path], tmp_path: Path
) -> None:
    path = reference_file(name)
    with path.open(newline="") as file:
        expected = list(csv.DictReader(file))
    assert table(path).to_pylist() == expected
    assert rewritten(path, tmp_path / name) == path.read_bytes()


FORMS = {
    "comma": (b"a,b\n1,x\n2,\n", {}),
    "semicolon": (b"a;b\n1;x\n2;\n", {}),
    "tab": (b"a\tb\n1\tx\n2\t\n", {}),
    "bar": (b"a|b\n1|x\n2|\n", {}),
    "declared": (b"a:b\n1:x\n2:\n", {"delimiter": ":"}),
    "windows": (b"a,b\r\n1,x\r\n2,\r\n", {}),
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,x\n2,\n", {}),
    "UTF-16": ("a,b\n1,x\n2,\n".encode("utf-16"), {"encoding": "utf-16"}),
}


@pytest.mark.parametrize("name", FORMS)
def test_dialects_are_found_and_written_back(name: str, tmp_path: Path) -> None:
    raw, params = FORMS[name]
    path = saved(tmp_path, raw)
    assert table(path, **params).to_pylist() == [{"a": "1", "b": "x"}, {"a": "2", "b": ""}]
    assert rewritten(path, tmp_path / "out.csv", **params) == raw


def test_other_delimiters_inside_cells_do_not_mislead(tmp_path: Path) -> None:
    text = 'a;b\n"1;5";x,y\n2,5;"q""u, o"\n'
    path = saved(tmp_path, text)
    assert table(path).to_pylist() == [{"a": "1;5", "b": "x,y"}, {"a": "2,5", "b": 'q"u, o'}]
    assert rewritten(path, tmp_path / "out.csv") == text.encode()


def test_decimal_commas_become_points_and_commas_again(tmp_path: Path) -> None:
    text = "a;b\n1,50;x,5y\n-,5;1,2,3\n7;\n"
    path = saved(tmp_path, text)
    data = mw.read(path, decimal=",")
    np.testing.assert_array_equal(data["a"].values, [1.5, -0.5, 7])
    assert data["b"].variable.categories == ("1,2,3", "x,5y")
    CSV.write(tmp_path / "out.csv", published_batches(data, writes_text=True), data.variables, data.layout)
    assert (tmp_path / "out.csv").read_text() == text.replace("1,50", "1,5").replace("-,5", "-0,5")
    assert rewritten(path, tmp_path / "out.csv", ("a",), decimal=",") == text.encode()


def test_points_in_a_file_of_decimal_commas_are_not_guessed_at(tmp_path: Path) -> None:
    path = saved(tmp_path, "a;b\n" + "1,5;x\n" * 10 + "1.500;y\n")
    with pytest.raises(DataError, match=r"'a': 1 of 11 cells is not a number.*record 11, 1 of them with a point where"):
        mw.read(path, decimal=",")
    with pytest.raises(DataError, match=r"both to be ','(?s:.)*as the file has it"):
        table(path, decimal=",", delimiter=",")


def test_one_column_keeps_its_empty_cells(tmp_path: Path) -> None:
    path = saved(tmp_path, 'a\n1\n""\n3\n')
    assert table(path).to_pylist() == [{"a": "1"}, {"a": ""}, {"a": "3"}]
    assert rewritten(path, tmp_path / "out.csv") == b'a\n1\n""\n3\n'
    assert table(saved(tmp_path, "a\n1\n\n3\n")).num_rows == 3


def test_file_without_header_or_without_last_line_end(tmp_path: Path) -> None:
    path = saved(tmp_path, "1,x\n2,y")
    assert table(path, header=False).to_pylist() == [{"V1": "1", "V2": "x"}, {"V1": "2", "V2": "y"}]
    assert rewritten(path, tmp_path / "out.csv", header=False) == b"1,x\n2,y"


def test_blank_lines_between_rows_are_not_records(tmp_path: Path) -> None:
    assert table(saved(tmp_path, "a,b\n\n1,2\n\n\n3,4\n\n")).num_rows == 2


def test_header_alone_has_no_records(tmp_path: Path) -> None:
    assert list(opened(saved(tmp_path, "a,b\n")).batches()) == []
    assert list(opened(saved(tmp_path, "a,b")).batches()) == []


def test_cells_are_not_interpreted(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\nNA,nan\nnull, 7 \n1e3,\n")
    assert table(path).to_pylist() == [{"a": "NA", "b": "nan"}, {"a": "null", "b": " 7 "}, {"a": "1e3", "b": ""}]


LONG = "a,b\n" + "1,2\n" * 400_000
# bytes, options, message, line
REFUSED = {
    "too few": (b"a,b\n1,2\nsecret\n", {}, "record 2 has 1 cell, and 2 were expected", 3),
    "too many": (b"a,b\n1,2\n1,secret,3\n", {}, "record 2 has 3 cells", 3),
    "after a quoted line end": (b'a,b\n"1\n\n",2\nsecret\n', {}, "record 2 has 1 cell", 5),
    "far down": ((LONG + "secret\n").encode(), {}, "record 400001 has 1 cell", 400_002),
    "open quote": (b'a,b\n1,2\n3,"secret\n5,6\n', {}, "row that starts here", 3),
    "open quote at the end": (b'a,b\n1,2\n3,"secret', {}, "row that starts here", 3),
    "text after a quote": (b'a,b\n1,"2"secret"\n', {}, "row that starts here", 2),
    "not UTF-8": (b"a,b\n1,2\n1,secret\xe9\n", {}, "byte 17 of the file is not utf-8", 3),
    "not UTF-8, far down": (LONG.encode() + b"1,secret\xff\n", {}, f"byte {len(LONG) + 9} ", 400_002),
    "not UTF-8 in the header": (b"\xe9,b\n1,2\n", {}, "byte 1 of the file", 1),
    "cut in a character": (b"a,b\n1,\xc3", {}, "byte 7 of the file", 2),
    "not ASCII": ("a,b\n1,é\n".encode(), {"encoding": "ascii"}, "is not ascii", 2),
    "NUL": (b"a,b\n1,2\n1,\x00\n", {}, "NUL", 3),
    "UTF-16 undeclared": ("a,b\n1,2\n".encode("utf-16-le"), {}, "NUL", 1),
    "two names": (b"a,b,a\n1,2,3\n", {}, "names columns twice: a", 1),
    "no name": (b"a,,c\n1,2,3\n", {}, "column 2 has no name", 1),
    "no rows": (b"\n\n", {}, "no rows", 1),
    "empty": (b"", {}, "empty", None),
    "one mark": (b"\xef\xbb\xbf", {}, "no rows", 1),
}  # fmt: skip


@pytest.mark.parametrize("longest", [300_000, 3_000_000])
def test_a_header_of_any_length_is_read(longest: int, tmp_path: Path) -> None:
    names = [f"{'n' * (longest // 240)}_{column}" for column in range(240)]
    rows = [[str(100 * row + column) for column in range(240)] for row in range(30)]
    path = saved(tmp_path, "\n".join(";".join(row) for row in (names, *rows)) + "\n")
    found = table(path)
    assert found.column_names == names
    assert {field.type for field in found.schema} == {pa.string()}
    assert found.num_rows == 30
    assert rewritten(path, tmp_path / "out.csv") == path.read_bytes()


FIRST_ROWS = [
    "Geheim,34,52000",
    "Geheim,34,34",
    "Geheim,,52000",
    "Geheim,Berlin,1990-12-31",
    "Geheim,Berlin,31.12.1990",
    "Geheim,Berlin,NA",
    'Geheim,Berlin,"1,5"',
    "Geheim,Berlin,12:30",
    "Geheim,male,Berlin",
    "Geheim,male,Berlin,verweigert",
]


@pytest.mark.parametrize("first", FIRST_ROWS)
def test_a_first_row_that_may_be_a_record_is_refused_without_its_values(first: str, tmp_path: Path) -> None:
    is_wider = first.endswith("verweigert")
    more = [f",{number}" if is_wider else "" for number in (12, 30)]
    path = saved(tmp_path, f"{first}\nMeier,male,Bonn{more[0]}\nSchulz,female,Ulm{more[1]}\n")
    with pytest.raises(DataError, match="the first row may be a record, not names") as caught:
        table(path)
    assert not set(re.findall(r"\w{3,}", first)) & set(re.findall(r"\w{3,}", str(caught.value)))
    assert "`header: false`" in str(caught.value)
    assert table(path, header=False).column_names == ["V1", "V2", "V3", "V4"][: 3 + is_wider]


def test_a_name_that_is_a_value_of_its_column_is_one_beside_a_name_of_numbers(tmp_path: Path) -> None:
    path = saved(tmp_path, "urban,wages,hours\nrural,12,1\nurban,30,2\n")
    assert table(path).column_names == ["urban", "wages", "hours"]


def test_names_that_are_numbers_are_names_when_it_is_said(tmp_path: Path) -> None:
    path = saved(tmp_path, "region,2019,2020\nnorth,1,2\n")
    assert table(path, header=True).column_names == ["region", "2019", "2020"]
    written = CSV.format.params_of_written
    assert written is not None
    assert written(CSV.params()) == CSV.params(header=True)
    assert written(CSV.params(header=False)) == CSV.params(header=False)


def test_two_delimiters_that_fit_alike_are_not_guessed_at(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b;c\n1,2;3\n4,5;6\n")
    with pytest.raises(DataError, match="comma and semicolon cut all rows alike"):
        table(path)
    assert table(path, delimiter=";").column_names == ["a,b", "c"]
    assert table(saved(tmp_path, "a;b\n1,5;2\n"), decimal=",").column_names == ["a", "b"]


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_files_are_refused_with_a_line_and_no_values(name: str, tmp_path: Path) -> None:
    raw, params, message, line = REFUSED[name]
    path = saved(tmp_path, raw)
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        table(path, **params)
    place = caught.value.problems[0].place
    assert place is not None
    assert (place.file, place.line) == (str(path), line)
    assert "secret" not in str(caught.value)


def test_a_lone_quote_inside_a_cell_is_text(tmp_path: Path) -> None:
    assert table(saved(tmp_path, 'a,b\n5" pipe,2\n')).to_pylist() == [{"a": '5" pipe', "b": "2"}]


def test_without_quotes_a_cell_cannot_hold_the_delimiter(tmp_path: Path) -> None:
    reading = opened(saved(tmp_path, 'a,b\n"1,2"\n'), quote=None)
    batches = list(reading.batches())
    assert batches[0].to_pylist() == [{"a": '"1', "b": '2"'}]
    wrong = pa.record_batch([pa.array(["x,y"]), pa.array(["1"])], names=["a", "b"])
    with pytest.raises(DataError, match="hold the delimiter"):
        CSV.write(tmp_path / "o.csv", [wrong], (Variable("a", "nominal"), Variable("b")), reading.layout)


def test_encodings_write_what_they_can(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\né,1\n".encode("latin-1"))
    assert table(path, encoding="latin-1").to_pylist() == [{"a": "é", "b": "1"}]
    assert rewritten(path, tmp_path / "o.csv", encoding="latin-1") == path.read_bytes()
    batch = pa.record_batch([pa.array(["€"])], names=["a"])
    layout = opened(path, encoding="latin-1").layout
    with pytest.raises(DataError, match="iso8859-1 cannot write"):
        CSV.write(tmp_path / "o.csv", [batch], (Variable("a", "nominal"),), layout)
    with pytest.raises(ValidationError, match="no encoding of texts called 'utf-9'"):
        CSV.params(encoding="utf-9")


@pytest.mark.parametrize("name", ["cp850", "IBM850", "850", "cp437", "cp852", "cp500", "koi8-u", "mac-roman", "utf-7"])
def test_any_encoding_of_texts_is_read_and_written(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, "a,b\nx,1\ny,2\n".encode(name))
    assert table(path, encoding=name).to_pylist() == [{"a": "x", "b": "1"}, {"a": "y", "b": "2"}]
    assert rewritten(path, tmp_path / "o.csv", encoding=name) == path.read_bytes()


@pytest.mark.parametrize("name", ["cp851", "rot13", "base64", "idna", "unicode_escape", ""])
def test_what_is_no_encoding_of_texts_is_refused_with_the_list(name: str) -> None:
    for source in (CSV, FIXED_WIDTH):
        with pytest.raises(ValidationError, match=r"no encoding of texts called .* cp850, ") as raised:
            source.params(encoding=name)
        assert ("did you mean" in str(raised.value)) == (name == "cp851")


def test_dos_letters_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = saved(tmp_path, "town,b\nKöln,1\nMünchen,2\n".encode("cp850"))
    assert table(path, encoding="cp850")["town"].to_pylist() == ["Köln", "München"]
    assert rewritten(path, tmp_path / "o.csv", encoding="cp850") == path.read_bytes()


def test_full_disk_is_reported() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    with pytest.raises(DataError, match="No space left"):
        CSV.write(full, [pa.record_batch([pa.array(["1"])], names=["a"])], (Variable("a"),), Layout("csv"))


CELLS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=("Cs",)) | st.sampled_from(',;"\n\t| '),
    max_size=5,
)


@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8)
    ),
    delimiter=st.sampled_from(",;\t|"),
    terminator=st.sampled_from(["\n", "\r\n"]),
)
def test_any_table_survives_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str, terminator: str
) -> None:
    """Written by the standard library, read and written by us, read by the standard library."""
    folder = tmp_path_factory.mktemp("csv")
    names = [f"name {position}" for position in range(len(rows[0]))]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=terminator).writerows([names, *rows])
    path = saved(folder, text.getvalue())
    expected = [dict(zip(names, row, strict=True)) for row in rows]
    assert table(path, delimiter=delimiter).to_pylist() == expected
    again = rewritten(path, folder / "out.csv", delimiter=delimiter).decode()
    assert list(csv.reader(io.StringIO(again, newline=""), delimiter=delimiter)) == [names, *rows]


@pytest.mark.parametrize("wrong", ["", "1,2,3\n"])
def test_a_file_left_half_read_is_not_read_on_in_the_background(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    running: list[int] = []
    take = Utf8Text._next

    def slowly(self: Utf8Text, size: int) -> bytes:
        calls.append(size)
        running.append(size)
        time.sleep(0.02)
        found = take(self, size)
        running.pop()
        return found

    monkeypatch.setattr(Utf8Text, "_next", slowly)
    monkeypatch.setattr(maskwright_builtin.sources.csv.source, "BLOCK", 400)
    batches = iter(opened(saved(tmp_path, "a,b\n" + "1,2\n" * 1000 + wrong + "1,2\n" * 4000)).batches())
    if wrong:
        with pytest.raises(DataError, match="3 cells"):
            list(batches)
    else:
        next(batches)
        batches.close()  # type: ignore[attr-defined]
    assert not running
    made = len(calls)
    time.sleep(0.1)
    assert len(calls) == made < 60


@pytest.mark.parametrize("shift", range(9))
def test_quotes_that_begin_with_a_later_piece_of_the_file(tmp_path, monkeypatch, shift: int) -> None:
    """Whether one opens there depends on the end of a piece that had none: a cell begins, or is in the middle."""
    monkeypatch.setattr(maskwright_builtin.sources.csv.source, "BLOCK", 400)
    text = f"a,{'b' * (shift + 1)}\n" + "p,q\n" * 98 + '"x, y","z, w"\n' * 3
    found = pa.Table.from_batches(list(opened(saved(tmp_path, text)).batches()))
    rows = list(csv.reader(text.splitlines()))
    assert [list(each.values()) for each in found.to_pylist()] == rows[1:]


LEFT_HALF_READ = """
import sys, time
from pathlib import Path
import maskwright_builtin.sources.csv.source as csv
take = csv.Utf8Text._next
def slowly(self, size):
    time.sleep(0.05)
    return take(self, size)
csv.Utf8Text._next = slowly
csv.BLOCK = 2000
batches = csv.CSV.open(Path(sys.argv[1]), csv.CSV.params(), lambda _: None).batches()
print(next(batches).num_rows)
batches.close()
"""


def test_a_process_that_leaves_a_file_half_read_ends_well(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,b\n" + "1,2\n" * 9000)
    done = subprocess.run([sys.executable, "-c", LEFT_HALF_READ, str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_was_read_is_let_go_of(tmp_path: Path) -> None:
    reading = opened(saved(tmp_path, "a,b\n1,2\n"))
    assert len(list(reading.batches())) == 1
    alive = weakref.ref(reading)
    del reading
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-15", "cp850", "shift_jis", "utf-16", "utf-8"])
def test_encodings_whose_text_is_longer_in_utf8_are_read_at_any_length(encoding: str, tmp_path: Path) -> None:
    town = "東京の町" if encoding == "shift_jis" else "Zürich Höngg"
    towns = [f"{town}{number}" for number in range(150_000)]
    text = "ort;wert\n" + "".join(f"{each};12,5\n" for each in towns)
    found = table(saved(tmp_path, text.encode(encoding)), encoding=encoding)
    assert found["ort"].to_pylist() == towns
    assert set(found["wert"].to_pylist()) == {"12,5"}


def test_a_declared_delimiter_that_cuts_nothing_is_refused_where_another_cuts_all_rows_alike(tmp_path: Path) -> None:
    path = saved(tmp_path, "name,age\na,1\nb,2\n")
    with pytest.raises(DataError, match=r"declared to be ';', which cuts no row.*\n.*The comma cuts each row into 2"):
        opened(path, delimiter=";")
    assert table(saved(tmp_path, '"name, first"\n"a, b"\n"c, d"\n'), delimiter=";").num_columns == 1
    assert table(saved(tmp_path, "name\na, b\nc, d\n"), delimiter=";").num_columns == 1


def test_a_file_of_bytes_that_are_no_text_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the file is no text"):
        opened(saved(tmp_path, bytes(range(256)) * 4))
