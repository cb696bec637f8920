"""The written file, read once more by plain means: bytes cut at their separators, for the second evaluation.

CSV is cut at its delimiters, and by the standard library's reader where there are quotes; XML at its tags, and by lxml
where it is not written plainly; Parquet gives Python's objects. Nothing here is shared with the sources.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import unescape

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from maskwright.edits.evaluation.plain_numbers import NUMBER, CannotTell, Record
from maskwright.edits.evaluation.second_vectors import Scaled, scaled_bytes, scaled_floats, scaled_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SIZE = 1 << 22
LONGEST_TAG = 120
CELL, ROW, ABSENT = "\x1f", "\x1e", "\x1d"
ROWS = 65_536


@dataclass(frozen=True, eq=False)
class TextBlock:
    """Consecutive records of a text file.

    Attributes
    ----------
    data : ndarray of uint8
    columns : mapping of name to position
    starts, ends : ndarray of shape (n, p), int64
        Of each cell's bytes in `data`; starts are -1 where there is no cell.
    point : str
        Decimal sign.
    escaped : bool
        Whether cells hold references of XML.
    """

    data: NDArray[np.uint8]
    columns: Mapping[str, int]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    point: str = "."
    escaped: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    def record(self, row: int) -> Record:
        """Cells of one record."""
        return {name: self._text(row, column) for name, column in self.columns.items()}

    def _text(self, row: int, column: int) -> str | None:
        start, end = int(self.starts[row, column]), int(self.ends[row, column])
        if start < 0:
            return None
        text = self.data[start:end].tobytes().decode()
        if self.escaped and "&" in text:
            return unescape(text, {"&#13;": "\r", "&quot;": '"', "&apos;": "'"})
        if self.point == ".":
            return text
        pointed = text.replace(self.point, ".", 1)
        return pointed if "." not in text and NUMBER.match(pointed) else text

    def numbers(self, name: str) -> Scaled:
        """Numbers of a variable."""
        column = self.columns[name]
        return scaled_bytes(self.data, self.starts[:, column], self.ends[:, column], ord(self.point))


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """Consecutive records of a Parquet file.

    Attributes
    ----------
    batch : pyarrow.RecordBatch
    grids : mapping of name to decimals
        Of variables that are stored as binary64 and mean decimals.
    """

    batch: Any
    grids: Mapping[str, int]

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def record(self, row: int) -> Record:
        """Cells of one record, numbers as shortest decimals."""
        return {
            name: _plain(column[row].as_py(), column.type)
            for name, column in zip(self.batch.schema.names, self.batch.columns, strict=True)
        }

    def numbers(self, name: str) -> Scaled:
        """Numbers of a variable."""
        column = self.batch.column(name)
        if pa.types.is_floating(column.type) and name in self.grids:
            values = column.to_numpy(zero_copy_only=False)
            return scaled_floats(values, np.isnan(values), self.grids[name])
        if pa.types.is_integer(column.type) and not column.null_count:
            values = column.to_numpy()
            odd = np.abs(values.astype(np.float64)) > 10.0**17
            return Scaled(np.where(odd, 0, values).astype(np.int64), 0, np.zeros_like(odd), odd)
        return scaled_objects([_plain(value, column.type) for value in column.to_pylist()])


def _plain(value: object, kind: Any) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is a missing cell
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        single = kind.bit_width < 64
        shown: Any = np.float32(value) if single else np.float64(value)
        return np.format_float_positional(shown, trim="-") if np.isfinite(shown) else str(value)
    if isinstance(value, str | int):
        return str(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def plain_blocks(
    path: Path, file_format: str, details: Mapping[str, Any], names: Sequence[str], grids: Mapping[str, int]
) -> Iterator[TextBlock | StoredBlock]:
    """Records of a written file, block by block.

    Parameters
    ----------
    path : Path
    file_format : {"csv", "xml", "parquet"}
    details : mapping
        How the file was written: dialect, or tags.
    names : sequence of str
        Variables, in order.
    grids : mapping of name to decimals
        Of variables that a typed format stores as binary64.

    Raises
    ------
    CannotTell
        The file cannot be cut into records of these variables.
    """
    if file_format == "parquet":
        for batch in pq.ParquetFile(path).iter_batches(batch_size=ROWS):
            yield StoredBlock(batch, grids)
    elif file_format == "csv":
        yield from _csv_blocks(path, details, names)
    else:
        yield from _xml_blocks(path, details, names)


def _csv_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[TextBlock]:
    delimiter, quote = details.get("delimiter", ","), details.get("quote", '"')
    columns = {name: position for position, name in enumerate(names)}
    with path.open(encoding=details.get("encoding", "utf-8"), newline="") as file:
        before, header = "", details.get("header", True)
        while True:
            read = file.read(SIZE)
            text = (before + read).removeprefix("\ufeff")
            cut = len(text) if not read else text.rfind("\n") + 1
            if read and (cut == 0 or (quote and text.count(quote, 0, cut) % 2)):
                before = text
                continue
            block, before = text[:cut], text[cut:]
            if header and block:
                _, block = _split_header(block, delimiter, quote)
                header = False
            if block:
                yield _csv_block(block, columns, details, delimiter, quote)
            if not read:
                return


def _csv_rows(text: str, delimiter: str, quote: str | None) -> Any:
    lines = io.StringIO(text, newline="")
    if quote is None:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)


def _split_header(block: str, delimiter: str, quote: str | None) -> tuple[list[str], str]:
    """First row that is not empty, and the text after it; a name may hold a line end."""
    end = 0
    while True:
        end = block.find("\n", end) + 1 or len(block)
        if (quote is None or block.count(quote, 0, end) % 2 == 0) and block[:end].strip("\r\n"):
            return next(row for row in _csv_rows(block[:end], delimiter, quote) if row), block[end:]
        if end == len(block):
            raise CannotTell


def _csv_block(
    block: str, columns: Mapping[str, int], details: Mapping[str, Any], delimiter: str, quote: str | None
) -> TextBlock:
    point, p = details.get("decimal", "."), len(columns)
    if not (quote and quote in block) and len(delimiter.encode()) == 1 and not block.startswith(("\r", "\n")):
        data = np.frombuffer((block if block.endswith("\n") else block + "\n").encode(), dtype=np.uint8)
        marks = np.flatnonzero((data == ord(delimiter)) | (data == 10))
        if len(marks) % p == 0:
            ends = marks.reshape(-1, p)
            is_end = data[ends] == 10
            if is_end[:, -1].all() and not is_end[:, :-1].any():
                starts = np.append(0, marks[:-1] + 1).reshape(-1, p)
                ends = ends.copy()
                last = np.maximum(ends[:, -1] - 1, 0)
                ends[:, -1] -= (data[last] == 13) & (ends[:, -1] > starts[:, -1])
                return TextBlock(data, columns, starts, ends, point)
    rows = [row for row in _csv_rows(block, delimiter, quote) if row]
    return _rewritten(rows, columns, point)


def _rewritten(rows: Sequence[Sequence[str | None]], columns: Mapping[str, int], point: str = ".") -> TextBlock:
    """Block of cells that another reader cut."""
    p = len(columns)
    if any(len(row) != p for row in rows):
        raise CannotTell
    text = ROW.join(CELL.join(ABSENT if cell is None else cell for cell in row) for row in rows) + ROW
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    marks = np.flatnonzero((data == ord(CELL)) | (data == ord(ROW)))
    if len(marks) != p * len(rows):
        raise CannotTell
    ends = marks.reshape(-1, p)
    starts = np.append(0, marks[:-1] + 1).reshape(-1, p)
    absent = (ends - starts == 1) & (data[np.minimum(starts, len(data) - 1)] == ord(ABSENT))
    return TextBlock(data, columns, np.where(absent, -1, starts), ends, point)


def _xml_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[TextBlock]:
    record = details.get("record", "Record")
    tags = [details.get("tags", {}).get(name, name) for name in names]
    opening, closing = f"<{record}>".encode(), f"</{record}>".encode()
    columns = {name: position for position, name in enumerate(names)}
    with path.open("rb") as file:
        before, begun = b"", False
        while True:
            read = file.read(SIZE)
            text = before + read
            first = 0 if begun else text.find(opening)
            cut = text.rfind(closing)
            if first < 0 or cut < 0:
                if not read:
                    return
                before = text
                continue
            begun = True
            cut += len(closing)
            block, before = text[first:cut], text[cut:]
            yield _xml_block(block, columns, tags, record) or _parsed(block, columns, tags, record, details)
            if not read:
                return


def _xml_block(block: bytes, columns: Mapping[str, int], tags: Sequence[str], record: str) -> TextBlock | None:
    """Block cut at its tags; None where it holds anything but plain elements."""
    data = np.frombuffer(block, dtype=np.uint8)
    opens, closes = np.flatnonzero(data == ord("<")), np.flatnonzero(data == ord(">"))
    if len(opens) != len(closes) or np.any(closes < opens) or np.any(opens[1:] < closes[:-1]):
        return None
    wanted = [tag.encode() for tag in (record, *tags)]
    width = -(-max(map(len, wanted)) // 8) * 8
    is_end = data[opens + 1] == ord("/")
    begins = np.flatnonzero(~is_end)
    lengths = closes[begins] - opens[begins] - 1
    if width > LONGEST_TAG or np.any(lengths > width):
        return None
    # Names as numbers of eight bytes each, the rest of them zero.
    padded = np.append(data, np.zeros(width + 1, dtype=np.uint8))
    window = np.lib.stride_tricks.sliding_window_view(padded, width)[opens[begins] + 1]
    keys = (window * (np.arange(width, dtype=np.int8) < lengths.astype(np.int8)[:, None])).view(np.uint64)
    expected = np.frombuffer(b"".join(tag.ljust(width, b"\0") for tag in wanted), dtype=np.uint64)
    expected = expected.reshape(len(wanted), -1)
    is_record = np.all(keys == expected[0], axis=1)
    n, p = int(is_record.sum()), len(tags)
    cells = begins[~is_record]
    if len(cells) and not is_end[cells + 1].all():
        return None
    starts, ends = np.full((n, p), -1, dtype=np.int64), np.zeros((n, p), dtype=np.int64)
    own, rows = keys[~is_record], np.cumsum(is_record)[~is_record] - 1
    if len(cells) == n * p and np.all(own.reshape(n, p, -1) == expected[1:]):
        starts, ends = closes[cells].reshape(n, p) + 1, opens[cells + 1].reshape(n, p)
    else:
        found = 0
        for column in range(p):
            chosen = np.all(own == expected[1 + column], axis=1)
            found += int(chosen.sum())
            starts[rows[chosen], column], ends[rows[chosen], column] = (
                closes[cells[chosen]] + 1,
                opens[cells[chosen] + 1],
            )
        if found != len(cells):
            return None
    return TextBlock(data, columns, starts, ends, escaped=True)


def _parsed(
    block: bytes, columns: Mapping[str, int], tags: Sequence[str], record: str, details: Mapping[str, Any]
) -> TextBlock:
    """Block of records that lxml reads."""
    heads = details.get("start_tags", ("<Microdata>",))
    path = details.get("path", ("Microdata",))
    whole = "".join(heads).encode() + block + "".join(f"</{tag}>" for tag in reversed(path)).encode()
    try:
        root = etree.fromstring(whole, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    except etree.XMLSyntaxError:
        raise CannotTell from None
    local = [tag.rpartition(":")[2] for tag in tags]
    rows = []
    for element in root.iter(f"{{*}}{record.rpartition(':')[2]}"):
        cells = {etree.QName(child).localname: child.text or "" for child in element if isinstance(child.tag, str)}
        rows.append([cells.get(tag) for tag in local])
    return _rewritten(rows, columns)
