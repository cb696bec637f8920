"""CSV microdata: one row for each record, names in the header."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from maskwright import DataError, Layout, Place, Problem, Progress, Source, Variable, WrittenBatch
from maskwright_builtin.sources.csv.dialect import CsvDialect, CsvParams, find_dialect
from maskwright_builtin.sources.csv.text import Utf8Text, wrong_row
from maskwright_builtin.sources.files import BLOCK, readable_size, reading, with_packed, writing

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

COMMA_NUMBER = r"^[ \t\r\n]*-?([0-9]+(,[0-9]*)?|,[0-9]+)[ \t\r\n]*$"
POINT_NUMBER = r"^[ \t\r\n]*-?([0-9]+\.[0-9]*|\.[0-9]+)[ \t\r\n]*$"

_last_opened: list[pa.PythonFile] = []
"""At most one, held so that it is never Arrow's thread that lets go of it last, perhaps while Python ends."""

DEFAULT = CsvDialect(
    delimiter=",", quote='"', decimal=".", encoding="utf-8", bom=b"", line_end="\n", header=True
)  # fmt: skip


class CsvReading:
    """A CSV file whose dialect and header are known."""

    def __init__(self, path: Path, params: CsvParams, progress: Progress) -> None:
        self._size = readable_size(path, params.max_file_size)
        self._path = path
        self._progress = progress
        self._dialect, self._names = find_dialect(path, params)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records as string columns; every row has every cell, so none is null."""
        with contextlib.closing(self.written_batches()) as batches:
            for batch in batches:
                yield batch.cells

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records as string columns, and the cells of columns with decimal commas as they are written."""
        records = 0
        with reading(self._path) as file:
            text = Utf8Text(file, self._path, self._dialect, lambda done: self._progress(min(1.0, done / self._size)))
            rows: Any = None
            try:
                rows = self._opened(text)
                for batch in rows:
                    if batch.num_rows:
                        yield self._with_points(batch, records)
                        records += batch.num_rows
            except pa.ArrowException:
                # Arrow's messages quote the row, and rows are confidential: the error is found again in our words.
                raise self._diagnosis(text) from None
            finally:
                # Arrow reads ahead in a thread of its own, which calls Python: it has to have ended before we go on.
                text.end()
                _exhaust(rows)
                del rows
        if text.quotes % 2:
            problem = wrong_row(self._path, self._dialect, len(self._names))
            if problem is not None:
                raise problem

    def _opened(self, text: Utf8Text) -> arrow_csv.CSVStreamingReader:
        dialect, names = self._dialect, list(self._names)
        _last_opened[:] = [pa.PythonFile(text, mode="r")]
        return arrow_csv.open_csv(
            _last_opened[0],
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                # The header has to be in the first block.
                block_size=max(BLOCK, 2 * sum(len(name.encode()) + 4 for name in names)),
                column_names=None if dialect.header else names,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                double_quote=dialect.quote is not None,
                newlines_in_values=dialect.quote is not None,
                # A file of one column writes an empty cell as an empty line.
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
            ),
        )

    def _diagnosis(self, text: Utf8Text) -> DataError:
        if text.problem is not None:
            return text.problem
        problem = wrong_row(self._path, self._dialect, len(self._names))
        if problem is not None:
            return problem
        hint = f"A row may have at most {BLOCK} bytes; a quote that is never closed makes one row of many."
        return DataError(Problem("the file cannot be cut into rows and cells", Place(str(self._path)), hint))

    def _with_points(self, batch: Any, before: int) -> WrittenBatch:
        """Cells with the decimal mark that the rest of Maskwright knows."""
        if self._dialect.decimal == ".":
            return WrittenBatch(batch)
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            pointed = pc.match_substring_regex(column, POINT_NUMBER)
            if pc.any(pointed).as_py():
                record = before + pc.index(pointed, pa.scalar(True)).as_py() + 1
                hint = "Points between thousands are not read; remove them, or declare `decimal: '.'`."
                message = f"variable {name!r} has a number with a point (record {record}), and the decimal mark is ','"
                raise DataError(Problem(message, Place(str(self._path)), hint))
            is_number = pc.match_substring_regex(column, COMMA_NUMBER)
            columns.append(pc.if_else(is_number, pc.replace_substring(column, ",", "."), column))
        pairs = zip(batch.schema.names, batch.columns, strict=True)
        return WrittenBatch(pa.record_batch(columns, schema=batch.schema), dict(pairs))

    @property
    def layout(self) -> Layout:
        """The dialect."""
        dialect = self._dialect
        details = {name: getattr(dialect, name) for name in CsvDialect.__dataclass_fields__}
        return Layout("csv", details)


def _exhaust(rows: Any) -> None:
    """Take what was read ahead, so that nothing reads in the background any more."""
    with contextlib.suppress(pa.ArrowException):
        for _ in rows or ():
            pass


def write_csv(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches of string columns as CSV in the original's dialect; null is an empty cell.

    Parameters
    ----------
    path : Path
    batches : iterable of pyarrow.RecordBatch
    variables : tuple of Variable
        The columns, in order.
    layout : Layout
        Of the original file; one of another format gives commas, UTF-8 and a header.

    Raises
    ------
    DataError
        A text that the dialect or its encoding cannot hold, or trouble with the disk.
    """
    dialect = replace(DEFAULT, **layout.details) if layout.format == "csv" else DEFAULT
    names = [variable.name for variable in variables]
    numeric = [variable.is_numeric and variable.name not in layout.as_written for variable in variables]
    with writing(path) as file:
        file.write(dialect.bom)
        if dialect.header:
            header = pa.record_batch([pa.array([name]) for name in names], names=names)
            file.write(_rows(path, header, dialect, [False] * len(names)))
        for batch in batches:
            if batch.num_rows:
                file.write(_rows(path, batch, dialect, numeric))


def _rows(path: Path, batch: Any, dialect: CsvDialect, numeric: list[bool]) -> bytes:
    cells = [
        _cells(path, name, column, dialect, is_number)
        for name, column, is_number in zip(batch.schema.names, batch.columns, numeric, strict=True)
    ]
    if len(cells) == 1 and dialect.quote is not None:
        # An empty line would be no row at all for many readers.
        empty = pc.equal(pc.binary_length(cells[0]), 0)
        cells = [pc.if_else(empty, dialect.quote * 2, cells[0])]
    lines = pc.binary_join_element_wise(*cells, dialect.delimiter)
    ended = pc.binary_join_element_wise(lines, dialect.line_end, "")
    offsets = memoryview(ended.buffers()[1]).cast("i")
    raw = memoryview(ended.buffers()[2])[offsets[0] : offsets[len(ended)]]
    if dialect.encoding in ("utf-8", "utf-8-sig"):
        return bytes(raw)
    try:
        return str(raw, "utf-8").encode(dialect.encoding)
    except UnicodeEncodeError:
        message = f"a cell has characters that {dialect.encoding} cannot write"
        raise DataError(Problem(message, Place(str(path)), "Declare `encoding: utf-8`.")) from None


def _cells(path: Path, name: str, column: Any, dialect: CsvDialect, is_number: bool) -> Any:
    column = pc.fill_null(column, "")
    if is_number:
        return column if dialect.decimal == "." else pc.replace_substring(column, ".", dialect.decimal)
    special = (
        "["
        + "".join(f"\\x{{{ord(character):x}}}" for character in (dialect.delimiter, dialect.quote or "\n"))
        + "\r\n]"
    )
    needs = pc.match_substring_regex(column, special)
    if not pc.any(needs).as_py():
        return column
    if dialect.quote is None:
        message = f"variable {name!r} has cells that hold the delimiter or a line end, and no quote is declared"
        raise DataError(Problem(message, Place(str(path)), "Declare `quote: '\"'`, or another delimiter."))
    doubled = pc.replace_substring(column, dialect.quote, dialect.quote * 2)
    quote = pa.scalar(dialect.quote)
    return pc.if_else(needs, pc.binary_join_element_wise(quote, doubled, quote, ""), column)


def open_csv(path: Path, params: Any, progress: Progress) -> CsvReading:
    """Open a CSV file of microdata; see `CsvParams` for the options.

    Parameters
    ----------
    path : Path
    params : CsvParams
    progress : callable

    Raises
    ------
    DataError
        The file cannot be read as rows of named cells; line where there is one.
    """
    return CsvReading(path, params, progress)


def _with_known_header(params: Any) -> CsvParams:
    known: CsvParams = params
    return known.model_copy(update={"header": known.header is not False})


CSV = Source(
    name="csv",
    suffixes=with_packed(".csv", ".tsv", ".txt"),
    open=open_csv,
    write=write_csv,
    params=CsvParams,
    writes_text=True,
    params_of_written=_with_known_header,
    is_opened_in_spreadsheets=True,
    summary="Rows of cells between delimiters, with names in the header.",
)
