"""The written file, read once more by plain means, for the second evaluation: nothing here is shared with the sources.

Text is cut at its separators: that of CSV, by the standard library's reader where there are quotes; that of XML, by
lxml where it is not the same elements in every record. Numbers are those of pandas, where they cannot be taken amiss.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from maskwright.edits.evaluation.plain_numbers import NUMBER, CannotTell, Record
from maskwright.edits.evaluation.second_vectors import DIGITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SIZE = 1 << 22
ROWS = 32_768
CELL, ROW, ABSENT = "\x1f", "\x1e", "\x1d"
TENS = 10 ** np.arange(DIGITS + 1)


@dataclass(frozen=True, eq=False)
class TextBlock:
    """Consecutive records of a text file.

    Attributes
    ----------
    data : ndarray of uint8
    starts, ends : ndarray of shape (n, p), int64
        Of each cell in `data`.
    names : sequence of str of length p
    point : str
        Decimal sign.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    names: Sequence[str]
    point: str = "."

    def __len__(self) -> int:
        return len(self.ends)

    def record(self, row: int) -> Record:
        """Cells of one record."""
        return {name: self._said(row, place) for place, name in enumerate(self.names)}

    def _said(self, row: int, place: int) -> str | None:
        text = self.data[self.starts[row, place] : self.ends[row, place]].tobytes().decode()
        pointed = text.replace(self.point, ".", 1)
        return None if text == ABSENT else pointed if "." not in text and NUMBER.match(pointed) else text

    def numbers(self, name: str, _: int | None) -> NDArray[np.float64]:
        """Numbers of a variable, NaN where a cell says none."""
        place = self.names.index(name)
        values = _digits_said(self.data, self.starts[:, place], self.ends[:, place], ord(self.point))
        return _spoken([self._said(row, place) for row in range(len(self))]) if values is None else values


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """Consecutive records of a Parquet file.

    Attributes
    ----------
    columns : mapping of name to sequence of length n
        Texts, None where there is no cell; or binary numbers.
    """

    columns: Mapping[str, Sequence[str | None] | NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def record(self, row: int) -> Record:
        """Cells of one record, numbers as shortest decimals."""
        return {name: _plain(column[row]) for name, column in self.columns.items()}

    def numbers(self, name: str, decimals: int | None) -> NDArray[np.float64]:
        """Numbers of a variable, NaN where a cell says none; binary ones mean so many decimals."""
        column = self.columns[name]
        if not isinstance(column, np.ndarray):
            return _spoken(column)
        values = column.astype(np.float64)
        if column.dtype.kind == "f":
            if decimals is None:
                raise CannotTell
            values = np.rint(values * 10.0**decimals) / 10.0**decimals
            if not np.array_equal(values.astype(column.dtype), column, equal_nan=True):
                raise CannotTell
        return values


Block = TextBlock | StoredBlock


def _digits_said(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], point: int
) -> NDArray[np.float64] | None:
    """Numbers that cells of bytes say, digit by digit, NaN where they are empty; None: one is no plain number."""
    lengths = ends - starts
    width = int(lengths.max(initial=1))
    if width > DIGITS:
        return None
    # The last bytes of every cell, one row of the matrix for each place; zeros before them.
    padded = np.append(np.zeros(width, dtype=np.uint8), data)
    signs = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(padded, width)[ends].T)
    from_end = np.arange(width - 1, -1, -1)[:, None]
    signs[from_end >= lengths] = ord("0")
    is_point, is_minus = signs == point, (signs == ord("-")) & (from_end == lengths - 1)
    digits = signs - np.uint8(ord("0"))
    is_digit = digits < 10
    points, minus = is_point.sum(axis=0), is_minus.any(axis=0)
    if not (is_digit | is_point | is_minus).all() or np.any(
        (lengths > 0) & ((points > 1) | (lengths == points + minus))
    ):
        return None
    digits *= is_digit
    values = np.zeros(len(starts), dtype=np.int64)
    for own in digits:
        values = values * 10 + own
    # The point counted as a digit; it is taken out.
    unit = TENS[np.where(points > 0, width - 1 - is_point.argmax(axis=0), 0)]
    values = np.where(points > 0, values - 9 * unit * (values // (10 * unit)), values)
    found = values / unit
    return np.where(lengths == 0, np.nan, np.where(minus, -found, found))


def _spoken(texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Numbers that texts say, NaN where they say none, one by one."""
    found = [NUMBER.match(text or "") for text in texts]
    if any(each and len(each[1]) > DIGITS for each in found):
        raise CannotTell
    return np.array([float(each[1]) if each else np.nan for each in found])


def _plain(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is a missing cell
        return None
    if isinstance(value, float | np.floating):
        return np.format_float_positional(value, trim="-") if np.isfinite(value) else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def plain_blocks(path: Path, file_format: str, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[Block]:
    """Records of a written file, block by block.

    Parameters
    ----------
    path : Path
    file_format : {"csv", "xml", "parquet"}
    details : mapping
        How the file was written: dialect, or tags.
    names : sequence of str
        Variables, in order.

    Raises
    ------
    CannotTell
        The file cannot be cut into records of these variables.
    """
    try:
        if file_format == "parquet":
            for batch in pq.ParquetFile(path).iter_batches(batch_size=ROWS, columns=list(names)):
                yield StoredBlock({name: _stored(batch.column(name)) for name in names})
        else:
            yield from (_csv_blocks if file_format == "csv" else _xml_blocks)(path, details, names)
    except (ValueError, csv.Error, etree.XMLSyntaxError):
        raise CannotTell from None


def _stored(column: Any) -> Sequence[str | None] | NDArray[Any]:
    if pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return [_plain(value) for value in column.to_pylist()]


def _csv_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[TextBlock]:
    delimiter, quote, point = details.get("delimiter", ","), details.get("quote", '"'), details.get("decimal", ".")
    quoting = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
    is_header = details.get("header", True)
    for piece in _pieces(path, details.get("encoding", "utf-8"), "\n", quote):
        lines = [line for line in piece.replace("\r\n", "\n").split("\n") if line or len(names) == 1]
        block = _cut(ROW.join([*lines[is_header:], ""]), names, delimiter, point)
        if block is None or (quote and quote in piece):
            reader = csv.reader(io.StringIO(piece, newline=""), delimiter=delimiter, strict=True, **quoting)
            block = _joined([row for row in reader if row][is_header:], names, point)
        yield block
        is_header = False


def _cut(text: str, names: Sequence[str], cell: str, point: str) -> TextBlock | None:
    """Block of records that end with `ROW`; None where one of them has not a cell for each variable."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    marks = np.flatnonzero((data == ord(cell)) | (data == ord(ROW)))
    ends = marks[: len(marks) // len(names) * len(names)].reshape(-1, len(names))
    is_row = data[ends] == ord(ROW)
    if ends.size < len(marks) or not is_row[:, -1].all() or is_row[:, :-1].any():
        return None
    starts = np.append(0, marks + 1)[:-1].reshape(ends.shape)
    return TextBlock(data, starts, ends, names, point)


def _pieces(path: Path, encoding: str, end: str, quote: str | None = None) -> Iterator[str]:
    """Text of a file, cut behind the ends of records."""
    with path.open(encoding=encoding, newline="") as file:
        text = file.read(SIZE).removeprefix("\ufeff")
        while read := file.read(SIZE):
            cut = text.rfind(end) + len(end)
            if cut >= len(end) and not (quote and text.count(quote, 0, cut) % 2):
                yield text[:cut]
                text = text[cut:]
            text += read
        if text:
            yield text


def _joined(rows: Sequence[Sequence[str | None]], names: Sequence[str], point: str = ".") -> TextBlock:
    """Block of cells that another reader cut."""
    text = "".join(CELL.join(ABSENT if cell is None else cell for cell in row) + ROW for row in rows)
    block = _cut(text, names, CELL, point)
    if block is None or len(block) != len(rows):
        raise CannotTell
    return block


def _xml_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[TextBlock]:
    record = details.get("record", "Record")
    tags = [details.get("tags", {}).get(name, name) for name in names]
    for piece in _pieces(path, "utf-8", f"</{record}>"):
        records = piece[piece.find(f"<{record}>") : piece.rfind(f"</{record}>") + len(record) + 3]
        if records:
            yield _cut_at_tags(records, names, tags, record) or _joined(_parsed(records, tags, record, details), names)


def _cut_at_tags(text: str, names: Sequence[str], tags: Sequence[str], record: str) -> TextBlock | None:
    """Block of records that have the same elements in the same order, and nothing else; None for others."""
    wanted = [record, *(each for tag in tags for each in (tag, f"/{tag}")), f"/{record}"]
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    opens, closes = np.flatnonzero(data == ord("<")), np.flatnonzero(data == ord(">"))
    if "&" in text or "\r" in text or len(opens) != len(closes) or len(opens) % len(wanted):
        return None
    opens, closes = opens.reshape(-1, len(wanted)), closes.reshape(-1, len(wanted))
    for place, tag in enumerate(wanted):
        expected = np.frombuffer(f"<{tag}>".encode(), dtype=np.uint8)
        if np.any(closes[:, place] - opens[:, place] != len(expected) - 1):
            return None
        if np.any(np.lib.stride_tricks.sliding_window_view(data, len(expected))[opens[:, place]] != expected):
            return None
    return TextBlock(data, closes[:, 1:-1:2] + 1, opens[:, 2::2], names)


def _parsed(block: str, tags: Sequence[str], record: str, details: Mapping[str, Any]) -> list[list[str | None]]:
    """Records that lxml reads."""
    head = "".join(details.get("start_tags", ("<Microdata>",)))
    tail = "".join(f"</{tag}>" for tag in reversed(details.get("path", ("Microdata",))))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    rows = []
    for element in etree.fromstring((head + block + tail).encode(), parser).iter(f"{{*}}{record.rpartition(':')[2]}"):
        found = {etree.QName(child).localname: child.text or "" for child in element if isinstance(child.tag, str)}
        rows.append([found.get(tag.rpartition(":")[2]) for tag in tags])
    return rows
