"""Writing of Excel workbooks: one sheet of values, and nothing else of the workbook they come from."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Layout, Place, Problem, Variable
from maskwright_builtin.sources.files import OLDEST, disk_trouble, optional_library, writing, zip_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Styled = Callable[[object, str], Any]

MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_576, 16_384, 32_767
"""Limits of a sheet, and characters of a cell (Microsoft, Excel specifications and limits)."""
NOT_EXCEL = "[\x00-\x08\x0b\x0c\x0e-\x1f]"
TYPES = {"date": pa.date32(), "moment": pa.timestamp("us"), "time": pa.time64("us"), "truth": pa.bool_()}
FORMATS = {"date": "yyyy-mm-dd", "moment": "yyyy-mm-dd hh:mm:ss", "time": "hh:mm:ss"}
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


class _Archive(zipfile.ZipFile):
    """An archive whose bytes do not depend on the time of writing."""

    def writestr(self, zinfo_or_arcname: Any, data: Any, *args: Any, **kwargs: Any) -> None:
        """Add a part that is given."""
        super().writestr(zip_member(str(zinfo_or_arcname)), data, *args, **kwargs)

    def write(self, filename: Any, arcname: Any = None, *args: Any, **kwargs: Any) -> None:
        """Add a part that is a file."""
        del args, kwargs
        with Path(filename).open("rb") as part, self.open(zip_member(str(arcname)), "w", force_zip64=True) as packed:
            shutil.copyfileobj(part, packed, 1 << 20)


def write_excel(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches as the one sheet of a workbook, each column in its kind and number format as read."""
    openpyxl = optional_library("openpyxl", "Excel files are written", "excel")
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.writer.excel import ExcelWriter

    details = layout.details if layout.format == "excel" else {}
    columns: Mapping[str, Mapping[str, str]] = details.get("columns", {})
    if len(variables) > MOST_COLUMNS:
        raise _too_much(path, f"{len(variables)} variables", f"{MOST_COLUMNS} columns")
    workbook = openpyxl.Workbook(write_only=True)
    workbook.properties.creator = None
    sheet = workbook.create_sheet(details.get("sheet", "Data"))

    def styled(value: Any, number_format: str) -> Any:
        cell = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            # Otherwise a text that begins with = would be a formula, and #N/A an error.
            cell.data_type = "s"
        cell.number_format = number_format
        return cell

    # Whichever way it ends: what is left open would complain when Python comes by to clear it away.
    with contextlib.closing(sheet), disk_trouble(path):
        sheet.append([styled(variable.name, "General") for variable in variables])
        rows = 1
        for batch in batches:
            rows += batch.num_rows
            if rows > MOST_ROWS:
                raise _too_much(path, "too many records", f"{MOST_ROWS - 1} of them below the names")
            cells = [
                list(_cells(path, variable, column, columns.get(variable.name, {}), styled))
                for variable, column in zip(variables, batch.columns, strict=True)
            ]
            for row in zip(*cells, strict=True):
                sheet.append(row)
    with writing(path) as file, _Archive(file, "w", zipfile.ZIP_DEFLATED) as archive:
        writer = ExcelWriter(workbook, archive)
        # Nor is the time of writing kept.
        workbook.properties.created = workbook.properties.modified = dt.datetime(*OLDEST)
        writer.save()


def _cells(path: Path, variable: Variable, column: Any, form: Mapping[str, str], styled: Styled) -> Iterator[object]:
    """Cells of a column: plain values where the writer cannot take them for anything else."""
    kind = form.get("kind", "number" if variable.is_numeric and not variable.is_date else "text")
    shown = form.get("format", "General")
    if pa.types.is_string(column.type):
        _check_texts(path, variable.name, column)
        # What looks like a character by its number is read as that character, unless its first sign is one.
        column = pc.replace_substring_regex(column, "_(x[0-9A-Fa-f]{4}_)", "_x005F_\\1")
        if kind in TYPES:
            column = _as_read(column, TYPES[kind])
        elif kind != "text":
            column = _numbers(column)
    if pa.types.is_string(column.type):
        own = shown if kind == "text" else "General"
        return (_number_or_text(cell, kind, shown, own, styled) for cell in column.to_pylist())
    if shown == "General" and kind in FORMATS:
        shown = FORMATS[kind]
    if pa.types.is_floating(column.type):
        return (None if cell is None else _number(cell, shown, styled) for cell in column.to_pylist())
    if shown == "General":
        return iter(column.to_pylist())
    return (None if cell is None else styled(cell, shown) for cell in column.to_pylist())


def _numbers(texts: Any) -> Any:
    """Numbers that all of the texts are, or the texts."""
    filled = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if not pc.all(pc.match_substring_regex(pc.drop_null(filled), f"^{NUMBER.pattern}$"), min_count=0).as_py():
        return texts
    if pc.any(pc.match_substring(filled, ".")).as_py() or pc.any(pc.greater(pc.binary_length(filled), 15)).as_py():
        return filled.cast(pa.float64())
    return filled.cast(pa.int64())


def _as_read(column: Any, kind: Any) -> Any:
    """Dates, times and truth values again, unless one of the texts is none any more: recoding may have made others."""
    try:
        if pa.types.is_time(kind):
            return pa.array(
                [None if cell is None else dt.time.fromisoformat(cell) for cell in column.to_pylist()], kind
            )
        return column.cast(kind)
    except (pa.ArrowInvalid, ValueError):
        return column


def _number_or_text(cell: str | None, kind: str, number_format: str, text_format: str, styled: Styled) -> object:
    """Cell of a column of texts, or of numbers and texts, where the numbers are those that look like numbers."""
    if cell is None or cell == "":
        return None
    if kind in ("number", "mixed") and NUMBER.fullmatch(cell):
        return _number(float(cell), number_format, styled)
    return styled(cell, text_format) if text_format != "General" or cell.startswith(("=", "#")) else cell


def _number(cell: float, number_format: str, styled: Styled) -> object:
    if float(f"{cell:.16g}") == cell:
        return cell if number_format == "General" else styled(cell, number_format)
    # The writer has sixteen digits for a number, and some need seventeen.
    exact = styled(repr(cell), number_format)
    exact.data_type = "n"
    return exact


def _check_texts(path: Path, name: str, column: Any) -> None:
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    if longest > LONGEST_TEXT:
        raise _too_much(path, f"variable {name!r} has a text of {longest} characters", f"{LONGEST_TEXT} in a cell")
    if pc.any(pc.match_substring_regex(column, NOT_EXCEL)).as_py():
        message = f"variable {name!r} has cells with control characters, which a workbook cannot hold"
        raise DataError(Problem(message, Place(str(path)), "Write CSV, or clean the texts."))


def _too_much(path: Path, what: str, most: str) -> DataError:
    return DataError(Problem(f"{what}, and a sheet has room for {most}", Place(str(path)), "Write CSV or Parquet."))
