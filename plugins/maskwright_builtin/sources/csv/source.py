"""CSV microdata: read by its dialect, and written as the original was."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from maskwright import (
    DataError,
    Format,
    FormatFacts,
    Layout,
    NumberNotation,
    Place,
    Problem,
    Progress,
    Source,
    Variable,
    WrittenBatch,
)
from maskwright_builtin.sources.csv.dialect import CsvDialect, CsvParams, column_names, find_dialect, written_names
from maskwright_builtin.sources.csv.text import Quotes, QuotingRule, Utf8Text, quoted_cells, wrong_row
from maskwright_builtin.sources.files import BLOCK, WrittenReading, readable_size, reading, with_packed, writing

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


PLAIN_NUMBER = r"^-?[0-9]+(?:\.[0-9]+)?$"
LEADING_DIGITS = r"^(-?[0-9]+)([0-9]{3})"


@dataclass(frozen=True)
class Form:
    """What a file has besides its dialect.

    `header`: names as the first row writes them. `ending`: line ends behind the last record; None: one. `grouped`:
    columns whose numbers from 1000 on are in groups of three digits.
    """

    header: Mapping[str, str] = field(default_factory=dict)
    ending: str | None = None
    quoting: Mapping[str, QuotingRule] = field(default_factory=dict)
    grouped: frozenset[str] = frozenset()

    def renamed(self, names: Sequence[str], others: Sequence[str]) -> Form:
        """Form of the same columns under other names; the first row keeps its own."""
        new = dict(zip(names, others, strict=False))
        return Form(
            {new[name]: text for name, text in self.header.items()},
            self.ending,
            {new[name]: rule for name, rule in self.quoting.items()},
            frozenset(new[name] for name in self.grouped),
        )


@dataclass(frozen=True)
class _Writer:
    path: Path
    dialect: CsvDialect
    form: Form
    numeric: frozenset[str]
    as_written: frozenset[str]
    missing_as_written: Mapping[str, Any]

    def header(self, names: list[str]) -> bytes:
        """The first row, with its line end."""
        cells = [
            pa.array([self.form.header[name]]) if name in self.form.header else self._quoted(name, pa.array([name]))
            for name in names
        ]
        return self._lines(cells)

    def rows(self, batch: Any, start: int) -> bytes:
        """Rows of a batch, the first of which is record `start`, each with its line end."""
        cells = [
            pc.fill_null(column, "") if name in self.as_written else self._cells(name, pc.fill_null(column, ""))
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        for place, name in enumerate(batch.schema.names):
            if name in self.missing_as_written:
                held = self.missing_as_written[name].slice(start, batch.num_rows).combine_chunks()
                cells[place] = pc.coalesce(held, cells[place])
        if len(cells) == 1 and self.dialect.quote is not None and batch.schema.names[0] not in self.as_written:
            # An empty line would be no row at all for many readers.
            empty = pc.equal(pc.binary_length(cells[0]), 0)
            cells = [pc.if_else(empty, self.dialect.quote * 2, cells[0])]
        return self._lines(cells)

    def _lines(self, cells: list[Any]) -> bytes:
        dialect = self.dialect
        last = pc.binary_join_element_wise(cells[-1], dialect.line_end, "")
        ended = pc.binary_join_element_wise(*cells[:-1], last, dialect.delimiter)
        offsets = memoryview(ended.buffers()[1]).cast("i")
        return self.encoded(bytes(memoryview(ended.buffers()[2])[offsets[0] : offsets[len(ended)]]))

    def encoded(self, text: bytes) -> bytes:
        """UTF-8 text in the encoding of the file."""
        if self.dialect.encoding in ("utf-8", "utf-8-sig"):
            return text
        try:
            return str(text, "utf-8").encode(self.dialect.encoding)
        except UnicodeEncodeError:
            message = f"a cell has characters that {self.dialect.encoding} cannot write"
            raise DataError(Problem(message, Place(str(self.path)), "Declare `encoding: utf-8`.")) from None

    def _cells(self, name: str, column: Any) -> Any:
        if name in self.numeric:
            column = self._number_cells(column, grouped=name in self.form.grouped)
        return self._quoted(name, column)

    def _number_cells(self, column: Any, *, grouped: bool) -> Any:
        dialect = self.dialect
        if dialect.decimal == "." and not grouped:
            return column
        # Missing codes are among the cells, and stay what they are.
        is_number = pc.match_substring_regex(column, PLAIN_NUMBER)
        numbers = pc.replace_substring(column, ".", dialect.decimal)
        while grouped and pc.any(pc.match_substring_regex(numbers, LEADING_DIGITS)).as_py():
            numbers = pc.replace_substring_regex(numbers, LEADING_DIGITS, rf"\1{dialect.thousands}\2")
        return pc.if_else(is_number, numbers, column)

    def _quoted(self, name: str, column: Any) -> Any:
        dialect, rule = self.dialect, self.form.quoting.get(name, QuotingRule())
        special = (dialect.delimiter, dialect.quote or "\n")
        if rule == QuotingRule() and not _have_any(column, (*special, "\r", "\n")):
            return column
        pattern = "[" + "".join(f"\\x{{{ord(character):x}}}" for character in special) + "\r\n]"
        needs = pc.match_substring_regex(column, pattern)
        any_needs = pc.any(needs).as_py()
        if not any_needs and rule == QuotingRule():
            return column
        if dialect.quote is not None:
            return quoted_cells(column, dialect, rule, needs)
        message = f"variable {name!r} has cells that hold the delimiter or a line end, and no quote is declared"
        raise DataError(Problem(message, Place(str(self.path)), "Declare `quote: '\"'`, or another delimiter."))


def _have_any(column: Any, characters: Iterable[str]) -> bool:
    """Whether the bytes of a string column have any of these characters."""
    data = column.buffers()[2]
    raw = b"" if data is None else data.to_pybytes()
    return any(character.encode() in raw for character in characters)


def write_csv(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches of string columns as CSV in the original's dialect; null is an empty cell."""
    details = layout.details if layout.format == "csv" else {}
    dialect = CsvDialect(**{name: details[name] for name in CsvDialect.__dataclass_fields__ if name in details})
    form: Form = details.get("form", Form())
    names = [variable.name for variable in variables]
    numeric = frozenset(each.name for each in variables if each.is_numeric and not each.is_date)
    writer = _Writer(path, dialect, form, numeric, layout.as_written, layout.missing_as_written)
    line_end = writer.encoded(dialect.line_end.encode())
    with writing(path) as file:
        file.write(dialect.bom)
        last = writer.header(names) if dialect.header else b""
        start = 0
        for batch in batches:
            if batch.num_rows:
                file.write(last)
                last = writer.rows(batch, start)
                start += batch.num_rows
        is_empty_row = len(names) == 1 and last.endswith(2 * line_end)
        if form.ending is None or is_empty_row or not last:
            file.write(last)
        else:
            file.write(last.removesuffix(line_end) + writer.encoded(form.ending.encode()))


GROUPED = "^[-+]?[1-9][0-9]{0,2}(?:\\x{%x}[0-9]{3})+"
NOT_GROUPED = "^[-+]?[1-9][0-9]{3,}(?:\\x{%x}[0-9]*)?$"

_last_opened: list[pa.BufferedInputStream] = []
"""At most one, held so that it is never Arrow's thread that lets go of it last, perhaps while Python ends."""


class CsvReading(WrittenReading):
    """A CSV file whose dialect and header are known."""

    def __init__(self, path: Path, params: CsvParams, progress: Progress) -> None:
        self._size = readable_size(path, params.max_file_size, of_text=True)
        self._path, self._params = path, params
        self._progress = progress
        beginning = find_dialect(path, params)
        self._dialect = beginning.dialect
        self._names = column_names(path, beginning, params)
        self._header = beginning.first if self._dialect.header else ""
        self._quotes = Quotes(self._dialect, self._names)
        self._grouped = dict.fromkeys(self._names, False)
        self._notes: tuple[str, ...] = ()
        self._ending: str | None = None
        self._stream: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._names

    @property
    def numbers(self) -> NumberNotation:
        """How the file writes numbers."""
        return NumberNotation(self._dialect.decimal, self._dialect.thousands, signs=True)

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records as string columns, and as they are written the cells of columns with quotes."""
        self._quotes = Quotes(self._dialect, self._names)
        records = 0
        progress, size = self._progress, self._size
        with reading(self._path) as file:
            # The text knows nothing of this object, which holds Arrow's stream of it: Python finds no cycle there.
            text = Utf8Text(file, self._path, self._dialect, lambda done: progress(min(1.0, done / size)), self._header)
            rows: Any = None
            try:
                rows = self._opened(text)
                for batch in rows:
                    if batch.num_rows:
                        records += batch.num_rows
                        meant = self._quotes.without(batch, any_quoted=text.is_quoted)
                        self._check_thousands_marks(meant.cells)
                        yield meant
            except MemoryError:  # Arrow's own is one of its exceptions too
                raise
            except pa.ArrowException:
                if text.problem is not None or not text.is_empty:
                    # Arrow's messages quote the row, and rows are confidential: the error is found again in our words.
                    raise self._diagnosis(text) from None
            finally:
                # Arrow reads ahead in a thread of its own, which calls Python: it has to have ended before we go on.
                text.end()
                _exhaust(rows)
                del rows
        # In a file of one column, empty lines are records.
        ending = text.ending if len(self._names) > 1 or not text.ending else self._dialect.line_end
        self._ending = ending if records else None
        self._notes = tuple(self._form_notes(text, records))

    def _opened(self, text: Utf8Text) -> arrow_csv.CSVStreamingReader:
        names = list(self._names)
        # Buffered, so that Arrow copies what it reads: its thread lets go of bytes of Python at any later time.
        # Several files may be read at once: what is opened here is never taken from what they share.
        self._stream = pa.BufferedInputStream(pa.PythonFile(text, mode="r"), BLOCK)
        _last_opened[:] = [self._stream]
        return arrow_csv.open_csv(
            self._stream,
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK, column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._dialect.delimiter,
                # Cells keep their quotes, and what stands inside them is marked.
                quote_char=False,
                double_quote=False,
                # A file of one column writes an empty cell as an empty line.
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                # Marks are no UTF-8, and everything else has been checked.
                column_types=dict.fromkeys(names, pa.string()),
                check_utf8=False,
                strings_can_be_null=False,
                null_values=[],
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

    def _check_thousands_marks(self, batch: Any) -> None:
        """Note the columns whose numbers from 1000 on all are in groups of digits."""
        thousands = self._dialect.thousands
        if thousands is None:
            return
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if self._grouped.get(name) is not None:
                trimmed = pc.utf8_trim(column, characters=" \t")
                if pc.any(pc.match_substring_regex(trimmed, NOT_GROUPED % ord(self._dialect.decimal))).as_py():
                    del self._grouped[name]
                elif not self._grouped[name]:
                    found = pc.match_substring_regex(trimmed, GROUPED % ord(thousands))
                    self._grouped[name] = bool(pc.any(found).as_py())

    def _form_notes(self, text: Utf8Text, records: int) -> Iterator[str]:
        if text.mixed:
            shown = {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}[self._dialect.line_end]
            yield f"lines end in different ways: all of the masked file end with {shown}, as the first does"
        after = text.ending.count(self._dialect.line_end)
        empty = text.rows - after - records + 1
        if empty > 0 and records and len(self._names) > 1 and not text.mixed:
            are = "is an empty line" if empty == 1 else f"are {empty} empty lines"
            yield f"there {are} between records: not written to the masked file"

    @property
    def layout(self) -> Layout:
        """The dialect and what else is needed to write the file again."""
        header = written_names(self._header, self._dialect) if self._header else ()
        grouped = frozenset(name for name, found in self._grouped.items() if found)
        form = Form(dict(zip(self._names, header, strict=False)), self._ending, self._quotes.rules(), grouped)
        details = {name: getattr(self._dialect, name) for name in CsvDialect.__dataclass_fields__}
        # Who separates cells by commas writes decimals with points.
        undeclared = self._params.decimal is None and self._params.thousands is None
        may_differ = undeclared and self._dialect.delimiter != ","
        return Layout("csv", {**details, "form": form, "notes": self._notes, "marks_may_differ": may_differ})


def _exhaust(rows: Any) -> None:
    """Take what was read ahead, so that nothing reads in the background any more."""
    with contextlib.suppress(pa.ArrowException):
        for _ in rows or ():
            pass


def open_csv(path: Path, params: Any, progress: Progress) -> CsvReading:
    """Open a CSV file of microdata; see `CsvParams` for the options."""
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
    format=Format(
        params_of_written=_with_known_header,
        is_opened_in_spreadsheets=True,
        holds=FormatFacts(
            types="texts; numbers and dates are recognised by their cells, or declared",
            missing_codes="codes stay in their cells, without what they mean",
            dates="texts of any declared form",
            precision="every digit",
            texts=f"any, in records of up to {BLOCK >> 20} MB",
            names="any, in the first row",
        ),
    ),
    summary="Rows of cells between delimiters, with names in the header.",
)
