"""SPSS files: ``.sav`` and ``.zsav`` read and written, ``.por`` read.

Kept: variables, their labels, value labels, missing values and ranges, measures, formats and widths. Not kept: what
describes the file and not a variable (its label, documents, notes, creation time, weighting variable, multiple-response
sets), roles and attributes of variables, the alignment of columns, and trailing blanks of texts, which mean nothing in
SPSS. Files are written in UTF-8, and as a whole: all records are in memory once more, as numpy arrays of numbers and
Python texts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskwright import Format, FormatFacts, Layout, Source, Variable, read_numbers
from maskwright_builtin.sources.statistical.declarations import (
    Family,
    MissingRange,
    Moments,
    StatisticalParams,
    VariableForm,
)
from maskwright_builtin.sources.statistical.reading import StatisticalReading, longest_number
from maskwright_builtin.sources.statistical.writing import (
    WrittenColumn,
    fitting_format,
    holds_numbers,
    not_written,
    padded,
    planned_columns,
    refuse_reserved,
    too_long,
    write_file,
    written_columns,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright import Progress

DAY = 86_400.0
# Since 14 October 1582, in seconds; the first of each kind is what dates of other formats are written as.
SPSS_MOMENTS = Moments(
    141_428,
    {"DATE": ("date", DAY), "ADATE": ("date", DAY), "EDATE": ("date", DAY), "JDATE": ("date", DAY),
     "SDATE": ("date", DAY), "QYR": ("date", DAY), "MOYR": ("date", DAY), "WKYR": ("date", DAY),
     "DATETIME": ("datetime", DAY), "YMDHMS": ("datetime", DAY)},
)  # fmt: skip
SAV = Family("spss", "an SPSS file", "read_sav", SPSS_MOMENTS)
POR = Family(
    "spss_portable", "an SPSS portable file", "read_por", SPSS_MOMENTS, rows=0, tells_codes=False, takes_encoding=False
)
LARGEST = {"name": 64, "label": 256, "value label": 120, "text": 32_767}
MOST_CODES = 3
MOST_DECIMALS = 16
LONGEST_CODE = 8
"""Bytes of a missing code that is a text."""
RESERVED = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])


def open_sav(path: Path, params: Any, progress: Progress) -> StatisticalReading:
    """Open a ``.sav`` or ``.zsav`` file."""
    return StatisticalReading(path, SAV, params, progress)


def open_por(path: Path, params: Any, progress: Progress) -> StatisticalReading:
    """Open a ``.por`` file; as `open_sav`."""
    return StatisticalReading(path, POR, params, progress)


def write_sav(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write an SPSS file; one that ends with ``.zsav`` is compressed."""
    import pandas as pd

    columns = [_with_format(_with_suppressed(path, each, variable), variable) for each, variable in
               zip(written_columns(path, batches, variables, layout, SAV), variables, strict=True)]  # fmt: skip
    _check(path, columns)
    for column in columns:
        _check_missing(path, column)
    frame = pd.DataFrame({each.name: padded(each) if each.form.is_text else each.values for each in columns})
    numbers = [each for each in columns if not each.form.is_text and each.form.format]
    write_file(
        path, "write_sav", frame, columns,
        variable_value_labels={each.name: dict(each.form.labels) for each in columns if each.form.labels},
        missing_ranges={each.name: _ranges(each.form) for each in columns if each.form.missing},
        variable_measure={each.name: each.form.measure for each in columns},
        variable_display_width={each.name: each.form.display_width for each in columns if each.form.display_width},
        variable_format={each.name: fitting_format(each) for each in numbers},
        compress=path.suffix.lower() == ".zsav", row_compress=path.suffix.lower() != ".zsav",
    )  # fmt: skip


def refuse_unwritable(path: Path, variables: tuple[Variable, ...], layout: Layout) -> None:
    """Refuse names and labels that SPSS cannot hold; as `Source.refuse_unwritable`."""
    _check(path, planned_columns(variables, layout, SAV))


def _check(path: Path, columns: list[WrittenColumn]) -> None:
    too_long(path, columns, LARGEST)
    refuse_reserved(path, columns, RESERVED, "SPSS")


def _with_suppressed(path: Path, column: WrittenColumn, variable: Variable) -> WrittenColumn:
    """Column in which the text of suppressed cells is a missing code, too."""
    text = variable.suppressed_as
    if not text:
        return column
    try:
        code: float | str = text if column.form.is_text else float(text)
    except ValueError:
        hint = "Missing codes of numbers are numbers in SPSS: `suppressed_as: -5`, for instance."
        raise column.refused(path, "its suppressed_as is no number", hint) from None
    form = column.form
    if any(each.holds(code) for each in form.missing):
        return column
    labels = {**form.labels, code: form.labels.get(code, "suppressed")}
    return replace(column, form=replace(form, missing=(*form.missing, MissingRange(code, code)), labels=labels))


def _with_format(column: WrittenColumn, variable: Variable) -> WrittenColumn:
    """Column of numbers whose format shows the decimals that they have, where the original gave it none."""
    if column.form.is_text or column.form.format:
        return column
    present = column.values[~np.isnan(column.values)]
    decimals = 0 if np.array_equal(np.rint(present), present) and variable.decimals is None else variable.decimals
    if decimals is None or decimals > MOST_DECIMALS:
        return column
    width = max(8, longest_number(column.values, f"F8.{decimals}"))
    return replace(column, form=replace(column.form, format=f"F{width}.{decimals}"))


def _ranges(form: VariableForm) -> list[Any]:
    return [each.lowest if each.is_single else {"lo": each.lowest, "hi": each.highest} for each in form.missing]


def _check_missing(path: Path, column: WrittenColumn) -> None:
    singles = sum(each.is_single for each in column.form.missing)
    ranges = len(column.form.missing) - singles
    if singles > (1 if ranges else MOST_CODES) or ranges > 1:
        hint = "SPSS holds three missing codes, or one and a range: declare fewer, or make codes of several one."
        raise column.refused(path, "it has more missing codes than an SPSS file can hold", hint)
    long = [
        each
        for each in column.form.missing
        if isinstance(each.lowest, str) and len(each.lowest.encode()) > LONGEST_CODE
    ]
    if long:
        raise column.refused(
            path, f"a missing code is a text of more than {LONGEST_CODE} bytes", "SPSS holds no longer ones."
        )


def _missing_codes(variable: Variable) -> dict[str, str]:
    """Missing codes that a new SPSS file declares as such: numbers among numbers, and texts of 8 bytes among texts."""
    codes = [code for code in variable.empty_texts if code.strip()]
    if variable.is_date:
        return {}
    if holds_numbers(variable):
        is_number = read_numbers(pa.array(codes, pa.string())).is_number.tolist()
        return {code: code for code, is_held in zip(codes, is_number, strict=True) if is_held}
    return {code: code for code in codes if len(code.encode()) <= LONGEST_CODE}


def _read_plainly(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Rows of a written file, as pyreadstat gives them to pandas: no other library in Python reads these files."""
    del details
    import pyreadstat

    from maskwright_builtin.sources.statistical.data_frame_rows import rows_by_pyreadstat

    return rows_by_pyreadstat(pyreadstat.read_sav, path, names, SPSS_MOMENTS, user_missing=True)


SPSS = Source(
    name=SAV.source,
    suffixes=(".sav", ".zsav"),
    open=open_sav,
    write=write_sav,
    params=StatisticalParams,
    format=Format(
        params_of_written=lambda _: StatisticalParams(),
        loses=frozenset({"blanks_at_end"}),
        refuse_unwritable=refuse_unwritable,
        missing_codes=_missing_codes,
        labels_codes=True,
        holds=FormatFacts(
            types="numbers and texts, with formats, measures and widths",
            labels=f"of variables ({LARGEST['label']} bytes) and of values ({LARGEST['value label']} bytes)",
            missing_codes=f"{MOST_CODES} a variable, or one and a range, labelled; of {LONGEST_CODE} bytes; "
            "none of dates",
            dates="dates and times, as seconds since 1582",
            precision="15 to 17 digits (binary64)",
            texts=f"{LARGEST['text']:,} bytes, without blanks at the end",
            names=f"{LARGEST['name']} bytes, no words of SPSS",
            file_itself="label, notes and multiple-response sets stay behind",
        ),
    ),
    writes_text=False,
    read_plainly=_read_plainly,
    summary="Labels, missing values and ranges, measures, formats and widths are kept.",
)
SPSS_PORTABLE = Source(
    name=POR.source,
    suffixes=(".por",),
    open=open_por,
    write=not_written,
    format=Format(
        not_written="Write .sav, which SPSS reads as well, or .csv.",
        holds=FormatFacts(
            types="numbers and texts",
            labels="of variables and of values",
            missing_codes="read as empty cells",
            dates="dates and times",
            precision="as SPSS wrote them",
            texts="as SPSS wrote them",
            names="8 characters of ASCII",
        ),
    ),
    params=StatisticalParams,
    writes_text=False,
    summary="Read only; its user-missing values are read as missing. Write .sav.",
)
