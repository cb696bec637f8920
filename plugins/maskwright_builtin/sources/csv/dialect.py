"""The dialect of a CSV file: what separates cells, and what the header says."""

from __future__ import annotations

import codecs
import csv
import io
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
SAMPLE_ROWS = 100
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
    header: bool = Field(True, description="Whether the first row holds names; without it variables are V1, V2, ...")

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
        No header, a name missing or used twice, text that is not in the declared encoding.
    """
    with reading(path) as file:
        raw = file.read(SAMPLE)
        complete = not file.read(1)
    encoding, bom = params.encoding, b""
    for mark, marked in BYTE_ORDER_MARKS.items():
        if raw.startswith(mark) and codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "utf-16"):
            encoding, bom = marked, mark
    sample = _decoded(raw[len(bom) :], encoding, path, complete=complete)
    delimiter = params.delimiter or _sniffed(sample, params, complete=complete)
    line_end = "\r\n" if "\r\n" in sample else "\n"
    dialect = CsvDialect(delimiter, params.quote, params.decimal, encoding, bom, line_end, params.header)
    if params.decimal == delimiter:
        raise DataError(Problem(f"the decimal mark and the delimiter are both {delimiter!r}", Place(str(path))))
    return dialect, _names(path, sample, dialect)


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


def _sniffed(sample: str, params: CsvParams, *, complete: bool) -> str:
    """Delimiter that cuts every row of the sample into the same number of cells, and into the most."""
    widths: dict[str, int] = {}
    in_header: dict[str, int] = {}
    for delimiter in DELIMITERS:
        if delimiter == params.decimal:
            continue
        lengths = _lengths(sample, delimiter, params.quote, complete=complete)
        in_header[delimiter] = lengths[0] if lengths else 0
        if len(set(lengths)) == 1:
            widths[delimiter] = lengths[0]
    candidates = widths if max(widths.values(), default=0) > 1 else in_header
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


def _names(path: Path, sample: str, dialect: CsvDialect) -> tuple[str, ...]:
    place = Place(str(path), 1)
    try:
        first = next((row for row in dialect.rows(io.StringIO(sample, newline="")) if row), None)
    except csv.Error as error:
        raise DataError(Problem(f"the first row cannot be read: {error}", place)) from None
    if first is None:
        raise DataError(Problem("the file has no rows", place))
    if not dialect.header:
        return tuple(f"V{position}" for position in range(1, len(first) + 1))
    nameless = [position for position, name in enumerate(first, 1) if not name.strip()]
    if nameless:
        hint = "Name every column in the first row, or declare `header: false`."
        raise DataError(Problem(f"column {nameless[0]} has no name in the header", place, hint))
    twice = sorted({name for name in first if first.count(name) > 1})
    if twice:
        hint = "Every column needs a name of its own; declare `header: false` if the first row is a record."
        raise DataError(Problem(f"the header names columns twice: {', '.join(twice[:5])}", place, hint))
    return tuple(first)
