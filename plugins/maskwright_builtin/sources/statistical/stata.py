"""Stata files: ``.dta`` of all versions read, that of Stata 14 (with Unicode) written.

Kept: variables, their labels, value labels, missing values ``.a`` to ``.z`` with their labels, display formats, and
whether numbers are integers. Not kept: storage types ``byte``, ``int`` and ``float`` (they become ``long`` and
``double``, which hold the same values), the declared length of texts, names of value labels, notes and
characteristics, the file's label, its time, sort order, and survey settings. Stata has no measures, and labels of
whole numbers only. Periods (``%tw``, ``%tm``, ``%tq``, ``%th``, ``%ty``) are numbers. A file is written as a whole: all
records are in memory once more, as numpy arrays of numbers and Python texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Format, FormatFacts, Layout, Source, Variable
from maskwright_builtin.sources.statistical.declarations import Family, Moments, StatisticalParams
from maskwright_builtin.sources.statistical.reading import StatisticalReading
from maskwright_builtin.sources.statistical.writing import (
    WrittenColumn,
    codes_as_letters,
    planned_columns,
    refuse_reserved,
    too_long,
    write_file,
    written_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright import Progress

DAY = 86_400_000.0
STATA_MOMENTS = Moments(3_653, {"%td": ("date", 1.0), "%tc": ("datetime", DAY)})
"""Since 1 January 1960, in days or in milliseconds; ``%tC``, with leap seconds, is left a number."""


def _is_whole(start: bytes, end: bytes, size: int) -> bool:
    del size
    return not start.startswith(b"<stata_dta>") or end.endswith(b"</stata_dta>")


DTA = Family("stata", "a Stata file", "read_dta", STATA_MOMENTS, has_letters=True, is_whole=_is_whole)
LARGEST = {"name": 32, "label": 320, "value label": 32_000}
MOST_CHARACTERS = 80
LARGEST_LONG = 2_147_483_620
VERSION = 14
RESERVED = frozenset(
    ("_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long", "_n", "_N", "_pi", "_pred",
     "_rc", "_skip", "strL", "using", "with", *(f"str{width}" for width in range(2046)))
)  # fmt: skip
NAME = re.compile(r"[^\W\d]\w*")


def open_dta(path: Path, params: Any, progress: Progress) -> StatisticalReading:
    """Open a ``.dta`` file."""
    return StatisticalReading(path, DTA, params, progress)


def write_dta(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write a Stata file."""
    import pandas as pd

    columns = written_columns(path, batches, variables, layout, DTA)
    _check(path, columns)
    frame = pd.DataFrame({each.name: _cells(each) for each in columns})
    letters = {each.name: found for each in columns if (found := _letters(each))}
    value_labels = {each.name: labels for each in columns if (labels := _labels(each))}
    write_file(
        path, "write_dta", frame, columns,
        version=VERSION, variable_value_labels=value_labels, missing_user_values=letters,
    )  # fmt: skip


def refuse_unwritable(path: Path, variables: tuple[Variable, ...], layout: Layout) -> None:
    """Refuse names and labels that Stata cannot hold; as `Source.refuse_unwritable`."""
    _check(path, planned_columns(variables, layout, DTA))


def _check(path: Path, columns: list[WrittenColumn]) -> None:
    too_long(path, columns, LARGEST)
    refuse_reserved(path, columns, RESERVED, "Stata")
    for column in columns:
        if not NAME.fullmatch(column.name):
            hint = "Names in Stata have letters, digits and underscores: rename it, or write another format."
            raise column.refused(path, "Stata does not take its name", hint)
        if len(column.form.label or "") > MOST_CHARACTERS:
            raise column.refused(path, f"its label has more than the {MOST_CHARACTERS} characters that Stata holds")


def _holds_integers(column: WrittenColumn) -> bool:
    present = column.values[~np.isnan(column.values)]
    fits = len(present) == 0 or (np.abs(present).max() <= LARGEST_LONG and np.array_equal(np.rint(present), present))
    return column.form.is_whole and bool(fits)


def _cells(column: WrittenColumn) -> Any:
    """Cells as pyreadstat takes them: integers as such, letters among the numbers."""
    import pandas as pd

    if column.form.is_text:
        return column.values
    is_whole = _holds_integers(column)
    if column.letters is None:
        return pd.array(column.values, dtype="Int32") if is_whole else column.values
    kind = int if is_whole else float
    numbers = [None if np.isnan(each) else kind(each) for each in column.values.tolist()]
    pairs = zip(numbers, column.letters.tolist(), strict=True)
    return pd.Series([number if letter is None else letter for number, letter in pairs], dtype=object)


def _letters(column: WrittenColumn) -> list[str]:
    """Letters that occur or have a label; pyreadstat wants to know them."""
    if column.form.is_text:
        return []
    occurring = set() if column.letters is None else set(column.letters.tolist())
    return sorted({each for each in (*occurring, *column.form.labels) if isinstance(each, str)})


def _labels(column: WrittenColumn) -> dict[Any, str]:
    """Labels of whole numbers and of letters: Stata has no others."""
    if column.form.is_text:
        return {}
    return {
        code if isinstance(code, str) else int(code): label
        for code, label in column.form.labels.items()
        if isinstance(code, str) or code == int(code)
    }


def _read_plainly(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Rows of a written file, as pandas reads them by its own code: missing values that are letters are ``.a``."""
    del details
    import pandas as pd
    import pyreadstat

    from maskwright_builtin.sources.statistical.data_frame_rows import plain_rows

    formats = pyreadstat.read_dta(str(path), metadataonly=True)[1].original_variable_types
    frame = pd.read_stata(path, convert_dates=False, convert_categoricals=False, convert_missing=True)
    return plain_rows(frame, names, formats, STATA_MOMENTS)


STATA = Source(
    name=DTA.source,
    suffixes=(".dta",),
    open=open_dta,
    write=write_dta,
    params=StatisticalParams,
    format=Format(
        params_of_written=lambda _: StatisticalParams(),
        has_letter_codes=True,
        missing_codes=codes_as_letters,
        labels_codes=True,
        refuse_unwritable=refuse_unwritable,
        holds=FormatFacts(
            types="whole numbers, binary64 and texts, with display formats; no measures",
            labels=f"of variables ({MOST_CHARACTERS} characters), and of values that are whole numbers",
            missing_codes="codes among numbers are .a to .z, with labels; texts have none",
            dates="dates and times, as days or milliseconds since 1960",
            precision="15 to 17 digits (binary64)",
            texts="any",
            names=f"{LARGEST['name']} letters, digits and underscores, no words of Stata",
            file_itself="label, notes and characteristics stay behind",
        ),
    ),
    writes_text=False,
    read_plainly=_read_plainly,
    summary="Labels, formats and missing values .a to .z are kept; written for Stata 14 and later.",
)
