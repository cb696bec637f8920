"""Excel microdata: a sheet with names in its first row, read into typed columns."""

from __future__ import annotations

import datetime as dt
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import (
    DataError,
    Format,
    FormatFacts,
    Layout,
    Place,
    Problem,
    Progress,
    Source,
    WrittenBatch,
    write_numbers,
)
from maskwright_builtin.sources.excel.workbook import ExcelParams, find_sheet
from maskwright_builtin.sources.excel.writing import LONGEST_TEXT, MOST_COLUMNS, MOST_ROWS, write_excel
from maskwright_builtin.sources.files import EXACT, ROWS, WrittenReading, optional_library

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path


NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
NAMES = {float: "numbers", str: "texts", bool: "truth values", dt.date: "dates", dt.datetime: "dates", dt.time: "times"}
KINDS = {"numbers": "number", "texts": "text", "truth values": "truth", "times": "time"}
MARCH_1900 = dt.date(1900, 3, 1)
"""Excel believes in a 29 February 1900: days before are another day for other programs."""


class SheetColumn:
    """The cells of one column, chunk by chunk. `letters`: of the column in the sheet."""

    def __init__(self, name: str, letters: str, path: str) -> None:
        self.name = name
        self.letters = letters
        self._path = path
        self._chunks: list[tuple[int, Any, frozenset[type]]] = []

    def add(self, cells: Sequence[object], first_row: int) -> None:
        """Take the next cells, of which the first is in `first_row`; the empty text is an empty cell."""
        kinds = set(map(type, cells))
        kept: Any = cells
        if str in kinds:
            kept = [None if cell == "" else cell for cell in cells]
            kinds = set(map(type, kept)) - {type(None)}
        if kinds == {float}:
            kept = pa.array(kept, pa.float64())
        elif kinds == {str}:
            kept = pa.array(kept, pa.string())
        self._chunks.append((first_row, kept, frozenset(kinds)))

    def has_values(self) -> bool:
        """Whether there is anything in it."""
        return any(kinds for _, _, kinds in self._chunks)

    def typed(self, mixed: str, *, is_1904: bool) -> tuple[str, Any]:
        """Kind of the values, and all of them."""
        kinds = frozenset[type]().union(*(each for _, _, each in self._chunks))
        unknown = [kind for kind in kinds if kind not in NAMES]
        if unknown:
            hint = "Store them as numbers, of hours for instance."
            raise self._problem("holds durations", lambda cell: type(cell) in unknown, hint)
        names = {NAMES[kind] for kind in kinds}
        if names == {"numbers", "texts"} and mixed == "text":
            return "mixed", self._mixed()
        if len(names) > 1:
            raise self._several(names)
        if names == {"dates"}:
            return self._dates(kinds, is_1904=is_1904)
        if not names:
            return "empty", self._array(pa.null())
        kind = KINDS[names.pop()]
        types = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_(), "time": pa.time64("us")}
        array = self._array(types[kind])
        return kind, _whole(array) if kind == "number" else array

    def _array(self, kind: Any) -> Any:
        return pa.chunked_array(
            [
                cells.cast(kind) if isinstance(cells, pa.Array) else pa.array(cells, kind)
                for _, cells, _ in self._chunks
            ],
            kind,
        )

    def _dates(self, kinds: frozenset[type], *, is_1904: bool) -> tuple[str, Any]:
        if not is_1904:

            def is_early(cell: Any) -> bool:
                return cell is not None and (cell.date() if isinstance(cell, dt.datetime) else cell) < MARCH_1900

            if any(is_early(cell) for _, cells, _ in self._chunks for cell in cells):
                hint = (
                    "Excel counts a 29 February 1900 that never was: write days before March 1900 as text (1900-02-28)."
                )
                raise self._problem("has dates before March 1900, or none at all", is_early, hint)
        if dt.datetime in kinds:
            return "moment", self._array(pa.timestamp("us"))
        return "date", self._array(pa.date32())

    def _mixed(self) -> Any:
        def is_number_in_text(cell: object) -> bool:
            return isinstance(cell, str) and NUMBER.fullmatch(cell) is not None

        chunks = []
        for _, cells, _ in self._chunks:
            cells_here = cells.to_pylist() if isinstance(cells, pa.Array) else cells
            if any(map(is_number_in_text, cells_here)):
                hint = (
                    "Make them numbers, or all numbers of the column texts: on writing they could not be distinguished."
                )
                raise self._problem("holds numbers, and texts that look like numbers", is_number_in_text, hint)
            is_number = np.array([isinstance(cell, float) for cell in cells_here], dtype=np.bool_)
            numbers = np.array([cell if isinstance(cell, float) else 0.0 for cell in cells_here], dtype=np.float64)
            texts = pa.array([cell if isinstance(cell, str) else None for cell in cells_here], pa.string())
            chunks.append(pc.if_else(pa.array(is_number), write_numbers(numbers, ~is_number, None), texts))
        return pa.chunked_array(chunks, pa.string())

    def _several(self, names: set[str]) -> DataError:
        counts = dict.fromkeys(sorted(names), 0)
        for _, cells, kinds in self._chunks:
            if isinstance(cells, pa.Array):
                counts[NAMES[next(iter(kinds))]] += len(cells) - cells.null_count
            else:
                for cell in cells:
                    if cell is not None:
                        counts[NAMES[type(cell)]] += 1
        rare = min(counts, key=lambda each: counts[each])
        hint = f"Correct the {rare}, or the column's type."
        if names == {"numbers", "texts"}:
            hint = "Correct them; or declare `mixed: text`, and the variable's type and missing codes."
        message = f"holds {' and '.join(f'{count} {name}' for name, count in counts.items())}: the first of the {rare}"
        return self._problem(message, lambda cell: cell is not None and NAMES[type(cell)] == rare, hint, joined=" is")

    def _problem(
        self, message: str, wanted: Callable[[Any], bool], hint: str, joined: str = ", the first"
    ) -> DataError:
        row = 0
        for first, cells, _ in self._chunks:
            values = cells.to_pylist() if isinstance(cells, pa.Array) else cells
            row = next((first + place for place, cell in enumerate(values) if wanted(cell)), 0)
            if row:
                break
        text = f"column {self.name!r} {message}{joined} in {self.letters}{row}"
        return DataError(Problem(text, Place(self._path, row), hint))


def _whole(array: Any) -> Any:
    """Integers where all numbers are: the workbook knows binary64 numbers only."""
    numbers = np.asarray(pc.fill_null(array, 0.0))
    if np.all(np.abs(numbers) < EXACT) and np.array_equal(numbers, np.rint(numbers)):
        return array.cast(pa.int64())
    return array


def _letters(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column))


class ExcelReading(WrittenReading):
    """A sheet of a workbook, read and typed as a whole: which kind a column is, its last cell may decide."""

    def __init__(self, path: Path, params: ExcelParams, progress: Progress) -> None:
        self._path = path
        self._params = params
        self._progress = progress
        self._sheet = find_sheet(path, params)
        self._header = params.header_row or 1
        self._details: dict[str, dict[str, str]] = {}
        self._notes: list[str] = []

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records, and say that their cells are to be written just so."""
        arrays: list[Any] = []
        names: list[str] = []
        problems: list[Problem] = []
        for column in self._columns():
            try:
                kind, array = column.typed(self._params.mixed, is_1904=self._sheet.is_1904)
            except DataError as error:
                problems += error.problems
                continue
            names.append(column.name)
            arrays.append(array)
            number_format = self._sheet.number_formats.get(column.letters, "General")
            self._details[column.name] = {"kind": kind, "format": number_format}
        if problems:
            raise DataError(problems)
        table = pa.table(arrays, names=names)
        for batch in table.to_batches(max_chunksize=ROWS):
            yield WrittenBatch(batch, dict(zip(names, batch.columns, strict=True)))
        self._progress(1.0)

    def _columns(self) -> list[SheetColumn]:
        """Columns of the sheet with their cells; empty rows at the end are none."""
        rows, offset = self._rows()
        header = next(islice(rows, self._header - 1, None), None)
        place = Place(str(self._path), self._header)
        if header is None or all(cell == "" for cell in header):
            hint = "Name the row that holds the names: `header_row: 3` in the data section, or --option header_row=3."
            raise DataError(Problem("the row of the names is empty", place, hint))
        letters = [_letters(offset + position) for position in range(1, len(header) + 1)]
        names = self._names(header, letters)
        if self._header > 1:
            self._notes.append(f"{self._header - 1} rows above the names are not read, and not written")
        columns = [SheetColumn(name or each, each, str(self._path)) for name, each in zip(names, letters, strict=True)]
        row, blank = self._header + 1, 0
        while chunk := list(islice(rows, ROWS)):
            is_empty = [not any(cell != "" for cell in cells) for cells in chunk] if blank or _may_have(chunk) else []
            if any(is_empty) or blank:
                last = max((position for position, empty in enumerate(is_empty) if not empty), default=-1)
                gap = blank or next((row + position for position in range(last) if is_empty[position]), 0)
                if last >= 0 and gap:
                    hint = "Delete it if the records go on; what is no record belongs on another sheet."
                    raise DataError(
                        Problem(f"row {gap} is empty, and there are more below it", Place(str(self._path), gap), hint)
                    )
                if last + 1 < len(chunk):
                    blank = blank or row + last + 1
                    chunk = chunk[: last + 1]
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True) if chunk else ():
                column.add(cells, row)
            row += ROWS
            self._progress(0.9)
        return self._without_nameless(columns, names)

    def _without_nameless(self, columns: list[SheetColumn], names: Sequence[str]) -> list[SheetColumn]:
        kept = []
        for column, name in zip(columns, names, strict=True):
            if name:
                kept.append(column)
            elif column.has_values():
                hint = "Name it in the row of the names, or delete the column."
                message = f"column {column.letters} has values and no name"
                raise DataError(Problem(message, Place(str(self._path), self._header), hint))
        return kept

    def _names(self, header: Sequence[object], letters: Sequence[str]) -> list[str]:
        place = Place(str(self._path), self._header)
        wrong = [each for cell, each in zip(header, letters, strict=True) if not isinstance(cell, str)]
        if wrong and self._params.header_row is None:
            hint = "Put a row with the names of the variables first; `header_row: 1` if these are the names."
            message = f"the first row may be a record, not names: {len(wrong)} of its cells are no text"
            raise DataError(Problem(message, place, hint))
        names = [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell) for cell in header]
        names = [name if name.strip() else "" for name in names]
        twice = sorted({name for name in names if name and names.count(name) > 1})
        if twice:
            hint = "Every column needs a name of its own."
            raise DataError(Problem(f"the header names columns twice: {', '.join(twice[:5])}", place, hint))
        return names

    def _rows(self) -> tuple[Iterator[list[Any]], int]:
        """Rows of cells from the first row of the sheet on, and how many columns before them are empty."""
        import python_calamine

        damaged = DataError(Problem("the workbook cannot be read", Place(str(self._path)), "Save it anew."))
        try:
            with python_calamine.CalamineWorkbook.from_path(str(self._path)) as workbook:
                sheet = workbook.get_sheet_by_name(self._sheet.name)
        except (python_calamine.CalamineError, OSError, ValueError):
            raise damaged from None
        return iter(sheet.iter_rows()), sheet.start[1] if sheet.start is not None else 0

    @property
    def layout(self) -> Layout:
        """Name of the sheet, and the kind and number format of each column."""
        return Layout("excel", {"sheet": self._sheet.name, "columns": self._details, "notes": tuple(self._notes)})


def _may_have(chunk: list[list[Any]]) -> bool:
    """Whether a chunk may have empty rows: those have an empty first cell."""
    return any(cells[0] == "" for cells in chunk)


def open_excel(path: Path, params: Any, progress: Progress) -> ExcelReading:
    """Open a sheet of microdata; see `ExcelParams` for the options."""
    for package in ("openpyxl", "python_calamine"):
        optional_library(package, "Excel files are read", "excel", path)
    return ExcelReading(path, params, progress)


def _as_written(params: Any) -> ExcelParams:
    """Options for a workbook of one sheet, with the names in its first row."""
    known: ExcelParams = params
    return known.model_copy(update={"sheet": None, "header_row": 1, "mixed": "text"})


def _read_plainly(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Rows of a written workbook, as openpyxl reads them: nothing of this is shared with `ExcelReading`."""
    from openpyxl import load_workbook

    del details
    workbook = load_workbook(path, read_only=True)
    try:
        rows = workbook.worksheets[0].iter_rows(max_col=len(names), values_only=True)
        if list(next(rows, ())) != list(names):
            raise ValueError("other names")
        while block := list(islice(rows, ROWS)):
            yield [[_plain_text(cell) for cell in row] for row in block]
    finally:
        workbook.close()


def _plain_text(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(np.format_float_positional(cell, trim="-"))
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ").removesuffix(" 00:00:00")
    return str(cell)


EXCEL = Source(
    name="excel",
    suffixes=(".xlsx",),
    open=open_excel,
    write=write_excel,
    params=ExcelParams,
    format=Format(
        params_of_written=_as_written,
        is_opened_in_spreadsheets=True,
        holds=FormatFacts(
            types="numbers, texts, truth values, dates, times, each with its number format; no formulas, "
            "no merged cells",
            missing_codes="codes stay in their cells, without what they mean",
            dates="dates and times from 1900 on; dates that come from another format are written as texts",
            precision="15 to 17 digits",
            texts=f"{LONGEST_TEXT:,} characters",
            names=f"any, in the first row; up to {MOST_COLUMNS:,}, with {MOST_ROWS - 1:,} records",
            file_itself="the name of the sheet; other sheets, widths, properties and comments stay behind",
        ),
    ),
    read_plainly=_read_plainly,
    summary="A sheet with names in its first row; numbers, texts, truth values, dates and times are kept apart.",
)
