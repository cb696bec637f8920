"""The reference reader: a written file read independently of the sources, for the reference validation."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import zipfile
from dataclasses import dataclass, replace
from datetime import datetime, time
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from maskwright.edits.evaluation.reference_values import DIRECTIVE, NUMBER, Undetermined
from maskwright.edits.evaluation.reference_vectors import DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.plugins.source import Source


SIZE = 1 << 20
"""Characters read at once: half a dozen texts and vectors of that length stand beside each other."""
ROWS = 32_768
LONGEST = 2**31 - 1
LONGEST_DECLARATION = 200
ROW, ABSENT = "\x1e", b"\x1d"
YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, PART = map(chr, range(1, 8))
WIDE = {
    "%Y": 4 * YEAR, "%m": 2 * MONTH, "%d": 2 * DAY, "%H": 2 * HOUR, "%M": 2 * MINUTE, "%S": 2 * SECOND,
    **{f"%{n}f": n * PART for n in range(1, 7)},
}  # fmt: skip
FIRST_MOMENT = b"0001-01-01T00:00:00.000000"
"""What a format does not say; the places of years, months, ... in it."""
PLACES = {YEAR: 0, MONTH: 5, DAY: 8, HOUR: 11, MINUTE: 14, SECOND: 17, PART: 20}
TENS = 10 ** np.arange(DIGITS + 1)


@dataclass(frozen=True)
class Notation:
    """How cells write numbers: decimal mark, and mark between groups of three digits."""

    decimal: str
    thousands: str | None

    def spelled_out(self, text: str) -> str:
        """Text of a cell; a number with a point, without plus sign, exponent and groups."""
        mark, group = re.escape(self.decimal), re.escape(self.thousands or self.decimal)
        whole, power = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+)", r"(?:[eE][+-]?[0-9]{1,3})?"
        number = rf"[ \t\r\n]*[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+){power}[ \t\r\n]*"
        if not re.fullmatch(number, text):
            # What is a number elsewhere is none here.
            return f"{text} is no number" if NUMBER.match(text) else text
        bare = text.strip().replace(self.thousands or "", "").replace(self.decimal, ".")
        return f"{Decimal(bare):f}"


class Readable(Protocol):
    """Cells of a variable, as the second evaluation reads them."""

    def text(self, row: int) -> str | None:
        """Text of a cell; None: there is no cell."""
        ...

    def numbers(self, decimals: int | None, /) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers, and which cells are to be looked at one by one."""
        ...

    def days(self, date_format: str, /) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Days or seconds since 1970-01-01, and which cells are to be looked at one by one."""
        ...

    def taken(self, rows: NDArray[np.int64], /) -> Readable:
        """Cells of these records, in this order."""
        ...


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Cells of a variable, of a text file: bytes of `data` from `starts` to `ends`."""

    data: NDArray[np.uint8]
    starts: NDArray[np.integer[Any]]
    ends: NDArray[np.integer[Any]]
    notation: Notation | None = None

    def __len__(self) -> int:
        return len(self.ends)

    def text(self, row: int) -> str | None:
        """Text of a cell, a number with a point; None: there is no cell."""
        held = self.data[self.starts[row] : self.ends[row]].tobytes()
        if held == ABSENT:
            return None
        text = held.decode()
        return text if self.notation is None else self.notation.spelled_out(text)

    def taken(self, rows: NDArray[np.int64]) -> TextColumn:
        """Cells of these records, in this order."""
        starts, ends = self.starts[rows], self.ends[rows]
        first, last = (starts.min(), ends.max()) if len(rows) else (0, 0)
        return replace(self, data=self.data[first:last], starts=starts - first, ends=ends - first)

    def numbers(self, _: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers, NaN for empty cells, and which cells are neither: those are to be looked at one by one."""
        lengths = self.ends - self.starts
        width = int(np.clip(lengths.max(initial=1), 1, DIGITS))
        # The last bytes of every cell, one row of the matrix for each place; zeros before them.
        padded = np.append(np.zeros(width, dtype=np.uint8), self.data)
        signs = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(padded, width)[self.ends].T)
        from_end = np.arange(width - 1, -1, -1)[:, None]
        signs[from_end >= lengths] = ord("0")
        point = "." if self.notation is None else self.notation.decimal
        is_point, is_minus = signs == ord(point), (signs == ord("-")) & (from_end == lengths - 1)
        digits = signs - np.uint8(ord("0"))
        is_digit = digits < 10
        points, minus = is_point.sum(axis=0), is_minus.any(axis=0)
        odd = (lengths > width) | (points > 1) | ~(is_digit | is_point | is_minus).all(axis=0)
        odd |= (lengths > 0) & (lengths == points + minus)
        digits *= is_digit
        values = np.zeros(len(self), dtype=np.int64)
        for own in digits:
            values = values * 10 + own
        # The point counted as a digit; it is taken out.
        unit = TENS[np.where(points > 0, width - 1 - is_point.argmax(axis=0), 0)]
        found = np.where(points > 0, values - 9 * unit * (values // (10 * unit)), values) / unit
        return np.where(lengths == 0, np.nan, np.where(minus, -found, found)), odd

    def days(self, date_format: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Days or seconds since 1970-01-01, NaN for empty cells, and which cells are to be looked at one by one."""
        lengths = self.ends - self.starts
        form = "".join(WIDE.get(piece, piece) for piece in re.split(DIRECTIVE, date_format))
        values, odd = np.full(len(self), np.nan), lengths > 0
        fits = np.flatnonzero(lengths == len(form))
        if not len(fits) or "%q" in form:
            return values, odd
        signs = self.data[self.starts[fits][:, None] + np.arange(len(form))]
        iso = np.tile(np.frombuffer(FIRST_MOMENT, dtype=np.uint8), (len(fits), 1))
        for sign, start in PLACES.items():
            places = [place for place, each in enumerate(form) if each == sign]
            iso[:, start : start + len(places)] = signs[:, places]
        plain = [place for place, each in enumerate(form) if each not in PLACES]
        wanted = np.frombuffer("".join(form[place] for place in plain).encode(), dtype=np.uint8)
        digits = iso[:, np.isin(np.frombuffer(FIRST_MOMENT, dtype=np.uint8), [ord("0"), ord("1")])] - np.uint8(ord("0"))
        good = (signs[:, plain] == wanted).all(axis=1) & (digits < 10).all(axis=1) & (digits[:, :4] > 0).any(axis=1)
        with contextlib.suppress(ValueError):
            size, unit, units = (26, "us", 1e6) if HOUR in form else (10, "D", 1.0)
            found = np.ascontiguousarray(iso[good, :size]).view(f"S{size}")[:, 0].astype(f"datetime64[{unit}]")
            values[fits[good]], odd[fits[good]] = found.astype(np.int64) / units, False
        return values, odd


@dataclass(frozen=True, eq=False)
class BinaryColumn:
    """Numbers of a variable, as a Parquet file stores them."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def text(self, row: int) -> str | None:
        """Shortest decimal of a number; None: there is no cell."""
        return _plain(self.values[row])

    def taken(self, rows: NDArray[np.int64]) -> BinaryColumn:
        """Numbers of these records, in this order."""
        return BinaryColumn(self.values[rows])

    def numbers(self, decimals: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers, which mean so many decimals, and where there are none."""
        values = self.values.astype(np.float64)
        if self.values.dtype.kind == "f":
            if decimals is None:
                raise Undetermined
            values = np.rint(values * 10.0**decimals) / 10.0**decimals
            if np.isinf(values).any() or not np.array_equal(
                values.astype(self.values.dtype), self.values, equal_nan=True
            ):
                raise Undetermined
        return values, np.isnan(values)

    def days(self, _: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers are no dates: each is looked at by itself."""
        return self.values.astype(np.float64), np.ones(len(self), dtype=np.bool_)


Column = TextColumn | BinaryColumn
Block = dict[str, Column]
"""Columns of consecutive records, by variable name."""


def plain_blocks(
    path: Path, source: Source, details: Mapping[str, Any], names: Sequence[str], numeric: Collection[str] = ()
) -> Iterator[Block]:
    """Records of a written file, block by block."""
    reading: dict[str, Callable[..., Iterator[Sequence[Column]]]] = {
        "csv": _csv_blocks, "xml": _xml_blocks, "parquet": _parquet_blocks,
    }  # fmt: skip
    try:
        if source.read_plainly is not None:
            rows = source.read_plainly(path, details, names)
            blocks: Iterator[Sequence[Column]] = (_joined(each, len(names)) for each in rows if each)
        else:
            blocks = reading[source.name](path, details, names)
        has_commas = source.name == "xml" and details.get("decimal") == ","
        dialect = details if source.name == "csv" or has_commas else details.get("separated")
        notation = None if dialect is None else Notation(dialect.get("decimal", "."), dialect.get("thousands"))
        for columns in blocks:
            yield {
                name: replace(column, notation=notation)
                if name in numeric and isinstance(column, TextColumn)
                else column
                for name, column in zip(names, columns, strict=True)
            }
    except (ValueError, csv.Error, etree.XMLSyntaxError):
        raise Undetermined from None


def _parquet_blocks(path: Path, _: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[Column]]:
    for batch in pq.ParquetFile(path).iter_batches(batch_size=ROWS, columns=list(names)):
        yield [_stored(batch.column(name)) for name in names]


def _stored(column: Any) -> Column:
    if pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count):
        return BinaryColumn(column.to_numpy(zero_copy_only=False))
    return _joined([[_plain(value)] for value in column.to_pylist()], 1)[0]


def _plain(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is a missing cell
        return None
    if isinstance(value, float | np.floating):
        return np.format_float_positional(value, trim="-") if np.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.replace(tzinfo=None).isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _csv_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[TextColumn]]:
    delimiter, quote = details.get("delimiter", ","), details.get("quote", '"')
    csv.field_size_limit(LONGEST)
    quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
    is_header, p = details.get("header", True), len(names)
    for piece in _pieces(path, details.get("encoding", "utf-8"), "\n", quote):
        lines = [line for line in piece.replace("\r\n", "\n").removesuffix("\n").split("\n") if line or p == 1]
        columns = _cut(ROW.join([*lines[is_header:], ""]), p, delimiter)
        if columns is None or (quote and quote in piece) or "\r" in piece.replace("\r\n", ""):
            reader = csv.reader(io.StringIO(piece, newline=""), delimiter=delimiter, strict=True, **quoting)
            rows = [row or [""] for row in reader if row or p == 1]
            columns = _joined(rows[is_header:], p)
        yield columns
        is_header = False


def _pieces(path: Path, encoding: str, end: str, quote: str | None = None) -> Iterator[str]:
    """Text of a file, cut behind the ends of records."""
    with _text(path, encoding) as file:
        text = file.read(SIZE).removeprefix("\ufeff")
        while read := file.read(SIZE):
            cut = text.rfind(end) + len(end)
            if cut >= len(end) and not (quote and text.count(quote, 0, cut) % 2):
                yield text[:cut]
                text = text[cut:]
            text += read
        if text:
            yield text


@contextlib.contextmanager
def _text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """Text of a file, unpacked if its name says that it is compressed."""
    with contextlib.ExitStack() as stack:
        ending = path.suffix.lower()
        if ending == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            raw: Any = stack.enter_context(archive.open(archive.namelist()[0]))
        elif ending == ".zst":
            raw = stack.enter_context(pa.input_stream(path, compression="zstd"))
        elif ending == ".gz":
            raw = stack.enter_context(gzip.open(path))
        else:
            raw = stack.enter_context(path.open("rb"))
        yield stack.enter_context(io.TextIOWrapper(raw, encoding=encoding, newline=""))


def _cut(text: str, p: int, cell: str) -> list[TextColumn] | None:
    """Columns of records that end with `ROW`; None where one of them has not `p` cells."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    marks = np.flatnonzero((data == ord(cell)) | (data == ord(ROW)))
    is_row = data[marks] == ord(ROW)
    if len(marks) % p or np.count_nonzero(is_row) != len(marks) // p or not is_row[p - 1 :: p].all():
        return None
    starts = np.append(0, marks + 1)
    return [TextColumn(data, starts[place:-1:p], marks[place::p]) for place in range(p)]


def _joined(rows: Sequence[Sequence[str | None]], p: int) -> list[TextColumn]:
    """Columns of records that another reader cut."""
    if any(len(row) != p for row in rows):
        raise Undetermined
    return [text_column([row[place] for row in rows]) for place in range(p)]


def text_column(texts: Sequence[str | None]) -> TextColumn:
    """Column of these cells; None: there is no cell."""
    return _column([ABSENT if each is None else str(each).encode() for each in texts])


def constant_column(value: str | None, n: int) -> TextColumn:
    """Column of n cells that are alike; None: there are no cells."""
    return _column([ABSENT if value is None else value.encode()] * n)


def _column(cells: Sequence[bytes]) -> TextColumn:
    ends = np.cumsum(np.fromiter(map(len, cells), dtype=np.int64, count=len(cells)))
    return TextColumn(np.frombuffer(b"".join(cells), dtype=np.uint8), np.append(0, ends[:-1])[: len(cells)], ends)


def _xml_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[TextColumn]]:
    record = details.get("record", "Record")
    tags = [details.get("tags", {}).get(name, name) for name in names]
    opening, closing = re.compile(rf"<{re.escape(record)}[\s>]"), f"</{record}>"
    for piece in _pieces(path, _declared_encoding(path), closing):
        if closing in piece:
            first = opening.search(piece)
            if first is None:
                raise Undetermined
            records = piece[first.start() : piece.rindex(closing) + len(closing)]
            yield _cut_at_tags(records, tags, record) or _joined(_parsed(records, names, record, details), len(tags))


def _declared_encoding(path: Path) -> str:
    """Encoding that an XML file says of itself."""
    with _text(path, "latin-1") as file:
        found = re.match(r"<\?xml[^>]*encoding=[\"']([\w-]+)", file.read(LONGEST_DECLARATION))
    return "utf-8" if found is None else found[1]


def _cut_at_tags(text: str, tags: Sequence[str], record: str) -> list[TextColumn] | None:
    """Columns of records that have the same elements in the same order, and nothing else; None for others."""
    wanted = [record, *(each for tag in tags for each in (tag, f"/{tag}")), f"/{record}"]
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    opens, closes = np.flatnonzero(data == ord("<")), np.flatnonzero(data == ord(">"))
    if "&" in text or "\r" in text or len(opens) != len(closes) or len(opens) % len(wanted):
        return None
    for place, tag in enumerate(wanted):
        here, expected = opens[place :: len(wanted)], np.frombuffer(f"<{tag}>".encode(), dtype=np.uint8)
        if np.any(closes[place :: len(wanted)] - here != len(expected) - 1):
            return None
        if np.any(np.lib.stride_tricks.sliding_window_view(data, len(expected))[here] != expected):
            return None
    places = [2 * place + 1 for place in range(len(tags))]
    return [TextColumn(data, closes[at :: len(wanted)] + 1, opens[at + 1 :: len(wanted)]) for at in places]


def texts_by_name(record: Any, members: Collection[Any] = ()) -> dict[str, str]:
    """Texts of a record's elements and attributes, by names with namespaces; not those of its members."""
    found = {f"@{name}": str(value) for name, value in record.attrib.items()}
    for child in record:
        if isinstance(child.tag, str) and child not in members:
            found[child.tag] = child.text or ""
            found |= {f"{child.tag}/@{name}": str(value) for name, value in child.attrib.items()}
    return found


def _parsed(block: str, names: Sequence[str], record: str, details: Mapping[str, Any]) -> list[list[str | None]]:
    """Records that lxml reads."""
    head = "".join(details.get("start_tags", ("<Microdata>",)))
    tail = "".join(f"</{tag}>" for tag in reversed(details.get("path", ("Microdata",))))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    expanded: Mapping[str, str] = details.get("expanded", {})
    rows = []
    for element in etree.fromstring((head + block + tail).encode(), parser).iter(f"{{*}}{record.rpartition(':')[2]}"):
        found = texts_by_name(element)
        rows.append([found.get(expanded.get(name, name)) for name in names])
    return rows
