"""The written file, read once more by plain means, for the second evaluation: nothing here is shared with the sources.

CSV by the standard library's reader; XML cut at its tags, and by lxml where it holds anything but plain elements;
Parquet as pyarrow's numbers and Python's objects.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from maskwright.edits.evaluation.plain_numbers import NUMBER, CannotTell, Record
from maskwright.edits.evaluation.second_vectors import DIGITS, Cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.edits.evaluation.second_opinion import Opinion

SIZE = 1 << 22
ROWS = 16_384


@dataclass(frozen=True, eq=False)
class PlainBlock:
    """Consecutive records of a file.

    Attributes
    ----------
    columns : mapping of name to sequence of length n
        Texts, None where there is no cell; or binary numbers.
    point : str
        Decimal sign of the texts.
    """

    columns: Mapping[str, Sequence[str | None] | NDArray[Any]]
    point: str = "."

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def record(self, row: int) -> Record:
        """Cells of one record."""
        return {name: self._text(name, row) for name in self.columns}

    def _text(self, name: str, row: int) -> str | None:
        text = _plain(self.columns[name][row])
        if text is None or self.point == "." or "." in text:
            return text
        pointed = text.replace(self.point, ".", 1)
        return pointed if NUMBER.match(pointed) else text

    def cells(self, name: str, opinion: Opinion, decimals: int | None) -> Cells:
        """Numbers of a variable; binary ones mean decimals on a grid of so many.

        Raises
        ------
        CannotTell
            Some have too many digits, or mean no decimals.
        """
        values = self._numbers(name, decimals)
        codes = [float(code) for code in opinion.missing.get(name, ()) if NUMBER.match(code)]
        missing = np.isnan(values) | np.isin(values, codes)
        absent = np.zeros_like(missing)
        for row in np.flatnonzero(missing).tolist():
            text = self._text(name, row)
            missing[row], absent[row] = opinion.is_blank(name, text), text is None
        return Cells(values, missing, absent)

    def _numbers(self, name: str, decimals: int | None) -> NDArray[np.float64]:
        column = self.columns[name]
        if not isinstance(column, np.ndarray):
            return _said(column if self.point == "." else [(text or "").replace(self.point, ".") for text in column])
        values = column.astype(np.float64)
        if column.dtype.kind == "f":
            if decimals is None:
                raise CannotTell
            values = np.rint(values * 10.0**decimals) / 10.0**decimals
            if not np.array_equal(values.astype(column.dtype), column, equal_nan=True):
                raise CannotTell
        if np.nanmax(np.abs(values), initial=0) >= 10**DIGITS:
            raise CannotTell
        return values


def _said(texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Numbers that texts say, NaN where they say none."""
    # Python takes more for a number, "1e5" and "nan".
    is_plain = not "".join(filter(None, texts)).encode().translate(None, b"0123456789.-")
    with contextlib.suppress(ValueError):
        if is_plain and max(map(len, filter(None, texts)), default=0) <= DIGITS:
            return np.array([float(text) if text else np.nan for text in texts])
    matched = [NUMBER.match(text or "") for text in texts]
    if any(each and len(each[1]) > DIGITS for each in matched):
        raise CannotTell
    return np.array([float(each[1]) if each else np.nan for each in matched])


def _plain(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is a missing cell
        return None
    if isinstance(value, float | np.floating):
        return np.format_float_positional(value, trim="-") if np.isfinite(value) else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def plain_blocks(
    path: Path, file_format: str, details: Mapping[str, Any], names: Sequence[str]
) -> Iterator[PlainBlock]:
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
    read = {"csv": _csv_blocks, "xml": _xml_blocks, "parquet": _parquet_blocks}[file_format]
    try:
        yield from read(path, details, names)
    except (ValueError, csv.Error, etree.XMLSyntaxError):
        raise CannotTell from None


def _csv_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[PlainBlock]:
    quote = details.get("quote", '"')
    with path.open(encoding=details.get("encoding", "utf-8"), newline="") as file:
        if file.read(1) != "\ufeff":
            file.seek(0)
        quoting = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
        rows = filter(None, csv.reader(file, delimiter=details.get("delimiter", ","), strict=True, **quoting))
        if details.get("header", True):
            next(rows, None)
        while block := list(itertools.islice(rows, ROWS)):
            columns = zip(*block, strict=True)
            yield PlainBlock(dict(zip(names, columns, strict=True)), details.get("decimal", "."))


def _xml_blocks(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[PlainBlock]:
    record = details.get("record", "Record")
    tags = [details.get("tags", {}).get(name, name) for name in names]
    opening, closing = f"<{record}>", f"</{record}>"
    cells = "".join(rf"(?:<{tag}>([^<&\r]*)</{tag}>\s*)?" for tag in map(re.escape, tags))
    plain = re.compile(rf"{re.escape(opening)}\s*{cells}{re.escape(closing)}")
    with path.open(encoding="utf-8", newline="") as file:
        text, begun = "", False
        while read := file.read(SIZE):
            text += read
            if not begun:
                text = text[max(text.find(opening), 0) :]
                begun = text.startswith(opening)
            block, end, rest = text.rpartition(closing)
            if begun and end:
                text = rest
                # Between the records lies nothing but white space, or they are not plain.
                parts = plain.split(block + end)
                gaps, *columns = (parts[each :: len(tags) + 1] for each in range(len(tags) + 1))
                if any(map(str.strip, gaps)):
                    columns = _parsed(block + end, tags, record, details)
                yield PlainBlock(dict(zip(names, columns, strict=True)))


def _parsed(block: str, tags: Sequence[str], record: str, details: Mapping[str, Any]) -> list[list[str | None]]:
    """Columns of records that lxml reads."""
    head = "".join(details.get("start_tags", ("<Microdata>",)))
    tail = "".join(f"</{tag}>" for tag in reversed(details.get("path", ("Microdata",))))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    root = etree.fromstring((head + block + tail).encode(), parser)
    rows = []
    for element in root.iter(f"{{*}}{record.rpartition(':')[2]}"):
        found = {etree.QName(child).localname: child.text or "" for child in element if isinstance(child.tag, str)}
        rows.append([found.get(tag.rpartition(":")[2]) for tag in tags])
    return [list(column) for column in zip(*rows, strict=True)]


def _parquet_blocks(path: Path, _: Mapping[str, Any], names: Sequence[str]) -> Iterator[PlainBlock]:
    for batch in pq.ParquetFile(path).iter_batches(batch_size=ROWS, columns=list(names)):
        yield PlainBlock({name: _stored(batch.column(name)) for name in names})


def _stored(column: Any) -> Sequence[str | None] | NDArray[Any]:
    if pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return [_plain(value) for value in column.to_pylist()]
