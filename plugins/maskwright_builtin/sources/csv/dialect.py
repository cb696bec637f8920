"""The dialect of a CSV file: separators, quotes, and the header with its names."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, field_validator, model_validator

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.file_kinds import BEGINNING, COPY, is_text
from maskwright_builtin.sources.files import reading, text_encoding

if TYPE_CHECKING:
    from _csv import Reader as CsvReader
    from pathlib import Path


DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE = 1 << 18
LONGEST_SAMPLE = 1 << 26
SAMPLE_ROWS = 100
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
MAY_BE_MARKED = ("utf-8", "utf-8-sig", "utf-16", "utf-32")
THOUSANDS = ".,' ’\u00a0\u2009\u202f"
LONGEST_CELL = 2**31 - 1
"""Characters of a cell that the standard library's reader may find: as many as it can."""


class CsvParams(BaseModel, extra="forbid", frozen=True):
    """Options of CSV files in the pipeline's ``data:`` section."""

    delimiter: str | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="Character between cells. Left out: the one of , ; tab | that cuts all rows alike.",
    )
    encoding: str = Field(
        "utf-8",
        description="Character encoding (default utf-8; a byte order mark is recognised): any of texts that Python "
        "knows, as latin-1, cp1252, cp850 (DOS).",
    )
    quote: str | None = Field(
        '"',
        min_length=1,
        max_length=1,
        description='Character around cells that hold a delimiter (default "); null for none.',
    )
    decimal: str | None = Field(
        None, pattern=r"^[.,]$", description="Decimal mark of numbers. Left out: '.', or ',' where `thousands` is '.'."
    )
    thousands: str | None = Field(
        None,
        description="Mark between groups of three digits: . , ' or a space (also a no-break one). Left out: none, and "
        "numbers that have one are text.",
    )
    header: bool | None = Field(
        None,
        description="Whether the first row holds names; without it variables are V1, V2, ... Left out: it does, and a "
        "row that may be a record (it has numbers, dates, or values of its columns) is refused.",
    )
    max_file_size: int | None = Field(
        None, ge=1, description="Largest file accepted, in bytes; of a compressed file, unpacked. Left out: no limit."
    )

    @field_validator("delimiter", "quote")
    @classmethod
    def _is_plain(cls, value: str | None) -> str | None:
        if value is not None and (not value.isascii() or value in "\r\n\0"):
            raise ValueError("one ASCII character was expected, and no line end")
        return value

    @field_validator("thousands")
    @classmethod
    def _is_between_thousands(cls, value: str | None) -> str | None:
        if value is not None and (len(value) != 1 or value not in THOUSANDS):
            raise ValueError("one of . , ' or a space was expected between thousands")
        return value

    @model_validator(mode="after")
    def _are_different(self) -> CsvParams:
        if self.thousands is not None and self.thousands == self.decimal:
            raise ValueError("the decimal mark and the mark between thousands are the same")
        if self.quote is not None and self.quote == self.delimiter:
            raise ValueError("the quote and the delimiter are the same")
        return self

    @property
    def decimal_mark(self) -> str:
        """The decimal mark, declared or not."""
        return self.decimal or ("," if self.thousands == "." else ".")

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return text_encoding(value)


@dataclass(frozen=True)
class CsvDialect:
    """How a CSV file is written; `encoding` is Python's name of it, `bom` the byte order mark before the text."""

    delimiter: str = ","
    quote: str | None = '"'
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    bom: bytes = b""
    line_end: str = "\n"
    header: bool = True

    def rows(self, text: io.TextIOBase) -> CsvReader:
        """Rows of a text in this dialect, by the standard library's reader (slow; for the header and for errors)."""
        return _reader(text, self.delimiter, self.quote)


def _reader(text: io.TextIOBase, delimiter: str, quote: str | None) -> CsvReader:
    if quote is None:
        return csv.reader(text, delimiter=delimiter, quotechar=None, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(text, delimiter=delimiter, quotechar=quote, quoting=csv.QUOTE_MINIMAL, strict=True)


@dataclass(frozen=True)
class Beginning:
    """First rows of a CSV file, without empty lines; `first`: the first as written, empty lines before it included."""

    dialect: CsvDialect
    rows: list[list[str]]
    first: str


def find_dialect(path: Path, params: CsvParams) -> Beginning:
    """Dialect of a file, and its first rows."""
    csv.field_size_limit(LONGEST_CELL)
    with reading(path) as file:
        raw = file.read(SAMPLE)
        while True:
            ahead = file.read(1)
            sample, dialect = _dialect_of(raw, path, params, complete=not ahead)
            beginning = _beginning(sample, dialect, path, complete=not ahead)
            if beginning is not None:
                if params.delimiter is not None and len(beginning.rows[0]) == 1:
                    _refuse_uncut(sample, params, path, complete=not ahead)
                return beginning
            if len(raw) > LONGEST_SAMPLE:
                hint = "A quote that is never closed makes one row of many."
                raise DataError(
                    Problem(f"the first row has more than {LONGEST_SAMPLE} bytes", Place(str(path), 1), hint)
                )
            raw += ahead + file.read(len(raw))


def _dialect_of(raw: bytes, path: Path, params: CsvParams, *, complete: bool) -> tuple[str, CsvDialect]:
    encoding, bom = params.encoding, b""
    for mark, marked in BYTE_ORDER_MARKS.items():
        if not bom and raw.startswith(mark) and encoding in MAY_BE_MARKED:
            encoding, bom = marked, mark
    if encoding in ("utf-16", "utf-32"):
        # Python would write a byte order mark with these, and the file has none.
        encoding += "-le" if sys.byteorder == "little" else "-be"
    sample = _decoded(raw[len(bom) :], encoding, path, complete=complete)
    delimiter = params.delimiter or _sniffed(sample, params, path, complete=complete)
    decimal = params.decimal_mark
    if decimal == delimiter:
        message = f"the decimal mark and the delimiter are declared both to be {delimiter!r}"
        raise DataError(
            Problem(message, Place(str(path), 1), _other_delimiter(sample, params, path, complete=complete))
        )
    header = params.header is not False
    return sample, CsvDialect(delimiter, params.quote, decimal, params.thousands, encoding, bom, header=header)


def _beginning(sample: str, dialect: CsvDialect, path: Path, *, complete: bool) -> Beginning | None:
    """Rows at the beginning; None where the sample ends within the first of them."""
    text = io.StringIO(sample, newline="")
    found: list[list[str]] = []
    first = ""
    try:
        for row in dialect.rows(text):
            if not complete and text.tell() == len(sample):
                break
            if row:
                first = first or sample[: text.tell()]
                found.append(row)
            if len(found) > SAMPLE_ROWS:
                break
    except csv.Error as error:
        if not found and not complete and text.tell() == len(sample):
            return None
        if not found:
            raise DataError(Problem(f"the first row cannot be read: {error}", Place(str(path), 1))) from None
    if not found and not complete:
        return None
    if not found:
        raise DataError(Problem("the file has no rows", Place(str(path), 1)))
    line_end = next((end for end in ("\r\n", "\n", "\r") if first.endswith(end)), "\n")
    return Beginning(replace(dialect, line_end=line_end), found, first)


def _decoded(raw: bytes, encoding: str, path: Path, *, complete: bool) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(raw, final=complete)
    except UnicodeDecodeError as error:
        if not encoding.startswith(("utf-16", "utf-32")) and not is_text(raw[:BEGINNING]):
            no_text = Problem("the file is no text: it begins with other bytes", Place(str(path)), COPY)
            raise DataError(no_text) from None
        # The whole file is decoded again by the reader, which gives the exact place.
        text = raw[: error.start].decode(encoding, errors="ignore")
        if not text:
            raise undecodable(path, encoding, error.start, 1) from None
    return text


def undecodable(path: Path, encoding: str, byte: int, line: int) -> DataError:
    """Error for a byte that is no text in the declared encoding."""
    hint = "Name it: `encoding: latin-1` (or cp1252, ...) in the pipeline's data section, or --encoding latin-1."
    return DataError(Problem(f"byte {byte + 1} of the file is not {encoding} text", Place(str(path), line), hint))


def _sniffed(sample: str, params: CsvParams, path: Path, *, complete: bool) -> str:
    """Delimiter that cuts every row of the sample into the same number of cells."""
    widths: dict[str, int] = {}
    in_header: dict[str, int] = {}
    for delimiter in DELIMITERS:
        if delimiter == params.decimal_mark:
            continue
        lengths = _lengths(sample, delimiter, params.quote, complete=complete)
        in_header[delimiter] = lengths[0] if lengths else 0
        if len(set(lengths)) == 1:
            widths[delimiter] = lengths[0]
    fitting = [delimiter for delimiter, width in widths.items() if width > 1]
    if len(fitting) > 1:
        message = (
            f"{' and '.join(DELIMITERS[each] for each in fitting)} cut all rows alike: either may be the delimiter"
        )
        hint = 'Name it: `delimiter: ";"` in the pipeline\'s data section, or --delimiter.'
        raise DataError(Problem(message, Place(str(path)), hint))
    candidates = widths if fitting else in_header
    return max(candidates, key=lambda delimiter: candidates[delimiter], default=",")


def _other_delimiter(sample: str, params: CsvParams, path: Path, *, complete: bool) -> str:
    """What to say instead of a delimiter that is the decimal mark."""
    advice = (
        "Say `delimiter` or `decimal` in the pipeline's data section, or --delimiter or --decimal, as the file has it"
    )
    try:
        seen = _sniffed(sample, params, path, complete=complete)
    except DataError:
        return f"{advice}."
    cut = max(_lengths(sample, seen, params.quote, complete=complete), default=0) > 1
    return f"{advice}: its rows look cut by the {DELIMITERS[seen]}." if cut else f"{advice}."


def _refuse_uncut(sample: str, params: CsvParams, path: Path, *, complete: bool) -> None:
    """Refuse a declared delimiter that cuts nothing where another cuts the header and all rows alike."""
    for other, called in DELIMITERS.items():
        lengths = set(_lengths(sample, other, params.quote, complete=complete))
        if len(lengths) == 1 and (cells := lengths.pop()) > 1 and other != params.decimal_mark:
            message = f"the delimiter is declared to be {params.delimiter!r}, which cuts no row: all are one cell"
            hint = (
                f"The {called} cuts each row into {cells}: say that it is the delimiter, or leave "
                "`delimiter` out. If there is one column, its texts have quotes around them."
            )
            raise DataError(Problem(message, Place(str(path), 1), hint))


def _lengths(sample: str, delimiter: str, quote: str | None, *, complete: bool) -> list[int]:
    lengths = []
    rows = _reader(io.StringIO(sample, newline=""), delimiter, quote)
    try:
        for row in rows:
            if row:
                lengths.append(len(row))
            if len(lengths) > SAMPLE_ROWS:
                break
    except csv.Error:
        # A quote in the wrong place for this delimiter: it is judged by the rows before it.
        return lengths
    # The last row of a sample that was cut off is not whole.
    return lengths if complete or len(lengths) > SAMPLE_ROWS or len(lengths) < 2 else lengths[:-1]


NO_NAME = re.compile(
    r"\s*(?:[-+\u2212]?(?:[0-9][0-9., '’\u00a0\u202f]*(?:[eE][-+]?[0-9]+)?|[.,][0-9]+)\s*[%€$£]?"  # a number
    r"|[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[ T][0-9:.]+Z?)?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"  # date, time
    r"|NA|N/A|n/a|NaN|NULL|null|\.+|-+|\?)\s*"
)
"""What a value is and hardly a name: its whole text."""


def column_names(path: Path, beginning: Beginning, params: CsvParams) -> tuple[str, ...]:
    """Names of the columns of a file."""
    before = len(beginning.first) - len(beginning.first.lstrip("\r\n"))
    place = Place(str(path), 1 + len(beginning.first[:before].splitlines()))
    first = beginning.rows[0]
    if not beginning.dialect.header:
        return tuple(f"V{position}" for position in range(1, len(first) + 1))
    if params.header is None:
        _refuse_record(place, first, beginning.rows[1:])
    nameless = [position for position, name in enumerate(first, 1) if not name.strip()]
    if nameless:
        hint = "Name every column in the first row, or declare `header: false`."
        raise DataError(Problem(f"column {nameless[0]} has no name in the header", place, hint))
    twice = sorted({name for name in first if first.count(name) > 1})
    if twice:
        hint = "Every column needs a name of its own; declare `header: false` if the first row is a record."
        raise DataError(Problem(f"the header names columns twice: {', '.join(twice[:5])}", place, hint))
    _refuse_similar(place, first)
    return tuple(first)


def _refuse_similar(place: Place, names: list[str]) -> None:
    """Refuse names that people, and many programs, take for one."""
    seen: dict[str, str] = {}
    for name in names:
        same = " ".join(unicodedata.normalize("NFC", name).casefold().split())
        if same in seen:
            message = f"the header has two names that are easily taken for one: {seen[same]!a} and {name!a}"
            hint = "Rename one: they differ in capital letters, white space, or the Unicode form of a letter only."
            raise DataError(Problem(message, place, hint))
        seen[same] = name


def written_names(first: str, dialect: CsvDialect) -> tuple[str, ...]:
    """Cells of the first row exactly as they are written, quotes included."""
    row = first.strip("\r\n")
    if dialect.quote is None or dialect.quote not in row:
        return tuple(row.split(dialect.delimiter))
    quote, delimiter = re.escape(dialect.quote), re.escape(dialect.delimiter)
    cell = rf"((?:{quote}(?:[^{quote}]|{quote}{quote})*{quote})|[^{delimiter}]*)(?:{delimiter}|$)"
    # No name is empty, and the last match is: the end of the row.
    return tuple(match[1] for match in re.finditer(cell, row))[:-1]


def _refuse_record(place: Place, first: list[str], rows: list[list[str]]) -> None:
    """Refuse a first row that may be a record: every later message and the record of a run would quote its values.

    A word above a column of numbers is a name: where there are more of them than words that are values of their column
    too, as urban is, these say nothing.
    """
    values = sum(NO_NAME.fullmatch(name) is not None for name in first)
    again = sum(
        bool(name.strip()) and any(position < len(row) and row[position] == name for row in rows)
        for position, name in enumerate(first)
    )
    names = sum(bool(name.strip()) and _are_numbers(rows, position) for position, name in enumerate(first))
    if not values and names > again:
        return
    found = [f"{values} of its {len(first)} cells are numbers, dates or missing codes"] if values else []
    found += [f"{again} of its {len(first)} cells occur again below"] if again else []
    if found:
        hint = (
            "Put a row with the names of the variables first, or declare `header: false` (variables are then V1, V2, "
            "...); `header: true` if these are the names."
        )
        raise DataError(Problem(f"the first row may be a record, not names: {', and '.join(found)}", place, hint))


def _are_numbers(rows: list[list[str]], position: int) -> bool:
    cells = [row[position] for row in rows if position < len(row) and row[position].strip()]
    digits = sum(any(character.isdigit() for character in cell) for cell in cells)
    return digits > 1 and all(NO_NAME.fullmatch(cell) for cell in cells)
