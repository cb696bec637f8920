"""The text of a CSV file: decoding, malformed rows, and the quotes of each column."""

from __future__ import annotations

import codecs
import csv
import io
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Place, Problem, WrittenBatch
from maskwright_builtin.sources.csv.dialect import LONGEST_CELL, CsvDialect, undecodable
from maskwright_builtin.sources.csv.quote_marks import (
    BARE,
    CARRIAGE_RETURN_MARK,
    CLOSED,
    DELIMITER_MARK,
    IS_BARE,
    IS_QUOTED,
    LINE_FEED_MARK,
    QUOTED,
    START,
)
from maskwright_builtin.sources.files import BLOCK, reading

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright_builtin.sources.xml.parser import ByteProgress


LINE_ENDS = b"\r\n"


class Utf8Text(io.RawIOBase):
    """The records of a file in any encoding, read as UTF-8, with `mark_quoted` marks inside quotes.

    `rows`: line ends outside quotes so far; `mixed`: whether lines end otherwise than the first row does.
    """

    def __init__(
        self, file: BinaryIO, path: Path, dialect: CsvDialect, progress: ByteProgress, before: str = ""
    ) -> None:
        """Start behind the byte order mark and the text `before` the first record."""
        super().__init__()
        self.problem: DataError | None = None
        self.is_quoted = False
        self.is_empty = True
        self.rows = 0
        self.mixed = False
        self._tail = b""
        self._file = file
        self._path = path
        self._dialect = dialect
        self._progress = progress
        self._decoder = codecs.getincrementaldecoder(dialect.encoding)()
        self._done = len(dialect.bom)
        self._lines = 1
        self._skipped = len(before)
        self._place = 0
        self._left = memoryview(b"")
        self._ended = False
        self._reading = threading.Lock()
        self._file.seek(self._done)

    @property
    def ending(self) -> str:
        """Line ends behind the last record so far."""
        return self._tail.decode()

    def readable(self) -> bool:
        """Say that this is a file to read."""
        return True

    def end(self) -> None:
        """Read no more: wait for the piece that another thread is reading; whoever still asks is at the end."""
        with self._reading:
            self._ended = True

    def read(self, size: int = -1, /) -> bytes:
        """Next piece of text, in UTF-8, of `size` bytes at most; empty at the end of the file."""
        with self._reading:
            if self._ended:
                return b""
            if not self._left:
                self._left = memoryview(self._next(size))
            end = len(self._left) if size < 0 else size
            piece, self._left = bytes(self._left[:end]), self._left[end:]
            return piece

    def _next(self, size: int) -> bytes:
        while True:
            raw = self._file.read(size)
            text = self._utf8(raw)
            self._done += len(raw)
            self._lines += text.count(self._dialect.line_end[-1].encode())
            self._progress(self._done)
            if self._skipped:
                text = self._behind_header(text)
            marked = self._marked(text)
            self._count(marked)
            if marked or not raw:
                return marked

    def _behind_header(self, text: bytes) -> bytes:
        """Text without the characters that stand before the first record."""
        characters = text.decode()
        rest, self._skipped = characters[self._skipped :], max(0, self._skipped - len(characters))
        return rest.encode()

    def _utf8(self, raw: bytes) -> bytes:
        """Next piece of the file in UTF-8, without a character that is cut through; ASCII is not decoded at all."""
        is_utf8 = self._dialect.encoding == "utf-8"
        before = self._decoder.getstate()[0] if is_utf8 else b""
        if is_utf8 and not before and raw.isascii() and b"\0" not in raw:
            return raw
        text = self._decoded(raw)
        if not is_utf8:
            return text.encode()
        after = self._decoder.getstate()[0]
        return (before + raw)[: len(before) + len(raw) - len(after)]

    def _decoded(self, raw: bytes) -> str:
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
        return text

    def _marked(self, text: bytes) -> bytes:
        """Text with marks for what stands inside quotes."""
        quote, delimiter = self._dialect.quote, self._dialect.delimiter
        if quote is None:
            return text
        if quote.encode() not in text and self._place not in (QUOTED, CLOSED):
            if text:
                self._place = START if text[-1:] in (b"\r", b"\n", delimiter.encode()) else BARE
            return text
        # Kernels are imported, and perhaps compiled, for files with quotes only.
        from maskwright_builtin.sources.csv import quoting_kernel as kernel

        self.is_quoted = True
        data = np.frombuffer(bytearray(text), dtype=np.uint8)
        self._place, wrong = kernel.mark_quoted(data, ord(quote), ord(delimiter), self._place)
        if wrong >= 0 or (not text and self._place == QUOTED):
            self.problem = wrong_row(self._path, self._dialect, 0)
            raise self.problem or DataError(Problem("a quote is not closed", Place(str(self._path))))
        return data.tobytes()

    def _count(self, text: bytes) -> None:
        """Count line ends; those inside quotes are marked."""
        feeds, returns = text.count(b"\n"), text.count(b"\r")
        line_end = self._dialect.line_end
        self.rows += returns if line_end == "\r" else feeds
        self.mixed |= feeds != returns if line_end == "\r\n" else bool(returns if line_end == "\n" else feeds)
        stripped = text.rstrip(LINE_ENDS)
        self._tail = text[len(stripped) :] if stripped else self._tail + text
        self.is_empty &= not stripped


def wrong_row(path: Path, dialect: CsvDialect, width: int) -> DataError | None:
    """Find the first row that does not fit, with its line; None when the standard library's reader finds none."""
    csv.field_size_limit(LONGEST_CELL)
    row_number = line = 0
    with reading(path) as file:
        file.seek(len(dialect.bom))
        with io.TextIOWrapper(file, encoding=dialect.encoding, newline="") as text:
            rows = dialect.rows(text)
            try:
                for row in rows:
                    if row:
                        row_number += 1
                        if width and len(row) != width:
                            return _ragged(path, line + 1, row_number - dialect.header, len(row), width)
                        if sum(map(len, row)) > BLOCK:
                            message = f"record {row_number - dialect.header} has more than {BLOCK} characters"
                            return DataError(Problem(message, Place(str(path), line + 1), "Shorten its texts."))
                    line = rows.line_num
            except csv.Error as error:
                place = Place(str(path), line + 1)
                hint = "A quote that is opened must be closed, and a quote inside a quoted cell is written twice."
                return DataError(Problem(f"the row that starts here cannot be read: {error}", place, hint))
            except UnicodeDecodeError:
                return None
    return None


def _ragged(path: Path, line: int, record: int, cells: int, width: int) -> DataError:
    message = f"record {record} has {cells} cell{'' if cells == 1 else 's'}, and {width} were expected"
    hint = "Every row needs as many cells as the header; a cell that holds the delimiter must be quoted."
    return DataError(Problem(message, Place(str(path), line), hint))


FEW = 4
"""Different texts of a column, at most, that are an exception from how the others are quoted."""


@dataclass(frozen=True)
class QuotingRule:
    """Which cells of a column have quotes that no reader needs; of the texts in `exceptions` the opposite holds."""

    quoted: bool = False
    exceptions: frozenset[str] = frozenset()


@dataclass
class _Seen:
    """Different texts of a column that stand in quotes without need, and that do not; None: more than a few."""

    quoted: set[str] | None = field(default_factory=set)
    bare: set[str] | None = field(default_factory=set)

    def rule(self) -> QuotingRule:
        """Take the more varied of both for the rule, and the other for exceptions from it."""
        quoted, bare = self.quoted, self.bare
        if bare is not None and (quoted is None or len(quoted) >= len(bare)) and quoted != set():
            return QuotingRule(quoted=True, exceptions=frozenset(bare - (quoted or set())))
        return QuotingRule(quoted=False, exceptions=frozenset((quoted or set()) - (bare or set())))


class Quotes:
    """Takes the quotes off the cells of a file, batch by batch, and learns how its columns are quoted."""

    def __init__(self, dialect: CsvDialect, names: Iterable[str]) -> None:
        quote = dialect.quote or ""
        self._quote = quote.encode()
        self._delimiter = dialect.delimiter.encode()
        self._seen = {name: _Seen() for name in names}

    def rules(self) -> dict[str, QuotingRule]:
        """Rules of the columns that have cells in quotes without need."""
        rules = {name: seen.rule() for name, seen in self._seen.items()}
        return {name: rule for name, rule in rules.items() if rule != QuotingRule()}

    def without(self, batch: Any, *, any_quoted: bool) -> WrittenBatch:
        """Cells of a batch as they are meant, and as they are written where they have quotes."""
        if not any_quoted:
            for seen in self._seen.values():
                seen.bare = None
            return WrittenBatch(batch)
        columns, written = [], {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            parts = _buffers(column)
            if self._quote in parts[0].tobytes():
                written[name], cells, forms = self._separated(*parts)
                self._learn(self._seen[name], cells, forms)
                columns.append(cells)
            else:
                self._learn(self._seen[name], column, None)
                columns.append(column)
        return WrittenBatch(pa.record_batch(columns, schema=batch.schema), written)

    def _separated(self, data: NDArray[np.uint8], offsets: NDArray[np.int32]) -> tuple[Any, Any, NDArray[np.uint8]]:
        """Cells as written, as meant, and the form of each."""
        from maskwright_builtin.sources.csv import quoting_kernel as kernel

        n = len(offsets) - 1
        text, new_offsets = np.empty(len(data), dtype=np.uint8), np.empty(n + 1, dtype=np.int32)
        forms = np.empty(n, dtype=np.uint8)
        quote, delimiter = self._quote[0], self._delimiter[0]
        kernel.unquote(data, offsets, quote, delimiter, text, new_offsets, forms)
        marks = bytes((DELIMITER_MARK, LINE_FEED_MARK, CARRIAGE_RETURN_MARK))
        raw = data.tobytes().translate(bytes.maketrans(marks, self._delimiter + b"\n\r"))
        as_written = pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(raw))
        as_meant = pa.StringArray.from_buffers(n, pa.py_buffer(new_offsets), pa.py_buffer(text[: new_offsets[-1]]))
        return as_written, as_meant, forms

    def _learn(self, seen: _Seen, cells: Any, forms: NDArray[np.uint8] | None) -> None:
        if seen.bare is not None:
            seen.bare = _few(seen.bare, cells if forms is None else _having(cells, forms == IS_BARE))
        if forms is not None and seen.quoted is not None:
            seen.quoted = _few(seen.quoted, _having(cells, forms == IS_QUOTED))


def _having(cells: Any, which: NDArray[np.bool_]) -> Any:
    return cells if which.all() else cells.filter(pa.array(which))


def _few(known: set[str], cells: Any) -> set[str] | None:
    """Different texts with those known before; None where they are not few."""
    # A column of many different texts tells so by its first cells already.
    for part in (cells.slice(0, 10 * FEW), cells):
        found = known | set(pc.unique(part).slice(0, FEW + 1).to_pylist())
        if len(found) > FEW:
            return None
    return found


def _buffers(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Bytes of a string column, and where in them its cells begin and end."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return held[bounds[0] : bounds[-1]], bounds - bounds[0]


def quoted_cells(column: Any, dialect: CsvDialect, rule: QuotingRule, needs: Any) -> Any:
    """Cells with quotes, by the rule of their column and where they need them; all of shape (n,)."""
    quote = pa.scalar(dialect.quote)
    among = pc.is_in(column, value_set=pa.array(sorted(rule.exceptions), pa.string()))
    which = pc.or_(needs, pc.invert(among) if rule.quoted else among)
    doubled = pc.replace_substring(column, dialect.quote, 2 * quote.as_py())
    return pc.if_else(which, pc.binary_join_element_wise(quote, doubled, quote, ""), column)
