"""What the writers of data files get: the published form of a dataset, batch by batch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.dates import ISO, write_dates
from maskwright.data.number_text import read_numbers, write_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset

ROWS = 65_536


def published_batches(
    data: Dataset,
    writes_text: bool,
    rows: int = ROWS,
    untouched: Mapping[str, Any] | None = None,
    *,
    canonical: bool = False,
    letter_codes: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a dataset as they are to be written.

    Parameters
    ----------
    data : Dataset
    writes_text : bool
        Whether the format holds text (`Source.writes_text`): every column is then a string column of canonical number
        text, dates and categories. Otherwise integers are int64, other numbers float64, dates date32, categories
        strings.
    rows : int
        Records in a batch (default 65536).
    untouched : mapping of name to pyarrow.ChunkedArray of shape (n,), optional
        Columns that are given as the file held them; see `untouched_cells`. Left out: the file was of another format,
        and a typed format then gets null for an empty text.
    canonical : bool, default False
        Whether numbers have no zeros at the end, whatever the file had.
    letter_codes : bool, default False
        Whether the format has missing values among numbers that are none (`Source.has_letter_codes`): suppressed cells
        may then have one in a column that had none before.

    Yields
    ------
    pyarrow.RecordBatch
        A missing cell is what it was in the file: its missing code, an empty text, or null where there was no cell. A
        dataset without records gives one batch without rows.
    """
    make = (
        partial(_text, canonical=canonical)
        if writes_text
        else partial(_typed, keeps_empty=untouched is not None, letter_codes=letter_codes)
    )
    held = untouched or {}
    for start in range(0, max(len(data), 1), rows):
        records = slice(start, start + rows)
        arrays = [
            _chunk(held[column.name], start, rows) if column.name in held else make(column, records) for column in data
        ]
        yield pa.record_batch(arrays, names=list(data.names))


def _chunk(cells: Any, start: int, rows: int) -> Any:
    part = cells.slice(start, rows)
    return part.unify_dictionaries().combine_chunks() if isinstance(part, pa.ChunkedArray) else part


def _text(column: Column, records: slice, *, canonical: bool) -> Any:
    variable, missing = column.variable, column.missing[records]
    if not variable.is_numeric:
        return _filled(column, records, _categories(column, records))
    if variable.is_date:
        dates = write_dates(column.values[records], missing, variable.date_format or ISO)
        return _filled(column, records, dates)
    digits = None if canonical else column.digits
    return _filled(column, records, write_numbers(column.values[records], missing, variable.decimals, digits))


def _filled(column: Column, records: slice, texts: Any) -> Any:
    """Cells with what stands in those that are missing."""
    missing = column.missing[records]
    if not missing.any():
        return texts
    return pc.coalesce(texts, column.nothing(records))


def _typed(column: Column, records: slice, *, keeps_empty: bool, letter_codes: bool) -> Any:
    told = keeps_empty or letter_codes
    if told and column.variable.is_numeric and not _has_number_codes(column, letter_codes=letter_codes):
        if not keeps_empty:
            # Dates of text are written as the format that is left behind had them.
            column = replace(column, variable=replace(column.variable, date_format=None))
        return _text(column, records, canonical=False)
    if not column.variable.is_numeric:
        texts = _filled(column, records, _categories(column, records))
        blank = column.missing[records].any() and not keeps_empty
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts) if blank else texts
    if column.variable.date_format is not None and keeps_empty:
        return _text(column, records, canonical=False)
    if column.variable.is_date:
        missing = column.missing[records]
        days = np.rint(np.where(missing, 0.0, column.values[records])).astype(np.int32)
        return pa.array(days, pa.int32(), mask=np.asarray(missing)).cast(pa.date32())
    values, missing = numbers_with_codes(column, records)
    if column.variable.decimals == 0 and np.all(np.abs(column.values[~column.missing]) <= 2.0**53):
        return pa.array(np.rint(np.where(missing, 0.0, values)).astype(np.int64), mask=np.asarray(missing))
    return pa.array(values, pa.float64(), mask=np.asarray(missing))


def numbers_with_codes(column: Column, records: slice = slice(None)) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Numbers, with missing codes where these are stored as numbers; and which cells hold nothing at all."""
    values, missing = column.values[records], column.missing[records]
    if column.blank is None and column.variable.suppressed_as is None:
        return values, missing
    codes = read_numbers(column.nothing(records)).values
    return np.where(missing, codes, values), missing & np.isnan(codes)


def _has_number_codes(column: Column, *, letter_codes: bool) -> bool:
    """Whether no missing cell is written as a text that is no number, such as Stata's ``.a``: numbers would lose it."""
    texts = () if column.blank is None else column.blank.texts
    suppressed = column.variable.suppressed_as if letter_codes else None
    said = [text for text in (*texts, suppressed or "") if text.strip()]
    return bool(np.all(read_numbers(pa.array(said, pa.string())).is_number))


def _categories(column: Column, records: slice) -> Any:
    codes, categories = column.values[records], column.variable.categories
    if len(categories) > len(codes):
        # Only the texts of these records are made, not those of all records with every batch.
        used, codes = np.unique(codes, return_inverse=True)
        categories = tuple(categories[code] for code in used.tolist())
    places = pa.array(codes.astype(np.int32), mask=np.asarray(column.missing[records]))
    return pa.array(categories, pa.string()).take(places)
