"""The text of a CSV file as UTF-8, checked on the way, and a diagnosis when rows do not fit."""

from __future__ import annotations

import codecs
import csv
import io
import threading
from typing import TYPE_CHECKING, BinaryIO

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.csv.dialect import CsvDialect, undecodable
from maskwright_builtin.sources.files import reading

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_builtin.sources.xml.parser import ByteProgress


class Utf8Text(io.RawIOBase):
    """A file in any encoding, read as UTF-8 without byte order mark; `problem` holds what is wrong with it."""

    def __init__(self, file: BinaryIO, path: Path, dialect: CsvDialect, progress: ByteProgress) -> None:
        super().__init__()
        self.problem: DataError | None = None
        self.quotes = 0
        self._file = file
        self._path = path
        self._dialect = dialect
        self._progress = progress
        self._decoder = codecs.getincrementaldecoder(dialect.encoding)()
        self._done = len(dialect.bom)
        self._lines = 1
        self._last = ""
        self._ended = False
        self._reading = threading.Lock()
        self._file.seek(self._done)

    def readable(self) -> bool:
        """Say that this is a file to read."""
        return True

    def end(self) -> None:
        """Read no more: wait for the piece that another thread is reading; whoever still asks is at the end."""
        with self._reading:
            self._ended = True

    def read(self, size: int = -1, /) -> bytes:
        """Next piece of text, in UTF-8; empty at the end of the file."""
        with self._reading:
            return b"" if self._ended else self._next(size)

    def _next(self, size: int) -> bytes:
        while True:
            raw = self._file.read(size)
            try:
                text = self._decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                lines = self._lines + error.object[: error.start].count(b"\n")
                # The decoder may hold the first bytes of a character from the piece before.
                byte = self._done + len(raw) - len(error.object) + error.start
                self.problem = undecodable(self._path, self._dialect.encoding, byte, lines)
                raise self.problem from None
            if "\0" in text:
                line = self._lines + text[: text.index("\0")].count("\n")
                hint = "It may be UTF-16 (declare `encoding: utf-16`), or not a text file."
                self.problem = DataError(Problem("the file has NUL characters", Place(str(self._path), line), hint))
                raise self.problem
            self._done += len(raw)
            self._lines += text.count("\n")
            if self._dialect.quote is not None:
                self.quotes += text.count(self._dialect.quote)
            self._progress(self._done)
            last = text[-1:] or self._last
            if 0 <= len(raw) < size and last not in ("", "\n"):
                # Arrow takes a header without a line end for no header at all.
                text += "\n"
            if text or not raw:
                self._last = text[-1:] or self._last
                return text.encode()


def wrong_row(path: Path, dialect: CsvDialect, width: int) -> DataError | None:
    """Find the first row that does not fit, with its line; None when the standard library's reader finds none.

    Parameters
    ----------
    path : Path
    dialect : CsvDialect
    width : int
        Cells of the header.
    """
    row_number = line = 0
    with reading(path) as file:
        file.seek(len(dialect.bom))
        with io.TextIOWrapper(file, encoding=dialect.encoding, newline="") as text:
            rows = csv.reader(
                text,
                delimiter=dialect.delimiter,
                quotechar=dialect.quote,
                quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
                strict=True,
            )
            try:
                for row in rows:
                    if row:
                        row_number += 1
                        if len(row) != width:
                            return _ragged(path, line + 1, row_number - dialect.header, len(row), width)
                    line = rows.line_num
            except csv.Error as error:
                place = Place(str(path), line + 1)
                hint = "A quote that is opened must be closed, and a quote inside a quoted cell is written twice."
                return DataError(Problem(f"the row that starts here cannot be read: {error}", place, hint))
            except UnicodeDecodeError:
                return None
    return None


def _ragged(path: Path, line: int, record: int, cells: int, width: int) -> DataError:
    return DataError(
        Problem(
            f"record {record} has {cells} cell{'' if cells == 1 else 's'}, and {width} were expected",
            Place(str(path), line),
            "Every row needs as many cells as the header; a cell that holds the delimiter must be quoted.",
        )
    )
