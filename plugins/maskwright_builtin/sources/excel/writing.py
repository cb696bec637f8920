"""Writing of Excel workbooks: one sheet of values, and nothing else of the workbook they come from."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, InputError, Layout, Place, Problem, Variable
from maskwright_builtin.sources.files import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_576, 16_384, 32_767
OLDEST = (1980, 1, 1, 0, 0, 0)
NOT_EXCEL = "[\x00-\x08\x0b\x0c\x0e-\x1f]"
TYPES = {"date": pa.date32(), "moment": pa.timestamp("us"), "time": pa.time64("us"), "truth": pa.bool_()}
FORMATS = {"date": "yyyy-mm-dd", "moment": "yyyy-mm-dd hh:mm:ss", "time": "hh:mm:ss"}
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


class _Archive(zipfile.ZipFile):
    """An archive whose bytes do not depend on the time of writing."""

    def writestr(self, member: Any, data: Any, *args: Any, **kwargs: Any) -> None:
        super().writestr(_member(member), data, *args, **kwargs)

    def write(self, filename: Any, arcname: Any = None, *args: Any, **kwargs: Any) -> None:
        del args, kwargs
        with open(filename, "rb") as part, self.open(_member(arcname), "w", force_zip64=True) as packed:  # noqa: PTH123
            while piece := part.read(1 << 20):
                packed.write(piece)


def _member(name: Any) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(str(name), OLDEST)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3
    member.external_attr = 0o600 << 16
    return member


def write_excel(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write typed batches as the one sheet of a workbook, each column in its kind and number format as read.

    Parameters
    ----------
    path : Path
    batches : iterable of pyarrow.RecordBatch
        Null is an empty cell.
    variables : tuple of Variable
        The columns, in order.
    layout : Layout
        Of the original file; one of another format gives numbers and texts.

    Raises
    ------
    DataError
        More rows or longer texts than a sheet can hold, characters that a workbook cannot, or trouble with the disk.
    InputError
        The packages for Excel are not installed.
    """
    try:
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.writer.excel import ExcelWriter
    except ImportError:
        hint = "Install it: pip install 'maskwright[excel]'."
        raise InputError(Problem("Excel files are written with openpyxl, which is not installed", hint=hint)) from None
    details = layout.details if layout.format == "excel" else {}
    columns: Mapping[str, Mapping[str, str]] = details.get("columns", {})
    if len(variables) > MOST_COLUMNS:
        raise _too_much(path, f"{len(variables)} variables", f"{MOST_COLUMNS} columns")
    workbook = openpyxl.Workbook(write_only=True)
    workbook.properties.creator = None
    sheet = workbook.create_sheet(details.get("sheet", "Data"))

    def styled(value: object, number_format: str) -> Any:
        cell = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            # Otherwise a text that begins with = would be a formula, and #N/A an error.
            cell.data_type = "s"
        cell.number_format = number_format
        return cell

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
    with writing(path) as file, _Archive(file, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        writer = ExcelWriter(workbook, archive)
        # Nor does it tell when it was written.
        workbook.properties.created = workbook.properties.modified = dt.datetime(*OLDEST)
        writer.save()


def _cells(path: Path, variable: Variable, column: Any, form: Mapping[str, str], styled: Any) -> Iterator[object]:
    """Cells of a column: plain values where the writer cannot take them for anything else."""
    kind = form.get("kind", "")
    number_format = form.get("format", "General")
    if pa.types.is_string(column.type):
        _check_texts(path, variable.name, column)
        if kind in TYPES:
            column = _as_read(column, TYPES[kind])
        elif kind == "mixed":
            return (_mixed(cell, number_format, styled) for cell in column.to_pylist())
    if pa.types.is_null(column.type) or column.null_count == len(column):
        return iter([None] * len(column))
    if pa.types.is_string(column.type):
        # A text that was no text in the original (a recoded date) has no number format.
        own = number_format if kind == "text" else "General"
        return (None if cell is None else _text(cell, own, styled) for cell in column.to_pylist())
    fitting = (
        pa.types.is_boolean(column.type)
        or (kind in FORMATS and column.type == TYPES[kind])
        or (kind in ("number", "mixed") and not _is_temporal(column.type))
    )
    shown = number_format if fitting else "General"
    if shown == "General":
        shown = (
            FORMATS.get("date" if pa.types.is_date(column.type) else kind, "General")
            if _is_temporal(column.type)
            else shown
        )
    if pa.types.is_floating(column.type):
        return (None if cell is None else _number(cell, shown, styled) for cell in column.to_pylist())
    if shown == "General":
        return iter(column.to_pylist())
    return (None if cell is None else styled(cell, shown) for cell in column.to_pylist())


def _is_temporal(kind: Any) -> bool:
    return bool(pa.types.is_temporal(kind))


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


def _text(cell: str, number_format: str, styled: Any) -> object:
    return styled(cell, number_format) if number_format != "General" or cell.startswith(("=", "#")) else cell


def _number(cell: float, number_format: str, styled: Any) -> object:
    if float(f"{cell:.16g}") == cell:
        return cell if number_format == "General" else styled(cell, number_format)
    # The writer has sixteen digits for a number, and some need seventeen.
    exact = styled(repr(cell), number_format)
    exact.data_type = "n"
    return exact


def _mixed(cell: str | None, number_format: str, styled: Any) -> object:
    """Cell of a column of numbers and texts, where the numbers are those that look like numbers."""
    if cell is None or not NUMBER.fullmatch(cell):
        return None if cell is None else _text(cell, "General", styled)
    return _number(float(cell), number_format, styled)


def _check_texts(path: Path, name: str, column: Any) -> None:
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    if longest > LONGEST_TEXT:
        raise _too_much(path, f"variable {name!r} has a text of {longest} characters", f"{LONGEST_TEXT} in a cell")
    if pc.any(pc.match_substring_regex(column, NOT_EXCEL)).as_py():
        message = f"variable {name!r} has cells with control characters, which a workbook cannot hold"
        raise DataError(Problem(message, Place(str(path)), "Write CSV, or clean the texts."))


def _too_much(path: Path, what: str, most: str) -> DataError:
    return DataError(Problem(f"{what}, and a sheet has room for {most}", Place(str(path)), "Write CSV or Parquet."))
