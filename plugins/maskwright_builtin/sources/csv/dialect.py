"""The dialect of a CSV file: what separates cells, and what the header says."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, field_validator

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.files import reading

if TYPE_CHECKING:
    from pathlib import Path

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE = 1 << 18
LONGEST_SAMPLE = 1 << 26
SAMPLE_ROWS = 100
NO_NAME = re.compile(
    r"\s*(?:[-+\u2212]?(?:[0-9][0-9., '’\u00a0\u202f]*(?:[eE][-+]?[0-9]+)?|[.,][0-9]+)\s*[%€$£]?"  # a number
    r"|[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[ T][0-9:.]+Z?)?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"  # date, time
    r"|NA|N/A|n/a|NaN|NULL|null|\.+|-+|\?)\s*"
)
"""What a value is and hardly a name: its whole text."""
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class CsvParams(BaseModel, extra="forbid", frozen=True):
    """Options of CSV files in the pipeline's ``data:`` section."""

    delimiter: str | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="Character between cells. Left out: the one of , ; tab | that cuts all rows alike.",
    )
    encoding: str = Field("utf-8", description="Character encoding (default utf-8; a byte order mark is recognised).")
    quote: str | None = Field(
        '"',
        min_length=1,
        max_length=1,
        description='Character around cells that hold a delimiter (default "); null for none.',
    )
    decimal: str = Field(".", pattern=r"^[.,]$", description="Decimal mark of numbers: '.' (default) or ','.")
    header: bool | None = Field(
        None,
        description="Whether the first row holds names; without it variables are V1, V2, ... Left out: it does, and a "
        "row that may be a record (it has numbers, dates, or values of its columns) is refused.",
    )
    max_file_size: int | None = Field(
        None, ge=1, description="Largest file accepted, in bytes; of a compressed file, unpacked. Left out: no limit."
    )

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            return codecs.lookup(value).name
        except LookupError:
            raise ValueError(f"no encoding called {value!r}; for instance utf-8, latin-1, cp1252, utf-16") from None


@dataclass(frozen=True)
class CsvDialect:
    r"""How a CSV file is written.

    Attributes
    ----------
    delimiter : str
    quote : str or None
    decimal : str
    encoding : str
        Python's name of it, without the byte order mark.
    bom : bytes
        The byte order mark the file starts with.
    line_end : str
        ``"\n"`` or ``"\r\n"``.
    header : bool
    """

    delimiter: str
    quote: str | None
    decimal: str
    encoding: str
    bom: bytes
    line_end: str
    header: bool

    def rows(self, text: io.TextIOBase) -> csv_reader:
        """Rows of a text in this dialect, by the standard library's reader (slow; for the header and for errors)."""
        return _reader(text, self.delimiter, self.quote)


# The type of csv.reader has no public name before Python 3.13.
csv_reader = Iterator[list[str]]


def _reader(text: io.TextIOBase, delimiter: str, quote: str | None) -> csv_reader:
    if quote is None:
        return csv.reader(text, delimiter=delimiter, quotechar=None, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(text, delimiter=delimiter, quotechar=quote, quoting=csv.QUOTE_MINIMAL, strict=True)


def find_dialect(path: Path, params: CsvParams) -> tuple[CsvDialect, tuple[str, ...]]:
    """Dialect of a file, and the names of its columns.

    Raises
    ------
    DataError
        No header, or one that may be a record; a name missing or used twice; two delimiters that fit alike; text that
        is not in the declared encoding.
    """
    with reading(path) as file:
        raw = file.read(SAMPLE)
        while True:
            ahead = file.read(1)
            sample, dialect = _dialect_of(raw, path, params, complete=not ahead)
            rows = _first_rows(sample, dialect, path, complete=not ahead)
            if rows is not None:
                return dialect, _names(path, rows, dialect, params)
            if len(raw) > LONGEST_SAMPLE:
                hint = "A quote that is never closed makes one row of many."
                raise DataError(
                    Problem(f"the first row has more than {LONGEST_SAMPLE} bytes", Place(str(path), 1), hint)
                )
            raw += ahead + file.read(len(raw))


def _dialect_of(raw: bytes, path: Path, params: CsvParams, *, complete: bool) -> tuple[str, CsvDialect]:
    encoding, bom = params.encoding, b""
    for mark, marked in BYTE_ORDER_MARKS.items():
        if raw.startswith(mark) and codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "utf-16"):
            encoding, bom = marked, mark
    sample = _decoded(raw[len(bom) :], encoding, path, complete=complete)
    delimiter = params.delimiter or _sniffed(sample, params, path, complete=complete)
    line_end = "\r\n" if "\r\n" in sample else "\n"
    header = params.header is not False
    if params.decimal == delimiter:
        raise DataError(Problem(f"the decimal mark and the delimiter are both {delimiter!r}", Place(str(path))))
    return sample, CsvDialect(delimiter, params.quote, params.decimal, encoding, bom, line_end, header)


def _first_rows(sample: str, dialect: CsvDialect, path: Path, *, complete: bool) -> list[list[str]] | None:
    """Rows at the beginning; None where the sample ends within the first of them."""
    text = io.StringIO(sample, newline="")
    found: list[list[str]] = []
    try:
        for row in dialect.rows(text):
            if not complete and text.tell() == len(sample):
                break
            if row:
                found.append(row)
            if len(found) > SAMPLE_ROWS:
                break
    except csv.Error as error:
        if not found and not complete and text.tell() == len(sample):
            return None
        if not found:
            raise DataError(Problem(f"the first row cannot be read: {error}", Place(str(path), 1))) from None
    return found if found or complete else None


def _decoded(raw: bytes, encoding: str, path: Path, *, complete: bool) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(raw, final=complete)
    except UnicodeDecodeError as error:
        # The whole file is decoded again by the reader, which gives the exact place.
        text = raw[: error.start].decode(encoding, errors="ignore")
        if not text:
            raise undecodable(path, encoding, error.start, 1) from None
    return text


def undecodable(path: Path, encoding: str, byte: int, line: int) -> DataError:
    """Error for a byte that is no text in the declared encoding.

    Parameters
    ----------
    path : Path
    encoding : str
    byte : int
        0-based, from the beginning of the file.
    line : int
        1-based.
    """
    hint = "Name it: `encoding: latin-1` (or cp1252, ...) in the pipeline's data section, or --encoding latin-1."
    return DataError(Problem(f"byte {byte + 1} of the file is not {encoding} text", Place(str(path), line), hint))


def _sniffed(sample: str, params: CsvParams, path: Path, *, complete: bool) -> str:
    """Delimiter that cuts every row of the sample into the same number of cells."""
    widths: dict[str, int] = {}
    in_header: dict[str, int] = {}
    for delimiter in DELIMITERS:
        if delimiter == params.decimal:
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


def _names(path: Path, rows: list[list[str]], dialect: CsvDialect, params: CsvParams) -> tuple[str, ...]:
    place = Place(str(path), 1)
    if not rows:
        raise DataError(Problem("the file has no rows", place))
    first = rows[0]
    if not dialect.header:
        return tuple(f"V{position}" for position in range(1, len(first) + 1))
    if params.header is None:
        _refuse_record(place, first, rows[1:])
    nameless = [position for position, name in enumerate(first, 1) if not name.strip()]
    if nameless:
        hint = "Name every column in the first row, or declare `header: false`."
        raise DataError(Problem(f"column {nameless[0]} has no name in the header", place, hint))
    twice = sorted({name for name in first if first.count(name) > 1})
    if twice:
        hint = "Every column needs a name of its own; declare `header: false` if the first row is a record."
        raise DataError(Problem(f"the header names columns twice: {', '.join(twice[:5])}", place, hint))
    return tuple(first)


def _refuse_record(place: Place, first: list[str], rows: list[list[str]]) -> None:
    """Refuse a first row that may be a record: every later message and the record of a run would quote its values."""
    values = sum(NO_NAME.fullmatch(name) is not None for name in first)
    again = sum(
        bool(name.strip()) and any(position < len(row) and row[position] == name for row in rows)
        for position, name in enumerate(first)
    )
    found = [f"{values} of its {len(first)} cells are numbers, dates or missing codes"] if values else []
    found += [f"{again} of its {len(first)} cells occur again below"] if again else []
    if found:
        hint = (
            "Put a row with the names of the variables first, or declare `header: false` (variables are then V1, V2, "
            "...); `header: true` if these are the names."
        )
        raise DataError(Problem(f"the first row may be a record, not names: {', and '.join(found)}", place, hint))
